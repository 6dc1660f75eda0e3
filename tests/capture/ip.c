/* Lengths and extensions of IP; each TCP segment carries PAYLOAD bytes. */
#include <criterion/criterion.h>
#include <glib.h>
#include <pcap/dlt.h>

#include "capture/build.h"

enum { PAYLOAD = 100 };

/* TCP and its payload behind what was built so far; parsed whole and cut at every byte. */
static void
check_tcp_follows(struct build *build, const char *what)
{
	struct segment segment;
	uint32_t headers_len;

	build_tcp(build, TCP_ACK, 0);
	headers_len = build->len;
	build_zeros(build, PAYLOAD);
	for (uint32_t cap_len = 0; cap_len < headers_len; cap_len++)
		cr_assert_eq(build_parse(build, cap_len, &segment), SEGMENT_CUT, "%s, %u", what,
		    cap_len);
	for (uint32_t cap_len = headers_len; cap_len <= build->len; cap_len++) {
		cr_assert_eq(build_parse(build, cap_len, &segment), SEGMENT_TCP, "%s, %u", what,
		    cap_len);
		cr_assert_eq(segment.payload, build->data + headers_len, "%s", what);
		cr_assert_eq(segment.payload_cap_len, cap_len - headers_len, "%s", what);
		cr_assert_eq(segment.payload_wire_len, PAYLOAD, "%s", what);
	}
}

static void
check_result(const struct build *build, enum segment_result expected, const char *what)
{
	struct segment segment;

	for (uint32_t cap_len = 0; cap_len < build->len; cap_len++)
		build_parse(build, cap_len, &segment);
	cr_assert_eq(build_parse(build, build->len, &segment), expected, "%s", what);
}

Test(ipv4, options)
{
	for (unsigned words = 0; words <= 10; words++) {
		struct build build = { .link_type = DLT_RAW };

		build_ipv4(&build, 6, 40 + words * 4 + PAYLOAD);
		build.data[0] = (uint8_t)(0x45 + words);
		build_zeros(&build, words * 4);
		check_tcp_follows(&build, "options");
	}
}

/* A short frame is padded to 60 bytes; the padding is not payload. */
Test(ipv4, ethernet_padding_is_not_payload)
{
	struct build build;
	struct segment segment;

	build_plain(&build, 4, 0);
	build_zeros(&build, 60 - build.len);
	cr_assert_eq(build_parse(&build, build.len, &segment), SEGMENT_TCP);
	cr_assert_eq(segment.payload_wire_len, 0);
	cr_assert_eq(segment.payload_cap_len, 0);
	build_plain(&build, 4, 5);
	build_zeros(&build, 60 - build.len);
	cr_assert_eq(build_parse(&build, build.len, &segment), SEGMENT_TCP);
	cr_assert_eq(segment.payload_wire_len, 5);
	cr_assert_eq(segment.payload_cap_len, 5);
}

Test(ipv4, row_19_length_zero_is_the_frames)
{
	struct build build;
	struct segment segment;

	build_plain(&build, 4, PAYLOAD);
	build.data[16] = build.data[17] = 0;
	build.uncaptured = 70000;
	cr_assert_eq(build_parse(&build, build.len, &segment), SEGMENT_TCP);
	cr_assert_eq(segment.payload_wire_len, PAYLOAD + 70000);
	cr_assert_eq(segment.payload_cap_len, PAYLOAD);
	build.uncaptured = 0xf0000000;	/* no stack makes such a segment */
	cr_assert_eq(build_parse(&build, build.len, &segment), SEGMENT_BAD);
}

Test(ipv4, snaplen_does_not_change_the_length)
{
	struct build build;
	struct segment segment;

	build_plain(&build, 4, PAYLOAD);
	build.data[16] = 0x80;		/* a total length of 32908 */
	build.uncaptured = 32768;
	cr_assert_eq(build_parse(&build, build.len, &segment), SEGMENT_TCP);
	cr_assert_eq(segment.payload_wire_len, PAYLOAD + 32768);
	cr_assert_eq(segment.payload_cap_len, PAYLOAD);
}

