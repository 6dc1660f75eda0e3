/*
 * The clock stage against the truth: whatever it calls aligned must hold the
 * true offset within its bound. Every failure names the seed that made it.
 */
#include <criterion/criterion.h>
#include <glib.h>
#include <inttypes.h>

#include "base/arith.h"
#include "correlate/clock.h"
#include "correlate/oracle.h"
#include "correlate/traffic.h"

/* What came out, in order. */
struct outcome {
	const struct traffic *traffic;
	unsigned emitted, pushed;
	unsigned most_waiting;
	struct attribution *parts;
	unsigned *pushed_then;		/* pairs that had been pushed when this one came out */
	bool in_order, unchanged;
};

static void
collect(void *context, const struct op_pair *pair)
{
	struct outcome *outcome = context;
	unsigned i = outcome->emitted++;

	outcome->in_order = outcome->in_order && pair->op[PAIR_CLIENT].xid == i;
	outcome->unchanged = outcome->unchanged && pair->match == outcome->traffic->pair[i].match &&
	    pair->op[PAIR_SERVER].call_last_ns == outcome->traffic->pair[i].op[PAIR_SERVER].call_last_ns;
	outcome->parts[i] = pair->parts;
	outcome->pushed_then[i] = outcome->pushed;
}

static struct outcome *
outcome_new(const struct traffic *traffic)
{
	struct outcome *outcome = g_new0(struct outcome, 1);

	outcome->traffic = traffic;
	outcome->parts = g_new0(struct attribution, traffic->pairs);
	outcome->pushed_then = g_new0(unsigned, traffic->pairs);
	outcome->in_order = outcome->unchanged = true;
	return outcome;
}

static void
outcome_free(struct outcome *outcome)
{
	g_free(outcome->parts);
	g_free(outcome->pushed_then);
	g_free(outcome);
}

static struct outcome *
run(const struct traffic *traffic, enum clock_mode mode, int64_t given_ns, struct clock_facts *facts)
{
	struct outcome *outcome = outcome_new(traffic);
	struct clock_stage *stage = clock_stage_new(mode, given_ns, collect, outcome);

	for (unsigned i = 0; i < traffic->pairs; i++) {
		outcome->pushed = i + 1;
		clock_stage_push(stage, &traffic->pair[i]);
		outcome->most_waiting = MAX(outcome->most_waiting, outcome->pushed - outcome->emitted);
	}
	clock_stage_finish(stage);
	clock_stage_facts(stage, facts);
	clock_stage_free(stage);
	return outcome;
}

static int64_t
wrapping_plus(int64_t a, uint64_t b)
{
	return (int64_t)((uint64_t)a + b);
}

static int64_t
random_up_to(GRand *rand, int64_t limit)
{
	return (int64_t)(g_rand_double(rand) * (double)limit);
}

/* A load, a path and two clocks at random: from a busy LAN to a call an hour. */
static void
random_config(struct traffic_config *config, uint32_t seed)
{
	GRand *rand = g_rand_new_with_seed(seed ^ 0x5eed);
	int64_t scale_ns = INT64_C(1) << g_rand_int_range(rand, 8, 24);

	traffic_config_init(config, seed);
	config->calls = (unsigned)g_rand_int_range(rand, 1, 800);
	config->gap_ns = INT64_C(1) << g_rand_int_range(rand, 13, 36);
	config->service_ns = INT64_C(1) << g_rand_int_range(rand, 12, 26);
	config->transfer_ns = INT64_C(1) << g_rand_int_range(rand, 10, 22);
	for (unsigned i = 0; i < 2; i++) {
		config->delay_ns[i] = random_up_to(rand, scale_ns);
		config->jitter_ns[i] = random_up_to(rand, g_rand_boolean(rand) ? scale_ns : scale_ns / 20);
		config->clock[i].drift_ppb = g_rand_int_range(rand, -500000, 500001);
	}
	config->clock[PAIR_CLIENT].drift_ppb = config->clock[PAIR_SERVER].drift_ppb +
	    g_rand_int_range(rand, -500000, 500001);
	config->clock[PAIR_CLIENT].start_ns += random_up_to(rand, INT64_C(7200000000000)) - INT64_C(3600000000000);
	if (g_rand_int_range(rand, 0, 3) == 0)
		config->clock[0].unit_ns = NS_PER_US;
	if (g_rand_int_range(rand, 0, 3) == 0)
		config->clock[1].unit_ns = NS_PER_US;
	g_rand_free(rand);
}

struct tally {
	unsigned aligned, unaligned, crossing_aligned, beyond;
	long double worst_ns;
};

