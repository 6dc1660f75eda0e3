/*
 * The bucket of a magnitude m:
 *
 *      m              octave  bucket                        width
 *      0..127         0       m                             1
 *      128..255       1       m                             1
 *      256..511       2       128 + (m >> 1)                2
 *      2^k..2^(k+1)-1 k - 6   128 (k - 7) + (m >> (k - 7))  2^(k-7)
 *
 * A bucket is at most 1/128 of its values wide, so its middle is within 0.4 %
 * of each of them. Those of negative values have the same numbers below zero.
 */
#include "base/histogram.h"

#include <glib.h>
#include <string.h>

enum { ROOM = 64 };	/* counters come by so many, from a multiple of it on */

static int
bucket_of(int64_t value_ns)
{
	return value_ns < 0 ? -(int)dist_bucket((int64_t)-(uint64_t)value_ns) : (int)dist_bucket(value_ns);
}

static uint64_t
bucket_width(int bucket)
{
	int octave = ABS(bucket) / DIST_BUCKETS;

	return octave > 0 ? UINT64_C(1) << (octave - 1) : 1;
}

/* The value `above` the bucket's smallest magnitude, with its sign. */
static int64_t
bucket_value(int bucket, uint64_t above)
{
	uint64_t magnitude = (uint64_t)ABS(bucket);

	if (magnitude >= DIST_BUCKETS)
		magnitude = (DIST_BUCKETS + magnitude % DIST_BUCKETS) * bucket_width(bucket);
	magnitude += above;
	if (bucket >= 0)
		return (int64_t)magnitude;
	return magnitude > INT64_MAX ? INT64_MIN : -(int64_t)magnitude;
}

static int64_t
bucket_start(int bucket)
{
	return bucket_value(bucket, bucket < 0 ? bucket_width(bucket) - 1 : 0);
}

int64_t
bucket_lower(int64_t value_ns)
{
	return bucket_start(bucket_of(value_ns));
}

static uint64_t
count_at(const struct dist *dist, int bucket)
{
	int at = bucket - dist->first;
	uint64_t count;

	if (at < 0 || at >= dist->room)
		return 0;
	count = dist->counts[at];
	if (dist->carries)
		count += (uint64_t)dist->counts[dist->room + at] << 32;
	return count;
}

static void
carry(struct dist *dist, int bucket, uint32_t count)
{
	if (!dist->carries) {
		dist->counts = g_renew(uint32_t, dist->counts, 2 * dist->room);
		memset(dist->counts + dist->room, 0, dist->room * sizeof(*dist->counts));
		dist->carries = true;
	}
	dist->counts[dist->room + bucket - dist->first] += count;
}

void
dist_carry(struct dist *dist, uint32_t bucket)
{
	carry(dist, (int)bucket, 1);
}

/* There is room for the bucket. */
static void
bucket_add(struct dist *dist, int bucket, uint64_t count)
{
	uint32_t *low = &dist->counts[bucket - dist->first];
	uint64_t sum = *low + count;

	*low = (uint32_t)sum;
	if (G_UNLIKELY(sum > UINT32_MAX))
		carry(dist, bucket, (uint32_t)(sum >> 32));
}

/* Room for the buckets from `first` to the one before `end`, both multiples of ROOM, besides those that there are. */
static void
dist_enlarge(struct dist *dist, int first, int end)
{
	uint32_t *old = dist->counts;
	unsigned had = dist->count > 0 ? dist->room : 0, at;

	if (had > 0) {
		first = MIN(first, dist->first);
		end = MAX(end, dist->first + dist->room);
	}
	at = had > 0 ? (unsigned)(dist->first - first) : 0;
	dist->first = first;
	dist->room = (uint16_t)(end - first);
	dist->counts = g_new0(uint32_t, (dist->carries ? 2u : 1u) * dist->room);
	if (had > 0)
		memcpy(dist->counts + at, old, had * sizeof(*old));
	if (dist->carries)
		memcpy(dist->counts + dist->room + at, old + had, had * sizeof(*old));
	g_free(old);
}

/* Room for the buckets of all values from min_ns to max_ns. */
static void
dist_reach(struct dist *dist)
{
	int first = bucket_of(dist->min_ns) & -ROOM;
	int end = (bucket_of(dist->max_ns) & -ROOM) + ROOM;

	/* emptied, and its first value */
	if (dist->count == 0 && dist->room >= end - first)
		dist->first = first;
	else if (dist->room == 0 || first < dist->first || end > dist->first + dist->room)
		dist_enlarge(dist, first, end);
}

static void
dist_widen(struct dist *dist, int64_t min_ns, int64_t max_ns)
{
	if (dist->count == 0 || min_ns < dist->min_ns)
		dist->min_ns = min_ns;
	if (dist->count == 0 || max_ns > dist->max_ns)
		dist->max_ns = max_ns;
	dist->span = dist->min_ns < 0 ? 0 : (uint64_t)dist->max_ns - (uint64_t)dist->min_ns + 1;
}

void
dist_sum_rare(struct dist *dist, int64_t value_ns)
{
	dist_widen(dist, value_ns, value_ns);
	dist->count++;
	dist->sum_ns += value_ns;
}

