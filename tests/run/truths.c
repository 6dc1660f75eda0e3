#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "properties.h"
#include "run/pipeline.h"

/* ---- the truth of single calls ---- */

static bool
truth_has(const struct trace *trace, char side, int64_t stamp_ns, const char *xid, unsigned line)
{
	g_autofree char *key = g_strdup_printf("%c:%" PRId64 ":%s", side, stamp_ns, xid);
	GArray *lines = g_hash_table_lookup(trace->by_stamp, key);

	for (unsigned i = 0; lines != NULL && i < lines->len; i++)
		if (g_array_index(lines, unsigned, i) == line)
			return true;
	return false;
}

static GArray *
truth_of(const struct trace *trace, char side, int64_t stamp_ns, const char *xid)
{
	g_autofree char *key = g_strdup_printf("%c:%" PRId64 ":%s", side, stamp_ns, xid);

	return g_hash_table_lookup(trace->by_stamp, key);
}

static int64_t
between(const struct trace *trace, unsigned line, const char *from, const char *to)
{
	int64_t a = table_number(trace->truth, line, from);
	int64_t b = table_number(trace->truth, line, to);

	return a != UNKNOWN && b != UNKNOWN ? b - a : UNKNOWN;
}

static void
explain_record(const struct trace *trace, unsigned record, const char *what, GString *why)
{
	g_autofree char *text = g_strjoinv(",", table_line(trace->base->ops, record));

	g_string_append_printf(why, "%s:\n  %s", what, text);
}

/* What a clock shows so long after the start of the trace. */
static int64_t
clock_shows(const struct trace_config *config, const struct trace_clock *clock, int64_t ideal_ns)
{
	int64_t at_ns = config->start_ns + ideal_ns + clock->offset_ns
		+ ideal_ns / 1000000000 * clock->drift_ppb
		+ ideal_ns % 1000000000 * clock->drift_ppb / 1000000000;

	for (int64_t i = 0; i < clock->steps.count; i++)
		if (ideal_ns >= clock->steps.step[i].at_ns)
			at_ns += clock->steps.step[i].by_ns;
	return at_ns;
}

/* Server's clock minus client's when the call's first byte left the client, which is later than it was made. */
static int64_t
true_offset(const struct trace *trace, unsigned line)
{
	const struct trace_config *config = &trace->config;
	int64_t ideal_ns = table_number(trace->truth, line, "c_call_first") - config->start_ns;
	int64_t client = MIN(table_number(trace->truth, line, "client"), TRACE_CLOCKS - 1);

	return clock_shows(config, &config->server_clock, ideal_ns)
		- clock_shows(config, &config->client_clock[client], ideal_ns);
}

/* A clock was set while the call was under way: it has no one offset. */
static bool
spans_step(const struct trace *trace, unsigned line)
{
	const struct trace_config *config = &trace->config;
	int64_t client = MIN(table_number(trace->truth, line, "client"), TRACE_CLOCKS - 1);
	const struct trace_steps *steps[] = { &config->server_clock.steps, &config->client_clock[client].steps };
	bool spans = false;

	for (unsigned clock = 0; clock < G_N_ELEMENTS(steps); clock++)
		for (int64_t i = 0; i < steps[clock]->count; i++) {
			int64_t at_ns = config->start_ns + steps[clock]->step[i].at_ns;

			spans |= at_ns >= table_number(trace->truth, line, "c_call_first")
				&& at_ns <= table_number(trace->truth, line, "c_reply_last");
		}
	return spans;
}

/* What a matched record says of the call in this line; NULL: nothing wrong. */
static char *
wrong_with(const struct trace *trace, unsigned record, unsigned line)
{
	const struct table *ops = trace->base->ops;
	int64_t total_ns = between(trace, line, "file_c_call_first", "file_c_reply_last");
	int64_t server_ns = between(trace, line, "file_s_call_last", "file_s_reply_first");
	int64_t request_ns = table_number(ops, record, "request_ns");
	int64_t error_ns = table_number(ops, record, "clock_error_ns");
	int64_t true_request_ns = between(trace, line, "file_c_call_first", "file_s_call_last")
		- true_offset(trace, line);
	static const char *const fields[] = { "status", "offset", "size", "moved", "proc", "slot" };
	bool whole = table_is(trace->truth, line, "client_call", "full")
		|| table_is(trace->truth, line, "server_call", "full");

	if (table_number(ops, record, "total_ns") != total_ns)
		return g_strdup_printf("total is %" PRId64, total_ns);
	if (table_number(ops, record, "server_ns") != server_ns)
		return g_strdup_printf("server is %" PRId64, server_ns);
	if (request_ns != UNKNOWN && !spans_step(trace, line)
	    && (error_ns == UNKNOWN || ABS(request_ns - true_request_ns) > error_ns + 1))
		return g_strdup_printf("request is %" PRId64, true_request_ns);
	/* what was cut in front of its operations has no name of its own */
	if (!whole && table_is(ops, record, "proc", "COMPOUND"))
		return NULL;
	for (unsigned i = 0; i < G_N_ELEMENTS(fields); i++)
		if (*table_text(ops, record, fields[i]) != '\0'
		    && strcmp(table_text(ops, record, fields[i]), table_text(trace->truth, line, fields[i])) != 0
		    && *table_text(trace->truth, line, fields[i]) != '\0')
			return g_strdup_printf("%s is %s", fields[i], table_text(trace->truth, line, fields[i]));
	return NULL;
}

