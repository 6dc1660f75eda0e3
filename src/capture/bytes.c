/*
 *	| margin | window | window | window | window |
 *	memory   ring
 *
 * What a file has of a whole window is mapped into its place, so that nothing
 * is copied. The rest is read into it in chunks: the start, the end, and all of
 * what cannot be mapped. What is left at the ring's end goes into the margin, in
 * front of what comes next.
 */
#include "capture/bytes.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/mapping.h"

enum {
	CHUNK = 1 << 18,	/* fits into the second cache beside what is made of it */
	WINDOW = 1 << 19,	/* whole pages, whatever their size, and enough of them for each to cost little */
	MEMORY = MAPPING_BYTES,
	RING = MEMORY - (int)BYTES_MOST,
};

G_STATIC_ASSERT((int)BYTES_MOST % WINDOW == 0 && (int)BYTES_MOST < RING && RING % WINDOW == 0 && WINDOW % CHUNK == 0);

struct bytes *
bytes_new(int fd, const void *first, size_t len)
{
	struct bytes *bytes;
	void *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	bytes = g_new0(struct bytes, 1);
	bytes->fd = fd;
	bytes->memory = memory;
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

static void
tell_all(const struct bytes *bytes)
{
	tell(bytes, bytes->memory, bytes->memory + MEMORY);
}

void
bytes_free(struct bytes *bytes)
{
	if (bytes == NULL)
		return;
	tell_all(bytes);
	mapping_free(bytes->mapping);
	munmap(bytes->memory, MEMORY);
	close(bytes->fd);
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

/* Where in the file the next bytes are, when there is a whole window of them that may be mapped; else -1. */
static off_t
find_window(struct bytes *bytes)
{
	off_t offset = lseek(bytes->fd, 0, SEEK_CUR);
	struct stat status;

	if (offset < 0 || fstat(bytes->fd, &status) != 0 || !S_ISREG(status.st_mode)) {
		bytes->is_unmappable = true;
		return -1;
	}
	return status.st_size - offset >= WINDOW ? offset : -1;
}

/* The file's next bytes for all of the window at its start. False: they are to be read. */
static bool
map(struct bytes *bytes, unsigned window)
{
	off_t offset = bytes->is_unmappable ? -1 : find_window(bytes);

	if (offset < 0)
		return false;
	if (bytes->mapping == NULL)
		bytes->mapping = mapping_new(bytes->memory);
	if (bytes->mapping == NULL) {
		bytes->is_unmappable = true;
		return false;
	}
	bytes->mapped |= 1U << window;
	/* read(2) tells why, or can do it */
	bytes->is_unmappable = !mapping_put(bytes->filled, WINDOW, bytes->fd, offset) ||
	    lseek(bytes->fd, WINDOW, SEEK_CUR) < 0;
	if (!bytes->is_unmappable)
		bytes->mapped_to = offset + WINDOW;
	return !bytes->is_unmappable;
}

/* False: there is no memory. */
static bool
unmap(struct bytes *bytes, unsigned window)
{
	if ((bytes->mapped & 1U << window) != 0 && !mapping_clear(bytes->ring + (size_t)window * WINDOW, WINDOW))
		return false;
	bytes->mapped &= ~(1U << window);
	return true;
}

/* Puts bytes of the file behind those that are there: how many; 0: at its end; -1: errno. */
static ssize_t
fill(struct bytes *bytes)
{
	size_t at = (size_t)(bytes->filled - bytes->ring), room = CHUNK - at % CHUNK;
	unsigned window = (unsigned)(at / WINDOW);
	ssize_t len;

	if (at % WINDOW == 0) {
		tell(bytes, bytes->filled, bytes->filled + WINDOW);
		if (map(bytes, window))
			return WINDOW;
		if (!unmap(bytes, window))
			return -1;
	}
	tell(bytes, bytes->filled, bytes->filled + room);
	do
		len = read(bytes->fd, bytes->filled, room);
	while (len < 0 && errno == EINTR);
	return len;
}

static bool
read_some(struct bytes *bytes)
{
	ssize_t len;

	if (bytes->wait != NULL && !bytes->wait(bytes->wait_context, bytes->fd))
		return false;
	if (bytes->mapping != NULL && mapping_lost(bytes->mapping)) {
		bytes->error = EIO;
		return false;
	}
	if (bytes->filled == bytes->ring + RING)
		turn(bytes);
	len = fill(bytes);
	bytes->error = len < 0 ? errno : 0;
	if (len > 0)
		bytes->filled += len;
	return len > 0;
}

bool
bytes_read_more(struct bytes *bytes, size_t want)
{
	bytes->held = bytes->hold;
	if (bytes->hold)
		return false;
	while (bytes_left(bytes) < want)
		if (!read_some(bytes))
			return false;
	return true;
}

bool
bytes_drain(struct bytes *bytes)
{
	uint8_t rest[1 << 14];
	ssize_t len;

	do {
		if (bytes->wait != NULL && !bytes->wait(bytes->wait_context, bytes->fd))
			return false;
		len = read(bytes->fd, rest, sizeof rest);
	} while (len > 0 || (len < 0 && errno == EINTR));
	return true;
}

const char *
bytes_lost(struct bytes *bytes)
{
	struct stat status;

	if (bytes->mapping == NULL)
		return NULL;
	/* first, as what is still looked at there could be lost later */
	tell_all(bytes);
	if (fstat(bytes->fd, &status) == 0 && status.st_size < bytes->mapped_to)
		return "it became shorter while it was read";
	return mapping_lost(bytes->mapping) ? g_strerror(EIO) : NULL;
}