/* The properties that hold for whatever comes in, and how often the bound was broken. */
static struct tally
check(const struct traffic *traffic, const struct outcome *outcome, uint32_t seed)
{
	struct tally tally = { 0 };

	cr_assert_eq(outcome->emitted, traffic->pairs, "seed %u", seed);
	cr_assert(outcome->in_order, "seed %u", seed);
	cr_assert(outcome->unchanged, "seed %u", seed);
	cr_assert_leq(outcome->most_waiting, 1 << 16, "seed %u", seed);
	for (unsigned i = 0; i < traffic->pairs; i++) {
		const struct attribution *parts = &outcome->parts[i];
		const struct nfs_op *op = traffic->pair[i].op;
		const struct truth *truth = &traffic->truth[i];
		long double off_ns;

		if (traffic->pair[i].match != MATCH_MATCHED)
			continue;
		cr_assert_eq(parts->total_ns, op[PAIR_CLIENT].reply_last_ns - op[PAIR_CLIENT].call_first_ns);
		cr_assert_eq(parts->server_ns, op[PAIR_SERVER].reply_first_ns - op[PAIR_SERVER].call_last_ns);
		cr_assert_eq(parts->server_ns + parts->network_ns, parts->total_ns, "seed %u pair %u", seed, i);
		if (!parts->aligned) {
			tally.unaligned++;
			continue;
		}
		tally.aligned++;
		cr_assert_eq(parts->request_ns + parts->reply_ns, parts->network_ns, "seed %u pair %u", seed, i);
		cr_assert_geq(parts->clock_error_ns, 0, "seed %u pair %u", seed, i);
		if (truth->wrong)
			continue;
		if (truth->crosses) {
			tally.crossing_aligned++;
			continue;
		}
		off_ns = MAX(ABS(parts->request_ns - truth->request_ns), ABS(parts->reply_ns - truth->reply_ns)) -
		    parts->clock_error_ns;
		tally.beyond += off_ns > 0;
		tally.worst_ns = MAX(tally.worst_ns, off_ns);
	}
	return tally;
}

