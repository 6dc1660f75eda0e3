/*
 * Lines that are over, kept for the facts: those through all pairs of a
 * stretch, which tell the drift best, and samples of those through recent pairs
 * only, which tell the offset at a time even where the drift wandered.
 * Bounded, however long a capture is.
 */
#ifndef CORRELATE_RECORDS_H
#define CORRELATE_RECORDS_H

#include "correlate/stretch.h"

enum { RECORDS_KEPT = 64 };

/* A line that was true from first to last, server clock. */
struct record {
	struct polygon line;
	int64_t first_ns, last_ns;
	uint64_t pairs;
};

struct records {
	struct record *whole[RECORDS_KEPT], *sample[RECORDS_KEPT];	/* owned */
	unsigned wholes, samples;
	uint64_t offered, stride;	/* every stride-th of the samples offered is kept */
	bool any;
	int64_t first_ns, last_ns;	/* of all wholes ever */
};

void records_init(struct records *records);
/* Frees what it holds. */
void records_clear(struct records *records);
/* The line through all of a stretch is over; of too many the one with the fewest pairs goes. */
void records_keep(struct records *records, const struct stretch *stretch);
/* Another generation of recent pairs; of too many every second one goes. */
void records_sample(struct records *records, const struct stretch *stretch);
/* From when to when anything is known; now is the stretch that is not over. 0 and 0 when nothing is. */
void records_span(const struct records *records, const struct stretch *now, int64_t *first_ns, int64_t *last_ns);
/*
 * The line through all pairs around a time, or the nearest one, and the line
 * for the offset there. False when nothing is known.
 */
bool records_find(const struct records *records, const struct stretch *now, int64_t at_ns,
    struct record *whole, struct record *sample);

#endif
