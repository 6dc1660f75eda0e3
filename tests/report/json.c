#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report/fixture.h"
#include "report/words.h"
#include "stats/build.h"

static json_t *
parse(const struct fixture *fixture)
{
	char *text = fixture_json(fixture);
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	cr_assert_not_null(root, "%s", error.text);
	cr_assert_eq(text[strlen(text) - 1], '\n');
	free(text);
	return root;
}

static int64_t
number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	cr_assert(json_is_integer(value), "%s is not an integer", key);
	return json_integer_value(value);
}

static bool
is_null(const json_t *object, const char *key)
{
	cr_assert_not_null(json_object_get(object, key), "%s is missing", key);
	return json_is_null(json_object_get(object, key));
}

static const char *
string(const json_t *object, const char *key)
{
	cr_assert(json_is_string(json_object_get(object, key)), "%s is not a string", key);
	return json_string_value(json_object_get(object, key));
}

/* ---- what holds in any report ---- */

static void
assert_keys(const json_t *object, const char *const *keys)
{
	cr_assert(json_is_object(object));
	for (; *keys != NULL; keys++)
		cr_assert_not_null(json_object_get(object, *keys), "%s is missing", *keys);
}

static void
assert_dist(const json_t *dist, bool with_hist, bool with_quantiles)
{
	static const char *const order[] = { "min", "p50", "p95", "p99", "p999", "max" };
	int64_t last = INT64_MIN, count, sum, mean, held = 0;
	json_t *bucket;
	size_t at;

	if (json_is_null(dist))
		return;
	count = number(dist, "count");
	sum = number(dist, "sum");
	mean = number(dist, "mean");
	cr_assert_gt(count, 0);
	cr_assert_leq(llabs(sum - mean * count), count, "mean is sum over count");
	for (size_t i = 0; i < 6; i++) {
		if (!with_quantiles && order[i][0] == 'p') {
			cr_assert(is_null(dist, order[i]));
			continue;
		}
		cr_assert_leq(last, number(dist, order[i]));
		last = number(dist, order[i]);
	}
	cr_assert_eq(json_object_get(dist, "hist") != NULL, with_hist);
	if (!with_hist)
		return;
	json_array_foreach(json_object_get(dist, "hist"), at, bucket)
		held += json_integer_value(json_array_get(bucket, 1));
	cr_assert_eq(held, count);
}

static int64_t
sum_of(const json_t *row, const char *key)
{
	return number(json_object_get(row, key), "sum");
}

static void
assert_side_row(const json_t *row)
{
	static const char *const keys[] = { "version", "proc", "count", "errors", "unanswered", "bytes", "size_mean",
	    "per_second", "bytes_per_second", "latency_ns", "rpc_time_ns", "server_estimate_ns", NULL };

	assert_keys(row, keys);
	assert_dist(json_object_get(row, "latency_ns"), true, true);
	assert_dist(json_object_get(row, "rpc_time_ns"), true, true);
	assert_dist(json_object_get(row, "server_estimate_ns"), true, true);
}

static void
assert_matched(const json_t *matched)
{
	static const char *const keys[] = { "calls", "partial", "server_only", "client_only", "ambiguous", "negative",
	    "rows", NULL };
	static const char *const row_keys[] = { "version", "proc", "count", "total_ns", "server_ns", "network_ns",
	    "client_ns", "request_ns", "reply_ns", "retransmit_ns", NULL };
	int64_t calls = 0;
	json_t *row;
	size_t at;

	assert_keys(matched, keys);
	json_array_foreach(json_object_get(matched, "rows"), at, row) {
		assert_keys(row, row_keys);
		calls += number(row, "count");
		assert_dist(json_object_get(row, "total_ns"), true, true);
		assert_dist(json_object_get(row, "server_ns"), true, true);
		assert_dist(json_object_get(row, "network_ns"), true, true);
		assert_dist(json_object_get(row, "request_ns"), true, true);
		assert_dist(json_object_get(row, "reply_ns"), true, true);
		cr_assert_eq(sum_of(row, "total_ns"), sum_of(row, "server_ns") + sum_of(row, "network_ns") +
		    (is_null(row, "client_ns") ? 0 : sum_of(row, "client_ns")));
		if (!is_null(row, "request_ns") &&
		    number(json_object_get(row, "request_ns"), "count") == number(row, "count"))
			cr_assert_eq(sum_of(row, "request_ns") + sum_of(row, "reply_ns"), sum_of(row, "network_ns") +
			    (is_null(row, "client_ns") ? 0 : sum_of(row, "client_ns")));
		assert_dist(json_object_get(row, "client_ns"), true, true);
		assert_dist(json_object_get(row, "retransmit_ns"), true, true);
	}
	cr_assert_eq(calls, number(matched, "calls"));
}

