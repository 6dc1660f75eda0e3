/*
 * The report as JSON, schema nfscorr-report/1. What is not known is null.
 */
#include <glib.h>
#include <jansson.h>
#include <math.h>
#include <pcap/pcap.h>

#include "correlate/ids.h"
#include "report/report.h"
#include "report/sides.h"
#include "report/words.h"
#include "stats/rows.h"

enum { SHARE_DECIMALS = 1000000 };

/* Takes value. NULL from jansson means that memory is out, as for GLib. */
static void
put(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) != 0)
		g_error("json: no memory for %s", key);
}

static void
append(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value) != 0)
		g_error("json: no memory");
}

/* Names may hold any bytes: those that are not UTF-8 become \xNN. */
static json_t *
text(const char *bytes)
{
	g_autoptr(GString) out = NULL;
	const char *end;

	if (bytes == NULL)
		return json_null();
	if (g_utf8_validate(bytes, -1, NULL))
		return json_string(bytes);
	out = g_string_new(NULL);
	while (!g_utf8_validate(bytes, -1, &end)) {
		g_string_append_len(out, bytes, end - bytes);
		g_string_append_printf(out, "\\x%02x", (unsigned char)*end);
		bytes = end + 1;
	}
	g_string_append(out, bytes);
	return json_string(out->str);
}

static json_t *
known(bool is_known, int64_t value)
{
	return is_known ? json_integer(value) : json_null();
}

/* What JSON's integers do not hold (a file offset may) is null. */
static json_t *
count(uint64_t value)
{
	return value <= INT64_MAX ? json_integer((json_int_t)value) : json_null();
}

static json_t *
decimal(bool is_known, double value)
{
	return is_known ? json_real(round(value * SHARE_DECIMALS) / SHARE_DECIMALS) : json_null();
}

static json_t *
share(__int128 part, __int128 whole)
{
	double value = 0;
	bool is_known = share_of(part, whole, &value);

	return decimal(is_known, value);
}

static void
append_bucket(void *context, int64_t lower_ns, uint64_t calls)
{
	append(context, json_pack("[I,o]", (json_int_t)lower_ns, count(calls)));
}

static json_t *
quantile(const struct dist *dist, unsigned per_mille)
{
	return dist->histogram != NULL ? json_integer(dist_quantile(dist, per_mille)) : json_null();
}

static json_t *
dist(const struct dist *dist, bool with_buckets)
{
	json_t *object, *buckets;
	bool fits = dist->sum_ns >= INT64_MIN && dist->sum_ns <= INT64_MAX;

	if (dist->count == 0)
		return json_null();
	object = json_object();
	put(object, "count", count(dist->count));
	put(object, "sum", known(fits, fits ? (int64_t)dist->sum_ns : 0));
	put(object, "mean", json_integer(dist_mean(dist)));
	put(object, "min", json_integer(dist->min_ns));
	put(object, "p50", quantile(dist, 500));
	put(object, "p95", quantile(dist, 950));
	put(object, "p99", quantile(dist, 990));
	put(object, "p999", quantile(dist, 999));
	put(object, "max", json_integer(dist->max_ns));
	if (with_buckets) {
		buckets = json_array();
		dist_each_bucket(dist, append_bucket, buckets);
		put(object, "hist", buckets);
	}
	return object;
}

static json_t *
clients_part(const struct dist *client, const struct dist *total, bool with_buckets)
{
	return client_of(client, total) != NULL ? dist(client, with_buckets) : json_null();
}

static void
put_names(json_t *object, const struct row_key *key)
{
	char version[NAME_SIZE], procedure[NAME_SIZE];

	row_names(key, version, procedure);
	put(object, "version", text(version));
	put(object, "proc", text(procedure));
}

static json_t *
capture_files(const struct capture_facts *facts)
{
	json_t *files = json_array();

	for (unsigned i = 0; i < facts->file_count; i++) {
		json_t *file = json_object();

		put(file, "name", text(facts->files[i].name));
		put(file, "bytes", count(facts->files[i].bytes));
		put(file, "sha256", json_null());
		append(files, file);
	}
	return files;
}

