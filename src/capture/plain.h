/*
 * The plain packet: Ethernet, IPv4 without options, no fragment, TCP with time
 * stamps and nothing else, no SYN, captured up to its payload, of a flow that is
 * remembered. Most are, and of them segment_parse_known() makes the same.
 */
#ifndef CAPTURE_PLAIN_H
#define CAPTURE_PLAIN_H

#include <glib.h>
#include <pcap/dlt.h>

#include "capture/flow_hash.h"
#include "capture/ip.h"

/*
 * RFC 9293 section 3.1.
 *
 *      0                   1                   2                   3
 *      |          Source Port          |       Destination Port        |
 *      |                        Sequence Number                        |
 *      |                    Acknowledgment Number                      |
 *      | Offset| Rsrvd |     Flags     |            Window             |
 *      |           Checksum            |         Urgent Pointer        |
 *      |                            Options                            |
 */
static inline void
segment_take_header(struct segment *segment, const uint8_t *tcp, uint32_t header_len, uint32_t cap_len, uint32_t wire_len)
{
	segment->seq = load_be32(tcp + 4);
	segment->ack = load_be32(tcp + 8);
	segment->flags = tcp[13];
	segment->window = load_be16(tcp + 14);
	segment->mss = 0;
	segment->window_scale = 0;
	segment->has_window_scale = false;
	segment->header = tcp;
	segment->header_len = (uint8_t)header_len;
	segment->payload = tcp + header_len;
	segment->payload_cap_len = cap_len - header_len;
	segment->payload_wire_len = wire_len - header_len;
}

/* NULL: it is not plain, and the segment not set. Else its flow, borrowed until the next call. */
static inline struct flow_hash *
plain_parse(const struct packet *packet, struct flow_hashes *hashes, struct segment *segment)
{
	enum { ETHERNET = 14, IPV4 = 20, TCP = 32, HEADERS = ETHERNET + IPV4 + TCP };
	/* EtherType, version and header length; then traffic class */
	const uint32_t type = GUINT32_TO_BE(0xffffff00), ipv4 = GUINT32_TO_BE(0x08004500);
	/* of flags, fragment offset, TTL and protocol: where the fragment is, and the protocol */
	const uint32_t fragment_and_protocol = GUINT32_TO_BE(0x3fff00ff), whole_tcp = GUINT32_TO_BE(IP_TCP);
	const uint16_t length_and_syn = GUINT16_TO_BE(0xf000 | TCP_SYN), stamped = GUINT16_TO_BE(TCP / 4 << 12);
	const uint8_t *ip = packet->data + ETHERNET, *tcp = ip + IPV4;
	uint32_t cap_len = packet->cap_len, total_len;
	struct flow_hash *flow;

	if (packet->link_type != DLT_EN10MB || cap_len < HEADERS || (load32(ip - 2) & type) != ipv4 ||
	    (load32(ip + 6) & fragment_and_protocol) != whole_tcp || (load16(tcp + 12) & length_and_syn) != stamped)
		return NULL;
	total_len = load_be16(ip + 2);
	flow = flow_hash_known(hashes, ip + 12, tcp);
	if (G_UNLIKELY(flow == NULL || total_len < IPV4 + TCP))
		return NULL;
	segment->packet = packet;
	segment->key = &flow->key;
	segment->direction = flow->direction;
	segment->hops_left = ip[8];
	segment->ip_id = load_be16(ip + 4);
	total_len -= IPV4;
	segment_take_header(segment, tcp, TCP, MIN(cap_len - ETHERNET - IPV4, total_len), total_len);
	return flow;
}

#endif
