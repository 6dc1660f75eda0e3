/*
 * False alarms and misses: every finding on traces without trouble, on traces
 * with one trouble each, and on the samples. Whether a finding is right is
 * known from how the trace was made (causes.c).
 *
 *	NFSCORR_ALARMS=full	as many traces as the table of tests/README counts
 *	NFSCORR_ALARM_TRACES=N	so many without trouble, and of the others in proportion
 *	NFSCORR_FIRST=S		from this seed on, or from a random one: `random`
 *	NFSCORR_ALARM=NAME:SEED	the one trace of this trouble and seed, as a failure
 *				prints it; what is told of it is printed
 *
 * alarms [--table]: --table prints the counts instead of TAP.
 */
#include <glib/gstdio.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "findings/causes.h"
#include "findings/shapes.h"
#include "trace/folder.h"

enum { FIRST_SEED = 5000, TOLD_MOST = 3, FILE_BYTES_MOST = 512 << 20, RULES_MOST = 48 };

enum confidence { LOW, MEDIUM, HIGH, CONFIDENCES };
static const char *const confidence_names[CONFIDENCES] = { "low", "medium", "high" };

/* Both captures, or one alone: of a single one nothing need be found, but nothing false. */
enum way { BOTH, SERVER_ALONE, CLIENT_ALONE, WAYS };
static const char *const way_names[WAYS] = { "both captures", "the server's alone", "the client's alone" };

struct counts {
	unsigned traces, wrong, missed, unclean;
	unsigned fired[RULES_MOST][CONFIDENCES];	/* with both captures */
};

struct run {
	FILE *out;
	char *tmp;
	bool one;			/* a single trace, told in full */
	bool table;
	const struct trouble *trouble;
	uint64_t seed;
	struct trace *trace;
	struct facts facts, facts_of_first;
	struct counts *counts;
	unsigned unknown_rules;
};

static int
rule_of(const char *id)
{
	for (int i = 0; rules[i].id != NULL; i++)
		if (strcmp(rules[i].id, id) == 0)
			return i;
	return -1;
}

static enum confidence
confidence_of(const json_t *finding)
{
	const char *name = json_string_value(json_object_get(finding, "confidence"));

	for (enum confidence c = LOW; c < CONFIDENCES; c++)
		if (g_strcmp0(name, confidence_names[c]) == 0)
			return c;
	return HIGH;
}

static void G_GNUC_PRINTF(3, 4)
tell(struct run *run, unsigned so_many, const char *format, ...)
{
	va_list arguments;

	if (so_many > TOLD_MOST && !run->one)
		return;
	fprintf(run->out, "# NFSCORR_ALARM=%s:%" PRIu64 ": ", run->trouble->name, run->seed);
	va_start(arguments, format);
	vfprintf(run->out, format, arguments);
	va_end(arguments);
	fputc('\n', run->out);
}

/* A client's capture shows nothing of the others. */
static const struct facts *
facts_for(const struct run *run, enum way way)
{
	return way == CLIENT_ALONE ? &run->facts_of_first : &run->facts;
}

static void
judge_finding(struct run *run, enum way way, json_t *finding, bool *fired)
{
	const char *id = json_string_value(json_object_get(finding, "id"));
	const char *text = json_string_value(json_object_get(finding, "text"));
	enum confidence confidence = confidence_of(finding);
	int rule = rule_of(id != NULL ? id : "");
	g_autofree char *complaint = NULL;
	enum cause cause;

	if (rule < 0) {
		run->unknown_rules++;
		tell(run, run->unknown_rules, "no row for the rule %s", id);
		return;
	}
	fired[rule] = true;
	if (way == BOTH)
		run->counts->fired[rule][confidence]++;
	cause = rules[rule].cause(run->trace, facts_for(run, way));
	/* one capture alone does not show that its clock was set */
	if (way != BOTH && has_option(run->trace, "step") && cause == CAUSE_ABSENT)
		cause = CAUSE_UNCLEAR;
	if (cause == CAUSE_ABSENT && confidence >= MEDIUM)
		complaint = g_strdup("its cause is absent");
	else if (cause != CAUSE_ABSENT && rules[rule].wrong != NULL)
		complaint = rules[rule].wrong(run->trace, facts_for(run, way), finding);
	if (complaint != NULL)
		tell(run, ++run->counts->wrong, "%s: %s (%s): %s; it says: %s", way_names[way], id,
			confidence_names[confidence], complaint, text);
	else if (run->one)
		tell(run, 0, "%s: %s (%s): %s", way_names[way], id, confidence_names[confidence], text);
}

