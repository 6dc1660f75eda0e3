/*
 * Order, overlap, loss in the network and loss in the capture.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "stream/wire.h"

enum { MS = 1000000 };

/* Three calls and their replies; gives the offsets behind each. */
static void
three_calls(struct wire *wire, uint32_t call[4], uint32_t reply[4])
{
	for (uint32_t i = 0; i < 3; i++) {
		call[i] = wire_getattr(wire, 1 + i);
		reply[i] = wire_getattr_reply(wire, 1 + i);
	}
	call[3] = wire->len[TO_SERVER];
	reply[3] = wire->len[TO_CLIENT];
}

Test(tcp, in_order)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];

	three_calls(wire, call, reply);
	wire_open(wire, 1 * MS);
	for (int i = 0; i < 3; i++) {
		wire_send(wire, TO_SERVER, call[i], call[i + 1] - call[i], reply[i], (10 + i) * MS);
		wire_send(wire, TO_CLIENT, reply[i], reply[i + 1] - reply[i], call[i + 1], (20 + i) * MS);
	}
	wire_finish(wire, 30 * MS);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 3);
	cr_assert_eq(wire_op(wire, 2)->call_first_ns, 11 * MS);
	cr_assert_eq(wire_op(wire, 2)->call_last_ns, 11 * MS);
	cr_assert_eq(wire_op(wire, 2)->reply_first_ns, 21 * MS);
	cr_assert_eq(wire_op(wire, 2)->reply_last_ns, 21 * MS);
	cr_assert_eq(wire->tcp->lost_bytes, 0);
	wire_check_books(wire);
	wire_free(wire);
}

/* Whose window it is shows once it is known who calls; an eighth of the largest is small, and counts once. */
Test(tcp, windows_of_the_server_that_shrink)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];

	three_calls(wire, call, reply);
	wire->window[TO_CLIENT] = 65535;	/* of the SYN: not scaled */
	wire_open(wire, 1 * MS);
	wire->window[TO_CLIENT] = 800;
	wire_ack(wire, TO_CLIENT, 0, 0, 9 * MS);
	wire_send(wire, TO_SERVER, call[0], call[1] - call[0], 0, 10 * MS);
	wire->window[TO_CLIENT] = 101;
	wire_ack(wire, TO_CLIENT, 0, call[1], 11 * MS);
	cr_assert_eq(wire->tcp->server_window_shrunk, 0);
	wire->window[TO_CLIENT] = 100;
	wire_ack(wire, TO_CLIENT, 0, call[1], 12 * MS);
	wire->window[TO_CLIENT] = 0;
	wire_ack(wire, TO_CLIENT, 0, call[1], 13 * MS);
	cr_assert_eq(wire->tcp->server_window_shrunk, 1);
	wire->window[TO_CLIENT] = 400;
	wire_send(wire, TO_CLIENT, 0, reply[1], call[1], 14 * MS);
	wire->window[TO_CLIENT] = 0;
	wire_ack(wire, TO_CLIENT, reply[1], call[1], 15 * MS);
	wire->window[TO_SERVER] = 0;
	wire_ack(wire, TO_SERVER, call[1], reply[1], 16 * MS);
	wire_finish(wire, 30 * MS);
	cr_assert_eq(wire->tcp->server_window_shrunk, 2);
	cr_assert_eq(wire->tcp->zero_window, 3);
	wire_free(wire);
}

/* The network lost the second call; its retransmission lets the third one through. */
Test(tcp, loss_in_the_network_filled_later)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];

	three_calls(wire, call, reply);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, call[0], call[1] - call[0], 0, 10 * MS);
	wire_send(wire, TO_SERVER, call[2], call[3] - call[2], 0, 12 * MS);
	wire_ack(wire, TO_CLIENT, 0, call[1], 13 * MS);
	wire_wait(wire, 100 * MS);
	wire_send(wire, TO_SERVER, call[1], call[2] - call[1], 0, 210 * MS);
	wire_send(wire, TO_CLIENT, 0, reply[3], call[3], 220 * MS);
	wire_finish(wire, 300 * MS);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 3);
	cr_assert_eq(wire_op(wire, 1)->call_last_ns, 10 * MS);
	cr_assert_eq(wire_op(wire, 2)->call_first_ns, 210 * MS);
	cr_assert_eq(wire_op(wire, 3)->call_first_ns, 12 * MS, "first seen when it came");
	cr_assert_eq(wire_op(wire, 3)->call_last_ns, 210 * MS, "deliverable when the hole was filled");
	cr_assert_eq(wire->tcp->retransmitted, 1);
	cr_assert_eq(wire->tcp->lost_bytes, 0);
	wire_check_books(wire);
	wire_free(wire);
}

