/*
 * Whether a trace holds the cause of a finding. Known from what the trace maker
 * was asked for and from its truth, never from what the program says.
 */
#ifndef CAUSES_H
#define CAUSES_H

#include "run/traces.h"

enum cause {
	CAUSE_ABSENT,		/* the finding must not be there, but with low confidence */
	CAUSE_UNCLEAR,		/* one may see it so or so */
	CAUSE_PRESENT,		/* the finding must be there */
};

/* Sums and shares over the calls that were answered; times of the ideal clock. */
struct facts {
	unsigned calls;
	double total_ns, server_ns, network_ns;		/* means */
	double service_ns, thread_wait_ns, disk_wait_ns, slot_wait_ns;
	double waited_thread, waited_slot;		/* shares of the calls */
	double least_network_ns;
	double loss_cost_share;		/* of the sum of totals; of calls that lost segments, what is above the others' mean */
	unsigned put_off;		/* answered NFS3ERR_JUKEBOX */
	unsigned lost_segments;		/* with bytes of calls or replies */
	unsigned lost_between;		/* the same, of clients with a capture */
	double idle_share;		/* of the time from the first call to the last reply; of the client that idles least */
	double in_flight;		/* mean, while there is one; of all clients with a capture */
	double most_in_flight;		/* of one connection */
	double top_share;		/* of the busy time of connections, with as many as ever in flight there */
	double line_use;		/* of the busiest client's busier direction, payload alone */
	double window_closed_ns;	/* the server's, mean */
	double reads;			/* share of the calls */
	double hidden;			/* the same of those that the server's capture does not hold in full */
};

/* first_only: as if the first client were the only one. */
void facts_of(const struct trace *trace, bool first_only, struct facts *facts);

/*
 * One row a rule. `cause` says what the trace holds; `wrong`, or NULL, looks at
 * the evidence and the text of a finding that is there with its cause and says
 * what is wrong with them, NULL: nothing. Taken by the caller.
 */
struct rule {
	const char *id;
	const char *column;	/* of the table */
	enum cause (*cause)(const struct trace *trace, const struct facts *facts);
	char *(*wrong)(const struct trace *trace, const struct facts *facts, json_t *finding);
};

/* Ends with an id of NULL. */
extern const struct rule rules[];

#endif