static void
assert_capture(const json_t *capture)
{
	static const char *const keys[] = { "side", "files", "format", "link_types", "first_ns", "last_ns", "packets",
	    "truncated_packets", "duplicate_packets", "duplicates", "dropped_by_kernel",
	    "dropped_by_interface", "lost_segments", "tcp", "rpc", NULL };
	static const char *const tcp_keys[] = { "connections", "segments", "retransmitted", "out_of_order",
	    "lost_bytes", "zero_window", NULL };
	static const char *const rpc_keys[] = { "calls", "replies", "answered", "unanswered", "lost_in_capture",
	    "in_flight", "evicted", "orphan_replies", "retransmitted_calls", "hidden_records", "malformed", NULL };
	static const char *const file_keys[] = { "name", "bytes", "sha256", NULL };
	const json_t *rpc = json_object_get(capture, "rpc");

	assert_keys(capture, keys);
	assert_keys(json_object_get(capture, "tcp"), tcp_keys);
	assert_keys(rpc, rpc_keys);
	assert_keys(json_array_get(json_object_get(capture, "files"), 0), file_keys);
	cr_assert_eq(number(rpc, "calls"), number(rpc, "answered") + number(rpc, "unanswered") +
	    number(rpc, "lost_in_capture") + number(rpc, "in_flight") + number(rpc, "evicted"));
}

static void
assert_breakdown(const json_t *breakdown)
{
	static const char *const keys[] = { "by_client", "by_server", "by_file", "by_size", "by_connection", "by_time",
	    NULL };
	static const char *const part_keys[] = { "key", "version", "proc", "count", "bytes", "total_ns", "server_ns",
	    "network_ns", "client_ns", NULL };

	assert_keys(breakdown, keys);
	cr_assert_eq(json_object_size(breakdown), 6, "nothing but lists of parts");
	for (size_t i = 0; keys[i] != NULL; i++) {
		json_t *part;
		size_t at;

		json_array_foreach(json_object_get(breakdown, keys[i]), at, part) {
			assert_keys(part, part_keys);
			assert_dist(json_object_get(part, "total_ns"), false, true);
			assert_dist(json_object_get(part, "server_ns"), false, false);
			assert_dist(json_object_get(part, "network_ns"), false, false);
			cr_assert_eq(sum_of(part, "total_ns"), sum_of(part, "server_ns") + sum_of(part, "network_ns") +
			    (is_null(part, "client_ns") ? 0 : sum_of(part, "client_ns")));
		}
	}
}

static void
assert_slowest(const json_t *slowest)
{
	static const char *const keys[] = { "xid", "version", "proc", "client", "server", "file", "offset", "size",
	    "total_ns", "server_ns", "network_ns", "client_ns", "retransmits", "client_capture", "frames", "filter",
	    NULL };
	static const char *const frame_keys[] = { "server_call", "server_reply", "client_call", "client_reply", NULL };
	json_t *call;
	size_t at;

	json_array_foreach(slowest, at, call) {
		assert_keys(call, keys);
		assert_keys(json_object_get(call, "frames"), frame_keys);
	}
}

static void
assert_findings(const json_t *findings)
{
	static const char *const keys[] = { "id", "component", "confidence", "text", "evidence", "remedies", NULL };
	static const char *const remedy_keys[] = { "system", "setting", "command", "note", NULL };
	json_t *finding, *remedy;
	size_t at, i;

	cr_assert(json_is_array(findings));
	json_array_foreach(findings, at, finding) {
		assert_keys(finding, keys);
		cr_assert(json_is_object(json_object_get(finding, "evidence")));
		json_array_foreach(json_object_get(finding, "remedies"), i, remedy)
			assert_keys(remedy, remedy_keys);
	}
}

