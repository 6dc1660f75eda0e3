/*
 * Intervals of 5 s, made by hand: their lines and their object.
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "report/fixture.h"
#include "report/interval.h"
#include "stats/build.h"
#include "stats/mountstats.h"

enum { SECONDS = 5 };

struct made {
	struct fixture fixture;
	struct interval interval;
};

/* 22:13:20 to 22:13:25. */
static void
make(struct made *made, unsigned captures, enum pair_side one_side)
{
	fixture_init(&made->fixture, captures, one_side);
	aggregate_free(made->fixture.aggregate);
	made->fixture.aggregate = made->fixture.report.aggregate = aggregate_new_interval(captures);
	for (unsigned i = 0; i < captures; i++)
		made->fixture.captures[i].last_ns = BUILD_EPOCH_NS + SECONDS * (int64_t)NS_PER_S;
	made->interval = (struct interval){
		.from_ns = BUILD_EPOCH_NS, .to_ns = BUILD_EPOCH_NS + SECONDS * (int64_t)NS_PER_S,
		.report = &made->fixture.report, .oldest_call_ns = -1, .lag_ns = -1,
	};
}

static void
add_data(struct nfs_op *op)
{
	if (op->procedure != PROC_GETATTR)
		build_data(op, 1, 0, 8192, 8192);
}

/* Calls of 402 us at the client, spread over the interval; every 25th fails. */
static void
add_calls(struct made *made, uint32_t procedure, unsigned calls)
{
	for (unsigned i = 0; i < calls; i++) {
		struct nfs_op op = build_op(procedure, (int64_t)i * 40000000 % 4900000000, 400500);

		add_data(&op);
		op.status = i % 25 == 0 ? 2 : 0;
		fixture_add_alone(&made->fixture, 0, &op);
	}
}

/* The same as pairs: 300 us in the server. */
static void
add_pairs(struct made *made, uint32_t procedure, unsigned calls)
{
	for (unsigned i = 0; i < calls; i++) {
		struct nfs_op op = build_op(procedure, (int64_t)i * 40000000 % 4900000000, 400500);
		struct op_pair pair;

		add_data(&op);
		pair = build_pair(&op, 300000);
		fixture_add(&made->fixture, 0, &pair);
	}
}

/* Calls that wait, each sent again once. */
static void
add_waiting(struct made *made, uint32_t procedure, unsigned calls)
{
	for (unsigned i = 0; i < calls; i++) {
		struct nfs_op op = build_op(procedure, i * 1000, 0);

		op.outcome = OP_IN_FLIGHT;
		op.retransmits = 1;
		op.valid &= ~(uint32_t)(OP_HAS_REPLY_FIRST | OP_HAS_REPLY_LAST);
		fixture_add_alone(&made->fixture, 0, &op);
	}
	made->interval.outstanding = calls;
	made->interval.oldest_call_ns = INT64_C(4100000000);
}

/* Caller frees with free(). */
static char *
text_of(const struct made *made, struct interval_page *page)
{
	struct text_style style = { .verbose = false };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert(interval_text(&made->interval, &style, page, out));
	fclose(out);
	return text;
}

static void
assert_text(const struct made *made, const char *expected)
{
	struct interval_page page = { 0 };
	unsigned counted = 0;
	char *text = text_of(made, &page);

	cr_assert_str_eq(text, expected);
	for (const char *at = text; *at != '\0'; at++)
		counted += *at == '\n';
	cr_assert_eq(page.lines, counted);
	free(text);
}

/* 100 READs of 8192 bytes in 5 s are 20 a second and 163840 bytes a second. */
Test(interval, one_side_in_eighty_columns)
{
	struct made made;

	make(&made, 1, PAIR_CLIENT);
	add_calls(&made, PROC_GETATTR, 6);
	add_calls(&made, PROC_READ, 100);
	add_waiting(&made, PROC_WRITE, 3);
	made.fixture.captures[0].tcp.retransmitted = 7;
	fixture_finish(&made.fixture);
	assert_text(&made,
	    "2023-11-14 UTC ops/s   B/s  size    p50    p95    p99   now again error\n"
	    "22:13:25  21.2 ops/s, read 164kB/s; 3 in flight, oldest 4.10s; TCP sent again: 7\n"
	    "3 READ            20  164k    8K  402us  402us  402us     .     .     4\n"
	    "3 GETATTR        1.2     .     .  402us  402us  402us     .     .     1\n"
	    "3 WRITE            .     .     .      -      -      -     3     3     .\n");
	fixture_clear(&made.fixture);
}

