/*
 * Heads of the packets to come, fetched into the cache while those in front of
 * them are worked on. Where one lies is known only from the one before, so that a
 * reader would wait for each; and as memory takes longer than the work on a
 * packet, the next few are guessed from what followed such lengths before.
 */
#ifndef CAPTURE_AHEAD_H
#define CAPTURE_AHEAD_H

#include <stdint.h>
#include <string.h>

enum {
	AHEAD_SLOT_BITS = 6,
	AHEAD_GUESSES = 4,
};

/* Zeroed: there is nothing to fetch. */
struct ahead {
	uintptr_t place, end;	/* of the next head; behind where one can begin: borrowed bytes that stay meanwhile */
	uint32_t length_at;	/* of the 32 bits in a head that say how many bytes follow, this host's order */
	uint32_t head_len;	/* bytes that these do not count */
	uint32_t len;		/* of the last packet */
	uint32_t slot;		/* of the last two lengths */
	uint32_t following[1 << AHEAD_SLOT_BITS];	/* the length that came after two such */
};

/* What a packet that begins there has of headers. Inlined, since a call without an effect is left out. */
static inline __attribute__((always_inline)) void
ahead_fetch(uintptr_t head)
{
	enum { CACHE_LINE = 64 };

	__builtin_prefetch((const void *)head);
	__builtin_prefetch((const void *)(head + CACHE_LINE));
	__builtin_prefetch((const void *)(head + 2 * CACHE_LINE));
}

static inline uint32_t
ahead_slot(uint32_t one, uint32_t two)
{
	return (one * 0x9e3779b1u + two * 0x85ebca77u) >> (32 - AHEAD_SLOT_BITS);
}

/* The head after the next, and those that are likely behind it. */
static inline __attribute__((always_inline)) void
ahead_step(struct ahead *ahead)
{
	uint32_t one = ahead->len, len;
	uintptr_t place;

	if (ahead->place >= ahead->end)
		return;
	memcpy(&len, (const void *)(ahead->place + ahead->length_at), sizeof len);
	if (len >= ahead->end - ahead->place) {
		ahead->place = ahead->end;
		return;
	}
	ahead->place = place = ahead->place + ahead->head_len + len;
	ahead->following[ahead->slot] = len;
	ahead->slot = ahead_slot(one, len);
	ahead->len = len;
	ahead_fetch(place);
	for (uint32_t i = 0, slot = ahead->slot, next; i < AHEAD_GUESSES; i++, len = next) {
		next = ahead->following[slot];
		place += ahead->head_len + next;
		slot = ahead_slot(len, next);
		ahead_fetch(place);
	}
}

#endif
