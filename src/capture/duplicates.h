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

#include <glib.h>

#include "capture/datagram.h"
#include "capture/flow_hash.h"
#include "capture/point.h"
#include "capture/segment.h"

enum {
	DUPLICATES_RING = 512,		/* packets; a power of two */
	DUPLICATES_HEADS = 2048,	/* a power of two; so many that most lead nowhere */
	DUPLICATES_STEP_MOST = 1 << 21,	/* by which a flow simply goes on */
	DUPLICATES_STAMPED = 32,	/* bytes of a TCP header with time stamps */
};

struct duplicates_entry {
	uint8_t header[DUPLICATES_STAMPED];	/* of TCP; until it is hashed, with what is marked so */
	uint64_t hash;		/* until then of the flow and its direction */
	int64_t ts_ns;
	uint32_t payload_len;	/* until then */
	uint16_t ip_id;		/* until then */
	uint16_t before;	/* serial of an older entry with the same head; from then on */
	uint32_t number;	/* of the capture point; until then packet.interface */
	uint8_t hops_left;
	uint8_t kind_and_way;	/* of the capture point: kind | way << 4; from then on */
};

struct duplicates {
	struct duplicates_entry ring[DUPLICATES_RING];
	uint64_t seed;		/* captures are hostile: their packets must not choose the head */
	uint64_t serial;	/* of the next entry; starts where 0 is out of the ring */
	uint64_t hashed;	/* of the first entry that is not hashed */
	uint16_t heads[DUPLICATES_HEADS];	/* serials, which begin again and again */
	struct point_pairs pairs;
};

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

static inline struct duplicates_entry *
duplicates_entry(struct duplicates *duplicates, uint64_t serial)
{
	return &duplicates->ring[serial % DUPLICATES_RING];
}

/* How far a flow is with this segment. */
static inline uint32_t
duplicates_progress(const struct segment *segment)
{
	return segment->seq + segment->ack + segment->payload_wire_len;
}

/* Acknowledgements without an identification are often repeated to the letter (RFC 5681 section 2). */
static inline bool
duplicates_is_nameless(const struct segment *segment)
{
	return segment->ip_id == 0 && segment->payload_wire_len == 0 &&
	    (segment->flags & (TCP_SYN | TCP_FIN | TCP_RST)) == 0;
}

/* Of its flow, one way. */
static inline uint64_t
duplicates_flow(const struct segment *segment, const struct flow_hash *flow)
{
	return flow->seeded ^ segment->direction;
}

/*
 * A plain segment (plain.h). True when it goes on where its flow was, so that none
 * before it can be the same; then it is remembered. False: that is for
 * duplicates_seen() to tell.
 */
static inline bool
duplicates_pass(struct duplicates *duplicates, const struct segment *segment, struct flow_hash *flow)
{
	uint32_t progress = duplicates_progress(segment);
	struct duplicates_entry *entry;

	if (G_UNLIKELY(progress - flow->progress - 1 >= DUPLICATES_STEP_MOST || flow->unproven > 0))
		return false;
	flow->progress = progress;
	if (duplicates_is_nameless(segment))
		return true;
	entry = duplicates_entry(duplicates, duplicates->serial++);
	memcpy(entry->header, segment->header, sizeof entry->header);
	entry->hash = duplicates_flow(segment, flow);
	entry->ts_ns = segment->packet->ts_ns;
	entry->payload_len = segment->payload_wire_len;
	entry->ip_id = segment->ip_id;
	entry->number = segment->packet->interface;
	entry->hops_left = segment->hops_left;
	return true;
}

#endif
