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
		facts->dropped_by_kernel = facts->dropped_by_interface = -1;
		facts->tcp.connections = facts->tcp.rpc_connections = 2;
		facts->tcp.segments = 4000;
		facts->tcp.payload_bytes = 1000000;
		facts->rpc.calls = facts->rpc.replies = 1000;
		facts->rpc.outcomes[OP_ANSWERED] = 1000;
		facts->paired_calls = side == 0 ? 0 : 1000;
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

Test(quality, inside_tls)
{
	struct scene scene = clean_scene();

	scene.facts[0].rpc.tls_asked = 1;
	assert_no_reason(&scene);
	scene.facts[0].tcp.tls_connections = 1;
	scene.facts[0].tcp.tls_bytes = scene.facts[0].tcp.payload_bytes / 10;
	assert_level(&scene, "tls-hidden", QUALITY_USABLE, 1);
	scene.facts[0].tcp.tls_bytes = scene.facts[0].tcp.payload_bytes / 10 * 6;
	assert_level(&scene, "tls-hidden", QUALITY_POOR, 1);
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

static void
assert_text(const struct scene *scene, unsigned captures, const char *has, const char *has_not)
{
	struct quality *quality = quality_judge(scene->facts, captures, &scene->correlated, scene->clock, &scene->totals);
	g_autoptr(GString) all = g_string_new(NULL);

	for (unsigned i = 0; i < quality->reasons->len; i++)
		g_string_append_printf(all, "%s\n", g_array_index(quality->reasons, struct quality_reason, i).text);
	cr_assert_not_null(strstr(all->str, has), "\"%s\" is not in %s", has, all->str);
	cr_assert(has_not == NULL || strstr(all->str, has_not) == NULL, "\"%s\" is in %s", has_not, all->str);
	quality_free(quality);
}

Test(quality, the_snap_length_explains_replies_without_call_before_a_loss_does)
{
	struct scene scene = clean_scene();

	scene.facts[1].truncated_packets = 4000;
	scene.facts[1].snaplen = 96;
	scene.facts[1].rpc.hidden_records = 10;
	scene.facts[1].rpc.orphan_replies = 10;
	scene.facts[1].tcp.lost_segments = 1;
	scene.facts[1].tcp.lost_bytes = 500;
	assert_level(&scene, "capture-drops", QUALITY_GOOD, 1);
	assert_text(&scene, 2, "96 bytes cut away: at least 10 (0.498 %); their calls are missing; replies whose call "
	    "is not in it: 10 (1 %)", "may lie there");
	/* many of them lower the quality as they do where nothing is hidden */
	scene.facts[1].rpc.orphan_replies = 100;
	assert_level(&scene, "capture-truncated", QUALITY_USABLE, 10);
}

Test(quality, no_time_of_a_loss_that_is_not_known_and_no_part_that_is_zero)
{
	struct scene scene = clean_scene();

	scene.facts[1].tcp.lost_segments = 1;
	scene.facts[1].tcp.lost_bytes = 500;
	assert_text(&scene, 2, "(500 bytes, 0.05 % of the payload)", "after its start");
	assert_text(&scene, 2, "payload)\n", "may lie there");
	scene.facts[1].tcp.first_loss_ns = BUILD_EPOCH_NS + 1000000;
	scene.facts[1].tcp.last_loss_ns = BUILD_EPOCH_NS + 2000000;
	assert_text(&scene, 2, ", 0.001 to 0.002 s after its start", NULL);
	scene = clean_scene();
	scene.facts[0].rpc.malformed = 48;
	assert_text(&scene, 2, "server capture: RPC messages that contradict themselves: 48 (2.4 %)", "headers: 0");
	scene.facts[0].bad_packets = 400;
	scene.facts[0].rpc.malformed = 0;
	assert_text(&scene, 2, "server capture: packets with cut or wrong headers: 400 (10 %)\n", "messages");
	scene = clean_scene();
	scene.facts[0].rpc.orphan_replies = 10;
	assert_text(&scene, 2, "replies whose call is not in it: 10 (1 %)\n", "began before");
}

Test(quality, a_client_none_of_whose_calls_is_the_server_s)
{
	struct scene scene = clean_scene();

	scene.facts[2] = scene.facts[1];
	scene.facts[2].name = "elsewhere.pcap";
	scene.facts[2].paired_calls = 0;
	scene.facts[2].packets++;
	assert_text(&scene, 3, "client 2 capture (elsewhere.pcap): none of its 1000 calls was matched", NULL);
	scene.facts[2].paired_calls = 99;
	assert_text(&scene, 3, "client 2 capture (elsewhere.pcap): only 99 of its 1000 calls (9.9 %)", NULL);
	/* One client alone, and a server's capture that has little of it. */
	scene.facts[0].rpc.calls = scene.totals.matched = scene.facts[1].paired_calls = 99;
	assert_level(&scene, "capture-overlap", QUALITY_USABLE, 99);
	/* A tenth of its calls is enough. */
	scene.facts[0].rpc.calls = scene.totals.matched = scene.facts[1].paired_calls = 100;
	assert_no_reason(&scene);
}

Test(quality, a_client_that_is_given_twice)
{
	struct scene scene = clean_scene();

	scene.facts[2] = scene.facts[1];
	scene.facts[2].name = "copy.pcap";
	for (uint64_t paired = 0; paired <= 500; paired += 500) {
		scene.facts[2].paired_calls = paired;
		assert_text(&scene, 3, "client 2 capture (copy.pcap) is that of client 1 once more", "none of its");
	}
}

Test(quality, an_offset_that_the_calls_contradict)
{
	struct scene scene = clean_scene();

	scene.clock[0].mode = CLOCK_GIVEN;
	scene.facts[1].against_clock = 10;
	assert_no_reason(&scene);
	scene.facts[1].against_clock = 11;
	assert_level(&scene, "clock-step", QUALITY_USABLE, 11);
	assert_text(&scene, 2, "--clock contradicts 11 matched calls (1.1 %)", NULL);
	scene.clock[0].mode = CLOCK_AUTO;
	assert_no_reason(&scene);
}

Test(quality, captures_that_are_the_wrong_way_round)
{
	struct scene scene = clean_scene();

	scene.totals.negative = 1000;
	scene.totals.server_ns = 1200000;
	scene.totals.network_ns = -200000;
	assert_level(&scene, "capture-swapped", QUALITY_POOR, 1000);
	assert_text(&scene, 2, "the captures are the wrong way round: exchange them, or leave --swap out", "steady");
	scene.facts[0].side_detected = true;
	scene.facts[0].detected_side = PAIR_CLIENT;
	assert_text(&scene, 2, "wrong way round, as their round trips say, too", "steady");
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
	scene.correlated.matches[MATCH_SERVER_ONLY] = scene.correlated.matches[MATCH_CLIENT_ONLY] = 1000;
	assert_level(&scene, "capture-overlap", QUALITY_POOR, 0);
}

/* An interval to whose calls the comparison has not come yet. */
Test(quality, nothing_compared_yet)
{
	struct scene scene = clean_scene();

	memset(scene.correlated.matches, 0, sizeof(scene.correlated.matches));
	scene.totals.matched = 0;
	assert_no_reason(&scene);
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
	static const struct point_pairs pairs = { .count = 3, .pair = {
		{ .packets = 1000 },	/* of which nothing is known */
		{ { 7, POINT_OF_HOST, WAY_IN }, { 2, POINT_OF_HOST, WAY_OUT }, 1, 1000 },
		{ { 0, POINT_OF_FILE, WAY_UNKNOWN }, { 5, POINT_OF_FILE, WAY_UNKNOWN }, 0, 2000 },
	} };
	static const char *const names[FILE_INTERFACES] = { "eth0" };
	struct scene scene = clean_scene();

	scene.totals.negative = 5;
	assert_level(&scene, "faster-than-network", QUALITY_GOOD, 5);
	scene.totals.negative = 50;
	assert_level(&scene, "faster-than-network", QUALITY_USABLE, 50);
	scene = clean_scene();
	scene.facts[0].duplicate_packets = 4000;
	assert_level(&scene, "capture-duplicates", QUALITY_GOOD, 4000);
	assert_text(&scene, 2, "server capture: packets captured twice: 4000 (100 %); the first copy is used\n", NULL);
	scene.facts[0].duplicates = &pairs;
	scene.facts[0].interfaces = names;
	assert_text(&scene, 2, "server capture: packets captured twice: 4000 (100 %); the first copy is used"
	    "; 2000 first on eth0, again on the file's interface 5"
	    "; 1000 first on the host's interface 7 (in), again on the host's interface 2 (out) 1 router further\n",
	    NULL);
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
	struct verdict *verdict = verdict_judge(quality, &scene->totals, NULL);

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

Test(verdict, the_clients_part)
{
	struct scene scene = clean_scene();

	scene.totals.server_ns = 100000;
	scene.totals.network_ns = 810000;
	scene.totals.client_ns = 90000;
	scene.totals.client_known = scene.totals.matched;
	assert_verdict(&scene, COMPONENT_NETWORK, CONFIDENCE_HIGH, "in the network (81 %)");
	scene.totals.client_known = scene.totals.matched / 2;
	assert_verdict(&scene, COMPONENT_NETWORK, CONFIDENCE_MEDIUM, "in the network (90 %, what the client adds included)");
	scene.totals.client_known = scene.totals.matched;
	scene.totals.network_ns = 90000;
	scene.totals.client_ns = 810000;
	assert_verdict(&scene, COMPONENT_CLIENT, CONFIDENCE_HIGH, "most of the time is in the client (81 %)");
	scene.totals.client_ns = 450000;
	scene.totals.network_ns = 450000;
	assert_verdict(&scene, COMPONENT_NONE, CONFIDENCE_LOW, "no part has half of the time");
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
