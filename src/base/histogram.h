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
#include <stdint.h>

struct histogram;	/* opaque, paged bucket counts */

struct dist {
	uint64_t count;
	__int128 sum_ns;
	int64_t min_ns, max_ns;		/* meaningful when count > 0 */
	struct histogram *histogram;	/* owned; NULL until the first value */
};

/* Adds one value in nanoseconds. A dist that is all zero is empty. */
void dist_add(struct dist *dist, int64_t value_ns);
/* The value will soon be added: fetches what that takes into the cache. */
void dist_fetch(const struct dist *dist, int64_t value_ns);
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
