#include "trace/packet.h"

#include <string.h>

#include "trace/stream.h"

enum {
	ETHERTYPE_IP4 = 0x0800, ETHERTYPE_IP6 = 0x86dd, ETHERTYPE_Q = 0x8100, ETHERTYPE_AD = 0x88a8,
	IP4_BYTES = 20, IP6_BYTES = 40, TCP_BYTES = 20,
	PROTOCOL_TCP = 6, PROTOCOL_UDP = 17, PROTOCOL_FRAGMENT = 44,
	IP6_FRAGMENT_BYTES = 8,
	WINDOW_SCALE = 7,
	TIME_STAMP_BYTES = 12,
	SLL_OUTGOING = 4,
};

static const uint32_t link_bytes[] = {
	[TRACE_ETHERNET] = 14, [TRACE_VLAN] = 18, [TRACE_QINQ] = 22, [TRACE_SLL] = 16,
	[TRACE_SLL2] = 20, [TRACE_RAW] = 0,
};
static const uint32_t link_types[] = {
	[TRACE_ETHERNET] = 1, [TRACE_VLAN] = 1, [TRACE_QINQ] = 1, [TRACE_SLL] = 113,
	[TRACE_SLL2] = 276, [TRACE_RAW] = 101,
};

static uint8_t *
put8(uint8_t *to, unsigned value)
{
	*to = (uint8_t)value;
	return to + 1;
}

static uint8_t *
put16(uint8_t *to, unsigned value)
{
	return put8(put8(to, value >> 8), value);
}

static uint8_t *
put32(uint8_t *to, uint32_t value)
{
	return put16(put16(to, value >> 16), value);
}

static uint8_t *
put_bytes(uint8_t *to, const void *bytes, size_t len)
{
	memcpy(to, bytes, len);
	return to + len;
}

/* ---- lengths ---- */

uint32_t
trace_packet_link_type(const struct trace_capture *capture)
{
	return link_types[capture->link];
}

static uint32_t
option_bytes(const struct trace_config *config, const struct frame *frame)
{
	uint32_t stamps = config->tcp_timestamps ? TIME_STAMP_BYTES : 0;

	return frame->kind == FRAME_SYN ? 8 + stamps : stamps;
}

static bool
is_fragment(const struct frame *frame)
{
	return frame->more || frame->offset > frame->record->start;
}

uint32_t
trace_packet_headers(const struct trace_config *config, enum trace_side side,
	const struct frame *frame)
{
	const struct trace_capture *capture = &config->capture[side];
	uint32_t below = link_bytes[capture->link] + (capture->ip_version == 6 ? IP6_BYTES : IP4_BYTES);

	if (frame->kind == FRAME_DATAGRAM)
		return below + (capture->ip_version == 6 && is_fragment(frame) ? IP6_FRAGMENT_BYTES : 0);
	return below + TCP_BYTES + option_bytes(config, frame);
}

/* ---- checksums (RFC 1071); sums are in the machine's byte order ---- */

static uint64_t
sum(uint64_t total, const uint8_t *bytes, size_t len)
{
	uint32_t word;
	uint16_t rest = 0;

	for (; len >= sizeof word; len -= sizeof word, bytes += sizeof word) {
		memcpy(&word, bytes, sizeof word);
		total += word;
	}
	if (len >= sizeof rest) {
		memcpy(&rest, bytes, sizeof rest);
		total += rest;
		bytes += sizeof rest;
		len -= sizeof rest;
	}
	rest = 0;
	memcpy(&rest, bytes, len);
	return total + rest;
}

static void
put_checksum(uint8_t *to, uint64_t total)
{
	uint16_t value;

	while (total >> 16 != 0)
		total = (total & 0xffff) + (total >> 16);
	value = (uint16_t)~total;
	memcpy(to, &value, sizeof value);
}

/* ---- layers ---- */

/* Who sent the packet, as this side's capture shows it. */
struct ends {
	const struct endpoint *from, *to;
	uint8_t from_mac[6], to_mac[6];
	bool outgoing;
};

