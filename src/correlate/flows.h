/*
 * The connections of all captures, the address tuples that they use, and which
 * connection of the one side is which of the other.
 */
#ifndef CORRELATE_FLOWS_H
#define CORRELATE_FLOWS_H

#include <nfscorr/nfs_op.h>

#include "correlate/pool.h"

enum { FLOW_VOTES = 8, FLOW_NONE = SLAB_NONE };

/* Client and server with their ports, as one of the captures shows them. */
struct tuple {
	struct net_endpoint client, server;
	uint32_t hash_next;
	uint32_t host_next, host_prev;	/* tuples of the same two hosts, newest first */
	uint32_t uses;			/* connections and waiting ops */
	uint32_t epochs[2];		/* connections so far, by side of the captures as given */
	uint8_t seen;			/* bits, the same */
};

/* What speaks for a connection of the other side being this one; votes.h. */
struct vote {
	uint64_t serial;	/* of the connection meant: its number may be another's by now */
	uint64_t first, last;	/* places of this connection's ops that voted so */
	uint32_t connection;
	uint32_t count;
	uint32_t alone;		/* of them, by ops that fitted no other connection */
	bool solid;		/* arguments agreed, not only numbers */
};

/* One epoch of a connection in one capture. */
struct connection {
	uint32_t hash_next;	/* first: a slab writes over it, and serial must stay 0 */
	uint32_t tuple;
	uint64_t serial;	/* 1, 2, ... over all captures: the identity */
	uint64_t number;	/* nfs_op.connection */
	uint32_t id;
	uint16_t capture;
	bool translated;	/* bound by content */
	uint8_t unbound;	/* how often a binding turned out to be wrong */
	struct connection *idle_next, *idle_prev;
	struct pool_list waiting;
	uint64_t ops;
	uint32_t lowest_xid, highest_xid;
	uint32_t last_xid;	/* of the latest call */
	uint64_t last_order;	/* of the same: stamps go back where a clock is set */
	int64_t cycle_began_ns;	/* when XIDs last began again from the low end */
	int64_t cycle_ns;	/* shortest time from one beginning to the next */
	uint64_t range_back;	/* of XIDs, or of the way back, when one last went back by half of them or more */
	uint32_t bound;		/* the other side's, or FLOW_NONE */
	uint32_t misses;	/* ops since the last match, of a translated one */
	uint64_t bound_serial;
	bool was_translated;	/* it was, at any time */
	struct vote votes[FLOW_VOTES];
};

enum { FLOWS_KNOWN = 64 };	/* a power of two */

/* Its fields belong to flows.c; it is open only so that what is asked for every op is answered in place. */
struct flows {
	uint64_t seed;
	uint64_t serials;
	struct slab connections, tuples;
	uint32_t *connection_heads;
	uint32_t *tuple_heads;
	uint32_t *host_heads;
	struct {
		struct connection *oldest, *newest;
		uint32_t count;
	} idle;			/* connections without a waiting op */
	struct connection *known[FLOWS_KNOWN];	/* that were looked up last, by capture and number; NULL: none */
};

struct flows *flows_new(uint64_t seed);
void flows_free(struct flows *flows);

/*
 * Sets connection, place and tuple of an op whose capture is set. A connection is
 * made when it is new; its numbers of ops and XIDs follow. The tuple is its
 * connection's, or that of another on which a copy came; it is in use until it is
 * released or dropped. True when both captures know it, as flows_exact.
 */
bool flows_place(struct flows *flows, struct waiting *waiting);

static inline struct connection *
flows_at(const struct flows *flows, uint32_t connection)
{
	return slab_record(&flows->connections, sizeof(struct connection), connection);
}

static inline struct tuple *
flows_tuple_at(const struct flows *flows, uint32_t tuple)
{
	return slab_record(&flows->tuples, sizeof(struct tuple), tuple);
}

/* The next tuple of the same two hosts with other ports, newest first; after: FLOW_NONE for the first. */
uint32_t flows_sibling(const struct flows *flows, uint32_t tuple, uint32_t after);
/* Both captures know the tuple: no other connection comes into question. */
static inline bool
flows_exact(const struct flows *flows, uint32_t tuple)
{
	return flows_tuple_at(flows, tuple)->seen == 3;
}

/* Of a tuple that nobody uses any more. */
void flows_forget_tuple(struct flows *flows, uint32_t tuple);

static inline void
flows_drop_tuple(struct flows *flows, uint32_t tuple)
{
	if (--flows_tuple_at(flows, tuple)->uses == 0)
		flows_forget_tuple(flows, tuple);
}

/* The list of a connection, to which one of its ops is added now; it keeps its tuple. */
struct pool_list *flows_hold(struct flows *flows, uint32_t connection);
/* It was taken out again. */
void flows_release(struct flows *flows, uint32_t connection, uint32_t tuple);

static inline bool
flows_is_bound(const struct flows *flows, const struct connection *c)
{
	return c->bound != FLOW_NONE && flows_at(flows, c->bound)->serial == c->bound_serial;
}

/* The connection bound to this one, FLOW_NONE: there is none any more. */
static inline uint32_t
flows_bound(const struct flows *flows, uint32_t connection)
{
	const struct connection *c = flows_at(flows, connection);

	return flows_is_bound(flows, c) ? c->bound : FLOW_NONE;
}

/* Both are the same epoch: bound, or the only ones between equal tuples. */
static inline bool
flows_same(const struct flows *flows, uint32_t first, uint32_t client)
{
	const struct connection *f = flows_at(flows, first);
	const struct tuple *t = flows_tuple_at(flows, f->tuple);

	return flows_bound(flows, first) == client ||
	    (f->tuple == flows_at(flows, client)->tuple && t->epochs[0] == 1 && t->epochs[1] == 1);
}

/* Two of different tuples are the same connection. True when that is new: a binding may be given up and found again. */
bool flows_translate(struct flows *flows, uint32_t first, uint32_t client);
/* An op of each was matched; of equal tuples, that binds them if neither is bound. */
void flows_matched(struct flows *flows, uint32_t first, uint32_t client);
/* Calls that overtake one another go back too; XIDs have soon gone on far beyond that. */
static inline bool
flows_have_gone_on(const struct connection *c)
{
	return (uint64_t)c->highest_xid - c->lowest_xid > 4 * c->range_back;
}

/* No XID came again on this connection so far, and not even seemed to. */
static inline bool
flows_clean(const struct flows *flows, uint32_t connection)
{
	const struct connection *c = flows_at(flows, connection);

	return c->range_back == 0 || flows_have_gone_on(c);
}

/*
 * The time after which an XID may come again on this connection, about;
 * INT64_MAX when XIDs do not come again.
 */
static inline int64_t
flows_reuse_ns(const struct flows *flows, uint32_t connection)
{
	const struct connection *c = flows_at(flows, connection);
	uint64_t range = (uint64_t)c->highest_xid - c->lowest_xid;

	/*
	 * More ops than XIDs; a few that a capture shows twice are no sign of it, nor
	 * those of a beginning that was made again and left behind.
	 */
	if (c->ops <= range + range / 16 + 2 + (flows_have_gone_on(c) ? c->range_back : 0))
		return INT64_MAX;
	return c->cycle_ns == INT64_MAX ? 0 : c->cycle_ns;
}

/*
 * An op found no counterpart: a translation that no longer finds anything is
 * given up. Calls that the other side has not come to yet do not count; by
 * their XIDs, as a clock may have been set.
 */
void flows_missed(struct flows *flows, uint32_t connection, uint32_t xid);
#endif
