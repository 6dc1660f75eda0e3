/*
 * The number of threads from calls that found a free one: those that waited
 * must have services like theirs.
 */
#ifndef STATS_THREAD_LEARN_H
#define STATS_THREAD_LEARN_H

#include "stats/thread_points.h"

/*
 * What calls that found a free thread for certain say about the number, from
 * `least` up: as more threads are known, more such calls are. False when there
 * are too few of them.
 */
bool thread_learn(const struct points *points, uint32_t least, double *threads, double *error);

#endif