static void
find_ends(const struct frame *frame, enum trace_side side, struct ends *ends)
{
	const struct conn *conn = frame->half->conn;
	const struct endpoint *client = &conn->client_end[side];
	const struct endpoint *server = &conn->lane->server->end[side];
	bool call = frame->half->direction == CALLS;
	uint8_t client_mac[6] = { 2, 0, 0, 2 };
	uint8_t server_mac[6] = { 2, 0, 0, 1 };

	put16(client_mac + 4, conn->lane->client->index + 1);
	put16(server_mac + 4, conn->lane->server->index + 1);
	ends->from = call ? client : server;
	ends->to = call ? server : client;
	memcpy(ends->from_mac, call ? client_mac : server_mac, 6);
	memcpy(ends->to_mac, call ? server_mac : client_mac, 6);
	ends->outgoing = side == sender_of(frame->half->direction);
}

static uint8_t *
put_link(const struct trace_capture *capture, const struct ends *ends, uint8_t *to)
{
	unsigned type = capture->ip_version == 6 ? ETHERTYPE_IP6 : ETHERTYPE_IP4;
	unsigned sll_type = ends->outgoing ? SLL_OUTGOING : 0;

	switch ((enum trace_link)capture->link) {
	case TRACE_SLL:
		to = put16(put16(put16(to, sll_type), 1), 6);
		to = put16(put_bytes(to, ends->from_mac, 6), 0);
		return put16(to, type);
	case TRACE_SLL2:
		to = put32(put16(put16(to, type), 0), 2);
		to = put8(put8(put16(to, 1), sll_type), 6);
		return put16(put_bytes(to, ends->from_mac, 6), 0);
	case TRACE_RAW:
		return to;
	case TRACE_ETHERNET:
	case TRACE_VLAN:
	case TRACE_QINQ:
		break;
	}
	to = put_bytes(put_bytes(to, ends->to_mac, 6), ends->from_mac, 6);
	if (capture->link == TRACE_QINQ)
		to = put16(put16(to, ETHERTYPE_AD), 100);
	if (capture->link != TRACE_ETHERNET)
		to = put16(put16(to, ETHERTYPE_Q), 42);
	return put16(to, type);
}

/* The length of offload frames: 0 where asked for, and where it does not fit. */
static unsigned
ip_length(const struct trace_config *config, enum trace_side side, const struct frame *frame,
	uint32_t len)
{
	bool offload = frame->len > (uint64_t)config->mss_bytes;

	return len > UINT16_MAX || (offload && config->capture[side].gso_zero_length) ? 0 : len;
}

/* `len` bytes of TCP follow. */
static uint8_t *
put_ip(const struct trace_config *config, enum trace_side side, const struct frame *frame,
	const struct ends *ends, uint32_t len, uint8_t *to)
{
	unsigned hops = ends->outgoing ? 64 : 63;
	uint8_t *start = to;

	if (config->capture[side].ip_version == 6) {
		to = put16(put32(to, 0x60000000), ip_length(config, side, frame, len));
		to = put8(put8(to, PROTOCOL_TCP), hops);
		return put_bytes(put_bytes(to, ends->from->address, 16), ends->to->address, 16);
	}
	to = put16(put16(to, 0x4500), ip_length(config, side, frame, IP4_BYTES + len));
	to = put16(put16(to, frame->ip_id), 0x4000);
	to = put16(put8(put8(to, hops), PROTOCOL_TCP), 0);
	to = put_bytes(put_bytes(to, ends->from->address, 4), ends->to->address, 4);
	put_checksum(start + 10, sum(0, start, IP4_BYTES));
	return to;
}

static uint8_t *
put_time_stamps(const struct trace_config *config, const struct frame *frame, uint8_t *to)
{
	if (!config->tcp_timestamps)
		return to;
	return put32(put32(put32(to, 0x0101080a), frame->stamp), frame->echo);
}

static uint8_t *
put_tcp(const struct trace_config *config, const struct frame *frame, const struct ends *ends,
	uint8_t *to)
{
	const struct half *half = frame->half;
	const struct half *heard = &half->conn->half[opposite(half->direction)];
	bool syn = frame->kind == FRAME_SYN;
	uint32_t header = TCP_BYTES + option_bytes(config, frame);
	uint32_t sequence = half->isn + (syn ? 0 : 1) + (uint32_t)(frame->offset - frame->garbage);
	uint32_t window = frame->window >> (syn ? 0 : WINDOW_SCALE);

	to = put32(put16(put16(to, ends->from->port), ends->to->port), sequence);
	to = put32(to, frame->has_ack ? heard->isn + 1 + (uint32_t)frame->ack : 0);
	to = put16(to, header << 10 | frame->flags);
	to = put32(put16(to, (unsigned)MIN(window, UINT16_MAX)), 0);
	if (syn)
		to = put32(put16(put16(to, 0x0204), (unsigned)config->mss_bytes),
			0x01030300 | WINDOW_SCALE);
	return put_time_stamps(config, frame, to);
}

