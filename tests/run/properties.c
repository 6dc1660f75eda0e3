/*
 * The properties of DESIGN section 6 on generated traces: whatever the
 * trouble, what is reported is true, the books close, and what must not matter
 * does not.
 *
 *	NFSCORR_TRACES=N	so many traces instead of the usual number
 *	NFSCORR_SEED=S		the one trace of this seed, as a failure prints it
 *
 * A failure is made smaller before it is told: the options of the trace maker
 * that it does not need are left out.
 */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "run/engine.h"
#include "run/options.h"
#include "run/pipeline.h"
#include "trace/trace.h"

enum { TRACES = 300, SHRINK_RUNS = 200, ANCHORED_CALLS = 60, FILE_BYTES_MOST = 256 << 20 };

static const int64_t unknown = INT64_MIN;

/* ---- tables: truth.csv and --ops ---- */

/* Lines of a CSV file without quotes. */
struct table {
	char *text;
	GPtrArray *lines;	/* char **: fields, in the order of the columns */
	GHashTable *columns;	/* name to number + 1 */
};

static struct table *
table_read(const char *path)
{
	struct table *table = g_new0(struct table, 1);
	g_auto(GStrv) lines = NULL;

	table->lines = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	table->columns = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	if (!g_file_get_contents(path, &table->text, NULL, NULL))
		return table;
	lines = g_strsplit(table->text, "\n", -1);
	for (unsigned i = 0; lines[i] != NULL && *lines[i] != '\0'; i++)
		g_ptr_array_add(table->lines, g_strsplit(lines[i], ",", -1));
	if (table->lines->len > 0) {
		char **names = g_ptr_array_steal_index(table->lines, 0);

		for (unsigned i = 0; names[i] != NULL; i++)
			g_hash_table_insert(table->columns, names[i], GUINT_TO_POINTER(i + 1));
		g_free(names);
	}
	return table;
}

static void
table_free(struct table *table)
{
	if (table == NULL)
		return;
	g_ptr_array_unref(table->lines);
	g_hash_table_unref(table->columns);
	g_free(table->text);
	g_free(table);
}

static char **
line_at(const struct table *table, unsigned at)
{
	return g_ptr_array_index(table->lines, at);
}

static unsigned
column(const struct table *table, const char *name)
{
	unsigned at = GPOINTER_TO_UINT(g_hash_table_lookup(table->columns, name));

	g_assert(at > 0);
	return at - 1;
}

static const char *
text_of(const struct table *table, unsigned line, const char *name)
{
	return line_at(table, line)[column(table, name)];
}

static int64_t
number_of(const struct table *table, unsigned line, const char *name)
{
	const char *text = text_of(table, line, name);

	return *text != '\0' ? g_ascii_strtoll(text, NULL, 10) : unknown;
}

static bool
is(const struct table *table, unsigned line, const char *name, const char *text)
{
	return strcmp(text_of(table, line, name), text) == 0;
}

/* ---- one run of the program ---- */

struct outcome {
	int status;
	json_t *report;
	struct table *ops;
	char *json_text;	/* without generated_ns */
};

static void
outcome_free(struct outcome *outcome)
{
	if (outcome == NULL)
		return;
	json_decref(outcome->report);
	table_free(outcome->ops);
	free(outcome->json_text);
	g_free(outcome);
}

/* paths: server (a file or a folder), client, client ...; named as seen from the folder they are in. */
static struct outcome *
run_program(const char *folder, const char *const *paths, const char *more)
{
	struct outcome *outcome = g_new0(struct outcome, 1);
	g_autofree char *json = g_build_filename(folder, "report.json", NULL);
	g_autofree char *ops = g_build_filename(folder, "ops.csv", NULL);
	g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
	struct options options;
	GError *error = NULL;
	FILE *nowhere = fopen("/dev/null", "w");
	struct log *log = log_new(nowhere, LOG_NORMAL);

	g_ptr_array_add(argv, g_strdup("nfscorr"));
	g_ptr_array_add(argv, g_strdup("--top=10000"));
	g_ptr_array_add(argv, g_strconcat("--json=", json, NULL));
	g_ptr_array_add(argv, g_strconcat("--ops=", ops, NULL));
	if (more != NULL)
		g_ptr_array_add(argv, g_strdup(more));
	for (unsigned i = 0; paths[i] != NULL; i++)
		g_ptr_array_add(argv, g_strdup(paths[i] + strlen(folder) + 1));
	g_ptr_array_add(argv, NULL);
	g_assert(g_chdir(folder) == 0);
	g_unlink(json);
	g_unlink(ops);
	optind = 0;	/* getopt begins anew */
	if (options_read(&options, (int)argv->len - 1, (char **)argv->pdata, &error) == OPTIONS_RUN)
		outcome->status = engine_run(&options, log);
	else
		outcome->status = EXIT_USAGE;
	g_clear_error(&error);
	options_clear(&options);
	log_free(log);
	fclose(nowhere);
	outcome->report = json_load_file(json, 0, NULL);
	if (outcome->report == NULL)
		outcome->report = json_object();
	json_object_del(outcome->report, "generated_ns");
	outcome->json_text = json_dumps(outcome->report, JSON_INDENT(1));
	outcome->ops = table_read(ops);
	return outcome;
}

/* ---- JSON ---- */

static json_t *
at(json_t *json, const char *path)
{
	g_auto(GStrv) part = g_strsplit(path, ".", -1);

	for (unsigned i = 0; part[i] != NULL && json != NULL; i++)
		json = g_ascii_isdigit(*part[i])
			? json_array_get(json, (size_t)g_ascii_strtoull(part[i], NULL, 10))
			: json_object_get(json, part[i]);
	return json;
}

static int64_t
integer_at(json_t *json, const char *path)
{
	json_t *value = at(json, path);

	return json_is_integer(value) ? json_integer_value(value) : unknown;
}

