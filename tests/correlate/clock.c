/*
 * The clock stage against the truth, while the clocks keep to their lines:
 * whatever it calls aligned must hold the true offset within its bound. Every
 * failure names the seed that made it.
 */
#include <criterion/criterion.h>
#include <glib.h>
#include <inttypes.h>

#include "base/arith.h"
#include "correlate/clock_run.h"
#include "correlate/oracle.h"

Test(clock, bounds_hold_whatever_the_load)
{
	for (uint32_t seed = 1; seed <= 2000; seed++) {
		struct traffic_config config;
		struct clock_facts facts;

		clock_run_random(&config, seed);
		struct traffic *traffic = traffic_new(&config);
		struct clock_run *run = clock_run(traffic, CLOCK_AUTO, 0, &facts);
		struct clock_tally tally = clock_run_check(traffic, run, seed);

		clock_run_expect_bounds(&tally, seed);
		cr_assert_eq(tally.unaligned, 0, "seed %u", seed);
		cr_assert_eq(facts.steps, 0, "seed %u", seed);
		cr_assert_eq(facts.outliers, 0, "seed %u", seed);
		clock_run_check_facts(&config, &facts, seed);
		clock_run_free(run);
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

		clock_run_random(&config, seed);
		config.clock[0].unit_ns = config.clock[1].unit_ns = 1;
		struct traffic *traffic = traffic_new(&config);
		struct clock_run *run = clock_run(traffic, CLOCK_AUTO, 0, &facts);

		cr_assert(oracle_offset(traffic->pair, traffic->pairs, facts.reference_ns, facts.reference_ns,
		    &low_ns, &high_ns), "seed %u", seed);
		cr_assert(is_tight(facts.error_ns, (high_ns - low_ns) / 2), "seed %u: %" PRId64 " for %.1Lf", seed,
		    facts.error_ns, (high_ns - low_ns) / 2);
		for (unsigned i = seed % 211; i < traffic->pairs; i += 211) {
			const struct nfs_op *server = &traffic->pair[i].op[PAIR_SERVER];

			cr_assert(oracle_offset(traffic->pair, run->pushed_then[i], server->call_last_ns,
			    server->reply_first_ns, &low_ns, &high_ns), "seed %u", seed);
			cr_assert(is_tight(run->parts[i].clock_error_ns, (high_ns - low_ns) / 2),
			    "seed %u pair %u: %" PRId64 " for %.1Lf", seed, i, run->parts[i].clock_error_ns,
			    (high_ns - low_ns) / 2);
		}
		clock_run_free(run);
		traffic_free(traffic);
	}
}

Test(clock, stamps_that_prove_nothing_are_not_used)
{
	for (uint32_t seed = 1; seed <= 500; seed++) {
		struct traffic_config config;
		struct clock_facts facts;

		clock_run_random(&config, seed);
		config.calls += 50;
		config.deduced = 0.3;
		config.resent = 0.2;
		config.unmatched = seed % 2 * 0.3;
		struct traffic *traffic = traffic_new(&config);
		struct clock_run *run = clock_run(traffic, CLOCK_AUTO, 0, &facts);
		struct clock_tally tally = clock_run_check(traffic, run, seed);

		clock_run_expect_bounds(&tally, seed);
		cr_assert_eq(facts.steps, 0, "seed %u", seed);
		cr_assert_eq(facts.outliers, 0, "seed %u", seed);
		clock_run_check_facts(&config, &facts, seed);
		clock_run_free(run);
		traffic_free(traffic);
	}
}

/* A call every quarter of an hour for ten days: the drift is known to parts in 10^9. */
Test(clock, days)
{
	for (uint32_t seed = 1; seed <= 200; seed++) {
		struct traffic_config config;
		struct clock_facts facts;

		clock_run_random(&config, seed);
		config.calls = 1000;
		config.gap_ns = INT64_C(900000000000);
		struct traffic *traffic = traffic_new(&config);
		struct clock_run *run = clock_run(traffic, CLOCK_AUTO, 0, &facts);
		struct clock_tally tally = clock_run_check(traffic, run, seed);

		clock_run_expect_bounds(&tally, seed);
		cr_assert_eq(tally.unaligned, 0, "seed %u", seed);
		cr_assert_eq(facts.outliers, 0, "seed %u", seed);
		cr_assert(facts.has_drift);
		cr_assert_leq(facts.drift_error_ppb, 1000, "seed %u: %" PRId64, seed, facts.drift_error_ppb);
		clock_run_check_facts(&config, &facts, seed);
		clock_run_free(run);
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
		pair.op[side].call_order = frame;
		pair.op[side].reply_order = frame + 1;
		pair.op[side].valid = OP_TIMES;
	}
	return pair;
}

static struct clock_run *
run_pairs(struct op_pair *pair, unsigned pairs, enum clock_mode mode, int64_t given_ns, struct clock_facts *facts)
{
	struct traffic traffic = { .pairs = pairs, .pair = pair };

	for (unsigned i = 0; i < pairs; i++)
		pair[i].op[PAIR_CLIENT].xid = i;
	return clock_run(&traffic, mode, given_ns, facts);
}

