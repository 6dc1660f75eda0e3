/* What is the same packet twice, and what is another one; where the copies are from. */
#include <criterion/criterion.h>
#include <glib.h>
#include <pcap/dlt.h>

#include "base/arith.h"
#include "capture/build.h"
#include "capture/duplicates.h"

/* NOP, NOP, TCP time stamps (RFC 7323 section 3.2); offset of the value in the header. */
#define STAMPS "0101 080a 0000006400000032"
enum { STAMP_AT = 20 + 4 };

static struct duplicates *table;
static struct flow_hashes hashes;

static void
make_table(void)
{
	table = duplicates_new();
	hashes = (struct flow_hashes){ 0 };
}

static void
free_table(void)
{
	duplicates_free(table);
}

TestSuite(duplicates, .init = make_table, .fini = free_table);

/* interface: as packet.interface */
static bool
seen_on(const struct build *build, int64_t ts_ns, uint32_t interface)
{
	struct packet packet = build_packet(build, build->len, ts_ns);
	struct segment segment;
	struct flow_hash *flow;

	packet.interface = interface;
	cr_assert_eq(segment_parse_known(&packet, &hashes, &segment, &flow), SEGMENT_TCP);
	return duplicates_seen(table, &segment, flow);
}

static bool
seen_at(const struct build *build, int64_t ts_ns)
{
	return seen_on(build, ts_ns, 0);
}

/* A data segment with time stamps; returns where its IP header starts. */
static uint32_t
build_stamped(struct build *build, const char *link, unsigned version)
{
	uint32_t ip_at;

	*build = (struct build){ .link_type = DLT_EN10MB };
	build_hex(build, "020000000001 020000000002");
	build_hex(build, link);
	ip_at = build->len;
	if (version == 4)
		build_ipv4(build, 6, 52 + 100);
	else
		build_ipv6(build, 6, 32 + 100);
	build_tcp(build, TCP_ACK | TCP_PSH, 12);
	build_hex(build, STAMPS);
	build_zeros(build, 100);
	return ip_at;
}

/* Whether a copy is recognised whose byte at `at` (from the IP header on) differs. */
static bool
seen_changed(unsigned version, uint32_t at)
{
	struct build first, second;
	uint32_t ip_at = build_stamped(&first, version == 4 ? "0800" : "86dd", version);

	second = first;
	second.data[ip_at + at] ^= 1;
	free_table();
	make_table();
	cr_assert_not(seen_at(&first, 0));
	return seen_at(&second, 1000);
}

Test(duplicates, row_22_the_same_packet_again)
{
	struct build build;

	for (unsigned version = 4; version <= 6; version += 2) {
		build_stamped(&build, version == 4 ? "0800" : "86dd", version);
		cr_assert_not(seen_at(&build, 1000));
		cr_assert(seen_at(&build, 1000));
		cr_assert(seen_at(&build, 3000));	/* and once more */
	}
}

Test(duplicates, row_22_the_time_to_live_and_the_traffic_class_may_differ)
{
	cr_assert(seen_changed(4, 8));
	cr_assert(seen_changed(4, 1));
	cr_assert(seen_changed(4, 11));		/* and with them the header's checksum */
	cr_assert(seen_changed(6, 7));
	cr_assert(seen_changed(6, 1));
}

/* Before and behind a device that computes it. */
Test(duplicates, the_checksum_may_differ)
{
	cr_assert(seen_changed(4, 20 + 16));
	cr_assert(seen_changed(4, 20 + 17));
	cr_assert(seen_changed(6, 40 + 17));
}

Test(duplicates, the_link_header_may_differ)
{
	struct build plain, tagged, cooked = { .link_type = DLT_LINUX_SLL };
	uint32_t ip_at = build_stamped(&plain, "0800", 4);

	build_stamped(&tagged, "8100 0064 0800", 4);
	build_hex(&cooked, "0000 0001 0006 020000000001 0000 0800");
	build_bytes(&cooked, plain.data + ip_at, plain.len - ip_at);
	cr_assert_not(seen_at(&plain, 0));
	cr_assert(seen_at(&tagged, 5000));
	cr_assert(seen_at(&cooked, 9000));
}

Test(duplicates, a_retransmission_is_another_packet)
{
	cr_assert_not(seen_changed(4, 5), "the identification");
	cr_assert_not(seen_changed(4, 20 + STAMP_AT + 3), "the time stamp");
	cr_assert_not(seen_changed(6, 40 + STAMP_AT + 3), "the time stamp");
}

Test(duplicates, other_segments_are_other_packets)
{
	static const uint32_t tcp_bytes[] = {
		1, 3,		/* ports */
		4, 7, 8, 11,	/* sequence and acknowledgement numbers */
		13,		/* flags */
		15,		/* window */
		19,		/* urgent pointer */
		31,		/* the end of the options */
	};

	for (size_t i = 0; i < G_N_ELEMENTS(tcp_bytes); i++) {
		cr_assert_not(seen_changed(4, 20 + tcp_bytes[i]), "TCP byte %u", tcp_bytes[i]);
		cr_assert_not(seen_changed(6, 40 + tcp_bytes[i]), "TCP byte %u", tcp_bytes[i]);
	}
	cr_assert_not(seen_changed(4, 15), "the source");
	cr_assert_not(seen_changed(4, 19), "the destination");
	cr_assert_not(seen_changed(4, 3), "the length");
	cr_assert_not(seen_changed(6, 5), "the length");
}

