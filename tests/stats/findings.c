#include <criterion/criterion.h>
#include <string.h>

#include "stats/build.h"
#include "stats/scene.h"

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

static void
assert_silent(struct scene *scene)
{
	struct findings *findings = scene_judge(scene);

	cr_assert_eq(findings_count(findings), 0);
	cr_assert_null(findings_of(findings, "capture-drops"));
	findings_free(findings);
}

Test(findings, nothing_to_tell)
{
	struct scene scene = scene_new(2, PAIR_SERVER);

	assert_silent(&scene);
}

Test(findings, values_of_each_kind)
{
	struct finding finding = { 0 };

	finding_count(&finding, "count", UINT64_MAX);
	finding_unknown(&finding, "unknown");
	finding_share(&finding, "share", 0.25);
	finding_word(&finding, "word", "yes");
	cr_assert_eq(finding_value(&finding, "count")->integer, INT64_MAX);
	cr_assert(!finding_value(&finding, "unknown")->known);
	cr_assert_float_eq(finding_value(&finding, "share")->real, 0.25, 1e-12);
	cr_assert_str_eq(finding_value(&finding, "word")->word, "yes");
	for (unsigned i = 0; i < 2 * FINDING_VALUES; i++)
		finding_ns(&finding, "ns", i);
	cr_assert_eq(finding.values, FINDING_VALUES);
	cr_assert_eq(finding_value(&finding, "count")->kind, VALUE_COUNT);
}

/* Commands are pasted: their lines fit the page. Words are ASCII. */
Test(findings, remedies)
{
	unsigned remedies_seen = 0;

	for (unsigned rule = 0; rule < findings_rules(); rule++) {
		const struct remedies *remedies = findings_remedies(rule);

		for (unsigned i = 0; remedies != NULL && i < remedies->count; i++) {
			const struct remedy *remedy = &remedies->remedy[i];
			g_auto(GStrv) lines = g_strsplit(remedy->command != NULL ? remedy->command : "", "\n", -1);

			cr_assert_not_null(remedy->system);
			cr_assert(remedy->setting != NULL || remedy->command != NULL, "%s", remedy->system);
			cr_assert(g_str_is_ascii(remedy->setting != NULL ? remedy->setting : ""));
			for (unsigned line = 0; lines[line] != NULL; line++) {
				cr_assert(g_str_is_ascii(lines[line]), "%s", lines[line]);
				cr_assert_leq(strlen(lines[line]), REMEDY_COLUMNS, "%s", lines[line]);
			}
			remedies_seen++;
		}
	}
	cr_assert_gt(remedies_seen, 20);
}

Test(findings, drops_are_those_that_quality_minds)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;
	const struct finding *finding;

	scene.captures[0].tcp.lost_segments = 7;
	scene.captures[0].tcp.lost_bytes = 10000;
	scene.captures[1].tcp.lost_segments = 3;
	scene.captures[1].tcp.lost_bytes = 2000;
	scene.captures[1].dropped_by_kernel = 0;
	findings = scene_judge(&scene);
	finding = only(findings, "capture-drops");
	cr_assert_eq(finding->component, COMPONENT_CAPTURE);
	cr_assert_eq(finding->confidence, CONFIDENCE_HIGH);
	cr_assert_eq(finding_value(finding, "segments")->integer, 10);
	cr_assert_eq(finding_value(finding, "bytes")->integer, 12000);
	cr_assert_eq(finding_value(finding, "dropped_by_kernel")->integer, 0);
	cr_assert_gt(finding->remedies.count, 3);
	cr_assert(g_str_has_prefix(finding->text, "Server capture: segments"), "%s", finding->text);
	findings_free(findings);

	/* 400 of a million bytes: told as harmless there, so that it is no finding */
	scene = scene_new(2, PAIR_SERVER);
	scene.captures[0].tcp.lost_segments = 1;
	scene.captures[0].tcp.lost_bytes = 400;
	assert_silent(&scene);
}

Test(findings, truncated)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;

	scene.captures[1].rpc.hidden_records = 100;
	scene.captures[1].truncated_packets = 2000;
	findings = scene_judge(&scene);
	cr_assert_eq(finding_value(only(findings, "capture-truncated"), "hidden_records")->integer, 100);
	findings_free(findings);
}