static json_t *
capture_links(const struct capture_facts *facts)
{
	json_t *links = json_array();

	for (unsigned i = 0; i < facts->link_type_count; i++) {
		const char *name = pcap_datalink_val_to_name(facts->link_types[i]);
		g_autofree char *number = g_strdup_printf("%d", facts->link_types[i]);

		append(links, text(name != NULL ? name : number));
	}
	return links;
}

static json_t *
capture_tcp(const struct stream_counters *tcp)
{
	json_t *object = json_object();

	put(object, "connections", count(tcp->connections));
	put(object, "segments", count(tcp->segments));
	put(object, "retransmitted", count(tcp->retransmitted));
	put(object, "out_of_order", count(tcp->out_of_order));
	put(object, "lost_bytes", count(tcp->lost_bytes));
	put(object, "zero_window", count(tcp->zero_window));
	put(object, "rpc_connections", count(tcp->rpc_connections));
	put(object, "mid_stream", count(tcp->mid_stream));
	put(object, "one_direction", count(tcp->one_direction));
	put(object, "evicted_connections", count(tcp->evicted_connections));
	put(object, "resyncs", count(tcp->resyncs));
	put(object, "holes_given_up", count(tcp->forced));
	return object;
}

static json_t *
capture_rpc(const struct rpc_counters *rpc)
{
	json_t *object = json_object();

	put(object, "calls", count(rpc->calls));
	put(object, "replies", count(rpc->replies));
	put(object, "answered", count(rpc->outcomes[OP_ANSWERED]));
	put(object, "unanswered", count(rpc->outcomes[OP_UNANSWERED]));
	put(object, "lost_in_capture", count(rpc->outcomes[OP_LOST_IN_CAPTURE]));
	put(object, "in_flight", count(rpc->outcomes[OP_IN_FLIGHT]));
	put(object, "evicted", count(rpc->outcomes[OP_EVICTED]));
	put(object, "orphan_replies", count(rpc->orphan_replies));
	put(object, "retransmitted_calls", count(rpc->retransmitted_calls));
	put(object, "hidden_records", count(rpc->hidden_records));
	put(object, "malformed", count(rpc->malformed));
	return object;
}

/* Round trips between the capture point and the other host: data or SYN to its ACK. */
static json_t *
capture_path(const struct capture_facts *facts)
{
	const struct dist *trips = &facts->tcp.round_trip[facts->side == PAIR_SERVER ? 1 : 0];
	json_t *object;

	if (trips->count == 0)
		return json_null();
	object = json_object();
	put(object, "samples", count(trips->count));
	put(object, "min_ns", json_integer(trips->min_ns));
	put(object, "p50_ns", json_integer(dist_quantile(trips, 500)));
	put(object, "p95_ns", json_integer(dist_quantile(trips, 950)));
	return object;
}

static json_t *
capture_comments(const struct capture_facts *facts)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < facts->comment_count; i++)
		append(array, text(facts->comments[i]));
	return array;
}

static json_t *
capture_udp(const struct datagram_counters *udp)
{
	json_t *object = json_object();

	put(object, "flows", count(udp->flows));
	put(object, "evicted_flows", count(udp->evicted_flows));
	put(object, "messages", count(udp->records));
	put(object, "joined", count(udp->joined));
	put(object, "incomplete", count(udp->incomplete));
	put(object, "headless", count(udp->headless));
	return object;
}

