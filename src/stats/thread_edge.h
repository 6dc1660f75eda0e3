/*
 * The number of threads from what a call's end depends on: departures during
 * its service are chance, the one that let it start moves it along.
 */
#ifndef STATS_THREAD_EDGE_H
#define STATS_THREAD_EDGE_H

#include "stats/thread_points.h"

/*
 * The place, from `least` on, at which departures stop to lie inside the
 * services of the calls that leave so many places later: the number of threads.
 * False when it does not show.
 */
bool thread_find_edge(const struct points *points, uint32_t least, double *threads, double *error);

#endif