static json_t *
report_of(const struct run *run, enum way way)
{
	g_autofree char *json = g_build_filename(run->tmp, "report.json", NULL);
	const char *const server[] = { "--side=server", "server.pcap", NULL };
	const char *const client[] = { "--side=client", "client0.pcap", NULL };
	g_autoptr(GPtrArray) both = g_ptr_array_new();

	if (way != BOTH)
		return run_report(run->trace->folder, json, way == SERVER_ALONE ? server : client);
	for (unsigned i = 0; i < run->trace->paths->len; i++) {
		const char *path = g_ptr_array_index(run->trace->paths, i);

		g_ptr_array_add(both, path == NULL ? NULL : strrchr(path, '/') + 1);
	}
	return run_report(run->trace->folder, json, (const char *const *)both->pdata);
}

static void
judge_report(struct run *run, enum way way)
{
	json_t *report = report_of(run, way);
	json_t *findings = json_object_get(report, "findings");
	bool fired[RULES_MOST] = { false };

	for (size_t i = 0; i < json_array_size(findings); i++)
		judge_finding(run, way, json_array_get(findings, i), fired);
	for (int i = 0; way == BOTH && rules[i].id != NULL; i++)
		if (!fired[i] && rules[i].cause(run->trace, &run->facts) == CAUSE_PRESENT)
			tell(run, ++run->counts->missed, "%s is missed", rules[i].id);
	json_decref(report);
}

/* By construction it is; the truth must say the same. */
static void
check_clean(struct run *run)
{
	const struct facts *facts = &run->facts;

	if (facts->calls >= 0.9 * (double)run->trace->config.calls && facts->waited_thread < 0.001
	    && facts->waited_slot < 0.005 && facts->lost_segments == 0 && facts->line_use < 0.3
	    && facts->window_closed_ns == 0 && facts->hidden < 0.02
	    && facts->server_ns - facts->service_ns < 0.05 * facts->total_ns + 1000)
		return;
	tell(run, ++run->counts->unclean, "a shape without trouble has some: %.2f %% waited for a thread, "
		"%.2f %% for a slot, %u segments lost, line used %.0f %%, %.1f us for the card, %.1f %% hidden",
		100 * facts->waited_thread, 100 * facts->waited_slot, facts->lost_segments,
		100 * facts->line_use, (facts->server_ns - facts->service_ns) / 1e3, 100 * facts->hidden);
}

static void
print_facts(struct run *run, GPtrArray *options)
{
	const struct facts *facts = &run->facts;

	fprintf(run->out, "# tracemaker --seed=%" PRIu64, run->seed);
	for (unsigned i = 0; i < options->len; i++)
		fprintf(run->out, " --%s", (const char *)g_ptr_array_index(options, i));
	fprintf(run->out, "\n# calls %u, means in us: total %.1f server %.1f network %.1f service %.1f "
		"thread wait %.1f disk wait %.1f slot wait %.1f\n", facts->calls, facts->total_ns / 1e3,
		facts->server_ns / 1e3, facts->network_ns / 1e3, facts->service_ns / 1e3,
		facts->thread_wait_ns / 1e3, facts->disk_wait_ns / 1e3, facts->slot_wait_ns / 1e3);
	fprintf(run->out, "# waited for a thread %.3f, a slot %.3f; least network %.1f us; lost segments %u "
		"cost %.3f; idle %.3f; in flight mean %.1f most %.0f (%.2f of the time); line %.3f\n", facts->waited_thread,
		facts->waited_slot, facts->least_network_ns / 1e3, facts->lost_segments,
		facts->loss_cost_share, facts->idle_share, facts->in_flight, facts->most_in_flight,
		facts->top_share, facts->line_use);
	for (int i = 0; rules[i].id != NULL; i++)
		if (rules[i].cause(run->trace, facts) != CAUSE_ABSENT)
			fprintf(run->out, "# cause of %s: %s\n", rules[i].id,
				rules[i].cause(run->trace, facts) == CAUSE_PRESENT ? "present" : "unclear");
}

static void
try_trace(struct run *run)
{
	g_autoptr(GPtrArray) options = shape_choose(run->trouble, run->seed);

	run->trace = trace_new(run->tmp, run->seed, options);
	facts_of(run->trace, false, &run->facts);
	facts_of(run->trace, true, &run->facts_of_first);
	run->counts->traces++;
	if (run->one)
		print_facts(run, options);
	if (run->trouble->put == NULL)
		check_clean(run);
	for (enum way way = BOTH; way < WAYS; way++)
		judge_report(run, way);
	trace_free(run->trace);
}

