/*
 * The bucket of a magnitude m, and where it is kept:
 *
 *      m              octave  bucket            width
 *      0..127         0       m                 1
 *      128..255       1       m & 127           1
 *      256..511       2       (m >> 1) & 127    2
 *      2^k..2^(k+1)-1 k - 6   (m >> (k - 7)) & 127   2^(k-7)
 *
 * An octave is a page. A bucket is at most 1/128 of its values wide, so its
 * middle is within 0.4 % of each of them.
 */
#include "base/histogram.h"

#include <glib.h>
#include <string.h>

enum {
	BUCKETS = DIST_BUCKETS,
	OCTAVES = DIST_OCTAVES,
	PAGES = DIST_PAGES,
	GROWTH = 4,
};

struct place {
	unsigned page;
	unsigned bucket;
};

static unsigned
octave_shift(unsigned octave)
{
	return octave > 0 ? octave - 1 : 0;
}

static struct place
place_of(int64_t value_ns)
{
	unsigned bucket = dist_bucket(value_ns);

	return (struct place){ .page = bucket / BUCKETS, .bucket = bucket % BUCKETS };
}

/* The value `above` the bucket's smallest magnitude, with the page's sign. */
static int64_t
place_value(struct place place, uint64_t above)
{
	bool negative = place.page >= OCTAVES;
	unsigned octave = place.page % OCTAVES;
	uint64_t magnitude = place.bucket;

	if (octave > 0)
		magnitude = (uint64_t)(BUCKETS + place.bucket) << octave_shift(octave);
	magnitude += above;
	if (!negative)
		return (int64_t)magnitude;
	return magnitude > INT64_MAX ? INT64_MIN : -(int64_t)magnitude;
}

static uint64_t
place_width(struct place place)
{
	return UINT64_C(1) << octave_shift(place.page % OCTAVES);
}

static int64_t
place_lower(struct place place)
{
	return place_value(place, place.page >= OCTAVES ? place_width(place) - 1 : 0);
}

int64_t
bucket_lower(int64_t value_ns)
{
	return place_lower(place_of(value_ns));
}

static uint32_t *
slot_counts(const struct histogram *histogram, unsigned slot)
{
	return histogram->counts + (size_t)(slot - 1) * BUCKETS;
}

static uint32_t *
page_counts(struct histogram *histogram, unsigned page)
{
	if (histogram->slot[page] == 0) {
		if (histogram->used == histogram->room) {
			histogram->room += GROWTH;
			histogram->counts = g_renew(uint32_t, histogram->counts, histogram->room * BUCKETS);
		}
		histogram->slot[page] = ++histogram->used;
		memset(slot_counts(histogram, histogram->used), 0, BUCKETS * sizeof(*histogram->counts));
	}
	return slot_counts(histogram, histogram->slot[page]);
}

static uint64_t
place_count(const struct histogram *histogram, struct place place)
{
	unsigned slot = histogram->slot[place.page];
	unsigned carry = histogram->slot[place.page + PAGES];
	uint64_t count = slot > 0 ? slot_counts(histogram, slot)[place.bucket] : 0;

	if (carry > 0)
		count += (uint64_t)slot_counts(histogram, carry)[place.bucket] << 32;
	return count;
}

static void
place_add(struct histogram *histogram, struct place place, uint64_t count)
{
	uint32_t *low = &page_counts(histogram, place.page)[place.bucket];
	uint64_t sum = *low + count;

	*low = (uint32_t)sum;
	if (G_UNLIKELY(sum > UINT32_MAX))
		page_counts(histogram, place.page + PAGES)[place.bucket] += (uint32_t)(sum >> 32);
}

static void
dist_widen(struct dist *dist, int64_t min_ns, int64_t max_ns)
{
	if (dist->count == 0 || min_ns < dist->min_ns)
		dist->min_ns = min_ns;
	if (dist->count == 0 || max_ns > dist->max_ns)
		dist->max_ns = max_ns;
	if (dist->histogram == NULL)
		dist->histogram = g_new0(struct histogram, 1);
}

void
dist_count_rare(struct dist *dist, int64_t value_ns)
{
	dist_widen(dist, value_ns, value_ns);
	dist->count++;
	dist->sum_ns += value_ns;
	place_add(dist->histogram, place_of(value_ns), 1);
}

void
dist_add(struct dist *dist, int64_t value_ns)
{
	dist_add_here(dist, value_ns);
}

void
dist_carry(struct dist *dist, int64_t value_ns)
{
	struct place place = place_of(value_ns);

	page_counts(dist->histogram, place.page + PAGES)[place.bucket]++;
}

