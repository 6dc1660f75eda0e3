/*
 * Matched calls by one property: a capped table with a row for each value and
 * operation.
 */
#ifndef STATS_BREAKDOWN_H
#define STATS_BREAKDOWN_H

#include <glib.h>

#include "stats/rows.h"

struct breakdown;

/* keys, borrowed, numbers the operations. */
struct breakdown *breakdown_new(enum breakdown_kind kind, struct row_keys *keys);
/* The same with memory of its own; keys, borrowed, is a copy of its keys. */
struct breakdown *breakdown_copy(const struct breakdown *breakdown, struct row_keys *keys);
void breakdown_free(struct breakdown *breakdown);
/*
 * Counts a matched pair in all of them, indexed by kind: the number of its
 * operation, the bucket of its total_ns, the bytes that it moved (0 when not known).
 */
void breakdowns_add(struct breakdown *const breakdowns[BREAKDOWN_KINDS], const struct op_pair *pair, unsigned number,
    unsigned bucket, uint32_t moved_bytes);
void breakdown_merge(struct breakdown *into, const struct breakdown *from);
/* Fills view with const struct breakdown_row *, at most BREAKDOWN_ROWS and the others; see aggregate.h. */
void breakdown_view(struct breakdown *breakdown, GPtrArray *view);
int64_t breakdown_window_ns(const struct breakdown *breakdown);

#endif
