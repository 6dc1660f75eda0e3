#include "capture/reorder.h"

#include <glib.h>
#include <string.h>

enum {
	SLOTS = REORDER_PACKETS + 2,	/* those that wait, the one that came, the one that is lent out */
	NONE = UINT8_MAX,
};

struct slot {
	struct packet packet;	/* data: copy */
	uint8_t *copy;
	uint32_t room;
	uint8_t older, newer;	/* by stamp; equal stamps in the order of the file */
	bool stepped;
};

/* Slots in two lists: those that wait, by stamp, and those that are free. */
struct reorder {
	struct slot slot[SLOTS];
	uint8_t oldest, newest, free_head, lent;
	unsigned waiting;
	unsigned passing;	/* of them, in front of a step of the clock: they go first */
};

struct reorder *
reorder_new(void)
{
	struct reorder *reorder = g_new0(struct reorder, 1);

	reorder->oldest = reorder->newest = reorder->lent = NONE;
	for (unsigned i = 0; i < SLOTS; i++)
		reorder->slot[i].newer = i + 1 < SLOTS ? (uint8_t)(i + 1) : NONE;
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

static void
copy_packet(struct slot *slot, const struct packet *packet)
{
	if (packet->cap_len > slot->room) {
		slot->room = MAX(2 * slot->room, packet->cap_len);
		g_free(slot->copy);
		slot->copy = g_malloc(slot->room);
	}
	slot->packet = *packet;
	slot->packet.data = slot->copy;
	if (packet->cap_len > 0)
		memcpy(slot->copy, packet->data, packet->cap_len);
}

void
reorder_push(struct reorder *reorder, const struct packet *packet)
{
	uint8_t index = reorder->free_head;
	struct slot *slot = &reorder->slot[index];
	uint8_t behind = reorder->newest;

	if (behind != NONE && reorder->passing == 0 &&
	    packet->ts_ns < reorder->slot[behind].packet.ts_ns - REORDER_NS)
		reorder->passing = reorder->waiting;
	reorder->free_head = slot->newer;
	copy_packet(slot, packet);
	/* nothing goes in front of a step */
	for (unsigned left = reorder->waiting; left > reorder->passing; left--) {
		if (reorder->slot[behind].packet.ts_ns <= packet->ts_ns)
			break;
		behind = reorder->slot[behind].older;
	}
	slot->stepped = reorder->passing > 0 && reorder->waiting == reorder->passing;
	slot->older = behind;
	slot->newer = behind != NONE ? reorder->slot[behind].newer : reorder->oldest;
	if (slot->older != NONE)
		reorder->slot[slot->older].newer = index;
	else
		reorder->oldest = index;
	if (slot->newer != NONE)
		reorder->slot[slot->newer].older = index;
	else
		reorder->newest = index;
	reorder->waiting++;
}

bool
reorder_pop(struct reorder *reorder, bool drain, struct packet *packet, bool *stepped)
{
	uint8_t index = reorder->oldest;
	struct slot *slot;

	if (reorder->lent != NONE) {
		reorder->slot[reorder->lent].newer = reorder->free_head;
		reorder->free_head = reorder->lent;
		reorder->lent = NONE;
	}
	if (index == NONE)
		return false;
	slot = &reorder->slot[index];
	if (!drain && reorder->passing == 0 && reorder->waiting <= REORDER_PACKETS &&
	    reorder->slot[reorder->newest].packet.ts_ns - slot->packet.ts_ns <= REORDER_NS)
		return false;
	reorder->oldest = slot->newer;
	if (slot->newer != NONE)
		reorder->slot[slot->newer].older = NONE;
	else
		reorder->newest = NONE;
	reorder->waiting--;
	if (reorder->passing > 0)
		reorder->passing--;
	reorder->lent = index;
	*packet = slot->packet;
	*stepped = slot->stepped;
	return true;
}
