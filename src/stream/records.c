/*
 * Record marking (RFC 5531 section 11): each fragment is preceded by four bytes,
 *
 *	 31  30                                0
 *	+---+-----------------------------------+
 *	|last| length of the fragment in bytes  |
 *	+---+-----------------------------------+
 *
 * Bytes of a record beyond its head are counted, never copied. A hole of known
 * length inside a record costs nothing; one that hides a mark costs the place.
 */
#include <glib.h>
#include <nfscorr/xdr.h>
#include <string.h>

#include "stream/record.h"
#include "stream/resync.h"
#include "stream/tls.h"

enum { HEAD_PEEK = 8 };	/* XID and type: less is no message */

enum place_result { PLACE_KEPT, PLACE_LOST, PLACE_HIDDEN };

/* Where the bytes at hand belong. */
struct place {
	struct stream *stream;
	struct connection *connection;
	struct record_state *state;
	uint8_t direction;
};

static void
note_missed(const struct place *at, const struct slice *slice)
{
	if (!at->connection->rpc)
		return;
	if (!slice->lost)
		at->stream->counters.hidden_records++;
	at->stream->sink.missed(at->stream->sink.context, &at->connection->info, at->direction, slice->seen_ns);
}

/* The last chance to read the head, with what there is of it. */
static void
close_head(const struct place *at)
{
	struct record_state *state = at->state;

	state->record.head = state->copy;
	state->record.head_cap = state->copy_len;
	state->record.head_beyond = XDR_HOLE;
	state->head_done = true;
	if (state->copy_len < HEAD_PEEK ||
	    at->stream->sink.head(at->stream->sink.context, &state->record) != HEAD_TAKEN)
		state->headless = true;
}

static void
abandon_record(const struct place *at)
{
	struct record_state *state = at->state;

	if (state->phase == RECORD_AT_MARK || state->phase == RECORD_NO_PLACE || state->phase == RECORD_TLS)
		return;
	if (!state->head_done)
		close_head(at);
	if (!state->headless)
		at->stream->sink.abandon(at->stream->sink.context, &state->record);
}

/* contradicted: bytes were there and were no record, so an earlier find may have been wrong. */
static void
lose_place(const struct place *at, bool contradicted)
{
	struct record_state *state = at->state;

	abandon_record(at);
	state->phase = RECORD_NO_PLACE;
	state->mark_have = 0;
	state->unproven = 0;
	if (state->resync == NULL)
		state->resync = resync_new();
	if (contradicted && state->since_resync < TRUSTED)
		resync_distrust(state->resync);
	else if (state->since_resync >= TRUSTED)
		resync_trust(state->resync);
	state->since_resync = 0;
}

static void
end_record(const struct place *at, const struct slice *behind)
{
	struct record_state *state = at->state;
	struct rpc_record *record = &state->record;

	if (!state->head_done)
		close_head(at);
	record_is_over(state, record->total_len);
	if (state->headless)
		return;
	record->last_ns = behind->ready_ns;
	record->flags |= behind->ready_flags;
	record->end_offset = behind->offset;
	record->receiver_ns = behind->waited.receiver_ns - state->waited.receiver_ns;
	record->sender_ns = behind->waited.sender_ns - state->waited.sender_ns;
	record->waits_unknown = behind->waited.doubts != state->waited.doubts ||
	    record->receiver_ns < 0 || record->sender_ns < 0;
	at->stream->sink.end(at->stream->sink.context, record);
}

/* A fragment is complete; behind is what of the slice lies behind it. */
static void
end_fragment(const struct place *at, const struct slice *behind)
{
	if (at->state->last_fragment)
		end_record(at, behind);
	else
		at->state->phase = RECORD_AT_NEXT_MARK;
}

static bool
read_mark(const struct place *at)
{
	struct record_state *state = at->state;
	uint32_t mark = xdr_load32(state->mark);
	uint32_t len = mark & ~RECORD_LAST_FRAGMENT;

	state->mark_have = 0;
	state->last_fragment = (mark & RECORD_LAST_FRAGMENT) != 0;
	if (len > RECORD_MAX - state->record.total_len ||
	    (state->last_fragment && state->record.total_len + len < HEAD_PEEK))
		return false;
	if (!state->last_fragment)
		state->record.flags |= RECORD_FRAGMENTED;
	state->record.total_len += len;
	state->fragment_left = len;
	return true;
}