/* The true offset when the server's clock shows server_ns; for clocks without steps. */
static long double
true_offset(const struct traffic_config *config, int64_t server_ns)
{
	int64_t low = -INT64_C(3600000000000), high = INT64_C(1) << 54;

	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		if (clock_shows(config, PAIR_SERVER, middle) + config->clock[PAIR_SERVER].start_ns < server_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return clock_shows(config, PAIR_SERVER, low) - clock_shows(config, PAIR_CLIENT, low);
}

static void
check_facts(const struct traffic_config *config, const struct clock_facts *facts, uint32_t seed)
{
	long double offset_ns = true_offset(config, facts->reference_ns);
	long double drift_ppb = (config->clock[PAIR_SERVER].drift_ppb - config->clock[PAIR_CLIENT].drift_ppb) /
	    (1 + config->clock[PAIR_SERVER].drift_ppb * 1e-9L);

	cr_assert(facts->aligned, "seed %u", seed);
	cr_assert_leq(ABS(facts->offset_ns - offset_ns), facts->error_ns, "seed %u: %" PRId64 " +- %" PRId64 ", is %.1Lf",
	    seed, facts->offset_ns, facts->error_ns, offset_ns);
	cr_assert_leq(ABS(facts->drift_ppb - drift_ppb), facts->drift_error_ppb,
	    "seed %u: %" PRId64 " +- %" PRId64 ", is %.1Lf", seed, facts->drift_ppb, facts->drift_error_ppb, drift_ppb);
}

Test(clock, bounds_hold_whatever_the_load)
{
	for (uint32_t seed = 1; seed <= 2000; seed++) {
		struct traffic_config config;
		struct clock_facts facts;

		random_config(&config, seed);
		struct traffic *traffic = traffic_new(&config);
		struct outcome *outcome = run(traffic, CLOCK_AUTO, 0, &facts);
		struct tally tally = check(traffic, outcome, seed);

		cr_assert_eq(tally.beyond, 0, "seed %u: %u of %u, by %.1Lf ns", seed, tally.beyond, tally.aligned, tally.worst_ns);
		cr_assert_eq(tally.unaligned, 0, "seed %u", seed);
		cr_assert_eq(facts.steps, 0, "seed %u", seed);
		cr_assert_eq(facts.outliers, 0, "seed %u", seed);
		check_facts(&config, &facts, seed);
		outcome_free(outcome);
		traffic_free(traffic);
	}
}

/* How far above the optimum a half width may lie. */
static bool
is_tight(int64_t error_ns, long double optimum_ns)
{
	return error_ns <= optimum_ns * 1.01L + 4;
}

Test(clock, bounds_are_as_tight_as_the_traffic_allows)
{
	for (uint32_t seed = 1; seed <= 300; seed++) {
		struct traffic_config config;
		struct clock_facts facts;
		long double low_ns, high_ns;

		random_config(&config, seed);
		config.clock[0].unit_ns = config.clock[1].unit_ns = 1;
		struct traffic *traffic = traffic_new(&config);
		struct outcome *outcome = run(traffic, CLOCK_AUTO, 0, &facts);

		cr_assert(oracle_offset(traffic->pair, traffic->pairs, facts.reference_ns, facts.reference_ns,
		    &low_ns, &high_ns), "seed %u", seed);
		cr_assert(is_tight(facts.error_ns, (high_ns - low_ns) / 2), "seed %u: %" PRId64 " for %.1Lf", seed,
		    facts.error_ns, (high_ns - low_ns) / 2);
		for (unsigned i = seed % 211; i < traffic->pairs; i += 211) {
			const struct nfs_op *server = &traffic->pair[i].op[PAIR_SERVER];

			cr_assert(oracle_offset(traffic->pair, outcome->pushed_then[i], server->call_last_ns,
			    server->reply_first_ns, &low_ns, &high_ns), "seed %u", seed);
			cr_assert(is_tight(outcome->parts[i].clock_error_ns, (high_ns - low_ns) / 2),
			    "seed %u pair %u: %" PRId64 " for %.1Lf", seed, i, outcome->parts[i].clock_error_ns,
			    (high_ns - low_ns) / 2);
		}
		outcome_free(outcome);
		traffic_free(traffic);
	}
}

/* Steps of either host, forward and back, that no delay could be mistaken for. */
static void
add_steps(struct traffic_config *config, unsigned steps, uint32_t seed)
{
	GRand *rand = g_rand_new_with_seed(seed ^ 0x57e9);
	struct traffic *traffic = traffic_new(config);
	int64_t length_ns = traffic->truth[traffic->pairs - 1].real_ns;

	traffic_free(traffic);
	for (unsigned i = 0; i < steps; i++) {
		struct host_clock *clock = &config->clock[g_rand_int_range(rand, 0, 2)];
		int64_t by_ns = 200 * (config->delay_ns[0] + config->delay_ns[1] + config->jitter_ns[0] +
		    config->jitter_ns[1]) + 10000000;

		by_ns += random_up_to(rand, by_ns * (INT64_C(1) << g_rand_int_range(rand, 0, 12)));
		clock->change[clock->changes++] = (struct clock_change){
			.at_ns = (int64_t)((double)length_ns * (i + 0.2 + 0.5 * g_rand_double(rand)) / steps),
			.by_ns = g_rand_boolean(rand) ? by_ns : -by_ns,
		};
	}
	g_rand_free(rand);
}

/* The changes of both clocks, by time. */
static unsigned
list_steps(const struct traffic_config *config, struct clock_change step[2 * TRAFFIC_CHANGES])
{
	unsigned steps = 0;

	for (unsigned side = 0; side < 2; side++)
		for (unsigned i = 0; i < config->clock[side].changes; i++) {
			struct clock_change change = config->clock[side].change[i];
			unsigned at = steps++;

			change.by_ns *= side == PAIR_SERVER ? 1 : -1;
			for (; at > 0 && step[at - 1].at_ns > change.at_ns; at--)
				step[at] = step[at - 1];
			step[at] = change;
		}
	return steps;
}

static void
check_steps(const struct traffic_config *config, const struct clock_facts *facts, uint32_t seed)
{
	struct clock_change step[2 * TRAFFIC_CHANGES];
	unsigned steps = list_steps(config, step);

	cr_assert_eq(facts->steps, steps, "seed %u: %u for %u", seed, facts->steps, steps);
	for (unsigned i = 0; i < steps; i++) {
		int64_t slack_ns = step[i].by_ns / 20;

		cr_assert_leq(ABS(facts->step[i].step_ns - step[i].by_ns), ABS(slack_ns),
		    "seed %u: %" PRId64 " for %" PRId64, seed, facts->step[i].step_ns, step[i].by_ns);
	}
}

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
		add_steps(&config, 1 + seed % 3, seed);
		struct traffic *traffic = traffic_new(&config);
		struct outcome *outcome = run(traffic, CLOCK_AUTO, 0, &facts);
		struct tally tally = check(traffic, outcome, seed);

		cr_assert_eq(tally.beyond, 0, "seed %u: %u of %u, by %.1Lf ns", seed, tally.beyond, tally.aligned, tally.worst_ns);
		cr_assert_eq(tally.crossing_aligned, 0, "seed %u", seed);
		cr_assert_leq(tally.unaligned, traffic->pairs / 2, "seed %u", seed);
		cr_assert_eq(facts.outliers, 0, "seed %u", seed);
		check_steps(&config, &facts, seed);
		outcome_free(outcome);
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
		add_steps(&config, seed % 3, seed);
		struct traffic *traffic = traffic_new(&config);
		struct outcome *outcome = run(traffic, CLOCK_AUTO, 0, &facts);
		struct tally tally = check(traffic, outcome, seed);
		unsigned wrong = 0;

		for (unsigned i = 0; i < traffic->pairs; i++)
			wrong += traffic->truth[i].outlier;
		cr_assert_eq(tally.beyond, 0, "seed %u: %u of %u, by %.1Lf ns", seed, tally.beyond, tally.aligned, tally.worst_ns);
		cr_assert_eq(tally.crossing_aligned, 0, "seed %u", seed);
		cr_assert_leq(facts.outliers, wrong, "seed %u", seed);
		cr_assert_geq(facts.outliers + 5, wrong / 4, "seed %u: %u of %u", seed, (unsigned)facts.outliers, wrong);
		check_steps(&config, &facts, seed);
		outcome_free(outcome);
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
		add_steps(&config, 1, seed);
		for (unsigned side = 0; side < 2; side++)
			if (config.clock[side].changes > 0)
				config.clock[side].change[0].by_ns = seed % 4 < 2 ? by_ns : -by_ns;
		struct traffic *traffic = traffic_new(&config);
		struct outcome *outcome = run(traffic, CLOCK_AUTO, 0, &facts);
		struct tally tally = check(traffic, outcome, seed);

		cr_assert_eq(tally.beyond, 0, "seed %u: %u of %u, by %.1Lf ns", seed, tally.beyond, tally.aligned, tally.worst_ns);
		cr_assert_eq(facts.steps, seed % 2 == 0, "seed %u", seed);
		cr_assert(seed % 2 == 1 || tally.crossing_aligned == 0, "seed %u", seed);
		outcome_free(outcome);
		traffic_free(traffic);
	}
}

