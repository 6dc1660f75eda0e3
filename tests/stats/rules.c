/* The plain rules: where they find something, and next to it where they must not. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/arith.h"
#include "stats/build.h"
#include "stats/scene.h"

enum { US = NS_PER_US, MS = NS_PER_MS };

/* Calls of one client one after the other, with pauses in between. */
static void
calls(struct scene *scene, unsigned client, uint32_t procedure, unsigned count, int64_t server_ns, int64_t way_ns,
    int64_t pause_ns)
{
	for (unsigned i = 0; i < count; i++)
		scene_call(scene, client, procedure, i * (server_ns + way_ns + 1500 + pause_ns), server_ns, way_ns);
}

static void
assert_found(struct scene *scene, const char *id, bool found)
{
	struct findings *findings = scene_judge(scene);

	cr_assert_eq(findings_of(findings, id) != NULL, found, "%s: %s", id, found ? "missed" : "found");
	findings_free(findings);
}

/* ---- network-path-delay ---- */

/* What TCP measured between the hosts, instead of the scene's 100 us. */
static void
set_round_trip(struct scene *scene, unsigned capture, int64_t ns)
{
	struct dist *trips = &scene->captures[capture].tcp.round_trip[capture == 0 ? 1 : 0];

	dist_clear(trips);
	dist_add(trips, ns);
}

static void
path(struct scene *scene, int64_t way_ns, int64_t server_ns)
{
	calls(scene, 0, PROC_READ, 100, server_ns, way_ns, 0);
	set_round_trip(scene, 1, way_ns);
}

Test(rules, path_delay)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;
	const struct finding *finding;

	path(&scene, 10 * MS, 200 * US);
	findings = scene_judge(&scene);
	finding = finding_there(findings, "network-path-delay");
	cr_assert_eq(finding->confidence, CONFIDENCE_HIGH);
	cr_assert_eq(finding->component, COMPONENT_NETWORK);
	cr_assert_eq(finding_value(finding, "min_ns")->integer, 10 * MS);
	cr_assert_float_eq(finding_value(finding, "share")->real, 10.0 / 10.2015, 1e-6);
	cr_assert_gt(finding->remedies.count, 3);
	findings_free(findings);
}

Test(rules, path_delay_is_low_near_a_millisecond_and_none_below)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;

	path(&scene, 1200 * US, 100 * US);
	findings = scene_judge(&scene);
	cr_assert_eq(finding_there(findings, "network-path-delay")->confidence, CONFIDENCE_LOW);
	findings_free(findings);
	scene = scene_new(2, PAIR_SERVER);
	path(&scene, 200 * US, 20 * US);
	assert_found(&scene, "network-path-delay", false);
}

Test(rules, no_path_delay_where_most_of_the_time_is_elsewhere)
{
	struct scene scene = scene_new(2, PAIR_SERVER);

	path(&scene, 3 * MS, 44 * MS);
	assert_found(&scene, "network-path-delay", false);
	/* a queue, since TCP found the path short */
	scene = scene_new(2, PAIR_SERVER);
	calls(&scene, 0, PROC_READ, 100, 200 * US, 10 * MS, 0);
	assert_found(&scene, "network-path-delay", false);
}

Test(rules, path_delay_of_one_of_two_clients)
{
	struct scene scene = scene_new(3, PAIR_SERVER);
	struct findings *findings;
	const struct finding *finding;

	calls(&scene, 0, PROC_READ, 100, 200 * US, 150 * US, 0);
	calls(&scene, 1, PROC_READ, 100, 200 * US, 20 * MS, 0);
	set_round_trip(&scene, 2, 20 * MS);
	findings = scene_judge(&scene);
	finding = finding_there(findings, "network-path-delay");
	cr_assert_eq(finding_value(finding, "min_ns")->integer, 20 * MS);
	cr_assert_eq(finding_value(finding, "clients")->integer, 1);
	cr_assert_not_null(strstr(finding->text, "client 2"), "%s", finding->text);
	findings_free(findings);
}

