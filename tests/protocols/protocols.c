/*
 * protocols [FOLDER]: makes the captures of scenarios.c, runs the program on
 * each and holds what it says against what was worked out by hand. With a
 * folder it only makes them, for others to look at.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "protocols/scenarios.h"
#include "run/compare.h"
#include "run/program.h"

static char *
make_capture(const char *folder, const struct scenario *scenario)
{
	g_autofree char *name = g_strconcat(scenario->name, ".pcap", NULL);
	char *path = g_build_filename(folder, name, NULL);
	struct talk *talk = talk_new(path);

	scenario->make(talk);
	talk_free(talk);
	return path;
}

static void
expect(json_t *report, const char *path, int64_t value, GString *why)
{
	int64_t found = integer_at(report, path);

	if (found != value)
		g_string_append_printf(why, "# %s is %" G_GINT64_FORMAT ", not %" G_GINT64_FORMAT "\n", path, found, value);
}

static json_t *
row_of(json_t *rows, const struct expected_row *wanted)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		json_t *row = json_array_get(rows, i);

		if (g_strcmp0(json_string_value(json_object_get(row, "version")), wanted->version) == 0 &&
		    g_strcmp0(json_string_value(json_object_get(row, "proc")), wanted->procedure) == 0)
			return row;
	}
	return NULL;
}

static void
check_row(json_t *rows, const struct expected_row *wanted, GString *why)
{
	json_t *row = row_of(rows, wanted);
	size_t before = why->len;

	expect(row, "count", wanted->count, why);
	expect(row, "errors", wanted->errors, why);
	expect(row, "rpc_time_ns.count", wanted->count, why);
	expect(row, "rpc_time_ns.sum", wanted->rpc_us * INT64_C(1000), why);
	if (wanted->bytes != ANY)
		expect(row, "bytes", wanted->bytes > 0 ? wanted->bytes : UNKNOWN, why);
	if (why->len > before)
		g_string_append_printf(why, "# in the row of %s %s\n", wanted->version, wanted->procedure);
}

static void
check_report(json_t *report, const struct scenario *scenario, GString *why)
{
	json_t *rows = value_at(report, "sides.server");
	unsigned wanted = 0;

	for (; wanted < ROWS_MOST && scenario->row[wanted].version != NULL; wanted++)
		check_row(rows, &scenario->row[wanted], why);
	if (json_array_size(rows) != wanted)
		g_string_append_printf(why, "# %zu rows instead of %u\n", json_array_size(rows), wanted);
	expect(report, "captures.0.rpc.calls", scenario->calls, why);
	expect(report, "captures.0.rpc.answered", scenario->calls, why);
	expect(report, "captures.0.rpc.orphan_replies", 0, why);
	expect(report, "captures.0.rpc.retransmitted_calls", scenario->copies, why);
	expect(report, "captures.0.rpc.malformed", scenario->malformed, why);
	expect(report, "captures.0.tcp.rpc_connections", scenario->rpc_connections, why);
	for (unsigned i = 0; i < CHECKS_MOST && scenario->number[i].path != NULL; i++)
		expect(report, scenario->number[i].path, scenario->number[i].value, why);
	for (unsigned i = 0; i < CHECKS_MOST && scenario->text[i].path != NULL; i++) {
		const char *text = json_string_value(value_at(report, scenario->text[i].path));

		if (g_strcmp0(text, scenario->text[i].text) != 0)
			g_string_append_printf(why, "# %s is \"%s\", not \"%s\"\n", scenario->text[i].path,
			    text != NULL ? text : "null", scenario->text[i].text);
	}
}

/* What is hidden is said, and nothing else is said of it. */
static void
check_tls(json_t *report, GString *why)
{
	json_t *findings = value_at(report, "findings");
	bool hidden = integer_at(report, "captures.0.tcp.tls_connections") > 0, found = false;

	for (size_t i = 0; i < json_array_size(findings); i++)
		found |= g_strcmp0(json_string_value(value_at(json_array_get(findings, i), "id")), "tls-hidden") == 0;
	if (found != hidden)
		g_string_append_printf(why, "# tls-hidden is %s\n", found ? "told" : "not told");
}

static bool
check_scenario(FILE *out, const char *folder, const struct scenario *scenario, unsigned number)
{
	g_autofree char *path = make_capture(folder, scenario), *json = g_build_filename(folder, "report.json", NULL);
	const char *arguments[] = { "--side=server", path, NULL };
	g_autoptr(GString) why = g_string_new(NULL);
	json_t *report = run_report(folder, json, arguments);
	bool good;

	check_report(report, scenario, why);
	check_tls(report, why);
	good = why->len == 0;
	fprintf(out, "%sok %u - %s\n%s", good ? "" : "not ", number, scenario->name, why->str);
	json_decref(report);
	g_unlink(path);
	g_unlink(json);
	return good;
}

int
main(int argc, char **argv)
{
	g_autofree char *folder = NULL;
	unsigned number = 0, failed = 0;
	FILE *out;

	if (argc > 1) {
		for (const struct scenario *scenario = scenarios; scenario->name != NULL; scenario++)
			g_free(make_capture(argv[1], scenario));
		return 0;
	}
	/* the program's report goes to standard output, the test's to where that led */
	out = fdopen(dup(STDOUT_FILENO), "w");
	g_assert(out != NULL && freopen("/dev/null", "w", stdout) != NULL);
	folder = g_dir_make_tmp("nfscorr-protocols.XXXXXX", NULL);
	g_assert(folder != NULL);
	for (const struct scenario *scenario = scenarios; scenario->name != NULL; scenario++)
		failed += !check_scenario(out, folder, scenario, ++number);
	fprintf(out, "1..%u\n", number);
	fclose(out);
	g_rmdir(folder);
	return failed > 0;
}