/*
 * A copy that left the client behind the acknowledgement of its answer, since
 * TCP held it back: another call by definition, which the truth counts with the first.
 */
static bool
is_late_copy(const struct trace *trace, unsigned record)
{
	const char *xid = table_text(trace->base->ops, record, "xid");
	int64_t time_ns = table_number(trace->base->ops, record, "time_ns");

	for (unsigned line = 0; line < trace->truth->lines->len; line++)
		if (strcmp(table_text(trace->truth, line, "xid"), xid) == 0
		    && table_number(trace->truth, line, "retransmits") > 0
		    && table_number(trace->truth, line, "file_c_reply_last") != UNKNOWN
		    && table_number(trace->truth, line, "file_c_reply_last") < time_ns)
			return true;
	return false;
}

bool
has_late_copies(const struct trace *trace)
{
	for (unsigned record = 0; record < trace->base->ops->lines->len; record++)
		if (is_late_copy(trace, record))
			return true;
	return false;
}

/* Every matched record is one call of the truth, and its times are that call's. */
bool
prop_truth(struct trace *trace, GString *why)
{
	const struct table *ops = base_of(trace)->ops;
	g_autoptr(GHashTable) used = g_hash_table_new(NULL, NULL);

	for (unsigned r = 0; r < ops->lines->len; r++) {
		g_autofree char *wrong = NULL;
		GArray *lines;

		if (!table_is(ops, r, "match", "matched"))
			continue;
		lines = truth_of(trace, 'c', table_number(ops, r, "time_ns"), table_text(ops, r, "xid"));
		for (unsigned i = 0; lines != NULL && i < lines->len; i++) {
			unsigned line = g_array_index(lines, unsigned, i);

			g_clear_pointer(&wrong, g_free);
			wrong = wrong_with(trace, r, line);
			if (wrong == NULL && !g_hash_table_add(used, GUINT_TO_POINTER(line + 1)))
				wrong = g_strdup("matched twice");
			if (wrong == NULL)
				break;
		}
		if (lines == NULL && is_late_copy(trace, r))
			continue;
		if (lines == NULL)
			wrong = g_strdup("no such call");
		if (wrong != NULL) {
			explain_record(trace, r, wrong, why);
			if (lines != NULL) {
				g_autofree char *text = g_strjoinv(",",
					table_line(trace->truth, g_array_index(lines, unsigned, 0)));

				g_string_append_printf(why, "\n  %s", text);
			}
			return false;
		}
	}
	return true;
}

/* The server's half of a matched record is the same call: its frame is that call's. */
bool
prop_pairs(struct trace *trace, GString *why)
{
	const struct table *ops = base_of(trace)->ops;
	g_autoptr(GArray) stamps = stamps_of(&trace->config.capture[TRACE_SERVER],
		trace->paths->pdata[0], NULL);

	for (unsigned r = 0; r < ops->lines->len; r++) {
		const char *xid = table_text(ops, r, "xid");
		int64_t frame = table_number(ops, r, "server_call_frame");
		GArray *lines;
		bool same = false;

		if (!table_is(ops, r, "match", "matched"))
			continue;
		if (frame < 1 || frame > stamps->len) {
			explain_record(trace, r, "no such frame", why);
			return false;
		}
		lines = truth_of(trace, 'c', table_number(ops, r, "time_ns"), xid);
		if (lines == NULL && is_late_copy(trace, r))
			continue;
		for (unsigned i = 0; lines != NULL && i < lines->len && !same; i++)
			same = truth_has(trace, 's', g_array_index(stamps, int64_t, frame - 1), xid,
				g_array_index(lines, unsigned, i));
		if (!same) {
			explain_record(trace, r, "a false pair", why);
			return false;
		}
	}
	return true;
}

