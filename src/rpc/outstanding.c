#include "rpc/outstanding.h"

#include <glib.h>
#include <string.h>

enum {
	FIRST_CALLS = 64,
	/* A token: the place in the pool, from 1, and above it how often the place was used. */
	INDEX_BITS = 22,
	INDEX_MASK = (1 << INDEX_BITS) - 1,
	TOKEN_MASK = (1 << 30) - 1,
};

/* Chained buckets over a pool that grows to its limit; free calls are linked through sibling_next. */
struct outstanding {
	struct call *pool;
	uint32_t pool_size, made, limit;	/* limit: of the pool, one more than of calls in the table */
	uint32_t spare;				/* CALL_NONE: there is none at the moment */
	uint32_t free_head;
	uint32_t oldest, newest;
	uint32_t *buckets;
	uint32_t mask;
};

static void
clear_buckets(struct outstanding *table)
{
	memset(table->buckets, 0xff, (table->mask + 1) * sizeof *table->buckets);
}

struct outstanding *
outstanding_new(uint32_t limit)
{
	struct outstanding *table = g_new0(struct outstanding, 1);

	table->limit = CLAMP(limit, 2, INDEX_MASK - 1) + 1;
	table->spare = table->free_head = table->oldest = table->newest = CALL_NONE;
	table->mask = FIRST_CALLS - 1;
	table->buckets = g_new(uint32_t, FIRST_CALLS);
	clear_buckets(table);
	return table;
}

void
outstanding_free(struct outstanding *table)
{
	if (table == NULL)
		return;
	g_free(table->pool);
	g_free(table->buckets);
	g_free(table);
}

static uint32_t *
bucket_of(const struct outstanding *table, uint32_t hash)
{
	return &table->buckets[hash & table->mask];
}

static uint32_t
index_of(const struct call *call)
{
	return (call->token & INDEX_MASK) - 1;
}

struct call *
outstanding_find(const struct outstanding *table, uint32_t hash, uint64_t connection, uint8_t direction, uint32_t xid)
{
	uint32_t at = *bucket_of(table, hash);

	while (at != CALL_NONE) {
		struct call *call = &table->pool[at];

		if (call->op.xid == xid && call->op.connection == connection && call->op.call_direction == direction)
			return call;
		at = call->bucket_next;
	}
	return NULL;
}

static void
link_bucket(struct outstanding *table, struct call *call, uint32_t index)
{
	uint32_t *bucket = bucket_of(table, call->hash);

	call->bucket_next = *bucket;
	*bucket = index;
}

static void
grow(struct outstanding *table)
{
	uint32_t size = table->pool_size == 0 ? FIRST_CALLS : table->pool_size * 2;

	size = MIN(size, table->limit);
	table->pool = g_renew(struct call, table->pool, size);
	table->pool_size = size;
	while (table->mask + 1 < size)
		table->mask = table->mask * 2 + 1;
	table->buckets = g_renew(uint32_t, table->buckets, table->mask + 1);
	clear_buckets(table);
	for (uint32_t at = table->oldest; at != CALL_NONE; at = table->pool[at].newer)
		link_bucket(table, &table->pool[at], at);
}

struct call *
outstanding_overflow(const struct outstanding *table)
{
	if (table->free_head != CALL_NONE || table->made < table->limit)
		return NULL;
	return &table->pool[table->oldest];
}

static uint32_t
take_free(struct outstanding *table)
{
	uint32_t index = table->free_head;

	if (index != CALL_NONE) {
		table->free_head = table->pool[index].sibling_next;
		return index;
	}
	if (table->made == table->pool_size)
		grow(table);
	index = table->made++;
	table->pool[index].token = index + 1;
	return index;
}

struct call *
outstanding_spare(struct outstanding *table)
{
	struct call *call;

	if (table->spare == CALL_NONE)
		table->spare = take_free(table);
	call = &table->pool[table->spare];
	op_clear(&call->op);
	memset((uint8_t *)call + sizeof call->op, 0, offsetof(struct call, token) - sizeof call->op);
	return call;
}

void
outstanding_add(struct outstanding *table, struct call *call, uint32_t hash, uint32_t *first)
{
	uint32_t index = table->spare;

	table->spare = CALL_NONE;
	call->hash = hash;
	call->older = table->newest;
	call->newer = CALL_NONE;
	call->first = first;
	call->sibling_prev = CALL_NONE;
	call->sibling_next = *first;
	if (table->newest != CALL_NONE)
		table->pool[table->newest].newer = index;
	else
		table->oldest = index;
	table->newest = index;
	if (*first != CALL_NONE)
		table->pool[*first].sibling_prev = index;
	*first = index;
	link_bucket(table, call, index);
}

static void
unlink_bucket(struct outstanding *table, const struct call *call, uint32_t index)
{
	uint32_t *at = bucket_of(table, call->hash);

	while (*at != index)
		at = &table->pool[*at].bucket_next;
	*at = call->bucket_next;
}

void
outstanding_remove(struct outstanding *table, struct call *call)
{
	uint32_t index = index_of(call);

	unlink_bucket(table, call, index);
	if (call->older != CALL_NONE)
		table->pool[call->older].newer = call->newer;
	else
		table->oldest = call->newer;
	if (call->newer != CALL_NONE)
		table->pool[call->newer].older = call->older;
	else
		table->newest = call->older;
	if (call->sibling_prev != CALL_NONE)
		table->pool[call->sibling_prev].sibling_next = call->sibling_next;
	else
		*call->first = call->sibling_next;
	if (call->sibling_next != CALL_NONE)
		table->pool[call->sibling_next].sibling_prev = call->sibling_prev;
	call->token = (call->token + INDEX_MASK + 1) & TOKEN_MASK;
	call->sibling_next = table->free_head;
	table->free_head = index;
}

struct call *
outstanding_first_of(const struct outstanding *table, uint32_t first)
{
	if (first == CALL_NONE)
		return NULL;
	while (table->pool[first].sibling_next != CALL_NONE)
		first = table->pool[first].sibling_next;
	return &table->pool[first];
}

const struct call *
outstanding_oldest(const struct outstanding *table)
{
	return table->oldest == CALL_NONE ? NULL : &table->pool[table->oldest];
}

const struct call *
outstanding_newer(const struct outstanding *table, const struct call *call)
{
	return call->newer == CALL_NONE ? NULL : &table->pool[call->newer];
}

struct call *
outstanding_next_of(const struct outstanding *table, const struct call *call)
{
	return call->sibling_prev != CALL_NONE ? &table->pool[call->sibling_prev] : NULL;
}

struct call *
outstanding_of(const struct outstanding *table, uint32_t token)
{
	uint32_t index = (token & INDEX_MASK) - 1;

	return index < table->made && table->pool[index].token == token ? &table->pool[index] : NULL;
}
