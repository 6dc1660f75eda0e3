/*
 * Rules about the server.
 */
#include <math.h>

#include "base/arith.h"
#include "base/format.h"
#include "rpc/names.h"
#include "stats/chains.h"
#include "stats/concurrency.h"
#include "stats/rule_help.h"

enum {
	/*
	 * What a server takes that has to go to a disk that turns, or further, and
	 * a cache or flash does not: operations that are faster are not called slow.
	 */
	SLOW_NS = 2 * NS_PER_MS,
	UNSEEN = 1,			/* per cent of the server's calls: more than a capture's ends make */
	SLOW_SHARE = 50,		/* per cent of all time that slow operations take in the server */
	SLOW_HIGH_SHARE = 70,
	GROWS = 150,			/* per cent of the latency at few calls in flight that it is at many: it grows */
	ALONE = 130,			/* per cent of a call that are in flight in the mean: hardly ever two at once */
	COMMON_PER_MILLE = 950,		/* of the calls of an operation are believed to take no longer, */
	STEPPED_PER_MILLE = 500,	/* and where a clock was set while many of them ran */
	PUT_OFF_CALLS = 3,
};

enum { SLOW_NAMED = 3 };

struct slow_operation {
	struct row_key key;
	uint64_t calls;
	__int128 server_ns;
};

struct slow {
	uint64_t calls;			/* of slow operations */
	__int128 server_ns, total_ns;	/* in slow operations, in all */
	bool estimated;
	bool stepped;			/* a clock was set while calls ran */
	struct slow_operation named[SLOW_NAMED];	/* those with the most time */
	unsigned operations;
};

/*
 * The sum of a distribution as far as it is that of many: a few calls that were
 * timed across the step of a clock, or hung, do not make the others slow.
 */
static __int128
common_sum_ns(const struct dist *dist, unsigned per_mille)
{
	__int128 most_ns;

	if (dist->count == 0)
		return 0;
	most_ns = (__int128)dist_quantile(dist, per_mille) * dist->count;
	return MAX(MIN(dist->sum_ns, most_ns), 0);
}

static unsigned
slow_per_mille(const struct slow *slow)
{
	return slow->stepped ? STEPPED_PER_MILLE : COMMON_PER_MILLE;
}

static void
add_slow(struct slow *slow, const struct row_key *key, const struct dist *server)
{
	struct slow_operation operation = { .key = *key, .calls = server->count };

	operation.server_ns = common_sum_ns(server, slow_per_mille(slow));
	if (operation.calls == 0 || operation.server_ns < (__int128)SLOW_NS * operation.calls)
		return;
	slow->calls += operation.calls;
	slow->server_ns += operation.server_ns;
	slow->operations++;
	for (unsigned i = 0; i < SLOW_NAMED; i++) {
		if (operation.server_ns > slow->named[i].server_ns) {
			struct slow_operation moved = slow->named[i];

			slow->named[i] = operation;
			operation = moved;
		}
	}
}

static bool
was_stepped(const struct facts *facts)
{
	for (unsigned i = 0; facts->clocks != NULL && i + 1 < facts->capture_count; i++)
		if (facts->clocks[i].steps > 0)
			return true;
	return false;
}

/* Matched calls: both times are measured. */
static void
sum_matched(const struct facts *facts, struct slow *slow)
{
	unsigned count;
	const struct matched_row *const *rows = aggregate_matched(facts->aggregate, &count);

	for (unsigned i = 0; i < count; i++) {
		slow->total_ns += common_sum_ns(&rows[i]->total, slow_per_mille(slow));
		add_slow(slow, &rows[i]->key, &rows[i]->server);
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

		slow->total_ns += common_sum_ns(latency, slow_per_mille(slow)) + (__int128)trip_ns * latency->count;
		add_slow(slow, &rows[i]->key, slow->estimated ? &rows[i]->server_estimate : latency);
	}
}

/* "READ 18.1ms, WRITE 17.9ms and 2 more". */
static char *
operation_words(const struct slow *slow)
{
	GString *text = g_string_new("");

	for (unsigned i = 0; i < MIN(slow->operations, SLOW_NAMED); i++) {
		const struct slow_operation *operation = &slow->named[i];
		struct nfs_op op = {
			.program = operation->key.program, .version = operation->key.version,
			.minor = operation->key.minor, .procedure = operation->key.procedure,
			.operation = operation->key.operation,
		};
		char name[FORMAT_SIZE], mean[FORMAT_SIZE];

		op_procedure_name(&op, name, sizeof(name));
		g_string_append_printf(text, "%s%s %s", i > 0 ? ", " : "",
		    row_key_is_others(&operation->key) ? "others" : name,
		    format_duration(mean, (int64_t)(operation->server_ns / (__int128)operation->calls)));
	}
	if (slow->operations > SLOW_NAMED)
		g_string_append_printf(text, " and %u more", slow->operations - SLOW_NAMED);
	return g_string_free(text, FALSE);
}

enum growth { GROWTH_UNKNOWN, GROWTH_UNSEEN, GROWTH_NO, GROWTH_YES };

/*
 * Calls that the server works on and its capture does not show: how many are in
 * flight is not known then, nor what the others wait for.
 */
