#include "run/engine.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/errors.h"
#include "capture/source_set.h"
#include "run/correlation.h"
#include "run/output.h"
#include "run/progress.h"

struct engine {
	const struct options *options;
	struct log *log;
	GPtrArray *captures;		/* const char *const *: the files of each readable capture, the server's first */
	enum side_option side;		/* of a single capture */
	struct output *ops_output;
	struct ops_writer *ops_writer;
	struct ids *ids;		/* for labels of what has no id */
	struct correlation found;
	struct progress *progress;
	uint64_t calls;
	bool failed;
	bool wrong_usage;		/* the filter */
};

static void
fail(struct engine *engine, GError *error)
{
	log_line(engine->log, LOG_QUIET, "run", "%s", error->message);
	g_error_free(error);
	engine->failed = true;
}

static void
show_progress(void *context)
{
	struct engine *engine = context;
	uint64_t done, all;

	if (!progress_due(engine->progress))
		return;
	correlation_position(&engine->found, &done, &all);
	progress_show(engine->progress, done, all, engine->calls);
}

static void
take_pair(void *context, const struct op_pair *pair)
{
	struct engine *engine = context;

	engine->calls++;
	if (engine->found.correlate != NULL)
		aggregate_add_pair(engine->found.aggregate, pair);
	if (engine->ops_writer != NULL)
		ops_write(engine->ops_writer, pair);
}

/* Everything begins again: the records written so far are void. */
static void
begin_again(void *context)
{
	struct engine *engine = context;
	FILE *file;

	engine->calls = 0;
	if (engine->ops_writer == NULL)
		return;
	ops_writer_free(engine->ops_writer);
	file = output_file(engine->ops_output);
	if (fflush(file) != 0 || fseek(file, 0, SEEK_SET) != 0 || ftruncate(fileno(file), 0) != 0) {
		log_line(engine->log, LOG_QUIET, "ops", "the clocks differ too much for one pass, and %s cannot "
		    "be begun again: give a file", engine->options->ops_path);
		engine->failed = true;
	}
	engine->ops_writer = ops_writer_new(file, engine->options->ops_format, engine->ids);
}

/* ---- what is read ---- */

enum { SIDE_STEPS = 100, SIDE_PACKETS = 2000 };

static void
ignore_op(void *context, const struct nfs_op *op)
{
	(void)context;
	(void)op;
}

