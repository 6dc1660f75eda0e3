/*
 * What the stamps of one matched pair prove of the offset between the clocks.
 */
#ifndef CORRELATE_PAIR_BOUNDS_H
#define CORRELATE_PAIR_BOUNDS_H

#include "correlate/op_pair.h"
#include "correlate/polygon.h"

enum { PAIR_BOUNDS = 4 };

/* a - b; wraps instead of overflowing, so that sums of parts stay exact whatever the stamps are. */
static inline int64_t
wrapping_minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* |a - b|, INT64_MAX at most */
static inline int64_t
distance_ns(int64_t a, int64_t b)
{
	uint64_t distance = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;

	return distance > INT64_MAX ? INT64_MAX : (int64_t)distance;
}

/*
 * By how much the truth may be later than a stamp of this op: stamps of a
 * coarse unit are cut off. 0 for nanoseconds.
 */
int64_t resolution_ns(const struct nfs_op *op);

/*
 * The bounds that a matched pair proves; both packets of a direction count,
 * each at its own time, upper bounds come first. Of a call that was sent again
 * the two sides may have stamped different copies, so it proves nothing; nor
 * does a stamp that was deduced, as it may be late. Returns their number.
 */
unsigned pair_bounds(const struct op_pair *pair, struct bound bound[PAIR_BOUNDS]);

#endif
