/*
 * The counterpart of one op among those that wait on the other side.
 */
#ifndef CORRELATE_SEARCH_H
#define CORRELATE_SEARCH_H

#include "correlate/flows.h"
#include "correlate/offset.h"
#include "correlate/pool.h"

enum { SIDE_FIRST, SIDE_CLIENTS, SIDES };

/* All that waits, and all that is known; pairing.c owns it. */
struct field {
	struct pool pools[SIDES];
	struct flows *flows;
	struct offset *offsets;		/* by client capture, from 0 */
	uint64_t steps;			/* candidates looked at */
	uint64_t retransmitted[SIDES];	/* waiting ops that were sent more than once */
	bool last;			/* nothing follows */
};

/* How well a candidate fits; one of the first that has any is the counterpart, or none is. */
enum rank { RANK_FULL, RANK_LOOSE, RANK_PARTIAL, RANKS };

struct search {
	const struct waiting *op;
	bool waits;		/* op is one of those that wait */
	bool mark;		/* those that might be it are to know */
	bool again;		/* op was looked at before: it says nothing new of the offset */

	struct waiting *found;	/* the counterpart, or NULL */
	bool loose;		/* it does not quite agree with what is known of the offset */
	bool refused;		/* one agreed in all but its reply or its times */
	bool fits;		/* some fit, or might if the offset were known */
	uint32_t elected[SIDES];	/* connections that votes show to be the same, or FLOW_NONE */

	/* the search's own */
	unsigned side, other;
	uint32_t samples;
	bool wandering;		/* only ops that were sent more than once count */
	/* by enum rank: newest and number of those that fit; of them on the connection bound to op's */
	struct waiting *best[RANKS], *bound_best[RANKS];
	uint32_t count[RANKS], bound_count[RANKS];
};

enum glance_result {
	GLANCE_UNSURE,
	GLANCE_NOTHING,		/* no counterpart waits */
	GLANCE_FOUND,		/* there is but one op on either side that may be the call, and it is beyond doubt */
};

/* What was found: */
struct glance {
	struct waiting *found;
	struct offset *offset;		/* its times are to be learned from by this one */
	struct offset_news news;
};

static inline unsigned
search_side(const struct waiting *waiting)
{
	return waiting->capture == 0 ? SIDE_FIRST : SIDE_CLIENTS;
}

/*
 * What search_run would find for an op that just came, where that is plain; exact:
 * both captures know its tuple. It leaves no samples and no votes.
 */
enum glance_result search_glance(struct field *field, const struct waiting *op, bool exact, struct glance *glance);
/*
 * Fills in what was found. On the way op gives samples for the offset, unless it
 * is looked at again, and votes for connections, where voting is set.
 */
void search_run(struct field *field, struct search *search, bool voting);
/* Some op of the other side may be the same call as op, which was not paired. mark: tells them so. */
bool search_contested(struct field *field, const struct waiting *op, bool mark);

#endif
