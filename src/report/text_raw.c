/*
 * RAW DATA: what each side saw by itself, a row an operation, and how the
 * latencies are spread.
 */
#include <glib.h>

#include "base/arith.h"
#include "base/format.h"
#include "report/sides.h"
#include "report/text.h"
#include "report/words.h"

enum {
	/* <1us, then a column for each power of two from 1us on, the last one 2^21 us and more. */
	SPREAD_COLUMNS = 23,
	SPREAD_ON_LINE = 10,
};

static const char *const spread_titles[SPREAD_COLUMNS] = {
	"<1us", "1us", "2us", "4us", "8us", "16us", "32us", "64us", "128us", "256us", "512us",
	"1ms", "2ms", "4ms", "8ms", "16ms", "32ms", "64ms", "128ms", "256ms", "512ms", "1s", "2s+",
};

struct spread {
	uint64_t calls[SPREAD_COLUMNS];
};

/*
 * The edges, 1000 * 2^k ns, are edges of the histogram's buckets, which are
 * 4 * 2^k ns wide there: no call is in the wrong column.
 */
static void
spread_bucket(void *context, int64_t lower_ns, uint64_t calls)
{
	struct spread *spread = context;
	unsigned column = 0;

	while (column + 1 < SPREAD_COLUMNS && lower_ns >= (int64_t)NS_PER_US << column)
		column++;
	spread->calls[column] += calls;
}

/* The columns from the first to the last that any row has. */
static void
print_spreads(const struct page *page, const struct side_line *const *lines, const struct spread *spreads,
    unsigned count)
{
	unsigned first = SPREAD_COLUMNS, last = 0;
	char text[FORMAT_SIZE];

	for (unsigned i = 0; i < count; i++) {
		for (unsigned column = 0; column < SPREAD_COLUMNS; column++) {
			if (spreads[i].calls[column] == 0)
				continue;
			first = MIN(first, column);
			last = MAX(last, column);
		}
	}
	if (first > last)
		return;
	fputs("  calls from each column's time up to the next one's (1ms = 1024us, 1s = 2^20us)\n", page->out);
	for (unsigned from = first; from <= last; from += SPREAD_ON_LINE) {
		unsigned to = MIN(last + 1, from + SPREAD_ON_LINE);

		fprintf(page->out, "%-*s", NAME_COLUMNS, "  type");
		for (unsigned column = from; column < to; column++)
			fprintf(page->out, " %5s", spread_titles[column]);
		fputc('\n', page->out);
		for (unsigned i = 0; i < count; i++) {
			page_row_name(page, &lines[i]->row.key);
			for (unsigned column = from; column < to; column++)
				fprintf(page->out, " %5s", spreads[i].calls[column] == 0 ? "." :
				    format_short(text, (double)spreads[i].calls[column]));
			fputc('\n', page->out);
		}
	}
}

static void
print_row(const struct page *page, enum pair_side side, const struct side_line *line)
{
	const struct dist *latency = &line->row.latency[side];
	char count[FORMAT_SIZE], calls[FORMAT_SIZE], bytes[FORMAT_SIZE], text[FORMAT_SIZE];

	page_row_name(page, &line->row.key);
	fprintf(page->out, " %8s %7s %6s", format_count(count, line->row.count),
	    line->rated ? format_short(calls, line->per_second) : "-",
	    line->rated && line->row.sized > 0 ? format_short(bytes, line->bytes_per_second) : "-");
	if (latency->count == 0) {
		for (unsigned i = 0; i < 5; i++)
			fprintf(page->out, " %7s", "-");
	} else {
		fprintf(page->out, " %7s", format_duration(text, dist_mean(latency)));
		fprintf(page->out, " %7s", format_duration(text, dist_quantile(latency, 500)));
		fprintf(page->out, " %7s", format_duration(text, dist_quantile(latency, 950)));
		fprintf(page->out, " %7s", format_duration(text, dist_quantile(latency, 990)));
		fprintf(page->out, " %7s", format_duration(text, latency->max_ns));
	}
	fputc('\n', page->out);
}

static void
append_exception(GString *text, uint64_t count, const char *what)
{
	if (count > 0)
		g_string_append_printf(text, "%s %s %" G_GUINT64_FORMAT, text->str[text->len - 1] == ':' ? "" : ",",
		    what, count);
}

