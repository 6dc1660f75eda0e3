/*
 * Matched calls by one property: a capped table with a row for each value and
 * operation.
 */
#ifndef STATS_BREAKDOWN_H
#define STATS_BREAKDOWN_H

#include <glib.h>

#include "stats/rows.h"

/* The tables of all kinds. */
struct breakdowns;

/* keys, borrowed, numbers the operations. */
struct breakdowns *breakdowns_new(struct row_keys *keys);
/* The same with memory of its own; keys, borrowed, is a copy of its keys. */
struct breakdowns *breakdowns_copy(const struct breakdowns *breakdowns, struct row_keys *keys);
void breakdowns_free(struct breakdowns *breakdowns);
/* Counts a matched pair. */
void breakdowns_add(struct breakdowns *breakdowns, const struct op_pair *pair, const struct pair_gist *gist);
void breakdowns_merge(struct breakdowns *into, const struct breakdowns *from);
/* Fills view with const struct breakdown_row *, at most BREAKDOWN_ROWS and the others; see aggregate.h. */
void breakdowns_view(struct breakdowns *breakdowns, enum breakdown_kind kind, GPtrArray *view);
int64_t breakdowns_window_ns(const struct breakdowns *breakdowns);

#endif