Test(clock, one_pair_by_hand)
{
	struct op_pair pair = pair_of(1001, 5101, 5602, 1904, 1);
	struct clock_facts facts;
	struct clock_run *run = run_pairs(&pair, 1, CLOCK_AUTO, 0, &facts);
	const struct attribution *parts = &run->parts[0];

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
	clock_run_free(run);
}

Test(clock, none_waits_for_nothing_and_says_nothing)
{
	struct op_pair pair[2] = { pair_of(1001, 5101, 5601, 1903, 1), pair_of(2001, 6101, 6601, 2903, 3) };
	struct clock_facts facts;
	struct clock_run *run = run_pairs(pair, 2, CLOCK_NONE, 0, &facts);

	cr_assert_eq(run->most_waiting, 0);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_not(run->parts[i].aligned);
		cr_assert_eq(run->parts[i].network_ns, 402);
	}
	cr_assert_eq(facts.mode, CLOCK_NONE);
	cr_assert_not(facts.aligned);
	clock_run_free(run);
}

/* The user's offset is taken as it is; the error is how far off the traffic allows it to be. */
Test(clock, given)
{
	for (uint32_t seed = 1; seed <= 300; seed++) {
		struct traffic_config config;
		struct clock_facts facts, plain;
		int64_t given_ns;

		clock_run_random(&config, seed);
		given_ns = config.clock[PAIR_SERVER].start_ns - config.clock[PAIR_CLIENT].start_ns +
		    (int64_t)(seed % 7) * 1000000 - 3000000;
		struct traffic *traffic = traffic_new(&config);
		struct clock_run *run = clock_run(traffic, CLOCK_GIVEN, given_ns, &facts);
		struct clock_tally tally = clock_run_check(traffic, run, seed);

		clock_run_free(clock_run(traffic, CLOCK_AUTO, 0, &plain));
		clock_run_expect_bounds(&tally, seed);
		cr_assert_eq(facts.mode, CLOCK_GIVEN);
		cr_assert(facts.aligned);
		cr_assert_eq(facts.offset_ns, given_ns);
		cr_assert_leq(ABS(facts.error_ns - (ABS(given_ns - plain.offset_ns) + plain.error_ns)), 2, "seed %u", seed);
		cr_assert_eq(facts.drift_ppb, plain.drift_ppb);
		for (unsigned i = 0; i < traffic->pairs; i++)
			cr_assert_eq(run->parts[i].request_ns, traffic->pair[i].op[PAIR_SERVER].call_last_ns -
			    traffic->pair[i].op[PAIR_CLIENT].call_first_ns - given_ns);
		clock_run_free(run);
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

		clock_run_random(&config, seed);
		clock_run_add_steps(&config, seed % 3, seed);
		struct traffic *traffic = traffic_new(&config);
		struct clock_run *run = clock_run(traffic, CLOCK_AUTO, 0, &facts);

		for (unsigned i = 0; i < traffic->pairs; i++) {
			struct nfs_op *op = &traffic->pair[i].op[side];

			op->call_first_ns += shift_ns;
			op->call_last_ns += shift_ns;
			op->reply_first_ns += shift_ns;
			op->reply_last_ns += shift_ns;
		}
		struct clock_run *shifted = clock_run(traffic, CLOCK_AUTO, 0, &shifted_facts);

		for (unsigned i = 0; i < traffic->pairs; i++) {
			cr_assert_eq(run->parts[i].aligned, shifted->parts[i].aligned, "seed %u", seed);
			cr_assert_eq(run->parts[i].request_ns, shifted->parts[i].request_ns, "seed %u", seed);
			cr_assert_eq(run->parts[i].clock_error_ns, shifted->parts[i].clock_error_ns, "seed %u", seed);
		}
		if (facts.aligned)
			cr_assert_eq(shifted_facts.offset_ns - facts.offset_ns, side == PAIR_SERVER ? shift_ns : -shift_ns,
			    "seed %u", seed);
		cr_assert_eq(shifted_facts.error_ns, facts.error_ns, "seed %u", seed);
		cr_assert_eq(shifted_facts.drift_ppb, facts.drift_ppb, "seed %u", seed);
		clock_run_free(run);
		clock_run_free(shifted);
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
		clock_run_add_steps(&config, steps, seed);
		struct traffic *traffic = traffic_new(&config);
		struct clock_run *run = clock_run_new(traffic);
		struct clock_stage *stage = clock_stage_new(CLOCK_AUTO, 0, clock_run_collect, run);
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
		clock_run_free(run);
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
		struct clock_run *run = clock_run(traffic, CLOCK_AUTO, 0, &facts);

		cr_assert_leq(run->most_waiting, power >= 34 ? 2 : 2400, "gap 2^%u: %u", power, run->most_waiting);
		clock_run_check(traffic, run, power);
		clock_run_free(run);
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
			int64_t at_ns = INT64_C(1700000000000000001) + i * INT64_C(10000003), room_ns = 50000;
			int64_t from_middle = (int64_t)i - PAIRS / 2;

			if (shape % 3 > 0)
				room_ns += from_middle * from_middle / (shape % 3 == 1 ? 1 : 37);
			if (shape >= 3)
				at_ns += (int64_t)(i % 7) * 1000;
			pair[i] = pair_of(at_ns - room_ns, at_ns, at_ns + 100003, at_ns + 100003 + room_ns, 2 * i + 1);
		}
		struct clock_run *run = run_pairs(pair, PAIRS, CLOCK_AUTO, 0, &facts);

		cr_assert(oracle_offset(pair, PAIRS, facts.reference_ns, facts.reference_ns, &low_ns, &high_ns));
		cr_assert_geq(facts.offset_ns + facts.error_ns, high_ns - 1, "shape %u", shape);
		cr_assert_leq(facts.offset_ns - facts.error_ns, low_ns + 1, "shape %u", shape);
		cr_assert(is_tight(facts.error_ns, (high_ns - low_ns) / 2), "shape %u: %" PRId64 " for %.1Lf", shape,
		    facts.error_ns, (high_ns - low_ns) / 2);
		cr_assert_eq(facts.outliers, 0);
		clock_run_free(run);
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
	struct clock_run *run = run_pairs(pair, PAIRS, CLOCK_AUTO, 0, &facts);

	/* between 9007 - 5011 = 3996 and 9007 - 5003 = 4004 */
	cr_assert_eq(run->emitted, PAIRS);
	for (unsigned i = 0; i < PAIRS; i++) {
		cr_assert(run->parts[i].aligned);
		cr_assert_eq(run->parts[i].request_ns + run->parts[i].reply_ns, 8);
		cr_assert_leq(run->parts[i].clock_error_ns, 2000);	/* the server's may be microseconds */
	}
	cr_assert_leq(ABS(facts.offset_ns - 4000), facts.error_ns);
	cr_assert_eq(facts.outliers, 0);
	cr_assert_not(facts.has_drift);
	clock_run_free(run);
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
		struct clock_run *run = run_pairs(pair, PAIRS, CLOCK_AUTO, 0, &facts);

		cr_assert_eq(facts.outliers, 1, "at %u: %u", bad, (unsigned)facts.outliers);
		cr_assert_eq(facts.steps, 0);
		cr_assert_leq(ABS(facts.offset_ns), facts.error_ns);
		cr_assert_leq(facts.error_ns, 100100);
		clock_run_free(run);
	}
}