Test(rules, path_delay_from_one_capture)
{
	struct scene scene = scene_new(1, PAIR_CLIENT);
	struct findings *findings;

	for (unsigned i = 0; i < 100; i++)
		scene_call_alone(&scene, PROC_READ, i * 11 * MS, 10 * MS);
	set_round_trip(&scene, 0, 0);
	dist_clear(&scene.captures[0].tcp.round_trip[0]);
	dist_add(&scene.captures[0].tcp.round_trip[0], 9 * MS);
	findings = scene_judge(&scene);
	cr_assert_eq(finding_there(findings, "network-path-delay")->confidence, CONFIDENCE_MEDIUM);
	findings_free(findings);

	/* connections that began before the capture: it may be late acknowledgements */
	scene = scene_new(1, PAIR_CLIENT);
	for (unsigned i = 0; i < 100; i++)
		scene_call_alone(&scene, PROC_READ, i * 11 * MS, 10 * MS);
	dist_clear(&scene.captures[0].tcp.round_trip[0]);
	dist_add(&scene.captures[0].tcp.round_trip[0], 9 * MS);
	scene.captures[0].tcp.mid_stream = scene.captures[0].tcp.rpc_connections;
	assert_found(&scene, "network-path-delay", false);
	/* the server's: it takes longer than the way */
	scene = scene_new(1, PAIR_SERVER);
	for (unsigned i = 0; i < 100; i++)
		scene_call_alone(&scene, PROC_READ, i * 11 * MS, 10 * MS);
	set_round_trip(&scene, 0, 9 * MS);
	assert_found(&scene, "network-path-delay", false);
}

/* ---- network-bandwidth ---- */

/* 100 READs of 64 KiB, one after the other, whose bytes come in at 20 Mbit/s: 44 frames in 27 ms. */
static void
full_line(struct scene *scene, int64_t way_ns, int64_t pause_ns)
{
	for (unsigned i = 0; i < 100; i++) {
		int64_t at_ns = i * (27 * MS + pause_ns);

		scene_call(scene, 0, PROC_READ, at_ns, 100 * US, 27 * MS - 100 * US - 1500);
		scene_frames(scene, 0, at_ns + 600 * US, 600 * US, 44);
	}
	/* the last byte waits behind those before it */
	for (unsigned i = 0; i < 3; i++)
		scene_call(scene, 0, PROC_GETATTR, 100 * (27 * MS + pause_ns) + i * MS, 50 * US, way_ns);
}

Test(rules, bandwidth)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;
	const struct finding *finding;

	full_line(&scene, 120 * US, 0);
	findings = scene_judge(&scene);
	finding = finding_there(findings, "network-bandwidth");
	cr_assert_eq(finding->confidence, CONFIDENCE_HIGH);
	cr_assert_float_eq((double)finding_value(finding, "rate_bps")->integer, 1460 * 8 / 600e-6, 3e5);
	cr_assert_str_eq(finding_value(finding, "direction")->word, "to client");
	cr_assert_null(findings_of(findings, "network-path-delay"));
	findings_free(findings);
}

/* The same bytes at the same rate, but the way is as short as ever: it is the server that sends no faster. */
Test(rules, no_bandwidth_without_a_queue)
{
	struct scene scene = scene_new(2, PAIR_SERVER);

	for (unsigned i = 0; i < 100; i++) {
		scene_call(&scene, 0, PROC_READ, i * 27 * MS, 27 * MS - 120 * US - 1500, 120 * US);
		scene_frames(&scene, 0, i * 27 * MS + 600 * US, 600 * US, 44);
	}
	assert_found(&scene, "network-bandwidth", false);
}

/* A queue, but the bytes come in bursts between which nothing moves. */
Test(rules, no_bandwidth_on_a_line_with_room)
{
	struct scene scene = scene_new(2, PAIR_SERVER);

	for (unsigned i = 0; i < 100; i++) {
		scene_call(&scene, 0, PROC_READ, i * 27 * MS, 100 * US, 27 * MS - 100 * US - 1500);
		scene_frames(&scene, 0, i * 27 * MS + 600 * US, 12 * US, 44);
	}
	assert_found(&scene, "network-bandwidth", false);
}

