/*
 * An interval as lines of text: of 80 columns where one side is seen.
 */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/format.h"
#include "report/interval.h"
#include "report/sides.h"
#include "report/words.h"
#include "rpc/names.h"
#include "stats/mountstats.h"

enum {
	ROW_NAME = 14,		/* columns of an operation's name */
	ROW_RATE = 6,		/* and of the rate behind it, with the space between them */
	ROWS = 12,		/* operations of an interval, unless verbose */
	FINDINGS = 5,		/* the same of findings */
	TOLD_AGAIN = 12,	/* intervals after which a finding that persists has its line again */
	SCREEN_LINES = 22,	/* from one header to the next */
};

struct sheet {
	const struct interval *interval;
	const struct text_style *style;
	FILE *out;
	struct interval_page *page;
	enum pair_side side;	/* whose calls are shown */
	double seconds;		/* not above 0: the clock was set back */
};

static void
end_line(const struct sheet *sheet)
{
	fputc('\n', sheet->out);
	sheet->page->lines++;
}

static void
paint(const struct sheet *sheet, const char *sequence)
{
	if (sheet->style->colour)
		fputs(sequence, sheet->out);
}

/* In lines of the page's width, or one line where the table is wider anyway. */
static void
print_wrapped_lines(const struct sheet *sheet, const char *lead, const char *line)
{
	g_autofree char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (memory == NULL)
		return;
	print_wrapped(memory, lead, line);
	fclose(memory);
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\n' && i + 1 < size && sheet->interval->report->two_sided) {
			i += strspn(text + i + 1, " ");
			fputc(' ', sheet->out);
			continue;
		}
		sheet->page->lines += text[i] == '\n';
		fputc(text[i], sheet->out);
	}
}

/* ---- numbers ---- */

/* A whole number of bytes as block sizes are told: "512", "8K", "31.9K", "1M"; at most 5 characters. */
static const char *
format_size(char text[FORMAT_SIZE], double bytes)
{
	static const char *const units[] = { "", "K", "M", "G" };
	size_t unit = 0;

	while (bytes >= 1023.5 && unit + 1 < G_N_ELEMENTS(units)) {
		bytes /= 1024;
		unit++;
	}
	g_snprintf(text, FORMAT_SIZE, "%.*f%s", unit == 0 || bytes >= 99.95 || bytes - floor(bytes) < 0.05 ? 0 : 1,
	    bytes, units[unit]);
	return text;
}

/* A count a second: "0.2" rather than none, "." for none, and "-" when a clock that was set back tells no time. */
static const char *
format_rate(char text[FORMAT_SIZE], const struct sheet *sheet, uint64_t count)
{
	double rate = sheet->seconds > 0 ? (double)count / sheet->seconds : 0;

	if (count == 0)
		return ".";
	if (sheet->seconds <= 0)
		return "-";
	if (rate < 9.95)
		g_snprintf(text, FORMAT_SIZE, "%.1f", rate);
	else
		format_short(text, rate);
	return text;
}

/* "." for what did not happen, so that the eye finds what did. */
static const char *
format_event(char text[FORMAT_SIZE], uint64_t count)
{
	return count == 0 ? "." : format_short(text, (double)count);
}

static const char *
format_quantile(char text[FORMAT_SIZE], const struct dist *dist, unsigned per_mille)
{
	return dist->count == 0 ? "-" : format_duration(text, dist_quantile(dist, per_mille));
}

static const char *
format_mean(char text[FORMAT_SIZE], const struct dist *dist)
{
	return dist == NULL || dist->count == 0 ? "-" : format_duration(text, dist_mean(dist));
}

/* ---- operations ---- */

static void
print_header(const struct sheet *sheet)
{
	char stamp[FORMAT_SIZE + 8];

	if (sheet->page->lines > 0 && sheet->page->lines < SCREEN_LINES)
		return;
	sheet->page->lines = 0;
	format_stamp(stamp, sheet->interval->to_ns);
	stamp[strlen("2023-11-14")] = '\0';
	paint(sheet, "\033[1m");
	fprintf(sheet->out, "%-10s UTC %5s %5s %5s %6s %6s %6s %5s", stamp, "ops/s", "B/s", "size", "p50", "p95", "p99",
	    "now");
	if (sheet->interval->counters != NULL)
		fprintf(sheet->out, " %6s %6s %6s", "queue", "rtt", "exe");
	else
		fprintf(sheet->out, " %5s %5s", "again", "error");
	if (sheet->interval->report->two_sided)
		fprintf(sheet->out, " %8s %8s %8s", "server", "network", "client");
	paint(sheet, "\033[0m");
	end_line(sheet);
}

