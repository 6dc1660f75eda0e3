#include <criterion/criterion.h>
#include <string.h>

#include "stats/build.h"
#include "stats/quality.h"

/* Two captures with nothing to object to. */
struct scene {
	struct capture_facts facts[3];
	struct correlate_facts correlated;
	struct clock_facts clock[2];
	struct aggregate_totals totals;
};

static struct scene
clean_scene(void)
{
	struct scene scene = { .totals = { .matched = 1000, .total_ns = 1000000, .server_ns = 810000, .network_ns = 190000 } };

	for (unsigned side = 0; side < 2; side++) {
		struct capture_facts *facts = &scene.facts[side];

		facts->side = side == 0 ? PAIR_SERVER : PAIR_CLIENT;
		facts->name = "capture";
		facts->format = "pcap";
		facts->packets = 4000;
		facts->first_ns = BUILD_EPOCH_NS;
		facts->last_ns = BUILD_EPOCH_NS + INT64_C(10000000000);
		facts->dropped_by_kernel = -1;
		facts->tcp.connections = facts->tcp.rpc_connections = 2;
		facts->tcp.segments = 4000;
		facts->tcp.payload_bytes = 1000000;
		facts->rpc.calls = facts->rpc.replies = 1000;
		facts->rpc.outcomes[OP_ANSWERED] = 1000;
	}
	scene.correlated.matches[MATCH_MATCHED] = 1000;
	scene.correlated.overlap_first_ns = BUILD_EPOCH_NS;
	scene.correlated.overlap_last_ns = BUILD_EPOCH_NS + INT64_C(9000000000);
	return scene;
}

static struct quality *
judge(const struct scene *scene)
{
	return quality_judge(scene->facts, 2, &scene->correlated, scene->clock, &scene->totals);
}

static void
assert_level(const struct scene *scene, const char *id, enum quality_level level, uint64_t count)
{
	struct quality *quality = judge(scene);
	const struct quality_reason *reason = &g_array_index(quality->reasons, struct quality_reason, 0);

	cr_assert_geq(quality->reasons->len, 1, "%s: no reason", id);
	cr_assert_str_eq(reason->id, id);
	cr_assert_eq(reason->level, level, "%s: %s", id, reason->text);
	cr_assert_eq(reason->count, count, "%s: %lu", id, reason->count);
	cr_assert_eq(quality->level, level);
	cr_assert_gt(strlen(reason->text), 10);
	quality_free(quality);
}

static void
assert_no_reason(const struct scene *scene)
{
	struct quality *quality = judge(scene);

	cr_assert_eq(quality->level, QUALITY_GOOD);
	cr_assert_eq(quality->reasons->len, 0);
	quality_free(quality);
}

Test(quality, nothing_to_object_to)
{
	struct scene scene = clean_scene();

	assert_no_reason(&scene);
}

Test(quality, lost_segments_by_their_share)
{
	struct scene scene = clean_scene();

	scene.facts[1].tcp.lost_segments = 1;
	scene.facts[1].tcp.lost_bytes = 500;
	assert_level(&scene, "capture-drops", QUALITY_GOOD, 1);
	/* 20000 of 1020000 bytes: 2 % */
	scene.facts[1].tcp.lost_segments = 14;
	scene.facts[1].tcp.lost_bytes = 20000;
	assert_level(&scene, "capture-drops", QUALITY_USABLE, 14);
	/* few bytes, but 60 of 1000 calls */
	scene.facts[1].tcp.lost_bytes = 500;
	scene.facts[1].rpc.outcomes[OP_LOST_IN_CAPTURE] = 60;
	assert_level(&scene, "capture-drops", QUALITY_POOR, 14);
}

Test(quality, kernel_drops)
{
	struct scene scene = clean_scene();

	scene.facts[0].dropped_by_kernel = 0;
	assert_no_reason(&scene);
	scene.facts[0].dropped_by_kernel = 40;
	assert_level(&scene, "capture-drops", QUALITY_USABLE, 40);
	scene.facts[0].dropped_by_kernel = 4000;
	assert_level(&scene, "capture-drops", QUALITY_POOR, 4000);
}

Test(quality, one_direction)
{
	struct scene scene = clean_scene();

	scene.facts[0].tcp.one_direction = 1;
	assert_level(&scene, "capture-drops", QUALITY_USABLE, 1);
	scene.facts[0].tcp.one_direction = 2;
	assert_level(&scene, "capture-drops", QUALITY_POOR, 2);
}