Test(clock, stamps_that_prove_nothing_are_not_used)
{
	for (uint32_t seed = 1; seed <= 500; seed++) {
		struct traffic_config config;
		struct clock_facts facts;

		random_config(&config, seed);
		config.calls += 50;
		config.deduced = 0.3;
		config.resent = 0.2;
		config.unmatched = seed % 2 * 0.3;
		struct traffic *traffic = traffic_new(&config);
		struct outcome *outcome = run(traffic, CLOCK_AUTO, 0, &facts);
		struct tally tally = check(traffic, outcome, seed);

		cr_assert_eq(tally.beyond, 0, "seed %u: %u of %u, by %.1Lf ns", seed, tally.beyond, tally.aligned, tally.worst_ns);
		cr_assert_eq(facts.steps, 0, "seed %u", seed);
		cr_assert_eq(facts.outliers, 0, "seed %u", seed);
		check_facts(&config, &facts, seed);
		outcome_free(outcome);
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
		config.calls = 30000;
		config.gap_ns = 5000000;
		config.clock[PAIR_CLIENT].changes = TRAFFIC_CHANGES;
		for (unsigned i = 0; i < TRAFFIC_CHANGES; i++)
			config.clock[PAIR_CLIENT].change[i] = (struct clock_change){
				.at_ns = INT64_C(20000000000) * i,
				.by_ppb = g_rand_int_range(rand, -3000, 3001),
			};
		struct traffic *traffic = traffic_new(&config);
		struct outcome *outcome = run(traffic, CLOCK_AUTO, 0, &facts);
		struct tally tally = check(traffic, outcome, seed);

		cr_assert_eq(tally.beyond, 0, "seed %u: %u of %u, by %.1Lf ns", seed, tally.beyond, tally.aligned, tally.worst_ns);
		cr_assert_eq(tally.unaligned, 0, "seed %u", seed);
		cr_assert_eq(facts.steps, 0, "seed %u", seed);
		cr_assert_eq(facts.outliers, 0, "seed %u", seed);
		for (unsigned i = 0; i < traffic->pairs; i++)
			cr_assert_leq(outcome->parts[i].clock_error_ns, i < 1000 ? 150000 : 110000, "seed %u pair %u", seed, i);
		cr_assert_leq(ABS(facts.offset_ns - true_offset(&config, facts.reference_ns)), facts.error_ns,
		    "seed %u: %" PRId64 " +- %" PRId64, seed, facts.offset_ns, facts.error_ns);
		cr_assert_leq(facts.error_ns, 110000, "seed %u: %" PRId64, seed, facts.error_ns);
		outcome_free(outcome);
		traffic_free(traffic);
		g_rand_free(rand);
	}
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
		config.clock[seed % 2].changes = 2;
		config.clock[seed % 2].change[0] = (struct clock_change){ .at_ns = 1500000000, .by_ppb = seed % 4 < 2 ? 500000 : -500000 };
		config.clock[seed % 2].change[1] = (struct clock_change){ .at_ns = 3000000000, .by_ppb = seed % 4 < 2 ? -500000 : 500000 };
		struct traffic *traffic = traffic_new(&config);
		struct outcome *outcome = run(traffic, CLOCK_AUTO, 0, &facts);
		struct tally tally = check(traffic, outcome, seed);

		aligned += tally.aligned;
		beyond += tally.beyond;
		cr_assert_leq(tally.worst_ns, config.delay_ns[0] + 5000, "seed %u: %.1Lf", seed, tally.worst_ns);
		cr_assert_eq(tally.unaligned, 0, "seed %u", seed);
		cr_assert_eq(facts.steps, 0, "seed %u: %u", seed, facts.steps);
		outcome_free(outcome);
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
		config.clock[seed % 2].changes = 2;
		config.clock[seed % 2].change[0] = (struct clock_change){ .at_ns = 1500000000, .by_ppb = by_ppb };
		config.clock[seed % 2].change[1] = (struct clock_change){ .at_ns = 1500000000 + length_ns, .by_ppb = -by_ppb };
		struct traffic *traffic = traffic_new(&config);
		struct outcome *outcome = run(traffic, CLOCK_AUTO, 0, &facts);
		struct tally tally = check(traffic, outcome, seed);

		cr_assert_leq(tally.worst_ns, 500000, "seed %u: %.1Lf", seed, tally.worst_ns);
		cr_assert_leq(tally.beyond, tally.aligned / 6, "seed %u: %u", seed, tally.beyond);
		cr_assert(seed % 12 < 2 || facts.steps > 0, "seed %u", seed);
		cr_assert_leq(tally.unaligned, traffic->pairs / 3, "seed %u: %u", seed, tally.unaligned);
		outcome_free(outcome);
		traffic_free(traffic);
	}
}

