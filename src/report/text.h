/*
 * The sections of the text report, one function each.
 */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include "report/report.h"

struct page {
	const struct report *report;
	FILE *out;
	bool colour, verbose;
};

/* A line of its own in front of a section. */
void page_heading(const struct page *page, const char *title);
/* "3 READ ", padded to the column of numbers; a longer name takes a line of its own. */
void page_row_name(const struct page *page, const struct row_key *key);
enum {
	NAME_COLUMNS = 16,	/* of page_row_name, the indent included */
	TEXT_ROWS = 40,		/* of a table, unless verbose; the JSON report has all */
};
/* How many of a table's rows are printed: at most limit, unless the report is verbose. */
unsigned page_rows(const struct page *page, unsigned rows, unsigned limit);
/* "... and 3 more" when only shown of all rows were printed. */
void page_left_out(const struct page *page, unsigned shown, unsigned all);

void text_findings(const struct page *page);
void text_captures(const struct page *page);	/* what was read and how good it is */
void text_hosts(const struct page *page);	/* what they say of themselves */
void text_raw(const struct page *page);		/* RAW DATA */
void text_matched(const struct page *page);	/* MATCHED DATA and where the time goes */
void text_slowest(const struct page *page);
void text_breakdowns(const struct page *page);
void text_concurrency(const struct page *page);	/* calls in flight */
void text_layers(const struct page *page);	/* the client's own counters */
void text_over_time(const struct page *page);
void text_notes(const struct page *page);	/* definitions and what a capture cannot show */

#endif
