/*
 * When bytes were first seen, so that a retransmission can be set against its
 * first copy; and what becomes of it as an event.
 */
#ifndef STREAM_SENT_H
#define STREAM_SENT_H

#include "stream/connection.h"

/* There is no room for another piece, which begins there: a first one goes, or the ring grows. */
void sent_make_room(struct half *half, int64_t begin);
void sent_clear(struct half *half);

/* The last piece of the stream that was delivered; seen_ns is INT64_MIN if it never was. */
static inline void
sent_add(struct half *half, uint32_t len, int64_t seen_ns)
{
	struct sent_ring *ring = &half->sent;

	if (ring->count == ring->room)
		sent_make_room(half, half->next - len);
	ring->mark[(ring->first + ring->count++) & (ring->room - 1)] = (struct sent_mark){
		.end = half->next, .seen_ns = seen_ns,
	};
}

/* Bytes that were delivered came again: an event for each piece that they were first seen in. */
void sent_again(struct stream *stream, struct connection *connection, uint8_t direction, int64_t offset,
    uint32_t len, int64_t now_ns);
/* Gives out an event of an RPC connection, which is filled in. */
void sent_event(struct stream *stream, const struct connection *connection, struct tcp_event *event);

#endif
