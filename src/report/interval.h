/*
 * What a live run prints every few seconds: an interval's lines, or its object.
 */
#ifndef REPORT_INTERVAL_H
#define REPORT_INTERVAL_H

#include "report/report.h"

struct mountstats_delta;

/*
 * report is frozen from an interval's aggregate (aggregate_new_interval), to
 * which the calls still under way were added last, as OP_IN_FLIGHT, and from
 * the facts since its begin (stats/capture_since.h). The side that is shown is
 * the client's where the report has one.
 */
struct interval {
	int64_t from_ns, to_ns;
	const struct report *report;
	uint64_t dropped_by_kernel, dropped_by_interface;	/* in the interval */
	uint64_t outstanding;		/* calls in flight now */
	int64_t oldest_call_ns;		/* age of the oldest of them; -1: none */
	int64_t lag_ns;			/* two-sided: how far the comparison is behind; -1: one-sided */
	const struct mountstats_delta *counters;	/* NULL: no NFS mounted or not readable */
};

enum { INTERVAL_FINDINGS = 32 };	/* that are remembered at a time */

/* What the lines of the intervals before say already; all 0 at first. */
struct interval_page {
	unsigned lines;			/* since the header of the columns */
	struct interval_told {
		const char *id;		/* of a finding; NULL: free */
		enum confidence confidence;
		unsigned intervals;	/* since it was told */
	} told[INTERVAL_FINDINGS];
};

/*
 * A summary, a line for each operation, a line for each finding; a quiet
 * interval is one line. A header of the columns comes first, and again when a
 * screen has gone by. A finding that was told with the same confidence lately
 * is not told again, unless verbose. False when writing failed (errno is set).
 */
bool interval_text(const struct interval *interval, const struct text_style *style, struct interval_page *page, FILE *out);
/* One object on one line, schema nfscorr-interval/1. */
bool interval_json(const struct interval *interval, FILE *out);

#endif