static void
assert_concurrency(const json_t *concurrency)
{
	static const char *const server_keys[] = { "max", "mean", "knee", "histogram", NULL };
	static const char *const keys[] = { "client", "server", "max", "mean", "plateau", NULL };
	json_t *entry;
	size_t at;

	assert_keys(json_object_get(concurrency, "server"), server_keys);
	json_array_foreach(json_object_get(concurrency, "connections"), at, entry)
		assert_keys(entry, keys);
	cr_assert(json_is_array(json_object_get(concurrency, "connections")));
}

static void
assert_report(const json_t *root)
{
	static const char *const keys[] = { "schema", "tool", "generated_ns", "captures", "quality", "clock", "sides",
	    "span_ns", "matched", "attribution", "verdict", "findings", "slowest", "breakdown", "concurrency", "layers",
	    NULL };
	static const char *const clock_keys[] = { "client", "status", "reference_ns", "offset_ns", "error_ns",
	    "drift_ppb", "drift_error_ppb", "steps", NULL };
	json_t *entry;
	size_t at;

	assert_keys(root, keys);
	cr_assert_str_eq(string(root, "schema"), "nfscorr-report/1");
	json_array_foreach(json_object_get(root, "captures"), at, entry)
		assert_capture(entry);
	json_array_foreach(json_object_get(root, "clock"), at, entry)
		assert_keys(entry, clock_keys);
	json_array_foreach(json_object_get(json_object_get(root, "sides"), "server"), at, entry)
		assert_side_row(entry);
	json_array_foreach(json_object_get(json_object_get(root, "sides"), "client"), at, entry)
		assert_side_row(entry);
	assert_matched(json_object_get(root, "matched"));
	assert_breakdown(json_object_get(root, "breakdown"));
	assert_slowest(json_object_get(root, "slowest"));
	assert_findings(json_object_get(root, "findings"));
	cr_assert_eq(json_array_size(json_object_get(root, "layers")), 0);
	assert_concurrency(json_object_get(root, "concurrency"));
}

/* ---- cases ---- */

/* So many calls of 1 ms, a quarter of it the server's, of which the client's part is known of some: 0.6 ms. */
static json_t *
with_clients_part(struct fixture *fixture, unsigned calls, unsigned known)
{
	fixture_init(fixture, 2, PAIR_SERVER);
	for (unsigned i = 0; i < calls; i++) {
		struct nfs_op op = build_op(PROC_READ, i * INT64_C(2000000), 998500);
		struct op_pair pair = build_pair(&op, 250000);

		if (i < known) {
			pair.parts.client_known = true;
			pair.parts.client_ns = 600000;
			pair.parts.network_ns -= 600000;
		}
		fixture_add(fixture, 0, &pair);
	}
	fixture_finish(fixture);
	return parse(fixture);
}

Test(json, the_clients_part)
{
	struct fixture fixture;
	json_t *root = with_clients_part(&fixture, 200, 200);
	json_t *by_time = json_object_get(json_object_get(root, "attribution"), "by_time");
	json_t *by_call = json_object_get(json_object_get(root, "attribution"), "by_call");
	json_t *row = json_array_get(json_object_get(json_object_get(root, "matched"), "rows"), 0);
	json_t *part = json_array_get(json_object_get(json_object_get(root, "breakdown"), "by_client"), 0);
	json_t *call = json_array_get(json_object_get(root, "slowest"), 0);

	assert_report(root);
	cr_assert_float_eq(json_real_value(json_object_get(by_time, "client")), 0.6, 1e-6);
	cr_assert_float_eq(json_real_value(json_object_get(by_time, "server")), 0.25, 1e-6);
	cr_assert_float_eq(json_real_value(json_object_get(by_time, "network")), 0.15, 1e-6);
	cr_assert_float_eq(json_real_value(json_object_get(by_call, "client")), 1, 1e-6);
	cr_assert_eq(sum_of(row, "client_ns"), 200 * INT64_C(600000));
	cr_assert_eq(sum_of(row, "network_ns"), 200 * INT64_C(150000));
	cr_assert_eq(sum_of(part, "client_ns"), 200 * INT64_C(600000));
	cr_assert_eq(sum_of(part, "network_ns"), 200 * INT64_C(150000));
	cr_assert_eq(number(call, "client_ns"), 600000);
	json_decref(root);
	fixture_clear(&fixture);
}

