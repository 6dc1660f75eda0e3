/*
 * Fingerprints of arguments (src/rpc/fingerprint.c).
 */
#include <criterion/criterion.h>
#include <string.h>

#include "rpc/fingerprint.h"

enum { BYTES = 200 };

static void
fill(uint8_t bytes[BYTES])
{
	for (unsigned i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(i * 37 + 11);
}

/* Of len bytes of arguments, cap of which were captured. */
static struct arg_print
print_of(const uint8_t *bytes, uint32_t cap, uint32_t len)
{
	struct xdr_cursor body = { .data = bytes, .cap = cap, .total = len, .beyond = XDR_HOLE };
	struct arg_print print;

	fingerprint_take(&print, &body, true);
	return print;
}

Test(fingerprint, what_was_cut_agrees_with_the_whole)
{
	uint8_t bytes[BYTES];

	fill(bytes);
	for (uint32_t len = 0; len <= BYTES; len++) {
		struct arg_print whole = print_of(bytes, len, len);

		cr_assert_eq(whole.prefixes, ARG_PREFIXES, "%u", len);
		for (uint32_t cap = 0; cap < len; cap++) {
			struct arg_print cut = print_of(bytes, cap, len);

			cr_assert_eq(cut.prefixes, cap >= 160 ? 3 : cap >= 64 ? 2 : cap >= 24 ? 1 : 0, "%u of %u", cap, len);
			cr_assert(fingerprint_agrees(&whole, &cut), "%u of %u", cap, len);
			cr_assert(cut.prefixes == 0 || cut.prefix[cut.prefixes - 1] == whole.prefix[cut.prefixes - 1]);
		}
	}
}

Test(fingerprint, every_bit_counts_as_far_as_a_prefix_goes)
{
	uint8_t bytes[BYTES], other[BYTES];

	fill(bytes);
	for (uint32_t len = 1; len <= BYTES; len++) {
		struct arg_print print = print_of(bytes, len, len);

		for (uint32_t bit = 0; bit < len * 8; bit++) {
			struct arg_print changed;

			memcpy(other, bytes, sizeof other);
			other[bit / 8] ^= (uint8_t)(1 << bit % 8);
			changed = print_of(other, len, len);
			cr_assert_eq(fingerprint_agrees(&print, &changed), bit / 8 >= 160, "bit %u of %u bytes", bit, len);
		}
	}
}

Test(fingerprint, a_length_that_is_known_must_be_the_same)
{
	uint8_t bytes[BYTES] = { 0 };
	struct xdr_cursor body = { .data = bytes, .cap = 30, .total = UINT32_MAX, .beyond = XDR_SHORT };
	struct arg_print shorter = print_of(bytes, 28, 28), longer = print_of(bytes, 32, 32), unknown;

	cr_assert(!fingerprint_agrees(&shorter, &longer));
	fingerprint_take(&unknown, &body, false);
	cr_assert_eq(unknown.prefixes, 1, "more may follow");
	cr_assert(fingerprint_agrees(&shorter, &unknown));
	cr_assert(fingerprint_agrees(&longer, &unknown));
}
