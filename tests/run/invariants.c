#include <glib/gstdio.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"
#include "properties.h"

/*
 * What is told of the clocks rests on the tightest of many bounds that are all
 * but equal, and on where a window of calls ends: equal stamps in another order
 * choose others. A few roundings, and what compare.h says of the error.
 */
enum { CLOCK_CLOSE_NS = 200 };
static const char clock_error[] = "clock_error_ns";

static const char *const clock_names[] = {
	"request_ns", "reply_ns", "clock_error", "clock_error_ns", "offset_ns", "error_ns", "drift_ppb",
	"drift_error_ppb", NULL
};

static bool
same_outcome(const struct outcome *a, const struct outcome *b, const struct leeway *leeway, GString *why)
{
	if (a->status != b->status)
		g_string_append_printf(why, "status %d against %d", a->status, b->status);
	return a->status == b->status && same_records(a->ops, b->ops, leeway, why)
		&& same_report(a, b, leeway, why);
}

bool
prop_threads(struct trace *trace, GString *why)
{
	static const struct leeway none = { 0 };
	const struct outcome *base = base_of(trace);
	g_autofree char *threads = g_strdup_printf("--threads=%d", g_rand_int_range(trace->rand, 1, 9));
	struct outcome *other = run_program(trace->folder, (const char *const *)trace->paths->pdata, threads);
	bool same = base->status == other->status && g_strcmp0(base->json_text, other->json_text) == 0
		&& g_strcmp0(base->ops->text, other->ops->text) == 0;

	if (!same) {
		if (same_outcome(base, other, &none, why))
			g_string_append(why, "the order differs");
		g_string_append_printf(why, " (%s)", threads);
	}
	outcome_free(other);
	return same;
}

/* A clock that is set back makes two orders of time, and nothing tells which one a shuffled packet is of. */
static bool
steps_back(const struct trace *trace)
{
	bool back = false;

	for (int64_t i = 0; i < trace->config.server_clock.steps.count; i++)
		back |= trace->config.server_clock.steps.step[i].by_ns < 0;
	for (unsigned clock = 0; clock < TRACE_CLOCKS; clock++)
		for (int64_t i = 0; i < trace->config.client_clock[clock].steps.count; i++)
			back |= trace->config.client_clock[clock].steps.step[i].by_ns < 0;
	return back;
}

/* A file in another order: blocks of up to 32 packets and 1 ms, inside the window of 64 and 2 ms. */
static bool
permuted(struct trace *trace, bool ties, const struct leeway *leeway, GString *why)
{
	struct trace_config config = trace->config;
	struct outcome *other;
	bool same;

	if (steps_back(trace))
		return true;
	for (unsigned side = 0; side < TRACE_SIDES; side++) {
		config.capture[side].permute_packets = g_rand_int_range(trace->rand, 2, 33);
		config.capture[side].permute_ns = 1000000;
		config.capture[side].permute_ties = ties;
	}
	other = run_variant(trace, &config);
	same = same_outcome(base_of(trace), other, leeway, why);
	if (!same)
		g_string_append_printf(why, "\n(--server-permute=%" PRId64 " --client-permute=%" PRId64
			" --permute-time=1ms%s)", config.capture[TRACE_SERVER].permute_packets,
			config.capture[TRACE_CLIENT].permute_packets, ties ? " --permute-ties" : "");
	outcome_free(other);
	return same;
}

static const char *const frame_columns[] = {
	"client_call_frame", "client_reply_frame", "server_call_frame", "server_reply_frame", NULL
};

bool
prop_permuted(struct trace *trace, GString *why)
{
	/* how much out of order the file is, and numbers of frames, by which equally slow calls go */
	static const char *const keys[] = { "backward_stamps", "backward_max_ns", "frames", NULL };
	static const char *const unordered[] = { "slowest", NULL };
	static const struct leeway leeway = { .keys = keys, .columns = frame_columns, .unordered = unordered };

	return permuted(trace, false, &leeway, why);
}

/* A place in a stream was lost, by a capture that began later, lost packets or cut them, and found again. */
static bool
found_again(struct trace *trace)
{
	json_t *capture;
	bool again = false;
	size_t i;

	json_array_foreach(value_at(base_of(trace)->report, "captures"), i, capture)
		again |= integer_at(capture, "tcp.resyncs") > 0 || integer_at(capture, "tcp.mid_stream") > 0;
	return again;
}

/*
 * Packets with equal stamps count as captured in the order of the file, so that
 * an answer may come in front of what it answers: round trips and what is out
 * of order may change with it, and the numbers of findings that rest on them. No
 * time of a call does.
 */
