/*
 * JSON: the rows of operations, of each side and matched, and where the time goes.
 */
#include "report/json_value.h"
#include "report/sides.h"
#include "stats/rows.h"

static json_t *
side_row(const struct report *report, enum pair_side side, const struct side_line *line, bool interval)
{
	const struct side_row *row = &line->row;
	bool estimate = side == PAIR_CLIENT && !report->two_sided;
	json_t *object = json_object();

	object_put_names(object, &row->key);
	object_put(object, "count", value_count(row->count));
	object_put(object, "errors", value_count(row->errors));
	object_put(object, "unanswered", value_count(row->unanswered));
	if (interval) {
		object_put(object, "in_flight", value_count(row->in_flight));
		object_put(object, "retransmits", value_count(row->retransmits));
	}
	object_put(object, "bytes", row->sized > 0 ? value_count(row->bytes) : json_null());
	object_put(object, "size_mean", value_known(row->sized > 0,
	    row->sized > 0 ? (int64_t)((row->bytes + row->sized / 2) / row->sized) : 0));
	object_put(object, "per_second", value_decimal(line->rated, line->per_second));
	object_put(object, "bytes_per_second", value_decimal(line->rated && row->sized > 0, line->bytes_per_second));
	object_put(object, "latency_ns", value_dist(&row->latency[side], true));
	object_put(object, "rpc_time_ns", value_dist(&row->rpc_time, true));
	object_put(object, "server_estimate_ns", estimate ? value_dist(&row->server_estimate, true) : json_null());
	return object;
}

static json_t *
side_rows(const struct report *report, enum pair_side side, bool interval)
{
	json_t *array = json_array();
	unsigned lines_count;
	struct side_line *lines = side_lines(report, side, &lines_count);

	for (unsigned i = 0; i < lines_count; i++)
		array_append(array, side_row(report, side, &lines[i], interval));
	side_lines_free(lines, lines_count);
	return array;
}

json_t *
block_sides(const struct report *report, bool interval)
{
	json_t *object = json_object();

	object_put(object, "server", side_rows(report, PAIR_SERVER, interval));
	object_put(object, "client", side_rows(report, PAIR_CLIENT, interval));
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
	object_put(object, "count", value_count(errors->count));
	object_put(object, "mean_ns", json_integer(dist_mean(errors)));
	object_put(object, "min_ns", json_integer(errors->min_ns));
	object_put(object, "max_ns", json_integer(errors->max_ns));
	return object;
}

static json_t *
matched_row(const struct matched_row *row)
{
	json_t *object = json_object();

	object_put_names(object, &row->key);
	object_put(object, "count", value_count(row->count));
	object_put(object, "bytes", value_count(row->bytes));
	object_put(object, "total_ns", value_dist(&row->total, true));
	object_put(object, "server_ns", value_dist(&row->server, true));
	object_put(object, "network_ns", value_dist(matched_network(row), true));
	object_put(object, "client_ns", value_clients_part(&row->client, &row->total, true));
	object_put(object, "request_ns", value_dist(&row->request, true));
	object_put(object, "reply_ns", value_dist(&row->reply, true));
	object_put(object, "retransmit_ns", value_dist(&row->retransmit, true));
	object_put(object, "clock_error", bounds(&row->clock_error));
	return object;
}

json_t *
block_matched(const struct report *report)
{
	const struct correlate_facts *facts = report->correlated;
	const struct aggregate_totals *totals = aggregate_totals(report->aggregate);
	json_t *object = json_object(), *rows = json_array();
	unsigned row_count;
	const struct matched_row *const *row = aggregate_matched(report->aggregate, &row_count);

	for (unsigned i = 0; i < row_count; i++)
		array_append(rows, matched_row(row[i]));
	object_put(object, "calls", value_count(totals->matched + totals->callbacks));
	object_put(object, "partial", facts != NULL ? value_count(facts->matches[MATCH_PARTIAL]) : json_null());
	object_put(object, "server_only", facts != NULL ? value_count(facts->matches[MATCH_SERVER_ONLY]) : json_null());
	object_put(object, "client_only", facts != NULL ? value_count(facts->matches[MATCH_CLIENT_ONLY]) : json_null());
	object_put(object, "ambiguous", facts != NULL ? value_count(facts->matches[MATCH_AMBIGUOUS]) : json_null());
	object_put(object, "negative", value_count(totals->negative));
	object_put(object, "mispaired", facts != NULL ? value_count(facts->mispaired) : json_null());
	object_put(object, "given_up", value_count(facts != NULL ? facts->evicted[PAIR_SERVER] + facts->evicted[PAIR_CLIENT] : 0));
	object_put(object, "rows", rows);
	return object;
}

json_t *
block_span(const struct report *report)
{
	const struct capture_facts *only = report->captures;

	if (report->correlated != NULL)
		return value_known(report->correlated->overlap_last_ns > 0,
		    duration_ns(report->correlated->overlap_first_ns, report->correlated->overlap_last_ns));
	return value_known(report->capture_count > 0 && only->packets > 0, duration_ns(only->first_ns, only->last_ns));
}

json_t *
block_attribution(const struct aggregate_totals *totals)
{
	json_t *by_time = json_object(), *by_call = json_object(), *object = json_object();
	const uint64_t *calls = aggregate_by_call(totals);
	bool client = aggregate_knows_client(totals);

	object_put(by_time, "server", value_share(totals->server_ns, totals->total_ns));
	object_put(by_time, "network", value_share(aggregate_network_ns(totals), totals->total_ns));
	object_put(by_time, "client", client ? value_share(totals->client_ns, totals->total_ns) : json_null());
	object_put(by_call, "server", value_share(calls[PART_SERVER], totals->matched));
	object_put(by_call, "network", value_share(calls[PART_NETWORK], totals->matched));
	object_put(by_call, "client", client ? value_share(calls[PART_CLIENT], totals->matched) : json_null());
	object_put(object, "by_time", by_time);
	object_put(object, "by_call", by_call);
	return object;
}
