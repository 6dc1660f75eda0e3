#include "trace/sight.h"

#include <glib.h>
#include <string.h>

enum { MARK_BYTES = 4 };

struct sight_piece {
	uint64_t from, to;
	uint64_t visible;	/* from <= visible <= to */
	int64_t at_ns;
};

struct sight_mark {
	uint64_t offset;	/* rising */
	int64_t at_ns;		/* when it was first reached */
};

static void
marks_add(struct sight_marks *marks, uint64_t offset, int64_t at_ns)
{
	if (marks->count > marks->first && marks->mark[marks->count - 1].offset >= offset)
		return;
	if (marks->count == marks->allocated) {
		/* What is settled goes first; then the array grows if it is still crowded. */
		if (marks->first > 0) {
			marks->count -= marks->first;
			memmove(marks->mark, marks->mark + marks->first,
				marks->count * sizeof *marks->mark);
			marks->first = 0;
		}
		if (marks->count * 2 >= marks->allocated) {
			marks->allocated = MAX(16, marks->allocated * 2);
			marks->mark = g_renew(struct sight_mark, marks->mark, marks->allocated);
		}
	}
	marks->mark[marks->count++] = (struct sight_mark){ offset, at_ns };
}

static int64_t
marks_reached(const struct sight_marks *marks, uint64_t offset)
{
	for (uint32_t i = marks->first; i < marks->count; i++)
		if (marks->mark[i].offset >= offset)
			return marks->mark[i].at_ns;
	return TRACE_NEVER;
}

/* The last mark stays: it may be the only one that answers for later bytes. */
static void
marks_forget(struct sight_marks *marks, uint64_t before)
{
	while (marks->first + 1 < marks->count && marks->mark[marks->first].offset < before)
		marks->first++;
}

void
trace_sight_clear(struct sight *sight)
{
	g_free(sight->piece);
	g_free(sight->sent.mark);
	g_free(sight->acked.mark);
	memset(sight, 0, sizeof *sight);
}

static void
insert_piece(struct sight *sight, uint32_t at, const struct sight_piece *piece)
{
	if (sight->count == sight->allocated) {
		if (sight->first > 0) {
			sight->count -= sight->first;
			memmove(sight->piece, sight->piece + sight->first,
				sight->count * sizeof *sight->piece);
			at -= sight->first;
			sight->first = 0;
		}
		if (sight->count * 2 >= sight->allocated) {
			sight->allocated = MAX(16, sight->allocated * 2);
			sight->piece = g_renew(struct sight_piece, sight->piece,
				sight->allocated);
		}
	}
	memmove(sight->piece + at + 1, sight->piece + at,
		(sight->count - at) * sizeof *sight->piece);
	sight->piece[at] = *piece;
	sight->count++;
}

/* Adds what is new of a packet between the pieces that are there. */
static void
add_piece(struct sight *sight, struct sight_piece piece)
{
	uint64_t to = piece.to;
	uint64_t visible = piece.visible;
	uint32_t at = sight->count;

	while (at > sight->first && sight->piece[at - 1].to > piece.from)
		at--;
	while (piece.from < to) {
		uint64_t limit = at < sight->count ? sight->piece[at].from : to;

		if (limit > piece.from) {
			piece.to = MIN(limit, to);
			piece.visible = CLAMP(visible, piece.from, piece.to);
			/* An index relative to `first` survives a move of the array. */
			at -= sight->first;
			insert_piece(sight, at + sight->first, &piece);
			at += sight->first + 1;
			piece.from = piece.to;
		} else {
			piece.from = MAX(piece.from, sight->piece[at].to);
			at++;
		}
	}
}

void
trace_sight_packet(struct sight *sight, uint64_t from, uint64_t to, uint64_t visible,
	int64_t at_ns)
{
	if (!sight->started) {
		sight->started = true;
		sight->settled = MAX(sight->settled, from);
		sight->settled_ns = at_ns;
	}
	marks_add(&sight->sent, from, at_ns);
	from = MAX(from, sight->settled);
	if (from < to)
		add_piece(sight, (struct sight_piece){ from, to, visible, at_ns });
}

void
trace_sight_ack(struct sight *sight, uint64_t upto, int64_t at_ns)
{
	marks_add(&sight->acked, upto, at_ns);
}

/*
 * When a gap that ends here was known to be one; TRACE_NEVER: not yet. Bytes that
 * are never acknowledged never came, unless no acknowledgement is captured at all.
 */
