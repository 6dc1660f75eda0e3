/*
 * When bytes were first seen, so that a retransmission can be set against its
 * first copy; and what becomes of it as an event.
 */
#ifndef STREAM_SENT_H
#define STREAM_SENT_H

#include "stream/connection.h"

/* Room for one more piece, which begins there: where none is free, and the oldest piece is of use, the ring grows or it goes. */
void sent_make_room(struct half *half, int64_t begin);
void sent_clear(struct half *half);

/* The place of the next piece. */
static inline struct sent_mark *
sent_next(const struct sent_ring *ring)
{
	return &ring->mark[ring->behind & ring->mask];
}

/* Whether it is free, or what is there has been acknowledged, and nothing is to be made; of a ring that is there. */
static inline bool
sent_has_room(const struct half *half)
{
	return sent_next(&half->sent)->end <= half->acked;
}

/* The last piece of the stream that was delivered, where there is room; seen_ns is INT64_MIN if it never was. */
static inline void
sent_put(struct half *half, int64_t seen_ns)
{
	struct sent_ring *ring = &half->sent;
	struct sent_mark *mark = sent_next(ring);

	ring->behind++;
	ring->begin = mark->end;
	mark->end = half->next;
	mark->seen_ns = seen_ns;
}

/* The same of any stream. */
static inline void
sent_add(struct half *half, uint32_t len, int64_t seen_ns)
{
	if (half->sent.mark == NULL || !sent_has_room(half))
		sent_make_room(half, half->next - len);
	sent_put(half, seen_ns);
}

/* Bytes that were delivered came again: an event for each piece that they were first seen in. */
void sent_again(struct stream *stream, struct connection *connection, uint8_t direction, int64_t offset,
    uint32_t len, int64_t now_ns);
/* Gives out an event of an RPC connection, which is filled in. */
void sent_event(struct stream *stream, const struct connection *connection, struct tcp_event *event);

#endif
