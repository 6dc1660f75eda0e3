#include "trace/stream.h"

#include <string.h>

#include "trace/capture.h"
#include "trace/load.h"
#include "trace/lost.h"
#include "trace/tcp.h"
#include "trace/udp.h"

static struct sim *
sim_of(const struct half *half)
{
	return half->conn->lane->client->host.sim;
}

void
trace_stream_append(struct half *half, struct record *record)
{
	uint64_t len = record->end;

	record->half = half;
	record->start = half->end;
	record->end += half->end;
	record->header_end += half->end;
	half->end += len;
	for (unsigned side = 0; side < TRACE_SIDES; side++)
		record->ideal[side] = (struct call_times){ TRACE_NEVER, TRACE_NEVER };
	if (half->last != NULL)
		half->last->next = record;
	else
		half->first = record;
	half->last = record;
	if (half->sending == NULL)
		half->sending = record;
	if (half->leaving == NULL)
		half->leaving = record;
	if (half->delivering == NULL)
		half->delivering = record;
}

struct record *
trace_stream_find(struct record *from, uint64_t offset)
{
	while (from != NULL && from->end <= offset)
		from = from->next;
	return from;
}

void
trace_stream_copy(const struct record *record, uint64_t offset, uint8_t *to, size_t len)
{
	while (len > 0) {
		uint64_t at = offset - record->start;
		size_t part;

		if (at < record->head_len) {
			part = MIN(len, record->head_len - at);
			memcpy(to, record->head + at, part);
		} else if (at < (uint64_t)record->head_len + record->bulk_len) {
			part = MIN(len, record->head_len + record->bulk_len - at);
			memcpy(to, record->bulk + (at - record->head_len), part);
		} else {
			part = MIN(len, record->end - offset);
			memset(to, 0, part);
		}
		to += part;
		offset += part;
		len -= part;
		if (offset == record->end)
			record = record->next;
	}
}

/* In order by nature: a host's card sends first copies in the order of the stream. */
static void
left(struct half *half, const struct frame *frame)
{
	struct sim *sim = half->conn->lane->client->host.sim;
	enum trace_side side = sender_of(half->direction);
	uint64_t to = frame->offset + frame->len;

	while (half->leaving != NULL && half->leaving->start < to) {
		struct record *record = half->leaving;

		if (record->ideal[side].first_ns == TRACE_NEVER) {
			record->ideal[side].first_ns = sim->now_ns;
			record->closed_before_ns = trace_tcp_closed_ns(half);
			if (half->direction == CALLS)
				record->call->copies_sent++;
		}
		if (record->end > to)
			break;
		record->ideal[side].last_ns = sim->now_ns;
		half->leaving = record->next;
	}
	half->left = MAX(half->left, to);
}

void
trace_stream_passed(const struct frame *frame, enum trace_side side)
{
	struct half *half = frame->half;
	struct sim *sim = half->conn->lane->client->host.sim;
	uint64_t to = frame->offset + frame->len;

	if (frame->len == 0)
		return;
	if (side == sender_of(half->direction)) {
		if (to > half->left)
			left(half, frame);
		return;
	}
	for (struct record *r = frame->record; r != NULL && r->start < to; r = r->next)
		if (r->start >= frame->offset && r->ideal[side].first_ns == TRACE_NEVER)
			r->ideal[side].first_ns = sim->now_ns;
}

/* Keeps an early range; ranges that touch are joined. */
static void
keep_early(struct ranges *ranges, struct range new)
{
	unsigned at = 0;
	unsigned last;

	while (at < ranges->count && ranges->range[at].to < new.from)
		at++;
	for (last = at; last < ranges->count && ranges->range[last].from <= new.to; last++) {
		new.from = MIN(new.from, ranges->range[last].from);
		new.to = MAX(new.to, ranges->range[last].to);
	}
	if (last == at) {
		if (ranges->count == ranges->allocated) {
			ranges->allocated = MAX(8, ranges->allocated * 2);
			ranges->range = g_renew(struct range, ranges->range, ranges->allocated);
		}
		memmove(ranges->range + at + 1, ranges->range + at,
			(ranges->count - at) * sizeof *ranges->range);
		ranges->count++;
	} else if (last > at + 1) {
		memmove(ranges->range + at + 1, ranges->range + last,
			(ranges->count - last) * sizeof *ranges->range);
		ranges->count -= last - at - 1;
	}
	ranges->range[at] = new;
}

bool
trace_stream_arrived(struct half *half, uint64_t from, uint64_t to)
{
	struct sim *sim = half->conn->lane->client->host.sim;
	enum trace_side side = receiver_of(half->direction);
	struct ranges *early = &half->early;

	if (to <= half->expected)
		return false;
	if (from > half->expected) {
		keep_early(early, (struct range){ from, to });
		return true;
	}
	half->expected = to;
	while (early->count > 0 && early->range[0].from <= half->expected) {
		half->expected = MAX(half->expected, early->range[0].to);
		early->count--;
		memmove(early->range, early->range + 1, early->count * sizeof *early->range);
	}
	for (struct record *r = half->delivering; r != NULL && r->end <= half->expected;
	    r = r->next) {
		if (r->ideal[side].last_ns != TRACE_NEVER)
			continue;
		r->ideal[side].last_ns = sim->now_ns;
		r->call->window_closed_ns[half->direction] +=
			trace_tcp_closed_ns(half) - r->closed_before_ns;
		if (r->call->retransmit_ns[half->direction] == 0)
			r->call->retransmit_ns[half->direction] = trace_lost_cost_ns(r);
	}
	trace_lost_forget(half);
	return true;
}

