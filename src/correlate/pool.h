/*
 * The ops of one side that wait for their counterpart: found by connection and
 * call, or by call alone, newest first; listed by age in their capture, and by
 * connection.
 */
#ifndef CORRELATE_POOL_H
#define CORRELATE_POOL_H

#include <nfscorr/nfs_op.h>

#include "correlate/slab.h"

enum pool_link { LINK_EXACT, LINK_CONTENT, LINK_AGE, LINK_CONNECTION, LINKS };

struct pool_list {
	struct waiting *oldest, *newest;
	uint32_t count;
};

struct waiting {
	const struct nfs_op *op;	/* borrowed; of one that waits the pool's copy */
	uint64_t call_hash;	/* of XID, program, version, procedure */
	uint64_t serial;	/* order of arrival, over all captures */
	uint64_t place;		/* among the ops of its connection */
	uint32_t tuple, connection;	/* numbers of flows.h */
	uint32_t exact_hash;	/* of tuple and call_hash */
	uint16_t capture;	/* as in correlate.h */
	bool by_content;	/* can be found by its call alone */
	bool refused;		/* a counterpart agreed in all but its reply or its times */
	bool contested;		/* one that left might have been its counterpart */
	/* From here on the pool's; of a list next is the younger one. */
	struct waiting *next[LINKS], *prev[LINKS];
};

struct kept {
	struct waiting waiting;
	struct nfs_op op;
};

struct pool {
	struct slab slab;
	struct waiting *free;	/* by next[LINK_EXACT]: used again, newest first */
	struct waiting **heads[2];	/* LINK_EXACT, LINK_CONTENT */
	uint32_t mask;
	struct pool_list *ages;	/* index: capture */
	uint32_t count;
};

/* captures: how many ages are kept. */
void pool_init(struct pool *pool, unsigned captures);
void pool_clear(struct pool *pool);

/* Copies what waits; connected: the list of its connection. */
void pool_add(struct pool *pool, const struct waiting *waiting, struct pool_list *connected);
void pool_remove(struct pool *pool, struct waiting *waiting, struct pool_list *connected);
/* From now on it is found by its connection only. */
void pool_hide_content(struct pool *pool, struct waiting *waiting);

/* Of a connection's address tuple and call. */
static inline uint32_t
pool_exact_hash(uint32_t tuple, uint64_t call_hash)
{
	return (uint32_t)(call_hash >> 32) ^ tuple * UINT32_C(0x9e3779b1);
}

/* The newest in the bucket of that hash; others may share it. NULL: none. */
static inline struct waiting *
pool_first_exact(const struct pool *pool, uint32_t exact_hash)
{
	return pool->heads[LINK_EXACT][exact_hash & pool->mask];
}

/* The newest in the bucket of a call. */
struct waiting *pool_first_content(const struct pool *pool, uint64_t call_hash);

#endif