void
dist_merge(struct dist *into, const struct dist *from)
{
	struct place place;

	if (from->count == 0)
		return;
	dist_widen(into, from->min_ns, from->max_ns);
	into->count += from->count;
	into->sum_ns += from->sum_ns;
	for (place.page = 0; place.page < PAGES; place.page++) {
		if (from->histogram->slot[place.page] == 0)
			continue;
		for (place.bucket = 0; place.bucket < BUCKETS; place.bucket++) {
			uint64_t count = place_count(from->histogram, place);

			if (count > 0)
				place_add(into->histogram, place, count);
		}
	}
}

void
dist_clear(struct dist *dist)
{
	if (dist->histogram != NULL)
		g_free(dist->histogram->counts);
	g_free(dist->histogram);
	*dist = (struct dist){ 0 };
}

void
dist_reset(struct dist *dist)
{
	struct histogram *histogram = dist->histogram;

	if (histogram != NULL) {
		histogram->used = 0;
		memset(histogram->slot, 0, sizeof(histogram->slot));
	}
	*dist = (struct dist){ .histogram = histogram };
}

void
dist_copy(struct dist *copy, const struct dist *dist)
{
	struct histogram *histogram;

	*copy = *dist;
	if (dist->histogram == NULL)
		return;
	histogram = copy->histogram = g_memdup2(dist->histogram, sizeof(*histogram));
	histogram->room = histogram->used;
	histogram->counts = g_memdup2(histogram->counts, histogram->used * BUCKETS * sizeof(*histogram->counts));
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
	if (dist->histogram == NULL)
		return;
	/* Negative values: their pages, and the buckets of a page, run downwards. */
	for (unsigned step = 0; step < PAGES; step++) {
		bool negative = step < OCTAVES;
		struct place place = { .page = negative ? PAGES - 1 - step : step - OCTAVES };

		if (dist->histogram->slot[place.page] == 0)
			continue;
		for (unsigned i = 0; i < BUCKETS; i++) {
			uint64_t count;

			place.bucket = negative ? BUCKETS - 1 - i : i;
			count = place_count(dist->histogram, place);
			if (count > 0)
				each(context, place_lower(place), count);
		}
	}
}

struct ends {
	int64_t first_lower_ns, last_lower_ns;
	bool any;
};

static void
ends_step(void *context, int64_t lower_ns, uint64_t count)
{
	struct ends *ends = context;

	(void)count;
	if (!ends->any)
		ends->first_lower_ns = lower_ns;
	ends->any = true;
	ends->last_lower_ns = lower_ns;
}

void
dist_since(struct dist *since, const struct dist *earlier, const struct dist *now)
{
	struct ends ends = { 0 };
	struct place place;

	*since = (struct dist){ .count = now->count - earlier->count, .sum_ns = now->sum_ns - earlier->sum_ns };
	if (since->count == 0)
		return;
	since->histogram = g_new0(struct histogram, 1);
	for (place.page = 0; place.page < PAGES; place.page++) {
		if (now->histogram->slot[place.page] == 0)
			continue;
		for (place.bucket = 0; place.bucket < BUCKETS; place.bucket++) {
			uint64_t before = earlier->count > 0 ? place_count(earlier->histogram, place) : 0;
			uint64_t count = place_count(now->histogram, place) - before;

			if (count > 0)
				place_add(since->histogram, place, count);
		}
	}
	dist_each_bucket(since, ends_step, &ends);
	since->min_ns = now->min_ns;
	if (earlier->count > 0 && now->min_ns == earlier->min_ns)
		since->min_ns = MAX(ends.first_lower_ns, now->min_ns);
	since->max_ns = now->max_ns;
	if (earlier->count > 0 && now->max_ns == earlier->max_ns) {
		place = place_of(ends.last_lower_ns);
		since->max_ns = MIN(ends.last_lower_ns + (int64_t)(place_width(place) - 1), now->max_ns);
	}
}

struct rank_search {
	uint64_t rank;		/* 1-based */
	uint64_t passed;	/* values in the buckets so far */
	int64_t lower_ns;	/* of the bucket that holds the rank */
};

static void
rank_step(void *context, int64_t lower_ns, uint64_t count)
{
	struct rank_search *search = context;

	if (search->passed < search->rank)
		search->lower_ns = lower_ns;
	search->passed += count;
}

int64_t
dist_quantile(const struct dist *dist, unsigned per_mille)
{
	struct rank_search search = {
		.rank = (uint64_t)(((unsigned __int128)dist->count * per_mille + 999) / 1000),
	};
	struct place place;
	int64_t middle_ns;

	dist_each_bucket(dist, rank_step, &search);
	place = place_of(search.lower_ns);
	middle_ns = place_value(place, (place_width(place) - 1) / 2);
	return CLAMP(middle_ns, dist->min_ns, dist->max_ns);
}