/* The capture lost the second call, the server had it: only that call is missing. */
Test(tcp, loss_in_the_capture)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];

	three_calls(wire, call, reply);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, call[0], call[1] - call[0], 0, 10 * MS);
	wire_send(wire, TO_SERVER, call[2], call[3] - call[2], 0, 12 * MS);
	wire_send(wire, TO_CLIENT, 0, reply[3], call[3], 20 * MS);
	wire_wait(wire, 100 * MS);
	wire_finish(wire, 300 * MS);
	cr_assert_eq(wire->rpc->calls, 2);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 2);
	cr_assert_eq(wire->rpc->orphan_replies, 1);
	cr_assert_eq(wire_op(wire, 3)->call_last_ns, 12 * MS, "not held up by what the capture lacks");
	cr_assert_eq(wire->tcp->lost_bytes, call[2] - call[1]);
	cr_assert_eq(wire->tcp->lost_segments, 1);
	wire_check_books(wire);
	wire_free(wire);
}

/* A hole of known length inside a record costs no call. */
Test(tcp, hole_inside_a_payload)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t end;

	wire_write(wire, 1, 0, 6000);
	wire_getattr(wire, 2);
	end = wire->len[TO_SERVER];
	wire_getattr_reply(wire, 1);
	wire_getattr_reply(wire, 2);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, 0, 1448, 0, 10 * MS);
	wire_send(wire, TO_SERVER, 4344, end - 4344, 0, 13 * MS);
	wire_send(wire, TO_CLIENT, 0, wire->len[TO_CLIENT], end, 20 * MS);
	wire_wait(wire, 100 * MS);
	wire_finish(wire, 300 * MS);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 2);
	cr_assert_eq(wire_op(wire, 1)->requested_bytes, 6000);
	cr_assert_eq(wire_op(wire, 1)->call_last_ns, 13 * MS);
	cr_assert(wire_op(wire, 1)->flags & OP_CALL_TIME_DEDUCED);
	cr_assert_eq(wire->tcp->lost_segments, 2);
	wire_check_books(wire);
	wire_free(wire);
}

/* Nothing behind the hole: the bytes count as seen with their acknowledgement. */
Test(tcp, lost_tail_is_seen_with_its_acknowledgement)
{
	struct wire *wire = wire_new(0, 0);

	wire_write(wire, 1, 0, 3000);
	wire_getattr_reply(wire, 1);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, 0, 1448, 0, 10 * MS);
	wire_send(wire, TO_CLIENT, 0, wire->len[TO_CLIENT], wire->len[TO_SERVER], 20 * MS);
	wire_wait(wire, 100 * MS);
	wire_finish(wire, 300 * MS);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 1);
	cr_assert_eq(wire_op(wire, 1)->call_last_ns, 20 * MS);
	cr_assert(wire_op(wire, 1)->flags & OP_CALL_TIME_DEDUCED);
	wire_free(wire);
}