/* ---- the samples: what must be found in each, and nothing else with more than low confidence ---- */

static const struct sample {
	const char *name;
	const char *found[4];
} samples[] = {
	{ "thread-saturation", { "server-thread-saturation" } },
	{ "slot-saturation", { "client-slot-saturation" } },
	{ "slow-network", { "network-path-delay", "network-loss" } },
	{ "healthy", { NULL } },
	{ "case-threads", { "server-thread-saturation" } },
	{ "case-slots", { "client-slot-saturation" } },
	{ "case-storage", { "server-slow-service" } },
};

static bool
is_expected(const struct sample *sample, const char *id)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(sample->found) && sample->found[i] != NULL; i++)
		if (strcmp(sample->found[i], id) == 0)
			return true;
	return false;
}

static void
try_sample(struct run *run, const char *folder, const struct sample *sample)
{
	g_autofree char *path = g_build_filename(folder, sample->name, NULL);
	g_autofree char *json = g_build_filename(run->tmp, "report.json", NULL);
	const char *const arguments[] = { "server.pcap", "client.pcap", NULL };
	json_t *report = run_report(path, json, arguments);
	json_t *findings = json_object_get(report, "findings");
	unsigned found = 0;

	run->counts->traces++;
	for (size_t i = 0; i < json_array_size(findings); i++) {
		json_t *finding = json_array_get(findings, i);
		const char *id = json_string_value(json_object_get(finding, "id"));
		enum confidence confidence = confidence_of(finding);
		int rule = rule_of(id);

		if (rule >= 0)
			run->counts->fired[rule][confidence]++;
		if (is_expected(sample, id)) {
			found++;
		} else if (confidence >= MEDIUM) {
			run->counts->wrong++;
			fprintf(run->out, "# %s: %s (%s) has no cause\n", sample->name, id,
				confidence_names[confidence]);
		}
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(sample->found) && sample->found[i] != NULL; i++)
		run->counts->missed++;
	run->counts->missed -= found;
	if (run->counts->missed > 0)
		fprintf(run->out, "# %s: %u of the findings found\n", sample->name, found);
	json_decref(report);
}

/* ---- the results ---- */

/* "12h3m": so often with each confidence; empty: never. */
static void
write_cell(char cell[32], const unsigned fired[CONFIDENCES])
{
	int used = 0;

	cell[0] = '\0';
	for (int c = HIGH; c >= LOW; c--)
		if (fired[c] > 0)
			used += g_snprintf(cell + used, 32 - (gulong)used, "%u%c", fired[c], confidence_names[c][0]);
}

/* Of a rule's column; 0: it was never found. */
static int
width_of(const struct counts *counts, unsigned rows, int rule)
{
	char cell[32];
	size_t width = 0;

	for (unsigned row = 0; row < rows; row++) {
		write_cell(cell, counts[row].fired[rule]);
		width = MAX(width, strlen(cell));
	}
	return width > 0 ? (int)MAX(width, strlen(rules[rule].column)) : 0;
}

static void
print_table(FILE *out, const struct counts *counts, unsigned rows)
{
	int widths[RULES_MOST] = { 0 };
	char cell[32];

	fprintf(out, "%-19s  of", "trouble");
	for (int rule = 0; rules[rule].id != NULL; rule++) {
		widths[rule] = width_of(counts, rows, rule);
		if (widths[rule] > 0)
			fprintf(out, " %*s", widths[rule], rules[rule].column);
	}
	fprintf(out, " wrong missed\n");
	for (unsigned row = 0; row < rows; row++) {
		fprintf(out, "%-19s %3u", row + 1 < rows ? troubles[row].name : "samples", counts[row].traces);
		for (int rule = 0; rules[rule].id != NULL; rule++) {
			write_cell(cell, counts[row].fired[rule]);
			if (widths[rule] > 0)
				fprintf(out, " %*s", widths[rule], cell[0] != '\0' ? cell : ".");
		}
		fprintf(out, " %5u %6u\n", counts[row].wrong, counts[row].missed);
	}
}

