/*
 * The number of threads from the order and the rhythm in which calls leave,
 * without knowing what a call takes.
 */
#ifndef STATS_THREAD_PATTERN_H
#define STATS_THREAD_PATTERN_H

#include "stats/thread_points.h"

enum { SCANNED_THREADS = 1024 };	/* at most, where many numbers are tried */

/*
 * True when the number of threads that calls need stops at once at the fewest
 * that all can do with, as it does when services may be short: of the calls in
 * service any may leave first, the youngest too. It tapers off when they take
 * some time at least, and then there may be more threads.
 */
bool thread_is_sharp(const struct points *points, uint32_t least);
/*
 * Services that hardly vary show the number of threads by themselves: replies
 * leave in the pattern in which others left so many places before them. 0: they
 * do not.
 */
uint32_t thread_find_pattern(const struct points *points, uint32_t least);
/*
 * One thread: no call overtakes another although services vary, and what they
 * take has nothing to do with one another.
 */
bool thread_is_one(const struct points *points);
/* With the right number of threads services vary least, or nearly so: more of them add the gaps between departures. */
bool thread_is_least_spread(const struct points *points, uint32_t least, uint32_t threads);

#endif