/* ---- when a record is over ---- */

static void
earliest(int64_t *at_ns, int64_t candidate_ns)
{
	if (candidate_ns != TRACE_NEVER && (*at_ns == TRACE_NEVER || candidate_ns < *at_ns))
		*at_ns = candidate_ns;
}

/*
 * Of a call: the first copy's start, and the first copy that was complete. On one
 * connection the first is that in the stream, even if parts of later ones came
 * before its retransmission did.
 */
static void
merge_call(struct call_times *times, const struct call_times *copy, bool follows)
{
	if (!follows || times->first_ns == TRACE_NEVER)
		earliest(&times->first_ns, copy->first_ns);
	earliest(&times->last_ns, copy->last_ns);
}

/* Of a reply: the first that was complete; until there is one, the first. */
static void
merge_reply(struct call_times *times, const struct call_times *copy)
{
	bool better = times->last_ns == TRACE_NEVER
		? copy->last_ns != TRACE_NEVER || times->first_ns == TRACE_NEVER
		: copy->last_ns != TRACE_NEVER && copy->last_ns < times->last_ns;

	if (better)
		*times = *copy;
}

static void
merge_record(struct record *record)
{
	struct call *call = record->call;
	bool is_call = record->half->direction == CALLS;

	for (unsigned side = 0; side < TRACE_SIDES; side++) {
		enum trace_seen *seen =
			is_call ? &call->call_seen[side] : &call->reply_seen[side];

		if (is_call) {
			bool follows = call->last_copy == record->half->conn;

			merge_call(&call->call_ideal[side], &record->ideal[side], follows);
			merge_call(&call->call_shown[side], &record->shown[side], follows);
		} else {
			merge_reply(&call->reply_ideal[side], &record->ideal[side]);
			merge_reply(&call->reply_shown[side], &record->shown[side]);
		}
		*seen = MAX(*seen, record->seen[side]);
	}
	if (is_call)
		call->last_copy = record->half->conn;
}

static bool
settle_side(struct record *record, enum trace_side side, bool final)
{
	struct half *half = record->half;
	struct capture *capture = host_of(half->conn, side)->capture;
	struct sight_record sight = { record->start, record->end, record->header_end, 0, 0, 0 };

	if (record->settled[side])
		return true;
	if (capture != NULL && sim_of(half)->config->udp) {
		trace_udp_settle(record, side);
	} else if (capture == NULL) {
		record->shown[side] = (struct call_times){ TRACE_NEVER, TRACE_NEVER };
		record->seen[side] = TRACE_SEEN_NONE;
	} else {
		if (!trace_sight_settle(&half->sight[side], &sight, final))
			return false;
		record->shown[side] = (struct call_times){ sight.first_ns, sight.last_ns };
		record->seen[side] = sight.seen;
	}
	if (capture != NULL) {
		if (record->ideal[side].first_ns != TRACE_NEVER) {
			struct capture_counts *counts = trace_capture_counts(capture);

			counts->hidden[half->direction] += record->seen[side] == TRACE_SEEN_HIDDEN;
			counts->unseen[half->direction] += record->seen[side] == TRACE_SEEN_NO;
		}
	}
	record->settled[side] = true;
	return true;
}

static void
free_record(struct record *record)
{
	trace_call_unref(record->call);
	g_free(record->head);
	g_free(record);
}

void
trace_stream_forget(struct half *half, bool final)
{
	struct record *record;

	while ((record = half->first) != NULL) {
		/* Acknowledged and read; a receiver that stalls still has to read it. */
		bool over = half->closed || sim_of(half)->config->udp
			|| (record->end <= half->una && record != half->delivering);

		if ((!over || record->holders > 0) && !final)
			return;
		if (!settle_side(record, TRACE_SERVER, final)
		    || !settle_side(record, TRACE_CLIENT, final))
			return;
		half->first = record->next;
		if (half->first == NULL)
			half->last = NULL;
		if (half->sending == record)
			half->sending = record->next;
		if (half->leaving == record)
			half->leaving = record->next;
		if (half->delivering == record)
			half->delivering = record->next;
		merge_record(record);
		free_record(record);
	}
	/* Traces of a million connections have to fit into memory. */
	if (half->closed && !half->forgotten) {
		half->forgotten = true;
		for (unsigned side = 0; side < TRACE_SIDES; side++)
			trace_sight_clear(&half->sight[side]);
	}
}

void
trace_stream_hold(struct frame *frame)
{
	if (frame->record != NULL)
		frame->record->holders++;
}

void
trace_stream_release(struct frame *frame)
{
	if (frame->record == NULL)
		return;
	frame->record->holders--;
	frame->record = NULL;
	trace_stream_forget(frame->half, false);
}
