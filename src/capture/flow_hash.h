/*
 * Hashes of flow keys. Packets of one flow come close together, so those of
 * the last flows are remembered.
 */
#ifndef CAPTURE_FLOW_HASH_H
#define CAPTURE_FLOW_HASH_H

#include "capture/segment.h"

struct flow_hash {
	struct flow_key key;
	bool used;
	uint64_t fixed;		/* the same in every run: for what order depends on */
	uint64_t seeded;	/* by chance: captures are hostile, and their keys must not choose a place in a table */
};

enum { FLOW_HASHES = 64 };	/* a power of two */

/* Begins as zeros but for the seed. */
struct flow_hashes {
	uint64_t seed;
	struct flow_hash last[FLOW_HASHES];
};

/* Borrowed until the next call. */
const struct flow_hash *flow_hash_of(struct flow_hashes *hashes, const struct flow_key *key);

#endif
