/*
 * Record marking, and finding the place again where it was lost.
 */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "stream/wire.h"

enum { MS = 1000000, CALLS = 40 };

/* Sends a stream in segments of at most mss bytes, starting at from, ending at to. */
static void
send_range(struct wire *wire, enum wire_direction direction, uint32_t from, uint32_t to, uint32_t mss, int64_t ts_ns)
{
	for (; from < to; from += mss)
		wire_send(wire, direction, from, MIN(mss, to - from), 0, ts_ns++);
}

/* A mark may come in any two pieces. */
Test(records, split_mark)
{
	for (uint32_t first = 1; first < 4; first++) {
		struct wire *wire = wire_new(0, 0);
		uint32_t second = 0;

		wire_getattr(wire, 1);
		second = wire_getattr(wire, 2);
		wire_getattr_reply(wire, 1);
		wire_getattr_reply(wire, 2);
		wire_open(wire, 1 * MS);
		wire_send(wire, TO_SERVER, 0, second + first, 0, 10 * MS);
		wire_send(wire, TO_SERVER, second + first, wire->len[TO_SERVER] - second - first, 0, 11 * MS);
		wire_send(wire, TO_CLIENT, 0, wire->len[TO_CLIENT], wire->len[TO_SERVER], 20 * MS);
		wire_finish(wire, 30 * MS);
		cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 2);
		cr_assert_eq(wire_op(wire, 2)->call_first_ns, 10 * MS, "with the mark's first byte");
		cr_assert_eq(wire_op(wire, 2)->call_last_ns, 11 * MS);
		wire_free(wire);
	}
}

/* Any segmentation gives the same calls: one byte at a time is the hardest. */
Test(records, every_segment_size)
{
	for (uint32_t mss = 1; mss < 300; mss += mss < 20 ? 1 : 37) {
		struct wire *wire = wire_new(0, 0);

		for (uint32_t xid = 1; xid <= 5; xid++) {
			wire_write(wire, xid, xid * 4096, 100);
			wire_read_reply(wire, xid, 52);
		}
		wire_open(wire, 1 * MS);
		send_range(wire, TO_SERVER, 0, wire->len[TO_SERVER], mss, 10 * MS);
		send_range(wire, TO_CLIENT, 0, wire->len[TO_CLIENT], mss, 20 * MS);
		wire_finish(wire, 30 * MS);
		cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 5, "segments of %u bytes", mss);
		cr_assert_eq(wire_op(wire, 3)->file_offset, 3 * 4096);
		cr_assert(op_has(wire_op(wire, 3), OP_HAS_FILE | OP_HAS_REQUESTED | OP_HAS_STABLE));
		wire_check_books(wire);
		wire_free(wire);
	}
}

/* A record in several fragments, one of them empty (RFC 5531 section 11). */
Test(records, fragments)
{
	struct wire *wire = wire_new(0, 0);
	struct wire *whole = wire_new(0, 0);
	uint32_t len, at = 0;

	wire_write(whole, 1, 8192, 200);
	wire_getattr(whole, 2);
	len = (whole->bytes[TO_SERVER][2] << 8 | whole->bytes[TO_SERVER][3]);
	/* 50 bytes, none, the rest */
	memcpy(wire->bytes[TO_SERVER] + at, "\0\0\0\62", 4);
	memcpy(wire->bytes[TO_SERVER] + at + 4, whole->bytes[TO_SERVER] + 4, 50);
	at += 54;
	memcpy(wire->bytes[TO_SERVER] + at, "\0\0\0\0", 4);
	at += 4;
	wire->bytes[TO_SERVER][at] = 0x80;
	wire->bytes[TO_SERVER][at + 2] = (uint8_t)((len - 50) >> 8);
	wire->bytes[TO_SERVER][at + 3] = (uint8_t)(len - 50);
	memcpy(wire->bytes[TO_SERVER] + at + 4, whole->bytes[TO_SERVER] + 54, whole->len[TO_SERVER] - 54);
	wire->len[TO_SERVER] = at + 4 + whole->len[TO_SERVER] - 54;
	wire_getattr_reply(wire, 1);
	wire_getattr_reply(wire, 2);
	wire_open(wire, 1 * MS);
	send_range(wire, TO_SERVER, 0, wire->len[TO_SERVER], 70, 10 * MS);
	wire_send(wire, TO_CLIENT, 0, wire->len[TO_CLIENT], 0, 20 * MS);
	wire_finish(wire, 30 * MS);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 2);
	cr_assert_eq(wire_op(wire, 1)->print.args_len, len - 40, "both fragments count");
	wire_open(whole, 1 * MS);
	send_range(whole, TO_SERVER, 0, whole->len[TO_SERVER], 1000, 10 * MS);
	wire_finish(whole, 30 * MS);
	cr_assert_eq(wire_op(wire, 1)->print.prefix[0], wire_op(whole, 1)->print.prefix[0], "joined, the same bytes");
	cr_assert_eq(wire_op(wire, 1)->requested_bytes, 200);
	wire_free(wire);
	wire_free(whole);
}

