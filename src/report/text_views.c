/*
 * The slowest calls, the breakdowns, and latency over time.
 */
#include <glib.h>
#include <string.h>

#include "base/arith.h"
#include "base/format.h"
#include "report/text.h"
#include "report/words.h"
#include "stats/rows.h"

enum {
	BREAKDOWN_SHOWN = 10,
	KEY_COLUMNS = 24,
	TIME_LINES = 24,
	BAR_COLUMNS = 20,
};

/* "server 21/22": call and reply; "-" for one that the capture does not show. */
static void
append_frames(GString *line, const char *side, const uint64_t frame[2])
{
	g_string_append_printf(line, " %s", side);
	for (unsigned i = 0; i < 2; i++) {
		g_string_append_c(line, i == 0 ? ' ' : '/');
		if (frame[i] > 0)
			g_string_append_printf(line, "%" G_GUINT64_FORMAT, frame[i]);
		else
			g_string_append_c(line, '-');
	}
}

static void
print_time(const struct page *page, bool known, int64_t ns)
{
	char text[FORMAT_SIZE];

	fprintf(page->out, " %8s", known ? format_duration(text, ns) : "-");
}

static void
print_slow_call(const struct page *page, const struct op_pair *pair)
{
	struct slow_times times = slow_times(pair);
	struct call_words words;
	struct row_key key;
	g_autoptr(GString) line = g_string_new(NULL);
	char name[LABEL_SIZE], text[FORMAT_SIZE];

	call_words(pair, &words);
	key = (struct row_key){
		.program = words.op->program, .version = words.op->version, .minor = words.op->minor,
		.procedure = words.op->procedure, .operation = words.op->operation,
	};
	page_row_name(page, &key);
	print_time(page, times.has_total, times.total_ns);
	print_time(page, times.has_server, times.server_ns);
	print_time(page, times.has_network, times.network_ns);
	print_time(page, times.has_client, times.client_ns);
	fprintf(page->out, " %10" G_GUINT32_FORMAT, words.op->retransmits);
	if (words.has_size)
		fprintf(page->out, " %10" G_GUINT32_FORMAT, words.size);
	fputc('\n', page->out);

	g_string_assign(line, "frames call/reply:");
	if (pair->has[PAIR_SERVER])
		append_frames(line, "server", words.frame[PAIR_SERVER]);
	if (pair->has[PAIR_CLIENT])
		append_frames(line, "client", words.frame[PAIR_CLIENT]);
	if (pair->has[PAIR_CLIENT] && page->report->capture_count > 2)
		g_string_append_printf(line, " of client %u", pair->client_capture + 1u);
	print_wrapped(page->out, "    ", line->str);
	print_wrapped(page->out, "    ", words.filter);
	label_address(page->report->ids, &words.op->client, name);
	g_string_printf(line, "client %s", name);
	if (words.has_file) {
		label_file(page->report->ids, words.file, name);
		g_string_append_printf(line, ", file %s", name);
	}
	if (words.has_offset)
		g_string_append_printf(line, ", offset %" G_GUINT64_FORMAT, words.offset);
	if (times.has_retransmit && times.retransmit_ns > 0)
		g_string_append_printf(line, "; of the network time %s is retransmission",
		    format_duration(text, times.retransmit_ns));
	print_wrapped(page->out, "    ", line->str);
}

void
text_slowest(const struct page *page)
{
	unsigned count;
	const struct slow_call *calls = report_slowest(page->report, &count);

	if (count == 0)
		return;
	page_heading(page, "SLOWEST CALLS (frames as Wireshark numbers them, and its display filter)");
	fprintf(page->out, "%-*s %8s %8s %8s %8s %10s %10s\n", NAME_COLUMNS, "  type", "total", "server", "network",
	    "client", "sent again", "bytes");
	for (unsigned i = 0; i < count; i++)
		print_slow_call(page, &calls[i].pair);
}

/* A row, and the time of all rows of its key: keys are printed together. */
struct shown_row {
	const struct breakdown_row *row;
	__int128 key_ns;
	unsigned key_at;	/* place of the key's first row, which settles what is equal */
};

