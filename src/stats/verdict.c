#include "base/format.h"
#include "stats/findings.h"
#include "stats/rule_help.h"

enum { PPM = 1000000 };

static struct verdict *
verdict_none(char *text)
{
	struct verdict *verdict = g_new(struct verdict, 1);

	*verdict = (struct verdict){
		.component = COMPONENT_NONE,
		.confidence = CONFIDENCE_LOW,
		.text = text,
	};
	return verdict;
}

/* blurred: the part may hold some of another one. */
static enum confidence
confidence_of(enum quality_level level, double share, bool blurred)
{
	unsigned missing = (level != QUALITY_GOOD) + (share * PPM < VERDICT_HIGH_PPM);

	if (missing == 2)
		return CONFIDENCE_LOW;
	return missing == 1 || blurred ? CONFIDENCE_MEDIUM : CONFIDENCE_HIGH;
}

/* The first finding of that confidence at least that tells of the calls' time in a component, or of anything else; NULL: none. */
static const struct finding *
finding_for(const struct findings *findings, enum confidence least, enum component component, bool other)
{
	for (unsigned i = 0; i < findings_count(findings); i++) {
		const struct finding *finding = findings_at(findings, i);
		bool of_part = finding->component == component && !finding->outside_wire;

		if (finding->confidence <= least && finding->component != COMPONENT_CAPTURE && of_part != other)
			return finding;
	}
	return NULL;
}

static const struct finding *
outside_wire(const struct findings *findings)
{
	for (unsigned i = 0; i < findings_count(findings); i++) {
		const struct finding *finding = findings_at(findings, i);

		if (finding->outside_wire && finding->component == COMPONENT_CLIENT &&
		    finding->confidence == CONFIDENCE_HIGH)
			return finding;
	}
	return NULL;
}

/*
 * The client's counters show more of its calls' time outside the wire than on
 * it, and are of as many calls as were matched, nearly. Caller frees the text.
 */
static char *
outside_by_counters(const struct findings *findings, const struct aggregate_totals *totals)
{
	const struct mountstats_sums *sums = findings == NULL ? NULL : findings_counters(findings);
	char outside[FORMAT_SIZE], wire[FORMAT_SIZE];

	if (sums == NULL || sums->calls < VERDICT_CALLS || sums->calls < totals->matched / 2 ||
	    counters_outside_ms(sums) <= sums->rtt_ms)
		return NULL;
	return g_strdup_printf("more time passes in the client outside the wire than on it (by its own counters %s of a call "
	    "against %s)", format_duration(outside, mountstats_mean_ns(counters_outside_ms(sums), sums->calls)),
	    format_duration(wire, mountstats_mean_ns(sums->rtt_ms, sums->calls)));
}

/* Of the client, for the time that is in no call; takes the text. */
static void
blame_outside(struct verdict *verdict, const struct quality *quality, char *text)
{
	verdict->component = COMPONENT_CLIENT;
	verdict->confidence = quality->level == QUALITY_GOOD ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
	verdict->text = text;
}

/* The largest part, if it has half of the time. */
static enum component
largest_part(const struct aggregate_totals *totals, double *share)
{
	double server = (double)totals->server_ns / (double)totals->total_ns;
	double network = (double)aggregate_network_ns(totals) / (double)totals->total_ns;
	double client = aggregate_knows_client(totals) ? (double)totals->client_ns / (double)totals->total_ns : 0;

	*share = MAX(MAX(server, network), client);
	if (*share * PPM < VERDICT_PPM)
		return COMPONENT_NONE;
	return *share == server ? COMPONENT_SERVER : *share == network ? COMPONENT_NETWORK : COMPONENT_CLIENT;
}

static char *
part_words(enum component component, double share, bool blurred, const struct findings *findings)
{
	const char *name = component == COMPONENT_SERVER ? "server" : component == COMPONENT_NETWORK ? "network" :
	    "client";
	const char *rest = blurred ? ", what the client adds included" : "";
	const struct finding *fault = finding_for(findings, CONFIDENCE_MEDIUM, component, false);
	const struct finding *sign = finding_for(findings, CONFIDENCE_LOW, component, false);
	const struct finding *elsewhere = finding_for(findings, CONFIDENCE_MEDIUM, component, true);

	if (fault != NULL)
		return g_strdup_printf("the %s is slow: %.0f %% of the time is there%s (%s)", name, 100 * share, rest,
		    fault->id);
	if (sign != NULL)
		return g_strdup_printf("most of the time is in the %s (%.0f %%%s); there is a sign of a fault, no more: %s", name,
		    100 * share, rest, sign->id);
	if (elsewhere != NULL)
		return g_strdup_printf("most of the time is in the %s (%.0f %%%s); nothing marks that as a fault, but see %s",
		    name, 100 * share, rest, elsewhere->id);
	return g_strdup_printf("most of the time is in the %s (%.0f %%%s); nothing marks it as a fault", name,
	    100 * share, rest);
}

struct verdict *
verdict_judge(const struct quality *quality, const struct aggregate_totals *totals, const struct findings *findings)
{
	const struct finding *outside = outside_wire(findings), *fault;
	struct verdict *verdict;
	double share;
	bool blurred;
	char *counted;

	if (quality->level == QUALITY_POOR)
		return verdict_none(g_strdup("the captures are too poor to say where the time goes"));
	if (totals->matched == 0)
		return verdict_none(g_strdup("no call was matched: server, network and client cannot be told apart"));
	if (totals->matched < VERDICT_CALLS)
		return verdict_none(g_strdup_printf("%" G_GUINT64_FORMAT " matched calls are too few to say where the time goes",
		    totals->matched));
	if (totals->total_ns <= 0)
		return verdict_none(g_strdup("the times of the calls sum to nothing: the stamps are too coarse, or a clock was set"));

	verdict = g_new0(struct verdict, 1);
	if (outside != NULL) {
		blame_outside(verdict, quality, g_strdup_printf("more time passes in the client outside the wire than on it (%s)",
		    outside->id));
		return verdict;
	}
	counted = outside_by_counters(findings, totals);
	if (counted != NULL) {
		blame_outside(verdict, quality, counted);
		return verdict;
	}
	verdict->component = largest_part(totals, &share);
	if (verdict->component == COMPONENT_NONE) {
		verdict->confidence = CONFIDENCE_LOW;
		verdict->text = g_strdup("no part has half of the time");
		return verdict;
	}
	fault = finding_for(findings, CONFIDENCE_MEDIUM, verdict->component, false);
	blurred = verdict->component == COMPONENT_NETWORK && !aggregate_knows_client(totals);
	verdict->text = part_words(verdict->component, share, blurred, findings);
	verdict->confidence = confidence_of(quality->level, share, blurred);
	if (fault != NULL)
		verdict->confidence = MAX(fault->confidence, quality->level == QUALITY_GOOD ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
	return verdict;
}

void
verdict_free(struct verdict *verdict)
{
	if (verdict == NULL)
		return;
	g_free(verdict->text);
	g_free(verdict);
}