/* A call every quarter of an hour for ten days: the drift is known to parts in 10^9. */
Test(clock, days)
{
	for (uint32_t seed = 1; seed <= 200; seed++) {
		struct traffic_config config;
		struct clock_facts facts;

		random_config(&config, seed);
		config.calls = 1000;
		config.gap_ns = INT64_C(900000000000);
		struct traffic *traffic = traffic_new(&config);
		struct outcome *outcome = run(traffic, CLOCK_AUTO, 0, &facts);
		struct tally tally = check(traffic, outcome, seed);

		cr_assert_eq(tally.beyond, 0, "seed %u: %u of %u, by %.1Lf ns", seed, tally.beyond, tally.aligned, tally.worst_ns);
		cr_assert_eq(tally.unaligned, 0, "seed %u", seed);
		cr_assert_eq(facts.outliers, 0, "seed %u", seed);
		cr_assert(facts.has_drift);
		cr_assert_leq(facts.drift_error_ppb, 1000, "seed %u: %" PRId64, seed, facts.drift_error_ppb);
		check_facts(&config, &facts, seed);
		outcome_free(outcome);
		traffic_free(traffic);
	}
}

/* One pair by hand: client 1000 .. 1900, server 5100 .. 5600. */
static struct op_pair
pair_of(int64_t client_call, int64_t server_call, int64_t server_reply, int64_t client_reply, uint64_t frame)
{
	struct op_pair pair = { .match = MATCH_MATCHED, .has = { true, true } };

	pair.op[PAIR_CLIENT].call_first_ns = pair.op[PAIR_CLIENT].call_last_ns = client_call;
	pair.op[PAIR_SERVER].call_first_ns = pair.op[PAIR_SERVER].call_last_ns = server_call;
	pair.op[PAIR_SERVER].reply_first_ns = pair.op[PAIR_SERVER].reply_last_ns = server_reply;
	pair.op[PAIR_CLIENT].reply_first_ns = pair.op[PAIR_CLIENT].reply_last_ns = client_reply;
	for (unsigned side = 0; side < 2; side++) {
		pair.op[side].call_frame = frame;
		pair.op[side].reply_frame = frame + 1;
		pair.op[side].valid = OP_TIMES;
	}
	return pair;
}

static struct outcome *
run_pairs(struct op_pair *pair, unsigned pairs, enum clock_mode mode, int64_t given_ns, struct clock_facts *facts)
{
	struct traffic traffic = { .pairs = pairs, .pair = pair };

	for (unsigned i = 0; i < pairs; i++)
		pair[i].op[PAIR_CLIENT].xid = i;
	return run(&traffic, mode, given_ns, facts);
}

