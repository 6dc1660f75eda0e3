#include "trace/lost.h"

static void
add(struct half *half, struct lost_range range)
{
	if (half->lost_count == half->lost_allocated) {
		half->lost_allocated = MAX(8, half->lost_allocated * 2);
		half->lost = g_renew(struct lost_range, half->lost, half->lost_allocated);
	}
	half->lost[half->lost_count++] = range;
}

void
trace_lost(const struct frame *frame)
{
	if (frame->kind == FRAME_DATA && frame->len > 0 && !frame->retransmission)
		add(frame->half, (struct lost_range){ frame->offset, frame->offset + frame->len,
			frame->left_ns, TRACE_NEVER });
}

void
trace_lost_arrived(const struct frame *frame)
{
	struct half *half = frame->half;
	uint64_t from = frame->offset, to = from + frame->len;
	unsigned count = half->lost_count;

	if (frame->len == 0)
		return;
	for (unsigned i = 0; i < count; i++) {
		struct lost_range *lost = &half->lost[i];
		struct lost_range rest = *lost;

		if (lost->filled_ns != TRACE_NEVER || lost->from >= to || lost->to <= from)
			continue;
		/* What it does not cover stays lost. */
		lost->from = MAX(lost->from, from);
		lost->to = MIN(lost->to, to);
		lost->filled_ns = frame->left_ns;
		from = lost->from;
		to = lost->to;
		if (rest.from < from)
			add(half, (struct lost_range){ rest.from, from, rest.first_ns, TRACE_NEVER });
		if (rest.to > to)
			add(half, (struct lost_range){ to, rest.to, rest.first_ns, TRACE_NEVER });
		from = frame->offset;
		to = from + frame->len;
	}
}

int64_t
trace_lost_cost_ns(const struct record *record)
{
	const struct half *half = record->half;
	int64_t at_ns = record->ideal[sender_of(half->direction)].first_ns;
	int64_t cost_ns = 0;

	for (;;) {
		int64_t next_ns = INT64_MAX;

		/* The farthest that the ranges under way now reach, else where the next one begins. */
		for (unsigned i = 0; i < half->lost_count; i++) {
			const struct lost_range *lost = &half->lost[i];

			if (lost->from >= record->end || lost->filled_ns == TRACE_NEVER
			    || lost->filled_ns <= at_ns)
				continue;
			if (lost->first_ns <= at_ns) {
				cost_ns += lost->filled_ns - at_ns;
				at_ns = lost->filled_ns;
				next_ns = at_ns;
				break;
			}
			next_ns = MIN(next_ns, lost->first_ns);
		}
		if (next_ns == INT64_MAX)
			return cost_ns;
		at_ns = next_ns;
	}
}

void
trace_lost_forget(struct half *half)
{
	const struct record *next = half->delivering;
	int64_t from_ns = INT64_MAX;
	unsigned kept = 0;

	while (next != NULL && next->ideal[receiver_of(half->direction)].last_ns != TRACE_NEVER)
		next = next->next;
	if (next != NULL && next->ideal[sender_of(half->direction)].first_ns != TRACE_NEVER)
		from_ns = next->ideal[sender_of(half->direction)].first_ns;
	for (unsigned i = 0; i < half->lost_count; i++) {
		const struct lost_range *lost = &half->lost[i];

		if (lost->filled_ns == TRACE_NEVER || lost->filled_ns > from_ns)
			half->lost[kept++] = *lost;
	}
	half->lost_count = kept;
}
