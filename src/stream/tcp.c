/*
 * TCP order, overlap and loss (RFC 9293 section 3.10.7.4), as a capture point
 * sees them. Three things differ from a host's TCP: packets may be missing
 * that the receiver had (lost in the capture), the file may hold them slightly
 * out of order, and parts may have been cut off.
 */
#include <glib.h>
#include <string.h>

#include "base/arith.h"
#include "stream/connection.h"
#include "stream/flow_table.h"
#include "stream/path.h"
#include "stream/sent.h"
#include "stream/waits.h"

enum {
	/* A place this far from what is expected is another incarnation of the connection. */
	PLAUSIBLE_AHEAD = 1 << 30,
	PLAUSIBLE_BEHIND = 1 << 26,
	IMPLAUSIBLE_RUN = 4,
	/* A hole filled later than this was filled by a retransmission, whatever the round trip. */
	DISORDER_NS = 3 * NS_PER_MS,
	/* Bytes held for one direction before a hole is given up. */
	HELD_PER_HALF = 16 * 1024 * 1024,
};

static void
base_half(struct half *half, uint32_t seq_base, bool from_start)
{
	half->based = true;
	half->from_start = from_start;
	half->seq_base = seq_base;
	half->next = 0;
	half->beyond_offset = -1;
	half->record.phase = from_start ? RECORD_AT_MARK : RECORD_NO_PLACE;
	half->record.alignment = from_start ? 0 : -1;
	half->fresh = from_start;
}

static int64_t
half_offset(const struct half *half, uint32_t seq)
{
	return seq_unwrap(half->next, half->seq_base + (uint32_t)half->next, seq);
}

void
tcp_open(struct stream *stream, struct connection *connection)
{
	memset(&connection->half, 0, sizeof connection->half);
	for (int d = 0; d < 2; d++)
		connection->half[d].clock = stream->clock - 1;
	connection->info.serial = (*stream->next_serial)++;
	connection->info.rpc = NULL;
	connection->info.reset = connection->info.finished = connection->info.tls_expected = false;
	connection->info.captured[0] = connection->info.captured[1] = false;
	connection->plain = 0;
	connection->rpc = connection->tls = false;
	connection->caller = -1;
	connection->unrecognised_bytes = 0;
	for (int d = 0; d < 2; d++) {
		connection->half[d].acked = connection->half[d].acked_before = INT64_MIN;
		connection->half[d].round_trip_ns = -1;
		connection->half[d].sample_end = PATH_NO_SAMPLE;
		waits_init(&connection->half[d]);
	}
}

/* Nothing is left of the slice. */
static void
deliver(struct stream *stream, struct connection *connection, uint8_t direction, struct slice *slice)
{
	struct half *half = &connection->half[direction];
	uint32_t wire_len = slice->wire_len, cap_len = slice->cap_len;
	bool lost = slice->lost;
	int64_t seen_ns = lost ? INT64_MIN : slice->seen_ns;

	half_note_ready(half, slice->clock, slice->had_ns,
	    slice->flags | (slice->had_ns < slice->seen_ns ? RECORD_TIME_DEDUCED : 0));
	slice->ready_ns = half->ready_ns;
	slice->ready_flags = half->ready_flags;
	if (!half->fresh) {
		if (half->begun_ns == 0)
			half->begun_ns = slice->seen_ns;
		half->fresh = slice->seen_ns - half->begun_ns > FRESH_S * (int64_t)NS_PER_S;
		if (!half->fresh)
			slice->flags |= RECORD_TIME_STALE;
	}
	half->next = slice->offset + slice->wire_len;
	if (slice->lost) {
		if (connection->rpc)
			stream_count_loss(stream, half, slice);
	} else if (!connection->rpc) {
		connection->unrecognised_bytes += slice->wire_len;
	}
	records_push(stream, connection, direction, slice);
	if (connection->rpc)
		sent_add(half, wire_len, seen_ns);
	if (!lost) {
		if (connection->rpc) {
			stream->counters.delivered_bytes += wire_len;
			stream->counters.hole_bytes += wire_len - cap_len;
		} else {
			stream->counters.discarded_bytes += wire_len;
		}
	}
}