/* Calls and replies one after the other; a range of bytes of one direction is never captured. */
static struct wire *
with_hole(enum wire_direction direction, uint32_t from_call, uint32_t skip, uint32_t len, uint32_t size)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t at[2][CALLS + 1];
	uint32_t hole_from, hole_to;

	for (uint32_t i = 0; i < CALLS; i++) {
		at[TO_SERVER][i] = wire_write(wire, 100 + i, i * 4096, size);
		at[TO_CLIENT][i] = wire_read_reply(wire, 100 + i, size);
	}
	at[TO_SERVER][CALLS] = wire->len[TO_SERVER];
	at[TO_CLIENT][CALLS] = wire->len[TO_CLIENT];
	hole_from = at[direction][from_call] + skip;
	hole_to = hole_from + len;
	wire_open(wire, 1 * MS);
	for (uint32_t i = 0; i < CALLS; i++) {
		for (int d = 0; d < 2; d++) {
			uint32_t from = at[d][i], to = at[d][i + 1];
			int64_t ts_ns = (10 + 10 * (int64_t)i + 5 * d) * MS;

			for (uint32_t piece = from; piece < to; piece += 500) {
				uint32_t end = MIN(piece + 500, to);

				if (d == (int)direction && piece < hole_to && end > hole_from)
					continue;
				wire_send(wire, d, piece, end - piece, d == TO_CLIENT ? at[TO_SERVER][i + 1] :
				    at[TO_CLIENT][i], ts_ns++);
			}
		}
		wire->frame += 40;
	}
	wire_finish(wire, 10000 * (int64_t)MS);
	wire_check_books(wire);
	return wire;
}

Test(records, hole_that_hid_a_call)
{
	struct wire *wire = with_hole(TO_SERVER, 10, 0, 20, 300);

	cr_assert_eq(wire->rpc->calls, CALLS - 1, "only the call in the hole");
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], CALLS - 1);
	cr_assert_eq(wire->rpc->orphan_replies, 1);
	cr_assert_eq(wire->tcp->resyncs, 1);
	wire_free(wire);
}

Test(records, hole_that_hid_a_reply)
{
	struct wire *wire = with_hole(TO_CLIENT, 10, 0, 20, 300);

	cr_assert_eq(wire->rpc->calls, CALLS);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], CALLS - 1);
	cr_assert_eq(wire->rpc->outcomes[OP_LOST_IN_CAPTURE], 1, "never called unanswered");
	wire_free(wire);
}

/* The rest of a large payload follows the hole: it is searched, and is no message. */
Test(records, hole_in_front_of_a_large_payload)
{
	for (int direction = 0; direction < 2; direction++) {
		struct wire *wire = with_hole(direction, 10, 0, 20, 9000);

		cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], CALLS - 1);
		wire_free(wire);
	}
}

/* Payload full of perfect copies of other records, chained: none of them is a call or a reply. */
Test(records, fakes_in_the_payload)
{
	for (int direction = 0; direction < 2; direction++) {
		struct wire *fakes = wire_new(0, 0);
		struct wire *wire = wire_new(0, 0);
		uint32_t at[CALLS + 1], reply[CALLS + 1], hole;

		for (uint32_t i = 0; i < 20; i++) {
			wire_getattr(fakes, 100 + i);
			wire_getattr_reply(fakes, 100 + i);
		}
		for (uint32_t i = 0; i < CALLS; i++) {
			at[i] = wire_write(wire, 100 + i, i * 4096, 4000);
			memcpy(wire->bytes[TO_SERVER] + wire->len[TO_SERVER] - 3990, fakes->bytes[TO_SERVER],
			    MIN(fakes->len[TO_SERVER], 3900));
			reply[i] = wire_read_reply(wire, 100 + i, 4000);
			memcpy(wire->bytes[TO_CLIENT] + wire->len[TO_CLIENT] - 3990, fakes->bytes[TO_CLIENT],
			    MIN(fakes->len[TO_CLIENT], 3900));
		}
		at[CALLS] = wire->len[TO_SERVER];
		reply[CALLS] = wire->len[TO_CLIENT];
		hole = 10;
		wire_open(wire, 1 * MS);
		for (uint32_t i = 0; i < CALLS; i++) {
			uint32_t skip_call = direction == TO_SERVER && i == hole ? 500 : 0;
			uint32_t skip_reply = direction == TO_CLIENT && i == hole ? 500 : 0;

			send_range(wire, TO_SERVER, at[i] + skip_call, at[i + 1], 1448, (10 + 10 * (int64_t)i) * MS);
			wire_ack(wire, TO_CLIENT, reply[i], at[i + 1], (11 + 10 * (int64_t)i) * MS);
			send_range(wire, TO_CLIENT, reply[i] + skip_reply, reply[i + 1], 1448, (15 + 10 * (int64_t)i) * MS);
			wire_ack(wire, TO_SERVER, at[i + 1], reply[i + 1], (16 + 10 * (int64_t)i) * MS);
			wire->frame += 64;
		}
		wire_finish(wire, 1000 * MS);
		cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], CALLS - 1, "direction %d: %d answered", direction,
		    (int)wire->rpc->outcomes[OP_ANSWERED]);
		for (uint32_t i = 0; i < CALLS; i++)
			if (i != hole)
				cr_assert_eq(wire_op(wire, 100 + i)->procedure, 7, "direction %d", direction);
		wire_check_books(wire);
		wire_free(wire);
		wire_free(fakes);
	}
}

