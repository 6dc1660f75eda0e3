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
	for (uint32_t seed = 1; seed <= 3000; seed++) {
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
		for (unsigned i = seed % 97; i < traffic->pairs; i += 97) {
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
	for (uint32_t seed = 1; seed <= 2000; seed++) {
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

