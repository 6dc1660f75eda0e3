/*
 * The rows of one side: of its capture, or of all clients' captures together.
 */
#ifndef REPORT_SIDES_H
#define REPORT_SIDES_H

#include "report/report.h"

struct side_line {
	struct side_row row;		/* dists owned */
	/*
	 * Calls and moved bytes per second: each capture's over its own span,
	 * from its first to its last packet, added. Valid when rated.
	 */
	double per_second, bytes_per_second;
	bool rated;
};

/* One line an operation, in the order of aggregate_side(). Caller frees with side_lines_free. */
struct side_line *side_lines(const struct report *report, enum pair_side side, unsigned *count);
void side_lines_free(struct side_line *lines, unsigned count);
/* True when a capture of the report was made on this side. */
bool report_has_side(const struct report *report, enum pair_side side);

#endif
