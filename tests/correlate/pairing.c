/*
 * Pairing against the truth: a pair that is not the same call is never made,
 * whatever the captures lack; and all are found where nothing stands against
 * it.
 */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "base/arith.h"
#include "correlate/outcome.h"
#include "trace/rng.h"

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
		outcome = run_workload(workload, 1);
		check_sane(&outcome, 1, seed);
		check_complete(&outcome, seed);
		workload_free(workload);
	}
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
		check_workload(&config, true);
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
		check_workload(&config, config.xid_modulus >= 8);
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
		check_workload(&config, true);
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
		outcome = check_workload(&config, true);
		cr_assert_eq(outcome.facts.translated, config.clients * config.connections,
		    "seed %u: %u translated", seed, (unsigned)outcome.facts.translated);
	}
}

/* A binding that found nothing for long is given up, and found again behind the hole. */
Test(pairing, a_translated_connection_counts_once)
{
	for (uint32_t seed = 0; next_seed(&seed, 50);) {
		struct workload_config config;
		struct workload_capture *server;
		struct workload *workload;
		struct outcome outcome;

		workload_config_init(&config, seed);
		config.nat = WORKLOAD_PORTS;
		config.connections = 1;
		config.calls = 500;
		workload = workload_new(&config);
		server = &workload->capture[0];
		memmove(server->ops + 150, server->ops + 350, (server->count - 350) * sizeof *server->ops);
		server->count -= 200;
		outcome = run_workload(workload, 1);
		cr_assert_eq(outcome.wrong, 0, "seed %u", seed);
		cr_assert_geq(outcome.matches[MATCH_MATCHED], 290, "seed %u: %u", seed,
		    outcome.matches[MATCH_MATCHED]);
		cr_assert_eq(outcome.facts.translated, 1, "seed %u: %u", seed, (unsigned)outcome.facts.translated);
		workload_free(workload);
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
		check_workload(&config, true);
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
		outcome = check_workload(&config, false);
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
		check_workload(&config, true);
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
		check_workload(&config, true);
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
		check_workload(&config, true);
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
		check_workload(&config, true);
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
		check_workload(&config, true);
	}
}

Test(pairing, a_hint_replaces_the_assumption)
{
	const unsigned from[] = { 0, 1 };

	for (uint32_t seed = 0; next_seed(&seed, 30);) {
		struct workload_config config;
		const int64_t hint_ns = 7200 * (int64_t)NS_PER_S;
		const struct correlate_config given = { .clients = 1, .hints_ns = &hint_ns };
		const struct correlate_config told = { .clients = 1, .clock_mode = CLOCK_GIVEN, .clock_given_ns = hint_ns };
		struct workload *workload;
		struct outcome outcome;

		workload_config_init(&config, seed);
		config.offset_ns[0] = hint_ns + (int64_t)(seed % 9) * NS_PER_MS - 4 * NS_PER_MS;
		workload = workload_new(&config);
		outcome = run_workload(workload, 1);
		check_sane(&outcome, 1, seed);
		cr_assert_eq(outcome.matches[MATCH_MATCHED], 0, "seed %u", seed);
		outcome = run_given(workload, &given, from);
		check_sane(&outcome, 1, seed);
		check_complete(&outcome, seed);
		outcome = run_given(workload, &told, from);
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
		outcome = run_workload(workload, 1);
		check_sane(&outcome, 1, seed);
		cr_assert_geq(outcome.matches[MATCH_MATCHED] + 8 * config.connections, workload->both_full,
		    "seed %u: %u of %u matched", seed, outcome.matches[MATCH_MATCHED], workload->both_full);
		workload_free(workload);
	}
}

/* Connections that were known by their content before it, and such as begin behind it. */
Test(pairing, a_clock_that_jumps_behind_translation)
{
	for (uint32_t seed = 0; next_seed(&seed, 300);) {
		struct workload_config config;
		struct outcome outcome;
		struct workload *workload;

		workload_config_init(&config, seed);
		config.nat = WORKLOAD_PORTS + seed % 3;
		config.calls = 60 + seed % 200;
		config.epochs = 1 + seed / 3 % 3;
		config.connections = 1 + seed / 9 % 2;
		config.clients = 1 + seed / 18 % 2;
		config.step_at_ns = 10 * NS_PER_MS + (int64_t)(seed % 29) * 2 * NS_PER_MS;
		config.step_ns = (seed % 2 == 0 ? 1 : -1) * ((int64_t)(seed % 11) + 1) * 30 * NS_PER_MS;
		workload = workload_new(&config);
		outcome = run_workload(workload, config.clients);
		check_sane(&outcome, config.clients, seed);
		cr_assert_geq(outcome.matches[MATCH_MATCHED] + 8 * config.connections * config.clients,
		    workload->both_full, "seed %u: %u of %u matched", seed, outcome.matches[MATCH_MATCHED],
		    workload->both_full);
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
		check_workload(&config, true);
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
		check_workload(&config, false);
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
		outcome = run_workload(one, 1);
		check_sane(&outcome, 1, seed);
		workload_free(one);
		workload_free(other);
	}
}

