/*
 *	| margin |  chunk  |  chunk  |  chunk  |  chunk  |
 *	memory   ring
 *
 * A chunk is read into its place, which starts a page: the kernel copies faster
 * to there. What is left at the ring's end goes into the margin, in front of
 * what is read next.
 */
#include "capture/bytes.h"

#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	CHUNK = 1 << 18,	/* fits into the second cache beside what is made of it */
	CHUNKS = 8,
	PAGE = 4096,
};

G_STATIC_ASSERT(BYTES_MOST % PAGE == 0 && BYTES_MOST < CHUNK * CHUNKS);

struct bytes *
bytes_new(int fd, const void *first, size_t len)
{
	struct bytes *bytes = g_new0(struct bytes, 1);

	bytes->fd = fd;
	bytes->memory = aligned_alloc(PAGE, BYTES_MOST + CHUNK * CHUNKS);
	if (bytes->memory == NULL) {
		g_free(bytes);
		return NULL;
	}
	bytes->ring = bytes->memory + BYTES_MOST;
	bytes->place = bytes->ring;
	bytes->filled = bytes->ring + len;
	memcpy(bytes->ring, first, len);
	return bytes;
}

static void
tell(const struct bytes *bytes, const uint8_t *from, const uint8_t *to)
{
	if (bytes->gone != NULL)
		bytes->gone(bytes->context, from, to);
}

void
bytes_free(struct bytes *bytes)
{
	if (bytes == NULL)
		return;
	tell(bytes, bytes->memory, bytes->ring + CHUNK * CHUNKS);
	close(bytes->fd);
	free(bytes->memory);
	g_free(bytes);
}

void
bytes_on_gone(struct bytes *bytes, bytes_gone_fn *gone, void *context)
{
	bytes->gone = gone;
	bytes->context = context;
}

void
bytes_on_wait(struct bytes *bytes, bytes_wait_fn *wait, void *context)
{
	bytes->wait = wait;
	bytes->wait_context = context;
}

/* From the ring's end to its start. */
static void
turn(struct bytes *bytes)
{
	size_t left = bytes_left(bytes);
	uint8_t *to = bytes->ring - left;

	tell(bytes, to, bytes->ring);
	memcpy(to, bytes->place, left);
	bytes->place = to;
	bytes->filled = bytes->ring;
}

bool
bytes_read_more(struct bytes *bytes, size_t want)
{
	bytes->held = bytes->hold;
	if (bytes->hold)
		return false;
	while (bytes_left(bytes) < want) {
		ssize_t len;
		size_t room;

		if (bytes->wait != NULL && !bytes->wait(bytes->wait_context, bytes->fd))
			return false;
		if (bytes->filled == bytes->ring + CHUNK * CHUNKS)
			turn(bytes);
		room = CHUNK - (size_t)(bytes->filled - bytes->ring) % CHUNK;
		tell(bytes, bytes->filled, bytes->filled + room);
		do
			len = read(bytes->fd, bytes->filled, room);
		while (len < 0 && errno == EINTR);
		if (len <= 0) {
			bytes->error = len < 0 ? errno : 0;
			return false;
		}
		bytes->filled += len;
	}
	return true;
}
