#include "capture/build.h"

#include <criterion/criterion.h>
#include <glib.h>
#include <pcap/dlt.h>
#include <string.h>

#include "capture/flow_hash.h"

void
build_bytes(struct build *build, const void *bytes, size_t len)
{
	cr_assert_leq(build->len + len, BUILD_MAX);
	memcpy(build->data + build->len, bytes, len);
	build->len += (uint32_t)len;
}

void
build_hex(struct build *build, const char *hex)
{
	while (*hex != '\0') {
		uint8_t byte;

		if (*hex == ' ') {
			hex++;
			continue;
		}
		byte = (uint8_t)(g_ascii_xdigit_value(hex[0]) << 4 | g_ascii_xdigit_value(hex[1]));
		build_bytes(build, &byte, 1);
		hex += 2;
	}
}

void
build_be16(struct build *build, unsigned value)
{
	uint8_t bytes[2] = { (uint8_t)(value >> 8), (uint8_t)value };

	build_bytes(build, bytes, sizeof(bytes));
}

void
build_be32(struct build *build, uint32_t value)
{
	build_be16(build, value >> 16);
	build_be16(build, value & 0xffff);
}

void
build_zeros(struct build *build, uint32_t len)
{
	cr_assert_leq(build->len + len, BUILD_MAX);
	memset(build->data + build->len, 0, len);
	build->len += len;
}

void
build_ethernet(struct build *build, unsigned ethertype)
{
	build_hex(build, "020000000001 020000000002");
	build_be16(build, ethertype);
}

void
build_ipv4(struct build *build, unsigned protocol, unsigned total_len)
{
	build_hex(build, "4500");
	build_be16(build, total_len);
	build_hex(build, "1234 4000 40");
	build_be16(build, protocol << 8);	/* and half of the checksum */
	build_hex(build, "00 c0000201 c0000202");
}

void
build_ipv6(struct build *build, unsigned next_header, unsigned payload_len)
{
	build_hex(build, "60000000");
	build_be16(build, payload_len);
	build_be16(build, next_header << 8 | 64);
	build_hex(build, "20010db8000000000000000000000001");
	build_hex(build, "20010db8000000000000000000000002");
}

void
build_tcp(struct build *build, unsigned flags, unsigned options_len)
{
	build_be16(build, 700);
	build_be16(build, 2049);
	build_hex(build, "11223344 55667788");
	build_be16(build, (20 + options_len) / 4 << 12 | flags);
	build_hex(build, "2000 abcd 0000");
}

void
build_transport(struct build *build, unsigned version, unsigned payload_len)
{
	if (version == 4)
		build_ipv4(build, 6, 40 + payload_len);
	else
		build_ipv6(build, 6, 20 + payload_len);
	build_tcp(build, TCP_ACK, 0);
	build_zeros(build, payload_len);
}

void
build_plain(struct build *build, unsigned version, unsigned payload_len)
{
	*build = (struct build){ .link_type = DLT_EN10MB };
	build_ethernet(build, version == 4 ? 0x0800 : 0x86dd);
	build_transport(build, version, payload_len);
}

struct packet
build_packet(const struct build *build, uint32_t cap_len, int64_t ts_ns)
{
	return (struct packet){
		.ts_ns = ts_ns,
		.cap_len = cap_len,
		.wire_len = build->len + build->uncaptured,
		.link_type = build->link_type,
		.frame = 1,
		.data = build->data,
	};
}

enum segment_result
build_parse(const struct build *build, uint32_t cap_len, struct segment *segment)
{
	struct packet packet = build_packet(build, cap_len, 0);
	g_autofree uint8_t *exact = g_malloc(MAX(cap_len, 1));
	struct flow_hashes hashes = { 0 };
	struct flow_hash *hash;
	struct segment known;
	struct flow_key key;
	enum segment_result result;

	/* The end matters: an empty packet's bytes begin where its memory ends. */
	packet.data = cap_len > 0 ? exact : exact + 1;
	memcpy(exact, build->data, cap_len);
	result = segment_parse(&packet, segment, &key);
	cr_assert_eq(segment_parse_known(&packet, &hashes, &known, &hash), result);
	if (result == SEGMENT_TCP) {
		segment->packet = NULL;
		segment->key = NULL;
		segment->header = build->data + (segment->header - packet.data);
		segment->payload = build->data + (segment->payload - packet.data);
	}
	return result;
}
