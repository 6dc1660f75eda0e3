#include "capture/datagram.h"

#include "capture/ip.h"
#include "capture/link.h"

/*
 * RFC 768.
 *
 *      |          Source Port          |       Destination Port        |
 *      |            Length             |           Checksum            |
 *
 * The length counts the header. What IP carries behind it is padding; a first
 * fragment holds less than it, a whole datagram cannot.
 */
static enum segment_result
read_udp(struct datagram *datagram, struct layer *layer, const struct ip_header *ip)
{
	const uint8_t *udp = layer->data;
	enum layer_result result = layer_need(layer, UDP_HEADER_LEN);
	uint32_t len;

	if (result != LAYER_FOUND)
		return result == LAYER_CUT ? SEGMENT_CUT : SEGMENT_BAD;
	len = load_be16(udp + 4);
	if (len < UDP_HEADER_LEN || (!datagram->more && len > layer->wire_len))
		return SEGMENT_BAD;
	if (len < layer->wire_len) {
		layer_trim(layer, len);
		datagram->wire_len = len;
	}
	datagram->begins = true;
	datagram->datagram_len = len;
	datagram->direction = flow_key_make(&datagram->key, ip, load_be16(udp), load_be16(udp + 2));
	layer_skip(layer, UDP_HEADER_LEN);
	return SEGMENT_UDP;
}

enum segment_result
datagram_parse(const struct packet *packet, struct datagram *datagram)
{
	struct layer layer = {
		.data = packet->data,
		.cap_len = packet->cap_len,
		.wire_len = packet->wire_len,
	};
	struct ip_header ip;
	enum layer_result result = link_strip(packet->link_type, &layer);
	enum segment_result read = SEGMENT_UDP;

	if (result == LAYER_FOUND)
		result = ip_strip_to_transport(&layer, &ip);
	if (result != LAYER_FOUND && result != LAYER_FRAGMENT)
		return result == LAYER_CUT ? SEGMENT_CUT : SEGMENT_BAD;
	*datagram = (struct datagram){ .packet = packet, .wire_len = layer.wire_len, .id = ip.id,
	    .hops_left = ip.hops_left };
	datagram->address_direction = datagram->direction = flow_key_make(&datagram->key, &ip, 0, 0);
	if (result == LAYER_FRAGMENT) {
		datagram->fragment = true;
		datagram->more = ip.more_fragments;
		datagram->id = ip.fragment_id;
		datagram->offset = ip.fragment_offset;
	}
	if (datagram->offset == 0)
		read = read_udp(datagram, &layer, &ip);
	datagram->payload = layer.data;
	datagram->payload_cap_len = layer.cap_len;
	return read;
}