/* Empty segments tell how far their sender had come, each for the bytes in front of it. */
Test(tcp, lost_bytes_are_seen_with_the_first_packet_behind_them)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t end;

	wire_write(wire, 1, 0, 4000);
	end = wire->len[TO_SERVER];
	wire_getattr(wire, 2);
	wire_getattr_reply(wire, 1);
	wire_getattr_reply(wire, 2);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, 0, 1448, 0, 10 * MS);
	wire_ack(wire, TO_SERVER, 2896, 0, 11 * MS);
	wire_ack(wire, TO_SERVER, end, 0, 12 * MS);
	wire_send(wire, TO_SERVER, end, wire->len[TO_SERVER] - end, 0, 15 * MS);
	wire_send(wire, TO_CLIENT, 0, wire->len[TO_CLIENT], wire->len[TO_SERVER], 20 * MS);
	wire_wait(wire, 100 * MS);
	wire_finish(wire, 300 * MS);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 2);
	cr_assert_eq(wire_op(wire, 1)->call_last_ns, 12 * MS);
	cr_assert(wire_op(wire, 1)->flags & OP_CALL_TIME_DEDUCED);
	cr_assert_eq(wire_op(wire, 2)->call_last_ns, 15 * MS);
	wire_check_books(wire);
	wire_free(wire);
}

/* The capture lacks the copy that was acknowledged, and has one that was sent again for nothing. */
Test(tcp, a_copy_behind_its_acknowledgement_moves_nothing)
{
	struct wire *wire = wire_new(0, 0);

	wire_write(wire, 1, 0, 3000);
	wire_getattr_reply(wire, 1);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, 0, 1448, 0, 10 * MS);
	wire_ack(wire, TO_CLIENT, 0, wire->len[TO_SERVER], 12 * MS);
	wire_send(wire, TO_SERVER, 1448, wire->len[TO_SERVER] - 1448, 0, 13 * MS);
	wire_send(wire, TO_CLIENT, 0, wire->len[TO_CLIENT], wire->len[TO_SERVER], 20 * MS);
	wire_wait(wire, 100 * MS);
	wire_finish(wire, 300 * MS);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 1);
	cr_assert_eq(wire_op(wire, 1)->call_last_ns, 12 * MS);
	cr_assert(wire_op(wire, 1)->flags & OP_CALL_TIME_DEDUCED);
	cr_assert_eq(wire->tcp->lost_bytes, 0);
	wire_check_books(wire);
	wire_free(wire);
}

/* An acknowledgement in front of its data in the file calls nothing lost. */
Test(tcp, acknowledgement_before_data)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];

	three_calls(wire, call, reply);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_CLIENT, reply[0], reply[1] - reply[0], call[1], 20 * MS);
	wire_send(wire, TO_SERVER, call[0], call[1] - call[0], 0, 10 * MS);
	wire_wait(wire, 100 * MS);
	wire_finish(wire, 300 * MS);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 1);
	cr_assert_eq(wire_op(wire, 1)->reply_first_ns - wire_op(wire, 1)->call_last_ns, 10 * MS);
	cr_assert_eq(wire->tcp->lost_bytes, 0);
	cr_assert_eq(wire->rpc->orphan_replies, 0);
	wire_check_books(wire);
	wire_free(wire);
}

Test(tcp, out_of_order_segments_and_stamps_kept)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];

	three_calls(wire, call, reply);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, call[2], call[3] - call[2], 0, 12 * MS);
	wire_send(wire, TO_SERVER, call[0], call[1] - call[0], 0, 10 * MS);
	wire_send(wire, TO_SERVER, call[1], call[2] - call[1], 0, 11 * MS);
	wire_send(wire, TO_CLIENT, 0, reply[3], call[3], 20 * MS);
	wire_finish(wire, 300 * MS);
	for (uint32_t xid = 1; xid <= 3; xid++) {
		cr_assert_eq(wire_op(wire, xid)->call_first_ns, (9 + (int64_t)xid) * MS);
		cr_assert_eq(wire_op(wire, xid)->call_last_ns, (9 + (int64_t)xid) * MS);
	}
	cr_assert_eq(wire->tcp->retransmitted, 0);
	cr_assert_eq(wire->tcp->out_of_order, 0, "only the file is out of order");
	wire_free(wire);
}

