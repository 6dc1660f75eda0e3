/*
 * Two captures that go on: the other side's ops come late, too late, not any
 * more, or by a clock that is hours away.
 */
#include "run/comparison.h"

#include <criterion/criterion.h>
#include <glib.h>

#include "base/arith.h"
#include "correlate/outcome.h"

struct seen {
	struct log *log;
	struct comparison *comparison;
	unsigned pairs, wrong, lone;
};

/* file_offset is the number of the call. */
static void
note_pair(void *context, const struct op_pair *pair)
{
	struct seen *seen = context;

	if (pair->match != MATCH_MATCHED && pair->match != MATCH_PARTIAL) {
		seen->lone++;
		return;
	}
	seen->pairs++;
	seen->wrong += pair->op[PAIR_SERVER].file_offset != pair->op[PAIR_CLIENT].file_offset;
}

static void
begin(struct seen *seen, uint32_t limit)
{
	struct comparison_config config = { .limit = limit, .each = note_pair, .context = seen };

	*seen = (struct seen){ .log = log_new(stderr, LOG_QUIET) };
	config.log = seen->log;
	seen->comparison = comparison_new(&config);
}

static void
finish(struct seen *seen)
{
	comparison_free(seen->comparison);
	log_free(seen->log);
}

static void
push(struct seen *seen, const struct workload *workload, unsigned capture, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		comparison_push(seen->comparison, capture, &workload->capture[capture].ops[i]);
}

/* Every op came out once, and no pair is wrong. */
static void
check_closed(struct seen *seen, unsigned ops, uint32_t seed)
{
	comparison_end(seen->comparison);
	cr_assert_eq(2 * seen->pairs + seen->lone, ops, "seed %u: %u pairs, %u alone of %u", seed, seen->pairs, seen->lone,
	    ops);
	cr_assert_eq(seen->wrong, 0, "seed %u", seed);
}

static struct workload *
make(uint32_t seed, unsigned calls, int64_t offset_ns)
{
	struct workload_config config;

	workload_config_init(&config, seed);
	config.clients = 1;
	config.strangers = 0;
	config.connections = 1;
	config.calls = calls;
	config.offset_ns[0] = offset_ns;
	return workload_new(&config);
}

Test(comparison, a_stream_that_is_late_is_compared_all_the_same)
{
	for (uint32_t seed = 0; next_seed(&seed, 6);) {
		struct workload *workload = make(seed, 3000, 40 * (int64_t)NS_PER_MS);
		unsigned server = workload->capture[0].count, client = workload->capture[1].count;
		struct seen seen;

		begin(&seen, 1 << 16);
		push(&seen, workload, 1, 0, client);
		cr_assert_gt(comparison_lag_ns(seen.comparison, 1), 0);
		push(&seen, workload, 0, 0, server);
		check_closed(&seen, server + client, seed);
		cr_assert_eq(seen.pairs, workload->both_full + workload->both_seen, "seed %u: %u of %u", seed, seen.pairs,
		    workload->both_full + workload->both_seen);
		finish(&seen);
		workload_free(workload);
	}
}

Test(comparison, a_stream_that_is_too_late_costs_the_oldest_calls)
{
	for (uint32_t seed = 0; next_seed(&seed, 6);) {
		struct workload *workload = make(seed, 6000, 0);
		unsigned server = workload->capture[0].count, client = workload->capture[1].count;
		struct correlate_facts facts;
		struct seen seen;

		begin(&seen, 1024);
		push(&seen, workload, 1, 0, client);
		push(&seen, workload, 0, 0, server);
		check_closed(&seen, server + client, seed);
		comparison_facts(seen.comparison, &facts);
		/* 1024 in the line, as many in the table: of the others none is left */
		cr_assert_eq(facts.evicted[PAIR_CLIENT], client - 2 * 1024, "seed %u: %" G_GUINT64_FORMAT, seed,
		    facts.evicted[PAIR_CLIENT]);
		cr_assert_gt(seen.pairs, 1024, "seed %u: %u", seed, seen.pairs);
		finish(&seen);
		workload_free(workload);
	}
}

Test(comparison, a_stream_that_ends_leaves_the_rest_alone)
{
	for (uint32_t seed = 0; next_seed(&seed, 6);) {
		struct workload *workload = make(seed, 3000, 0);
		unsigned server = workload->capture[0].count / 2, client = workload->capture[1].count;
		struct seen seen;

		begin(&seen, 1 << 16);
		push(&seen, workload, 0, 0, server);
		push(&seen, workload, 1, 0, client / 2);
		comparison_over(seen.comparison, 0);
		push(&seen, workload, 1, client / 2, client);
		check_closed(&seen, server + client, seed);
		cr_assert_gt(seen.pairs, server * 9 / 10, "seed %u: %u of %u", seed, seen.pairs, server);
		finish(&seen);
		workload_free(workload);
	}
}

/* Both come as they are over, the server's a little later by the wire. */
Test(comparison, clocks_that_are_hours_apart_are_found)
{
	for (uint32_t seed = 0; next_seed(&seed, 6);) {
		int64_t offset_ns = (seed % 2 == 0 ? 1 : -1) * 5 * 3600 * (int64_t)NS_PER_S;
		struct workload *workload = make(seed, 6000, offset_ns);
		const struct workload_capture *server = &workload->capture[0], *client = &workload->capture[1];
		struct clock_facts clock;
		struct seen seen;
		unsigned at = 0;

		begin(&seen, 1 << 16);
		for (unsigned i = 0; i < server->count; i++) {
			int64_t now_ns = op_order_ns(&server->ops[i]) - offset_ns + 100 * (int64_t)NS_PER_MS;

			while (at < client->count && op_order_ns(&client->ops[at]) <= now_ns)
				comparison_push(seen.comparison, 1, &client->ops[at++]);
			comparison_pass_time(seen.comparison, 1, now_ns);
			comparison_push(seen.comparison, 0, &server->ops[i]);
		}
		push(&seen, workload, 1, at, client->count);
		check_closed(&seen, server->count + client->count, seed);
		cr_assert_gt(seen.pairs, (workload->both_full + workload->both_seen) / 2, "seed %u: %u of %u", seed, seen.pairs,
		    workload->both_full + workload->both_seen);
		correlate_clock(comparison_correlate(seen.comparison), 0, &clock);
		cr_assert(clock.aligned, "seed %u", seed);
		cr_assert_leq(ABS(clock.offset_ns - offset_ns), clock.error_ns + NS_PER_MS, "seed %u", seed);
		finish(&seen);
		workload_free(workload);
	}
}
