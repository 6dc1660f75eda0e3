#include "traces.h"

#include <inttypes.h>
#include <string.h>

/* One line an option or a group that goes together; values separated by '|'. */
static const char *const troubles[] = {
	"clients=2|3", "nconnect=2|4", "slots=2|4|16", "callers=1|3|20", "mix=all|READ|WRITE:3,COMMIT|GETATTR",
	"read=512|4k|16k|64k", "write=512|4k|16k|64k", "vary-sizes", "errors=0.1", "auth-none",
	"jukebox=0.1", "threads=1|2|4", "delay=10us|1ms|20ms", "request-delay=5ms", "reply-delay=3ms",
	"jitter=50us|400us", "line=100M|1G", "loss=0.002|0.02|0.06", "request-loss=0.03", "reply-loss=0.03",
	"reorder=0.02|0.1", "reorder-by=200us|1500us|5ms", "mss=536|8948", "window=8k|32k", "rto=5ms",
	"delayed-ack=0|1ms", "server-stall=0.02", "client-stall=0.02", "call-pause=0.2",
	"coalesce=20us|200us", "gro-break=0.5", "tcp-timestamps=no", "high-sequence", "keepalive=2ms|500us",
	"overlap=0.02|0.1", "fragment=200|1k", "empty-fragment", "split-mark=0.1|0.8", "payload=fakes|pattern",
	"xid=1", "xid-modulus=256", "xid-restart", "timeo=4ms|20ms", "unanswered=0.05", "denied=0.05",
	"accept-errors=0.05", "reconnect=15|40", "reconnect-how=rst|server-fin|server-rst",
	"reconnect-same-port", "reconnect-delay=20ms", "close", "nat=address|port|both|one", "virtual-server",
	"extra-clients=2", "extra-servers=1",
	"snaplen=68|96|128|200|256|320|512", "server-snaplen=96|128|200|320", "client-snaplen=96|128|200|320",
	"server-drop=0.005|0.03", "client-drop=0.005|0.03", "server-burst=0.005", "client-burst=0.005",
	"server-drop-window=5ms:5ms", "client-drop-window=8ms:4ms", "server-only=calls|replies",
	"client-only=calls|replies", "server-capture-start=4ms", "client-capture-start=6ms",
	"server-capture-stop=15ms", "client-capture-stop=12ms",
	"server-duplicate", "client-duplicate", "duplicate-delay=3us", "duplicate-hop",
	"server-link=vlan|qinq|sll|sll2|raw", "client-link=vlan|sll2|raw", "server-ip=6", "client-ip=6",
	"server-magic=us|modified", "client-magic=us", "server-big-endian",
	"gso=16k|64k", "gro=16k|64k", "server-gso=64k", "client-gro=64k", "gso-zero-length",
	"server-offset=3ms|-90s", "server-drift=50k|-100k", "client-offset=-7ms|1500ms|2h", "client-drift=20k|-60k",
	"server-step=10ms:50ms|10ms:-30ms", "client-step=9ms:30ms|9ms:-30ms",
};

static const char *const versions[] = { "nfs=4.0", "nfs=4.1", "nfs=4.2" };

/*
 * What UDP knows: troubles of NFSv3 that are not TCP's; others go. XIDs that come
 * again make copies of calls, and a clock that is set back by a time-out stamps
 * both copies of one alike.
 */
static const char *const datagram_troubles[] = {
	"calls", "read", "write", "clients", "nconnect", "slots", "callers", "mix", "vary-sizes", "errors",
	"auth-none", "jukebox", "threads", "delay", "jitter", "line", "loss", "reorder", "reorder-by", "payload",
	"unanswered", "denied", "accept-errors", "nat", "virtual-server", "extra-clients",
	"extra-servers", "snaplen", "drop", "burst", "drop-window", "only", "capture-start", "capture-stop",
	"duplicate", "duplicate-delay", "duplicate-hop", "link", "ip", "magic", "big-endian", "offset", "drift",
	NULL
};

/* NAME of NAME, NAME=VALUE, and either behind a prefix. */
static bool
is_datagram_trouble(const char *option)
{
	g_autofree char *name = g_strndup(option, strcspn(option, "="));
	const char *behind = strchr(name, '-');

	return g_strv_contains(datagram_troubles, name)
		|| (behind != NULL && g_strv_contains(datagram_troubles, behind + 1));
}

