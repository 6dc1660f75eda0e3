/*
 * How many calls were under way at once, over time: at a server, on a
 * connection, at a client, in a session.
 *
 * Beside the calls in flight it follows the places held: a place that a reply
 * made free counts as held for a moment more, DEPTH_REUSE_NS and half the
 * usual latency at most, unless the next call takes it. So a table of K slots,
 * whose owner takes microseconds to send the next call, shows as K places held
 * all the time, although fewer calls are on the wire.
 */
#ifndef STATS_DEPTH_H
#define STATS_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/sweep.h"

enum {
	DEPTH_KINDS = 6,		/* of calls, whose latencies are not mixed */
	DEPTH_EXACT = 256,		/* depths below have a level each, 32 share an octave above */
	DEPTH_REUSE_NS = 100000,
};

struct depth_level {
	int64_t time_ns;		/* with so many places held; or calls in flight, see by_calls */
	/* of the calls that began with so many places held, themselves included */
	uint64_t begun;
	uint64_t reused;		/* took the place of a call that had just ended */
	int64_t reuse_ns;		/* from that call's end, the sum */
	/* of the calls that began with so many in flight, themselves included, and whose latency is known */
	int64_t latency_ns;		/* the sum */
	uint64_t timed[DEPTH_KINDS];
	/* of logarithms to base 2 of latencies in ns, in 256ths; a linear one inside an octave */
	uint64_t log_sum[DEPTH_KINDS], log_squares[DEPTH_KINDS];
};

/* All zero is empty. */
struct depth {
	bool by_calls;			/* levels count calls in flight, and places are not followed */
	uint64_t calls;
	uint32_t in_flight, max;
	int64_t span_ns;		/* from the first begin to the last end; complete once finished, as the next two */
	int64_t idle_ns;		/* of it, without a call in flight */
	__int128 sum_ns;		/* of the calls' times: the mean is sum / span */
	struct depth_level *level;	/* owned */
	uint32_t levels;
	/* state */
	uint32_t room;			/* below it one more call, or place held, has a level */
	int64_t first_ns, last_ns;	/* of the events since time began, or was set back */
	int64_t level_ns;		/* up to which level[].time_ns is complete; by_calls: last_ns is */
	int64_t usual_ns;		/* a moving mean of latencies */
	int64_t hold_ns;		/* by it: for how long a place that is free counts as held */
	int64_t until_ns;		/* of the last one of place */
	uint32_t held;
	/* owned; a ring: those that were made free of late, from first_place on, both numbers counted on */
	struct depth_place *place;
	uint32_t first_place, next_place, place_room;
};

/*
 * Events in the order of time; with no call in flight time may be set back.
 * kind < DEPTH_KINDS; a latency below zero is not known.
 */
void depth_begin(struct depth *depth, int64_t at_ns, unsigned kind, int64_t latency_ns);
void depth_end(struct depth *depth, int64_t at_ns);
/*
 * by_calls: the same for all that a sweep tells together, a call's kind being
 * its rank there. Of calls that begin at from_ns the latency is not known.
 */
void depth_follow(struct depth *depth, const struct sweep_run *run, int64_t from_ns);
/* A call's time of which it is not known what else was under way. */
void depth_missed(struct depth *depth, int64_t part_ns);
/* No event follows. */
void depth_finish(struct depth *depth);
/* Both are finished. */
void depth_merge(struct depth *into, const struct depth *from);
/* Makes copy, whatever it held, the same with memory of its own. */
void depth_copy(struct depth *copy, const struct depth *depth);
/* Frees what depth owns and empties it. */
void depth_clear(struct depth *depth);

/* The least depth of a level. */
uint32_t depth_of_level(uint32_t level);
/* The time-weighted mean; false when it took no time. */
bool depth_mean(const struct depth *depth, double *mean);
/* Time with a call in flight. */
int64_t depth_busy_ns(const struct depth *depth);

/* The share of the time with any that there were more than so many; without any 0. */
double depth_share_above(const struct depth *depth, uint32_t count);

/*
 * The flat top: never more than `top` calls, and most of the busy time with
 * that many places held, nine tenths of them at least; or a fifth of it, if
 * nearly all calls fall into that. Stamps of calls and
 * replies that pass at the same time may be out of order: what exceeds top for
 * less than a thousandth of the time is put down to them.
 */
struct depth_plateau {
	uint32_t top;
	double share;		/* of the time with any place held: nine tenths of top held */
	double reused;		/* share of the calls that began there which took the place of one that had just ended */
	int64_t reuse_ns;	/* the mean of their times from that end */
};
/* False when there is none. least: 2, or 1 where one place is all there is. */
bool depth_plateau(const struct depth *depth, uint32_t least, struct depth_plateau *plateau);

/*
 * Latency with at least `many` calls in flight over that with few, half the most
 * at most and fewer than many: of geometric means, which a few slow calls do not
 * move, each kind of call compared with itself. least: what is left of the
 * ratio four standard errors lower. False when the one is not known from
 * DEPTH_CALLS calls and half of all there, or the other from DEPTH_BASE_CALLS.
 */
enum { DEPTH_CALLS = 30, DEPTH_BASE_CALLS = 16 };
struct depth_growth {
	double ratio, least;
};
bool depth_growth(const struct depth *depth, uint32_t many, struct depth_growth *growth);

/* Levels joined into few groups: 1, 2, 3, 4, 5-6, 7-8, 9-12, 13-16, 17-24, ... */
struct depth_group {
	uint32_t from, to;	/* depths */
	double share;		/* of the time with any */
	uint64_t calls;		/* that began there and have a latency */
	int64_t latency_ns;	/* their mean; 0 without calls */
};
enum { DEPTH_GROUPS = 64 };
/* How many groups there are. */
unsigned depth_groups(const struct depth *depth, struct depth_group group[DEPTH_GROUPS]);
/*
 * The depth from which on latency is half as much again as at few calls, beyond
 * doubt; groups with too few calls are joined. 0: none, or not known.
 */
uint32_t depth_knee(const struct depth *depth);

#endif