void
dist_add_times(struct dist *dist, int64_t value_ns, uint64_t count)
{
	if (count == 0)
		return;
	dist_widen(dist, value_ns, value_ns);
	dist_reach(dist);
	dist->count += count;
	dist->sum_ns += (__int128)value_ns * count;
	bucket_add(dist, bucket_of(value_ns), count);
}

void
dist_add_rare(struct dist *dist, int64_t value_ns)
{
	dist_add_times(dist, value_ns, 1);
}

void
dist_add(struct dist *dist, int64_t value_ns)
{
	dist_add_here(dist, value_ns);
}

/* The buckets that can hold values: from the first to the last. */
static int
first_of(const struct dist *dist)
{
	return bucket_of(dist->min_ns);
}

static int
last_of(const struct dist *dist)
{
	return bucket_of(dist->max_ns);
}

/* The first bucket from this one on that is not empty, or the one behind the last; where there are carries, any. */
static int
bucket_seek(const struct dist *dist, int bucket, int last)
{
	const uint32_t *counts = dist->counts;
	int first = dist->first;
	uint64_t two;

	if (dist->carries)
		return bucket;
	for (; bucket < last; bucket += 2) {
		memcpy(&two, &counts[bucket - first], sizeof(two));
		if (two != 0)
			break;
	}
	while (bucket <= last && counts[bucket - first] == 0)
		bucket++;
	return bucket;
}

void
dist_merge(struct dist *into, const struct dist *from)
{
	if (from->count == 0)
		return;
	dist_widen(into, from->min_ns, from->max_ns);
	/* counters have room for all between the extremes, whoever brings these */
	if (from->counts != NULL || into->counts != NULL)
		dist_reach(into);
	if (from->counts != NULL) {
		int bucket = first_of(from), last = last_of(from);

		for (; (bucket = bucket_seek(from, bucket, last)) <= last; bucket++)
			bucket_add(into, bucket, count_at(from, bucket));
	}
	into->count += from->count;
	into->sum_ns += from->sum_ns;
}

void
dist_clear(struct dist *dist)
{
	g_free(dist->counts);
	*dist = (struct dist){ 0 };
}

void
dist_reset(struct dist *dist)
{
	if (dist->counts != NULL)
		memset(dist->counts, 0, dist->room * sizeof(*dist->counts));
	*dist = (struct dist){ .counts = dist->counts, .room = dist->room };
}

void
dist_copy(struct dist *copy, const struct dist *dist)
{
	*copy = *dist;
	copy->counts = g_memdup2(dist->counts, (dist->carries ? 2u : 1u) * dist->room * sizeof(*dist->counts));
}

int64_t
dist_mean(const struct dist *dist)
{
	__int128 count = dist->count;
	__int128 half = dist->sum_ns < 0 ? -(count / 2) : count / 2;

	return (int64_t)((dist->sum_ns + half) / count);
}

void
dist_each_bucket(const struct dist *dist, dist_bucket_fn *each, void *context)
{
	int bucket, last;

	if (dist->count == 0 || dist->counts == NULL)
		return;
	bucket = first_of(dist);
	last = last_of(dist);
	for (; (bucket = bucket_seek(dist, bucket, last)) <= last; bucket++) {
		uint64_t count = count_at(dist, bucket);

		if (count > 0)
			each(context, bucket_start(bucket), count);
	}
}

void
dist_since(struct dist *since, const struct dist *earlier, const struct dist *now)
{
	int first = 0, last = 0;

	*since = (struct dist){ .count = now->count - earlier->count };
	if (since->count == 0)
		return;
	*since = (struct dist){ 0 };
	dist_widen(since, now->min_ns, now->max_ns);
	dist_reach(since);
	for (int bucket = first_of(now); bucket <= last_of(now); bucket++) {
		uint64_t count = count_at(now, bucket) - (earlier->count > 0 ? count_at(earlier, bucket) : 0);

		if (count == 0)
			continue;
		bucket_add(since, bucket, count);
		first = since->count == 0 ? bucket : first;
		last = bucket;
		since->count += count;
	}
	since->sum_ns = now->sum_ns - earlier->sum_ns;
	if (earlier->count > 0 && now->min_ns == earlier->min_ns)
		since->min_ns = MAX(bucket_start(first), now->min_ns);
	if (earlier->count > 0 && now->max_ns == earlier->max_ns)
		since->max_ns = MIN(bucket_start(last) + (int64_t)(bucket_width(last) - 1), now->max_ns);
	dist_widen(since, since->min_ns, since->max_ns);
}

int64_t
dist_quantile(const struct dist *dist, unsigned per_mille)
{
	uint64_t rank = (uint64_t)(((unsigned __int128)dist->count * per_mille + 999) / 1000), passed = 0;
	int bucket = first_of(dist), last = last_of(dist);
	int64_t middle_ns;

	while (bucket < last && (passed += count_at(dist, bucket)) < rank)
		bucket++;
	middle_ns = bucket_value(bucket, (bucket_width(bucket) - 1) / 2);
	return CLAMP(middle_ns, dist->min_ns, dist->max_ns);
}