/* Both ways between equal ports: only the direction tells them apart. */
Test(duplicates, the_other_direction_is_another_packet)
{
	struct build there, back;
	uint32_t ip_at = build_stamped(&there, "0800", 4);

	there.data[ip_at + 20] = 8;
	there.data[ip_at + 21] = 1;
	back = there;
	back.data[ip_at + 15] = 2;
	back.data[ip_at + 19] = 1;
	cr_assert_not(seen_at(&there, 0));
	cr_assert_not(seen_at(&back, 0));
}

Test(duplicates, ten_milliseconds_are_the_limit)
{
	struct build build;

	build_stamped(&build, "0800", 4);
	cr_assert_not(seen_at(&build, 0));
	cr_assert(seen_at(&build, 10 * NS_PER_MS));
	cr_assert_not(seen_at(&build, 10 * NS_PER_MS + 1));
	/* It counts from then on, and backwards as well. */
	cr_assert(seen_at(&build, 20 * NS_PER_MS));
	cr_assert(seen_at(&build, NS_PER_MS));
	cr_assert_not(seen_at(&build, 0));
}

/* A stream of other packets between two copies. */
static bool
seen_after(unsigned between)
{
	struct build build, other;
	uint32_t ip_at = build_stamped(&build, "0800", 4);

	free_table();
	make_table();
	other = build;
	cr_assert_not(seen_at(&build, 0));
	for (unsigned i = 1; i <= between; i++) {
		other.data[ip_at + 20 + 6] = (uint8_t)(i >> 8);
		other.data[ip_at + 20 + 7] = (uint8_t)i;
		cr_assert_not(seen_at(&other, i));
	}
	return seen_at(&build, between);
}

/* Whatever the seed of the table. */
Test(duplicates, the_last_512_packets_are_remembered)
{
	for (int i = 0; i < 20; i++) {
		cr_assert(seen_after(511));
		cr_assert_not(seen_after(512));
		cr_assert_not(seen_after(5000));
	}
}

/* Every packet twice, the copies some packets behind. */
Test(duplicates, row_22_a_mirrored_stream)
{
	enum { PACKETS = 20000, BEHIND = 7 };
	unsigned duplicates = 0;

	for (int i = 0; i < PACKETS + BEHIND; i++) {
		struct build build;
		uint32_t ip_at = build_stamped(&build, "0800", 4);

		for (int copy = 0; copy < 2; copy++) {
			int number = copy == 0 ? i : i - BEHIND;

			if (number < 0 || number >= PACKETS)
				continue;
			build.data[ip_at + 4] = (uint8_t)(number >> 8);
			build.data[ip_at + 5] = (uint8_t)number;
			build.data[ip_at + 8] = (uint8_t)(64 - copy);
			cr_assert_eq(seen_at(&build, i * 1000), copy == 1);
			duplicates += copy == 1;
		}
	}
	cr_assert_eq(duplicates, PACKETS);
}

/*
 * What a plain look at the last 512 packets finds, is found: of many flows, more
 * than are remembered, which mostly go on, go back, begin anew somewhere and are
 * captured again after a while.
 */
Test(duplicates, what_goes_on_is_no_copy_and_all_others_are_looked_for)
{
	enum { PACKETS = 40000, LAST = 512, KEPT = 1024 };
	g_autoptr(GRand) rand = g_rand_new_with_seed(3);
	g_autofree struct build *kept = g_new0(struct build, KEPT);
	g_autofree uint32_t *seq = g_new0(uint32_t, 1 << 16);
	uint32_t ip_at = build_stamped(&kept[0], "0800", 4), tcp_at = ip_at + 20;
	unsigned copies = 0, count = 0;

	for (unsigned i = 0; i < PACKETS; i++) {
		struct build build = kept[0];
		bool expected = false;
		uint16_t flow = (uint16_t)(i / 5000 % 2 == 0 ? g_rand_int_range(rand, 0, 3) : g_rand_int_range(rand, 0, 3000));

		if (count > 0 && g_rand_int_range(rand, 0, 4) == 0) {
			build = kept[(count - 1 - (unsigned)g_rand_int_range(rand, 0, MIN((gint32)count, 600))) % KEPT];
		} else {
			int way = g_rand_int_range(rand, 0, 200);
			uint32_t number;

			seq[flow] += way == 0 ? g_rand_int(rand) : way < 10 ? (uint32_t)-g_rand_int_range(rand, 0, 3000) :
			    way < 14 ? 0 : way == 14 ? 3 << 20 : (uint32_t)g_rand_int_range(rand, 1, 1 << 14);
			number = GUINT32_TO_BE(seq[flow]);
			memcpy(build.data + tcp_at + 2, &flow, sizeof flow);
			memcpy(build.data + tcp_at + (i % 2 == 0 ? 4 : 8), &number, sizeof number);
			build.data[tcp_at + 13] = (uint8_t)(way == 20 ? TCP_SYN : TCP_ACK);
			build.data[ip_at + 5] = (uint8_t)g_rand_int_range(rand, 0, 3);
		}
		for (unsigned j = 0; j < MIN(count, LAST); j++) {
			const struct build *other = &kept[(count - 1 - j) % KEPT];

			expected |= memcmp(other->data + ip_at, build.data + ip_at, tcp_at + STAMP_AT + 8 - ip_at) == 0;
		}
		cr_assert_eq(seen_at(&build, (int64_t)i), expected, "packet %u", i);
		copies += expected;
		if (expected)
			continue;
		kept[count++ % KEPT] = build;
	}
	cr_assert_gt(copies, 5000);
}