Test(quality, replies_without_call)
{
	struct scene scene = clean_scene();

	scene.facts[0].rpc.orphan_replies = 10;
	assert_level(&scene, "capture-truncated", QUALITY_GOOD, 10);
	scene.facts[0].rpc.orphan_replies = 100;
	assert_level(&scene, "capture-truncated", QUALITY_USABLE, 100);
	/* Where segments were lost, they are part of that. */
	scene.facts[0].tcp.lost_segments = 1;
	scene.facts[0].tcp.lost_bytes = 500;
	assert_level(&scene, "capture-drops", QUALITY_POOR, 1);
}

Test(quality, hidden_records)
{
	struct scene scene = clean_scene();

	/* A cut that hides no header is no reason. */
	scene.facts[0].truncated_packets = 4000;
	assert_no_reason(&scene);
	scene.facts[0].rpc.hidden_records = 10;
	assert_level(&scene, "capture-truncated", QUALITY_GOOD, 10);
	scene.facts[0].rpc.hidden_records = 100;
	assert_level(&scene, "capture-truncated", QUALITY_USABLE, 100);
	scene.facts[0].rpc.hidden_records = 600;
	assert_level(&scene, "capture-truncated", QUALITY_POOR, 600);
}

Test(quality, a_cut_file_a_swap_a_step)
{
	struct scene scene = clean_scene();

	scene.facts[0].trouble = "it ends inside a packet";
	assert_level(&scene, "capture-truncated", QUALITY_USABLE, 1);
	scene = clean_scene();
	scene.correlated.swapped = true;
	assert_level(&scene, "capture-swapped", QUALITY_GOOD, 1);
	scene.correlated.same_side = true;
	assert_level(&scene, "capture-swapped", QUALITY_POOR, 1);
	scene = clean_scene();
	scene.clock[0].steps = 2;
	scene.clock[0].step[0] = (struct clock_step){ .at_ns = BUILD_EPOCH_NS + 1000, .step_ns = 1000000 };
	assert_level(&scene, "clock-step", QUALITY_USABLE, 2);
}

Test(quality, little_in_common)
{
	struct scene scene = clean_scene();

	scene.totals.matched = 400;
	assert_level(&scene, "capture-overlap", QUALITY_USABLE, 400);
	scene.totals.matched = 0;
	assert_level(&scene, "capture-overlap", QUALITY_POOR, 0);
}

Test(quality, no_call_at_all)
{
	struct scene scene = clean_scene();
	struct quality *quality;

	memset(&scene.facts[0].rpc, 0, sizeof(scene.facts[0].rpc));
	quality = quality_judge(scene.facts, 1, NULL, NULL, &scene.totals);
	cr_assert_eq(quality->level, QUALITY_POOR);
	quality_free(quality);
}

Test(quality, negative_parts_duplicates_translation_backward_stamps)
{
	struct scene scene = clean_scene();

	scene.totals.negative = 5;
	assert_level(&scene, "faster-than-network", QUALITY_GOOD, 5);
	scene.totals.negative = 50;
	assert_level(&scene, "faster-than-network", QUALITY_USABLE, 50);
	scene = clean_scene();
	scene.facts[0].duplicate_packets = 4000;
	assert_level(&scene, "capture-duplicates", QUALITY_GOOD, 4000);
	scene = clean_scene();
	scene.correlated.translated = 3;
	assert_level(&scene, "address-translation", QUALITY_GOOD, 3);
	scene = clean_scene();
	scene.facts[1].backward_stamps = 40;
	scene.facts[1].backward_max_ns = 1999999;
	assert_no_reason(&scene);
	scene.facts[1].backward_max_ns = 2000000;
	assert_level(&scene, "clock-step", QUALITY_USABLE, 40);
}

Test(quality, the_most_serious_reason_comes_first)
{
	struct scene scene = clean_scene();
	struct quality *quality;

	scene.facts[0].duplicate_packets = 1;
	scene.facts[0].trouble = "it ends inside a packet";
	scene.facts[1].tcp.one_direction = 2;
	quality = judge(&scene);
	cr_assert_eq(quality->level, QUALITY_POOR);
	cr_assert_eq(quality->reasons->len, 3);
	for (unsigned i = 1; i < quality->reasons->len; i++)
		cr_assert_geq(g_array_index(quality->reasons, struct quality_reason, i - 1).level,
		    g_array_index(quality->reasons, struct quality_reason, i).level);
	quality_free(quality);
}

