/*
 * Captures of which one has much that the other lacks, or nothing in common
 * with it; and single calls that are not as they should be.
 */
#include <criterion/criterion.h>
#include <glib.h>

#include "base/arith.h"
#include "correlate/outcome.h"
#include "trace/rng.h"

/* ---- one side has much that the other lacks ---- */

Test(limits, a_side_that_begins_much_earlier)
{
	for (uint32_t seed = 0; next_seed(&seed, 12);) {
		const unsigned from[] = { 0, 1 };
		const struct correlate_config given = { .clients = 1, .limit = 1000 };
		struct workload_config config;
		struct workload *workload;
		struct outcome outcome;

		workload_config_init(&config, seed);
		config.calls = 20000;
		config.slots = 1;
		config.think_ns = 200 * NS_PER_MS;
		config.xid_modulus = seed / 2 % 2 == 0 ? 0 : 500;
		config.different_args = seed / 2 % 2 == 0 ? 0 : 3;
		config.begin_ns[seed % 2] = 3600 * (int64_t)NS_PER_S;
		workload = workload_new(&config);
		outcome = run_given(workload, &given, from);
		check_sane(&outcome, 1, seed);
		check_complete(&outcome, seed);
		cr_assert(!outcome.astray, "seed %u: astray", seed);
		cr_assert_gt(workload->both_full, 1000);
		cr_assert_gt(outcome.facts.evicted[seed % 2 == 0], 1000, "seed %u", seed);
		workload_free(workload);
	}
}

/* What one side has in plenty and the other hardly at all. */
struct flood {
	unsigned calls;
	unsigned xids;			/* different ones; 0: all are */
	unsigned connections;
	bool translated, same_args;
};

/* Candidates looked at for a call, on average. Every thousandth call is a client's, for company. */
static double
flood_steps(const struct flood *flood)
{
	struct outcome outcome = { .workload = NULL };
	const struct correlate_config config = { .clients = 1, .limit = flood->calls / 8 };
	struct correlate *correlate = correlate_new(&config, collect, &outcome);
	double steps;

	for (unsigned i = 0; i < flood->calls; i++) {
		bool client = i % 1000 == 999;
		struct nfs_op op = {
			.call_first_ns = 1000000000 + (int64_t)i * 1000,
			.xid = flood->xids == 0 ? i : i % flood->xids,
			.program = 100003,
			.version = 3,
			.procedure = 1,
			.connection = 1 + i % flood->connections,
			.valid = OP_TIMES,
			.print = { .args_len = 32, .length_known = true, .prefixes = 1 },
		};

		op.print.prefix[0] = flood->same_args ? 0 : i;
		op.call_last_ns = op.call_first_ns;
		op.reply_first_ns = op.reply_last_ns = op.call_first_ns + 100;
		op.client.port = (uint16_t)(i % flood->connections + (flood->translated && client ? 30000 : 0));
		op.client.address[0] = (uint8_t)(i % flood->connections >> 16);
		correlate_push(correlate, client, &op);
	}
	correlate_finish(correlate);
	cr_assert_eq(outcome.ops, flood->calls);
	steps = (double)correlate_steps(correlate) / flood->calls;
	correlate_free(correlate);
	return steps;
}

Test(limits, a_million_calls_that_the_other_side_lacks)
{
	cr_assert_lt(flood_steps(&(struct flood){ 1000000, 0, 1, false, false }), 1);
	cr_assert_lt(flood_steps(&(struct flood){ 300000, 0, 100000, true, false }), 1);
}

/* The work for a call does not grow with what waits, whatever it looks like. */
Test(limits, work_in_the_worst_cases)
{
	const struct flood worst[] = {
		{ 60000, 1, 1, false, true },
		{ 60000, 1, 1, true, true },
		{ 60000, 1, 5000, true, true },
		{ 60000, 7, 30000, true, true },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(worst); i++)
		cr_assert_lt(flood_steps(&worst[i]), 150, "case %u", i);
}

/* ---- captures that do not meet ---- */