/* SETCLIENTID of NFSv4.0 has a character too many for its column, SETCLIENTID_CONFIRM nine. */
Test(interval, long_names)
{
	struct made made;

	make(&made, 1, PAIR_CLIENT);
	for (uint32_t operation = 35; operation <= 36; operation++) {
		struct nfs_op op = build_op(1, 0, 400500);

		op.version = 4;
		op.operation = operation;
		fixture_add_alone(&made.fixture, 0, &op);
	}
	fixture_finish(&made.fixture);
	assert_text(&made,
	    "2023-11-14 UTC ops/s   B/s  size    p50    p95    p99   now again error\n"
	    "22:13:25  0.4 ops/s\n"
	    "4.0 SETCLIENTID  0.2     .     .  402us  402us  402us     .     .     .\n"
	    "4.0 SETCLIENTID_CONFIRM\n"
	    "                 0.2     .     .  402us  402us  402us     .     .     .\n");
	fixture_clear(&made.fixture);
}

Test(interval, drops_are_told_where_there_are_any)
{
	struct made made;

	make(&made, 1, PAIR_SERVER);
	add_calls(&made, PROC_WRITE, 1);
	made.interval.dropped_by_kernel = 17;
	made.interval.dropped_by_interface = 3;
	fixture_finish(&made.fixture);
	/* at the server: 400.5 us from the call's last byte to the reply's first */
	assert_text(&made,
	    "2023-11-14 UTC ops/s   B/s  size    p50    p95    p99   now again error\n"
	    "22:13:25  0.2 ops/s, write 1638B/s; DROPPED by the kernel: 17; DROPPED by the\n"
	    "          interface: 3\n"
	    "3 WRITE          0.2  1638    8K  400us  400us  400us     .     .     1\n");
	fixture_clear(&made.fixture);
}

/* Total 402 us: 300 in the server, 102 on the way; the client's part is not known. */
Test(interval, both_sides_say_who)
{
	struct made made;
	struct interval_page page = { 0 };
	char *text;

	make(&made, 2, PAIR_CLIENT);
	add_pairs(&made, PROC_READ, 100);
	made.interval.lag_ns = 1230000000;
	made.interval.dropped_by_kernel = 17;
	fixture_finish(&made.fixture);
	text = text_of(&made, &page);
	cr_assert_not_null(strstr(text,
	    "  p99   now again error   server  network   client\n"
	    "22:13:25  20 ops/s, read 164kB/s; time: server 75%, network 25%; lag 1.23s; DROPPED by the kernel: 17\n"
	    "3 READ            20  164k    8K  402us  402us  402us     .     .     .    300us    102us        -\n"), "%s", text);
	free(text);
	fixture_clear(&made.fixture);
}

/* 120 calls of 402 us in 5 s: nearly all the time there is none. */
Test(interval, a_finding_is_one_line)
{
	struct made made;
	struct interval_page page = { 0 };
	char *text, *line;

	make(&made, 2, PAIR_CLIENT);
	add_pairs(&made, PROC_READ, 120);
	fixture_finish(&made.fixture);
	text = text_of(&made, &page);
	line = strstr(text, "\n! idle-wire (");
	cr_assert_not_null(line, "%s", text);
	cr_assert_leq(strcspn(line + 1, "\n"), 80, "%s", text);
	cr_assert_str_eq(strchr(line + 1, '\n') - 3, "...\n");
	free(text);
	fixture_clear(&made.fixture);
}

/* The same finding twenty-five times: in intervals 1, 13 and 25. */
Test(interval, a_finding_that_persists_is_told_once_in_twelve)
{
	struct interval_page page = { 0 };
	struct made made;

	make(&made, 2, PAIR_CLIENT);
	add_pairs(&made, PROC_READ, 120);
	fixture_finish(&made.fixture);
	for (unsigned interval = 1; interval <= 25; interval++) {
		char *text = text_of(&made, &page);

		cr_assert_eq(strstr(text, "\n! idle-wire (") != NULL, interval % 12 == 1, "%u: %s", interval, text);
		free(text);
	}
	fixture_clear(&made.fixture);
}

