/*
 * Too few threads at the server: calls wait although the server would work on
 * more of them if it had more hands. What a capture shows of it and how the
 * number is found: thread_fit.h.
 */
#include "base/arith.h"
#include "base/format.h"
#include "correlate/ids.h"
#include "stats/rule_help.h"
#include "stats/threads.h"

enum {
	/* A call that is not in the capture holds a thread that nobody sees: */
	MISSING_MOST = 25,		/* per cent of the calls; beyond it nothing is told */
	BUSY_MOST = 50,			/* per cent of the busy time: the pattern holds for most of it */
	FEW_CALLS = 1000,		/* fewer have no thousandth that may leave negative service */
	MANY = 4,			/* threads: fewer may be the disks of a mirror, if all calls need one */
	CLOSED_PART = 100,		/* of the calls: so often the server's window fell, it may not have read */
};

/* The share of the server's calls of which call or reply is not in the capture. */
static double
missing_share(const struct rpc_counters *rpc)
{
	double lost = (double)(rpc->orphan_replies + rpc->outcomes[OP_LOST_IN_CAPTURE] + rpc->outcomes[OP_EVICTED]);

	return lost / (double)MAX(rpc->calls + rpc->orphan_replies, 1);
}

/* The pool whose calls waited longest, all in all. */
static const struct thread_pool *
worst(const struct thread_pool *pool, unsigned pools)
{
	const struct thread_pool *found = pool;

	for (unsigned i = 1; i < pools; i++)
		if ((double)pool[i].fit.queue_wait_mean_ns * (double)pool[i].fit.waited >
		    (double)found->fit.queue_wait_mean_ns * (double)found->fit.waited)
			found = &pool[i];
	return found;
}

static char *
server_words(const struct facts *facts, const struct thread_pool *pool, unsigned pools)
{
	char name[LABEL_SIZE];

	if (pool->all || facts->ids == NULL)
		return g_strdup("The server");
	label_address(facts->ids, &pool->server, name);
	if (pools == 1)
		return g_strdup_printf("The server at %s", name);
	return g_strdup_printf("The server at %s (of %u addresses of which the same holds, the worst)", name, pools);
}

static void
tell_number(struct finding *finding, const char *server, const struct thread_fit *fit)
{
	char busy[FORMAT_SIZE], p50[FORMAT_SIZE], p95[FORMAT_SIZE], service[FORMAT_SIZE], now[FORMAT_SIZE], then[FORMAT_SIZE];

	finding->text = g_strdup_printf("%s works on %u call%s at a time. For %s of the time in which it has any, it has "
	    "that many or more, and the others wait until one is done: %s in the median, %s at the 95th percentile. The "
	    "work itself takes %s in the mean; with the wait, calls spend %s in the server. With %u threads the same "
	    "load would take about %s, if nothing behind the threads is short as well.", server, fit->threads,
	    fit->threads == 1 ? "" : "s", format_share(busy, true, fit->busy_share),
	    format_duration(p50, fit->queue_wait_p50_ns), format_duration(p95, fit->queue_wait_p95_ns),
	    format_duration(service, fit->service_mean_ns), format_duration(now, fit->latency_mean_ns), 2 * fit->threads,
	    format_duration(then, fit->latency_at_double_ns));
	finding->doubt = g_strdup_printf("%s The number of threads in the server's configuration tells.",
	    fit->one_at_a_time ? "One thread, and one thing behind more threads that every call needs in turn (a lock, a "
	    "disk, one CPU), look the same." : fit->all_kinds ? "Whatever lets so many calls through at a time looks the "
	    "same, as a limit of the vendor's." : "All calls are of about one kind: so many disks behind one queue look the "
	    "same.");
}

static void
tell_bound(struct finding *finding, const char *server, const struct thread_fit *fit)
{
	finding->text = g_strdup_printf("%s works on a limited number of calls at a time, at least %u, and the others wait "
	    "until one is done. How many there are exactly this capture does not show.", server, fit->at_least);
	finding->doubt = g_strdup("A longer capture that also has times of little load shows the number; the server's "
	    "configuration tells it at once.");
}

static void
give_evidence(struct finding *finding, const struct thread_fit *fit)
{
	if (fit->threads == 0) {
		finding_unknown(finding, "threads");
		finding_count(finding, "threads_at_least", fit->at_least);
		finding_unknown(finding, "busy_share");
		finding_unknown(finding, "queue_wait_p50_ns");
		finding_unknown(finding, "queue_wait_p95_ns");
		finding_unknown(finding, "service_mean_ns");
		finding_ns(finding, "latency_mean_ns", fit->latency_mean_ns);
		finding_unknown(finding, "latency_at_double_ns");
		finding_unknown(finding, "waited_share");
	} else {
		finding_count(finding, "threads", fit->threads);
		finding_count(finding, "threads_at_least", fit->at_least);
		finding_share(finding, "busy_share", fit->busy_share);
		finding_ns(finding, "queue_wait_p50_ns", fit->queue_wait_p50_ns);
		finding_ns(finding, "queue_wait_p95_ns", fit->queue_wait_p95_ns);
		finding_ns(finding, "service_mean_ns", fit->service_mean_ns);
		finding_ns(finding, "latency_mean_ns", fit->latency_mean_ns);
		finding_ns(finding, "latency_at_double_ns", fit->latency_at_double_ns);
		finding_share(finding, "waited_share", (double)fit->waited / (double)MAX(fit->calls, 1));
	}
	finding_count(finding, "calls", fit->calls);
}

/*
 * Of so few calls none overtakes too many others by chance, where services
 * differ much: what would be left for the wait is short then.
 */
static bool
could_be_chance(const struct thread_fit *fit)
{
	return fit->calls < FEW_CALLS && 2 * fit->queue_wait_mean_ns < fit->service_mean_ns;
}

/*
 * Calls wait for a thread. Medium when that holds for most of the busy time or
 * services agree with those of calls that found a free thread, and there are
 * several; a few only if calls of all kinds wait: disks serve some at a time as
 * well, but not those that need none. Low otherwise, and when one thread may be
 * one of many things, or the number is only bounded. A server whose window falls
 * may leave calls unread, for whatever reason: low.
 */
bool
rule_server_thread_saturation(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	const struct capture_facts *capture = &facts->captures[0];
	double missing = missing_share(&capture->rpc);
	struct thread_pool pool[THREADS_SERVERS];
	unsigned pools;
	struct thread_fit fit;
	const struct thread_pool *found;
	char *server;

	(void)before;
	if (capture->side != PAIR_SERVER || missing * PERCENT > MISSING_MOST || replies_wait_for_window(facts))
		return false;
	pools = threads_judge(aggregate_threads(facts->aggregate), capture->rpc.orphan_replies == 0, pool);
	if (pools == 0)
		return false;
	found = worst(pool, pools);
	fit = found->fit;
	/* one thread and half of another that nobody sees */
	if (missing * fit.threads > 1.5) {
		fit.at_least = fit.threads;
		fit.threads = 0;
	}
	server = server_words(facts, found, pools);
	if (fit.threads > 0)
		tell_number(finding, server, &fit);
	else
		tell_bound(finding, server, &fit);
	g_free(server);
	give_evidence(finding, &fit);
	finding->confidence = fit.threads >= (fit.all_kinds ? 2 : MANY) &&
	    capture->tcp.server_window_shrunk * CLOSED_PART < fit.calls &&
	    (fit.compared || fit.busy_share * PERCENT >= BUSY_MOST) && !could_be_chance(&fit) ?
	    CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
	return true;
}
