/*
 * Calls in flight: at the server, on connections, at clients.
 */
#include <glib.h>
#include <string.h>

#include "base/format.h"
#include "report/sides.h"
#include "report/text.h"

enum { ROWS_SHOWN = 10, NAMES = 36, BAR = 24 };

static void
print_depth(const struct page *page, const char *name, const struct depth *depth)
{
	struct depth_plateau plateau;
	int64_t busy_ns = depth_busy_ns(depth);
	char text[FORMAT_SIZE];
	double mean = 0;
	bool has_mean = depth_mean(depth, &mean);

	/* A name that does not fit its column has lines of its own. */
	if (strlen(name) + 2 > NAMES) {
		print_wrapped(page->out, "  ", name);
		name = "";
	}
	fprintf(page->out, "  %-*s", NAMES - 2, name);
	fprintf(page->out, " %8s", format_count(text, depth->calls));
	fprintf(page->out, " %5s", format_short(text, depth->max));
	if (has_mean)
		fprintf(page->out, " %6.1f", mean);
	else
		fprintf(page->out, " %6s", "-");
	fprintf(page->out, " %5s", format_share(text, depth->span_ns > 0, (double)busy_ns / (double)depth->span_ns));
	if (depth_plateau(depth, 2, &plateau))
		fprintf(page->out, " %4" G_GUINT32_FORMAT " %s\n", plateau.top, format_share(text, true, plateau.share));
	else
		fprintf(page->out, " %4s\n", "-");
}

static void
print_rows(const struct page *page, const struct concurrency *concurrency, enum concurrency_table table)
{
	unsigned count, shown;
	g_autofree const struct concurrency_row **rows = concurrency_rows(concurrency, table, &count);
	const struct ids *ids = page->report->ids;

	shown = page_rows(page, count, ROWS_SHOWN);
	for (unsigned i = 0; i < shown; i++) {
		char client[LABEL_SIZE], server[LABEL_SIZE], name[2 * LABEL_SIZE + 32];

		label_address(ids, &rows[i]->client, client);
		label_address(ids, &rows[i]->server, server);
		if (table == CONCURRENCY_CONNECTIONS)
			g_snprintf(name, sizeof name, "%s port %u > %s", client, rows[i]->client.port, server);
		else
			g_snprintf(name, sizeof name, "%s, all connections", client);
		print_depth(page, name, &rows[i]->depth);
	}
	page_left_out(page, shown, count);
}

/* Some client, that is: else its row would be its connection's once more. */
static bool
has_several_connections(const struct concurrency *concurrency)
{
	unsigned clients, connections;

	g_free(concurrency_rows(concurrency, CONCURRENCY_CLIENTS, &clients));
	g_free(concurrency_rows(concurrency, CONCURRENCY_CONNECTIONS, &connections));
	return connections > clients;
}

/* Latency against calls in flight: where it begins to rise, the server has no more to give. */
static void
print_groups(const struct page *page, const struct depth *depth)
{
	struct depth_group group[DEPTH_GROUPS];
	unsigned count = depth_groups(depth, group);
	uint32_t knee = depth_knee(depth);
	g_autofree char *line = NULL;
	char text[FORMAT_SIZE];

	if (depth->max < 2)
		return;
	fprintf(page->out, "\n  %-12s %5s %9s %9s   %s\n", "in server", "time", "calls", "latency",
	    "share of the busy time");
	for (unsigned i = 0; i < count; i++) {
		char range[2 * FORMAT_SIZE];

		if (group[i].from == group[i].to)
			g_snprintf(range, sizeof range, "%" G_GUINT32_FORMAT, group[i].from);
		else
			g_snprintf(range, sizeof range, "%" G_GUINT32_FORMAT "-%" G_GUINT32_FORMAT, group[i].from,
			    group[i].to);
		fprintf(page->out, "  %-12s %5s", range, format_share(text, true, group[i].share));
		fprintf(page->out, " %9s", format_count(text, group[i].calls));
		fprintf(page->out, " %9s   ", group[i].calls > 0 ? format_duration(text, group[i].latency_ns) : "-");
		for (unsigned j = 0; j < (unsigned)(group[i].share * BAR + 0.5); j++)
			fputc('#', page->out);
		fputc('\n', page->out);
	}
	if (knee == 0)
		return;
	line = g_strdup_printf("With %" G_GUINT32_FORMAT " or more inside at once, calls take at least half as long again as "
	    "with few (this is not the number of threads).", knee);
	print_wrapped(page->out, "  ", line);
}

static bool
shows_calls(const struct report *report)
{
	for (unsigned i = 0; i < report->capture_count; i++) {
		const struct concurrency *concurrency = aggregate_concurrency(report->aggregate, i);

		for (unsigned view = 0; concurrency != NULL && view < CONCURRENCY_VIEWS; view++) {
			if (concurrency_counts(concurrency)->calls[view] > 0)
				return true;
		}
	}
	return false;
}

void
text_concurrency(const struct page *page)
{
	const struct report *report = page->report;
	enum pair_side side = report_has_side(report, PAIR_CLIENT) ? PAIR_CLIENT : PAIR_SERVER;
	const struct concurrency *server = NULL;

	if (!shows_calls(report))
		return;
	page_heading(page, side == PAIR_CLIENT ? "CALLS IN FLIGHT (connections as the client sees them)" :
	    "CALLS IN FLIGHT (connections as the server sees them)");
	fprintf(page->out, "%-*s %8s %5s %6s %5s %s\n", NAMES, "", "calls", "max", "mean", "busy", "flat top");
	for (unsigned i = 0; i < report->capture_count; i++) {
		const struct concurrency *found = aggregate_concurrency(report->aggregate, i);

		if (found == NULL)
			continue;
		if (report->captures[i].side == PAIR_SERVER) {
			server = found;
			print_depth(page, "inside the server", concurrency_server(found));
		}
		if (report->captures[i].side != side)
			continue;
		if (has_several_connections(found))
			print_rows(page, found, CONCURRENCY_CLIENTS);
		print_rows(page, found, CONCURRENCY_CONNECTIONS);
	}
	if (server != NULL)
		print_groups(page, concurrency_server(server));
}
