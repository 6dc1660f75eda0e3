/*
 * Puts packets that a file holds slightly out of order back into the order of
 * their stamps: captures merge several queues, and what follows reasons in
 * time. A packet waits until nothing can belong in front of it any more:
 * REORDER_PACKETS came behind it, or one stamped REORDER_NS later.
 */
#ifndef CAPTURE_REORDER_H
#define CAPTURE_REORDER_H

#include <stdbool.h>

#include "capture/packet.h"

enum { REORDER_PACKETS = 64, REORDER_NS = 2 * 1000 * 1000 };

struct reorder;

struct reorder *reorder_new(void);
void reorder_free(struct reorder *reorder);
/* Where the next packets are to be put, *places of them at most; reorder_push takes them. The same ones until then. */
struct packet *reorder_room(struct reorder *reorder, unsigned *places);
/*
 * Takes up to so many packets that are in the room, whose bytes stay where they
 * are until reorder_gone or their turn comes; returns how many. It stops in front
 * of one that is out of order, so that those in front of it come out first if
 * their turn has come: reorder_pop until it has no more, then the rest. A stamp
 * further back than the window is no disorder but a clock that was set: what
 * waits comes out first, as it is. in_order: they are known to be in order, and
 * behind all that came before.
 */
unsigned reorder_push(struct reorder *reorder, unsigned count, bool in_order);
/* A source_gone_fn, context is the reorder: packets that wait and lie there are copied. */
void reorder_gone(void *context, const uint8_t *from, const uint8_t *to);
/* The bytes of a packet that is in the room, counted from 0, do not stay: they are copied. */
void reorder_keep(struct reorder *reorder, unsigned number);
/* For until_ns, when it is not known that time passed, and when nothing more will be pushed. */
#define REORDER_NOW INT64_MIN
#define REORDER_DRAIN INT64_MAX
/*
 * The next packets whose turn has come, *count of them in a row, borrowed until
 * the next call but of reorder_gone; 0: there is none. until_ns: nothing stamped
 * up to then will be pushed any more. *stepped: the clock was set back in front
 * of the first of them.
 */
const struct packet *reorder_pop(struct reorder *reorder, int64_t until_ns, unsigned *count, bool *stepped);

#endif