/* Nothing is missing where both captures hold all of a call. */
bool
prop_complete(struct trace *trace, GString *why)
{
	const struct table *ops = base_of(trace)->ops;
	/* Which copies a capture shows of a call that was sent again elsewhere may leave its pair without a time. */
	bool may_be_partial = has_option(trace, "reconnect");
	uint64_t both = 0, matched = 0, ambiguous = 0;

	if (captures_lack(trace) || has_option(trace, "snaplen"))
		return true;
	if (has_option(trace, "offset") && trace->truth->lines->len < ANCHORED_CALLS)
		return true;
	for (unsigned i = 0; i < trace->truth->lines->len; i++)
		both += table_is(trace->truth, i, "seen_server", "full")
			&& table_is(trace->truth, i, "seen_client", "full");
	for (unsigned r = 0; r < ops->lines->len; r++) {
		matched += table_is(ops, r, "match", "matched");
		matched += may_be_partial && table_is(ops, r, "match", "partial");
		ambiguous += table_is(ops, r, "match", "ambiguous");
	}
	if (matched + ambiguous / 2 < both)
		g_string_append_printf(why, "%" PRIu64 " calls are on both sides, %" PRIu64 " matched, %"
			PRIu64 " ambiguous", both, matched, ambiguous);
	return matched + ambiguous / 2 >= both;
}

/* ---- sums ---- */

bool
prop_parts(struct trace *trace, GString *why)
{
	const struct table *ops = base_of(trace)->ops;

	for (unsigned r = 0; r < ops->lines->len; r++) {
		int64_t total_ns = table_number(ops, r, "total_ns");
		int64_t server_ns = table_number(ops, r, "server_ns");
		int64_t network_ns = table_number(ops, r, "network_ns");
		int64_t client_ns = table_number(ops, r, "client_ns");
		int64_t request_ns = table_number(ops, r, "request_ns");
		int64_t reply_ns = table_number(ops, r, "reply_ns");

		if (!table_is(ops, r, "match", "matched"))
			continue;
		client_ns = client_ns != UNKNOWN ? client_ns : 0;
		if (total_ns == UNKNOWN || server_ns + network_ns + client_ns != total_ns) {
			explain_record(trace, r, "parts do not sum", why);
			return false;
		}
		if (request_ns != UNKNOWN && request_ns + reply_ns != network_ns + client_ns) {
			explain_record(trace, r, "request and reply are not the network", why);
			return false;
		}
	}
	return true;
}

/* ---- loss ---- */

/* Records by their client's frame and XID; with several clients those that stand for one call only. */
static GHashTable *
records_by_frame(const struct table *ops)
{
	GHashTable *found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (unsigned r = 0; r < ops->lines->len; r++) {
		char *key = g_strdup_printf("%s:%s", table_text(ops, r, "client_call_frame"), table_text(ops, r, "xid"));
		bool again = g_hash_table_contains(found, key);

		g_hash_table_replace(found, key, GINT_TO_POINTER(again || !table_is(ops, r, "match", "matched")
			? -1 : (int)r));
	}
	return found;
}

/* The wire shows what the maker knows: no segment overtakes another, and none is taken for lost too early. */
static bool
is_orderly(const struct trace *trace)
{
	return !has_option(trace, "reorder") && !has_option(trace, "overlap") && !has_option(trace, "timeo")
		&& !has_option(trace, "reconnect") && !has_option(trace, "step")
		&& !(has_option(trace, "rto") && (has_option(trace, "delay") || has_option(trace, "jitter")
		    || has_option(trace, "line") || has_option(trace, "stall") || has_option(trace, "delayed-ack")));
}

/* What is wrong with the loss of a call of the report, whose truth is in this line; NULL: nothing. */
static char *
wrong_loss(const struct trace *trace, json_t *call, unsigned record, unsigned line)
{
	int64_t told_ns = integer_at(call, "retransmit_ns");
	int64_t network_ns = integer_at(call, "network_ns");
	int64_t true_ns = MIN(table_number(trace->truth, line, "retransmit_ns"), network_ns);
	/* stamps of microseconds, and clocks that drift up to 100 ppm */
	int64_t leeway_ns = 4000 + true_ns / 5000;

	if (told_ns == UNKNOWN)
		return !is_orderly(trace) || captures_lack(trace)
			|| table_number(trace->base->ops, record, "request_ns") == UNKNOWN
			? NULL : g_strdup("it is not known");
	if (told_ns < 0 || told_ns > MAX(network_ns, 0))
		return g_strdup("it is not in the network");
	if (is_orderly(trace) && ABS(told_ns - true_ns) > leeway_ns)
		return g_strdup_printf("%" PRId64 " is told, %" PRId64 " is true", told_ns, true_ns);
	return NULL;
}

