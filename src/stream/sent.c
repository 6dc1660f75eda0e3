#include "stream/sent.h"

#include <glib.h>

enum {
	ROOM_FIRST = 16,
	/* Unacknowledged pieces of one direction: a window of 4 MiB in pieces of 1448 bytes does not need more. */
	ROOM_MAX = 4096,
};

void
sent_make_room(struct half *half, int64_t begin)
{
	struct sent_ring *ring = &half->sent;
	uint32_t room = ring->room == 0 ? ROOM_FIRST : 2 * ring->room;
	uint32_t count = ring->behind - ring->first;
	struct sent_mark *mark;

	if (ring->room == ROOM_MAX) {
		sent_forget_first(ring);
		return;
	}
	if (ring->room == 0)
		ring->begin = begin;
	mark = g_new(struct sent_mark, room);
	for (uint32_t i = 0; i < count; i++)
		mark[i] = *sent_piece(ring, i);
	g_free(ring->mark);
	ring->mark = mark;
	ring->room = room;
	ring->first = 0;
	ring->behind = count;
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
	unsigned low = 0, high = ring->behind - ring->first;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (sent_piece(ring, middle)->end <= offset)
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
	unsigned count = ring->behind - ring->first, at = find_piece(ring, offset);

	while (offset < end) {
		int64_t piece_end = end;

		event.from_ns = INT64_MIN;
		if (count > 0 && offset < ring->begin) {
			piece_end = MIN(end, ring->begin);
		} else if (at < count) {
			const struct sent_mark *mark = sent_piece(ring, at++);

			piece_end = MIN(end, mark->end);
			event.from_ns = mark->seen_ns;
		}
		event.offset = offset;
		event.len = (uint32_t)(piece_end - offset);
		sent_event(stream, connection, &event);
		offset = piece_end;
	}
}