Test(clock, one_pair_by_hand)
{
	struct op_pair pair = pair_of(1001, 5101, 5602, 1904, 1);
	struct clock_facts facts;
	struct outcome *outcome = run_pairs(&pair, 1, CLOCK_AUTO, 0, &facts);
	const struct attribution *parts = &outcome->parts[0];

	/* offset between 5602 - 1904 = 3698 and 5101 - 1001 = 4100 */
	cr_assert(parts->aligned);
	cr_assert_eq(parts->total_ns, 903);
	cr_assert_eq(parts->server_ns, 501);
	cr_assert_eq(parts->network_ns, 402);
	cr_assert_leq(ABS(parts->request_ns - 201), 2);
	cr_assert_eq(parts->request_ns + parts->reply_ns, 402);
	cr_assert_geq(parts->clock_error_ns, 201);
	cr_assert_leq(parts->clock_error_ns, 205);
	cr_assert(facts.aligned);
	cr_assert_leq(ABS(facts.offset_ns - 3899), 2);
	cr_assert_not(facts.has_drift);
	outcome_free(outcome);
}

Test(clock, none_waits_for_nothing_and_says_nothing)
{
	struct op_pair pair[2] = { pair_of(1001, 5101, 5601, 1903, 1), pair_of(2001, 6101, 6601, 2903, 3) };
	struct clock_facts facts;
	struct outcome *outcome = run_pairs(pair, 2, CLOCK_NONE, 0, &facts);

	cr_assert_eq(outcome->most_waiting, 0);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_not(outcome->parts[i].aligned);
		cr_assert_eq(outcome->parts[i].network_ns, 402);
	}
	cr_assert_eq(facts.mode, CLOCK_NONE);
	cr_assert_not(facts.aligned);
	outcome_free(outcome);
}

/* The user's offset is taken as it is; the error is how far off the traffic allows it to be. */
Test(clock, given)
{
	for (uint32_t seed = 1; seed <= 300; seed++) {
		struct traffic_config config;
		struct clock_facts facts, plain;
		int64_t given_ns;

		random_config(&config, seed);
		given_ns = config.clock[PAIR_SERVER].start_ns - config.clock[PAIR_CLIENT].start_ns + (int64_t)(seed % 7) * 1000000 - 3000000;
		struct traffic *traffic = traffic_new(&config);
		struct outcome *outcome = run(traffic, CLOCK_GIVEN, given_ns, &facts);
		struct tally tally = check(traffic, outcome, seed);

		outcome_free(run(traffic, CLOCK_AUTO, 0, &plain));
		cr_assert_eq(tally.beyond, 0, "seed %u: %u of %u, by %.1Lf ns", seed, tally.beyond, tally.aligned, tally.worst_ns);
		cr_assert_eq(facts.mode, CLOCK_GIVEN);
		cr_assert(facts.aligned);
		cr_assert_eq(facts.offset_ns, given_ns);
		cr_assert_leq(ABS(facts.error_ns - (ABS(given_ns - plain.offset_ns) + plain.error_ns)), 2, "seed %u", seed);
		cr_assert_eq(facts.drift_ppb, plain.drift_ppb);
		for (unsigned i = 0; i < traffic->pairs; i++)
			cr_assert_eq(outcome->parts[i].request_ns, traffic->pair[i].op[PAIR_SERVER].call_last_ns -
			    traffic->pair[i].op[PAIR_CLIENT].call_first_ns - given_ns);
		outcome_free(outcome);
		traffic_free(traffic);
	}
}

/* DESIGN section 6: a constant added to one capture's clock changes nothing but the offset. */
Test(clock, a_shifted_clock_changes_the_offset_only)
{
	for (uint32_t seed = 1; seed <= 100; seed++) {
		struct traffic_config config;
		struct clock_facts facts, shifted_facts;
		int64_t shift_ns = (INT64_C(1) << (seed % 57)) / 1000 * 1000;
		unsigned side = seed % 2;

		random_config(&config, seed);
		add_steps(&config, seed % 3, seed);
		struct traffic *traffic = traffic_new(&config);
		struct outcome *outcome = run(traffic, CLOCK_AUTO, 0, &facts);

		for (unsigned i = 0; i < traffic->pairs; i++) {
			struct nfs_op *op = &traffic->pair[i].op[side];

			op->call_first_ns += shift_ns;
			op->call_last_ns += shift_ns;
			op->reply_first_ns += shift_ns;
			op->reply_last_ns += shift_ns;
		}
		struct outcome *shifted = run(traffic, CLOCK_AUTO, 0, &shifted_facts);

		for (unsigned i = 0; i < traffic->pairs; i++) {
			cr_assert_eq(outcome->parts[i].aligned, shifted->parts[i].aligned, "seed %u", seed);
			cr_assert_eq(outcome->parts[i].request_ns, shifted->parts[i].request_ns, "seed %u", seed);
			cr_assert_eq(outcome->parts[i].clock_error_ns, shifted->parts[i].clock_error_ns, "seed %u", seed);
		}
		if (facts.aligned)
			cr_assert_eq(shifted_facts.offset_ns - facts.offset_ns, side == PAIR_SERVER ? shift_ns : -shift_ns,
			    "seed %u", seed);
		cr_assert_eq(shifted_facts.error_ns, facts.error_ns, "seed %u", seed);
		cr_assert_eq(shifted_facts.drift_ppb, facts.drift_ppb, "seed %u", seed);
		outcome_free(outcome);
		outcome_free(shifted);
		traffic_free(traffic);
	}
}