static void
drop_first_held(struct stream *stream, struct half *half)
{
	struct held *held = half->held;

	half->held = held->next;
	if (half->held == NULL)
		half->held_last = NULL;
	half->held_bytes -= held->slice.cap_len;
	stream->held_bytes -= held->slice.cap_len;
	g_free(held);
}

/* Of marks in order: how many are of bytes that were delivered since, and of no more use. */
static unsigned
passed(const struct half *half, const struct mark *mark, unsigned marks)
{
	unsigned count = 0;

	while (count < marks && mark[count].offset <= half->next)
		count++;
	return count;
}

static void
forget_places(struct half *half)
{
	unsigned count = passed(half, half->place_mark, half->place_marks);

	if (count == 0)
		return;
	half->place_marks -= (uint8_t)count;
	memmove(half->place_mark, half->place_mark + count, half->place_marks * sizeof half->place_mark[0]);
}

static void
deliver_held(struct stream *stream, struct connection *connection, uint8_t direction)
{
	struct half *half = &connection->half[direction];

	while (half->held != NULL && half->held->slice.offset == half->next) {
		struct slice slice = half->held->slice;

		deliver(stream, connection, direction, &slice);
		drop_first_held(stream, half);
	}
	forget_places(half);
}

/* The first of the marks, which are in the order of time and offset alike, that is no nearer; INT64_MAX: none. */
static int64_t
marked_behind(const struct mark *mark, unsigned marks, int64_t offset)
{
	for (unsigned i = 0; i < marks; i++)
		if (mark[i].offset >= offset)
			return mark[i].ts_ns;
	return INT64_MAX;
}

/* When the first packet behind the hole was captured: held pieces, and empty segments. */
static int64_t
seen_behind(const struct half *half, int64_t hole_end)
{
	int64_t seen_ns = marked_behind(half->place_mark, half->place_marks, hole_end);

	for (const struct held *held = half->held; held != NULL; held = held->next)
		if (held->slice.offset >= hole_end)
			seen_ns = min_ns(seen_ns, held->slice.seen_ns);
	return seen_ns;
}

/* Takes [next, end) as seen although it was not captured. */
static void
give_up(struct stream *stream, struct connection *connection, uint8_t direction, int64_t end)
{
	struct half *half = &connection->half[direction];

	forget_places(half);
	while (half->next < end) {
		/* Bytes up to a place count as seen with what was captured from there on, those behind it later. */
		int64_t piece_end = half->place_marks > 0 ? MIN(end, half->place_mark[0].offset) : end;
		int64_t seen_ns = min_ns(seen_behind(half, piece_end),
		    marked_behind(half->ack_mark, half->ack_marks, piece_end));
		struct slice slice = { .offset = half->next, .clock = stream->clock, .lost = true, .flags = RECORD_TIME_DEDUCED,
		    .waited = half->waits.so_far };

		slice.wire_len = (uint32_t)MIN(piece_end - half->next, PLAUSIBLE_AHEAD);
		slice.seen_ns = slice.had_ns = seen_ns == INT64_MAX ? stream->now_ns : seen_ns;
		sent_event(stream, connection, &(struct tcp_event){ .offset = slice.offset, .from_ns = slice.seen_ns,
		    .to_ns = stream->now_ns, .len = slice.wire_len, .direction = direction, .kind = TCP_UNSEEN });
		deliver(stream, connection, direction, &slice);
		forget_places(half);
	}
	deliver_held(stream, connection, direction);
}

/* An acknowledgement may be stamped in front of the data that it is for, but not by much. */
static bool
is_settled(const struct stream *stream, const struct mark *mark)
{
	return stream->now_ns - mark->ts_ns >= SETTLE_NS || stream->packets - mark->packets >= SETTLE_PACKETS;
}

