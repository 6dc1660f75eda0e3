/* The key, the fields and the options of a segment. */
#include <criterion/criterion.h>
#include <glib.h>
#include <pcap/dlt.h>
#include <string.h>

#include "capture/build.h"
#include "capture/flow_hash.h"
#include "capture/plain.h"

static struct segment
parsed(const struct build *build)
{
	struct segment segment;

	/* Whatever was in it before. */
	memset(&segment, 0xa5, sizeof(segment));
	cr_assert_eq(build_parse(build, build->len, &segment), SEGMENT_TCP);
	return segment;
}

/* Its key; returns its direction. */
static uint8_t
key_of(const struct build *build, struct flow_key *key)
{
	struct packet packet = build_packet(build, build->len, 0);
	struct segment segment;

	cr_assert_eq(segment_parse(&packet, &segment, key), SEGMENT_TCP);
	cr_assert_eq(segment.key, key);
	return segment.direction;
}

Test(segment, fields)
{
	struct build build;
	struct segment segment;
	struct packet packet;
	struct flow_key key;

	build_plain(&build, 4, 10);
	packet = build_packet(&build, build.len, 77);
	cr_assert_eq(segment_parse(&packet, &segment, &key), SEGMENT_TCP);
	cr_assert_eq(segment.packet, &packet);
	cr_assert_eq(segment.seq, 0x11223344);
	cr_assert_eq(segment.ack, 0x55667788);
	cr_assert_eq(segment.window, 0x2000);
	cr_assert_eq(segment.flags, TCP_ACK);
	cr_assert_eq(segment.mss, 0);
	cr_assert_not(segment.has_window_scale);
	cr_assert_eq(segment.ip_id, 0x1234);
	cr_assert_eq(segment.header, build.data + 34);
	cr_assert_eq(segment.header_len, 20);
	cr_assert_eq(segment.payload, build.data + 54);
	cr_assert_eq(segment.payload_cap_len, 10);
	cr_assert_eq(segment.payload_wire_len, 10);
}

Test(segment, ipv4_addresses_are_mapped)
{
	static const uint8_t low[16] = { [10] = 0xff, 0xff, 192, 0, 2, 1 };
	static const uint8_t high[16] = { [10] = 0xff, 0xff, 192, 0, 2, 2 };
	struct build build;
	struct flow_key key;

	build_plain(&build, 4, 10);
	cr_assert_eq(key_of(&build, &key), 0);
	cr_assert_arr_eq(key.address[0], low, 16);
	cr_assert_arr_eq(key.address[1], high, 16);
	cr_assert_eq(key.port[0], 700);
	cr_assert_eq(key.port[1], 2049);
}

Test(segment, ipv6_addresses_are_kept)
{
	static const uint8_t low[16] = { 0x20, 1, 0x0d, 0xb8, [15] = 1 };
	static const uint8_t high[16] = { 0x20, 1, 0x0d, 0xb8, [15] = 2 };
	struct build build;
	struct flow_key key;

	build_plain(&build, 6, 10);
	key_of(&build, &key);
	cr_assert_arr_eq(key.address[0], low, 16);
	cr_assert_arr_eq(key.address[1], high, 16);
	cr_assert_eq(parsed(&build).ip_id, 0);
}

/* Exchanges both endpoints of a plain packet. */
static void
turn(struct build *build, unsigned version)
{
	uint8_t *address = build->data + (version == 4 ? 14 + 12 : 14 + 8);
	unsigned len = version == 4 ? 4 : 16;
	uint8_t saved[16];

	memcpy(saved, address, len);
	memcpy(address, address + len, len);
	memcpy(address + len, saved, len);
	memcpy(saved, address + 2 * len, 2);
	memcpy(address + 2 * len, address + 2 * len + 2, 2);
	memcpy(address + 2 * len + 2, saved, 2);
}

Test(segment, both_directions_share_the_key)
{
	for (unsigned version = 4; version <= 6; version += 2) {
		struct build build;
		struct flow_key there, back;

		build_plain(&build, version, 10);
		cr_assert_eq(key_of(&build, &there), 0);
		turn(&build, version);
		cr_assert_eq(key_of(&build, &back), 1);
		cr_assert_arr_eq(&there, &back, sizeof(there));
	}
}

/* Ports order what equal addresses do not; addresses compare as bytes. */
Test(segment, the_smaller_endpoint_comes_first)
{
	struct build build;
	struct flow_key key;

	build_plain(&build, 4, 10);
	build.data[14 + 19] = 1;	/* both on one host */
	cr_assert_eq(parsed(&build).direction, 0);
	build.data[34] = 0xff;		/* from port 65468 */
	cr_assert_eq(key_of(&build, &key), 1);
	cr_assert_eq(key.port[0], 2049);
	cr_assert_eq(key.port[1], 0xffbc);
	build_plain(&build, 4, 10);
	build.data[14 + 12] = 9, build.data[14 + 16] = 200;
	cr_assert_eq(parsed(&build).direction, 0);
	build.data[14 + 12] = 201;
	cr_assert_eq(parsed(&build).direction, 1);
}

