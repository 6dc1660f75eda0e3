/*
 * Rules about the captures themselves. What quality tells and what changes
 * nothing (level good) is not repeated here as a finding, but where the reader
 * needs it to read the report or would do better next time.
 */
#include "base/arith.h"
#include "stats/rows.h"
#include "stats/rule_help.h"

enum {
	DUPLICATES_PPM = 100000,	/* of all packets: the capture sees each packet twice, not a few */
	PPM = 1000000,
};

/*
 * The reasons of one id that are worse than good, as sentences; NULL when there
 * is none. causes: the bits of enum quality_cause that count.
 */
static char *
objections(const struct facts *facts, const char *id, unsigned causes)
{
	GString *text = g_string_new(NULL);

	for (unsigned i = 0; i < facts->quality->reasons->len; i++) {
		const struct quality_reason *reason =
		    &g_array_index(facts->quality->reasons, struct quality_reason, i);

		if (reason->level == QUALITY_GOOD || !g_str_equal(reason->id, id) || (causes & 1u << reason->cause) == 0)
			continue;
		g_string_append_printf(text, "%s%c%s.", text->len > 0 ? " " : "",
		    g_ascii_toupper(reason->text[0]), reason->text + 1);
	}
	return g_string_free(text, text->len == 0);
}

/* Any flaw that quality counts is proven by the capture itself. */
static bool
tell_objections(const struct facts *facts, struct finding *finding, unsigned causes)
{
	finding->text = objections(facts, finding->id, causes);
	finding->confidence = CONFIDENCE_HIGH;
	return finding->text != NULL;
}

bool
rule_address_translation(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	(void)before;
	if (facts->correlated == NULL || facts->correlated->translated == 0)
		return false;
	finding->confidence = CONFIDENCE_HIGH;
	finding->text = g_strdup_printf("The captures show the same calls under different addresses or ports, on %"
	    G_GUINT64_FORMAT " connections: NAT, a virtual address or a proxy lies between them. They were paired by "
	    "XID and content; rows by client, server and connection name what the client's capture shows.",
	    facts->correlated->translated);
	finding_count(finding, "connections", facts->correlated->translated);
	return true;
}

/* Calls that did not fit into this program's tables are no fault of the capture. */
bool
rule_capture_drops(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	uint64_t segments = 0, bytes = 0, dropped = 0;
	bool told = false;

	(void)before;
	if (!tell_objections(facts, finding, 1u << CAUSE_LOST | 1u << CAUSE_KERNEL | 1u << CAUSE_ONE_WAY))
		return false;
	for (unsigned i = 0; i < facts->capture_count; i++) {
		const struct capture_facts *capture = &facts->captures[i];

		segments += capture->tcp.lost_segments;
		bytes += capture->tcp.lost_bytes;
		told = told || capture->dropped_by_kernel >= 0;
		dropped += (uint64_t)MAX(capture->dropped_by_kernel, 0);
	}
	finding_count(finding, "segments", segments);
	finding_count(finding, "bytes", bytes);
	if (told)
		finding_count(finding, "dropped_by_kernel", dropped);
	else
		finding_unknown(finding, "dropped_by_kernel");
	return true;
}

/* The bytes and when they came is all that encryption leaves to see. */
bool
rule_tls_hidden(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	uint64_t connections = 0, bytes = 0, datagrams = 0, asked = 0, agreed = 0;
	g_autofree char *hidden = objections(facts, finding->id, 1u << CAUSE_OTHER);

	(void)before;
	if (hidden == NULL)
		return false;
	for (unsigned i = 0; i < facts->capture_count; i++) {
		const struct capture_facts *capture = &facts->captures[i];

		connections += capture->tcp.tls_connections;
		bytes += capture->tcp.tls_bytes;
		datagrams += capture->udp.tls;
		asked += capture->rpc.tls_asked;
		agreed += capture->rpc.tls_agreed;
	}
	finding->confidence = CONFIDENCE_HIGH;
	finding->text = g_strdup_printf("%s Nothing in this report speaks of those calls; what TCP shows of their "
	    "connections (round trips, retransmissions, windows) and how much they carried is all that can be seen.",
	    hidden);
	finding_count(finding, "connections", connections);
	finding_count(finding, "bytes", bytes);
	finding_count(finding, "datagrams", datagrams);
	finding_count(finding, "asked", asked);
	finding_count(finding, "agreed", agreed);
	return true;
}

