/*
 * What a client keeps its server waiting for, as the client's capture shows it.
 * The round trip is 2 ms, segments have 1000 bytes.
 */
#include <criterion/criterion.h>
#include <glib.h>

#include "stream/wire.h"

enum { MS = 1000000, SEGMENT = 1000, BYTES = 4000, OPEN = 60000 };

static struct wire *
client_wire(void)
{
	struct wire *wire = wire_new(0, 0);

	wire->window[TO_SERVER] = wire->window[TO_CLIENT] = OPEN;
	wire->syn_answer_ns = 2 * MS;
	return wire;
}

/* A segment of a record that begins at begin. */
static void
send_segment(struct wire *wire, enum wire_direction direction, uint32_t begin, unsigned number, uint32_t ack, int64_t ms)
{
	uint32_t offset = begin + number * SEGMENT;

	wire_send(wire, direction, offset, MIN(SEGMENT, wire->len[direction] - offset), ack, ms * MS);
}

/* The client's ACK of so many segments of the reply, with a window. */
static void
client_acks(struct wire *wire, uint32_t call_end, uint32_t acked, uint16_t window, int64_t ms)
{
	wire->window[TO_SERVER] = window;
	wire_ack(wire, TO_SERVER, call_end, acked, ms * MS);
	wire->window[TO_SERVER] = OPEN;
}

/* Ends the connection; the call's client_ns, -1: not known. */
static int64_t
client_ns(struct wire *wire)
{
	const struct nfs_op *op;
	int64_t ns;

	wire_finish(wire, 5000 * (int64_t)MS);
	op = wire_op(wire, 1);
	cr_assert_eq(op->outcome, OP_ANSWERED);
	ns = op_has(op, OP_HAS_CLIENT) ? op->client_ns : -1;
	wire_free(wire);
	return ns;
}

/* The call at 10 ms and the first two of the reply's five segments at 20 and 21 ms. */
static uint32_t
begin_read(struct wire *wire, uint32_t *reply)
{
	uint32_t call_end;

	wire_read(wire, 1, 0, BYTES);
	call_end = wire->len[TO_SERVER];
	*reply = wire_read_reply(wire, 1, BYTES);
	wire_send(wire, TO_SERVER, 0, call_end, 0, 10 * MS);
	send_segment(wire, TO_CLIENT, *reply, 0, call_end, 20);
	send_segment(wire, TO_CLIENT, *reply, 1, call_end, 21);
	return call_end;
}

static void
end_read(struct wire *wire, uint32_t call_end, uint32_t reply, int64_t ms)
{
	for (unsigned i = 2; i < 5; i++)
		send_segment(wire, TO_CLIENT, reply, i, call_end, ms + i - 2);
}

Test(waits, nothing)
{
	struct wire *wire = client_wire();
	uint32_t reply, call_end;

	wire_open(wire, 1 * MS);
	call_end = begin_read(wire, &reply);
	client_acks(wire, call_end, reply + 2 * SEGMENT, OPEN, 21);
	/* the server took its time: nobody but itself kept it waiting */
	end_read(wire, call_end, reply, 60);
	cr_assert_eq(client_ns(wire), 0);
}

Test(waits, window_without_room)
{
	struct wire *wire = client_wire();
	uint32_t reply, call_end;

	wire_open(wire, 1 * MS);
	call_end = begin_read(wire, &reply);
	client_acks(wire, call_end, reply + 2 * SEGMENT, 0, 22);
	client_acks(wire, call_end, reply + 2 * SEGMENT, 900, 40);
	client_acks(wire, call_end, reply + 2 * SEGMENT, OPEN, 52);
	end_read(wire, call_end, reply, 54);
	cr_assert_eq(client_ns(wire), 30 * MS);
}

/* What came in after the announcement was room enough until then. */
Test(waits, window_counts_from_the_last_segment_on)
{
	struct wire *wire = client_wire();
	uint32_t reply, call_end;

	wire_open(wire, 1 * MS);
	call_end = begin_read(wire, &reply);
	client_acks(wire, call_end, reply + SEGMENT, 1500, 22);
	send_segment(wire, TO_CLIENT, reply, 2, call_end, 25);
	client_acks(wire, call_end, reply + 3 * SEGMENT, OPEN, 52);
	send_segment(wire, TO_CLIENT, reply, 3, call_end, 54);
	send_segment(wire, TO_CLIENT, reply, 4, call_end, 55);
	cr_assert_eq(client_ns(wire), 27 * MS);
}

