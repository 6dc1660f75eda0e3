/*
 * How long bytes were on their way between the capture points: the last byte of
 * the call one way and the last byte of the reply the other way, together.
 *
 * (client reply_last - client call_last) - (server reply_last - server
 * call_last): two durations, so that no clocks need to agree. What the senders
 * take to send is not in it: a window that is waited for, a reply that is made
 * piece by piece. What remains is distance, and what stood in queues on the
 * way. In a path that nothing fills it does not depend on size or load.
 */
#ifndef STATS_TRANSIT_H
#define STATS_TRANSIT_H

#include "base/histogram.h"
#include "correlate/op_pair.h"

enum { TRANSIT_DATA_BYTES = 1024 };

/* Of the matched calls of one client's capture; all zero: empty. */
struct transit {
	struct dist all;
	struct dist data[2];		/* enum pair_side: of WRITEs, to the server, and READs, to the client, of
					   TRANSIT_DATA_BYTES or more */
	uint64_t calls;			/* matched; those whose stamps are not of first copies are in neither dist */
	__int128 total_ns, server_ns, network_ns;
};

/* pair is matched; size_bytes: moved, else requested, 0 when not known. */
void transit_add(struct transit *transit, const struct op_pair *pair, uint32_t size_bytes);
void transit_merge(struct transit *into, const struct transit *from);
void transit_clear(struct transit *transit);
/* Empties it and keeps its memory. */
void transit_reset(struct transit *transit);
/* Makes copy, whatever it held, the same with memory of its own. */
void transit_copy(struct transit *copy, const struct transit *transit);
/*
 * The round trip of the empty path: the smallest transit, but what fewer than
 * one in a hundred calls have to themselves is not believed (a clock that was
 * set during them). all has values.
 */
int64_t transit_base_ns(const struct transit *transit);

#endif
