/*
 * The slope of one thing over another, from sums: of all pairs at once, or
 * around the means of blocks, so that what changes slowly says nothing.
 */
#ifndef STATS_SLOPE_H
#define STATS_SLOPE_H

#include <math.h>

struct slope {
	double n, x, y, xx, yy, xy;
};

static inline void
slope_add(struct slope *slope, double x, double y)
{
	slope->n++;
	slope->x += x;
	slope->y += y;
	slope->xx += x * x;
	slope->yy += y * y;
	slope->xy += x * y;
}

/* Adds a block, around its means, to the whole, and empties it. */
static inline void
slope_close_block(struct slope *whole, struct slope *block)
{
	if (block->n > 1) {
		whole->n += block->n - 1;
		whole->xx += block->xx - block->x * block->x / block->n;
		whole->yy += block->yy - block->y * block->y / block->n;
		whole->xy += block->xy - block->x * block->y / block->n;
	}
	*block = (struct slope){ 0 };
}

/* Of blocks that are closed; 0 with an infinite standard error when there are fewer than `least` pairs. */
static inline double
slope_of(const struct slope *whole, double least, double *error)
{
	double rest = whole->xx > 0 ? whole->yy - whole->xy * whole->xy / whole->xx : 0;

	*error = INFINITY;
	if (whole->n < least || whole->xx <= 0)
		return 0;
	*error = sqrt((rest > 0 ? rest : 0) / whole->n / whole->xx);
	return whole->xy / whole->xx;
}

#endif