/* It is in the network's of all calls, then, though it is known of single ones. */
Test(json, the_clients_part_of_some_calls)
{
	struct fixture fixture;
	json_t *root = with_clients_part(&fixture, 200, 199);
	json_t *by_time = json_object_get(json_object_get(root, "attribution"), "by_time");
	json_t *by_call = json_object_get(json_object_get(root, "attribution"), "by_call");
	json_t *row = json_array_get(json_object_get(json_object_get(root, "matched"), "rows"), 0);
	json_t *part = json_array_get(json_object_get(json_object_get(root, "breakdown"), "by_client"), 0);

	assert_report(root);
	cr_assert(is_null(by_time, "client"));
	cr_assert(is_null(by_call, "client"));
	cr_assert_float_eq(json_real_value(json_object_get(by_time, "network")), 0.75, 1e-6);
	cr_assert_float_eq(json_real_value(json_object_get(by_call, "network")), 1, 1e-6);
	cr_assert(is_null(row, "client_ns"));
	cr_assert_eq(sum_of(row, "network_ns"), 200 * INT64_C(750000));
	cr_assert_eq(number(json_object_get(row, "network_ns"), "count"), 200);
	cr_assert(is_null(part, "client_ns"));
	cr_assert_eq(number(json_object_get(part, "network_ns"), "min"), 750000);
	json_decref(root);
	fixture_clear(&fixture);
}

Test(json, two_sides)
{
	struct fixture fixture;
	json_t *root, *by_time, *row;

	fixture_init(&fixture, 2, PAIR_SERVER);
	fixture_fill(&fixture);
	fixture_finish(&fixture);
	root = parse(&fixture);
	assert_report(root);
	cr_assert_eq(number(json_object_get(root, "matched"), "calls"), 200);
	cr_assert_eq(number(root, "span_ns"), INT64_C(10000000000));
	by_time = json_object_get(json_object_get(root, "attribution"), "by_time");
	cr_assert(is_null(by_time, "client"), "not measured is not zero");
	cr_assert_float_eq(json_real_value(json_object_get(by_time, "server")) +
	    json_real_value(json_object_get(by_time, "network")), 1, 2e-6);
	row = json_array_get(json_object_get(json_object_get(root, "sides"), "server"), 0);
	cr_assert_str_eq(string(row, "version"), "3");
	cr_assert_str_eq(string(row, "proc"), "GETATTR");
	/* 66 calls in 10 s, without data */
	cr_assert_float_eq(json_real_value(json_object_get(row, "per_second")), 6.6, 1e-9);
	cr_assert(is_null(row, "bytes"));
	cr_assert(is_null(row, "size_mean"));
	cr_assert(is_null(row, "server_estimate_ns"), "measured, so not estimated");
	json_decref(root);
	fixture_clear(&fixture);
}

Test(json, clock)
{
	struct fixture fixture;
	json_t *root, *clock;

	fixture_init(&fixture, 4, PAIR_SERVER);
	fixture.clocks[1].aligned = false;
	fixture.clocks[2] = (struct clock_facts){ .mode = CLOCK_GIVEN, .aligned = true, .offset_ns = -5 };
	fixture_fill(&fixture);
	fixture_finish(&fixture);
	root = parse(&fixture);
	assert_report(root);
	clock = json_array_get(json_object_get(root, "clock"), 0);
	cr_assert_str_eq(string(clock, "client"), "client0.pcap");
	cr_assert_str_eq(string(clock, "status"), "aligned");
	cr_assert_eq(number(clock, "offset_ns"), INT64_C(3700000000));
	cr_assert_eq(number(clock, "error_ns"), 12345);
	cr_assert_eq(number(clock, "drift_ppb"), -80000);
	clock = json_array_get(json_object_get(root, "clock"), 1);
	cr_assert_str_eq(string(clock, "status"), "unaligned");
	cr_assert(is_null(clock, "offset_ns") && is_null(clock, "error_ns") && is_null(clock, "drift_ppb"));
	clock = json_array_get(json_object_get(root, "clock"), 2);
	cr_assert_str_eq(string(clock, "status"), "given");
	cr_assert_eq(number(clock, "offset_ns"), -5);
	cr_assert(is_null(clock, "error_ns"), "nobody knows how good a given offset is");
	json_decref(root);
	fixture_clear(&fixture);
}

