#include "trace/truth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "trace/capture.h"
#include "trace/config.h"
#include "trace/nfs3.h"
#include "trace/nfs4.h"
#include "trace/pcapout.h"
#include "trace/rpcgen.h"

struct truth {
	struct sim *sim;
	FILE *file;		/* NULL: no lines */
	char *path;
	GString *text;		/* not yet written */
	int error;		/* errno of the first failure */
};

enum { WRITE_BYTES = 1 << 20 };

static const char header[] =
	"id,client,connection,client_addr,client_port,server_addr,server_port,"
	"s_client_addr,s_client_port,s_server_addr,s_server_port,"
	"xid,proc,status,rpc_status,file,offset,size,moved,"
	"c_call_first,c_call_last,s_call_first,s_call_last,"
	"s_reply_first,s_reply_last,c_reply_first,c_reply_last,"
	"file_c_call_first,file_c_call_last,file_s_call_first,file_s_call_last,"
	"file_s_reply_first,file_s_reply_last,file_c_reply_first,file_c_reply_last,"
	"retransmits,seen_server,seen_client,"
	"server_call,server_reply,client_call,client_reply,"
	"offset_ns,slot_wait_ns,thread_wait_ns,service_ns,disk_wait_ns,"
	"call_lost,reply_lost,c_window_closed_ns,s_window_closed_ns,send_pause_ns,retry_of,slot,retransmit_ns\n";

static void
flush(struct truth *truth)
{
	if (truth->error == 0
	    && fwrite(truth->text->str, 1, truth->text->len, truth->file) != truth->text->len)
		truth->error = errno;
	g_string_truncate(truth->text, 0);
}

struct truth *
trace_truth_open(struct sim *sim, const char *csv_path, GError **error)
{
	struct truth *truth = g_new0(struct truth, 1);

	truth->sim = sim;
	if (csv_path == NULL)
		return truth;
	truth->path = g_strdup(csv_path);
	truth->file = fopen(csv_path, "w");
	if (truth->file == NULL) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "%s: %s", csv_path,
			g_strerror(errno));
		g_free(truth->path);
		g_free(truth);
		return NULL;
	}
	truth->text = g_string_sized_new(WRITE_BYTES + 4096);
	g_string_append(truth->text, header);
	return truth;
}

/* ---- fields; printf is too slow for millions of lines ---- */

static void
add_text(GString *text, const char *value)
{
	g_string_append(text, value);
	g_string_append_c(text, ',');
}

static void
add_number(GString *text, int64_t value)
{
	char digits[24];
	unsigned at = sizeof digits;
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

	digits[--at] = ',';
	do
		digits[--at] = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (value < 0)
		digits[--at] = '-';
	g_string_append_len(text, digits + at, (gssize)(sizeof digits - at));
}

static void
add_empty(GString *text)
{
	g_string_append_c(text, ',');
}

static void
add_endpoint(const struct trace_config *config, GString *text, enum trace_side side,
	const struct endpoint *end)
{
	char address[INET6_ADDRSTRLEN] = "";
	int family = config->capture[side].ip_version == 6 ? AF_INET6 : AF_INET;

	inet_ntop(family, end->address, address, sizeof address);
	add_text(text, address);
	add_number(text, end->port);
}

static void
add_ideal(const struct sim *sim, GString *text, int64_t at_ns)
{
	if (at_ns == TRACE_NEVER)
		add_empty(text);
	else
		add_number(text, sim->config->start_ns + at_ns);
}

static void
add_shown(GString *text, const struct host *host, int64_t at_ns)
{
	const struct trace_capture *capture = &host->sim->config->capture[host->side];

	if (at_ns == TRACE_NEVER)
		add_empty(text);
	else
		add_number(text, trace_pcap_resolution(capture, trace_clock_ns(host, at_ns)));
}

/* ---- one call ---- */

static const char *const seen_names[] = {
	[TRACE_SEEN_NONE] = "none", [TRACE_SEEN_NO] = "no", [TRACE_SEEN_HIDDEN] = "hidden",
	[TRACE_SEEN_PART] = "part", [TRACE_SEEN_CUT] = "cut", [TRACE_SEEN_FULL] = "full",
};

/* A record that never was is not in the capture either. */
static enum trace_seen
seen(const struct host *host, enum trace_seen seen_best)
{
	return host->capture != NULL && seen_best == TRACE_SEEN_NONE ? TRACE_SEEN_NO : seen_best;
}

