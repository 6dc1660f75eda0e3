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

#include "stream/connection.h"

#define WAITS_NEVER INT64_MIN

void waits_init(struct half *half);
/* A SYN: what it says of the other direction's windows (RFC 7323 section 2.2), and its largest segment. */
void waits_syn(struct connection *connection, const struct segment *segment);

/* The gap that new data ends. */
void waits_end_gap(struct half *half, const struct half *other, int64_t now_ns);
/* What the receiver says, in full. */
void waits_weigh(struct half *half, int64_t acked, uint16_t window, int64_t now_ns);

/* All that came is acknowledged, with room in the window or not. What is new cannot be foreseen: no branches. */
static inline void
waits_note_acked(struct waits *waits, bool open, int64_t now_ns)
{
	int64_t free_ns = waits->free_ns;

	waits->acked_ns = waits->acked_ns == WAITS_NEVER ? now_ns : waits->acked_ns;
	waits->free_ns = open && free_ns == WAITS_NEVER ? now_ns : free_ns;
}

/* A segment with new data of this half; in_order: none was missing before it. */
static inline void
waits_data(struct half *half, const struct half *other, bool in_order, int64_t now_ns)
{
	struct waits *waits = &half->waits;

	if (in_order && half->record.phase != RECORD_AT_MARK &&
	    (waits->acked_ns != WAITS_NEVER || waits->shut_ns > 0 || waits->doubtful))
		waits_end_gap(half, other, now_ns);
	waits->data_ns = now_ns;
	waits->acked_ns = waits->free_ns = WAITS_NEVER;
	waits->shut_ns = 0;
	waits->doubtful = false;
}

/* The receiver of this half acknowledges up to an offset, and announces a window (the field of the header). */
static inline void
waits_announced(struct half *half, int64_t acked, uint16_t window, int64_t now_ns)
{
	struct waits *waits = &half->waits;

	/* room for the largest segment that came, as before */
	if (waits->shut_since_ns != WAITS_NEVER ||
	    acked + ((int64_t)window << waits->scale) - half->next < half->max_segment)
		waits_weigh(half, acked, window, now_ns);
	else if (acked >= half->next && half->held == NULL)
		waits_note_acked(waits, true, now_ns);
}

#endif
