/*
 * How fast data went from one host to another while it kept coming: what a line
 * that is full looks like where its packets arrive.
 *
 * Frames that follow one another closely are put together into chunks of about
 * a millisecond; each chunk whose frames come evenly has a rate, and time and
 * bytes are kept by rate. A line that is full delivers nearly all its bytes, for
 * nearly all the time, at one rate. A sender that waits for acknowledgements
 * spends its time in gaps, which are not counted; and on a way that holds frames
 * up at random they come in pauses and bursts.
 */
#ifndef STATS_LINES_H
#define STATS_LINES_H

#include "capture/segment.h"

struct lines;

enum { LINES_MAX = 64 };	/* pairs of hosts and directions of one capture; later ones are not measured */

enum line_end { LINE_UNKNOWN, LINE_TO_CLIENT, LINE_TO_SERVER };

/* The rate at which most time was spent. */
struct line_peak {
	int64_t rate_bps;	/* payload of TCP or UDP */
	int64_t time_ns;	/* spent within an eighth of that rate */
	int64_t moving_ns;	/* spent at any rate */
	uint64_t bytes;		/* payload moved within an eighth of that rate */
	uint64_t all_bytes;	/* payload of all frames */
};

struct lines *lines_new(void);
void lines_free(struct lines *lines);
/* A packet with so much payload of TCP or UDP, in the order of stamps. direction is that of its key. */
void lines_add(struct lines *lines, const struct flow_key *key, uint8_t direction, const struct packet *packet,
    uint32_t payload_bytes);
/* These hosts are client and server of a call. */
void lines_note(struct lines *lines, const struct net_endpoint *client, const struct net_endpoint *server);
/* The clock was set back: what follows belongs to no chunk. */
void lines_break(struct lines *lines);
void lines_merge(struct lines *into, const struct lines *from);
/*
 * What was measured after `earlier`, an older state of the same lines; NULL: all
 * of it. Chunks that are open are left out. Caller frees.
 */
struct lines *lines_since(const struct lines *earlier, const struct lines *now);
/* Payload of all pairs of hosts towards that end. */
uint64_t lines_bytes(const struct lines *lines, enum line_end end);
/*
 * Of the pair of hosts that spent most time at its peak towards that end; client
 * is one of them, any where it is NULL. False when nothing kept moving.
 */
bool lines_peak(const struct lines *lines, enum line_end end, const struct net_endpoint *client, struct line_peak *peak);
/* The same of all pairs towards that end taken together, from when it was known who calls. */
bool lines_peak_together(const struct lines *lines, enum line_end end, struct line_peak *peak);

#endif
