#include "capture/point.h"

#include "capture/layer.h"

/* The type of a packet in Linux cooked headers: 4 is one that the host sent. */
static uint8_t
way_of(unsigned packet_type)
{
	return packet_type == 4 ? WAY_OUT : WAY_IN;
}

/*
 * The packet's type is what a Linux cooked header begins with; in its second
 * version it is byte 10, behind the interface's index in bytes 4 to 7.
 */
struct capture_point
point_of(const struct packet *packet)
{
	struct capture_point point = point_of_interface(packet->interface);

	if (packet->link_type == DLT_LINUX_SLL) {
		point.way = way_of(load_be16(packet->data));
	} else if (packet->link_type == DLT_LINUX_SLL2) {
		point.kind = POINT_OF_HOST;
		point.number = load_be32(packet->data + 4);
		point.way = way_of(packet->data[10]);
	}
	return point;
}

static bool
is_same(const struct capture_point *a, const struct capture_point *b)
{
	return a->number == b->number && a->kind == b->kind && a->way == b->way;
}

static bool
is_pair(const struct point_pair *pair, const struct capture_point *kept, const struct capture_point *dropped, int hops)
{
	return pair->hops == hops && is_same(&pair->kept, kept) && is_same(&pair->dropped, dropped);
}

void
point_pairs_add(struct point_pairs *pairs, const struct capture_point *kept, const struct capture_point *dropped,
    int hops)
{
	unsigned at = pairs->last;

	if (at >= pairs->count || !is_pair(&pairs->pair[at], kept, dropped, hops))
		for (at = 0; at < pairs->count && !is_pair(&pairs->pair[at], kept, dropped, hops); at++)
			continue;
	if (at == POINT_PAIRS) {
		pairs->others++;
		return;
	}
	if (at == pairs->count)
		pairs->pair[pairs->count++] = (struct point_pair){ .kept = *kept, .dropped = *dropped, .hops = hops };
	pairs->pair[at].packets++;
	pairs->last = at;
}
