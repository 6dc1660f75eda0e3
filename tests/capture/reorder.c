/*
 * Packets of a file back in the order of their stamps.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "capture/reorder.h"

enum { MS = 1000000, PACKETS = 300 };

static void
push(struct reorder *reorder, int64_t ts_ns, uint64_t frame)
{
	uint8_t data[8] = { (uint8_t)frame };
	struct packet packet = { .ts_ns = ts_ns, .frame = frame, .cap_len = sizeof data, .wire_len = 100, .data = data };

	*reorder_room(reorder) = packet;
	reorder_push(reorder);
	reorder_gone(reorder, data, data + sizeof data);
	memset(data, 0xff, sizeof data);
}

struct out {
	unsigned count, steps;
	int64_t ts_ns[PACKETS];
	uint64_t frame[PACKETS];
};

static void
take(struct reorder *reorder, bool drain, struct out *out)
{
	const struct packet *packet;
	bool stepped;

	while ((packet = reorder_pop(reorder, drain, &stepped)) != NULL) {
		cr_assert_lt(out->count, PACKETS);
		cr_assert_eq(packet->data[0], (uint8_t)packet->frame, "the bytes go with their packet");
		out->steps += stepped;
		out->ts_ns[out->count] = packet->ts_ns;
		out->frame[out->count++] = packet->frame;
	}
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
		take(reorder, false, &out);
	}
	take(reorder, true, &out);
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
	take(reorder, false, &out);
	cr_assert_eq(out.count, 0, "one stamped earlier may still come");
	push(reorder, 5 * MS + REORDER_NS + 1, 11);
	take(reorder, false, &out);
	cr_assert_eq(out.count, 10);
	for (unsigned i = 0; i < 10; i++)
		cr_assert_eq(out.frame[i], i + 1);
	take(reorder, true, &out);
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
	take(reorder, true, &out);
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
	bool stepped;

	for (unsigned i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)i;
	for (unsigned i = 0; i < 4; i++) {
		struct packet pushed = { .ts_ns = i, .frame = i + 1, .cap_len = 10, .wire_len = 10, .data = data + 10 * i };

		*reorder_room(reorder) = pushed;
		reorder_push(reorder);
	}
	reorder_gone(reorder, data + 5, data + 20);
	for (unsigned i = 0; i < 4; i++) {
		packet = reorder_pop(reorder, true, &stepped);
		cr_assert_not_null(packet);
		cr_assert_eq(packet->data == data + 10 * i, i >= 2, "packet %u", i);
		for (unsigned at = 0; at < 10; at++)
			cr_assert_eq(packet->data[at], 10 * i + at);
	}
	reorder_free(reorder);
}

/* More room than any packet before needed. */
Test(reorder, growing_packets)
{
	struct reorder *reorder = reorder_new();
	const struct packet *packet;
	bool stepped;
	static uint8_t data[70000];

	for (uint32_t size = 0; size < sizeof data; size += 9973) {
		struct packet pushed = { .ts_ns = size, .frame = size + 1, .cap_len = size, .wire_len = size, .data = data };

		data[size] = (uint8_t)size;
		*reorder_room(reorder) = pushed;
		reorder_push(reorder);
		reorder_gone(reorder, data, data + sizeof data);
	}
	for (uint32_t size = 0; size < sizeof data; size += 9973) {
		packet = reorder_pop(reorder, true, &stepped);
		cr_assert_not_null(packet);
		cr_assert_eq(packet->cap_len, size);
		if (size > 9973)
			cr_assert_eq(packet->data[size - 9973], (uint8_t)(size - 9973));
	}
	cr_assert_null(reorder_pop(reorder, true, &stepped));
	reorder_free(reorder);
}
