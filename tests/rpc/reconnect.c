/*
 * One call over two connections.
 */
#include <criterion/criterion.h>
#include <glib.h>

#include "rpc/reconnect.h"

struct out {
	unsigned ops;
	struct nfs_op op[64];
};

static void
keep(void *context, const struct nfs_op *op)
{
	struct out *out = context;

	cr_assert_lt(out->ops, 64);
	out->op[out->ops++] = *op;
}

/* A call at a time on a connection; with a reply 5 later, or without at its connection's end. */
static struct nfs_op
op_at(uint64_t connection, uint32_t xid, int64_t ts_ns, bool answered)
{
	struct nfs_op op = { .connection = connection, .xid = xid, .program = 100003, .version = 3, .procedure = 6,
		.call_first_ns = ts_ns, .call_last_ns = ts_ns + 1, .call_frame = (uint64_t)ts_ns,
		.valid = OP_HAS_CALL_FIRST | OP_HAS_CALL_LAST, .print = { .args_len = 80, .length_known = true } };

	op.client.address[15] = 1;
	op.server.address[15] = 2;
	op.client.port = (uint16_t)(700 + connection);
	if (answered) {
		op.reply_first_ns = ts_ns + 5;
		op.reply_last_ns = ts_ns + 6;
		op.valid |= OP_TIMES;
	} else {
		op.outcome = OP_UNANSWERED;
		op.flags = OP_CONNECTION_ENDED;
	}
	return op;
}

static struct out *
run(const struct nfs_op *ops, unsigned count, uint32_t limit, struct rpc_counters *counters)
{
	struct out *out = g_new0(struct out, 1);
	struct reconnect *reconnect = reconnect_new(limit, keep, out);

	for (unsigned i = 0; i < count; i++)
		reconnect_push(reconnect, &ops[i]);
	reconnect_finish(reconnect);
	reconnect_correct(reconnect, counters);
	reconnect_free(reconnect);
	return out;
}

Test(reconnect, row_8_sent_again_elsewhere)
{
	struct nfs_op ops[] = { op_at(1, 9, 100, false), op_at(1, 10, 110, false), op_at(2, 9, 500, true),
		op_at(2, 11, 510, true) };
	struct rpc_counters counters = { .calls = 4, .outcomes = { [OP_ANSWERED] = 2, [OP_UNANSWERED] = 2 } };
	struct out *out = run(ops, 4, 16, &counters);

	cr_assert_eq(out->ops, 3);
	cr_assert_eq(out->op[0].xid, 9);
	cr_assert_eq(out->op[0].outcome, OP_ANSWERED);
	cr_assert_eq(out->op[0].call_first_ns, 100, "timed from its first copy");
	cr_assert_eq(out->op[0].call_last_ns, 101);
	cr_assert_eq(out->op[0].reply_last_ns, 506);
	cr_assert_eq(out->op[0].retransmits, 1);
	cr_assert_eq(out->op[2].xid, 10);
	cr_assert_eq(out->op[2].outcome, OP_UNANSWERED);
	cr_assert_eq(counters.calls, 3);
	cr_assert_eq(counters.outcomes[OP_UNANSWERED], 1);
	cr_assert_eq(counters.retransmitted_calls, 1);
	g_free(out);
}

/* Other arguments, another client, or an earlier connection: another call. */
Test(reconnect, row_5_other_calls_with_the_same_xid)
{
	struct nfs_op ops[] = { op_at(3, 9, 100, false), op_at(4, 9, 500, true), op_at(5, 9, 600, true),
		op_at(2, 9, 700, true) };
	struct rpc_counters counters = { .calls = 4, .outcomes = { [OP_ANSWERED] = 3, [OP_UNANSWERED] = 1 } };
	struct out *out;

	ops[1].print.args_len = 84;
	ops[2].client.address[15] = 3;
	out = run(ops, 4, 16, &counters);
	cr_assert_eq(out->ops, 4);
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(out->op[i].retransmits, 0);
	cr_assert_eq(counters.calls, 4);
	g_free(out);
}

/* Lost three times over, answered at last. */
Test(reconnect, row_8_several_times)
{
	struct nfs_op ops[] = { op_at(1, 9, 100, false), op_at(2, 9, 500, false), op_at(3, 9, 900, true) };
	struct rpc_counters counters = { .calls = 3, .outcomes = { [OP_ANSWERED] = 1, [OP_UNANSWERED] = 2 } };
	struct out *out = run(ops, 3, 16, &counters);

	cr_assert_eq(out->ops, 1);
	cr_assert_eq(out->op[0].call_first_ns, 100);
	cr_assert_eq(out->op[0].reply_last_ns, 906);
	cr_assert_eq(out->op[0].retransmits, 2);
	cr_assert_eq(counters.calls, 1);
	g_free(out);
}

/* The server answered, the client never had it and asks again: still one call, the first answer counts. */
Test(reconnect, row_8_answered_before)
{
	struct nfs_op ops[] = { op_at(1, 9, 100, true), op_at(1, 9, 100, true), op_at(2, 9, 500, true) };
	struct rpc_counters counters = { .calls = 2, .outcomes = { [OP_ANSWERED] = 2 } };
	struct out *out;

	ops[1].flags = OP_CONNECTION_ENDED;	/* the note that its reply was not acknowledged */
	out = run(ops, 3, 16, &counters);
	cr_assert_eq(out->ops, 1);
	cr_assert_eq(out->op[0].reply_last_ns, 106);
	cr_assert_eq(counters.calls, 1);
	cr_assert_eq(counters.outcomes[OP_ANSWERED], 1);
	cr_assert_eq(counters.retransmitted_calls, 1);
	g_free(out);
}