static bool
lacks_calls(const struct facts *facts)
{
	const struct rpc_counters *rpc = &facts->captures[0].rpc;
	uint64_t unseen = rpc->orphan_replies + rpc->outcomes[OP_LOST_IN_CAPTURE] + rpc->outcomes[OP_EVICTED];

	return facts->captures[0].side == PAIR_SERVER &&
	    (double)unseen * PERCENT > (double)(rpc->calls + rpc->orphan_replies) * UNSEEN;
}

/*
 * Does the server take longer when more calls are in it, as many as usual or
 * more, than at few? Where the number hardly changes, it cannot be told.
 */
static enum growth
growth_of(const struct facts *facts)
{
	const struct concurrency *concurrency = facts->captures[0].side == PAIR_SERVER ?
	    aggregate_concurrency(facts->aggregate, 0) : NULL;
	const struct depth *depth = concurrency != NULL ? concurrency_server(concurrency) : NULL;
	struct depth_growth growth;
	double usual;

	if (lacks_calls(facts))
		return GROWTH_UNSEEN;
	if (depth == NULL || depth->calls == 0 || depth_busy_ns(depth) <= 0)
		return GROWTH_UNKNOWN;
	usual = (double)depth->sum_ns / (double)depth_busy_ns(depth);
	if (!at_least(usual, 1, ALONE))
		return GROWTH_NO;
	if (!depth_growth(depth, (uint32_t)CLAMP(ceil(usual), 2, depth->max), &growth))
		return GROWTH_UNKNOWN;
	return !at_least(growth.ratio, 1, GROWS) ? GROWTH_NO : growth.least > 1 ? GROWTH_YES : GROWTH_UNKNOWN;
}

static const char *const growth_sentences[] = {
	[GROWTH_UNKNOWN] = "Whether calls queue there for one another, for disks or a lock, cannot be told, as the number in "
	    "flight hardly changes.",
	[GROWTH_UNSEEN] = "Whether calls queue there for one another, for a thread, disks or a lock, cannot be told, as the "
	    "server's capture lacks some that were in flight.",
	[GROWTH_NO] = "They take no longer when more calls are in flight: it is the work itself that takes long, that is "
	    "storage, cache or CPU behind the NFS threads, and not their number.",
	[GROWTH_YES] = "They take longer the more calls are in flight: they queue for something there, such as disks or a "
	    "lock; no number of threads shows.",
};

static void
tell_slow(const struct facts *facts, struct finding *finding, const struct slow *slow, double share)
{
	enum growth growth = growth_of(facts);
	g_autofree char *operations = operation_words(slow);
	g_autofree char *rest = NULL;
	char part[PERCENT_SIZE], mean[FORMAT_SIZE];

	if (slow->estimated)
		rest = g_strdup(" (an estimate: latency less the shortest round trip)");
	else if (facts->correlated != NULL)
		rest = g_strdup_printf("; the network adds %s a call", format_duration(mean,
		    (int64_t)(aggregate_totals(facts->aggregate)->network_ns /
		    (__int128)MAX(aggregate_totals(facts->aggregate)->matched, 1))));
	finding->text = g_strdup_printf("The server takes long for these operations, in the mean: %s. That is %s of the time of "
	    "all calls%s. %s", operations, percent_words(part, share), rest != NULL ? rest : "", slow->estimated ? "" :
	    growth_sentences[growth]);
	g_strchomp(finding->text);
	finding->doubt = g_strdup(slow->estimated ?
	    "From the client alone a queue or losses on the way and calls that wait for a thread look the same: a capture of "
	    "the server settles it." :
	    "A capture cannot look inside the server: a disk, a full cache, a lock, a recall from tape and a virtual machine "
	    "that is not scheduled look the same. What to collect there tells.");
	finding_share(finding, "server_share", share);
	finding_ns(finding, "service_mean_ns", (int64_t)(slow->server_ns / (__int128)slow->calls));
	finding_count(finding, "calls", slow->calls);
	if (growth == GROWTH_UNKNOWN || growth == GROWTH_UNSEEN)
		finding_unknown(finding, "grows");
	else
		finding_word(finding, "grows", growth == GROWTH_YES ? "yes" : "no");
	if (slow->estimated || growth == GROWTH_UNSEEN)
		finding->confidence = CONFIDENCE_LOW;
	else
		finding->confidence = facts->correlated != NULL && growth == GROWTH_NO &&
		    at_least(share, 1, SLOW_HIGH_SHARE) ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
}

/*
 * Most of the time is in the server, in operations that take long there, and
 * neither too few threads explain it nor replies that cannot leave.
 */
bool
rule_server_slow_service(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	struct slow slow = { 0 };
	double share;

	if (findings_of(before, "server-thread-saturation") != NULL || replies_wait_for_window(facts))
		return false;
	slow.stepped = was_stepped(facts);
	if (facts->correlated != NULL)
		sum_matched(facts, &slow);
	else
		sum_alone(facts, &slow);
	if (slow.calls < VERDICT_CALLS || slow.total_ns <= 0)
		return false;
	share = MIN((double)slow.server_ns / (double)slow.total_ns, 1);
	if (!at_least(share, 1, SLOW_SHARE))
		return false;
	tell_slow(facts, finding, &slow, share);
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
	finding->outside_wire = true;
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