static json_t *
capture(const struct capture_facts *facts)
{
	json_t *object = json_object();
	bool any = facts->packets > 0;

	put(object, "side", text(side_words[facts->side]));
	put(object, "files", capture_files(facts));
	put(object, "format", text(facts->format));
	put(object, "compression", text(facts->compression));
	put(object, "comments", capture_comments(facts));
	put(object, "bad_blocks", count(facts->bad_blocks));
	put(object, "link_types", capture_links(facts));
	put(object, "first_ns", known(any, facts->first_ns));
	put(object, "last_ns", known(any, facts->last_ns));
	put(object, "packets", count(facts->packets));
	put(object, "truncated_packets", count(facts->truncated_packets));
	put(object, "duplicate_packets", count(facts->duplicate_packets));
	put(object, "fragment_packets", count(facts->fragments));
	put(object, "dropped_by_kernel", known(facts->dropped_by_kernel >= 0, facts->dropped_by_kernel));
	put(object, "lost_segments", count(facts->tcp.lost_segments));
	put(object, "tcp", capture_tcp(&facts->tcp));
	put(object, "udp", capture_udp(&facts->udp));
	put(object, "rpc", capture_rpc(&facts->rpc));
	put(object, "path", capture_path(facts));
	put(object, "backward_stamps", count(facts->backward_stamps));
	put(object, "backward_max_ns", json_integer(facts->backward_max_ns));
	put(object, "trouble", text(facts->trouble));
	return object;
}

static json_t *
captures(const struct report *report)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < report->capture_count; i++)
		append(array, capture(&report->captures[i]));
	return array;
}

static json_t *
quality(const struct quality *quality)
{
	json_t *object = json_object(), *reasons = json_array();

	for (unsigned i = 0; i < quality->reasons->len; i++) {
		const struct quality_reason *reason = &g_array_index(quality->reasons, struct quality_reason, i);
		json_t *entry = json_object();

		put(entry, "id", text(reason->id));
		put(entry, "count", count(reason->count));
		put(entry, "text", text(reason->text));
		put(entry, "leaves", text(quality_words[reason->level]));
		append(reasons, entry);
	}
	put(object, "verdict", text(quality_words[quality->level]));
	put(object, "reasons", reasons);
	return object;
}

static json_t *
clock_steps(const struct clock_facts *facts)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < MIN(facts->steps, CLOCK_STEPS_KEPT); i++)
		append(array, json_pack("{s:I,s:I}", "at_ns", (json_int_t)facts->step[i].at_ns,
		    "step_ns", (json_int_t)facts->step[i].step_ns));
	return array;
}

static json_t *
client_clock(const struct clock_facts *facts, const char *name)
{
	json_t *object = json_object();
	bool given = facts->mode == CLOCK_GIVEN;
	bool estimated = facts->aligned && !given;

	put(object, "client", text(name));
	put(object, "status", text(given ? "given" : facts->aligned ? "aligned" : "unaligned"));
	put(object, "reference_ns", known(estimated, facts->reference_ns));
	put(object, "offset_ns", known(facts->aligned, facts->offset_ns));
	put(object, "error_ns", known(estimated, facts->error_ns));
	put(object, "drift_ppb", known(estimated && facts->has_drift, facts->drift_ppb));
	put(object, "drift_error_ppb", known(estimated && facts->has_drift, facts->drift_error_ppb));
	put(object, "steps", count(facts->steps));
	put(object, "step_list", clock_steps(facts));
	put(object, "outliers", count(facts->outliers));
	return object;
}

static json_t *
clocks(const struct report *report)
{
	json_t *array = json_array();

	for (unsigned i = 1; report->two_sided && i < report->capture_count; i++)
		append(array, client_clock(&report->clocks[i - 1], report->captures[i].name));
	return array;
}

static json_t *
side_row(const struct report *report, enum pair_side side, const struct side_line *line)
{
	const struct side_row *row = &line->row;
	bool estimate = side == PAIR_CLIENT && !report->two_sided;
	json_t *object = json_object();

	put_names(object, &row->key);
	put(object, "count", count(row->count));
	put(object, "errors", count(row->errors));
	put(object, "unanswered", count(row->unanswered));
	put(object, "bytes", row->sized > 0 ? count(row->bytes) : json_null());
	put(object, "size_mean", known(row->sized > 0,
	    row->sized > 0 ? (int64_t)((row->bytes + row->sized / 2) / row->sized) : 0));
	put(object, "per_second", decimal(line->rated, line->per_second));
	put(object, "bytes_per_second", decimal(line->rated && row->sized > 0, line->bytes_per_second));
	put(object, "latency_ns", dist(&row->latency[side], true));
	put(object, "rpc_time_ns", dist(&row->rpc_time, true));
	put(object, "server_estimate_ns", estimate ? dist(&row->server_estimate, true) : json_null());
	return object;
}

