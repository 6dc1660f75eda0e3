/*
 * All that a report counts, as one mergeable type: a decode thread's part, the
 * correlation's part and, later, live intervals and saved reports merge with
 * one function, exactly.
 */
#ifndef STATS_AGGREGATE_H
#define STATS_AGGREGATE_H

#include <stddef.h>

#include "base/histogram.h"
#include "correlate/op_pair.h"
#include "stats/concurrency.h"

struct aggregate;
struct flight;
struct serial;
struct chains;
struct transit;

enum {
	BREAKDOWN_ROWS = 1000,	/* kept a kind; the smallest give way to "others" */
	BREAKDOWN_WINDOWS = 240,	/* of BREAKDOWN_TIME; neighbours merge beyond */
};

/*
 * What a row counts: an operation of a protocol version, as the call was sent.
 * A capture can invent as many procedures as it likes, so that their number is
 * capped: all zero, row_key_is_others(), is what no longer fits.
 */
struct row_key {
	uint32_t program, version, procedure, operation, minor;	/* as in struct nfs_op */
};

/* Program 0 is nobody's (RFC 5531 section 8.3). */
static inline bool
row_key_is_others(const struct row_key *key)
{
	return key->program == 0;
}

/* One capture's answered calls of one operation. */
struct side_row {
	struct row_key key;
	uint64_t count;			/* answered calls */
	uint64_t errors;		/* replies whose status is not OK, or that are RPC errors */
	uint64_t retransmits;		/* copies of all these calls after their first */
	uint64_t bytes;			/* moved, where known */
	uint64_t sized;			/* calls whose moved bytes are known */
	uint64_t unanswered;		/* calls with outcome OP_UNANSWERED */
	uint64_t in_flight;		/* calls with outcome OP_IN_FLIGHT; of an interval's aggregate only */
	uint64_t in_flight_retransmits;	/* copies of those */
	struct dist alike;		/* of calls that have one of all three times below, which get it before a view */
	struct dist latency[2];		/* enum pair_side: as a server's, as a client's capture would have it */
	struct dist rpc_time;
	struct dist server_estimate;	/* client latency - path, where the path is known and there is one capture */
};

struct matched_row {
	struct row_key key;
	uint64_t count, bytes;
	struct dist total, server, network;
	struct dist retransmit, client;	/* of the calls of which it is known */
	uint64_t retransmit_none, client_none;	/* of them, those of which it is 0 and that get into a dist before a view */
	struct dist network_whole;	/* with the client's part in it; only if it differs */
	bool network_differs;
	struct dist request, reply;	/* of the calls whose clocks are aligned */
	struct dist clock_error;	/* of the same, without a histogram: each call's hard bound of request and reply */
};

enum breakdown_kind {
	BREAKDOWN_CLIENT, BREAKDOWN_SERVER, BREAKDOWN_FILE, BREAKDOWN_SIZE,
	BREAKDOWN_CONNECTION, BREAKDOWN_TIME, BREAKDOWN_KINDS,
};

/*
 * Matched calls of one operation and one value of a breakdown. FILE has only
 * the calls whose file handle is known, SIZE those whose size (moved, else
 * requested bytes) is.
 *
 * id: CLIENT, SERVER, FILE, CONNECTION: of correlate/ids.h, ID_OTHERS for what
 * gave way. SIZE: the largest power of two that is not above the size, 0 for 0.
 * TIME: start of the window in ns of the server's clock, which all clients
 * share, a multiple of the width; a call belongs to the window in which it
 * reached the server.
 *
 * When a table is full, the rows with the fewest calls give way to keys that
 * are seen more often. What gave way, and what knocked before it was let in,
 * is counted in others: a row may lack it, and lack is the most that it can be.
 */
struct breakdown_row {
	uint64_t id;
	struct row_key key;
	uint64_t count, bytes;
	uint64_t lack;			/* calls; 0: the row is exact */
	struct dist total;
	struct dist server, network;	/* count, sum, minimum and maximum only */
	struct dist client;		/* the same, of the calls of which it is known */
	struct dist network_whole;	/* with the client's part in it; only if it differs */
	bool network_differs;
};

struct slow_call {
	struct op_pair pair;
};

/* captures: 1, or the server's and the clients'. top: how many slowest calls are kept. */
struct aggregate *aggregate_new(unsigned captures, unsigned top);
/*
 * What an interval's report shows: without slowest calls and breakdowns, which
 * stay empty; calls in flight count in the rows.
 */
struct aggregate *aggregate_new_interval(unsigned captures);
void aggregate_free(struct aggregate *aggregate);
/*
 * The same with memory of its own, at any time, views aside: it can be finished
 * and viewed, or fed, while the other goes on.
 */
struct aggregate *aggregate_copy(const struct aggregate *aggregate);
/*
 * An interval's aggregate as new, finished or not, with the memory that it has:
 * the next interval's. from_ns: where that begins by each capture's clock, so
 * that of calls in flight the time before it is left out; INT64_MIN where that
 * is not known.
 */
void aggregate_reset(struct aggregate *aggregate, const int64_t *from_ns);
/*
 * What of a capture's calls in flight is wanted (bits of enum concurrency_view),
 * all of it unless told otherwise; before its first op. Of several captures one
 * that is not watched inside is not the server's, and shows nothing of threads.
 */
void aggregate_watch(struct aggregate *aggregate, unsigned capture, unsigned views);
/*
 * From here on its rows are those of intervals, aggregates that are given the
 * same ops and pairs: a value is put in its place once and not twice.
 */
