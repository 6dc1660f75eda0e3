/*
 * The bytes of a file or a pipe in their order: a ring that holds those that
 * were read last, so that packets lie in it as they are and need no copy. Most
 * of a file's are not even read: they are pages of it, and a file that is
 * written to changes under whoever looks at them.
 */
#ifndef CAPTURE_BYTES_H
#define CAPTURE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { BYTES_MOST = 512 * 1024 };	/* that can be asked for at once */

/* From here to there, what was lent out is about to be overwritten. */
typedef void bytes_gone_fn(void *context, const uint8_t *from, const uint8_t *to);

/* Before a read that may have to wait, of this descriptor. False: the input ends here. */
typedef bool bytes_wait_fn(void *context, int fd);

struct mapping;

struct bytes {
	const uint8_t *place;	/* the next byte */
	uint8_t *filled;	/* behind the last byte that was read */
	uint8_t *memory, *ring;	/* in front of the ring there is room for what is left over at its end */
	size_t size;		/* of the memory */
	uint64_t passed;	/* bytes in front of place since the start */
	int fd;
	int error;		/* errno of a read that failed; 0: none did */
	bool hold;		/* nothing is read: what lies there now is all that there is */
	bool held;		/* by that more was not read */
	bool is_unmappable;
	off_t offset;		/* where in the file what is behind filled is; -1: it is a pipe */
	off_t mapped_to;	/* where in the file the pages that came last end */
	uint8_t *mapped_end;	/* what is between filled and there are pages that come next */
	struct mapping *mapping;	/* NULL: as yet there were none */
	bytes_gone_fn *gone;
	void *context;
	bytes_wait_fn *wait;
	void *wait_context;
};

/* Takes fd, and starts with len bytes (a few) that were read from it before. NULL, and fd not taken: no memory. */
struct bytes *bytes_new(int fd, const void *first, size_t len);
/* NULL allowed. All that was lent out is gone. */
void bytes_free(struct bytes *bytes);
/* Without a listener bytes are lent until the next bytes_look. */
void bytes_on_gone(struct bytes *bytes, bytes_gone_fn *gone, void *context);
/* Without a listener a pipe is waited for in read(2). */
void bytes_on_wait(struct bytes *bytes, bytes_wait_fn *wait, void *context);
bool bytes_read_more(struct bytes *bytes, size_t want);

/*
 * While it holds, nothing is read, waited for or gone: bytes_look says that the
 * input ends behind what was read before, and bytes->held that it may not be so.
 */
static inline void
bytes_hold(struct bytes *bytes, bool hold)
{
	bytes->hold = hold;
	bytes->held = false;
}

/*
 * Nobody wants what follows, but it is read to its end; false: that is not waited
 * for. What was lent out stays as it is.
 */
bool bytes_drain(struct bytes *bytes);

/*
 * At the end: why some of what was lent out may be zeros that the file never
 * had, for a message; NULL: none is. What is still lent out goes.
 */
const char *bytes_lost(struct bytes *bytes);

/*
 * True when the next `want` bytes (0 to BYTES_MOST) lie at bytes->place; false
 * when the input ends before (bytes_left tells where) or cannot be read
 * (bytes->error). A pipe is waited for. They are lent until they are gone.
 */
static inline bool
bytes_look(struct bytes *bytes, size_t want)
{
	return (size_t)(bytes->filled - bytes->place) >= want || bytes_read_more(bytes, want);
}

/* How many bytes lie at bytes->place. */
static inline size_t
bytes_left(const struct bytes *bytes)
{
	return (size_t)(bytes->filled - bytes->place);
}

/* Goes on behind the next len bytes, which were looked at. */
static inline void
bytes_pass(struct bytes *bytes, size_t len)
{
	bytes->place += len;
	bytes->passed += len;
}

#endif