static void
check_pair(unsigned number, struct capture_point kept, struct capture_point dropped, int hops, uint64_t packets)
{
	const struct point_pairs *pairs = duplicates_pairs(table);
	const struct point_pair *pair = &pairs->pair[number];

	cr_assert_lt(number, pairs->count);
	cr_assert_eq(pair->kept.number, kept.number);
	cr_assert_eq(pair->kept.kind, kept.kind);
	cr_assert_eq(pair->kept.way, kept.way);
	cr_assert_eq(pair->dropped.number, dropped.number);
	cr_assert_eq(pair->dropped.kind, dropped.kind);
	cr_assert_eq(pair->dropped.way, dropped.way);
	cr_assert_eq(pair->hops, hops);
	cr_assert_eq(pair->packets, packets);
}

/* What a pcapng file numbers; the third copy is one of the first, too. */
Test(duplicates, row_22_interfaces_of_the_file)
{
	struct build build;

	for (unsigned version = 4; version <= 6; version += 2) {
		uint32_t ip_at = build_stamped(&build, version == 4 ? "0800" : "86dd", version);

		cr_assert_not(seen_on(&build, 1000, 1));
		cr_assert(seen_on(&build, 1000, 3));
		build.data[ip_at + (version == 4 ? 8 : 7)] -= 1;
		cr_assert(seen_on(&build, 2000, 3));
	}
	cr_assert_eq(duplicates_pairs(table)->count, 2);
	check_pair(0, (struct capture_point){ 0, POINT_OF_FILE, WAY_UNKNOWN },
	    (struct capture_point){ 2, POINT_OF_FILE, WAY_UNKNOWN }, 0, 2);
	check_pair(1, (struct capture_point){ 0, POINT_OF_FILE, WAY_UNKNOWN },
	    (struct capture_point){ 2, POINT_OF_FILE, WAY_UNKNOWN }, 1, 2);
}

/* On "any": what the slave of a bond got, and the bond; the index 258 of the host counts, not the file's number. */
Test(duplicates, row_22_interfaces_of_the_host)
{
	struct build plain, slave = { .link_type = DLT_LINUX_SLL2 }, bond;
	uint32_t ip_at = build_stamped(&plain, "0800", 4);

	build_hex(&slave, "0800 0000 00000102 0001 00 06 020000000001 0000");
	build_bytes(&slave, plain.data + ip_at, plain.len - ip_at);
	bond = slave;
	bond.data[7] = 7;
	bond.data[10] = 4;
	cr_assert_not(seen_on(&slave, 0, 1));
	cr_assert(seen_on(&bond, 5000, 1));
	check_pair(0, (struct capture_point){ 0x102, POINT_OF_HOST, WAY_IN },
	    (struct capture_point){ 0x107, POINT_OF_HOST, WAY_OUT }, 0, 1);
}

/* The first version of the header tells the direction alone; the copy behind it came from a router. */
Test(duplicates, row_22_directions)
{
	struct build plain, in = { .link_type = DLT_LINUX_SLL }, out;
	uint32_t ip_at = build_stamped(&plain, "0800", 4);

	build_hex(&in, "0000 0001 0006 020000000001 0000 0800");
	build_bytes(&in, plain.data + ip_at, plain.len - ip_at);
	out = in;
	out.data[1] = 4;
	in.data[16 + 8] = 63;
	out.data[16 + 8] = 64;
	cr_assert_not(seen_at(&in, 0));
	cr_assert(seen_at(&out, 10));
	cr_assert(seen_at(&out, 20));
	check_pair(0, (struct capture_point){ .way = WAY_IN }, (struct capture_point){ .way = WAY_OUT }, -1, 2);
}

Test(duplicates, pairs_of_points_are_capped)
{
	struct build build;

	build_stamped(&build, "0800", 4);
	cr_assert_not(seen_on(&build, 0, 0));
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= POINT_PAIRS + 5; i++)
			cr_assert(seen_on(&build, i, i));
	cr_assert_eq(duplicates_pairs(table)->count, POINT_PAIRS);
	cr_assert_eq(duplicates_pairs(table)->others, 2 * 5);
	check_pair(POINT_PAIRS - 1, (struct capture_point){ 0 },
	    (struct capture_point){ POINT_PAIRS - 1, POINT_OF_FILE, WAY_UNKNOWN }, 0, 2);
}
