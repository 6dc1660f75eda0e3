#include "capture/ip.h"

#include "capture/link.h"

enum {
	IP_HOP_BY_HOP = 0,
	IP_IN_IP = 4,
	IP_IPV6 = 41,
	IP_ROUTING = 43,
	IP_FRAGMENT = 44,
	IP_GRE = 47,
	IP_AUTHENTICATION = 51,
	IP_DESTINATION = 60,
	IP_MOBILITY = 135,
	IP_HIP = 139,
	IP_SHIM6 = 140,
};

enum {
	IPV4_LEN = 20,
	IPV6_LEN = 40,
	TUNNELS_MAX = 4,
	EXTENSIONS_MAX = 16,	/* RFC 8200 section 4.1 knows seven in their order */
	OFFLOAD_MAX = 1 << 20,	/* bytes; Linux makes at most 8 * 65535 of them */
};

/*
 * The length of a datagram whose own length field is 0: segmentation offload
 * leaves it so when the stack passes on more than the field can hold, or leaves
 * it to the device to fill in. The frame's length is all there is to go by.
 */
static enum layer_result
trim_offloaded(struct layer *layer)
{
	return layer->wire_len <= OFFLOAD_MAX ? LAYER_FOUND : LAYER_BAD;
}

/* A datagram that is whole, at offset 0 with none to come, is no fragment: an atomic one is none either (RFC 6946). */
static enum layer_result
note_fragment(struct ip_header *header, bool more, uint32_t offset, uint32_t id)
{
	header->more_fragments = more;
	header->fragment_offset = (uint16_t)offset;
	header->fragment_id = id;
	return more || offset > 0 ? LAYER_FRAGMENT : LAYER_FOUND;
}

/*
 * RFC 791 section 3.1.
 *
 *      0                   1                   2                   3
 *      |Version|  IHL  |Type of Service|          Total Length         |
 *      |         Identification        |Flags|     Fragment Offset     |
 *      |  Time to Live |    Protocol   |        Header Checksum        |
 *      |                        Source Address                         |
 *      |                     Destination Address                       |
 *      |                            Options                            |
 *
 * A total length beyond the frame's is believed: tools that shorten packets
 * lose the frame's length, and only the datagram's fits the sequence numbers.
 */
static enum layer_result
strip_ipv4(struct layer *layer, struct ip_header *header)
{
	const uint8_t *data = layer->data;
	enum layer_result result = layer_need(layer, IPV4_LEN);
	uint32_t header_len, total_len;

	if (result != LAYER_FOUND)
		return result;
	header_len = (data[0] & 0x0fU) * 4;
	total_len = load_be16(data + 2);
	if (total_len == 0) {
		result = trim_offloaded(layer);
		if (result != LAYER_FOUND)
			return result;
	} else {
		layer_trim(layer, total_len);
	}
	if (header_len < IPV4_LEN)
		return LAYER_BAD;
	result = layer_need(layer, header_len);
	if (result != LAYER_FOUND)
		return result;
	header->source = data + 12;
	header->destination = data + 16;
	header->version = 4;
	header->hops_left = data[8];
	header->protocol = data[9];
	header->id = load_be16(data + 4);
	layer_skip(layer, header_len);
	return note_fragment(header, load_be16(data + 6) & 0x2000, (load_be16(data + 6) & 0x1fff) * 8U, header->id);
}

/*
 * The jumbo payload option in a hop-by-hop header of len bytes (RFC 2675
 * section 2): its length counts what follows the IPv6 header; 0: not there.
 */
static uint32_t
jumbo_payload_len(const uint8_t *extension, uint32_t len)
{
	uint32_t at = 2;

	while (at + 1 < len) {
		if (extension[at] == 0) {	/* Pad1 has no length */
			at++;
			continue;
		}
		if (extension[at] == 0xc2 && extension[at + 1] == 4 && at + 6 <= len)
			return load_be32(extension + at + 2);
		at += 2U + extension[at + 1];
	}
	return 0;
}