/* The application asks for little: each READ waits for its own bytes only. */
Test(rules, no_bandwidth_for_an_idle_application)
{
	struct scene scene = scene_new(2, PAIR_SERVER);

	full_line(&scene, 120 * US, 40 * MS);
	assert_found(&scene, "network-bandwidth", false);
}

/* Two clients share a line of 20 Mbit/s, now the one and now the other has most of it. */
static void
shared_line(struct scene *scene, int64_t way_ns)
{
	static const unsigned turns[] = { 0, 0, 0, 1, 0, 1, 1, 1 };

	for (unsigned i = 0; i < 400; i++) {
		unsigned client = turns[i % G_N_ELEMENTS(turns)];
		int64_t at_ns = (int64_t)i * 44 * 600 * US;

		/* each waits for the other, too: there is always a call of both in flight */
		for (unsigned both = 0; both < 2; both++)
			scene_call(scene, both, PROC_READ, at_ns, 44 * 600 * US - way_ns - 1500, way_ns);
		for (unsigned part = 0; part < 4; part++)
			scene_frames(scene, (client + part / 3) % 2, at_ns + part * 11 * 600 * US, 600 * US, 11);
	}
}

Test(rules, bandwidth_that_clients_share)
{
	struct scene scene = scene_new(3, PAIR_SERVER);
	struct findings *findings;
	const struct finding *finding;

	shared_line(&scene, 20 * MS);
	findings = scene_judge(&scene);
	finding = finding_there(findings, "network-bandwidth");
	cr_assert_eq(finding->confidence, CONFIDENCE_MEDIUM);
	cr_assert_float_eq((double)finding_value(finding, "rate_bps")->integer, 1460 * 8 / 600e-6, 3e5);
	cr_assert_not_null(strstr(finding->text, "all clients together"), "%s", finding->text);
	findings_free(findings);
	/* no queue on the way: the server gives no more */
	scene = scene_new(3, PAIR_SERVER);
	shared_line(&scene, 120 * US);
	assert_found(&scene, "network-bandwidth", false);
}

/* ---- server-slow-service ---- */

Test(rules, slow_service)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;
	const struct finding *finding;

	calls(&scene, 0, PROC_READ, 100, 18 * MS, 1100 * US, 0);
	calls(&scene, 0, PROC_GETATTR, 500, 50 * US, 150 * US, 0);
	findings = scene_judge(&scene);
	finding = finding_there(findings, "server-slow-service");
	cr_assert_eq(finding->confidence, CONFIDENCE_HIGH);
	cr_assert_eq(finding_value(finding, "service_mean_ns")->integer, 18 * MS);
	cr_assert_eq(finding_value(finding, "calls")->integer, 100);
	cr_assert_str_eq(finding_value(finding, "grows")->word, "no", "one call at a time");
	cr_assert_not_null(strstr(finding->text, "in the mean: READ 18.0ms. That is 90 % of the time of all calls; the network "
	    "adds 310us a call. They take no longer"), "%s", finding->text);
	findings_free(findings);
}

/* Batches of calls at the same time, batch after batch: of 2, and of 20. */
static void
batches(struct scene *scene, int64_t few_ns, int64_t many_ns)
{
	int64_t at_ns = 0;

	for (unsigned batch = 0; batch < 80; batch++) {
		unsigned size = batch % 2 == 0 ? 2 : 20;
		int64_t server_ns = batch % 2 == 0 ? few_ns : many_ns;

		for (unsigned i = 0; i < size; i++)
			scene_call(scene, 0, PROC_READ, at_ns + i * 100, server_ns, 100 * US);
		at_ns += server_ns + MS;
	}
}