/* RFC 9293 section 3.8.4: a keep-alive may carry a byte of rubbish below what is expected. */
Test(tcp, keep_alive_with_rubbish)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];

	three_calls(wire, call, reply);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, call[0], call[1] - call[0], 0, 10 * MS);
	wire_send_bytes(wire, TO_SERVER, call[1] - 1, "\xee", 1, 0, 11 * MS);
	wire_send(wire, TO_SERVER, call[1], call[2] - call[1], 0, 12 * MS);
	wire_send(wire, TO_CLIENT, 0, reply[2], call[2], 20 * MS);
	wire_finish(wire, 300 * MS);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 2);
	cr_assert_eq(wire->tcp->retransmitted, 0);
	cr_assert_eq(wire->tcp->duplicate_bytes, 1);
	wire_free(wire);
}

/* Overlap with other content: what came first stays. */
Test(tcp, first_copy_wins)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];
	uint8_t other[200];

	three_calls(wire, call, reply);
	memset(other, 0x5a, sizeof other);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, call[0], call[1] - call[0], 0, 10 * MS);
	/* in front of a hole, then over what is held behind it */
	wire_send(wire, TO_SERVER, call[2], call[3] - call[2], 0, 12 * MS);
	wire_send_bytes(wire, TO_SERVER, call[0] + 10, other, call[1] - 10, 0, 13 * MS);
	wire_send_bytes(wire, TO_SERVER, call[2] + 8, other, 20, 0, 13 * MS);
	wire_send(wire, TO_SERVER, call[1], call[2] - call[1], 0, 14 * MS);
	wire_send(wire, TO_CLIENT, 0, reply[3], call[3], 20 * MS);
	wire_finish(wire, 300 * MS);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 3);
	cr_assert_eq(wire_op(wire, 3)->call_first_ns, 12 * MS);
	cr_assert_eq(wire_op(wire, 3)->procedure, 1);
	cr_assert_eq(wire->tcp->retransmitted, 2);
	cr_assert_eq(wire->tcp->out_of_order, 1, "2 ms behind the hole's opening");
	wire_check_books(wire);
	wire_free(wire);
}

/* Only the calls were captured: the replies may well have come. */
Test(tcp, one_direction_only)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];

	three_calls(wire, call, reply);
	wire_flags(wire, TO_SERVER, UINT32_MAX, TCP_SYN, 1 * MS);
	for (int i = 0; i < 3; i++)
		wire_send(wire, TO_SERVER, call[i], call[i + 1] - call[i], reply[i], (10 + 10 * i) * MS);
	wire_wait(wire, 100 * MS);
	wire_finish(wire, 300 * MS);
	cr_assert_eq(wire->rpc->calls, 3);
	cr_assert_eq(wire->rpc->outcomes[OP_LOST_IN_CAPTURE], 3);
	cr_assert_eq(wire->tcp->one_direction, 1);
	wire_check_books(wire);
	wire_free(wire);
}

/* The capture begins under load: replies that were on their way then are not lost in it. */
Test(tcp, acknowledged_before_its_first_packet)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t before = wire_append(wire, TO_CLIENT, 7, 3000);
	uint32_t call[3], reply;

	for (uint32_t i = 0; i < 3; i++)
		call[i] = wire_getattr(wire, 10 + i);
	reply = wire_getattr_reply(wire, 10);
	/* three calls, each with an acknowledgement of a reply that left before the capture began */
	for (uint32_t i = 0; i < 3; i++)
		wire_send(wire, TO_SERVER, call[i], call[1] - call[0], before + 1000 * (i + 1), MS * (i + 1));
	wire_wait(wire, 50 * MS);
	wire_send(wire, TO_CLIENT, reply, wire->len[TO_CLIENT] - reply, call[2] + call[1] - call[0], 60 * MS);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire->tcp->lost_segments, 0);
	cr_assert_eq(wire->tcp->lost_bytes, 0);
	cr_assert_eq(wire_op(wire, 10)->outcome, OP_ANSWERED);
	wire_check_books(wire);
	wire_free(wire);
}

