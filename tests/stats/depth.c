#include <criterion/criterion.h>
#include <glib.h>
#include <math.h>

#include "stats/depth.h"

enum { US = 1000 };

Test(depth, levels_are_exact_below_256_and_32_an_octave_above)
{
	static const struct {
		uint32_t level, depth;
	} cases[] = { { 0, 0 }, { 255, 255 }, { 256, 256 }, { 257, 264 }, { 287, 504 }, { 288, 512 }, { 289, 528 } };

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		cr_assert_eq(depth_of_level(cases[i].level), cases[i].depth, "%u", cases[i].level);
}

/*
 *	0   10   20   30   40   60   70
 *	|----A----|
 *	     |----B--------|
 *	          |-C-|          |-D-|
 */
Test(depth, time_max_and_mean)
{
	struct depth depth = { .by_calls = true };
	double mean;

	depth_begin(&depth, 0, 0, 20);
	depth_begin(&depth, 10, 0, 30);
	depth_end(&depth, 20);
	depth_begin(&depth, 20, 0, 10);
	depth_end(&depth, 30);
	depth_end(&depth, 40);
	depth_begin(&depth, 60, 0, 10);
	depth_end(&depth, 70);
	depth_finish(&depth);
	cr_assert_eq(depth.calls, 4);
	cr_assert_eq(depth.max, 2);
	cr_assert_eq(depth.span_ns, 70);
	cr_assert_eq(depth_busy_ns(&depth), 50);
	cr_assert(depth_mean(&depth, &mean));
	cr_assert_float_eq(mean, 1.0, 1e-12);	/* 20 + 30 + 10 + 10 of 70 */
	cr_assert_eq(depth.level[0].time_ns, 20);
	cr_assert_eq(depth.level[1].time_ns, 30);
	cr_assert_eq(depth.level[2].time_ns, 20);
	cr_assert_eq(depth.level[1].timed[0], 2);
	cr_assert_eq(depth.level[1].latency_ns, 30);
	cr_assert_eq(depth.level[2].latency_ns, 40);
	depth_clear(&depth);
}

/* An empty one, and one whose calls took no time, have no mean. */
Test(depth, nothing_is_not_zero)
{
	struct depth depth = { 0 };
	struct depth_plateau plateau;
	struct depth_growth growth;
	double mean;

	cr_assert_not(depth_mean(&depth, &mean));
	cr_assert_not(depth_plateau(&depth, 1, &plateau));
	cr_assert_eq(depth_knee(&depth), 0);
	cr_assert_not(depth_growth(&depth, 1, &growth));
}

/*
 * places calls at a time, each taking latency_ns; the next one begins gap_ns
 * after the reply that made it possible.
 */
static void
run_table(struct depth *depth, unsigned places, unsigned rounds, int64_t latency_ns, int64_t gap_ns)
{
	int64_t step_ns = (latency_ns + gap_ns) / places;

	for (unsigned i = 0; i < places; i++)
		depth_begin(depth, 1 + i, 0, latency_ns);
	for (unsigned round = 1; round < rounds; round++) {
		for (unsigned i = 0; i < places; i++) {
			int64_t end_ns = round * (latency_ns + gap_ns) + i * step_ns;

			depth_end(depth, end_ns);
			depth_begin(depth, end_ns + gap_ns, 0, latency_ns);
		}
	}
	depth_finish(depth);
}

Test(depth, a_full_table_has_a_flat_top)
{
	struct depth depth = { 0 };
	struct depth_plateau plateau;

	run_table(&depth, 16, 50, 1000 * US, 20 * US);
	cr_assert(depth_plateau(&depth, 2, &plateau));
	cr_assert_eq(plateau.top, 16);
	cr_assert_float_eq(plateau.share, 1, 0.001);
	cr_assert_eq(plateau.reuse_ns, 20 * US);
	depth_clear(&depth);
}

/* The wire is not full all the time when the client takes a fifth of a call's time to send the next one. */
Test(depth, a_place_is_held_until_the_next_call_takes_it)
{
	struct depth depth = { 0 };
	struct depth_plateau plateau;

	run_table(&depth, 8, 50, 80 * US, 20 * US);
	cr_assert_lt((double)depth.sum_ns / (double)depth.span_ns, 7);
	cr_assert(depth_plateau(&depth, 2, &plateau));
	cr_assert_eq(plateau.top, 8);
	depth_clear(&depth);
}

