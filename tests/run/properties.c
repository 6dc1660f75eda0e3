/*
 * Properties of whole runs on generated traces: whatever the trouble, what is
 * reported is true, the books close, and what must not matter does not.
 *
 *	NFSCORR_TRACES=N	so many traces instead of the usual number
 *	NFSCORR_FIRST=S		from this seed on, or from a random one: `random`
 *	NFSCORR_SEED=S		the one trace of this seed, as a failure prints it
 *
 * A failure is made smaller before it is told: the options of the trace maker
 * that it does not need are left out.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "properties.h"
#include "trace/folder.h"

enum { TRACES = 30, FIRST_SEED = 1, SHRINK_RUNS = 200, FILE_BYTES_MOST = 256 << 20 };

static const struct property {
	const char *name;
	property_fn *holds;
} properties[] = {
	{ "every matched call has the times of the truth", prop_truth },
	{ "no false pair", prop_pairs },
	{ "every call that both captures hold is matched", prop_complete },
	{ "parts sum", prop_parts },
	{ "what loss cost a call is what the network lost", prop_loss },
	{ "the client is charged only with what it did", prop_client },
	{ "calls close", prop_books },
	{ "bytes close", prop_bytes },
	{ "the true offset lies inside the bound", prop_clock },
	{ "calls in flight are those of the truth", prop_depths },
	{ "any number of threads gives the same bytes", prop_threads },
	{ "packets permuted inside the window change nothing", prop_permuted },
	{ "nor do those with equal stamps, but for what is told of packets", prop_permuted_ties },
	{ "a constant added to a clock changes nothing but the offset", prop_shifted },
	{ "a smaller snap length never changes a time", prop_cut_packets },
	{ "a capture cut in two is the whole", prop_cut_file },
	{ "packets that are pushed are the file", prop_pushed },
	{ "a live run is the offline run", prop_alive },
	{ "all intervals together are the whole", prop_intervals },
};

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

static uint64_t
number_from(const char *name, uint64_t otherwise)
{
	const char *text = g_getenv(name);

	return text != NULL ? g_ascii_strtoull(text, NULL, 10) : otherwise;
}

/* The same traces every time, so that a change is judged by what it changes; or new ones. */
static uint64_t
first_seed(void)
{
	const char *text = g_getenv("NFSCORR_FIRST");

	if (g_strcmp0(text, "random") == 0)
		return (uint64_t)g_random_int_range(1, 1 << 30);
	return text != NULL ? g_ascii_strtoull(text, NULL, 10) : FIRST_SEED;
}

int
main(void)
{
	struct rlimit limit = { FILE_BYTES_MOST, FILE_BYTES_MOST };
	uint64_t traces = g_getenv("NFSCORR_SEED") != NULL ? 1 : number_from("NFSCORR_TRACES", TRACES);
	uint64_t first = number_from("NFSCORR_SEED", first_seed());
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
	folder_remove(tmp);
	return failed > 0;
}

