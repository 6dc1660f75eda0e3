/*
 * The clock stage when the clocks do not keep to their lines: steps, slews,
 * wander, and stamps that only look like it.
 */
#include <criterion/criterion.h>
#include <glib.h>
#include <inttypes.h>

#include "base/arith.h"
#include "correlate/clock_run.h"

Test(clock, steps_of_either_host_split_the_map)
{
	for (uint32_t seed = 1; seed <= 1000; seed++) {
		struct traffic_config config;
		struct clock_facts facts;

		traffic_config_init(&config, seed);
		config.calls = 600 + seed % 700;
		config.gap_ns = INT64_C(1) << (15 + seed % 10);
		config.jitter_ns[0] >>= seed % 5;
		config.jitter_ns[1] >>= seed % 7;
		config.clock[PAIR_CLIENT].drift_ppb = (int64_t)(seed % 41) * 20000 - 400000;
		config.clock[seed % 2].unit_ns = seed % 3 == 0 ? NS_PER_US : 1;
		clock_run_add_steps(&config, 1 + seed % 3, seed);
		struct traffic *traffic = traffic_new(&config);
		struct clock_run *run = clock_run(traffic, CLOCK_AUTO, 0, &facts);
		struct clock_tally tally = clock_run_check(traffic, run, seed);

		clock_run_expect_bounds(&tally, seed);
		cr_assert_eq(tally.crossing_aligned, 0, "seed %u", seed);
		cr_assert_leq(tally.unaligned, traffic->pairs / 2, "seed %u", seed);
		cr_assert_eq(facts.outliers, 0, "seed %u", seed);
		clock_run_check_steps(&config, &facts, seed);
		clock_run_free(run);
		traffic_free(traffic);
	}
}

Test(clock, steps_are_told_from_outliers)
{
	for (uint32_t seed = 1; seed <= 800; seed++) {
		struct traffic_config config;
		struct clock_facts facts;

		traffic_config_init(&config, seed);
		config.calls = 600 + seed % 700;
		config.gap_ns = INT64_C(1) << (15 + seed % 12);
		config.outliers = 0.01 * (1 + seed % 5);
		config.outlier_ns = 5000000;
		clock_run_add_steps(&config, seed % 3, seed);
		struct traffic *traffic = traffic_new(&config);
		struct clock_run *run = clock_run(traffic, CLOCK_AUTO, 0, &facts);
		struct clock_tally tally = clock_run_check(traffic, run, seed);
		unsigned wrong = 0;

		for (unsigned i = 0; i < traffic->pairs; i++)
			wrong += traffic->truth[i].outlier;
		clock_run_expect_bounds(&tally, seed);
		cr_assert_eq(tally.crossing_aligned, 0, "seed %u", seed);
		cr_assert_leq(facts.outliers, wrong, "seed %u", seed);
		cr_assert_geq(facts.outliers + 5, wrong / 4, "seed %u: %u of %u", seed, (unsigned)facts.outliers, wrong);
		clock_run_check_steps(&config, &facts, seed);
		clock_run_free(run);
		traffic_free(traffic);
	}
}

/*
 * A step that is smaller than the room between the bounds, the delays of both
 * directions, leaves no trace; up to half of that it stays inside the bound.
 */
Test(clock, small_steps_are_found_or_harmless)
{
	for (uint32_t seed = 1; seed <= 500; seed++) {
		struct traffic_config config;
		struct clock_facts facts;
		int64_t room_ns, by_ns;

		traffic_config_init(&config, seed);
		config.calls = 1600;
		config.gap_ns = INT64_C(1) << (15 + seed % 6);
		room_ns = config.delay_ns[0] + config.delay_ns[1];
		by_ns = seed % 2 == 0 ? room_ns * 3 / 2 : room_ns * 2 / 5;
		clock_run_add_steps(&config, 1, seed);
		for (unsigned side = 0; side < 2; side++)
			if (config.clock[side].changes > 0)
				config.clock[side].change[0].by_ns = seed % 4 < 2 ? by_ns : -by_ns;
		struct traffic *traffic = traffic_new(&config);
		struct clock_run *run = clock_run(traffic, CLOCK_AUTO, 0, &facts);
		struct clock_tally tally = clock_run_check(traffic, run, seed);

		clock_run_expect_bounds(&tally, seed);
		cr_assert_eq(facts.steps, seed % 2 == 0, "seed %u", seed);
		cr_assert(seed % 2 == 1 || tally.crossing_aligned == 0, "seed %u", seed);
		clock_run_free(run);
		traffic_free(traffic);
	}
}

