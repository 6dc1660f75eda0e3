/*
 * Pairing against the truth: a pair that is not the same call is never made,
 * whatever the captures lack; and all are found where nothing stands against
 * it. Each case runs over many seeds; a failure names its seed, and SEED=N in
 * the environment runs that one alone.
 */
#include <criterion/criterion.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "correlate/correlate.h"
#include "correlate/workload.h"
#include "trace/rng.h"

/* What came out. */
struct outcome {
	const struct workload *workload;
	struct correlate_facts facts;
	unsigned matches[MATCHES];
	unsigned wrong;			/* pairs of different calls */
	unsigned wrong_timed;		/* of them, such as are timed */
	unsigned mislabelled;		/* pairs whose match, capture or ids cannot be */
	unsigned ops;			/* that came out, in pairs or alone */
	uint64_t order;			/* hash of what came out, in order */
	bool astray;			/* at any time before the end */
	bool swapped_sides;		/* the first capture holds the client's ops */
};

static void
collect(void *context, const struct op_pair *pair)
{
	struct outcome *outcome = context;
	bool both = pair->has[PAIR_SERVER] && pair->has[PAIR_CLIENT];
	bool right = !both || pair->op[PAIR_SERVER].file_offset == pair->op[PAIR_CLIENT].file_offset;

	outcome->matches[pair->match]++;
	outcome->ops += 1u + both;
	outcome->wrong += !right;
	outcome->wrong_timed += !right && pair->match == MATCH_MATCHED;
	outcome->mislabelled += both != (pair->match == MATCH_MATCHED || pair->match == MATCH_PARTIAL) ||
	    (pair->match == MATCH_SERVER_ONLY && !pair->has[PAIR_SERVER]) ||
	    (pair->match == MATCH_CLIENT_ONLY && !pair->has[PAIR_CLIENT]) ||
	    pair->has[PAIR_CLIENT] != (pair->client_capture != UINT16_MAX) ||
	    pair->client_id == 0 || pair->server_id == 0 || pair->connection_id == 0;
	outcome->order = (outcome->order ^ pair_op(pair)->file_offset ^ (uint64_t)pair->match << 32) *
	    0x100000001b3u;
}

static void
feed(struct correlate *correlate, const struct workload *workload, unsigned clients,
    const unsigned *from, struct outcome *outcome)
{
	unsigned next[1 + WORKLOAD_CLIENTS] = { 0 };

	for (;;) {
		int64_t next_ns[1 + WORKLOAD_CLIENTS] = { 0 };
		bool ended[1 + WORKLOAD_CLIENTS];
		bool any = false;
		unsigned chosen;

		for (unsigned i = 0; i <= clients; i++) {
			const struct workload_capture *capture = &workload->capture[from[i]];

			ended[i] = next[i] == capture->count;
			any |= !ended[i];
			if (!ended[i])
				next_ns[i] = op_order_ns(&capture->ops[next[i]]);
		}
		if (!any)
			return;
		chosen = correlate_choose(correlate, next_ns, ended);
		correlate_push(correlate, chosen, &workload->capture[from[chosen]].ops[next[chosen]++]);
		outcome->astray |= correlate_astray(correlate);
	}
}

/* from[i]: which of the workload's captures is given as number i. */
static struct outcome
run_from(const struct workload *workload, const struct correlate_config *config, const unsigned *from)
{
	struct outcome outcome = { .workload = workload };
	struct correlate *correlate = correlate_new(config, collect, &outcome);

	feed(correlate, workload, config->clients, from, &outcome);
	correlate_finish(correlate);
	outcome.facts = *correlate_facts(correlate);
	correlate_free(correlate);
	return outcome;
}

static struct outcome
run(const struct workload *workload, unsigned clients)
{
	const struct correlate_config config = { .clients = clients };
	const unsigned from[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };

	return run_from(workload, &config, from);
}

/* What holds of every run. */
static void
check_sane(const struct outcome *outcome, unsigned clients, uint32_t seed)
{
	unsigned ops = 0;

	for (unsigned i = 0; i <= clients; i++)
		ops += outcome->workload->capture[i].count;
	cr_assert_eq(outcome->wrong, 0, "seed %u: %u pairs of different calls", seed, outcome->wrong);
	cr_assert_eq(outcome->mislabelled, 0, "seed %u: %u mislabelled", seed, outcome->mislabelled);
	cr_assert_eq(outcome->ops, ops, "seed %u: %u ops in, %u out", seed, ops, outcome->ops);
	for (unsigned i = 0; i < MATCHES; i++)
		cr_assert_eq(outcome->facts.matches[i], outcome->matches[i], "seed %u: match %u", seed, i);
}