Test(json, several_clients_are_merged_in_sides_and_apart_in_the_breakdown)
{
	struct fixture fixture;
	json_t *root, *part, *row;
	int64_t calls = 0;
	size_t at;

	fixture_init(&fixture, 4, PAIR_SERVER);
	/* The second client's capture is twice as long: its rate counts half. */
	fixture.captures[2].last_ns += INT64_C(10000000000);
	fixture_fill(&fixture);
	fixture_finish(&fixture);
	root = parse(&fixture);
	assert_report(root);
	cr_assert_eq(json_array_size(json_object_get(root, "captures")), 4);
	json_array_foreach(json_object_get(json_object_get(root, "sides"), "client"), at, part)
		calls += number(part, "count");
	cr_assert_eq(calls, 200);
	/* Procedures and clients both go in threes: client 1 has all 67 WRITEs, in 20 s. */
	row = json_array_get(json_object_get(json_object_get(root, "sides"), "client"), 2);
	cr_assert_str_eq(string(row, "proc"), "WRITE");
	cr_assert_float_eq(json_real_value(json_object_get(row, "per_second")), 3.35, 1e-9);
	calls = 0;
	json_array_foreach(json_object_get(json_object_get(root, "breakdown"), "by_client"), at, part) {
		calls += number(part, "count");
		cr_assert_eq(strncmp(string(part, "key"), "10.0.0.", 7), 0);
	}
	cr_assert_eq(at, 3);
	cr_assert_eq(calls, 200);
	json_decref(root);
	fixture_clear(&fixture);
}

Test(json, one_capture)
{
	for (unsigned side = 0; side < 2; side++) {
		struct fixture fixture;
		json_t *root, *call, *sides;

		fixture_init(&fixture, 1, side);
		fixture_fill(&fixture);
		fixture_finish(&fixture);
		root = parse(&fixture);
		assert_report(root);
		sides = json_object_get(root, "sides");
		cr_assert_eq(json_array_size(json_object_get(sides, "server")), side == PAIR_SERVER ? 3 : 0);
		cr_assert_eq(json_array_size(json_object_get(sides, "client")), side == PAIR_CLIENT ? 3 : 0);
		cr_assert_eq(number(json_object_get(root, "matched"), "calls"), 0);
		cr_assert(is_null(json_object_get(root, "matched"), "server_only"));
		cr_assert(is_null(json_object_get(json_object_get(root, "attribution"), "by_time"), "server"));
		cr_assert_str_eq(string(json_object_get(root, "verdict"), "component"), "none");
		cr_assert_eq(json_array_size(json_object_get(root, "clock")), 0);
		cr_assert_eq(json_array_size(json_object_get(root, "slowest")), 5);
		call = json_array_get(json_object_get(root, "slowest"), 0);
		cr_assert_eq(is_null(call, "total_ns"), side == PAIR_SERVER);
		cr_assert_eq(is_null(call, "server_ns"), side == PAIR_CLIENT);
		cr_assert(is_null(call, "network_ns"));
		call = json_array_get(json_object_get(sides, side_words[side]), 0);
		cr_assert_eq(is_null(call, "server_estimate_ns"), side == PAIR_SERVER, "the client's is an estimate");
		if (side == PAIR_CLIENT)
			cr_assert_eq(sum_of(call, "server_estimate_ns"),
			    sum_of(call, "latency_ns") - 40000 * number(call, "count"));
		json_decref(root);
		fixture_clear(&fixture);
	}
}

Test(json, nothing_at_all)
{
	struct fixture fixture;
	json_t *root, *capture;

	fixture_init(&fixture, 2, PAIR_SERVER);
	fixture.captures[0].packets = fixture.captures[1].packets = 0;
	fixture.report.why_nothing = "no NFS in either capture";
	fixture_finish(&fixture);
	root = parse(&fixture);
	assert_report(root);
	capture = json_array_get(json_object_get(root, "captures"), 0);
	cr_assert(is_null(capture, "first_ns"));
	cr_assert(is_null(capture, "dropped_by_kernel"));
	cr_assert(is_null(capture, "dropped_by_interface"));
	cr_assert(is_null(root, "span_ns"));
	cr_assert_str_eq(string(json_object_get(root, "quality"), "verdict"), "poor");
	json_decref(root);
	fixture_clear(&fixture);
}