static json_t *
side_rows(const struct report *report, enum pair_side side)
{
	json_t *array = json_array();
	unsigned lines_count;
	struct side_line *lines = side_lines(report, side, &lines_count);

	for (unsigned i = 0; i < lines_count; i++)
		append(array, side_row(report, side, &lines[i]));
	side_lines_free(lines, lines_count);
	return array;
}

static json_t *
sides(const struct report *report)
{
	json_t *object = json_object();

	put(object, "server", side_rows(report, PAIR_SERVER));
	put(object, "client", side_rows(report, PAIR_CLIENT));
	return object;
}

/* The hard bounds of request_ns and reply_ns, over the calls of a row. */
static json_t *
bounds(const struct dist *errors)
{
	json_t *object;

	if (errors->count == 0)
		return json_null();
	object = json_object();
	put(object, "count", count(errors->count));
	put(object, "mean_ns", json_integer(dist_mean(errors)));
	put(object, "min_ns", json_integer(errors->min_ns));
	put(object, "max_ns", json_integer(errors->max_ns));
	return object;
}

static json_t *
matched_row(const struct matched_row *row)
{
	json_t *object = json_object();

	put_names(object, &row->key);
	put(object, "count", count(row->count));
	put(object, "bytes", count(row->bytes));
	put(object, "total_ns", dist(&row->total, true));
	put(object, "server_ns", dist(&row->server, true));
	put(object, "network_ns", dist(matched_network(row), true));
	put(object, "client_ns", clients_part(&row->client, &row->total, true));
	put(object, "request_ns", dist(&row->request, true));
	put(object, "reply_ns", dist(&row->reply, true));
	put(object, "retransmit_ns", dist(&row->retransmit, true));
	put(object, "clock_error", bounds(&row->clock_error));
	return object;
}

static json_t *
matched(const struct report *report)
{
	const struct correlate_facts *facts = report->correlated;
	const struct aggregate_totals *totals = aggregate_totals(report->aggregate);
	json_t *object = json_object(), *rows = json_array();
	unsigned row_count;
	const struct matched_row *const *row = aggregate_matched(report->aggregate, &row_count);

	for (unsigned i = 0; i < row_count; i++)
		append(rows, matched_row(row[i]));
	put(object, "calls", count(totals->matched + totals->callbacks));
	put(object, "partial", facts != NULL ? count(facts->matches[MATCH_PARTIAL]) : json_null());
	put(object, "server_only", facts != NULL ? count(facts->matches[MATCH_SERVER_ONLY]) : json_null());
	put(object, "client_only", facts != NULL ? count(facts->matches[MATCH_CLIENT_ONLY]) : json_null());
	put(object, "ambiguous", facts != NULL ? count(facts->matches[MATCH_AMBIGUOUS]) : json_null());
	put(object, "negative", count(totals->negative));
	put(object, "mispaired", facts != NULL ? count(facts->mispaired) : json_null());
	put(object, "given_up", count(facts != NULL ? facts->evicted[PAIR_SERVER] + facts->evicted[PAIR_CLIENT] : 0));
	put(object, "rows", rows);
	return object;
}

static json_t *
span(const struct report *report)
{
	const struct capture_facts *only = report->captures;

	if (report->correlated != NULL)
		return known(report->correlated->overlap_last_ns > 0,
		    duration_ns(report->correlated->overlap_first_ns, report->correlated->overlap_last_ns));
	return known(report->capture_count > 0 && only->packets > 0, duration_ns(only->first_ns, only->last_ns));
}