/* What a mean does not tell: calls that failed, had no answer, or have no time. */
static void
print_exceptions(const struct page *page, enum pair_side side, const struct side_line *line)
{
	const struct side_row *row = &line->row;
	uint64_t untimed = row->count - row->latency[side].count;
	char version[NAME_SIZE], procedure[NAME_SIZE];
	g_autoptr(GString) text = g_string_new(NULL);

	if (row->errors == 0 && row->unanswered == 0 && untimed == 0)
		return;
	row_names(&row->key, version, procedure);
	g_string_printf(text, "%s %s:", version, procedure);
	append_exception(text, row->errors, "replies with an error");
	append_exception(text, row->unanswered, "calls without reply");
	append_exception(text, untimed, "answered calls with a stamp missing");
	print_wrapped(page->out, "  ", text->str);
}

/* One capture, of the client: an estimate, and called one. */
static void
print_estimates(const struct page *page, const struct side_line *const *lines, unsigned count)
{
	char text[FORMAT_SIZE];

	print_wrapped(page->out, "  ", "server time, ESTIMATED: latency - smallest round trip seen before the call ended. "
	    "Transfer and queues on the way are still in it; the true time is at most the latency.");
	fprintf(page->out, "%-*s %8s %7s %7s %7s %7s %7s\n", NAME_COLUMNS, "  type", "n", "min", "mean", "p50", "p95",
	    "max");
	for (unsigned i = 0; i < count; i++) {
		const struct dist *estimate = &lines[i]->row.server_estimate;

		if (estimate->count == 0)
			continue;
		page_row_name(page, &lines[i]->row.key);
		fprintf(page->out, " %8s", format_count(text, estimate->count));
		fprintf(page->out, " %7s", format_duration(text, estimate->min_ns));
		fprintf(page->out, " %7s", format_duration(text, dist_mean(estimate)));
		fprintf(page->out, " %7s", format_duration(text, dist_quantile(estimate, 500)));
		fprintf(page->out, " %7s", format_duration(text, dist_quantile(estimate, 950)));
		fprintf(page->out, " %7s\n", format_duration(text, estimate->max_ns));
	}
}

static bool
has_estimates(const struct side_line *const *lines, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (lines[i]->row.server_estimate.count > 0)
			return true;
	}
	return false;
}

static int
compare_lines(const void *a, const void *b, void *context)
{
	const struct side_line *x = *(const struct side_line *const *)a;
	const struct side_line *y = *(const struct side_line *const *)b;
	const enum pair_side *side = context;
	__int128 x_ns = x->row.latency[*side].sum_ns, y_ns = y->row.latency[*side].sum_ns;

	if (x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void
print_lines(const struct page *page, enum pair_side side, const struct side_line *const *lines, unsigned count)
{
	g_autofree struct spread *spreads = g_new0(struct spread, count);

	fprintf(page->out, "%-*s %8s %7s %6s %7s %7s %7s %7s %7s\n", NAME_COLUMNS, "  type", "n", "calls/s", "B/s",
	    "mean", "p50", "p95", "p99", "max");
	for (unsigned i = 0; i < count; i++) {
		print_row(page, side, lines[i]);
		dist_each_bucket(&lines[i]->row.latency[side], spread_bucket, &spreads[i]);
	}
	for (unsigned i = 0; i < count; i++)
		print_exceptions(page, side, lines[i]);
	print_spreads(page, lines, spreads, count);
	if (side == PAIR_CLIENT && !page->report->two_sided && has_estimates(lines, count))
		print_estimates(page, lines, count);
}

static void
print_side(const struct page *page, enum pair_side side)
{
	unsigned count, shown;
	struct side_line *lines = side_lines(page->report, side, &count);
	g_autofree const struct side_line **order = g_new(const struct side_line *, count);

	page_heading(page, side == PAIR_SERVER ?
	    "RAW DATA: SERVER (first byte of the reply - last byte of the call)" :
	    "RAW DATA: CLIENT (last byte of the reply - first byte of the call)");
	for (unsigned i = 0; i < count; i++)
		order[i] = &lines[i];
	if (count > 0)
		qsort_r(order, count, sizeof(*order), compare_lines, &side);
	shown = page_rows(page, count, TEXT_ROWS);
	if (count == 0)
		fputs("  no call\n", page->out);
	else
		print_lines(page, side, order, shown);
	page_left_out(page, shown, count);
	side_lines_free(lines, count);
}

void
text_raw(const struct page *page)
{
	for (unsigned side = PAIR_SERVER; side <= PAIR_CLIENT; side++) {
		if (report_has_side(page->report, side))
			print_side(page, side);
	}
}