bool
prop_loss(struct trace *trace, GString *why)
{
	const struct table *ops = base_of(trace)->ops;
	g_autoptr(GHashTable) records = records_by_frame(ops);
	json_t *call;
	size_t i;

	json_array_foreach(value_at(trace->base->report, "slowest"), i, call) {
		g_autofree char *key = g_strdup_printf("%" PRId64 ":%" PRId64, integer_at(call, "frames.client_call"),
			integer_at(call, "xid"));
		gpointer found;
		g_autofree char *wrong = NULL;
		GArray *lines;

		if (!g_hash_table_lookup_extended(records, key, NULL, &found) || GPOINTER_TO_INT(found) < 0)
			continue;
		lines = truth_of(trace, 'c', table_number(ops, GPOINTER_TO_UINT(found), "time_ns"),
			table_text(ops, GPOINTER_TO_UINT(found), "xid"));
		if (lines == NULL || lines->len != 1)
			continue;
		wrong = wrong_loss(trace, call, GPOINTER_TO_UINT(found), g_array_index(lines, unsigned, 0));
		if (wrong != NULL) {
			explain_record(trace, GPOINTER_TO_UINT(found), wrong, why);
			return false;
		}
	}
	return true;
}

/* ---- the client ---- */

/* What a client may be charged with in this trace: nothing, or what is in the truth, or what is not. */
static int64_t
client_most_ns(const struct trace *trace, unsigned line)
{
	if (has_option(trace, "stall") || has_option(trace, "window") || has_option(trace, "delayed-ack"))
		return INT64_MAX;
	return has_option(trace, "call-pause") ? table_number(trace->truth, line, "send_pause_ns") : 0;
}

bool
prop_client(struct trace *trace, GString *why)
{
	const struct table *ops = base_of(trace)->ops;

	for (unsigned r = 0; r < ops->lines->len; r++) {
		int64_t told_ns = table_number(ops, r, "client_ns");
		/* by the client's clock, which may drift, in microseconds perhaps */
		int64_t leeway_ns = told_ns / 5000 + 2000;
		GArray *lines;

		if (!table_is(ops, r, "match", "matched") || told_ns == UNKNOWN)
			continue;
		if (told_ns < 0 || told_ns > table_number(ops, r, "total_ns") - table_number(ops, r, "server_ns")) {
			explain_record(trace, r, "the client's part is none of the call", why);
			return false;
		}
		lines = truth_of(trace, 'c', table_number(ops, r, "time_ns"), table_text(ops, r, "xid"));
		if (told_ns == 0 || lines == NULL || lines->len != 1 || spans_step(trace, g_array_index(lines, unsigned, 0)))
			continue;
		if (told_ns - leeway_ns > client_most_ns(trace, g_array_index(lines, unsigned, 0))) {
			explain_record(trace, r, "the client did not do that", why);
			return false;
		}
	}
	return true;
}

static bool
rpc_closes(json_t *rpc)
{
	return integer_at(rpc, "calls") == integer_at(rpc, "answered") + integer_at(rpc, "unanswered")
		+ integer_at(rpc, "lost_in_capture") + integer_at(rpc, "in_flight")
		+ integer_at(rpc, "evicted");
}

bool
prop_books(struct trace *trace, GString *why)
{
	const struct outcome *base = base_of(trace);
	int64_t seen[2] = { 0, 0 };
	int64_t matched = 0;
	size_t i;
	json_t *capture;

	for (unsigned r = 0; r < base->ops->lines->len; r++) {
		/* A lone call that was not answered goes by its outcome: its frames tell the side. */
		seen[0] += table_number(base->ops, r, "server_call_frame") != UNKNOWN;
		seen[1] += table_number(base->ops, r, "client_call_frame") != UNKNOWN;
		matched += table_is(base->ops, r, "match", "matched");
	}
	json_array_foreach(value_at(base->report, "captures"), i, capture) {
		if (!rpc_closes(json_object_get(capture, "rpc"))) {
			g_string_append_printf(why, "the books of capture %zu do not close", i);
			return false;
		}
		seen[i > 0] -= integer_at(capture, "rpc.calls");
	}
	if (seen[0] != 0 || seen[1] != 0)
		g_string_append_printf(why, "records less calls: server %" PRId64 ", clients %" PRId64,
			seen[0], seen[1]);
	else if (matched != integer_at(base->report, "matched.calls"))
		g_string_append_printf(why, "%" PRId64 " matched records", matched);
	return why->len == 0;
}

