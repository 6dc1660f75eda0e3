/*
 * JSON: what was captured, and the clocks.
 */
#include <glib.h>
#include <pcap/pcap.h>

#include "report/json_value.h"
#include "report/words.h"

static json_t *
capture_files(const struct capture_facts *facts)
{
	json_t *files = json_array();

	for (unsigned i = 0; i < facts->file_count; i++) {
		json_t *file = json_object();

		object_put(file, "name", value_text(facts->files[i].name));
		object_put(file, "bytes", value_count(facts->files[i].bytes));
		object_put(file, "sha256", json_null());
		array_append(files, file);
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

		array_append(links, value_text(name != NULL ? name : number));
	}
	return links;
}

json_t *
block_tcp(const struct stream_counters *tcp)
{
	json_t *object = json_object();

	object_put(object, "connections", value_count(tcp->connections));
	object_put(object, "segments", value_count(tcp->segments));
	object_put(object, "retransmitted", value_count(tcp->retransmitted));
	object_put(object, "out_of_order", value_count(tcp->out_of_order));
	object_put(object, "lost_bytes", value_count(tcp->lost_bytes));
	object_put(object, "zero_window", value_count(tcp->zero_window));
	object_put(object, "rpc_connections", value_count(tcp->rpc_connections));
	object_put(object, "mid_stream", value_count(tcp->mid_stream));
	object_put(object, "one_direction", value_count(tcp->one_direction));
	object_put(object, "evicted_connections", value_count(tcp->evicted_connections));
	object_put(object, "resyncs", value_count(tcp->resyncs));
	object_put(object, "holes_given_up", value_count(tcp->forced));
	object_put(object, "tls_connections", value_count(tcp->tls_connections));
	object_put(object, "tls_bytes", value_count(tcp->tls_bytes));
	return object;
}

json_t *
block_rpc(const struct rpc_counters *rpc)
{
	json_t *object = json_object();

	object_put(object, "calls", value_count(rpc->calls));
	object_put(object, "replies", value_count(rpc->replies));
	object_put(object, "answered", value_count(rpc->outcomes[OP_ANSWERED]));
	object_put(object, "unanswered", value_count(rpc->outcomes[OP_UNANSWERED]));
	object_put(object, "lost_in_capture", value_count(rpc->outcomes[OP_LOST_IN_CAPTURE]));
	object_put(object, "in_flight", value_count(rpc->outcomes[OP_IN_FLIGHT]));
	object_put(object, "evicted", value_count(rpc->outcomes[OP_EVICTED]));
	object_put(object, "orphan_replies", value_count(rpc->orphan_replies));
	object_put(object, "retransmitted_calls", value_count(rpc->retransmitted_calls));
	object_put(object, "hidden_records", value_count(rpc->hidden_records));
	object_put(object, "malformed", value_count(rpc->malformed));
	object_put(object, "tls_asked", value_count(rpc->tls_asked));
	object_put(object, "tls_agreed", value_count(rpc->tls_agreed));
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
	object_put(object, "samples", value_count(trips->count));
	object_put(object, "min_ns", json_integer(trips->min_ns));
	object_put(object, "p50_ns", json_integer(dist_quantile(trips, 500)));
	object_put(object, "p95_ns", json_integer(dist_quantile(trips, 950)));
	return object;
}

static json_t *
capture_comments(const struct capture_facts *facts)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < facts->comment_count; i++)
		array_append(array, value_text(facts->comments[i]));
	return array;
}

static json_t *
capture_point(const struct capture_facts *facts, const struct capture_point *point)
{
	static const char *const ways[] = { [WAY_IN] = "in", [WAY_OUT] = "out" };
	json_t *object = json_object();

	object_put(object, "interface", value_text(capture_interface_name(facts, point)));
	object_put(object, "number", value_known(point->kind == POINT_OF_FILE, point->number));
	object_put(object, "index", value_known(point->kind == POINT_OF_HOST, point->number));
	object_put(object, "direction", value_text(ways[point->way]));
	return object;
}

/* Where the copies of packets are from; behind them those of pairs beyond the ones that were told apart. */
static json_t *
capture_duplicates(const struct capture_facts *facts)
{
	const struct point_pairs *pairs = facts->duplicates;
	json_t *array = json_array();

	for (unsigned i = 0; pairs != NULL && i < pairs->count; i++) {
		const struct point_pair *pair = &pairs->pair[i];
		json_t *entry = json_object();

		object_put(entry, "kept", capture_point(facts, &pair->kept));
		object_put(entry, "dropped", capture_point(facts, &pair->dropped));
		object_put(entry, "hops", json_integer(pair->hops));
		object_put(entry, "count", value_count(pair->packets));
		array_append(array, entry);
	}
	if (pairs != NULL && pairs->others > 0)
		array_append(array, json_pack("{s:n,s:n,s:n,s:I}", "kept", "dropped", "hops", "count",
		    (json_int_t)pairs->others));
	return array;
}

