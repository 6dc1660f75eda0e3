/*
 * What belongs to whom in one call.
 */
#include <criterion/criterion.h>

#include "correlate/clock.h"

static void
keep(void *context, const struct op_pair *pair)
{
	*(struct op_pair *)context = *pair;
}

/* A call of 100 ns, 30 of them in the server, in which the client kept the server waiting for client_ns. */
static struct op_pair
call_of(int64_t client_ns)
{
	struct op_pair pair = { .match = MATCH_MATCHED, .has = { true, true } };

	pair.op[PAIR_CLIENT] = (struct nfs_op){
		.call_first_ns = 1000, .call_last_ns = 1005, .reply_first_ns = 1090, .reply_last_ns = 1100,
		.client_ns = client_ns, .valid = OP_TIMES | OP_HAS_CLIENT,
	};
	pair.op[PAIR_SERVER] = (struct nfs_op){
		.call_first_ns = 5020, .call_last_ns = 5025, .reply_first_ns = 5055, .reply_last_ns = 5060,
		/* at this capture it means nothing */
		.client_ns = 7, .valid = OP_TIMES | OP_HAS_CLIENT,
	};
	return pair;
}

static struct attribution
parts_of(struct op_pair pair, enum clock_mode mode)
{
	struct op_pair out = { 0 };
	struct clock_stage *stage = clock_stage_new(mode, 4000, keep, &out);

	clock_stage_push(stage, &pair);
	clock_stage_finish(stage);
	clock_stage_free(stage);
	return out.parts;
}

Test(parts, client)
{
	struct attribution parts = parts_of(call_of(20), CLOCK_NONE);

	cr_assert(parts.client_known);
	cr_assert_eq(parts.total_ns, 100);
	cr_assert_eq(parts.server_ns, 30);
	cr_assert_eq(parts.client_ns, 20);
	cr_assert_eq(parts.network_ns, 50);
}

Test(parts, request_and_reply_are_network_and_client)
{
	struct attribution parts = parts_of(call_of(20), CLOCK_GIVEN);

	cr_assert(parts.aligned);
	cr_assert_eq(parts.request_ns, 25);
	cr_assert_eq(parts.reply_ns, 45);
	cr_assert_eq(parts.request_ns + parts.reply_ns, parts.network_ns + parts.client_ns);
}

/* What is not known of the client is in the network. */
Test(parts, client_not_known)
{
	struct op_pair pair = call_of(20);
	struct attribution parts;

	pair.op[PAIR_CLIENT].valid = OP_TIMES;
	parts = parts_of(pair, CLOCK_NONE);
	cr_assert(!parts.client_known);
	cr_assert_eq(parts.client_ns, 0);
	cr_assert_eq(parts.network_ns, 70);
	/* more than there is: stamps that cannot be */
	cr_assert(!parts_of(call_of(71), CLOCK_NONE).client_known);
	cr_assert(parts_of(call_of(70), CLOCK_NONE).client_known);
}
