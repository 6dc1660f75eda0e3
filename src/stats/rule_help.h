/*
 * What several rules need.
 */
#ifndef STATS_RULE_HELP_H
#define STATS_RULE_HELP_H

#include "stats/rules.h"

enum { PERCENT = 100 };

/* part is at least so many per cent of the whole. */
static inline bool
at_least(double part, double whole, unsigned percent)
{
	return part * PERCENT >= whole * percent;
}

/* "94 %", "5.4 %": for sentences. */
enum { PERCENT_SIZE = 16 };
const char *percent_words(char text[PERCENT_SIZE], double share);
/* " (client 10.0.0.1)" when there are several client captures, else ""; caller frees. */
char *client_words(const struct facts *facts, unsigned client);

/* One side's answered calls: with one capture its own, else the server's or all clients'. */
struct side_sum {
	uint64_t calls;			/* with a latency */
	__int128 latency_ns;
	uint64_t estimated;		/* of a client's: with an estimate of the server's time */
	__int128 estimate_ns;
};
struct side_sum side_sum(const struct facts *facts, enum pair_side side);

/*
 * Replies wait in the server for acknowledgements of the client: on average
 * nearly as much is under way as the connections ever had. What passes there
 * before a reply's first byte is then no work of the server's.
 */
bool replies_wait_for_window(const struct facts *facts);

/*
 * Adds up the client's own counters of the servers in its capture's rows of a
 * table: of those with a flat top of that height, 0: of all.
 */
void sum_counters(const struct facts *facts, enum concurrency_table table, uint32_t top, struct mountstats_sums *sums);
/* What passed in the client outside the wire, by its counters: before calls were sent and after their replies. */
static inline uint64_t
counters_outside_ms(const struct mountstats_sums *sums)
{
	return sums->execute_ms - MIN(sums->execute_ms, sums->rtt_ms);
}

#endif
