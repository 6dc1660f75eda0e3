#include "correlate/pool.h"

#include <glib.h>

enum { FIRST_INDEX = 1 << 10, LARGEST_INDEX = 1 << 22 };

void
pool_init(struct pool *pool, unsigned captures)
{
	*pool = (struct pool){ .mask = FIRST_INDEX - 1 };
	slab_init(&pool->slab, sizeof(struct kept));
	for (unsigned i = 0; i < 2; i++)
		pool->heads[i] = g_new0(uint32_t, FIRST_INDEX);
	pool->ages = g_new0(struct pool_list, captures);
}

void
pool_clear(struct pool *pool)
{
	for (unsigned i = 0; i < 2; i++)
		g_free(pool->heads[i]);
	g_free(pool->ages);
	slab_clear(&pool->slab);
}

static uint32_t *
content_head(const struct pool *pool, uint64_t call_hash)
{
	return &pool->heads[LINK_CONTENT][call_hash & pool->mask];
}

static void
push_front(struct pool *pool, enum pool_link link, uint32_t *head, struct waiting *waiting, uint32_t id)
{
	waiting->prev[link] = SLAB_NONE;
	waiting->next[link] = *head;
	if (*head != SLAB_NONE)
		pool_at(pool, *head)->prev[link] = id;
	*head = id;
}

/* Moves a bucket's ops, oldest first, so that the new ones have the newest in front as well. */
static void
redistribute(struct pool *pool, enum pool_link link, uint32_t id)
{
	while (id != SLAB_NONE && pool_at(pool, id)->next[link] != SLAB_NONE)
		id = pool_at(pool, id)->next[link];
	while (id != SLAB_NONE) {
		struct waiting *waiting = pool_at(pool, id);
		uint32_t *head = link == LINK_EXACT ? pool_exact_head(pool, waiting->tuple, waiting->call_hash) :
		    content_head(pool, waiting->call_hash);
		uint32_t newer = waiting->prev[link];

		push_front(pool, link, head, waiting, id);
		id = newer;
	}
}

/*
 * The index is at least half empty, so that most ops are alone in their bucket,
 * and no larger than that takes: it is looked up at random, and few ops wait as a rule.
 */
static void
grow(struct pool *pool)
{
	uint32_t size = pool->mask + 1;

	pool->mask = 4 * size - 1;
	for (unsigned link = 0; link < 2; link++) {
		uint32_t *old = pool->heads[link];

		pool->heads[link] = g_new0(uint32_t, pool->mask + 1);
		for (uint32_t i = 0; i < size; i++)
			redistribute(pool, link, old[i]);
		g_free(old);
	}
}

static void
drop(struct pool *pool, enum pool_link link, uint32_t *head, const struct waiting *waiting)
{
	uint32_t next = waiting->next[link], prev = waiting->prev[link];

	if (prev == SLAB_NONE)
		*head = next;
	else
		pool_at(pool, prev)->next[link] = next;
	if (next != SLAB_NONE)
		pool_at(pool, next)->prev[link] = prev;
}

static void
append(struct pool *pool, enum pool_link link, struct pool_list *list, struct waiting *waiting, uint32_t id)
{
	waiting->next[link] = SLAB_NONE;
	waiting->prev[link] = list->newest;
	if (list->newest != SLAB_NONE)
		pool_at(pool, list->newest)->next[link] = id;
	else
		list->oldest = id;
	list->newest = id;
	list->count++;
}

static void
take_out(struct pool *pool, enum pool_link link, struct pool_list *list, const struct waiting *waiting, uint32_t id)
{
	if (list->newest == id)
		list->newest = waiting->prev[link];
	drop(pool, link, &list->oldest, waiting);
	list->count--;
}

uint32_t
pool_add(struct pool *pool, const struct waiting *waiting, struct pool_list *connected)
{
	uint32_t id = slab_take(&pool->slab);
	struct kept *kept = slab_record(&pool->slab, sizeof *kept, id);
	struct waiting *own = &kept->waiting;

	if (pool->count++ > pool->mask / 2 && pool->mask < LARGEST_INDEX - 1)
		grow(pool);
	*own = *waiting;
	op_copy(&kept->op, waiting->op);
	own->op = &kept->op;
	push_front(pool, LINK_EXACT, pool_exact_head(pool, own->tuple, own->call_hash), own, id);
	if (own->by_content)
		push_front(pool, LINK_CONTENT, content_head(pool, own->call_hash), own, id);
	append(pool, LINK_AGE, &pool->ages[own->capture], own, id);
	append(pool, LINK_CONNECTION, connected, own, id);
	return id;
}

void
pool_hide_content(struct pool *pool, uint32_t id)
{
	struct waiting *waiting = pool_at(pool, id);

	if (!waiting->by_content)
		return;
	waiting->by_content = false;
	drop(pool, LINK_CONTENT, content_head(pool, waiting->call_hash), waiting);
}

void
pool_remove(struct pool *pool, uint32_t id, struct pool_list *connected)
{
	const struct waiting *waiting = pool_at(pool, id);

	drop(pool, LINK_EXACT, pool_exact_head(pool, waiting->tuple, waiting->call_hash), waiting);
	if (waiting->by_content)
		pool_hide_content(pool, id);
	take_out(pool, LINK_AGE, &pool->ages[waiting->capture], waiting, id);
	take_out(pool, LINK_CONNECTION, connected, waiting, id);
	slab_give_back(&pool->slab, id);
	pool->count--;
}

uint32_t
pool_first_content(const struct pool *pool, uint64_t call_hash)
{
	return *content_head(pool, call_hash);
}
