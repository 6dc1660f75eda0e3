/*
 * Calls in flight, over time, as one capture shows them: inside the server
 * (call_last to reply_first), and between the client and its answer (call_first
 * to reply_last) for each connection, for each client with each of its servers
 * and for each session.
 *
 * Counted are calls of NFS and its ACL protocol: those that were answered, and
 * those that were in flight when the capture ended, up to its last call. One
 * that was never answered, or whose reply or stamps the capture lost, holds an
 * unknown time and is left out and counted; so are calls that took no time by
 * the clock. What was under way before the capture began is not seen until its
 * reply, and missing then. So gaps in a capture make depths too low, never too
 * high.
 */
#ifndef STATS_CONCURRENCY_H
#define STATS_CONCURRENCY_H

#include <nfscorr/nfs_op.h>

#include "stats/depth.h"

struct concurrency;

/* Of a table of connections, clients or sessions: when so many are there, the half with the fewest calls gives way. */
enum { CONCURRENCY_ROWS = 1024 };

struct concurrency_row {
	struct net_endpoint client, server;	/* ports are 0 but for connections; a session has no addresses of its own */
	double moving_ns;		/* the sum over its calls, from first to last bytes of call and reply; not a session's */
	uint64_t session;		/* hash of its id; 0: not a session's row */
	/* of a session; 0: not seen */
	uint32_t slots_granted;		/* by CREATE_SESSION */
	uint32_t slots_allowed;		/* by the last SEQUENCE: sr_highest_slotid or, if lower, sr_target_highest_slotid */
	uint32_t slots_used;		/* the highest slot id, plus one */
	bool target_lower;		/* sr_target_highest_slotid was the lower one */
	struct depth depth;
};

/* What is followed; what is not costs nothing, and stays empty. */
enum concurrency_view { CONCURRENCY_OUTSIDE, CONCURRENCY_INSIDE, CONCURRENCY_VIEWS };

struct concurrency_counts {
	uint64_t calls[CONCURRENCY_VIEWS];
	uint64_t left_out[CONCURRENCY_VIEWS];	/* the reply or a stamp is not known */
	uint64_t late[CONCURRENCY_VIEWS];	/* began before so many others that the depth at their begin lacks them */
	uint64_t without_row;			/* counted outside, but their connection's row gave way */
};

/* views: a bit for each, 1 << enum concurrency_view. */
struct concurrency *concurrency_new(unsigned views);
void concurrency_free(struct concurrency *concurrency);
/* The same, in the middle of its ops, with memory of its own. */
struct concurrency *concurrency_copy(const struct concurrency *concurrency);
/*
 * As new, with the memory that it has, finished or not. Calls that began before
 * from_ns are followed from there on, and those that ended before it left out,
 * so that what is told is of the time from then on; INT64_MIN: of all time.
 */
void concurrency_reset(struct concurrency *concurrency, int64_t from_ns);
/* Ops of one capture as its decoder finished them. */
void concurrency_add(struct concurrency *concurrency, const struct nfs_op *ops, unsigned count);
/* Nothing follows; what is below is complete then. */
void concurrency_finish(struct concurrency *concurrency);
/* Both are finished. */
void concurrency_merge(struct concurrency *into, const struct concurrency *from);

const struct concurrency_counts *concurrency_counts(const struct concurrency *concurrency);
/* Of all calls inside the server. */
const struct depth *concurrency_server(const struct concurrency *concurrency);

enum concurrency_table { CONCURRENCY_CONNECTIONS, CONCURRENCY_CLIENTS, CONCURRENCY_SESSIONS, CONCURRENCY_TABLES };
/* Those with the most calls first, equal ones by their addresses and ids. Caller frees the array, the rows are borrowed. */
const struct concurrency_row **concurrency_rows(const struct concurrency *concurrency, enum concurrency_table table,
    unsigned *count);

#endif
