/*
 * TCP packets out of their IP fragments.
 */
#include <criterion/criterion.h>
#include <glib.h>
#include <pcap/pcap.h>
#include <string.h>

#include "capture/build.h"
#include "capture/defragment.h"
#include "capture/fragment_marks.h"

enum { SEGMENT_LEN = 20 + 44 };		/* header and payload: eight units */

/* The TCP segment that all tests cut up. */
static struct build
segment_bytes(void)
{
	struct build build = { 0 };

	build_tcp(&build, TCP_ACK, 0);
	for (unsigned i = build.len; i < SEGMENT_LEN; i++) {
		uint8_t byte = (uint8_t)i;

		build_bytes(&build, &byte, 1);
	}
	return build;
}

static struct build
ipv4_piece(unsigned from, unsigned to)
{
	struct build all = segment_bytes(), build = { .link_type = DLT_RAW };

	build_ipv4(&build, 6, 20 + to - from);
	build.data[6] = to < SEGMENT_LEN ? 0x20 : 0;
	build.data[7] = (uint8_t)(from / 8);
	build_bytes(&build, all.data + from, to - from);
	return build;
}

static struct build
ipv6_piece(unsigned from, unsigned to)
{
	struct build all = segment_bytes(), build = { .link_type = DLT_RAW };

	build_ipv6(&build, 44, 8 + to - from);
	build_hex(&build, "06 00");
	build_be16(&build, from | (to < SEGMENT_LEN));
	build_be32(&build, 0x12345678);
	build_bytes(&build, all.data + from, to - from);
	return build;
}

static bool
push(struct defragment *defragment, const struct build *build, uint32_t cap_len, int64_t ts_ns, struct packet *whole)
{
	struct packet packet = build_packet(build, cap_len, ts_ns);

	packet.frame = (uint64_t)ts_ns;
	return defragment_push(defragment, &packet, whole);
}

/* What came out is the segment, with so many bytes of its payload. */
static void
check_whole(const struct packet *whole, uint32_t payload_cap_len)
{
	struct build all = segment_bytes();
	struct segment segment;
	struct flow_key key;

	cr_assert_eq(segment_parse(whole, &segment, &key), SEGMENT_TCP);
	cr_assert_eq(segment.seq, 0x11223344);
	cr_assert_eq(segment.payload_wire_len, SEGMENT_LEN - 20);
	cr_assert_eq(segment.payload_cap_len, payload_cap_len);
	cr_assert_arr_eq(segment.payload, all.data + 20, payload_cap_len);
}

Test(defragment, row_20_in_any_order)
{
	struct defragment *defragment = defragment_new();
	struct build a = ipv4_piece(0, 24), b = ipv4_piece(24, 48), c = ipv4_piece(48, SEGMENT_LEN);
	struct packet whole;

	cr_assert_not(push(defragment, &c, c.len, 7, &whole));
	cr_assert_not(push(defragment, &a, a.len, 8, &whole));
	cr_assert_not(push(defragment, &a, a.len, 9, &whole));
	cr_assert(push(defragment, &b, b.len, 10, &whole));
	cr_assert_eq(whole.ts_ns, 10);
	cr_assert_eq(whole.frame, 8);
	check_whole(&whole, SEGMENT_LEN - 20);
	defragment_free(defragment);
}

Test(defragment, row_20_ipv6)
{
	struct defragment *defragment = defragment_new();
	struct build a = ipv6_piece(0, 32), b = ipv6_piece(32, SEGMENT_LEN);
	struct packet whole;

	cr_assert_not(push(defragment, &a, a.len, 1, &whole));
	cr_assert(push(defragment, &b, b.len, 2, &whole));
	check_whole(&whole, SEGMENT_LEN - 20);
	defragment_free(defragment);
}

/* Bytes behind the first that the snap length cut are a hole. */
Test(defragment, cut)
{
	struct defragment *defragment = defragment_new();
	struct build a = ipv4_piece(0, 32), b = ipv4_piece(32, SEGMENT_LEN);
	struct packet whole;

	cr_assert_not(push(defragment, &a, 20 + 30, 1, &whole));
	cr_assert(push(defragment, &b, b.len, 2, &whole));
	check_whole(&whole, 10);
	defragment_free(defragment);
}

/* Of a datagram without its last piece, and of ends that contradict each other, nothing is made. */
Test(defragment, what_does_not_fit)
{
	struct defragment *defragment = defragment_new();
	struct build a = ipv4_piece(0, 24), b = ipv4_piece(24, 48), early = ipv4_piece(24, 40);
	struct packet whole;

	early.data[6] = 0;	/* says that it is the last */
	cr_assert_not(push(defragment, &a, a.len, 1, &whole));
	cr_assert_not(push(defragment, &b, b.len, 2, &whole));
	cr_assert_not(push(defragment, &early, early.len, 3, &whole));
	defragment_free(defragment);
}

/* A piece behind the end does not stand in for one that is missing: five units of five, and a hole at 16. */
Test(defragment, a_piece_behind_the_end)
{
	struct fragment_marks marks = { 0 };

	cr_assert_eq(fragment_marks_add(&marks, 0, 16, true), FRAGMENT_NEW);
	cr_assert_eq(fragment_marks_add(&marks, 48, 8, true), FRAGMENT_NEW);
	cr_assert_eq(fragment_marks_add(&marks, 24, 16, false), FRAGMENT_BAD);
	cr_assert_not(fragment_marks_complete(&marks));
}

/* After 30 s the number names another datagram; and only the newest 16 are kept. */
Test(defragment, row_20_bounds)
{
	struct defragment *defragment = defragment_new();
	struct build a = ipv4_piece(0, 32), b = ipv4_piece(32, SEGMENT_LEN);
	struct packet whole;

	cr_assert_not(push(defragment, &a, a.len, 1, &whole));
	cr_assert_not(push(defragment, &b, b.len, 31 * INT64_C(1000000000), &whole));
	cr_assert(push(defragment, &a, a.len, 32 * INT64_C(1000000000), &whole));
	for (uint8_t id = 0; id < 17; id++) {
		a.data[5] = id;
		cr_assert_not(push(defragment, &a, a.len, 40 * INT64_C(1000000000) + id, &whole));
	}
	b.data[5] = 0;
	cr_assert_not(push(defragment, &b, b.len, 41 * INT64_C(1000000000), &whole), "given up for a newer one");
	b.data[5] = 16;
	cr_assert(push(defragment, &b, b.len, 41 * INT64_C(1000000000), &whole));
	defragment_free(defragment);
}
