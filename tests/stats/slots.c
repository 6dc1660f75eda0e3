/* Slot tables, sessions, and more calls than a server likes: where the rules find something, and where not. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "base/arith.h"
#include "stats/build.h"
#include "stats/scene.h"

enum { US = NS_PER_US, MS = NS_PER_MS };

/*
 * `slots` calls at a time for so many rounds; each takes server_ns and 50 us on
 * the way, and the next one leaves gap_ns after its reply. Slot i is free
 * a while after slot i - 1. build_op adds 1500 ns.
 */
struct table {
	unsigned slots, rounds;
	int64_t server_ns, gap_ns;
};

static int64_t
start_of(const struct table *table, unsigned round, unsigned slot)
{
	int64_t call_ns = table->server_ns + 50 * US + 1500 + table->gap_ns;

	return round * call_ns + slot * call_ns / table->slots;
}

static void
fill(struct scene *scene, const struct table *table)
{
	for (unsigned round = 0; round < table->rounds; round++) {
		for (unsigned slot = 0; slot < table->slots; slot++)
			scene_call(scene, 0, PROC_READ, start_of(table, round, slot), table->server_ns, 50 * US);
	}
}

static void
assert_found(struct scene *scene, const char *id, bool found)
{
	struct findings *findings = scene_judge(scene);

	cr_assert_eq(findings_of(findings, id) != NULL, found, "%s: %s", id, found ? "missed" : "found");
	findings_free(findings);
}

static void
assert_slots(const struct table *table, bool found)
{
	struct scene scene = scene_new(2, PAIR_SERVER);

	fill(&scene, table);
	assert_found(&scene, "client-slot-saturation", found);
}

Test(slots, a_full_table_of_a_known_size)
{
	struct table table = { .slots = 16, .rounds = 50, .server_ns = 500 * US, .gap_ns = 20 * US };
	struct scene scene = scene_new(2, PAIR_SERVER);
	const struct finding *finding;
	struct findings *findings;

	fill(&scene, &table);
	findings = scene_judge(&scene);
	finding = finding_there(findings, "client-slot-saturation");
	cr_assert_eq(finding->confidence, CONFIDENCE_MEDIUM);
	cr_assert_eq(finding->component, COMPONENT_CLIENT);
	cr_assert_eq(finding_value(finding, "slots")->integer, 16);
	cr_assert_eq(finding_value(finding, "connections")->integer, 1);
	cr_assert_float_eq(finding_value(finding, "busy_share")->real, 1, 0.05);
	cr_assert_eq(finding_value(finding, "reuse_mean_ns")->integer, 20 * US);
	cr_assert_not_null(strstr(finding->doubt, "A slot table of 16 and 16 callers"));
	cr_assert_not_null(strstr(finding->doubt, "nfsiostat"));
	cr_assert_gt(finding->remedies.count, 3);
	findings_free(findings);
}

static enum confidence
confidence_of(const struct table *table)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	enum confidence confidence;
	struct findings *findings;

	fill(&scene, table);
	findings = scene_judge(&scene);
	confidence = finding_there(findings, "client-slot-saturation")->confidence;
	findings_free(findings);
	return confidence;
}

Test(slots, another_size_is_low)
{
	cr_assert_eq(confidence_of(&(struct table){ 5, 50, 500 * US, 20 * US }), CONFIDENCE_LOW);
	cr_assert_eq(confidence_of(&(struct table){ 2, 50, 500 * US, 20 * US }), CONFIDENCE_MEDIUM);
	cr_assert_eq(confidence_of(&(struct table){ 17, 50, 500 * US, 20 * US }), CONFIDENCE_LOW);
}

/* 90 us between a reply and the next call, of calls that take 251 us: not what a waiting call would do. */
Test(slots, a_known_size_with_a_client_that_takes_its_time_is_low)
{
	cr_assert_eq(confidence_of(&(struct table){ 16, 50, 200 * US, 90 * US }), CONFIDENCE_LOW);
}

/* 35 ms of calls in every 200 ms: the storage is not what the application waits for. */
Test(slots, a_known_size_now_and_then_is_low)
{
	struct table table = { .slots = 16, .rounds = 60, .server_ns = 500 * US, .gap_ns = 20 * US };
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;

	for (unsigned burst = 0; burst < 10; burst++) {
		for (unsigned i = 0; i < table.slots * table.rounds; i++)
			scene_call(&scene, 0, PROC_READ, burst * 200 * MS + start_of(&table, i / 16, i % 16),
			    table.server_ns, 50 * US);
	}
	findings = scene_judge(&scene);
	cr_assert_eq(finding_there(findings, "client-slot-saturation")->confidence, CONFIDENCE_LOW);
	findings_free(findings);
}

