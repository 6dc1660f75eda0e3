/*
 * The client's own counters, which know of calls that have not left yet.
 */
#include <glib.h>

#include "base/format.h"
#include "report/text.h"

enum { MOUNTS_SHOWN = 10, NAMES = 22 };

static int
by_calls(const void *a, const void *b)
{
	const struct mountstats_op *const *left = a, *const *right = b;

	return (*left)->calls < (*right)->calls ? 1 : (*left)->calls > (*right)->calls ? -1 : 0;
}

static void
print_op(const struct page *page, const struct mountstats_op *op)
{
	const uint64_t sums_ms[] = { op->queue_ms, op->rtt_ms, op->execute_ms };
	char text[FORMAT_SIZE];

	fprintf(page->out, "  %-*s %9s", NAMES, op->name, format_count(text, op->calls));
	for (unsigned i = 0; i < G_N_ELEMENTS(sums_ms); i++)
		fprintf(page->out, " %9s", format_duration(text, mountstats_mean_ns(sums_ms[i], op->calls)));
	fprintf(page->out, " %6s", format_share(text, op->execute_ms > 0,
	    (double)MIN(op->queue_ms, op->execute_ms) / (double)op->execute_ms));
	fprintf(page->out, " %8s\n", format_short(text, (double)(op->transmissions - MIN(op->transmissions, op->calls))));
}

static void
print_mount(const struct page *page, const struct mountstats_mount *mount)
{
	g_autofree char *name = g_strdup_printf("%s on %s", mount->device, mount->place);
	g_autofree const struct mountstats_op **ops = g_new(const struct mountstats_op *, mount->op_count);
	const struct mountstats_transport *transport = &mount->transport;
	unsigned shown = page_rows(page, mount->op_count, TEXT_ROWS);
	g_autofree char *slots = NULL;

	for (unsigned i = 0; i < mount->op_count; i++)
		ops[i] = &mount->ops[i];
	qsort(ops, mount->op_count, sizeof *ops, by_calls);
	print_wrapped(page->out, "  ", name);
	for (unsigned i = 0; i < shown; i++)
		print_op(page, ops[i]);
	page_left_out(page, shown, mount->op_count);
	if (transport->count == 0 || transport->sends == 0)
		return;
	slots = g_strdup_printf("each message that was sent found %.1f calls waiting for a slot in the mean, on %u "
	    "connection%s", (double)transport->backlog / (double)transport->sends, transport->count,
	    transport->count == 1 ? "" : "s");
	print_wrapped(page->out, "    ", slots);
}

static unsigned
count_used(const struct mountstats_delta *counters)
{
	unsigned used = 0;

	for (unsigned i = 0; counters != NULL && i < counters->mount_count; i++)
		used += counters->mounts[i].op_count > 0;
	return used;
}

void
text_layers(const struct page *page)
{
	const struct mountstats_delta *counters = page->report->counters;
	unsigned used = count_used(counters), shown = page_rows(page, used, MOUNTS_SHOWN), told = 0;

	if (used == 0)
		return;
	page_heading(page, "THE CLIENT'S OWN COUNTERS (means of its kernel's, for each mount)");
	fprintf(page->out, "  %-*s %9s %9s %9s %9s %6s %8s\n", NAMES, "", "calls", "queue", "rtt", "in all", "share", "resent");
	for (unsigned i = 0; told < shown; i++) {
		if (counters->mounts[i].op_count == 0)
			continue;
		print_mount(page, &counters->mounts[i]);
		told++;
	}
	page_left_out(page, shown, used);
	print_wrapped(page->out, "  ", "queue: from the call's begin until it is sent, which the wire does not show; rtt: from "
	    "then until its reply; in all: until the caller has it; share: of the queue in that.");
}
