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
plain_half(const struct half *half, uint32_t clock)
{
	return half->based && half->captured && half->fresh && !half->starting && !half->fin &&
	    half->implausible == 0 && half->held == NULL && half->ack_marks == 0 &&
	    half->beyond_offset <= half->next && half->acked != INT64_MIN && half->sent.mark != NULL &&
	    half->clock == clock;
}

/* Whether segments of a connection may be plain: to be asked again after every one that was not. */
static inline bool
plain_connection(const struct connection *connection, uint32_t clock)
{
	return connection->phase == CONNECTION_TRACKED && connection->rpc && !connection->info.reset &&
	    plain_half(&connection->half[0], clock) && plain_half(&connection->half[1], clock);
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
	struct record_state *state = &half->record;
	int64_t ts_ns = segment->packet->ts_ns, begin_offset = half->next - segment->payload_wire_len;
	struct rpc_record record = {
		.connection = &connection->info,
		.direction = segment->direction,
		.flags = record_flags(state) | (half->ready_flags == 0 ? RECORD_WHOLE : 0),
		.first_ns = ts_ns,
		.last_ns = half->ready_ns,
		.first_frame = segment->packet->frame,
		.first_order = stream->packets,
		.first_acked = half_acked_before(other, ts_ns),
		.begin_offset = begin_offset,
		.end_offset = half->next,
		.total_len = segment->payload_wire_len - MARK_LEN,
		.head = segment->payload + MARK_LEN,
		.head_cap = segment->payload_cap_len - MARK_LEN,
		.head_beyond = XDR_HOLE,
	};
	enum head_result result;

	state->alignment = (int8_t)(begin_offset & 3);
	result = stream->sink.head(stream->sink.context, &record);
	if (G_UNLIKELY(result == HEAD_NOT_RPC)) {
		struct slice refused = plain_slice(stream, half, other, segment);

		records_refuse(stream, connection, segment->direction, &refused);
		return;
	}
	record_is_over(state, record.total_len);
	if (result == HEAD_ENDED)
		return;
	record.flags |= half->ready_flags;
	stream->sink.end(stream->sink.context, &record);
}

/* More was acknowledged, or nothing new. */
static inline void
plain_acked(struct stream *stream, struct connection *connection, struct half *half, int64_t acked, int64_t ts_ns)
{
	if (acked > half->acked) {
		half_note_acked(half, acked, ts_ns);
		path_acked(stream, connection, half, acked, ts_ns);
	}
}

/* The same where the window is to be looked at. */
static G_GNUC_NO_INLINE void
plain_weigh(struct stream *stream, struct connection *connection, struct half *half, int64_t acked,
    const struct segment *segment)
{
	waits_weigh(half, acked, segment->window, segment->packet->ts_ns);
	plain_acked(stream, connection, half, acked, segment->packet->ts_ns);
}

/* Bytes of a half that a segment of the other leaves unacknowledged; from 2^31 on they have not been seen. */
static inline uint32_t
plain_unacked(const struct half *half, const struct segment *segment)
{
	return half->seq_base + (uint32_t)half->next - segment->ack;
}

/* What the segment acknowledges of the other half. */
static inline void
plain_acknowledge(struct stream *stream, struct connection *connection, struct half *half,
    const struct segment *segment)
{
	uint32_t unacked = plain_unacked(half, segment);
	int64_t acked = half->next - unacked, ts_ns = segment->packet->ts_ns;

	if (G_UNLIKELY(!waits_are_none(&half->waits, unacked, segment->window))) {
		plain_weigh(stream, connection, half, acked, segment);
		return;
	}
	if (waits_matter(half) && unacked == 0)
		waits_note_acked(&half->waits, true, ts_ns);
	plain_acked(stream, connection, half, acked, ts_ns);
}

/* A segment of the other half without data. Functions of their own, as they need different room. */
static G_GNUC_NO_INLINE void
plain_empty(struct stream *stream, struct connection *connection, struct half *half, const struct segment *segment)
{
	plain_acknowledge(stream, connection, half, segment);
}

/* What its data tells all but the record that it is of, which there is room for. */
static inline void
plain_note_data(struct stream *stream, struct half *half, const struct segment *segment)
{
	int64_t ts_ns = segment->packet->ts_ns;
	uint32_t len = segment->payload_wire_len;

	waits_size(half, len);
	half->waits.data_ns = ts_ns;
	half->next += len;
	path_note_unacked(half, half->next - half->acked);
	path_sample(half, half->next, ts_ns);
	if (G_LIKELY(ts_ns >= half->ready_ns)) {
		half->ready_ns = ts_ns;
		half->ready_flags = 0;
	}
	sent_put(half, ts_ns);
	stream->counters.delivered_bytes += len;
	stream->counters.hole_bytes += len - segment->payload_cap_len;
}

/* Nothing in it is looked at, it ends no gap that is judged, and there is room. */
static inline bool
plain_skips(const struct half *half, const struct segment *segment)
{
	return record_skips(&half->record, segment->payload_wire_len) && !half->waits.told && sent_has_room(half);
}

/* Its data, and then what it acknowledges. */
static G_GNUC_NO_INLINE void
plain_data(struct stream *stream, struct connection *connection, struct half *half, struct half *other,
    const struct segment *segment)
{
	uint32_t len = segment->payload_wire_len;

	waits_data(half, other, true, segment->packet->ts_ns);
	if (G_UNLIKELY(!sent_has_room(half)))
		sent_make_room(half, half->next);
	plain_note_data(stream, half, segment);
	if (record_skips(&half->record, len)) {
		half->record.fragment_left -= len;
	} else if (record_is_whole(connection, &half->record, segment)) {
		plain_record(stream, connection, half, other, segment);
	} else {
		struct slice slice = plain_slice(stream, half, other, segment);

		records_push(stream, connection, segment->direction, &slice);
	}
	plain_acknowledge(stream, connection, other, segment);
}

/* The same without a look at it. */
static G_GNUC_NO_INLINE void
plain_skip(struct stream *stream, struct connection *connection, struct half *half, struct half *other,
    const struct segment *segment)
{
	plain_note_data(stream, half, segment);
	half->record.fragment_left -= segment->payload_wire_len;
	plain_acknowledge(stream, connection, other, segment);
}

/* A segment of a half; false, and nothing changed, unless it is a plain one. */
static inline bool
plain_segment(struct stream *stream, struct connection *connection, struct half *half, struct half *other,
    const struct segment *segment)
{
	if (connection->plain != stream->clock || (segment->flags & ~TCP_PSH) != TCP_ACK ||
	    segment->seq != half->seq_base + (uint32_t)half->next || (int32_t)plain_unacked(other, segment) < 0)
		return false;
	if (segment->payload_wire_len == 0)
		plain_empty(stream, connection, other, segment);
	else if (plain_skips(half, segment))
		plain_skip(stream, connection, half, other, segment);
	else
		plain_data(stream, connection, half, other, segment);
	return true;
}

#endif