Test(slots, no_table_where_the_next_call_is_late_or_alone)
{
	assert_slots(&(struct table){ 4, 50, 500 * US, 350 * US }, false);
	assert_slots(&(struct table){ 1, 200, 500 * US, 20 * US }, false);
}

/* One at a time takes 100 us in the server, sixteen take ten times as long: more would only wait longer. */
Test(slots, no_table_where_the_server_takes_longer_the_more_there_are)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct table few = { .slots = 1, .rounds = 100, .server_ns = 100 * US, .gap_ns = 20 * US };
	struct table many = { .slots = 16, .rounds = 100, .server_ns = 1000 * US, .gap_ns = 20 * US };
	int64_t from_ns = start_of(&few, few.rounds, 0);

	fill(&scene, &few);
	for (unsigned round = 0; round < many.rounds; round++) {
		for (unsigned slot = 0; slot < many.slots; slot++)
			scene_call(&scene, 0, PROC_READ, from_ns + start_of(&many, round, slot), many.server_ns, 50 * US);
	}
	assert_found(&scene, "client-slot-saturation", false);
}

/* Calls of 32 KiB through a window of 8: three of four round trips pass between a call's first byte and its last. */
Test(slots, no_table_where_a_window_lets_out_a_piece_at_a_time)
{
	static const int64_t sending_ns[] = { 300 * US, 100 * US };

	for (size_t i = 0; i < G_N_ELEMENTS(sending_ns); i++) {
		struct scene scene = scene_new(1, PAIR_CLIENT);

		for (unsigned j = 0; j < 800; j++) {
			struct nfs_op op = build_op(PROC_WRITE, j * 100 * US, 380 * US - sending_ns[i]);

			op.call_last_ns += sending_ns[i];
			op.reply_first_ns += sending_ns[i];
			op.reply_last_ns += sending_ns[i];
			aggregate_add_op(scene.aggregate, 0, &op);
		}
		assert_found(&scene, "client-slot-saturation", i == 1);
	}
}

/* 128 is no advice where there are as many, or more. */
Test(slots, no_remedy_that_lowers)
{
	static const unsigned slots[] = { 64, 128, 200 };

	for (size_t i = 0; i < G_N_ELEMENTS(slots); i++) {
		struct table table = { .slots = slots[i], .rounds = 30, .server_ns = 5000 * US, .gap_ns = 2 * US };
		struct scene scene = scene_new(2, PAIR_SERVER);
		const struct finding *finding;
		struct findings *findings;
		bool names = false;

		fill(&scene, &table);
		findings = scene_judge(&scene);
		finding = finding_there(findings, "client-slot-saturation");
		for (unsigned j = 0; j < finding->remedies.count; j++)
			names = names || (finding->remedies.remedy[j].command != NULL &&
			    strstr(finding->remedies.remedy[j].command, "slot_table_entries=128") != NULL);
		cr_assert_eq(names, slots[i] < 128);
		findings_free(findings);
	}
}

/* A client's capture of another time: what it shows happened, but not here. */
Test(slots, a_stranger_says_nothing)
{
	struct table table = { .slots = 16, .rounds = 50, .server_ns = 500 * US, .gap_ns = 20 * US };
	struct scene scene = scene_new(2, PAIR_SERVER);

	fill(&scene, &table);
	scene.captures[1].paired_calls = 99;
	assert_found(&scene, "client-slot-saturation", false);
}

/* A capture alone shows only its own side: the server's may have its reasons, a call on its way is in none of its own. */
Test(slots, one_capture)
{
	struct table table = { .slots = 16, .rounds = 50, .server_ns = 500 * US, .gap_ns = 20 * US };

	for (enum pair_side side = PAIR_SERVER; side <= PAIR_CLIENT; side++) {
		struct scene scene = scene_new(1, side);
		const struct finding *finding;
		struct findings *findings;

		for (unsigned i = 0; i < table.slots * table.rounds; i++)
			scene_call_alone(&scene, PROC_READ, start_of(&table, i / 16, i % 16), 550 * US);
		findings = scene_judge(&scene);
		finding = findings_of(findings, "client-slot-saturation");
		cr_assert_eq(finding != NULL, side == PAIR_CLIENT);
		cr_assert(finding == NULL || finding->confidence == CONFIDENCE_LOW);
		findings_free(findings);
	}
}

