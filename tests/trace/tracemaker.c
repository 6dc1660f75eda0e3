/*
 * The trace maker's command line: options become a configuration, the files
 * go to one folder.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"

static void
usage(FILE *to)
{
	g_autofree char *options = trace_config_help();

	fprintf(to,
		"usage: tracemaker [--output=DIR] [--OPTION=VALUE ...]\n"
		"Writes server.pcap, client.pcap (client0.pcap, client1.pcap ... of several),\n"
		"truth.csv and truth.json.\n\n"
		"TIME: 200us, 1.5ms, -3s; plain numbers are nanoseconds. BYTES: 64k, 1M.\n"
		"RATE: 1G, 100M. DIST: TIME, uniform:A:B, exp:MEAN, bimodal:A:MEAN:SHARE.\n\n%s",
		options);
}

static bool
parse(int argc, char **argv, struct trace_config *config, const char **folder, GError **error)
{
	for (int i = 1; i < argc; i++) {
		const char *text = argv[i];
		const char *equals = strchr(text, '=');
		g_autofree char *name = NULL;

		if (!g_str_has_prefix(text, "--")) {
			g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION,
				"%s: not an option", text);
			return false;
		}
		name = equals != NULL ? g_strndup(text + 2, (gsize)(equals - text - 2))
			: g_strdup(text + 2);
		if (strcmp(name, "output") == 0 && equals != NULL)
			*folder = equals + 1;
		else if (!trace_config_set(config, name, equals != NULL ? equals + 1 : NULL, error))
			return false;
	}
	return true;
}

static bool
make(const struct trace_config *config, const char *folder, GError **error)
{
	g_autofree char *server = g_build_filename(folder, "server.pcap", NULL);
	g_autofree char *csv = g_build_filename(folder, "truth.csv", NULL);
	g_autofree char *json = g_build_filename(folder, "truth.json", NULL);
	g_autoptr(GPtrArray) client = g_ptr_array_new_with_free_func(g_free);
	struct trace_output output = { .server = server, .truth_csv = csv, .truth_json = json };

	if (g_mkdir_with_parents(folder, 0777) != 0) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "%s: %s", folder,
			g_strerror(errno));
		return false;
	}
	for (int64_t i = 0; i < MAX(config->clients, 1); i++) {
		g_autofree char *name = config->clients == 1 ? g_strdup("client.pcap")
			: g_strdup_printf("client%" PRId64 ".pcap", i);

		g_ptr_array_add(client, g_build_filename(folder, name, NULL));
	}
	output.client = (const char *const *)client->pdata;
	return trace_make(config, &output, error);
}

int
main(int argc, char **argv)
{
	struct trace_config config;
	const char *folder = ".";
	g_autoptr(GError) error = NULL;

	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		usage(stdout);
		return EXIT_SUCCESS;
	}
	trace_config_init(&config);
	if (!parse(argc, argv, &config, &folder, &error)) {
		fprintf(stderr, "tracemaker: %s\n", error->message);
		return 2;
	}
	if (!make(&config, folder, &error)) {
		fprintf(stderr, "tracemaker: %s\n", error->message);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