Test(rules, slow_service_and_calls_in_flight)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;
	const struct finding *finding;

	batches(&scene, 5 * MS, 5 * MS);
	findings = scene_judge(&scene);
	finding = finding_there(findings, "server-slow-service");
	cr_assert_eq(finding->confidence, CONFIDENCE_HIGH);
	cr_assert_str_eq(finding_value(finding, "grows")->word, "no");
	findings_free(findings);

	/* ten times as long for ten times as many: a queue in the server */
	scene = scene_new(2, PAIR_SERVER);
	batches(&scene, 5 * MS, 50 * MS);
	findings = scene_judge(&scene);
	finding = finding_there(findings, "server-slow-service");
	cr_assert_eq(finding->confidence, CONFIDENCE_MEDIUM);
	cr_assert_str_eq(finding_value(finding, "grows")->word, "yes");
	cr_assert_not_null(strstr(finding->text, "they queue"), "%s", finding->text);
	findings_free(findings);

	/* always two */
	scene = scene_new(2, PAIR_SERVER);
	for (unsigned i = 0; i < 1000; i++)
		scene_call(&scene, 0, PROC_READ, (int64_t)i * 2550 * US, 5 * MS, 100 * US);
	findings = scene_judge(&scene);
	finding = finding_there(findings, "server-slow-service");
	cr_assert_eq(finding->confidence, CONFIDENCE_MEDIUM);
	cr_assert(!finding_value(finding, "grows")->known);
	findings_free(findings);

	/* with calls that the capture does not show, few in flight may have been many */
	scene = scene_new(2, PAIR_SERVER);
	batches(&scene, 5 * MS, 5 * MS);
	scene.captures[0].rpc.calls = 900;
	scene.captures[0].rpc.orphan_replies = 11;
	findings = scene_judge(&scene);
	finding = finding_there(findings, "server-slow-service");
	cr_assert_eq(finding->confidence, CONFIDENCE_LOW);
	cr_assert(!finding_value(finding, "grows")->known);
	cr_assert_not_null(strstr(finding->text, "lacks some"), "%s", finding->text);
	findings_free(findings);
}

/* Most of the time is in the server, and little it is. */
Test(rules, a_fast_server_is_not_slow)
{
	struct scene scene = scene_new(2, PAIR_SERVER);

	calls(&scene, 0, PROC_READ, 100, 1000 * US, 200 * US, 0);
	assert_found(&scene, "server-slow-service", false);
	/* three of a thousand calls that hung, or were timed across the step of a clock */
	scene = scene_new(2, PAIR_SERVER);
	calls(&scene, 0, PROC_READ, 1000, 900 * US, 200 * US, 0);
	calls(&scene, 0, PROC_READ, 3, INT64_C(3000) * MS, 200 * US, 0);
	assert_found(&scene, "server-slow-service", false);
	/* slow operations, but few of them */
	scene = scene_new(2, PAIR_SERVER);
	calls(&scene, 0, PROC_READ, 1000, 900 * US, 200 * US, 0);
	calls(&scene, 0, PROC_WRITE, 40, 5 * MS, 200 * US, 0);
	assert_found(&scene, "server-slow-service", false);
}

Test(rules, slow_service_from_one_capture)
{
	struct scene scene = scene_new(1, PAIR_CLIENT);
	struct findings *findings;
	const struct finding *finding;

	for (unsigned i = 0; i < 100; i++)
		scene_call_alone(&scene, PROC_READ, i * 11 * MS, 10 * MS);
	findings = scene_judge(&scene);
	finding = finding_there(findings, "server-slow-service");
	cr_assert_eq(finding->confidence, CONFIDENCE_LOW, "an estimate");
	cr_assert_eq(finding_value(finding, "service_mean_ns")->integer, 10 * MS - 100 * US + 1500);
	cr_assert_not_null(strstr(finding->text, "an estimate"));
	findings_free(findings);
}

/* ---- idle-wire ---- */

Test(rules, idle_wire)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;
	const struct finding *finding;

	calls(&scene, 0, PROC_READ, 200, 200 * US, 100 * US, 3 * MS);
	findings = scene_judge(&scene);
	finding = finding_there(findings, "idle-wire");
	cr_assert_eq(finding->confidence, CONFIDENCE_HIGH);
	cr_assert(finding->outside_wire);
	cr_assert_float_eq(finding_value(finding, "idle_share")->real, 3 / 3.3015, 0.01);
	findings_free(findings);
}

