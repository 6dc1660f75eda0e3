/*
 * The report as text: 80 columns of ASCII, to be pasted into a ticket.
 */
#include "report/text.h"

#include <glib.h>
#include <string.h>

#include "base/arith.h"
#include "base/format.h"
#include "correlate/ids.h"
#include "report/words.h"

void
page_heading(const struct page *page, const char *title)
{
	fprintf(page->out, "\n%s%s%s\n", page->colour ? "\033[1m" : "", title, page->colour ? "\033[0m" : "");
}

void
page_row_name(const struct page *page, const struct row_key *key)
{
	char version[NAME_SIZE], procedure[NAME_SIZE], name[2 * NAME_SIZE];

	row_names(key, version, procedure);
	if (row_key_is_others(key))
		g_snprintf(name, sizeof(name), "  others");
	else
		g_snprintf(name, sizeof(name), "  %s %s", version, procedure);
	if (strlen(name) > NAME_COLUMNS)
		fprintf(page->out, "%.*s\n%*s", PAGE_COLUMNS, name, NAME_COLUMNS, "");
	else
		fprintf(page->out, "%-*s", NAME_COLUMNS, name);
}

unsigned
page_rows(const struct page *page, unsigned rows, unsigned limit)
{
	return page->verbose ? rows : MIN(rows, limit);
}

void
page_left_out(const struct page *page, unsigned shown, unsigned all)
{
	if (shown < all)
		fprintf(page->out, "  ... and %u more (-v and --json have all)\n", all - shown);
}

static const char *
quality_colour(enum quality_level level)
{
	static const char *const colours[] = {
		[QUALITY_GOOD] = "\033[32m",
		[QUALITY_USABLE] = "\033[33m",
		[QUALITY_POOR] = "\033[31m",
	};

	return colours[level];
}

static void
text_verdict(const struct page *page)
{
	const struct report *report = page->report;
	const struct verdict *verdict = report->verdict;
	g_autofree char *line = NULL;

	if (report->why_nothing != NULL)
		line = g_strdup_printf("Nothing could be correlated: %s", report->why_nothing);
	if (line != NULL)
		print_wrapped(page->out, "", line);
	if (!report->two_sided)
		return;
	g_free(line);
	if (verdict->component == COMPONENT_NONE)
		line = g_strdup_printf("%s.", verdict->text);
	else
		line = g_strdup_printf("%s (confidence %s).", verdict->text, confidence_words[verdict->confidence]);
	print_wrapped(page->out, "Verdict: ", line);
}

static void
text_one_sided(const struct page *page)
{
	const struct report *report = page->report;

	if (report->two_sided || report->capture_count == 0)
		return;
	if (report->captures[0].side == PAIR_SERVER)
		print_wrapped(page->out, "", "One capture, of the server: it shows the server's own time, and can prove "
		    "what is about the server. Of the network it shows TCP's round trips, of the client nothing: what is "
		    "found there is a hint. With a capture of the client, too, the network's time can be told apart.");
	else
		print_wrapped(page->out, "", "One capture, of the client: it shows the time of the whole call. What of it "
		    "the server takes is an estimate, latency less the shortest round trip, and what is found from that a "
		    "hint. With a capture of the server, too, server and network can be told apart.");
}

static void
text_quality(const struct page *page)
{
	const struct quality *quality = page->report->quality;

	fprintf(page->out, "Quality: %s%s%s", page->colour ? quality_colour(quality->level) : "",
	    quality_words[quality->level], page->colour ? "\033[0m" : "");
	fputs(quality->reasons->len == 0 ? ", nothing to object to\n" : "\n", page->out);
	for (unsigned i = 0; i < quality->reasons->len; i++) {
		const struct quality_reason *reason = &g_array_index(quality->reasons, struct quality_reason, i);
		g_autofree char *line = g_strdup_printf("[%s] %s: %s", quality_words[reason->level],
		    reason->id, reason->text);

		print_wrapped(page->out, "  - ", line);
	}
}

/* A poor capture cannot be judged: how to make one that can. */
static void
text_make_better(const struct page *page)
{
	const struct capture_facts *facts = page->report->captures;
	struct capture_targets targets = { .port = 2049 };
	enum capture_system system = CAPTURE_LINUX;
	char server[LABEL_SIZE], client[LABEL_SIZE];

	if (page->report->quality->level != QUALITY_POOR || page->report->capture_count == 0)
		return;
	if (facts->has_endpoints) {
		label_address(page->report->ids, &facts->server, server);
		label_address(page->report->ids, &facts->client, client);
		targets = (struct capture_targets){ .server = server, .client = client, .port = facts->server.port };
	}
	if (facts->format != NULL && strcmp(facts->format, "snoop") == 0)
		system = CAPTURE_SOLARIS;
	page_heading(page, "HOW TO CAPTURE INSTEAD");
	how_to_capture(system, &targets, page->out);
}

bool
report_text(const struct report *report, const struct text_style *style, FILE *out)
{
	struct page page = {
		.report = report, .out = out, .colour = style->colour, .verbose = style->verbose,
	};

	fprintf(out, "%s %s\n", PACKAGE_NAME, PACKAGE_VERSION);
	text_verdict(&page);
	text_one_sided(&page);
	text_quality(&page);
	text_findings(&page);
	text_captures(&page);
	text_hosts(&page);
	text_raw(&page);
	text_matched(&page);
	text_slowest(&page);
	text_breakdowns(&page);
	text_over_time(&page);
	text_concurrency(&page);
	text_layers(&page);
	text_notes(&page);
	text_make_better(&page);
	return fflush(out) == 0 && !ferror(out);
}