static int64_t
wrapping_plus(int64_t a, uint64_t b)
{
	return (int64_t)((uint64_t)a + b);
}

/* Whatever the stamps: nothing overflows, nothing is lost, the sums hold. */
Test(clock, absurd_stamps)
{
	static const int64_t around_ns[] = {
		0, INT64_C(1) << 62, INT64_MAX, INT64_MIN, -1, INT64_C(1700000000000000000)
	};
	GRand *rand = g_rand_new_with_seed(1);

	for (unsigned round = 0; round < 400; round++) {
		unsigned pairs = round == 399 ? 140000 : (unsigned)g_rand_int_range(rand, 1, 3000);
		struct op_pair *pair = g_new0(struct op_pair, pairs);
		struct clock_facts facts;

		for (unsigned i = 0; i < pairs; i++) {
			const uint64_t frame[3] = { 0, 2 * i + 1, g_rand_int(rand) };

			pair[i] = pair_of(0, 0, 0, 0, frame[round % 3]);
			for (unsigned side = 0; side < 2; side++) {
				int64_t *stamp = &pair[i].op[side].call_first_ns;

				for (unsigned j = 0; j < 4; j++) {
					uint64_t noise = ((uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand)) >>
					    g_rand_int_range(rand, 1, 64);

					unsigned around = round % 2 == 0 ? round / 2 % 6 : (unsigned)g_rand_int_range(rand, 0, 6);

					stamp[j] = wrapping_plus(around_ns[around], g_rand_boolean(rand) ? noise : -noise);
				}
			}
		}
		struct clock_run *run = run_pairs(pair, pairs, round % 5 == 0 ? CLOCK_GIVEN : CLOCK_AUTO,
		    around_ns[round % 6], &facts);

		cr_assert_eq(run->emitted, pairs);
		cr_assert(run->in_order);
		cr_assert_leq(run->most_waiting, 1 << 16);
		for (unsigned i = 0; i < pairs; i++) {
			const struct attribution *parts = &run->parts[i];

			cr_assert_eq(parts->total_ns, wrapping_plus(parts->server_ns, (uint64_t)parts->network_ns));
			if (parts->aligned)
				cr_assert_eq(parts->network_ns, wrapping_plus(parts->request_ns, (uint64_t)parts->reply_ns));
		}
		clock_run_free(run);
		g_free(pair);
	}
	g_rand_free(rand);
}
