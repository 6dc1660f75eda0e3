#include <locale.h>
#include <signal.h>
#include <stdio.h>

#include "base/descriptors.h"
#include "base/errors.h"
#include "capture/interfaces.h"
#include "run/confine.h"
#include "run/engine.h"
#include "run/live.h"

/* The commands for --how-to-capture, without a capture and so without names. */
static int
show_commands(enum capture_system system, struct log *log)
{
	struct capture_targets targets = { .port = 2049 };

	how_to_capture(system, &targets, stdout);
	if (fflush(stdout) == 0)
		return EXIT_REPORT;
	log_line(log, LOG_QUIET, "run", "cannot write standard output");
	return EXIT_FAILED;
}

static int
list_interfaces(struct log *log)
{
	GError *error = NULL;
	int status = EXIT_FAILED;

	if (!interfaces_print(stdout, &error)) {
		log_line(log, LOG_QUIET, "capture", "%s", error->message);
		g_error_free(error);
	} else if (fflush(stdout) != 0) {
		log_line(log, LOG_QUIET, "run", "cannot write standard output");
	} else {
		status = EXIT_REPORT;
	}
	return status;
}

static int
run(const struct options *options, struct log *log)
{
	GError *error = NULL;
	struct rights *rights;
	int status;

	if (options->show_commands)
		return show_commands(options->system, log);
	if (options->list_interfaces)
		return list_interfaces(log);
	if (options->interface != NULL)
		return live_run(options, log);
	rights = confine_begin(options, NULL, &error);
	if (rights == NULL) {
		log_line(log, LOG_QUIET, "rights", "%s", error->message);
		status = g_error_matches(error, NFSCORR_ERROR, NFSCORR_ERROR_USAGE) ? EXIT_USAGE : EXIT_FAILED;
		g_error_free(error);
		return status;
	}
	status = engine_run(options, rights, log);
	rights_free(rights);
	return status;
}

int
main(int argc, char **argv)
{
	struct options options;
	GError *error = NULL;
	enum options_result result;
	enum log_level level;
	struct log *log;
	int status = EXIT_REPORT;

	descriptors_plug();
	setlocale(LC_CTYPE, "");
	/* a reader that went away is an error to be told, so that nothing is left half done */
	signal(SIGPIPE, SIG_IGN);
	result = options_read(&options, argc, argv, &error);
	level = options.quiet ? LOG_QUIET : options.verbose ? LOG_VERBOSE : LOG_NORMAL;
	log = log_new(stderr, level);
	if (result == OPTIONS_WRONG) {
		log_line(log, LOG_QUIET, "options", "%s", error->message);
		g_error_free(error);
		status = EXIT_USAGE;
	} else if (result == OPTIONS_RUN) {
		status = run(&options, log);
	} else if (fflush(stdout) != 0) {
		log_line(log, LOG_QUIET, "run", "cannot write standard output");
		status = EXIT_FAILED;
	}
	log_free(log);
	options_clear(&options);
	return status;
}
