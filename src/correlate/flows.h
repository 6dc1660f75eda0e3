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
	uint32_t epochs[2];		/* connections so far, by side as seen[] */
	bool seen[2];			/* by enum pair_side of the captures as given */
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
	uint32_t idle_next, idle_prev;
	struct pool_list waiting;
	uint64_t ops;
	uint32_t lowest_xid, highest_xid;
	uint32_t last_xid;	/* of the latest call */
	uint64_t last_order;	/* of the same: stamps go back where a clock is set */
	int64_t cycle_began_ns;	/* when XIDs last began again from the low end */
	int64_t cycle_ns;	/* shortest time from one beginning to the next */
	uint64_t range_back;	/* of XIDs, or of the way back, when one last went back by half of them or more */
	uint32_t bound;		/* the other side's, or FLOW_NONE */
	uint64_t bound_serial;
	struct vote votes[FLOW_VOTES];
	uint16_t capture;
	uint8_t unbound;	/* how often a binding turned out to be wrong */
	bool translated;	/* bound by content */
	bool was_translated;	/* it was, at any time */
	uint32_t misses;	/* ops since the last match, of a translated one */
};

struct flows;

struct flows *flows_new(uint64_t seed);
void flows_free(struct flows *flows);

/* The connection of op, made when new; its numbers of ops and XIDs follow. */
uint32_t flows_connection(struct flows *flows, unsigned capture, const struct nfs_op *op);
/* The tuple of op: its connection's, or that of another on which a copy came. In use until it is released or dropped. */
uint32_t flows_tuple(struct flows *flows, uint32_t connection, const struct nfs_op *op);
struct connection *flows_at(const struct flows *flows, uint32_t connection);
/* The next tuple of the same two hosts with other ports, newest first; after: FLOW_NONE for the first. */
uint32_t flows_sibling(const struct flows *flows, uint32_t tuple, uint32_t after);
/* Both captures know the tuple: no other connection comes into question. */
bool flows_exact(const struct flows *flows, uint32_t tuple);
void flows_drop_tuple(struct flows *flows, uint32_t tuple);
/* An op of the connection was added to its list; it keeps its tuple. */
void flows_hold(struct flows *flows, uint32_t connection);
/* It was taken out again. */
void flows_release(struct flows *flows, uint32_t connection, uint32_t tuple);

/* The connection bound to this one, FLOW_NONE: there is none any more. */
uint32_t flows_bound(const struct flows *flows, uint32_t connection);
/* Both are the same epoch: bound, or the only ones between equal tuples. */
bool flows_same(const struct flows *flows, uint32_t first, uint32_t client);
/* Two of different tuples are the same connection. True when that is new: a binding may be given up and found again. */
bool flows_translate(struct flows *flows, uint32_t first, uint32_t client);
/* An op of each was matched; of equal tuples, that binds them if neither is bound. */
void flows_matched(struct flows *flows, uint32_t first, uint32_t client);
/* No XID came again on this connection so far, and not even seemed to. */
bool flows_clean(const struct flows *flows, uint32_t connection);
/*
 * An op found no counterpart: a translation that no longer finds anything is
 * given up. Calls that the other side has not come to yet do not count; by
 * their XIDs, as a clock may have been set.
 */
void flows_missed(struct flows *flows, uint32_t connection, uint32_t xid);
/*
 * The time after which an XID may come again on this connection, about;
 * INT64_MAX when XIDs do not come again.
 */
int64_t flows_reuse_ns(const struct flows *flows, uint32_t connection);

#endif