/* A capture that starts in the middle of records, in the middle of a connection. */
Test(records, mid_stream)
{
	for (uint32_t skip = 0; skip < 690; skip += 41) {
		struct wire *wire = wire_new(0, 0);
		uint32_t call[CALLS + 1], reply[CALLS + 1];

		for (uint32_t i = 0; i < CALLS; i++) {
			call[i] = wire_write(wire, 100 + i, i * 4096, 300);
			reply[i] = wire_read_reply(wire, 100 + i, 300);
		}
		call[CALLS] = wire->len[TO_SERVER];
		reply[CALLS] = wire->len[TO_CLIENT];
		for (uint32_t i = 2; i < CALLS; i++) {
			uint32_t back = i == 2 ? skip : 0;

			wire_send(wire, TO_SERVER, call[i] - back, call[i + 1] - call[i] + back, reply[i], (10 * (int64_t)i) * MS);
			wire_send(wire, TO_CLIENT, reply[i] - back, reply[i + 1] - reply[i] + back, call[i + 1],
			    (5 + 10 * (int64_t)i) * MS);
		}
		wire_finish(wire, 1000 * MS);
		cr_assert_geq(wire->rpc->outcomes[OP_ANSWERED], CALLS - 2, "skip %u", skip);
		cr_assert_eq(wire_op(wire, 102)->call_first_ns, 20 * MS);
		cr_assert_eq(wire->rpc->outcomes[OP_UNANSWERED], 0);
		wire_check_books(wire);
		wire_free(wire);
	}
}

/* Frames that hold several records, cut after the first: what was hidden is not called loss. */
Test(records, later_marks_cut_away)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[CALLS + 1];

	wire->snaplen = 90;	/* a call of 80 bytes, and 10 of the next: not enough to know it */
	for (uint32_t i = 0; i < CALLS; i++) {
		call[i] = wire_getattr(wire, 100 + i);
		wire_getattr_reply(wire, 100 + i);
	}
	call[CALLS] = wire->len[TO_SERVER];
	wire_open(wire, 1 * MS);
	for (uint32_t i = 0; i < CALLS; i += 4) {
		wire_send(wire, TO_SERVER, call[i], call[i + 4] - call[i], 0, (10 + (int64_t)i) * MS);
		for (uint32_t r = i; r < i + 4; r++)
			wire_send(wire, TO_CLIENT, r * 116, 116, call[i + 4], (11 + (int64_t)i) * MS);
	}
	wire_finish(wire, 1000 * MS);
	cr_assert_eq(wire->tcp->lost_bytes, 0);
	cr_assert_eq(wire->rpc->outcomes[OP_UNANSWERED], 0);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], CALLS / 4, "the first of each frame");
	cr_assert_eq(wire->rpc->orphan_replies, CALLS - CALLS / 4);
	cr_assert_geq(wire->tcp->hidden_records, CALLS / 4 - 1);
	wire_check_books(wire);
	wire_free(wire);
}

/* Lengths that no record has: the place is lost, and found again behind them. */
Test(records, lying_marks)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t first = wire_getattr(wire, 1), lie, call[11];

	lie = wire_append(wire, TO_SERVER, 0xff, 40);
	for (uint32_t i = 0; i < 10; i++)
		call[i] = wire_getattr(wire, 10 + i);
	call[10] = wire->len[TO_SERVER];
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, first, lie, 0, 10 * MS);
	wire_send(wire, TO_SERVER, lie, 40, 0, 11 * MS);
	for (int i = 0; i < 10; i++)
		wire_send(wire, TO_SERVER, call[i], call[i + 1] - call[i], 0, (20 + i) * MS);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire->rpc->calls, 11);
	wire_check_books(wire);
	wire_free(wire);
}

/* Another port and other content: not RPC, and cheap; RPC on it is found by content. */
Test(records, by_content_on_any_port)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t call[4], noise;

	wire->server_port = 12049;
	noise = wire_append(wire, TO_SERVER, 'x', 5000);
	for (uint32_t i = 0; i < 3; i++)
		call[i] = wire_getattr(wire, 10 + i);
	call[3] = wire->len[TO_SERVER];
	send_range(wire, TO_SERVER, noise, 5000, 500, 5 * MS);
	cr_assert_eq(wire->tcp->discarded_bytes, 5000);
	for (int i = 0; i < 3; i++)
		wire_send(wire, TO_SERVER, call[i], call[i + 1] - call[i], 0, (10 + i) * MS);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire->rpc->calls, 3);
	wire_check_books(wire);
	wire_free(wire);
}
