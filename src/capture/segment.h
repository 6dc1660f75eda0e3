/*
 * A TCP segment with its addresses, out of a packet of any link type.
 */
#ifndef CAPTURE_SEGMENT_H
#define CAPTURE_SEGMENT_H

#include <nfscorr/nfs_op.h>
#include <string.h>

#include "capture/packet.h"

enum tcp_flag { TCP_FIN = 0x01, TCP_SYN = 0x02, TCP_RST = 0x04, TCP_PSH = 0x08, TCP_ACK = 0x10 };

/*
 * The key of a flow: both endpoints in a fixed order (the smaller one, compared
 * as bytes of address then port, is [0]), so that both directions share it.
 * Padding-free: compared and hashed as bytes.
 */
struct flow_key {
	uint8_t address[2][16];	/* IPv4 mapped into IPv6 */
	uint16_t port[2];	/* host byte order */
};

struct ip_header;

/* The key of a packet between two ports; returns its direction: 0 when endpoint 0 of the key sent it. */
uint8_t flow_key_make(struct flow_key *key, const struct ip_header *ip, uint16_t source_port, uint16_t destination_port);

/*
 * 0 when two addresses are equal. In two words each: addresses are compared when
 * they have just been written in words, and a wider read would have to wait.
 */
static inline uint64_t
address_difference(const uint8_t a[16], const uint8_t b[16])
{
	uint64_t high[2], low[2];

	memcpy(&high[0], a, 8);
	memcpy(&high[1], b, 8);
	memcpy(&low[0], a + 8, 8);
	memcpy(&low[1], b + 8, 8);
	return (high[0] ^ high[1]) | (low[0] ^ low[1]);
}

static inline bool
flow_key_same(const struct flow_key *a, const struct flow_key *b)
{
	return (address_difference(a->address[0], b->address[0]) | address_difference(a->address[1], b->address[1])) == 0 &&
	    a->port[0] == b->port[0] && a->port[1] == b->port[1];
}

struct segment {
	const struct packet *packet;	/* borrowed */
	const struct flow_key *key;	/* borrowed from what parsed it */
	uint8_t direction;		/* 0: sent by endpoint 0 of the key, 1: by endpoint 1 */
	uint8_t header_len;		/* bytes at header: 20..60 */
	uint16_t window;		/* as on the wire, unscaled */
	uint8_t window_scale;		/* of a SYN; 0 when the option is not there */
	bool has_window_scale;
	uint16_t mss;			/* of a SYN; 0 when the option is not there */
	uint32_t seq, ack;
	const uint8_t *header;		/* of TCP, with its options; borrowed with the packet */
	uint8_t flags;			/* enum tcp_flag */
	uint16_t ip_id;			/* IPv4 identification; 0 in IPv6, which has none */
	uint8_t hops_left;		/* time to live, hop limit */
	const uint8_t *payload;		/* borrowed with the packet */
	uint32_t payload_cap_len;	/* bytes at payload */
	uint32_t payload_wire_len;	/* bytes the segment carried */
};

enum segment_result {
	SEGMENT_TCP,
	SEGMENT_UDP,		/* a UDP datagram or a fragment of one: for datagram_parse() */
	SEGMENT_OTHER,		/* neither over IP: nothing for us */
	SEGMENT_FRAGMENT,	/* an IP fragment of TCP */
	SEGMENT_CUT,		/* the capture cut it before the TCP header's end */
	SEGMENT_BAD,		/* lengths that contradict one another */
};

/*
 * Reads link, network and transport headers; bounded depth, no allocation, no
 * state. The segment is set after SEGMENT_TCP only, and its key to the one given.
 * Of tunnelled packets it is the innermost that counts.
 */
enum segment_result segment_parse(const struct packet *packet, struct segment *segment, struct flow_key *key);

struct flow_hash;
struct flow_hashes;

/* The same with the hashes of its key, both borrowed until the next call. It is quick for what nearly all packets are. */
enum segment_result segment_parse_known(const struct packet *packet, struct flow_hashes *hashes,
    struct segment *segment, struct flow_hash **hash);

/* The link types that segment_parse knows. */
bool segment_knows_link(int link_type);

#endif
