#include "capture/reorder.h"

#include <glib.h>
#include <string.h>

enum {
	ROOM = 32,			/* packets that are read at once */
	RING = 128,			/* those that wait, those that come; a power of two */
};

/* What belongs to a place in the ring beside its packet. */
struct place {
	uint8_t *copy;			/* of the packet's bytes, when they went before its turn came */
	uint32_t room;			/* bytes at copy */
	bool stepped;
};

/*
 * The packets that wait are in a ring by stamp, equal stamps in the order of the
 * file; behind them is the room.
 */
struct reorder {
	struct packet ring[RING];
	struct place place[RING];
	unsigned head, tail;		/* positions of the oldest that waits, and behind the newest; they begin again */
	unsigned passing;		/* of those that wait, in front of a step of the clock: they go first */
	unsigned steps;			/* places that are stepped */
	bool popped;			/* any so far, the last one stamped: */
	int64_t popped_ns;
};

G_STATIC_ASSERT((RING & (RING - 1)) == 0 && RING >= REORDER_PACKETS + ROOM);

struct reorder *
reorder_new(void)
{
	return g_new0(struct reorder, 1);
}

void
reorder_free(struct reorder *reorder)
{
	if (reorder == NULL)
		return;
	for (unsigned i = 0; i < RING; i++)
		g_free(reorder->place[i].copy);
	g_free(reorder);
}

static struct packet *
packet_at(struct reorder *reorder, unsigned position)
{
	return &reorder->ring[position % RING];
}

static struct place *
place_at(struct reorder *reorder, unsigned position)
{
	return &reorder->place[position % RING];
}

static unsigned
waiting(const struct reorder *reorder)
{
	return reorder->tail - reorder->head;
}

/* The newest packet goes to where it belongs; those behind that make room. */
static void
sort_in(struct reorder *reorder)
{
	unsigned at = reorder->tail - 1;
	struct packet packet = *packet_at(reorder, at);
	struct place place = *place_at(reorder, at);

	/* nothing goes in front of a step */
	for (unsigned left = waiting(reorder) - 1; left > reorder->passing; left--) {
		if (packet_at(reorder, at - 1)->ts_ns <= packet.ts_ns)
			break;
		*packet_at(reorder, at) = *packet_at(reorder, at - 1);
		*place_at(reorder, at) = *place_at(reorder, at - 1);
		at--;
	}
	*packet_at(reorder, at) = packet;
	*place_at(reorder, at) = place;
}

struct packet *
reorder_room(struct reorder *reorder, unsigned *places)
{
	*places = MIN(ROOM, RING - reorder->tail % RING);
	return packet_at(reorder, reorder->tail);
}

static void
step(struct reorder *reorder, unsigned position)
{
	place_at(reorder, position)->stepped = true;
	reorder->steps++;
}

/* The first packet of the room, which is not simply the newest of those that wait. */
static void
push_one(struct reorder *reorder)
{
	unsigned position = reorder->tail++, count = position - reorder->head;
	int64_t ts_ns = packet_at(reorder, position)->ts_ns, newest_ns;

	if (count == 0) {
		/* all were drained while nothing came */
		if (reorder->popped && ts_ns < reorder->popped_ns - REORDER_NS)
			step(reorder, position);
		return;
	}
	newest_ns = packet_at(reorder, position - 1)->ts_ns;
	if (reorder->passing == 0 && ts_ns < newest_ns - REORDER_NS)
		reorder->passing = count;
	if (reorder->passing == count)
		step(reorder, position);
	if (ts_ns < newest_ns)
		sort_in(reorder);
}

unsigned
reorder_push(struct reorder *reorder, unsigned count, bool in_order)
{
	const struct packet *packet = packet_at(reorder, reorder->tail);
	unsigned taken = 0;
	int64_t newest_ns;

	if (in_order) {
		reorder->tail += count;
		return count;
	}
	if (waiting(reorder) == 0 || packet_at(reorder, reorder->tail - 1)->ts_ns > packet->ts_ns) {
		push_one(reorder);
		taken = 1;
	}
	newest_ns = packet_at(reorder, reorder->tail - 1)->ts_ns;
	for (; taken < count && packet[taken].ts_ns >= newest_ns; taken++) {
		newest_ns = packet[taken].ts_ns;
		reorder->tail++;
	}
	return taken;
}

/* How many of those that wait are due, all in one row: up to the ring's end, or a step. */
static unsigned
due(const struct reorder *reorder, int64_t until_ns)
{
	unsigned count = waiting(reorder), at = reorder->head % RING, most = MIN(count, RING - at), taken;
	int64_t newest_ns = reorder->ring[(reorder->tail - 1) % RING].ts_ns;

	until_ns = MAX(until_ns, newest_ns - REORDER_NS - 1);
	taken = reorder->passing > 0 ? reorder->passing : count > REORDER_PACKETS ? count - REORDER_PACKETS : 0;
	taken = MIN(taken, most);
	while (taken < most && reorder->ring[at + taken].ts_ns <= until_ns)
		taken++;
	for (unsigned i = 1; reorder->steps > 0 && i < taken; i++)
		if (reorder->place[at + i].stepped)
			return i;
	return taken;
}

const struct packet *
reorder_pop(struct reorder *reorder, int64_t until_ns, unsigned *count, bool *stepped)
{
	const struct packet *first = packet_at(reorder, reorder->head);
	struct place *place = place_at(reorder, reorder->head);

	*count = waiting(reorder) > 0 ? due(reorder, until_ns) : 0;
	if (*count == 0)
		return first;
	*stepped = place->stepped;
	reorder->steps -= place->stepped;
	place->stepped = false;
	reorder->head += *count;
	reorder->passing -= MIN(reorder->passing, *count);
	reorder->popped = true;
	reorder->popped_ns = first[*count - 1].ts_ns;
	return first;
}

static void
keep(struct packet *packet, struct place *place)
{
	if (packet->cap_len > place->room) {
		place->room = MAX(2 * place->room, packet->cap_len);
		g_free(place->copy);
		place->copy = g_malloc(place->room);
	}
	memcpy(place->copy, packet->data, packet->cap_len);
	packet->data = place->copy;
}

void
reorder_keep(struct reorder *reorder, unsigned number)
{
	keep(packet_at(reorder, reorder->tail + number), place_at(reorder, reorder->tail + number));
}

void
reorder_gone(void *context, const uint8_t *from, const uint8_t *to)
{
	struct reorder *reorder = context;

	for (unsigned at = reorder->head; at != reorder->tail; at++) {
		struct packet *packet = packet_at(reorder, at);

		if (packet->cap_len > 0 && (uintptr_t)packet->data < (uintptr_t)to &&
		    (uintptr_t)packet->data + packet->cap_len > (uintptr_t)from)
			keep(packet, place_at(reorder, at));
	}
}
