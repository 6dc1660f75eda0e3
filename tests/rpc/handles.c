/*
 * Hashes of file handles, remembered or not (src/rpc/handles.c).
 */
#include <criterion/criterion.h>

#include "rpc/handles.h"

enum { MOST = 128, HANDLES = 500 };

/* Number n of many handles: they differ in one place, at the begin, in the middle or at the end. */
static void
fill(uint8_t bytes[MOST], uint32_t len, unsigned n)
{
	for (unsigned i = 0; i < len; i++)
		bytes[i] = (uint8_t)(i * 7 + 1);
	if (len > 0)
		bytes[n % 3 * (len - 1) / 2] = (uint8_t)(n / 3);
}

Test(handles, a_hash_is_that_of_fnv_1a)
{
	struct handles *handles = handles_new();

	/* http://www.isthe.com/chongo/tech/comp/fnv: the offset basis, "a", "foobar" */
	cr_assert_eq(handles_hash(handles, (const uint8_t *)"", 0), UINT64_C(0xcbf29ce484222325));
	cr_assert_eq(handles_hash(handles, (const uint8_t *)"a", 1), UINT64_C(0xaf63dc4c8601ec8c));
	cr_assert_eq(handles_hash(handles, (const uint8_t *)"foobar", 6), UINT64_C(0x85944171f73967e8));
	handles_free(handles);
}

Test(handles, what_was_asked_before_changes_nothing)
{
	struct handles *handles = handles_new();
	uint8_t bytes[MOST];

	for (unsigned n = 0; n < HANDLES; n++)
		for (uint32_t len = 0; len <= MOST; len++) {
			struct handles *fresh = handles_new();
			uint64_t hash;

			fill(bytes, len, n);
			hash = handles_hash(fresh, bytes, len);
			cr_assert_eq(handles_hash(handles, bytes, len), hash);
			cr_assert_eq(handles_hash(handles, bytes, len), hash, "the second time");
			handles_free(fresh);
		}
	handles_free(handles);
}
