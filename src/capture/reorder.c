#include "capture/reorder.h"

#include <glib.h>
#include <string.h>

enum {
	SLOTS = REORDER_PACKETS + 1,	/* those that wait, and the one that came */
	CACHE_LINE = 64,
	AHEAD = 2,			/* packets that are fetched in front of their turn */
	RING = 256,			/* places; positions are of 8 bits and wrap by themselves */
};

struct slot {
	struct packet packet;
	uint8_t *copy;			/* of its bytes, when they went before its turn came */
	uint32_t room;			/* bytes at copy */
	bool stepped;
};

/* Those that wait are in a ring by stamp, equal stamps in the order of the file; the rest are a stack. */
struct reorder {
	struct slot slot[SLOTS + 1];	/* one more: the one that is lent out */
	uint8_t order[RING];		/* slots */
	uint8_t head, tail;		/* positions of the oldest, and behind the newest */
	uint8_t unused[SLOTS + 1];
	unsigned unused_count;
	unsigned passing;		/* of those that wait, in front of a step of the clock: they go first */
	int lent;			/* slot, -1: none */
};

G_STATIC_ASSERT(SLOTS + 1 < RING);

struct reorder *
reorder_new(void)
{
	struct reorder *reorder = g_new0(struct reorder, 1);

	for (unsigned i = 0; i <= SLOTS; i++)
		reorder->unused[i] = (uint8_t)i;
	reorder->unused_count = SLOTS + 1;
	reorder->lent = -1;
	return reorder;
}

void
reorder_free(struct reorder *reorder)
{
	if (reorder == NULL)
		return;
	for (unsigned i = 0; i <= SLOTS; i++)
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

/* Where a packet belongs that is not the newest; those behind it make room. */
static uint8_t
make_room(struct reorder *reorder, int64_t ts_ns)
{
	uint8_t at = reorder->tail;

	/* nothing goes in front of a step */
	for (unsigned left = waiting(reorder); left > reorder->passing; left--) {
		uint8_t before = (uint8_t)(at - 1);

		if (slot_at(reorder, before)->packet.ts_ns <= ts_ns)
			break;
		reorder->order[at] = reorder->order[before];
		at = before;
	}
	return at;
}

void
reorder_push(struct reorder *reorder, const struct packet *packet)
{
	uint8_t index = reorder->unused[--reorder->unused_count];
	struct slot *slot = &reorder->slot[index];
	unsigned count = waiting(reorder);
	uint8_t at = reorder->tail;

	slot->packet = *packet;
	slot->stepped = false;
	if (count > 0) {
		int64_t newest_ns = slot_at(reorder, (uint8_t)(at - 1))->packet.ts_ns;

		if (reorder->passing == 0 && packet->ts_ns < newest_ns - REORDER_NS)
			reorder->passing = count;
		slot->stepped = reorder->passing > 0 && reorder->passing == count;
		if (packet->ts_ns < newest_ns)
			at = make_room(reorder, packet->ts_ns);
	}
	reorder->order[at] = index;
	reorder->tail++;
}

/* A packet's headers into the cache. */
static void
fetch(const uint8_t *data)
{
	__builtin_prefetch(data);
	__builtin_prefetch((const void *)((uintptr_t)data + CACHE_LINE));
}

bool
reorder_pop(struct reorder *reorder, bool drain, struct packet *packet, bool *stepped)
{
	unsigned count = waiting(reorder);
	const struct slot *slot;

	if (reorder->lent >= 0) {
		reorder->unused[reorder->unused_count++] = (uint8_t)reorder->lent;
		reorder->lent = -1;
	}
	if (count == 0)
		return false;
	slot = slot_at(reorder, reorder->head);
	if (!drain && reorder->passing == 0 && count <= REORDER_PACKETS &&
	    slot_at(reorder, (uint8_t)(reorder->tail - 1))->packet.ts_ns - slot->packet.ts_ns <= REORDER_NS)
		return false;
	reorder->lent = reorder->order[reorder->head++];
	if (reorder->passing > 0)
		reorder->passing--;
	*packet = slot->packet;
	*stepped = slot->stepped;
	if (count > AHEAD)
		fetch(slot_at(reorder, (uint8_t)(reorder->head + AHEAD - 1))->packet.data);
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