static unsigned
print_tap(FILE *out, const struct counts *counts, unsigned rows, unsigned unknown)
{
	unsigned failed = unknown > 0;

	for (unsigned row = 0; row < rows; row++) {
		const struct counts *of = &counts[row];
		bool good = of->wrong + of->missed + of->unclean == 0;

		failed += !good;
		fprintf(out, "%s %u - %s: %u traces, %u findings wrong, %u missed, %u shapes not what they claim\n",
			good ? "ok" : "not ok", row + 1, row + 1 < rows ? troubles[row].name : "samples",
			of->traces, of->wrong, of->missed, of->unclean);
	}
	fprintf(out, "%s %u - every finding is a row of causes.c\n1..%u\n", unknown == 0 ? "ok" : "not ok",
		rows + 1, rows + 1);
	return failed;
}

/* ---- the whole ---- */

static uint64_t
first_seed(void)
{
	const char *text = g_getenv("NFSCORR_FIRST");

	if (g_strcmp0(text, "random") == 0)
		return (uint64_t)g_random_int_range(1, 1 << 30);
	return text != NULL ? g_ascii_strtoull(text, NULL, 10) : FIRST_SEED;
}

/* How many of a trouble, which has its share of what all have. */
static unsigned
traces_of(const struct trouble *trouble)
{
	const char *text = g_getenv("NFSCORR_ALARM_TRACES");

	if (g_strcmp0(g_getenv("NFSCORR_ALARMS"), "full") == 0)
		return trouble->traces;
	if (text == NULL)
		return trouble->few;
	return MAX(1, trouble->few * (unsigned)g_ascii_strtoull(text, NULL, 10) / troubles[0].few);
}

static int
try_one(struct run *run, const char *which)
{
	g_auto(GStrv) part = g_strsplit(which, ":", 2);
	struct counts counts = { 0 };

	run->one = true;
	run->counts = &counts;
	for (run->trouble = troubles; run->trouble->name != NULL; run->trouble++)
		if (strcmp(run->trouble->name, part[0]) == 0)
			break;
	if (run->trouble->name == NULL || part[1] == NULL) {
		fprintf(run->out, "Bail out! NFSCORR_ALARM=NAME:SEED\n");
		return 2;
	}
	run->seed = g_ascii_strtoull(part[1], NULL, 10);
	try_trace(run);
	fprintf(run->out, "%s 1 - %s: %u wrong, %u missed\n1..1\n",
		counts.wrong + counts.missed + counts.unclean == 0 ? "ok" : "not ok", which, counts.wrong,
		counts.missed);
	return counts.wrong + counts.missed + counts.unclean > 0;
}

static int
try_all(struct run *run, const char *samples_folder)
{
	uint64_t first = first_seed();
	unsigned rows = 0;
	g_autofree struct counts *counts = NULL;

	while (troubles[rows].name != NULL)
		rows++;
	counts = g_new0(struct counts, ++rows);
	for (unsigned row = 0; troubles[row].name != NULL; row++) {
		run->trouble = &troubles[row];
		run->counts = &counts[row];
		for (unsigned i = 0; i < traces_of(run->trouble); i++) {
			run->seed = first + i;
			try_trace(run);
			fflush(run->out);
		}
	}
	run->counts = &counts[rows - 1];
	for (unsigned i = 0; i < G_N_ELEMENTS(samples); i++)
		try_sample(run, samples_folder, &samples[i]);
	fprintf(run->out, "# seeds from %" PRIu64 "\n", first);
	if (run->table)
		print_table(run->out, counts, rows);
	else
		return print_tap(run->out, counts, rows, run->unknown_rules) > 0;
	return 0;
}

int
main(int argc, char **argv)
{
	struct rlimit limit = { FILE_BYTES_MOST, FILE_BYTES_MOST };
	const char *srcdir = g_getenv("srcdir") != NULL ? g_getenv("srcdir") : ".";
	g_autofree char *folder = g_canonicalize_filename(srcdir, NULL);
	g_autofree char *samples_folder = g_build_filename(folder, "samples", NULL);
	const char *one = g_getenv("NFSCORR_ALARM");
	struct run run = { .table = argc > 1 && strcmp(argv[1], "--table") == 0 };
	int status;

	run.tmp = g_dir_make_tmp("nfscorr-alarms.XXXXXX", NULL);
	/* The text report goes nowhere, the results of the test go out. */
	run.out = fdopen(dup(STDOUT_FILENO), "w");
	g_assert(run.tmp != NULL && run.out != NULL && freopen("/dev/null", "w", stdout) != NULL);
	setrlimit(RLIMIT_FSIZE, &limit);
	status = one != NULL ? try_one(&run, one) : try_all(&run, samples_folder);
	fclose(run.out);
	g_assert(g_chdir("/") == 0);
	folder_remove(run.tmp);
	g_free(run.tmp);
	return status;
}
