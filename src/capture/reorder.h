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
/* Where the next packet is to be put; reorder_push takes it. The same one until then. */
struct packet *reorder_room(struct reorder *reorder);
/*
 * Takes the packet in the room, whose bytes stay where they are until
 * reorder_gone or its turn comes. A stamp further back than the window is no
 * disorder but a clock that was set: what waits comes out first, as it is.
 */
void reorder_push(struct reorder *reorder);
/* A source_gone_fn, context is the reorder: packets that wait and lie there are copied. */
void reorder_gone(void *context, const uint8_t *from, const uint8_t *to);
/* A packet whose bytes do not stay: it is copied, and taken as reorder_push does. Not while the room is being filled. */
void reorder_copy(struct reorder *reorder, const struct packet *packet);
/* The stamp of the packet that comes next; false when none waits. */
bool reorder_oldest_ns(const struct reorder *reorder, int64_t *ts_ns);
/*
 * The next packet whose turn has come, borrowed until the next call but of
 * reorder_gone; NULL: there is none. drain: nothing more will be pushed.
 * *stepped: the clock was set back in front of it.
 */
const struct packet *reorder_pop(struct reorder *reorder, bool drain, bool *stepped);

#endif
