#include <criterion/criterion.h>

#include "base/arith.h"

Test(arith, unwrap_moves_both_ways)
{
	cr_assert_eq(seq_unwrap(5000, 1000, 1460), 5460);
	cr_assert_eq(seq_unwrap(5000, 1000, 1000), 5000);
	cr_assert_eq(seq_unwrap(5000, 1000, 400), 4400);
}

Test(arith, unwrap_crosses_the_wrap)
{
	cr_assert_eq(seq_unwrap(5000, 0xffffff00, 0x00000100), 5000 + 0x200);
	cr_assert_eq(seq_unwrap(5000, 0x00000100, 0xffffff00), 5000 - 0x200);
}

/* A long connection: the offset keeps growing though the number wraps. */
Test(arith, unwrap_counts_beyond_32_bits)
{
	const uint32_t step = 0x40000000;
	int64_t offset = 0;
	uint32_t seq = 0x12345678;

	for (int i = 1; i <= 64; i++) {
		offset = seq_unwrap(offset, seq, seq + step);
		seq += step;
		cr_assert_eq(offset, (int64_t)i * step);
	}
}

Test(arith, smaller_and_larger)
{
	cr_assert_eq(min_ns(-1, 1), -1);
	cr_assert_eq(max_ns(-1, 1), 1);
	cr_assert_eq(min_ns(INT64_MIN, INT64_MAX), INT64_MIN);
	cr_assert_eq(max_ns(INT64_MIN, INT64_MAX), INT64_MAX);
}