/* Where two values differ first; true when they do. */
static bool
json_differs(json_t *a, json_t *b, GString *path)
{
	gsize len = path->len;
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_object(a) && json_is_object(b) && json_object_size(a) == json_object_size(b)) {
		json_object_foreach(a, key, value) {
			g_string_append_printf(path, ".%s", key);
			if (json_differs(value, json_object_get(b, key), path))
				return true;
			g_string_truncate(path, len);
		}
		return false;
	}
	if (json_is_array(a) && json_is_array(b) && json_array_size(a) == json_array_size(b)) {
		json_array_foreach(a, i, value) {
			g_string_append_printf(path, ".%zu", i);
			if (json_differs(value, json_array_get(b, i), path))
				return true;
			g_string_truncate(path, len);
		}
		return false;
	}
	if (a == NULL || b == NULL || !json_equal(a, b)) {
		char *left = a != NULL ? json_dumps(a, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
		char *right = b != NULL ? json_dumps(b, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

		g_string_append_printf(path, ": %.80s against %.80s", left != NULL ? left : "none",
			right != NULL ? right : "none");
		free(left);
		free(right);
		return true;
	}
	return false;
}

/* Takes a key out of an object and of all that is in it. */
static void
forget_key(json_t *json, const char *key)
{
	const char *name;
	json_t *value;
	size_t i;

	if (json_is_object(json)) {
		json_object_del(json, key);
		json_object_foreach(json, name, value)
			forget_key(value, key);
	} else if (json_is_array(json)) {
		json_array_foreach(json, i, value)
			forget_key(value, key);
	}
}

/* keys: those that may differ, NULL-terminated. */
static bool
same_report(const struct outcome *a, const struct outcome *b, const char *const *keys, GString *why)
{
	json_t *left = json_deep_copy(a->report);
	json_t *right = json_deep_copy(b->report);
	g_autoptr(GString) path = g_string_new(NULL);
	bool differs;

	for (unsigned i = 0; keys[i] != NULL; i++) {
		forget_key(left, keys[i]);
		forget_key(right, keys[i]);
	}
	differs = json_differs(left, right, path);
	if (differs)
		g_string_append_printf(why, "the report differs at %s", path->str);
	json_decref(left);
	json_decref(right);
	return !differs;
}

static gint
by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The records as sorted texts without some columns. */
static GPtrArray *
sorted_records(const struct table *ops, const char *const *without)
{
	GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);

	for (unsigned i = 0; i < ops->lines->len; i++) {
		g_auto(GStrv) fields = g_strdupv(line_at(ops, i));

		for (unsigned w = 0; without[w] != NULL; w++)
			*fields[column(ops, without[w])] = '\0';
		g_ptr_array_add(texts, g_strjoinv(",", fields));
	}
	g_ptr_array_sort(texts, by_text);
	return texts;
}

static bool
same_records(const struct table *a, const struct table *b, const char *const *without, GString *why)
{
	g_autoptr(GPtrArray) left = sorted_records(a, without);
	g_autoptr(GPtrArray) right = sorted_records(b, without);

	for (unsigned i = 0; i < MAX(left->len, right->len); i++) {
		const char *x = i < left->len ? g_ptr_array_index(left, i) : "none";
		const char *y = i < right->len ? g_ptr_array_index(right, i) : "none";

		if (strcmp(x, y) != 0) {
			g_string_append_printf(why, "records differ:\n  %s\n  %s", x, y);
			return false;
		}
	}
	return true;
}

/* ---- a trace and what is known of it ---- */

struct trace {
	uint64_t seed;
	GPtrArray *options;	/* char *: NAME=VALUE or NAME, as the trace maker takes them */
	struct trace_config config;
	char *folder;
	GPtrArray *paths;	/* NULL-terminated */
	struct table *truth;
	GHashTable *by_stamp;	/* "c|s:stamp:xid" to GArray of unsigned, lines of the truth */
	struct outcome *base;	/* the plain run; made when it is asked for */
	GRand *rand;		/* of the property */
};

static bool
has_option(const struct trace *trace, const char *name)
{
	gsize len = strlen(name);

	for (unsigned i = 0; i < trace->options->len; i++) {
		const char *option = g_ptr_array_index(trace->options, i);
		const char *found = strstr(option, name);

		/* server-NAME and client-NAME are the same trouble. */
		if (found != NULL && (found == option || found[-1] == '-')
		    && (found[len] == '=' || found[len] == '\0'))
			return true;
	}
	return false;
}

/* Packets are missing in a capture. */
static bool
captures_lack(const struct trace *trace)
{
	static const char *const names[] = {
		"drop", "burst", "drop-window", "only", "capture-start", "capture-stop"
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
		if (has_option(trace, names[i]))
			return true;
	return false;
}

static void
set_option(struct trace_config *config, const char *option)
{
	const char *equals = strchr(option, '=');
	g_autofree char *name = equals != NULL ? g_strndup(option, (gsize)(equals - option))
		: g_strdup(option);
	g_autoptr(GError) error = NULL;

	if (!trace_config_set(config, name, equals != NULL ? equals + 1 : NULL, &error))
		g_error("%s", error->message);
}

static void
write_trace(const struct trace_config *config, const char *folder, GPtrArray *paths)
{
	g_autofree char *csv = g_build_filename(folder, "truth.csv", NULL);
	struct trace_output output = { .truth_csv = csv };
	g_autoptr(GError) error = NULL;

	g_mkdir_with_parents(folder, 0700);
	g_ptr_array_add(paths, g_build_filename(folder, "server.pcap", NULL));
	for (int64_t i = 0; i < config->clients; i++)
		g_ptr_array_add(paths, g_strdup_printf("%s/client%" PRId64 ".pcap", folder, i));
	g_ptr_array_add(paths, NULL);
	output.server = paths->pdata[0];
	output.client = (const char *const *)paths->pdata + 1;
	if (!trace_make(config, &output, &error))
		g_error("%s", error->message);
}

static void
index_truth(struct trace *trace)
{
	static const char *const columns[] = { "file_c_call_first", "file_s_call_first" };

	trace->by_stamp = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
		(GDestroyNotify)g_array_unref);
	for (unsigned i = 0; i < trace->truth->lines->len; i++)
		for (unsigned side = 0; side < G_N_ELEMENTS(columns); side++) {
			char *key = g_strdup_printf("%c:%s:%s", "cs"[side],
				text_of(trace->truth, i, columns[side]), text_of(trace->truth, i, "xid"));
			GArray *lines = g_hash_table_lookup(trace->by_stamp, key);

			if (lines == NULL) {
				lines = g_array_new(FALSE, FALSE, sizeof(unsigned));
				g_hash_table_insert(trace->by_stamp, key, lines);
			} else {
				g_free(key);
			}
			g_array_append_val(lines, i);
		}
}