Test(interval, a_finding_with_another_confidence_is_told)
{
	struct interval_page page = { 0 };
	struct made made;
	char *text;

	make(&made, 2, PAIR_CLIENT);
	add_pairs(&made, PROC_READ, 120);
	fixture_finish(&made.fixture);
	free(text_of(&made, &page));
	for (unsigned i = 0; i < INTERVAL_FINDINGS; i++)
		if (page.told[i].id != NULL)
			page.told[i].confidence = page.told[i].confidence == CONFIDENCE_LOW ? CONFIDENCE_HIGH : CONFIDENCE_LOW;
	text = text_of(&made, &page);
	cr_assert_not_null(strstr(text, "\n! idle-wire ("), "%s", text);
	free(text);
	fixture_clear(&made.fixture);
}

Test(interval, a_quiet_one_is_one_line)
{
	struct made made;

	make(&made, 1, PAIR_CLIENT);
	fixture_finish(&made.fixture);
	assert_text(&made, "22:13:25  no NFS call, 1000 packets\n");
	made.fixture.captures[0].packets = 0;
	assert_text(&made, "22:13:25  no NFS call, no packet\n");
	fixture_clear(&made.fixture);
}

Test(interval, a_server_that_hangs)
{
	struct made made;

	make(&made, 1, PAIR_CLIENT);
	add_waiting(&made, PROC_READ, 64);
	fixture_finish(&made.fixture);
	assert_text(&made,
	    "2023-11-14 UTC ops/s   B/s  size    p50    p95    p99   now again error\n"
	    "22:13:25  no NFS call answered, 1000 packets; 64 in flight, oldest 4.10s\n"
	    "3 READ             .     .     .      -      -      -    64    64     .\n");
	fixture_clear(&made.fixture);
}

Test(interval, a_clock_that_was_set_back_gives_no_rate)
{
	struct made made;

	make(&made, 1, PAIR_CLIENT);
	add_calls(&made, PROC_READ, 1);
	made.interval.from_ns = made.interval.to_ns + 1;
	fixture_finish(&made.fixture);
	assert_text(&made,
	    "2023-11-14 UTC ops/s   B/s  size    p50    p95    p99   now again error\n"
	    "22:13:25  - ops/s, read -B/s\n"
	    "3 READ             -     -    8K  402us  402us  402us     .     .     1\n");
	fixture_clear(&made.fixture);
}

/* Two lines an interval. */
Test(interval, the_header_comes_again_after_a_screen)
{
	struct made made;
	struct interval_page page = { 0 };
	unsigned intervals = 0;
	bool header;

	make(&made, 1, PAIR_CLIENT);
	add_calls(&made, PROC_READ, 1);
	fixture_finish(&made.fixture);
	do {
		char *text = text_of(&made, &page);

		header = strstr(text, "ops/s   B/s") != NULL;
		cr_assert(header == (intervals == 0 || page.lines == 3));
		free(text);
		intervals++;
	} while (!header || intervals == 1);
	/* 2 lines each behind the header: 23 of them when it is due */
	cr_assert_eq(intervals, 12);
	fixture_clear(&made.fixture);
}

Test(interval, colour_only_where_asked_for)
{
	struct text_style style = { .colour = true };
	struct made made;
	struct interval_page page = { 0 };
	char *plain, *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	make(&made, 1, PAIR_CLIENT);
	add_calls(&made, PROC_READ, 1);
	fixture_finish(&made.fixture);
	cr_assert(interval_text(&made.interval, &style, &page, out));
	fclose(out);
	page = (struct interval_page){ 0 };
	plain = text_of(&made, &page);
	cr_assert_null(strchr(plain, '\033'));
	cr_assert_not_null(strstr(text, "\033[1m2023-11-14 UTC"));
	free(plain);
	free(text);
	fixture_clear(&made.fixture);
}

/* READ: 100 calls, 1210 ms in the queue, 820 ms round trip, 2030 ms in all; 12.3 calls wait for a slot at each send. */
static struct mountstats_op ops[] = {
	{ .name = "READ", .calls = 100, .transmissions = 100, .bytes_sent = 12000, .bytes_received = 830000,
	  .queue_ms = 1210, .rtt_ms = 820, .execute_ms = 2030 },
};

static void
make_counters(struct mountstats_delta *delta, struct mountstats_mount *mount)
{
	*mount = (struct mountstats_mount){
		.device = (char *)"srv:/export", .place = (char *)"/data", .version = "3", .ops = ops, .op_count = 1,
		.transport = { .count = 1, .sends = 100, .receives = 100, .backlog = 1230 },
	};
	*delta = (struct mountstats_delta){ .mounts = mount, .mount_count = 1 };
}