Test(json, a_slow_call)
{
	struct fixture fixture;
	struct nfs_op op = build_op(PROC_READ, 0, 998500);
	struct op_pair pair;
	json_t *root, *call, *frames;

	fixture_init(&fixture, 2, PAIR_SERVER);
	op.xid = 0xfffffffe;
	op.retransmits = 2;
	build_data(&op, 0x123456789abcdef0, UINT64_C(1) << 40, 8192, 4096);
	pair = build_pair(&op, 250000);
	pair.parts.retransmit_known = true;
	pair.parts.retransmit_ns = 700000;
	fixture_add(&fixture, 0, &pair);
	fixture_finish(&fixture);
	root = parse(&fixture);
	call = json_array_get(json_object_get(root, "slowest"), 0);
	frames = json_object_get(call, "frames");
	cr_assert_eq(number(call, "xid"), 0xfffffffe);
	cr_assert_str_eq(string(call, "client"), "10.0.0.1");
	cr_assert_str_eq(string(call, "server"), "10.0.0.2");
	cr_assert_str_eq(string(call, "file"), "fh:123456789abcdef0");
	cr_assert_eq(number(call, "offset"), INT64_C(1) << 40);
	cr_assert_eq(number(call, "size"), 4096);
	cr_assert_eq(number(call, "total_ns"), 1000000);
	cr_assert_eq(number(call, "server_ns"), 250000);
	cr_assert_eq(number(call, "network_ns"), 750000);
	cr_assert_eq(number(call, "retransmit_ns"), 700000);
	cr_assert_eq(number(call, "retransmits"), 2);
	cr_assert_eq(number(frames, "client_call"), 11);
	cr_assert_eq(number(frames, "client_reply"), 12);
	cr_assert_eq(number(frames, "server_call"), 21);
	cr_assert_eq(number(frames, "server_reply"), 22);
	cr_assert_str_eq(string(call, "filter"), "rpc.xid == 0xfffffffe");
	json_decref(root);
	fixture_clear(&fixture);
}

Test(json, behind_a_translation_the_filter_names_no_port)
{
	struct fixture fixture;
	struct nfs_op op = build_op(PROC_READ, 0, 998500);
	struct op_pair pair = build_pair(&op, 250000);
	json_t *root;

	fixture_init(&fixture, 2, PAIR_SERVER);
	pair.op[PAIR_SERVER].client.port = 40000;
	fixture_add(&fixture, 0, &pair);
	fixture_finish(&fixture);
	root = parse(&fixture);
	cr_assert_str_eq(string(json_array_get(json_object_get(root, "slowest"), 0), "filter"), "rpc.xid == 0x0000abcd");
	json_decref(root);
	fixture_clear(&fixture);
}

Test(json, names_that_are_not_utf8)
{
	struct fixture fixture;
	json_t *root, *file;

	fixture_init(&fixture, 2, PAIR_SERVER);
	fixture.files[0].name = "caf\xe9\xff.pcap";
	fixture.files[1].name = "caf\xc3\xa9.pcap";
	fixture_finish(&fixture);
	root = parse(&fixture);
	file = json_array_get(json_object_get(json_array_get(json_object_get(root, "captures"), 0), "files"), 0);
	cr_assert_str_eq(string(file, "name"), "caf\\xe9\\xff.pcap");
	file = json_array_get(json_object_get(json_array_get(json_object_get(root, "captures"), 1), "files"), 0);
	cr_assert_str_eq(string(file, "name"), "caf\xc3\xa9.pcap");
	json_decref(root);
	fixture_clear(&fixture);
}

Test(json, a_set_of_files_is_one_capture)
{
	struct source_facts files[] = { { .name = "server.pcap0", .bytes = 7 }, { .name = "server.pcap1", .bytes = 8 } };
	struct fixture fixture;
	json_t *root, *listed;

	fixture_init(&fixture, 2, PAIR_SERVER);
	fixture.captures[0].files = files;
	fixture.captures[0].file_count = 2;
	fixture_finish(&fixture);
	root = parse(&fixture);
	listed = json_object_get(json_array_get(json_object_get(root, "captures"), 0), "files");
	cr_assert_eq(json_array_size(listed), 2);
	cr_assert_str_eq(string(json_array_get(listed, 1), "name"), "server.pcap1");
	cr_assert_eq(number(json_array_get(listed, 1), "bytes"), 8);
	json_decref(root);
	fixture_clear(&fixture);
}