/* A hole while the other direction is silent is given up by time, not waited for. */
Test(tcp, hole_without_the_other_direction)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];

	three_calls(wire, call, reply);
	wire_flags(wire, TO_SERVER, UINT32_MAX, TCP_SYN, 1 * MS);
	wire_send(wire, TO_SERVER, call[0], call[1] - call[0], 0, 10 * MS);
	wire_send(wire, TO_SERVER, call[2], call[3] - call[2], 0, 12 * MS);
	wire_wait(wire, INT64_C(5000) * MS);
	cr_assert_eq(wire->rpc->calls, 1 , "resynchronisation still waits for proof");
	wire_finish(wire, INT64_C(6000) * MS);
	cr_assert_eq(wire->tcp->lost_bytes, call[2] - call[1]);
	wire_check_books(wire);
	wire_free(wire);
}

Test(tcp, fin_with_data_missing)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];

	three_calls(wire, call, reply);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, call[0], call[1] - call[0], 0, 10 * MS);
	wire_send(wire, TO_SERVER, call[2], call[3] - call[2], 0, 12 * MS);
	wire_flags(wire, TO_SERVER, call[3], TCP_FIN | TCP_ACK, 13 * MS);
	wire_send(wire, TO_CLIENT, 0, reply[3], call[3] + 1, 20 * MS);
	wire_flags(wire, TO_CLIENT, reply[3], TCP_FIN | TCP_ACK, 21 * MS);
	wire_wait(wire, 100 * MS);
	wire_finish(wire, 300 * MS);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 2);
	cr_assert_eq(wire->tcp->lost_bytes, call[2] - call[1], "the FIN's number is no byte");
	wire_check_books(wire);
	wire_free(wire);
}

/* The same addresses and ports again: another epoch, whose XIDs mean other calls. */
Test(tcp, row_5_port_reuse)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call = wire_getattr(wire, 7), end = wire->len[TO_SERVER];
	uint32_t reply = wire_getattr_reply(wire, 7), reply_end = wire->len[TO_CLIENT];

	for (int epoch = 0; epoch < 3; epoch++) {
		int64_t base = (1 + 1000 * (int64_t)epoch) * MS;

		wire->isn[TO_SERVER] += 50000;
		wire->isn[TO_CLIENT] -= 90000;
		wire_open(wire, base);
		wire_send(wire, TO_SERVER, call, end - call, 0, base + 1 * MS);
		wire_send(wire, TO_CLIENT, reply, reply_end - reply, end, base + 3 * MS);
	}
	wire_finish(wire, INT64_C(5000) * MS);
	cr_assert_eq(wire->rpc->calls, 3);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 3);
	cr_assert_eq(wire->tcp->connections, 3);
	cr_assert_neq(wire->op[0].connection, wire->op[1].connection);
	wire_check_books(wire);
	wire_free(wire);
}

/* Port reuse whose SYN was not captured: places that cannot be tell. */
Test(tcp, row_5_another_incarnation_without_syn)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[41];

	for (uint32_t i = 0; i < 40; i++)
		call[i] = wire_getattr(wire, 100 + i);
	call[40] = wire->len[TO_SERVER];
	wire_open(wire, 1 * MS);
	for (int i = 0; i < 10; i++)
		wire_send(wire, TO_SERVER, call[i], call[i + 1] - call[i], 0, (10 + i) * MS);
	wire->isn[TO_SERVER] += UINT32_C(0x60000000);
	for (int i = 10; i < 40; i++)
		wire_send(wire, TO_SERVER, call[i], call[i + 1] - call[i], 0, (10 + i) * MS);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire->tcp->connections, 2);
	cr_assert_geq(wire->rpc->calls, 10 + 30 - 4, "a few segments are the price of certainty");
	wire_check_books(wire);
	wire_free(wire);
}

/* The least recently used connection makes room; its calls are evicted, not forgotten. */
Test(tcp, connections_are_capped)
{
	struct wire *wire = wire_new(4, 0);
	uint32_t call = wire_getattr(wire, 7), end = wire->len[TO_SERVER];

	for (uint16_t port = 0; port < 100; port++) {
		wire->client_port = (uint16_t)(600 + port);
		wire_open(wire, (10 + 10 * (int64_t)port) * MS);
		wire_send(wire, TO_SERVER, call, end - call, 0, (11 + 10 * (int64_t)port) * MS);
	}
	wire_finish(wire, INT64_C(2000) * MS);
	cr_assert_eq(wire->tcp->evicted_connections, 96);
	cr_assert_eq(wire->rpc->calls, 100);
	cr_assert_eq(wire->rpc->outcomes[OP_EVICTED], 96);
	wire_check_books(wire);
	wire_free(wire);
}

