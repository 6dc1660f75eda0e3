#include "capture/flow_hash.h"

#include <glib.h>
#include <stdlib.h>

#include "capture/ip.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Of few flows few lines of the cache are looked at. */
G_STATIC_ASSERT(sizeof(struct flow_hash) == 64);

struct flow_hashes *
flow_hashes_new(uint64_t seed)
{
	struct flow_hashes *hashes = aligned_alloc(sizeof(struct flow_hash), sizeof *hashes);

	if (hashes == NULL)
		g_error("no memory for the hashes of flows");
	memset(hashes, 0, sizeof *hashes);
	hashes->seed = seed;
	return hashes;
}

void
flow_hashes_free(struct flow_hashes *hashes)
{
	free(hashes);
}

/* The addresses of IPv6 in one word; what is found by it is compared. */
static uint64_t
fold(const uint8_t addresses[32])
{
	uint64_t source = load64(addresses) + load64(addresses + 8) * 3;
	uint64_t destination = load64(addresses + 16) + load64(addresses + 24) * 3;

	return source * 5 + destination;
}

static bool
is_same(const struct flow_hash *hash, uint8_t version, const uint8_t *addresses)
{
	const struct flow_key *key = &hash->key;

	if (hash->version != version)
		return false;
	return version == 4 || (address_difference(key->address[hash->direction], addresses) |
	    address_difference(key->address[!hash->direction], addresses + 16)) == 0;
}

static void
learn(struct flow_hash *hash, uint64_t seed, const uint8_t *ports, const struct ip_header *ip)
{
	hash->unproven = hash->version == 0 ? FLOW_NEW : FLOW_FORGOTTEN;
	hash->progress = 0;
	hash->version = ip->version;
	hash->direction = flow_key_make(&hash->key, ip, load_be16(ports), load_be16(ports + 2));
	hash->fixed = (uint8_t)(XXH3_64bits(&hash->key, sizeof hash->key) >> (64 - FLOW_FIXED_BITS));
	hash->seeded = XXH3_64bits_withSeed(&hash->key, sizeof hash->key, seed);
}

struct flow_hash *
flow_hash_of(struct flow_hashes *hashes, uint8_t version, const uint8_t *addresses, const uint8_t *ports)
{
	const struct ip_header ip = {
		.version = version,
		.source = addresses,
		.destination = addresses + (version == 4 ? 4 : 16),
	};
	uint64_t both_addresses = version == 4 ? load64(addresses) : fold(addresses);
	uint32_t both_ports = load32(ports);
	struct flow_hash *hash = &hashes->last[flow_hash_place(both_addresses, both_ports)];

	if (hash->addresses == both_addresses && hash->ports == both_ports && is_same(hash, version, addresses))
		return hash;
	hash->addresses = both_addresses;
	hash->ports = both_ports;
	learn(hash, hashes->seed, ports, &ip);
	return hash;
}