/* What was read of a pipe is gone: it is opened once. */
static bool
is_stream(const char *path)
{
	struct stat status;

	return strcmp(path, "-") == 0 ||
	    (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

/* True when a capture can be opened; streams are believed. */
static bool
is_readable(struct engine *engine, const char *const *paths)
{
	GError *error = NULL;
	struct source_set *set;

	for (unsigned i = 0; paths[i] != NULL; i++)
		if (is_stream(paths[i]))
			return true;
	set = source_set_open(paths, engine->options->filter, &error);
	if (set == NULL) {
		engine->wrong_usage = g_error_matches(error, NFSCORR_ERROR, NFSCORR_ERROR_USAGE);
		fail(engine, error);
	}
	source_set_free(set);
	return set != NULL;
}

static void
add_capture(struct engine *engine, GPtrArray *files, GPtrArray *captures)
{
	g_autoptr(GPtrArray) paths = g_ptr_array_new();

	g_ptr_array_extend(paths, files, NULL, NULL);
	g_ptr_array_add(paths, NULL);
	if (is_readable(engine, (const char *const *)paths->pdata))
		g_ptr_array_add(captures, g_ptr_array_free(g_steal_pointer(&paths), FALSE));
}

/* Which side a single capture was made on, from its first packets: the records of its calls depend on it. */
static void
detect_side(struct engine *engine)
{
	static const struct pipeline_limits limits = { .connections = 4096, .calls = 65536, .held_bytes = 1 << 24 };
	const char *const *paths = g_ptr_array_index(engine->captures, 0);
	enum pair_side side;
	struct pipeline *pipeline;
	bool told = false;

	if (!is_stream(paths[0]) &&
	    (pipeline = pipeline_new(paths, engine->options->filter, &limits, ignore_op, NULL, NULL)) != NULL) {
		for (unsigned steps = 0; steps < SIDE_STEPS && pipeline_step(pipeline, SIDE_PACKETS); steps++)
			continue;
		told = pipeline_side(pipeline, &side);
		pipeline_free(pipeline);
	}
	if (told)
		engine->side = side == PAIR_SERVER ? SIDE_SERVER : SIDE_CLIENT;
	else
		log_line(engine->log, LOG_NORMAL, "run", "%s: the side it was captured on cannot be told from its "
		    "round trips; taken as the server's, --side says otherwise", paths[0]);
}

/*
 * What cannot be read is said and left out; what is left is reported all the
 * same: the server alone, or one client alone.
 */
static void
choose_captures(struct engine *engine)
{
	const struct options *options = engine->options;
	bool server;

	engine->side = options->side;
	if (options->server->len > 0)
		add_capture(engine, options->server, engine->captures);
	server = engine->captures->len > 0;
	for (unsigned i = 0; i < options->clients->len && !engine->wrong_usage; i++)
		add_capture(engine, g_ptr_array_index(options->clients, i), engine->captures);
	if (options->clients->len > 0 && !server && engine->captures->len > 0) {
		g_ptr_array_set_size(engine->captures, 1);
		engine->side = SIDE_CLIENT;
	} else if (options->clients->len > 0 && server && engine->captures->len == 1) {
		engine->side = SIDE_SERVER;
	}
	if (engine->captures->len == 1 && engine->side == SIDE_DETECT)
		detect_side(engine);
}

/* ---- what comes out ---- */

struct conclusion {
	struct capture_facts *facts;
	struct clock_facts *clocks;
	struct report report;
	struct quality *quality;
	struct verdict *verdict;
	char *why_nothing;
};

/* Why nothing could be correlated, in one sentence; NULL when something was. */
static char *
explain_nothing(const struct report *report)
{
	const struct capture_facts *captures = report->captures;
	int64_t apart_ns = 0;

	unsigned clients = 0;

	for (unsigned i = 1; i < report->capture_count; i++)
		clients += captures[i].rpc.calls > 0;
	if (captures[0].rpc.calls == 0)
		return g_strdup_printf("no NFS call was found in %s", captures[0].name);
	if (!report->two_sided)
		return NULL;
	if (clients == 0)
		return g_strdup_printf("no NFS call was found in %s", captures[report->capture_count - 1].name);
	if (report->correlated->same_side)
		return g_strdup_printf("%s and %s were captured on the same side: one from each is needed",
		    captures[0].name, captures[1].name);
	if (report->correlated->matches[MATCH_MATCHED] + report->correlated->matches[MATCH_PARTIAL] > 0)
		return NULL;
	for (unsigned i = 1; i < report->capture_count; i++) {
		int64_t gap_ns = max_ns(captures[i].first_ns - captures[0].last_ns,
		    captures[0].first_ns - captures[i].last_ns);

		apart_ns = i == 1 ? gap_ns : min_ns(apart_ns, gap_ns);
	}
	if (apart_ns > 0)
		return g_strdup_printf("no call is in both captures, and by their clocks they do not overlap: "
		    "%.1f s lie between them", (double)apart_ns / NS_PER_S);
	return g_strdup("no call is in both captures");
}

static void
gather_facts(struct engine *engine, struct conclusion *conclusion)
{
	const struct correlation *found = &engine->found;
	bool swapped = found->correlate != NULL && found->facts.exchanged;

	conclusion->facts = g_new0(struct capture_facts, found->count);
	for (unsigned i = 0; i < found->count; i++) {
		struct capture_facts *facts = &conclusion->facts[swapped ? found->count - 1 - i : i];

		*facts = *pipeline_facts(feed_pipeline(found->feeds[i]));
		if (facts->trouble != NULL)
			log_line(engine->log, LOG_NORMAL, "capture", "%s", facts->trouble);
	}
	if (swapped)
		aggregate_exchange_sides(found->aggregate);
	for (unsigned i = 0; i < found->count; i++)
		conclusion->facts[i].side = i == 0 ? PAIR_SERVER : PAIR_CLIENT;
	if (found->count == 1)
		conclusion->facts[0].side = engine->side == SIDE_CLIENT ? PAIR_CLIENT : PAIR_SERVER;
}

static void
conclude(struct engine *engine, struct conclusion *conclusion)
{
	const struct correlation *found = &engine->found;
	struct report *report = &conclusion->report;
	const struct aggregate_totals *totals = aggregate_totals(found->aggregate);

	gather_facts(engine, conclusion);
	conclusion->clocks = g_new0(struct clock_facts, found->count);
	for (unsigned i = 1; i < found->count; i++)
		correlate_clock(found->correlate, i - 1, &conclusion->clocks[i - 1]);
	*report = (struct report){
		.generated_ns = g_get_real_time() * NS_PER_US,
		.captures = conclusion->facts,
		.capture_count = found->count,
		.correlated = found->correlate != NULL ? &found->facts : NULL,
		.clocks = conclusion->clocks,
		.aggregate = found->aggregate,
		.ids = found->correlate != NULL ? correlate_ids(found->correlate) : engine->ids,
		.two_sided = found->correlate != NULL,
	};
	conclusion->quality = quality_judge(report->captures, report->capture_count, report->correlated,
	    report->clocks, totals);
	conclusion->verdict = verdict_judge(conclusion->quality, totals);
	conclusion->why_nothing = explain_nothing(report);
	report->quality = conclusion->quality;
	report->verdict = conclusion->verdict;
	report->why_nothing = conclusion->why_nothing;
}

static void
conclusion_clear(struct conclusion *conclusion)
{
	quality_free(conclusion->quality);
	verdict_free(conclusion->verdict);
	g_free(conclusion->facts);
	g_free(conclusion->clocks);
	g_free(conclusion->why_nothing);
}

static bool
wants_colour(const struct options *options)
{
	return options->color == COLOR_ALWAYS || (options->color == COLOR_AUTO && isatty(STDOUT_FILENO));
}

static void
write_json_file(struct engine *engine, const struct report *report)
{
	GError *error = NULL;
	struct output *output = output_open(engine->options->json_path, &error);

	if (output != NULL) {
		report_json(report, output_file(output));
		output_commit(output, &error);
	}
	if (error != NULL)
		fail(engine, error);
}

static void
write_reports(struct engine *engine, const struct report *report)
{
	struct text_style style = { .colour = wants_colour(engine->options), .verbose = engine->options->verbose };
	bool written = engine->options->json ? report_json(report, stdout) : report_text(report, &style, stdout);

	if (!written || fflush(stdout) != 0) {
		log_line(engine->log, LOG_QUIET, "run", "cannot write standard output: %s", g_strerror(errno));
		engine->failed = true;
	}
	if (engine->options->json_path != NULL)
		write_json_file(engine, report);
}

static void
commit_ops(struct engine *engine)
{
	GError *error = NULL;

	ops_writer_free(engine->ops_writer);
	engine->ops_writer = NULL;
	if (engine->ops_output != NULL && !output_commit(g_steal_pointer(&engine->ops_output), &error))
		fail(engine, error);
}

static int
report_found(struct engine *engine)
{
	struct conclusion conclusion = { 0 };
	int status;

	conclude(engine, &conclusion);
	if (conclusion.why_nothing != NULL)
		log_line(engine->log, LOG_NORMAL, "correlate", "%s", conclusion.why_nothing);
	write_reports(engine, &conclusion.report);
	commit_ops(engine);
	status = engine->failed ? EXIT_FAILED : conclusion.why_nothing != NULL ? EXIT_NOTHING : EXIT_REPORT;
	conclusion_clear(&conclusion);
	return status;
}

static bool
open_ops(struct engine *engine)
{
	GError *error = NULL;

	if (engine->options->ops_path == NULL)
		return true;
	engine->ops_output = output_open(engine->options->ops_path, &error);
	if (engine->ops_output == NULL) {
		fail(engine, error);
		return false;
	}
	engine->ops_writer = ops_writer_new(output_file(engine->ops_output), engine->options->ops_format, engine->ids);
	return true;
}

static int
correlate_all(struct engine *engine)
{
	struct options options = *engine->options;
	struct correlation_config config = {
		.options = &options,
		.captures = (const char *const *const *)engine->captures->pdata,
		.count = engine->captures->len,
		.each = take_pair,
		.each_context = engine,
		.wait = show_progress,
		.wait_context = engine,
		.log = engine->log,
	};
	GError *error = NULL;
	bool done;

	options.side = engine->side;
	if (options.threads == 0)
		options.threads = g_get_num_processors();
	engine->progress = progress_new(options.progress && !options.quiet);
	done = correlation_run(&config, &engine->found, begin_again, &error);
	progress_free(engine->progress);
	engine->progress = NULL;
	if (done)
		return report_found(engine);
	fail(engine, error);
	return EXIT_FAILED;
}

int
engine_run(const struct options *options, struct log *log)
{
	struct engine engine = { .options = options, .log = log };
	int status = EXIT_FAILED;

	engine.captures = g_ptr_array_new_with_free_func(g_free);
	engine.ids = ids_new();
	choose_captures(&engine);
	if (engine.wrong_usage)
		status = EXIT_USAGE;
	else if (engine.captures->len > 0 && open_ops(&engine))
		status = correlate_all(&engine);
	correlation_clear(&engine.found);
	ops_writer_free(engine.ops_writer);
	output_drop(engine.ops_output);
	ids_free(engine.ids);
	g_ptr_array_unref(engine.captures);
	return status;
}
