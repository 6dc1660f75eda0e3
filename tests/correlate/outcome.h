/*
 * What correlate makes of a workload, held against the truth.
 *
 * Cases run over many seeds. A failure names its seed, and SEED=N in the
 * environment runs that one alone.
 */
#ifndef CORRELATE_OUTCOME_H
#define CORRELATE_OUTCOME_H

#include "correlate/correlate.h"
#include "correlate/workload.h"

/* What came out. */
struct outcome {
	const struct workload *workload;
	struct correlate_facts facts;
	unsigned matches[MATCHES];
	unsigned wrong;			/* pairs of different calls */
	unsigned wrong_timed;		/* of them, such as are timed */
	unsigned mislabelled;		/* pairs whose match, capture or ids cannot be */
	unsigned ops;			/* that came out, in pairs or alone */
	uint64_t order;			/* hash of what came out, in order */
	bool astray;			/* at any time before the end */
};

/* The next seed of a case that runs `seeds` of them, for a seed that starts as 0; false when all were. */
bool next_seed(uint32_t *seed, uint32_t seeds);
/* A pair_sink_fn; context is an outcome. */
void collect(void *context, const struct op_pair *pair);
/* from[i]: which of the workload's captures is given as number i. Pushes all, and leaves the end to the caller. */
void feed_all(struct correlate *correlate, const struct workload *workload, unsigned clients,
    const unsigned *from, struct outcome *outcome);
/* A whole run. */
struct outcome run_given(const struct workload *workload, const struct correlate_config *config,
    const unsigned *from);
/* The same with nothing configured. */
struct outcome run_workload(const struct workload *workload, unsigned clients);
/* What holds of every run; fails the test. */
void check_sane(const struct outcome *outcome, unsigned clients, uint32_t seed);
/* Every call that both sides show was found; fails the test. */
void check_complete(const struct outcome *outcome, uint32_t seed);
/* A run of a configuration with nothing unusual about it but that some may not be found; fails the test. */
struct outcome check_workload(const struct workload_config *config, bool complete);

#endif
