/*
 *	| margin | window | window | ... | window |
 *	memory   ring
 *
 * What a file has of whole windows is mapped into their place, so that nothing
 * is copied. The rest is read, in chunks, into the first few: the start, the end,
 * and all of what cannot be mapped. What is left at the ring's end goes into the
 * margin, in front of what comes next.
 *
 * Whoever changes a mapping stops all threads. So it is made of many windows at
 * once, and pages far behind are given back many at once. The others come when
 * they are looked at, which takes 64 KiB, or a huge page where the file has one
 * in the place that the ring has for it, and stops nobody.
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
	WINDOW = 1 << 19,	/* whole pages, whatever their size */
	READ = 1 << 21,		/* of the ring, where it is not mapped */
	HUGE = 1 << 21,		/* a huge page of most machines */
	STRETCH = 1 << 23,	/* mapped at once, at most */
	DROP = HUGE,		/* of pages given back at once, */
	KEPT = 1 << 21,		/* with so many behind them that may still be looked at */
	MARGIN = BYTES_MOST,
	RING = MAPPING_BYTES - MARGIN,
};

G_STATIC_ASSERT(WINDOW % CHUNK == 0 && MARGIN % WINDOW == 0 && MARGIN < READ && READ % WINDOW == 0);
G_STATIC_ASSERT(STRETCH % WINDOW == 0 && DROP % WINDOW == 0 && KEPT % DROP == 0 && RING % STRETCH == 0);
G_STATIC_ASSERT(KEPT + DROP <= STRETCH && STRETCH < RING && READ < RING);

/* Addresses for the whole ring, where huge pages fit; they have no memory. False: there are not so many. */
static bool
reserve_ring(struct bytes *bytes)
{
	uint8_t *all = mmap(NULL, MAPPING_BYTES + HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (all == MAP_FAILED)
		return false;
	before = (size_t)(-((uintptr_t)all + MARGIN) % HUGE);
	if (before > 0)
		munmap(all, before);
	bytes->memory = all + before;
	bytes->size = MAPPING_BYTES;
	munmap(bytes->memory + bytes->size, HUGE - before);
	return true;
}

/* With memory for what is read. False: there is none. */
static bool
reserve(struct bytes *bytes)
{
	void *memory;

	if (reserve_ring(bytes)) {
		if (mapping_clear(bytes->memory, MARGIN + READ))
			return true;
		munmap(bytes->memory, bytes->size);
	}
	bytes->size = MARGIN + READ;
	bytes->is_unmappable = true;
	memory = mmap(NULL, bytes->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bytes->memory = memory;
	return memory != MAP_FAILED;
}

struct bytes *
bytes_new(int fd, const void *first, size_t len)
{
	struct bytes *bytes = g_new0(struct bytes, 1);

	if (!reserve(bytes)) {
		g_free(bytes);
		return NULL;
	}
	bytes->fd = fd;
	bytes->offset = lseek(fd, 0, SEEK_CUR);
	bytes->is_unmappable |= bytes->offset < 0;
	bytes->ring = bytes->memory + MARGIN;
	bytes->place = bytes->mapped_end = bytes->ring;
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
	tell(bytes, bytes->memory, bytes->memory + bytes->size);
}

void
bytes_free(struct bytes *bytes)
{
	if (bytes == NULL)
		return;
	tell_all(bytes);
	mapping_free(bytes->mapping);
	munmap(bytes->memory, bytes->size);
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
	bytes->filled = bytes->mapped_end = bytes->ring;
}

/* Up to so many bytes of the file from here to the stretch's end, in whole windows. False: they are to be read. */
static bool
map(struct bytes *bytes, off_t most)
{
	off_t room = STRETCH - (bytes->filled - bytes->ring) % STRETCH;
	size_t len = (size_t)MIN(room, most / WINDOW * WINDOW);

	if (bytes->mapping == NULL)
		bytes->mapping = mapping_new(bytes->memory);
	if (bytes->mapping == NULL) {
		bytes->is_unmappable = true;
		return false;
	}
	tell(bytes, bytes->filled, bytes->filled + len);
	/* read(2) tells why, or can do it */
	bytes->is_unmappable = !mapping_put(bytes->filled, len, bytes->fd, bytes->offset);
	bytes->mapped_end = bytes->filled + len;
	return !bytes->is_unmappable;
}

/* Pages far behind filled take no memory any more. */
static void
drop(struct bytes *bytes)
{
	ptrdiff_t at = bytes->filled - bytes->ring;
	uint8_t *from;

	if (at % DROP != 0)
		return;
	from = bytes->ring + (at - KEPT - DROP + RING) % RING;
	tell(bytes, from, from + DROP);
	mapping_rest(from, DROP);
}

/* True: the window at filled has the file's next bytes. */
static bool
map_window(struct bytes *bytes)
{
	struct stat status;

	if (bytes->is_unmappable)
		return false;
	if (fstat(bytes->fd, &status) != 0 || !S_ISREG(status.st_mode)) {
		bytes->is_unmappable = true;
		return false;
	}
	if (status.st_size - bytes->offset < WINDOW)
		return false;
	if (bytes->filled >= bytes->mapped_end && !map(bytes, status.st_size - bytes->offset))
		return false;
	drop(bytes);
	bytes->mapped_to = bytes->offset + WINDOW;
	return true;
}

/* A window to read into. False: there is no memory. */
static bool
clear_window(struct bytes *bytes)
{
	if (bytes->filled - bytes->ring >= READ)
		turn(bytes);
	bytes->mapped_end = bytes->filled;
	if (bytes->mapping == NULL)
		return true;
	tell(bytes, bytes->filled, bytes->filled + WINDOW);
	return mapping_clear(bytes->filled, WINDOW);
}

/* Puts bytes of the file behind those that are there: how many; 0: at its end; -1: errno. */
static ssize_t
fill(struct bytes *bytes)
{
	size_t room;
	ssize_t len;

	if ((bytes->filled - bytes->ring) % WINDOW == 0) {
		if (map_window(bytes))
			return WINDOW;
		if (!clear_window(bytes))
			return -1;
	}
	room = CHUNK - (size_t)(bytes->filled - bytes->ring) % CHUNK;
	tell(bytes, bytes->filled, bytes->filled + room);
	do
		len = bytes->offset < 0 ? read(bytes->fd, bytes->filled, room) :
		    pread(bytes->fd, bytes->filled, room, bytes->offset);
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
	if (len > 0) {
		bytes->filled += len;
		bytes->offset += bytes->offset < 0 ? 0 : len;
	}
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
