#include <criterion/criterion.h>
#include <glib.h>
#include <stdlib.h>

#include "base/histogram.h"

/* The contract's words: 0 to 127 exact, then 128 linear buckets to a power of two. */
static uint64_t
contract_width(uint64_t magnitude)
{
	uint64_t power = 128, width = 1;

	if (magnitude < 128)
		return 1;
	while (magnitude / 2 >= power) {
		power *= 2;
		width *= 2;
	}
	return width;
}

static int64_t
contract_lower(int64_t value)
{
	uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
	uint64_t width = contract_width(magnitude);
	uint64_t first = magnitude / width * width;

	if (value >= 0)
		return (int64_t)first;
	return first + width - 1 > INT64_MAX ? INT64_MIN : -(int64_t)(first + width - 1);
}

static int64_t
random_value(GRand *rand)
{
	uint64_t bits = (uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand);
	int64_t value = (int64_t)(bits >> 1 >> g_rand_int_range(rand, 0, 63));

	return g_rand_boolean(rand) ? value : -value;
}

Test(histogram, small_values_are_exact)
{
	for (int64_t value = -255; value <= 255; value++)
		cr_assert_eq(bucket_lower(value), value);
}

Test(histogram, buckets_double_their_width_with_every_power_of_two)
{
	cr_assert_eq(bucket_lower(256), 256);
	cr_assert_eq(bucket_lower(257), 256);
	cr_assert_eq(bucket_lower(258), 258);
	cr_assert_eq(bucket_lower(511), 510);
	cr_assert_eq(bucket_lower(512), 512);
	cr_assert_eq(bucket_lower(515), 512);
	cr_assert_eq(bucket_lower(1023), 1020);
	cr_assert_eq(bucket_lower(INT64_MAX), INT64_MAX - (INT64_C(1) << 55) + 1);
}

/* Mirrored: the lowest value of a negative bucket is its largest magnitude. */
Test(histogram, negative_buckets_are_mirrored)
{
	cr_assert_eq(bucket_lower(-256), -257);
	cr_assert_eq(bucket_lower(-257), -257);
	cr_assert_eq(bucket_lower(-258), -259);
	cr_assert_eq(bucket_lower(-512), -515);
	cr_assert_eq(bucket_lower(-INT64_MAX), -INT64_MAX);
	cr_assert_eq(bucket_lower(INT64_MIN), INT64_MIN);
}

Test(histogram, every_boundary_is_the_contracts)
{
	for (int power = 0; power < 63; power++) {
		int64_t base = INT64_C(1) << power;

		for (int part = 0; part < 256; part++) {
			int64_t value = base + (int64_t)((double)base / 256 * part);

			for (int64_t near = value - 1; near <= value + 1; near++) {
				cr_assert_eq(bucket_lower(near), contract_lower(near));
				cr_assert_eq(bucket_lower(-near), contract_lower(-near));
			}
		}
	}
}

Test(histogram, a_lower_bound_is_in_its_own_bucket)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(1);

	for (int i = 0; i < 100000; i++) {
		int64_t value = random_value(rand);
		int64_t lower = bucket_lower(value);

		cr_assert_leq(lower, value);
		cr_assert_eq(bucket_lower(lower), lower);
		cr_assert_eq(lower, contract_lower(value));
	}
}

Test(dist, count_sum_minimum_and_maximum_are_exact)
{
	struct dist dist = { 0 };

	dist_add(&dist, 1000003);
	dist_add(&dist, -7);
	dist_add(&dist, 999983);
	cr_assert_eq(dist.count, 3);
	cr_assert(dist.sum_ns == 1999979);
	cr_assert_eq(dist.min_ns, -7);
	cr_assert_eq(dist.max_ns, 1000003);
	dist_clear(&dist);
	cr_assert_eq(dist.count, 0);
	cr_assert_null(dist.counts);
}

