#include "capture/segment.h"

#include <glib.h>
#include <pcap/dlt.h>
#include <string.h>

#include "capture/ip.h"
#include "capture/link.h"

/* flow_key is hashed and compared as bytes. */
_Static_assert(sizeof(struct flow_key) == 36, "flow_key has padding");

enum {
	TCP_LEN = 20,
	WINDOW_SCALE_MAX = 14,	/* RFC 7323 section 2.3: larger ones mean 14 */
};

static const uint8_t result_of[] = {
	[LAYER_FOUND] = SEGMENT_TCP,
	[LAYER_OTHER] = SEGMENT_OTHER,
	[LAYER_FRAGMENT] = SEGMENT_FRAGMENT,
	[LAYER_CUT] = SEGMENT_CUT,
	[LAYER_BAD] = SEGMENT_BAD,
};

/* An IPv4 address mapped into IPv6, in whole words: it is read as such at once. */
static void
map_address(uint8_t to[16], uint32_t address)
{
	const uint64_t words[2] = { 0, GUINT64_TO_BE(UINT64_C(0xffff) << 32 | address) };

	memcpy(to, &words[0], sizeof words[0]);
	memcpy(to + sizeof words[0], &words[1], sizeof words[1]);
}

static uint8_t
make_ipv4(struct flow_key *key, const struct ip_header *ip, uint16_t source_port, uint16_t destination_port)
{
	uint32_t source = load_be32(ip->source), destination = load_be32(ip->destination);
	unsigned from = source != destination ? source > destination : source_port > destination_port;

	map_address(key->address[from], source);
	map_address(key->address[!from], destination);
	key->port[from] = source_port;
	key->port[!from] = destination_port;
	return (uint8_t)from;
}

uint8_t
flow_key_make(struct flow_key *key, const struct ip_header *ip, uint16_t source_port, uint16_t destination_port)
{
	unsigned from;
	int order;

	if (ip->version == 4)
		return make_ipv4(key, ip, source_port, destination_port);
	order = memcmp(ip->source, ip->destination, 16);
	from = order != 0 ? order > 0 : source_port > destination_port;
	memcpy(key->address[from], ip->source, 16);
	memcpy(key->address[!from], ip->destination, 16);
	key->port[from] = source_port;
	key->port[!from] = destination_port;
	return (uint8_t)from;
}

/* The options of a SYN (RFC 9293 section 3.2, RFC 7323 section 2.2). */
static void
read_options(struct segment *segment, const uint8_t *tcp, uint32_t header_len)
{
	enum { END = 0, NO_OPERATION = 1, MSS = 2, WINDOW_SCALE = 3 };
	uint32_t at = TCP_LEN;

	while (at < header_len && tcp[at] != END) {
		uint32_t len;

		if (tcp[at] == NO_OPERATION) {
			at++;
			continue;
		}
		if (at + 1 == header_len)
			return;
		len = tcp[at + 1];
		if (len < 2 || at + len > header_len)
			return;
		if (tcp[at] == MSS && len == 4)
			segment->mss = load_be16(tcp + at + 2);
		if (tcp[at] == WINDOW_SCALE && len == 3) {
			segment->has_window_scale = true;
			segment->window_scale = tcp[at + 2] < WINDOW_SCALE_MAX ?
			    tcp[at + 2] : WINDOW_SCALE_MAX;
		}
		at += len;
	}
}

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
static enum layer_result
read_tcp(struct segment *segment, struct layer *layer, const struct ip_header *ip)
{
	const uint8_t *tcp = layer->data;
	enum layer_result result = layer_need(layer, TCP_LEN);
	uint32_t header_len;

	if (result != LAYER_FOUND)
		return result;
	header_len = (uint32_t)(tcp[12] >> 4) * 4;
	if (header_len < TCP_LEN)
		return LAYER_BAD;
	result = layer_need(layer, header_len);
	if (result != LAYER_FOUND)
		return result;
	segment->direction = flow_key_make(&segment->key, ip, load_be16(tcp), load_be16(tcp + 2));
	segment->seq = load_be32(tcp + 4);
	segment->ack = load_be32(tcp + 8);
	segment->flags = tcp[13];
	segment->window = load_be16(tcp + 14);
	segment->mss = 0;
	segment->window_scale = 0;
	segment->has_window_scale = false;
	if (segment->flags & TCP_SYN)
		read_options(segment, tcp, header_len);
	layer_skip(layer, header_len);
	segment->header = tcp;
	segment->header_len = (uint8_t)header_len;
	segment->hops_left = ip->hops_left;
	segment->ip_id = ip->id;
	segment->payload = layer->data;
	segment->payload_cap_len = layer->cap_len;
	segment->payload_wire_len = layer->wire_len;
	return LAYER_FOUND;
}

/*
 * What nearly all packets are: Ethernet without tags, IPv4 without options, no
 * fragment, TCP. False: it takes a closer look. The layer is what follows IP.
 */
static bool
strip_common(const struct packet *packet, struct layer *layer, struct ip_header *ip)
{
	enum { ETHERNET = 14, IPV4 = 20, VERSION_AND_LENGTH = 0x45, FRAGMENT = 0x3fff };
	const uint8_t *data = packet->data + ETHERNET;
	uint32_t total_len;

	if (packet->link_type != DLT_EN10MB || packet->cap_len < ETHERNET + IPV4 + TCP_LEN ||
	    load_be16(data - 2) != 0x0800 || data[0] != VERSION_AND_LENGTH || data[9] != IP_TCP ||
	    load_be16(data + 6) & FRAGMENT)
		return false;
	total_len = load_be16(data + 2);
	if (total_len < IPV4 + TCP_LEN)
		return false;
	ip->source = data + 12;
	ip->destination = data + 16;
	ip->version = 4;
	ip->hops_left = data[8];
	ip->protocol = IP_TCP;
	ip->id = load_be16(data + 4);
	*layer = (struct layer){
		.data = data,
		.cap_len = packet->cap_len - ETHERNET,
		.wire_len = packet->wire_len - ETHERNET,
	};
	layer_trim(layer, total_len);
	layer_skip(layer, IPV4);
	return true;
}

static enum layer_result
strip_any(const struct packet *packet, struct layer *layer, struct ip_header *ip)
{
	enum layer_result result;

	*layer = (struct layer){
		.data = packet->data,
		.cap_len = packet->cap_len,
		.wire_len = packet->wire_len,
	};
	result = link_strip(packet->link_type, layer);
	return result == LAYER_FOUND ? ip_strip_to_transport(layer, ip) : result;
}

enum segment_result
segment_parse(const struct packet *packet, struct segment *segment)
{
	struct layer layer;
	struct ip_header ip = { 0 };
	enum layer_result result = strip_common(packet, &layer, &ip) ? LAYER_FOUND : strip_any(packet, &layer, &ip);

	if ((result == LAYER_FOUND || result == LAYER_FRAGMENT) && ip.protocol == IP_UDP)
		return SEGMENT_UDP;
	if (result == LAYER_FOUND) {
		segment->packet = packet;
		result = read_tcp(segment, &layer, &ip);
	}
	return result_of[result];
}

bool
segment_knows_link(int link_type)
{
	return link_known(link_type);
}
