/*
 * Traffic through the clock stage, and what must hold of all that comes out.
 * The checks are criterion assertions that name the seed.
 */
#ifndef TESTS_CORRELATE_CLOCK_RUN_H
#define TESTS_CORRELATE_CLOCK_RUN_H

#include "correlate/clock.h"
#include "correlate/traffic.h"

/* What came out, in order. */
struct clock_run {
	const struct traffic *traffic;
	unsigned emitted, pushed;
	unsigned most_waiting;
	struct attribution *parts;
	unsigned *pushed_then;		/* pairs that had been pushed when this one came out */
	bool in_order, unchanged;
};

struct clock_tally {
	unsigned aligned, unaligned;
	unsigned crossing_aligned;	/* though a clock changed while they were under way */
	unsigned beyond;		/* whose truth is outside the bound */
	long double worst_ns;		/* by how much */
};

/* All of the traffic, to the end. Caller frees. */
struct clock_run *clock_run(const struct traffic *traffic, enum clock_mode mode, int64_t given_ns,
    struct clock_facts *facts);
/* The same in steps: clock_run_collect is the stage's sink, the run its context. */
struct clock_run *clock_run_new(const struct traffic *traffic);
void clock_run_collect(void *context, const struct op_pair *pair);
void clock_run_free(struct clock_run *run);

/* A load, a path and two clocks at random: from a busy LAN to a call a minute. */
void clock_run_random(struct traffic_config *config, uint32_t seed);
/* Steps of either host, forward and back, that no delay could be mistaken for. */
void clock_run_add_steps(struct traffic_config *config, unsigned steps, uint32_t seed);

/* Order, sums and durations; and counts how often the bound holds. */
struct clock_tally clock_run_check(const struct traffic *traffic, const struct clock_run *run, uint32_t seed);
/* The bound was never broken. */
void clock_run_expect_bounds(const struct clock_tally *tally, uint32_t seed);
/* The facts hold; for clocks without changes. */
void clock_run_check_facts(const struct traffic_config *config, const struct clock_facts *facts, uint32_t seed);
/* All steps were found and no others. */
void clock_run_check_steps(const struct traffic_config *config, const struct clock_facts *facts, uint32_t seed);
/* When the server's clock shows server_ns; for clocks without steps. */
long double clock_run_true_offset(const struct traffic_config *config, int64_t server_ns);

#endif
