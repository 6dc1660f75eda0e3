/*
 * RPC over UDP: one datagram is one record, whole or in IP fragments; copies.
 */
#include <criterion/criterion.h>
#include <glib.h>

#include "stream/wire.h"

enum { MS = 1000000, S = 1000000000 };

Test(datagrams, whole_ones)
{
	struct wire *wire = wire_new(0, 0);

	wire_datagram(wire, TO_SERVER, wire_read(wire, 5, 4096, 100), 10 * MS);
	wire_datagram(wire, TO_CLIENT, wire_read_reply(wire, 5, 100), 12 * MS);
	wire_finish(wire, 20 * MS);
	cr_assert_eq(wire->rpc->calls, 1);
	cr_assert_eq(wire->ops, 1);
	cr_assert(op_has(wire_op(wire, 5), OP_TIMES | OP_HAS_MOVED));
	cr_assert_eq(wire_op(wire, 5)->call_first_ns, 10 * MS);
	cr_assert_eq(wire_op(wire, 5)->call_last_ns, 10 * MS);
	cr_assert_eq(wire_op(wire, 5)->reply_last_ns, 12 * MS);
	cr_assert_eq(wire_op(wire, 5)->client.port, 1023);
	cr_assert_eq(datagrams_counters(wire->datagrams)->records, 2);
	wire_check_books(wire);
	wire_free(wire);
}

/* Two replies whose fragments come mixed, one of them last piece first, one piece twice. */
Test(datagrams, row_31_fragments_in_any_order)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t five, six;

	wire_datagram(wire, TO_SERVER, wire_read(wire, 5, 0, 4000), 10 * MS);
	wire_datagram(wire, TO_SERVER, wire_read(wire, 6, 8192, 4000), 11 * MS);
	five = wire_read_reply(wire, 5, 4000);
	six = wire_read_reply(wire, 6, 4000);
	wire_fragment(wire, TO_CLIENT, five, 1, 0, 1480, 20 * MS);
	wire_fragment(wire, TO_CLIENT, six, 2, 2960, 0, 21 * MS);
	wire_fragment(wire, TO_CLIENT, five, 1, 1480, 2960, 22 * MS);
	wire_fragment(wire, TO_CLIENT, six, 2, 1480, 2960, 23 * MS);
	wire_fragment(wire, TO_CLIENT, five, 1, 1480, 2960, 24 * MS);
	wire_fragment(wire, TO_CLIENT, six, 2, 0, 1480, 25 * MS);
	wire_fragment(wire, TO_CLIENT, five, 1, 2960, 0, 26 * MS);
	wire_finish(wire, 30 * MS);
	cr_assert_eq(wire_op(wire, 5)->reply_first_ns, 20 * MS);
	cr_assert_eq(wire_op(wire, 5)->reply_last_ns, 26 * MS);
	/* the packet with the record's first byte came last */
	cr_assert_eq(wire_op(wire, 6)->reply_first_ns, 25 * MS);
	cr_assert_eq(wire_op(wire, 6)->reply_last_ns, 25 * MS);
	cr_assert_eq(datagrams_counters(wire->datagrams)->joined, 2);
	cr_assert_eq(datagrams_counters(wire->datagrams)->incomplete, 0);
	wire_free(wire);
}

/* A filter on the port lets only first fragments through: the header times the call, the end is not known. */
Test(datagrams, row_31_first_fragments_alone)
{
	struct wire *wire = wire_new(0, 0);

	wire_fragment(wire, TO_SERVER, wire_write(wire, 5, 0, 4000), 1, 0, 1480, 10 * MS);
	wire_datagram(wire, TO_CLIENT, wire_getattr_reply(wire, 5), 15 * MS);
	wire_datagram(wire, TO_SERVER, wire_read(wire, 6, 0, 4000), 20 * MS);
	wire_fragment(wire, TO_CLIENT, wire_read_reply(wire, 6, 4000), 2, 0, 1480, 22 * MS);
	wire_wait(wire, 1 * S);
	cr_assert_eq(wire->ops, 2, "given out without waiting for the end of the capture");
	wire_finish(wire, 1 * S);
	cr_assert_eq(wire_op(wire, 5)->outcome, OP_ANSWERED);
	cr_assert(op_has(wire_op(wire, 5), OP_HAS_CALL_FIRST | OP_HAS_REPLY_FIRST | OP_HAS_REPLY_LAST));
	cr_assert_not(op_has(wire_op(wire, 5), OP_HAS_CALL_LAST));
	cr_assert_eq(wire_op(wire, 6)->outcome, OP_ANSWERED);
	cr_assert(op_has(wire_op(wire, 6), OP_HAS_CALL_FIRST | OP_HAS_CALL_LAST | OP_HAS_REPLY_FIRST));
	cr_assert_not(op_has(wire_op(wire, 6), OP_HAS_REPLY_LAST));
	cr_assert_eq(wire_op(wire, 6)->reply_first_ns, 22 * MS);
	cr_assert_eq(datagrams_counters(wire->datagrams)->incomplete, 2);
	wire_check_books(wire);
	wire_free(wire);
}