void aggregate_leave_rows(struct aggregate *aggregate);
/* Adds the rows of an interval at its end, or so far, but for its calls in flight. */
void aggregate_take_rows(struct aggregate *into, const struct aggregate *from);
/* Takes a capture's calls in flight and what it shows of threads out of from, in place of its own. */
void aggregate_take_concurrency(struct aggregate *aggregate, struct aggregate *from, unsigned capture);
/* A finished op of one capture (0 the server's, 1.. the clients', as given). */
void aggregate_add_op(struct aggregate *aggregate, unsigned capture, const struct nfs_op *op);
/* The same for several in their order, which takes less time. */
void aggregate_add_ops(struct aggregate *aggregate, unsigned capture, const struct nfs_op *ops, unsigned count);
/* A pair, or a call that stayed alone. */
void aggregate_add_pair(struct aggregate *aggregate, const struct op_pair *pair);
/* No op follows: what waited for others in between is counted. Before anything is merged or viewed. */
void aggregate_finish(struct aggregate *aggregate);
/*
 * Adds all of from to into. Both were made with the same arguments. Exact and
 * associative until a cap is reached; beyond it totals stay exact.
 */
void aggregate_merge(struct aggregate *into, const struct aggregate *from);
/* The first two captures had been given the wrong way round. */
void aggregate_exchange_sides(struct aggregate *aggregate);

/*
 * Views for the report, borrowed until the next call for the same view. Their
 * order depends on the content alone: sides and matched by key; breakdowns by
 * count, largest first and others last, SIZE and TIME by id.
 */
const struct side_row *const *aggregate_side(struct aggregate *aggregate, unsigned capture, unsigned *count);
const struct matched_row *const *aggregate_matched(struct aggregate *aggregate, unsigned *count);
const struct breakdown_row *const *aggregate_breakdown(struct aggregate *aggregate, enum breakdown_kind kind, unsigned *count);
const struct slow_call *aggregate_slowest(struct aggregate *aggregate, unsigned *count);	/* slowest first */
/* With one capture only: its slowest calls by the latency of that side; the pairs have that side alone. */
const struct slow_call *aggregate_slowest_alone(struct aggregate *aggregate, enum pair_side side, unsigned *count);
/* Calls in flight as one capture shows them; NULL when it shows no call. */
const struct concurrency *aggregate_concurrency(const struct aggregate *aggregate, unsigned capture);
/* Samples of the server's calls, as the first capture shows them, for threads_judge. */
const struct threads *aggregate_threads(const struct aggregate *aggregate);
/* Width of a BREAKDOWN_TIME window in nanoseconds: 1 s, doubled until at most 240 remain. */
int64_t aggregate_window_ns(const struct aggregate *aggregate);

enum part { PART_SERVER, PART_NETWORK, PART_CLIENT, PARTS };
struct aggregate_totals {
	uint64_t callbacks;		/* matched; of them the server's part is the client's, so they are in nothing else here */
	uint64_t matched, negative;	/* negative: matched calls with a part below zero */
	__int128 total_ns, server_ns, network_ns;	/* sums over matched calls */
	__int128 client_ns;		/* where it is known */
	uint64_t client_known;		/* matched calls of which it is */
	__int128 retransmit_ns;		/* of network_ns, where it is known */
	uint64_t retransmit_known;	/* matched calls of which it is */
	uint64_t delayed_calls;		/* of them, those for which it is above zero */
	uint64_t lost_segments;		/* of their records, between the captures */
	uint64_t by_call[PARTS];	/* calls in which the part is the largest; the first of equals */
	uint64_t by_call_of_two[PARTS];	/* the same with the client's part in the network's */
};
/*
 * The client's part of many calls is told only if it is known of each of them;
 * else it is in the network's. NULL: it is not told.
 */
static inline const struct dist *
client_of(const struct dist *client, const struct dist *total)
{
	return client->count == total->count ? client : NULL;
}
static inline const struct dist *
matched_network(const struct matched_row *row)
{
	return client_of(&row->client, &row->total) == NULL && row->network_differs ? &row->network_whole : &row->network;
}
static inline const struct dist *
breakdown_network(const struct breakdown_row *row)
{
	return client_of(&row->client, &row->total) == NULL && row->network_differs ? &row->network_whole : &row->network;
}

static inline bool
aggregate_knows_client(const struct aggregate_totals *totals)
{
	return totals->client_known == totals->matched;
}
static inline __int128
aggregate_network_ns(const struct aggregate_totals *totals)
{
	return aggregate_knows_client(totals) ? totals->network_ns : totals->network_ns + totals->client_ns;
}
static inline const uint64_t *
aggregate_by_call(const struct aggregate_totals *totals)
{
	return aggregate_knows_client(totals) ? totals->by_call : totals->by_call_of_two;
}
const struct aggregate_totals *aggregate_totals(const struct aggregate *aggregate);

/* Of one capture's ops: flight.h, serial.h. Of one client's pairs, from 0: transit.h. */
const struct flight *aggregate_flight(const struct aggregate *aggregate, unsigned capture);
const struct serial *aggregate_serial(const struct aggregate *aggregate, unsigned capture);
const struct chains *aggregate_chains(const struct aggregate *aggregate, unsigned capture);
const struct transit *aggregate_transit(const struct aggregate *aggregate, unsigned client);

#endif