static struct outcome
run_far_apart(unsigned calls, int64_t offset_ns, int64_t hint_ns)
{
	const unsigned from[] = { 0, 1 };
	const struct correlate_config given = { .clients = 1, .limit = 5000, .hints_ns = &hint_ns };
	struct workload_config config;
	struct workload *workload;
	struct outcome outcome;

	workload_config_init(&config, 1);
	config.calls = calls;
	config.offset_ns[0] = offset_ns;
	workload = workload_new(&config);
	outcome = run_given(workload, &given, from);
	check_sane(&outcome, 1, 1);
	workload_free(workload);
	return outcome;
}

Test(limits, that_goes_astray_says_so)
{
	const int64_t far_ns = 5 * 3600 * (int64_t)NS_PER_S;
	/* Within the two minutes, but farther than the tables reach. */
	const int64_t near_ns = 3 * (int64_t)NS_PER_S;

	cr_assert(run_far_apart(100000, far_ns, 0).astray);
	cr_assert(run_far_apart(100000, -far_ns, 0).astray);
	cr_assert(run_far_apart(100000, near_ns, 0).astray);
	cr_assert(run_far_apart(100000, -near_ns, 0).astray);
	cr_assert_not(run_far_apart(100000, far_ns, far_ns).astray);
	cr_assert_eq(run_far_apart(100000, far_ns, far_ns).matches[MATCH_MATCHED], 100000);
	cr_assert_eq(run_far_apart(100000, -far_ns, 5 * NS_PER_MS - far_ns).matches[MATCH_MATCHED], 100000);
}

Test(limits, of_small_captures_that_do_not_meet_says_so_in_the_end)
{
	const unsigned from[] = { 0, 1 };
	const struct correlate_config given = { .clients = 1 };
	struct workload_config config;
	struct workload *workload;
	struct outcome outcome = { .workload = NULL };
	struct correlate *correlate;

	workload_config_init(&config, 1);
	config.offset_ns[0] = 3600 * (int64_t)NS_PER_S;
	workload = workload_new(&config);
	correlate = correlate_new(&given, collect, &outcome);
	feed_all(correlate, workload, 1, from, &outcome);
	cr_assert_not(outcome.astray);
	correlate_finish(correlate);
	cr_assert(correlate_astray(correlate));
	correlate_free(correlate);
	workload_free(workload);
}

/* ---- single calls ---- */

static struct nfs_op
simple_op(unsigned side, unsigned i)
{
	struct nfs_op op = {
		.call_first_ns = 1000000000 + (int64_t)i * NS_PER_MS + (side == PAIR_SERVER ? 50000 : 0),
		.xid = 100 + i,
		.program = 100003,
		.version = 3,
		.procedure = 1,
		.connection = 1,
		.file_offset = i,
		.valid = OP_TIMES | OP_HAS_STATUS,
		.print = { .args_len = 32, .length_known = true, .prefixes = 1, .prefix = { i } },
	};

	op.call_last_ns = op.call_first_ns;
	op.reply_first_ns = op.reply_last_ns = op.call_first_ns + (side == PAIR_SERVER ? 100000 : 220000 + i);
	op.call_order = 2 * i + 1;
	op.reply_order = 2 * i + 2;
	return op;
}

/* Pushes ops of both sides by turns; change may alter one before. */
static struct outcome
run_simple(unsigned calls, void (*change)(unsigned side, unsigned i, struct nfs_op *op))
{
	const struct correlate_config config = { .clients = 1 };
	struct outcome outcome = { .workload = NULL };
	struct correlate *correlate = correlate_new(&config, collect, &outcome);

	for (unsigned i = 0; i < calls; i++)
		for (unsigned side = 0; side < 2; side++) {
			struct nfs_op op = simple_op(side, i);

			change(side, i, &op);
			correlate_push(correlate, side, &op);
		}
	correlate_finish(correlate);
	outcome.facts = *correlate_facts(correlate);
	correlate_free(correlate);
	return outcome;
}

static void
differ_in_status(unsigned side, unsigned i, struct nfs_op *op)
{
	op->status = side == PAIR_SERVER && i % 10 == 3 ? 2 : 0;
}