Test(dist, a_sum_may_exceed_64_bits)
{
	struct dist dist = { 0 };

	for (int i = 0; i < 8; i++)
		dist_add(&dist, INT64_MAX);
	cr_assert(dist.sum_ns == (__int128)INT64_MAX * 8);
	cr_assert_eq(dist_mean(&dist), INT64_MAX);
	cr_assert_eq(dist_quantile(&dist, 500), INT64_MAX);
	dist_clear(&dist);
	dist_add(&dist, INT64_MIN);
	dist_add(&dist, INT64_MIN);
	cr_assert_eq(dist_mean(&dist), INT64_MIN);
	cr_assert_eq(dist_quantile(&dist, 1), INT64_MIN);
	dist_clear(&dist);
}

static int64_t
mean_of_two(int64_t a, int64_t b)
{
	struct dist dist = { 0 };
	int64_t mean;

	dist_add(&dist, a);
	dist_add(&dist, b);
	mean = dist_mean(&dist);
	dist_clear(&dist);
	return mean;
}

Test(dist, mean_rounds_halves_away_from_zero)
{
	struct dist dist = { 0 };

	cr_assert_eq(mean_of_two(1, 2), 2);
	cr_assert_eq(mean_of_two(-1, -2), -2);
	cr_assert_eq(mean_of_two(0, 1), 1);
	cr_assert_eq(mean_of_two(0, -1), -1);
	cr_assert_eq(mean_of_two(-3, 3), 0);
	for (int i = 0; i < 3; i++)
		dist_add(&dist, i == 0);	/* a third */
	cr_assert_eq(dist_mean(&dist), 0);
	dist_add(&dist, 1);
	dist_add(&dist, 1);	/* three fifths */
	cr_assert_eq(dist_mean(&dist), 1);
	dist_clear(&dist);
}

