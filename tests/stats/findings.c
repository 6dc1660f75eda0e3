#include <criterion/criterion.h>
#include <string.h>

#include "stats/build.h"
#include "stats/findings.h"

/* Two captures of which no rule has anything to say. */
struct scene {
	struct capture_facts captures[3];
	unsigned count;
	struct correlate_facts correlated;
	struct clock_facts clocks[2];
	struct aggregate *aggregate;
};

static struct scene
clean_scene(void)
{
	struct scene scene = { .count = 2, .aggregate = aggregate_new(2, 1) };

	for (unsigned i = 0; i < G_N_ELEMENTS(scene.captures); i++) {
		struct capture_facts *capture = &scene.captures[i];

		capture->side = i == 0 ? PAIR_SERVER : PAIR_CLIENT;
		capture->name = "capture";
		capture->format = "pcap";
		capture->packets = 4000 + i;
		capture->first_ns = BUILD_EPOCH_NS;
		capture->last_ns = BUILD_EPOCH_NS + INT64_C(10000000000);
		capture->dropped_by_kernel = -1;
		capture->tcp.connections = capture->tcp.rpc_connections = 2;
		capture->tcp.segments = 4000;
		capture->tcp.payload_bytes = 1000000;
		capture->rpc.calls = capture->rpc.replies = 1000;
		capture->rpc.outcomes[OP_ANSWERED] = 1000;
		capture->paired_calls = i == 0 ? 0 : 1000;
	}
	scene.correlated.matches[MATCH_MATCHED] = 1000;
	scene.correlated.overlap_first_ns = BUILD_EPOCH_NS;
	scene.correlated.overlap_last_ns = BUILD_EPOCH_NS + INT64_C(9000000000);
	return scene;
}

/* What the rules find; the scene is used up. */
static struct findings *
judge(struct scene *scene)
{
	struct aggregate_totals totals = { .matched = scene->correlated.matches[MATCH_MATCHED],
	    .total_ns = 1000000, .server_ns = 500000, .network_ns = 500000 };
	struct quality *quality = quality_judge(scene->captures, scene->count, &scene->correlated, scene->clocks,
	    &totals);
	struct facts facts = {
		.captures = scene->captures,
		.capture_count = scene->count,
		.correlated = &scene->correlated,
		.clocks = scene->clocks,
		.aggregate = scene->aggregate,
		.quality = quality,
	};
	struct findings *findings = findings_judge(&facts);

	quality_free(quality);
	aggregate_free(scene->aggregate);
	return findings;
}

/* The only finding; to be freed with its findings. */
static const struct finding *
only(const struct findings *findings, const char *id)
{
	cr_assert_eq(findings_count(findings), 1, "%u findings, the first %s", findings_count(findings),
	    findings_count(findings) > 0 ? findings_at(findings, 0)->id : "none");
	cr_assert_str_eq(findings_at(findings, 0)->id, id);
	cr_assert_eq(findings_of(findings, id), findings_at(findings, 0));
	return findings_at(findings, 0);
}

static const struct finding_value *
value(const struct finding *finding, const char *key)
{
	for (unsigned i = 0; i < finding->values; i++)
		if (strcmp(finding->value[i].key, key) == 0)
			return &finding->value[i];
	cr_assert_fail("%s has no %s", finding->id, key);
	return NULL;
}

static void
assert_silent(struct scene *scene)
{
	struct findings *findings = judge(scene);

	cr_assert_eq(findings_count(findings), 0);
	cr_assert_null(findings_of(findings, "capture-drops"));
	findings_free(findings);
}

Test(findings, nothing_to_tell)
{
	struct scene scene = clean_scene();

	assert_silent(&scene);
}

Test(findings, values_of_each_kind)
{
	struct finding finding = { 0 };

	finding_count(&finding, "count", UINT64_MAX);
	finding_unknown(&finding, "unknown");
	finding_share(&finding, "share", 0.25);
	finding_word(&finding, "word", "yes");
	cr_assert_eq(value(&finding, "count")->integer, INT64_MAX);
	cr_assert(!value(&finding, "unknown")->known);
	cr_assert_float_eq(value(&finding, "share")->real, 0.25, 1e-12);
	cr_assert_str_eq(value(&finding, "word")->word, "yes");
	for (unsigned i = 0; i < 2 * FINDING_VALUES; i++)
		finding_ns(&finding, "ns", i);
	cr_assert_eq(finding.values, FINDING_VALUES);
	cr_assert_eq(value(&finding, "count")->kind, VALUE_COUNT);
}

