/*
 * The flow table: connections by key, capped, the least recently used evicted.
 */
#ifndef STREAM_FLOW_TABLE_H
#define STREAM_FLOW_TABLE_H

#include "stream/connection.h"

enum { FLOW_NONE = UINT32_MAX };

struct flow_table;

struct flow_table *flow_table_new(uint32_t limit);
void flow_table_free(struct flow_table *flows);
/*
 * The connection of a key. *made tells whether it is new (zeroed but for key
 * and hash). When the table is full, *evict is set to the least recently used
 * one instead and NULL returned: the caller closes it, calls flow_table_remove and
 * asks again. Pointers stay valid until flow_table_remove.
 */
struct connection *flow_table_get(struct flow_table *flows, const struct flow_key *key, uint64_t hash,
    bool *made, struct connection **evict);
/* NULL if there is none; it does not count as used. */
struct connection *flow_table_find(const struct flow_table *flows, const struct flow_key *key, uint64_t hash);
void flow_table_remove(struct flow_table *flows, struct connection *connection);
/* Small stable numbers for lists. */
uint32_t flow_table_index(const struct flow_table *flows, const struct connection *connection);
struct connection *flow_table_at(const struct flow_table *flows, uint32_t index);
/* Indexes run from 0 to below this; unused ones have phase CONNECTION_FREE. */
uint32_t flow_table_capacity(const struct flow_table *flows);

#endif
