#include "run/live_output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run/output.h"

enum {
	/* What may wait for its reader. */
	STDOUT_BYTES = 16 << 20,
	STDERR_BYTES = 1 << 20,
	OPS_BYTES = 64 << 20,
	PIECE_BYTES = 256 << 10,	/* of records, handed over together */
};

struct live_output {
	const struct options *options;
	struct keeper *keeper;
	struct writer *out, *err, *ops;	/* ops: NULL when nobody asked for records */
	FILE *err_stream;
	struct log *log;
	struct output *ops_output;
	struct output *json_output;	/* of the next report in a file; NULL: opened when it is written */
	GThread *json_thread;		/* writes json_text there; NULL: nobody does */
	char *json_text;
	size_t json_len;
	GError *json_error;		/* set by the thread, then json_is_over */
	gint json_is_over;		/* atomic */
	FILE *ops_stream;		/* into ops_text */
	GString *ops_text;		/* whole records once the stream is flushed */
	struct ops_writer *ops_writer;
	uint64_t ops_waiting, ops_left_out;	/* records */
	uint64_t intervals_left_out, intervals_told;
	struct interval_page page;	/* what standard output has */
	bool two_sided;			/* the columns are those of both sides */
	bool ended;			/* the last report was handed over */
	bool failed;
};

static void
fail(struct live_output *output, const char *what, int code)
{
	log_line(output->log, LOG_QUIET, "live", "cannot write %s: %s", what, g_strerror(code));
	output->failed = true;
}

/* ---- streams in front of writers ---- */

static ssize_t
to_writer(void *cookie, const char *text, size_t len)
{
	writer_offer(cookie, g_memdup2(text, len), len, false);
	return (ssize_t)len;
}

static ssize_t
to_text(void *cookie, const char *text, size_t len)
{
	g_string_append_len(cookie, text, (gssize)len);
	return (ssize_t)len;
}

static FILE *
open_stream(void *cookie, cookie_write_function_t *write)
{
	return fopencookie(cookie, "w", (cookie_io_functions_t){ .write = write });
}

static void
note_call(void *context, const struct op_pair *pair)
{
	struct live_output *output = context;

	ops_write(output->ops_writer, pair);
	output->ops_waiting++;
	if (output->ops_text->len > PIECE_BYTES)
		live_output_tick(output);
}

static bool
open_ops(struct live_output *output, const struct ids *ids, GError **error)
{
	if (output->options->ops_path == NULL)
		return true;
	output->ops_output = output_open(output->keeper, output->options->ops_path, error);
	if (output->ops_output == NULL)
		return false;
	output->ops_text = g_string_new(NULL);
	output->ops_stream = open_stream(output->ops_text, to_text);
	output->ops_writer = ops_writer_new(output->ops_stream, output->options->ops_format, ids);
	return true;
}

static bool
open_json(struct live_output *output, GError **error)
{
	GError *problem = NULL;

	if (output->options->json_path != NULL)
		output->json_output = output_open_early(output->keeper, output->options->json_path, &problem);
	if (problem == NULL)
		return true;
	g_propagate_error(error, problem);
	return false;
}

struct live_output *
live_output_new(const struct options *options, const struct ids *ids, struct keeper *keeper, GError **error)
{
	struct live_output *output = g_new0(struct live_output, 1);

	output->options = options;
	output->keeper = keeper;
	if (open_json(output, error) && open_ops(output, ids, error))
		return output;
	live_output_free(output);
	return NULL;
}

void
live_output_start(struct live_output *output, writer_wake_fn *wake, void *context)
{
	const struct options *options = output->options;
	enum log_level level = options->quiet ? LOG_QUIET : options->verbose ? LOG_VERBOSE : LOG_NORMAL;

	output->err = writer_new(STDERR_FILENO, STDERR_BYTES, wake, context);
	output->err_stream = open_stream(output->err, to_writer);
	setvbuf(output->err_stream, NULL, _IOLBF, BUFSIZ);
	output->log = log_new(output->err_stream, level);
	output->out = writer_new(STDOUT_FILENO, STDOUT_BYTES, wake, context);
	if (output->ops_output != NULL)
		output->ops = writer_new(fileno(output_file(output->ops_output)), OPS_BYTES, wake, context);
}

void
live_output_free(struct live_output *output)
{
	if (output == NULL)
		return;
	ops_writer_free(output->ops_writer);
	if (output->ops_stream != NULL)
		fclose(output->ops_stream);
	writer_free(output->ops);
	output_drop(output->ops_output);
	output_drop(output->json_output);
	if (output->ops_text != NULL)
		g_string_free(output->ops_text, TRUE);
	writer_free(output->out);
	log_free(output->log);
	if (output->err_stream != NULL)
		fclose(output->err_stream);
	writer_free(output->err);
	g_free(output);
}

struct log *
live_output_log(const struct live_output *output)
{
	return output->log;
}

pair_sink_fn *
live_output_each(const struct live_output *output)
{
	return output->ops_writer != NULL ? note_call : NULL;
}

/* ---- the report's file ---- */

static gpointer
write_json(gpointer data)
{
	struct live_output *output = data;
	struct output *file = g_steal_pointer(&output->json_output);

	if (file == NULL)
		file = output_open(output->keeper, output->options->json_path, &output->json_error);
	if (file != NULL) {
		fwrite(output->json_text, 1, output->json_len, output_file(file));
		output_commit(file, &output->json_error);
	}
	g_atomic_int_set(&output->json_is_over, 1);
	return NULL;
}

