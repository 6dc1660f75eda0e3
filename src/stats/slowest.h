/*
 * The slowest calls: a heap of a fixed size whose content does not depend on
 * the order in which calls came.
 */
#ifndef STATS_SLOWEST_H
#define STATS_SLOWEST_H

#include "stats/aggregate.h"

struct slowest;

struct slowest *slowest_new(unsigned top);
void slowest_free(struct slowest *slowest);
/* Copies the pair if it is among the slowest so far; rank_ns is what it is ordered by. */
void slowest_add(struct slowest *slowest, const struct op_pair *pair, int64_t rank_ns);
struct slowest *slowest_copy(const struct slowest *slowest);
void slowest_merge(struct slowest *into, const struct slowest *from);
/* Slowest first; borrowed until the next call. */
const struct slow_call *slowest_view(struct slowest *slowest, unsigned *count);
/* What a call must exceed or equal to be kept; INT64_MIN while there is room, INT64_MAX when none is wanted. */
int64_t slowest_threshold_ns(const struct slowest *slowest);

#endif