Test(rules, idle_wire_is_not_told_of_a_busy_client)
{
	struct scene scene = scene_new(2, PAIR_SERVER);

	calls(&scene, 0, PROC_READ, 200, 200 * US, 100 * US, 300 * US);
	assert_found(&scene, "idle-wire", false);
	/* one of two is busy */
	scene = scene_new(3, PAIR_SERVER);
	calls(&scene, 0, PROC_READ, 200, 200 * US, 100 * US, 3 * MS);
	calls(&scene, 1, PROC_READ, 200, 200 * US, 100 * US, 0);
	assert_found(&scene, "idle-wire", false);
	/* one long pause */
	scene = scene_new(2, PAIR_SERVER);
	calls(&scene, 0, PROC_READ, 200, 200 * US, 100 * US, 300 * US);
	scene_call(&scene, 0, PROC_READ, INT64_C(5000) * MS, 200 * US, 100 * US);
	assert_found(&scene, "idle-wire", false);
	/* calls that the capture lost may have been in flight */
	scene = scene_new(2, PAIR_SERVER);
	calls(&scene, 0, PROC_READ, 200, 200 * US, 100 * US, 3 * MS);
	scene.captures[1].rpc.outcomes[OP_LOST_IN_CAPTURE] = 20;
	scene.captures[1].rpc.outcomes[OP_ANSWERED] -= 20;
	assert_found(&scene, "idle-wire", false);
}

/* The server's capture alone: calls on the way are in flight, too. */
Test(rules, idle_wire_at_the_server)
{
	struct scene scene = scene_new(1, PAIR_SERVER);
	struct findings *findings;

	for (unsigned i = 0; i < 200; i++)
		scene_call_alone(&scene, PROC_READ, i * 2 * MS, 100 * US);
	findings = scene_judge(&scene);
	cr_assert_eq(finding_there(findings, "idle-wire")->confidence, CONFIDENCE_LOW);
	findings_free(findings);
	scene = scene_new(1, PAIR_SERVER);
	for (unsigned i = 0; i < 200; i++)
		scene_call_alone(&scene, PROC_READ, i * 2 * MS, 100 * US);
	set_round_trip(&scene, 0, 1800 * US);
	assert_found(&scene, "idle-wire", false);
}

/* Next to a slow path the pauses are no proof that the path is well. */
Test(rules, idle_wire_beside_another_finding)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;

	calls(&scene, 0, PROC_READ, 100, 200 * US, 10 * MS, 90 * MS);
	set_round_trip(&scene, 1, 10 * MS);
	findings = scene_judge(&scene);
	cr_assert_eq(finding_there(findings, "idle-wire")->confidence, CONFIDENCE_MEDIUM);
	finding_there(findings, "network-path-delay");
	findings_free(findings);
}

/* ---- serial-client ---- */

static void
sequential(struct scene *scene, unsigned count, int64_t gap_ns, bool ahead)
{
	for (unsigned i = 0; i < count; i++) {
		struct nfs_op op = build_op(PROC_READ, i * (300 * US + gap_ns), 298500);
		struct op_pair pair;

		if (ahead)
			op.call_first_ns -= 250 * US;
		build_data(&op, 1, (uint64_t)i * 65536, 65536, 65536);
		pair = build_pair(&op, 150 * US);
		aggregate_add_op(scene->aggregate, 0, &pair.op[PAIR_SERVER]);
		aggregate_add_op(scene->aggregate, 1, &pair.op[PAIR_CLIENT]);
		aggregate_add_pair(scene->aggregate, &pair);
	}
}