/* That a capture begins in the middle of connections is no fault of its snap length, and common. */
bool
rule_capture_truncated(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	uint64_t hidden = 0, truncated = 0;

	(void)before;
	if (!tell_objections(facts, finding, 1u << CAUSE_HIDDEN | 1u << CAUSE_TROUBLE))
		return false;
	for (unsigned i = 0; i < facts->capture_count; i++) {
		hidden += facts->captures[i].rpc.hidden_records;
		truncated += facts->captures[i].truncated_packets;
	}
	finding_count(finding, "hidden_records", hidden);
	finding_count(finding, "truncated_packets", truncated);
	return true;
}

bool
rule_capture_overlap(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	(void)before;
	if (!tell_objections(facts, finding, 1u << CAUSE_OTHER))
		return false;
	if (facts->correlated == NULL)
		return true;
	finding_count(finding, "calls",
	    facts->correlated->matches[MATCH_MATCHED] + facts->correlated->matches[MATCH_PARTIAL]);
	if (facts->correlated->overlap_last_ns > 0)
		finding_ns(finding, "overlap_ns",
		    duration_ns(facts->correlated->overlap_first_ns, facts->correlated->overlap_last_ns));
	else
		finding_unknown(finding, "overlap_ns");
	return true;
}

/* A corrected exchange changes no number, but the next command line wants the right order. */
bool
rule_capture_swapped(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	bool corrected = facts->correlated != NULL && facts->correlated->swapped && !facts->correlated->same_side;

	(void)before;
	finding->confidence = CONFIDENCE_HIGH;
	if (corrected)
		finding->text = g_strdup("The captures were given the other way round, the client's as the server's. "
		    "This was corrected: the report names them as they are.");
	else if (!tell_objections(facts, finding, 1u << CAUSE_OTHER))
		return false;
	if (facts->correlated == NULL) {
		/* the round trips of one capture are a sign, no more */
		finding->confidence = CONFIDENCE_LOW;
		finding->doubt = g_strdup("A host that acknowledges late makes its round trips look like those of a way. "
		    "Where the capture was made settles it.");
	}
	finding_word(finding, "corrected", corrected ? "yes" : "no");
	return true;
}

bool
rule_capture_duplicates(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	uint64_t packets = 0, duplicates = 0;
	const struct capture_facts *worst = NULL;
	const struct point_pair *pair;
	char share[PERCENT_SIZE];
	GString *text;

	(void)before;
	for (unsigned i = 0; i < facts->capture_count; i++) {
		const struct capture_facts *capture = &facts->captures[i];

		/* the worst capture alone: the others may have been made well */
		if ((double)capture->duplicate_packets * (double)packets > (double)duplicates * (double)capture->packets ||
		    packets == 0) {
			packets = capture->packets;
			duplicates = capture->duplicate_packets;
			worst = capture;
		}
	}
	if (packets == 0 || (double)duplicates / (double)packets * PPM < DUPLICATES_PPM)
		return false;
	finding->confidence = CONFIDENCE_HIGH;
	text = g_string_new(NULL);
	g_string_printf(text, "Many packets were captured twice (%s of one capture), as on the interface "
	    "\"any\" or a mirror port that copies both ways. The first copies are used and no number suffers, but the "
	    "capture costs twice what it needs to.", percent_words(share, (double)duplicates / (double)packets));
	pair = capture_next_pair(worst, NULL);
	if (pair != NULL) {
		gsize len = text->len;

		g_string_append(text, " The commonest case: ");
		if (capture_append_pair(text, worst, pair))
			g_string_append_c(text, '.');
		else
			g_string_truncate(text, len);
	}
	finding->text = g_string_free(text, FALSE);
	finding_count(finding, "packets", duplicates);
	finding_share(finding, "share", (double)duplicates / (double)packets);
	return true;
}

bool
rule_clock_step(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	const struct clock_step *first = NULL;
	uint64_t steps = 0;

	(void)before;
	for (unsigned i = 0; facts->clocks != NULL && i + 1 < facts->capture_count; i++) {
		const struct clock_facts *clock = &facts->clocks[i];

		steps += clock->steps;
		if (clock->steps > 0 && (first == NULL || clock->step[0].at_ns < first->at_ns))
			first = &clock->step[0];
	}
	if (first == NULL)
		return false;
	finding->confidence = CONFIDENCE_HIGH;
	finding->text = g_strdup_printf("The offset between the clocks jumps%s by %.6f s: a clock was set while the captures "
	    "ran. A call that was on its way then may be timed across the jump; all others are right.",
	    steps == 1 ? "" : " more than once, first", (double)first->step_ns / NS_PER_S);
	finding_stamp(finding, "at_ns", first->at_ns);
	finding_ns(finding, "step_ns", first->step_ns);
	finding_count(finding, "steps", steps);
	return true;
}
