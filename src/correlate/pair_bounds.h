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

/* Halfway; rounded down. */
static inline int64_t
middle_ns(int64_t a, int64_t b)
{
	uint64_t low = (uint64_t)(a < b ? a : b), high = (uint64_t)(a < b ? b : a);

	return (int64_t)(low + (high - low) / 2);
}

/*
 * The unit of a capture's stamps, 1000, 100 or 1 ns, as far as they show: the
 * truth is up to a unit later than a stamp. A clock that is shifted shows the same.
 */
struct resolution {
	bool begun;
	int64_t origin_ns;	/* all stamps so far are whole units from here */
	int64_t unit_ns;
};

void resolution_init(struct resolution *resolution);
/* Takes in the four stamps of an op. */
void resolution_learn(struct resolution *resolution, const struct nfs_op *op);

/*
 * The bounds that a matched pair proves; both packets of a direction count,
 * each at its own time, upper bounds come first. Of a call that was sent again
 * the two sides may have stamped different copies, so it proves nothing; nor
 * does a stamp that was deduced, as it may be late. resolution: by enum
 * pair_side. Returns their number.
 */
unsigned pair_bounds(const struct op_pair *pair, const struct resolution resolution[2],
    struct bound bound[PAIR_BOUNDS]);

#endif