/* One step of the client's clock, so that the server's shows every time once. */
static void
set_step(struct traffic_config *config, double at, int64_t by_ns)
{
	struct traffic *traffic = traffic_new(config);
	int64_t length_ns = traffic->truth[traffic->pairs - 1].real_ns;

	config->clock[PAIR_CLIENT].changes = 1;
	config->clock[PAIR_CLIENT].change[0] = (struct clock_change){
		.at_ns = (int64_t)((double)length_ns * at), .by_ns = by_ns
	};
	traffic_free(traffic);
}

static void
expect_offset_holds(const struct traffic_config *config, const struct clock_facts *facts, uint32_t seed)
{
	if (facts->aligned)
		cr_assert_leq(ABS(facts->offset_ns - clock_run_true_offset(config, facts->reference_ns)),
		    facts->error_ns, "seed %u: %" PRId64 " +- %" PRId64, seed, facts->offset_ns, facts->error_ns);
}

/* Between the last pair before a step and the first one behind it nothing is known. */
Test(clock, the_offset_holds_at_its_reference_next_to_a_step)
{
	for (uint32_t seed = 1; seed <= 1000; seed++) {
		struct traffic_config config;
		struct clock_facts facts;

		traffic_config_init(&config, seed);
		config.calls = 60 + seed % 200;
		config.gap_ns = INT64_C(1) << (16 + seed % 8);
		set_step(&config, 0.4 + 0.2 * (seed % 97) / 97, seed % 2 == 0 ? 30000000 : -30000000);
		struct traffic *traffic = traffic_new(&config);
		struct clock_run *run = clock_run(traffic, CLOCK_AUTO, 0, &facts);
		struct clock_tally tally = clock_run_check(traffic, run, seed);

		clock_run_expect_bounds(&tally, seed);
		cr_assert(facts.aligned, "seed %u", seed);
		expect_offset_holds(&config, &facts, seed);
		clock_run_free(run);
		traffic_free(traffic);
	}
}

/*
 * A capture that begins in the middle of a connection: its first replies may be
 * retransmissions, so only requests bound the offset, and those before a fall
 * of it fit the line behind.
 */
Test(clock, a_step_among_bounds_of_one_direction_splits_nothing_wrongly)
{
	for (uint32_t seed = 1; seed <= 500; seed++) {
		struct traffic_config config;
		struct clock_facts facts;
		bool calls = seed % 4 < 2;

		traffic_config_init(&config, seed);
		config.calls = 200;
		config.gap_ns = INT64_C(1) << (16 + seed % 8);
		set_step(&config, 0.3 + 0.3 * (seed % 97) / 97, seed % 2 == 0 ? 30000000 : -30000000);
		struct traffic *traffic = traffic_new(&config);

		for (unsigned i = 0; i < 140; i++)
			traffic->pair[i].op[calls ? PAIR_CLIENT : PAIR_SERVER].flags |=
			    calls ? OP_CALL_TIME_STALE : OP_REPLY_TIME_STALE;
		struct clock_run *run = clock_run(traffic, CLOCK_AUTO, 0, &facts);
		struct clock_tally tally = clock_run_check(traffic, run, seed);

		clock_run_expect_bounds(&tally, seed);
		cr_assert_geq(tally.aligned, 30, "seed %u: %u", seed, tally.aligned);
		expect_offset_holds(&config, &facts, seed);
		clock_run_free(run);
		traffic_free(traffic);
	}
}

/* Too late to be told from an outlier, and not the less true. */
Test(clock, a_step_among_the_last_pairs_splits_nothing_wrongly)
{
	for (uint32_t seed = 1; seed <= 1000; seed++) {
		struct traffic_config config;
		struct clock_facts facts;

		traffic_config_init(&config, seed);
		config.calls = 100;
		config.gap_ns = INT64_C(1) << (16 + seed % 8);
		set_step(&config, 0.9 + 0.1 * (seed % 97) / 97, seed % 2 == 0 ? 30000000 : -30000000);
		struct traffic *traffic = traffic_new(&config);
		struct clock_run *run = clock_run(traffic, CLOCK_AUTO, 0, &facts);
		struct clock_tally tally = clock_run_check(traffic, run, seed);

		clock_run_expect_bounds(&tally, seed);
		cr_assert_geq(tally.aligned, 60, "seed %u: %u", seed, tally.aligned);
		expect_offset_holds(&config, &facts, seed);
		clock_run_free(run);
		traffic_free(traffic);
	}
}

