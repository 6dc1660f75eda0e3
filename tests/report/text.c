#include <criterion/criterion.h>
#include <ctype.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "report/fixture.h"
#include "stats/build.h"

/* Lines of at most 80 printable ASCII characters. */
static void
assert_page(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	cr_assert_gt(strlen(text), 0);
	cr_assert_eq(text[strlen(text) - 1], '\n');
	for (size_t i = 0; lines[i] != NULL; i++) {
		cr_assert_leq(strlen(lines[i]), PAGE_COLUMNS, "%zu columns: %s", strlen(lines[i]), lines[i]);
		for (const char *at = lines[i]; *at != '\0'; at++)
			cr_assert(isprint((unsigned char)*at), "byte %02x in: %s", (unsigned char)*at, lines[i]);
	}
}

static void
assert_has(const char *text, const char *part)
{
	cr_assert_not_null(strstr(text, part), "\"%s\" is not in\n%s", part, text);
}

Test(text, the_parts_that_a_user_of_the_old_script_looks_for)
{
	struct fixture fixture;
	char *text;

	fixture_init(&fixture, 2, PAIR_SERVER);
	fixture_fill(&fixture);
	fixture.correlated.matches[MATCH_SERVER_ONLY] = 2;
	fixture.correlated.matches[MATCH_CLIENT_ONLY] = 1;
	fixture_finish(&fixture);
	text = fixture_text(&fixture, false);
	assert_page(text);
	assert_has(text, "RAW DATA: SERVER");
	assert_has(text, "RAW DATA: CLIENT");
	assert_has(text, "MATCHED DATA");
	assert_has(text, "    server    client      diff\n");
	assert_has(text, "Processed 2000 packets (Matched: 200 Missed: 3)\n");
	assert_has(text, "2 on the server only, 1 on the client only");
	assert_has(text, "Verdict: more time passes in the client outside the wire than on it (idle-wire)");
	assert_has(text, "\nFINDINGS\n  1. idle-wire (client, confidence high)\n     For 95 % of 9.90s no call was in flight");
	assert_has(text, "     evidence: idle_share 95%, span_ns 9.90s, calls 200\n     what to do:\n     - Oracle: ");
	assert_has(text, "WHERE THE TIME GOES");
	assert_has(text, "server - client = +3.700000000 s +- 12.3us at 2023-11-14 22:13:25.000");
	assert_has(text, "drift -80.000 +- 0.300 ppm; steps 0");
	assert_has(text, "error of at most 1 %");
	assert_has(text, "WHAT A CAPTURE CANNOT SHOW");
	assert_has(text, "LATENCY OVER TIME");
	cr_assert_null(strstr(text, "slow "), "nothing is called slow");
	cr_assert_null(strstr(text, "\033"), "no colour unless asked for");
	free(text);
	fixture_clear(&fixture);
}

/* Three calls by hand: 60 of 100 us, 10 of 100 us, 50 of 100 us in the server. */
Test(text, numbers_of_three_calls)
{
	static const int64_t server_ns[] = { 60000, 10000, 50000 };
	struct fixture fixture;
	char *text;

	fixture_init(&fixture, 2, PAIR_SERVER);
	for (size_t i = 0; i < G_N_ELEMENTS(server_ns); i++) {
		struct nfs_op op = build_op(PROC_READ, 0, 98500);
		struct op_pair pair = build_pair(&op, server_ns[i]);

		fixture_add(&fixture, 0, &pair);
	}
	fixture_finish(&fixture);
	text = fixture_text(&fixture, false);
	assert_page(text);
	assert_has(text, "Verdict: 3 matched calls are too few to say where the time goes.\n");
	/* RAW: mean, p50, p95, p99, max; three calls in 10 s */
	assert_has(text, "  3 READ                3    0.30      -  40.0us  50.0us  60.0us  60.0us  60.0us\n");
	assert_has(text, "  3 READ                3    40.0us     100us    60.0us\n");
	assert_has(text, "  3 READ                3  40.0us   40%  60.0us   60%      -   100us   100us\n");
	assert_has(text, "of all time: server 40%, network 60%; the larger part is the server in 2");
	/* 10, 50 and 60 us: 8us, 32us, 32us */
	assert_has(text, "  type             8us  16us  32us\n  3 READ             1     .     2\n");
	assert_has(text, "frames call/reply: server 21/22 client 11/12\n");
	assert_has(text, "rpc.xid == 0x0000abcd && (tcp.port == 700 || udp.port == 700)\n");
	free(text);
	fixture_clear(&fixture);
}

