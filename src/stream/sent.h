/*
 * When bytes were first seen, so that a retransmission can be set against its
 * first copy; and what becomes of it as an event.
 */
#ifndef STREAM_SENT_H
#define STREAM_SENT_H

#include <glib.h>

#include "stream/connection.h"

/* Room for one more piece, which begins there: where none is free, and the oldest piece is of use, the ring grows or it goes. */
void sent_make_room(struct half *half, int64_t begin);
void sent_clear(struct half *half);

/* The last piece of the stream that was delivered, where there is a ring; seen_ns is INT64_MIN if it never was. */
static inline void
sent_add_to_ring(struct half *half, uint32_t len, int64_t seen_ns)
{
	struct sent_ring *ring = &half->sent;
	struct sent_mark *mark = &ring->mark[ring->behind & ring->mask];

	if (G_UNLIKELY(mark->end > half->acked)) {
		sent_make_room(half, half->next - len);
		mark = &ring->mark[ring->behind & ring->mask];
	}
	ring->behind++;
	ring->begin = mark->end;
	mark->end = half->next;
	mark->seen_ns = seen_ns;
}

/* The same of any stream. */
static inline void
sent_add(struct half *half, uint32_t len, int64_t seen_ns)
{
	if (half->sent.mark == NULL)
		sent_make_room(half, half->next - len);
	sent_add_to_ring(half, len, seen_ns);
}

/* Bytes that were delivered came again: an event for each piece that they were first seen in. */
void sent_again(struct stream *stream, struct connection *connection, uint8_t direction, int64_t offset,
    uint32_t len, int64_t now_ns);
/* Gives out an event of an RPC connection, which is filled in. */
void sent_event(struct stream *stream, const struct connection *connection, struct tcp_event *event);

#endif