/* Bytes of an extension header, by its first two; 0: not an extension header. */
static uint32_t
extension_len(uint8_t type, const uint8_t *extension)
{
	switch (type) {
	case IP_HOP_BY_HOP:
	case IP_ROUTING:
	case IP_DESTINATION:
	case IP_MOBILITY:
	case IP_HIP:
	case IP_SHIM6:
		return (extension[1] + 1U) * 8;
	case IP_FRAGMENT:
		return 8;
	case IP_AUTHENTICATION:		/* RFC 4302 section 2.2 counts otherwise */
		return (extension[1] + 2U) * 4;
	default:
		return 0;
	}
}

static bool
is_extension(uint8_t type)
{
	static const uint8_t any[2];

	return extension_len(type, any) > 0;
}

/* Takes off one extension header; header->protocol is its type, then that of the next. */
static enum layer_result
strip_extension(struct layer *layer, struct ip_header *header, bool no_length)
{
	const uint8_t *data = layer->data;
	enum layer_result result = layer_need(layer, 2);
	uint8_t type = header->protocol;
	uint32_t len;

	if (result != LAYER_FOUND)
		return result;
	len = extension_len(type, data);
	result = layer_need(layer, len);
	if (result != LAYER_FOUND)
		return result;
	if (type == IP_HOP_BY_HOP && no_length) {
		uint32_t jumbo_len = jumbo_payload_len(data, len);

		if (jumbo_len > OFFLOAD_MAX || (jumbo_len > 0 && jumbo_len < len))
			return LAYER_BAD;
		if (jumbo_len > 0)
			layer_trim(layer, jumbo_len);
	}
	header->protocol = data[0];
	layer_skip(layer, len);
	if (type == IP_FRAGMENT)
		return note_fragment(header, data[3] & 1, load_be16(data + 2) & 0xfff8U, load_be32(data + 4));
	return LAYER_FOUND;
}

/*
 * RFC 8200 section 3.
 *
 *      0                   1                   2                   3
 *      |Version| Traffic Class |           Flow Label                  |
 *      |         Payload Length        |  Next Header  |   Hop Limit   |
 *      |                    Source Address, 16 bytes                   |
 *      |                  Destination Address, 16 bytes                |
 */
static enum layer_result
strip_ipv6(struct layer *layer, struct ip_header *header)
{
	const uint8_t *data = layer->data;
	enum layer_result result = layer_need(layer, IPV6_LEN);
	uint32_t payload_len;

	if (result != LAYER_FOUND)
		return result;
	payload_len = load_be16(data + 4);
	header->source = data + 8;
	header->destination = data + 24;
	header->version = 6;
	header->hops_left = data[7];
	header->protocol = data[6];
	header->id = 0;
	layer_skip(layer, IPV6_LEN);
	if (payload_len > 0)
		layer_trim(layer, payload_len);
	for (unsigned depth = 0; is_extension(header->protocol); depth++) {
		if (depth == EXTENSIONS_MAX)
			return LAYER_BAD;
		result = strip_extension(layer, header, payload_len == 0);
		if (result != LAYER_FOUND)
			return result;
	}
	return payload_len == 0 ? trim_offloaded(layer) : LAYER_FOUND;
}

enum layer_result
ip_strip(struct layer *layer, struct ip_header *header)
{
	enum layer_result result = layer_need(layer, 1);

	if (result != LAYER_FOUND)
		return result;
	switch (layer->data[0] >> 4) {
	case 4:
		return strip_ipv4(layer, header);
	case 6:
		return strip_ipv6(layer, header);
	default:
		return LAYER_BAD;
	}
}

/*
 * RFC 2784 section 2 with the key and sequence number of RFC 2890; version 1
 * is PPTP's (RFC 2637) and carries no EtherType.
 *
 *      0                   1                   2                   3
 *      |C| |K|S|       Reserved        | Ver |       EtherType         |
 *      |      Checksum (C)             |       Reserved (C)            |
 *      |                         Key (K)                               |
 *      |                   Sequence Number (S)                         |
 */
