/*
 * Packets put together by hand, header by header, for the tests of the capture
 * stage.
 */
#ifndef TESTS_CAPTURE_BUILD_H
#define TESTS_CAPTURE_BUILD_H

#include <stddef.h>

#include "capture/segment.h"

enum { BUILD_MAX = 4096 };

struct build {
	uint8_t data[BUILD_MAX];
	uint32_t len;
	uint32_t uncaptured;	/* bytes the wire had behind data */
	int link_type;
};

void build_bytes(struct build *build, const void *bytes, size_t len);
/* Bytes as hexadecimal digits; blanks are skipped. */
void build_hex(struct build *build, const char *hex);
void build_be16(struct build *build, unsigned value);
void build_be32(struct build *build, uint32_t value);
void build_zeros(struct build *build, uint32_t len);

/* Two hardware addresses and an EtherType. */
void build_ethernet(struct build *build, unsigned ethertype);

/* 192.0.2.1 to 192.0.2.2, identification 0x1234, TTL 64, no options. */
void build_ipv4(struct build *build, unsigned protocol, unsigned total_len);
/* 2001:db8::1 to 2001:db8::2, hop limit 64. */
void build_ipv6(struct build *build, unsigned next_header, unsigned payload_len);
/* Port 700 to 2049, sequence 0x11223344, acknowledgement 0x55667788, window 0x2000. */
void build_tcp(struct build *build, unsigned flags, unsigned options_len);

/* IPv4 or IPv6 and TCP with len bytes of payload. */
void build_transport(struct build *build, unsigned version, unsigned payload_len);
/* What most tests start from: Ethernet, IPv4 or IPv6, TCP with len bytes of payload. */
void build_plain(struct build *build, unsigned version, unsigned payload_len);

/* The packet, cut to cap_len bytes, at a time. */
struct packet build_packet(const struct build *build, uint32_t cap_len, int64_t ts_ns);

/*
 * Parses the packet cut to cap_len bytes, out of memory of just that size, so
 * that the address sanitizer sees every byte too much. The segment's pointers
 * lead into build; it has no key.
 */
enum segment_result build_parse(const struct build *build, uint32_t cap_len,
    struct segment *segment);

#endif