static void
check_complete(const struct outcome *outcome, uint32_t seed)
{
	cr_assert_eq(outcome->matches[MATCH_MATCHED], outcome->workload->both_full,
	    "seed %u: %u of %u matched", seed, outcome->matches[MATCH_MATCHED], outcome->workload->both_full);
	cr_assert_eq(outcome->matches[MATCH_PARTIAL], outcome->workload->both_seen,
	    "seed %u: %u of %u partial", seed, outcome->matches[MATCH_PARTIAL], outcome->workload->both_seen);
	cr_assert_eq(outcome->matches[MATCH_AMBIGUOUS], 0, "seed %u: %u ambiguous", seed,
	    outcome->matches[MATCH_AMBIGUOUS]);
}

/* The next seed of a case that runs `seeds` of them. */
static bool
next_seed(uint32_t *seed, uint32_t seeds)
{
	const char *only = getenv("SEED");

	if (only != NULL) {
		if (*seed != 0)
			return false;
		*seed = (uint32_t)strtoul(only, NULL, 10);
		return true;
	}
	return ++*seed <= seeds;
}

Test(pairing, equal_addresses)
{
	for (uint32_t seed = 0; next_seed(&seed, 200);) {
		struct workload_config config;
		struct workload *workload;
		struct outcome outcome;

		workload_config_init(&config, seed);
		config.connections = 1 + seed % 3;
		config.offset_ns[0] = (int64_t)(seed % 7) * 11 * NS_PER_MS - 30 * NS_PER_MS;
		workload = workload_new(&config);
		outcome = run(workload, 1);
		check_sane(&outcome, 1, seed);
		check_complete(&outcome, seed);
		workload_free(workload);
	}
}

/* One run of a configuration; complete: every call that both sides show must be found. */
static struct outcome
check(const struct workload_config *config, bool complete)
{
	struct workload *workload = workload_new(config);
	struct outcome outcome = run(workload, config->clients);

	check_sane(&outcome, config->clients, config->seed);
	if (complete)
		check_complete(&outcome, config->seed);
	cr_assert(!outcome.astray, "seed %u: astray", config->seed);
	cr_assert(!outcome.facts.swapped && !outcome.facts.same_side, "seed %u: roles", config->seed);
	outcome.workload = NULL;
	workload_free(workload);
	return outcome;
}

Test(pairing, ops_that_one_side_lacks)
{
	for (uint32_t seed = 0; next_seed(&seed, 300);) {
		struct workload_config config;

		workload_config_init(&config, seed);
		config.connections = 2;
		config.lost[PAIR_SERVER] = 0.1 * (seed % 4);
		config.lost[PAIR_CLIENT] = 0.1 * (seed / 4 % 4);
		config.cut[PAIR_SERVER] = 0.05 * (seed / 16 % 3);
		config.cut[PAIR_CLIENT] = 0.05 * (seed / 48 % 3);
		check(&config, true);
	}
}

Test(pairing, xids_that_come_again_with_the_same_arguments)
{
	for (uint32_t seed = 0; next_seed(&seed, 600);) {
		struct workload_config config;

		workload_config_init(&config, seed);
		config.slots = 1 + seed % 4;
		config.xid_modulus = config.slots + seed % 13;
		config.different_args = 1 + seed / 2 % 3;
		config.calls = 400;
		config.lost[PAIR_SERVER] = 0.1 * (seed / 3 % 4);
		config.lost[PAIR_CLIENT] = 0.1 * (seed / 12 % 4);
		config.offset_ns[0] = (int64_t)(seed % 5) * NS_PER_MS - 2 * NS_PER_MS;
		check(&config, config.xid_modulus >= 8);
	}
}

