/*
 * JSON: calls in flight.
 */
#include <glib.h>

#include "report/json_value.h"
#include "report/sides.h"
#include "report/words.h"

/* What connections, clients and servers have in common. */
static void
put_depth(json_t *object, const struct depth *depth)
{
	struct depth_plateau plateau;
	bool is_flat = depth_plateau(depth, 2, &plateau);
	double mean = 0;
	bool has_mean = depth_mean(depth, &mean);

	object_put(object, "calls", value_count(depth->calls));
	object_put(object, "max", value_known(depth->max > 0, depth->max));
	object_put(object, "mean", value_decimal(has_mean, mean));
	object_put(object, "busy_share", value_share(depth_busy_ns(depth), depth->span_ns));
	object_put(object, "plateau", value_known(is_flat, is_flat ? plateau.top : 0));
	object_put(object, "plateau_share", value_decimal(is_flat, is_flat ? plateau.share : 0));
}

static json_t *
depth_histogram(const struct depth *depth)
{
	json_t *array = json_array();
	struct depth_group group[DEPTH_GROUPS];
	unsigned groups = depth_groups(depth, group);

	for (unsigned i = 0; i < groups; i++) {
		json_t *object = json_object();

		object_put(object, "from", json_integer(group[i].from));
		object_put(object, "to", json_integer(group[i].to));
		object_put(object, "share", value_decimal(true, group[i].share));
		object_put(object, "calls", value_count(group[i].calls));
		object_put(object, "latency_mean_ns", value_known(group[i].calls > 0, group[i].latency_ns));
		array_append(array, object);
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
	object_put(object, "knee", value_known(knee > 0, knee));
	object_put(object, "histogram", depth_histogram(depth));
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
		object_put(object, "client", value_text(name));
		label_address(report->ids, &rows[i]->server, name);
		object_put(object, "server", value_text(name));
		if (has_ports) {
			object_put(object, "client_port", json_integer(rows[i]->client.port));
			object_put(object, "server_port", json_integer(rows[i]->server.port));
		}
		put_depth(object, &rows[i]->depth);
		array_append(array, object);
	}
}

/* Connections and clients are those of the clients' captures, or of the server's where there is no other. */
json_t *
block_concurrency(const struct report *report)
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
	object_put(object, "server", server_concurrency(server));
	object_put(object, "seen_at", value_text(side_words[side]));
	object_put(object, "left_out", value_count(left_out));
	object_put(object, "late", value_count(late));
	object_put(object, "connections", connections);
	object_put(object, "clients", clients);
	return object;
}
