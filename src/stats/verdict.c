#include "stats/quality.h"

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

static enum confidence
confidence_of(enum component component, enum quality_level level, double share)
{
	unsigned missing = (level != QUALITY_GOOD) + (share * PPM < VERDICT_HIGH_PPM);

	if (missing == 2)
		return CONFIDENCE_LOW;
	return missing == 1 || component == COMPONENT_NETWORK ? CONFIDENCE_MEDIUM : CONFIDENCE_HIGH;
}

struct verdict *
verdict_judge(const struct quality *quality, const struct aggregate_totals *totals)
{
	struct verdict *verdict;
	double server, share;

	if (quality->level == QUALITY_POOR)
		return verdict_none(g_strdup("the captures are too poor to say where the time goes"));
	if (totals->matched == 0)
		return verdict_none(g_strdup("no call was matched: server, network and client cannot be told apart"));
	if (totals->matched < VERDICT_CALLS)
		return verdict_none(g_strdup_printf("%" G_GUINT64_FORMAT " matched calls are too few to say where the time goes",
		    totals->matched));
	if (totals->total_ns <= 0)
		return verdict_none(g_strdup("the time stamps are too coarse to say where the time goes"));

	verdict = g_new0(struct verdict, 1);
	server = (double)totals->server_ns / (double)totals->total_ns;
	if (server * PPM >= VERDICT_PPM) {
		share = server;
		verdict->component = COMPONENT_SERVER;
		verdict->text = g_strdup_printf("most of the time is in the server (%.0f %%); nothing marks it as a fault",
		    100 * share);
	} else {
		share = (double)totals->network_ns / (double)totals->total_ns;
		verdict->component = COMPONENT_NETWORK;
		verdict->text = g_strdup_printf("most of the time is in the network (%.0f %%, what the client adds included); "
		    "nothing marks it as a fault", 100 * share);
	}
	verdict->confidence = confidence_of(verdict->component, quality->level, share);
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