Test(pairing, connections_made_again_with_the_same_xids)
{
	for (uint32_t seed = 0; next_seed(&seed, 200);) {
		struct workload_config config;

		workload_config_init(&config, seed);
		config.connections = 2;
		config.epochs = 5;
		config.equal_xids = true;
		config.different_args = seed % 2 == 0 ? 0 : 2;
		config.lost[PAIR_SERVER] = 0.1 * (seed / 2 % 3);
		config.lost[PAIR_CLIENT] = 0.1 * (seed / 6 % 3);
		check(&config, true);
	}
}

Test(pairing, translated_addresses)
{
	for (uint32_t seed = 0; next_seed(&seed, 300);) {
		struct workload_config config;
		struct outcome outcome;

		workload_config_init(&config, seed);
		config.nat = WORKLOAD_PORTS + seed % 3;
		config.clients = 1 + seed / 3 % 3;
		config.strangers = seed / 9 % 3;
		config.connections = 1 + seed / 27 % 3;
		config.lost[PAIR_SERVER] = 0.1 * (seed % 2);
		config.offset_ns[0] = 30 * NS_PER_MS;
		outcome = check(&config, true);
		cr_assert_eq(outcome.facts.translated, config.clients * config.connections,
		    "seed %u: %u translated", seed, (unsigned)outcome.facts.translated);
	}
}

Test(pairing, translated_addresses_and_equal_xids)
{
	for (uint32_t seed = 0; next_seed(&seed, 300);) {
		struct workload_config config;

		workload_config_init(&config, seed);
		config.nat = WORKLOAD_PORTS + seed % 3;
		config.clients = 1 + seed / 3 % 3;
		config.strangers = seed / 9 % 4;
		config.connections = 1 + seed / 27 % 3;
		config.equal_xids = true;
		config.different_args = seed % 2 == 0 ? 0 : 30;
		config.lost[PAIR_SERVER] = 0.1 * (seed % 3);
		check(&config, true);
	}
}

/* Who cannot be told apart stays alone, and says so. */
Test(pairing, clients_that_do_the_same_at_the_same_time)
{
	for (uint32_t seed = 0; next_seed(&seed, 150);) {
		struct workload_config config;
		struct outcome outcome;

		workload_config_init(&config, seed);
		config.nat = WORKLOAD_ONE_ADDRESS;
		config.clients = 1 + seed % 2;
		config.strangers = 1;
		config.equal_xids = true;
		config.lockstep = true;
		config.different_args = 20;
		outcome = check(&config, false);
		cr_assert_eq(outcome.matches[MATCH_MATCHED], 0, "seed %u: %u matched", seed,
		    outcome.matches[MATCH_MATCHED]);
		cr_assert_gt(outcome.matches[MATCH_AMBIGUOUS], 100, "seed %u: %u ambiguous", seed,
		    outcome.matches[MATCH_AMBIGUOUS]);
	}
}

/* The same, where some are told apart by their addresses. */
Test(pairing, the_same_at_the_same_time_from_other_addresses)
{
	for (uint32_t seed = 0; next_seed(&seed, 100);) {
		struct workload_config config;

		workload_config_init(&config, seed);
		config.clients = 1 + seed % 3;
		config.strangers = seed % 2;
		config.equal_xids = true;
		config.lockstep = true;
		config.different_args = 3;
		check(&config, true);
	}
}

Test(pairing, few_calls_on_translated_connections)
{
	for (uint32_t seed = 0; next_seed(&seed, 300);) {
		struct workload_config config;

		workload_config_init(&config, seed);
		config.nat = WORKLOAD_PORTS + seed % 3;
		config.clients = 1 + seed / 3 % 2;
		config.strangers = seed / 6 % 2;
		config.connections = 1 + seed / 12 % 4;
		config.calls = 1 + seed / 48 % 3;
		config.start_spread_ns = NS_PER_S;
		check(&config, true);
	}
}

/* A side that knows less of the arguments knows enough as long as XIDs do not come again. */
Test(pairing, captures_that_cut_arguments)
{
	for (uint32_t seed = 0; next_seed(&seed, 160);) {
		struct workload_config config;

		workload_config_init(&config, seed);
		config.connections = 3;
		config.prefixes[PAIR_SERVER] = seed % 4;
		config.prefixes[PAIR_CLIENT] = seed / 4 % 4;
		config.no_length[PAIR_SERVER] = seed / 16 % 2;
		config.no_length[PAIR_CLIENT] = seed / 32 % 2;
		config.nat = seed / 64 % 2 == 0 ? WORKLOAD_SAME : WORKLOAD_PORTS;
		check(&config, true);
	}
}