/* While pairing goes on, what is known of the offset holds for the next pair too. */
Test(clock, the_offset_is_known_while_pairs_come)
{
	for (uint32_t seed = 1; seed <= 300; seed++) {
		struct traffic_config config;
		bool steps = seed % 2 == 0;

		traffic_config_init(&config, seed);
		config.calls = 600;
		config.outliers = seed % 3 * 0.01;
		config.outlier_ns = 5000000;
		add_steps(&config, steps, seed);
		struct traffic *traffic = traffic_new(&config);
		struct outcome *outcome = outcome_new(traffic);
		struct clock_stage *stage = clock_stage_new(CLOCK_AUTO, 0, collect, outcome);
		unsigned known = 0, wrong = 0;
		int64_t low_ns, high_ns;

		cr_assert_not(clock_stage_offset(stage, traffic->pair[0].op[PAIR_SERVER].call_last_ns, &low_ns, &high_ns));
		for (unsigned i = 0; i < traffic->pairs; i++) {
			const struct truth *truth = &traffic->truth[i];

			if (!truth->wrong && !truth->crosses && clock_stage_offset(stage,
			    traffic->pair[i].op[PAIR_SERVER].call_last_ns, &low_ns, &high_ns)) {
				known++;
				wrong += truth->offset_ns + 1 < low_ns || truth->offset_ns > high_ns;
			}
			clock_stage_push(stage, &traffic->pair[i]);
		}
		clock_stage_finish(stage);
		cr_assert_geq(known, traffic->pairs * 8 / 10, "seed %u: %u", seed, known);
		/* The first sign of a step is the first pair behind it, and pairing has to look at it before. */
		cr_assert_leq(wrong, steps ? 4 : 0, "seed %u: %u", seed, wrong);
		clock_stage_free(stage);
		outcome_free(outcome);
		traffic_free(traffic);
	}
}

/* A window is out soon after it closed; a lone pair when the next one comes. */
Test(clock, pairs_do_not_wait_long)
{
	for (unsigned power = 12; power <= 36; power += 3) {
		struct traffic_config config;
		struct clock_facts facts;

		traffic_config_init(&config, power);
		config.calls = 5000;
		config.gap_ns = INT64_C(1) << power;
		struct traffic *traffic = traffic_new(&config);
		struct outcome *outcome = run(traffic, CLOCK_AUTO, 0, &facts);

		cr_assert_leq(outcome->most_waiting, power >= 34 ? 2 : 2400, "gap 2^%u: %u", power, outcome->most_waiting);
		check(traffic, outcome, power);
		outcome_free(outcome);
		traffic_free(traffic);
	}
}

/* Bounds that all lie on the polygon's rim need more corners than there are. */
Test(clock, more_corners_than_there_is_room_for)
{
	enum { PAIRS = 900 };
	struct op_pair *pair = g_new(struct op_pair, PAIRS);

	for (unsigned shape = 0; shape < 6; shape++) {
		struct clock_facts facts;
		long double low_ns, high_ns;

		for (unsigned i = 0; i < PAIRS; i++) {
			int64_t from_middle = (int64_t)i - PAIRS / 2, at_ns = INT64_C(1700000000000000001) + i * INT64_C(10000003);
			int64_t room_ns = 50000 + (shape % 3 == 0 ? 0 : from_middle * from_middle / (shape % 3 == 1 ? 1 : 37));

			if (shape >= 3)
				at_ns += (int64_t)(i % 7) * 1000;
			pair[i] = pair_of(at_ns - room_ns, at_ns, at_ns + 100003, at_ns + 100003 + room_ns, 2 * i + 1);
		}
		struct outcome *outcome = run_pairs(pair, PAIRS, CLOCK_AUTO, 0, &facts);

		cr_assert(oracle_offset(pair, PAIRS, facts.reference_ns, facts.reference_ns, &low_ns, &high_ns));
		cr_assert_geq(facts.offset_ns + facts.error_ns, high_ns - 1, "shape %u", shape);
		cr_assert_leq(facts.offset_ns - facts.error_ns, low_ns + 1, "shape %u", shape);
		cr_assert_leq(facts.error_ns, (high_ns - low_ns) / 2 * 1.01L + 4, "shape %u: %" PRId64 " for %.1Lf", shape,
		    facts.error_ns, (high_ns - low_ns) / 2);
		cr_assert_eq(facts.outliers, 0);
		outcome_free(outcome);
	}
	g_free(pair);
}

