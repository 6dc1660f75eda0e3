/*
 * Recognises a packet that a capture holds twice (bond, bridge, `any`, a
 * mirror port in both directions): the same IP packet again within a short
 * time (10 ms and 512 packets), its TTL apart. A TCP retransmission is another
 * packet: its IP identification or its time-stamp option differs. Only one
 * without either (IPv6, or an identification of always 0) that follows within
 * the same tick of the time stamps, or has none, is taken for a copy.
 */
#ifndef CAPTURE_DUPLICATES_H
#define CAPTURE_DUPLICATES_H

#include "capture/datagram.h"
#include "capture/flow_hash.h"
#include "capture/point.h"
#include "capture/segment.h"

struct duplicates;

struct duplicates *duplicates_new(void);
void duplicates_free(struct duplicates *duplicates);
/*
 * True when the packet of this segment was seen before; then it is to be ignored.
 * flow: of its key and direction; its seeded hash is not to be foreseen.
 */
bool duplicates_seen(struct duplicates *duplicates, const struct segment *segment, struct flow_hash *flow);
/* The same of a piece of a UDP datagram. RPC sends nothing again so soon, with or without an identification. */
bool duplicates_seen_datagram(struct duplicates *duplicates, const struct datagram *datagram);
/* Where the copies that were recognised are from; borrowed. */
const struct point_pairs *duplicates_pairs(const struct duplicates *duplicates);

#endif
