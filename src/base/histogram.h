/*
 * Distributions of durations: exact count, sum, minimum and maximum, and a
 * log-linear histogram with a relative error of at most 1 %.
 *
 * Buckets (part of the JSON schema, so that reports merge): 0 to 127 ns exact,
 * then 128 linear buckets to each power of two; negative values mirrored.
 * Storage is sparse: pages of 128 buckets that come as they are needed.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DIST_BUCKETS = 128,	/* of a page */
	DIST_OCTAVES = 58,	/* the last one holds the magnitude of INT64_MIN only */
	DIST_PAGES = 2 * DIST_OCTAVES,	/* from 0 up, then from -1 down */
};

/*
 * Counters are 32 bits wide, which halves the memory of a thousand rows. What
 * overflows is carried into a second page of the same bucket, which a live run
 * of many days may need and hardly anything else.
 */
struct histogram {
	uint32_t *counts;	/* page by page */
	uint8_t used, room;
	uint8_t slot[2 * DIST_PAGES];	/* of pages, then of their carries; 1-based, 0: none */
};

struct dist {
	uint64_t count;
	__int128 sum_ns;
	int64_t min_ns, max_ns;		/* meaningful when count > 0 */
	struct histogram *histogram;	/* owned; NULL until the first value */
};

/* The number of a value's bucket: its page's times DIST_BUCKETS, and its own there. */
static inline unsigned
dist_bucket(int64_t value_ns)
{
	uint64_t magnitude = value_ns < 0 ? -(uint64_t)value_ns : (uint64_t)value_ns;
	/* 0 in the first two pages, whose buckets are 1 ns wide */
	unsigned shift = 56 - (unsigned)__builtin_clzll(magnitude | (2 * DIST_BUCKETS - 1));
	unsigned bucket = shift * DIST_BUCKETS + (unsigned)(magnitude >> shift);

	return value_ns < 0 ? bucket + DIST_OCTAVES * DIST_BUCKETS : bucket;
}

/* The counter of a bucket; NULL: it has none yet. */
static inline uint32_t *
dist_counter(const struct dist *dist, unsigned bucket)
{
	const struct histogram *histogram = dist->histogram;
	uint32_t *counter;
	unsigned slot;

	if (histogram == NULL || (slot = histogram->slot[bucket / DIST_BUCKETS]) == 0)
		return NULL;
	counter = &histogram->counts[(size_t)slot * DIST_BUCKETS + bucket % DIST_BUCKETS - DIST_BUCKETS];
	if (counter == NULL)
		__builtin_unreachable();	/* which spares whoever asks for a counter a second question */
	return counter;
}

/* What dist_count has no time for: the first value of all, of a page, or the smallest or largest. */
void dist_count_rare(struct dist *dist, int64_t value_ns);
/* A counter of 32 bits has overflowed. */
void dist_carry(struct dist *dist, int64_t value_ns);

/* dist_add of a value whose counter is known. */
static inline void
dist_count(struct dist *dist, int64_t value_ns, uint32_t *counter)
{
	if (__builtin_expect(counter == NULL || value_ns < dist->min_ns || value_ns > dist->max_ns, 0)) {
		dist_count_rare(dist, value_ns);
		return;
	}
	if (__builtin_expect(__builtin_add_overflow(*counter, 1, counter), 0))
		dist_carry(dist, value_ns);
	dist->count++;
	dist->sum_ns += value_ns;
}

/* Adds one value in nanoseconds. A dist that is all zero is empty. */
void dist_add(struct dist *dist, int64_t value_ns);
/* The same in line, for those who do little else. */
static inline void
dist_add_here(struct dist *dist, int64_t value_ns)
{
	dist_count(dist, value_ns, dist_counter(dist, dist_bucket(value_ns)));
}

/* dist_add without a histogram: count, sum, minimum and maximum; dist_mean holds for them. */
static inline void
dist_sum(struct dist *dist, int64_t value_ns)
{
	if (__builtin_expect(dist->count == 0, 0))
		dist->min_ns = dist->max_ns = value_ns;
	else if (__builtin_expect(value_ns < dist->min_ns, 0))
		dist->min_ns = value_ns;
	else if (__builtin_expect(value_ns > dist->max_ns, 0))
		dist->max_ns = value_ns;
	dist->count++;
	dist->sum_ns += value_ns;
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