/* A handshake gives each direction's round trip as the capture point sees it. */
Test(tcp, round_trips)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];

	three_calls(wire, call, reply);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, call[0], call[1] - call[0], 0, 10 * MS);
	wire_ack(wire, TO_CLIENT, 0, call[1], 12 * MS);
	wire_send(wire, TO_CLIENT, reply[0], reply[1] - reply[0], call[1], 20 * MS);
	wire_ack(wire, TO_SERVER, call[1], reply[1], 20 * MS + 5);
	wire_finish(wire, 30 * MS);
	cr_assert_eq(wire->tcp->round_trip[0].count, 2);
	cr_assert_eq(wire->tcp->round_trip[0].min_ns, 1, "the SYN's own, though nobody knew then who calls");
	cr_assert_eq(wire->tcp->round_trip[0].max_ns, 2 * MS);
	cr_assert_eq(wire->tcp->round_trip[1].min_ns, 5);
	cr_assert_eq(wire->tcp->round_trip[1].max_ns, 9 * MS - 1, "the SYN of the other side, acknowledged with the call");
	cr_assert_eq(wire->tcp->unacked_bytes[0], call[1]);
	cr_assert_eq(wire->tcp->unacked_bytes[1], reply[1]);
	cr_assert_eq(wire_op(wire, 1)->path_ns, 1, "the SYN's own");
	wire_free(wire);
}

/* What was under way when the client reset the connection still is the reply. */
Test(tcp, reply_behind_a_reset)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];

	three_calls(wire, call, reply);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, call[0], call[3], 0, 10 * MS);
	wire_send(wire, TO_CLIENT, reply[0], reply[1], call[3], 11 * MS);
	wire_flags(wire, TO_SERVER, call[3], TCP_RST, 12 * MS);
	cr_assert_eq(wire->open_notes, 2, "all but the first one");
	wire_send(wire, TO_CLIENT, reply[1], reply[2] - reply[1], call[3], 12 * MS + 100000);
	wire_wait(wire, 100 * MS);
	/* too late to belong to it, and no connection of its own */
	wire_send(wire, TO_CLIENT, reply[2], reply[3] - reply[2], call[3], 100 * MS);
	wire_finish(wire, 300 * MS);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 2);
	cr_assert_eq(wire_op(wire, 2)->reply_last_ns, 12 * MS + 100000);
	cr_assert_eq(wire_op(wire, 3)->outcome, OP_UNANSWERED);
	cr_assert(wire_op(wire, 3)->flags & OP_CONNECTION_ENDED);
	cr_assert_eq(wire->tcp->connections, 1);
	cr_assert_eq(wire->tcp->lost_bytes, 0);
	wire_check_books(wire);
	wire_free(wire);
}

/* At the sender a hole that a retransmission fills lacked the first copy: the times say so. */
Test(tcp, filled_late)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];

	three_calls(wire, call, reply);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, call[0], call[1] - call[0], 0, 10 * MS);
	wire_send(wire, TO_SERVER, call[2], call[3] - call[2], 0, 11 * MS);
	wire_send(wire, TO_SERVER, call[1], call[2] - call[1], 0, 211 * MS);
	wire_send(wire, TO_CLIENT, 0, reply[3], call[3], 220 * MS);
	wire_finish(wire, 300 * MS);
	cr_assert_not(wire_op(wire, 1)->flags & OP_CALL_TIME_FILLED);
	cr_assert(wire_op(wire, 2)->flags & OP_CALL_TIME_FILLED);
	cr_assert(wire_op(wire, 3)->flags & OP_CALL_TIME_FILLED, "it could not be delivered before");
	cr_assert_not(wire_op(wire, 3)->flags & OP_REPLY_TIME_FILLED);
	wire_free(wire);
}