static struct trace *
trace_new(const char *tmp, uint64_t seed, GPtrArray *options)
{
	struct trace *trace = g_new0(struct trace, 1);
	g_autofree char *csv = NULL;

	trace->seed = seed;
	trace->options = g_ptr_array_ref(options);
	trace->rand = g_rand_new_with_seed((guint32)seed);
	trace->folder = g_build_filename(tmp, "trace", NULL);
	trace->paths = g_ptr_array_new_with_free_func(g_free);
	trace_config_init(&trace->config);
	trace->config.seed = seed;
	for (unsigned i = 0; i < options->len; i++)
		set_option(&trace->config, g_ptr_array_index(options, i));
	write_trace(&trace->config, trace->folder, trace->paths);
	csv = g_build_filename(trace->folder, "truth.csv", NULL);
	trace->truth = table_read(csv);
	index_truth(trace);
	return trace;
}

static void
trace_free(struct trace *trace)
{
	outcome_free(trace->base);
	g_hash_table_unref(trace->by_stamp);
	table_free(trace->truth);
	g_ptr_array_unref(trace->paths);
	g_ptr_array_unref(trace->options);
	g_rand_free(trace->rand);
	g_free(trace->folder);
	g_free(trace);
}

static const struct outcome *
base_of(struct trace *trace)
{
	if (trace->base == NULL)
		trace->base = run_program(trace->folder, (const char *const *)trace->paths->pdata, NULL);
	return trace->base;
}

/* Another trace of nearly the same configuration, in a folder beside. */
static struct outcome *
run_variant(struct trace *trace, const struct trace_config *config)
{
	g_autofree char *folder = g_strconcat(trace->folder, "-variant", NULL);
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);

	write_trace(config, folder, paths);
	return run_program(folder, (const char *const *)paths->pdata, NULL);
}

/* Stamps of a capture's packets, by frame number from 1. */
static GArray *
stamps_of(const struct trace_capture *capture, const char *path, GArray **places)
{
	GArray *stamps = g_array_new(FALSE, FALSE, sizeof(int64_t));
	gsize header_bytes = capture->magic == TRACE_MODIFIED ? 24 : 16;
	int64_t unit_ns = capture->magic == TRACE_NANOSECONDS ? 1 : 1000;
	char *bytes = NULL;
	gsize len = 0;

	if (places != NULL)
		*places = g_array_new(FALSE, FALSE, sizeof(gsize));
	g_file_get_contents(path, &bytes, &len, NULL);
	for (gsize place = 24; place + header_bytes <= len; ) {
		uint32_t word[3];
		int64_t stamp_ns;

		memcpy(word, bytes + place, sizeof word);
		for (unsigned i = 0; i < 3; i++)
			word[i] = capture->big_endian ? GUINT32_FROM_BE(word[i]) : GUINT32_FROM_LE(word[i]);
		stamp_ns = word[0] * INT64_C(1000000000) + word[1] * unit_ns;
		g_array_append_val(stamps, stamp_ns);
		if (places != NULL)
			g_array_append_val(*places, place);
		place += header_bytes + word[2];
	}
	g_free(bytes);
	return stamps;
}

/* ---- the truth of single calls ---- */

static bool
truth_has(const struct trace *trace, char side, int64_t stamp_ns, const char *xid, unsigned line)
{
	g_autofree char *key = g_strdup_printf("%c:%" PRId64 ":%s", side, stamp_ns, xid);
	GArray *lines = g_hash_table_lookup(trace->by_stamp, key);

	for (unsigned i = 0; lines != NULL && i < lines->len; i++)
		if (g_array_index(lines, unsigned, i) == line)
			return true;
	return false;
}

static GArray *
truth_of(const struct trace *trace, char side, int64_t stamp_ns, const char *xid)
{
	g_autofree char *key = g_strdup_printf("%c:%" PRId64 ":%s", side, stamp_ns, xid);

	return g_hash_table_lookup(trace->by_stamp, key);
}

static int64_t
between(const struct trace *trace, unsigned line, const char *from, const char *to)
{
	int64_t a = number_of(trace->truth, line, from);
	int64_t b = number_of(trace->truth, line, to);

	return a != unknown && b != unknown ? b - a : unknown;
}

static void
explain_record(const struct trace *trace, unsigned record, const char *what, GString *why)
{
	g_autofree char *text = g_strjoinv(",", line_at(trace->base->ops, record));

	g_string_append_printf(why, "%s:\n  %s", what, text);
}

/* What a matched record says of the call in this line; NULL: nothing wrong. */
static char *
wrong_with(const struct trace *trace, unsigned record, unsigned line)
{
	const struct table *ops = trace->base->ops;
	int64_t total_ns = between(trace, line, "file_c_call_first", "file_c_reply_last");
	int64_t server_ns = between(trace, line, "file_s_call_last", "file_s_reply_first");
	int64_t request_ns = number_of(ops, record, "request_ns");
	int64_t error_ns = number_of(ops, record, "clock_error_ns");
	int64_t true_request_ns = between(trace, line, "file_c_call_first", "file_s_call_last")
		- number_of(trace->truth, line, "offset_ns");
	static const char *const fields[] = { "status", "offset", "size", "moved", "proc" };

	if (number_of(ops, record, "total_ns") != total_ns)
		return g_strdup_printf("total is %" PRId64, total_ns);
	if (number_of(ops, record, "server_ns") != server_ns)
		return g_strdup_printf("server is %" PRId64, server_ns);
	if (request_ns != unknown && (error_ns == unknown || ABS(request_ns - true_request_ns) > error_ns + 1))
		return g_strdup_printf("request is %" PRId64, true_request_ns);
	for (unsigned i = 0; i < G_N_ELEMENTS(fields); i++)
		if (*text_of(ops, record, fields[i]) != '\0'
		    && strcmp(text_of(ops, record, fields[i]), text_of(trace->truth, line, fields[i])) != 0
		    && *text_of(trace->truth, line, fields[i]) != '\0')
			return g_strdup_printf("%s is %s", fields[i], text_of(trace->truth, line, fields[i]));
	return NULL;
}

