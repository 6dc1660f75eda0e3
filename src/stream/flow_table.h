/*
 * The flow table: connections by key, capped, the least recently used evicted.
 */
#ifndef STREAM_FLOW_TABLE_H
#define STREAM_FLOW_TABLE_H

#include "stream/connection.h"

enum { FLOW_NONE = UINT32_MAX };

/*
 * Connections live in blocks that never move; the table holds their indexes
 * plus one, linear probing, at most half full, deletion by shifting back.
 */
struct flow_table {
	struct connection *last;	/* of the previous segment: most come in runs */
	uint32_t limit;
	uint32_t used;			/* connections in the table */
	uint32_t made;			/* indexes ever given out */
	uint32_t free_head;		/* list through lru_newer */
	uint32_t newest, oldest;
	uint32_t *slots;
	uint32_t mask;
	struct connection **blocks;
	uint32_t block_count;
};

struct flow_table *flow_table_new(uint32_t limit);
void flow_table_free(struct flow_table *flows);
/* Whether it is the connection of a key; NULL is none. */
static inline bool
flow_table_is(const struct connection *connection, const struct flow_key *key, uint64_t hash)
{
	return connection != NULL && connection->hash == hash && flow_key_same(&connection->info.key, key);
}

struct connection *flow_table_look_up(struct flow_table *flows, const struct flow_key *key, uint64_t hash,
    bool *made, struct connection **evict);
/*
 * The connection of a key. *made tells whether it is new (zeroed but for key
 * and hash). When the table is full, *evict is set to the least recently used
 * one instead and NULL returned: the caller closes it, calls flow_table_remove and
 * asks again. Pointers stay valid until flow_table_remove.
 */
static inline struct connection *
flow_table_get(struct flow_table *flows, const struct flow_key *key, uint64_t hash, bool *made,
    struct connection **evict)
{
	*made = false;
	if (flow_table_is(flows->last, key, hash))
		return flows->last;
	return flow_table_look_up(flows, key, hash, made, evict);
}

/* NULL if there is none; it does not count as used. */
struct connection *flow_table_find(const struct flow_table *flows, const struct flow_key *key, uint64_t hash);
void flow_table_remove(struct flow_table *flows, struct connection *connection);
/* Small stable numbers for lists. */
uint32_t flow_table_index(const struct flow_table *flows, const struct connection *connection);
struct connection *flow_table_at(const struct flow_table *flows, uint32_t index);
/* Indexes run from 0 to below this; unused ones have phase CONNECTION_FREE. */
uint32_t flow_table_capacity(const struct flow_table *flows);

#endif
