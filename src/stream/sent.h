/*
 * When bytes were first seen, so that a retransmission can be set against its
 * first copy; and what becomes of it as an event.
 */
#ifndef STREAM_SENT_H
#define STREAM_SENT_H

#include "stream/connection.h"

/* There is no room for another piece, which begins there, and the first is still of use: the ring grows, or it goes. */
void sent_make_room(struct half *half, int64_t begin);
void sent_clear(struct half *half);

/* One of the pieces, from 0, the first one. */
static inline struct sent_mark *
sent_piece(const struct sent_ring *ring, uint32_t at)
{
	return &ring->mark[(ring->first + at) & (ring->room - 1)];
}

static inline void
sent_forget_first(struct sent_ring *ring)
{
	ring->begin = sent_piece(ring, 0)->end;
	ring->first++;
}

/* The last piece of the stream that was delivered; seen_ns is INT64_MIN if it never was. */
static inline void
sent_add(struct half *half, uint32_t len, int64_t seen_ns)
{
	struct sent_ring *ring = &half->sent;

	struct sent_mark *mark;

	if (ring->behind - ring->first == ring->room) {
		if (ring->room > 0 && sent_piece(ring, 0)->end <= half->acked)
			sent_forget_first(ring);
		else
			sent_make_room(half, half->next - len);
	}
	mark = &ring->mark[ring->behind++ & (ring->room - 1)];
	mark->end = half->next;
	mark->seen_ns = seen_ns;
}

/* Bytes that were delivered came again: an event for each piece that they were first seen in. */
void sent_again(struct stream *stream, struct connection *connection, uint8_t direction, int64_t offset,
    uint32_t len, int64_t now_ns);
/* Gives out an event of an RPC connection, which is filled in. */
void sent_event(struct stream *stream, const struct connection *connection, struct tcp_event *event);

#endif
