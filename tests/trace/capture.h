/*
 * A host's capture, with its imperfections.
 */
#ifndef TRACE_CAPTURE_H
#define TRACE_CAPTURE_H

#include "trace/sim.h"

/* What did not get into the file, and what did. Index: direction of the packet. */
struct capture_counts {
	uint64_t packets, truncated, duplicates;
	uint64_t dropped[DIRECTIONS], not_captured[DIRECTIONS];
	uint64_t hidden[DIRECTIONS];	/* records whose header lies behind snaplen */
	uint64_t unseen[DIRECTIONS];	/* records whose header was in no captured packet */
};

/* NULL with an error when the file cannot be made. `stream` tells captures of a side apart. */
struct capture *trace_capture_open(struct sim *sim, struct host *host, const char *path,
	unsigned stream, GError **error);
/* The frame passes the host's card now. */
void trace_capture_frame(struct capture *capture, const struct frame *frame);
struct capture_counts *trace_capture_counts(struct capture *capture);
/* Writes what is held and closes the file; false if any write failed. Frees. */
bool trace_capture_close(struct capture *capture, GError **error);

#endif