Test(interval, the_kernels_counters_stand_beside_the_wire)
{
	struct mountstats_delta delta;
	struct mountstats_mount mount;
	struct made made;

	make_counters(&delta, &mount);
	make(&made, 1, PAIR_CLIENT);
	add_calls(&made, PROC_GETATTR, 6);
	add_calls(&made, PROC_READ, 100);
	made.interval.counters = &delta;
	fixture_finish(&made.fixture);
	made.fixture.report.findings = NULL;
	assert_text(&made,
	    "2023-11-14 UTC ops/s   B/s  size    p50    p95    p99   now  queue    rtt    exe\n"
	    "22:13:25  21.2 ops/s, read 164kB/s; 12.3 wait for a slot (/data)\n"
	    "3 READ            20  164k    8K  402us  402us  402us     . 12.1ms 8.20ms 20.3ms\n"
	    "3 GETATTR        1.2     .     .  402us  402us  402us     .      -      -      -\n"
	    "  3 READ: errors 4, 3 GETATTR: errors 1\n");
	memcpy(mount.version, "4.1", 4);
	assert_text(&made,
	    "2023-11-14 UTC ops/s   B/s  size    p50    p95    p99   now  queue    rtt    exe\n"
	    "22:13:25  21.2 ops/s, read 164kB/s; 12.3 wait for a slot (/data)\n"
	    "3 READ            20  164k    8K  402us  402us  402us     .      -      -      -\n"
	    "3 GETATTR        1.2     .     .  402us  402us  402us     .      -      -      -\n"
	    "  3 READ: errors 4, 3 GETATTR: errors 1\n");
	fixture_clear(&made.fixture);
}

Test(interval, calls_that_only_the_kernel_sees)
{
	struct mountstats_delta delta;
	struct mountstats_mount mount;
	struct made made;

	make_counters(&delta, &mount);
	mount.transport.backlog = 0;
	make(&made, 1, PAIR_CLIENT);
	made.interval.counters = &delta;
	fixture_finish(&made.fixture);
	assert_text(&made, "22:13:25  no NFS call, 1000 packets; the kernel counts 100 NFS calls: by another\n"
	    "          interface?\n");
	fixture_clear(&made.fixture);
}

/* ---- JSON ---- */

static json_t *
object_of(const struct made *made)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_error_t error;
	json_t *root;

	cr_assert(interval_json(&made->interval, out));
	fclose(out);
	cr_assert_eq(strchr(text, '\n'), text + size - 1, "one line");
	root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	cr_assert_not_null(root, "%s", error.text);
	free(text);
	return root;
}

static const json_t *
at(const json_t *value, const char *const *path)
{
	for (; *path != NULL && value != NULL; path++)
		value = json_is_array(value) ? json_array_get(value, (size_t)atoi(*path)) : json_object_get(value, *path);
	cr_assert_not_null(value, "%s", *path != NULL ? *path : path[-1]);
	return value;
}

#define AT(root, ...) at(root, (const char *const[]){ __VA_ARGS__, NULL })
#define NUMBER(root, ...) json_integer_value(AT(root, __VA_ARGS__))

