/*
 * Packets of a file back in the order of their stamps.
 */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "capture/reorder.h"

enum { MS = 1000000, PACKETS = 300 };

/* Into the room, where nothing waits yet. */
static void
put(struct reorder *reorder, const struct packet *packet)
{
	unsigned places;

	*reorder_room(reorder, &places) = *packet;
	cr_assert_geq(places, 1);
	cr_assert_eq(reorder_push(reorder, 1, false), 1);
}

static void
push(struct reorder *reorder, int64_t ts_ns, uint64_t frame)
{
	uint8_t data[8] = { (uint8_t)frame };
	struct packet packet = { .ts_ns = ts_ns, .frame = frame, .cap_len = sizeof data, .wire_len = 100, .data = data };

	put(reorder, &packet);
	reorder_gone(reorder, data, data + sizeof data);
	memset(data, 0xff, sizeof data);
}

struct out {
	unsigned count, steps;
	int64_t ts_ns[PACKETS];
	uint64_t frame[PACKETS];
};

static void
take(struct reorder *reorder, int64_t until_ns, struct out *out)
{
	const struct packet *packets;
	unsigned count;
	bool stepped;

	while (packets = reorder_pop(reorder, until_ns, &count, &stepped), count > 0) {
		out->steps += stepped;
		for (unsigned i = 0; i < count; i++) {
			cr_assert_lt(out->count, PACKETS);
			cr_assert_eq(packets[i].data[0], (uint8_t)packets[i].frame, "the bytes go with their packet");
			out->ts_ns[out->count] = packets[i].ts_ns;
			out->frame[out->count++] = packets[i].frame;
		}
	}
}

/* Bytes that go while their packets are still in the room, one of them out of order, so that copies change places. */
Test(reorder, packets_are_kept_in_the_room)
{
	static const int64_t ts_ms[] = { 10, 12, 11, 13 };
	struct reorder *reorder = reorder_new();
	struct out out = { 0 };
	unsigned places, taken = 0;

	for (unsigned round = 0; round < 2; round++) {
		struct packet *room = reorder_room(reorder, &places);

		cr_assert_geq(places, G_N_ELEMENTS(ts_ms));
		for (unsigned i = 0; i < G_N_ELEMENTS(ts_ms); i++) {
			uint8_t data[64] = { (uint8_t)ts_ms[i] };

			room[i] = (struct packet){ .ts_ns = (100 * round + ts_ms[i]) * MS, .frame = (uint64_t)ts_ms[i],
				.cap_len = round > 0 ? sizeof data : 1, .data = data };
			reorder_keep(reorder, i);
			memset(data, 0xff, sizeof data);
		}
		for (taken = 0; taken < G_N_ELEMENTS(ts_ms); taken += reorder_push(reorder, G_N_ELEMENTS(ts_ms) - taken, false))
			continue;
	}
	take(reorder, REORDER_DRAIN, &out);
	cr_assert_eq(out.count, 2 * G_N_ELEMENTS(ts_ms));
	for (unsigned i = 0; i < out.count; i++)
		cr_expect_eq(out.frame[i], 10 + i % G_N_ELEMENTS(ts_ms));
	reorder_free(reorder);
}

/* Blocks in reverse: within the window of packets and time all come out in order. */
Test(reorder, blocks_in_reverse)
{
	enum { BLOCK = 60, APART_NS = 30000 };
	struct reorder *reorder = reorder_new();
	struct out out = { 0 };

	for (unsigned i = 0; i < PACKETS; i++) {
		unsigned at = i / BLOCK * BLOCK + (BLOCK - 1 - i % BLOCK);

		push(reorder, 1000 * (int64_t)MS + at * (int64_t)APART_NS, at + 1);
		take(reorder, REORDER_NOW, &out);
	}
	take(reorder, REORDER_DRAIN, &out);
	cr_assert_eq(out.count, PACKETS);
	cr_assert_eq(out.steps, 0);
	for (unsigned i = 0; i < PACKETS; i++)
		cr_assert_eq(out.frame[i], i + 1);
	reorder_free(reorder);
}

/* Equal stamps stay in the order of the file; nothing waits longer than the window. */
Test(reorder, equal_stamps_and_no_longer_than_needed)
{
	struct reorder *reorder = reorder_new();
	struct out out = { 0 };

	for (uint64_t frame = 1; frame <= 10; frame++)
		push(reorder, 5 * MS, frame);
	take(reorder, REORDER_NOW, &out);
	cr_assert_eq(out.count, 0, "one stamped earlier may still come");
	push(reorder, 5 * MS + REORDER_NS + 1, 11);
	take(reorder, REORDER_NOW, &out);
	cr_assert_eq(out.count, 10);
	for (unsigned i = 0; i < 10; i++)
		cr_assert_eq(out.frame[i], i + 1);
	take(reorder, REORDER_DRAIN, &out);
	cr_assert_eq(out.count, 11);
	reorder_free(reorder);
}

