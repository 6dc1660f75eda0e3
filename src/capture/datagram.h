/*
 * A UDP datagram, or an IP fragment of one, out of a packet of any link type.
 */
#ifndef CAPTURE_DATAGRAM_H
#define CAPTURE_DATAGRAM_H

#include "capture/segment.h"

/*
 * One piece of a datagram: all of it, or an IP fragment. Offsets and lengths
 * count the datagram's bytes with the UDP header, as IP does.
 */
struct datagram {
	const struct packet *packet;	/* borrowed */
	struct flow_key key;		/* the ports are 0 where begins is not set */
	uint8_t direction;		/* as segment.direction; of a fragment without ports, by the addresses alone */
	uint8_t address_direction;	/* by the addresses alone: what all fragments of a datagram share */
	bool fragment;
	bool more;			/* of a fragment: not the last one */
	bool begins;			/* the UDP header is here */
	uint8_t hops_left;		/* time to live, hop limit */
	uint32_t id;			/* what fragments of one datagram share; of a whole one IPv4's identification, or 0 */
	uint32_t offset, wire_len;	/* of this piece */
	uint32_t datagram_len;		/* with its header, as that says; 0 where begins is not set */
	const uint8_t *payload;		/* behind the UDP header, if it is here; borrowed with the packet */
	uint32_t payload_cap_len;	/* bytes at payload */
};

enum { UDP_HEADER_LEN = 8 };

/* As segment_parse(), which returned SEGMENT_UDP for the packet: SEGMENT_UDP, SEGMENT_CUT or SEGMENT_BAD. */
enum segment_result datagram_parse(const struct packet *packet, struct datagram *datagram);

#endif
