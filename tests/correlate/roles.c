/*
 * Captures given the wrong way round, and captures of the same side.
 */
#include <criterion/criterion.h>
#include <glib.h>

#include "base/arith.h"
#include "correlate/outcome.h"
#include "trace/rng.h"

Test(roles, captures_given_the_wrong_way_round)
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
		straight = run_workload(workload, 1);
		crossed = run_given(workload, &given, from);
		check_sane(&crossed, 1, seed);
		check_complete(&crossed, seed);
		cr_assert(crossed.facts.swapped && crossed.facts.exchanged, "seed %u: not noticed", seed);
		for (unsigned i = 0; i < MATCHES; i++)
			cr_assert_eq(straight.matches[i], crossed.matches[i], "seed %u: match %u", seed, i);
		crossed = run_given(workload, &kept, from);
		check_sane(&crossed, 1, seed);
		check_complete(&crossed, seed);
		cr_assert(!crossed.facts.swapped && !crossed.facts.exchanged, "seed %u: not kept", seed);
		workload_free(workload);
	}
}

/* With several clients nothing is exchanged, but said. */
Test(roles, a_server_among_the_clients)
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
		outcome = run_given(workload, &given, from);
		check_sane(&outcome, 2, seed);
		cr_assert(outcome.facts.swapped && !outcome.facts.exchanged, "seed %u", seed);
		workload_free(workload);
	}
}

Test(roles, captures_of_the_same_side)
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
		outcome = run_given(workload, &given, from);
		check_sane(&outcome, 1, seed);
		cr_assert(outcome.facts.same_side && !outcome.facts.swapped, "seed %u", seed);
		cr_assert_eq(outcome.matches[MATCH_MATCHED], workload->capture[seed % 2].count, "seed %u", seed);
		workload_free(workload);
	}
}

/* Timestamps of the same packets by two processes differ by chance, either way. */
Test(roles, captures_of_the_same_side_with_noise)
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
		outcome = run_given(workload, &given, from);
		cr_assert_eq(outcome.wrong, 0, "seed %u", seed);
		cr_assert(outcome.facts.same_side && !outcome.facts.swapped, "seed %u", seed);
		workload_free(workload);
	}
}

/*
 * Of the few calls that tell, all or half were under way while the client's clock
 * was set back; the others were sent again, or came before.
 */
Test(roles, calls_across_a_step_tell_nothing_of_the_sides)
{
	for (uint32_t seed = 0; next_seed(&seed, 30);) {
		struct workload_config config;
		struct workload_capture *client;
		struct workload *workload;
		struct outcome outcome;

		workload_config_init(&config, seed);
		config.calls = 14;
		workload = workload_new(&config);
		client = &workload->capture[1];
		for (unsigned i = 0; i < client->count; i++) {
			client->ops[i].retransmits = seed % 2 == 0 && i < 9;
			if (i >= (seed % 2 == 0 ? 9 : 7)) {
				client->ops[i].reply_first_ns -= 30 * NS_PER_MS;
				client->ops[i].reply_last_ns -= 30 * NS_PER_MS;
			}
		}
		outcome = run_workload(workload, 1);
		cr_assert(!outcome.facts.swapped && !outcome.facts.exchanged && !outcome.facts.same_side, "seed %u", seed);
		cr_assert_eq(outcome.wrong, 0, "seed %u", seed);
		workload_free(workload);
	}
}
