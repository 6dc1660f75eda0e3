/*
 * UDP headers and the pieces that IP cuts datagrams into.
 */
#include <criterion/criterion.h>
#include <glib.h>
#include <pcap/pcap.h>
#include <string.h>

#include "capture/build.h"
#include "capture/datagram.h"
#include "capture/duplicates.h"

/* Parses the packet cut to cap_len bytes, out of memory of just that size. */
static enum segment_result
parse(const struct build *build, uint32_t cap_len, struct datagram *datagram)
{
	g_autofree uint8_t *copy = g_memdup2(build->data, cap_len);
	struct packet packet = build_packet(build, cap_len, 0);

	packet.data = copy;
	return datagram_parse(&packet, datagram);
}

/* IPv4 with these flags and offset, then these bytes, then zeros up to the datagram's end. */
static struct build
ipv4(unsigned flags_offset, const char *hex, unsigned len)
{
	struct build build = { .link_type = DLT_RAW };

	build_ipv4(&build, 17, 20 + len);
	build.data[6] = (uint8_t)(flags_offset >> 8);
	build.data[7] = (uint8_t)flags_offset;
	build_hex(&build, hex);
	build_zeros(&build, 20 + len - build.len);
	return build;
}

Test(datagram, whole)
{
	/* ports 2049 and 1023, 28 bytes with the header, two bytes of padding */
	struct build build = ipv4(0x4000, "0801 03ff 001c abcd", 30);
	struct datagram datagram;

	cr_assert_eq(parse(&build, build.len, &datagram), SEGMENT_UDP);
	cr_assert_not(datagram.fragment);
	cr_assert(datagram.begins);
	cr_assert_eq(datagram.id, 0x1234);
	cr_assert_eq(datagram.datagram_len, 28);
	cr_assert_eq(datagram.wire_len, 28);
	cr_assert_eq(datagram.payload_cap_len, 20);
	cr_assert_eq(datagram.direction, 0);	/* 192.0.2.1 is below 192.0.2.2 */
	cr_assert_eq(datagram.key.port[0], 2049);
	cr_assert_eq(datagram.key.port[1], 1023);
}

Test(datagram, cut_anywhere)
{
	struct build build = ipv4(0, "0801 03ff 001c abcd", 28);
	struct datagram datagram;

	for (uint32_t cap_len = 21; cap_len < 28; cap_len++)
		cr_assert_eq(parse(&build, cap_len, &datagram), SEGMENT_CUT, "%u", cap_len);
	for (uint32_t cap_len = 28; cap_len <= build.len; cap_len++) {
		cr_assert_eq(parse(&build, cap_len, &datagram), SEGMENT_UDP, "%u", cap_len);
		cr_assert_eq(datagram.payload_cap_len, cap_len - 28);
		cr_assert_eq(datagram.datagram_len, 28);
	}
}

Test(datagram, lengths_that_lie)
{
	static const char *const headers[] = { "0801 03ff 0000 0000", "0801 03ff 0007 0000", "0801 03ff 001d 0000" };

	for (size_t i = 0; i < G_N_ELEMENTS(headers); i++) {
		struct build build = ipv4(0, headers[i], 28);
		struct datagram datagram;

		cr_assert_eq(parse(&build, build.len, &datagram), SEGMENT_BAD, "%s", headers[i]);
	}
}

Test(datagram, row_20_fragments_of_ipv4)
{
	/* 8 KiB and headers in 1480-byte pieces: the first, one in the middle, the last */
	struct build first = ipv4(0x2000, "03ff 0801 2088 0000", 1480);
	struct build middle = ipv4(0x2000 | 185, "", 1480);
	struct build last = ipv4(925, "", 928);
	struct datagram datagram;

	cr_assert_eq(parse(&first, first.len, &datagram), SEGMENT_UDP);
	cr_assert(datagram.fragment && datagram.more && datagram.begins);
	cr_assert_eq(datagram.offset, 0);
	cr_assert_eq(datagram.wire_len, 1480);
	cr_assert_eq(datagram.datagram_len, 0x2088);
	cr_assert_eq(datagram.key.port[0], 1023);
	cr_assert_eq(parse(&middle, middle.len, &datagram), SEGMENT_UDP);
	cr_assert(datagram.fragment && datagram.more && !datagram.begins);
	cr_assert_eq(datagram.offset, 1480);
	cr_assert_eq(datagram.key.port[0], 0);
	cr_assert_eq(parse(&last, last.len, &datagram), SEGMENT_UDP);
	cr_assert(datagram.fragment && !datagram.more && !datagram.begins);
	cr_assert_eq(datagram.offset, 7400);
	cr_assert_eq(datagram.wire_len, 928);
	cr_assert_eq(datagram.payload_cap_len, 928);
}

Test(datagram, row_20_fragments_of_ipv6)
{
	struct build build = { .link_type = DLT_RAW };
	struct datagram datagram;

	build_ipv6(&build, 44, 8 + 64);
	build_hex(&build, "11 00 0581 89abcdef");	/* UDP, offset 1408, more to come */
	build_zeros(&build, 64);
	cr_assert_eq(parse(&build, build.len, &datagram), SEGMENT_UDP);
	cr_assert(datagram.fragment && datagram.more && !datagram.begins);
	cr_assert_eq(datagram.id, 0x89abcdef);
	cr_assert_eq(datagram.offset, 1408);
	cr_assert_eq(datagram.wire_len, 64);
}

/* The same piece again within 10 ms is a copy; another identification or another place is not. */
Test(datagram, copies)
{
	struct duplicates *duplicates = duplicates_new();
	struct build build = ipv4(0x2000, "03ff 0801 2088 0000", 1480);
	struct packet packet = build_packet(&build, build.len, 0);
	struct datagram datagram;

	cr_assert_eq(datagram_parse(&packet, &datagram), SEGMENT_UDP);
	cr_assert_not(duplicates_seen_datagram(duplicates, &datagram));
	packet.ts_ns = 9000000;
	cr_assert(duplicates_seen_datagram(duplicates, &datagram));
	datagram.offset = 1480;
	cr_assert_not(duplicates_seen_datagram(duplicates, &datagram));
	datagram.offset = 0;
	datagram.id++;
	cr_assert_not(duplicates_seen_datagram(duplicates, &datagram));
	datagram.id--;
	packet.ts_ns = 11000000;
	cr_assert_not(duplicates_seen_datagram(duplicates, &datagram));
	duplicates_free(duplicates);
}