/* What is summed of a key: its rows are many, or printed as one. */
struct key_sum {
	uint64_t id;
	unsigned at;
	__int128 total_ns;
};

static int
compare_shown(const void *a, const void *b, void *context)
{
	const struct shown_row *x = a, *y = b;
	const enum breakdown_kind *kind = context;

	if (*kind != BREAKDOWN_SIZE && x->key_ns != y->key_ns)
		return x->key_ns > y->key_ns ? -1 : 1;
	if (x->key_at != y->key_at)
		return x->key_at < y->key_at ? -1 : 1;
	if (x->row->total.sum_ns != y->row->total.sum_ns)
		return x->row->total.sum_ns > y->row->total.sum_ns ? -1 : 1;
	return 0;
}

/* Sizes in their order, other keys by their time, largest first. Caller frees. */
static struct shown_row *
order_rows(enum breakdown_kind kind, const struct breakdown_row *const *rows, unsigned count)
{
	struct shown_row *shown = g_new0(struct shown_row, count);
	g_autoptr(GHashTable) sums = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);

	for (unsigned i = 0; i < count; i++) {
		struct key_sum *sum = g_hash_table_lookup(sums, &rows[i]->id);

		if (sum == NULL) {
			sum = g_new0(struct key_sum, 1);
			*sum = (struct key_sum){ .id = rows[i]->id, .at = i };
			g_hash_table_insert(sums, &sum->id, sum);
		}
		sum->total_ns += rows[i]->total.sum_ns;
	}
	for (unsigned i = 0; i < count; i++) {
		const struct key_sum *sum = g_hash_table_lookup(sums, &rows[i]->id);

		shown[i] = (struct shown_row){ .row = rows[i], .key_ns = sum->total_ns, .key_at = sum->at };
	}
	g_qsort_with_data(shown, (int)count, sizeof(*shown), compare_shown, &kind);
	return shown;
}

/* A key that does not fit its column has a line of its own. */
static void
print_key(const struct page *page, enum breakdown_kind kind, uint64_t id)
{
	char name[LABEL_SIZE];

	if (kind == BREAKDOWN_SIZE)
		g_snprintf(name, sizeof(name), "%" G_GUINT64_FORMAT, id);
	else
		breakdown_label(page->report, kind, id, name);
	if (strlen(name) + 2 > KEY_COLUMNS) {
		print_wrapped(page->out, "  ", name);
		name[0] = '\0';
	}
	fprintf(page->out, "  %-*s", KEY_COLUMNS - 2, name);
}

/* Caller frees. */
static char *
procedure_name(const struct row_key *key)
{
	char version[NAME_SIZE], procedure[NAME_SIZE];

	row_names(key, version, procedure);
	return row_key_is_others(key) ? g_strdup("others") : g_strdup_printf("%s %s", version, procedure);
}

static void
print_breakdown_row(const struct page *page, const struct breakdown_row *row, const char *name)
{
	char text[FORMAT_SIZE];

	if (strlen(name) > 14)
		fprintf(page->out, " %s\n%*s", name, KEY_COLUMNS + 15, "");
	else
		fprintf(page->out, " %-14s", name);
	fprintf(page->out, " %8s%c", format_count(text, row->count), row->lack > 0 ? '+' : ' ');
	fprintf(page->out, "%7s", format_duration(text, dist_mean(&row->server)));
	fprintf(page->out, " %7s", format_duration(text, dist_mean(breakdown_network(row))));
	fprintf(page->out, " %7s", format_duration(text, dist_mean(&row->total)));
	fprintf(page->out, " %7s\n", format_duration(text, dist_quantile(&row->total, 950)));
}

static bool
has_several_ids(const struct breakdown_row *const *rows, unsigned count)
{
	for (unsigned i = 1; i < count; i++) {
		if (rows[i]->id != rows[0]->id)
			return true;
	}
	return false;
}

static unsigned
count_keys(const struct shown_row *shown, unsigned count)
{
	unsigned keys = 0;

	for (unsigned i = 0; i < count; i++)
		keys += i == 0 || shown[i].key_at != shown[i - 1].key_at;
	return keys;
}