/* The note that a call is open while its connection is reset. */
static struct nfs_op
note_of(const struct nfs_op *op)
{
	struct nfs_op note = *op;

	note.outcome = OP_IN_FLIGHT;
	note.flags = OP_CONNECTION_ENDED;
	return note;
}

/* The copy is answered before it is known that the first copy never will be. */
Test(reconnect, row_8_while_the_reset_is_under_way)
{
	struct nfs_op ops[] = { { 0 }, op_at(2, 9, 500, true), op_at(1, 9, 100, false), op_at(3, 9, 800, true) };
	struct rpc_counters counters = { .calls = 3, .outcomes = { [OP_ANSWERED] = 2, [OP_UNANSWERED] = 1 } };
	struct out *out;

	ops[0] = note_of(&ops[2]);
	out = run(ops, 4, 16, &counters);
	cr_assert_eq(out->ops, 2, "the third one was sent when the second had its answer: another call");
	cr_assert_eq(out->op[0].outcome, OP_ANSWERED);
	cr_assert_eq(out->op[0].call_first_ns, 100);
	cr_assert_eq(out->op[0].reply_last_ns, 506);
	cr_assert_eq(out->op[0].retransmits, 1);
	cr_assert_eq(out->op[1].call_first_ns, 800);
	cr_assert_eq(counters.calls, 2);
	cr_assert_eq(counters.outcomes[OP_ANSWERED], 2);
	cr_assert_eq(counters.outcomes[OP_UNANSWERED], 0);
	cr_assert_eq(counters.retransmitted_calls, 1);
	g_free(out);
}

/* Reset twice before the first connection is over. */
Test(reconnect, row_8_while_two_resets_are_under_way)
{
	struct nfs_op ops[] = { { 0 }, { 0 }, op_at(3, 9, 900, true), op_at(1, 9, 100, false), op_at(2, 9, 500, false) };
	struct rpc_counters counters = { .calls = 3, .outcomes = { [OP_ANSWERED] = 1, [OP_UNANSWERED] = 2 } };
	struct out *out;

	ops[0] = note_of(&ops[3]);
	ops[1] = note_of(&ops[4]);
	out = run(ops, 5, 16, &counters);
	cr_assert_eq(out->ops, 1);
	cr_assert_eq(out->op[0].call_first_ns, 100);
	cr_assert_eq(out->op[0].reply_last_ns, 906);
	cr_assert_eq(out->op[0].retransmits, 2);
	cr_assert_eq(counters.calls, 1);
	cr_assert_eq(counters.outcomes[OP_UNANSWERED], 0);
	g_free(out);
}

/* The reply was under way: the copy is only a copy, whose end is of no account. */
Test(reconnect, row_8_answered_behind_the_reset)
{
	struct nfs_op ops[] = { { 0 }, op_at(1, 9, 100, true), op_at(2, 9, 500, true) };
	struct rpc_counters counters = { .calls = 2, .outcomes = { [OP_ANSWERED] = 2 } };
	struct out *out;

	ops[0] = note_of(&ops[1]);
	out = run(ops, 3, 16, &counters);
	cr_assert_eq(out->ops, 1);
	cr_assert_eq(out->op[0].reply_last_ns, 106);
	cr_assert_eq(counters.calls, 1);
	cr_assert_eq(counters.retransmitted_calls, 1);
	g_free(out);
}

/* Nobody sends it again: it has no reply, once. */
Test(reconnect, row_8_given_up_at_a_reset)
{
	struct nfs_op ops[] = { { 0 }, op_at(2, 9, 500, true), op_at(1, 9, 100, false) };
	struct rpc_counters counters = { .calls = 2, .outcomes = { [OP_ANSWERED] = 1, [OP_UNANSWERED] = 1 } };
	struct out *out;

	ops[0] = note_of(&ops[2]);
	ops[1].print.args_len = 84;
	out = run(ops, 3, 16, &counters);
	cr_assert_eq(out->ops, 2);
	cr_assert_eq(out->op[1].outcome, OP_UNANSWERED);
	cr_assert_eq(out->op[1].call_first_ns, 100);
	cr_assert_eq(counters.calls, 2);
	cr_assert_eq(counters.outcomes[OP_UNANSWERED], 1);
	g_free(out);
}

/* A full table passes its oldest calls on as they are. */
Test(reconnect, capped)
{
	struct rpc_counters counters = { .calls = 41, .outcomes = { [OP_ANSWERED] = 1, [OP_UNANSWERED] = 40 } };
	struct nfs_op ops[41];
	struct out *out;

	for (uint32_t i = 0; i < 40; i++)
		ops[i] = op_at(1, i, 100 + i, false);
	ops[40] = op_at(2, 0, 500, true);
	out = run(ops, 41, 8, &counters);
	cr_assert_eq(out->ops, 41, "the first copy had been passed on");
	for (uint32_t i = 0; i < 32; i++)
		cr_assert_eq(out->op[i].xid, i, "in order");
	g_free(out);
}