/* The clocks' rates wander, as all do: some ppm, many times in a long capture. */
Test(clock, bounds_hold_while_the_drift_wanders)
{
	for (uint32_t seed = 1; seed <= 20; seed++) {
		struct traffic_config config;
		struct clock_facts facts;
		GRand *rand = g_rand_new_with_seed(seed);

		traffic_config_init(&config, seed);
		config.calls = seed == 1 ? 160000 : 30000;	/* once more than there is room for samples */
		config.gap_ns = 5000000;
		config.clock[PAIR_CLIENT].changes = TRAFFIC_CHANGES;
		for (unsigned i = 0; i < TRAFFIC_CHANGES; i++)
			config.clock[PAIR_CLIENT].change[i] = (struct clock_change){
				.at_ns = INT64_C(20000000000) * i,
				.by_ppb = g_rand_int_range(rand, -3000, 3001),
			};
		struct traffic *traffic = traffic_new(&config);
		struct clock_run *run = clock_run(traffic, CLOCK_AUTO, 0, &facts);
		struct clock_tally tally = clock_run_check(traffic, run, seed);

		clock_run_expect_bounds(&tally, seed);
		cr_assert_eq(tally.unaligned, 0, "seed %u", seed);
		cr_assert_eq(facts.steps, 0, "seed %u", seed);
		cr_assert_eq(facts.outliers, 0, "seed %u", seed);
		for (unsigned i = 0; i < traffic->pairs; i++)
			cr_assert_leq(run->parts[i].clock_error_ns, i < 1000 ? 150000 : 110000, "seed %u pair %u", seed, i);
		cr_assert_leq(ABS(facts.offset_ns - clock_run_true_offset(&config, facts.reference_ns)), facts.error_ns,
		    "seed %u: %" PRId64 " +- %" PRId64, seed, facts.offset_ns, facts.error_ns);
		cr_assert_leq(facts.error_ns, 110000, "seed %u: %" PRId64, seed, facts.error_ns);
		clock_run_free(run);
		traffic_free(traffic);
		g_rand_free(rand);
	}
}

/* From 1.5 s on, for so long. */
static void
set_slew(struct traffic_config *config, unsigned side, int64_t length_ns, int64_t by_ppb)
{
	struct host_clock *clock = &config->clock[side];

	clock->changes = 2;
	clock->change[0] = (struct clock_change){ .at_ns = 1500000000, .by_ppb = by_ppb };
	clock->change[1] = (struct clock_change){ .at_ns = 1500000000 + length_ns, .by_ppb = -by_ppb };
}

/*
 * A slew (adjtime, NTP) of hundreds of ppm changes the drift at once. It shows
 * when the offset has left the room between the bounds; until then a bound may
 * be broken, by less than that room. It is never called a step.
 */
Test(clock, slews_split_the_map_without_a_step)
{
	unsigned aligned = 0, beyond = 0;

	for (uint32_t seed = 1; seed <= 100; seed++) {
		struct traffic_config config;
		struct clock_facts facts;

		traffic_config_init(&config, seed);
		config.calls = 4000;
		config.gap_ns = INT64_C(1) << (20 + seed % 3);
		set_slew(&config, seed % 2, 1500000000, seed % 4 < 2 ? 500000 : -500000);
		struct traffic *traffic = traffic_new(&config);
		struct clock_run *run = clock_run(traffic, CLOCK_AUTO, 0, &facts);
		struct clock_tally tally = clock_run_check(traffic, run, seed);

		aligned += tally.aligned;
		beyond += tally.beyond;
		cr_assert_leq(tally.worst_ns, config.delay_ns[0] + 5000, "seed %u: %.1Lf", seed, tally.worst_ns);
		cr_assert_eq(tally.unaligned, 0, "seed %u", seed);
		cr_assert_eq(facts.steps, 0, "seed %u: %u", seed, facts.steps);
		clock_run_free(run);
		traffic_free(traffic);
	}
	/* The clock is being slewed half of the time. */
	cr_assert_leq(beyond, aligned / 6, "%u of %u", beyond, aligned);
}

/* Slews that are faster than any drift: what is under way then is not split, and the end looks like a step. */
Test(clock, slews_beyond_all_drift_are_steps)
{
	for (uint32_t seed = 1; seed <= 200; seed++) {
		struct traffic_config config;
		struct clock_facts facts;
		int64_t length_ns = INT64_C(1) << (20 + seed % 12), by_ppb = seed % 4 < 2 ? 80000000 : -80000000;

		traffic_config_init(&config, seed);
		config.calls = 8000;
		set_slew(&config, seed % 2, length_ns, by_ppb);
		struct traffic *traffic = traffic_new(&config);
		struct clock_run *run = clock_run(traffic, CLOCK_AUTO, 0, &facts);
		struct clock_tally tally = clock_run_check(traffic, run, seed);

		cr_assert_leq(tally.worst_ns, 500000, "seed %u: %.1Lf", seed, tally.worst_ns);
		cr_assert_leq(tally.beyond, tally.aligned / 6, "seed %u: %u", seed, tally.beyond);
		cr_assert(seed % 12 < 2 || facts.steps > 0, "seed %u", seed);
		cr_assert_leq(tally.unaligned, traffic->pairs / 3, "seed %u: %u", seed, tally.unaligned);
		clock_run_free(run);
		traffic_free(traffic);
	}
}