static void
ignore_op(void *context, const struct nfs_op *op)
{
	(void)context;
	(void)op;
}

bool
prop_bytes(struct trace *trace, GString *why)
{
	struct pipeline_limits limits = { 4096, 1 << 17, 64 << 20 };

	for (unsigned i = 0; trace->paths->pdata[i] != NULL && why->len == 0; i++) {
		const char *const paths[] = { trace->paths->pdata[i], NULL };
		struct pipeline *pipeline = pipeline_new(paths, NULL, &limits, ignore_op, NULL, NULL);
		const struct stream_counters *tcp;

		if (pipeline == NULL)
			continue;
		while (pipeline_step(pipeline, 1000))
			continue;
		tcp = &pipeline_facts(pipeline)->tcp;
		if (tcp->payload_bytes != tcp->delivered_bytes + tcp->duplicate_bytes + tcp->discarded_bytes)
			g_string_append_printf(why, "capture %u: %" PRIu64 " bytes of payload, %" PRIu64
				" delivered, %" PRIu64 " duplicate, %" PRIu64 " discarded", i,
				tcp->payload_bytes, tcp->delivered_bytes, tcp->duplicate_bytes,
				tcp->discarded_bytes);
		pipeline_free(pipeline);
	}
	return why->len == 0;
}

/* ---- the clock ---- */

/* The offset at every ideal time at which the server's clock showed this; with steps there may be two. */
static bool
offset_fits(const struct trace_config *config, const struct trace_clock *client, int64_t reference_ns,
	int64_t offset_ns, int64_t error_ns)
{
	const struct trace_clock *server = &config->server_clock;

	for (int64_t steps = 0; steps <= server->steps.count; steps++) {
		int64_t ideal_ns = reference_ns - config->start_ns - server->offset_ns;
		int64_t true_ns;

		for (int64_t i = 0; i < steps; i++)
			ideal_ns -= server->steps.step[i].by_ns;
		ideal_ns -= ideal_ns / 1000000000 * server->drift_ppb
			+ ideal_ns % 1000000000 * server->drift_ppb / 1000000000;
		true_ns = clock_shows(config, server, ideal_ns) - clock_shows(config, client, ideal_ns);
		if (ABS(offset_ns - true_ns) <= error_ns + 2)
			return true;
	}
	return false;
}

/* Leaves the steps with whole calls on both of their sides: others look like slow calls. */
static void
keep_visible(const struct trace *trace, struct trace_steps *steps)
{
	int64_t kept = 0;

	for (int64_t i = 0; i < steps->count; i++) {
		int64_t at_ns = trace->config.start_ns + steps->step[i].at_ns;
		bool before = false, behind = false;

		for (unsigned line = 0; line < trace->truth->lines->len; line++) {
			if (!table_is(trace->truth, line, "seen_server", "full")
			    || !table_is(trace->truth, line, "seen_client", "full"))
				continue;
			before |= table_number(trace->truth, line, "c_reply_last") < at_ns;
			behind |= table_number(trace->truth, line, "c_call_first") > at_ns;
		}
		if (before && behind)
			steps->step[kept++] = steps->step[i];
	}
	steps->count = kept;
}

static bool
clock_holds(const struct trace *trace, unsigned client, json_t *clock)
{
	int64_t offset_ns = integer_at(clock, "offset_ns");
	int64_t error_ns = integer_at(clock, "error_ns");
	int64_t reference_ns = integer_at(clock, "reference_ns");
	const char *status = json_string_value(json_object_get(clock, "status"));
	struct trace_config visible = trace->config;

	if (status == NULL || strcmp(status, "aligned") != 0 || offset_ns == UNKNOWN)
		return true;
	if (error_ns == UNKNOWN || error_ns < 0)
		return false;
	keep_visible(trace, &visible.server_clock.steps);
	keep_visible(trace, &visible.client_clock[client].steps);
	return offset_fits(&trace->config, &trace->config.client_clock[client], reference_ns, offset_ns, error_ns)
		|| offset_fits(&visible, &visible.client_clock[client], reference_ns, offset_ns, error_ns);
}

bool
prop_clock(struct trace *trace, GString *why)
{
	json_t *clock;
	size_t i;

	json_array_foreach(value_at(base_of(trace)->report, "clock"), i, clock) {
		if (!clock_holds(trace, MIN((unsigned)i, TRACE_CLOCKS - 1), clock)) {
			char *text = json_dumps(clock, JSON_COMPACT);

			g_string_append_printf(why, "the true offset is outside %s", text);
			free(text);
			return false;
		}
	}
	return true;
}
