#include "program.h"

#include <getopt.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/engine.h"
#include "run/options.h"

void
outcome_free(struct outcome *outcome)
{
	if (outcome == NULL)
		return;
	json_decref(outcome->report);
	table_free(outcome->ops);
	free(outcome->json_text);
	g_free(outcome);
}

/* argv: without what ends it, which is added. */
static int
run(GPtrArray *argv)
{
	struct options options;
	GError *error = NULL;
	FILE *nowhere = fopen("/dev/null", "w");
	struct log *log = log_new(nowhere, LOG_NORMAL);
	int status = EXIT_USAGE;

	g_ptr_array_add(argv, NULL);
	optind = 0;	/* getopt begins anew */
	if (options_read(&options, (int)argv->len - 1, (char **)argv->pdata, &error) == OPTIONS_RUN)
		status = engine_run(&options, NULL, log);
	g_clear_error(&error);
	options_clear(&options);
	log_free(log);
	fclose(nowhere);
	return status;
}

static json_t *
load_report(const char *path)
{
	json_t *report = json_load_file(path, 0, NULL);

	if (report == NULL)
		report = json_object();
	json_object_del(report, "generated_ns");
	return report;
}

struct outcome *
run_program(const char *folder, const char *const *paths, const char *more)
{
	struct outcome *outcome = g_new0(struct outcome, 1);
	g_autofree char *json = g_build_filename(folder, "report.json", NULL);
	g_autofree char *ops = g_build_filename(folder, "ops.csv", NULL);
	g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);

	g_ptr_array_add(argv, g_strdup("nfscorr"));
	g_ptr_array_add(argv, g_strdup("--top=10000"));
	g_ptr_array_add(argv, g_strconcat("--json=", json, NULL));
	g_ptr_array_add(argv, g_strconcat("--ops=", ops, NULL));
	if (more != NULL)
		g_ptr_array_add(argv, g_strdup(more));
	for (unsigned i = 0; paths[i] != NULL; i++)
		g_ptr_array_add(argv, g_strdup(paths[i] + strlen(folder) + 1));
	g_assert(g_chdir(folder) == 0);
	g_unlink(json);
	g_unlink(ops);
	outcome->status = run(argv);
	outcome->report = load_report(json);
	outcome->json_text = json_dumps(outcome->report, JSON_INDENT(1));
	outcome->ops = table_read(ops);
	return outcome;
}

json_t *
run_report(const char *folder, const char *json, const char *const *arguments)
{
	g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);

	g_ptr_array_add(argv, g_strdup("nfscorr"));
	g_ptr_array_add(argv, g_strconcat("--json=", json, NULL));
	for (unsigned i = 0; arguments[i] != NULL; i++)
		g_ptr_array_add(argv, g_strdup(arguments[i]));
	g_assert(g_chdir(folder) == 0);
	g_unlink(json);
	run(argv);
	return load_report(json);
}