Test(waits, window_is_scaled)
{
	struct wire *wire = client_wire();
	uint32_t reply, call_end;

	wire->scaled = true;
	wire->window_scale = 4;
	wire_open(wire, 1 * MS);
	call_end = begin_read(wire, &reply);
	client_acks(wire, call_end, reply + 2 * SEGMENT, 100, 22);
	client_acks(wire, call_end, reply + 2 * SEGMENT, OPEN, 52);
	end_read(wire, call_end, reply, 54);
	cr_assert_eq(client_ns(wire), 0, "1600 bytes are room for a segment");

	wire = client_wire();
	wire->scaled = true;
	wire->window_scale = 4;
	wire_open(wire, 1 * MS);
	call_end = begin_read(wire, &reply);
	client_acks(wire, call_end, reply + 2 * SEGMENT, 60, 22);
	client_acks(wire, call_end, reply + 2 * SEGMENT, OPEN, 52);
	end_read(wire, call_end, reply, 54);
	cr_assert_eq(client_ns(wire), 30 * MS);
}

/* Between records there may be nothing to send. */
Test(waits, window_between_replies)
{
	struct wire *wire = client_wire();
	uint32_t reply, call_end;

	wire_open(wire, 1 * MS);
	call_end = begin_read(wire, &reply);
	end_read(wire, call_end, reply, 22);
	client_acks(wire, call_end, wire->len[TO_CLIENT], 0, 25);
	wire_getattr(wire, 2);
	wire_send(wire, TO_SERVER, call_end, wire->len[TO_SERVER] - call_end, wire->len[TO_CLIENT], 30 * MS);
	reply = wire_getattr_reply(wire, 2);
	client_acks(wire, wire->len[TO_SERVER], reply, OPEN, 52);
	wire_send(wire, TO_CLIENT, reply, wire->len[TO_CLIENT] - reply, wire->len[TO_SERVER], 54 * MS);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire_op(wire, 1)->client_ns, 0);
	cr_assert_eq(wire_op(wire, 2)->client_ns, 0);
	wire_free(wire);
}

/* The server went on a round trip after the ACK: that is what it had waited for. */
Test(waits, acknowledgement_withheld)
{
	struct wire *wire = client_wire();
	uint32_t reply, call_end;

	wire_open(wire, 1 * MS);
	call_end = begin_read(wire, &reply);
	client_acks(wire, call_end, reply + 2 * SEGMENT, OPEN, 61);
	end_read(wire, call_end, reply, 63);
	cr_assert_eq(client_ns(wire), 40 * MS);
}

/* It went on much later, or the ACK came within a round trip: that was not what it waited for. */
Test(waits, acknowledgement_that_nobody_waited_for)
{
	struct wire *wire = client_wire();
	uint32_t reply, call_end;

	wire_open(wire, 1 * MS);
	call_end = begin_read(wire, &reply);
	client_acks(wire, call_end, reply + 2 * SEGMENT, OPEN, 61);
	end_read(wire, call_end, reply, 70);
	cr_assert_eq(client_ns(wire), 0);

	wire = client_wire();
	wire_open(wire, 1 * MS);
	call_end = begin_read(wire, &reply);
	client_acks(wire, call_end, reply + 2 * SEGMENT, OPEN, 23);
	end_read(wire, call_end, reply, 25);
	cr_assert_eq(client_ns(wire), 0);
}

/* Only part of what came was acknowledged: the rest may have been what the server waited for. */
Test(waits, acknowledgement_of_a_part)
{
	struct wire *wire = client_wire();
	uint32_t reply, call_end;

	wire_open(wire, 1 * MS);
	call_end = begin_read(wire, &reply);
	client_acks(wire, call_end, reply + SEGMENT, OPEN, 61);
	end_read(wire, call_end, reply, 63);
	cr_assert_eq(client_ns(wire), 0);
}

