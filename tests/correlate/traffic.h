/*
 * Matched pairs whose truth is known: calls between two hosts whose clocks
 * drift, step and stamp as told. The same configuration gives the same pairs.
 */
#ifndef CORRELATE_TRAFFIC_H
#define CORRELATE_TRAFFIC_H

#include "correlate/op_pair.h"

enum { TRAFFIC_CHANGES = 8 };

/* Of a clock: from at_ns on (real time since the start) it is by_ns ahead, and drifts by_ppb more. */
struct clock_change {
	int64_t at_ns, by_ns, by_ppb;
};

struct host_clock {
	int64_t start_ns;		/* what it shows when the traffic starts */
	int64_t drift_ppb;		/* against real time */
	int64_t unit_ns;		/* stamps are multiples of it */
	unsigned changes;
	struct clock_change change[TRAFFIC_CHANGES];
};

struct traffic_config {
	uint32_t seed;
	unsigned calls;
	int64_t gap_ns;			/* between calls, mean */
	int64_t service_ns;		/* mean */
	int64_t delay_ns[2];		/* call, reply: least */
	int64_t jitter_ns[2];		/* mean of what comes on top, with a heavy tail */
	int64_t transfer_ns;		/* of a record of several packets, mean; a third of all */
	double outliers;		/* share of pairs with one stamp that is wrong by outlier_ns or more */
	int64_t outlier_ns;
	double deduced;			/* share of stamps that are deduced, and wrong */
	double resent;			/* share of calls that were sent again, stamps of different copies */
	double unmatched;		/* pairs of other kinds among them */
	struct host_clock clock[2];	/* enum pair_side */
};

struct truth {
	bool wrong;			/* a stamp of it is made up: deduced, resent, or an outlier */
	bool outlier;
	bool crosses;			/* a clock changed between its stamps */
	long double request_ns, reply_ns;	/* client's clock */
	int64_t real_ns;		/* when the server had the call */
	int64_t offset_ns;		/* then */
};

struct traffic {
	unsigned pairs;
	struct op_pair *pair;		/* in the order in which they are over; xid is the index */
	struct truth *truth;
};

void traffic_config_init(struct traffic_config *config, uint32_t seed);
struct traffic *traffic_new(const struct traffic_config *config);
void traffic_free(struct traffic *traffic);
/* What a clock shows, unrounded, less the start of the server's clock. */
long double clock_shows(const struct traffic_config *config, enum pair_side side, int64_t real_ns);

#endif