/* Acknowledgements of bytes that have been delivered since are of no more use. */
static void
forget_marks(struct half *half)
{
	unsigned count = passed(half, half->ack_mark, half->ack_marks);

	if (count == 0)
		return;
	half->ack_marks -= (uint8_t)count;
	memmove(half->ack_mark, half->ack_mark + count, half->ack_marks * sizeof half->ack_mark[0]);
}

/* True while the half waits for something. */
static bool
settle_half(struct stream *stream, struct connection *connection, uint8_t direction)
{
	struct half *half = &connection->half[direction];

	/*
	 * A direction of which nothing is captured is lost from its first
	 * acknowledgement on; if it only begins late, what was acknowledged before
	 * had been on its way when the capture began.
	 */
	if (half->starting && (half->captured || half->ack_marks == 0))
		return false;
	if (half->starting && stream->now_ns - half->ack_mark[0].ts_ns < SILENT_HOLE_NS)
		return true;
	half->starting = false;
	for (;;) {
		int64_t end = half->held != NULL ? half->held->slice.offset : INT64_MAX;

		forget_marks(half);
		if (half->ack_marks > 0) {
			if (!is_settled(stream, &half->ack_mark[0]))
				return true;
			give_up(stream, connection, direction, MIN(end, half->ack_mark[0].offset));
			continue;
		}
		if (half->held == NULL)
			return false;
		if (!connection->half[!direction].captured &&
		    stream->now_ns - half->held->slice.seen_ns >= SILENT_HOLE_NS) {
			give_up(stream, connection, direction, end);
			continue;
		}
		if (half->held_bytes > HELD_PER_HALF || stream->held_bytes > stream->limits.held_bytes) {
			stream->counters.forced++;
			give_up(stream, connection, direction, end);
			continue;
		}
		return true;
	}
}

bool
tcp_settle(struct stream *stream, struct connection *connection)
{
	bool waits = settle_half(stream, connection, 0);

	return settle_half(stream, connection, 1) || waits;
}

static void
finish_half(struct stream *stream, struct connection *connection, uint8_t direction)
{
	struct half *half = &connection->half[direction];

	for (;;) {
		int64_t end = half->held != NULL ? half->held->slice.offset : INT64_MAX;

		forget_marks(half);
		if (half->ack_marks > 0)
			give_up(stream, connection, direction, MIN(end, half->ack_mark[0].offset));
		else if (half->held != NULL && !connection->half[!direction].captured)
			give_up(stream, connection, direction, end);
		else
			break;
	}
	while (half->held != NULL) {
		stream->counters.discarded_bytes += half->held->slice.wire_len;
		drop_first_held(stream, half);
	}
}

void
tcp_close(struct stream *stream, struct connection *connection, int64_t ts_ns, enum stream_end why)
{
	if (connection->phase == CONNECTION_TRACKED) {
		finish_half(stream, connection, 0);
		finish_half(stream, connection, 1);
		/* a call stands on its own, a reply needs its call */
		records_settle(stream, connection, 0);
		records_settle(stream, connection, 1);
		records_finish(stream, connection, 0);
		records_finish(stream, connection, 1);
		if (connection->rpc) {
			path_tell(stream, connection);
			stream_count_over(stream, connection);
		}
		stream->sink.over(stream->sink.context, &connection->info, ts_ns, why);
		for (int d = 0; d < 2; d++) {
			sent_clear(&connection->half[d]);
			g_clear_pointer(&connection->half[d].ack_mark, g_free);
			connection->half[d].ack_marks = connection->half[d].ack_room = 0;
			g_clear_pointer(&connection->half[d].place_mark, g_free);
			connection->half[d].place_marks = connection->half[d].place_room = 0;
		}
	}
	connection->info.rpc = NULL;
	connection->plain = 0;
	connection->phase = CONNECTION_CLOSED;
	connection->end_ns = ts_ns;
}