Test(depth, a_client_that_takes_its_time_has_no_flat_top)
{
	struct depth depth = { 0 };
	struct depth_plateau plateau;

	run_table(&depth, 8, 50, 1000 * US, 400 * US);
	cr_assert_eq(depth.max, 8);
	cr_assert_not(depth_plateau(&depth, 2, &plateau));
	depth_clear(&depth);
}

/* A full table for 30 ms, and then 20 ms, or more, of its last call alone. */
static bool
is_flat_with_tail(int64_t tail_ns, double *share)
{
	struct depth depth = { 0 };
	struct depth_plateau plateau = { 0 };
	bool flat;

	run_table(&depth, 4, 30, 1000 * US, 10 * US);
	for (unsigned i = 0; i < 3; i++)
		depth_end(&depth, (31 + i) * 1000 * US);
	depth_end(&depth, 31 * 1000 * US + tail_ns);
	depth_finish(&depth);
	flat = depth_plateau(&depth, 2, &plateau);
	*share = plateau.share;
	depth_clear(&depth);
	return flat;
}

Test(depth, most_of_the_busy_time_is_flat_or_most_calls_in_bursts)
{
	double share;

	cr_assert(is_flat_with_tail(20000 * US, &share));
	cr_assert_gt(share, 0.5);
	/* nearly all calls began there, if not for most of the time */
	cr_assert(is_flat_with_tail(70000 * US, &share));
	cr_assert_lt(share, 0.4);
	cr_assert_not(is_flat_with_tail(200000 * US, &share));
	cr_assert_lt(share, 0.2);
}

Test(depth, one_at_a_time_is_flat_only_where_one_is_asked_for)
{
	struct depth depth = { 0 };
	struct depth_plateau plateau;

	run_table(&depth, 1, 50, 1000 * US, 20 * US);
	cr_assert_not(depth_plateau(&depth, 2, &plateau));
	cr_assert(depth_plateau(&depth, 1, &plateau));
	cr_assert_eq(plateau.top, 1);
	depth_clear(&depth);
}

/* Stamps of a reply and the next call that changed places: one more for a moment. */
Test(depth, a_moment_above_the_top_is_put_down_to_the_stamps)
{
	struct depth depth = { 0 };
	struct depth_plateau plateau;

	run_table(&depth, 4, 50, 1000 * US, 10 * US);
	depth_begin(&depth, 50600 * US, 0, 500 * US);
	depth_end(&depth, 50600 * US + 700);
	for (unsigned i = 0; i < 4; i++)
		depth_end(&depth, 50601 * US);
	depth_finish(&depth);
	cr_assert_eq(depth.max, 5);
	cr_assert(depth_plateau(&depth, 2, &plateau));
	cr_assert_eq(plateau.top, 4);
	depth_clear(&depth);
}

/* Rounds of `count` calls at once, all of latency_ns, with a pause behind each. */
static int64_t
run_rounds(struct depth *depth, int64_t at_ns, unsigned rounds, unsigned count, unsigned kind, int64_t latency_ns)
{
	for (unsigned i = 0; i < rounds; i++, at_ns += latency_ns + 1000 * US) {
		for (unsigned j = 0; j < count; j++)
			depth_begin(depth, at_ns, kind, latency_ns);
		for (unsigned j = 0; j < count; j++)
			depth_end(depth, at_ns + latency_ns);
	}
	return at_ns;
}

