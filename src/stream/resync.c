#include "stream/resync.h"

#include <glib.h>
#include <nfscorr/xdr.h>
#include <string.h>

enum {
	CANDIDATES = 32,
	CHAIN = 3,		/* records in a row, the candidate's own included */
	CHAIN_MOST = 96,
	MARK_LEN = 4,
	PEEK = 128,		/* bytes of a record's start that a check can use, mark included */
	PEEK_LEAST = 32,	/* wait for so many where the stream goes on without a hole */
	PEEK_HOLE = 16,		/* enough where a hole follows: mark, XID, type, status */
	RECORD_LEAST = 12,
	SLICES_BYTES = RECORD_MAX + 256 * 1024,
	SCAN_BYTES = 4 * 1024 * 1024,	/* without a boundary; then only the starts of segments are looked at */
	SCAN_START = 256,
	SCAN_ALIGNED = 1024 * 1024,	/* for so long only whole words from earlier marks */
};

struct candidate {
	int64_t start;
	int64_t next;		/* where its chain expects the next mark */
	unsigned chain;		/* headers seen in a row */
	bool strong;		/* a header of the chain passed the strong check */
	bool blind;		/* the next mark is in a hole: nothing can refute or confirm */
};

struct resync {
	struct held *first, *last;
	uint64_t bytes;
	int64_t scanned;	/* places below were looked at */
	uint64_t fruitless;	/* bytes scanned without a boundary */
	unsigned chain_wanted;
	struct candidate candidate[CANDIDATES];	/* by start */
	unsigned candidates;
};

struct resync *
resync_new(void)
{
	struct resync *resync = g_new0(struct resync, 1);

	resync->chain_wanted = CHAIN;
	resync->scanned = INT64_MIN;
	return resync;
}

static void
drop_first(struct resync *resync)
{
	struct held *held = resync->first;

	resync->first = held->next;
	if (resync->first == NULL)
		resync->last = NULL;
	resync->bytes -= held->slice.cap_len;
	g_free(held);
}

void
resync_free(struct resync *resync)
{
	if (resync == NULL)
		return;
	while (resync->first != NULL)
		drop_first(resync);
	g_free(resync);
}

/*
 * The captured bytes from a place on: in place where one slice holds enough,
 * else gathered into scratch. *complete: the captured bytes end there for
 * good (a hole follows), rather than because no more came yet.
 */
static const uint8_t *
peek(const struct held *from, int64_t offset, uint8_t scratch[PEEK], uint32_t *have, bool *complete)
{
	uint32_t got = 0;

	*complete = false;
	*have = 0;
	for (const struct held *held = from; held != NULL && got < PEEK; held = held->next) {
		const struct slice *slice = &held->slice;
		uint32_t skip, n;

		if (offset + got >= slice->offset + slice->wire_len)
			continue;
		skip = (uint32_t)(offset + got - slice->offset);
		if (skip >= slice->cap_len) {
			*complete = true;
			break;
		}
		n = slice->cap_len - skip;
		if (got == 0 && n >= PEEK) {
			*have = PEEK;
			return slice->data + skip;
		}
		n = MIN(n, PEEK - got);
		memcpy(scratch + got, slice->data + skip, n);
		got += n;
		if (skip + n == slice->cap_len && slice->cap_len < slice->wire_len) {
			*complete = true;
			break;
		}
	}
	*have = got;
	return scratch;
}

/* Cheap look at a place with at least PEEK_HOLE bytes: could a record start there? */
static bool
looks_like_start(const uint8_t *bytes, uint32_t *record_len)
{
	uint32_t mark = xdr_load32(bytes);
	uint32_t type = xdr_load32(bytes + 8);
	uint32_t word = xdr_load32(bytes + 12);

	/* RFC 5531 sections 9 and 11: the only fragment, XDR in whole words, a type, version 2 or a status */
	if (mark >> 31 == 0 || type > 1 || (type == 0 ? word != 2 : word > 1))
		return false;
	*record_len = mark & 0x7fffffff;
	return *record_len % 4 == 0 && *record_len >= RECORD_LEAST && *record_len <= RECORD_MAX;
}

