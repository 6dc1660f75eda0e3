/*
 * Rows of the table of hostile input in tests/README that are whole traces:
 * every call is there once, and matched. TAP on standard output, a line a case.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compare.h"
#include "traces.h"
#include "trace/folder.h"

/* Where XIDs begin again, no two calls have the same arguments: else the second may be a copy of the first. */
static const struct row {
	unsigned row;
	const char *name;
	const char *options;	/* of the trace maker; of several a later one counts */
} rows[] = {
	{ 5, "XIDs begin again at every connection", "calls=300 xid=1 xid-restart reconnect=40 mix=READ,WRITE" },
	{ 5, "and on the same ports", "calls=300 xid=0 xid-restart reconnect=40 reconnect-same-port reconnect-how=rst "
	  "mix=READ,WRITE" },
	{ 5, "three clients with the same XIDs", "calls=300 xid=7 clients=3 extra-clients=2" },
	{ 5, "connections of a client with the same XIDs", "calls=300 xid=7 nconnect=4 mix=all" },
	{ 5, "made again after two calls, and gone on, behind another address", "seed=100001372 calls=38 read=1024 "
	  "write=4096 reconnect=15 xid-restart slots=2 request-loss=0.03 virtual-server" },
	{ 8, "sent again after a FIN", "calls=400 reconnect=30 callers=8 slots=16 reconnect-how=fin" },
	{ 8, "sent again after the client's RST", "calls=400 reconnect=30 callers=8 slots=16 reconnect-how=rst" },
	{ 8, "at once", "calls=400 reconnect=30 callers=8 slots=16 reconnect-how=rst reconnect-delay=1us" },
	{ 8, "at once, on a short way", "calls=800 reconnect=60 callers=8 slots=16 reconnect-how=rst reconnect-delay=1us "
	  "delay=10us service=all:const:150us mix=WRITE" },
	{ 8, "sent again after the server's RST", "calls=400 reconnect=30 callers=8 slots=16 reconnect-how=server-rst" },
	{ 31, "UDP in fragments", "calls=200 udp timeo=50ms read=32k write=32k" },
	{ 31, "UDP in fragments, some of them lost, calls sent again", "calls=300 udp timeo=10ms read=8k write=8k loss=0.02" },
	{ 31, "UDP, out of order, each packet twice", "calls=300 udp timeo=10ms reorder=0.2 ip=6 mtu=600 read=8k write=8k "
	  "server-duplicate client-duplicate" },
	{ 22, "each packet twice", "calls=200 server-duplicate client-duplicate duplicate-hop server-link=sll2" },
};

/* Distinct calls of a capture; they must be those of the truth. */
static void
check_calls(json_t *report, unsigned capture, int64_t calls, GString *why)
{
	g_autofree char *key = g_strdup_printf("captures.%u.rpc.calls", capture);
	int64_t found = integer_at(report, key);

	if (found != calls)
		g_string_append_printf(why, "%s is %" PRId64 ", of %" PRId64 "; ", key, found, calls);
}

/* The calls that a client's capture must have; all of them for -1, for what the server sees. */
static int64_t
calls_of(const struct trace *trace, int64_t client)
{
	int64_t calls = 0;

	for (unsigned line = 0; line < trace->truth->lines->len; line++)
		calls += client < 0 || table_number(trace->truth, line, "client") == client;
	return calls;
}

static void
check_row(struct trace *trace, GString *why)
{
	json_t *report = base_of(trace)->report;
	int64_t matched = integer_at(report, "matched.calls") + integer_at(report, "matched.partial");
	int64_t seen = 0;

	check_calls(report, 0, calls_of(trace, -1), why);
	for (int64_t i = 0; i < trace->config.clients; i++) {
		check_calls(report, (unsigned)i + 1, calls_of(trace, i), why);
		seen += calls_of(trace, i);
	}
	if (matched != seen || integer_at(report, "matched.ambiguous") != 0)
		g_string_append_printf(why, "%" PRId64 " matched of %" PRId64, matched, seen);
}

static struct trace *
make_trace(const char *tmp, const struct row *row)
{
	g_autoptr(GPtrArray) options = g_ptr_array_new_with_free_func(g_free);
	g_auto(GStrv) words = g_strsplit(row->options, " ", -1);

	for (unsigned i = 0; words[i] != NULL; i++)
		g_ptr_array_add(options, g_strdup(words[i]));
	return trace_new(tmp, 1 + (uint64_t)(row - rows), options);
}

int
main(void)
{
	g_autofree char *tmp = g_dir_make_tmp("nfscorr-rows.XXXXXX", NULL);
	FILE *out = fdopen(dup(STDOUT_FILENO), "w");
	unsigned failed = 0;

	/* The text report goes nowhere, the results of the test go out. */
	g_assert(tmp != NULL && out != NULL && freopen("/dev/null", "w", stdout) != NULL);
	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct trace *trace = make_trace(tmp, &rows[i]);
		g_autoptr(GString) why = g_string_new(NULL);

		check_row(trace, why);
		failed += why->len > 0;
		fprintf(out, "%sok %u - row %u: %s\n", why->len > 0 ? "not " : "", i + 1, rows[i].row, rows[i].name);
		if (why->len > 0)
			fprintf(out, "# %s\n", why->str);
		trace_free(trace);
	}
	fprintf(out, "1..%zu\n", G_N_ELEMENTS(rows));
	fclose(out);
	folder_remove(tmp);
	return failed > 0;
}
