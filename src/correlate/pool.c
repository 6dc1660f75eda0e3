#include "correlate/pool.h"

#include <glib.h>
#include <string.h>

enum { FIRST_INDEX = 1 << 10, LARGEST_INDEX = 1 << 22 };

void
pool_init(struct pool *pool, unsigned captures)
{
	*pool = (struct pool){ .mask = FIRST_INDEX - 1 };
	slab_init(&pool->slab, sizeof(struct kept));
	for (unsigned i = 0; i < 2; i++)
		pool->heads[i] = g_new0(struct waiting *, FIRST_INDEX);
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

static struct waiting **
exact_head(const struct pool *pool, const struct waiting *waiting)
{
	return &pool->heads[LINK_EXACT][waiting->exact_hash & pool->mask];
}

static struct waiting **
content_head(const struct pool *pool, uint64_t call_hash)
{
	return &pool->heads[LINK_CONTENT][call_hash & pool->mask];
}

static inline void
push_front(enum pool_link link, struct waiting **head, struct waiting *waiting)
{
	waiting->prev[link] = NULL;
	waiting->next[link] = *head;
	if (*head != NULL)
		(*head)->prev[link] = waiting;
	*head = waiting;
}

/* Moves a bucket's ops, oldest first, so that the new ones have the newest in front as well. */
static void
redistribute(struct pool *pool, enum pool_link link, struct waiting *waiting)
{
	while (waiting != NULL && waiting->next[link] != NULL)
		waiting = waiting->next[link];
	while (waiting != NULL) {
		struct waiting *newer = waiting->prev[link];

		push_front(link, link == LINK_EXACT ? exact_head(pool, waiting) :
		    content_head(pool, waiting->call_hash), waiting);
		waiting = newer;
	}
}

/*
 * The index is at least half empty, so that most ops are alone in their bucket,
 * and no larger than that takes: it is looked up at random, and few ops wait as a rule.
 */
static G_GNUC_NO_INLINE void
grow(struct pool *pool)
{
	uint32_t size = pool->mask + 1;

	pool->mask = 4 * size - 1;
	for (unsigned link = 0; link < 2; link++) {
		struct waiting **old = pool->heads[link];

		pool->heads[link] = g_new0(struct waiting *, pool->mask + 1);
		for (uint32_t i = 0; i < size; i++)
			redistribute(pool, link, old[i]);
		g_free(old);
	}
}

static inline void
drop(enum pool_link link, struct waiting **head, const struct waiting *waiting)
{
	struct waiting *next = waiting->next[link], *prev = waiting->prev[link];

	if (prev == NULL)
		*head = next;
	else
		prev->next[link] = next;
	if (next != NULL)
		next->prev[link] = prev;
}

static inline void
append(enum pool_link link, struct pool_list *list, struct waiting *waiting)
{
	waiting->next[link] = NULL;
	waiting->prev[link] = list->newest;
	if (list->newest != NULL)
		list->newest->next[link] = waiting;
	else
		list->oldest = waiting;
	list->newest = waiting;
	list->count++;
}

static inline void
take_out(enum pool_link link, struct pool_list *list, const struct waiting *waiting)
{
	if (list->newest == waiting)
		list->newest = waiting->prev[link];
	drop(link, &list->oldest, waiting);
	list->count--;
}

static struct kept *
take_kept(struct pool *pool)
{
	struct waiting *free = pool->free;

	if (free == NULL)
		return slab_record(&pool->slab, sizeof(struct kept), slab_take(&pool->slab));
	pool->free = free->next[LINK_EXACT];
	return (struct kept *)free;
}

void
pool_add(struct pool *pool, const struct waiting *waiting, struct pool_list *connected)
{
	struct kept *kept = take_kept(pool);
	struct waiting *own = &kept->waiting;

	if (pool->count++ > pool->mask / 2 && pool->mask < LARGEST_INDEX - 1)
		grow(pool);
	memcpy(own, waiting, offsetof(struct waiting, next));
	op_copy(&kept->op, waiting->op);
	own->op = &kept->op;
	push_front(LINK_EXACT, exact_head(pool, own), own);
	if (own->by_content)
		push_front(LINK_CONTENT, content_head(pool, own->call_hash), own);
	append(LINK_AGE, &pool->ages[own->capture], own);
	append(LINK_CONNECTION, connected, own);
}

void
pool_hide_content(struct pool *pool, struct waiting *waiting)
{
	if (!waiting->by_content)
		return;
	waiting->by_content = false;
	drop(LINK_CONTENT, content_head(pool, waiting->call_hash), waiting);
}

void
pool_remove(struct pool *pool, struct waiting *waiting, struct pool_list *connected)
{
	drop(LINK_EXACT, exact_head(pool, waiting), waiting);
	pool_hide_content(pool, waiting);
	take_out(LINK_AGE, &pool->ages[waiting->capture], waiting);
	take_out(LINK_CONNECTION, connected, waiting);
	waiting->next[LINK_EXACT] = pool->free;
	pool->free = waiting;
	pool->count--;
}

struct waiting *
pool_first_content(const struct pool *pool, uint64_t call_hash)
{
	return *content_head(pool, call_hash);
}
