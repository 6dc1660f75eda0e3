/*
 * Keys of flows and their hashes, by the addresses and ports of a packet.
 * Packets of one flow come close together, so those of the last flows are
 * remembered, each direction for itself.
 */
#ifndef CAPTURE_FLOW_HASH_H
#define CAPTURE_FLOW_HASH_H

#include "capture/layer.h"
#include "capture/segment.h"

struct flow_hash {
	uint64_t addresses;	/* as packets have them: of IPv4 the source and the destination, of IPv6 both folded */
	uint32_t ports;		/* in the same way */
	uint8_t version;	/* of IP; 0: nothing is remembered here */
	uint8_t fixed;		/* the same in every run: for what order depends on; FLOW_FIXED_BITS */
	uint16_t direction : 1;	/* as segment.direction */
	uint16_t unproven : 15;	/* duplicates.c: packets until progress proves something, or one of these: */
	uint64_t seeded;	/* by chance: captures are hostile, and their keys must not choose a place in a table */
	struct flow_key key;
	uint32_t progress;	/* duplicates.c: the furthest that a packet came */
};

/* flow_hash.unproven, when no packet was looked at since it was made: of its key there was none before, or there may be. */
enum { FLOW_NEW = 0x7fff, FLOW_FORGOTTEN = 0x7ffe };

enum { FLOW_FIXED_BITS = 6, FLOW_BITS = 10, FLOW_HASHES = 1 << FLOW_BITS };

struct flow_hashes {
	_Alignas(sizeof(struct flow_hash)) struct flow_hash last[FLOW_HASHES];	/* a line of the cache each */
	uint64_t seed;
};

struct flow_hashes *flow_hashes_new(uint64_t seed);
/* NULL allowed. */
void flow_hashes_free(struct flow_hashes *hashes);

/*
 * Of a packet: the version of IP, its addresses as they follow one another in the
 * header, its ports as they follow one another in the next. Borrowed until the
 * next call.
 */
struct flow_hash *flow_hash_of(struct flow_hashes *hashes, uint8_t version, const uint8_t *addresses,
    const uint8_t *ports);

/* Flows that share a place cost two hashes each time, no more. */
static inline size_t
flow_hash_place(uint64_t addresses, uint32_t ports)
{
	return (addresses + ports) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - FLOW_BITS);
}

/* The same of IPv4, if it is remembered; else NULL. */
static inline struct flow_hash *
flow_hash_known(struct flow_hashes *hashes, const uint8_t addresses[8], const uint8_t ports[4])
{
	uint64_t both_addresses = load64(addresses);
	uint32_t both_ports = load32(ports);
	struct flow_hash *hash = &hashes->last[flow_hash_place(both_addresses, both_ports)];

	return hash->addresses == both_addresses && hash->ports == both_ports && hash->version == 4 ? hash : NULL;
}

#endif
