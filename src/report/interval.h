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

/*
 * A summary, a line for each operation, a line for each finding; a quiet
 * interval is one line. A header of the columns comes first, and again when a
 * screen has gone by: lines, 0 at first, counts from one to the next. False
 * when writing failed (errno is set).
 */
bool interval_text(const struct interval *interval, const struct text_style *style, unsigned *lines, FILE *out);
/* One object on one line, schema nfscorr-interval/1. */
bool interval_json(const struct interval *interval, FILE *out);

#endif
