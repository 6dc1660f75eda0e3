/*
 * What is one call, what is another one, and what becomes of a call without a
 * reply.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "stream/wire.h"

enum { MS = 1000000 };

/* One call in the client's stream, sent in one segment. */
static uint32_t
send_call(struct wire *wire, uint32_t offset, uint32_t ack, int64_t ts_ns)
{
	uint32_t end = wire->len[TO_SERVER];

	wire_send(wire, TO_SERVER, offset, end - offset, ack, ts_ns);
	return end;
}

static uint32_t
send_reply(struct wire *wire, uint32_t offset, int64_t ts_ns)
{
	uint32_t end = wire->len[TO_CLIENT];

	wire_send(wire, TO_CLIENT, offset, end - offset, wire->len[TO_SERVER], ts_ns);
	return end;
}

/* Sent again on the same connection before a reply: one call, timed from its first copy. */
Test(calls, retransmission)
{
	struct wire *wire = wire_new(0, 0);

	wire_open(wire, 1 * MS);
	send_call(wire, wire_read(wire, 5, 4096, 100), 0, 10 * MS);
	send_call(wire, wire_read(wire, 5, 4096, 100), 0, 60 * MS);
	send_reply(wire, wire_read_reply(wire, 5, 100), 70 * MS);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire->rpc->calls, 1);
	cr_assert_eq(wire->rpc->retransmitted_calls, 1);
	cr_assert_eq(wire_op(wire, 5)->call_first_ns, 10 * MS);
	cr_assert_eq(wire_op(wire, 5)->retransmits, 1);
	wire_check_books(wire);
	wire_free(wire);
}

/* The same XID again after an acknowledged reply is a new call; other arguments always are. */
Test(calls, xid_reuse)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t acked;

	wire_open(wire, 1 * MS);
	send_call(wire, wire_read(wire, 5, 4096, 100), 0, 10 * MS);
	acked = send_reply(wire, wire_read_reply(wire, 5, 100), 20 * MS);
	wire_ack(wire, TO_SERVER, wire->len[TO_SERVER], acked, 21 * MS);
	send_call(wire, wire_read(wire, 5, 4096, 100), acked, 30 * MS);
	acked = send_reply(wire, wire_read_reply(wire, 5, 100), 40 * MS);
	send_call(wire, wire_read(wire, 5, 8192, 100), 0, 50 * MS);
	send_reply(wire, wire_read_reply(wire, 5, 100), 60 * MS);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire->rpc->calls, 3);
	cr_assert_eq(wire->rpc->retransmitted_calls, 0);
	for (unsigned i = 0; i < 3; i++)
		cr_assert_eq(wire->op[i].reply_last_ns - wire->op[i].call_first_ns, 10 * MS);
	wire_check_books(wire);
	wire_free(wire);
}

/* A copy sent before the reply was acknowledged is no call of its own. */
Test(calls, copy_behind_an_unacknowledged_reply)
{
	struct wire *wire = wire_new(0, 0);

	wire_open(wire, 1 * MS);
	send_call(wire, wire_read(wire, 5, 4096, 100), 0, 10 * MS);
	send_reply(wire, wire_read_reply(wire, 5, 100), 20 * MS);
	send_call(wire, wire_read(wire, 5, 4096, 100), 0, 30 * MS);
	send_reply(wire, wire_read_reply(wire, 5, 100), 40 * MS);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire->rpc->calls, 1);
	cr_assert_eq(wire->rpc->retransmitted_calls, 1);
	cr_assert_eq(wire_op(wire, 5)->reply_last_ns, 20 * MS, "the first complete reply counts");
	cr_assert_eq(wire->rpc->replies, 2);
	cr_assert_eq(wire->rpc->orphan_replies, 0, "the second one has a call, too");
	wire_check_books(wire);
	wire_free(wire);
}

