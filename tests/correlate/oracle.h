/*
 * The exact optimum that the clock stage is measured against: all bounds of
 * all pairs at once, by nested search instead of a polygon.
 */
#ifndef CORRELATE_ORACLE_H
#define CORRELATE_ORACLE_H

#include "correlate/op_pair.h"

/*
 * The lowest and the highest offset that a line with a slope of at most 0.001
 * and within the bounds of all pairs has between two times of the server.
 * Coordinates are relative to the first pair's; false when there is none.
 */
bool oracle_offset(const struct op_pair *pair, unsigned pairs, int64_t from_ns, int64_t to_ns,
    long double *low_ns, long double *high_ns);

#endif