/* A WRITE of five segments, two of them at 10 and 11 ms, acknowledged at 13 ms with a window, the rest from ms on. */
static int64_t
write_with_a_pause(uint32_t acked, uint16_t server_window, int64_t ms)
{
	struct wire *wire = client_wire();
	uint32_t call = wire_write(wire, 1, 0, BYTES), call_end = wire->len[TO_SERVER], reply;

	wire_open(wire, 1 * MS);
	send_segment(wire, TO_SERVER, call, 0, 0, 10);
	send_segment(wire, TO_SERVER, call, 1, 0, 11);
	wire->window[TO_CLIENT] = server_window;
	wire_ack(wire, TO_CLIENT, 0, call + acked, 13 * MS);
	wire->window[TO_CLIENT] = OPEN;
	for (unsigned i = 2; i < 5; i++)
		send_segment(wire, TO_SERVER, call, i, 0, ms + i - 2);
	reply = wire_getattr_reply(wire, 1);
	wire_send(wire, TO_CLIENT, reply, wire->len[TO_CLIENT] - reply, call_end, 100 * MS);
	return client_ns(wire);
}

Test(waits, pause_inside_a_call)
{
	cr_assert_eq(write_with_a_pause(2 * SEGMENT, OPEN, 53), 40 * MS);
	cr_assert_eq(write_with_a_pause(2 * SEGMENT, OPEN, 14), 0, "within a round trip");
	cr_assert_eq(write_with_a_pause(SEGMENT, OPEN, 53), 0, "something was not acknowledged");
	cr_assert_eq(write_with_a_pause(2 * SEGMENT, 500, 53), 0, "the server's window was shut");
}

/* Without SYNs the scale is not known, and a window may have room or not; one of zero has none. */
Test(waits, scale_that_is_not_known)
{
	struct wire *wire = client_wire();
	uint32_t reply, call, call_end;

	wire_getattr(wire, 7);
	wire_getattr_reply(wire, 7);
	wire_send(wire, TO_SERVER, 0, wire->len[TO_SERVER], 0, 1 * MS);
	wire_send(wire, TO_CLIENT, 0, wire->len[TO_CLIENT], wire->len[TO_SERVER], 3 * MS);
	wire_ack(wire, TO_SERVER, wire->len[TO_SERVER], wire->len[TO_CLIENT], 3 * MS);
	call = wire_read(wire, 1, 0, BYTES);
	call_end = wire->len[TO_SERVER];
	wire_send(wire, TO_SERVER, call, call_end - call, wire->len[TO_CLIENT], 10 * MS);
	reply = wire_read_reply(wire, 1, BYTES);
	send_segment(wire, TO_CLIENT, reply, 0, call_end, 20);
	client_acks(wire, call_end, reply + SEGMENT, 500, 20);
	send_segment(wire, TO_CLIENT, reply, 1, call_end, 50);
	end_read(wire, call_end, reply, 51);
	cr_assert_eq(client_ns(wire), -1);
}

/* Stamps that leap by a century and come back: what they add up to has no room, and is not below zero. */
Test(waits, centuries)
{
	const int64_t century_ns = INT64_C(3000000000) * 1000 * MS;
	struct wire *wire = client_wire();

	wire_open(wire, 1 * MS);
	for (uint32_t xid = 1; xid <= 5; xid++) {
		uint32_t call = wire->len[TO_SERVER], reply, call_end;

		wire_read(wire, xid, 0, BYTES);
		call_end = wire->len[TO_SERVER];
		reply = wire_read_reply(wire, xid, BYTES);
		wire_send(wire, TO_SERVER, call, call_end - call, reply, 10 * MS);
		send_segment(wire, TO_CLIENT, reply, 0, call_end, 20);
		send_segment(wire, TO_CLIENT, reply, 1, call_end, 21);
		client_acks(wire, call_end, reply + 2 * SEGMENT, 0, 22);
		wire_ack(wire, TO_SERVER, call_end, reply + 2 * SEGMENT, century_ns);
		for (unsigned i = 2; i < 5; i++)
			send_segment(wire, TO_CLIENT, reply, i, call_end, century_ns / MS + i);
	}
	wire_finish(wire, century_ns + 5000 * (int64_t)MS);
	for (uint32_t xid = 1; xid <= 5; xid++)
		cr_assert_geq(wire_op(wire, xid)->client_ns, 0, "call %u", xid);
	wire_free(wire);
}