/* Name and rate: a name that is too long takes room that the rate leaves, or a line of its own. */
static void
print_name(const struct sheet *sheet, const struct row_key *key, const char *rate)
{
	const int columns = ROW_NAME + ROW_RATE;
	char version[NAME_SIZE], procedure[NAME_SIZE], name[2 * NAME_SIZE];

	row_names(key, version, procedure);
	g_snprintf(name, sizeof(name), row_key_is_others(key) ? "others" : "%s %s", version, procedure);
	fputs(name, sheet->out);
	if (strlen(name) + 1 + strlen(rate) <= (size_t)columns) {
		fprintf(sheet->out, "%*s", columns - (int)strlen(name), rate);
		return;
	}
	end_line(sheet);
	fprintf(sheet->out, "%*s", columns, rate);
}

/* NULL: no call of it was matched. */
static const struct matched_row *
matched_of(const struct report *report, const struct row_key *key)
{
	unsigned count;
	const struct matched_row *const *rows = aggregate_matched(report->aggregate, &count);

	for (unsigned i = 0; i < count; i++)
		if (memcmp(&rows[i]->key, key, sizeof(*key)) == 0)
			return rows[i];
	return NULL;
}

/* Means of the calls that were matched in the interval. */
static void
print_parts(const struct sheet *sheet, const struct row_key *key)
{
	const struct matched_row *row = matched_of(sheet->interval->report, key);
	char text[FORMAT_SIZE];

	fprintf(sheet->out, " %8s", format_mean(text, row != NULL ? &row->server : NULL));
	fprintf(sheet->out, " %8s", format_mean(text, row != NULL ? matched_network(row) : NULL));
	fprintf(sheet->out, " %8s", format_mean(text, row != NULL ? client_of(&row->client, &row->total) : NULL));
}

/* What the client's kernel has of the operation, of all mounts of that version. */
static struct mountstats_op
counters_of(const struct mountstats_delta *counters, const struct row_key *key)
{
	char version[NAME_SIZE], procedure[NAME_SIZE];
	struct mountstats_op sum = { 0 };

	row_names(key, version, procedure);
	for (unsigned i = 0; i < counters->mount_count; i++) {
		const struct mountstats_mount *mount = &counters->mounts[i];
		const struct mountstats_op *op = mountstats_find(mount, procedure);

		if (op == NULL || (mount->version[0] != '\0' && strcmp(mount->version, version) != 0))
			continue;
		sum.calls += op->calls;
		sum.queue_ms += op->queue_ms;
		sum.rtt_ms += op->rtt_ms;
		sum.execute_ms += op->execute_ms;
	}
	return sum;
}

/* Beside the wire: means of a call, first in the queue, then from there to the reply, then in all. */
static void
print_counters(const struct sheet *sheet, const struct row_key *key)
{
	struct mountstats_op op = counters_of(sheet->interval->counters, key);
	const uint64_t sums_ms[] = { op.queue_ms, op.rtt_ms, op.execute_ms };
	char text[FORMAT_SIZE];

	for (size_t i = 0; i < G_N_ELEMENTS(sums_ms); i++)
		fprintf(sheet->out, " %6s", op.calls == 0 ? "-" : sums_ms[i] == 0 ? "." :
		    format_duration(text, mountstats_mean_ns(sums_ms[i], op.calls)));
}

static void
print_row(const struct sheet *sheet, const struct side_row *row)
{
	const struct dist *latency = &row->latency[sheet->side];
	char text[FORMAT_SIZE];

	print_name(sheet, &row->key, format_rate(text, sheet, row->count));
	fprintf(sheet->out, " %5s", format_rate(text, sheet, row->bytes));
	fprintf(sheet->out, " %5s", row->sized > 0 && row->bytes > 0 ?
	    format_size(text, (double)row->bytes / (double)row->sized) : ".");
	fprintf(sheet->out, " %6s", format_quantile(text, latency, 500));
	fprintf(sheet->out, " %6s", format_quantile(text, latency, 950));
	fprintf(sheet->out, " %6s", format_quantile(text, latency, 990));
	fprintf(sheet->out, " %5s", format_event(text, row->in_flight));
	if (sheet->interval->counters != NULL) {
		print_counters(sheet, &row->key);
	} else {
		fprintf(sheet->out, " %5s", format_event(text, row->retransmits));
		fprintf(sheet->out, " %5s", format_event(text, row->errors));
	}
	if (sheet->interval->report->two_sided)
		print_parts(sheet, &row->key);
	end_line(sheet);
}

