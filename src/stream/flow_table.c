#include "stream/flow_table.h"

#include <glib.h>
#include <string.h>

enum { BLOCK_SHIFT = 5, BLOCK = 1 << BLOCK_SHIFT, FIRST_SLOTS = 64 };

struct flow_table *
flow_table_new(uint32_t limit)
{
	struct flow_table *flows = g_new0(struct flow_table, 1);

	flows->limit = MAX(limit, 2);
	flows->slots = g_new0(uint32_t, FIRST_SLOTS);
	flows->mask = FIRST_SLOTS - 1;
	flows->free_head = flows->newest = flows->oldest = FLOW_NONE;
	return flows;
}

void
flow_table_free(struct flow_table *flows)
{
	if (flows == NULL)
		return;
	for (uint32_t i = 0; i < flows->block_count; i++)
		g_free(flows->blocks[i]);
	g_free(flows->blocks);
	g_free(flows->slots);
	g_free(flows);
}

struct connection *
flow_table_at(const struct flow_table *flows, uint32_t index)
{
	return &flows->blocks[index >> BLOCK_SHIFT][index & (BLOCK - 1)];
}

uint32_t
flow_table_capacity(const struct flow_table *flows)
{
	return flows->made;
}

uint32_t
flow_table_index(const struct flow_table *flows, const struct connection *connection)
{
	uint32_t slot = (uint32_t)connection->hash & flows->mask;

	for (;; slot = (slot + 1) & flows->mask) {
		uint32_t held = flows->slots[slot];

		if (held == 0)
			return FLOW_NONE;
		if (flow_table_at(flows, held - 1) == connection)
			return held - 1;
	}
}

static void
lru_unlink(struct flow_table *flows, struct connection *connection)
{
	if (connection->lru_newer != FLOW_NONE)
		flow_table_at(flows, connection->lru_newer)->lru_older = connection->lru_older;
	else
		flows->newest = connection->lru_older;
	if (connection->lru_older != FLOW_NONE)
		flow_table_at(flows, connection->lru_older)->lru_newer = connection->lru_newer;
	else
		flows->oldest = connection->lru_newer;
}

static void
lru_push(struct flow_table *flows, struct connection *connection, uint32_t index)
{
	connection->lru_newer = FLOW_NONE;
	connection->lru_older = flows->newest;
	if (flows->newest != FLOW_NONE)
		flow_table_at(flows, flows->newest)->lru_newer = index;
	else
		flows->oldest = index;
	flows->newest = index;
}

static void
slot_insert(struct flow_table *flows, uint32_t index, uint64_t hash)
{
	uint32_t slot = (uint32_t)hash & flows->mask;

	while (flows->slots[slot] != 0)
		slot = (slot + 1) & flows->mask;
	flows->slots[slot] = index + 1;
}

static void
grow(struct flow_table *flows)
{
	uint32_t old_count = flows->mask + 1;
	uint32_t *old = flows->slots;

	flows->mask = old_count * 2 - 1;
	flows->slots = g_new0(uint32_t, old_count * 2);
	for (uint32_t i = 0; i < old_count; i++)
		if (old[i] != 0)
			slot_insert(flows, old[i] - 1, flow_table_at(flows, old[i] - 1)->hash);
	g_free(old);
}

static uint32_t
take_index(struct flow_table *flows)
{
	uint32_t index = flows->free_head;

	if (index != FLOW_NONE) {
		flows->free_head = flow_table_at(flows, index)->lru_newer;
		return index;
	}
	index = flows->made++;
	if (index >> BLOCK_SHIFT == flows->block_count) {
		flows->blocks = g_renew(struct connection *, flows->blocks, flows->block_count + 1);
		flows->blocks[flows->block_count++] = g_new0(struct connection, BLOCK);
	}
	return index;
}

static struct connection *
find(const struct flow_table *flows, const struct flow_key *key, uint64_t hash, uint32_t *index)
{
	uint32_t slot = (uint32_t)hash & flows->mask;

	for (; flows->slots[slot] != 0; slot = (slot + 1) & flows->mask) {
		struct connection *connection = flow_table_at(flows, flows->slots[slot] - 1);

		if (connection->hash == hash && flow_key_same(&connection->info.key, key)) {
			*index = flows->slots[slot] - 1;
			return connection;
		}
	}
	return NULL;
}

struct connection *
flow_table_find(const struct flow_table *flows, const struct flow_key *key, uint64_t hash)
{
	uint32_t index;

	return find(flows, key, hash, &index);
}

struct connection *
flow_table_look_up(struct flow_table *flows, const struct flow_key *key, uint64_t hash, bool *made,
    struct connection **evict)
{
	uint32_t index;
	struct connection *connection = find(flows, key, hash, &index);

	if (connection == NULL) {
		if (flows->used == flows->limit) {
			*evict = flow_table_at(flows, flows->oldest);
			return NULL;
		}
		if ((flows->used + 1) * 2 > flows->mask + 1)
			grow(flows);
		index = take_index(flows);
		connection = flow_table_at(flows, index);
		memset(connection, 0, sizeof *connection);
		connection->info.key = *key;
		connection->hash = hash;
		slot_insert(flows, index, hash);
		flows->used++;
		*made = true;
	} else {
		lru_unlink(flows, connection);
	}
	lru_push(flows, connection, index);
	flows->last = connection;
	return connection;
}

void
flow_table_remove(struct flow_table *flows, struct connection *connection)
{
	uint32_t slot = (uint32_t)connection->hash & flows->mask;
	uint32_t index, hole;

	while (flows->slots[slot] == 0 || flow_table_at(flows, flows->slots[slot] - 1) != connection)
		slot = (slot + 1) & flows->mask;
	index = flows->slots[slot] - 1;
	hole = slot;
	for (;;) {
		uint32_t home;

		slot = (slot + 1) & flows->mask;
		if (flows->slots[slot] == 0)
			break;
		home = (uint32_t)flow_table_at(flows, flows->slots[slot] - 1)->hash & flows->mask;
		if (((slot - home) & flows->mask) >= ((slot - hole) & flows->mask)) {
			flows->slots[hole] = flows->slots[slot];
			hole = slot;
		}
	}
	flows->slots[hole] = 0;
	lru_unlink(flows, connection);
	if (flows->last == connection)
		flows->last = NULL;
	memset(connection, 0, sizeof *connection);
	connection->phase = CONNECTION_FREE;
	connection->lru_newer = flows->free_head;
	flows->free_head = index;
	flows->used--;
}
