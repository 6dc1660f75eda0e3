/*
 * Rules about the server.
 */
#include "base/arith.h"
#include "base/format.h"
#include "stats/chains.h"
#include "stats/rule_help.h"

enum {
	PERCENT = 100,
	/*
	 * What a server takes that has to go to a disk that turns, or further, and
	 * a cache or flash does not: operations that are faster are not called slow.
	 */
	SLOW_NS = 2 * NS_PER_MS,
	SLOW_SHARE = 50,		/* per cent of all time that slow operations take in the server */
	SLOW_HIGH_SHARE = 70,
	COMMON_PER_MILLE = 950,		/* of the calls of an operation are believed to take no longer */
	PUT_OFF_CALLS = 3,
};

struct slow {
	uint64_t calls;			/* of slow operations */
	__int128 server_ns, total_ns;	/* in slow operations, in all */
	bool estimated;
};

/*
 * The sum of a distribution as far as it is that of many: a few calls that were
 * timed across the step of a clock, or hung, do not make the others slow.
 */
static __int128
common_sum_ns(const struct dist *dist)
{
	__int128 most_ns;

	if (dist->count == 0)
		return 0;
	most_ns = (__int128)dist_quantile(dist, COMMON_PER_MILLE) * dist->count;
	return MAX(MIN(dist->sum_ns, most_ns), 0);
}

static void
add_slow(struct slow *slow, const struct dist *server)
{
	__int128 sum_ns = common_sum_ns(server);

	if (sum_ns < (__int128)SLOW_NS * server->count || server->count == 0)
		return;
	slow->calls += server->count;
	slow->server_ns += sum_ns;
}

/* Matched calls: both times are measured. */
static void
sum_matched(const struct facts *facts, struct slow *slow)
{
	unsigned count;
	const struct matched_row *const *rows = aggregate_matched(facts->aggregate, &count);

	for (unsigned i = 0; i < count; i++) {
		slow->total_ns += common_sum_ns(&rows[i]->total);
		add_slow(slow, &rows[i]->server);
	}
}

/* A server's capture: what the client saw is about the latency and a round trip. A client's: an estimate. */
static void
sum_alone(const struct facts *facts, struct slow *slow)
{
	const struct capture_facts *capture = &facts->captures[0];
	enum pair_side side = capture->side;
	const struct dist *trips = &capture->tcp.round_trip[1];
	int64_t trip_ns = side == PAIR_SERVER && trips->count > 0 ? trips->min_ns : 0;
	unsigned count;
	const struct side_row *const *rows = aggregate_side(facts->aggregate, 0, &count);

	slow->estimated = side == PAIR_CLIENT;
	for (unsigned i = 0; i < count; i++) {
		const struct dist *latency = &rows[i]->latency[side];

		slow->total_ns += common_sum_ns(latency) + (__int128)trip_ns * latency->count;
		add_slow(slow, slow->estimated ? &rows[i]->server_estimate : latency);
	}
}

/*
 * Most of the time is in the server, in operations that take long there, and
 * neither too few threads explain it, nor anything else that grows with the
 * calls in flight, nor replies that cannot leave.
 */
bool
rule_server_slow_service(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	struct slow slow = { 0 };
	char mean[FORMAT_SIZE], part[FORMAT_SIZE];
	double share;

	if (findings_of(before, "server-thread-saturation") != NULL || replies_wait_for_window(facts))
		return false;
	if (facts->correlated != NULL)
		sum_matched(facts, &slow);
	else
		sum_alone(facts, &slow);
	if (slow.calls < VERDICT_CALLS || slow.total_ns <= 0)
		return false;
	share = MIN((double)slow.server_ns / (double)slow.total_ns, 1);
	if (share * PERCENT < SLOW_SHARE)
		return false;
	finding->confidence = slow.estimated ? CONFIDENCE_LOW :
	    facts->correlated != NULL && share * PERCENT >= SLOW_HIGH_SHARE ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
	finding->text = g_strdup_printf("The server takes %s in the mean for the operations that are slow there, and these "
	    "make %s of all time%s. Calls do not wait for each other: it is the work itself that takes long, that is "
	    "storage, cache or CPU behind the NFS threads, and not their number.",
	    format_duration(mean, (int64_t)(slow.server_ns / (__int128)slow.calls)), format_share(part, true, share),
	    slow.estimated ? " (an estimate, latency less the shortest round trip)" : "");
	finding->doubt = slow.estimated ? g_strdup("From the client alone a queue or losses on the way and calls that wait for "
	    "a thread look the same: a capture of the server settles it.") : g_strdup("A capture cannot look inside the server: a disk, a full cache, a lock, a recall from "
	    "tape and a virtual machine that is not scheduled look the same. What to collect there tells.");
	finding_share(finding, "server_share", share);
	finding_ns(finding, "service_mean_ns", (int64_t)(slow.server_ns / (__int128)slow.calls));
	finding_count(finding, "calls", slow.calls);
	return true;
}

/* What the clients saw, and where they saw nothing of it the server. */
static struct chains
sum_chains(const struct facts *facts)
{
	struct chains sum = { 0 };

	for (unsigned i = 0; i < facts->capture_count; i++)
		if (facts->captures[i].side == PAIR_CLIENT)
			chains_merge(&sum, aggregate_chains(facts->aggregate, i));
	for (unsigned i = 0; sum.calls == 0 && i < facts->capture_count; i++)
		chains_merge(&sum, aggregate_chains(facts->aggregate, i));
	return sum;
}

/* The server says so itself: NFS3ERR_JUKEBOX, NFS4ERR_DELAY. */
bool
rule_jukebox_delay(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	struct chains sum = sum_chains(facts);
	char wait[FORMAT_SIZE], longest[FORMAT_SIZE];

	(void)before;
	if (sum.calls < PUT_OFF_CALLS)
		return false;
	finding->confidence = CONFIDENCE_HIGH;
	if (sum.chains > 0)
		finding->text = g_strdup_printf("The server put off %" G_GUINT64_FORMAT " calls (NFS3ERR_JUKEBOX, "
		    "NFS4ERR_DELAY: not now, ask again). %" G_GUINT64_FORMAT " chains of them and their retries are in the "
		    "capture; from the first call to the latest reply they took %s together, the longest %s. That wait is in "
		    "no call's time.", sum.calls, sum.chains, format_duration(wait, sum.wait_ns),
		    format_duration(longest, sum.longest_ns));
	else
		finding->text = g_strdup_printf("The server put off %" G_GUINT64_FORMAT " calls (NFS3ERR_JUKEBOX, "
		    "NFS4ERR_DELAY: not now, ask again); none of them is seen to be made again.", sum.calls);
	finding->doubt = g_strdup("Why it did, the protocol does not say: a recall from tape or a slow tier, a delegation "
	    "that another client has to give back, or a server short of memory.");
	finding_count(finding, "chains", sum.chains);
	finding_count(finding, "calls", sum.calls);
	finding_ns(finding, "wait_ns", sum.wait_ns);
	finding_count(finding, "served", sum.served);
	finding_ns(finding, "longest_ns", sum.longest_ns);
	return true;
}
