#include "correlate/clock_run.h"

#include <criterion/criterion.h>
#include <glib.h>
#include <inttypes.h>

#include "base/arith.h"

void
clock_run_collect(void *context, const struct op_pair *pair)
{
	struct clock_run *run = context;
	unsigned i = run->emitted++;

	run->in_order = run->in_order && pair->op[PAIR_CLIENT].xid == i;
	run->unchanged = run->unchanged && pair->match == run->traffic->pair[i].match &&
	    pair->op[PAIR_SERVER].call_last_ns == run->traffic->pair[i].op[PAIR_SERVER].call_last_ns;
	run->parts[i] = pair->parts;
	run->pushed_then[i] = run->pushed;
}

struct clock_run *
clock_run_new(const struct traffic *traffic)
{
	struct clock_run *run = g_new0(struct clock_run, 1);

	run->traffic = traffic;
	run->parts = g_new0(struct attribution, traffic->pairs);
	run->pushed_then = g_new0(unsigned, traffic->pairs);
	run->in_order = run->unchanged = true;
	return run;
}

void
clock_run_free(struct clock_run *run)
{
	g_free(run->parts);
	g_free(run->pushed_then);
	g_free(run);
}

struct clock_run *
clock_run(const struct traffic *traffic, enum clock_mode mode, int64_t given_ns, struct clock_facts *facts)
{
	struct clock_run *run = clock_run_new(traffic);
	struct clock_stage *stage = clock_stage_new(mode, given_ns, clock_run_collect, run);

	for (unsigned i = 0; i < traffic->pairs; i++) {
		run->pushed = i + 1;
		clock_stage_push(stage, &traffic->pair[i]);
		run->most_waiting = MAX(run->most_waiting, run->pushed - run->emitted);
	}
	clock_stage_finish(stage);
	clock_stage_facts(stage, facts);
	clock_stage_free(stage);
	return run;
}

static int64_t
random_up_to(GRand *rand, int64_t limit)
{
	return (int64_t)(g_rand_double(rand) * (double)limit);
}

void
clock_run_random(struct traffic_config *config, uint32_t seed)
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

struct clock_tally
clock_run_check(const struct traffic *traffic, const struct clock_run *run, uint32_t seed)
{
	struct clock_tally tally = { 0 };

	cr_assert_eq(run->emitted, traffic->pairs, "seed %u", seed);
	cr_assert(run->in_order, "seed %u", seed);
	cr_assert(run->unchanged, "seed %u", seed);
	cr_assert_leq(run->most_waiting, 1 << 16, "seed %u", seed);
	for (unsigned i = 0; i < traffic->pairs; i++) {
		const struct attribution *parts = &run->parts[i];
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

long double
clock_run_true_offset(const struct traffic_config *config, int64_t server_ns)
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

void
clock_run_check_facts(const struct traffic_config *config, const struct clock_facts *facts, uint32_t seed)
{
	long double offset_ns = clock_run_true_offset(config, facts->reference_ns);
	long double drift_ppb = (config->clock[PAIR_SERVER].drift_ppb - config->clock[PAIR_CLIENT].drift_ppb) /
	    (1 + config->clock[PAIR_SERVER].drift_ppb * 1e-9L);

	cr_assert(facts->aligned, "seed %u", seed);
	cr_assert_leq(ABS(facts->offset_ns - offset_ns), facts->error_ns,
	    "seed %u: %" PRId64 " +- %" PRId64 ", is %.1Lf", seed, facts->offset_ns, facts->error_ns, offset_ns);
	cr_assert_leq(ABS(facts->drift_ppb - drift_ppb), facts->drift_error_ppb,
	    "seed %u: %" PRId64 " +- %" PRId64 ", is %.1Lf", seed, facts->drift_ppb, facts->drift_error_ppb,
	    drift_ppb);
}

void
clock_run_add_steps(struct traffic_config *config, unsigned steps, uint32_t seed)
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

void
clock_run_check_steps(const struct traffic_config *config, const struct clock_facts *facts, uint32_t seed)
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

void
clock_run_expect_bounds(const struct clock_tally *tally, uint32_t seed)
{
	cr_assert_eq(tally->beyond, 0, "seed %u: %u of %u, by %.1Lf ns", seed, tally->beyond, tally->aligned,
	    tally->worst_ns);
}
