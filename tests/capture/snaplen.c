/* When the snap length is raised, and to what. */
#include <criterion/criterion.h>

#include "capture/device.h"
#include "capture/snaplen.h"

static bool
ask(struct snaplen *snaplen, uint64_t records, uint64_t hidden, uint64_t dropped)
{
	return snaplen_is_short(snaplen, &(struct snaplen_counts){ records, hidden, dropped });
}

Test(snaplen, stays_where_one_in_a_hundred_is_hidden)
{
	struct snaplen snaplen;

	snaplen_begin(&snaplen);
	cr_assert_eq(snaplen.bytes, 512);
	cr_assert_not(ask(&snaplen, 9900, 100, 0));
	cr_assert_eq(snaplen.bytes, 512);
}

Test(snaplen, is_raised_where_more_are_hidden)
{
	struct snaplen snaplen;

	snaplen_begin(&snaplen);
	cr_assert(ask(&snaplen, 9899, 101, 0));
	cr_assert_eq(snaplen.bytes, 2048);
}

Test(snaplen, waits_for_a_thousand_records)
{
	struct snaplen snaplen;

	snaplen_begin(&snaplen);
	cr_assert_not(ask(&snaplen, 500, 499, 0));
	cr_assert(ask(&snaplen, 500, 500, 0));
}

Test(snaplen, looks_at_a_window_and_not_at_the_whole_run)
{
	struct snaplen snaplen;

	snaplen_begin(&snaplen);
	cr_assert_not(ask(&snaplen, 1000000, 0, 0));
	/* 20 of the 1000 that came since */
	cr_assert(ask(&snaplen, 1000980, 20, 0));
}

Test(snaplen, what_was_captured_before_a_raise_does_not_count_after_it)
{
	struct snaplen snaplen;

	snaplen_begin(&snaplen);
	cr_assert(ask(&snaplen, 900, 100, 0));
	cr_assert_not(ask(&snaplen, 1800, 200, 0));
	cr_assert_not(ask(&snaplen, 2800, 200, 0));
	cr_assert_eq(snaplen.bytes, 2048);
}

Test(snaplen, goes_up_in_steps_and_ends)
{
	static const uint32_t steps[] = { 2048, 16384, DEVICE_SNAPLEN_MOST };
	struct snaplen snaplen;
	uint64_t hidden = 0;

	snaplen_begin(&snaplen);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert(ask(&snaplen, 0, hidden += 1000, 0));
		cr_assert_eq(snaplen.bytes, steps[i]);
		cr_assert_not(ask(&snaplen, 0, hidden += 1000, 0));
	}
	cr_assert_not(ask(&snaplen, 0, hidden += 1000, 0));
	cr_assert_eq(snaplen.bytes, DEVICE_SNAPLEN_MOST);
}

Test(snaplen, is_not_raised_while_packets_are_dropped)
{
	struct snaplen snaplen;

	snaplen_begin(&snaplen);
	cr_assert_not(ask(&snaplen, 900, 100, 5));
	cr_assert(ask(&snaplen, 1800, 200, 5));
}