static struct segment
with_options(unsigned flags, const char *hex)
{
	struct build build = { .link_type = DLT_RAW };
	struct build options = { 0 };
	struct segment segment;

	build_hex(&options, hex);
	build_ipv4(&build, 6, 40 + options.len);
	build_tcp(&build, flags, options.len);
	build_bytes(&build, options.data, options.len);
	for (uint32_t cap_len = 0; cap_len < build.len; cap_len++)
		cr_assert_eq(build_parse(&build, cap_len, &segment), SEGMENT_CUT);
	segment = parsed(&build);
	cr_assert_eq(segment.header_len, 20 + options.len);
	cr_assert_eq(segment.payload_wire_len, 0);
	return segment;
}

Test(options, of_a_syn)
{
	/* As Linux sends them. */
	struct segment segment = with_options(TCP_SYN, "020405b4 0402 080a 0102030405060708 01 030307");

	cr_assert_eq(segment.mss, 1460);
	cr_assert(segment.has_window_scale);
	cr_assert_eq(segment.window_scale, 7);
	segment = with_options(TCP_SYN | TCP_ACK, "02042301 01 030300");
	cr_assert_eq(segment.mss, 8961);
	cr_assert(segment.has_window_scale);
	cr_assert_eq(segment.window_scale, 0);
	segment = with_options(TCP_SYN, "");
	cr_assert_eq(segment.mss, 0);
	cr_assert_not(segment.has_window_scale);
}

Test(options, of_other_segments_are_not_read)
{
	struct segment segment = with_options(TCP_ACK, "020405b4 01 030307");

	cr_assert_eq(segment.mss, 0);
	cr_assert_not(segment.has_window_scale);
}

Test(options, a_larger_scale_means_14)
{
	cr_assert_eq(with_options(TCP_SYN, "01 0303ff").window_scale, 14);
	cr_assert_eq(with_options(TCP_SYN, "01 03030e").window_scale, 14);
	cr_assert_eq(with_options(TCP_SYN, "01 03030d").window_scale, 13);
}

Test(options, end_of_list_ends_them)
{
	cr_assert_eq(with_options(TCP_SYN, "00 020405b4 000000").mss, 0);
}

Test(options, lengths_that_lie_end_them)
{
	cr_assert_eq(with_options(TCP_SYN, "0800 0000 020405b4").mss, 0);	/* no length */
	cr_assert_eq(with_options(TCP_SYN, "0801 0101 020405b4").mss, 0);
	cr_assert_eq(with_options(TCP_SYN, "08ff 0101 020405b4").mss, 0);	/* beyond the header */
	cr_assert_eq(with_options(TCP_SYN, "020405b4 010101 02").mss, 1460);	/* no room for one */
	cr_assert_eq(with_options(TCP_SYN, "020405b4 0101 0204").mss, 1460);
	cr_assert_eq(with_options(TCP_SYN, "0206 05b4 0000 0101").mss, 0);	/* not its length */
	cr_assert_not(with_options(TCP_SYN, "03040700").has_window_scale);
}

Test(segment, data_offsets_that_lie_are_bad)
{
	for (unsigned offset = 0; offset < 16; offset++) {
		struct build build;
		struct segment segment;
		enum segment_result expected = SEGMENT_TCP;

		build_plain(&build, 4, 12);
		build.data[34 + 12] = (uint8_t)(offset << 4);
		if (offset < 5 || offset > 8)
			expected = SEGMENT_BAD;
		cr_assert_eq(build_parse(&build, build.len, &segment), expected, "%u", offset);
		if (expected == SEGMENT_TCP)
			cr_assert_eq(segment.payload_wire_len, 12 - (offset - 5) * 4);
	}
}

/* Bytes of any kind, of any length: nothing is read beyond them. */
Test(segment, random_bytes)
{
	static const int link_types[] = {
		DLT_EN10MB, DLT_LINUX_SLL, DLT_LINUX_SLL2, DLT_RAW, DLT_NULL, DLT_PPP
	};
	g_autoptr(GRand) rand = g_rand_new_with_seed(4);

	for (int i = 0; i < 200000; i++) {
		struct build build;
		struct segment segment;

		build_plain(&build, i % 2 == 0 ? 4 : 6, 40);
		build.link_type = link_types[g_rand_int_range(rand, 0, G_N_ELEMENTS(link_types))];
		for (int flips = g_rand_int_range(rand, 0, 6); flips > 0; flips--)
			build.data[g_rand_int_range(rand, 12, 80)] = (uint8_t)g_rand_int(rand);
		build_parse(&build, (uint32_t)g_rand_int_range(rand, 0, (int)build.len + 1), &segment);
	}
}

