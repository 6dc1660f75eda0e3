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
#include "stream/record.h"
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

/* Data of a segment, which ends at half->next, for records.c. */
static inline struct slice
plain_slice(const struct stream *stream, const struct half *half, const struct half *other,
    const struct segment *segment)
{
	struct slice slice = slice_of(stream, other, segment, half->next - segment->payload_wire_len);

	slice.waited = half->waits.so_far;
	slice.ready_ns = half->ready_ns;
	slice.ready_flags = half->ready_flags;
	return slice;
}

/* What records_push() makes of a record that is a segment of its own: nobody waits inside it. */
static inline void
plain_record(struct stream *stream, struct connection *connection, struct half *half, const struct half *other,
    const struct segment *segment)
{
	struct slice slice = plain_slice(stream, half, other, segment);
	struct record_state *state = &half->record;
	struct rpc_record *record = &state->record;

	record_begin(state, connection, segment->direction, &slice);
	state->head_done = true;
	record->total_len = segment->payload_wire_len - MARK_LEN;
	record->head = segment->payload + MARK_LEN;
	record->head_cap = segment->payload_cap_len - MARK_LEN;
	record->head_beyond = XDR_HOLE;
	if (stream->sink.head(stream->sink.context, record) == HEAD_NOT_RPC) {
		struct slice refused = plain_slice(stream, half, other, segment);

		records_refuse(stream, connection, segment->direction, &refused);
		return;
	}
	record_is_over(state);
	record->last_ns = half->ready_ns;
	record->flags |= half->ready_flags;
	record->end_offset = half->next;
	record->receiver_ns = record->sender_ns = 0;
	record->waits_unknown = false;
	stream->sink.end(stream->sink.context, record);
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
	} else if (record_is_whole(connection, &half->record, segment)) {
		plain_record(stream, connection, half, other, segment);
	} else {
		struct slice slice = plain_slice(stream, half, other, segment);

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