/* Every matched record is one call of the truth, and its times are that call's. */
static bool
prop_truth(struct trace *trace, GString *why)
{
	const struct table *ops = base_of(trace)->ops;
	g_autoptr(GHashTable) used = g_hash_table_new(NULL, NULL);

	for (unsigned r = 0; r < ops->lines->len; r++) {
		g_autofree char *wrong = NULL;
		GArray *lines;

		if (!is(ops, r, "match", "matched"))
			continue;
		lines = truth_of(trace, 'c', number_of(ops, r, "time_ns"), text_of(ops, r, "xid"));
		for (unsigned i = 0; lines != NULL && i < lines->len; i++) {
			unsigned line = g_array_index(lines, unsigned, i);

			g_clear_pointer(&wrong, g_free);
			wrong = wrong_with(trace, r, line);
			if (wrong == NULL && !g_hash_table_add(used, GUINT_TO_POINTER(line + 1)))
				wrong = g_strdup("matched twice");
			if (wrong == NULL)
				break;
		}
		if (lines == NULL)
			wrong = g_strdup("no such call");
		if (wrong != NULL) {
			explain_record(trace, r, wrong, why);
			if (lines != NULL) {
				g_autofree char *text = g_strjoinv(",",
					line_at(trace->truth, g_array_index(lines, unsigned, 0)));

				g_string_append_printf(why, "\n  %s", text);
			}
			return false;
		}
	}
	return true;
}

/* The server's half of a matched record is the same call: its frame is that call's. */
static bool
prop_pairs(struct trace *trace, GString *why)
{
	const struct table *ops = base_of(trace)->ops;
	g_autoptr(GArray) stamps = stamps_of(&trace->config.capture[TRACE_SERVER],
		trace->paths->pdata[0], NULL);

	for (unsigned r = 0; r < ops->lines->len; r++) {
		const char *xid = text_of(ops, r, "xid");
		int64_t frame = number_of(ops, r, "server_call_frame");
		GArray *lines;
		bool same = false;

		if (!is(ops, r, "match", "matched"))
			continue;
		if (frame < 1 || frame > stamps->len) {
			explain_record(trace, r, "no such frame", why);
			return false;
		}
		lines = truth_of(trace, 'c', number_of(ops, r, "time_ns"), xid);
		for (unsigned i = 0; lines != NULL && i < lines->len && !same; i++)
			same = truth_has(trace, 's', g_array_index(stamps, int64_t, frame - 1), xid,
				g_array_index(lines, unsigned, i));
		if (!same) {
			explain_record(trace, r, "a false pair", why);
			return false;
		}
	}
	return true;
}

/* Nothing is missing where both captures hold all of a call. */
static bool
prop_complete(struct trace *trace, GString *why)
{
	const struct table *ops = base_of(trace)->ops;
	uint64_t both = 0, matched = 0, ambiguous = 0;

	if (captures_lack(trace) || has_option(trace, "snaplen"))
		return true;
	if (has_option(trace, "offset") && trace->truth->lines->len < ANCHORED_CALLS)
		return true;
	for (unsigned i = 0; i < trace->truth->lines->len; i++)
		both += is(trace->truth, i, "seen_server", "full")
			&& is(trace->truth, i, "seen_client", "full");
	for (unsigned r = 0; r < ops->lines->len; r++) {
		matched += is(ops, r, "match", "matched");
		ambiguous += is(ops, r, "match", "ambiguous");
	}
	if (matched + ambiguous / 2 < both)
		g_string_append_printf(why, "%" PRIu64 " calls are on both sides, %" PRIu64 " matched, %"
			PRIu64 " ambiguous", both, matched, ambiguous);
	return matched + ambiguous / 2 >= both;
}

/* ---- sums ---- */

static bool
prop_parts(struct trace *trace, GString *why)
{
	const struct table *ops = base_of(trace)->ops;

	for (unsigned r = 0; r < ops->lines->len; r++) {
		int64_t total_ns = number_of(ops, r, "total_ns");
		int64_t server_ns = number_of(ops, r, "server_ns");
		int64_t network_ns = number_of(ops, r, "network_ns");
		int64_t client_ns = number_of(ops, r, "client_ns");
		int64_t request_ns = number_of(ops, r, "request_ns");
		int64_t reply_ns = number_of(ops, r, "reply_ns");

		if (!is(ops, r, "match", "matched"))
			continue;
		client_ns = client_ns != unknown ? client_ns : 0;
		if (total_ns == unknown || server_ns + network_ns + client_ns != total_ns) {
			explain_record(trace, r, "parts do not sum", why);
			return false;
		}
		if (request_ns != unknown && request_ns + reply_ns != network_ns + client_ns) {
			explain_record(trace, r, "request and reply are not the network", why);
			return false;
		}
	}
	return true;
}

static bool
rpc_closes(json_t *rpc)
{
	return integer_at(rpc, "calls") == integer_at(rpc, "answered") + integer_at(rpc, "unanswered")
		+ integer_at(rpc, "lost_in_capture") + integer_at(rpc, "in_flight")
		+ integer_at(rpc, "evicted");
}

static bool
prop_books(struct trace *trace, GString *why)
{
	const struct outcome *base = base_of(trace);
	int64_t seen[2] = { 0, 0 };
	int64_t matched = 0;
	size_t i;
	json_t *capture;

	for (unsigned r = 0; r < base->ops->lines->len; r++) {
		/* A lone call that was not answered goes by its outcome: its frames tell the side. */
		seen[0] += number_of(base->ops, r, "server_call_frame") != unknown;
		seen[1] += number_of(base->ops, r, "client_call_frame") != unknown;
		matched += is(base->ops, r, "match", "matched");
	}
	json_array_foreach(at(base->report, "captures"), i, capture) {
		if (!rpc_closes(json_object_get(capture, "rpc"))) {
			g_string_append_printf(why, "the books of capture %zu do not close", i);
			return false;
		}
		seen[i > 0] -= integer_at(capture, "rpc.calls");
	}
	if (seen[0] != 0 || seen[1] != 0)
		g_string_append_printf(why, "records less calls: server %" PRId64 ", clients %" PRId64,
			seen[0], seen[1]);
	else if (matched != integer_at(base->report, "matched.calls"))
		g_string_append_printf(why, "%" PRId64 " matched records", matched);
	return why->len == 0;
}