/*
 * Ethernet with IPv4 is read in one go where it can be: the same packet without
 * its link header, which never is, must give the same, whatever its bytes are.
 */
Test(segment, the_quick_way_is_the_long_way)
{
	static const struct {
		int type;
		const char *header;
	} links[] = {
		{ DLT_EN10MB, "020000000001 020000000002" },
		{ DLT_EN10MB, "020000000001 020000000002 8100 0007" },
		{ DLT_LINUX_SLL, "0000 0001 0006 020000000001 0000" },
		{ DLT_LINUX_SLL2, "" },
	};
	g_autoptr(GRand) rand = g_rand_new_with_seed(5);
	struct flow_hashes *hashes = flow_hashes_new(0);
	unsigned found = 0;

	for (unsigned i = 0; i < 400000; i++) {
		unsigned link = i % G_N_ELEMENTS(links), version = i % 3 == 0 ? 6 : 4;
		struct build build = { .link_type = links[link].type };
		struct segment quick, slow;
		struct flow_hash *hash;
		struct flow_key key;
		struct packet packet;
		enum segment_result result;
		uint32_t ip_at;

		build_hex(&build, links[link].header);
		build_hex(&build, version == 4 ? "0800" : "86dd");
		if (links[link].type == DLT_LINUX_SLL2)
			build_hex(&build, "0000 00000003 0001 00 06 0200000000010000");
		ip_at = build.len;
		build_transport(&build, version, (unsigned)g_rand_int_range(rand, 0, 30));
		for (int changes = g_rand_int_range(rand, 0, 4); changes > 0; changes--)
			build.data[ip_at + g_rand_int_range(rand, 0, version == 4 ? 40 : 60)] = (uint8_t)g_rand_int(rand);
		if (g_rand_int_range(rand, 0, 4) == 0)	/* the length */
			memset(build.data + ip_at + (version == 4 ? 2 : 4), 0, 2);
		packet = build_packet(&build, g_rand_int_range(rand, 0, 3) > 0 ? build.len :
		    (uint32_t)g_rand_int_range(rand, 0, (gint32)build.len), 1);
		memset(&quick, 0, sizeof quick);
		memset(&slow, 0, sizeof slow);
		result = segment_parse(&packet, &slow, &key);
		cr_assert_eq(segment_parse_known(&packet, hashes, &quick, &hash), result, "packet %u", i);
		if (result != SEGMENT_TCP)
			continue;
		found++;
		cr_assert_eq(quick.key, &hash->key);
		slow.key = quick.key;
		cr_assert_arr_eq(&quick, &slow, sizeof quick, "packet %u", i);
		cr_assert(flow_key_same(&hash->key, &key));
	}
	cr_assert_gt(found, 150000);
	flow_hashes_free(hashes);
}

/* The same of plain packets, and of what is nearly one: it is found to be none, or it is what the long way makes of it. */
Test(segment, plain_packets)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(6);
	struct flow_hashes *hashes = flow_hashes_new(0);
	unsigned found = 0;

	for (unsigned i = 0; i < 200000; i++) {
		struct build build = { .link_type = i % 20 == 0 ? DLT_LINUX_SLL : DLT_EN10MB };
		unsigned payload_len = (unsigned)g_rand_int_range(rand, 0, 30);
		struct segment plain, slow;
		struct flow_hash *flow;
		struct packet packet;
		struct flow_key key;

		build_ethernet(&build, 0x0800);
		build_ipv4(&build, 6, 52 + payload_len);
		build_tcp(&build, TCP_ACK, 12);
		build_zeros(&build, 12 + payload_len);
		for (int changes = g_rand_int_range(rand, 0, 3); changes > 0; changes--)
			build.data[g_rand_int_range(rand, 12, 14 + 52)] = (uint8_t)g_rand_int(rand);
		packet = build_packet(&build, g_rand_int_range(rand, 0, 3) > 0 ? build.len :
		    (uint32_t)g_rand_int_range(rand, 40, (gint32)build.len), 1);
		memset(&plain, 0, sizeof plain);
		memset(&slow, 0, sizeof slow);
		segment_parse_known(&packet, hashes, &plain, &flow);
		memset(&plain, 0, sizeof plain);
		flow = plain_parse(&packet, hashes, &plain);
		if (flow == NULL)
			continue;
		found++;
		cr_assert_eq(segment_parse(&packet, &slow, &key), SEGMENT_TCP, "packet %u", i);
		cr_assert(flow_key_same(&key, &flow->key));
		cr_assert_eq(plain.key, &flow->key);
		slow.key = plain.key;
		cr_assert_arr_eq(&plain, &slow, sizeof plain, "packet %u", i);
	}
	cr_assert_gt(found, 100000);
	flow_hashes_free(hashes);
}