static json_t *
attribution(const struct aggregate_totals *totals)
{
	json_t *by_time = json_object(), *by_call = json_object(), *object = json_object();
	const uint64_t *calls = aggregate_by_call(totals);
	bool client = aggregate_knows_client(totals);

	put(by_time, "server", share(totals->server_ns, totals->total_ns));
	put(by_time, "network", share(aggregate_network_ns(totals), totals->total_ns));
	put(by_time, "client", client ? share(totals->client_ns, totals->total_ns) : json_null());
	put(by_call, "server", share(calls[PART_SERVER], totals->matched));
	put(by_call, "network", share(calls[PART_NETWORK], totals->matched));
	put(by_call, "client", client ? share(calls[PART_CLIENT], totals->matched) : json_null());
	put(object, "by_time", by_time);
	put(object, "by_call", by_call);
	return object;
}

static json_t *
verdict(const struct verdict *verdict)
{
	json_t *object = json_object();

	put(object, "component", text(component_words[verdict->component]));
	put(object, "confidence", text(confidence_words[verdict->confidence]));
	put(object, "text", text(verdict->text));
	return object;
}

static json_t *
frame_numbers(const struct call_words *words)
{
	json_t *object = json_object();

	put(object, "server_call", known(words->frame[PAIR_SERVER][0] > 0, (int64_t)words->frame[PAIR_SERVER][0]));
	put(object, "server_reply", known(words->frame[PAIR_SERVER][1] > 0, (int64_t)words->frame[PAIR_SERVER][1]));
	put(object, "client_call", known(words->frame[PAIR_CLIENT][0] > 0, (int64_t)words->frame[PAIR_CLIENT][0]));
	put(object, "client_reply", known(words->frame[PAIR_CLIENT][1] > 0, (int64_t)words->frame[PAIR_CLIENT][1]));
	return object;
}

/* total_ns is null for a call that only the server's capture shows, server_ns for the client's. */
static json_t *
slow_call(const struct ids *ids, const struct op_pair *pair)
{
	json_t *object = json_object();
	struct slow_times times = slow_times(pair);
	struct call_words words;
	char name[LABEL_SIZE];

	call_words(pair, &words);
	put(object, "xid", json_integer(words.op->xid));
	put(object, "version", text(words.version));
	put(object, "proc", text(words.procedure));
	label_address(ids, &words.op->client, name);
	put(object, "client", text(name));
	label_address(ids, &words.op->server, name);
	put(object, "server", text(name));
	if (words.has_file)
		label_file(ids, words.file, name);
	put(object, "file", text(words.has_file ? name : NULL));
	put(object, "offset", words.has_offset ? count(words.offset) : json_null());
	put(object, "size", known(words.has_size, words.size));
	put(object, "total_ns", known(times.has_total, times.total_ns));
	put(object, "server_ns", known(times.has_server, times.server_ns));
	put(object, "network_ns", known(times.has_network, times.network_ns));
	put(object, "client_ns", known(times.has_client, times.client_ns));
	put(object, "retransmit_ns", known(times.has_retransmit, times.retransmit_ns));
	put(object, "retransmits", json_integer(words.op->retransmits));
	put(object, "client_capture", known(pair->has[PAIR_CLIENT], pair->client_capture + 1));
	put(object, "frames", frame_numbers(&words));
	put(object, "filter", text(words.filter));
	return object;
}

static json_t *
slowest(const struct report *report)
{
	json_t *array = json_array();
	unsigned calls;
	const struct slow_call *call = report_slowest(report, &calls);

	for (unsigned i = 0; i < calls; i++)
		append(array, slow_call(report->ids, &call[i].pair));
	return array;
}

static json_t *
part_key(const struct report *report, enum breakdown_kind kind, uint64_t id)
{
	char name[LABEL_SIZE];

	if (kind == BREAKDOWN_SIZE || kind == BREAKDOWN_TIME)
		return json_integer((json_int_t)id);
	breakdown_label(report, kind, id, name);
	return text(name);
}

static json_t *
breakdown_part(const struct report *report, enum breakdown_kind kind, const struct breakdown_row *row)
{
	json_t *object = json_object();

	put(object, "key", part_key(report, kind, row->id));
	put_names(object, &row->key);
	put(object, "count", count(row->count));
	put(object, "bytes", count(row->bytes));
	put(object, "total_ns", dist(&row->total, false));
	put(object, "server_ns", dist(&row->server, false));
	put(object, "network_ns", dist(breakdown_network(row), false));
	put(object, "client_ns", clients_part(&row->client, &row->total, false));
	put(object, "lack", count(row->lack));	/* calls of it that may be counted in "others" */
	return object;
}

