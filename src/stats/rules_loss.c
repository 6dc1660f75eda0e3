/*
 * Rules about what the network lost.
 */
#include "base/format.h"
#include "stats/rule_help.h"

enum {
	LEAST_LOST = 3,		/* one or two tell of nothing that lasts */
	COST_PER_MILLE = 10,	/* of the time of all calls: less is not what makes them slow */
};

/*
 * Both captures have to show it: the copies at the sender, and at the receiver
 * that the first of them did not come. Calls of which the captures lack too
 * much to tell are not counted; where those are most, nothing is said.
 */
bool
rule_network_loss(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	const struct aggregate_totals *totals = aggregate_totals(facts->aggregate);
	char segments[FORMAT_SIZE], calls[FORMAT_SIZE], mean[FORMAT_SIZE], all[FORMAT_SIZE], share_text[PERCENT_SIZE];
	int64_t cost_ns = (int64_t)MIN(totals->retransmit_ns, INT64_MAX), mean_ns;
	double share;

	(void)before;
	if (totals->lost_segments < LEAST_LOST || totals->delayed_calls == 0 || totals->total_ns <= 0 ||
	    totals->retransmit_known < totals->matched / 2 ||
	    totals->retransmit_ns * 1000 < totals->total_ns * COST_PER_MILLE)
		return false;
	share = (double)totals->retransmit_ns / (double)totals->total_ns;
	mean_ns = (int64_t)(totals->retransmit_ns / (__int128)totals->delayed_calls);
	finding->confidence = CONFIDENCE_HIGH;
	finding->text = g_strdup_printf("%s segments of calls and replies were lost between the two capture points: the "
	    "sender's capture shows them sent again, the receiver's that they had not come. %s calls waited for them, "
	    "%s each on average, %s in all, %s of the time of all calls.",
	    format_count(segments, totals->lost_segments), format_count(calls, totals->delayed_calls),
	    format_duration(mean, mean_ns), format_duration(all, cost_ns), percent_words(share_text, share));
	finding->doubt = g_strdup("Between the capture points are the hosts' own queues and network cards, too: their "
	    "counters of drops tell them from the links and switches.");
	finding_count(finding, "segments", totals->lost_segments);
	finding_ns(finding, "cost_ns", cost_ns);
	finding_count(finding, "calls", totals->delayed_calls);
	finding_ns(finding, "cost_per_call_ns", mean_ns);
	finding_share(finding, "cost_share", share);
	return true;
}
