/*
 * JSON: the slowest calls, and the breakdowns.
 */
#include <glib.h>

#include "report/json_value.h"
#include "report/words.h"

static json_t *
frame_numbers(const struct call_words *words)
{
	json_t *object = json_object();

	object_put(object, "server_call", value_known(words->frame[PAIR_SERVER][0] > 0, (int64_t)words->frame[PAIR_SERVER][0]));
	object_put(object, "server_reply", value_known(words->frame[PAIR_SERVER][1] > 0, (int64_t)words->frame[PAIR_SERVER][1]));
	object_put(object, "client_call", value_known(words->frame[PAIR_CLIENT][0] > 0, (int64_t)words->frame[PAIR_CLIENT][0]));
	object_put(object, "client_reply", value_known(words->frame[PAIR_CLIENT][1] > 0, (int64_t)words->frame[PAIR_CLIENT][1]));
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
	object_put(object, "xid", json_integer(words.op->xid));
	object_put(object, "version", value_text(words.version));
	object_put(object, "proc", value_text(words.procedure));
	label_address(ids, &words.op->client, name);
	object_put(object, "client", value_text(name));
	label_address(ids, &words.op->server, name);
	object_put(object, "server", value_text(name));
	if (words.has_file)
		label_file(ids, words.file, name);
	object_put(object, "file", value_text(words.has_file ? name : NULL));
	object_put(object, "offset", words.has_offset ? value_count(words.offset) : json_null());
	object_put(object, "size", value_known(words.has_size, words.size));
	object_put(object, "total_ns", value_known(times.has_total, times.total_ns));
	object_put(object, "server_ns", value_known(times.has_server, times.server_ns));
	object_put(object, "network_ns", value_known(times.has_network, times.network_ns));
	object_put(object, "client_ns", value_known(times.has_client, times.client_ns));
	object_put(object, "retransmit_ns", value_known(times.has_retransmit, times.retransmit_ns));
	object_put(object, "retransmits", json_integer(words.op->retransmits));
	object_put(object, "client_capture", value_known(pair->has[PAIR_CLIENT], pair->client_capture + 1));
	object_put(object, "frames", frame_numbers(&words));
	object_put(object, "filter", value_text(words.filter));
	return object;
}

json_t *
block_slowest(const struct report *report)
{
	json_t *array = json_array();
	unsigned calls;
	const struct slow_call *call = report_slowest(report, &calls);

	for (unsigned i = 0; i < calls; i++)
		array_append(array, slow_call(report->ids, &call[i].pair));
	return array;
}

static json_t *
part_key(const struct report *report, enum breakdown_kind kind, uint64_t id)
{
	char name[LABEL_SIZE];

	if (kind == BREAKDOWN_SIZE || kind == BREAKDOWN_TIME)
		return json_integer((json_int_t)id);
	breakdown_label(report, kind, id, name);
	return value_text(name);
}

static json_t *
breakdown_part(const struct report *report, enum breakdown_kind kind, const struct breakdown_row *row)
{
	json_t *object = json_object();

	object_put(object, "key", part_key(report, kind, row->id));
	object_put_names(object, &row->key);
	object_put(object, "count", value_count(row->count));
	object_put(object, "bytes", value_count(row->bytes));
	object_put(object, "total_ns", value_dist(&row->total, false));
	object_put(object, "server_ns", value_dist(&row->server, false));
	object_put(object, "network_ns", value_dist(breakdown_network(row), false));
	object_put(object, "client_ns", value_clients_part(&row->client, &row->total, false));
	object_put(object, "lack", value_count(row->lack));	/* calls of it that may be counted in "others" */
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

json_t *
block_breakdown(const struct report *report)
{
	json_t *object = json_object();

	for (size_t i = 0; i < G_N_ELEMENTS(breakdowns); i++) {
		enum breakdown_kind kind = breakdowns[i].kind;
		json_t *parts = json_array();
		unsigned rows;
		g_autofree const struct breakdown_row **row = report_breakdown(report, kind, &rows);

		for (unsigned j = 0; j < rows; j++)
			array_append(parts, breakdown_part(report, kind, row[j]));
		object_put(object, breakdowns[i].key, parts);
	}
	return object;
}
