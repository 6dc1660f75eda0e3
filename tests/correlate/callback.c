/*
 * A server's calls to its client: who waits is in the server's capture, and
 * what that shows tells neither clocks nor roles otherwise than the calls do.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "base/arith.h"
#include "correlate/correlate.h"

enum { GETATTR = 1, CALLS = 40, CALLBACKS = 120, CALLBACK_PROGRAM = 0x40000000, NLM = 100021, NLM_GRANTED = 5 };

#define WAY_NS (100 * (int64_t)NS_PER_US)
#define OFFSET_NS (3 * (int64_t)NS_PER_MS)	/* of the server's clock */

struct found {
	unsigned calls, callbacks, wrong;
};

/* A call of 300 us inside the one who answers it, as one side shows it. Callbacks are those of NFSv4 and NLM in turn. */
static struct nfs_op
op_of(uint32_t xid, int64_t at_ns, enum pair_side side, bool callback)
{
	bool nlm = callback && xid % 2 == 0;
	uint32_t program = nlm ? NLM : CALLBACK_PROGRAM, procedure = nlm ? NLM_GRANTED : GETATTR;
	bool answers = (side == PAIR_SERVER) != callback;
	int64_t call_ns = at_ns + (answers ? WAY_NS : 0) + (side == PAIR_SERVER ? OFFSET_NS : 0);
	int64_t reply_ns = call_ns + 300 * NS_PER_US + (answers ? 0 : 2 * WAY_NS);
	struct net_endpoint client = { .address = { 1 }, .port = 700 }, server = { .address = { 2 }, .port = 2049 };

	return (struct nfs_op){
		.xid = xid, .program = callback ? program : 100003, .version = callback && !nlm ? 1 : 3,
		.procedure = procedure, .operation = procedure, .connection = 1,
		.client = callback ? server : client, .server = callback ? client : server,
		.call_first_ns = call_ns, .call_last_ns = call_ns, .reply_first_ns = reply_ns, .reply_last_ns = reply_ns,
		.call_frame = xid, .reply_frame = xid, .call_order = xid, .reply_order = xid,
		.print = { .args_len = 4, .length_known = true, .prefixes = 1, .prefix = { xid } },
		.outcome = OP_ANSWERED, .valid = OP_TIMES,
	};
}

static void
check(void *context, const struct op_pair *pair)
{
	struct found *found = context;
	bool callback = op_is_callback(pair_op(pair));

	found->calls += !callback;
	found->callbacks += callback;
	found->wrong += pair->match != MATCH_MATCHED || pair->parts.total_ns != 300 * NS_PER_US + 2 * WAY_NS ||
	    pair->parts.server_ns != 300 * NS_PER_US || pair->parts.network_ns != 2 * WAY_NS ||
	    pair->parts.aligned == callback || pair->client_capture != 0;
}

/* crossed: the captures are given the other way round. */
static struct correlate_facts
run(bool crossed, struct found *found, struct clock_facts *clock)
{
	const struct correlate_config config = { .clients = 1 };
	struct correlate *correlate = correlate_new(&config, check, found);
	struct correlate_facts facts;

	for (uint32_t i = 0; i < CALLS + CALLBACKS; i++) {
		/* three callbacks, a call, and so on */
		bool callback = i % 4 != 0;

		for (unsigned given = 0; given < 2; given++) {
			enum pair_side side = (given == 0) != crossed ? PAIR_SERVER : PAIR_CLIENT;
			struct nfs_op op = op_of(i + 1, (int64_t)NS_PER_S + i * (int64_t)NS_PER_MS, side, callback);

			correlate_push(correlate, given, &op);
		}
	}
	correlate_finish(correlate);
	facts = *correlate_facts(correlate);
	correlate_clock(correlate, 0, clock);
	correlate_free(correlate);
	return facts;
}

Test(callback, parts_and_clocks)
{
	for (unsigned crossed = 0; crossed < 2; crossed++) {
		struct found found = { 0 };
		struct clock_facts clock;
		struct correlate_facts facts = run(crossed == 1, &found, &clock);

		cr_assert_eq(found.calls, CALLS);
		cr_assert_eq(found.callbacks, CALLBACKS);
		cr_assert_eq(found.wrong, 0, "%u pairs", found.wrong);
		cr_assert_eq(facts.swapped, crossed == 1, "most calls are callbacks, and do not tell the roles");
		cr_assert_eq(facts.mispaired, 0);
		cr_assert(clock.aligned);
		cr_assert_leq(clock.offset_ns - OFFSET_NS, clock.error_ns);
		cr_assert_leq(OFFSET_NS - clock.offset_ns, clock.error_ns);
		cr_assert_leq(clock.error_ns, WAY_NS + 2 * NS_PER_US, "half of the round trip, not %" PRId64, clock.error_ns);
	}
}
