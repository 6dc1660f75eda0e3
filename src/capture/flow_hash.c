#include "capture/flow_hash.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Flows that share a place cost a hash each time, no more. */
static unsigned
place_of(const struct flow_key *key)
{
	uint64_t half[2];

	memcpy(&half[0], key->address[0] + 8, sizeof half[0]);
	memcpy(&half[1], key->address[1] + 8, sizeof half[1]);
	half[0] += half[1] + ((uint64_t)key->port[0] << 16 | key->port[1]);
	return (unsigned)(half[0] * UINT64_C(0x9e3779b97f4a7c15) >> 58) % FLOW_HASHES;
}

const struct flow_hash *
flow_hash_of(struct flow_hashes *hashes, const struct flow_key *key)
{
	struct flow_hash *hash = &hashes->last[place_of(key)];

	if (hash->used && flow_key_same(&hash->key, key))
		return hash;
	hash->used = true;
	hash->key = *key;
	hash->fixed = XXH3_64bits(key, sizeof *key);
	hash->seeded = XXH3_64bits_withSeed(key, sizeof *key, hashes->seed);
	return hash;
}