static void
ignore_op(void *context, const struct nfs_op *op)
{
	(void)context;
	(void)op;
}

static bool
prop_bytes(struct trace *trace, GString *why)
{
	struct pipeline_limits limits = { 4096, 1 << 17, 64 << 20 };

	for (unsigned i = 0; trace->paths->pdata[i] != NULL && why->len == 0; i++) {
		const char *const paths[] = { trace->paths->pdata[i], NULL };
		struct pipeline *pipeline = pipeline_new(paths, NULL, &limits, ignore_op, NULL, NULL);
		const struct stream_counters *tcp;

		if (pipeline == NULL)
			continue;
		while (pipeline_step(pipeline, 1000))
			continue;
		tcp = &pipeline_facts(pipeline)->tcp;
		if (tcp->payload_bytes != tcp->delivered_bytes + tcp->duplicate_bytes + tcp->discarded_bytes)
			g_string_append_printf(why, "capture %u: %" PRIu64 " bytes of payload, %" PRIu64
				" delivered, %" PRIu64 " duplicate, %" PRIu64 " discarded", i,
				tcp->payload_bytes, tcp->delivered_bytes, tcp->duplicate_bytes,
				tcp->discarded_bytes);
		pipeline_free(pipeline);
	}
	return why->len == 0;
}

/* ---- the clock ---- */

static int64_t
clock_shows(const struct trace_config *config, const struct trace_clock *clock, int64_t ideal_ns)
{
	int64_t at_ns = config->start_ns + ideal_ns + clock->offset_ns
		+ ideal_ns / 1000000000 * clock->drift_ppb
		+ ideal_ns % 1000000000 * clock->drift_ppb / 1000000000;

	for (int64_t i = 0; i < clock->steps.count; i++)
		if (ideal_ns >= clock->steps.step[i].at_ns)
			at_ns += clock->steps.step[i].by_ns;
	return at_ns;
}

/* The offset at every ideal time at which the server's clock showed this; with steps there may be two. */
static bool
offset_fits(const struct trace_config *config, const struct trace_clock *client, int64_t reference_ns,
	int64_t offset_ns, int64_t error_ns)
{
	const struct trace_clock *server = &config->server_clock;

	for (int64_t steps = 0; steps <= server->steps.count; steps++) {
		int64_t ideal_ns = reference_ns - config->start_ns - server->offset_ns;
		int64_t true_ns;

		for (int64_t i = 0; i < steps; i++)
			ideal_ns -= server->steps.step[i].by_ns;
		ideal_ns -= ideal_ns / 1000000000 * server->drift_ppb
			+ ideal_ns % 1000000000 * server->drift_ppb / 1000000000;
		true_ns = clock_shows(config, server, ideal_ns) - clock_shows(config, client, ideal_ns);
		if (ABS(offset_ns - true_ns) <= error_ns + 2)
			return true;
	}
	return false;
}

static bool
prop_clock(struct trace *trace, GString *why)
{
	json_t *clocks = at(base_of(trace)->report, "clock");
	json_t *clock;
	size_t i;

	json_array_foreach(clocks, i, clock) {
		int64_t offset_ns = integer_at(clock, "offset_ns");
		int64_t error_ns = integer_at(clock, "error_ns");
		int64_t reference_ns = integer_at(clock, "reference_ns");
		const char *status = json_string_value(json_object_get(clock, "status"));

		if (status == NULL || strcmp(status, "aligned") != 0 || offset_ns == unknown)
			continue;
		if (error_ns == unknown || error_ns < 0
		    || !offset_fits(&trace->config, &trace->config.client_clock[MIN(i, TRACE_CLOCKS - 1)],
			reference_ns, offset_ns, error_ns)) {
			char *text = json_dumps(clock, JSON_COMPACT);

			g_string_append_printf(why, "the true offset is outside %s", text);
			free(text);
			return false;
		}
	}
	return true;
}

/* ---- what must not matter ---- */

static const char *const frame_columns[] = {
	"client_call_frame", "client_reply_frame", "server_call_frame", "server_reply_frame", NULL
};
static const char *const no_columns[] = { NULL };

static bool
prop_threads(struct trace *trace, GString *why)
{
	const struct outcome *base = base_of(trace);
	g_autofree char *threads = g_strdup_printf("--threads=%d", g_rand_int_range(trace->rand, 1, 9));
	struct outcome *other = run_program(trace->folder, (const char *const *)trace->paths->pdata, threads);
	bool same = base->status == other->status && g_strcmp0(base->json_text, other->json_text) == 0
		&& g_strcmp0(base->ops->text, other->ops->text) == 0;

	if (!same && same_report(base, other, no_columns, why))
		same_records(base->ops, other->ops, no_columns, why);
	if (!same)
		g_string_append_printf(why, " (%s)", threads);
	outcome_free(other);
	return same;
}

/* File order inside the window of 64 packets and 2 ms. */
static bool
permuted(struct trace *trace, bool after_handshake, GString *why)
{
	static const char *const keys[] = { "slowest", "out_of_order", "retransmitted", "path", "backward_stamps", "backward_max_ns", "why_nothing", NULL };
	struct trace_config config = trace->config;
	struct outcome *other;
	bool same;

	for (unsigned side = 0; side < TRACE_SIDES; side++) {
		config.capture[side].permute_packets = g_rand_int_range(trace->rand, 2, 33);
		config.capture[side].permute_ns = 1000000;
		config.capture[side].permute_after_handshake = after_handshake;
	}
	other = run_variant(trace, &config);
	same = same_records(base_of(trace)->ops, other->ops, frame_columns, why);
	if (same)
		same = same_report(trace->base, other, keys, why);
	outcome_free(other);
	return same;
}

static bool
prop_permuted(struct trace *trace, GString *why)
{
	return permuted(trace, true, why);
}

static bool
prop_permuted_handshake(struct trace *trace, GString *why)
{
	return permuted(trace, false, why);
}