/* Bytes that were missing; those that the other end had before this copy of them were lost in the capture. */
static void
tell_late(struct stream *stream, const struct connection *connection, uint8_t direction, const struct slice *slice)
{
	bool unseen = slice->had_ns < slice->seen_ns;

	if (slice->flags & RECORD_TIME_FILLED || unseen)
		sent_event(stream, connection, &(struct tcp_event){ .offset = slice->offset, .len = slice->wire_len,
		    .from_ns = slice->had_ns, .to_ns = slice->seen_ns, .direction = direction,
		    .kind = unseen ? TCP_UNSEEN : TCP_FILLED });
}

/* Adds the parts of a slice that are not held yet, in order; what is there stays. True if all was. */
static bool
hold(struct stream *stream, struct connection *connection, uint8_t direction, struct slice slice)
{
	struct half *half = &connection->half[direction];
	struct held **at = &half->held;
	bool known = true;

	if (half->held_last != NULL && half->held_last->slice.offset + half->held_last->slice.wire_len <= slice.offset)
		at = &half->held_last->next;
	while (slice.wire_len > 0) {
		struct slice piece = slice;
		struct held *held = *at;

		if (held != NULL && held->slice.offset + held->slice.wire_len <= slice.offset) {
			at = &held->next;
			continue;
		}
		if (held != NULL && held->slice.offset <= slice.offset) {
			uint32_t skip = (uint32_t)(held->slice.offset + held->slice.wire_len - slice.offset);

			skip = MIN(skip, slice.wire_len);
			stream->counters.duplicate_bytes += skip;
			sent_event(stream, connection, &(struct tcp_event){ .offset = slice.offset,
			    .from_ns = held->slice.seen_ns, .to_ns = slice.seen_ns, .len = skip,
			    .direction = direction, .kind = TCP_REPEATED });
			slice = slice_from(&slice, skip);
			at = &held->next;
			continue;
		}
		if (held != NULL && held->slice.offset < slice.offset + slice.wire_len) {
			piece.wire_len = (uint32_t)(held->slice.offset - slice.offset);
			piece.cap_len = MIN(piece.cap_len, piece.wire_len);
		}
		tell_late(stream, connection, direction, &piece);
		*at = held_copy(&piece);
		(*at)->next = held;
		if (held == NULL)
			half->held_last = *at;
		half->held_bytes += piece.cap_len;
		stream->held_bytes += piece.cap_len;
		slice = slice_from(&slice, piece.wire_len);
		at = &(*at)->next;
		known = false;
	}
	return known;
}

/*
 * How late a segment may fill a hole and still be called out of order: a
 * retransmission takes a round trip. At its sender, whose data takes all of it to
 * be acknowledged, only the capture brings packets out of order; there a part is
 * enough, as the first packets behind the hole may be missing, too.
 */
static int64_t
disorder_ns(const struct connection *connection, const struct half *half)
{
	int64_t there_ns = half->round_trip_ns, back_ns = connection->half[half == connection->half].round_trip_ns;

	if (there_ns < 0 || back_ns < 0)
		return DISORDER_NS;
	return min_ns(DISORDER_NS, there_ns / 4 > back_ns ? there_ns / 4 : there_ns + back_ns);
}

enum lateness { IN_ORDER, OUT_OF_ORDER, SENT_AGAIN };

/* Of bytes that were not seen before: did they come behind others that follow them in the stream? */
static enum lateness
lateness(const struct connection *connection, const struct half *half, const struct slice *slice)
{
	int64_t opened_ns;

	if (half->beyond_offset <= slice->offset &&
	    (half->held_last == NULL || half->held_last->slice.offset <= slice->offset))
		return IN_ORDER;
	opened_ns = seen_behind(half, slice->offset + 1);
	if (opened_ns == INT64_MAX || slice->seen_ns <= opened_ns)
		return IN_ORDER;
	return slice->seen_ns - opened_ns > disorder_ns(connection, half) ? SENT_AGAIN : OUT_OF_ORDER;
}

