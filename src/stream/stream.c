#include "stream/stream.h"

#include <glib.h>
#include <nfscorr/xdr.h>
#include <stddef.h>

#include "stream/flow_table.h"
#include "stream/path.h"
#include "stream/plain.h"

enum { SHRUNK_PART = 8 };	/* of the largest window that was offered */

struct stream *
stream_new(const struct stream_sink *sink, const struct stream_limits *limits, uint64_t *next_serial)
{
	struct stream *stream = g_new0(struct stream, 1);

	stream->sink = *sink;
	stream->limits = *limits;
	stream->flows = flow_table_new(limits->connections);
	stream->next_serial = next_serial;
	stream->pending = FLOW_NONE;
	stream->clock = 1;
	stream->now_ns = INT64_MIN;
	return stream;
}

void
stream_free(struct stream *stream)
{
	if (stream == NULL)
		return;
	flow_table_free(stream->flows);
	dist_clear(&stream->counters.round_trip[0]);
	dist_clear(&stream->counters.round_trip[1]);
	g_free(stream);
}

const struct stream_counters *
stream_counters(const struct stream *stream)
{
	return &stream->counters;
}

void
stream_count_loss(struct stream *stream, const struct half *half, const struct slice *slice)
{
	struct stream_counters *counters = &stream->counters;
	uint32_t segment = half->max_segment > 0 ? half->max_segment : SEGMENT_ASSUMED;

	counters->lost_bytes += slice->wire_len;
	counters->lost_segments += (slice->wire_len + segment - 1) / segment;
	if (counters->first_loss_ns == 0 || slice->seen_ns < counters->first_loss_ns)
		counters->first_loss_ns = slice->seen_ns;
	counters->last_loss_ns = MAX(counters->last_loss_ns, slice->seen_ns);
}

static void
count_over(struct stream_counters *counters, const struct connection *connection)
{
	const struct half *half = connection->half;

	counters->rpc_connections++;
	if (!half[0].captured || !half[1].captured)
		counters->one_direction++;
	else if (!half[0].from_start || !half[1].from_start)
		counters->mid_stream++;
	for (int direction = 0; connection->caller >= 0 && direction < 2; direction++)
		counters->unacked_bytes[direction != connection->caller] += (uint64_t)half[direction].most_unacked;
}

void
stream_count_over(struct stream *stream, const struct connection *connection)
{
	count_over(&stream->counters, connection);
}

bool
stream_expects(const struct stream_sink *sink, const struct flow_key *key, bool datagrams)
{
	return key->port[0] == NFS_PORT || key->port[1] == NFS_PORT ||
	    (sink->expected != NULL && sink->expected(sink->expected_context, key, datagrams));
}

static void
open_connection(struct stream *stream, struct connection *connection, const struct segment *segment)
{
	stream->counters.connections++;
	tcp_open(stream, connection);
	/* others are recognised by content: from their first bytes, or at a segment's start */
	connection->expected = stream_expects(&stream->sink, segment->key, false);
	connection->phase = connection->expected || segment->flags & TCP_SYN ?
	    CONNECTION_TRACKED : CONNECTION_PROBED;
}

/* Makes the connection of a segment the last one; a full table gives up its least recently used one. */
static void
find_connection(struct stream *stream, const struct segment *segment, uint64_t hash)
{
	struct connection *evicted, *connection;
	bool made;

	connection = flow_table_get(stream->flows, segment->key, hash, &made, &evicted);
	if (connection == NULL) {
		stream->counters.evicted_connections++;
		tcp_close(stream, evicted, segment->packet->ts_ns, END_BY_EVICTION);
		stream_forget(stream, evicted);
		flow_table_remove(stream->flows, evicted);
		connection = flow_table_get(stream->flows, segment->key, hash, &made, &evicted);
	}
	if (made)
		open_connection(stream, connection, segment);
}

/* A connection that is not known to be RPC: does this segment begin with a message? */
static bool
probe(const struct stream *stream, struct connection *connection, const struct segment *segment)
{
	const uint8_t *bytes = segment->payload;
	uint32_t record_len;

	if (segment->payload_cap_len < 4 + 24)
		return false;
	record_len = xdr_load32(bytes) & 0x7fffffff;
	if (bytes[0] >> 7 == 0 || record_len < 24 || record_len > RECORD_MAX)
		return false;
	return stream->sink.header(stream->sink.context, &connection->info, segment->direction, bytes + 4,
	    MIN(segment->payload_cap_len - 4, record_len), record_len) == HEADER_YES;
}

