/*
 * MATCHED DATA: calls that both sides saw, and where their time went.
 */
#include <glib.h>

#include "base/format.h"
#include "report/text.h"
#include "report/words.h"

static int
compare_rows(const void *a, const void *b, void *context)
{
	const struct matched_row *x = *(const struct matched_row *const *)a;
	const struct matched_row *y = *(const struct matched_row *const *)b;

	(void)context;
	if (x->total.sum_ns != y->total.sum_ns)
		return x->total.sum_ns > y->total.sum_ns ? -1 : 1;
	return 0;
}

static int64_t
difference_mean(const struct matched_row *row)
{
	struct dist difference = { .count = row->total.count, .sum_ns = row->total.sum_ns - row->server.sum_ns };

	return dist_mean(&difference);
}

/* The old script's table: what each side measured, and the difference. */
static void
print_means(const struct page *page, const struct matched_row *const *rows, unsigned count)
{
	char text[FORMAT_SIZE];

	fprintf(page->out, "%-*s %8s %9s %9s %9s\n", NAME_COLUMNS, "  type", "n", "server", "client", "diff");
	for (unsigned i = 0; i < count; i++) {
		const struct matched_row *row = rows[i];

		page_row_name(page, &row->key);
		fprintf(page->out, " %8s", format_count(text, row->count));
		fprintf(page->out, " %9s", format_duration(text, dist_mean(&row->server)));
		fprintf(page->out, " %9s", format_duration(text, dist_mean(&row->total)));
		fprintf(page->out, " %9s\n", format_duration(text, difference_mean(row)));
	}
}

static void
print_part(const struct page *page, int64_t mean_ns, __int128 part_ns, __int128 total_ns)
{
	char text[FORMAT_SIZE];
	double share = 0;
	bool known = share_of(part_ns, total_ns, &share);

	fprintf(page->out, " %7s", format_duration(text, mean_ns));
	fprintf(page->out, " %5s", format_share(text, known, share));
}

static void
print_parts(const struct page *page, const struct matched_row *const *rows, unsigned count)
{
	char text[FORMAT_SIZE];

	fprintf(page->out, "%-*s %8s %7s %5s %7s %5s %6s %7s %7s\n", NAME_COLUMNS, "  type", "n",
	    "server", "", "network", "", "client", "total", "p95");
	for (unsigned i = 0; i < count; i++) {
		const struct matched_row *row = rows[i];

		page_row_name(page, &row->key);
		fprintf(page->out, " %8s", format_count(text, row->count));
		print_part(page, dist_mean(&row->server), row->server.sum_ns, row->total.sum_ns);
		print_part(page, dist_mean(matched_network(row)), matched_network(row)->sum_ns, row->total.sum_ns);
		fprintf(page->out, " %6s", client_of(&row->client, &row->total) == NULL ? "-" :
		    format_duration(text, dist_mean(&row->client)));
		fprintf(page->out, " %7s", format_duration(text, dist_mean(&row->total)));
		fprintf(page->out, " %7s\n", format_duration(text, dist_quantile(&row->total, 950)));
	}
}

/* All operations together: by time and by call. */
static void
print_shares(const struct page *page)
{
	static const char *const names[PARTS] = { [PART_SERVER] = "server", [PART_NETWORK] = "network",
	    [PART_CLIENT] = "client" };
	const struct aggregate_totals *totals = aggregate_totals(page->report->aggregate);
	const __int128 sum_ns[PARTS] = { [PART_SERVER] = totals->server_ns, [PART_NETWORK] = aggregate_network_ns(totals),
	    [PART_CLIENT] = totals->client_ns };
	unsigned parts = aggregate_knows_client(totals) ? PARTS : PART_CLIENT;
	g_autoptr(GString) text = g_string_new("of all time:");

	for (unsigned part = 0; part < parts; part++) {
		char text_share[FORMAT_SIZE];
		double share = 0;
		bool known = share_of(sum_ns[part], totals->total_ns, &share);

		g_string_append_printf(text, "%s %s %s", part > 0 ? "," : "", names[part],
		    format_share(text_share, known, share));
	}
	g_string_append_printf(text, "; the %s part is", parts == PARTS ? "largest" : "larger");
	for (unsigned part = 0; part < parts; part++) {
		char calls[FORMAT_SIZE];

		g_string_append_printf(text, "%s the %s in %s%s", part > 0 ? "," : "", names[part],
		    format_count(calls, aggregate_by_call(totals)[part]), part == 0 ? " calls" : "");
	}
	g_string_append_printf(text, "; %" G_GUINT64_FORMAT " calls have a part below zero", totals->negative);
	print_wrapped(page->out, "  ", text->str);
}