static void
count_late(struct stream *stream, enum lateness late)
{
	stream->counters.retransmitted += late == SENT_AGAIN;
	stream->counters.out_of_order += late == OUT_OF_ORDER;
}

/* A segment that reaches back below next, or fills the hole there. */
static void
fill(struct stream *stream, struct connection *connection, uint8_t direction, struct slice slice)
{
	struct half *half = &connection->half[direction];

	if (slice.offset < half->next) {
		uint32_t skip = (uint32_t)(half->next - slice.offset);

		stream->counters.duplicate_bytes += skip;
		stream->counters.retransmitted++;
		sent_again(stream, connection, direction, slice.offset, skip, slice.seen_ns);
		slice = slice_from(&slice, skip);
		/* what is sent together with bytes that are sent again was sent before, too */
		slice.flags |= RECORD_TIME_FILLED;
	} else {
		enum lateness late = lateness(connection, half, &slice);

		if (late == SENT_AGAIN)
			slice.flags |= RECORD_TIME_FILLED;
		count_late(stream, late);
	}
	if (half->held != NULL && half->held->slice.offset < slice.offset + slice.wire_len) {
		/* it overlaps what is held: that part is older and stays */
		uint32_t free_len = (uint32_t)(half->held->slice.offset - slice.offset);
		struct slice rest = slice_from(&slice, free_len);

		slice.wire_len = free_len;
		slice.cap_len = MIN(slice.cap_len, free_len);
		hold(stream, connection, direction, rest);
	}
	tell_late(stream, connection, direction, &slice);
	deliver(stream, connection, direction, &slice);
	deliver_held(stream, connection, direction);
}

/* Bytes whose acknowledgement was captured before them had come before it, in a copy that was not captured. */
static int64_t
had_ns(const struct half *half, const struct slice *slice)
{
	int64_t end = slice->offset + slice->wire_len;
	int64_t acked_ns = marked_behind(half->ack_mark, half->ack_marks, end);

	return acked_ns < slice->seen_ns ? min_ns(acked_ns, seen_behind(half, end)) : slice->seen_ns;
}

static void
accept_payload(struct stream *stream, struct connection *connection, const struct segment *segment, int64_t offset)
{
	uint8_t direction = segment->direction;
	struct half *half = &connection->half[direction];
	struct slice slice = slice_of(stream, &connection->half[!direction], segment, offset);

	waits_size(half, slice.wire_len);
	if (half->starting) {
		half->starting = false;
		half->next = offset;
	}
	if (offset == half->next && half->held == NULL && half->beyond_offset <= offset) {
		path_sent(half, offset + slice.wire_len, slice.seen_ns);
		waits_data(half, &connection->half[!direction], true, slice.seen_ns);
		slice.waited = half->waits.so_far;
		deliver(stream, connection, direction, &slice);
		return;
	}
	slice.had_ns = had_ns(half, &slice);
	if (offset + slice.wire_len <= half->next) {
		stream->counters.duplicate_bytes += slice.wire_len;
		/* a keep-alive repeats one byte below what is expected (RFC 9293 section 3.8.4) */
		if (slice.wire_len > 1 || offset + 1 != half->next) {
			stream->counters.retransmitted++;
			path_sent_again(half);
			sent_again(stream, connection, direction, offset, slice.wire_len, slice.seen_ns);
		}
	} else if (offset <= half->next) {
		path_sent_again(half);
		waits_data(half, &connection->half[!direction], false, slice.seen_ns);
		slice.waited = half->waits.so_far;
		fill(stream, connection, direction, slice);
	} else {
		enum lateness late = lateness(connection, half, &slice);

		if (late == SENT_AGAIN)
			slice.flags |= RECORD_TIME_FILLED;
		waits_data(half, &connection->half[!direction], false, slice.seen_ns);
		slice.waited = half->waits.so_far;
		count_late(stream, hold(stream, connection, direction, slice) ? SENT_AGAIN : late);
	}
}