static void
put_tcp_checksum(int64_t ip_version, const struct ends *ends, uint32_t len, uint8_t *tcp)
{
	size_t address = ip_version == 6 ? 16 : 4;
	uint8_t tail[8];
	uint64_t total = sum(sum(0, ends->from->address, address), ends->to->address, address);

	put32(put32(tail, len), PROTOCOL_TCP);
	put_checksum(tcp + 16, sum(sum(total, tail, sizeof tail), tcp, len));
}

/*
 * The IP header of a datagram or a fragment of one, of which `len` bytes follow;
 * in IPv6 with the header of a fragment (RFC 8200 section 4.5).
 */
static uint8_t *
put_datagram_ip(const struct trace_capture *capture, const struct frame *frame, const struct ends *ends,
	uint32_t len, uint8_t *to)
{
	uint64_t behind = frame->offset - frame->record->start;
	unsigned at = (unsigned)(behind > 0 ? behind + UDP_BYTES : 0), hops = ends->outgoing ? 64 : 63;
	bool fragment = is_fragment(frame);
	uint8_t *start = to;

	if (capture->ip_version == 6) {
		to = put16(put32(to, 0x60000000), len + (fragment ? IP6_FRAGMENT_BYTES : 0));
		to = put8(put8(to, fragment ? PROTOCOL_FRAGMENT : PROTOCOL_UDP), hops);
		to = put_bytes(put_bytes(to, ends->from->address, 16), ends->to->address, 16);
		if (fragment)
			to = put32(put16(put16(to, PROTOCOL_UDP << 8), at | frame->more), frame->ip_id);
		return to;
	}
	to = put16(put16(to, 0x4500), IP4_BYTES + len);
	to = put16(put16(to, frame->ip_id), at / 8 | (frame->more ? 0x2000u : 0));
	to = put16(put8(put8(to, hops), PROTOCOL_UDP), 0);
	to = put_bytes(put_bytes(to, ends->from->address, 4), ends->to->address, 4);
	put_checksum(start + 10, sum(0, start, IP4_BYTES));
	return to;
}

/* No checksum, as RFC 768 allows. */
static uint32_t
make_datagram(const struct trace_capture *capture, const struct frame *frame, const struct ends *ends, uint8_t *bytes)
{
	const struct record *record = frame->record;
	bool begins = frame->offset == record->start;
	uint8_t *to = put_link(capture, ends, bytes);

	to = put_datagram_ip(capture, frame, ends, frame->len + (begins ? UDP_BYTES : 0), to);
	if (begins)
		to = put32(put16(put16(to, ends->from->port), ends->to->port),
			(uint32_t)(record->end - record->start + UDP_BYTES) << 16);
	if (frame->len > 0)
		trace_stream_copy(record, frame->offset, to, frame->len);
	return (uint32_t)(to - bytes) + frame->len;
}

uint32_t
trace_packet_make(const struct sim *sim, enum trace_side side, const struct frame *frame,
	uint8_t *bytes)
{
	const struct trace_config *config = sim->config;
	const struct trace_capture *capture = &config->capture[side];
	uint32_t len = TCP_BYTES + option_bytes(config, frame) + frame->garbage + frame->len;
	struct ends ends;
	uint8_t *tcp, *to;

	find_ends(frame, side, &ends);
	if (frame->kind == FRAME_DATAGRAM)
		return make_datagram(capture, frame, &ends, bytes);
	to = put_link(capture, &ends, bytes);
	to = tcp = put_ip(config, side, frame, &ends, len, to);
	to = put_tcp(config, frame, &ends, to);
	if (frame->garbage > 0)
		to = put_bytes(to, sim->pool + frame->offset % (POOL_BYTES / 2), frame->garbage);
	if (frame->len > 0)
		trace_stream_copy(frame->record, frame->offset, to, frame->len);
	put_tcp_checksum(capture->ip_version, &ends, len, tcp);
	return (uint32_t)(tcp - bytes) + len;
}

void
trace_packet_hop(const struct trace_capture *capture, uint8_t *bytes)
{
	uint8_t *ip = bytes + link_bytes[capture->link];

	if (capture->ip_version == 6) {
		ip[7]--;
		return;
	}
	ip[8]--;
	memset(ip + 10, 0, 2);
	put_checksum(ip + 10, sum(0, ip, IP4_BYTES));
}
