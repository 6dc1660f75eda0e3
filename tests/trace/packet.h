/*
 * The bytes of a packet: link layer, IP, TCP, payload, with right checksums.
 */
#ifndef TRACE_PACKET_H
#define TRACE_PACKET_H

#include "trace/sim.h"

enum {
	PACKET_LINK_BYTES = 22,		/* at most */
	PACKET_BYTES = PACKET_LINK_BYTES + 40 + 60 + (1 << 20),
};

/* Bytes in front of the TCP payload. */
uint32_t trace_packet_headers(const struct trace_config *config, enum trace_side side,
	const struct frame *frame);
/* Link layer's number in a pcap file. */
uint32_t trace_packet_link_type(const struct trace_capture *capture);
/*
 * Writes the packet as this side's card shows it into `bytes` (PACKET_BYTES);
 * returns its length.
 */
uint32_t trace_packet_make(const struct sim *sim, enum trace_side side,
	const struct frame *frame, uint8_t *bytes);
/* The TTL or hop limit is less by one, as behind a router. */
void trace_packet_hop(const struct trace_capture *capture, uint8_t *bytes);

#endif
