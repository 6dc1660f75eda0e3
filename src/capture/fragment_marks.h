/*
 * Which bytes of an IP datagram have come, in units of eight (RFC 791 section
 * 3.2): fragments in any order, copies and overlaps.
 */
#ifndef CAPTURE_FRAGMENT_MARKS_H
#define CAPTURE_FRAGMENT_MARKS_H

#include <stdbool.h>
#include <stdint.h>

enum { FRAGMENT_UNIT = 8, FRAGMENTED_MAX = 65535 };

struct fragment_marks {
	bool last_seen;			/* len and units are known */
	uint32_t len;			/* of all that IP carries */
	uint32_t reach;			/* end of the furthest piece that is not the last */
	uint32_t units, units_have;
	uint64_t have[(FRAGMENTED_MAX / FRAGMENT_UNIT + 64) / 64];
};

enum fragment_result {
	FRAGMENT_NEW,		/* brought something */
	FRAGMENT_COPY,		/* all of it was there */
	FRAGMENT_BAD,		/* contradicts itself or what is known of the datagram: ignored */
};

/* A piece from offset on; more: it is not the last one. marks begin as zeros. */
enum fragment_result fragment_marks_add(struct fragment_marks *marks, uint32_t offset, uint32_t len, bool more);
bool fragment_marks_complete(const struct fragment_marks *marks);

#endif