/* At the sender the path brings nothing out of order; the first packets behind the hole may be missing, too. */
Test(tcp, filled_before_a_round_trip_is_over)
{
	for (unsigned side = 0; side < 2; side++) {
		struct wire *wire = wire_new(0, 0);
		uint32_t call[4], reply[4];
		int64_t there_ns = side == 0 ? MS : MS / 100, back_ns = side == 0 ? MS / 100 : MS;

		three_calls(wire, call, reply);
		wire_open(wire, 1 * MS);
		wire_send(wire, TO_SERVER, call[0], call[1] - call[0], 0, 10 * MS);
		wire_send(wire, TO_CLIENT, reply[0], reply[1] - reply[0], call[1], 10 * MS + there_ns);
		wire_ack(wire, TO_SERVER, call[1], reply[1], 10 * MS + there_ns + back_ns);
		wire_send(wire, TO_SERVER, call[2], call[3] - call[2], reply[1], 20 * MS);
		wire_send(wire, TO_SERVER, call[1], call[2] - call[1], reply[1], 20 * MS + 4 * MS / 10);
		wire_send(wire, TO_CLIENT, reply[1], reply[3] - reply[1], call[3], 30 * MS);
		wire_finish(wire, 40 * MS);
		cr_assert_eq(!!(wire_op(wire, 2)->flags & OP_CALL_TIME_FILLED), side == 0, "side %u", side);
		cr_assert_eq(wire->tcp->retransmitted, side == 0 ? 1 : 0);
		wire_free(wire);
	}
}

/* The same behind another hole, which nothing ever fills. */
Test(tcp, filled_late_behind_a_hole)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];

	three_calls(wire, call, reply);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, call[2], call[3] - call[2], 0, 11 * MS);
	wire_send(wire, TO_SERVER, call[1], call[2] - call[1], 0, 211 * MS);
	wire_send(wire, TO_CLIENT, 0, reply[3], call[3], 220 * MS);
	wire_wait(wire, 250 * MS);
	wire_finish(wire, 300 * MS);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 2);
	cr_assert(wire_op(wire, 2)->flags & OP_CALL_TIME_FILLED);
	cr_assert_eq(wire->tcp->retransmitted, 1);
	cr_assert_eq(wire->tcp->out_of_order, 0);
	wire_free(wire);
}

/* A clock that is set back: no time is that of before the step. */
Test(tcp, clock_set_back)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];

	three_calls(wire, call, reply);
	wire_open(wire, 500 * MS);
	wire_send(wire, TO_SERVER, call[0], call[1] - call[0], 0, 510 * MS);
	wire_send(wire, TO_CLIENT, reply[0], reply[1], call[1], 511 * MS);
	stream_clock_set_back(wire->stream, 100 * MS);
	wire_send(wire, TO_SERVER, call[1], call[2] - call[1], reply[1], 100 * MS);
	wire_send(wire, TO_CLIENT, reply[1], reply[2] - reply[1], call[2], 103 * MS);
	wire_finish(wire, 200 * MS);
	cr_assert_eq(wire_op(wire, 2)->call_last_ns, 100 * MS);
	cr_assert_eq(wire_op(wire, 2)->reply_last_ns, 103 * MS);
	wire_free(wire);
}

/* The same while a piece waits behind a hole: what fills it came last, whatever its stamp. */
Test(tcp, clock_set_back_before_a_hole_is_filled)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], reply[4];

	three_calls(wire, call, reply);
	wire_open(wire, 500 * MS);
	wire_send(wire, TO_SERVER, call[0], call[1] - call[0], 0, 510 * MS);
	wire_send(wire, TO_SERVER, call[2], call[3] - call[2], 0, 520 * MS);
	stream_clock_set_back(wire->stream, 100 * MS);
	wire_send(wire, TO_SERVER, call[1], call[2] - call[1], 0, 100 * MS);
	wire_send(wire, TO_CLIENT, 0, reply[3], call[3], 103 * MS);
	wire_finish(wire, 200 * MS);
	cr_assert_eq(wire_op(wire, 1)->call_last_ns, 510 * MS);
	cr_assert_eq(wire_op(wire, 3)->call_last_ns, 100 * MS);
	wire_free(wire);
}
