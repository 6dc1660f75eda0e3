/*
 * What was found, judged and frozen into a report, at the end of a run or while
 * it goes on.
 */
#ifndef RUN_CONCLUDE_H
#define RUN_CONCLUDE_H

#include "correlate/correlate.h"
#include "report/report.h"

/* What the pairs of one client's capture say of it. */
struct client_calls {
	uint64_t paired;		/* matched or partial */
	uint64_t against_clock;		/* with a way below zero */
};

/* Counts a pair for its client; of no client's: nothing. clients: by client capture, from 0. */
void client_calls_add(struct client_calls *clients, const struct op_pair *pair);

struct found {
	const struct capture_facts *captures;	/* as given: the server's first, then the clients'; copied, but not what they borrow */
	unsigned count;
	enum pair_side side;			/* of a single capture */
	bool has_streams;			/* one of them can be read only once */
	const struct correlate *correlate;	/* for the clocks; NULL with one capture */
	const struct correlate_facts *correlated;	/* the same; borrowed */
	const struct client_calls *clients;	/* by client capture; NULL with one capture */
	struct aggregate *aggregate;		/* of all captures and pairs, finished; borrowed. Its sides are exchanged if the captures were */
	const struct ids *ids;			/* borrowed */
	const struct mountstats_delta *counters;	/* the client's own, over its capture's time; NULL: not known; borrowed */
};

struct conclusion;

struct conclusion *conclude(const struct found *found);
void conclusion_free(struct conclusion *conclusion);	/* NULL allowed */
/* Borrowed, as what `found` lent. */
const struct report *conclusion_report(const struct conclusion *conclusion);

#endif
