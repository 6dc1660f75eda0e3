/*
 * The report as JSON, schema nfscorr-report/1. What is not known is null.
 */
#include "report/json_value.h"

bool
report_json(const struct report *report, FILE *out)
{
	json_t *root = json_object();

	object_put(root, "schema", value_text("nfscorr-report/1"));
	object_put(root, "tool", json_pack("{s:s,s:s}", "name", PACKAGE_NAME, "version", PACKAGE_VERSION));
	object_put(root, "generated_ns", json_integer(report->generated_ns));
	object_put(root, "captures", block_captures(report));
	object_put(root, "quality", block_quality(report->quality));
	object_put(root, "clock", block_clocks(report));
	object_put(root, "sides", block_sides(report, false));
	object_put(root, "span_ns", block_span(report));
	object_put(root, "matched", block_matched(report));
	object_put(root, "attribution", block_attribution(aggregate_totals(report->aggregate)));
	object_put(root, "verdict", block_verdict(report->verdict));
	object_put(root, "findings", block_findings(report->findings));
	object_put(root, "slowest", block_slowest(report));
	object_put(root, "breakdown", block_breakdown(report));
	object_put(root, "window_ns", json_integer(aggregate_window_ns(report->aggregate)));
	object_put(root, "concurrency", block_concurrency(report));
	object_put(root, "hosts", block_hosts(report));
	object_put(root, "ports", block_ports(report));
	object_put(root, "layers", block_layers(report));
	object_put(root, "why_nothing", value_text(report->why_nothing));
	return root_write(root, out);
}