/* Most time first, and what has none by its calls in flight. */
static int
compare_lines(const void *a, const void *b, void *context)
{
	const struct side_line *x = *(const struct side_line *const *)a;
	const struct side_line *y = *(const struct side_line *const *)b;
	const struct sheet *sheet = context;
	__int128 x_ns = x->row.latency[sheet->side].sum_ns, y_ns = y->row.latency[sheet->side].sum_ns;

	if (x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	if (x->row.in_flight != y->row.in_flight)
		return x->row.in_flight > y->row.in_flight ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void
append_exceptions(GString *text, const struct side_row *row, uint64_t count, const char *what)
{
	char version[NAME_SIZE], procedure[NAME_SIZE];

	if (count == 0)
		return;
	row_names(&row->key, version, procedure);
	g_string_append_printf(text, "%s%s %s: %s %" G_GUINT64_FORMAT, text->len > 0 ? ", " : "", version, procedure, what,
	    count);
}

/* What has no column beside the kernel's counters. */
static void
print_exceptions(const struct sheet *sheet, const struct side_line *const *lines, unsigned count)
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (sheet->interval->counters == NULL)
		return;
	for (unsigned i = 0; i < count; i++) {
		append_exceptions(text, &lines[i]->row, lines[i]->row.retransmits, "sent again");
		append_exceptions(text, &lines[i]->row, lines[i]->row.errors, "errors");
	}
	if (text->len > 0)
		print_wrapped_lines(sheet, "  ", text->str);
}

static void
print_left_out(const struct sheet *sheet, const struct side_line *const *lines, unsigned from, unsigned count)
{
	char text[FORMAT_SIZE];
	uint64_t calls = 0;

	if (from == count)
		return;
	for (unsigned i = from; i < count; i++)
		calls += lines[i]->row.count;
	fprintf(sheet->out, "%-*s %5s", ROW_NAME, "others (-v)", format_rate(text, sheet, calls));
	end_line(sheet);
}

static void
print_rows(struct sheet *sheet)
{
	unsigned count, shown;
	struct side_line *lines = side_lines(sheet->interval->report, sheet->side, &count);
	g_autofree const struct side_line **order = g_new(const struct side_line *, count);

	for (unsigned i = 0; i < count; i++)
		order[i] = &lines[i];
	if (count > 0)
		qsort_r(order, count, sizeof(*order), compare_lines, sheet);
	shown = sheet->style->verbose ? count : MIN(count, ROWS);
	for (unsigned i = 0; i < shown; i++)
		print_row(sheet, &order[i]->row);
	print_left_out(sheet, order, shown, count);
	print_exceptions(sheet, order, count);
	side_lines_free(lines, count);
}

/* ---- the summary ---- */

struct sum {
	uint64_t calls, read_bytes, written_bytes;
	uint64_t packets, tcp_retransmitted;
};

static struct sum
sum_of(const struct sheet *sheet)
{
	const struct report *report = sheet->interval->report;
	struct sum sum = { 0 };

	for (unsigned i = 0; i < report->capture_count; i++) {
		const struct side_row *const *rows;
		unsigned count;

		if (report->captures[i].side != sheet->side)
			continue;
		sum.packets += report->captures[i].packets;
		sum.tcp_retransmitted += report->captures[i].tcp.retransmitted;
		rows = aggregate_side(report->aggregate, i, &count);
		for (unsigned j = 0; j < count; j++) {
			const struct row_key *key = &rows[j]->key;
			enum op_kind kind = op_kind_of(key->program, key->version, key->operation);

			sum.calls += rows[j]->count;
			sum.read_bytes += kind == KIND_READ ? rows[j]->bytes : 0;
			sum.written_bytes += kind == KIND_WRITE ? rows[j]->bytes : 0;
		}
	}
	return sum;
}

static void
append_traffic(GString *line, const struct sheet *sheet, const struct sum *sum)
{
	char text[FORMAT_SIZE];

	if (sum->calls == 0) {
		if (sum->packets == 0)
			g_string_append(line, sheet->interval->outstanding > 0 ? "no packet" : "no NFS call, no packet");
		else
			g_string_append_printf(line, "%s, %" G_GUINT64_FORMAT " packets", sheet->interval->outstanding > 0 ?
			    "no NFS call answered" : "no NFS call", sum->packets);
		return;
	}
	g_string_append_printf(line, "%s ops/s", format_rate(text, sheet, sum->calls));
	if (sum->read_bytes > 0)
		g_string_append_printf(line, ", read %sB/s", format_rate(text, sheet, sum->read_bytes));
	if (sum->written_bytes > 0)
		g_string_append_printf(line, ", write %sB/s", format_rate(text, sheet, sum->written_bytes));
}

static void
append_outstanding(GString *line, const struct interval *interval)
{
	char text[FORMAT_SIZE];

	if (interval->outstanding == 0)
		return;
	g_string_append_printf(line, "; %s in flight", format_short(text, (double)interval->outstanding));
	if (interval->oldest_call_ns >= 0)
		g_string_append_printf(line, ", oldest %s", format_duration(text, interval->oldest_call_ns));
}

static void
append_share(GString *line, const char *lead, const char *who, __int128 part, __int128 whole)
{
	char text[FORMAT_SIZE];
	double share = 0;
	bool known = share_of(part, whole, &share);

	g_string_append_printf(line, "%s%s %s", lead, who, format_share(text, known, share));
}

/*
 * Calls that waited for a slot in the client's kernel, on average whenever a
 * call was sent: of the mount where that were most. And calls that the kernel
 * counts while the wire shows none.
 */
static void
append_counters(GString *line, const struct interval *interval, const struct sum *sum)
{
	const struct mountstats_delta *counters = interval->counters;
	const struct mountstats_mount *most = NULL;
	double most_waiting = 0.05;
	uint64_t calls = 0;

	for (unsigned i = 0; counters != NULL && i < counters->mount_count; i++) {
		const struct mountstats_mount *mount = &counters->mounts[i];
		const struct mountstats_transport *transport = &mount->transport;
		double waiting = transport->sends > 0 ? (double)transport->backlog / (double)transport->sends : 0;

		if (waiting > most_waiting) {
			most_waiting = waiting;
			most = mount;
		}
		for (unsigned j = 0; j < mount->op_count; j++)
			calls += mount->ops[j].calls;
	}
	if (most != NULL)
		g_string_append_printf(line, "; %.1f wait for a slot (%s)", most_waiting, most->place);
	if (sum->calls == 0 && calls > 0)
		g_string_append_printf(line, "; the kernel counts %" G_GUINT64_FORMAT " NFS calls: by another interface?",
		    calls);
}

/* Who has the time of the calls that were matched. */
static void
append_attribution(GString *line, const struct sheet *sheet)
{
	const struct aggregate_totals *totals = aggregate_totals(sheet->interval->report->aggregate);
	char text[FORMAT_SIZE];

	if (!sheet->interval->report->two_sided && sheet->interval->lag_ns < 0)
		return;
	if (totals->matched > 0) {
		append_share(line, "; time: ", "server", totals->server_ns, totals->total_ns);
		append_share(line, ", ", "network", aggregate_network_ns(totals), totals->total_ns);
		if (aggregate_knows_client(totals))
			append_share(line, ", ", "client", totals->client_ns, totals->total_ns);
	} else {
		g_string_append(line, "; no call compared");
	}
	if (sheet->interval->lag_ns >= 0)
		g_string_append_printf(line, "; lag %s", format_duration(text, sheet->interval->lag_ns));
}

static void
append_drops(GString *line, const struct interval *interval)
{
	if (interval->dropped_by_kernel > 0)
		g_string_append_printf(line, "; DROPPED by the kernel: %" G_GUINT64_FORMAT, interval->dropped_by_kernel);
	if (interval->dropped_by_interface > 0)
		g_string_append_printf(line, "; DROPPED by the interface: %" G_GUINT64_FORMAT,
		    interval->dropped_by_interface);
}

static void
print_summary(const struct sheet *sheet, const struct sum *sum)
{
	const struct interval *interval = sheet->interval;
	g_autoptr(GString) line = g_string_new(NULL);
	char stamp[FORMAT_SIZE + 8], lead[FORMAT_SIZE + 8];

	format_stamp(stamp, interval->to_ns);
	g_snprintf(lead, sizeof(lead), "%.8s  ", strlen(stamp) > strlen("2023-11-14 ") ?
	    stamp + strlen("2023-11-14 ") : stamp);
	append_traffic(line, sheet, sum);
	append_outstanding(line, interval);
	if (sum->tcp_retransmitted > 0)
		g_string_append_printf(line, "; TCP sent again: %" G_GUINT64_FORMAT, sum->tcp_retransmitted);
	append_counters(line, interval, sum);
	append_attribution(line, sheet);
	append_drops(line, interval);
	paint(sheet, interval->dropped_by_kernel + interval->dropped_by_interface > 0 ? "\033[31m" : "\033[36m");
	print_wrapped_lines(sheet, lead, line->str);
	paint(sheet, "\033[0m");
}

/* ---- findings ---- */

/* The first sentence, as far as it fits on the line. */
static void
print_finding(const struct sheet *sheet, const struct finding *finding)
{
	const char *end = strstr(finding->text, ". ");
	g_autofree char *sentence = end != NULL ? g_strndup(finding->text, (size_t)(end - finding->text)) :
	    g_strdup(finding->text);
	g_autofree char *line = g_strdup_printf("! %s (%s): %s", finding->id, confidence_words[finding->confidence],
	    sentence);

	paint(sheet, "\033[33m");
	if (g_utf8_strlen(line, -1) > PAGE_COLUMNS)
		fprintf(sheet->out, "%.*s...", PAGE_COLUMNS - 3, line);
	else
		fputs(line, sheet->out);
	paint(sheet, "\033[0m");
	end_line(sheet);
}

/* Where it was told with this confidence lately, or a place for it, the oldest where all are taken. */
static struct interval_told *
told_of(struct interval_page *page, const struct finding *finding)
{
	struct interval_told *oldest = &page->told[0];

	for (unsigned i = 0; i < INTERVAL_FINDINGS; i++) {
		struct interval_told *told = &page->told[i];

		if (told->id != NULL && strcmp(told->id, finding->id) == 0)
			return told;
		if (oldest->id != NULL && (told->id == NULL || told->intervals > oldest->intervals))
			oldest = told;
	}
	oldest->id = NULL;
	return oldest;
}

/* What persists is told once in a while: it must not bury what is new. */
static bool
is_due(const struct sheet *sheet, const struct finding *finding)
{
	const struct interval_told *told = told_of(sheet->page, finding);

	return sheet->style->verbose || told->id == NULL || told->confidence != finding->confidence ||
	    told->intervals >= TOLD_AGAIN;
}

static void
print_findings(const struct sheet *sheet)
{
	const struct findings *findings = sheet->interval->report->findings;
	unsigned count = findings_count(findings);
	unsigned shown = 0, left_out = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct finding *finding = findings_at(findings, i);

		if (!is_due(sheet, finding))
			continue;
		if (!sheet->style->verbose && shown == FINDINGS) {
			left_out++;
			continue;
		}
		print_finding(sheet, finding);
		*told_of(sheet->page, finding) = (struct interval_told){ finding->id, finding->confidence, 0 };
		shown++;
	}
	if (left_out == 0)
		return;
	fprintf(sheet->out, "! and %u more (-v)", left_out);
	end_line(sheet);
}

bool
interval_text(const struct interval *interval, const struct text_style *style, struct interval_page *page, FILE *out)
{
	struct sheet sheet = {
		.interval = interval, .style = style, .out = out, .page = page,
		.side = report_has_side(interval->report, PAIR_CLIENT) ? PAIR_CLIENT : PAIR_SERVER,
		.seconds = (double)(interval->to_ns - interval->from_ns) / NS_PER_S,
	};
	struct sum sum = sum_of(&sheet);

	for (unsigned i = 0; i < INTERVAL_FINDINGS; i++)
		page->told[i].intervals++;
	if (sum.calls > 0 || interval->outstanding > 0)
		print_header(&sheet);
	print_summary(&sheet, &sum);
	if (sum.calls > 0 || interval->outstanding > 0)
		print_rows(&sheet);
	if (sum.calls > 0)
		print_findings(&sheet);
	return fflush(out) == 0 && !ferror(out);
}
