/*
 * What one capture shows of one direction of a connection: which bytes of the
 * stream were captured when, and how the times of its records follow from that.
 */
#ifndef TRACE_SIGHT_H
#define TRACE_SIGHT_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_NEVER INT64_MIN

/* Ordered: of several copies of a call the one that was seen best counts. */
enum trace_seen {
	TRACE_SEEN_NONE,	/* no capture at all */
	TRACE_SEEN_NO,
	TRACE_SEEN_HIDDEN,
	TRACE_SEEN_PART,
	TRACE_SEEN_CUT,
	TRACE_SEEN_FULL,
};

struct sight_piece;
struct sight_mark;

struct sight_marks {
	struct sight_mark *mark;
	uint32_t first, count, allocated;
};

/* Offsets are those of the stream, 0 is the byte after the SYN. */
struct sight {
	struct sight_piece *piece;	/* sorted, disjoint; the first copy of each byte */
	uint32_t first, count, allocated;
	struct sight_marks sent;	/* captured packets of this direction, by sequence number */
	struct sight_marks acked;	/* captured acknowledgements */
	uint64_t settled;		/* the records before are done */
	int64_t settled_ns;		/* when all bytes before had been seen */
	bool started;
};

/* The record that is settled. */
struct sight_record {
	uint64_t start, end;
	uint64_t header_end;
	enum trace_seen seen;
	int64_t first_ns, last_ns;	/* out: TRACE_NEVER if unknown */
};

void trace_sight_clear(struct sight *sight);
/* A captured packet of this direction; bytes from `visible` on lie behind snaplen. */
void trace_sight_packet(struct sight *sight, uint64_t from, uint64_t to, uint64_t visible,
	int64_t at_ns);
/* A captured acknowledgement of the bytes before `upto`. */
void trace_sight_ack(struct sight *sight, uint64_t upto, int64_t at_ns);
/*
 * Fills in the last three members. Records come in stream order, and no packet
 * of theirs may come later. False when it depends on packets to come; with
 * `final` there are none.
 */
bool trace_sight_settle(struct sight *sight, struct sight_record *record, bool final);

#endif