Test(text, one_capture)
{
	for (unsigned side = 0; side < 2; side++) {
		struct fixture fixture;
		char *text;

		fixture_init(&fixture, 1, side);
		fixture_fill(&fixture);
		fixture_finish(&fixture);
		text = fixture_text(&fixture, false);
		assert_page(text);
		assert_has(text, side == PAIR_SERVER ? "RAW DATA: SERVER" : "RAW DATA: CLIENT");
		cr_assert_null(strstr(text, side == PAIR_SERVER ? "RAW DATA: CLIENT" : "RAW DATA: SERVER"));
		cr_assert_null(strstr(text, "MATCHED DATA"));
		cr_assert_null(strstr(text, "Verdict"));
		assert_has(text, "Processed 1000 packets (one capture: nothing to match)");
		assert_has(text, "SLOWEST CALLS");
		cr_assert_eq(strstr(text, "ESTIMATED") != NULL, side == PAIR_CLIENT);
		free(text);
		fixture_clear(&fixture);
	}
}

static void
set_clocks(struct fixture *fixture, enum clock_mode mode)
{
	for (unsigned i = 0; i < FIXTURE_CLIENTS; i++)
		fixture->clocks[i].mode = mode;
}

Test(text, clocks_say_what_they_are_and_what_drift_does)
{
	struct fixture fixture;
	char *text;

	fixture_init(&fixture, 2, PAIR_SERVER);
	for (unsigned i = 0; i < 40; i++) {
		struct nfs_op op = build_op(PROC_READ, 0, 999998500);
		struct op_pair pair = build_pair(&op, 500000000);

		pair.parts.aligned = true;
		fixture_add(&fixture, 0, &pair);
	}
	fixture_finish(&fixture);
	text = fixture_text(&fixture, false);
	assert_page(text);
	/* 80.3 ppm of a second */
	assert_has(text, "network is off\n          by up to 80.3us in a call of the mean total of 1.00s\n");
	assert_has(text, "(clocks aligned; +- is a hard bound on both means)");
	assert_has(text, "drift x server");
	free(text);
	set_clocks(&fixture, CLOCK_GIVEN);
	text = fixture_text(&fixture, false);
	assert_page(text);
	assert_has(text, "(clocks as given; +- is how far that can be off)");
	cr_assert_null(strstr(text, "network is off"));
	free(text);
	fixture_clear(&fixture);
}

/* Five procedures of each of three clients are 15 rows; ten would hide the third client. */
Test(text, several_clients_are_told_apart_and_compared)
{
	struct fixture fixture;
	char *text;

	fixture_init(&fixture, 4, PAIR_SERVER);
	for (unsigned i = 0; i < 60; i++) {
		struct nfs_op op = build_op(1 + i % 5, 0, 98500);
		struct op_pair pair;

		op.client.address[15] = (uint8_t)(1 + i % 3);
		pair = build_pair(&op, 40000);
		fixture_add(&fixture, i % 3, &pair);
	}
	fixture_finish(&fixture);
	text = fixture_text(&fixture, false);
	assert_page(text);
	assert_has(text, "\n  client  2: client1.pcap: pcap");
	assert_has(text, "frames call/reply: server 21/22 client 11/12 of client 1\n");
	assert_has(text, "\n  10.0.0.1               all                  20  40.0us  60.0us   100us   100us\n"
	    "  10.0.0.2               all                  20");
	assert_has(text, "\n  10.0.0.3               all                  20");
	free(text);
	text = fixture_text(&fixture, true);
	cr_assert_null(strstr(text, " all  "), "each procedure, where there is room");
	free(text);
	fixture_clear(&fixture);
}