Test(findings, drops_are_those_that_quality_minds)
{
	struct scene scene = clean_scene();
	struct findings *findings;
	const struct finding *finding;

	scene.captures[0].tcp.lost_segments = 7;
	scene.captures[0].tcp.lost_bytes = 10000;
	scene.captures[1].tcp.lost_segments = 3;
	scene.captures[1].tcp.lost_bytes = 2000;
	scene.captures[1].dropped_by_kernel = 0;
	findings = judge(&scene);
	finding = only(findings, "capture-drops");
	cr_assert_eq(finding->component, COMPONENT_CAPTURE);
	cr_assert_eq(finding->confidence, CONFIDENCE_HIGH);
	cr_assert_eq(value(finding, "segments")->integer, 10);
	cr_assert_eq(value(finding, "bytes")->integer, 12000);
	cr_assert_eq(value(finding, "dropped_by_kernel")->integer, 0);
	cr_assert_gt(finding->remedies.count, 3);
	cr_assert(g_str_has_prefix(finding->text, "Server capture: segments"), "%s", finding->text);
	findings_free(findings);

	/* 400 of a million bytes: told as harmless there, so that it is no finding */
	scene = clean_scene();
	scene.captures[0].tcp.lost_segments = 1;
	scene.captures[0].tcp.lost_bytes = 400;
	assert_silent(&scene);
}

Test(findings, truncated)
{
	struct scene scene = clean_scene();
	struct findings *findings;

	scene.captures[1].rpc.hidden_records = 100;
	scene.captures[1].truncated_packets = 2000;
	findings = judge(&scene);
	cr_assert_eq(value(only(findings, "capture-truncated"), "hidden_records")->integer, 100);
	findings_free(findings);
}

Test(findings, overlap)
{
	struct scene scene = clean_scene();
	struct findings *findings;
	const struct finding *finding;

	scene.correlated.matches[MATCH_MATCHED] = 100;
	findings = judge(&scene);
	finding = only(findings, "capture-overlap");
	cr_assert_eq(value(finding, "overlap_ns")->integer, INT64_C(9000000000));
	findings_free(findings);
}

Test(findings, swapped_says_whether_it_was_corrected)
{
	struct scene scene = clean_scene();
	struct findings *findings;

	scene.correlated.swapped = true;
	findings = judge(&scene);
	cr_assert_str_eq(value(only(findings, "capture-swapped"), "corrected")->word, "yes");
	findings_free(findings);

	scene = clean_scene();
	scene.correlated.same_side = true;
	findings = judge(&scene);
	cr_assert_str_eq(value(only(findings, "capture-swapped"), "corrected")->word, "no");
	findings_free(findings);
}

Test(findings, duplicates_only_where_every_packet_comes_twice)
{
	struct scene scene = clean_scene();
	struct findings *findings;
	const struct finding *finding;

	scene.captures[1].duplicate_packets = 2000;
	findings = judge(&scene);
	finding = only(findings, "capture-duplicates");
	cr_assert_eq(value(finding, "packets")->integer, 2000);
	cr_assert_float_eq(value(finding, "share")->real, 2000.0 / 4001, 1e-9);
	findings_free(findings);

	scene = clean_scene();
	scene.captures[1].duplicate_packets = 20;
	assert_silent(&scene);
}

Test(findings, step_is_the_first_of_all_clients)
{
	struct scene scene = clean_scene();
	struct findings *findings;
	const struct finding *finding;

	scene.count = 3;
	for (unsigned i = 0; i < 2; i++) {
		scene.clocks[i].steps = 1 + i;
		scene.clocks[i].step[0] = (struct clock_step){ .at_ns = BUILD_EPOCH_NS + 100 - i, .step_ns = -5 - (int64_t)i };
	}
	findings = judge(&scene);
	finding = only(findings, "clock-step");
	cr_assert_eq(value(finding, "at_ns")->integer, BUILD_EPOCH_NS + 99);
	cr_assert_eq(value(finding, "step_ns")->integer, -6);
	cr_assert_eq(value(finding, "steps")->integer, 3);
	findings_free(findings);
}

Test(findings, translation)
{
	struct scene scene = clean_scene();
	struct findings *findings;

	scene.correlated.translated = 2;
	findings = judge(&scene);
	cr_assert_eq(value(only(findings, "address-translation"), "connections")->integer, 2);
	findings_free(findings);
}
