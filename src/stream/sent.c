#include "stream/sent.h"

#include <glib.h>

enum {
	ROOM_FIRST = 16,
	/* Unacknowledged pieces of one direction: a window of 4 MiB in pieces of 1448 bytes does not need more. */
	ROOM_MAX = 4096,
};

static unsigned
pieces(const struct sent_ring *ring)
{
	return ring->mark == NULL ? 0 : (unsigned)MIN(ring->behind, (uint64_t)ring->mask + 1);
}

/* One of the pieces, from 0, the first one. */
static const struct sent_mark *
piece(const struct sent_ring *ring, unsigned at)
{
	return &ring->mark[(ring->behind - pieces(ring) + at) & ring->mask];
}

void
sent_make_room(struct half *half, int64_t begin)
{
	struct sent_ring *ring = &half->sent;
	unsigned count = pieces(ring), room = ring->mark == NULL ? ROOM_FIRST : 2 * (ring->mask + 1);
	struct sent_mark *mark;

	if (ring->mark != NULL && (count <= ring->mask || room > ROOM_MAX))
		return;
	if (ring->mark == NULL)
		ring->begin = begin;
	mark = g_new(struct sent_mark, room);
	for (unsigned i = 0; i < count; i++)
		mark[i] = *piece(ring, i);
	for (unsigned i = count; i < room; i++)
		mark[i] = (struct sent_mark){ .end = ring->begin };
	g_free(ring->mark);
	*ring = (struct sent_ring){ .mark = mark, .mask = room - 1, .behind = count, .begin = ring->begin };
}

void
sent_clear(struct half *half)
{
	g_free(half->sent.mark);
	half->sent = (struct sent_ring){ 0 };
}

void
sent_event(struct stream *stream, const struct connection *connection, struct tcp_event *event)
{
	if (!connection->rpc || stream->sink.event == NULL || event->len == 0)
		return;
	event->connection = connection->info.serial;
	stream->sink.event(stream->sink.event_context, event);
}

/* The first piece that ends behind an offset; count if there is none. */
static unsigned
find_piece(const struct sent_ring *ring, int64_t offset)
{
	unsigned low = 0, high = pieces(ring);

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (piece(ring, middle)->end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void
sent_again(struct stream *stream, struct connection *connection, uint8_t direction, int64_t offset,
    uint32_t len, int64_t now_ns)
{
	const struct sent_ring *ring = &connection->half[direction].sent;
	struct tcp_event event = { .to_ns = now_ns, .direction = direction, .kind = TCP_REPEATED };
	int64_t end = offset + len;
	unsigned count = pieces(ring), at = find_piece(ring, offset);

	while (offset < end) {
		int64_t piece_end = end;

		event.from_ns = INT64_MIN;
		if (count > 0 && offset < ring->begin) {
			piece_end = MIN(end, ring->begin);
		} else if (at < count) {
			const struct sent_mark *mark = piece(ring, at++);

			piece_end = MIN(end, mark->end);
			event.from_ns = mark->seen_ns;
		}
		event.offset = offset;
		event.len = (uint32_t)(piece_end - offset);
		sent_event(stream, connection, &event);
		offset = piece_end;
	}
}