/* 2^62 ns twice: the sum leaves JSON's integers, the mean does not. */
Test(json, a_sum_that_does_not_fit_is_null)
{
	struct fixture fixture;
	struct nfs_op op = build_op(PROC_READ, 0, 998500);
	struct op_pair pair = build_pair(&op, 250000);
	json_t *root, *total;

	fixture_init(&fixture, 2, PAIR_SERVER);
	pair.parts.total_ns = INT64_C(1) << 62;
	fixture_add(&fixture, 0, &pair);
	fixture_add(&fixture, 0, &pair);
	fixture_finish(&fixture);
	root = parse(&fixture);
	total = json_object_get(json_array_get(json_object_get(json_object_get(root, "matched"), "rows"), 0), "total_ns");
	cr_assert(is_null(total, "sum"));
	cr_assert_eq(number(total, "mean"), INT64_C(1) << 62);
	json_decref(root);
	fixture_clear(&fixture);
}

/* One server's call in 100 us of 300 us: a third, with six decimals. */
Test(json, shares_have_at_most_six_decimals)
{
	struct fixture fixture;
	struct nfs_op op = build_op(PROC_READ, 0, 298500);
	struct op_pair pair = build_pair(&op, 100000);
	char *text;

	fixture_init(&fixture, 2, PAIR_SERVER);
	fixture_add(&fixture, 0, &pair);
	fixture_finish(&fixture);
	text = fixture_json(&fixture);
	cr_assert_not_null(strstr(text, "\"by_time\":{\"server\":0.333333,\"network\":0.666667,\"client\":null}"));
	free(text);
	fixture_clear(&fixture);
}

Test(json, the_same_input_gives_the_same_bytes)
{
	struct fixture a, b;
	char *x, *y;

	fixture_init(&a, 3, PAIR_SERVER);
	fixture_init(&b, 3, PAIR_SERVER);
	fixture_fill(&a);
	fixture_fill(&b);
	fixture_finish(&a);
	fixture_finish(&b);
	x = fixture_json(&a);
	y = fixture_json(&b);
	cr_assert_str_eq(x, y);
	free(x);
	free(y);
	fixture_clear(&a);
	fixture_clear(&b);
}

Test(json, findings)
{
	struct fixture fixture;
	json_t *root, *finding, *remedies;

	fixture_init(&fixture, 2, PAIR_SERVER);
	fixture_fill(&fixture);
	fixture.captures[0].tcp.payload_bytes = 1000000;
	fixture.captures[0].tcp.lost_segments = 7;
	fixture.captures[0].tcp.lost_bytes = 10000;
	fixture_finish(&fixture);
	root = parse(&fixture);
	assert_report(root);
	cr_assert_eq(json_array_size(json_object_get(root, "findings")), 2);
	finding = json_array_get(json_object_get(root, "findings"), 0);
	cr_assert_str_eq(string(finding, "id"), "idle-wire");
	cr_assert_float_eq(json_real_value(json_object_get(json_object_get(finding, "evidence"), "idle_share")), 0.946, 0.01);
	finding = json_array_get(json_object_get(root, "findings"), 1);
	cr_assert_str_eq(string(finding, "id"), "capture-drops");
	cr_assert_str_eq(string(finding, "component"), "capture");
	cr_assert_str_eq(string(finding, "confidence"), "high");
	cr_assert_eq(number(json_object_get(finding, "evidence"), "segments"), 7);
	cr_assert(is_null(json_object_get(finding, "evidence"), "dropped_by_kernel"), "not known is not 0");
	remedies = json_object_get(finding, "remedies");
	cr_assert_str_eq(string(json_array_get(remedies, 1), "system"), "Solaris, illumos");
	json_decref(root);
	fixture_clear(&fixture);
}