Test(pairing, several_clients_with_clocks_of_their_own)
{
	for (uint32_t seed = 0; next_seed(&seed, 100);) {
		struct workload_config config;

		workload_config_init(&config, seed);
		config.clients = 2 + seed % 7;
		config.strangers = seed % 2;
		config.equal_xids = seed / 2 % 2;
		config.different_args = seed / 4 % 2 == 0 ? 0 : 50;
		config.nat = seed / 8 % 2 == 0 ? WORKLOAD_SAME : WORKLOAD_ONE_ADDRESS;
		for (unsigned i = 0; i < config.clients; i++)
			config.offset_ns[i] = ((int64_t)(seed * 7 + i * 13) % 40 - 20) * NS_PER_MS;
		check(&config, true);
	}
}

Test(pairing, clocks_up_to_two_minutes_apart)
{
	for (uint32_t seed = 0; next_seed(&seed, 60);) {
		struct workload_config config;

		workload_config_init(&config, seed);
		config.calls = 1000;
		config.offset_ns[0] = ((int64_t)(seed % 30) * 8 - 116) * NS_PER_S;
		config.drift_ppb = ((int64_t)(seed % 7) - 3) * 100000;
		config.equal_xids = seed % 2;
		check(&config, true);
	}
}

Test(pairing, a_hint_replaces_the_assumption)
{
	const unsigned from[] = { 0, 1 };

	for (uint32_t seed = 0; next_seed(&seed, 30);) {
		struct workload_config config;
		const int64_t hint_ns = 7200 * (int64_t)NS_PER_S;
		const struct correlate_config given = { .clients = 1, .hints_ns = &hint_ns };
		struct workload *workload;
		struct outcome outcome;

		workload_config_init(&config, seed);
		config.offset_ns[0] = hint_ns + (int64_t)(seed % 9) * NS_PER_MS - 4 * NS_PER_MS;
		workload = workload_new(&config);
		outcome = run(workload, 1);
		check_sane(&outcome, 1, seed);
		cr_assert_eq(outcome.matches[MATCH_MATCHED], 0, "seed %u", seed);
		outcome = run_from(workload, &given, from);
		check_sane(&outcome, 1, seed);
		check_complete(&outcome, seed);
		workload_free(workload);
	}
}

/* Only what is under way when the clock jumps may be lost. */
Test(pairing, a_clock_that_jumps)
{
	for (uint32_t seed = 0; next_seed(&seed, 150);) {
		struct workload_config config;
		struct outcome outcome;
		struct workload *workload;

		workload_config_init(&config, seed);
		config.calls = 1500;
		config.connections = 1 + seed % 2;
		config.step_at_ns = 200 * NS_PER_MS;
		config.step_ns = (seed % 2 == 0 ? 1 : -1) * ((int64_t)(seed % 11) + 1) * 70 * NS_PER_MS;
		config.xid_modulus = seed / 2 % 2 == 0 ? 0 : 64;
		config.different_args = seed / 4 % 2 == 0 ? 0 : 10;
		workload = workload_new(&config);
		outcome = run(workload, 1);
		check_sane(&outcome, 1, seed);
		cr_assert_geq(outcome.matches[MATCH_MATCHED] + 8 * config.connections, workload->both_full,
		    "seed %u: %u of %u matched", seed, outcome.matches[MATCH_MATCHED], workload->both_full);
		workload_free(workload);
	}
}

Test(pairing, copies_on_another_connection)
{
	for (uint32_t seed = 0; next_seed(&seed, 100);) {
		struct workload_config config;

		workload_config_init(&config, seed);
		config.connections = 1 + seed % 3;
		config.resent = 0.02;
		config.lost[PAIR_SERVER] = 0.1 * (seed / 3 % 2);
		check(&config, true);
	}
}

/* An op that a capture shows twice has one counterpart at most, and not by luck. */
Test(pairing, ops_that_come_twice)
{
	for (uint32_t seed = 0; next_seed(&seed, 100);) {
		struct workload_config config;

		workload_config_init(&config, seed);
		config.doubled = 0.05;
		config.lost[PAIR_CLIENT] = 0.1 * (seed % 3);
		check(&config, false);
	}
}