/* Hosts are there to be compared: no host's procedures may push the others off the page. */
static bool
needs_totals(enum breakdown_kind kind, const struct shown_row *shown, unsigned shown_count, unsigned count)
{
	if (kind != BREAKDOWN_CLIENT && kind != BREAKDOWN_SERVER && kind != BREAKDOWN_CONNECTION)
		return false;
	return count_keys(shown, shown_count) < MIN(count_keys(shown, count), BREAKDOWN_SHOWN);
}

/* One line a key: all its procedures together. */
static void
print_totals(const struct page *page, enum breakdown_kind kind, const struct shown_row *shown, unsigned count)
{
	unsigned keys = 0;

	for (unsigned i = 0, next; i < count && keys < BREAKDOWN_SHOWN; i = next, keys++) {
		struct breakdown_row sum = { .id = shown[i].row->id };

		for (next = i; next < count && shown[next].key_at == shown[i].key_at; next++) {
			const struct breakdown_row *row = shown[next].row;

			sum.count += row->count;
			sum.lack += row->lack;
			dist_merge(&sum.total, &row->total);
			dist_merge(&sum.server, &row->server);
			dist_merge(&sum.network, breakdown_network(row));
		}
		print_key(page, kind, sum.id);
		print_breakdown_row(page, &sum, "all");
		dist_clear(&sum.total);
	}
	fputs("  all: the procedures together; -v and --json have each\n", page->out);
	page_left_out(page, keys, count_keys(shown, count));
}

static void
print_rows(const struct page *page, enum breakdown_kind kind, const struct shown_row *shown, unsigned shown_count,
    unsigned count)
{
	for (unsigned i = 0; i < shown_count; i++) {
		g_autofree char *name = procedure_name(&shown[i].row->key);

		if (i == 0 || shown[i].row->id != shown[i - 1].row->id)
			print_key(page, kind, shown[i].row->id);
		else
			fprintf(page->out, "%*s", KEY_COLUMNS, "");
		print_breakdown_row(page, shown[i].row, name);
	}
	page_left_out(page, shown_count, count);
}

static void
print_breakdown(const struct page *page, enum breakdown_kind kind, const char *title)
{
	unsigned count, shown_count;
	g_autofree const struct breakdown_row **rows = report_breakdown(page->report, kind, &count);
	g_autofree struct shown_row *shown = NULL;
	bool lacking = false;

	if (!has_several_ids(rows, count))
		return;
	shown = order_rows(kind, rows, count);
	page_heading(page, title);
	fprintf(page->out, "%-*s %-14s %8s %7s %7s %7s %7s\n", KEY_COLUMNS, "", "type", "n", "server", "network",
	    "total", "p95");
	shown_count = page_rows(page, count, kind == BREAKDOWN_SIZE ? TEXT_ROWS : BREAKDOWN_SHOWN);
	if (needs_totals(kind, shown, shown_count, count))
		print_totals(page, kind, shown, count);
	else
		print_rows(page, kind, shown, shown_count, count);
	for (unsigned i = 0; i < shown_count; i++)
		lacking = lacking || shown[i].row->lack > 0;
	if (lacking)
		fputs("  +: calls that came before there was room for the row are in \"others\"\n", page->out);
}

void
text_breakdowns(const struct page *page)
{
	print_breakdown(page, BREAKDOWN_CLIENT, "BY CLIENT (matched calls, most time first)");
	print_breakdown(page, BREAKDOWN_SERVER, "BY SERVER ADDRESS (matched calls, most time first)");
	print_breakdown(page, BREAKDOWN_CONNECTION, "BY CONNECTION (matched calls, most time first)");
	print_breakdown(page, BREAKDOWN_FILE, "BY FILE HANDLE (matched calls that name one, most time first)");
	print_breakdown(page, BREAKDOWN_SIZE, "BY SIZE (bytes moved, from this power of two up to the next)");
}

/* Neighbouring windows that share a line of the page. */
struct time_line {
	__int128 server_ns, network_ns, client_ns;
	struct dist total;
};

