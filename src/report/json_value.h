/*
 * What the JSON exporters share: values, and the blocks that a report and an
 * interval have in common. A block is the caller's, to be put into an object.
 */
#ifndef REPORT_JSON_VALUE_H
#define REPORT_JSON_VALUE_H

#include <jansson.h>

#include "report/report.h"

/* These take the value. */
void object_put(json_t *object, const char *key, json_t *value);
void array_append(json_t *array, json_t *value);
/* "version" and "proc" of a row. */
void object_put_names(json_t *object, const struct row_key *key);
/* Takes root: one line, real numbers with what value_decimal() gives them. False when writing failed. */
bool root_write(json_t *root, FILE *out);

json_t *value_text(const char *bytes);			/* NULL: null */
json_t *value_known(bool is_known, int64_t value);	/* else null */
json_t *value_count(uint64_t value);
json_t *value_decimal(bool is_known, double value);	/* six decimals */
json_t *value_share(__int128 part, __int128 whole);
/* DIST; null when it is empty. */
json_t *value_dist(const struct dist *dist, bool with_buckets);
/* The client's part; null unless it is known of every call of the total. */
json_t *value_clients_part(const struct dist *client, const struct dist *total, bool with_buckets);

json_t *block_captures(const struct report *report);
json_t *block_tcp(const struct stream_counters *tcp);
json_t *block_udp(const struct datagram_counters *udp);
json_t *block_rpc(const struct rpc_counters *rpc);
/* What hosts say of themselves, and the ports they tell. */
json_t *block_hosts(const struct report *report);
json_t *block_ports(const struct report *report);
json_t *block_clocks(const struct report *report);
json_t *block_quality(const struct quality *quality);
/* interval: rows have what only an interval's aggregate counts, too. */
json_t *block_sides(const struct report *report, bool interval);
json_t *block_matched(const struct report *report);
json_t *block_span(const struct report *report);
json_t *block_attribution(const struct aggregate_totals *totals);
json_t *block_verdict(const struct verdict *verdict);
json_t *block_findings(const struct findings *findings);
json_t *block_slowest(const struct report *report);
json_t *block_breakdown(const struct report *report);
json_t *block_concurrency(const struct report *report);
json_t *block_layers(const struct report *report);

#endif
