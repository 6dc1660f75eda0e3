/* Hashes of flow keys, remembered or not. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>
#include <xxhash.h>

#include "capture/flow_hash.h"
#include "capture/ip.h"

/* Addresses and ports as a packet has them. */
struct ends {
	uint8_t addresses[32], ports[4];
};

static void
turn(struct ends *ends, uint8_t version)
{
	size_t len = version == 4 ? 4 : 16;
	struct ends turned = *ends;

	memcpy(turned.addresses, ends->addresses + len, len);
	memcpy(turned.addresses + len, ends->addresses, len);
	memcpy(turned.ports, ends->ports + 2, 2);
	memcpy(turned.ports + 2, ends->ports, 2);
	*ends = turned;
}

static void
check(const struct flow_hash *hash, uint8_t version, const struct ends *ends)
{
	const struct ip_header ip = {
		.version = version,
		.source = ends->addresses,
		.destination = ends->addresses + (version == 4 ? 4 : 16),
	};
	struct flow_key key;

	cr_assert_eq(hash->direction, flow_key_make(&key, &ip, load_be16(ends->ports), load_be16(ends->ports + 2)));
	cr_assert(flow_key_same(&hash->key, &key));
	cr_assert_eq(hash->fixed, XXH3_64bits(&key, sizeof key) >> (64 - FLOW_FIXED_BITS));
	cr_assert_eq(hash->seeded, XXH3_64bits_withSeed(&key, sizeof key, 77));
}

/* Many more flows than are remembered, in runs and by turns, of both versions: what is given is always the key's own. */
Test(flow_hash, is_that_of_the_key)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(1);
	struct flow_hashes hashes = { .seed = 77 };
	struct ends ends = { .ports = { 2, 188, 8, 1 } };
	unsigned known = 0;

	for (unsigned i = 0; i < 50000; i++) {
		uint8_t version = g_rand_int_range(rand, 0, 2) == 0 ? 4 : 6;
		const struct flow_hash *hash;

		if (g_rand_int_range(rand, 0, 3) == 0)
			ends.addresses[g_rand_int_range(rand, 0, 32)] ^= (uint8_t)g_rand_int_range(rand, 1, 3);
		if (g_rand_int_range(rand, 0, 5) == 0)
			ends.ports[g_rand_int_range(rand, 0, 4)] = (uint8_t)g_rand_int_range(rand, 0, 3);
		if (g_rand_int_range(rand, 0, 2) == 0)
			turn(&ends, version);
		hash = flow_hash_known(&hashes, ends.addresses, ends.ports);
		if (hash != NULL)
			check(hash, 4, &ends);
		known += hash != NULL;
		check(flow_hash_of(&hashes, version, ends.addresses, ends.ports), version, &ends);
		if (version == 4)
			cr_assert_not_null(flow_hash_known(&hashes, ends.addresses, ends.ports));
	}
	cr_assert_gt(known, 1000);
}

/* What the quick look compares is in one word for IPv6: other addresses with the same word are another flow. */
Test(flow_hash, addresses_that_fold_alike)
{
	struct flow_hashes hashes = { .seed = 77 };
	struct ends one = { .addresses = { [0] = 3 } }, other = { .addresses = { [8] = 1 } };

	for (unsigned i = 0; i < 4; i++) {
		check(flow_hash_of(&hashes, 6, one.addresses, one.ports), 6, &one);
		check(flow_hash_of(&hashes, 6, other.addresses, other.ports), 6, &other);
	}
}

/* Each byte of a key counts. */
Test(flow_hash, keys_differ_in_any_byte)
{
	struct flow_key key = { 0 };

	for (size_t i = 0; i < sizeof key; i++) {
		struct flow_key other = { 0 };

		((uint8_t *)&other)[i] = 1;
		cr_assert_not(flow_key_same(&key, &other), "byte %zu", i);
	}
	cr_assert(flow_key_same(&key, &key));
}
