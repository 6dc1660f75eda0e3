/*
 * An interval as JSON, schema nfscorr-interval/1. What is not known is null.
 */
#include <string.h>

#include "base/arith.h"
#include "report/interval.h"
#include "report/json_value.h"
#include "report/words.h"
#include "stats/mountstats.h"

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

/* Sums in the kernel's milliseconds, which it cuts off, and their mean. */
static json_t *
times(uint64_t sum_ms, uint64_t calls)
{
	json_t *object;

	if (calls == 0)
		return json_null();
	object = json_object();
	object_put(object, "sum", value_count(sum_ms * NS_PER_MS));
	object_put(object, "mean", json_integer(mountstats_mean_ns(sum_ms, calls)));
	return object;
}

static json_t *
counter_row(const struct mountstats_op *op)
{
	json_t *object = json_object();

	object_put(object, "proc", value_text(op->name));
	object_put(object, "count", value_count(op->calls));
	object_put(object, "transmissions", value_count(op->transmissions));
	object_put(object, "timeouts", value_count(op->timeouts));
	object_put(object, "errors", op->errors_known ? value_count(op->errors) : json_null());
	object_put(object, "bytes_sent", value_count(op->bytes_sent));
	object_put(object, "bytes_received", value_count(op->bytes_received));
	object_put(object, "queue_ns", times(op->queue_ms, op->calls));
	object_put(object, "rtt_ns", times(op->rtt_ms, op->calls));
	object_put(object, "execute_ns", times(op->execute_ms, op->calls));
	return object;
}

/* Lengths of queues are means over the messages sent. */
static json_t *
transport(const struct mountstats_transport *transport)
{
	json_t *object;
	double sends = (double)transport->sends;
	bool any = transport->sends > 0, queues = any && transport->queues_known;

	if (transport->count == 0)
		return json_null();
	object = json_object();
	object_put(object, "count", value_count(transport->count));
	object_put(object, "sends", value_count(transport->sends));
	object_put(object, "receives", value_count(transport->receives));
	object_put(object, "bad_xids", value_count(transport->bad_xids));
	object_put(object, "backlog_mean", value_decimal(any, any ? (double)transport->backlog / sends : 0));
	object_put(object, "sending_mean", value_decimal(queues, queues ? (double)transport->sending / sends : 0));
	object_put(object, "pending_mean", value_decimal(queues, queues ? (double)transport->pending / sends : 0));
	object_put(object, "slots_most", value_known(transport->queues_known, (int64_t)transport->slots_most));
	return object;
}

static json_t *
mount_counters(const struct report *report, const struct mountstats_mount *mount)
{
	json_t *object = json_object(), *rows = json_array();
	struct net_endpoint server = { 0 };
	char name[LABEL_SIZE];

	memcpy(server.address, mount->address, sizeof(server.address));
	if (mount->address_known)
		label_address(report->ids, &server, name);
	for (unsigned i = 0; i < mount->op_count; i++)
		if (mount->ops[i].calls > 0)
			array_append(rows, counter_row(&mount->ops[i]));
	object_put(object, "device", value_text(mount->device));
	object_put(object, "mountpoint", value_text(mount->place));
	object_put(object, "version", value_text(mount->version[0] != '\0' ? mount->version : NULL));
	object_put(object, "server", value_text(mount->address_known ? name : NULL));
	object_put(object, "transport", transport(&mount->transport));
	object_put(object, "rows", rows);
	return object;
}

/* Of the client's kernel, a mount an entry; null where it has none to show. */
static json_t *
counters(const struct interval *interval)
{
	json_t *array;

	if (interval->counters == NULL)
		return json_null();
	array = json_array();
	for (unsigned i = 0; i < interval->counters->mount_count; i++)
		array_append(array, mount_counters(interval->report, &interval->counters->mounts[i]));
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
	object_put(root, "counters", counters(interval));
	return root_write(root, out);
}