/* call_last is that of the first copy that came complete, call_first that of the first copy. */
Test(datagrams, row_31_a_copy_completes_the_call)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call = wire_write(wire, 5, 0, 2000);

	wire_fragment(wire, TO_SERVER, call, 1, 0, 1480, 10 * MS);
	wire_fragment(wire, TO_SERVER, call, 2, 0, 1480, 710 * MS);
	wire_fragment(wire, TO_SERVER, call, 2, 1480, 0, 711 * MS);
	wire_datagram(wire, TO_CLIENT, wire_getattr_reply(wire, 5), 715 * MS);
	wire_finish(wire, 1 * S);
	cr_assert_eq(wire->ops, 1);
	cr_assert_eq(wire_op(wire, 5)->call_first_ns, 10 * MS);
	cr_assert_eq(wire_op(wire, 5)->call_last_ns, 711 * MS);
	cr_assert_eq(wire_op(wire, 5)->retransmits, 1);
	cr_assert_eq(wire->rpc->retransmitted_calls, 1);
	wire_check_books(wire);
	wire_free(wire);
}

/* The first reply lacks a fragment, the answer to the copy is whole: that is the reply. */
Test(datagrams, row_31_the_first_complete_reply_counts)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call = wire_read(wire, 5, 0, 2000);
	uint32_t reply = wire_read_reply(wire, 5, 2000);

	wire_datagram(wire, TO_SERVER, call, 10 * MS);
	wire_fragment(wire, TO_CLIENT, reply, 1, 1480, 0, 20 * MS);
	wire_fragment(wire, TO_CLIENT, reply, 2, 0, 1480, 21 * MS);
	wire_datagram(wire, TO_SERVER, call, 710 * MS);
	wire_fragment(wire, TO_CLIENT, reply, 3, 0, 1480, 720 * MS);
	wire_fragment(wire, TO_CLIENT, reply, 3, 1480, 0, 721 * MS);
	wire_finish(wire, 1 * S);
	cr_assert_eq(wire->ops, 1);
	cr_assert_eq(wire_op(wire, 5)->reply_first_ns, 720 * MS);
	cr_assert_eq(wire_op(wire, 5)->reply_last_ns, 721 * MS);
	cr_assert_eq(wire->rpc->orphan_replies, 0);
	cr_assert_eq(datagrams_counters(wire->datagrams)->headless, 1);
	wire_check_books(wire);
	wire_free(wire);
}

/* A server remembers answered calls: the same again within 120 s is a copy, later or with other arguments it is new. */
/* The shortest reply there is: the credential is refused (RFC 5531 section 9). */
Test(datagrams, denied)
{
	static const uint32_t words[] = { 5, 1 /* reply */, 1 /* denied */, 1 /* AUTH_ERROR */, 5 /* too weak */ };
	struct wire *wire = wire_new(0, 0);

	wire_datagram(wire, TO_SERVER, wire_read(wire, 5, 4096, 100), 10 * MS);
	wire_datagram(wire, TO_CLIENT, wire_words(wire, TO_CLIENT, words, G_N_ELEMENTS(words)), 12 * MS);
	wire_finish(wire, 20 * MS);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 1);
	cr_assert(wire_op(wire, 5)->flags & OP_RPC_ERROR);
	cr_assert_eq(wire_op(wire, 5)->reply_last_ns, 12 * MS);
	wire_check_books(wire);
	wire_free(wire);
}