json_t *
block_udp(const struct datagram_counters *udp)
{
	json_t *object = json_object();

	object_put(object, "flows", value_count(udp->flows));
	object_put(object, "evicted_flows", value_count(udp->evicted_flows));
	object_put(object, "messages", value_count(udp->records));
	object_put(object, "joined", value_count(udp->joined));
	object_put(object, "incomplete", value_count(udp->incomplete));
	object_put(object, "headless", value_count(udp->headless));
	object_put(object, "tls_datagrams", value_count(udp->tls));
	return object;
}

static json_t *
capture(const struct capture_facts *facts)
{
	json_t *object = json_object();
	bool any = facts->packets > 0;

	object_put(object, "side", value_text(side_words[facts->side]));
	object_put(object, "files", capture_files(facts));
	object_put(object, "format", value_text(facts->format));
	object_put(object, "compression", value_text(facts->compression));
	object_put(object, "comments", capture_comments(facts));
	object_put(object, "bad_blocks", value_count(facts->bad_blocks));
	object_put(object, "link_types", capture_links(facts));
	object_put(object, "first_ns", value_known(any, facts->first_ns));
	object_put(object, "last_ns", value_known(any, facts->last_ns));
	object_put(object, "packets", value_count(facts->packets));
	object_put(object, "truncated_packets", value_count(facts->truncated_packets));
	object_put(object, "duplicate_packets", value_count(facts->duplicate_packets));
	object_put(object, "duplicates", capture_duplicates(facts));
	object_put(object, "fragment_packets", value_count(facts->fragments));
	object_put(object, "dropped_by_kernel", value_known(facts->dropped_by_kernel >= 0, facts->dropped_by_kernel));
	object_put(object, "dropped_by_interface",
	    value_known(facts->dropped_by_interface >= 0, facts->dropped_by_interface));
	object_put(object, "lost_segments", value_count(facts->tcp.lost_segments));
	object_put(object, "tcp", block_tcp(&facts->tcp));
	object_put(object, "udp", block_udp(&facts->udp));
	object_put(object, "rpc", block_rpc(&facts->rpc));
	object_put(object, "path", capture_path(facts));
	object_put(object, "backward_stamps", value_count(facts->backward_stamps));
	object_put(object, "backward_max_ns", json_integer(facts->backward_max_ns));
	object_put(object, "trouble", value_text(facts->trouble));
	return object;
}

json_t *
block_captures(const struct report *report)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < report->capture_count; i++)
		array_append(array, capture(&report->captures[i]));
	return array;
}

static json_t *
clock_steps(const struct clock_facts *facts)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < MIN(facts->steps, CLOCK_STEPS_KEPT); i++)
		array_append(array, json_pack("{s:I,s:I}", "at_ns", (json_int_t)facts->step[i].at_ns,
		    "step_ns", (json_int_t)facts->step[i].step_ns));
	return array;
}

static json_t *
client_clock(const struct clock_facts *facts, const char *name)
{
	json_t *object = json_object();
	bool given = facts->mode == CLOCK_GIVEN;
	bool estimated = facts->aligned && !given;

	object_put(object, "client", value_text(name));
	object_put(object, "status", value_text(given ? "given" : facts->aligned ? "aligned" : "unaligned"));
	object_put(object, "reference_ns", value_known(estimated, facts->reference_ns));
	object_put(object, "offset_ns", value_known(facts->aligned, facts->offset_ns));
	object_put(object, "error_ns", value_known(estimated, facts->error_ns));
	object_put(object, "drift_ppb", value_known(estimated && facts->has_drift, facts->drift_ppb));
	object_put(object, "drift_error_ppb", value_known(estimated && facts->has_drift, facts->drift_error_ppb));
	object_put(object, "steps", value_count(facts->steps));
	object_put(object, "step_list", clock_steps(facts));
	object_put(object, "outliers", value_count(facts->outliers));
	return object;
}

json_t *
block_clocks(const struct report *report)
{
	json_t *array = json_array();

	for (unsigned i = 1; report->two_sided && i < report->capture_count; i++)
		array_append(array, client_clock(&report->clocks[i - 1], report->captures[i].name));
	return array;
}