static const char *
seen_both(const struct host *host, enum trace_seen call, enum trace_seen reply)
{
	if (host->capture == NULL)
		return "none";
	if (call >= TRACE_SEEN_CUT && reply >= TRACE_SEEN_CUT)
		return "full";
	return MAX(call, reply) > TRACE_SEEN_HIDDEN ? "partial" : "no";
}

static void
add_identity(const struct sim *sim, GString *text, const struct call *call)
{
	const struct lane *lane = call->lane;

	add_number(text, (int64_t)call->id);
	add_number(text, lane->client->index);
	add_number(text, lane->index);
	add_endpoint(sim->config, text, TRACE_CLIENT, &call->client_end[TRACE_CLIENT]);
	add_endpoint(sim->config, text, TRACE_CLIENT, &lane->server->end[TRACE_CLIENT]);
	add_endpoint(sim->config, text, TRACE_SERVER, &call->client_end[TRACE_SERVER]);
	add_endpoint(sim->config, text, TRACE_SERVER, &lane->server->end[TRACE_SERVER]);
	add_number(text, call->xid);
	add_text(text, sim->config->nfs == TRACE_NFS3 ? trace_nfs3_name(call->procedure) : trace_nfs4_name(call));
	if (call->unanswered || call->outcome != RPC_OK)
		add_empty(text);
	else
		add_number(text, call->status);
	add_text(text, call->unanswered ? "NONE" : trace_rpc_outcome_name(call->outcome));
	add_number(text, call->file);
	add_number(text, (int64_t)call->offset);
	add_number(text, call->size);
	add_number(text, call->moved);
}

static void
add_times(const struct sim *sim, GString *text, const struct call *call)
{
	const struct host *client = &call->lane->client->host;
	const struct host *server = &call->lane->server->host;
	const struct {
		const struct host *host;
		const struct call_times *ideal, *shown;
	} rows[] = {
		{ client, &call->call_ideal[TRACE_CLIENT], &call->call_shown[TRACE_CLIENT] },
		{ server, &call->call_ideal[TRACE_SERVER], &call->call_shown[TRACE_SERVER] },
		{ server, &call->reply_ideal[TRACE_SERVER], &call->reply_shown[TRACE_SERVER] },
		{ client, &call->reply_ideal[TRACE_CLIENT], &call->reply_shown[TRACE_CLIENT] },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		add_ideal(sim, text, rows[i].ideal->first_ns);
		add_ideal(sim, text, rows[i].ideal->last_ns);
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		add_shown(text, rows[i].host, rows[i].shown->first_ns);
		add_shown(text, rows[i].host, rows[i].shown->last_ns);
	}
}

static void
add_sight(GString *text, const struct call *call)
{
	const struct host *client = &call->lane->client->host;
	const struct host *server = &call->lane->server->host;
	enum trace_seen server_call = seen(server, call->call_seen[TRACE_SERVER]);
	enum trace_seen server_reply = seen(server, call->reply_seen[TRACE_SERVER]);
	enum trace_seen client_call = seen(client, call->call_seen[TRACE_CLIENT]);
	enum trace_seen client_reply = seen(client, call->reply_seen[TRACE_CLIENT]);

	add_number(text, call->copies_sent > 0 ? call->copies_sent - 1 : 0);
	add_text(text, seen_both(server, server_call, server_reply));
	add_text(text, seen_both(client, client_call, client_reply));
	add_text(text, seen_names[server_call]);
	add_text(text, seen_names[server_reply]);
	add_text(text, seen_names[client_call]);
	add_text(text, seen_names[client_reply]);
}

static void
add_waits(GString *text, const struct call *call)
{
	const struct lane *lane = call->lane;

	add_number(text, trace_clock_ns(&lane->server->host, call->sent_ns)
		- trace_clock_ns(&lane->client->host, call->sent_ns));
	add_number(text, call->sent_ns - call->made_ns);
	add_number(text, call->started_ns - call->arrived_ns);
	add_number(text, call->served_ns - call->started_ns);
	add_number(text, call->disk_wait_ns);
	add_number(text, call->lost[CALLS]);
	add_number(text, call->lost[REPLIES]);
	add_number(text, call->window_closed_ns[REPLIES]);
	add_number(text, call->window_closed_ns[CALLS]);
	add_number(text, call->send_pause_ns);
	if (call->is_retry)
		add_number(text, (int64_t)call->retry_of);
	else
		add_empty(text);
	if (lane->session.granted > 0 && call->set_up == SET_UP_NOTHING && call->procedure != NFS3_NULL)
		add_number(text, call->slot);
	else
		add_empty(text);
	add_number(text, call->retransmit_ns[CALLS] + call->retransmit_ns[REPLIES]);
}