/* HEADER_NO also where too little is known. *wait: more bytes could tell. */
static enum header_verdict
check_place(const struct held *from, const struct stream_sink *sink, const struct connection *connection,
    uint8_t direction, int64_t offset, uint32_t *record_len, bool *wait, bool *blind)
{
	uint8_t scratch[PEEK];
	uint32_t have;
	bool complete;
	const uint8_t *bytes = peek(from, offset, scratch, &have, &complete);

	*wait = !complete && have < PEEK_LEAST;
	*blind = complete && have < PEEK_HOLE;
	if (have < PEEK_HOLE || *wait || !looks_like_start(bytes, record_len))
		return HEADER_NO;
	return sink->header(sink->context, &connection->info, direction, bytes + MARK_LEN,
	    MIN(have - MARK_LEN, *record_len), *record_len);
}

/* Follows a candidate's chain as far as the slices go; false when it is refuted. */
static bool
follow(struct candidate *candidate, const struct held *from, const struct stream_sink *sink,
    const struct connection *connection, uint8_t direction, int64_t end)
{
	while (!candidate->blind && candidate->next < end) {
		uint32_t record_len = 0;
		bool wait, blind;
		enum header_verdict verdict = check_place(from, sink, connection, direction,
		    candidate->next, &record_len, &wait, &blind);

		if (wait)
			return true;
		if (blind) {
			candidate->blind = true;
			return true;
		}
		if (verdict == HEADER_NO)
			return false;
		candidate->strong |= verdict == HEADER_YES;
		candidate->chain++;
		candidate->next += MARK_LEN + (int64_t)record_len;
	}
	return true;
}

static void
follow_all(struct resync *resync, const struct stream_sink *sink, const struct connection *connection,
    uint8_t direction, int64_t end)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < resync->candidates; i++) {
		struct candidate *candidate = &resync->candidate[i];
		const struct held *from = resync->last;

		/* most chains go on in the newest slice */
		if (from == NULL || candidate->next < from->slice.offset)
			from = resync->first;
		if (follow(candidate, from, sink, connection, direction, end))
			resync->candidate[kept++] = *candidate;
	}
	resync->candidates = kept;
}

/* The first place from at on where a record mark may stand. */
static int64_t
aligned_place(int64_t at, int alignment)
{
	return alignment < 0 ? at : at + ((alignment - at) & 3);
}

/* A place that passed the cheap look: a candidate unless it is refuted at once. False: wait for more. */
static bool
consider(struct resync *resync, const struct held *from, const struct stream_sink *sink,
    const struct connection *connection, uint8_t direction, int64_t place, int64_t end)
{
	struct candidate candidate = { .start = place, .chain = 1 };
	uint32_t record_len;
	bool wait, blind;
	enum header_verdict verdict = check_place(from, sink, connection, direction, place,
	    &record_len, &wait, &blind);

	if (verdict == HEADER_NO)
		return !wait;
	candidate.strong = verdict == HEADER_YES;
	candidate.next = place + MARK_LEN + (int64_t)record_len;
	if (follow(&candidate, from, sink, connection, direction, end))
		resync->candidate[resync->candidates++] = candidate;
	return true;
}

/* Looks for new candidates in the places of the newest slice, and those that waited for it. */
static void
scan(struct resync *resync, const struct stream_sink *sink, const struct connection *connection,
    uint8_t direction, int64_t end)
{
	/* records whose fragments are no whole words are rare, but they are */
	int alignment = resync->fruitless < SCAN_ALIGNED ? connection->half[direction].record.alignment : -1;
	int step = alignment < 0 ? 1 : 4;
	bool starts_only = resync->fruitless > SCAN_BYTES;
	int64_t stop = starts_only ? MIN(end, resync->last->slice.offset + SCAN_START) : end;
	const struct held *from = resync->first;
	int64_t place = aligned_place(resync->scanned, alignment);

	while (place < stop && resync->candidates < CANDIDATES) {
		const struct slice *slice;
		uint32_t record_len;
		int64_t skip;

		while (from->next != NULL && place >= from->slice.offset + from->slice.wire_len)
			from = from->next;
		slice = &from->slice;
		skip = place - slice->offset;
		if (skip >= slice->cap_len) {
			place = aligned_place(slice->offset + slice->wire_len, alignment);
			continue;
		}
		if (skip + PEEK_HOLE > slice->cap_len || looks_like_start(slice->data + skip, &record_len))
			if (!consider(resync, from, sink, connection, direction, place, end))
				break;
		place += step;
	}
	resync->scanned = starts_only ? end : MIN(place, end);
}