static enum layer_result
strip_gre(struct layer *layer)
{
	enum { TRANSPARENT_ETHERNET = 0x6558 };
	enum layer_result result = layer_need(layer, 4);
	uint32_t flags, len;
	uint16_t ethertype;

	if (result != LAYER_FOUND)
		return result;
	flags = load_be16(layer->data);
	ethertype = load_be16(layer->data + 2);
	if (flags & 0x0007)
		return LAYER_OTHER;
	len = 4 + (flags & 0x8000 ? 4 : 0) + (flags & 0x2000 ? 4 : 0) + (flags & 0x1000 ? 4 : 0);
	result = layer_need(layer, len);
	if (result != LAYER_FOUND)
		return result;
	layer_skip(layer, len);
	if (ethertype == TRANSPARENT_ETHERNET)
		return link_strip_ethernet(layer);
	return link_strip_ethertype(ethertype, layer);
}

/*
 * VXLAN (RFC 7348 section 5) and Geneve (RFC 8926 section 3.4) behind UDP, told
 * by their ports and by what their headers cannot be.
 *
 *      VXLAN   |R|R|R|R|I|R|R|R|    Reserved, 24 bits    |  VNI  | Reserved |
 *      Geneve  |Ver|  Opt Len  |O|C|  Rsvd.  |  Protocol | VNI | Rsvd. | Options
 */
static enum layer_result
strip_udp_tunnel(struct layer *layer)
{
	enum { UDP_LEN = 8, VXLAN_PORT = 4789, GENEVE_PORT = 6081, ETHERNET = 0x6558 };
	enum layer_result result = layer_need(layer, UDP_LEN);
	const uint8_t *tunnel;
	uint32_t len = 8;
	uint16_t port;

	if (result != LAYER_FOUND)
		return result;
	port = load_be16(layer->data + 2);
	if (port != VXLAN_PORT && port != GENEVE_PORT)
		return LAYER_OTHER;
	result = layer_need(layer, UDP_LEN + len);
	if (result != LAYER_FOUND)
		return result;
	tunnel = layer->data + UDP_LEN;
	if (port == VXLAN_PORT && load_be32(tunnel) != 0x08000000)
		return LAYER_OTHER;
	if (port == GENEVE_PORT) {
		if (tunnel[0] >> 6 != 0)
			return LAYER_OTHER;
		len += (tunnel[0] & 0x3fU) * 4;
		result = layer_need(layer, UDP_LEN + len);
		if (result != LAYER_FOUND)
			return result;
	}
	layer_skip(layer, UDP_LEN + len);
	if (port == VXLAN_PORT || load_be16(tunnel + 2) == ETHERNET)
		return link_strip_ethernet(layer);
	return link_strip_ethertype(load_be16(tunnel + 2), layer);
}

enum layer_result
ip_strip_tunnel(uint8_t protocol, struct layer *layer)
{
	switch (protocol) {
	case IP_IN_IP:
	case IP_IPV6:
		return LAYER_FOUND;
	case IP_GRE:
		return strip_gre(layer);
	case IP_UDP:
		return strip_udp_tunnel(layer);
	default:
		return LAYER_OTHER;
	}
}

enum layer_result
ip_strip_to_transport(struct layer *layer, struct ip_header *header)
{
	enum layer_result result = LAYER_FOUND;
	const uint8_t *behind = layer->data;

	for (unsigned depth = 0; result == LAYER_FOUND; depth++) {
		result = ip_strip(layer, header);
		behind = layer->data;
		if (result == LAYER_FRAGMENT)
			return header->protocol == IP_TCP || header->protocol == IP_UDP ? LAYER_FRAGMENT : LAYER_OTHER;
		if (result != LAYER_FOUND || header->protocol == IP_TCP)
			return result;
		result = depth == TUNNELS_MAX ? LAYER_OTHER : ip_strip_tunnel(header->protocol, layer);
	}
	/* UDP that is no tunnel, not a tunnel of something else */
	return result == LAYER_OTHER && header->protocol == IP_UDP && layer->data == behind ? LAYER_FOUND : result;
}
