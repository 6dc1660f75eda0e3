/*
 * What one capture says of an interval: the difference of two looks at what it
 * says of itself.
 *
 * Counters are subtracted. Of calls it holds in each interval, as in the whole,
 *
 *     calls = answered + unanswered + lost in capture + in flight + evicted
 *
 * where the last but one are those under way at the interval's end, and the
 * others came to their end in it: a call that began earlier counts in each
 * interval at whose end it was under way, and at last in the one in which it
 * ended. So the sums over all intervals of a run are its own, but for calls and
 * those in flight.
 *
 * What later proves to be a copy of an earlier call is taken back by the decoder:
 * where that makes a counter smaller than it was, it counts as unchanged.
 */
#ifndef STATS_CAPTURE_SINCE_H
#define STATS_CAPTURE_SINCE_H

#include "correlate/correlate.h"
#include "stats/capture_facts.h"

/*
 * Makes kept, which is all zero or was kept before, a look that stays as it is
 * while the capture goes on: distributions and lines are its own. What else is
 * borrowed stays so.
 */
void capture_facts_keep(struct capture_facts *kept, const struct capture_facts *now);
/*
 * Makes since, whatever it held, the facts of the interval that began with the
 * earlier look and ends with this one; distributions and lines are its own.
 * from_ns and to_ns, that interval by the capture's clock, become its first and
 * last stamps, so that rates are over all of it. Largest values so far stay as
 * they are where nothing tells when they came.
 */
void capture_facts_since(struct capture_facts *since, const struct capture_facts *earlier,
    const struct capture_facts *now, int64_t from_ns, int64_t to_ns);
/* Frees what one of these two functions made. */
void capture_facts_drop(struct capture_facts *facts);

/* The same of what correlation found; overlap: from the last matched call before to the last one. */
void correlate_facts_since(struct correlate_facts *since, const struct correlate_facts *earlier,
    const struct correlate_facts *now);

#endif