static int
compare_values(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void
check_quantiles(const struct dist *dist, const int64_t *sorted, uint64_t count)
{
	for (unsigned per_mille = 1; per_mille <= 1000; per_mille++) {
		uint64_t rank = (count * per_mille + 999) / 1000;
		int64_t exact = sorted[rank - 1];
		int64_t found = dist_quantile(dist, per_mille);

		cr_assert_leq(llabs(found - exact), llabs(exact) / 100,
		    "%u per mille of %" G_GUINT64_FORMAT ": %" G_GINT64_FORMAT
		    " for %" G_GINT64_FORMAT, per_mille, count, found, exact);
		cr_assert_eq(bucket_lower(found), bucket_lower(exact));
	}
}

Test(dist, quantiles_are_the_nearest_rank_within_one_per_cent)
{
	enum { MOST = 3000 };
	static const uint64_t counts[] = { 1, 2, 3, 7, 99, 100, 101, 999, 1000, 1001, MOST };
	g_autoptr(GRand) rand = g_rand_new_with_seed(2);
	int64_t values[MOST];

	for (size_t c = 0; c < G_N_ELEMENTS(counts); c++) {
		struct dist dist = { 0 };

		for (uint64_t i = 0; i < counts[c]; i++) {
			values[i] = random_value(rand) / 4;
			dist_add(&dist, values[i]);
		}
		qsort(values, counts[c], sizeof(values[0]), compare_values);
		cr_assert_eq(dist.min_ns, values[0]);
		cr_assert_eq(dist.max_ns, values[counts[c] - 1]);
		check_quantiles(&dist, values, counts[c]);
		dist_clear(&dist);
	}
}

Test(dist, quantiles_stay_within_minimum_and_maximum)
{
	struct dist dist = { 0 };

	dist_add(&dist, 1000000);	/* its bucket's middle lies elsewhere */
	cr_assert_eq(dist_quantile(&dist, 1), 1000000);
	cr_assert_eq(dist_quantile(&dist, 1000), 1000000);
	dist_clear(&dist);
}

struct walk {
	uint64_t count;
	unsigned buckets;
	int64_t last_lower_ns;
};

static void
walk_step(void *context, int64_t lower_ns, uint64_t count)
{
	struct walk *walk = context;

	cr_assert_gt(count, 0);
	cr_assert(walk->buckets == 0 || lower_ns > walk->last_lower_ns);
	cr_assert_eq(bucket_lower(lower_ns), lower_ns);
	walk->count += count;
	walk->buckets++;
	walk->last_lower_ns = lower_ns;
}

Test(dist, buckets_are_walked_upwards_and_empty_ones_left_out)
{
	static const int64_t values[] = {
		INT64_MIN, -1000000, -300, -257, -256, -1, 0, 1, 256, 257, 1000000, INT64_MAX
	};
	struct dist dist = { 0 };
	struct walk walk = { 0 };

	dist_each_bucket(&dist, walk_step, &walk);
	cr_assert_eq(walk.buckets, 0);
	for (size_t i = G_N_ELEMENTS(values); i > 0; i--)
		dist_add(&dist, values[i - 1]);
	dist_each_bucket(&dist, walk_step, &walk);
	cr_assert_eq(walk.count, G_N_ELEMENTS(values));
	cr_assert_eq(walk.buckets, G_N_ELEMENTS(values) - 2);
	cr_assert_eq(walk.last_lower_ns, bucket_lower(INT64_MAX));
	dist_clear(&dist);
}

static void
write_bucket(void *context, int64_t lower_ns, uint64_t count)
{
	g_string_append_printf(context, "%" G_GINT64_FORMAT ":%" G_GUINT64_FORMAT " ",
	    lower_ns, count);
}

static char *
dist_text(const struct dist *dist)
{
	GString *text = g_string_new(NULL);

	g_string_append_printf(text, "%" G_GUINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT
	    " %" G_GINT64_FORMAT " ", dist->count, (int64_t)dist->sum_ns, dist->min_ns, dist->max_ns);
	dist_each_bucket(dist, write_bucket, text);
	return g_string_free(text, FALSE);
}

Test(dist, merging_is_adding)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(3);
	struct dist all = { 0 }, parts[3] = { 0 }, merged = { 0 };
	g_autofree char *expected = NULL, *got = NULL, *unchanged = NULL, *before = NULL;

	for (int i = 0; i < 5000; i++) {
		int64_t value = random_value(rand) >> 16;

		dist_add(&all, value);
		dist_add(&parts[i % 2], value);	/* the third stays empty */
	}
	before = dist_text(&parts[0]);
	for (int i = 2; i >= 0; i--)
		dist_merge(&merged, &parts[i]);
	expected = dist_text(&all);
	got = dist_text(&merged);
	unchanged = dist_text(&parts[0]);
	cr_assert_str_eq(got, expected);
	cr_assert_str_eq(unchanged, before);
	for (int i = 0; i < 3; i++)
		dist_clear(&parts[i]);
	dist_clear(&all);
	dist_clear(&merged);
}

/* Doubling one value by merging: the bucket's counter goes beyond 32 bits. */
Test(dist, a_bucket_counts_beyond_32_bits)
{
	struct dist dist = { 0 }, copy = { 0 };
	struct walk walk = { 0 };

	dist_add(&dist, 5000);
	dist_add(&dist, 5000);
	dist_add(&dist, 5000);
	for (int i = 0; i < 40; i++) {
		dist_merge(&copy, &dist);
		dist_merge(&dist, &copy);
		dist_clear(&copy);
	}
	dist_add(&dist, 5000);
	dist_each_bucket(&dist, walk_step, &walk);
	cr_assert_eq(walk.buckets, 1);
	cr_assert_eq(walk.count, (UINT64_C(3) << 40) + 1);
	cr_assert_eq(dist.count, walk.count);
	dist_add(&dist, 9000);
	cr_assert_eq(bucket_lower(dist_quantile(&dist, 1000)), bucket_lower(9000));
	cr_assert_eq(bucket_lower(dist_quantile(&dist, 999)), bucket_lower(5000));
	dist_clear(&dist);
}