Test(depth, the_knee_is_where_latency_begins_to_grow)
{
	struct depth depth = { .by_calls = true };
	struct depth_group group[DEPTH_GROUPS];
	struct depth_growth growth;
	int64_t at_ns = 0;

	for (unsigned i = 0; i < 8; i++) {
		/* rounds of 1 to 8: from 5 on each call takes twice as long as in the round before */
		for (unsigned round = 0; round < 100; round++) {
			int64_t latency_ns = 128 << MAX((int)i - 3, 0);

			for (unsigned j = 0; j <= i; j++)
				depth_begin(&depth, at_ns, 0, j == i ? latency_ns : -1);
			for (unsigned j = 0; j <= i; j++)
				depth_end(&depth, at_ns + latency_ns);
			at_ns += 10000;
		}
	}
	depth_finish(&depth);
	cr_assert_eq(depth_groups(&depth, group), 6);
	cr_assert_eq(group[3].from, 4);
	cr_assert_eq(group[4].from, 5);
	cr_assert_eq(group[4].to, 6);
	cr_assert_eq(group[4].calls, 200);
	cr_assert_eq(group[4].latency_ns, 384);		/* 256 and 512 */
	cr_assert_eq(depth_knee(&depth), 5);
	/* 6, 7, 8: 4, 8 and 16 times as long */
	cr_assert(depth_growth(&depth, 6, &growth));
	cr_assert_float_eq(growth.ratio, 8, 1e-9);
	cr_assert_lt(growth.least, growth.ratio);
	cr_assert_gt(growth.least, 5);
	depth_clear(&depth);
}

/* A quick operation at few calls and a slow one at many is no growth. */
Test(depth, kinds_of_calls_are_compared_with_themselves)
{
	struct depth depth = { .by_calls = true };
	struct depth_growth growth;
	int64_t at_ns = 0;

	at_ns = run_rounds(&depth, at_ns, 40, 1, 0, 10 * US);
	at_ns = run_rounds(&depth, at_ns, 40, 1, 1, 500 * US);
	run_rounds(&depth, at_ns, 40, 16, 1, 500 * US);
	depth_finish(&depth);
	cr_assert(depth_growth(&depth, 12, &growth));
	cr_assert_float_eq(growth.ratio, 1, 1e-9);
	cr_assert_eq(depth_knee(&depth), 0);
	depth_clear(&depth);
}

/* One call in ten takes a hundred times as long; it happens to be more often so at many calls. */
Test(depth, a_few_slow_calls_are_no_growth)
{
	struct depth depth = { .by_calls = true };
	struct depth_growth growth;
	int64_t at_ns = 0;

	for (unsigned i = 0; i < 100; i++) {
		at_ns = run_rounds(&depth, at_ns, 1, 1, 0, i % 20 == 0 ? 10000 * US : 100 * US);
		at_ns = run_rounds(&depth, at_ns, 1, 4, 0, i % 8 == 0 ? 10000 * US : 100 * US);
	}
	depth_finish(&depth);
	cr_assert(depth_growth(&depth, 3, &growth));
	cr_assert_gt(growth.ratio, 1);
	cr_assert_lt(growth.least, 1);
	depth_clear(&depth);
}

Test(depth, merging_adds)
{
	struct depth whole = { 0 }, part = { 0 };
	double mean;

	run_table(&part, 16, 50, 1000 * US, 20 * US);
	depth_merge(&whole, &part);
	depth_merge(&whole, &part);
	cr_assert_eq(whole.calls, 2 * part.calls);
	cr_assert_eq(whole.max, 16);
	cr_assert_eq(whole.span_ns, 2 * part.span_ns);
	cr_assert_eq(whole.level[16].time_ns, 2 * part.level[16].time_ns);
	cr_assert_eq(whole.level[16].reused, 2 * part.level[16].reused);
	cr_assert(depth_mean(&whole, &mean));
	cr_assert_float_eq(mean, (double)part.sum_ns / (double)part.span_ns, 1e-9);
	depth_clear(&whole);
	depth_clear(&part);
}

/* 1 h back: no time passed, and none is taken away. */
Test(depth, a_clock_that_is_set_back_takes_no_time_away)
{
	struct depth depth = { 0 };

	depth_begin(&depth, INT64_C(3600000000000), 0, 10);
	depth_end(&depth, INT64_C(3600000000010));
	depth_begin(&depth, 5, 0, 10);
	depth_end(&depth, 15);
	depth_finish(&depth);
	cr_assert_eq(depth.span_ns, 20);
	cr_assert_eq(depth_busy_ns(&depth), 20);
	depth_clear(&depth);
}