/* A copy that came before the reply, and was held up behind a hole until the reply was acknowledged. */
Test(calls, copy_held_up_behind_a_hole)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t first, other, copy;

	first = wire_read(wire, 5, 4096, 100);
	other = wire_getattr(wire, 6);
	copy = wire_read(wire, 5, 4096, 100);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, copy, wire->len[TO_SERVER] - copy, 0, 22 * MS);
	wire_send(wire, TO_SERVER, first, other - first, 0, 203 * MS);
	wire_read_reply(wire, 5, 100);
	wire_send(wire, TO_CLIENT, 0, wire->len[TO_CLIENT], other, 204 * MS);
	wire_ack(wire, TO_SERVER, wire->len[TO_SERVER], wire->len[TO_CLIENT], 205 * MS);
	wire_send(wire, TO_SERVER, other, copy - other, 0, 206 * MS);
	send_reply(wire, wire_getattr_reply(wire, 6), 207 * MS);
	send_reply(wire, wire_read_reply(wire, 5, 100), 208 * MS);
	wire_finish(wire, 300 * MS);
	cr_assert_eq(wire->rpc->calls, 2);
	cr_assert_eq(wire->rpc->retransmitted_calls, 1);
	cr_assert_eq(wire->rpc->orphan_replies, 0);
	cr_assert_eq(wire_op(wire, 5)->reply_last_ns, 204 * MS);
	wire_check_books(wire);
	wire_free(wire);
}

/* Copy, reply and acknowledgement at one time: their order in the file says nothing. */
Test(calls, copies_and_acknowledgements_of_one_stamp)
{
	for (unsigned order = 0; order < 4; order++) {
		struct wire *wire = wire_new(0, 0);
		uint32_t call, copy, reply;

		call = wire_read(wire, 5, 4096, 100);
		copy = wire_read(wire, 5, 4096, 100);
		reply = wire_read_reply(wire, 5, 100);
		wire_open(wire, 1 * MS);
		wire_send(wire, TO_SERVER, call, copy - call, 0, 10 * MS);
		if (order & 1)
			wire_ack(wire, TO_SERVER, copy, wire->len[TO_CLIENT], 20 * MS);
		wire_send(wire, TO_CLIENT, reply, wire->len[TO_CLIENT] - reply, copy, 20 * MS);
		if (order == 0)
			wire_ack(wire, TO_SERVER, copy, wire->len[TO_CLIENT], 20 * MS);
		wire_send(wire, TO_SERVER, copy, wire->len[TO_SERVER] - copy, 0, 20 * MS);
		if (order == 2)
			wire_ack(wire, TO_SERVER, copy, wire->len[TO_CLIENT], 20 * MS);
		send_reply(wire, wire_read_reply(wire, 5, 100), 30 * MS);
		wire_finish(wire, 100 * MS);
		cr_assert_eq(wire->rpc->calls, 1, "order %u", order);
		cr_assert_eq(wire->rpc->retransmitted_calls, 1, "order %u", order);
		cr_assert_eq(wire->rpc->orphan_replies, 0, "order %u", order);
		wire_check_books(wire);
		wire_free(wire);
	}
}

/* An XID that is used again while the first call still waits leaves that one without a reply. */
Test(calls, row_5_xid_taken_by_another_call)
{
	struct wire *wire = wire_new(0, 0);

	wire_open(wire, 1 * MS);
	send_call(wire, wire_read(wire, 5, 4096, 100), 0, 10 * MS);
	send_call(wire, wire_getattr(wire, 5), 0, 30 * MS);
	send_reply(wire, wire_getattr_reply(wire, 5), 40 * MS);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire->rpc->calls, 2);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 1);
	cr_assert_eq(wire->rpc->outcomes[OP_UNANSWERED], 1);
	cr_assert_eq(wire->op[1].procedure, 1);
	wire_check_books(wire);
	wire_free(wire);
}

/* No reply: in flight if it could still come, else unanswered where nothing was lost. */
Test(calls, without_a_reply)
{
	struct wire *wire = wire_new(0, 0);

	wire_open(wire, 1 * MS);
	send_call(wire, wire_getattr(wire, 1), 0, 10 * MS);
	send_call(wire, wire_getattr(wire, 2), 0, 20 * MS);
	send_reply(wire, wire_getattr_reply(wire, 1), 50 * MS);
	send_call(wire, wire_getattr(wire, 3), 0, 95 * MS);
	wire_ack(wire, TO_CLIENT, wire->len[TO_CLIENT], wire->len[TO_SERVER], 96 * MS);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire_op(wire, 2)->outcome, OP_UNANSWERED);
	cr_assert_eq(wire_op(wire, 3)->outcome, OP_IN_FLIGHT, "40 ms was the longest latency");
	wire_check_books(wire);
	wire_free(wire);
}

