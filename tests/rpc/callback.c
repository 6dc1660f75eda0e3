/*
 * Which calls a server makes to its client.
 */
#include <criterion/criterion.h>
#include <nfscorr/nfs_op.h>

Test(callback, programs)
{
	static const struct {
		uint32_t program, procedure;
		bool callback;
	} rows[] = {
		{ 100003, 1, false }, { 100003, 5, false }, { 100003, 10, false },
		{ 0x3fffffff, 1, false }, { 0x40000000, 0, true }, { 0x40000000, 1, true }, { 0x5fffffff, 1, true },
		{ 0x60000000, 1, false },
		{ 100021, 2, false }, { 100021, 4, false }, { 100021, 5, true },	/* LOCK, UNLOCK, GRANTED */
		{ 100021, 6, false }, { 100021, 9, false }, { 100021, 10, true },	/* TEST_MSG, UNLOCK_MSG, GRANTED_MSG */
		{ 100021, 11, true }, { 100021, 14, true }, { 100021, 15, false },	/* TEST_RES, UNLOCK_RES, GRANTED_RES */
		{ 100021, 20, false },							/* SHARE */
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct nfs_op op = { .program = rows[i].program, .procedure = rows[i].procedure };

		cr_assert_eq(op_is_callback(&op), rows[i].callback, "%u %u", rows[i].program, rows[i].procedure);
	}
}