Test(datagrams, rows_6_and_31_a_copy_after_the_reply)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call = wire_read(wire, 5, 0, 100), reply = wire_read_reply(wire, 5, 100);

	wire_datagram(wire, TO_SERVER, call, 1 * S);
	wire_datagram(wire, TO_CLIENT, reply, 2 * (int64_t)S);
	wire_datagram(wire, TO_SERVER, call, 121 * (int64_t)S);
	wire_datagram(wire, TO_CLIENT, reply, 122 * (int64_t)S);
	cr_assert_eq(wire->rpc->calls, 1);
	cr_assert_eq(wire->rpc->retransmitted_calls, 1);
	cr_assert_eq(wire->rpc->replies, 2);
	cr_assert_eq(wire->rpc->orphan_replies, 0);
	wire_datagram(wire, TO_SERVER, wire_read(wire, 5, 4096, 100), 123 * (int64_t)S);
	wire_datagram(wire, TO_CLIENT, reply, 124 * (int64_t)S);
	cr_assert_eq(wire->rpc->calls, 2);
	wire_datagram(wire, TO_SERVER, call, 300 * (int64_t)S);
	wire_datagram(wire, TO_CLIENT, reply, 301 * (int64_t)S);
	wire_finish(wire, 400 * (int64_t)S);
	cr_assert_eq(wire->rpc->calls, 3);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 3);
	wire_check_books(wire);
	wire_free(wire);
}

/* On another port than NFS's a reply alone is nobody's; a call makes the flow known. */
Test(datagrams, recognised_by_content)
{
	struct wire *wire = wire_new(0, 0);

	wire->server_port = 5000;
	wire_datagram(wire, TO_CLIENT, wire_getattr_reply(wire, 4), 1 * MS);
	cr_assert_eq(wire->rpc->replies, 0);
	wire_datagram(wire, TO_SERVER, wire_getattr(wire, 5), 2 * MS);
	wire_datagram(wire, TO_CLIENT, wire_getattr_reply(wire, 5), 3 * MS);
	wire_datagram(wire, TO_SERVER, wire_append(wire, TO_SERVER, 0, 200), 4 * MS);
	wire_finish(wire, 5 * MS);
	cr_assert_eq(wire->rpc->calls, 1);
	cr_assert_eq(wire->rpc->replies, 1);
	cr_assert_eq(datagrams_counters(wire->datagrams)->records, 2);
	wire_free(wire);
}

/* Overlaps, lengths beyond 64 KiB, ends that contradict one another: nothing is joined of them. */
Test(datagrams, row_31_fragments_that_lie)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t reply = wire_read_reply(wire, 5, 4000);
	struct packet packet = { .ts_ns = 3 * MS };
	struct datagram beyond = { .packet = &packet, .fragment = true, .id = 1, .offset = 65528, .wire_len = 1480,
		.direction = TO_CLIENT, .address_direction = TO_CLIENT };

	beyond.key.address[0][15] = 1;
	beyond.key.address[1][15] = 2;
	wire_datagram(wire, TO_SERVER, wire_read(wire, 5, 0, 4000), 1 * MS);
	wire_fragment(wire, TO_CLIENT, reply, 1, 0, 1480, 2 * MS);
	datagrams_push(wire->datagrams, &beyond, 0, 1);
	wire_fragment(wire, TO_CLIENT, reply, 1, 1480, 2960, 4 * MS);
	wire_fragment(wire, TO_CLIENT, reply, 1, 736, 2960, 5 * MS);
	cr_assert_eq(datagrams_counters(wire->datagrams)->joined, 0);
	wire_fragment(wire, TO_CLIENT, reply, 1, 2960, 0, 6 * MS);
	cr_assert_eq(datagrams_counters(wire->datagrams)->joined, 1);
	wire_finish(wire, 7 * MS);
	cr_assert_eq(wire_op(wire, 5)->reply_last_ns, 6 * MS);
	wire_free(wire);
}

/* Many datagrams that never get whole: the table is bounded, and each is counted. */
Test(datagrams, never_whole)
{
	struct wire *wire = wire_new(0, 8192);

	for (uint32_t i = 0; i < 2000; i++) {
		wire_fragment(wire, TO_SERVER, wire_write(wire, i, 0, 100), i, 0, 80, (1 + i) * MS);
		wire_fragment(wire, TO_SERVER, wire_write(wire, i, 0, 100), i, 88, 96, (1 + i) * MS);
		wire->len[TO_SERVER] = 0;
	}
	cr_assert_eq(datagrams_counters(wire->datagrams)->incomplete, 2000 - 256);
	wire_finish(wire, 3 * (int64_t)S);
	cr_assert_eq(datagrams_counters(wire->datagrams)->incomplete, 2000);
	cr_assert_eq(wire->rpc->outcomes[OP_LOST_IN_CAPTURE], 2000, "no reply of the flow was captured");
	wire_check_books(wire);
	wire_free(wire);
}