/* Another run of the same: same addresses, XIDs and arguments, but not one call in common. */
Test(pairing, another_run)
{
	for (uint32_t seed = 0; next_seed(&seed, 300);) {
		struct workload_config config;
		struct workload *one, *other;
		struct outcome outcome;

		workload_config_init(&config, seed);
		config.equal_xids = true;
		config.different_args = 1 + seed % 20;
		config.calls = 300;
		config.slots = 1 + seed % 3;
		config.nat = seed / 3 % 3;
		one = workload_new(&config);
		config.seed += 100000;
		other = workload_new(&config);
		for (unsigned i = 0; i < other->capture[1].count; i++)
			other->capture[1].ops[i].file_offset += 1000000;
		g_free(one->capture[1].ops);
		one->capture[1] = other->capture[1];
		other->capture[1].ops = NULL;
		outcome = run(one, 1);
		check_sane(&outcome, 1, seed);
		workload_free(one);
		workload_free(other);
	}
}

/* ---- roles ---- */

Test(pairing, captures_given_the_wrong_way_round)
{
	const unsigned from[] = { 1, 0 };

	for (uint32_t seed = 0; next_seed(&seed, 150);) {
		const struct correlate_config given = { .clients = 1 };
		const struct correlate_config kept = { .clients = 1, .keep_roles = true };
		struct workload_config config;
		struct workload *workload;
		struct outcome straight, crossed;

		workload_config_init(&config, seed);
		config.calls = 20 + 20 * (seed % 10);
		config.lost[PAIR_SERVER] = 0.1 * (seed % 3);
		config.lost[PAIR_CLIENT] = 0.1 * (seed / 3 % 3);
		config.cut[PAIR_SERVER] = 0.05;
		config.nat = seed / 9 % 2 == 0 ? WORKLOAD_SAME : WORKLOAD_PORTS;
		config.offset_ns[0] = (int64_t)(seed % 5) * 400 * NS_PER_MS;
		config.begin_ns[seed % 2] = NS_PER_MS;
		workload = workload_new(&config);
		straight = run(workload, 1);
		crossed = run_from(workload, &given, from);
		check_sane(&crossed, 1, seed);
		check_complete(&crossed, seed);
		cr_assert(crossed.facts.swapped && crossed.facts.exchanged, "seed %u: not noticed", seed);
		for (unsigned i = 0; i < MATCHES; i++)
			cr_assert_eq(straight.matches[i], crossed.matches[i], "seed %u: match %u", seed, i);
		crossed = run_from(workload, &kept, from);
		check_sane(&crossed, 1, seed);
		check_complete(&crossed, seed);
		cr_assert(!crossed.facts.swapped && !crossed.facts.exchanged, "seed %u: not kept", seed);
		workload_free(workload);
	}
}

/* With several clients nothing is exchanged, but said. */
Test(pairing, a_server_among_the_clients)
{
	const unsigned from[] = { 1, 0, 2 };

	for (uint32_t seed = 0; next_seed(&seed, 30);) {
		const struct correlate_config given = { .clients = 2 };
		struct workload_config config;
		struct workload *workload;
		struct outcome outcome;

		workload_config_init(&config, seed);
		config.clients = 2;
		workload = workload_new(&config);
		outcome = run_from(workload, &given, from);
		check_sane(&outcome, 2, seed);
		cr_assert(outcome.facts.swapped && !outcome.facts.exchanged, "seed %u", seed);
		workload_free(workload);
	}
}

Test(pairing, captures_of_the_same_side)
{
	for (uint32_t seed = 0; next_seed(&seed, 60);) {
		const struct correlate_config given = { .clients = 1 };
		const unsigned from[] = { seed % 2, seed % 2 };
		struct workload_config config;
		struct workload *workload;
		struct outcome outcome;

		workload_config_init(&config, seed);
		config.calls = 10 + seed;
		workload = workload_new(&config);
		outcome = run_from(workload, &given, from);
		check_sane(&outcome, 1, seed);
		cr_assert(outcome.facts.same_side && !outcome.facts.swapped, "seed %u", seed);
		cr_assert_eq(outcome.matches[MATCH_MATCHED], workload->capture[seed % 2].count, "seed %u", seed);
		workload_free(workload);
	}
}

