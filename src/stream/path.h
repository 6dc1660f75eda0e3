/*
 * Round trips as a capture point sees them: from a segment (or SYN) to the
 * acknowledgement of its end, one open sample a direction, none for what was
 * sent again (RFC 6298 section 3, Karn's algorithm).
 */
#ifndef STREAM_PATH_H
#define STREAM_PATH_H

#include "stream/connection.h"

/* New data of this half that ends at end_offset was sent. */
static inline void
path_sent(struct half *half, int64_t end_offset, int64_t ts_ns)
{
	if (half->acked != INT64_MIN && end_offset - half->acked > half->most_unacked)
		half->most_unacked = end_offset - half->acked;
	if (!half->sampling) {
		half->sampling = true;
		half->sample_end = end_offset;
		half->sample_ns = ts_ns;
	}
}

/* The open sample was acknowledged. */
void path_sampled(struct stream *stream, struct connection *connection, struct half *half, int64_t ts_ns);

/* What this half sent was acknowledged up to offset. */
static inline void
path_acked(struct stream *stream, struct connection *connection, struct half *half, int64_t offset, int64_t ts_ns)
{
	if (half->sampling && offset >= half->sample_end)
		path_sampled(stream, connection, half, ts_ns);
}

/*
 * Counts what was measured before it was known which end sends the calls, that
 * of the handshake above all: the smallest of each direction.
 */
void path_tell(struct stream *stream, struct connection *connection);

#endif
