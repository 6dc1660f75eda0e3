/*
 * Time that one end of a connection keeps the other waiting inside a record, by
 * what a capture at that end shows: its window or its acknowledgements as the
 * receiver, pauses as the sender. At the other end's capture the same figures
 * mean nothing.
 *
 * A gap between two segments of a record is looked at when the second one
 * comes: only then it is known that there was more to send.
 */
#ifndef STREAM_WAITS_H
#define STREAM_WAITS_H

#include <glib.h>

#include "stream/connection.h"

#define WAITS_NEVER INT64_MIN

void waits_init(struct half *half);
/* A SYN: what it says of the other direction's windows (RFC 7323 section 2.2), and its largest segment. */
void waits_syn(struct connection *connection, const struct segment *segment);

/* New data ends a gap of which something was told; in_order: none was missing before it. */
void waits_end_gap(struct half *half, const struct half *other, bool in_order, int64_t now_ns);
/* What the receiver says, in full. */
void waits_weigh(struct half *half, int64_t acked, uint16_t window, int64_t now_ns);

/* All that came is acknowledged, with room in the window or not. What is new cannot be foreseen: no branches. */
static inline void
waits_note_acked(struct waits *waits, bool open, int64_t now_ns)
{
	int64_t free_ns = waits->free_ns;

	waits->told = true;
	waits->acked_ns = waits->acked_ns == WAITS_NEVER ? now_ns : waits->acked_ns;
	waits->free_ns = open && free_ns == WAITS_NEVER ? now_ns : free_ns;
}

/* A segment of that size came from this half. */
static inline void
waits_size(struct half *half, uint32_t len)
{
	if (G_LIKELY(len <= half->max_segment))
		return;
	half->max_segment = len;
	if (half->waits.shut_since_ns == WAITS_NEVER)
		half->waits.enough = len;
}

/* A segment with new data of this half; in_order: none was missing before it. */
static inline void
waits_data(struct half *half, const struct half *other, bool in_order, int64_t now_ns)
{
	if (half->waits.told)
		waits_end_gap(half, other, in_order, now_ns);
	half->waits.data_ns = now_ns;
}

/* The window, in which so much is not acknowledged, has room for the largest segment that came, as before. */
static inline bool
waits_are_none(const struct waits *waits, int64_t unacked, uint16_t window)
{
	return ((int64_t)window << waits->scale) >= unacked + waits->enough;
}

/* Between two records nobody waits. */
static inline bool
waits_matter(const struct half *half)
{
	return half->record.phase != RECORD_AT_MARK;
}

/* The receiver of this half acknowledges up to an offset, and announces a window (the field of the header). */
static inline void
waits_announced(struct half *half, int64_t acked, uint16_t window, int64_t now_ns)
{
	if (!waits_are_none(&half->waits, half->next - acked, window))
		waits_weigh(half, acked, window, now_ns);
	else if (waits_matter(half) && acked >= half->next && half->held == NULL)
		waits_note_acked(&half->waits, true, now_ns);
}

#endif
