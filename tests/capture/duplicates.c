/* What is the same packet twice, and what is another one. */
#include <criterion/criterion.h>
#include <xxhash.h>
#include <glib.h>
#include <pcap/dlt.h>

#include "base/arith.h"
#include "capture/build.h"
#include "capture/duplicates.h"

/* NOP, NOP, TCP time stamps (RFC 7323 section 3.2); offset of the value in the header. */
#define STAMPS "0101 080a 0000006400000032"
enum { STAMP_AT = 20 + 4 };

static struct duplicates *table;

static void
make_table(void)
{
	table = duplicates_new();
}

static void
free_table(void)
{
	duplicates_free(table);
}

TestSuite(duplicates, .init = make_table, .fini = free_table);

static bool
seen_at(const struct build *build, int64_t ts_ns)
{
	struct packet packet = build_packet(build, build->len, ts_ns);
	struct segment segment;

	cr_assert_eq(segment_parse(&packet, &segment), SEGMENT_TCP);
	return duplicates_seen(table, &segment, XXH3_64bits(&segment.key, sizeof segment.key));
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
	duplicates_free(table);
	table = duplicates_new();
	cr_assert_not(seen_at(&first, 0));
	return seen_at(&second, 1000);
}

Test(duplicates, the_same_packet_again)
{
	struct build build;

	for (unsigned version = 4; version <= 6; version += 2) {
		build_stamped(&build, version == 4 ? "0800" : "86dd", version);
		cr_assert_not(seen_at(&build, 1000));
		cr_assert(seen_at(&build, 1000));
		cr_assert(seen_at(&build, 3000));	/* and once more */
	}
}

Test(duplicates, the_time_to_live_and_the_traffic_class_may_differ)
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

	duplicates_free(table);
	table = duplicates_new();
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
Test(duplicates, a_mirrored_stream)
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