/* Takes the bytes of a record mark off the slice. */
static enum place_result
take_mark(const struct place *at, struct slice *slice)
{
	struct record_state *state = at->state;
	uint32_t want = MARK_LEN - state->mark_have;
	uint32_t n = MIN(want, slice->wire_len);

	if (slice->cap_len < n) {
		note_missed(at, slice);
		return PLACE_HIDDEN;
	}
	if (state->mark_have == 0 && state->phase == RECORD_AT_MARK)
		record_begin(state, at->connection, at->direction, slice);
	else if (state->mark_have == 0)
		state->alignment = (int8_t)(slice->offset & 3);
	if (n == MARK_LEN)
		memcpy(state->mark, slice->data, MARK_LEN);
	else
		memcpy(state->mark + state->mark_have, slice->data, n);
	state->mark_have += (uint8_t)n;
	if (n == want && !read_mark(at))
		return PLACE_LOST;
	slice_pass(slice, n);
	if (n < want)
		return PLACE_KEPT;
	state->phase = RECORD_IN_BODY;
	if (state->fragment_left == 0)
		end_fragment(at, slice);
	return PLACE_KEPT;
}

static void
keep_head(struct record_state *state, const uint8_t *data, uint32_t len)
{
	if (state->copy == NULL)
		state->copy = g_malloc(HEAD_MAX);
	len = MIN(len, HEAD_MAX - state->copy_len);
	if (len > 0)
		memcpy(state->copy + state->copy_len, data, len);
	state->copy_len += len;
}

/* The head grew by the captured part of n bytes of body; false: not a message. */
static bool
feed_head(const struct place *at, const struct slice *slice, uint32_t n)
{
	struct record_state *state = at->state;
	struct rpc_record *record = &state->record;
	uint32_t cap = MIN(n, slice->cap_len);
	bool ends = state->last_fragment && n == state->fragment_left;
	enum head_result result;

	record->head_beyond = cap < n || ends ? XDR_HOLE : XDR_SHORT;
	record->head = slice->data;
	record->head_cap = cap;
	if (state->copy_len > 0 || (cap < HEAD_LEAST && record->head_beyond == XDR_SHORT)) {
		keep_head(state, slice->data, cap);
		record->head = state->copy;
		record->head_cap = state->copy_len;
		if (state->copy_len == HEAD_MAX)
			record->head_beyond = XDR_HOLE;
	}
	if (record->head_beyond == XDR_SHORT && record->head_cap < HEAD_LEAST)
		return true;
	if (record->head_cap < HEAD_PEEK) {
		note_missed(at, slice);
		state->headless = state->head_done = true;
		return true;
	}
	result = at->stream->sink.head(at->stream->sink.context, record);
	if (result == HEAD_NOT_RPC)
		return false;
	at->connection->rpc = true;
	if (result == HEAD_TAKEN || record->head_beyond == XDR_HOLE)
		state->head_done = true;
	else if (state->copy_len == 0)
		keep_head(state, slice->data, cap);
	return true;
}

/* Takes the bytes of a record's body off the slice. */
static enum place_result
take_body(const struct place *at, struct slice *slice)
{
	struct record_state *state = at->state;
	uint32_t n = MIN(state->fragment_left, slice->wire_len);

	state->record.flags |= slice->flags;
	if (!state->head_done && !feed_head(at, slice, n)) {
		state->headless = state->head_done = true;
		return PLACE_LOST;
	}
	state->fragment_left -= n;
	slice_pass(slice, n);
	if (state->fragment_left == 0)
		end_fragment(at, slice);
	return PLACE_KEPT;
}

static void
free_resync(struct stream *stream, struct record_state *state)
{
	if (state->resync != NULL)
		stream->held_bytes -= resync_bytes(state->resync);
	resync_free(state->resync);
	state->resync = NULL;
}

/* From an offset on the direction is TLS; the slice is the last piece of it so far. */
static void
go_over_to_tls(const struct place *at, int64_t from, const struct slice *slice)
{
	at->state->phase = RECORD_TLS;
	free_resync(at->stream, at->state);
	at->stream->counters.tls_connections += !at->connection->tls;
	if (!slice->lost)
		at->stream->counters.tls_bytes += (uint64_t)(slice->offset + slice->wire_len - from);
	at->connection->tls = true;
}

/* Looks at a slice while the place is lost; what is held counts against the stream's cap. */
static void
search(const struct place *at, const struct slice *slice)
{
	struct record_state *state = at->state;
	uint64_t before;

	if (at->connection->tls || tls_seen(&state->tls, slice, at->connection->info.tls_expected,
	    !at->connection->rpc && at->connection->expected)) {
		go_over_to_tls(at, at->connection->tls ? slice->offset : state->tls.begin, slice);
		return;
	}
	if (state->resync == NULL)
		state->resync = resync_new();
	before = resync_bytes(state->resync);
	resync_add(state->resync, &at->stream->sink, at->connection, at->direction, slice);
	at->stream->held_bytes += resync_bytes(state->resync) - before;
}

