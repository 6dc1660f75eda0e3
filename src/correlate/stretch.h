/*
 * A stretch of time in which neither clock stepped, and the line that the
 * offset follows in it.
 *
 * No clock keeps to one line for hours. What is said of a call therefore rests
 * on the recent pairs only: between one and two generations of them, each at
 * least RECENT_PAIRS and RECENT_NS. With less traffic than that it rests on all. The
 * line through everything is kept beside it, for the drift.
 */
#ifndef CORRELATE_STRETCH_H
#define CORRELATE_STRETCH_H

#include "correlate/op_pair.h"
#include "correlate/polygon.h"

enum { RECENT_PAIRS = 1000 };
#define RECENT_NS (4 * (int64_t)NS_PER_S)

/* The bounds that say most of the offset at one end of a stretch, whatever its drift is. */
struct reach {
	bool has[2];
	struct bound best[2];		/* lower, upper */
};

struct stretch {
	struct reach start, end;

	/* Which of the lines: those that rest on the same bounds are one. */
	uint8_t recent, young, whole;
	struct polygon line[3];

	int64_t recent_first_ns;	/* server clock */
	uint64_t generation;		/* of recent, from 0 */
	/* The generation that follows: part of recent's bounds. */
	uint64_t young_pairs;
	int64_t young_ns;		/* server clock, its begin */
	double least_gain_ns;		/* bounds that would take away less are passed over */

	/* All bounds since whole_first_ns. */
	int64_t whole_first_ns, whole_last_ns;	/* server clock, of the pairs */
	/* When bounds of each direction, lower and upper, began and ended: only where both came would a step have shown. */
	int64_t bounds_first_ns[2], bounds_last_ns[2];	/* server clock */
	uint64_t whole_pairs;
	bool is_bent;			/* recent pairs exclude the line through all */

	int64_t first_ns;		/* server clock */
	uint64_t pairs;
	bool follows;			/* a change is before it: */
	bool bends;			/* the offset went on from there without a jump */
	uint64_t change_frame[2];	/* calls up to these frames, by host, may have seen it */
};

/* Nothing is known. change_frame: of the change before it; NULL when there was none. */
void stretch_init(struct stretch *stretch, const uint64_t change_frame[2]);
/* True when the call began, on both hosts, after these frames. */
static inline bool
is_behind(const struct op_pair *pair, const uint64_t frame[2])
{
	return pair->op[PAIR_SERVER].call_order > frame[PAIR_SERVER] &&
	    pair->op[PAIR_CLIENT].call_order > frame[PAIR_CLIENT];
}

/* True when the change before the stretch cannot have touched the pair. */
static inline bool
stretch_holds(const struct stretch *stretch, const struct op_pair *pair)
{
	return !stretch->follows || is_behind(pair, stretch->change_frame);
}

/* The line through recent pairs, and that through all. */
static inline const struct polygon *
stretch_recent(const struct stretch *stretch)
{
	return &stretch->line[stretch->recent];
}

static inline const struct polygon *
stretch_whole(const struct stretch *stretch)
{
	return &stretch->line[stretch->whole];
}

/* True when one of the bounds, by itself, leaves no recent line. */
bool stretch_excludes(const struct stretch *stretch, const struct bound *bound, unsigned bounds);
/* Takes in the bounds of a pair; false, with nothing changed, when they leave no recent line. */
bool stretch_learn(struct stretch *stretch, const struct op_pair *pair, const struct bound *bound, unsigned bounds);
/*
 * True when the offset jumped from the end of one stretch to the start of the
 * other: no drift takes it there, be it that of a clock that is being slewed.
 */
bool stretch_jumps(const struct reach *end, const struct reach *start);
/*
 * From when to when the line through all is surely that of its time, server
 * clock: bounds of one direction alone fit the line behind a step as well.
 */
void stretch_span(const struct stretch *stretch, int64_t *first_ns, int64_t *last_ns);
/* What came behind that time may be behind a step. */
void stretch_end_at(struct stretch *stretch, int64_t last_ns);
/* Both lines are these once more. */
void stretch_rewind(struct stretch *stretch, const struct polygon *recent, const struct polygon *whole);
/* Takes in the bounds of a pair that stretch_rewind took away. */
void stretch_cut(struct stretch *stretch, const struct bound *bound, unsigned bounds);
/* When it is bent: the line through all begins anew with the recent pairs. */
void stretch_straighten(struct stretch *stretch);

#endif
