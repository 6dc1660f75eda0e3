/*
 * A pair contradicts the line of its stretch: is it wrong itself, or the first
 * sign that a clock stepped?
 *
 * A second line is learned from the calls that began, on both hosts, after the
 * pair had ended: only they are surely behind a step, whichever host it was on.
 * The pairs that fit one of the lines only decide.
 */
#ifndef CORRELATE_SUSPICION_H
#define CORRELATE_SUSPICION_H

#include "correlate/clock.h"
#include "correlate/stretch.h"

enum { SUSPICION_VOTES = 4 };	/* pairs that make a line, or decide between two */

struct suspicion {
	bool confirmed;			/* by a second pair, which took the first one's place: that may be an outlier */
	bool placed;			/* frame is valid */
	uint64_t frame[2];		/* by host: what comes after these frames is behind the step */
	unsigned unplaced;		/* pairs that came before it was placed */
	bool has_bound;
	struct bound bound;		/* of the pair: contradicts by itself */
	int64_t since_ns;		/* server clock */
	struct stretch next;		/* what pairs behind the step say */
	unsigned behind, for_next, for_now;	/* pairs behind it; those that only the one line allows */
};

enum verdict {
	VERDICT_OPEN,
	VERDICT_OUTLIER,	/* the pair is wrong, the line stands */
	VERDICT_CHANGE,		/* from the pair on another line is true, that of `next` */
};

/* A pair contradicts the line of now. */
void suspicion_begin(struct suspicion *suspicion, const struct stretch *now, const struct op_pair *pair,
    const struct bound *bound, unsigned bounds);
/* Another pair comes. */
enum verdict suspicion_hear(struct suspicion *suspicion, const struct stretch *now, const struct op_pair *pair,
    const struct bound *bound, unsigned bounds);
/* True when a pair is surely behind the step. */
bool suspicion_is_behind(const struct suspicion *suspicion, const struct op_pair *pair);

#endif