static int64_t
line_mean(const struct time_line *line, __int128 sum_ns)
{
	return (int64_t)(sum_ns / (__int128)line->total.count);
}

/* As many columns as the mean's share of the highest mean; '#' server, '=' network, '~' client. */
static void
print_bar(const struct page *page, const struct time_line *line, int64_t highest_ns)
{
	double scale = highest_ns > 0 ? (double)BAR_COLUMNS / (double)highest_ns : 0;
	int total = CLAMP((int)((double)dist_mean(&line->total) * scale + 0.5), 0, BAR_COLUMNS);
	int server = CLAMP((int)((double)line_mean(line, line->server_ns) * scale + 0.5), 0, total);
	int client = CLAMP((int)((double)line_mean(line, line->client_ns) * scale + 0.5), 0, total - server);

	for (int i = 0; i < total; i++)
		fputc(i < server ? '#' : i < total - client ? '=' : '~', page->out);
}

static void
print_time_line(const struct page *page, const struct time_line *line, int64_t offset_ns, int64_t highest_ns)
{
	char text[FORMAT_SIZE];

	fprintf(page->out, "  +%-8" G_GINT64_FORMAT, offset_ns / NS_PER_S);
	fprintf(page->out, " %8s", format_count(text, line->total.count));
	if (line->total.count > 0) {
		print_time(page, true, line_mean(line, line->server_ns));
		print_time(page, true, line_mean(line, line->network_ns));
		print_time(page, true, dist_mean(&line->total));
		print_time(page, true, dist_quantile(&line->total, 950));
		fputs("  ", page->out);
		print_bar(page, line, highest_ns);
	}
	fputc('\n', page->out);
}

static void
print_time_lines(const struct page *page, struct time_line *lines, unsigned count, int64_t width_ns)
{
	int64_t highest_ns = 0;
	bool client = false;

	for (unsigned i = 0; i < count; i++) {
		if (lines[i].total.count > 0)
			highest_ns = max_ns(highest_ns, dist_mean(&lines[i].total));
		client |= lines[i].client_ns > 0;
	}
	fprintf(page->out, "  %-9s %8s %8s %8s %8s %8s  %s\n", "s", "n", "server", "network", "total", "p95",
	    client ? "#server =network ~client" : "#server =network");
	for (unsigned i = 0; i < count; i++)
		print_time_line(page, &lines[i], i * width_ns, highest_ns);
}

void
text_over_time(const struct page *page)
{
	unsigned count, windows, group;
	const struct breakdown_row *const *rows = aggregate_breakdown(page->report->aggregate, BREAKDOWN_TIME, &count);
	int64_t width_ns = aggregate_window_ns(page->report->aggregate), first_ns;
	struct time_line lines[TIME_LINES] = { 0 };
	char stamp[FORMAT_SIZE + 8];
	g_autofree char *title = NULL;

	if (!has_several_ids(rows, count))
		return;
	first_ns = (int64_t)rows[0]->id;
	windows = (unsigned)(((__int128)(int64_t)rows[count - 1]->id - first_ns) / width_ns) + 1;
	group = (windows + TIME_LINES - 1) / TIME_LINES;
	for (unsigned i = 0; i < count; i++) {
		unsigned at = (unsigned)(((__int128)(int64_t)rows[i]->id - first_ns) / width_ns) / group;

		lines[at].server_ns += rows[i]->server.sum_ns;
		lines[at].network_ns += rows[i]->network.sum_ns;
		lines[at].client_ns += rows[i]->client.sum_ns;
		dist_merge(&lines[at].total, &rows[i]->total);
	}
	/* Windows begin at whole seconds. */
	format_stamp(stamp, first_ns);
	title = g_strdup_printf("LATENCY OVER TIME (matched; from %.*s UTC, %" G_GINT64_FORMAT " s a line)",
	    (int)strcspn(stamp, "."), stamp, group * width_ns / NS_PER_S);
	page_heading(page, title);
	print_time_lines(page, lines, (windows + group - 1) / group, group * width_ns);
	for (unsigned i = 0; i < TIME_LINES; i++)
		dist_clear(&lines[i].total);
}