static const struct {
	const char *key;
	enum breakdown_kind kind;
} breakdowns[] = {
	{ "by_client", BREAKDOWN_CLIENT },
	{ "by_server", BREAKDOWN_SERVER },
	{ "by_file", BREAKDOWN_FILE },
	{ "by_size", BREAKDOWN_SIZE },
	{ "by_connection", BREAKDOWN_CONNECTION },
	{ "by_time", BREAKDOWN_TIME },
};

static json_t *
breakdown(const struct report *report)
{
	json_t *object = json_object();

	for (size_t i = 0; i < G_N_ELEMENTS(breakdowns); i++) {
		enum breakdown_kind kind = breakdowns[i].kind;
		json_t *parts = json_array();
		unsigned rows;
		g_autofree const struct breakdown_row **row = report_breakdown(report, kind, &rows);

		for (unsigned j = 0; j < rows; j++)
			append(parts, breakdown_part(report, kind, row[j]));
		put(object, breakdowns[i].key, parts);
	}
	return object;
}

static json_t *
finding_value(const struct finding_value *value)
{
	if (!value->known)
		return json_null();
	switch (value->kind) {
	case VALUE_SHARE:
	case VALUE_REAL:
		return decimal(true, value->real);
	case VALUE_WORD:
		return text(value->word);
	default:
		return json_integer(value->integer);
	}
}

static json_t *
finding_evidence(const struct finding *finding)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < finding->values; i++)
		put(object, finding->value[i].key, finding_value(&finding->value[i]));
	return object;
}

static json_t *
finding_remedies(const struct remedies *remedies)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < remedies->count; i++) {
		const struct remedy *remedy = &remedies->remedy[i];
		json_t *object = json_object();

		put(object, "system", text(remedy->system));
		put(object, "setting", text(remedy->setting));
		put(object, "command", text(remedy->command));
		put(object, "note", text(remedy->note));
		append(array, object);
	}
	return array;
}

static json_t *
findings(const struct findings *findings)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < findings_count(findings); i++) {
		const struct finding *finding = findings_at(findings, i);
		json_t *object = json_object();

		put(object, "id", text(finding->id));
		put(object, "component", text(component_words[finding->component]));
		put(object, "confidence", text(confidence_words[finding->confidence]));
		put(object, "text", text(finding->text));
		put(object, "doubt", text(finding->doubt));
		put(object, "evidence", finding_evidence(finding));
		put(object, "remedies", finding_remedies(&finding->remedies));
		append(array, object);
	}
	return array;
}

/* What connections, clients and servers have in common. */
static void
put_depth(json_t *object, const struct depth *depth)
{
	struct depth_plateau plateau;
	bool is_flat = depth_plateau(depth, 2, &plateau);
	double mean = 0;
	bool has_mean = depth_mean(depth, &mean);

	put(object, "calls", count(depth->calls));
	put(object, "max", known(depth->max > 0, depth->max));
	put(object, "mean", decimal(has_mean, mean));
	put(object, "busy_share", share(depth_busy_ns(depth), depth->span_ns));
	put(object, "plateau", known(is_flat, is_flat ? plateau.top : 0));
	put(object, "plateau_share", decimal(is_flat, is_flat ? plateau.share : 0));
}

static json_t *
depth_histogram(const struct depth *depth)
{
	json_t *array = json_array();
	struct depth_group group[DEPTH_GROUPS];
	unsigned groups = depth_groups(depth, group);

	for (unsigned i = 0; i < groups; i++) {
		json_t *object = json_object();

		put(object, "from", json_integer(group[i].from));
		put(object, "to", json_integer(group[i].to));
		put(object, "share", decimal(true, group[i].share));
		put(object, "calls", count(group[i].calls));
		put(object, "latency_mean_ns", known(group[i].calls > 0, group[i].latency_ns));
		append(array, object);
	}
	return array;
}

