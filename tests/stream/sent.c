/*
 * What a capture point tells of bytes that came more than once, late, or not
 * at all.
 */
#include <criterion/criterion.h>
#include <glib.h>

#include "stream/wire.h"

enum { MS = 1000000, SEGMENT = 1000, WRITE_BYTES = 9000 };

/* A WRITE in segments of 1000 bytes, a millisecond apart from from_ms on; those of the mask are not captured. */
static uint32_t
send_write(struct wire *wire, uint32_t mask, int64_t from_ms)
{
	uint32_t begin = wire_write(wire, 1, 0, WRITE_BYTES);
	uint32_t end = wire->len[TO_SERVER];

	for (uint32_t i = 0; begin + i * SEGMENT < end; i++)
		if (!(mask >> i & 1))
			wire_send(wire, TO_SERVER, begin + i * SEGMENT, MIN(SEGMENT, end - begin - i * SEGMENT), 0,
			    (from_ms + i) * MS);
	return begin;
}

static void
assert_event(const struct wire *wire, unsigned number, enum tcp_event_kind kind, int64_t offset, uint32_t len,
    int64_t from_ns, int64_t to_ns)
{
	const struct tcp_event *event = &wire->event[number];

	cr_assert_lt(number, wire->events);
	cr_assert_eq(event->kind, kind);
	cr_assert_eq(event->offset, offset);
	cr_assert_eq(event->len, len);
	cr_assert_eq(event->from_ns, from_ns);
	cr_assert_eq(event->to_ns, to_ns);
	cr_assert_eq(event->connection, 1);
}

Test(sent, nothing_came_twice)
{
	struct wire *wire = wire_new(0, 0);

	wire_open(wire, 1 * MS);
	send_write(wire, 0, 10);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire->events, 0);
	wire_free(wire);
}

/* At the sender: each copy is set against the first, whatever came in between. */
Test(sent, copies_have_the_time_of_the_first)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t begin;

	wire_open(wire, 1 * MS);
	begin = send_write(wire, 0, 10);
	wire_send(wire, TO_SERVER, begin + 2 * SEGMENT, SEGMENT, 0, 40 * MS);
	wire_send(wire, TO_SERVER, begin + 2 * SEGMENT, SEGMENT, 0, 80 * MS);
	/* one segment of what had been two halves */
	wire_send(wire, TO_SERVER, begin + 4 * SEGMENT + 500, SEGMENT, 0, 90 * MS);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire->events, 4);
	assert_event(wire, 0, TCP_REPEATED, begin + 2 * SEGMENT, SEGMENT, 12 * MS, 40 * MS);
	assert_event(wire, 1, TCP_REPEATED, begin + 2 * SEGMENT, SEGMENT, 12 * MS, 80 * MS);
	assert_event(wire, 2, TCP_REPEATED, begin + 4 * SEGMENT + 500, 500, 14 * MS, 90 * MS);
	assert_event(wire, 3, TCP_REPEATED, begin + 5 * SEGMENT, 500, 15 * MS, 90 * MS);
	wire_free(wire);
}

/* At the receiver: a hole that a retransmission fills, and what the retransmission repeats. */
Test(sent, hole_is_filled)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t begin;

	wire_open(wire, 1 * MS);
	begin = send_write(wire, 1 << 3 | 1 << 4, 10);
	wire_ack(wire, TO_CLIENT, 0, begin + 3 * SEGMENT, 20 * MS);
	wire_send(wire, TO_SERVER, begin + 3 * SEGMENT, 2 * SEGMENT + 300, 0, 60 * MS);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire->events, 2);
	assert_event(wire, 0, TCP_REPEATED, begin + 5 * SEGMENT, 300, 15 * MS, 60 * MS);
	assert_event(wire, 1, TCP_FILLED, begin + 3 * SEGMENT, 2 * SEGMENT, 60 * MS, 60 * MS);
	wire_free(wire);
}

/* Acknowledged and not captured: the capture's loss, not the network's. */
Test(sent, unseen)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t begin;

	wire_open(wire, 1 * MS);
	begin = send_write(wire, 1 << 3, 10);
	wire_ack(wire, TO_CLIENT, 0, begin + 6 * SEGMENT, 20 * MS);
	wire_wait(wire, 60 * MS);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire->events, 1);
	assert_event(wire, 0, TCP_UNSEEN, begin + 3 * SEGMENT, SEGMENT, 14 * MS, wire->event[0].to_ns);
	wire_free(wire);
}

/* Of a long window that is not acknowledged, the first piece is still known; of what is acknowledged, the last ones. */
Test(sent, remembers_what_is_not_acknowledged)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t begin, end;

	wire_open(wire, 1 * MS);
	begin = wire_write(wire, 1, 0, 300000);
	end = wire->len[TO_SERVER];
	for (uint32_t i = 0; begin + i * SEGMENT < end; i++)
		wire_send(wire, TO_SERVER, begin + i * SEGMENT, MIN(SEGMENT, end - begin - i * SEGMENT), 0,
		    (10 + i) * MS);
	wire_send(wire, TO_SERVER, begin, SEGMENT, 0, 900 * MS);
	wire_ack(wire, TO_CLIENT, 0, end, 901 * MS);
	begin = wire_write(wire, 2, 0, 600000);
	end = wire->len[TO_SERVER];
	for (uint32_t i = 0; begin + i * SEGMENT < end; i++) {
		wire_send(wire, TO_SERVER, begin + i * SEGMENT, MIN(SEGMENT, end - begin - i * SEGMENT), 0,
		    (1000 + i) * MS);
		wire_ack(wire, TO_CLIENT, 0, MIN(begin + (i + 1) * SEGMENT, end), (1000 + i) * MS);
	}
	wire_send(wire, TO_SERVER, begin, SEGMENT, 0, 2000 * MS);
	wire_finish(wire, 3000 * (int64_t)MS);
	cr_assert_eq(wire->events, 2);
	assert_event(wire, 0, TCP_REPEATED, 0, SEGMENT, 10 * MS, 900 * MS);
	assert_event(wire, 1, TCP_REPEATED, begin, SEGMENT, INT64_MIN, 2000 * MS);
	wire_free(wire);
}

/* A copy that was overtaken may come when its connection is over. */
Test(sent, copy_behind_the_end)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t begin, end;

	wire_open(wire, 1 * MS);
	begin = send_write(wire, 0, 10);
	end = wire->len[TO_SERVER];
	wire_ack(wire, TO_CLIENT, 0, end, 30 * MS);
	wire_flags(wire, TO_SERVER, end, TCP_FIN, 40 * MS);
	wire_flags(wire, TO_CLIENT, 0, TCP_FIN, 41 * MS);
	wire_send(wire, TO_SERVER, begin + SEGMENT, SEGMENT, 0, 45 * MS);
	wire_finish(wire, 100 * MS);
	cr_assert_eq(wire->events, 1);
	assert_event(wire, 0, TCP_REPEATED, begin + SEGMENT, SEGMENT, INT64_MIN, 45 * MS);
	wire_free(wire);
}