Test(interval, the_object_has_what_the_contract_says)
{
	struct made made;
	json_t *root;

	make(&made, 1, PAIR_CLIENT);
	add_calls(&made, PROC_READ, 100);
	add_waiting(&made, PROC_WRITE, 3);
	made.interval.dropped_by_kernel = 17;
	fixture_finish(&made.fixture);
	root = object_of(&made);
	cr_assert_str_eq(json_string_value(AT(root, "schema")), "nfscorr-interval/1");
	cr_assert_eq(NUMBER(root, "from_ns"), BUILD_EPOCH_NS);
	cr_assert_eq(NUMBER(root, "to_ns"), BUILD_EPOCH_NS + INT64_C(5000000000));
	cr_assert_eq(NUMBER(root, "dropped_by_kernel"), 17);
	cr_assert_eq(NUMBER(root, "dropped_by_interface"), 0);
	cr_assert_eq(NUMBER(root, "outstanding"), 3);
	cr_assert_eq(NUMBER(root, "oldest_call_ns"), INT64_C(4100000000));
	cr_assert(json_is_null(AT(root, "lag_ns")));
	cr_assert(json_is_null(AT(root, "counters")));
	cr_assert_eq(json_array_size(AT(root, "sides", "server")), 0);
	cr_assert_str_eq(json_string_value(AT(root, "sides", "client", "0", "proc")), "READ");
	cr_assert_eq(NUMBER(root, "sides", "client", "0", "count"), 100);
	cr_assert_eq(NUMBER(root, "sides", "client", "0", "errors"), 4);
	cr_assert_eq(NUMBER(root, "sides", "client", "0", "bytes"), 819200);
	cr_assert_eq(NUMBER(root, "sides", "client", "0", "latency_ns", "sum"), 100 * 402000);
	cr_assert_eq(NUMBER(root, "sides", "client", "0", "latency_ns", "p99"), 402000);
	cr_assert_eq(NUMBER(root, "sides", "client", "0", "latency_ns", "hist", "0", "1"), 100);
	cr_assert_float_eq(json_real_value(AT(root, "sides", "client", "0", "per_second")), 20, 1e-9);
	cr_assert_str_eq(json_string_value(AT(root, "sides", "client", "1", "proc")), "WRITE");
	cr_assert_eq(NUMBER(root, "sides", "client", "1", "count"), 0);
	cr_assert_eq(NUMBER(root, "sides", "client", "1", "in_flight"), 3);
	cr_assert_eq(NUMBER(root, "sides", "client", "1", "retransmits"), 3);
	cr_assert_eq(NUMBER(root, "captures", "0", "rpc", "calls"), 103);
	cr_assert_eq(NUMBER(root, "captures", "0", "rpc", "in_flight"), 3);
	cr_assert_eq(NUMBER(root, "concurrency", "connections", "0", "max"), 4, "three that wait and one after the other");
	cr_assert(json_is_array(AT(root, "findings")));
	cr_assert_eq(NUMBER(root, "matched", "calls"), 0);
	cr_assert(json_is_null(AT(root, "attribution", "by_time", "server")));
	json_decref(root);
	fixture_clear(&made.fixture);
}

Test(interval, the_object_of_both_sides)
{
	struct made made;
	json_t *root;

	make(&made, 2, PAIR_CLIENT);
	add_pairs(&made, PROC_READ, 100);
	made.interval.lag_ns = 1230000000;
	fixture_finish(&made.fixture);
	root = object_of(&made);
	cr_assert_eq(NUMBER(root, "lag_ns"), 1230000000);
	cr_assert_eq(NUMBER(root, "matched", "calls"), 100);
	cr_assert_eq(NUMBER(root, "matched", "rows", "0", "server_ns", "sum"), 100 * 300000);
	cr_assert_eq(NUMBER(root, "matched", "rows", "0", "network_ns", "sum"), 100 * 102000);
	/* 300 / 402 */
	cr_assert_float_eq(json_real_value(AT(root, "attribution", "by_time", "server")), 0.746269, 1e-9);
	cr_assert_eq(json_array_size(AT(root, "sides", "server")), 1);
	json_decref(root);
	fixture_clear(&made.fixture);
}

Test(interval, the_object_has_the_kernels_counters)
{
	struct mountstats_delta delta;
	struct mountstats_mount mount;
	struct made made;
	json_t *root;

	make_counters(&delta, &mount);
	make(&made, 1, PAIR_CLIENT);
	made.interval.counters = &delta;
	fixture_finish(&made.fixture);
	root = object_of(&made);
	cr_assert_str_eq(json_string_value(AT(root, "counters", "0", "mountpoint")), "/data");
	cr_assert_str_eq(json_string_value(AT(root, "counters", "0", "version")), "3");
	cr_assert(json_is_null(AT(root, "counters", "0", "server")));
	cr_assert_float_eq(json_real_value(AT(root, "counters", "0", "transport", "backlog_mean")), 12.3, 1e-9);
	cr_assert(json_is_null(AT(root, "counters", "0", "transport", "sending_mean")));
	cr_assert_eq(NUMBER(root, "counters", "0", "rows", "0", "count"), 100);
	cr_assert_eq(NUMBER(root, "counters", "0", "rows", "0", "queue_ns", "sum"), 1210000000);
	cr_assert_eq(NUMBER(root, "counters", "0", "rows", "0", "queue_ns", "mean"), 12100000);
	cr_assert(json_is_null(AT(root, "counters", "0", "rows", "0", "errors")));
	json_decref(root);
	fixture_clear(&made.fixture);
}