/* What segments lost between the captures cost. */
static void
print_loss(const struct page *page)
{
	const struct aggregate_totals *totals = aggregate_totals(page->report->aggregate);
	double share = 0;
	char part[FORMAT_SIZE], mean[FORMAT_SIZE], all[FORMAT_SIZE], segments[FORMAT_SIZE], calls[FORMAT_SIZE];
	g_autofree char *text = NULL;
	bool known = share_of(totals->retransmit_ns, totals->total_ns, &share);

	if (totals->delayed_calls == 0)
		return;
	text = g_strdup_printf("retransmission, a part of the network: %s of all time; %s lost segments delayed %s "
	    "calls, %s each, %s in all", format_share(part, known, share), format_count(segments, totals->lost_segments),
	    format_count(calls, totals->delayed_calls),
	    format_duration(mean, (int64_t)(totals->retransmit_ns / totals->delayed_calls)),
	    format_duration(all, (int64_t)MIN(totals->retransmit_ns, INT64_MAX)));
	print_wrapped(page->out, "  ", text);
}

static bool
clocks_given(const struct report *report)
{
	return report->two_sided && report->clocks[0].mode == CLOCK_GIVEN;
}

/* A mean of values that are each within a bound is within the mean of the bounds. */
static void
print_ways(const struct page *page, const struct matched_row *const *rows, unsigned count)
{
	char text[FORMAT_SIZE];
	bool any = false;

	for (unsigned i = 0; i < count; i++)
		any = any || rows[i]->request.count > 0;
	if (!any)
		return;
	fputs(clocks_given(page->report) ?
	    "  network and client by way (clocks as given; +- is how far that can be off)\n" :
	    "  network and client by way (clocks aligned; +- is a hard bound on both means)\n", page->out);
	fprintf(page->out, "%-*s %8s %9s %9s %9s\n", NAME_COLUMNS, "  type", "n", "request", "reply", "+-");
	for (unsigned i = 0; i < count; i++) {
		const struct matched_row *row = rows[i];

		if (row->request.count == 0)
			continue;
		page_row_name(page, &row->key);
		fprintf(page->out, " %8s", format_count(text, row->request.count));
		fprintf(page->out, " %9s", format_duration(text, dist_mean(&row->request)));
		fprintf(page->out, " %9s", format_duration(text, dist_mean(&row->reply)));
		fprintf(page->out, " %9s\n", format_duration(text, dist_mean(&row->clock_error)));
	}
}

static void
print_processed(const struct page *page)
{
	const struct report *report = page->report;
	const struct correlate_facts *facts = report->correlated;
	const struct aggregate_totals *totals = aggregate_totals(report->aggregate);
	uint64_t packets = 0, missed;
	g_autofree char *text = NULL;

	for (unsigned i = 0; i < report->capture_count; i++)
		packets += report->captures[i].packets;
	if (facts == NULL) {
		fprintf(page->out, "Processed %" G_GUINT64_FORMAT " packets (one capture: nothing to match)\n", packets);
		return;
	}
	missed = facts->matches[MATCH_PARTIAL] + facts->matches[MATCH_SERVER_ONLY] +
	    facts->matches[MATCH_CLIENT_ONLY] + facts->matches[MATCH_AMBIGUOUS];
	fprintf(page->out, "Processed %" G_GUINT64_FORMAT " packets (Matched: %" G_GUINT64_FORMAT " Missed: %"
	    G_GUINT64_FORMAT ")\n", packets, totals->matched + totals->callbacks, missed);
	if (missed == 0)
		return;
	text = g_strdup_printf("missed calls: %" G_GUINT64_FORMAT " on the server only, %" G_GUINT64_FORMAT
	    " on the client only, %" G_GUINT64_FORMAT " on both with a stamp missing, %" G_GUINT64_FORMAT
	    " that fit more than one call", facts->matches[MATCH_SERVER_ONLY], facts->matches[MATCH_CLIENT_ONLY],
	    facts->matches[MATCH_PARTIAL], facts->matches[MATCH_AMBIGUOUS]);
	print_wrapped(page->out, "  ", text);
}

void
text_matched(const struct page *page)
{
	unsigned count, shown;
	const struct matched_row *const *rows = aggregate_matched(page->report->aggregate, &count);
	g_autofree const struct matched_row **order = g_new(const struct matched_row *, count);

	for (unsigned i = 0; i < count; i++)
		order[i] = rows[i];
	if (count > 0)
		g_qsort_with_data(order, (int)count, sizeof(*order), compare_rows, NULL);
	shown = page_rows(page, count, TEXT_ROWS);
	if (count > 0) {
		page_heading(page, "MATCHED DATA (means; diff = client - server)");
		print_means(page, order, shown);
		page_left_out(page, shown, count);
		page_heading(page, "WHERE THE TIME GOES (means and shares of total)");
		print_parts(page, order, shown);
		print_shares(page);
		print_loss(page);
		print_ways(page, order, shown);
	}
	fputc('\n', page->out);
	print_processed(page);
}