bool
prop_permuted_ties(struct trace *trace, GString *why)
{
	static const char *const keys[] = {
		"backward_stamps", "backward_max_ns", "duplicates", "frames", "path", "tcp", "lost_segments",
		"reasons.count", "reasons.text", "findings.evidence", "findings.text", NULL
	};
	static const char *const unordered[] = { "slowest", NULL };
	static const struct leeway leeway = { keys, frame_columns, unordered, clock_names, CLOCK_CLOSE_NS, clock_error };
	/* next to a step also whether anything is told */
	static const char *const step_keys[] = {
		"backward_stamps", "backward_max_ns", "duplicates", "frames", "path", "tcp", "lost_segments",
		"reasons.count", "reasons.text", "clock",
		"clock_error", "request_ns", "reply_ns", "findings.evidence", "findings.text", NULL
	};
	static const char *const step_columns[] = {
		"client_call_frame", "client_reply_frame", "server_call_frame", "server_reply_frame",
		"request_ns", "reply_ns", "clock_error_ns", NULL
	};
	static const struct leeway step_leeway = { step_keys, step_columns, unordered, NULL, 0, NULL };

	/* where a capture begins in the middle, the first packets decide what is missing in front of them */
	if (has_option(trace, "capture-start"))
		return true;
	/* Where boundaries are found again, a reply whose call is found later has none: so at one time the first counts. */
	if (found_again(trace) || has_late_copies(trace))
		return true;
	/* What ends a gap in which the client waits is the first packet, and one in front of it may be missing there. */
	if (has_option(trace, "call-pause") || has_option(trace, "stall") || has_option(trace, "window"))
		return true;
	return permuted(trace, true, has_option(trace, "step") ? &step_leeway : &leeway, why);
}

/* Every offset of the second run is the first one's less what was added. step: that of another time, perhaps. */
static bool
offsets_follow(json_t *before, json_t *after, int64_t by_ns, bool step, GString *why)
{
	for (size_t i = 0; i < json_array_size(before); i++) {
		int64_t before_ns = integer_at(json_array_get(before, i), "offset_ns");
		int64_t after_ns = integer_at(json_array_get(after, i), "offset_ns");
		bool same_time = !step || integer_at(json_array_get(before, i), "reference_ns")
			== integer_at(json_array_get(after, i), "reference_ns");
		bool same = before_ns == UNKNOWN ? after_ns == UNKNOWN || step : after_ns != UNKNOWN
			&& ABS(after_ns - before_ns + by_ns) <= CLOCK_CLOSE_NS
			+ MAX(integer_at(json_array_get(before, i), "error_ns"), 0) / ERROR_PARTS;

		if (!same_time)
			continue;
		if (!same) {
			g_string_append_printf(why, "offset %" PRId64 " became %" PRId64, before_ns, after_ns);
			return false;
		}
	}
	return true;
}

/* A constant added to a client's clock. */
bool
prop_shifted(struct trace *trace, GString *why)
{
	/*
	 * Stamps of the clients' clocks, the offset, and sentences in which they
	 * are. TCP's own time stamps go by the clock too, and without an
	 * identification (IPv6) they tell a retransmission from a duplicate.
	 */
	static const char *const keys[] = {
		"captures.first_ns", "captures.last_ns", "captures.duplicate_packets", "tcp.retransmitted",
		"clock.offset_ns", "reasons.text", "why_nothing", NULL
	};
	static const char *const columns[] = { "time_ns", NULL };
	static const struct leeway leeway = { keys, columns, NULL, clock_names, CLOCK_CLOSE_NS, clock_error };
	/* next to a step the order in which pairs were found decides which of them are told of, and the shift that order */
	static const char *const step_keys[] = {
		"captures.first_ns", "captures.last_ns", "captures.duplicate_packets", "tcp.retransmitted",
		"clock", "clock_error", "request_ns", "reply_ns", "reasons.text", "evidence.at_ns", "evidence.step_ns",
		"evidence.steps", "findings.text", "why_nothing", NULL
	};
	static const char *const step_columns[] = { "time_ns", "request_ns", "reply_ns", "clock_error_ns", NULL };
	static const struct leeway step_leeway = { step_keys, step_columns, NULL, NULL, 0, NULL };
	bool step = has_option(trace, "step");
	static const int64_t shift_ns[] = {
		1, -7, 123456, -40000000, 1500000000, -63000000000, 3600000000000, -90000000000000
	};
	struct trace_config config = trace->config;
	bool far = integer_at(base_of(trace)->report, "matched.calls") >= ANCHORED_CALLS;
	int which = g_rand_int_range(trace->rand, 0, far ? G_N_ELEMENTS(shift_ns) : G_N_ELEMENTS(shift_ns) - 3);
	int64_t by_ns = shift_ns[which];
	struct outcome *other;
	bool same;

	if (config.capture[TRACE_CLIENT].magic != TRACE_NANOSECONDS)
		by_ns = by_ns / 1000 * 1000;
	for (unsigned i = 0; i < TRACE_CLOCKS; i++)
		config.client_clock[i].offset_ns += by_ns;
	other = run_variant(trace, &config);
	same = same_outcome(base_of(trace), other, step ? &step_leeway : &leeway, why)
		&& offsets_follow(value_at(trace->base->report, "clock"), value_at(other->report, "clock"),
		    by_ns, step, why);
	if (!same)
		g_string_append_printf(why, "\n(clients' clocks %+" PRId64 " ns)", by_ns);
	outcome_free(other);
	return same;
}