/* A clock that was set back is no disorder: packets in front of the step and behind it do not mix. */
Test(reorder, clock_set_back)
{
	struct reorder *reorder = reorder_new();
	struct out out = { 0 };

	push(reorder, 500 * MS, 1);
	push(reorder, 500 * MS + 10, 2);
	push(reorder, 100 * MS, 3);
	push(reorder, 100 * MS + 20, 5);
	push(reorder, 100 * MS + 10, 4);
	take(reorder, REORDER_DRAIN, &out);
	cr_assert_eq(out.count, 5);
	cr_assert_eq(out.steps, 1);
	for (unsigned i = 0; i < 5; i++)
		cr_assert_eq(out.frame[i], i + 1);
	reorder_free(reorder);
}

/* Packets lie where their source has them until they go there, in whole or in part; then they are copied. */
Test(reorder, bytes_that_go)
{
	struct reorder *reorder = reorder_new();
	uint8_t data[40];
	const struct packet *packet;
	unsigned count;
	bool stepped;

	for (unsigned i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)i;
	for (unsigned i = 0; i < 4; i++) {
		struct packet pushed = { .ts_ns = i, .frame = i + 1, .cap_len = 10, .wire_len = 10, .data = data + 10 * i };

		put(reorder, &pushed);
	}
	reorder_gone(reorder, data + 5, data + 20);
	packet = reorder_pop(reorder, REORDER_DRAIN, &count, &stepped);
	cr_assert_eq(count, 4);
	for (unsigned i = 0; i < 4; i++) {
		cr_assert_eq(packet[i].data == data + 10 * i, i >= 2, "packet %u", i);
		for (unsigned at = 0; at < 10; at++)
			cr_assert_eq(packet[i].data[at], 10 * i + at);
	}
	reorder_free(reorder);
}

/* More room than any packet before needed. */
Test(reorder, growing_packets)
{
	struct reorder *reorder = reorder_new();
	const struct packet *packet;
	unsigned count;
	bool stepped;
	static uint8_t data[70000];

	for (uint32_t size = 0; size < sizeof data; size += 9973) {
		struct packet pushed = { .ts_ns = size, .frame = size + 1, .cap_len = size, .wire_len = size, .data = data };

		data[size] = (uint8_t)size;
		put(reorder, &pushed);
		reorder_gone(reorder, data, data + sizeof data);
	}
	packet = reorder_pop(reorder, REORDER_DRAIN, &count, &stepped);
	cr_assert_eq(count, (sizeof data - 1) / 9973 + 1);
	for (uint32_t size = 0; size < sizeof data; size += 9973, packet++) {
		cr_assert_eq(packet->cap_len, size);
		if (size > 9973)
			cr_assert_eq(packet->data[size - 9973], (uint8_t)(size - 9973));
	}
	reorder_pop(reorder, REORDER_DRAIN, &count, &stepped);
	cr_assert_eq(count, 0);
	reorder_free(reorder);
}

/* Stamps of every kind of disorder, the clock set back too. */
static int64_t
next_stamp(GRand *rand, int64_t ts_ns)
{
	switch (g_rand_int_range(rand, 0, 12)) {
	case 0:
		return ts_ns - g_rand_int_range(rand, 0, 100000);
	case 1:
		return ts_ns - g_rand_int_range(rand, 0, 3 * MS);
	case 2:
		return ts_ns + g_rand_int_range(rand, 0, 3 * MS);
	case 3:
		return ts_ns;
	default:
		return ts_ns + g_rand_int_range(rand, 0, 50000);
	}
}

/* Takes what is in the room as the pipeline does. */
static void
push_room(struct reorder *reorder, unsigned count, bool in_order, struct out *out)
{
	while (count > 0) {
		count -= reorder_push(reorder, count, in_order);
		take(reorder, REORDER_NOW, out);
	}
}

/* It does not matter how many are pushed at once, and whether it is known that they are in order. */
Test(reorder, one_by_one_or_many)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(1);

	for (unsigned run = 0; run < 300; run++) {
		struct reorder *one = reorder_new(), *many = reorder_new();
		struct out by_one = { 0 }, by_many = { 0 };
		uint8_t data[PACKETS];
		int64_t ts_ns = 1000 * (int64_t)MS, newest_ns = ts_ns;

		for (unsigned i = 0; i < PACKETS;) {
			unsigned places, count;
			bool in_order = true;
			struct packet *room = reorder_room(many, &places);

			count = (unsigned)g_rand_int_range(rand, 1, (gint32)places + 1);
			count = MIN(count, PACKETS - i);
			for (unsigned at = 0; at < count; at++, i++) {
				ts_ns = next_stamp(rand, ts_ns);
				in_order &= ts_ns >= newest_ns;
				newest_ns = MAX(newest_ns, ts_ns);
				data[i] = (uint8_t)(i + 1);
				room[at] = (struct packet){ .ts_ns = ts_ns, .frame = i + 1, .cap_len = 1, .wire_len = 1, .data = data + i };
				put(one, &room[at]);
				take(one, REORDER_NOW, &by_one);
			}
			push_room(many, count, in_order, &by_many);
			cr_assert_eq(by_one.count, by_many.count, "run %u", run);
		}
		take(one, REORDER_DRAIN, &by_one);
		take(many, REORDER_DRAIN, &by_many);
		cr_assert_eq(by_one.count, PACKETS);
		cr_assert_eq(memcmp(&by_one, &by_many, sizeof by_one), 0, "run %u", run);
		reorder_free(one);
		reorder_free(many);
	}
}