Test(rules, serial_client)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;
	const struct finding *finding;

	sequential(&scene, 200, 20 * US, false);
	findings = scene_judge(&scene);
	finding = finding_there(findings, "serial-client");
	cr_assert_eq(finding->component, COMPONENT_CLIENT);
	cr_assert_eq(finding->confidence, CONFIDENCE_MEDIUM);
	cr_assert_eq(finding_value(finding, "reads")->integer, 199);
	cr_assert_eq(finding_value(finding, "read_mean_ns")->integer, 300 * US);
	cr_assert_eq(finding_value(finding, "gap_mean_ns")->integer, 20 * US);
	findings_free(findings);
}

Test(rules, readers_that_are_not_serial)
{
	struct scene scene = scene_new(2, PAIR_SERVER);

	sequential(&scene, 200, 20 * US, true);		/* reads ahead */
	assert_found(&scene, "serial-client", false);
	scene = scene_new(2, PAIR_SERVER);
	sequential(&scene, 200, 400 * US, false);	/* thinks for longer than it waits */
	assert_found(&scene, "serial-client", false);
	scene = scene_new(2, PAIR_SERVER);
	sequential(&scene, 40, 20 * US, false);		/* a small file */
	assert_found(&scene, "serial-client", false);
	scene = scene_new(2, PAIR_SERVER);
	calls(&scene, 0, PROC_READ, 200, 150 * US, 150 * US, 0);	/* at random offsets */
	assert_found(&scene, "serial-client", false);
}

/* Poor captures support findings about themselves only. */
Test(rules, poor_captures)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;

	path(&scene, 10 * MS, 200 * US);
	scene.captures[0].tcp.lost_segments = 100;
	scene.captures[0].tcp.lost_bytes = 900000;
	findings = scene_judge(&scene);
	cr_assert_null(findings_of(findings, "network-path-delay"));
	finding_there(findings, "capture-drops");
	findings_free(findings);
}

/* ---- the verdict's words ---- */

static void
assert_verdict(struct scene *scene, double server_share, enum component component, const char *text)
{
	struct findings *findings = scene_judge(scene);
	struct quality quality = { .level = QUALITY_GOOD };
	struct aggregate_totals totals = {
		.matched = 100, .total_ns = 1000000,
		.server_ns = (int64_t)(server_share * 1000000),
		.network_ns = (int64_t)((1 - server_share) * 1000000),
	};
	struct verdict *verdict = verdict_judge(&quality, &totals, findings);

	cr_assert_eq(verdict->component, component, "%s", verdict->text);
	cr_assert_str_eq(verdict->text, text);
	verdict_free(verdict);
	findings_free(findings);
}

Test(rules, verdict_says_slow_where_a_finding_does)
{
	struct scene scene = scene_new(2, PAIR_SERVER);

	calls(&scene, 0, PROC_READ, 100, 18 * MS, 1100 * US, 0);
	assert_verdict(&scene, 0.94, COMPONENT_SERVER,
	    "the server is slow: 94 % of the time is there (server-slow-service)");
	scene = scene_new(2, PAIR_SERVER);
	path(&scene, 10 * MS, 200 * US);
	assert_verdict(&scene, 0.02, COMPONENT_NETWORK,
	    "the network is slow: 98 % of the time is there, what the client adds included (network-path-delay)");
	/* a sign only */
	scene = scene_new(2, PAIR_SERVER);
	path(&scene, 1200 * US, 100 * US);
	assert_verdict(&scene, 0.08, COMPONENT_NETWORK,
	    "most of the time is in the network (92 %, what the client adds included); there is a sign of a fault, no more: "
	    "network-path-delay");
	/* of another part */
	scene = scene_new(2, PAIR_SERVER);
	path(&scene, 10 * MS, 200 * US);
	assert_verdict(&scene, 0.6, COMPONENT_SERVER,
	    "most of the time is in the server (60 %); nothing marks that as a fault, but see network-path-delay");
}

