#include "correlate/outcome.h"

#include <criterion/criterion.h>
#include <stdlib.h>

void
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

void
feed_all(struct correlate *correlate, const struct workload *workload, unsigned clients,
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

struct outcome
run_given(const struct workload *workload, const struct correlate_config *config, const unsigned *from)
{
	struct outcome outcome = { .workload = workload };
	struct correlate *correlate = correlate_new(config, collect, &outcome);

	feed_all(correlate, workload, config->clients, from, &outcome);
	correlate_finish(correlate);
	outcome.facts = *correlate_facts(correlate);
	correlate_free(correlate);
	return outcome;
}

struct outcome
run_workload(const struct workload *workload, unsigned clients)
{
	const struct correlate_config config = { .clients = clients };
	const unsigned from[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };

	return run_given(workload, &config, from);
}

void
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

void
check_complete(const struct outcome *outcome, uint32_t seed)
{
	cr_assert_eq(outcome->matches[MATCH_MATCHED], outcome->workload->both_full,
	    "seed %u: %u of %u matched", seed, outcome->matches[MATCH_MATCHED], outcome->workload->both_full);
	cr_assert_eq(outcome->matches[MATCH_PARTIAL], outcome->workload->both_seen,
	    "seed %u: %u of %u partial", seed, outcome->matches[MATCH_PARTIAL], outcome->workload->both_seen);
	cr_assert_eq(outcome->matches[MATCH_AMBIGUOUS], 0, "seed %u: %u ambiguous", seed,
	    outcome->matches[MATCH_AMBIGUOUS]);
}

bool
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

struct outcome
check_workload(const struct workload_config *config, bool complete)
{
	struct workload *workload = workload_new(config);
	struct outcome outcome = run_workload(workload, config->clients);

	check_sane(&outcome, config->clients, config->seed);
	if (complete)
		check_complete(&outcome, config->seed);
	cr_assert(!outcome.astray, "seed %u: astray", config->seed);
	cr_assert(!outcome.facts.swapped && !outcome.facts.same_side, "seed %u: roles", config->seed);
	outcome.workload = NULL;
	workload_free(workload);
	return outcome;
}