static void
make_datagrams(GPtrArray *options, GRand *rand)
{
	for (unsigned i = 0; i < options->len; )
		if (is_datagram_trouble(g_ptr_array_index(options, i)))
			i++;
		else
			g_ptr_array_remove_index(options, i);
	g_ptr_array_add(options, g_strdup("udp"));
	/* IPv6 has nothing that tells a copy sent within 10 ms from one captured twice */
	g_ptr_array_add(options, g_strdup("timeo=30ms"));
	if (g_rand_boolean(rand))
		g_ptr_array_add(options, g_strdup(g_rand_boolean(rand) ? "mtu=576" : "mtu=9000"));
}

GPtrArray *
choose_options(uint64_t seed)
{
	GPtrArray *options = g_ptr_array_new_with_free_func(g_free);
	GRand *rand = g_rand_new_with_seed((guint32)seed);
	int count = g_rand_int_range(rand, 0, 9);
	bool taken[G_N_ELEMENTS(troubles)] = { false };

	g_ptr_array_add(options, g_strdup_printf("calls=%d", g_rand_int_range(rand, 20, 250)));
	g_ptr_array_add(options, g_strdup_printf("read=%d", 1 << g_rand_int_range(rand, 9, 14)));
	g_ptr_array_add(options, g_strdup_printf("write=%d", 1 << g_rand_int_range(rand, 9, 14)));
	for (int i = 0; i < count; i++) {
		unsigned row = (unsigned)g_rand_int_range(rand, 0, G_N_ELEMENTS(troubles));
		const char *equals = strchr(troubles[row], '=');
		g_auto(GStrv) values = equals != NULL ? g_strsplit(equals + 1, "|", -1) : NULL;

		if (taken[row])
			continue;
		taken[row] = true;
		g_ptr_array_add(options, equals == NULL ? g_strdup(troubles[row])
			: g_strdup_printf("%.*s=%s", (int)(equals - troubles[row]), troubles[row],
			    values[g_rand_int_range(rand, 0, (int)g_strv_length(values))]));
	}
	/* drawn last: the rest of a trace is what it was before there were versions */
	if (g_rand_int_range(rand, 0, 3) == 0)
		g_ptr_array_add(options, g_strdup(versions[g_rand_int_range(rand, 0, G_N_ELEMENTS(versions))]));
	if (g_rand_int_range(rand, 0, 6) == 0)
		make_datagrams(options, rand);
	g_rand_free(rand);
	return options;
}

static bool
has_value(const struct trace *trace, const char *option)
{
	return g_ptr_array_find_with_equal_func(trace->options, option, g_str_equal, NULL);
}

bool
allowed(GPtrArray *options)
{
	struct trace probe = { .options = options };

	/* What lies beneath other content that was not captured is anybody's guess. */
	if (has_option(&probe, "overlap") && captures_lack(&probe))
		return false;
	/* The trace maker refuses a window without room for a segment. */
	if (has_value(&probe, "mss=8948") && has_value(&probe, "window=8k"))
		return false;
	if (has_option(&probe, "udp") && !has_option(&probe, "timeo"))
		return false;
	/* A stalled client sends again what its TCP has acknowledged the answer of: another call by definition. */
	return !has_option(&probe, "timeo") || !has_option(&probe, "stall");
}

/* ---- a trace ---- */

bool
has_option(const struct trace *trace, const char *name)
{
	gsize len = strlen(name);

	for (unsigned i = 0; i < trace->options->len; i++) {
		const char *option = g_ptr_array_index(trace->options, i);
		const char *found = strstr(option, name);

		if (found != NULL && (found == option || found[-1] == '-')
		    && (found[len] == '=' || found[len] == '\0'))
			return true;
	}
	return false;
}