/* The later arrival has the smaller name. */
Test(text, rows_of_as_many_calls_are_in_the_order_of_their_names)
{
	struct fixture fixture;
	char *text, *json;
	const char *clients;

	fixture_init(&fixture, 3, PAIR_SERVER);
	for (unsigned i = 0; i < 40; i++) {
		struct nfs_op op = build_op(PROC_READ, 0, 98500);
		struct op_pair pair;

		op.client.address[15] = i % 2 == 0 ? 9 : 5;
		pair = build_pair(&op, 40000);
		fixture_add(&fixture, i % 2, &pair);
	}
	fixture_finish(&fixture);
	text = fixture_text(&fixture, false);
	cr_assert_lt(strstr(text, "\n  10.0.0.5  "), strstr(text, "\n  10.0.0.9  "));
	json = fixture_json(&fixture);
	clients = strstr(json, "\"by_client\"");
	cr_assert_lt(strstr(clients, "10.0.0.5"), strstr(clients, "10.0.0.9"));
	free(json);
	free(text);
	fixture_clear(&fixture);
}

/* An op knows the port of its last copy, and the frame of its first. */
Test(text, the_filter_of_a_call_that_was_sent_again_has_no_port)
{
	struct fixture fixture;
	struct nfs_op op = build_op(PROC_READ, 0, 98500);
	struct op_pair pair;
	char *text;

	op.retransmits = 1;
	pair = build_pair(&op, 40000);
	fixture_init(&fixture, 2, PAIR_SERVER);
	fixture_add(&fixture, 0, &pair);
	fixture_finish(&fixture);
	text = fixture_text(&fixture, false);
	assert_has(text, "    rpc.xid == 0x0000abcd\n");
	free(text);
	fixture_clear(&fixture);
}

Test(text, why_nothing_is_a_paragraph_of_its_own)
{
	struct fixture fixture;
	char *text;

	fixture_init(&fixture, 2, PAIR_SERVER);
	fixture.report.why_nothing = "a long sentence that says why nothing could be correlated although everything was "
	    "read as well as it could be";
	fixture_finish(&fixture);
	text = fixture_text(&fixture, false);
	assert_page(text);
	assert_has(text, "\nNothing could be correlated: a long sentence that says why nothing could be\ncorrelated ");
	free(text);
	fixture_clear(&fixture);
}

Test(text, a_poor_capture_says_how_to_make_a_good_one)
{
	struct fixture fixture;
	char *text;

	fixture_init(&fixture, 2, PAIR_SERVER);
	fixture_fill(&fixture);
	fixture.captures[1].tcp.one_direction = 1;
	fixture.captures[0].has_endpoints = true;
	fixture.captures[0].server = build_op(PROC_READ, 0, 1).server;
	fixture.captures[0].client = build_op(PROC_READ, 0, 1).client;
	fixture.captures[0].server.port = 20049;
	fixture_finish(&fixture);
	text = fixture_text(&fixture, false);
	assert_page(text);
	assert_has(text, "Quality: poor");
	assert_has(text, "[poor] capture-drops:");
	assert_has(text, "Verdict: the captures are too poor");
	assert_has(text, "'host 10.0.0.1 and port 20049'");
	assert_has(text, "'host 10.0.0.2 and port 20049'");
	free(text);
	fixture.captures[0].format = "snoop";
	text = fixture_text(&fixture, false);
	assert_page(text);
	assert_has(text, "snoop -q -d DEV");
	free(text);
	fixture_clear(&fixture);
}

/* The largest of everything: what a page must hold. */
static void
fill_extremes(struct fixture *fixture)
{
	static const int64_t times_ns[] = { INT64_MAX, INT64_MIN, -12345678, 999499, 86400000000000, 0 };

	for (uint32_t i = 0; i < 400; i++) {
		struct nfs_op op = build_op(i % 50, (int64_t)i * 1000000000, 98500);
		struct op_pair pair;

		op.program = i % 3 == 0 ? UINT32_MAX : NFS_PROGRAM;
		op.version = i % 3 == 0 ? UINT32_MAX - i : 3;
		op.procedure = op.operation = i % 3 == 0 ? UINT32_MAX - i : i % 22;
		op.xid = UINT32_MAX;
		op.retransmits = UINT32_MAX;
		op.call_frame = op.reply_frame = UINT64_MAX - i;
		build_data(&op, UINT64_MAX - i, UINT64_MAX, UINT32_MAX, UINT32_MAX);
		memset(op.client.address, 0xfa, sizeof(op.client.address));
		memset(op.server.address, 0xfb, sizeof(op.server.address));
		op.client.address[3] = (uint8_t)i;
		op.client.port = op.server.port = UINT16_MAX;
		pair = build_pair(&op, 1);
		pair.parts = (struct attribution){
			.total_ns = times_ns[i % 6], .server_ns = times_ns[(i + 1) % 6],
			.network_ns = times_ns[(i + 2) % 6], .request_ns = times_ns[(i + 3) % 6],
			.reply_ns = times_ns[(i + 4) % 6], .clock_error_ns = times_ns[(i + 5) % 6], .aligned = true,
		};
		fixture_add(fixture, i % 3, &pair);
		op.reply_last_ns = times_ns[i % 6];
		op.reply_first_ns = times_ns[(i + 1) % 6];
		op.status = 5;
		fixture_add_alone(fixture, i % 4, &op);
		op.outcome = OP_UNANSWERED;
		fixture_add_alone(fixture, i % 4, &op);
	}
}