/* Calls of minutes are calls. */
Test(calls, long_latency)
{
	struct wire *wire = wire_new(0, 0);
	int64_t hour_ns = INT64_C(3600000) * MS;

	wire_open(wire, 1 * MS);
	send_call(wire, wire_getattr(wire, 1), 0, 10 * MS);
	send_reply(wire, wire_getattr_reply(wire, 1), 10 * MS + hour_ns);
	wire_finish(wire, 2 * hour_ns);
	cr_assert_eq(wire_op(wire, 1)->reply_first_ns - wire_op(wire, 1)->call_last_ns, hour_ns);
	wire_free(wire);
}

/* Outstanding calls are capped: the oldest goes, and is counted. */
Test(calls, outstanding_calls_are_capped)
{
	struct wire *wire = wire_new(0, 16);

	wire_open(wire, 1 * MS);
	for (uint32_t xid = 1; xid <= 100; xid++)
		send_call(wire, wire_getattr(wire, xid), 0, (10 + (int64_t)xid) * MS);
	send_reply(wire, wire_getattr_reply(wire, 100), 500 * MS);
	send_reply(wire, wire_getattr_reply(wire, 1), 501 * MS);
	wire_finish(wire, 10000 * (int64_t)MS);
	cr_assert_eq(wire->rpc->outcomes[OP_EVICTED], 84);
	cr_assert_eq(wire_op(wire, 100)->outcome, OP_ANSWERED);
	cr_assert_eq(wire_op(wire, 1)->outcome, OP_EVICTED);
	wire_check_books(wire);
	wire_free(wire);
}

/* A WRITE whose count disagrees with its data is timed and called malformed. */
Test(calls, malformed_arguments)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t offset = wire_write(wire, 9, 0, 64);

	wire->bytes[TO_SERVER][offset + 4 + 40 + 36 + 8 + 3] = 63;	/* count, not the data's length */
	wire_open(wire, 1 * MS);
	send_call(wire, offset, 0, 10 * MS);
	wire_getattr_reply(wire, 9);
	wire->bytes[TO_CLIENT][4 + 24 + 3] = 5;		/* NFS3ERR_IO: nothing more to be malformed */
	send_reply(wire, 0, 20 * MS);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire_op(wire, 9)->status, 5);
	cr_assert_eq(wire->rpc->malformed, 1);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 1);
	cr_assert(wire_op(wire, 9)->flags & OP_CALL_MALFORMED);
	wire_free(wire);
}

/* A hole holds up the calls behind it; their replies come first, and wait for them. */
Test(calls, replies_in_front_of_held_calls)
{
	enum { COUNT = 600 };
	struct wire *wire = wire_new(0, 0);
	uint32_t call[COUNT + 1], reply[COUNT + 1];

	for (uint32_t i = 0; i < COUNT; i++) {
		call[i] = wire_read(wire, 1000 + i, i, 40);
		reply[i] = wire_read_reply(wire, 1000 + i, 40);
	}
	call[COUNT] = wire->len[TO_SERVER];
	reply[COUNT] = wire->len[TO_CLIENT];
	wire_open(wire, 1 * MS);
	for (int i = 0; i < COUNT; i++) {
		/* all within the reorder window */
		if (i != 1)
			wire_send(wire, TO_SERVER, call[i], call[i + 1] - call[i], reply[i], 2 * MS + i * 1000);
		wire_send(wire, TO_CLIENT, reply[i], reply[i + 1] - reply[i], call[i + 1], 2 * MS + i * 1000 + 500);
	}
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], COUNT - 1);
	cr_assert_eq(wire->rpc->orphan_replies, 1);
	for (uint32_t i = 0; i < COUNT; i++)
		if (i != 1)
			cr_assert_eq(wire_op(wire, 1000 + i)->reply_last_ns, 2 * MS + i * 1000 + 500);
	wire_check_books(wire);
	wire_free(wire);
}

/* Another program on the connection is not counted, and its replies are nobody's orphans. */
Test(calls, foreign_program)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t offset, acked;

	wire_open(wire, 1 * MS);
	offset = wire_getattr(wire, 1);
	memcpy(wire->bytes[TO_SERVER] + offset + 16, "\x00\x06\x1a\x80", 4);	/* program 400000 */
	send_call(wire, offset, 0, 10 * MS);
	acked = send_reply(wire, wire_getattr_reply(wire, 1), 20 * MS);
	send_call(wire, wire_getattr(wire, 2), acked, 30 * MS);
	send_reply(wire, wire_getattr_reply(wire, 2), 40 * MS);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire->rpc->calls, 1);
	cr_assert_eq(wire->rpc->replies, 1);
	cr_assert_eq(wire->rpc->orphan_replies, 0);
	wire_check_books(wire);
	wire_free(wire);
}