/* Timestamps of the same packets by two processes differ by chance, either way. */
Test(pairing, captures_of_the_same_side_with_noise)
{
	const unsigned from[] = { 0, 1 };

	for (uint32_t seed = 0; next_seed(&seed, 60);) {
		const struct correlate_config given = { .clients = 1 };
		struct workload_config config;
		struct workload *workload;
		struct outcome outcome;
		struct trace_rng rng;

		workload_config_init(&config, seed);
		workload = workload_new(&config);
		trace_rng_init(&rng, seed, 1);
		workload->capture[1].count = MIN(workload->capture[0].count, workload->capture[1].count);
		for (unsigned i = 0; i < workload->capture[1].count; i++) {
			struct nfs_op *op = &workload->capture[1].ops[i];

			*op = workload->capture[0].ops[i];
			op->call_first_ns += (int64_t)trace_rng_below(&rng, 3000);
			op->call_last_ns += (int64_t)trace_rng_below(&rng, 3000);
			op->reply_first_ns += (int64_t)trace_rng_below(&rng, 3000);
			op->reply_last_ns += (int64_t)trace_rng_below(&rng, 3000);
		}
		outcome = run_from(workload, &given, from);
		cr_assert_eq(outcome.wrong, 0, "seed %u", seed);
		cr_assert(outcome.facts.same_side && !outcome.facts.swapped, "seed %u", seed);
		workload_free(workload);
	}
}

/* ---- one side has much that the other lacks ---- */

Test(pairing, a_side_that_begins_much_earlier)
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
		outcome = run_from(workload, &given, from);
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
	const struct correlate_config config = { .clients = 1 };
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

Test(pairing, a_million_calls_that_the_other_side_lacks)
{
	cr_assert_lt(flood_steps(&(struct flood){ 1000000, 0, 1, false, false }), 1);
	cr_assert_lt(flood_steps(&(struct flood){ 1000000, 0, 100000, true, false }), 1);
}

/* The work for a call does not grow with what waits, whatever it looks like. */
Test(pairing, work_in_the_worst_cases)
{
	const struct flood worst[] = {
		{ 200000, 1, 1, false, true },
		{ 200000, 1, 1, true, true },
		{ 200000, 1, 5000, true, true },
		{ 200000, 7, 100000, true, true },
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
	outcome = run_from(workload, &given, from);
	check_sane(&outcome, 1, 1);
	workload_free(workload);
	return outcome;
}

Test(pairing, that_goes_astray_says_so)
{
	const int64_t far_ns = 5 * 3600 * (int64_t)NS_PER_S;
	/* Within the two minutes, but farther than the tables reach. */
	const int64_t near_ns = 3 * (int64_t)NS_PER_S;

	cr_assert(run_far_apart(200000, far_ns, 0).astray);
	cr_assert(run_far_apart(200000, -far_ns, 0).astray);
	cr_assert(run_far_apart(200000, near_ns, 0).astray);
	cr_assert(run_far_apart(200000, -near_ns, 0).astray);
	cr_assert_not(run_far_apart(200000, far_ns, far_ns).astray);
	cr_assert_eq(run_far_apart(200000, far_ns, far_ns).matches[MATCH_MATCHED], 200000);
	cr_assert_eq(run_far_apart(200000, -far_ns, 5 * NS_PER_MS - far_ns).matches[MATCH_MATCHED], 200000);
}

Test(pairing, of_small_captures_that_do_not_meet_says_so_in_the_end)
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
	feed(correlate, workload, 1, from, &outcome);
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

Test(pairing, replies_that_contradict_one_another)
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

Test(pairing, calls_without_replies)
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

/* One direction was captured: no time proves anything, but addresses, XIDs and arguments do. */
Test(pairing, captures_without_replies)
{
	struct outcome outcome = run_simple(100, lack_all_replies);

	cr_assert_eq(outcome.matches[MATCH_PARTIAL], 100);
	cr_assert_eq(outcome.wrong, 0);
}

/* A call that got no reply is over when the capture ends, long after its counterpart. */
Test(pairing, a_counterpart_that_comes_late)
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

Test(pairing, nothing_to_pair_with)
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
Test(pairing, wild_stamps)
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
Test(pairing, is_repeatable)
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
		order = run_from(workload, &given, from).order;
		for (unsigned i = 0; i < 3; i++)
			cr_assert_eq(run_from(workload, &given, from).order, order, "seed %u", seed);
		workload_free(workload);
	}
}
