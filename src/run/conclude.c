#include "run/conclude.h"

#include "base/arith.h"

struct conclusion {
	struct capture_facts *facts;
	struct clock_facts *clocks;
	struct report report;
	struct quality *quality;
	struct verdict *verdict;
	struct findings *findings;
	char *why_nothing;
};

/* How far the captures are apart by their clocks, the nearest client; not above zero when they overlap. */
static int64_t
captures_apart_ns(const struct report *report)
{
	const struct capture_facts *captures = report->captures;
	int64_t apart_ns = INT64_MAX;

	for (unsigned i = 1; i < report->capture_count; i++)
		apart_ns = min_ns(apart_ns, max_ns(captures[i].first_ns - captures[0].last_ns,
		    captures[0].first_ns - captures[i].last_ns));
	return apart_ns;
}

/* True when the timing of all captures says that they were made on the same side. */
static bool
all_of_side(const struct report *report, enum pair_side side)
{
	for (unsigned i = 0; i < report->capture_count; i++)
		if (!report->captures[i].side_detected || report->captures[i].detected_side != side)
			return false;
	return true;
}

static char *
no_call_in(const struct capture_facts *facts)
{
	return g_strdup_printf("no NFS call was found in %s%s", facts->name,
	    facts->tcp.tls_connections + facts->udp.tls > 0 ? ", and what there may be is inside TLS" : "");
}

/* Why nothing could be correlated, in one sentence; NULL when something was. */
static char *
explain_nothing(const struct report *report, bool has_streams)
{
	const struct capture_facts *captures = report->captures;
	const char *streams = has_streams ?
	    "; standard input and pipes are read only once: from files, calls are found however far apart the clocks are" :
	    "";
	int64_t apart_ns;
	unsigned clients = 0;

	for (unsigned i = 1; i < report->capture_count; i++)
		clients += captures[i].rpc.calls > 0;
	if (captures[0].rpc.calls == 0)
		return no_call_in(&captures[0]);
	if (!report->two_sided)
		return NULL;
	if (clients == 0)
		return no_call_in(&captures[report->capture_count - 1]);
	if (report->correlated->same_side)
		return g_strdup_printf("%s and %s were captured on the same side: one from each is needed",
		    captures[0].name, captures[1].name);
	if (report->correlated->matches[MATCH_MATCHED] + report->correlated->matches[MATCH_PARTIAL] > 0)
		return NULL;
	for (enum pair_side side = PAIR_SERVER; side <= PAIR_CLIENT; side++)
		if (all_of_side(report, side))
			return g_strdup_printf("no call is in both captures, and by their timing %s and %s are both of a %s: "
			    "one of the %s is needed, too", captures[0].name, captures[1].name,
			    side == PAIR_SERVER ? "server" : "client", side == PAIR_SERVER ? "client" : "server");
	apart_ns = captures_apart_ns(report);
	if (apart_ns > 0)
		return g_strdup_printf("no call is in both captures, and by their clocks they do not overlap: "
		    "%.1f s lie between them%s", (double)apart_ns / NS_PER_S, streams);
	return g_strdup_printf("no call is in both captures%s", streams);
}

/* After an exchange the one client is number 0, whatever the order of the captures was. */
void
client_calls_add(struct client_calls *clients, const struct op_pair *pair)
{
	struct client_calls *client;

	if (pair->match != MATCH_MATCHED && pair->match != MATCH_PARTIAL)
		return;
	client = &clients[pair->client_capture];
	client->paired++;
	client->against_clock += pair->match == MATCH_MATCHED && pair->parts.aligned &&
	    (pair->parts.request_ns < 0 || pair->parts.reply_ns < 0);
}

/* In the order of the sides as they turned out to be. */
static struct capture_facts *
gather_facts(const struct found *found)
{
	bool swapped = found->correlate != NULL && found->correlated->exchanged;
	struct capture_facts *facts = g_new0(struct capture_facts, found->count);

	for (unsigned i = 0; i < found->count; i++)
		facts[swapped ? found->count - 1 - i : i] = found->captures[i];
	if (swapped)
		aggregate_exchange_sides(found->aggregate);
	for (unsigned i = 0; i < found->count; i++)
		facts[i].side = i == 0 ? PAIR_SERVER : PAIR_CLIENT;
	for (unsigned i = 1; i < found->count; i++) {
		facts[i].paired_calls = found->clients[i - 1].paired;
		facts[i].against_clock = found->clients[i - 1].against_clock;
	}
	if (found->count == 1)
		facts[0].side = found->side;
	return facts;
}

static struct findings *
judge_findings(const struct report *report, const struct quality *quality)
{
	struct facts facts = {
		.captures = report->captures,
		.capture_count = report->capture_count,
		.correlated = report->correlated,
		.clocks = report->correlated != NULL ? report->clocks : NULL,
		.aggregate = report->aggregate,
		.quality = quality,
		.ids = report->ids,
		.counters = report->counters,
	};

	return findings_judge(&facts);
}

struct conclusion *
conclude(const struct found *found)
{
	struct conclusion *conclusion = g_new0(struct conclusion, 1);
	struct report *report = &conclusion->report;
	const struct aggregate_totals *totals = aggregate_totals(found->aggregate);

	conclusion->facts = gather_facts(found);
	conclusion->clocks = g_new0(struct clock_facts, found->count);
	for (unsigned i = 1; i < found->count; i++)
		correlate_clock(found->correlate, i - 1, &conclusion->clocks[i - 1]);
	*report = (struct report){
		.generated_ns = g_get_real_time() * NS_PER_US,
		.captures = conclusion->facts,
		.capture_count = found->count,
		.correlated = found->correlate != NULL ? found->correlated : NULL,
		.clocks = conclusion->clocks,
		.aggregate = found->aggregate,
		.ids = found->ids,
		.counters = found->counters,
		.two_sided = found->correlate != NULL,
	};
	conclusion->quality = quality_judge(report->captures, report->capture_count, report->correlated,
	    report->clocks, totals);
	conclusion->findings = judge_findings(report, conclusion->quality);
	conclusion->verdict = verdict_judge(conclusion->quality, totals, conclusion->findings);
	conclusion->why_nothing = explain_nothing(report, found->has_streams);
	report->quality = conclusion->quality;
	report->verdict = conclusion->verdict;
	report->findings = conclusion->findings;
	report->why_nothing = conclusion->why_nothing;
	return conclusion;
}

void
conclusion_free(struct conclusion *conclusion)
{
	if (conclusion == NULL)
		return;
	quality_free(conclusion->quality);
	verdict_free(conclusion->verdict);
	findings_free(conclusion->findings);
	g_free(conclusion->facts);
	g_free(conclusion->clocks);
	g_free(conclusion->why_nothing);
	g_free(conclusion);
}

const struct report *
conclusion_report(const struct conclusion *conclusion)
{
	return &conclusion->report;
}
