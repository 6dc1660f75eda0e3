#include "capture/reorder.h"

#include <glib.h>
#include <string.h>

enum {
	CACHE_LINE = 64,
	AHEAD = 2,			/* packets that are fetched in front of their turn */
	SLOTS = REORDER_PACKETS + 3,	/* those that wait, the one that came, the room for the next, the one that is lent out */
	RING = 256,			/* places; positions are of 8 bits and wrap by themselves */
};

struct slot {
	struct packet packet;
	uint8_t *copy;			/* of its bytes, when they went before its turn came */
	uint32_t room;			/* bytes at copy */
	bool stepped;
};

/*
 * The slots that wait are in a ring by stamp, equal stamps in the order of the
 * file. Behind it are the others, the room first: every slot is always in the
 * ring once.
 */
struct reorder {
	struct slot slot[SLOTS];
	uint8_t order[RING];		/* slots */
	uint8_t head, tail;		/* positions of the oldest that waits, and behind the newest */
	uint8_t passing;		/* of those that wait, in front of a step of the clock: they go first */
	uint8_t end;			/* position behind the slots that do not wait */
	bool lent;			/* the slot in front of head */
	bool popped;			/* any so far, the last one stamped: */
	int64_t popped_ns;
};

G_STATIC_ASSERT(SLOTS < RING);

struct reorder *
reorder_new(void)
{
	struct reorder *reorder = g_new0(struct reorder, 1);

	for (unsigned i = 0; i < SLOTS; i++)
		reorder->order[i] = (uint8_t)i;
	reorder->end = SLOTS;
	return reorder;
}

void
reorder_free(struct reorder *reorder)
{
	if (reorder == NULL)
		return;
	for (unsigned i = 0; i < SLOTS; i++)
		g_free(reorder->slot[i].copy);
	g_free(reorder);
}

static struct slot *
slot_at(struct reorder *reorder, uint8_t position)
{
	return &reorder->slot[reorder->order[position]];
}

static unsigned
waiting(const struct reorder *reorder)
{
	return (uint8_t)(reorder->tail - reorder->head);
}

/* The newest slot goes to where its packet belongs; those behind that make room. */
static void
sort_in(struct reorder *reorder)
{
	uint8_t at = (uint8_t)(reorder->tail - 1), index = reorder->order[at];
	int64_t ts_ns = reorder->slot[index].packet.ts_ns;

	/* nothing goes in front of a step */
	for (unsigned left = waiting(reorder) - 1; left > reorder->passing; left--) {
		uint8_t before = (uint8_t)(at - 1);

		if (slot_at(reorder, before)->packet.ts_ns <= ts_ns)
			break;
		reorder->order[at] = reorder->order[before];
		at = before;
	}
	reorder->order[at] = index;
}

struct packet *
reorder_room(struct reorder *reorder)
{
	return &slot_at(reorder, reorder->tail)->packet;
}

void
reorder_push(struct reorder *reorder)
{
	struct slot *slot = slot_at(reorder, reorder->tail);
	unsigned count = waiting(reorder);
	int64_t newest_ns;

	slot->stepped = false;
	reorder->tail++;
	if (count == 0) {
		/* all were drained while nothing came */
		slot->stepped = reorder->popped && slot->packet.ts_ns < reorder->popped_ns - REORDER_NS;
		return;
	}
	newest_ns = slot_at(reorder, (uint8_t)(reorder->tail - 2))->packet.ts_ns;
	if (reorder->passing == 0 && slot->packet.ts_ns >= newest_ns)
		return;
	if (reorder->passing == 0 && slot->packet.ts_ns < newest_ns - REORDER_NS)
		reorder->passing = (uint8_t)count;
	slot->stepped = reorder->passing > 0 && reorder->passing == count;
	if (slot->packet.ts_ns < newest_ns)
		sort_in(reorder);
}

/* A packet's headers into the cache. */
static inline __attribute__((always_inline)) void
fetch(const uint8_t *data)
{
	__builtin_prefetch(data);
	__builtin_prefetch((const void *)((uintptr_t)data + CACHE_LINE));
}

const struct packet *
reorder_pop(struct reorder *reorder, bool drain, bool *stepped)
{
	unsigned count = waiting(reorder);
	const struct slot *slot;

	if (reorder->lent) {
		reorder->order[reorder->end++] = reorder->order[(uint8_t)(reorder->head - 1)];
		reorder->lent = false;
	}
	if (count == 0)
		return NULL;
	slot = slot_at(reorder, reorder->head);
	if (!drain && reorder->passing == 0 && count <= REORDER_PACKETS &&
	    slot_at(reorder, (uint8_t)(reorder->tail - 1))->packet.ts_ns - slot->packet.ts_ns <= REORDER_NS)
		return NULL;
	if (count > AHEAD)
		fetch(slot_at(reorder, (uint8_t)(reorder->head + AHEAD))->packet.data);
	reorder->head++;
	reorder->lent = true;
	if (reorder->passing > 0)
		reorder->passing--;
	reorder->popped = true;
	reorder->popped_ns = slot->packet.ts_ns;
	*stepped = slot->stepped;
	return &slot->packet;
}

bool
reorder_oldest_ns(const struct reorder *reorder, int64_t *ts_ns)
{
	if (waiting(reorder) == 0)
		return false;
	*ts_ns = reorder->slot[reorder->order[reorder->head]].packet.ts_ns;
	return true;
}

static void
keep(struct slot *slot)
{
	struct packet *packet = &slot->packet;

	if (packet->cap_len > slot->room) {
		slot->room = MAX(2 * slot->room, packet->cap_len);
		g_free(slot->copy);
		slot->copy = g_malloc(slot->room);
	}
	memcpy(slot->copy, packet->data, packet->cap_len);
	packet->data = slot->copy;
}

void
reorder_copy(struct reorder *reorder, const struct packet *packet)
{
	struct slot *slot = slot_at(reorder, reorder->tail);

	slot->packet = *packet;
	keep(slot);
	reorder_push(reorder);
}

void
reorder_gone(void *context, const uint8_t *from, const uint8_t *to)
{
	struct reorder *reorder = context;

	for (uint8_t at = reorder->head; at != reorder->tail; at++) {
		struct slot *slot = slot_at(reorder, at);
		const uint8_t *data = slot->packet.data;

		if (slot->packet.cap_len > 0 && (uintptr_t)data < (uintptr_t)to &&
		    (uintptr_t)data + slot->packet.cap_len > (uintptr_t)from)
			keep(slot);
	}
}
