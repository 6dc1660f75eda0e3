/*
 * Two clocks: what matched calls prove of the offset between the server's and
 * one client's, and the split of the network time that follows from it.
 *
 * Offset = server clock - client clock. A request cannot arrive before it was
 * sent: offset <= server - client stamp. A reply likewise: offset >= server -
 * client stamp. Between steps the offset is taken as a line in time whose
 * slope is within CLOCK_MAX_DRIFT_PPB; all lines that every bound allows form a
 * convex polygon, and the printed error is its half width at that time: a hard
 * bound, not an estimate. Path asymmetry cannot be seen and is never claimed.
 */
#ifndef CORRELATE_CLOCK_H
#define CORRELATE_CLOCK_H

#include "correlate/op_pair.h"

enum { CLOCK_MAX_DRIFT_PPB = 1000000 };

enum clock_mode { CLOCK_AUTO, CLOCK_NONE, CLOCK_GIVEN };

struct clock_stage;

enum { CLOCK_STEPS_KEPT = 64 };
struct clock_step {
	int64_t at_ns;		/* server clock: first call known to be behind the step */
	int64_t step_ns;	/* change of the offset's middle */
};

struct clock_facts {
	enum clock_mode mode;
	bool aligned;			/* offset and error are known (given: offset) */
	int64_t reference_ns;		/* server clock, middle of the overlap */
	int64_t offset_ns, error_ns;	/* at reference_ns */
	bool has_drift;
	int64_t drift_ppb, drift_error_ppb;	/* change of the offset per server time */
	uint32_t steps;
	struct clock_step step[CLOCK_STEPS_KEPT];
	uint64_t outliers;		/* pairs that contradict their neighbours and were not used */
};

/*
 * Pairs go in as they are matched, and come out in the same order with
 * parts filled in; at most 2^16 wait. given_ns is used with CLOCK_GIVEN only.
 */
struct clock_stage *clock_stage_new(enum clock_mode mode, int64_t given_ns, pair_sink_fn *sink, void *context);
void clock_stage_free(struct clock_stage *stage);
/* Where the next pair is written, of undefined content. */
struct op_pair *clock_stage_room(struct clock_stage *stage);
/* The pair that was written there goes in. A matched one has all times; others pass through in their place. */
void clock_stage_push_room(struct clock_stage *stage);
/* The same with a pair that is written elsewhere, borrowed. */
void clock_stage_push(struct clock_stage *stage, const struct op_pair *pair);
/* Nothing follows: what waits is emitted. */
void clock_stage_finish(struct clock_stage *stage);
/*
 * What is known of the offset at a server time, from the windows closed so far
 * and the pairs that wait: for plausibility while pairing. False while unknown.
 */
bool clock_stage_offset(const struct clock_stage *stage, int64_t server_ns, int64_t *low_ns, int64_t *high_ns);
/* Final after clock_stage_finish: from all bounds, as tight as the traffic allows. */
void clock_stage_facts(const struct clock_stage *stage, struct clock_facts *facts);

#endif