Test(dist, sums_without_a_histogram_merge_too)
{
	struct dist sums = { 0 }, all = { 0 };

	dist_sum(&sums, 300);
	dist_sum(&sums, 100);
	dist_sum(&sums, 200);
	dist_merge(&all, &sums);
	dist_sum(&sums, -50);
	dist_sum(&sums, 150);
	dist_merge(&all, &sums);
	cr_assert_eq(all.count, 8);
	cr_assert_eq((int64_t)all.sum_ns, 1300);
	cr_assert_eq(all.min_ns, -50);
	cr_assert_eq(all.max_ns, 300);
	cr_assert_null(all.counts);
}

/* Extremes that come without counters have room for one all the same. */
Test(dist, what_is_merged_without_a_histogram_leaves_room)
{
	struct dist sums = { 0 }, all = { 0 };

	dist_add(&all, 1000);
	dist_sum(&sums, 1);
	dist_sum(&sums, 1000000000);
	dist_merge(&all, &sums);
	dist_add(&all, 2);
	dist_add(&all, 999999999);
	cr_assert_eq(all.count, 5);
	cr_assert_eq((int64_t)all.sum_ns, INT64_C(2000001002));
	dist_clear(&all);
}

Test(dist, a_copy_has_a_life_of_its_own)
{
	struct dist dist = { 0 }, copy;
	g_autofree char *before = NULL, *got = NULL, *grown = NULL, *both = NULL;

	dist_copy(&copy, &dist);
	cr_assert_eq(copy.count, 0);
	dist_add(&dist, 5000);
	dist_add(&dist, -70);
	before = dist_text(&dist);
	dist_copy(&copy, &dist);
	dist_add(&dist, 1000000);
	got = dist_text(&copy);
	cr_assert_str_eq(got, before);
	dist_add(&copy, 1000000);
	grown = dist_text(&copy);
	both = dist_text(&dist);
	cr_assert_str_eq(grown, both);
	dist_clear(&dist);
	dist_clear(&copy);
}

Test(dist, after_a_reset_it_is_as_new)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(4);
	struct dist used = { 0 }, fresh = { 0 };
	g_autofree char *expected = NULL, *got = NULL;

	dist_reset(&used);
	for (int i = 0; i < 1000; i++)
		dist_add(&used, random_value(rand));
	dist_reset(&used);
	cr_assert_eq(used.count, 0);
	for (int i = 0; i < 1000; i++) {
		int64_t value = random_value(rand) >> 8;

		dist_add(&used, value);
		dist_add(&fresh, value);
	}
	expected = dist_text(&fresh);
	got = dist_text(&used);
	cr_assert_str_eq(got, expected);
	dist_clear(&used);
	dist_clear(&fresh);
}

/* Of values in 2^12 to 2^13 a bucket is 32 wide: 4096 to 4127, 5120 to 5151. */
Test(dist, what_came_since)
{
	struct dist earlier = { 0 }, now = { 0 }, since;

	dist_since(&since, &earlier, &now);
	cr_assert_eq(since.count, 0);
	cr_assert_null(since.counts);
	dist_add(&earlier, 4000);
	dist_add(&earlier, 4100);
	dist_add(&earlier, 9000);
	dist_copy(&now, &earlier);
	dist_add(&now, 4110);
	dist_add(&now, 5130);
	dist_since(&since, &earlier, &now);
	cr_assert_eq(since.count, 2);
	cr_assert_eq((int64_t)since.sum_ns, 4110 + 5130);
	cr_assert_eq(since.min_ns, 4096, "the edge of its bucket: nothing tells more");
	cr_assert_eq(since.max_ns, 5151);
	cr_assert_eq(bucket_lower(dist_quantile(&since, 500)), 4096);
	cr_assert_eq(bucket_lower(dist_quantile(&since, 1000)), 5120);
	dist_clear(&since);
	dist_add(&now, 3);
	dist_add(&now, 77777);
	dist_since(&since, &earlier, &now);
	cr_assert_eq(since.min_ns, 3, "a new minimum came since");
	cr_assert_eq(since.max_ns, 77777);
	dist_clear(&since);
	dist_clear(&earlier);
	dist_clear(&now);
}