/* 1000 of 1010 calls are another client's. */
Test(quality, a_client_of_few_calls_does_not_spoil_the_others)
{
	struct scene scene = clean_scene();
	struct quality *quality;

	scene.facts[2] = scene.facts[1];
	scene.facts[2].rpc.calls = scene.facts[2].rpc.outcomes[OP_ANSWERED] = 10;
	scene.facts[2].tcp.one_direction = 2;
	quality = quality_judge(scene.facts, 3, &scene.correlated, scene.clock, &scene.totals);
	cr_assert_eq(quality->level, QUALITY_USABLE);
	cr_assert_not_null(strstr(g_array_index(quality->reasons, struct quality_reason, 0).text, "client 2 capture"));
	quality_free(quality);
	scene.facts[2].rpc.calls = 100;
	quality = quality_judge(scene.facts, 3, &scene.correlated, scene.clock, &scene.totals);
	cr_assert_eq(quality->level, QUALITY_POOR);
	quality_free(quality);
}

Test(quality, a_single_capture_that_looks_like_the_other_side)
{
	struct scene scene = clean_scene();
	struct quality *quality;

	scene.facts[0].side_detected = true;
	scene.facts[0].detected_side = PAIR_CLIENT;
	quality = quality_judge(scene.facts, 1, NULL, NULL, &scene.totals);
	cr_assert_eq(quality->reasons->len, 1);
	cr_assert_str_eq(g_array_index(quality->reasons, struct quality_reason, 0).id, "capture-swapped");
	quality_free(quality);
}

/* ---- verdict ---- */

static void
assert_verdict(const struct scene *scene, enum component component, enum confidence confidence, const char *text)
{
	struct quality *quality = judge(scene);
	struct verdict *verdict = verdict_judge(quality, &scene->totals);

	cr_assert_eq(verdict->component, component, "%s", verdict->text);
	cr_assert_eq(verdict->confidence, confidence, "%s", verdict->text);
	cr_assert_not_null(strstr(verdict->text, text), "%s", verdict->text);
	cr_assert_null(strstr(verdict->text, "slow"), "no finding, no fault");
	verdict_free(verdict);
	quality_free(quality);
}

Test(verdict, most_of_the_time)
{
	struct scene scene = clean_scene();

	assert_verdict(&scene, COMPONENT_SERVER, CONFIDENCE_HIGH,
	    "most of the time is in the server (81 %); nothing marks it as a fault");
	scene.totals.server_ns = 500000;
	scene.totals.network_ns = 500000;
	assert_verdict(&scene, COMPONENT_SERVER, CONFIDENCE_MEDIUM, "(50 %)");
	scene.totals.server_ns = 190000;
	scene.totals.network_ns = 810000;
	assert_verdict(&scene, COMPONENT_NETWORK, CONFIDENCE_MEDIUM, "in the network (81 %");
}

Test(verdict, a_usable_capture_lowers_the_confidence)
{
	struct scene scene = clean_scene();

	scene.facts[0].trouble = "it ends inside a packet";
	assert_verdict(&scene, COMPONENT_SERVER, CONFIDENCE_MEDIUM, "server (81 %)");
	scene.totals.server_ns = 600000;
	scene.totals.network_ns = 400000;
	assert_verdict(&scene, COMPONENT_SERVER, CONFIDENCE_LOW, "server (60 %)");
}

Test(verdict, none_without_evidence)
{
	struct scene scene = clean_scene();

	scene.totals.matched = 29;
	scene.facts[1].rpc.calls = 29;
	assert_verdict(&scene, COMPONENT_NONE, CONFIDENCE_LOW, "29 matched calls are too few");
	scene.totals.matched = scene.facts[1].rpc.calls = 30;
	assert_verdict(&scene, COMPONENT_SERVER, CONFIDENCE_HIGH, "server (81 %)");
	scene.correlated.same_side = true;
	assert_verdict(&scene, COMPONENT_NONE, CONFIDENCE_LOW, "too poor");
	scene = clean_scene();
	scene.totals.total_ns = 0;
	assert_verdict(&scene, COMPONENT_NONE, CONFIDENCE_LOW, "too coarse");
}
