/*
 * Distributions of durations: exact count, sum, minimum and maximum, and a
 * log-linear histogram with a relative error of at most 1 %.
 *
 * Buckets (part of the JSON schema, so that reports merge): 0 to 127 ns exact,
 * then 128 linear buckets to each power of two; negative values mirrored.
 * Only those between the smallest and the largest value are kept.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIST_BUCKETS = 128 };	/* to a power of two */

/*
 * Counters are 32 bits wide, which halves the memory of a thousand rows. What
 * overflows is carried into a second array behind them, which a live run of
 * many days may need and hardly anything else.
 */
struct dist {
	uint64_t count;
	uint32_t *counts;		/* owned: of the buckets from `first` on; NULL until the first value */
	__int128 sum_ns;
	int64_t min_ns, max_ns;		/* meaningful when count > 0 */
	uint64_t span;			/* of the values from min_ns to max_ns; 0: there is none, or one below zero */
	int32_t first;			/* its number; that of a negative bucket is below zero */
	uint16_t room;			/* counters, a multiple of 64 */
	bool carries;			/* as many again are behind them */
};

/* The number of the bucket of a value that is not below zero. */
static inline uint32_t
dist_bucket(int64_t value_ns)
{
	uint64_t magnitude = (uint64_t)value_ns;
	/* 0 for what is below 256, whose buckets are 1 ns wide */
	unsigned shift = (63 ^ (unsigned)__builtin_clzll(magnitude | (2 * DIST_BUCKETS - 1))) - 7;

	return shift * DIST_BUCKETS + (uint32_t)(magnitude >> shift);
}

/* What dist_add has no time for: the smallest or largest value so far, or one of those below zero. */
__attribute__((cold, noinline)) void dist_add_rare(struct dist *dist, int64_t value_ns);
__attribute__((cold, noinline)) void dist_sum_rare(struct dist *dist, int64_t value_ns);
/* The counter of a bucket has overflowed. */
__attribute__((cold, noinline)) void dist_carry(struct dist *dist, uint32_t bucket);

/* Between the smallest and the largest value so far, or one of them; none is below zero. */
static inline bool
dist_spans(const struct dist *dist, int64_t value_ns)
{
	return __builtin_expect((uint64_t)value_ns - (uint64_t)dist->min_ns < dist->span, 1);
}

/* dist_add of a value whose bucket is known. */
static inline void
dist_count(struct dist *dist, int64_t value_ns, uint32_t bucket)
{
	uint32_t *counter;

	if (!dist_spans(dist, value_ns)) {
		dist_add_rare(dist, value_ns);
		return;
	}
	counter = &dist->counts[bucket - (uint32_t)dist->first];
	if (__builtin_expect(++*counter == 0, 0))
		dist_carry(dist, bucket);
	dist->count++;
	dist->sum_ns += (uint64_t)value_ns;
}

/* Adds one value in nanoseconds. A dist that is all zero is empty. */
void dist_add(struct dist *dist, int64_t value_ns);
/* The same, so many times; 0 allowed. */
void dist_add_times(struct dist *dist, int64_t value_ns, uint64_t count);
/* dist_add in line, for those who do little else. */
static inline void
dist_add_here(struct dist *dist, int64_t value_ns)
{
	dist_count(dist, value_ns, dist_bucket(value_ns));
}

/*
 * dist_add without a histogram: count, sum, minimum and maximum; dist_mean and
 * dist_merge hold for them. A dist takes either this or dist_add, never both.
 */
static inline void
dist_sum(struct dist *dist, int64_t value_ns)
{
	if (!dist_spans(dist, value_ns)) {
		dist_sum_rare(dist, value_ns);
		return;
	}
	dist->count++;
	dist->sum_ns += (uint64_t)value_ns;
}

/* Adds all of from to into; from is unchanged. Exact: merging is adding. */
void dist_merge(struct dist *into, const struct dist *from);
/* Frees what dist owns and empties it. */
void dist_clear(struct dist *dist);
/* Empties it and keeps its memory for the next values. */
void dist_reset(struct dist *dist);
/* Makes copy, whatever it held, a distribution of its own that is the same. */
void dist_copy(struct dist *copy, const struct dist *dist);
/*
 * Makes since, whatever it held, the values that came to `now` after it was
 * `earlier`. Count, sum and buckets are exact; minimum and maximum are where
 * they are new ones, and else the edges of their buckets.
 */
void dist_since(struct dist *since, const struct dist *earlier, const struct dist *now);

/* The sum over the count, rounded to the nearest nanosecond, halves away from zero; count > 0. */
int64_t dist_mean(const struct dist *dist);
/*
 * The nearest-rank quantile: the middle of the bucket that holds the value of
 * rank ceil(q * count), kept within min and max; per_mille is q * 1000, 1..1000;
 * count > 0. Relative error at most 1 %.
 */
int64_t dist_quantile(const struct dist *dist, unsigned per_mille);

/* Walks the buckets that are not empty from the lowest value up. */
typedef void dist_bucket_fn(void *context, int64_t lower_ns, uint64_t count);
void dist_each_bucket(const struct dist *dist, dist_bucket_fn *each, void *context);

/* The smallest value of the bucket that value falls into (numerically smallest, also below 0). */
int64_t bucket_lower(int64_t value_ns);

#endif
