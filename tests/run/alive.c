/*
 * A live run over packets that were captured before is the offline run over
 * their files, alone and with the other side in a stream.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "capture/source_set.h"
#include "properties.h"
#include "run/tally.h"

enum { BATCH_MOST = 2000 };

static const int64_t far_ns = INT64_C(100) * 1000 * 1000 * 1000;

/* Another thread tells that the stream has something. */
struct bell {
	GMutex lock;
	GCond rung;
	unsigned rings;
};

static void
ring(void *context)
{
	struct bell *bell = context;

	g_mutex_lock(&bell->lock);
	bell->rings++;
	g_cond_signal(&bell->rung);
	g_mutex_unlock(&bell->lock);
}

static void
wait_for_ring(struct bell *bell)
{
	g_mutex_lock(&bell->lock);
	while (bell->rings == 0)
		g_cond_wait(&bell->rung, &bell->lock);
	bell->rings = 0;
	g_mutex_unlock(&bell->lock);
}

/* What depends on where packets came from, and on when. */
static json_t *
strip(json_t *report)
{
	size_t i;
	json_t *capture;

	json_object_del(report, "generated_ns");
	/* says of streams that they are read only once */
	json_object_del(report, "why_nothing");
	json_array_foreach(json_object_get(report, "captures"), i, capture) {
		json_object_del(capture, "files");
		json_object_del(capture, "format");
		json_object_del(capture, "dropped_by_kernel");
		json_object_del(capture, "dropped_by_interface");
	}
	json_array_foreach(json_object_get(report, "clock"), i, capture)
		json_object_del(capture, "client");
	return report;
}

static json_t *
report_of(struct tally *tally)
{
	struct snapshot *snapshot = tally_report(tally, NULL);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	json_t *report;

	report_json(snapshot_report(snapshot), out);
	fclose(out);
	snapshot_free(snapshot);
	report = strip(json_loadb(text, len, 0, NULL));
	free(text);
	return report;
}

/* Intervals and reports meanwhile leave the last one as it is. */
static void
look_at(struct trace *trace, struct tally *tally, int64_t now_ns)
{
	struct interval interval = { .from_ns = now_ns - 1, .to_ns = now_ns };

	switch (g_rand_int_range(trace->rand, 0, 8)) {
	case 0:
		snapshot_free(tally_interval(tally, &interval));
		break;
	case 1:
		snapshot_free(tally_report(tally, NULL));
		break;
	default:
		break;
	}
}

static void
push_all(struct trace *trace, struct tally *tally, struct source_set *packets)
{
	struct packet packet;
	guint left = 0;

	while (source_set_next(packets, &packet) == SOURCE_PACKET) {
		tally_push(tally, &packet);
		if (left-- > 0)
			continue;
		left = (guint)g_rand_int_range(trace->rand, 0, BATCH_MOST);
		tally_read_stream(tally);
		look_at(trace, tally, packet.ts_ns);
	}
}

/* stream: NULL, or the server's capture. */
static json_t *
run_live(struct trace *trace, const char *client, const char *stream)
{
	const char *argv[] = { "nfscorr", "--top=10000", "--interface=trace", stream, NULL };
	const char *paths[] = { client, NULL };
	struct source_set *packets = source_set_open(paths, NULL, NULL);
	struct source_config source = { 0 };
	struct source_facts told = *source_set_facts(packets, 0);
	struct bell bell = { .rings = 0 };
	struct options options;
	struct tally_config config = { .options = &options, .side = PAIR_CLIENT, .told = &told,
		.source = &source, .wake = ring, .wake_context = &bell, .log = log_new(stderr, LOG_QUIET) };
	const char *streams[] = { stream, NULL };
	struct ids *ids = ids_new();
	struct tally *tally;
	json_t *report;

	optind = 0;
	g_assert(options_read(&options, stream != NULL ? 4 : 3, (char **)argv, NULL) == OPTIONS_RUN);
	config.stream = stream != NULL ? streams : NULL;
	config.ids = ids;
	tally = tally_new(&config);
	push_all(trace, tally, packets);
	told = *source_set_facts(packets, 0);
	tally_end_interface(tally);
	while (tally_stream_goes_on(tally)) {
		wait_for_ring(&bell);
		while (!tally_read_stream(tally))
			continue;
	}
	tally_end(tally);
	report = report_of(tally);
	tally_free(tally);
	options_clear(&options);
	source_set_free(packets);
	ids_free(ids);
	log_free(config.log);
	return report;
}

/* Takes both. */
static bool
same_report(const char *what, json_t *offline, json_t *live, GString *why)
{
	bool same = json_equal(offline, live) != 0;
	const char *key;
	json_t *value;

	json_object_foreach(offline, key, value) {
		if (!json_equal(value, json_object_get(live, key)))
			g_string_append_printf(why, "%s: %s differs; ", what, key);
	}
	json_decref(offline);
	json_decref(live);
	return same;
}

/* Files are read again where clocks are far apart; streams are not. */
static bool
has_far_clock(const struct trace *trace)
{
	const struct trace_clock *server = &trace->config.server_clock, *client = &trace->config.client_clock[0];

	return ABS(server->offset_ns - client->offset_ns) > far_ns;
}

/* A stream without a call is left out of a live run's report. */
static bool
has_calls(const json_t *report)
{
	return json_integer_value(json_object_get(json_object_get(json_array_get(json_object_get(report, "captures"), 0),
		"rpc"), "calls")) > 0;
}

bool
prop_alive(struct trace *trace, GString *why)
{
	const char *server = trace->paths->pdata[0], *client = trace->paths->pdata[1];
	const char *alone[] = { "--top=10000", "--side=client", client, NULL };
	const char *both[] = { "--top=10000", server, client, NULL };
	g_autofree char *json = g_build_filename(trace->folder, "alive.json", NULL);
	json_t *offline_alone = strip(run_report(trace->folder, json, alone));
	json_t *offline = strip(run_report(trace->folder, json, both));
	bool same;

	if (has_far_clock(trace)) {
		json_decref(offline);
		same = same_report("alone", offline_alone, run_live(trace, client, NULL), why);
		return same;
	}
	if (!has_calls(offline)) {
		json_decref(offline);
		offline = json_incref(offline_alone);
	}
	same = same_report("with a stream", offline, run_live(trace, client, server), why);
	same &= same_report("alone", offline_alone, run_live(trace, client, NULL), why);
	return same;
}
