/*
 * Keys that knock at a full table: how often, in a table of fixed size.
 *
 * A cell counts the key that lives in it up and, for every call of another key
 * that falls into it, down (Misra and Gries, 1982, with one counter a cell). A
 * key that the cell never counted must have been displaced, so that displaced
 * bounds what a count lacks. Cells are chosen by the id alone, without a seed:
 * who is admitted depends on the capture only.
 */
#ifndef STATS_PROBATION_H
#define STATS_PROBATION_H

#include <stdbool.h>
#include <stdint.h>

struct probation;

struct probation *probation_new(void);
struct probation *probation_copy(const struct probation *probation);	/* NULL allowed */
void probation_free(struct probation *probation);
/*
 * One more call of a key. True when it is the first one beyond `calls`: the key
 * has earned a row for it, and leaves; *before is then the largest number of
 * calls that it may have had here since it last did.
 */
bool probation_knock(struct probation *probation, uint64_t id, unsigned number, uint64_t calls, uint64_t *before);
/* The largest number of calls that a key may have had here since it last left. */
uint64_t probation_bound(const struct probation *probation, uint64_t id);
/* What is known of from becomes a bound in into; counts start again. */
void probation_merge(struct probation *into, const struct probation *from);

#endif