/* Of what a capture lacks, more than one call in twenty, some may have been above the top. */
Test(slots, a_capture_that_lacks_calls_shows_no_top)
{
	struct table table = { .slots = 16, .rounds = 50, .server_ns = 500 * US, .gap_ns = 20 * US };
	struct scene scene = scene_new(2, PAIR_SERVER);

	fill(&scene, &table);
	scene.captures[1].rpc.hidden_records = 16 * 50 / 20 + 1;
	assert_found(&scene, "client-slot-saturation", false);
}

/* ---- sessions ---- */

struct session {
	unsigned slots;			/* that the client uses */
	uint32_t granted, highest, target;
};

/* A client's capture: SEQUENCE on two connections in turn. */
static struct findings *
judge_session(const struct session *session, int64_t gap_ns)
{
	struct table table = { .slots = session->slots, .rounds = 30, .server_ns = 500 * US, .gap_ns = gap_ns };
	struct scene scene = scene_new(1, PAIR_CLIENT);
	struct nfs_op op = build_op(1, -2 * MS, 50 * US);

	op.version = 4;
	op.minor = 1;
	op.session = 77;
	if (session->granted > 0) {
		op.slots_granted = session->granted;
		op.valid |= OP_HAS_GRANTED;
		aggregate_add_op(scene.aggregate, 0, &op);
	}
	for (unsigned i = 0; i < table.slots * table.rounds; i++) {
		op = build_op(1, start_of(&table, i / table.slots, i % table.slots), 550 * US);
		op.version = 4;
		op.minor = 1;
		op.client.port = (uint16_t)(700 + i % 2);
		op.connection = 1 + i % 2;
		op.session = 77;
		op.slot = i % table.slots;
		op.slot_highest = session->highest;
		op.slot_target = session->target;
		op.valid |= OP_HAS_SLOT | OP_HAS_SLOT_LIMITS;
		aggregate_add_op(scene.aggregate, 0, &op);
	}
	return scene_judge(&scene);
}

Test(slots, a_session_whose_slots_are_all_in_use)
{
	struct findings *findings = judge_session(&(struct session){ 10, 10, 9, 9 }, 20 * US);
	const struct finding *finding = finding_there(findings, "session-slot-saturation");

	cr_assert_eq(finding->confidence, CONFIDENCE_HIGH);
	cr_assert_eq(finding->component, COMPONENT_CLIENT);
	cr_assert_eq(finding_value(finding, "slots")->integer, 10);
	cr_assert_eq(finding_value(finding, "slots_granted")->integer, 10);
	cr_assert_gt(finding_value(finding, "busy_share")->real, 0.9);
	cr_assert_null(findings_of(findings, "client-slot-saturation"), "it is the session's slots, and no other table");
	findings_free(findings);
}

/* In the middle of a session its CREATE_SESSION was not captured: SEQUENCE says the same. */
Test(slots, a_session_that_began_before_the_capture)
{
	struct findings *findings = judge_session(&(struct session){ 10, 0, 9, 9 }, 20 * US);

	cr_assert_eq(finding_value(finding_there(findings, "session-slot-saturation"), "slots_granted")->integer, 10);
	findings_free(findings);
}

Test(slots, the_server_asks_for_fewer)
{
	struct findings *findings = judge_session(&(struct session){ 10, 64, 63, 9 }, 20 * US);
	const struct finding *finding = finding_there(findings, "session-slot-saturation");

	cr_assert_eq(finding->component, COMPONENT_SERVER);
	cr_assert_eq(finding_value(finding, "slots_granted")->integer, 10);
	findings_free(findings);
}

static void
assert_no_session(const struct session *session, int64_t gap_ns)
{
	struct findings *findings = judge_session(session, gap_ns);

	cr_assert_null(findings_of(findings, "session-slot-saturation"));
	cr_assert_null(findings_of(findings, "client-slot-saturation"));
	findings_free(findings);
}

Test(slots, slots_that_are_left_are_no_saturation)
{
	assert_no_session(&(struct session){ 10, 11, 10, 10 }, 20 * US);
	assert_no_session(&(struct session){ 10, 64, 63, 63 }, 20 * US);
	/* nor is it another table of ten */
	/* all of them are used, but seldom at a time */
	assert_no_session(&(struct session){ 10, 10, 9, 9 }, 2000 * US);
	/* nobody says how many there are */
	assert_no_session(&(struct session){ 10, 0, UINT32_MAX, UINT32_MAX }, 20 * US);
}

/* ---- too many ---- */

