#include <criterion/criterion.h>

#include "stats/build.h"
#include "stats/flight.h"

/* From one time to another, in ns after the epoch. */
static void
add(struct flight *flight, int64_t from_ns, int64_t to_ns)
{
	struct nfs_op op = build_op(PROC_READ, from_ns, 0);

	op.reply_last_ns = BUILD_EPOCH_NS + to_ns;
	flight_add(flight, &op, 1);
}

static void
assert_flight(const struct flight *flight, int64_t span_ns, int64_t idle_ns)
{
	cr_assert_eq(flight_span_ns(flight), span_ns, "span %ld", (long)flight_span_ns(flight));
	cr_assert_eq(flight_idle_ns(flight), idle_ns, "idle %ld", (long)flight_idle_ns(flight));
}

Test(flight, nothing)
{
	struct flight flight = { 0 };

	assert_flight(&flight, 0, 0);
}

Test(flight, gaps_between_calls)
{
	struct flight flight = { 0 };

	add(&flight, 0, 10);
	add(&flight, 5, 20);
	add(&flight, 30, 40);
	assert_flight(&flight, 40, 10);
	cr_assert_eq(flight_pause_ns(&flight), 10);
	cr_assert_eq((int64_t)flight.time_ns, 35);
	/* one that began first and ends last covers the gap */
	add(&flight, -5, 50);
	assert_flight(&flight, 55, 0);
}

Test(flight, one_that_ends_earlier_than_the_last)
{
	struct flight flight = { 0 };

	add(&flight, 0, 10);
	add(&flight, 50, 60);
	add(&flight, 20, 30);
	assert_flight(&flight, 60, 30);
	add(&flight, 8, 22);
	assert_flight(&flight, 60, 20);
}

/* 1000 calls of 1 in every 10: what was closed is kept, and a call over all of it never makes idle time too long. */
Test(flight, more_stretches_than_are_kept)
{
	struct flight flight = { 0 };

	for (unsigned i = 0; i < 1000; i++)
		add(&flight, 10 * i, 10 * i + 1);
	assert_flight(&flight, 9991, 999 * 9);
	cr_assert_eq(flight_pause_ns(&flight), 9);
	add(&flight, 5000, 9995);
	cr_assert_leq(flight_idle_ns(&flight), 500 * 9);
	cr_assert_geq(flight_idle_ns(&flight), 400 * 9);
	cr_assert_eq(flight_span_ns(&flight), 9995);
}

Test(flight, without_a_reply)
{
	struct flight flight = { 0 };
	struct nfs_op op = build_op(PROC_READ, 20, 0);

	add(&flight, 0, 10);
	add(&flight, 90, 100);
	op.outcome = OP_UNANSWERED;
	op.valid &= ~(unsigned)OP_HAS_REPLY_LAST;
	flight_add(&flight, &op, 1);
	/* waited for until the last end that is known */
	assert_flight(&flight, 100, 10);
	/* that of a reply which the capture lost is not known */
	op.outcome = OP_LOST_IN_CAPTURE;
	op.call_first_ns = BUILD_EPOCH_NS + 12;
	flight_add(&flight, &op, 1);
	assert_flight(&flight, 100, 10);
}

/* Parts one after the other are the whole. */
Test(flight, parts)
{
	struct flight whole = { 0 }, first = { 0 }, second = { 0 };

	for (unsigned i = 0; i < 1000; i++) {
		add(&whole, 10 * i, 10 * i + 3);
		add(i < 500 ? &first : &second, 10 * i, 10 * i + 3);
	}
	flight_merge(&first, &second);
	assert_flight(&first, flight_span_ns(&whole), flight_idle_ns(&whole));
	cr_assert_eq(first.calls, 1000);
	cr_assert_eq((int64_t)first.time_ns, 3000);
	second = (struct flight){ 0 };
	flight_merge(&second, &first);
	assert_flight(&second, flight_span_ns(&whole), flight_idle_ns(&whole));
	flight_merge(&second, &(struct flight){ 0 });
	assert_flight(&second, flight_span_ns(&whole), flight_idle_ns(&whole));
}
