/*
 * Random numbers that are the same everywhere: xoshiro256** seeded by
 * splitmix64. Each part of the simulation has a generator of its own, so that
 * another snaplen or drop rate leaves the traffic as it is.
 */
#ifndef TRACE_RNG_H
#define TRACE_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"

struct trace_rng {
	uint64_t state[4];
};

/* Different `stream`s of one seed are independent. */
void trace_rng_init(struct trace_rng *rng, uint64_t seed, uint64_t stream);
uint64_t trace_rng_next(struct trace_rng *rng);
/* 0 <= result < limit; 0 for a limit of 0. */
uint64_t trace_rng_below(struct trace_rng *rng, uint64_t limit);
/* 0 <= result < 1 */
double trace_rng_unit(struct trace_rng *rng);
/* True with this probability; draws nothing for 0 or less. */
bool trace_rng_chance(struct trace_rng *rng, double probability);
void trace_rng_fill(struct trace_rng *rng, uint8_t *bytes, size_t len);
/* Never negative. */
int64_t trace_rng_draw_ns(struct trace_rng *rng, const struct trace_distribution *distribution);

#endif
