#include "correlate/suspicion.h"

#include <glib.h>

#include "base/arith.h"
#include "correlate/pair_bounds.h"

enum {
	UNPLACED_PAIRS = 8,		/* after so many more the end of a reply is surely over */
	UNDECIDED_PAIRS = 1000,		/* so many may fit both lines before it is called a change */
	UNDECIDED_FEW = 16,		/* the same when UNDECIDED_NS have passed */
};
#define UNDECIDED_NS (10 * (int64_t)NS_PER_S)

/*
 * Places the step at a pair that contradicts. When only the end of its reply
 * does, the frame of the reply's beginning may still be before the step: the
 * next pairs tell, or are so many that they are behind the end.
 */
static void
place(struct suspicion *suspicion, const struct stretch *now, const struct op_pair *pair,
    const struct bound *bound, unsigned bounds)
{
	suspicion->placed = suspicion->unplaced++ >= UNPLACED_PAIRS;
	for (unsigned side = 0; side < 2; side++) {
		uint64_t frame = MAX(pair->op[side].call_order, pair->op[side].reply_order);

		suspicion->frame[side] = MAX(suspicion->frame[side], frame);
	}
	for (unsigned i = 0; i < bounds; i++) {
		if (!stretch_excludes(now, &bound[i], 1))
			continue;
		if (!suspicion->has_bound)
			suspicion->bound = bound[i];
		suspicion->has_bound = true;
		if (bound[i].upper || bound[i].at_ns == pair->op[PAIR_SERVER].reply_first_ns)
			suspicion->placed = true;
	}
	stretch_init(&suspicion->next, suspicion->frame);
}

/* All that was heard so far is void. */
static void
suspect(struct suspicion *suspicion, const struct stretch *now, const struct op_pair *pair,
    const struct bound *bound, unsigned bounds)
{
	suspicion->has_bound = false;
	suspicion->frame[0] = suspicion->frame[1] = 0;
	suspicion->unplaced = 0;
	suspicion->since_ns = pair->op[PAIR_SERVER].reply_last_ns;
	suspicion->behind = suspicion->for_next = suspicion->for_now = 0;
	place(suspicion, now, pair, bound, bounds);
}

void
suspicion_begin(struct suspicion *suspicion, const struct stretch *now, const struct op_pair *pair,
    const struct bound *bound, unsigned bounds)
{
	suspect(suspicion, now, pair, bound, bounds);
	suspicion->confirmed = false;
}

bool
suspicion_is_behind(const struct suspicion *suspicion, const struct op_pair *pair)
{
	return suspicion->placed && is_behind(pair, suspicion->frame);
}

/* Have pairs that fit both lines been coming for too long? */
static bool
is_stale(const struct suspicion *suspicion, const struct op_pair *pair)
{
	return suspicion->behind >= UNDECIDED_PAIRS || (suspicion->behind >= UNDECIDED_FEW &&
	    distance_ns(pair->op[PAIR_SERVER].reply_last_ns, suspicion->since_ns) >= UNDECIDED_NS);
}

static enum verdict
decide(const struct suspicion *suspicion, const struct op_pair *pair)
{
	bool known = polygon_known(stretch_recent(&suspicion->next));
	/* A pair behind a step fits the line behind it. If it contradicts itself, many pairs without its like tell. */
	bool refuted = suspicion->has_bound ? stretch_excludes(&suspicion->next, &suspicion->bound, 1) :
	    suspicion->behind >= 2 * SUSPICION_VOTES;

	if (known && suspicion->for_next >= SUSPICION_VOTES && suspicion->for_next > suspicion->for_now)
		return VERDICT_CHANGE;
	if (suspicion->for_now >= SUSPICION_VOTES || (refuted && suspicion->for_next == 0))
		return VERDICT_OUTLIER;
	if (!is_stale(suspicion, pair))
		return VERDICT_OPEN;
	return known && suspicion->for_now <= suspicion->for_next ? VERDICT_CHANGE : VERDICT_OUTLIER;
}

enum verdict
suspicion_hear(struct suspicion *suspicion, const struct stretch *now, const struct op_pair *pair,
    const struct bound *bound, unsigned bounds)
{
	bool fits_now, fits_next;

	if (!suspicion->placed) {
		place(suspicion, now, pair, bound, bounds);
		return VERDICT_OPEN;
	}
	if (bounds == 0 || !is_behind(pair, suspicion->frame))
		return VERDICT_OPEN;
	fits_now = !stretch_excludes(now, bound, bounds);
	fits_next = stretch_learn(&suspicion->next, pair, bound, bounds);
	if (!fits_now && (!fits_next || !suspicion->confirmed)) {
		suspect(suspicion, now, pair, bound, bounds);
		suspicion->confirmed = true;
		return VERDICT_OPEN;
	}
	suspicion->behind++;
	suspicion->for_next += !fits_now;
	suspicion->for_now += !fits_next;
	return decide(suspicion, pair);
}
