#include "run/engine.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/errors.h"
#include "capture/source_set.h"
#include "run/conclude.h"
#include "run/confine.h"
#include "run/correlation.h"
#include "run/output.h"
#include "run/progress.h"

struct engine {
	const struct options *options;
	struct log *log;
	struct keeper *keeper;		/* that opens what is named; NULL: the program does */
	struct filter *filter;		/* NULL: none */
	struct source_config source;
	GPtrArray *captures;		/* const char *const *: the files of each readable capture, the server's first */
	enum side_option side;		/* of a single capture */
	struct output *ops_output;
	struct output *json_output;	/* NULL: opened when it is written */
	struct ops_writer *ops_writer;
	struct ids *ids;		/* for labels of what has no id */
	struct correlation found;
	struct client_calls *clients;	/* by client capture */
	struct progress *progress;
	unsigned threads;
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
	client_calls_add(engine->clients, pair);
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
	memset(engine->clients, 0, engine->captures->len * sizeof(*engine->clients));
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

/* True when a capture can be opened. */
static bool
is_readable(struct engine *engine, const char *const *paths)
{
	GError *error = NULL;

	if (source_set_try(paths, &engine->source, &error))
		return true;
	engine->wrong_usage = g_error_matches(error, NFSCORR_ERROR, NFSCORR_ERROR_USAGE);
	fail(engine, error);
	return false;
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

	if (keeper_kind(engine->keeper, paths[0]) != KEEPER_STREAM &&
	    (pipeline = pipeline_new(paths, &engine->source, &limits, ignore_op, NULL, NULL)) != NULL) {
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

/* What is left of the captures that were given: all, the server alone, or one client alone. */
static void
settle_side(struct engine *engine, bool server)
{
	const struct options *options = engine->options;

	if (options->clients->len > 0 && !server && engine->captures->len > 0) {
		g_ptr_array_set_size(engine->captures, 1);
		engine->side = SIDE_CLIENT;
	} else if (options->clients->len > 0 && server && engine->captures->len == 1) {
		engine->side = SIDE_SERVER;
	}
	if (engine->captures->len == 1 && engine->side == SIDE_DETECT)
		detect_side(engine);
}

/*
 * A stream shows only when it is opened that it is no capture. Files were tried
 * before, so that a single stream is what failed, and they can be read again
 * without it. False when that leaves nothing, or it cannot be told.
 */
static bool
leave_out_stream(struct engine *engine)
{
	unsigned found = 0, streams = 0;

	for (unsigned i = 0; i < engine->captures->len; i++) {
		if (!source_set_has_stream(g_ptr_array_index(engine->captures, i), &engine->source))
			continue;
		streams++;
		found = i;
	}
	if (streams != 1 || engine->captures->len < 2)
		return false;
	g_ptr_array_remove_index(engine->captures, found);
	settle_side(engine, found != 0);
	return true;
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
	settle_side(engine, server);
}

/* ---- what comes out ---- */

/* Clocks that are far apart take a second reading. */
static bool
reads_streams(const struct engine *engine)
{
	for (unsigned i = 0; i < engine->captures->len; i++)
		if (source_set_has_stream(g_ptr_array_index(engine->captures, i), &engine->source))
			return true;
	return false;
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
	struct output *output = g_steal_pointer(&engine->json_output);

	if (output == NULL)
		output = output_open(engine->keeper, engine->options->json_path, &error);
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

/* Says what went wrong while reading. Taken by the caller. */
static struct capture_facts *
gather_captures(struct engine *engine)
{
	const struct correlation *found = &engine->found;
	struct capture_facts *captures = g_new(struct capture_facts, found->count);

	for (unsigned i = 0; i < found->count; i++) {
		captures[i] = *pipeline_facts(feed_pipeline(found->feeds[i]));
		if (captures[i].trouble != NULL)
			log_line(engine->log, LOG_NORMAL, "capture", "%s", captures[i].trouble);
	}
	return captures;
}

static struct conclusion *
conclude_all(struct engine *engine, const struct capture_facts *captures)
{
	const struct found found = {
		.captures = captures,
		.count = engine->found.count,
		.side = engine->side == SIDE_CLIENT ? PAIR_CLIENT : PAIR_SERVER,
		.has_streams = reads_streams(engine),
		.correlate = engine->found.correlate,
		.correlated = &engine->found.facts,
		.clients = engine->clients,
		.aggregate = engine->found.aggregate,
		.ids = engine->found.correlate != NULL ? correlate_ids(engine->found.correlate) : engine->ids,
	};

	return conclude(&found);
}

static int
report_found(struct engine *engine)
{
	g_autofree struct capture_facts *captures = gather_captures(engine);
	struct conclusion *conclusion = conclude_all(engine, captures);
	const struct report *report = conclusion_report(conclusion);
	int status;

	if (report->why_nothing != NULL)
		log_line(engine->log, LOG_NORMAL, "correlate", "%s", report->why_nothing);
	write_reports(engine, report);
	commit_ops(engine);
	status = engine->failed ? EXIT_FAILED : report->why_nothing != NULL ? EXIT_NOTHING : EXIT_REPORT;
	conclusion_free(conclusion);
	return status;
}

/* What cannot be written is refused before anything is read. */
static bool
open_outputs(struct engine *engine)
{
	const struct options *options = engine->options;
	GError *error = NULL;

	if (options->json_path != NULL)
		engine->json_output = output_open_early(engine->keeper, options->json_path, &error);
	if (error == NULL && options->ops_path != NULL)
		engine->ops_output = output_open(engine->keeper, options->ops_path, &error);
	if (error != NULL) {
		fail(engine, error);
		return false;
	}
	if (engine->ops_output != NULL)
		engine->ops_writer = ops_writer_new(output_file(engine->ops_output), options->ops_format, engine->ids);
	return true;
}

static int
correlate_all(struct engine *engine)
{
	struct options options = *engine->options;
	struct correlation_config config = {
		.options = &options,
		.source = &engine->source,
		.each = take_pair,
		.each_context = engine,
		.wait = show_progress,
		.wait_context = engine,
		.log = engine->log,
	};
	GError *error = NULL;
	bool done;

	options.threads = engine->threads;
	engine->clients = g_new0(struct client_calls, engine->captures->len);
	engine->progress = progress_new(options.progress && !options.quiet);
	do {
		options.side = engine->side;
		config.captures = (const char *const *const *)engine->captures->pdata;
		config.count = engine->captures->len;
		config.has_streams = reads_streams(engine);
		done = correlation_run(&config, &engine->found, begin_again, &error);
		if (!done)
			fail(engine, g_steal_pointer(&error));
	} while (!done && leave_out_stream(engine));
	progress_free(engine->progress);
	engine->progress = NULL;
	return done ? report_found(engine) : EXIT_FAILED;
}

/* The last that is done with the rights of who called: nothing was read so far. */
static bool
prepare(struct engine *engine, struct rights *rights)
{
	const struct options *options = engine->options;
	GError *error = NULL;

	engine->threads = options->threads != 0 ? options->threads : g_get_num_processors();
	if (options->filter != NULL)
		engine->source.filter = engine->filter = filter_new(options->filter, &error);
	if (error == NULL && confine(rights, engine->log, &error))
		return true;
	engine->wrong_usage = g_error_matches(error, NFSCORR_ERROR, NFSCORR_ERROR_USAGE);
	fail(engine, error);
	return false;
}

int
engine_run(const struct options *options, struct rights *rights, struct log *log)
{
	struct engine engine = { .options = options, .log = log, .keeper = rights_keeper(rights) };
	int status = EXIT_FAILED;

	engine.source.keeper = engine.keeper;
	engine.captures = g_ptr_array_new_with_free_func(g_free);
	engine.ids = ids_new();
	if (prepare(&engine, rights))
		choose_captures(&engine);
	if (engine.wrong_usage)
		status = EXIT_USAGE;
	else if (engine.captures->len > 0 && open_outputs(&engine))
		status = correlate_all(&engine);
	correlation_clear(&engine.found);
	ops_writer_free(engine.ops_writer);
	output_drop(engine.ops_output);
	output_drop(engine.json_output);
	ids_free(engine.ids);
	g_free(engine.clients);
	g_ptr_array_unref(engine.captures);
	filter_free(engine.filter);
	return status;
}