Test(text, extremes_stay_within_the_page)
{
	struct fixture fixture;
	char *text;

	fixture_init(&fixture, 4, PAIR_SERVER);
	fill_extremes(&fixture);
	for (unsigned i = 0; i < 4; i++) {
		struct capture_facts *facts = &fixture.captures[i];

		facts->name = "a-name-of-a-capture-file-that-is-longer-than-a-line-of-the-page-and-has-no-place-to-"
		    "break-it-\x1b[31m-and-caf\xc3\xa9-and-\xff.pcap";
		facts->trouble = "some trouble with \x07 in it";
		facts->packets = facts->bytes = UINT64_MAX / 2;
		facts->first_ns = INT64_MIN;
		facts->last_ns = INT64_MAX;
		facts->truncated_packets = facts->duplicate_packets = facts->backward_stamps = UINT64_MAX / 2;
		facts->bad_packets = facts->fragments = UINT64_MAX / 2;
		facts->dropped_by_kernel = facts->dropped_by_interface = INT64_MAX;
		facts->tcp.lost_segments = facts->tcp.lost_bytes = UINT64_MAX / 2;
		facts->tcp.one_direction = facts->tcp.mid_stream = 1;
		facts->rpc.orphan_replies = facts->rpc.hidden_records = UINT64_MAX / 4;
		facts->rpc.malformed = UINT64_MAX / 2;
		facts->tcp.first_loss_ns = INT64_MIN;
		facts->tcp.last_loss_ns = INT64_MAX;
		facts->snaplen = UINT32_MAX;
	}
	fixture.clocks[0].offset_ns = INT64_MIN;
	fixture.clocks[0].error_ns = INT64_MAX;
	fixture.clocks[0].drift_ppb = INT64_MIN;
	fixture.clocks[0].steps = UINT32_MAX;
	fixture.correlated.translated = UINT64_MAX;
	fixture.correlated.overlap_first_ns = INT64_MIN;
	fixture.correlated.overlap_last_ns = INT64_MAX;
	fixture.report.why_nothing = "a long sentence that says why nothing could be correlated although everything was "
	    "read as well as it could be";
	fixture_finish(&fixture);
	text = fixture_text(&fixture, false);
	assert_page(text);
	free(text);
	text = fixture_text(&fixture, true);
	assert_page(text);
	free(text);
	free(fixture_json(&fixture));
	fixture_clear(&fixture);
}

Test(text, time_is_merged_into_24_lines)
{
	struct fixture fixture;
	const char *from, *to;
	unsigned lines = 0;
	char *text;

	fixture_init(&fixture, 2, PAIR_SERVER);
	for (int64_t second = 0; second < 1000; second += 7) {
		struct nfs_op op = build_op(PROC_READ, second * 1000000000, 98500);
		struct op_pair pair = build_pair(&op, 50000);

		fixture_add(&fixture, 0, &pair);
	}
	fixture_finish(&fixture);
	text = fixture_text(&fixture, false);
	assert_page(text);
	/* 250 windows of 4 s are too many: 125 of 8 s, six a line */
	assert_has(text, "48 s a line");
	assert_has(text, "LATENCY OVER TIME (matched; from 2023-11-14 22:13:20 UTC, 48 s a line)\n");
	from = strstr(text, "LATENCY OVER TIME");
	to = strstr(from, "WHAT THE COLUMNS");
	for (const char *at = from; at < to; at++)
		lines += *at == '\n' && at[1] == ' ' && at[2] == ' ' && at[3] == '+';
	cr_assert_eq(lines, 21);
	free(text);
	fixture_clear(&fixture);
}