Test(limits, replies_that_contradict_one_another)
{
	struct outcome outcome = run_simple(100, differ_in_status);

	cr_assert_eq(outcome.matches[MATCH_MATCHED], 90);
	cr_assert_eq(outcome.matches[MATCH_SERVER_ONLY], 10);
	cr_assert_eq(outcome.matches[MATCH_CLIENT_ONLY], 10);
	cr_assert_eq(outcome.facts.mispaired, 10);
}

static void
lack_replies(unsigned side, unsigned i, struct nfs_op *op)
{
	static const uint8_t outcomes[] = { OP_UNANSWERED, OP_LOST_IN_CAPTURE, OP_IN_FLIGHT, OP_EVICTED };

	if (i % 10 > 5 || (i % 10 > 1 && side == PAIR_SERVER))
		return;
	op->outcome = outcomes[i % 4];
	op->valid &= ~(uint32_t)(OP_HAS_REPLY_FIRST | OP_HAS_REPLY_LAST | OP_HAS_STATUS);
	if (i % 2 == 0)
		op->valid &= ~(uint32_t)OP_HAS_CALL_LAST;
}

Test(limits, calls_without_replies)
{
	struct outcome outcome = run_simple(100, lack_replies);

	cr_assert_eq(outcome.matches[MATCH_MATCHED], 40);
	cr_assert_eq(outcome.matches[MATCH_PARTIAL], 60);
}

static void
lack_all_replies(unsigned side, unsigned i, struct nfs_op *op)
{
	(void)i;
	if (side == PAIR_CLIENT)
		return;
	op->outcome = OP_LOST_IN_CAPTURE;
	op->valid &= ~(uint32_t)(OP_HAS_REPLY_FIRST | OP_HAS_REPLY_LAST | OP_HAS_STATUS);
}

static void
join_copies(unsigned side, unsigned i, struct nfs_op *op)
{
	op->flags |= OP_JOINED;
	op->retransmits = i % 2 == 0 || side == PAIR_CLIENT ? 2 : 1;
}

/* Of a call that was sent over several connections one side shows less copies: perhaps not the first one. */
Test(limits, copies_of_other_connections_that_one_side_lacks)
{
	struct outcome outcome = run_simple(100, join_copies);

	cr_assert_eq(outcome.matches[MATCH_MATCHED], 50);
	cr_assert_eq(outcome.matches[MATCH_PARTIAL], 50);
	cr_assert_eq(outcome.wrong, 0);
}

/* One direction was captured: no time proves anything, but addresses, XIDs and arguments do. */
Test(limits, captures_without_replies)
{
	struct outcome outcome = run_simple(100, lack_all_replies);

	cr_assert_eq(outcome.matches[MATCH_PARTIAL], 100);
	cr_assert_eq(outcome.wrong, 0);
}

/* A call that got no reply is over when the capture ends, long after its counterpart. */
Test(limits, a_counterpart_that_comes_late)
{
	const struct correlate_config config = { .clients = 1 };
	struct outcome outcome = { .workload = NULL };
	struct correlate *correlate = correlate_new(&config, collect, &outcome);

	for (unsigned i = 0; i < 5000; i++)
		for (unsigned side = 0; side < 2; side++) {
			struct nfs_op op = simple_op(side, i);

			if (side == PAIR_SERVER || i % 100 != 50)
				correlate_push(correlate, side, &op);
		}
	for (unsigned i = 50; i < 5000; i += 100) {
		struct nfs_op op = simple_op(PAIR_CLIENT, i);

		op.outcome = OP_UNANSWERED;
		op.valid = OP_HAS_CALL_FIRST | OP_HAS_CALL_LAST;
		correlate_push(correlate, 1, &op);
	}
	correlate_finish(correlate);
	cr_assert_eq(outcome.matches[MATCH_MATCHED], 4950);
	cr_assert_eq(outcome.matches[MATCH_PARTIAL], 50);
	cr_assert_eq(outcome.wrong, 0);
	correlate_free(correlate);
}

/*
 * Calls that were sent again on a new connection, whose XIDs begin again: the
 * clocks may have drifted in a pause, but not by a round trip.
 */
