#include "stats/scene.h"

#include <criterion/criterion.h>
#include <string.h>

#include "stats/build.h"

static const int64_t span_ns = INT64_C(10000000000);

static void
fill_capture(struct capture_facts *capture, enum pair_side side, unsigned number)
{
	capture->side = side;
	capture->name = "capture";
	capture->format = "pcap";
	/* no two alike: a client's capture may be given once only */
	capture->packets = 4000 + number;
	capture->first_ns = BUILD_EPOCH_NS;
	capture->last_ns = BUILD_EPOCH_NS + span_ns;
	capture->dropped_by_kernel = -1;
	capture->tcp.connections = capture->tcp.rpc_connections = 2;
	capture->tcp.segments = 4000;
	capture->tcp.payload_bytes = 1000000;
	capture->rpc.calls = capture->rpc.replies = 1000;
	capture->rpc.outcomes[OP_ANSWERED] = 1000;
	capture->paired_calls = number == 0 ? 0 : 1000;
	dist_add(&capture->tcp.round_trip[side == PAIR_SERVER ? 1 : 0], 100000);
}

struct scene
scene_new(unsigned count, enum pair_side one_side)
{
	struct scene scene = { .count = count, .aggregate = aggregate_new(count, 1) };

	for (unsigned i = 0; i < count; i++) {
		enum pair_side side = i == 0 ? PAIR_SERVER : PAIR_CLIENT;

		fill_capture(&scene.captures[i], count == 1 ? one_side : side, i);
		scene.lines[i] = lines_new();
		scene.captures[i].lines = scene.lines[i];
	}
	scene.correlated.matches[MATCH_MATCHED] = 1000 * (count - 1);
	scene.correlated.overlap_first_ns = BUILD_EPOCH_NS;
	scene.correlated.overlap_last_ns = BUILD_EPOCH_NS + span_ns;
	return scene;
}

/* build_op takes 1000 ns for the call's bytes and 500 ns for the reply's. */
void
scene_call(struct scene *scene, unsigned client, uint32_t procedure, int64_t at_ns, int64_t server_ns, int64_t way_ns)
{
	struct nfs_op op = build_op(procedure, at_ns, server_ns + way_ns);
	struct op_pair pair;

	if (procedure != PROC_GETATTR)
		build_data(&op, 1, (uint64_t)at_ns, 65536, 65536);
	pair = build_pair(&op, server_ns);
	pair.client_capture = (uint16_t)client;
	aggregate_add_op(scene->aggregate, 0, &pair.op[PAIR_SERVER]);
	aggregate_add_op(scene->aggregate, 1 + client, &pair.op[PAIR_CLIENT]);
	aggregate_add_pair(scene->aggregate, &pair);
}

void
scene_call_alone(struct scene *scene, uint32_t procedure, int64_t at_ns, int64_t latency_ns)
{
	struct nfs_op op = build_op(procedure, at_ns, latency_ns);

	op.path_ns = 100000;
	op.valid |= OP_HAS_PATH;
	aggregate_add_op(scene->aggregate, 0, &op);
}

void
scene_frames(struct scene *scene, unsigned client, int64_t at_ns, int64_t gap_ns, unsigned frames)
{
	struct nfs_op op = build_op(PROC_READ, 0, 0);
	struct flow_key key = { .port = { 700, 2049 } };
	struct packet packet = { .wire_len = 1514, .cap_len = 1514 };

	op.client.address[15] = (uint8_t)(op.client.address[15] + 10 * client);
	memcpy(key.address[0], op.client.address, sizeof(key.address[0]));
	memcpy(key.address[1], op.server.address, sizeof(key.address[1]));
	for (unsigned i = 0; i < frames; i++) {
		packet.ts_ns = BUILD_EPOCH_NS + at_ns + (int64_t)i * gap_ns;
		lines_add(scene->lines[1 + client], &key, 1, &packet, 1460);
		lines_add(scene->lines[0], &key, 1, &packet, 1460);
		lines_note(scene->lines[0], &op.client, &op.server);
	}
	lines_note(scene->lines[1 + client], &op.client, &op.server);
}

struct findings *
scene_judge(struct scene *scene)
{
	bool alone = scene->count == 1;
	struct aggregate_totals totals = {
		.matched = scene->correlated.matches[MATCH_MATCHED],
		.total_ns = 1000000, .server_ns = 500000, .network_ns = 500000,
	};
	struct quality *quality = quality_judge(scene->captures, scene->count, alone ? NULL : &scene->correlated,
	    alone ? NULL : scene->clocks, &totals);
	struct facts facts = {
		.captures = scene->captures,
		.capture_count = scene->count,
		.correlated = alone ? NULL : &scene->correlated,
		.clocks = alone ? NULL : scene->clocks,
		.aggregate = scene->aggregate,
		.quality = quality,
		.counters = scene->counters,
	};
	struct findings *findings;

	aggregate_finish(scene->aggregate);
	findings = findings_judge(&facts);
	quality_free(quality);
	aggregate_free(scene->aggregate);
	for (unsigned i = 0; i < scene->count; i++) {
		lines_free(scene->lines[i]);
		dist_clear(&scene->captures[i].tcp.round_trip[0]);
		dist_clear(&scene->captures[i].tcp.round_trip[1]);
	}
	return findings;
}

const struct finding *
finding_there(const struct findings *findings, const char *id)
{
	const struct finding *finding = findings_of(findings, id);

	cr_assert_not_null(finding, "no %s among %u", id, findings_count(findings));
	return finding;
}

const struct finding_value *
finding_value(const struct finding *finding, const char *key)
{
	for (unsigned i = 0; i < finding->values; i++)
		if (strcmp(finding->value[i].key, key) == 0)
			return &finding->value[i];
	cr_assert_fail("%s has no %s", finding->id, key);
	return NULL;
}
