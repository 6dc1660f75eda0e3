/*
 * Where on its host a packet was captured, as far as the capture says, and how
 * often a packet was captured at two such points.
 */
#ifndef CAPTURE_POINT_H
#define CAPTURE_POINT_H

#include <pcap/dlt.h>
#include <stdbool.h>

#include "capture/packet.h"

enum point_kind {
	POINT_UNKNOWN,
	POINT_OF_FILE,		/* number: what the file calls the interface (pcapng, modified pcap) */
	POINT_OF_HOST,		/* number: the host's own index of it (Linux cooked 2) */
};
enum point_way { WAY_UNKNOWN, WAY_IN, WAY_OUT };	/* of the packet, at its host (Linux cooked) */

struct capture_point {
	uint32_t number;
	uint8_t kind;		/* enum point_kind */
	uint8_t way;		/* enum point_way */
};

/* Of a packet whose link layer is whole. */
struct capture_point point_of(const struct packet *packet);

/* Whether the link header says more than the file does. */
static inline bool
point_is_cooked(const struct packet *packet)
{
	return packet->link_type == DLT_LINUX_SLL || packet->link_type == DLT_LINUX_SLL2;
}

/* By packet.interface, of one that is not cooked. */
static inline struct capture_point
point_of_interface(uint32_t interface)
{
	struct capture_point point = { .kind = POINT_UNKNOWN };

	if (interface > 0) {
		point.kind = POINT_OF_FILE;
		point.number = interface - 1;
	}
	return point;
}

/* Packets that were captured twice: where the copy that came first is from, which is kept, and the other one. */
struct point_pair {
	struct capture_point kept, dropped;
	int hops;		/* routers from the kept copy to the other one, by their times to live; below 0: the other way */
	uint64_t packets;
};

enum { POINT_PAIRS = 32 };
struct point_pairs {
	struct point_pair pair[POINT_PAIRS];	/* in the order in which they appeared */
	unsigned count;
	unsigned last;		/* the pair that was met last */
	uint64_t others;	/* packets of pairs that have no place any more */
};

void point_pairs_add(struct point_pairs *pairs, const struct capture_point *kept, const struct capture_point *dropped,
    int hops);

#endif