static int64_t
gap_ns(const struct sight *sight, uint64_t gap_end)
{
	int64_t sent_ns = marks_reached(&sight->sent, gap_end);
	int64_t acked_ns = marks_reached(&sight->acked, gap_end);

	if (acked_ns == TRACE_NEVER)
		return sight->acked.count > 0 ? TRACE_NEVER : sent_ns;
	if (sent_ns == TRACE_NEVER)
		return acked_ns;
	return MIN(sent_ns, acked_ns);
}

/* Bytes that were acknowledged before this copy of them was captured had come in another one. */
static int64_t
piece_ns(const struct sight *sight, const struct sight_piece *piece)
{
	int64_t acked_ns = marks_reached(&sight->acked, piece->to);

	return acked_ns == TRACE_NEVER || acked_ns >= piece->at_ns ? piece->at_ns : gap_ns(sight, piece->to);
}

struct coverage {
	uint64_t captured, visible;	/* bytes of the record */
	uint64_t header_captured, header_visible;
};

static uint64_t
overlap(uint64_t from, uint64_t to, uint64_t start, uint64_t end)
{
	from = MAX(from, start);
	to = MIN(to, end);
	return from < to ? to - from : 0;
}

static enum trace_seen
seen(const struct sight *sight, struct sight_record *record)
{
	struct coverage c = { 0 };
	uint64_t length = record->end - record->start;
	/* A mark that was lost in part, or all of it, is no more than a length: what follows may show the record. */
	uint64_t header_start = record->start + MARK_BYTES;
	uint64_t header = record->header_end - header_start;
	int64_t behind_mark_ns = TRACE_NEVER;

	for (uint32_t i = sight->first; i < sight->count; i++) {
		const struct sight_piece *p = &sight->piece[i];

		if (p->from >= record->end)
			break;
		if (p->from <= record->start && p->to > record->start)
			record->first_ns = p->at_ns;
		if (p->from <= header_start && p->to > header_start)
			behind_mark_ns = p->at_ns;
		c.captured += overlap(p->from, p->to, record->start, record->end);
		c.visible += overlap(p->from, p->visible, record->start, record->end);
		c.header_captured += overlap(p->from, p->to, header_start, record->header_end);
		c.header_visible += overlap(p->from, p->visible, header_start,
			record->header_end);
	}
	if (record->first_ns == TRACE_NEVER)
		record->first_ns = behind_mark_ns;
	if (c.visible == length)
		return TRACE_SEEN_FULL;
	if (c.header_visible == header)
		return c.captured == length ? TRACE_SEEN_CUT : TRACE_SEEN_PART;
	/* A decoder does not know that there is a record. */
	record->first_ns = TRACE_NEVER;
	return c.header_captured == header ? TRACE_SEEN_HIDDEN : TRACE_SEEN_NO;
}

/* The running maximum over pieces and gaps up to `end`. */
static bool
advance(struct sight *sight, uint64_t end)
{
	uint64_t at = sight->settled;
	int64_t max_ns = sight->settled_ns;
	uint32_t i = sight->first;

	if (end <= at)
		return true;
	while (at < end) {
		const struct sight_piece *p = i < sight->count ? &sight->piece[i] : NULL;

		if (p != NULL && p->from <= at) {
			max_ns = MAX(max_ns, piece_ns(sight, p));
			at = MAX(at, p->to);
			i++;
		} else {
			uint64_t gap_end = p != NULL ? MIN(p->from, end) : end;
			int64_t known_ns = gap_ns(sight, gap_end);

			if (known_ns == TRACE_NEVER)
				return false;
			max_ns = MAX(max_ns, known_ns);
			at = gap_end;
		}
	}
	sight->settled = end;
	sight->settled_ns = max_ns;
	while (sight->first < sight->count && sight->piece[sight->first].to <= end)
		sight->first++;
	marks_forget(&sight->sent, end);
	marks_forget(&sight->acked, end);
	return true;
}

bool
trace_sight_settle(struct sight *sight, struct sight_record *record, bool final)
{
	record->first_ns = TRACE_NEVER;
	record->last_ns = TRACE_NEVER;
	record->seen = seen(sight, record);
	if (advance(sight, record->end)) {
		if (record->seen > TRACE_SEEN_HIDDEN)
			record->last_ns = sight->settled_ns;
		return true;
	}
	/* Nobody waits for the end of a record without a header; the gap stays open. */
	return final || record->seen <= TRACE_SEEN_HIDDEN;
}
