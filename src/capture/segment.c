#include "capture/segment.h"

#include <glib.h>
#include <pcap/dlt.h>
#include <string.h>

#include "capture/flow_hash.h"
#include "capture/ip.h"
#include "capture/link.h"
#include "capture/plain.h"

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

static enum layer_result
read_tcp(struct segment *segment, const struct layer *layer, const struct ip_header *ip)
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
	segment_take_header(segment, tcp, header_len, layer->cap_len, layer->wire_len);
	if (segment->flags & TCP_SYN)
		read_options(segment, tcp, header_len);
	segment->hops_left = ip->hops_left;
	segment->ip_id = ip->id;
	return LAYER_FOUND;
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

/* Any packet. All of the segment but its key and direction. */
static __attribute__((noinline)) enum segment_result
read_any(const struct packet *packet, struct segment *segment, struct ip_header *ip)
{
	struct layer layer;
	enum layer_result result;

	*ip = (struct ip_header){ 0 };
	result = strip_any(packet, &layer, ip);
	if ((result == LAYER_FOUND || result == LAYER_FRAGMENT) && ip->protocol == IP_UDP)
		return SEGMENT_UDP;
	if (result == LAYER_FOUND) {
		segment->packet = packet;
		result = read_tcp(segment, &layer, ip);
	}
	return result_of[result];
}

/* Where the IP header is behind one of the commonest link headers; 0: it takes a closer look. */
static inline uint32_t
ip_at(const struct packet *packet)
{
	enum { ETHERNET = 14, TAG = 4, COOKED = 16, COOKED2 = 20 };
	const uint16_t ipv4 = GUINT16_TO_BE(0x0800), ipv6 = GUINT16_TO_BE(0x86dd), vlan = GUINT16_TO_BE(0x8100);
	const uint8_t *data = packet->data;
	uint32_t at;
	uint16_t type;

	if (packet->cap_len < COOKED2)
		return 0;
	if (G_LIKELY(packet->link_type == DLT_EN10MB)) {
		at = ETHERNET;
		type = load16(data + at - 2);
		if (type == vlan) {
			at += TAG;
			type = load16(data + at - 2);
		}
	} else if (packet->link_type == DLT_LINUX_SLL) {
		at = COOKED;
		type = load16(data + at - 2);
	} else if (packet->link_type == DLT_LINUX_SLL2) {
		at = COOKED2;
		type = load16(data);
	} else {
		return 0;
	}
	return type == ipv4 || type == ipv6 ? at : 0;
}

/* TCP as it mostly is, whole and no SYN, behind ip_len bytes of IP: cap_len and total_len are of both. */
static inline bool
read_common_tcp(struct segment *segment, const uint8_t *ip, uint32_t ip_len, uint32_t cap_len, uint32_t total_len)
{
	const uint8_t *tcp = ip + ip_len;
	uint32_t header_len = tcp[12] >> 4 << 2;

	cap_len = MIN(cap_len, total_len);
	if (header_len < TCP_LEN || cap_len < ip_len + header_len || tcp[13] & TCP_SYN)
		return false;
	segment_take_header(segment, tcp, header_len, cap_len - ip_len, total_len - ip_len);
	return true;
}

/*
 * What nearly all packets are: IPv4 without options, no fragment, TCP. False: it
 * takes a closer look. All of the segment but its key and direction.
 */
static inline bool
read_ipv4(const struct packet *packet, uint32_t at, struct segment *segment)
{
	enum { IPV4 = 20, VERSION_AND_LENGTH = 0x45 };
	/* of flags, fragment offset, TTL and protocol: where the fragment is, and the protocol */
	const uint32_t fragment_and_protocol = GUINT32_TO_BE(0x3fff00ff), whole_tcp = GUINT32_TO_BE(IP_TCP);
	const uint8_t *ip = packet->data + at;

	if (packet->cap_len < at + IPV4 + TCP_LEN || ip[0] != VERSION_AND_LENGTH ||
	    (load32(ip + 6) & fragment_and_protocol) != whole_tcp)
		return false;
	segment->packet = packet;
	segment->hops_left = ip[8];
	segment->ip_id = load_be16(ip + 4);
	return read_common_tcp(segment, ip, IPV4, packet->cap_len - at, load_be16(ip + 2));
}

/* The same of IPv6 without extensions. */
static inline bool
read_ipv6(const struct packet *packet, uint32_t at, struct segment *segment)
{
	enum { IPV6 = 40 };
	const uint8_t *ip = packet->data + at;

	if (packet->cap_len < at + IPV6 + TCP_LEN || ip[0] >> 4 != 6 || ip[6] != IP_TCP)
		return false;
	segment->packet = packet;
	segment->hops_left = ip[7];
	segment->ip_id = 0;
	return read_common_tcp(segment, ip, IPV6, packet->cap_len - at, IPV6 + load_be16(ip + 4));
}

static inline enum segment_result
take_flow(struct segment *segment, struct flow_hash *flow, struct flow_hash **hash)
{
	*hash = flow;
	segment->key = &flow->key;
	segment->direction = flow->direction;
	return SEGMENT_TCP;
}

static __attribute__((noinline)) enum segment_result
parse_known_any(const struct packet *packet, struct flow_hashes *hashes, struct segment *segment,
    struct flow_hash **hash)
{
	struct ip_header ip;
	uint32_t at = ip_at(packet);
	enum segment_result result;

	if (at > 0 && read_ipv6(packet, at, segment))
		return take_flow(segment, flow_hash_of(hashes, 6, packet->data + at + 8, segment->header), hash);
	result = read_any(packet, segment, &ip);
	if (result != SEGMENT_TCP)
		return result;
	return take_flow(segment, flow_hash_of(hashes, ip.version, ip.source, segment->header), hash);
}

enum segment_result
segment_parse_known(const struct packet *packet, struct flow_hashes *hashes, struct segment *segment,
    struct flow_hash **hash)
{
	uint32_t at = ip_at(packet);

	if (G_LIKELY(at > 0 && read_ipv4(packet, at, segment))) {
		/* the addresses are right in front of the ports */
		struct flow_hash *flow = flow_hash_known(hashes, segment->header - 8, segment->header);

		if (G_LIKELY(flow != NULL))
			return take_flow(segment, flow, hash);
	}
	return parse_known_any(packet, hashes, segment, hash);
}

enum segment_result
segment_parse(const struct packet *packet, struct segment *segment, struct flow_key *key)
{
	struct ip_header ip;
	enum segment_result result = read_any(packet, segment, &ip);

	if (result == SEGMENT_TCP) {
		segment->key = key;
		segment->direction = flow_key_make(key, &ip, load_be16(segment->header), load_be16(segment->header + 2));
	}
	return result;
}

bool
segment_knows_link(int link_type)
{
	return link_known(link_type);
}