/* A stamp may be wrong, and a part of the time negative for it: no reason to lose the call. */
Test(pairing, stamps_with_more_noise_than_the_network_takes)
{
	for (uint32_t seed = 0; next_seed(&seed, 100);) {
		struct workload_config config;
		struct workload *workload;
		struct outcome outcome;
		struct trace_rng rng;

		workload_config_init(&config, seed);
		config.connections = 2;
		config.lost[PAIR_SERVER] = 0.1 * (seed % 2);
		workload = workload_new(&config);
		trace_rng_init(&rng, seed, 1);
		for (unsigned i = 0; i < workload->capture[1].count; i++) {
			struct nfs_op *op = &workload->capture[1].ops[i];
			int64_t noise_ns = (int64_t)trace_rng_below(&rng, 10 * NS_PER_MS);

			if (trace_rng_chance(&rng, 0.2)) {
				op->call_first_ns += noise_ns;
				op->call_last_ns += noise_ns;
				op->reply_first_ns += noise_ns;
				op->reply_last_ns += noise_ns;
			}
		}
		outcome = run_workload(workload, 1);
		check_sane(&outcome, 1, seed);
		check_complete(&outcome, seed);
		workload_free(workload);
	}
}

static void
draw_config(struct workload_config *config, uint32_t seed)
{
	struct trace_rng rng;

	trace_rng_init(&rng, seed, 2);
	workload_config_init(config, seed);
	config->clients = 1 + (unsigned)trace_rng_below(&rng, 3);
	config->strangers = (unsigned)trace_rng_below(&rng, 3);
	config->connections = 1 + (unsigned)trace_rng_below(&rng, 3);
	config->slots = 1 + (unsigned)trace_rng_below(&rng, 6);
	config->calls = 20 + (unsigned)trace_rng_below(&rng, 500);
	config->epochs = 1 + (unsigned)trace_rng_below(&rng, 3);
	config->equal_xids = trace_rng_chance(&rng, 0.5);
	if (trace_rng_chance(&rng, 0.3))
		config->xid_modulus = config->slots + (unsigned)trace_rng_below(&rng, 40);
	if (trace_rng_chance(&rng, 0.5))
		config->different_args = 1 + (unsigned)trace_rng_below(&rng, 40);
	config->service_ns = (1 + (int64_t)trace_rng_below(&rng, 30)) * 20 * NS_PER_US;
	config->delay_ns = (1 + (int64_t)trace_rng_below(&rng, 20)) * 10 * NS_PER_US;
	config->think_ns = (1 + (int64_t)trace_rng_below(&rng, 40)) * 20 * NS_PER_US;
	config->jitter_ns = (1 + (int64_t)trace_rng_below(&rng, 200)) * 5 * NS_PER_US;
	config->resent = trace_rng_chance(&rng, 0.2) ? 0.03 : 0;
	config->doubled = trace_rng_chance(&rng, 0.2) ? 0.03 : 0;
	config->nat = (enum workload_nat)trace_rng_below(&rng, 4);
	config->drift_ppb = ((int64_t)trace_rng_below(&rng, 9) - 4) * 40000;
	for (unsigned side = 0; side < 2; side++) {
		config->lost[side] = trace_rng_chance(&rng, 0.5) ? 0.4 * trace_rng_unit(&rng) : 0;
		config->cut[side] = trace_rng_chance(&rng, 0.3) ? 0.2 * trace_rng_unit(&rng) : 0;
		config->prefixes[side] = (unsigned)trace_rng_below(&rng, 4);
		config->no_length[side] = trace_rng_chance(&rng, 0.2);
	}
	for (unsigned i = 0; i < config->clients; i++)
		config->offset_ns[i] = ((int64_t)trace_rng_below(&rng, 2000) - 1000) * 10 * NS_PER_MS;
}