Test(clock, all_at_the_same_instant)
{
	enum { PAIRS = 3000 };
	struct op_pair *pair = g_new(struct op_pair, PAIRS);
	struct clock_facts facts;

	for (unsigned i = 0; i < PAIRS; i++)
		pair[i] = pair_of(5003, 9007, 9007, 5011, 1);
	struct outcome *outcome = run_pairs(pair, PAIRS, CLOCK_AUTO, 0, &facts);

	/* between 9007 - 5011 = 3996 and 9007 - 5003 = 4004 */
	cr_assert_eq(outcome->emitted, PAIRS);
	for (unsigned i = 0; i < PAIRS; i++) {
		cr_assert(outcome->parts[i].aligned);
		cr_assert_eq(outcome->parts[i].request_ns + outcome->parts[i].reply_ns, 8);
		cr_assert_leq(outcome->parts[i].clock_error_ns, 2000);	/* the server's may be microseconds */
	}
	cr_assert_leq(ABS(facts.offset_ns - 4000), facts.error_ns);
	cr_assert_eq(facts.outliers, 0);
	cr_assert_not(facts.has_drift);
	outcome_free(outcome);
	g_free(pair);
}

/* u < l in one pair: it says nothing, and the others are not disturbed. */
Test(clock, a_pair_that_contradicts_itself)
{
	enum { PAIRS = 200 };
	struct op_pair pair[PAIRS];

	for (unsigned bad = 0; bad < PAIRS; bad += 13) {
		struct clock_facts facts;

		for (unsigned i = 0; i < PAIRS; i++) {
			int64_t at_ns = INT64_C(1700000000000000001) + i * INT64_C(1000003);

			pair[i] = i == bad ? pair_of(at_ns, at_ns - 30001, at_ns + 300007, at_ns + 200003, 2 * i + 1) :
			    pair_of(at_ns, at_ns + 100003, at_ns + 300007, at_ns + 400009, 2 * i + 1);
		}
		struct outcome *outcome = run_pairs(pair, PAIRS, CLOCK_AUTO, 0, &facts);

		cr_assert_eq(facts.outliers, 1, "at %u: %u", bad, (unsigned)facts.outliers);
		cr_assert_eq(facts.steps, 0);
		cr_assert_leq(ABS(facts.offset_ns), facts.error_ns);
		cr_assert_leq(facts.error_ns, 100100);
		outcome_free(outcome);
	}
}

/* Whatever the stamps: nothing overflows, nothing is lost, the sums hold. */
Test(clock, absurd_stamps)
{
	static const int64_t around_ns[] = { 0, INT64_C(1) << 62, INT64_MAX, INT64_MIN, -1, INT64_C(1700000000000000000) };
	GRand *rand = g_rand_new_with_seed(1);

	for (unsigned round = 0; round < 400; round++) {
		unsigned pairs = round == 399 ? 140000 : (unsigned)g_rand_int_range(rand, 1, 3000);
		struct op_pair *pair = g_new0(struct op_pair, pairs);
		struct clock_facts facts;

		for (unsigned i = 0; i < pairs; i++) {
			pair[i] = pair_of(0, 0, 0, 0, round % 3 == 0 ? 0 : round % 3 == 1 ? 2 * i + 1 : g_rand_int(rand));
			for (unsigned side = 0; side < 2; side++) {
				int64_t *stamp = &pair[i].op[side].call_first_ns;

				for (unsigned j = 0; j < 4; j++) {
					uint64_t noise = ((uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand)) >>
					    g_rand_int_range(rand, 1, 64);

					stamp[j] = wrapping_plus(around_ns[round % 2 == 0 ? round / 2 % 6 : (unsigned)g_rand_int_range(rand, 0, 6)],
					    g_rand_boolean(rand) ? noise : -noise);
				}
			}
		}
		struct outcome *outcome = run_pairs(pair, pairs, round % 5 == 0 ? CLOCK_GIVEN : CLOCK_AUTO,
		    around_ns[round % 6], &facts);

		cr_assert_eq(outcome->emitted, pairs);
		cr_assert(outcome->in_order);
		cr_assert_leq(outcome->most_waiting, 1 << 16);
		for (unsigned i = 0; i < pairs; i++) {
			const struct attribution *parts = &outcome->parts[i];

			cr_assert_eq(parts->total_ns, wrapping_plus(parts->server_ns, (uint64_t)parts->network_ns));
			if (parts->aligned)
				cr_assert_eq(parts->network_ns, wrapping_plus(parts->request_ns, (uint64_t)parts->reply_ns));
		}
		outcome_free(outcome);
		g_free(pair);
	}
	g_rand_free(rand);
}
