/*
 * The XDR cursor: every read of a message's bytes goes through it (RFC 4506).
 *
 *      data            data + cap              data + total
 *       |  captured bytes  |  known, not here      |
 *       0 . . . off . . . cap . . . . . . . . . . total
 *
 * The cursor keeps its first error, and after it every read gives zero. It
 * tells a record that has not arrived yet (XDR_SHORT) from bytes that the
 * capture does not hold (XDR_HOLE) and from a message that contradicts itself
 * (XDR_MALFORMED). Skipping over bytes that are not here costs nothing;
 * reading them is the error that the record's `beyond` names.
 */
#ifndef NFSCORR_XDR_H
#define NFSCORR_XDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xdr_status {
	XDR_FINE,
	XDR_SHORT,	/* the bytes belong to the record and may still come */
	XDR_HOLE,	/* the bytes belong to the record and were not captured */
	XDR_MALFORMED,	/* a length that leaves the record, a value that cannot be */
};

struct xdr_cursor {
	const uint8_t *data;	/* borrowed while the record is handled */
	uint32_t cap;		/* bytes readable at data, 0..total */
	uint32_t total;		/* bytes of the record; UINT32_MAX while not known */
	uint32_t off;		/* next byte, 0..total */
	uint8_t status;		/* enum xdr_status, the first that was not XDR_FINE */
	uint8_t beyond;		/* XDR_SHORT or XDR_HOLE: what lies from cap to total */
};

static inline void
xdr_fail(struct xdr_cursor *cursor, enum xdr_status status)
{
	if (cursor->status == XDR_FINE)
		cursor->status = (uint8_t)status;
}

static inline bool
xdr_ok(const struct xdr_cursor *cursor)
{
	return cursor->status == XDR_FINE;
}

static inline uint32_t
xdr_load32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
	    (uint32_t)bytes[2] << 8 | bytes[3];
}

/* True when n bytes can be read at the cursor. */
static inline bool
xdr_holds(const struct xdr_cursor *cursor, uint32_t n)
{
	return (uint64_t)cursor->off + n <= cursor->cap && cursor->status == XDR_FINE;
}

/* The same; else the error is kept. */
static inline bool
xdr_have(struct xdr_cursor *cursor, uint32_t n)
{
	if (xdr_holds(cursor, n))
		return true;
	xdr_fail(cursor, n > cursor->total - cursor->off ? XDR_MALFORMED : (enum xdr_status)cursor->beyond);
	return false;
}

/* The next unsigned integer (RFC 4506 section 4.2), or 0. */
static inline uint32_t
xdr_u32(struct xdr_cursor *cursor)
{
	uint32_t value;

	if (!xdr_have(cursor, 4))
		return 0;
	value = xdr_load32(cursor->data + cursor->off);
	cursor->off += 4;
	return value;
}

/* The next unsigned hyper integer (RFC 4506 section 4.5), or 0. */
static inline uint64_t
xdr_u64(struct xdr_cursor *cursor)
{
	uint64_t value;

	if (!xdr_have(cursor, 8))
		return 0;
	value = (uint64_t)xdr_load32(cursor->data + cursor->off) << 32 |
	    xdr_load32(cursor->data + cursor->off + 4);
	cursor->off += 8;
	return value;
}

/* Steps over n bytes, captured or not; n beyond the record is malformed. */
static inline void
xdr_skip(struct xdr_cursor *cursor, uint32_t n)
{
	if (cursor->status != XDR_FINE)
		return;
	if (n > cursor->total - cursor->off)
		cursor->status = XDR_MALFORMED;
	else
		cursor->off += n;
}

/* Bytes that an opaque of len bytes takes with its padding (RFC 4506 section 3). */
static inline uint64_t
xdr_padded(uint32_t len)
{
	return ((uint64_t)len + 3) & ~(uint64_t)3;
}

/*
 * A variable-length opaque or string of at most max bytes (RFC 4506 section
 * 4.10): its length in *len and a borrowed pointer to its bytes. NULL, with the
 * error kept, when the length exceeds max or the record, or when not all of it
 * was captured; *len is the length that was read, or 0.
 */
static inline const uint8_t *
xdr_read_opaque(struct xdr_cursor *cursor, uint32_t max, uint32_t *len)
{
	const uint8_t *bytes;
	uint32_t n = xdr_u32(cursor);

	*len = 0;
	if (!xdr_ok(cursor))
		return NULL;
	if (n > max || xdr_padded(n) > cursor->total - cursor->off) {
		xdr_fail(cursor, XDR_MALFORMED);
		return NULL;
	}
	*len = n;
	if (!xdr_have(cursor, n))
		return NULL;
	bytes = cursor->data + cursor->off;
	cursor->off += (uint32_t)xdr_padded(n);
	return bytes;
}

/* Steps over a variable-length opaque; gives its length, 0 with an error kept. */
static inline uint32_t
xdr_skip_opaque(struct xdr_cursor *cursor, uint32_t max)
{
	uint32_t n = xdr_u32(cursor);

	if (!xdr_ok(cursor))
		return 0;
	if (n > max || xdr_padded(n) > cursor->total - cursor->off) {
		xdr_fail(cursor, XDR_MALFORMED);
		return 0;
	}
	cursor->off += (uint32_t)xdr_padded(n);
	return n;
}

#endif
