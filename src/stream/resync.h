/*
 * Finding the next record boundary where the place in a stream was lost.
 *
 * Slices are kept while candidates live. A candidate is a place whose bytes
 * could be a record mark and message header, and whose record, and those
 * behind it, lead to further headers. Bytes that contradict it refute it, so
 * payload that holds perfect copies of messages does not pass: its chain
 * ends in other payload. The earliest candidate that nothing refutes wins,
 * once its chain is long enough or the capture shows no more of it.
 */
#ifndef STREAM_RESYNC_H
#define STREAM_RESYNC_H

#include "stream/connection.h"

struct resync_place {
	int64_t offset;		/* of the record mark */
	unsigned unproven;	/* records from there on that nothing confirms */
};

struct resync *resync_new(void);
void resync_free(struct resync *resync);
/* Takes a copy of the slice and looks at it. */
void resync_add(struct resync *resync, const struct stream_sink *sink, const struct connection *connection,
    uint8_t direction, const struct slice *slice);
/* How much is still to be expected when a boundary is to be decided on. */
enum resync_hope {
	HOPE_MORE,	/* more of the stream may come */
	HOPE_PROOF,	/* nothing more comes; what is weak may yet be proven by the other direction */
	HOPE_NONE,
};

/* True when a boundary was decided on. */
bool resync_decide(struct resync *resync, const struct stream_sink *sink, const struct connection *connection,
    uint8_t direction, enum resync_hope hope, struct resync_place *place);
/* Bytes that are held. */
uint64_t resync_bytes(const struct resync *resync);
/*
 * The slices from a decided place on, taken from resync, which begins anew.
 * The first may begin before the place. Caller frees each with g_free.
 */
struct held *resync_take(struct resync *resync, int64_t offset);
/* How often boundaries were found that soon proved wrong: longer chains are asked for. */
void resync_distrust(struct resync *resync);
void resync_trust(struct resync *resync);

#endif
