#include "rpc/outstanding.h"

#include <glib.h>
#include <string.h>

enum {
	FIRST_CALLS = 64,
	INDEX_BITS = 22,
	INDEX_MASK = (1 << INDEX_BITS) - 1,
	GENERATION_MASK = 0xff,
};

/* Chained buckets over a pool that grows to its limit; free calls are linked through sibling_next. */
struct outstanding {
	struct call *pool;
	uint32_t pool_size, made, limit;
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

	table->limit = CLAMP(limit, 2, INDEX_MASK);
	table->free_head = table->oldest = table->newest = CALL_NONE;
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
bucket_of(const struct outstanding *table, uint64_t serial, uint8_t direction, uint32_t xid)
{
	uint64_t hash = (serial << 33 | (uint64_t)direction << 32 | xid) * UINT64_C(0x9e3779b97f4a7c15);

	return &table->buckets[(uint32_t)(hash >> 32) & table->mask];
}

static uint32_t
index_of(const struct outstanding *table, const struct call *call)
{
	return (uint32_t)(call - table->pool);
}

struct call *
outstanding_find(const struct outstanding *table, uint64_t serial, uint8_t direction, uint32_t xid)
{
	uint32_t at = *bucket_of(table, serial, direction, xid);

	while (at != CALL_NONE) {
		struct call *call = &table->pool[at];

		if (call->op.xid == xid && call->serial == serial && call->direction == direction)
			return call;
		at = call->bucket_next;
	}
	return NULL;
}

static void
link_bucket(struct outstanding *table, struct call *call)
{
	uint32_t *bucket = bucket_of(table, call->serial, call->direction, call->op.xid);

	call->bucket_next = *bucket;
	*bucket = index_of(table, call);
}

static void
grow(struct outstanding *table)
{
	uint32_t size = table->pool_size == 0 ? FIRST_CALLS : table->pool_size * 2;

	size = MIN(size, table->limit);
	table->pool = g_renew(struct call, table->pool, size);
	memset(table->pool + table->pool_size, 0, (size - table->pool_size) * sizeof *table->pool);
	table->pool_size = size;
	while (table->mask + 1 < size)
		table->mask = table->mask * 2 + 1;
	table->buckets = g_renew(uint32_t, table->buckets, table->mask + 1);
	clear_buckets(table);
	for (uint32_t i = 0; i < table->made; i++)
		if (table->pool[i].used)
			link_bucket(table, &table->pool[i]);
}

struct call *
outstanding_overflow(const struct outstanding *table)
{
	if (table->free_head != CALL_NONE || table->made < table->limit)
		return NULL;
	return &table->pool[table->oldest];
}

struct call *
outstanding_add(struct outstanding *table, const struct nfs_op *op, uint64_t serial, uint8_t direction,
    uint32_t *first)
{
	uint32_t index = table->free_head;
	struct call *call;

	if (index != CALL_NONE) {
		table->free_head = table->pool[index].sibling_next;
	} else {
		if (table->made == table->pool_size)
			grow(table);
		index = table->made++;
	}
	call = &table->pool[index];
	/* Member by member: as a whole it would be made on the stack first, and is large. */
	call->op = *op;
	call->peer = NULL;
	call->serial = serial;
	call->args_off = 0;
	call->direction = direction;
	call->call_over = call->reply_over = call->waits_unknown = call->unproven = call->foreign = false;
	call->protection = 0;
	call->used = true;
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
	link_bucket(table, call);
	return call;
}

static void
unlink_bucket(struct outstanding *table, const struct call *call)
{
	uint32_t *at = bucket_of(table, call->serial, call->direction, call->op.xid);

	while (*at != index_of(table, call))
		at = &table->pool[*at].bucket_next;
	*at = call->bucket_next;
}

void
outstanding_remove(struct outstanding *table, struct call *call)
{
	unlink_bucket(table, call);
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
	call->used = false;
	call->generation++;
	call->sibling_next = table->free_head;
	table->free_head = index_of(table, call);
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

uint32_t
outstanding_token(const struct outstanding *table, const struct call *call)
{
	return (index_of(table, call) + 1) | (call->generation & GENERATION_MASK) << INDEX_BITS;
}

struct call *
outstanding_of(const struct outstanding *table, uint32_t token)
{
	uint32_t index = (token & INDEX_MASK) - 1;
	struct call *call;

	if (token == 0 || index >= table->made)
		return NULL;
	call = &table->pool[index];
	return call->used && (call->generation & GENERATION_MASK) == (token >> INDEX_BITS & GENERATION_MASK) ?
	    call : NULL;
}