/* Of several clients each has frames of its own. */
static char *
frames_key(const struct table *ops, unsigned record)
{
	return g_strjoin(":", table_text(ops, record, "client_addr"), table_text(ops, record, "client_port"),
		table_text(ops, record, "xid"), table_text(ops, record, "client_call_frame"),
		table_text(ops, record, "client_reply_frame"), table_text(ops, record, "server_call_frame"),
		table_text(ops, record, "server_reply_frame"), NULL);
}

/* Fields and calls may go, a time never changes. */
bool
prop_cut_packets(struct trace *trace, GString *why)
{
	static const int snaplen[] = { 68, 96, 128, 160, 200, 256, 320, 512, 1000 };
	static const char *const times[] = { "time_ns", "total_ns", "server_ns", "network_ns" };
	const struct table *whole = base_of(trace)->ops;
	struct trace_config config = trace->config;
	g_autoptr(GHashTable) records = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	unsigned sides = (unsigned)g_rand_int_range(trace->rand, 1, 4);
	struct outcome *other;

	for (unsigned side = 0; side < TRACE_SIDES; side++)
		if ((sides >> side & 1) != 0)
			config.capture[side].snaplen_bytes = MIN(config.capture[side].snaplen_bytes,
				snaplen[g_rand_int_range(trace->rand, 0, G_N_ELEMENTS(snaplen))]);
	other = run_variant(trace, &config);
	for (unsigned r = 0; r < whole->lines->len; r++)
		g_hash_table_insert(records, frames_key(whole, r), GUINT_TO_POINTER(r + 1));
	for (unsigned r = 0; r < other->ops->lines->len && why->len == 0; r++) {
		g_autofree char *key = frames_key(other->ops, r);
		unsigned before = GPOINTER_TO_UINT(g_hash_table_lookup(records, key));

		for (unsigned t = 0; before > 0 && t < G_N_ELEMENTS(times); t++) {
			int64_t a = table_number(whole, before - 1, times[t]);
			int64_t b = table_number(other->ops, r, times[t]);

			if (a != UNKNOWN && b != UNKNOWN && a != b)
				g_string_append_printf(why, "%s %" PRId64 " became %" PRId64 ", xid %s, "
					"snap lengths %" PRId64 " and %" PRId64, times[t], a, b,
					table_text(whole, before - 1, "xid"),
					config.capture[TRACE_SERVER].snaplen_bytes,
					config.capture[TRACE_CLIENT].snaplen_bytes);
		}
	}
	outcome_free(other);
	return why->len == 0;
}

static void
write_part(const char *path, const char *header, const char *bytes, gsize len)
{
	FILE *file = fopen(path, "wb");

	g_assert(file != NULL && fwrite(header, 1, 24, file) == 24);
	g_assert(fwrite(bytes, 1, len, file) == len && fclose(file) == 0);
}

/* The server's capture in two files of a folder. */
bool
prop_cut_file(struct trace *trace, GString *why)
{
	/* names and sizes of files */
	static const char *const keys[] = { "captures.files", "why_nothing", NULL };
	static const struct leeway leeway = { .keys = keys };
	const struct outcome *base = base_of(trace);
	GArray *places;
	g_autoptr(GArray) stamps = stamps_of(&trace->config.capture[TRACE_SERVER],
		trace->paths->pdata[0], &places);
	g_autofree char *folder = g_build_filename(trace->folder, "parts", NULL);
	g_autofree char *first = g_build_filename(folder, "b.pcap", NULL);
	g_autofree char *second = g_build_filename(folder, "a.pcap", NULL);
	g_autoptr(GPtrArray) paths = g_ptr_array_new();
	g_autofree char *bytes = NULL;
	struct outcome *other = NULL;
	unsigned at_packet;
	gsize len;

	at_packet = stamps->len > 2 ? (unsigned)g_rand_int_range(trace->rand, 1, (int)stamps->len) : 0;
	/* The files go by their first stamps: equal ones would not tell which is first. */
	if (at_packet > 0 && g_array_index(stamps, int64_t, at_packet) > g_array_index(stamps, int64_t, 0)) {
		gsize cut = g_array_index(places, gsize, at_packet);

		g_mkdir_with_parents(folder, 0700);
		g_assert(g_file_get_contents(trace->paths->pdata[0], &bytes, &len, NULL));
		write_part(first, bytes, bytes + 24, cut - 24);
		write_part(second, bytes, bytes + cut, len - cut);
		g_ptr_array_add(paths, folder);
		for (unsigned i = 1; i < trace->paths->len; i++)
			g_ptr_array_add(paths, trace->paths->pdata[i]);
		other = run_program(trace->folder, (const char *const *)paths->pdata, NULL);
		if (same_outcome(base, other, &leeway, why)
		    && g_strcmp0(base->ops->text, other->ops->text) != 0)
			g_string_append(why, "the records are in another order");
		if (why->len > 0)
			g_string_append_printf(why, "\n(server's capture cut before packet %u)", at_packet + 1);
	}
	g_array_unref(places);
	outcome_free(other);
	return why->len == 0;
}