static void
put_pending(struct stream *stream, struct connection *connection)
{
	if (connection->pending)
		return;
	connection->pending = true;
	connection->pending_next = stream->pending;
	stream->pending = flow_table_index(stream->flows, connection);
}

void
stream_forget(struct stream *stream, struct connection *connection)
{
	uint32_t *at = &stream->pending;

	if (!connection->pending)
		return;
	while (flow_table_at(stream->flows, *at) != connection)
		at = &flow_table_at(stream->flows, *at)->pending_next;
	*at = connection->pending_next;
	connection->pending = false;
}

static bool
waits(const struct connection *connection)
{
	return connection->half[0].held != NULL || connection->half[1].held != NULL ||
	    connection->half[0].ack_marks > 0 || connection->half[1].ack_marks > 0 || connection->info.reset;
}

/* Decides what can be decided at this time; true while the connection waits on. */
static bool
settle(struct stream *stream, struct connection *connection, int64_t now_ns)
{
	bool more = tcp_settle(stream, connection);

	tcp_end_if_finished(stream, connection, now_ns);
	return connection->phase == CONNECTION_TRACKED && (more || connection->info.reset);
}

/* Data behind the end of an epoch, without a SYN: late, or of another one whose SYN was not captured. */
static bool
begins_again(const struct connection *connection, const struct segment *segment)
{
	const struct half *half = &connection->half[segment->direction];

	if (segment->flags & TCP_SYN)
		return true;
	return segment->payload_wire_len > 1 && (segment->packet->ts_ns - connection->end_ns > LATE_NS ||
	    (half->based && !tcp_is_near(half, segment->seq)));
}

static void
track(struct stream *stream, struct connection *connection, const struct segment *segment)
{
	tcp_segment(stream, connection, segment);
	if (connection->phase != CONNECTION_TRACKED)
		return;
	if (waits(connection)) {
		if (settle(stream, connection, segment->packet->ts_ns))
			put_pending(stream, connection);
		if (connection->phase != CONNECTION_TRACKED)
			return;
	}
	if (!connection->rpc && connection->unrecognised_bytes > PROBATION_BYTES &&
	    !connection->expected) {
		tcp_close(stream, connection, segment->packet->ts_ns, END_OF_CONNECTION);
		connection->phase = CONNECTION_PROBED;
	}
}

/*
 * A receiver that does not keep up lets its window shrink, to nothing or to what
 * is not worth sending. Compared with the largest that it offered the scale
 * (RFC 7323 section 2), which is not known of connections that began before,
 * does not matter; that of a SYN is never scaled.
 */
static void
note_window(struct stream *stream, const struct connection *connection, struct half *half,
    const struct segment *segment)
{
	bool small;

	if (segment->flags & (TCP_RST | TCP_SYN))
		return;
	stream->counters.zero_window += segment->window == 0;
	half->most_window = MAX(half->most_window, segment->window);
	small = segment->window <= half->most_window / SHRUNK_PART;
	if (small && !half->window_small && connection->caller >= 0 && segment->direction != connection->caller)
		stream->counters.server_window_shrunk++;
	half->window_small = small;
	half->window_low = half->most_window / SHRUNK_PART + 1;
	half->window_usual = small ? 0 : half->most_window - half->most_window / SHRUNK_PART;
}

/* One that note_window() makes nothing of. */
static inline bool
window_is_usual(const struct half *half, uint16_t window)
{
	return (uint16_t)(window - half->window_low) < half->window_usual;
}

static G_GNUC_NO_INLINE void
push_other(struct stream *stream, struct connection *connection, const struct segment *segment)
{
	if ((connection->phase == CONNECTION_CLOSED && begins_again(connection, segment)) ||
	    (connection->phase == CONNECTION_PROBED && segment->flags & TCP_SYN))
		open_connection(stream, connection, segment);
	if (connection->phase == CONNECTION_PROBED && probe(stream, connection, segment)) {
		tcp_open(stream, connection);
		connection->phase = CONNECTION_TRACKED;
	}
	if (connection->phase == CONNECTION_TRACKED) {
		track(stream, connection, segment);
		connection->plain = plain_connection(connection, stream->clock) ? stream->clock : 0;
		return;
	}
	stream->counters.discarded_bytes += segment->payload_wire_len;
	if (connection->phase == CONNECTION_CLOSED)
		tcp_late_segment(stream, connection, segment);
}

