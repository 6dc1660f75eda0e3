#include "run/options.h"

#include <getopt.h>
#include <glob.h>
#include <jansson.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/errors.h"
#include "capture/source.h"
#include "run/options_live.h"
#include "run/values.h"

enum { TOP_DEFAULT = 10, TOP_MOST = 10000, THREADS_MOST = 256 };

enum option_id {
	OPTION_SERVER = 256, OPTION_CLIENT, OPTION_SIDE, OPTION_CLOCK, OPTION_SWAP, OPTION_JSON,
	OPTION_OPS, OPTION_TOP, OPTION_HOW, OPTION_THREADS, OPTION_MEMORY,
	OPTION_NO_PROGRESS, OPTION_COLOR,
};

static const struct option long_options[] = {
	{ "server", required_argument, NULL, OPTION_SERVER },
	{ "client", required_argument, NULL, OPTION_CLIENT },
	{ "side", required_argument, NULL, OPTION_SIDE },
	{ "interface", required_argument, NULL, 'i' },
	{ "list-interfaces", no_argument, NULL, 'D' },
	{ "write", required_argument, NULL, 'w' },
	{ "snaplen", required_argument, NULL, 's' },
	{ "buffer-size", required_argument, NULL, 'B' },
	{ "interval", required_argument, NULL, OPTION_INTERVAL },
	{ "duration", required_argument, NULL, OPTION_DURATION },
	{ "count", required_argument, NULL, 'c' },
	{ "user", required_argument, NULL, 'Z' },
	{ "filter", required_argument, NULL, 'f' },
	{ "port", required_argument, NULL, 'p' },
	{ "clock", required_argument, NULL, OPTION_CLOCK },
	{ "swap", no_argument, NULL, OPTION_SWAP },
	{ "json", optional_argument, NULL, OPTION_JSON },
	{ "ops", required_argument, NULL, OPTION_OPS },
	{ "top", required_argument, NULL, OPTION_TOP },
	{ "how-to-capture", required_argument, NULL, OPTION_HOW },
	{ "threads", required_argument, NULL, OPTION_THREADS },
	{ "max-memory", required_argument, NULL, OPTION_MEMORY },
	{ "quiet", no_argument, NULL, 'q' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "no-progress", no_argument, NULL, OPTION_NO_PROGRESS },
	{ "color", required_argument, NULL, OPTION_COLOR },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static const char help_text[] =
    "Usage: nfscorr [OPTION...] SERVER CLIENT [CLIENT...]\n"
    "       nfscorr [OPTION...] --side=server|client CAPTURE\n"
    "       nfscorr [OPTION...] -i INTERFACE [SERVER]\n"
    "\n"
    "Matches the NFS calls of a capture made on the server with those of captures\n"
    "made on its clients, and tells for each where its time went: server, network\n"
    "or client. A capture is a pcap file, - for standard input, or a directory or\n"
    "quoted glob of rotated files. With -i the client is this host, live.\n"
    "\n"
    "What is read\n"
    "      --server=F          a file of the server's capture; again: one more file of it\n"
    "      --client=F          a client's capture; again: another client\n"
    "      --side=S            what a single capture is: server or client (detected)\n"
    "  -f, --filter=BPF        keep only packets that match a pcap-filter expression\n"
    "  -p, --port=N            a port of NFS beside 2049; may be repeated\n"
    "\n"
    "Live\n"
    "  -i, --interface=NAME    capture on an interface, or any\n"
    "  -D, --list-interfaces   the interfaces there are, and stop\n"
    "      --interval=S        seconds between reports (5)\n"
    "      --duration=S        stop after so many seconds\n"
    "  -c, --count=N           stop after N calls\n"
    "  -w, --write=F           also save the packets\n"
    "  -C MB, -G S, -W N       rotate that file as tcpdump does: by millions of bytes,\n"
    "                          by seconds (F as in strftime), N files\n"
    "  -s, --snaplen=N         bytes kept per packet (headers; 0: all)\n"
    "  -B, --buffer-size=KIB   the kernel's ring (32768)\n"
    "  -Z, --user=NAME         the user to become once all is open (who called sudo,\n"
    "                          else nobody)\n"
    "\n"
    "How it is correlated\n"
    "      --clock=auto|none|NS  estimate the clock offset (default), do not, or use\n"
    "                          this one: server minus client, in nanoseconds\n"
    "      --swap              the captures were given the wrong way round\n"
    "\n"
    "What comes out\n"
    "      --json[=F]          JSON report, to F or instead of the text\n"
    "      --ops=F             one record per call, F ends in .csv or .ndjson\n"
    "      --top=N             how many slowest calls are listed (10)\n"
    "      --how-to-capture=linux|solaris|ontap|onefs\n"
    "                          print the commands that make good captures, and stop\n"
    "\n"
    "How it runs\n"
    "      --threads=N         threads (default: what the machine has)\n"
    "      --max-memory=SIZE   scale the caps of all tables to SIZE (512M, 4G)\n"
    "  -q, --quiet             no diagnostics but errors\n"
    "  -v, --verbose           say more\n"
    "      --no-progress       no progress line\n"
    "      --color=auto|always|never\n"
    "  -h, --help              this text\n"
    "  -V, --version           the version, and those of the libraries\n"
    "\n"
    "Exit status: 0 a report was made, 1 something failed, 2 wrong usage, 3 nothing\n"
    "could be correlated.\n";

static bool
read_clock(struct options *options, const char *text, GError **error)
{
	options->clock_mode = CLOCK_AUTO;
	if (strcmp(text, "auto") == 0)
		return true;
	options->clock_mode = CLOCK_NONE;
	if (strcmp(text, "none") == 0)
		return true;
	options->clock_mode = CLOCK_GIVEN;
	return value_number("clock", text, -(INT64_MAX / 4), INT64_MAX / 4, &options->clock_given_ns, error) ||
	    (g_clear_error(error), value_wrong(error, "--clock=%s: auto, none or a whole number of nanoseconds", text));
}

static bool
read_ops(struct options *options, const char *path, GError **error)
{
	if (g_str_has_suffix(path, ".csv"))
		options->ops_format = OPS_CSV;
	else if (g_str_has_suffix(path, ".ndjson"))
		options->ops_format = OPS_NDJSON;
	else
		return value_wrong(error, "--ops=%s: the name must end in .csv or .ndjson", path);
	g_free(options->ops_path);
	options->ops_path = g_strdup(path);
	return true;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The regular files of a directory, or of a glob that names no file itself; else the path alone. */
static void
expand(GPtrArray *files, const char *path)
{
	struct stat status;
	glob_t found = { 0 };
	unsigned before = files->len;

	if (strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
		g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
		const char *name;

		while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
			char *file = g_build_filename(path, name, NULL);

			if (*name != '.' && stat(file, &status) == 0 && S_ISREG(status.st_mode))
				g_ptr_array_add(files, file);
			else
				g_free(file);
		}
		if (files->len > before)
			qsort(files->pdata + before, files->len - before, sizeof *files->pdata, by_name);
	} else if (strcmp(path, "-") != 0 && stat(path, &status) != 0 && strpbrk(path, "*?[") != NULL &&
	    glob(path, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			g_ptr_array_add(files, g_strdup(found.gl_pathv[i]));
	}
	globfree(&found);
	if (files->len == before)
		g_ptr_array_add(files, g_strdup(path));
}

static void
add_client(struct options *options, const char *path)
{
	GPtrArray *files = g_ptr_array_new_with_free_func(g_free);

	expand(files, path);
	g_ptr_array_add(options->clients, files);
}

static void
print_version(void)
{
	printf("nfscorr %s\n%s\nlibtirpc %s\nGLib %u.%u.%u\njansson %s\nxxHash %u.%u.%u\n", PACKAGE_VERSION,
	    pcap_lib_version(), TIRPC_VERSION, glib_major_version, glib_minor_version, glib_micro_version,
	    JANSSON_VERSION, XXH_versionNumber() / 10000, XXH_versionNumber() / 100 % 100,
	    XXH_versionNumber() % 100);
}

static bool
take_choice(struct options *options, int id, const char *text, GError **error)
{
	static const char *const sides[] = { "server", "client" };
	static const char *const colors[] = { "auto", "always", "never" };
	unsigned choice = 0;
	bool ok;

	if (id == OPTION_SIDE) {
		ok = value_choice("side", text, sides, G_N_ELEMENTS(sides), &choice, error);
		options->side = choice == 0 ? SIDE_SERVER : SIDE_CLIENT;
	} else if (id == OPTION_COLOR) {
		ok = value_choice("color", text, colors, G_N_ELEMENTS(colors), &choice, error);
		options->color = (enum color_mode)choice;
	} else {
		ok = value_choice("how-to-capture", text, capture_system_names, CAPTURE_SYSTEMS, &choice, error);
		options->system = (enum capture_system)choice;
		options->show_commands = true;
	}
	return ok;
}

static bool
take_number(struct options *options, int id, const char *text, GError **error)
{
	int64_t value = 0;
	bool ok;

	if (id == OPTION_MEMORY)
		return value_size("max-memory", text, &options->max_memory, error);
	if (id == OPTION_CLOCK)
		return read_clock(options, text, error);
	if (id == OPTION_TOP) {
		ok = value_number("top", text, 0, TOP_MOST, &value, error);
		options->top = (unsigned)value;
	} else {
		ok = value_number("threads", text, 1, THREADS_MOST, &value, error);
		options->threads = (unsigned)value;
	}
	return ok;
}

static bool
take_option(struct options *options, int id, GError **error)
{
	bool known;

	if (!options_take_live(options, id, optarg, &known, error))
		return false;
	if (known)
		return true;
	switch (id) {
	case OPTION_SERVER:
		expand(options->server, optarg);
		options->sides_named = true;
		return true;
	case OPTION_CLIENT:
		add_client(options, optarg);
		options->sides_named = true;
		return true;
	case OPTION_SIDE:
	case OPTION_COLOR:
	case OPTION_HOW:
		return take_choice(options, id, optarg, error);
	case OPTION_CLOCK:
	case OPTION_TOP:
	case OPTION_THREADS:
	case OPTION_MEMORY:
		return take_number(options, id, optarg, error);
	case 'f':
		g_free(options->filter);
		options->filter = g_strdup(optarg);
		return true;
	case OPTION_SWAP:
		options->swap = true;
		return true;
	case OPTION_JSON:
		options->json |= optarg == NULL;
		if (optarg != NULL) {
			g_free(options->json_path);
			options->json_path = g_strdup(optarg);
		}
		return true;
	case OPTION_OPS:
		return read_ops(options, optarg, error);
	case 'q':
		options->quiet = true;
		return true;
	case 'v':
		options->verbose = true;
		return true;
	default:
		options->progress = false;
		return true;
	}
}

/* An option that getopt refused, in its own words. */
static bool
refuse(char **argv, int id, GError **error)
{
	const char *given = optind > 0 ? argv[optind - 1] : "";

	if (id == ':')
		return value_wrong(error, "%s: a value is missing", given);
	if (g_str_has_prefix(given, "--") && strchr(given, '=') != NULL)
		return value_wrong(error, "%s: no such option, or it takes no value; nfscorr --help lists them", given);
	if (optopt > 0 && optopt < 256)
		return value_wrong(error, "-%c: no such option; nfscorr --help lists them", optopt);
	return value_wrong(error, "%s: %s; nfscorr --help lists the options", given,
	    optopt >= 256 ? "this option takes no value" : "no such option");
}

static bool
take_captures(struct options *options, int argc, char **argv, GError **error)
{
	int left = argc - optind;
	int first_client = optind;

	if (options->show_commands || options->list_interfaces)
		return true;
	if (!options_check_live(options, left, error))
		return false;
	if (left > 0 && options->sides_named)
		return value_wrong(error, "%s: captures are either named by --server and --client or given in order",
		    argv[optind]);
	if (left == 0 && !options->sides_named && options->interface == NULL)
		return value_wrong(error, "no capture was given; nfscorr --help tells how");
	if (left > 1 && options->side != SIDE_DETECT)
		return value_wrong(error, "--side goes with a single capture, and %d were given", left);
	if (left > 0) {
		if (options->side != SIDE_CLIENT)
			expand(options->server, argv[first_client++]);
		for (int i = first_client; i < argc; i++)
			add_client(options, argv[i]);
	}
	if (options->swap && options->server->len > 0 && options->clients->len == 1) {
		GPtrArray *client = g_ptr_array_index(options->clients, 0);

		options->clients->pdata[0] = options->server;
		options->server = client;
	} else if (options->swap) {
		return value_wrong(error, "--swap goes with one capture of the server and one of a client");
	}
	return true;
}

struct output_name {
	const char *option;
	const char *path;	/* NULL: not asked for */
};

static bool
is_same(const char *path, const char *other)
{
	return strcmp(path, other) == 0 || source_same_file(path, other);
}

/* No output is an input, nor another output. */
static bool
refuse_overwriting(const struct options *options, const GPtrArray *inputs, GError **error)
{
	const struct output_name outputs[] = {
		{ "--json", options->json_path },
		{ "--ops", options->ops_path },
		{ "-w", options->write_path },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(outputs); i++) {
		const char *path = outputs[i].path;

		for (unsigned j = 0; path != NULL && j < inputs->len; j++)
			if (source_same_file(path, g_ptr_array_index(inputs, j)))
				return value_wrong(error, "%s is an input and would be overwritten",
				    (const char *)g_ptr_array_index(inputs, j));
		for (unsigned j = 0; path != NULL && j < i; j++)
			if (outputs[j].path != NULL && is_same(path, outputs[j].path))
				return value_wrong(error, "%s and %s name the same file, %s", outputs[j].option,
				    outputs[i].option, path);
	}
	return true;
}

/* Every input once: the same file on two sides would match itself. */
static bool
refuse_twins(const struct options *options, GError **error)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new();

	g_ptr_array_extend(all, options->server, NULL, NULL);
	for (unsigned c = 0; c < options->clients->len; c++)
		g_ptr_array_extend(all, g_ptr_array_index(options->clients, c), NULL, NULL);
	for (unsigned i = 0; i < all->len; i++)
		for (unsigned j = 0; j < i; j++)
			if (is_same(g_ptr_array_index(all, i), g_ptr_array_index(all, j)))
				return value_wrong(error, "%s and %s are the same file: one capture from each side is needed",
				    (const char *)g_ptr_array_index(all, j), (const char *)g_ptr_array_index(all, i));
	return refuse_overwriting(options, all, error);
}

enum options_result
options_read(struct options *options, int argc, char **argv, GError **error)
{
	int id;

	*options = (struct options){ .top = TOP_DEFAULT, .progress = true };
	options->server = g_ptr_array_new_with_free_func(g_free);
	options->clients = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
	options->ports = g_array_new(FALSE, FALSE, sizeof(uint16_t));
	opterr = 0;
	while ((id = getopt_long(argc, argv, ":f:i:Dw:C:G:W:s:B:c:Z:p:qvhV", long_options, NULL)) != -1) {
		if (id == 'h') {
			fputs(help_text, stdout);
			return OPTIONS_DONE;
		}
		if (id == 'V') {
			print_version();
			return OPTIONS_DONE;
		}
		if (id == '?' || id == ':')
			refuse(argv, id, error);
		else if (take_option(options, id, error))
			continue;
		return OPTIONS_WRONG;
	}
	if (!take_captures(options, argc, argv, error) || !refuse_twins(options, error))
		return OPTIONS_WRONG;
	return OPTIONS_RUN;
}

void
options_clear(struct options *options)
{
	g_ptr_array_unref(options->server);
	g_ptr_array_unref(options->clients);
	g_array_unref(options->ports);
	g_free(options->filter);
	g_free(options->interface);
	g_free(options->write_path);
	g_free(options->user);
	g_free(options->json_path);
	g_free(options->ops_path);
}