bool
captures_lack(const struct trace *trace)
{
	static const char *const names[] = {
		"drop", "burst", "drop-window", "only", "capture-start", "capture-stop"
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
		if (has_option(trace, names[i]))
			return true;
	return false;
}

static void
set_option(struct trace_config *config, const char *option)
{
	const char *equals = strchr(option, '=');
	g_autofree char *name = equals != NULL ? g_strndup(option, (gsize)(equals - option))
		: g_strdup(option);
	g_autoptr(GError) error = NULL;

	if (!trace_config_set(config, name, equals != NULL ? equals + 1 : NULL, &error))
		g_error("%s", error->message);
}

static void
write_trace(const struct trace_config *config, const char *folder, GPtrArray *paths)
{
	g_autofree char *csv = g_build_filename(folder, "truth.csv", NULL);
	struct trace_output output = { .truth_csv = csv };
	g_autoptr(GError) error = NULL;

	g_mkdir_with_parents(folder, 0700);
	g_ptr_array_add(paths, g_build_filename(folder, "server.pcap", NULL));
	for (int64_t i = 0; i < config->clients; i++)
		g_ptr_array_add(paths, g_strdup_printf("%s/client%" PRId64 ".pcap", folder, i));
	g_ptr_array_add(paths, NULL);
	output.server = paths->pdata[0];
	output.client = (const char *const *)paths->pdata + 1;
	if (!trace_make(config, &output, &error))
		g_error("%s", error->message);
}

static void
index_truth(struct trace *trace)
{
	static const char *const columns[] = { "file_c_call_first", "file_s_call_first" };

	trace->by_stamp = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
		(GDestroyNotify)g_array_unref);
	for (unsigned i = 0; i < trace->truth->lines->len; i++)
		for (unsigned side = 0; side < G_N_ELEMENTS(columns); side++) {
			char *key = g_strdup_printf("%c:%s:%s", "cs"[side],
				table_text(trace->truth, i, columns[side]), table_text(trace->truth, i, "xid"));
			GArray *lines = g_hash_table_lookup(trace->by_stamp, key);

			if (lines == NULL) {
				lines = g_array_new(FALSE, FALSE, sizeof(unsigned));
				g_hash_table_insert(trace->by_stamp, key, lines);
			} else {
				g_free(key);
			}
			g_array_append_val(lines, i);
		}
}

struct trace *
trace_new(const char *tmp, uint64_t seed, GPtrArray *options)
{
	struct trace *trace = g_new0(struct trace, 1);
	g_autofree char *csv = NULL;

	trace->seed = seed;
	trace->options = g_ptr_array_ref(options);
	trace->rand = g_rand_new_with_seed((guint32)seed);
	trace->folder = g_build_filename(tmp, "trace", NULL);
	trace->paths = g_ptr_array_new_with_free_func(g_free);
	trace_config_init(&trace->config);
	trace->config.seed = seed;
	for (unsigned i = 0; i < options->len; i++)
		set_option(&trace->config, g_ptr_array_index(options, i));
	write_trace(&trace->config, trace->folder, trace->paths);
	csv = g_build_filename(trace->folder, "truth.csv", NULL);
	trace->truth = table_read(csv);
	index_truth(trace);
	return trace;
}

void
trace_free(struct trace *trace)
{
	outcome_free(trace->base);
	g_hash_table_unref(trace->by_stamp);
	table_free(trace->truth);
	g_ptr_array_unref(trace->paths);
	g_ptr_array_unref(trace->options);
	g_rand_free(trace->rand);
	g_free(trace->folder);
	g_free(trace);
}

const struct outcome *
base_of(struct trace *trace)
{
	if (trace->base == NULL)
		trace->base = run_program(trace->folder, (const char *const *)trace->paths->pdata, NULL);
	return trace->base;
}

struct outcome *
run_variant(struct trace *trace, const struct trace_config *config)
{
	g_autofree char *folder = g_strconcat(trace->folder, "-variant", NULL);
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);

	write_trace(config, folder, paths);
	return run_program(folder, (const char *const *)paths->pdata, NULL);
}

GArray *
stamps_of(const struct trace_capture *capture, const char *path, GArray **places)
{
	GArray *stamps = g_array_new(FALSE, FALSE, sizeof(int64_t));
	gsize header_bytes = capture->magic == TRACE_MODIFIED ? 24 : 16;
	int64_t unit_ns = capture->magic == TRACE_NANOSECONDS ? 1 : 1000;
	char *bytes = NULL;
	gsize len = 0;

	if (places != NULL)
		*places = g_array_new(FALSE, FALSE, sizeof(gsize));
	g_file_get_contents(path, &bytes, &len, NULL);
	for (gsize place = 24; place + header_bytes <= len; ) {
		uint32_t word[3];
		int64_t stamp_ns;

		memcpy(word, bytes + place, sizeof word);
		for (unsigned i = 0; i < 3; i++)
			word[i] = capture->big_endian ? GUINT32_FROM_BE(word[i]) : GUINT32_FROM_LE(word[i]);
		stamp_ns = word[0] * INT64_C(1000000000) + word[1] * unit_ns;
		g_array_append_val(stamps, stamp_ns);
		if (places != NULL)
			g_array_append_val(*places, place);
		place += header_bytes + word[2];
	}
	g_free(bytes);
	return stamps;
}