/* The frame's length was lost, the datagram's is still there. */
Test(ipv4, a_length_beyond_the_frame_is_believed)
{
	struct build build;
	struct segment segment;

	build_plain(&build, 4, PAYLOAD);
	build.len -= 60;
	cr_assert_eq(build_parse(&build, build.len, &segment), SEGMENT_TCP);
	cr_assert_eq(segment.payload_wire_len, PAYLOAD);
	cr_assert_eq(segment.payload_cap_len, PAYLOAD - 60);
}

static void
check_ipv4_bytes(unsigned at, uint8_t value, enum segment_result expected, const char *what)
{
	struct build build;

	build_plain(&build, 4, PAYLOAD);
	build.data[14 + at] = value;
	check_result(&build, expected, what);
}

Test(ipv4, lengths_that_lie_are_bad)
{
	struct build build;

	check_ipv4_bytes(0, 0x44, SEGMENT_BAD, "a header of 16 bytes");
	check_ipv4_bytes(0, 0x40, SEGMENT_BAD, "a header of 0 bytes");
	check_ipv4_bytes(0, 0x55, SEGMENT_BAD, "version 5");
	check_ipv4_bytes(0, 0x05, SEGMENT_BAD, "version 0");
	for (uint8_t total_len = 1; total_len < 40; total_len++) {
		build_plain(&build, 4, PAYLOAD);
		build.data[16] = 0;
		build.data[17] = total_len;
		check_result(&build, SEGMENT_BAD, "a total length within the headers");
	}
}

Test(ipv4, row_20_fragments)
{
	check_ipv4_bytes(6, 0x20, SEGMENT_FRAGMENT, "the first one");
	check_ipv4_bytes(7, 0x10, SEGMENT_FRAGMENT, "a later one");
	check_ipv4_bytes(6, 0x80, SEGMENT_TCP, "the reserved bit alone");
	check_ipv4_bytes(9, 17, SEGMENT_UDP, "UDP");
	check_ipv4_bytes(9, 1, SEGMENT_OTHER, "ICMP");
}

Test(ipv4, fragments_of_udp_are_udp)
{
	struct build build;

	build_plain(&build, 4, PAYLOAD);
	build.data[14 + 6] = 0x20;
	build.data[14 + 9] = 17;
	check_result(&build, SEGMENT_UDP, "a fragment of UDP");
	build.data[14 + 9] = 1;
	check_result(&build, SEGMENT_OTHER, "a fragment of ICMP");
}

struct chain {
	const char *what;
	unsigned first;
	const char *headers;
};

#define EIGHT "00 000000000000"		/* all but the first byte of an extension header */

static const struct chain chains[] = {
	{ "none", 6, "" },
	{ "hop by hop", 0, "06" EIGHT },
	{ "16 bytes of options", 60, "06 01 0000 00000000 0000000000000000" },
	{ "routing", 43, "06" EIGHT },
	{ "four of them", 0, "3c" EIGHT "2b" EIGHT "3c" EIGHT "06" EIGHT },
	{ "authentication of 24 bytes", 51, "06 04 0000 00000001 00000001 000102030405060708090a0b" },
	{ "mobility", 135, "06" EIGHT },
	{ "HIP", 139, "06" EIGHT },
	{ "shim6", 140, "06" EIGHT },
	{ "an atomic fragment", 44, "06 00 0000 12345678" },
	{ "an atomic fragment behind options", 60, "2c" EIGHT "06 00 0000 12345678" },
};

Test(ipv6, row_20_extension_headers)
{
	for (size_t i = 0; i < G_N_ELEMENTS(chains); i++) {
		struct build build = { .link_type = DLT_RAW };
		struct build headers = { 0 };

		build_hex(&headers, chains[i].headers);
		build_ipv6(&build, chains[i].first, headers.len + 20 + PAYLOAD);
		build_bytes(&build, headers.data, headers.len);
		check_tcp_follows(&build, chains[i].what);
	}
}

static const struct chain fragments[] = {
	{ "the first one", 44, "06 00 0001 12345678" },
	{ "a later one", 44, "06 00 0010 12345678" },
	{ "behind options", 0, "2c" EIGHT "06 00 0011 12345678" },
};