static json_t *
server_concurrency(const struct concurrency *concurrency)
{
	json_t *object = json_object();
	static const struct depth none;
	const struct depth *depth = concurrency != NULL ? concurrency_server(concurrency) : &none;
	uint32_t knee = depth_knee(depth);

	put_depth(object, depth);
	put(object, "knee", known(knee > 0, knee));
	put(object, "histogram", depth_histogram(depth));
	return object;
}

static void
append_depth_rows(json_t *array, const struct report *report, const struct concurrency *concurrency,
    enum concurrency_table table)
{
	unsigned rows_count;
	g_autofree const struct concurrency_row **rows = concurrency_rows(concurrency, table, &rows_count);

	for (unsigned i = 0; i < rows_count; i++) {
		json_t *object = json_object();
		char name[LABEL_SIZE];
		bool has_ports = table == CONCURRENCY_CONNECTIONS;

		label_address(report->ids, &rows[i]->client, name);
		put(object, "client", text(name));
		label_address(report->ids, &rows[i]->server, name);
		put(object, "server", text(name));
		if (has_ports) {
			put(object, "client_port", json_integer(rows[i]->client.port));
			put(object, "server_port", json_integer(rows[i]->server.port));
		}
		put_depth(object, &rows[i]->depth);
		append(array, object);
	}
}

/* Connections and clients are those of the clients' captures, or of the server's where there is no other. */
static json_t *
concurrency(const struct report *report)
{
	json_t *object = json_object(), *connections = json_array(), *clients = json_array();
	enum pair_side side = report_has_side(report, PAIR_CLIENT) ? PAIR_CLIENT : PAIR_SERVER;
	const struct concurrency *server = NULL;
	uint64_t left_out = 0, late = 0;
	enum concurrency_view view;

	for (unsigned i = 0; i < report->capture_count; i++) {
		const struct concurrency *found = aggregate_concurrency(report->aggregate, i);

		if (found == NULL)
			continue;
		view = report->captures[i].side == PAIR_SERVER ? CONCURRENCY_INSIDE : CONCURRENCY_OUTSIDE;
		left_out += concurrency_counts(found)->left_out[view];
		late += concurrency_counts(found)->late[view];
		if (report->captures[i].side == PAIR_SERVER)
			server = found;
		if (report->captures[i].side != side)
			continue;
		append_depth_rows(connections, report, found, CONCURRENCY_CONNECTIONS);
		append_depth_rows(clients, report, found, CONCURRENCY_CLIENTS);
	}
	put(object, "server", server_concurrency(server));
	put(object, "seen_at", text(side_words[side]));
	put(object, "left_out", count(left_out));
	put(object, "late", count(late));
	put(object, "connections", connections);
	put(object, "clients", clients);
	return object;
}

bool
report_json(const struct report *report, FILE *out)
{
	json_t *root = json_object();
	bool written;

	put(root, "schema", text("nfscorr-report/1"));
	put(root, "tool", json_pack("{s:s,s:s}", "name", PACKAGE_NAME, "version", PACKAGE_VERSION));
	put(root, "generated_ns", json_integer(report->generated_ns));
	put(root, "captures", captures(report));
	put(root, "quality", quality(report->quality));
	put(root, "clock", clocks(report));
	put(root, "sides", sides(report));
	put(root, "span_ns", span(report));
	put(root, "matched", matched(report));
	put(root, "attribution", attribution(aggregate_totals(report->aggregate)));
	put(root, "verdict", verdict(report->verdict));
	put(root, "findings", findings(report->findings));
	put(root, "slowest", slowest(report));
	put(root, "breakdown", breakdown(report));
	put(root, "window_ns", json_integer(aggregate_window_ns(report->aggregate)));
	put(root, "concurrency", concurrency(report));
	put(root, "layers", json_array());
	put(root, "why_nothing", text(report->why_nothing));
	/* 15 digits carry six decimals exactly and print no binary remainder. */
	written = json_dumpf(root, out, JSON_COMPACT | JSON_REAL_PRECISION(15)) == 0 && fputc('\n', out) != EOF;
	json_decref(root);
	return written;
}
