/*
 * Two captures that go on, compared as far as both have come: operations of
 * either side as they finish, in whatever order the sides take turns, and pairs
 * out. An op waits until its turn has come by what is known of the clocks, as if
 * both captures were files. One side may stall, come late or end: of too many
 * that wait for it the oldest go on without it, and still wait for their
 * counterparts among those that correlation keeps.
 *
 * A stream cannot be begun again. So where the clocks are further apart than
 * correlation assumes, the distance is looked for in what comes, and what was
 * read until it is found stays alone.
 */
#ifndef RUN_COMPARISON_H
#define RUN_COMPARISON_H

#include "base/log.h"
#include "correlate/correlate.h"

struct comparison;

struct comparison_config {
	enum clock_mode clock_mode;
	int64_t clock_given_ns;
	uint32_t limit;			/* calls of a side that wait for their turn, and for their counterparts */
	pair_sink_fn *each;		/* every pair, and every call that stays alone */
	void *context;
	struct log *log;
};

struct comparison *comparison_new(const struct comparison_config *config);
void comparison_free(struct comparison *comparison);	/* NULL allowed */
/* capture: 0 the server's, 1 the client's. Both are borrowed for the call. */
void comparison_push(struct comparison *comparison, unsigned capture, const struct nfs_op *op);
void comparison_push_event(struct comparison *comparison, unsigned capture, const struct tcp_event *event);
/* What capture 0 or 1 still brings comes after this time, by its own clock. */
void comparison_pass_time(struct comparison *comparison, unsigned capture, int64_t now_ns);
/* A capture brings no more. */
void comparison_over(struct comparison *comparison, unsigned capture);
/* Neither does: what waits comes out. Once more: nothing happens. */
void comparison_end(struct comparison *comparison);

/* For the clocks and ids; another one once a distance was found, before any pair. */
struct correlate *comparison_correlate(const struct comparison *comparison);
/* All so far. */
void comparison_facts(const struct comparison *comparison, struct correlate_facts *facts);
/*
 * How far the comparison is behind a capture: the time, by its clock, from its
 * last call that has a pair or was passed by the other side to its last call.
 */
int64_t comparison_lag_ns(const struct comparison *comparison, unsigned capture);

#endif