/* A few calls at first, then `slots` of them that take server_ns. */
static struct findings *
judge_many(unsigned slots, int64_t server_ns, uint64_t windows_shrunk)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct table few = { .slots = 2, .rounds = 100, .server_ns = 200 * US, .gap_ns = 20 * US };
	struct table many = { .slots = slots, .rounds = 20, .server_ns = server_ns, .gap_ns = 20 * US };
	int64_t from_ns = start_of(&few, few.rounds, 0);

	fill(&scene, &few);
	for (unsigned i = 0; i < many.slots * many.rounds; i++)
		scene_call(&scene, 0, PROC_READ, from_ns + start_of(&many, i / slots, i % slots), many.server_ns, 50 * US);
	scene.captures[0].tcp.server_window_shrunk = windows_shrunk;
	return scene_judge(&scene);
}

Test(slots, more_calls_than_the_server_takes)
{
	struct findings *findings = judge_many(200, 2000 * US, 3);
	const struct finding *finding = finding_there(findings, "slot-count-too-high");

	cr_assert_eq(finding->component, COMPONENT_SERVER);
	cr_assert_eq(finding->confidence, CONFIDENCE_MEDIUM);
	/* the last begins 10 us before the first is over, and that one's next 20 us after */
	cr_assert_eq(finding_value(finding, "most")->integer, 199);
	cr_assert_eq(finding_value(finding, "windows_shrunk")->integer, 3);
	cr_assert_float_eq(finding_value(finding, "latency_ratio")->real, 10, 0.5);
	findings_free(findings);
}

Test(slots, one_sign_of_three_is_missing)
{
	static const struct {
		unsigned slots;
		int64_t server_ns;
		uint64_t shrunk;
	} cases[] = { { 120, 2000 * US, 3 }, { 200, 200 * US, 3 }, { 200, 2000 * US, 0 } };

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct findings *findings = judge_many(cases[i].slots, cases[i].server_ns, cases[i].shrunk);

		cr_assert_null(findings_of(findings, "slot-count-too-high"), "case %zu", i);
		findings_free(findings);
	}
}

/* ---- with the client's own counters ---- */

/*
 * A full table of 16 with 800 READs, and what the counters of the client's
 * mount say of the same time: calls, each with so many microseconds before it
 * was sent, as many after, and calls that waited at each.
 */
struct counted {
	uint64_t calls, queue_us, rtt_us;
	double backlog;
	unsigned server;		/* last byte of its address */
};

static struct mountstats_mount
counted_mount(const struct counted *counted, struct mountstats_op *op)
{
	struct mountstats_mount mount = {
		.device = (char *)"filer:/vol", .place = (char *)"/mnt", .address_known = counted->server != 0,
		.address = { [10] = 0xff, [11] = 0xff, 10, 0, 0, (uint8_t)counted->server },
		.ops = op, .op_count = 1,
		.transport = { .count = 1, .sends = counted->calls, .backlog = (uint64_t)(counted->backlog * (double)counted->calls) },
	};

	*op = (struct mountstats_op){
		.name = "READ", .calls = counted->calls, .transmissions = counted->calls,
		.queue_ms = counted->calls * counted->queue_us / 1000, .rtt_ms = counted->calls * counted->rtt_us / 1000,
		.execute_ms = counted->calls * (counted->queue_us + counted->rtt_us) / 1000,
	};
	return mount;
}

static struct findings *
judge_counted(const struct counted *counted, unsigned slots)
{
	struct table table = { .slots = slots, .rounds = 800 / slots, .server_ns = 500 * US, .gap_ns = 20 * US };
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct mountstats_op op;
	struct mountstats_mount mount = counted_mount(counted, &op);
	struct mountstats_delta delta = { .mounts = &mount, .mount_count = 1 };

	fill(&scene, &table);
	scene.counters = &delta;
	return scene_judge(&scene);
}

Test(slots, counters_show_the_wait)
{
	/* 5 has no table: whatever the size, the counters know */
	struct findings *findings = judge_counted(&(struct counted){ 800, 3000, 1000, 12.5, 2 }, 5);
	const struct finding *finding = finding_there(findings, "client-slot-saturation");

	cr_assert_eq(finding->confidence, CONFIDENCE_HIGH);
	cr_assert_null(finding->doubt);
	cr_assert(finding->outside_wire);
	cr_assert_not_null(strstr(finding->text, "a call waits 3.00ms in the mean before it is sent, 75 % of its time there, "
	    "behind 12.5 others that wait for a slot."), "%s", finding->text);
	cr_assert_eq(finding_value(finding, "slots")->integer, 5);
	cr_assert_eq(finding_value(finding, "counted_calls")->integer, 800);
	cr_assert_eq(finding_value(finding, "queue_mean_ns")->integer, 3 * MS);
	cr_assert_eq(finding_value(finding, "read_queue_mean_ns")->integer, 3 * MS);
	cr_assert_float_eq(finding_value(finding, "queue_share")->real, 0.75, 1e-9);
	cr_assert_float_eq(finding_value(finding, "backlog_mean")->real, 12.5, 1e-9);
	findings_free(findings);
}

