#include "trace/udp.h"

#include <string.h>

#include "trace/load.h"
#include "trace/network.h"
#include "trace/server.h"
#include "trace/stream.h"

enum {
	MARK_BYTES = 4,
	IP4_BYTES = 20, IP6_BYTES = 40, IP6_FRAGMENT_BYTES = 8,
};

static struct sim *
sim_of(const struct half *half)
{
	return half->conn->lane->client->host.sim;
}

/* Bytes of the datagram in a fragment; all but the last have as many eights (RFC 791 section 3.2). */
static uint32_t
fragment_bytes(const struct sim *sim)
{
	bool six = sim->config->capture[TRACE_SERVER].ip_version == 6
		|| sim->config->capture[TRACE_CLIENT].ip_version == 6;
	uint32_t headers = six ? IP6_BYTES + IP6_FRAGMENT_BYTES : IP4_BYTES;

	return ((uint32_t)sim->config->mtu_bytes - headers) & ~7u;
}

/* One record's bytes in a datagram have no mark in front of them (RFC 5531 section 11). */
static void
drop_mark(struct record *record)
{
	record->head_len -= MARK_BYTES;
	memmove(record->head, record->head + MARK_BYTES, record->head_len);
	record->end -= MARK_BYTES;
	record->header_end -= MARK_BYTES;
}

void
trace_udp_send(struct half *half, struct record *record)
{
	struct sim *sim = sim_of(half);
	struct host *host = host_of(half->conn, sender_of(half->direction));
	uint16_t ip_id = host->ip_id++;
	uint32_t most = fragment_bytes(sim), len, part;

	drop_mark(record);
	trace_stream_append(half, record);
	len = (uint32_t)(record->end - record->start) + UDP_BYTES;
	for (uint32_t at = 0; at < len; at += part) {
		struct frame *frame = trace_frame_new(half, FRAME_DATAGRAM);

		part = MIN(most, len - at);
		frame->offset = record->start + (at > 0 ? at - UDP_BYTES : 0);
		frame->len = at > 0 ? part : part - UDP_BYTES;
		frame->ip_id = ip_id;
		frame->more = at + part < len;
		frame->record = record;
		trace_stream_hold(frame);
		trace_network_send(frame);
	}
}

void
trace_udp_receive(struct frame *frame)
{
	struct half *half = frame->half;
	struct record *record = frame->record;
	enum trace_side side = receiver_of(half->direction);

	record->arrived += frame->len;
	if (record->arrived < record->end - record->start)
		return;
	record->ideal[side].last_ns = sim_of(half)->now_ns;
	if (half->direction == CALLS)
		trace_server_call(half->conn, record->call);
	else
		trace_load_reply(record->call);
}

void
trace_udp_sight(const struct frame *frame, enum trace_side side, uint32_t visible)
{
	struct record *record = frame->record;
	struct datagram_sight *sight = &record->datagram[side];
	bool begins = frame->offset == record->start;
	uint32_t data = visible > (begins ? UDP_BYTES : 0) ? visible - (begins ? UDP_BYTES : 0) : 0;

	sight->captured += frame->len;
	sight->cut |= data < frame->len;
	if (begins) {
		sight->begun = true;
		sight->first_ns = sim_of(frame->half)->now_ns;
		sight->header = data >= record->header_end - record->start;
	}
	if (sight->captured == record->end - record->start)
		sight->last_ns = sim_of(frame->half)->now_ns;
}

void
trace_udp_settle(struct record *record, enum trace_side side)
{
	const struct datagram_sight *sight = &record->datagram[side];
	bool whole = sight->captured == record->end - record->start;

	record->shown[side] = (struct call_times){ TRACE_NEVER, TRACE_NEVER };
	if (!sight->header) {
		record->seen[side] = sight->begun ? TRACE_SEEN_HIDDEN : TRACE_SEEN_NO;
		return;
	}
	record->shown[side].first_ns = sight->first_ns;
	if (whole)
		record->shown[side].last_ns = sight->last_ns;
	record->seen[side] = !whole ? TRACE_SEEN_PART : sight->cut ? TRACE_SEEN_CUT : TRACE_SEEN_FULL;
}