/* A constant added to a client's clock. */
static bool
prop_shifted(struct trace *trace, GString *why)
{
	static const char *const keys[] = {
		"captures", "clock", "text", "reasons", "by_time", "why_nothing", "request_ns", "reply_ns", NULL
	};
	static const char *const columns[] = { "time_ns", "request_ns", "reply_ns", "clock_error_ns", NULL };
	static const int64_t shift_ns[] = {
		1, -7, 123456, -40000000, 1500000000, -63000000000, 3600000000000, -90000000000000
	};
	struct trace_config config = trace->config;
	/* Clocks more than two minutes apart take an anchor, and that takes calls. */
	bool far = integer_at(base_of(trace)->report, "matched.calls") >= ANCHORED_CALLS;
	int which = g_rand_int_range(trace->rand, 0, far ? G_N_ELEMENTS(shift_ns) : G_N_ELEMENTS(shift_ns) - 3);
	int64_t by_ns = shift_ns[which];
	struct outcome *other;
	bool same;

	if (config.capture[TRACE_CLIENT].magic != TRACE_NANOSECONDS)
		by_ns = by_ns / 1000 * 1000;
	for (unsigned i = 0; i < TRACE_CLOCKS; i++)
		config.client_clock[i].offset_ns += by_ns;
	other = run_variant(trace, &config);
	same = same_records(base_of(trace)->ops, other->ops, columns, why)
		&& same_report(trace->base, other, keys, why);
	for (size_t i = 0; same && i < json_array_size(at(trace->base->report, "clock")); i++) {
		json_t *a = json_array_get(at(trace->base->report, "clock"), i);
		json_t *b = json_array_get(at(other->report, "clock"), i);
		int64_t before_ns = integer_at(a, "offset_ns");
		int64_t after_ns = integer_at(b, "offset_ns");

		same = before_ns == unknown ? after_ns == unknown : after_ns == before_ns - by_ns;
		if (!same)
			g_string_append_printf(why, "offset %" PRId64 " became %" PRId64, before_ns, after_ns);
	}
	if (!same)
		g_string_append_printf(why, "\n(clients' clocks %+" PRId64 " ns)", by_ns);
	outcome_free(other);
	return same;
}

static char *
frames_key(const struct table *ops, unsigned record)
{
	return g_strjoin(":", text_of(ops, record, "xid"), text_of(ops, record, "client_call_frame"),
		text_of(ops, record, "client_reply_frame"), text_of(ops, record, "server_call_frame"),
		text_of(ops, record, "server_reply_frame"), NULL);
}

/* Fields and calls may go, a time never changes. */
static bool
prop_cut_packets(struct trace *trace, GString *why)
{
	static const int snaplen[] = { 68, 96, 128, 160, 200, 256, 320, 512, 1000 };
	static const char *const times[] = { "time_ns", "total_ns", "server_ns", "network_ns" };
	const struct table *whole = base_of(trace)->ops;
	struct trace_config config = trace->config;
	g_autoptr(GHashTable) records = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	unsigned sides = (unsigned)g_rand_int_range(trace->rand, 1, 4);
	struct outcome *other;

	for (unsigned side = 0; side < TRACE_SIDES; side++)
		if ((sides >> side & 1) != 0)
			config.capture[side].snaplen_bytes = MIN(config.capture[side].snaplen_bytes,
				snaplen[g_rand_int_range(trace->rand, 0, G_N_ELEMENTS(snaplen))]);
	other = run_variant(trace, &config);
	for (unsigned r = 0; r < whole->lines->len; r++)
		g_hash_table_insert(records, frames_key(whole, r), GUINT_TO_POINTER(r + 1));
	for (unsigned r = 0; r < other->ops->lines->len && why->len == 0; r++) {
		g_autofree char *key = frames_key(other->ops, r);
		unsigned before = GPOINTER_TO_UINT(g_hash_table_lookup(records, key));

		for (unsigned t = 0; before > 0 && t < G_N_ELEMENTS(times); t++) {
			int64_t a = number_of(whole, before - 1, times[t]);
			int64_t b = number_of(other->ops, r, times[t]);

			if (a != unknown && b != unknown && a != b)
				g_string_append_printf(why, "%s %" PRId64 " became %" PRId64 ", xid %s, "
					"snap lengths %" PRId64 " and %" PRId64, times[t], a, b,
					text_of(whole, before - 1, "xid"),
					config.capture[TRACE_SERVER].snaplen_bytes,
					config.capture[TRACE_CLIENT].snaplen_bytes);
		}
	}
	outcome_free(other);
	return why->len == 0;
}

static void
write_part(const char *path, const char *header, const char *bytes, gsize len)
{
	FILE *file = fopen(path, "wb");

	g_assert(file != NULL && fwrite(header, 1, 24, file) == 24);
	g_assert(fwrite(bytes, 1, len, file) == len && fclose(file) == 0);
}

/* The server's capture in two files of a folder. */
static bool
prop_cut_file(struct trace *trace, GString *why)
{
	static const char *const keys[] = { "files", "why_nothing", NULL };
	const struct outcome *base = base_of(trace);
	GArray *places;
	g_autoptr(GArray) stamps = stamps_of(&trace->config.capture[TRACE_SERVER],
		trace->paths->pdata[0], &places);
	g_autofree char *folder = g_build_filename(trace->folder, "parts", NULL);
	g_autofree char *first = g_build_filename(folder, "b.pcap", NULL);
	g_autofree char *second = g_build_filename(folder, "a.pcap", NULL);
	g_autoptr(GPtrArray) paths = g_ptr_array_new();
	g_autofree char *bytes = NULL;
	struct outcome *other = NULL;
	unsigned at_packet;
	gsize len;

	at_packet = stamps->len > 2 ? (unsigned)g_rand_int_range(trace->rand, 1, (int)stamps->len) : 0;
	/* The files go by their first stamps: equal ones would not tell which is first. */
	if (at_packet > 0 && g_array_index(stamps, int64_t, at_packet) > g_array_index(stamps, int64_t, 0)) {
		gsize cut = g_array_index(places, gsize, at_packet);

		g_mkdir_with_parents(folder, 0700);
		g_assert(g_file_get_contents(trace->paths->pdata[0], &bytes, &len, NULL));
		write_part(first, bytes, bytes + 24, cut - 24);
		write_part(second, bytes, bytes + cut, len - cut);
		g_ptr_array_add(paths, folder);
		for (unsigned i = 1; i < trace->paths->len; i++)
			g_ptr_array_add(paths, trace->paths->pdata[i]);
		other = run_program(trace->folder, (const char *const *)paths->pdata, NULL);
		if (g_strcmp0(base->ops->text, other->ops->text) != 0
		    && same_records(base->ops, other->ops, no_columns, why))
			g_string_append(why, "the records are in another order");
		if (why->len == 0)
			same_report(base, other, keys, why);
		if (why->len > 0)
			g_string_append_printf(why, "\n(server's capture cut before packet %u)", at_packet + 1);
	}
	g_array_unref(places);
	outcome_free(other);
	return why->len == 0;
}

