#include "report/fixture.h"

#include <criterion/criterion.h>
#include <string.h>

#include "stats/build.h"

static const int64_t span_ns = INT64_C(10000000000);

void
fixture_init(struct fixture *fixture, unsigned captures, enum pair_side one_side)
{
	static const char *const names[] = { "server.pcap", "client0.pcap", "client1.pcap", "client2.pcap" };

	memset(fixture, 0, sizeof(*fixture));
	for (unsigned i = 0; i < captures; i++) {
		struct capture_facts *facts = &fixture->captures[i];

		facts->side = captures == 1 ? one_side : i == 0 ? PAIR_SERVER : PAIR_CLIENT;
		facts->name = names[i];
		fixture->files[i] = (struct source_facts){ .name = names[i], .bytes = 200000 };
		facts->files = &fixture->files[i];
		facts->file_count = 1;
		facts->format = "pcap";
		facts->link_types[0] = 1;
		facts->link_type_count = 1;
		facts->snaplen = 512;
		facts->nanoseconds = true;
		facts->first_ns = BUILD_EPOCH_NS;
		facts->last_ns = BUILD_EPOCH_NS + span_ns;
		facts->packets = 1000;
		facts->bytes = 200000;
		facts->dropped_by_kernel = facts->dropped_by_interface = -1;
		facts->tcp.connections = facts->tcp.rpc_connections = 1;
		facts->tcp.segments = 1000;
		dist_add(&facts->tcp.round_trip[0], 40000);
		dist_add(&facts->tcp.round_trip[1], 50000);
	}
	for (unsigned i = 0; i + 1 < captures; i++)
		fixture->clocks[i] = (struct clock_facts){
			.mode = CLOCK_AUTO, .aligned = true, .reference_ns = BUILD_EPOCH_NS + span_ns / 2,
			.offset_ns = INT64_C(3700000000), .error_ns = 12345,
			.has_drift = true, .drift_ppb = -80000, .drift_error_ppb = 300,
		};
	fixture->aggregate = aggregate_new(captures, 5);
	fixture->ids = ids_new();
	fixture->report = (struct report){
		.generated_ns = 1,
		.captures = fixture->captures,
		.capture_count = captures,
		.correlated = captures > 1 ? &fixture->correlated : NULL,
		.clocks = captures > 1 ? fixture->clocks : NULL,
		.aggregate = fixture->aggregate,
		.ids = fixture->ids,
		.two_sided = captures > 1,
	};
}

static void
add_op(struct fixture *fixture, unsigned capture, const struct nfs_op *op)
{
	struct rpc_counters *rpc = &fixture->captures[capture].rpc;

	rpc->calls++;
	rpc->outcomes[op->outcome]++;
	rpc->replies += op->outcome == OP_ANSWERED;
	aggregate_add_op(fixture->aggregate, capture, op);
}

void
fixture_add(struct fixture *fixture, unsigned client, const struct op_pair *pair)
{
	struct op_pair added = *pair;
	const struct nfs_op *op = pair_op(pair);

	added.client_capture = (uint16_t)client;
	added.client_id = ids_of(fixture->ids, ID_CLIENT, op);
	added.server_id = ids_of(fixture->ids, ID_SERVER, op);
	added.connection_id = ids_of(fixture->ids, ID_CONNECTION, op);
	added.file_id = ids_of(fixture->ids, ID_FILE, op);
	add_op(fixture, 0, &added.op[PAIR_SERVER]);
	add_op(fixture, 1 + client, &added.op[PAIR_CLIENT]);
	aggregate_add_pair(fixture->aggregate, &added);
	fixture->correlated.matches[added.match]++;
	fixture->captures[1 + client].paired_calls++;
	fixture->correlated.overlap_first_ns = BUILD_EPOCH_NS;
	fixture->correlated.overlap_last_ns = BUILD_EPOCH_NS + span_ns;
}