/* Two calls: inside the server from 0 to 60000 and from 20000 to 80000, on the client from 0 to 100000 and 20000 more. */
Test(json, calls_in_flight)
{
	struct fixture fixture;
	json_t *root, *concurrency, *server, *row;

	fixture_init(&fixture, 2, PAIR_SERVER);
	for (unsigned i = 0; i < 2; i++) {
		struct nfs_op op = build_op(PROC_READ, 20000 * i, 98500);
		struct op_pair pair = build_pair(&op, 60000);

		fixture_add(&fixture, 0, &pair);
	}
	fixture_finish(&fixture);
	root = parse(&fixture);
	assert_report(root);
	concurrency = json_object_get(root, "concurrency");
	server = json_object_get(concurrency, "server");
	cr_assert_eq(number(server, "max"), 2);
	cr_assert_eq(json_real_value(json_object_get(server, "mean")), 1.5);
	cr_assert(is_null(server, "knee"));
	/* one for 20000 at either end, two for 40000 between */
	row = json_array_get(json_object_get(server, "histogram"), 1);
	cr_assert_eq(number(row, "from"), 2);
	cr_assert_eq(json_real_value(json_object_get(row, "share")), 0.5);
	cr_assert_eq(number(row, "calls"), 1);
	cr_assert_eq(number(row, "latency_mean_ns"), 60000);
	cr_assert_eq(json_array_size(json_object_get(concurrency, "connections")), 1);
	row = json_array_get(json_object_get(concurrency, "connections"), 0);
	cr_assert_str_eq(string(row, "client"), "10.0.0.1");
	cr_assert_eq(number(row, "client_port"), 700);
	cr_assert_str_eq(string(row, "server"), "10.0.0.2");
	cr_assert_eq(number(row, "max"), 2);
	cr_assert_eq(json_real_value(json_object_get(row, "mean")), 1.666667);
	cr_assert(is_null(row, "plateau"), "two calls are no flat top");
	json_decref(root);
	fixture_clear(&fixture);
}

/* A client's capture alone does not show what is inside the server. */
Test(json, what_no_capture_shows_is_not_in_flight)
{
	struct fixture fixture;
	struct nfs_op op = build_op(PROC_READ, 0, 98500);
	json_t *root, *concurrency;

	fixture_init(&fixture, 1, PAIR_CLIENT);
	fixture_add_alone(&fixture, 0, &op);
	fixture_finish(&fixture);
	root = parse(&fixture);
	concurrency = json_object_get(root, "concurrency");
	cr_assert(is_null(json_object_get(concurrency, "server"), "max"));
	cr_assert(is_null(json_object_get(concurrency, "server"), "mean"));
	cr_assert_eq(number(json_array_get(json_object_get(concurrency, "connections"), 0), "max"), 1);
	json_decref(root);
	fixture_clear(&fixture);
}

/* ---- layers ---- */

/* Of two mounts, one without calls. */
Test(json, the_clients_own_counters)
{
	static const struct {
		const char *name;
		int64_t mean_ns;
	} rows[] = { { "READ", 6000000 }, { "READ queue", 3500000 }, { "READ rtt", 2000000 } };
	struct mountstats_op op = { .name = "READ", .calls = 4, .queue_ms = 14, .rtt_ms = 8, .execute_ms = 24 };
	struct mountstats_mount mounts[] = {
		{ .device = (char *)"filer:/idle" },
		{ .device = (char *)"filer:/v\xff", .ops = &op, .op_count = 1 },
	};
	struct mountstats_delta counters = { .from_ns = 5, .to_ns = 7, .mounts = mounts, .mount_count = 2 };
	struct fixture fixture;
	json_t *root, *layer, *row;

	fixture_init(&fixture, 2, PAIR_SERVER);
	fixture_fill(&fixture);
	fixture.report.counters = &counters;
	fixture_finish(&fixture);
	root = parse(&fixture);
	cr_assert_eq(json_array_size(json_object_get(root, "layers")), 1);
	layer = json_array_get(json_object_get(root, "layers"), 0);
	cr_assert_str_eq(string(layer, "kind"), "mountstats");
	cr_assert_str_eq(string(layer, "name"), "filer:/v\\xff");
	cr_assert_eq(number(layer, "from_ns"), 5);
	cr_assert_eq(number(layer, "to_ns"), 7);
	cr_assert_eq(json_array_size(json_object_get(layer, "rows")), 3);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		row = json_array_get(json_object_get(layer, "rows"), i);
		cr_assert_str_eq(string(row, "name"), rows[i].name);
		cr_assert_eq(number(row, "count"), 4);
		cr_assert_eq(number(row, "mean_ns"), rows[i].mean_ns);
		cr_assert(is_null(row, "p95_ns"));
	}
	json_decref(root);
	fixture_clear(&fixture);
}