/* Follows the marks through a slice; where the place is lost, the rest goes to resync. */
static void
parse(const struct place *at, struct slice *slice)
{
	struct record_state *state = at->state;

	while (slice->wire_len > 0) {
		enum place_result result;

		if (at->connection->tls && !slice->lost && state->phase == RECORD_AT_MARK && state->mark_have == 0) {
			go_over_to_tls(at, slice->offset, slice);
			return;
		}
		result = state->phase == RECORD_IN_BODY ? take_body(at, slice) : take_mark(at, slice);

		if (result == PLACE_LOST && state->phase == RECORD_AT_MARK && at->connection->info.tls_expected &&
		    tls_is_mark(state->mark)) {
			go_over_to_tls(at, state->record.begin_offset, slice);
			return;
		}
		if (result != PLACE_KEPT) {
			lose_place(at, result == PLACE_LOST);
			search(at, slice);
			return;
		}
	}
}

/* Where a boundary is found, what was held from there on is parsed after all. */
static void
resume(const struct place *at, enum resync_hope hope)
{
	struct record_state *state = at->state;
	struct resync_place place;

	if (at->stream->held_bytes > at->stream->limits.held_bytes)
		hope = HOPE_NONE;
	while (state->phase == RECORD_NO_PLACE && state->resync != NULL) {
		uint64_t before = resync_bytes(state->resync);
		bool found = resync_decide(state->resync, &at->stream->sink, at->connection, at->direction, hope, &place);
		struct held *held = found ? resync_take(state->resync, place.offset) : NULL;

		at->stream->held_bytes -= before - resync_bytes(state->resync);
		if (!found)
			return;
		at->stream->counters.resyncs++;
		at->stream->sink.missed(at->stream->sink.context, &at->connection->info, at->direction,
		    held->slice.seen_ns);
		state->phase = RECORD_AT_MARK;
		state->unproven = (uint8_t)place.unproven;
		while (held != NULL) {
			struct held *next = held->next;
			int64_t skip = MAX(place.offset - held->slice.offset, 0);
			struct slice slice = slice_from(&held->slice, (uint32_t)skip);

			if (state->phase == RECORD_NO_PLACE)
				search(at, &slice);
			else if (state->phase == RECORD_TLS)
				at->stream->counters.tls_bytes += slice.wire_len;
			else
				parse(at, &slice);
			g_free(held);
			held = next;
		}
	}
}

void
records_push(struct stream *stream, struct connection *connection, uint8_t direction, struct slice *slice)
{
	struct record_state *state = &connection->half[direction].record;
	struct place at;

	if (record_skips(state, slice->wire_len)) {
		state->record.flags |= slice->flags;
		state->fragment_left -= slice->wire_len;
		return;
	}
	at = (struct place){ stream, connection, state, direction };
	if (state->phase == RECORD_TLS)
		stream->counters.tls_bytes += slice->lost ? 0 : slice->wire_len;
	else if (state->phase != RECORD_NO_PLACE)
		parse(&at, slice);
	else
		search(&at, slice);
	if (state->phase == RECORD_NO_PLACE)
		resume(&at, HOPE_MORE);
}

void
records_refuse(struct stream *stream, struct connection *connection, uint8_t direction, struct slice *slice)
{
	struct record_state *state = &connection->half[direction].record;
	struct place at = { stream, connection, state, direction };

	state->phase = RECORD_IN_BODY;
	state->head_done = state->headless = true;
	slice_pass(slice, MARK_LEN);
	lose_place(&at, true);
	search(&at, slice);
	if (state->phase == RECORD_NO_PLACE)
		resume(&at, HOPE_MORE);
}

void
records_settle(struct stream *stream, struct connection *connection, uint8_t direction)
{
	struct place at = { stream, connection, &connection->half[direction].record, direction };

	resume(&at, HOPE_PROOF);
}

void
records_finish(struct stream *stream, struct connection *connection, uint8_t direction)
{
	struct place at = { stream, connection, &connection->half[direction].record, direction };

	resume(&at, HOPE_NONE);
	if (at.state->phase == RECORD_NO_PLACE)
		stream->sink.missed(stream->sink.context, &connection->info, direction, stream->now_ns);
	abandon_record(&at);
	free_resync(stream, at.state);
	g_free(at.state->copy);
	at.state->copy = NULL;
	at.state->phase = RECORD_NO_PLACE;
}