/* ---- properties and traces ---- */

typedef bool property_fn(struct trace *trace, GString *why);

static const struct property {
	const char *name;
	property_fn *holds;
} properties[] = {
	{ "every matched call has the times of the truth", prop_truth },
	{ "no false pair", prop_pairs },
	{ "every call that both captures hold is matched", prop_complete },
	{ "parts sum", prop_parts },
	{ "calls close", prop_books },
	{ "bytes close", prop_bytes },
	{ "the true offset lies inside the bound", prop_clock },
	{ "any number of threads gives the same bytes", prop_threads },
	{ "packets permuted inside the window change nothing", prop_permuted },
	{ "nor do handshakes permuted with their data", prop_permuted_handshake },
	{ "a constant added to a clock changes nothing but the offset", prop_shifted },
	{ "a smaller snap length never changes a time", prop_cut_packets },
	{ "a capture cut in two is the whole", prop_cut_file },
};

/* One line an option or a group that goes together; values separated by '|'. */
static const char *const troubles[] = {
	"clients=2|3", "nconnect=2|4", "slots=2|4|16", "callers=1|3|20", "mix=all|READ|WRITE:3,COMMIT|GETATTR",
	"read=512|4k|16k|64k", "write=512|4k|16k|64k", "vary-sizes", "errors=0.1", "auth-none",
	"jukebox=0.1", "threads=1|2|4", "delay=10us|1ms|20ms", "request-delay=5ms", "reply-delay=3ms",
	"jitter=50us|400us", "line=100M|1G", "loss=0.002|0.02|0.06", "request-loss=0.03", "reply-loss=0.03",
	"reorder=0.02|0.1", "reorder-by=200us|1500us|5ms", "mss=536|8948", "window=8k|32k", "rto=5ms",
	"delayed-ack=0|1ms", "server-stall=0.02", "client-stall=0.02", "call-pause=0.2",
	"coalesce=20us|200us", "gro-break=0.5", "tcp-timestamps=no", "high-sequence", "keepalive=2ms|500us",
	"overlap=0.02|0.1", "fragment=200|1k", "empty-fragment", "split-mark=0.1|0.8", "payload=fakes|pattern",
	"xid=1", "xid-modulus=256", "xid-restart", "timeo=4ms|20ms", "unanswered=0.05", "denied=0.05",
	"accept-errors=0.05", "reconnect=15|40", "reconnect-how=rst|server-fin|server-rst",
	"reconnect-same-port", "reconnect-delay=20ms", "close", "nat=address|port|both|one", "virtual-server",
	"extra-clients=2", "extra-servers=1",
	"snaplen=68|96|128|200|256|320|512", "server-snaplen=96|128|200|320", "client-snaplen=96|128|200|320",
	"server-drop=0.005|0.03", "client-drop=0.005|0.03", "server-burst=0.005", "client-burst=0.005",
	"server-drop-window=5ms:5ms", "client-drop-window=8ms:4ms", "server-only=calls|replies",
	"client-only=calls|replies", "server-capture-start=4ms", "client-capture-start=6ms",
	"server-capture-stop=15ms", "client-capture-stop=12ms",
	"server-duplicate", "client-duplicate", "duplicate-delay=3us", "duplicate-hop",
	"server-link=vlan|qinq|sll|sll2|raw", "client-link=vlan|sll2|raw", "server-ip=6", "client-ip=6",
	"server-magic=us|modified", "client-magic=us", "server-big-endian",
	"gso=16k|64k", "gro=16k|64k", "server-gso=64k", "client-gro=64k", "gso-zero-length",
	"server-offset=3ms|-90s", "server-drift=50k|-100k", "client-offset=-7ms|1500ms|2h", "client-drift=20k|-60k",
	"server-step=10ms:50ms", "client-step=9ms:30ms",
};

static GPtrArray *
choose_options(uint64_t seed)
{
	GPtrArray *options = g_ptr_array_new_with_free_func(g_free);
	GRand *rand = g_rand_new_with_seed((guint32)seed);
	int count = g_rand_int_range(rand, 0, 9);
	bool taken[G_N_ELEMENTS(troubles)] = { false };

	g_ptr_array_add(options, g_strdup_printf("calls=%d", g_rand_int_range(rand, 20, 250)));
	g_ptr_array_add(options, g_strdup_printf("read=%d", 1 << g_rand_int_range(rand, 9, 14)));
	g_ptr_array_add(options, g_strdup_printf("write=%d", 1 << g_rand_int_range(rand, 9, 14)));
	for (int i = 0; i < count; i++) {
		unsigned row = (unsigned)g_rand_int_range(rand, 0, G_N_ELEMENTS(troubles));
		const char *equals = strchr(troubles[row], '=');
		g_auto(GStrv) values = equals != NULL ? g_strsplit(equals + 1, "|", -1) : NULL;

		if (taken[row])
			continue;
		taken[row] = true;
		g_ptr_array_add(options, equals == NULL ? g_strdup(troubles[row])
			: g_strdup_printf("%.*s=%s", (int)(equals - troubles[row]), troubles[row],
			    values[g_rand_int_range(rand, 0, (int)g_strv_length(values))]));
	}
	g_rand_free(rand);
	return options;
}

/* Combinations whose truth is known. */
static bool
allowed(GPtrArray *options)
{
	struct trace probe = { .options = options };

	return !has_option(&probe, "overlap") || !captures_lack(&probe);
}

