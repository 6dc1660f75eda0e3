/*
 * One packet as a capture holds it.
 */
#ifndef CAPTURE_PACKET_H
#define CAPTURE_PACKET_H

#include <stdint.h>

struct packet {
	int64_t ts_ns;		/* capturing host's clock, since 1970 */
	uint32_t cap_len;	/* bytes at data */
	uint32_t wire_len;	/* bytes the packet had; at least cap_len */
	int link_type;		/* DLT_ value of libpcap */
	uint32_t interface;	/* 1 + the number that the file gives where it was captured; 0: it gives none */
	uint64_t frame;		/* 1-based number in its capture, as Wireshark counts */
	const uint8_t *data;	/* lent by its source (source_on_gone) */
};

#endif
