/*
 * An interval as JSON, schema nfscorr-interval/1. What is not known is null.
 */
#include "report/interval.h"
#include "report/json_value.h"
#include "report/words.h"

/* Of the capture's own counters those that grow with time. */
static json_t *
capture(const struct capture_facts *facts)
{
	json_t *object = json_object();

	object_put(object, "side", value_text(side_words[facts->side]));
	object_put(object, "packets", value_count(facts->packets));
	object_put(object, "truncated_packets", value_count(facts->truncated_packets));
	object_put(object, "duplicate_packets", value_count(facts->duplicate_packets));
	object_put(object, "lost_segments", value_count(facts->tcp.lost_segments));
	object_put(object, "tcp", block_tcp(&facts->tcp));
	object_put(object, "udp", block_udp(&facts->udp));
	object_put(object, "rpc", block_rpc(&facts->rpc));
	return object;
}

static json_t *
captures(const struct report *report)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < report->capture_count; i++)
		array_append(array, capture(&report->captures[i]));
	return array;
}

bool
interval_json(const struct interval *interval, FILE *out)
{
	const struct report *report = interval->report;
	json_t *root = json_object();

	object_put(root, "schema", value_text("nfscorr-interval/1"));
	object_put(root, "from_ns", json_integer(interval->from_ns));
	object_put(root, "to_ns", json_integer(interval->to_ns));
	object_put(root, "dropped_by_kernel", value_count(interval->dropped_by_kernel));
	object_put(root, "dropped_by_interface", value_count(interval->dropped_by_interface));
	object_put(root, "outstanding", value_count(interval->outstanding));
	object_put(root, "oldest_call_ns", value_known(interval->oldest_call_ns >= 0, interval->oldest_call_ns));
	object_put(root, "lag_ns", value_known(interval->lag_ns >= 0, interval->lag_ns));
	object_put(root, "captures", captures(report));
	object_put(root, "sides", block_sides(report, true));
	object_put(root, "matched", block_matched(report));
	object_put(root, "attribution", block_attribution(aggregate_totals(report->aggregate)));
	object_put(root, "concurrency", block_concurrency(report));
	object_put(root, "findings", block_findings(report->findings));
	return root_write(root, out);
}