/* Whatever comes together: less may be found, but nothing wrong. */
Test(pairing, everything_at_once)
{
	for (uint32_t seed = 0; next_seed(&seed, 400);) {
		const unsigned from[] = { 0, 1, 2, 3 };
		struct correlate_config given = { .limit = seed % 4 == 0 ? 300 + seed : 0 };
		struct workload_config config;
		struct workload *workload;
		struct outcome outcome;

		draw_config(&config, seed);
		given.clients = config.clients;
		workload = workload_new(&config);
		outcome = run_given(workload, &given, from);
		check_sane(&outcome, config.clients, seed);
		workload_free(workload);
	}
}

/* A call of 300 us in the server, 100 us from the client; by_ns: what the clock is ahead. */
static struct nfs_op
plain_op(uint32_t xid, bool client, int64_t by_ns)
{
	const int64_t way_ns = 100 * NS_PER_US, service_ns = 300 * NS_PER_US;
	int64_t call_ns = NS_PER_S + xid * (int64_t)NS_PER_MS + by_ns + (client ? 0 : way_ns);
	int64_t reply_ns = call_ns + service_ns + (client ? 2 * way_ns : 0);

	return (struct nfs_op){
		.xid = xid, .program = 100003, .version = 3, .procedure = 1, .operation = 1, .connection = 1,
		.client = { .address = { 1 }, .port = 700 }, .server = { .address = { 2 }, .port = 2049 },
		.call_first_ns = call_ns, .call_last_ns = call_ns, .reply_first_ns = reply_ns, .reply_last_ns = reply_ns,
		.call_frame = xid, .reply_frame = xid, .call_order = xid, .reply_order = xid,
		.print = { .args_len = 4, .length_known = true, .prefixes = 1, .prefix = { xid } },
		.outcome = OP_ANSWERED, .valid = OP_TIMES,
	};
}

static void
count_match(void *context, const struct op_pair *pair)
{
	((unsigned *)context)[pair->match]++;
}

/* A call without a reply is over with its connection: by then the clock may have been set since. */
Test(pairing, a_call_without_reply_from_before_the_clock_jumped)
{
	enum { CALLS = 60, JUMP = 30, CUT = 3 };

	for (unsigned i = 0; i < 4; i++) {
		const int64_t jump_ns = (i % 2 == 0 ? 1 : -1) * (i < 2 ? 30 : 700) * (int64_t)NS_PER_MS;
		const struct correlate_config config = { .clients = 1 };
		unsigned matches[MATCHES] = { 0 };
		struct correlate *correlate = correlate_new(&config, count_match, matches);
		struct nfs_op cut = plain_op(CUT, false, 0);

		for (uint32_t xid = 1; xid <= CALLS; xid++) {
			struct nfs_op server = plain_op(xid, false, 0), client = plain_op(xid, true, xid < JUMP ? 0 : jump_ns);

			if (xid != CUT)
				correlate_push(correlate, 0, &server);
			correlate_push(correlate, 1, &client);
		}
		cut.valid = OP_HAS_CALL_FIRST | OP_HAS_CALL_LAST;
		cut.outcome = OP_LOST_IN_CAPTURE;
		correlate_push(correlate, 0, &cut);
		correlate_finish(correlate);
		correlate_free(correlate);
		cr_assert_eq(matches[MATCH_MATCHED], CALLS - 1, "jump %d ms", (int)(jump_ns / NS_PER_MS));
		cr_assert_eq(matches[MATCH_PARTIAL], 1, "jump %d ms", (int)(jump_ns / NS_PER_MS));
	}
}

/* The server's capture has the same call twice, both within the client's, which cannot be of either for sure. */
Test(pairing, one_call_that_fits_two)
{
	enum { CALLS = 600, TWICE = 500 };
	const struct correlate_config config = { .clients = 1 };
	unsigned matches[MATCHES] = { 0 };
	struct correlate *correlate = correlate_new(&config, count_match, matches);

	for (uint32_t xid = 1; xid <= CALLS; xid++) {
		struct nfs_op server = plain_op(xid, false, 0), client = plain_op(xid, true, 0);

		correlate_push(correlate, 0, &server);
		if (xid == TWICE) {
			struct nfs_op again = plain_op(xid, false, 10 * NS_PER_US);

			correlate_push(correlate, 0, &again);
		}
		correlate_push(correlate, 1, &client);
	}
	correlate_finish(correlate);
	correlate_free(correlate);
	cr_assert_eq(matches[MATCH_MATCHED], CALLS - 1);
	cr_assert_eq(matches[MATCH_AMBIGUOUS], 3);
}
