/*
 * Round trips as a capture point sees them: from a segment (or SYN) to the
 * acknowledgement of its end, one open sample a direction, none for what was
 * sent again (RFC 6298 section 3, Karn's algorithm).
 */
#ifndef STREAM_PATH_H
#define STREAM_PATH_H

#include "stream/connection.h"

#define PATH_NO_SAMPLE INT64_MAX

/* Opens a sample, where none is, whose end comes before this one; it cannot be foreseen: no branches. */
static inline void
path_sample(struct half *half, int64_t end_offset, int64_t ts_ns)
{
	int64_t open = -(int64_t)(half->sample_end != PATH_NO_SAMPLE);

	half->sample_ns = (half->sample_ns & open) | (ts_ns & ~open);
	half->sample_end = end_offset < half->sample_end ? end_offset : half->sample_end;
}

static inline void
path_note_unacked(struct half *half, int64_t unacked)
{
	if (unacked > half->most_unacked)
		half->most_unacked = unacked;
}

/* New data of this half that ends at end_offset was sent. */
static inline void
path_sent(struct half *half, int64_t end_offset, int64_t ts_ns)
{
	if (half->acked != INT64_MIN)
		path_note_unacked(half, end_offset - half->acked);
	path_sample(half, end_offset, ts_ns);
}

/* What is under way may have been sent more than once. */
static inline void
path_sent_again(struct half *half)
{
	half->sample_end = PATH_NO_SAMPLE;
}

/* The open sample was acknowledged. */
void path_sampled(struct stream *stream, struct connection *connection, struct half *half, int64_t ts_ns);

/* What this half sent was acknowledged up to offset. */
static inline void
path_acked(struct stream *stream, struct connection *connection, struct half *half, int64_t offset, int64_t ts_ns)
{
	if (offset >= half->sample_end)
		path_sampled(stream, connection, half, ts_ns);
}

/*
 * Counts what was measured before it was known which end sends the calls, that
 * of the handshake above all: the smallest of each direction.
 */
void path_tell(struct stream *stream, struct connection *connection);

#endif
