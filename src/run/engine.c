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

/* What the pairs of one client's capture say of it. */
struct client_calls {
	uint64_t paired;		/* matched or partial */
	uint64_t against_clock;		/* with a way below zero */
};

struct engine {
	const struct options *options;
	struct log *log;
	GPtrArray *captures;		/* const char *const *: the files of each readable capture, the server's first */
	enum side_option side;		/* of a single capture */
	struct output *ops_output;
	struct ops_writer *ops_writer;
	struct ids *ids;		/* for labels of what has no id */
	struct correlation found;
	struct client_calls *clients;	/* by client capture */
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

/* After an exchange the one client is number 0, whatever the order of the captures was. */
static void
count_client(struct engine *engine, const struct op_pair *pair)
{
	struct client_calls *client;

	if (pair->match != MATCH_MATCHED && pair->match != MATCH_PARTIAL)
		return;
	client = &engine->clients[pair->client_capture];
	client->paired++;
	client->against_clock += pair->match == MATCH_MATCHED && pair->parts.aligned &&
	    (pair->parts.request_ns < 0 || pair->parts.reply_ns < 0);
}

static void
take_pair(void *context, const struct op_pair *pair)
{
	struct engine *engine = context;

	engine->calls++;
	count_client(engine, pair);
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

/* What was read of a pipe is gone: it is opened once. */
static bool
is_stream(const char *path)
{
	struct stat status;

	return strcmp(path, "-") == 0 ||
	    (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

static bool
has_stream(const char *const *paths)
{
	for (unsigned i = 0; paths[i] != NULL; i++)
		if (is_stream(paths[i]))
			return true;
	return false;
}

/* One that holds files stands for them and is not here any more. */
static bool
is_directory(const char *path)
{
	struct stat status;

	return path != NULL && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* True when a capture can be opened; streams are believed. */
static bool
is_readable(struct engine *engine, const char *const *paths)
{
	GError *error = NULL;
	struct source_set *set;

	if (has_stream(paths))
		return true;
	if (is_directory(paths[0])) {
		fail(engine, g_error_new(NFSCORR_ERROR, NFSCORR_ERROR_FAILED, "%s: a directory without a file in it",
		    paths[0]));
		return false;
	}
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
		if (!has_stream(g_ptr_array_index(engine->captures, i)))
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

struct conclusion {
	struct capture_facts *facts;
	struct clock_facts *clocks;
	struct report report;
	struct quality *quality;
	struct verdict *verdict;
	struct findings *findings;
	char *why_nothing;
};

/* How far the captures are apart by their clocks, the nearest client; not above zero when they overlap. */
static int64_t
captures_apart_ns(const struct report *report)
{
	const struct capture_facts *captures = report->captures;
	int64_t apart_ns = INT64_MAX;

	for (unsigned i = 1; i < report->capture_count; i++)
		apart_ns = min_ns(apart_ns, max_ns(captures[i].first_ns - captures[0].last_ns,
		    captures[0].first_ns - captures[i].last_ns));
	return apart_ns;
}

/* Clocks that are far apart take a second reading. */
static bool
reads_streams(const struct engine *engine)
{
	for (unsigned i = 0; i < engine->captures->len; i++)
		if (has_stream(g_ptr_array_index(engine->captures, i)))
			return true;
	return false;
}

/* True when the timing of all captures says that they were made on the same side. */
static bool
all_of_side(const struct report *report, enum pair_side side)
{
	for (unsigned i = 0; i < report->capture_count; i++)
		if (!report->captures[i].side_detected || report->captures[i].detected_side != side)
			return false;
	return true;
}

/* Why nothing could be correlated, in one sentence; NULL when something was. */
static char *
explain_nothing(const struct engine *engine, const struct report *report)
{
	const struct capture_facts *captures = report->captures;
	const char *streams = reads_streams(engine) ?
	    "; standard input and pipes are read only once: from files, calls are found however far apart the clocks are" :
	    "";
	int64_t apart_ns;
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
	for (enum pair_side side = PAIR_SERVER; side <= PAIR_CLIENT; side++)
		if (all_of_side(report, side))
			return g_strdup_printf("no call is in both captures, and by their timing %s and %s are both of a %s: "
			    "one of the %s is needed, too", captures[0].name, captures[1].name,
			    side == PAIR_SERVER ? "server" : "client", side == PAIR_SERVER ? "client" : "server");
	apart_ns = captures_apart_ns(report);
	if (apart_ns > 0)
		return g_strdup_printf("no call is in both captures, and by their clocks they do not overlap: "
		    "%.1f s lie between them%s", (double)apart_ns / NS_PER_S, streams);
	return g_strdup_printf("no call is in both captures%s", streams);
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
	for (unsigned i = 1; i < found->count; i++) {
		conclusion->facts[i].paired_calls = engine->clients[i - 1].paired;
		conclusion->facts[i].against_clock = engine->clients[i - 1].against_clock;
	}
	if (found->count == 1)
		conclusion->facts[0].side = engine->side == SIDE_CLIENT ? PAIR_CLIENT : PAIR_SERVER;
}

static struct findings *
judge_findings(const struct report *report, const struct quality *quality)
{
	struct facts facts = {
		.captures = report->captures,
		.capture_count = report->capture_count,
		.correlated = report->correlated,
		.clocks = report->correlated != NULL ? report->clocks : NULL,
		.aggregate = report->aggregate,
		.quality = quality,
		.ids = report->ids,
	};

	return findings_judge(&facts);
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
	conclusion->findings = judge_findings(report, conclusion->quality);
	conclusion->verdict = verdict_judge(conclusion->quality, totals, conclusion->findings);
	conclusion->why_nothing = explain_nothing(engine, report);
	report->quality = conclusion->quality;
	report->verdict = conclusion->verdict;
	report->findings = conclusion->findings;
	report->why_nothing = conclusion->why_nothing;
}

static void
conclusion_clear(struct conclusion *conclusion)
{
	quality_free(conclusion->quality);
	verdict_free(conclusion->verdict);
	findings_free(conclusion->findings);
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
		.each = take_pair,
		.each_context = engine,
		.wait = show_progress,
		.wait_context = engine,
		.log = engine->log,
	};
	GError *error = NULL;
	bool done;

	if (options.threads == 0)
		options.threads = g_get_num_processors();
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
	g_free(engine.clients);
	g_ptr_array_unref(engine.captures);
	return status;
}