Test(ipv6, row_20_fragments)
{
	for (size_t i = 0; i < G_N_ELEMENTS(fragments); i++) {
		struct build build = { .link_type = DLT_RAW };

		build_ipv6(&build, fragments[i].first, 200);
		build_hex(&build, fragments[i].headers);
		build_zeros(&build, PAYLOAD);
		check_result(&build, SEGMENT_FRAGMENT, fragments[i].what);
		build.data[build.len - PAYLOAD - 8] = 17;
		check_result(&build, SEGMENT_UDP, "of UDP");
	}
}

Test(ipv6, row_19_length_zero_is_the_frames)
{
	struct build build;
	struct segment segment;

	build_plain(&build, 6, PAYLOAD);
	build.data[18] = build.data[19] = 0;
	build.uncaptured = 100000;
	cr_assert_eq(build_parse(&build, build.len, &segment), SEGMENT_TCP);
	cr_assert_eq(segment.payload_wire_len, PAYLOAD + 100000);
	cr_assert_eq(segment.payload_cap_len, PAYLOAD);
	build.uncaptured = 0xf0000000;
	cr_assert_eq(build_parse(&build, build.len, &segment), SEGMENT_BAD);
}

static void
build_jumbo(struct build *build, const char *options)
{
	*build = (struct build){ .link_type = DLT_RAW };
	build_ipv6(build, 0, 0);
	build_hex(build, options);
	build_tcp(build, TCP_ACK, 0);
	build_zeros(build, PAYLOAD);
}

Test(ipv6, row_19_jumbo_payload)
{
	struct build build;
	struct segment segment;

	build_jumbo(&build, "06 00 c2 04 00020000");
	cr_assert_eq(build_parse(&build, build.len, &segment), SEGMENT_TCP);
	cr_assert_eq(segment.payload_wire_len, 0x20000 - 8 - 20);
	cr_assert_eq(segment.payload_cap_len, PAYLOAD);
	build_jumbo(&build, "06 01 00 0105 0000000000 c2 04 00020000");	/* behind Pad1 and PadN */
	cr_assert_eq(build_parse(&build, build.len, &segment), SEGMENT_TCP);
	cr_assert_eq(segment.payload_wire_len, 0x20000 - 16 - 20);
	build_jumbo(&build, "06 00 c2 04 ffffffff");
	check_result(&build, SEGMENT_BAD, "4 GiB");
	build_jumbo(&build, "06 00 c2 04 00000004");
	check_result(&build, SEGMENT_BAD, "shorter than its own header");
}

/* Options that leave their header are not followed. */
Test(ipv6, row_20_hop_by_hop_options_that_lie)
{
	struct build build;
	struct segment segment;

	build_jumbo(&build, "06 00 01 ff 00000000");
	cr_assert_eq(build_parse(&build, build.len, &segment), SEGMENT_TCP);
	cr_assert_eq(segment.payload_wire_len, PAYLOAD);
	build_jumbo(&build, "06 00 0101 00 c2 04 00");
	cr_assert_eq(build_parse(&build, build.len, &segment), SEGMENT_TCP);
	cr_assert_eq(segment.payload_wire_len, PAYLOAD);
}

Test(ipv6, lengths_that_lie_are_bad)
{
	struct build build;

	for (unsigned payload_len = 1; payload_len < 20; payload_len++) {
		build = (struct build){ .link_type = DLT_RAW };
		build_ipv6(&build, 6, payload_len);
		build_tcp(&build, TCP_ACK, 0);
		check_result(&build, SEGMENT_BAD, "within the TCP header");
	}
	build = (struct build){ .link_type = DLT_RAW };
	build_ipv6(&build, 60, 100);
	build_hex(&build, "06 ff 000000000000");
	build_zeros(&build, 92);
	check_result(&build, SEGMENT_BAD, "an extension header beyond the datagram");
}

Test(ipv6, row_20_the_depth_of_extension_headers_is_bounded)
{
	struct build build = { .link_type = DLT_RAW };

	build_ipv6(&build, 60, 2000);
	for (int i = 0; i < 200; i++)
		build_hex(&build, "3c" EIGHT);
	build_zeros(&build, 400);
	check_result(&build, SEGMENT_BAD, "200 of them");
}

