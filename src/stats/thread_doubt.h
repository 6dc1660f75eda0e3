/*
 * What speaks against threads as that for which calls wait.
 */
#ifndef STATS_THREAD_DOUBT_H
#define STATS_THREAD_DOUBT_H

#include "stats/thread_points.h"

/*
 * Fills in slows, reply_bound, compared, found_free and all_kinds, for so many
 * threads; result->threads is 0 when they are a bound only.
 */
void thread_doubt(const struct points *points, uint32_t threads, struct thread_fit *result);

#endif