/* Waits until the file is written. */
static void
end_json(struct live_output *output)
{
	if (output->json_thread == NULL)
		return;
	g_thread_join(g_steal_pointer(&output->json_thread));
	free(g_steal_pointer(&output->json_text));
	if (output->json_error == NULL)
		return;
	log_line(output->log, LOG_QUIET, "live", "%s", output->json_error->message);
	g_clear_error(&output->json_error);
	output->failed = true;
}

/* By a thread of its own, since a disk may be slow. */
static void
begin_json(struct live_output *output, const struct report *report)
{
	FILE *text;

	if (output->json_thread != NULL && !g_atomic_int_get(&output->json_is_over)) {
		log_line(output->log, LOG_NORMAL, "live", "%s is still being written: a report is left out",
		    output->options->json_path);
		return;
	}
	end_json(output);
	text = open_memstream(&output->json_text, &output->json_len);
	report_json(report, text);
	fclose(text);
	g_atomic_int_set(&output->json_is_over, 0);
	output->json_thread = g_thread_new("report", write_json, output);
}

static void
write_last_json(struct live_output *output, const struct report *report)
{
	end_json(output);
	begin_json(output, report);
	end_json(output);
}

/* ---- records ---- */

static void
hand_over_ops(struct live_output *output)
{
	size_t len;

	fflush(output->ops_stream);
	if (output->ops_text->len == 0)
		return;
	len = output->ops_text->len;
	if (!writer_offer(output->ops, g_memdup2(output->ops_text->str, len), len, false)) {
		if (output->ops_left_out == 0 && writer_error(output->ops) == 0)
			log_line(output->log, LOG_QUIET, "ops", "%s takes records more slowly than they come: some are left "
			    "out", output->options->ops_path);
		output->ops_left_out += output->ops_waiting;
	}
	output->ops_waiting = 0;
	g_string_truncate(output->ops_text, 0);
}

void
live_output_tick(struct live_output *output)
{
	if (output->ops != NULL)
		hand_over_ops(output);
	if (g_atomic_int_get(&output->json_is_over))
		end_json(output);
	log_flush(output->log);
	if (output->intervals_left_out > output->intervals_told && writer_is_idle(output->out)) {
		log_line(output->log, LOG_NORMAL, "live", "standard output was not read in time: reports left out: %" PRIu64,
		    output->intervals_left_out - output->intervals_told);
		output->intervals_told = output->intervals_left_out;
	}
}

/* ---- intervals and reports ---- */

static struct text_style
style_of(const struct options *options)
{
	return (struct text_style){ .colour = options->color == COLOR_ALWAYS ||
	    (options->color == COLOR_AUTO && isatty(STDOUT_FILENO)), .verbose = options->verbose };
}

void
live_output_interval(struct live_output *output, const struct interval *interval)
{
	struct text_style style = style_of(output->options);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (output->two_sided != interval->report->two_sided)
		output->page.lines = 0;
	output->two_sided = interval->report->two_sided;
	if (output->options->json)
		interval_json(interval, out);
	else
		interval_text(interval, &style, &output->page, out);
	fclose(out);
	if (!writer_offer(output->out, g_memdup2(text, len), len, false) && writer_error(output->out) == 0)
		output->intervals_left_out++;
	free(text);
}

void
live_output_report(struct live_output *output, const struct report *report, bool last)
{
	struct text_style style = style_of(output->options);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (output->options->json)
		report_json(report, out);
	else
		report_text(report, &style, out);
	fclose(out);
	if (!writer_offer(output->out, g_memdup2(text, len), len, last) && writer_error(output->out) == 0)
		output->intervals_left_out++;
	free(text);
	output->page.lines = 0;
	output->ended |= last;
	/* a pipe gets one report */
	if (output->options->json_path != NULL && last)
		write_last_json(output, report);
	else if (output->options->json_path != NULL &&
	    keeper_output_kind(output->keeper, output->options->json_path) != KEEPER_STREAM)
		begin_json(output, report);
	/* what it holds back itself comes out, too */
	if (last)
		g_clear_pointer(&output->ops_writer, ops_writer_free);
	live_output_tick(output);
}

/* ---- the end ---- */

bool
live_output_closed(const struct live_output *output)
{
	return writer_error(output->out) != 0;
}

bool
live_output_is_written(struct live_output *output)
{
	return writer_is_idle(output->out) && (output->ops == NULL || writer_is_idle(output->ops));
}

static void
commit_ops(struct live_output *output)
{
	GError *error = NULL;
	int code = writer_error(output->ops);

	g_clear_pointer(&output->ops, writer_free);
	if (output->ops_left_out > 0) {
		log_line(output->log, LOG_QUIET, "ops", "records that are not in %s: %" PRIu64, output->options->ops_path,
		    output->ops_left_out);
		output->failed = true;
	}
	if (code != 0)
		fail(output, output->options->ops_path, code);
	else if (!output_commit(g_steal_pointer(&output->ops_output), &error)) {
		log_line(output->log, LOG_QUIET, "ops", "%s", error->message);
		g_error_free(error);
		output->failed = true;
	}
}

bool
live_output_finish(struct live_output *output)
{
	int code = writer_error(output->out);

	/* a reader that went away, with its terminal or without, has ended the run: that is no failure */
	if (code != 0 && code != EPIPE && code != EIO)
		fail(output, "standard output", code);
	if (output->ops != NULL)
		commit_ops(output);
	while (!writer_is_idle(output->err) && fflush(output->err_stream) == 0)
		g_usleep(1000);
	return !output->failed;
}