Test(ipv6, what_is_neither_tcp_nor_udp_is_other)
{
	static const unsigned protocols[] = { 50, 58, 59, 132 };

	for (size_t i = 0; i < G_N_ELEMENTS(protocols); i++) {
		struct build build = { .link_type = DLT_RAW };

		build_ipv6(&build, protocols[i], 40);
		build_zeros(&build, 40);
		check_result(&build, SEGMENT_OTHER, "neither TCP nor UDP");
	}
}

#define UDP(port) "c000 " port " 0000 0000 "
#define MACS "020000000001 020000000002 "

struct tunnel {
	const char *what;
	unsigned protocol;
	const char *headers;
};

static const struct tunnel tunnels[] = {
	{ "IP in IP", 4, "" },
	{ "GRE", 47, "0000 0800" },
	{ "GRE with all fields", 47, "b000 0800 12340000 00000007 00000001" },
	{ "GRE with Ethernet", 47, "2000 6558 00000007" MACS "0800" },
	{ "VXLAN", 17, UDP("12b5") "08000000 00000700" MACS "0800" },
	{ "VXLAN with a VLAN", 17, UDP("12b5") "08000000 00000700" MACS "8100 0001 0800" },
	{ "Geneve", 17, UDP("17c1") "0000 6558 00000700" MACS "0800" },
	{ "Geneve with options", 17, UDP("17c1") "0200 6558 00000700 0102030405060708" MACS "0800" },
	{ "Geneve with IP", 17, UDP("17c1") "0000 0800 00000700" },
};

Test(tunnel, row_18_the_inner_segment_counts)
{
	for (size_t i = 0; i < G_N_ELEMENTS(tunnels); i++) {
		struct build build = { .link_type = DLT_RAW };
		struct build headers = { 0 };

		build_hex(&headers, tunnels[i].headers);
		build_ipv4(&build, tunnels[i].protocol, 20 + headers.len + 40 + PAYLOAD);
		build_bytes(&build, headers.data, headers.len);
		build_ipv4(&build, 6, 40 + PAYLOAD);
		check_tcp_follows(&build, tunnels[i].what);
	}
}

Test(tunnel, row_18_ipv6_and_ipv4_carry_each_other)
{
	struct build build = { .link_type = DLT_RAW };

	build_ipv6(&build, 4, 40 + PAYLOAD);
	build_ipv4(&build, 6, 40 + PAYLOAD);
	check_tcp_follows(&build, "IPv4 in IPv6");
	build = (struct build){ .link_type = DLT_RAW };
	build_ipv4(&build, 41, 20 + 60 + PAYLOAD);
	build_ipv6(&build, 6, 20 + PAYLOAD);
	check_tcp_follows(&build, "IPv6 in IPv4");
}

Test(tunnel, row_18_the_depth_is_bounded)
{
	struct build build = { .link_type = DLT_RAW };

	for (int i = 0; i < 100; i++)
		build_ipv4(&build, 4, 2020 - i * 20);
	check_result(&build, SEGMENT_OTHER, "100 of them");
}

static const struct {
	const char *what;
	unsigned protocol;
	const char *headers;
	enum segment_result result;
} not_tunnels[] = {
	{ "GRE of PPTP", 47, "3001 880b 00000007", SEGMENT_OTHER },
	{ "GRE with something else", 47, "0000 0806", SEGMENT_OTHER },
	{ "UDP", 17, UDP("0801"), SEGMENT_UDP },
	{ "not VXLAN on its port", 17, UDP("12b5") "80000000 00000000", SEGMENT_UDP },
	{ "Geneve of another version", 17, UDP("17c1") "4000 6558 00000000", SEGMENT_UDP },
	{ "Geneve with something else", 17, UDP("17c1") "0000 0806 00000000", SEGMENT_OTHER },
};

Test(tunnel, what_is_not_a_tunnel_is_other_or_udp)
{
	for (size_t i = 0; i < G_N_ELEMENTS(not_tunnels); i++) {
		struct build build = { .link_type = DLT_RAW };

		build_ipv4(&build, not_tunnels[i].protocol, 200);
		build_hex(&build, not_tunnels[i].headers);
		build_zeros(&build, 180);
		check_result(&build, not_tunnels[i].result, not_tunnels[i].what);
	}
}