static void
add_mark(struct mark **mark, uint8_t *marks, uint8_t *room, const struct mark *added)
{
	if (*marks == *room) {
		*room = MAX(4, 2 * *room);
		*mark = g_renew(struct mark, *mark, *room);
	}
	(*mark)[(*marks)++] = *added;
}

/* The last mark stretches when there is no room: its bytes then count as seen later, never earlier. */
static void
mark_ack(struct half *half, int64_t offset, int64_t ts_ns, uint64_t packets)
{
	const struct mark mark = { .offset = offset, .ts_ns = ts_ns, .packets = packets };

	forget_marks(half);
	if (half->ack_marks == ACK_MARKS)
		half->ack_marks--;
	half->beyond_offset = MAX(half->beyond_offset, offset);
	add_mark(&half->ack_mark, &half->ack_marks, &half->ack_room, &mark);
}

/* An acknowledgement of what the other direction sent. */
static void
acknowledge(struct stream *stream, struct connection *connection, const struct segment *segment)
{
	uint8_t direction = !segment->direction;
	struct half *half = &connection->half[direction];
	int64_t offset;

	if (!half->based) {
		/* nothing of it was captured yet: what comes next starts here */
		base_half(half, segment->ack, false);
		half->starting = true;
		return;
	}
	offset = half_offset(half, segment->ack);
	if (!(segment->flags & TCP_SYN))
		waits_announced(half, offset, segment->window, segment->packet->ts_ns);
	if (offset - half->next > PLAUSIBLE_AHEAD || offset <= half->acked)
		return;
	/* a FIN takes one number behind the data */
	if (half->fin)
		offset = MIN(offset, half->fin_offset);
	half_note_acked(half, offset, segment->packet->ts_ns);
	half->fresh |= offset == half->next && !half->starting && half->held == NULL;
	if (offset > half->next)
		mark_ack(half, offset, segment->packet->ts_ns, stream->packets);
	path_acked(stream, connection, half, offset, segment->packet->ts_ns);
}

bool
tcp_is_near(const struct half *half, uint32_t seq)
{
	int64_t offset = half_offset(half, seq);

	return offset - half->next <= PLAUSIBLE_BEHIND && half->next - offset <= PLAUSIBLE_BEHIND;
}

/* A connection whose segments stopped making sense is another one with the same addresses. */
static bool
is_plausible(struct half *half, int64_t offset)
{
	if (offset - half->next <= PLAUSIBLE_AHEAD && half->next - offset <= PLAUSIBLE_BEHIND) {
		half->implausible = 0;
		return true;
	}
	half->implausible++;
	return false;
}

static void
reopen(struct stream *stream, struct connection *connection, const struct segment *segment)
{
	tcp_close(stream, connection, segment->packet->ts_ns, END_OF_CONNECTION);
	stream->counters.connections++;
	tcp_open(stream, connection);
	connection->phase = CONNECTION_TRACKED;
}

static void
synchronise(struct stream *stream, struct connection *connection, const struct segment *segment)
{
	struct half *half = &connection->half[segment->direction];

	if (half->based && half->from_start && half->seq_base == segment->seq + 1)
		return;
	if (half->based && (half->from_start || half->captured))
		reopen(stream, connection, segment);
	base_half(half, segment->seq + 1, true);
	half->starting = false;
	path_sent(half, 0, segment->packet->ts_ns);
	waits_syn(connection, segment);
}

static void
note_end(struct stream *stream, struct connection *connection, const struct segment *segment, int64_t offset)
{
	struct half *half = &connection->half[segment->direction];

	if (segment->flags & TCP_RST && !connection->info.reset) {
		int64_t round_trip_ns = max_ns(connection->half[0].round_trip_ns, connection->half[1].round_trip_ns);

		connection->info.reset = true;
		connection->end_ns = segment->packet->ts_ns + max_ns(2 * round_trip_ns, RESET_NS);
		if (stream->sink.reset != NULL)
			stream->sink.reset(stream->sink.context, &connection->info);
	}
	if (segment->flags & TCP_FIN) {
		half->fin = true;
		half->fin_offset = offset + segment->payload_wire_len;
		half->acked = MIN(half->acked, half->fin_offset);
		for (unsigned i = 0; i < half->ack_marks; i++)
			half->ack_mark[i].offset = MIN(half->ack_mark[i].offset, half->fin_offset);
	}
	tcp_end_if_finished(stream, connection, segment->packet->ts_ns);
}

