/*
 * IPv4 and IPv6 headers, and the tunnels that carry IP in IP.
 */
#ifndef CAPTURE_IP_H
#define CAPTURE_IP_H

#include "capture/layer.h"

enum { IP_TCP = 6, IP_UDP = 17 };

struct ip_header {
	const uint8_t *source, *destination;	/* 4 or 16 bytes, borrowed with the packet */
	uint8_t version;			/* 4 or 6 */
	uint8_t hops_left;			/* time to live, hop limit */
	uint8_t protocol;			/* of what follows the last header that was taken off */
	uint16_t id;				/* IPv4 identification; 0 in IPv6, which has none */
	/* after LAYER_FRAGMENT */
	bool more_fragments;
	uint16_t fragment_offset;		/* bytes of the datagram before this piece */
	uint32_t fragment_id;			/* IPv4: id; IPv6: that of the fragment header */
};

/*
 * Takes off the IP header with its options or extension headers, and trims the
 * layer to the datagram's length. header is complete after LAYER_FOUND and
 * LAYER_FRAGMENT; after LAYER_FRAGMENT, protocol is what the fragments carry.
 */
enum layer_result ip_strip(struct layer *layer, struct ip_header *header);

/*
 * Takes off everything before a TCP or UDP header, tunnels too: header is that
 * of the innermost datagram. LAYER_FRAGMENT: the layer is a piece of one of
 * them, which header->protocol tells.
 */
enum layer_result ip_strip_to_transport(struct layer *layer, struct ip_header *header);

/*
 * Takes off a tunnel's header behind an IP header of that protocol: IP in IP,
 * GRE, VXLAN and Geneve. LAYER_FOUND: the layer starts with an IP header.
 */
enum layer_result ip_strip_tunnel(uint8_t protocol, struct layer *layer);

#endif
