/*
 * The plain segment: in order, with nothing to tell but data and an
 * acknowledgement of what was seen, on a connection on which nothing is missing,
 * waits or ends. Most are. What tcp_segment() makes of it comes down to a few
 * additions.
 */
#ifndef STREAM_PLAIN_H
#define STREAM_PLAIN_H

#include "stream/connection.h"
#include "stream/path.h"
#include "stream/sent.h"
#include "stream/waits.h"

static inline bool
plain_half(const struct half *half)
{
	return half->based && half->captured && half->fresh && !half->starting && !half->fin &&
	    half->implausible == 0 && half->held == NULL && half->ack_marks == 0 &&
	    half->beyond_offset <= half->next;
}

/* Whether segments of a connection may be plain: to be asked again after every one that was not. */
static inline bool
plain_connection(const struct connection *connection)
{
	return connection->phase == CONNECTION_TRACKED && connection->rpc && !connection->info.reset &&
	    plain_half(&connection->half[0]) && plain_half(&connection->half[1]);
}

static inline void
plain_data(struct stream *stream, struct connection *connection, struct half *half, struct half *other,
    const struct segment *segment)
{
	int64_t ts_ns = segment->packet->ts_ns;
	uint32_t len = segment->payload_wire_len;

	if (len > half->max_segment)
		half->max_segment = len;
	path_sent(half, half->next + len, ts_ns);
	waits_data(half, other, true, ts_ns);
	half_note_ready(half, stream->clock, ts_ns, 0);
	half->next += len;
	if (record_skips(&half->record, len)) {
		half->record.fragment_left -= len;
	} else {
		struct slice slice = slice_of(stream, other, segment, half->next - len);

		slice.waited = half->waits.so_far;
		slice.ready_ns = half->ready_ns;
		slice.ready_flags = half->ready_flags;
		records_push(stream, connection, segment->direction, &slice);
	}
	sent_add(half, len, ts_ns);
	stream->counters.delivered_bytes += len;
	stream->counters.hole_bytes += len - segment->payload_cap_len;
}

/* A segment of a half; false, and nothing changed, unless it is a plain one. */
static inline bool
plain_segment(struct stream *stream, struct connection *connection, struct half *half, const struct segment *segment)
{
	struct half *other = connection_half(connection, !segment->direction);
	int32_t unacked = (int32_t)(other->seq_base + (uint32_t)other->next - segment->ack);
	int64_t ts_ns = segment->packet->ts_ns;
	int64_t acked;

	if (!connection->plain || (segment->flags & ~TCP_PSH) != TCP_ACK ||
	    segment->seq != half->seq_base + (uint32_t)half->next || unacked < 0)
		return false;
	if (segment->payload_wire_len > 0)
		plain_data(stream, connection, half, other, segment);
	acked = other->next - unacked;
	waits_announced(other, acked, segment->window, ts_ns);
	if (acked > other->acked) {
		half_note_acked(other, acked, ts_ns);
		path_acked(stream, connection, other, acked, ts_ns);
	}
	return true;
}

#endif