static bool
holds(const char *tmp, uint64_t seed, GPtrArray *options, const struct property *property, GString *why)
{
	struct trace *trace = trace_new(tmp, seed, options);
	bool good;

	base_of(trace);
	good = property->holds(trace, why);
	trace_free(trace);
	return good;
}

/* Leaves out what the failure does not need. Taken by the caller. */
static GPtrArray *
shrink(const char *tmp, uint64_t seed, GPtrArray *options, const struct property *property)
{
	GPtrArray *least = g_ptr_array_copy(options, (GCopyFunc)(void (*)(void))g_strdup, NULL);
	unsigned runs = 0;
	bool smaller = true;

	g_ptr_array_set_free_func(least, g_free);
	while (smaller && runs < SHRINK_RUNS) {
		smaller = false;
		for (unsigned i = 0; i < least->len && runs < SHRINK_RUNS; i++) {
			char *option = g_ptr_array_index(least, i);
			int64_t calls = g_str_has_prefix(option, "calls=")
				? g_ascii_strtoll(option + strlen("calls="), NULL, 10) : 0;
			g_autoptr(GString) why = g_string_new(NULL);
			g_autoptr(GPtrArray) tried = g_ptr_array_copy(least,
				(GCopyFunc)(void (*)(void))g_strdup, NULL);

			g_ptr_array_set_free_func(tried, g_free);
			if (calls > 0) {
				g_free(tried->pdata[i]);
				tried->pdata[i] = g_strdup_printf("calls=%" PRId64, calls * 2 / 3);
			} else {
				g_ptr_array_remove_index(tried, i);
			}
			runs++;
			if (calls == 1 || !allowed(tried) || holds(tmp, seed, tried, property, why))
				continue;
			g_ptr_array_unref(least);
			least = g_steal_pointer(&tried);
			smaller = true;
			i--;
		}
	}
	return least;
}

static void
print_failure(FILE *out, const char *tmp, uint64_t seed, GPtrArray *options, const struct property *property,
	const char *first)
{
	g_autoptr(GPtrArray) least = shrink(tmp, seed, options, property);
	g_autoptr(GString) why = g_string_new(NULL);
	g_auto(GStrv) lines = NULL;

	holds(tmp, seed, least, property, why);
	fprintf(out, "# %s\n# NFSCORR_SEED=%" PRIu64 "; tracemaker --seed=%" PRIu64, property->name, seed, seed);
	for (unsigned i = 0; i < least->len; i++)
		fprintf(out, " --%s", (const char *)g_ptr_array_index(least, i));
	fputc('\n', out);
	if (why->len == 0)
		g_string_append_printf(why, "not every time; at first %s", first);
	lines = g_strsplit(why->str, "\n", -1);
	for (unsigned i = 0; lines[i] != NULL; i++)
		fprintf(out, "# %s\n", lines[i]);
	fflush(out);
}

/* ---- the whole ---- */

static char running[4096];

/* A sanitizer's abort, or a crash: which trace it was. */
static void
tell_trace(int number)
{
	if (write(STDERR_FILENO, running, strlen(running)) < 0)
		_exit(1);
	signal(number, SIG_DFL);
	raise(number);
}

static void
note_running(uint64_t seed, GPtrArray *options)
{
	gsize used = (gsize)snprintf(running, sizeof running, "NFSCORR_SEED=%" PRIu64 ":", seed);

	for (unsigned i = 0; i < options->len && used < sizeof running; i++)
		used += (gsize)snprintf(running + used, sizeof running - used, " --%s",
			(const char *)g_ptr_array_index(options, i));
	g_strlcat(running, "\n", sizeof running);
}

static void
remove_folder(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
		g_autofree char *inside = g_build_filename(path, name, NULL);

		if (g_file_test(inside, G_FILE_TEST_IS_DIR))
			remove_folder(inside);
		else
			g_unlink(inside);
	}
	g_rmdir(path);
}

static uint64_t
number_from(const char *name, uint64_t otherwise)
{
	const char *text = g_getenv(name);

	return text != NULL ? g_ascii_strtoull(text, NULL, 10) : otherwise;
}

int
main(void)
{
	struct rlimit limit = { FILE_BYTES_MOST, FILE_BYTES_MOST };
	uint64_t traces = g_getenv("NFSCORR_SEED") != NULL ? 1 : number_from("NFSCORR_TRACES", TRACES);
	uint64_t first = number_from("NFSCORR_SEED", g_random_int_range(1, 1 << 30));
	unsigned failures[G_N_ELEMENTS(properties)] = { 0 };
	g_autofree char *tmp = g_dir_make_tmp("nfscorr-properties.XXXXXX", NULL);
	FILE *out = fdopen(dup(STDOUT_FILENO), "w");
	unsigned failed = 0;

	/* The text report goes nowhere, the results of the test go out. */
	g_assert(tmp != NULL && out != NULL && freopen("/dev/null", "w", stdout) != NULL);
	setrlimit(RLIMIT_FSIZE, &limit);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGABRT, tell_trace);
	signal(SIGSEGV, tell_trace);
	for (uint64_t seed = first; seed < first + traces; seed++) {
		g_autoptr(GPtrArray) options = choose_options(seed);
		struct trace *trace;

		note_running(seed, options);
		if (!allowed(options))
			continue;
		trace = trace_new(tmp, seed, options);
		for (unsigned p = 0; p < G_N_ELEMENTS(properties); p++) {
			g_autoptr(GString) why = g_string_new(NULL);

			g_rand_set_seed(trace->rand, (guint32)seed);
			if (properties[p].holds(trace, why))
				continue;
			if (failures[p]++ < 3)
				print_failure(out, tmp, seed, options, &properties[p], why->str);
			trace_free(trace);
			trace = trace_new(tmp, seed, options);
		}
		trace_free(trace);
	}
	for (unsigned p = 0; p < G_N_ELEMENTS(properties); p++) {
		fprintf(out, "%s %u - %s (%" PRIu64 " traces from seed %" PRIu64 ", %u failed)\n",
			failures[p] == 0 ? "ok" : "not ok", p + 1, properties[p].name, traces, first,
			failures[p]);
		failed += failures[p] > 0;
	}
	fprintf(out, "1..%zu\n", G_N_ELEMENTS(properties));
	fclose(out);
	remove_folder(tmp);
	return failed > 0;
}