void
trace_truth_call(struct truth *truth, const struct call *call)
{
	GString *text = truth->text;

	if (truth->file == NULL || truth->sim->config->short_truth)
		return;
	add_identity(truth->sim, text, call);
	add_times(truth->sim, text, call);
	add_sight(text, call);
	add_waits(text, call);
	text->str[text->len - 1] = '\n';
	if (text->len > WRITE_BYTES)
		flush(truth);
}

bool
trace_truth_close(struct truth *truth, GError **error)
{
	int code;

	if (truth->file != NULL) {
		flush(truth);
		if (fclose(truth->file) != 0 && truth->error == 0)
			truth->error = errno;
		g_string_free(truth->text, TRUE);
	}
	code = truth->error;
	if (code != 0)
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "%s: %s",
			truth->path, g_strerror(code));
	g_free(truth->path);
	g_free(truth);
	return code == 0;
}

/* ---- the whole trace ---- */

static json_t *
pair_json(const uint64_t value[DIRECTIONS])
{
	return json_pack("{s:I,s:I}", "request", (json_int_t)value[CALLS],
		"reply", (json_int_t)value[REPLIES]);
}

static json_t *
clock_json(const struct trace_clock *clock)
{
	json_t *steps = json_array();

	for (int64_t i = 0; i < clock->steps.count; i++)
		json_array_append_new(steps, json_pack("{s:I,s:I}",
			"at_ns", (json_int_t)clock->steps.step[i].at_ns,
			"by_ns", (json_int_t)clock->steps.step[i].by_ns));
	return json_pack("{s:I,s:I,s:o}", "offset_ns", (json_int_t)clock->offset_ns,
		"drift_ppb", (json_int_t)clock->drift_ppb, "steps", steps);
}

static json_t *
host_json(const struct host *host)
{
	const struct capture_counts *counts = trace_capture_counts(host->capture);

	return json_pack("{s:s,s:o,s:I,s:I,s:I,s:o,s:o,s:o,s:o}",
		"side", host->side == TRACE_SERVER ? "server" : "client",
		"clock", clock_json(host->clock),
		"packets", (json_int_t)counts->packets,
		"truncated_packets", (json_int_t)counts->truncated,
		"duplicate_packets", (json_int_t)counts->duplicates,
		"dropped_packets", pair_json(counts->dropped),
		"not_captured_packets", pair_json(counts->not_captured),
		"hidden_records", pair_json(counts->hidden),
		"unseen_records", pair_json(counts->unseen));
}

static json_t *
totals_json(const struct totals *totals)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:o,s:o,s:o}",
		"calls", (json_int_t)totals->calls,
		"answered", (json_int_t)totals->answered,
		"connections", (json_int_t)totals->connections,
		"retransmitted_calls", (json_int_t)totals->retransmitted_calls,
		"duplicate_requests", (json_int_t)totals->duplicate_requests,
		"overlaps", (json_int_t)totals->overlaps,
		"keepalives", (json_int_t)totals->keepalives,
		"wire_packets", pair_json(totals->wire_packets),
		"lost_segments", pair_json(totals->lost),
		"reordered_segments", pair_json(totals->reordered),
		"retransmitted_segments", pair_json(totals->retransmitted_segments));
}

bool
trace_truth_json(const struct sim *sim, const char *path, GError **error)
{
	json_t *captures = json_array();
	json_t *root;
	bool good;

	if (sim->server[0].host.capture != NULL)
		json_array_append_new(captures, host_json(&sim->server[0].host));
	for (unsigned i = 0; i < sim->clients; i++)
		if (sim->client[i].host.capture != NULL)
			json_array_append_new(captures, host_json(&sim->client[i].host));
	root = json_pack("{s:o,s:I,s:o,s:o}", "captures", captures,
		"span_ns", (json_int_t)sim->now_ns,
		"totals", totals_json(&sim->totals),
		"config", trace_config_json(sim->config));
	good = json_dump_file(root, path, JSON_INDENT(1)) == 0;
	json_decref(root);
	if (!good)
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "%s: %s", path,
			g_strerror(errno));
	return good;
}