/* The wait is shorter than the wire's time: the table is full, but most of the time is elsewhere. */
Test(slots, counters_show_a_short_wait)
{
	struct findings *findings = judge_counted(&(struct counted){ 800, 500, 1000, 4, 2 }, 16);
	const struct finding *finding = finding_there(findings, "client-slot-saturation");

	cr_assert_eq(finding->confidence, CONFIDENCE_HIGH);
	cr_assert(!finding->outside_wire);
	findings_free(findings);
}

/* Calls leave at once: it is sixteen callers, however much it looks like a table. */
Test(slots, counters_show_no_wait)
{
	struct findings *findings = judge_counted(&(struct counted){ 800, 10, 1000, 0, 2 }, 16);

	cr_assert_null(findings_of(findings, "client-slot-saturation"));
	findings_free(findings);
}

/* Counters that settle nothing leave what the wire says. */
Test(slots, counters_that_settle_nothing)
{
	static const struct counted cases[] = {
		{ 800, 50, 1000, 0, 2 },	/* a twentieth */
		{ 800, 3000, 1000, 0.1, 2 },	/* waits, but not for slots */
		{ 800, 10, 1000, 0.1, 2 },	/* the same, and nearly none */
		{ 300, 3000, 1000, 12, 2 },	/* of other calls */
		{ 300, 10, 1000, 0, 2 },
		{ 800, 3000, 1000, 12, 9 },	/* of another server */
		{ 800, 10, 1000, 0, 9 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct findings *findings = judge_counted(&cases[i], 16);
		const struct finding *finding = finding_there(findings, "client-slot-saturation");

		cr_expect_eq(finding->confidence, CONFIDENCE_MEDIUM, "case %zu", i);
		cr_expect_not_null(finding->doubt, "case %zu", i);
		findings_free(findings);
	}
}

/* A mount whose server's address is not known is of the one server that there is. */
Test(slots, counters_without_address)
{
	struct findings *findings = judge_counted(&(struct counted){ 800, 3000, 1000, 12, 0 }, 16);

	cr_assert_eq(finding_there(findings, "client-slot-saturation")->confidence, CONFIDENCE_HIGH);
	findings_free(findings);
}

/* The verdict: of calls that wait longer before they leave than until their replies, the client; where half are known. */
Test(slots, verdict_by_counters)
{
	static const struct {
		struct counted counted;
		uint64_t matched;
		enum component component;
	} cases[] = {
		{ { 800, 3000, 1000, 12, 2 }, 800, COMPONENT_CLIENT },	/* by the finding */
		{ { 800, 3000, 1000, 0, 2 }, 800, COMPONENT_CLIENT },	/* by the layer */
		{ { 800, 900, 1000, 12, 2 }, 800, COMPONENT_SERVER },
		{ { 800, 3000, 1000, 0, 9 }, 800, COMPONENT_SERVER },
		{ { 800, 3000, 1000, 0, 2 }, 1700, COMPONENT_SERVER },
		{ { 20, 3000, 1000, 0, 2 }, 30, COMPONENT_SERVER },
		{ { 800, 3000, 1000, 0, 2 }, 29, COMPONENT_NONE },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct findings *findings = judge_counted(&cases[i].counted, 16);
		struct quality quality = { .level = QUALITY_GOOD };
		struct aggregate_totals totals = {
			.matched = cases[i].matched, .total_ns = 100, .server_ns = 90, .network_ns = 10,
		};
		struct verdict *verdict = verdict_judge(&quality, &totals, findings);

		cr_expect_eq(verdict->component, cases[i].component, "case %zu: %s", i, verdict->text);
		if (i == 0)
			cr_expect_str_eq(verdict->text,
			    "more time passes in the client outside the wire than on it (client-slot-saturation)");
		if (i == 1)
			cr_expect_str_eq(verdict->text, "more time passes in the client outside the wire than on it (by its own "
			    "counters 3.00ms of a call against 1.00ms)");
		verdict_free(verdict);
		findings_free(findings);
	}
}