/* Slices below the earliest place that still matters are of no more use. */
static void
trim(struct resync *resync)
{
	int64_t needed = resync->candidates > 0 ? resync->candidate[0].start : resync->scanned;

	while (resync->first != NULL && resync->first->slice.offset + resync->first->slice.wire_len <= needed)
		drop_first(resync);
}

void
resync_add(struct resync *resync, const struct stream_sink *sink, const struct connection *connection,
    uint8_t direction, const struct slice *slice)
{
	struct held *held = held_copy(slice);
	int64_t end = slice->offset + slice->wire_len;

	if (resync->first == NULL) {
		resync->first = held;
		resync->scanned = slice->offset;
	} else {
		resync->last->next = held;
	}
	resync->last = held;
	resync->bytes += slice->cap_len;
	resync->fruitless += slice->cap_len;
	follow_all(resync, sink, connection, direction, end);
	scan(resync, sink, connection, direction, end);
	trim(resync);
}

/* A reply's call may have come to light since the candidate was found. */
static bool
is_strong(const struct resync *resync, struct candidate *candidate, const struct stream_sink *sink,
    const struct connection *connection, uint8_t direction)
{
	uint32_t record_len;
	bool wait, blind;

	if (!candidate->strong)
		candidate->strong = check_place(resync->first, sink, connection, direction, candidate->start,
		    &record_len, &wait, &blind) == HEADER_YES;
	return candidate->strong;
}

/*
 * A chain counts when it is longer than the largest record so far, too: what
 * looks like messages inside the payload of one ends with it.
 */
bool
resync_decide(struct resync *resync, const struct stream_sink *sink, const struct connection *connection,
    uint8_t direction, enum resync_hope hope, struct resync_place *place)
{
	while (resync->candidates > 0) {
		struct candidate *earliest = &resync->candidate[0];
		bool chained = earliest->chain >= resync->chain_wanted &&
		    earliest->next - earliest->start > connection->half[direction].record.largest;

		if (!chained && !earliest->blind && hope == HOPE_MORE && resync->bytes <= SLICES_BYTES)
			return false;
		if (chained || earliest->chain > 1 || is_strong(resync, earliest, sink, connection, direction)) {
			place->offset = earliest->start;
			place->unproven = chained ? 0 : earliest->chain;
			return true;
		}
		if (hope == HOPE_PROOF)
			return false;
		/* too weak to be believed without a chain */
		resync->candidates--;
		memmove(resync->candidate, resync->candidate + 1, resync->candidates * sizeof resync->candidate[0]);
	}
	trim(resync);
	return false;
}

uint64_t
resync_bytes(const struct resync *resync)
{
	return resync->bytes;
}

struct held *
resync_take(struct resync *resync, int64_t offset)
{
	struct held *taken;

	while (resync->first->slice.offset + resync->first->slice.wire_len <= offset)
		drop_first(resync);
	taken = resync->first;
	resync->first = resync->last = NULL;
	resync->bytes = 0;
	resync->candidates = 0;
	resync->scanned = INT64_MIN;
	resync->fruitless = 0;
	return taken;
}

void
resync_distrust(struct resync *resync)
{
	resync->chain_wanted = MIN(resync->chain_wanted * 2, CHAIN_MOST);
}

void
resync_trust(struct resync *resync)
{
	resync->chain_wanted = CHAIN;
}
