#include <criterion/criterion.h>
#include <glib.h>

#include "stats/aggregate.h"
#include "stats/build.h"

static void
add(struct aggregate *aggregate, uint64_t frame, int64_t total_ns)
{
	struct nfs_op op = build_op(PROC_READ, 0, total_ns - 1500);
	struct op_pair pair;

	op.call_frame = frame;
	pair = build_pair(&op, 100);
	aggregate_add_pair(aggregate, &pair);
}

Test(slowest, keeps_the_slowest_in_order)
{
	struct aggregate *aggregate = aggregate_new(2, 3);
	const struct slow_call *calls;
	unsigned count;

	for (unsigned i = 0; i < 100; i++)
		add(aggregate, i, 10000 + (i * 37) % 100);
	calls = aggregate_slowest(aggregate, &count);
	cr_assert_eq(count, 3);
	cr_assert_eq(calls[0].pair.parts.total_ns, 10099);
	cr_assert_eq(calls[1].pair.parts.total_ns, 10098);
	cr_assert_eq(calls[2].pair.parts.total_ns, 10097);
	aggregate_free(aggregate);
}

Test(slowest, ties_go_to_the_earlier_frame_in_any_order)
{
	for (unsigned turn = 0; turn < 2; turn++) {
		struct aggregate *aggregate = aggregate_new(2, 2);
		const struct slow_call *calls;
		unsigned count;

		for (unsigned i = 0; i < 10; i++)
			add(aggregate, turn == 0 ? i + 1 : 10 - i, 5000);
		calls = aggregate_slowest(aggregate, &count);
		cr_assert_eq(count, 2);
		cr_assert_eq(calls[0].pair.op[PAIR_CLIENT].call_frame, 1);
		cr_assert_eq(calls[1].pair.op[PAIR_CLIENT].call_frame, 2);
		aggregate_free(aggregate);
	}
}

/* Replies that share one packet on the client, and calls that do. */
Test(slowest, ties_of_one_packet_go_to_the_earlier_frame_of_the_server)
{
	for (unsigned turn = 0; turn < 2; turn++) {
		struct aggregate *aggregate = aggregate_new(2, 2);
		const struct slow_call *calls;
		unsigned count;

		for (unsigned i = 0; i < 4; i++) {
			struct nfs_op op = build_op(PROC_READ, 0, 5000);
			struct op_pair pair;

			op.xid = 100 - (turn == 0 ? i : 3 - i);
			pair = build_pair(&op, 100);
			pair.op[PAIR_SERVER].call_frame = turn == 0 ? i + 1 : 4 - i;
			aggregate_add_pair(aggregate, &pair);
		}
		calls = aggregate_slowest(aggregate, &count);
		cr_assert_eq(calls[0].pair.op[PAIR_SERVER].call_frame, 1);
		cr_assert_eq(calls[1].pair.op[PAIR_SERVER].call_frame, 2);
		aggregate_free(aggregate);
	}
}

Test(slowest, none_when_none_are_wanted)
{
	struct aggregate *aggregate = aggregate_new(2, 0);
	unsigned count;

	add(aggregate, 1, 5000);
	aggregate_slowest(aggregate, &count);
	cr_assert_eq(count, 0);
	aggregate_free(aggregate);
}

Test(slowest, fewer_than_wanted)
{
	struct aggregate *aggregate = aggregate_new(2, 1000000);
	unsigned count;

	for (unsigned i = 0; i < 100; i++)
		add(aggregate, i, 5000 + i);
	aggregate_slowest(aggregate, &count);
	cr_assert_eq(count, 100);
	aggregate_free(aggregate);
}

/* With one capture only, the calls stand alone, and each side has its own order. */
Test(slowest, one_capture_lists_its_own_calls)
{
	struct aggregate *aggregate = aggregate_new(1, 2);
	const struct slow_call *calls;
	struct nfs_op op;
	unsigned count;

	for (unsigned i = 0; i < 5; i++) {
		op = build_op(PROC_READ, 0, 1000 * (i + 1));
		op.call_frame = i + 1;
		aggregate_add_op(aggregate, 0, &op);
	}
	op = build_op(PROC_READ, 0, 9000);
	op.valid &= ~(uint32_t)OP_HAS_CALL_FIRST;
	aggregate_add_op(aggregate, 0, &op);
	calls = aggregate_slowest_alone(aggregate, PAIR_SERVER, &count);
	cr_assert_eq(count, 2);
	cr_assert(calls[0].pair.has[PAIR_SERVER] && !calls[0].pair.has[PAIR_CLIENT]);
	cr_assert_eq(calls[0].pair.op[PAIR_SERVER].reply_first_ns - calls[0].pair.op[PAIR_SERVER].call_last_ns, 9000);
	calls = aggregate_slowest_alone(aggregate, PAIR_CLIENT, &count);
	cr_assert_eq(count, 2);
	cr_assert_eq(calls[0].pair.op[PAIR_CLIENT].call_frame, 5);
	aggregate_free(aggregate);
}
