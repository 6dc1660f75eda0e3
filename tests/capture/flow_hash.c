/* Hashes of flow keys, remembered or not. */
#include <criterion/criterion.h>
#include <glib.h>
#include <xxhash.h>

#include "capture/flow_hash.h"

/* Many more keys than are remembered, in runs and by turns: what is given is always the key's own. */
Test(flow_hash, is_that_of_the_key)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(1);
	struct flow_hashes hashes = { .seed = 77 };
	struct flow_key key = { .port = { 700, 2049 } };

	for (unsigned i = 0; i < 20000; i++) {
		const struct flow_hash *hash;

		if (g_rand_int_range(rand, 0, 3) == 0)
			key.address[g_rand_int_range(rand, 0, 2)][g_rand_int_range(rand, 0, 16)] ^=
			    (uint8_t)g_rand_int_range(rand, 1, 3);
		if (g_rand_int_range(rand, 0, 5) == 0)
			key.port[g_rand_int_range(rand, 0, 2)] = (uint16_t)g_rand_int_range(rand, 700, 710);
		hash = flow_hash_of(&hashes, &key);
		cr_assert(flow_key_same(&hash->key, &key));
		cr_assert_eq(hash->fixed, XXH3_64bits(&key, sizeof key));
		cr_assert_eq(hash->seeded, XXH3_64bits_withSeed(&key, sizeof key, 77));
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