Test(limits, a_pause_where_xids_may_come_again)
{
	for (unsigned path_us = 0; path_us <= 400; path_us += 400) {
		const struct correlate_config config = { .clients = 1 };
		struct outcome outcome = { .workload = NULL };
		struct correlate *correlate = correlate_new(&config, collect, &outcome);

		for (unsigned i = 0; i < 19; i++)
			for (unsigned side = 0; side < 2; side++) {
				struct nfs_op op = simple_op(side, i < 18 ? i : 80);

				op.xid = 100 + (i < 4 ? 10 + i : i - 3);
				if (path_us > 0) {
					op.path_ns = side == PAIR_CLIENT ? path_us * 1000 : 0;
					op.valid |= OP_HAS_PATH;
				}
				correlate_push(correlate, side, &op);
			}
		correlate_finish(correlate);
		cr_assert_eq(outcome.matches[MATCH_MATCHED], path_us > 0 ? 19 : 18, "%u us: %u", path_us,
		    outcome.matches[MATCH_MATCHED]);
		cr_assert_eq(outcome.wrong, 0);
		correlate_free(correlate);
	}
}

Test(limits, nothing_to_pair_with)
{
	const struct correlate_config config = { .clients = 0 };
	struct outcome outcome = { .workload = NULL };
	struct correlate *correlate = correlate_new(&config, collect, &outcome);

	for (unsigned i = 0; i < 100; i++) {
		struct nfs_op op = simple_op(PAIR_SERVER, i);

		correlate_push(correlate, 0, &op);
		cr_assert_eq(outcome.ops, i + 1);
	}
	correlate_finish(correlate);
	cr_assert_eq(outcome.matches[MATCH_SERVER_ONLY], 100);
	cr_assert_eq(outcome.mislabelled, 0);
	correlate_free(correlate);
}

/* Stamps at the ends of their type are nonsense, and do no harm. */
Test(limits, wild_stamps)
{
	static const int64_t wild[] = { INT64_MIN, INT64_MAX, 0, -1, INT64_MAX / 2, INT64_MIN / 2 };
	const struct correlate_config config = { .clients = 1 };

	for (uint32_t seed = 0; next_seed(&seed, 100);) {
		struct outcome outcome = { .workload = NULL };
		struct correlate *correlate = correlate_new(&config, collect, &outcome);
		struct trace_rng rng;

		trace_rng_init(&rng, seed, 0);
		for (unsigned i = 0; i < 400; i++) {
			unsigned side = (unsigned)trace_rng_below(&rng, 2);
			struct nfs_op op = simple_op(side, i / 4);
			int64_t *stamps[] = { &op.call_first_ns, &op.call_last_ns, &op.reply_first_ns, &op.reply_last_ns };
			const int64_t next_ns[] = { op.call_first_ns, *stamps[i % 4] };

			op.valid &= (uint32_t)trace_rng_next(&rng) | (seed % 2 == 0 ? OP_TIMES : 0u);
			*stamps[trace_rng_below(&rng, 4)] = wild[trace_rng_below(&rng, G_N_ELEMENTS(wild))];
			cr_assert_lt(correlate_choose(correlate, next_ns, (const bool[]){ false, false }), 2);
			correlate_push(correlate, side, &op);
		}
		correlate_finish(correlate);
		cr_assert_eq(outcome.ops, 400);
		correlate_free(correlate);
	}
}

/* The same ops give the same pairs in the same order. */
Test(limits, is_repeatable)
{
	for (uint32_t seed = 0; next_seed(&seed, 40);) {
		const unsigned from[] = { 0, 1, 2, 3 };
		const struct correlate_config given = { .clients = 3, .limit = 100 + seed * 10 };
		struct workload_config config;
		struct workload *workload;
		uint64_t order;

		workload_config_init(&config, seed);
		config.clients = 3;
		config.strangers = 1;
		config.equal_xids = seed % 2;
		config.different_args = 10;
		config.nat = seed % 4;
		workload = workload_new(&config);
		order = run_given(workload, &given, from).order;
		for (unsigned i = 0; i < 3; i++)
			cr_assert_eq(run_given(workload, &given, from).order, order, "seed %u", seed);
		workload_free(workload);
	}
}