void
fixture_add_alone(struct fixture *fixture, unsigned capture, const struct nfs_op *op)
{
	enum match match = capture == 0 ? MATCH_SERVER_ONLY : MATCH_CLIENT_ONLY;

	add_op(fixture, capture, op);
	fixture->correlated.matches[match]++;
}

void
fixture_finish(struct fixture *fixture)
{
	struct report *report = &fixture->report;
	const struct aggregate_totals *totals = aggregate_totals(fixture->aggregate);

	aggregate_finish(fixture->aggregate);
	fixture->quality = quality_judge(report->captures, report->capture_count, report->correlated,
	    report->clocks, totals);
	fixture->findings = findings_judge(&(struct facts){
		.captures = report->captures, .capture_count = report->capture_count,
		.correlated = report->correlated, .clocks = report->clocks,
		.aggregate = fixture->aggregate, .quality = fixture->quality, .ids = fixture->ids,
		.counters = report->counters,
	});
	report->findings = fixture->findings;
	fixture->verdict = verdict_judge(fixture->quality, totals, fixture->findings);
	report->quality = fixture->quality;
	report->verdict = fixture->verdict;
}

void
fixture_clear(struct fixture *fixture)
{
	for (unsigned i = 0; i < fixture->report.capture_count; i++) {
		dist_clear(&fixture->captures[i].tcp.round_trip[0]);
		dist_clear(&fixture->captures[i].tcp.round_trip[1]);
	}
	aggregate_free(fixture->aggregate);
	ids_free(fixture->ids);
	quality_free(fixture->quality);
	verdict_free(fixture->verdict);
	findings_free(fixture->findings);
}

static struct op_pair
varied_pair(unsigned i, uint64_t *random)
{
	static const uint32_t procedures[] = { PROC_READ, PROC_WRITE, PROC_GETATTR };
	uint32_t procedure = procedures[i % 3];
	int64_t latency_ns = i == 0 ? 98500 : 50000 + build_random(random, 5000000);
	struct nfs_op op = build_op(procedure, (int64_t)i * 50000000, latency_ns);
	struct op_pair pair;

	op.xid = 0x1000 + i;
	op.path_ns = 40000;
	op.valid |= OP_HAS_PATH;
	op.call_frame = 1 + 2 * (uint64_t)i;
	op.reply_frame = 2 + 2 * (uint64_t)i;
	if (procedure != PROC_GETATTR)
		build_data(&op, 1 + i % 7, (uint64_t)i * 8192, 8192, i == 0 ? 8192 : 1 + build_random(random, 8192));
	pair = build_pair(&op, i == 0 ? 60000 : latency_ns / 2 + build_random(random, 1000));
	pair.parts.aligned = true;
	pair.parts.request_ns = pair.parts.network_ns / 3;
	pair.parts.reply_ns = pair.parts.network_ns - pair.parts.request_ns;
	pair.parts.clock_error_ns = 12000;
	return pair;
}

void
fixture_fill(struct fixture *fixture)
{
	uint64_t random = 5;

	for (unsigned i = 0; i < 200; i++) {
		struct op_pair pair = varied_pair(i, &random);
		unsigned client = 0;

		if (!fixture->report.two_sided) {
			fixture_add_alone(fixture, 0, &pair.op[fixture->captures[0].side]);
			continue;
		}
		client = i % (fixture->report.capture_count - 1);
		for (unsigned side = 0; side < 2; side++)
			pair.op[side].client.address[15] = (uint8_t)(1 + 10 * client);
		fixture_add(fixture, client, &pair);
	}
}

char *
fixture_text(const struct fixture *fixture, bool verbose)
{
	struct text_style style = { .verbose = verbose };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert(report_text(&fixture->report, &style, out));
	fclose(out);
	return text;
}

char *
fixture_json(const struct fixture *fixture)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert(report_json(&fixture->report, out));
	fclose(out);
	return text;
}