Test(rules, verdict_of_the_client)
{
	struct scene scene = scene_new(2, PAIR_SERVER);

	calls(&scene, 0, PROC_READ, 200, 200 * US, 100 * US, 3 * MS);
	assert_verdict(&scene, 0.7, COMPONENT_CLIENT,
	    "more time passes in the client outside the wire than on it (idle-wire)");
	/* at medium confidence it is not enough */
	scene = scene_new(2, PAIR_SERVER);
	calls(&scene, 0, PROC_READ, 100, 18 * MS, 1100 * US, 180 * MS);
	assert_verdict(&scene, 0.94, COMPONENT_SERVER,
	    "the server is slow: 94 % of the time is there (server-slow-service)");
}

/* So many calls of 1 ms, of which the first ones waited so long for so many segments. */
static void
add_calls(struct scene *scene, unsigned calls, unsigned waited, int64_t wait_ns, uint32_t segments)
{
	struct nfs_op op = build_op(PROC_READ, 0, 998500);

	for (unsigned i = 0; i < calls; i++) {
		struct op_pair pair = build_pair(&op, 100000);

		pair.parts.retransmit_known = true;
		pair.parts.retransmit_ns = i < waited ? wait_ns : 0;
		pair.parts.lost_segments = i == 0 ? segments : 0;
		aggregate_add_pair(scene->aggregate, &pair);
	}
}

static void
assert_no_loss(struct scene *scene)
{
	struct findings *findings = scene_judge(scene);

	cr_assert_null(findings_of(findings, "network-loss"));
	findings_free(findings);
}

Test(rules, loss_with_its_cost)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;
	const struct finding *finding;

	add_calls(&scene, 1000, 50, 400000, 7);
	findings = scene_judge(&scene);
	finding = finding_there(findings, "network-loss");
	cr_assert_eq(finding->component, COMPONENT_NETWORK);
	cr_assert_eq(finding->confidence, CONFIDENCE_HIGH);
	cr_assert_eq(finding_value(finding, "segments")->integer, 7);
	cr_assert_eq(finding_value(finding, "calls")->integer, 50);
	cr_assert_eq(finding_value(finding, "cost_ns")->integer, 50 * 400000);
	cr_assert_eq(finding_value(finding, "cost_per_call_ns")->integer, 400000);
	cr_assert_float_eq(finding_value(finding, "cost_share")->real, 0.02, 1e-9);
	cr_assert_neq(finding->remedies.count, 0);
	findings_free(findings);
}

Test(rules, loss_that_costs_little_or_is_not_known)
{
	struct scene scene = scene_new(2, PAIR_SERVER);

	add_calls(&scene, 1000, 24, 400000, 7);
	assert_no_loss(&scene);

	scene = scene_new(2, PAIR_SERVER);
	add_calls(&scene, 1000, 50, 400000, 2);
	assert_no_loss(&scene);

	/* of two in three calls the captures lack too much */
	scene = scene_new(2, PAIR_SERVER);
	add_calls(&scene, 500, 50, 400000, 7);
	for (unsigned i = 0; i < 1000; i++) {
		struct nfs_op op = build_op(PROC_READ, 0, 998500);
		struct op_pair pair = build_pair(&op, 100000);

		aggregate_add_pair(scene.aggregate, &pair);
	}
	assert_no_loss(&scene);
}

/* That calls were put off is no part of the calls' own time: it does not explain where that is. */
Test(rules, verdict_beside_calls_that_were_put_off)
{
	struct scene scene = scene_new(2, PAIR_SERVER);

	for (unsigned i = 0; i < 100; i++) {
		struct nfs_op op = build_op(PROC_READ, i * 20 * MS, 900 * US + 100 * US);
		struct op_pair pair;

		op.status = 10008;	/* NFS3ERR_JUKEBOX, RFC 1813 section 2.6 */
		build_data(&op, 1, i, 4096, 0);
		pair = build_pair(&op, 900 * US);
		aggregate_add_op(scene.aggregate, 0, &pair.op[PAIR_SERVER]);
		aggregate_add_op(scene.aggregate, 1, &pair.op[PAIR_CLIENT]);
		aggregate_add_pair(scene.aggregate, &pair);
	}
	assert_verdict(&scene, 0.9, COMPONENT_SERVER,
	    "most of the time is in the server (90 %); nothing marks that as a fault, but see jukebox-delay");
}