Test(findings, tls)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;
	const struct finding *finding;

	scene.captures[0].tcp.tls_connections = 1;
	scene.captures[0].tcp.tls_bytes = 1000;
	scene.captures[1].tcp.tls_connections = 1;
	scene.captures[1].tcp.tls_bytes = 900;
	scene.captures[0].rpc.tls_asked = scene.captures[0].rpc.tls_agreed = 1;
	findings = scene_judge(&scene);
	finding = only(findings, "tls-hidden");
	cr_assert_eq(finding->confidence, CONFIDENCE_HIGH);
	cr_assert_eq(finding_value(finding, "connections")->integer, 2);
	cr_assert_eq(finding_value(finding, "bytes")->integer, 1900);
	cr_assert_eq(finding_value(finding, "asked")->integer, 1);
	cr_assert_eq(finding_value(finding, "agreed")->integer, 1);
	findings_free(findings);

	/* asked for, refused, and gone on in clear: nothing is hidden */
	scene = scene_new(2, PAIR_SERVER);
	scene.captures[0].rpc.tls_asked = 1;
	assert_silent(&scene);
}

Test(findings, overlap)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;
	const struct finding *finding;

	scene.correlated.matches[MATCH_MATCHED] = 100;
	findings = scene_judge(&scene);
	finding = only(findings, "capture-overlap");
	cr_assert_eq(finding_value(finding, "overlap_ns")->integer, INT64_C(10000000000));
	findings_free(findings);
}

Test(findings, swapped_says_whether_it_was_corrected)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;

	scene.correlated.swapped = true;
	findings = scene_judge(&scene);
	cr_assert_str_eq(finding_value(only(findings, "capture-swapped"), "corrected")->word, "yes");
	findings_free(findings);

	scene = scene_new(2, PAIR_SERVER);
	scene.correlated.same_side = true;
	findings = scene_judge(&scene);
	cr_assert_str_eq(finding_value(only(findings, "capture-swapped"), "corrected")->word, "no");
	findings_free(findings);
}

Test(findings, duplicates_only_where_every_packet_comes_twice)
{
	static const struct point_pairs pairs = { .count = 1,
		.pair = { { { .way = WAY_OUT }, { .way = WAY_IN }, 0, 2000 } } };
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;
	const struct finding *finding;

	scene.captures[1].duplicate_packets = 2000;
	scene.captures[1].duplicates = &pairs;
	findings = scene_judge(&scene);
	finding = only(findings, "capture-duplicates");
	cr_assert_eq(finding_value(finding, "packets")->integer, 2000);
	cr_assert_float_eq(finding_value(finding, "share")->real, 2000.0 / 4001, 1e-9);
	cr_assert_not_null(strstr(finding->text, "The commonest case: first on the capture (out), again on the capture (in)."));
	findings_free(findings);

	scene = scene_new(2, PAIR_SERVER);
	scene.captures[1].duplicate_packets = 20;
	assert_silent(&scene);
}

Test(findings, step_is_the_first_of_all_clients)
{
	struct scene scene = scene_new(3, PAIR_SERVER);
	struct findings *findings;
	const struct finding *finding;

	for (unsigned i = 0; i < 2; i++) {
		scene.clocks[i].steps = 1 + i;
		scene.clocks[i].step[0] = (struct clock_step){ .at_ns = BUILD_EPOCH_NS + 100 - i, .step_ns = -5 - (int64_t)i };
	}
	findings = scene_judge(&scene);
	finding = only(findings, "clock-step");
	cr_assert_eq(finding_value(finding, "at_ns")->integer, BUILD_EPOCH_NS + 99);
	cr_assert_eq(finding_value(finding, "step_ns")->integer, -6);
	cr_assert_eq(finding_value(finding, "steps")->integer, 3);
	findings_free(findings);
}

Test(findings, translation)
{
	struct scene scene = scene_new(2, PAIR_SERVER);
	struct findings *findings;

	scene.correlated.translated = 2;
	findings = scene_judge(&scene);
	cr_assert_eq(finding_value(only(findings, "address-translation"), "connections")->integer, 2);
	findings_free(findings);
}