static inline void
push_on(struct stream *stream, struct connection *connection, struct half *half, struct half *other,
    const struct segment *segment)
{
	if (!plain_segment(stream, connection, half, other, segment))
		push_other(stream, connection, segment);
}

static G_GNUC_NO_INLINE void
push_window(struct stream *stream, struct connection *connection, struct half *half, struct half *other,
    const struct segment *segment)
{
	note_window(stream, connection, half, segment);
	push_on(stream, connection, half, other, segment);
}

static G_GNUC_NO_INLINE void
push_found(struct stream *stream, const struct segment *segment, uint64_t flow_hash, uint64_t packets)
{
	find_connection(stream, segment, flow_hash);
	stream_push(stream, segment, flow_hash, packets);
}

/* What it calls it calls last, so that it needs no room of its own. */
void
stream_push(struct stream *stream, const struct segment *segment, uint64_t flow_hash, uint64_t packets)
{
	struct connection *connection = stream->flows->last;
	struct half *half, *other;

	if (G_UNLIKELY(!flow_table_is(connection, segment->key, flow_hash))) {
		push_found(stream, segment, flow_hash, packets);
		return;
	}
	half = connection_half(connection, segment->direction);
	other = connection_half(connection, !segment->direction);
	stream->counters.segments++;
	stream->counters.payload_bytes += segment->payload_wire_len;
	if (segment->packet->ts_ns > stream->now_ns)
		stream->now_ns = segment->packet->ts_ns;
	stream->packets = packets;
	if (G_LIKELY(window_is_usual(half, segment->window)))
		push_on(stream, connection, half, other, segment);
	else
		push_window(stream, connection, half, other, segment);
}

void
stream_tick(struct stream *stream, int64_t now_ns, uint64_t packets)
{
	uint32_t *at = &stream->pending;

	stream->now_ns = MAX(stream->now_ns, now_ns);
	stream->packets = packets;
	while (*at != FLOW_NONE) {
		struct connection *connection = flow_table_at(stream->flows, *at);

		if (connection->phase == CONNECTION_TRACKED && waits(connection) &&
		    settle(stream, connection, stream->now_ns)) {
			at = &connection->pending_next;
		} else {
			connection->pending = false;
			*at = connection->pending_next;
		}
	}
}

bool
stream_waits(const struct stream *stream)
{
	return stream->pending != FLOW_NONE;
}

void
stream_clock_set_back(struct stream *stream, int64_t now_ns)
{
	uint64_t packets = stream->packets;

	/* as if all the time had passed that anything waits for */
	if (stream->now_ns != INT64_MIN)
		stream_tick(stream, stream->now_ns + 2 * (int64_t)SILENT_HOLE_NS, packets + SETTLE_PACKETS);
	stream->now_ns = now_ns;
	stream->packets = packets;
	stream->clock++;
}

void
stream_finish(struct stream *stream, int64_t now_ns)
{
	uint32_t capacity = flow_table_capacity(stream->flows);

	stream->now_ns = MAX(stream->now_ns, now_ns);
	for (uint32_t i = 0; i < capacity; i++) {
		struct connection *connection = flow_table_at(stream->flows, i);

		if (connection->phase != CONNECTION_FREE)
			tcp_close(stream, connection, stream->now_ns, END_OF_CAPTURE);
	}
}

void
stream_counters_add_open(struct stream_counters *sum, const struct stream *stream)
{
	uint32_t capacity = flow_table_capacity(stream->flows);

	for (uint32_t i = 0; i < capacity; i++) {
		const struct connection *connection = flow_table_at(stream->flows, i);

		if (connection->phase == CONNECTION_TRACKED && connection->rpc)
			count_over(sum, connection);
	}
}

void
stream_counters_add(struct stream_counters *sum, const struct stream_counters *part)
{
	/* the counts are the struct's first members, all of one type */
	uint64_t *into = &sum->connections;
	const uint64_t *from = &part->connections;

	for (size_t i = 0; i < offsetof(struct stream_counters, first_loss_ns) / sizeof *into; i++)
		into[i] += from[i];
	if (part->first_loss_ns != 0 && (sum->first_loss_ns == 0 || part->first_loss_ns < sum->first_loss_ns))
		sum->first_loss_ns = part->first_loss_ns;
	sum->last_loss_ns = MAX(sum->last_loss_ns, part->last_loss_ns);
	dist_merge(&sum->round_trip[0], &part->round_trip[0]);
	dist_merge(&sum->round_trip[1], &part->round_trip[1]);
}