void
tcp_end_if_finished(struct stream *stream, struct connection *connection, int64_t ts_ns)
{
	if (connection->info.reset && ts_ns >= connection->end_ns) {
		tcp_close(stream, connection, ts_ns, END_OF_CONNECTION);
		return;
	}
	for (int d = 0; d < 2; d++) {
		const struct half *half = &connection->half[d];

		/* a direction that has only begun, and carried nothing, has nothing to wait for */
		if (!half->fin || (!half->starting && half->next < half->fin_offset))
			return;
	}
	connection->info.finished = true;
	tcp_close(stream, connection, ts_ns, END_OF_CONNECTION);
}

/*
 * An empty segment tells how far its sender had come. Without room for its mark
 * bytes count as seen later, never earlier.
 */
static void
note_place(struct half *half, int64_t offset, const struct packet *packet)
{
	const struct mark mark = { .offset = offset, .ts_ns = packet->ts_ns };

	if (offset <= half->next || half->starting)
		return;
	forget_places(half);
	if (half->place_marks == PLACE_MARKS ||
	    (half->place_marks > 0 && half->place_mark[half->place_marks - 1].offset >= offset))
		return;
	add_mark(&half->place_mark, &half->place_marks, &half->place_room, &mark);
	half->beyond_offset = MAX(half->beyond_offset, offset);
}

static void
start_mid_stream(struct half *half, const struct segment *segment)
{
	if (!half->based) {
		base_half(half, segment->seq, false);
		half->starting = true;
	}
}

void
tcp_late_segment(struct stream *stream, const struct connection *connection, const struct segment *segment)
{
	const struct half *half = &connection->half[segment->direction];
	int64_t offset = half_offset(half, segment->seq);

	if (half->based && offset + segment->payload_wire_len <= half->next)
		sent_event(stream, connection, &(struct tcp_event){ .offset = offset, .from_ns = INT64_MIN,
		    .to_ns = segment->packet->ts_ns, .len = segment->payload_wire_len, .direction = segment->direction,
		    .kind = TCP_REPEATED });
}

void
tcp_segment(struct stream *stream, struct connection *connection, const struct segment *segment)
{
	struct half *half = &connection->half[segment->direction];
	int64_t offset;

	if (segment->flags & TCP_SYN)
		synchronise(stream, connection, segment);
	else
		start_mid_stream(half, segment);
	half->captured = connection->info.captured[segment->direction] = true;
	/* a SYN takes one number in front of its data (RFC 9293 section 3.4) */
	offset = half_offset(half, segment->seq + ((segment->flags & TCP_SYN) != 0));
	if (!is_plausible(half, offset)) {
		if (half->implausible < IMPLAUSIBLE_RUN) {
			stream->counters.discarded_bytes += segment->payload_wire_len;
			return;
		}
		reopen(stream, connection, segment);
		start_mid_stream(half, segment);
		half->captured = connection->info.captured[segment->direction] = true;
		offset = half_offset(half, segment->seq);
	}
	if (segment->payload_wire_len > 0)
		accept_payload(stream, connection, segment, offset);
	else
		note_place(half, offset, segment->packet);
	if (segment->flags & TCP_ACK && connection->phase == CONNECTION_TRACKED)
		acknowledge(stream, connection, segment);
	if ((segment->flags & (TCP_RST | TCP_FIN) || half->fin) && connection->phase == CONNECTION_TRACKED)
		note_end(stream, connection, segment, offset);
}