Test(text, colour_only_when_asked_for)
{
	struct fixture fixture;
	struct text_style style = { .colour = true };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fixture_init(&fixture, 2, PAIR_SERVER);
	fixture_fill(&fixture);
	fixture_finish(&fixture);
	cr_assert(report_text(&fixture.report, &style, out));
	fclose(out);
	assert_has(text, "\033[32mgood\033[0m");
	free(text);
	fixture_clear(&fixture);
}

Test(text, a_full_disk_is_noticed)
{
	struct fixture fixture;
	struct text_style style = { 0 };
	FILE *out = fopen("/dev/full", "w");

	cr_assert_not_null(out);
	fixture_init(&fixture, 2, PAIR_SERVER);
	fixture_fill(&fixture);
	fixture_finish(&fixture);
	cr_assert_not(report_text(&fixture.report, &style, out));
	fclose(out);
	fixture_clear(&fixture);
}

/* 64 callers of 8 connections with names that do not fit: the page holds them. */
Test(text, calls_in_flight)
{
	struct fixture fixture;
	char *text;

	fixture_init(&fixture, 2, PAIR_SERVER);
	for (unsigned i = 0; i < 640; i++) {
		struct nfs_op op = build_op(PROC_READ, 100000 * (int64_t)(i / 64), 98500);
		struct op_pair pair;

		memset(op.client.address, 0xfe, sizeof op.client.address);
		op.client.port = (uint16_t)(60000 + i % 8);
		op.connection = 1 + i % 8;
		pair = build_pair(&op, 60000);
		fixture_add(&fixture, 0, &pair);
	}
	fixture_finish(&fixture);
	text = fixture_text(&fixture, false);
	assert_page(text);
	assert_has(text, "CALLS IN FLIGHT (connections as the client sees them)");
	/* 60 of every 100 us */
	assert_has(text, "  inside the server                       640    64   40.0   62%    -\n");
	assert_has(text, "fefe:fefe:fefe:fefe:fefe:fefe:fefe:fefe, all connections\n");
	assert_has(text, "  49-64         100%       160    60.0us   ########################\n");
	free(text);
	fixture_clear(&fixture);
}

/* Means by hand: 3500, 2000 and 6000 ms of a thousand calls; five were sent again; 2 calls waited at each send. */
Test(text, the_clients_own_counters)
{
	struct mountstats_op ops[] = {
		{ .name = "GETATTR", .calls = 10, .transmissions = 10, .rtt_ms = 10, .execute_ms = 10 },
		{ .name = "READ", .calls = 1000, .transmissions = 1005, .queue_ms = 3500, .rtt_ms = 2000, .execute_ms = 6000 },
	};
	struct mountstats_mount mounts[] = {
		{ .device = (char *)"filer:/idle", .place = (char *)"/idle" },
		{ .device = (char *)"filer:/vol", .place = (char *)"/mnt/a \001", .ops = ops, .op_count = 2,
		  .transport = { .count = 1, .sends = 100, .backlog = 200 } },
	};
	struct mountstats_delta counters = { .mounts = mounts, .mount_count = 2 };
	struct fixture fixture;
	char *text;

	fixture_init(&fixture, 2, PAIR_SERVER);
	fixture_fill(&fixture);
	fixture.report.counters = &counters;
	fixture_finish(&fixture);
	text = fixture_text(&fixture, false);
	assert_page(text);
	assert_has(text, "\nTHE CLIENT'S OWN COUNTERS (means of its kernel's, for each mount)\n");
	assert_has(text, "  filer:/vol on /mnt/a \\x01\n"
	    "  READ                        1000    3.50ms    2.00ms    6.00ms    58%        5\n"
	    "  GETATTR                       10       0ns    1.00ms    1.00ms   0.0%        0\n"
	    "    each message that was sent found 2.0 calls waiting for a slot in the mean,\n"
	    "    on 1 connection\n");
	cr_assert_null(strstr(text, "filer:/idle"));
	free(text);
	fixture_clear(&fixture);
}
