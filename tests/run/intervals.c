/*
 * A capture in intervals: the books of each close, and all of them together are
 * the whole.
 */
#include <inttypes.h>
#include <string.h>

#include "capture/source_set.h"
#include "properties.h"
#include "run/pipeline.h"
#include "stats/aggregate.h"
#include "stats/capture_since.h"
#include "stats/rows.h"

enum { PACKETS_MOST = 900 };

static const struct pipeline_limits limits = { .connections = 4096, .calls = 65536, .held_bytes = 1 << 26 };

/* One capture, all of it and since the interval began; sums over the intervals beside it. */
struct cut {
	struct pipeline *pipeline;
	struct aggregate *whole, *interval, *joined;
	struct capture_facts kept;
	struct rpc_counters rpc;
	struct stream_counters tcp;
	uint64_t packets, intervals;
};

static void
note_op(void *context, const struct nfs_op *op)
{
	struct cut *cut = context;

	aggregate_add_op(cut->whole, 0, op);
	aggregate_add_op(cut->interval, 0, op);
}

static bool
books_close(const struct rpc_counters *rpc, uint64_t interval, GString *why)
{
	uint64_t ended = 0;

	for (unsigned outcome = 0; outcome < OP_OUTCOMES; outcome++)
		ended += rpc->outcomes[outcome];
	if (rpc->calls != ended)
		g_string_append_printf(why, "interval %" PRIu64 ": %" PRIu64 " calls, %" PRIu64 " ended or in flight",
		    interval, rpc->calls, ended);
	return rpc->calls == ended;
}

/* now: the facts at the interval's end, or those of the capture's end. */
static bool
end_interval(struct cut *cut, const struct capture_facts *now, GString *why)
{
	static const int64_t all_time_ns = INT64_MIN;
	struct capture_facts since;
	bool good;

	capture_facts_since(&since, &cut->kept, now, now->first_ns, now->last_ns);
	cut->packets += since.packets;
	rpc_counters_add(&cut->rpc, &since.rpc);
	stream_counters_add(&cut->tcp, &since.tcp);
	good = books_close(&since.rpc, cut->intervals++, why);
	capture_facts_keep(&cut->kept, now);
	capture_facts_drop(&since);
	aggregate_finish(cut->interval);
	aggregate_merge(cut->joined, cut->interval);
	aggregate_reset(cut->interval, &all_time_ns);
	return good;
}

static bool
cut_capture(struct cut *cut, struct trace *trace, const char *const *paths, GString *why)
{
	struct source_set *packets = source_set_open(paths, NULL, NULL);
	struct source_facts told = *source_set_facts(packets, 0);
	struct capture_facts now;
	struct packet packet;
	bool good = true;
	int left = 0;

	cut->pipeline = pipeline_new_live(&told, &limits, note_op, cut);
	while (good && source_set_next(packets, &packet) == SOURCE_PACKET) {
		pipeline_push(cut->pipeline, &packet);
		if (left-- > 0)
			continue;
		left = g_rand_int_range(trace->rand, 0, PACKETS_MOST);
		pipeline_facts_now(cut->pipeline, &now, NULL, NULL);
		good = end_interval(cut, &now, why);
		pipeline_facts_clear(&now);
	}
	told = *source_set_facts(packets, 0);
	pipeline_end(cut->pipeline);
	good = good && end_interval(cut, pipeline_facts(cut->pipeline), why);
	source_set_free(packets);
	return good;
}

static bool
same_number(const char *what, uint64_t sum, uint64_t whole, GString *why)
{
	if (sum != whole)
		g_string_append_printf(why, "%s: %" PRIu64 " in all intervals, %" PRIu64 " in the whole; ", what, sum, whole);
	return sum == whole;
}

/* A copy that is found on another connection takes back what was counted: then the sum is the larger one. */
static bool
same_counters(const struct cut *cut, GString *why)
{
	const struct capture_facts *whole = pipeline_facts(cut->pipeline);
	bool same = same_number("packets", cut->packets, whole->packets, why);

	same &= same_number("replies", cut->rpc.replies, whole->rpc.replies, why);
	same &= same_number("answered", cut->rpc.outcomes[OP_ANSWERED], whole->rpc.outcomes[OP_ANSWERED], why);
	same &= same_number("evicted", cut->rpc.outcomes[OP_EVICTED], whole->rpc.outcomes[OP_EVICTED], why);
	same &= same_number("segments", cut->tcp.segments, whole->tcp.segments, why);
	same &= same_number("delivered", cut->tcp.delivered_bytes, whole->tcp.delivered_bytes, why);
	same &= same_number("retransmitted", cut->tcp.retransmitted, whole->tcp.retransmitted, why);
	for (unsigned i = 0; i < 2; i++) {
		const struct dist *sum = &cut->tcp.round_trip[i], *trips = &whole->tcp.round_trip[i];

		same &= same_number("round trips", sum->count, trips->count, why);
		same &= same_number("round trips' time", (uint64_t)sum->sum_ns, (uint64_t)trips->sum_ns, why);
		same &= trips->count == 0 || (dist_quantile(sum, 500) >= trips->min_ns &&
		    bucket_lower(dist_quantile(sum, 990)) == bucket_lower(dist_quantile(trips, 990)));
	}
	if (cut->rpc.outcomes[OP_UNANSWERED] < whole->rpc.outcomes[OP_UNANSWERED] ||
	    cut->rpc.outcomes[OP_LOST_IN_CAPTURE] < whole->rpc.outcomes[OP_LOST_IN_CAPTURE]) {
		g_string_append(why, "calls without reply are missing in the intervals");
		same = false;
	}
	return same;
}

static bool
same_dist(const struct dist *sum, const struct dist *whole)
{
	return sum->count == whole->count && sum->sum_ns == whole->sum_ns && (whole->count == 0 ||
	    (sum->min_ns == whole->min_ns && sum->max_ns == whole->max_ns &&
	    dist_quantile(sum, 950) == dist_quantile(whole, 950)));
}

static bool
same_rows(const struct cut *cut, GString *why)
{
	unsigned count, whole_count, told_count = 0;
	const struct side_row *const *rows = aggregate_side(cut->joined, 0, &count);
	g_autofree const struct side_row **told = g_new(const struct side_row *, count + 1);
	const struct side_row *const *whole = aggregate_side(cut->whole, 0, &whole_count);

	/* an interval also has rows of nothing but calls in flight */
	for (unsigned i = 0; i < count; i++)
		if (rows[i]->count + rows[i]->unanswered > 0)
			told[told_count++] = rows[i];
	rows = told;
	count = told_count;
	if (!same_number("operations", count, whole_count, why))
		return false;
	for (unsigned i = 0; i < count; i++) {
		if (row_key_compare(&rows[i]->key, &whole[i]->key) != 0 || rows[i]->count != whole[i]->count ||
		    rows[i]->errors != whole[i]->errors || rows[i]->unanswered != whole[i]->unanswered ||
		    rows[i]->bytes != whole[i]->bytes || !same_dist(&rows[i]->latency[0], &whole[i]->latency[0]) ||
		    !same_dist(&rows[i]->latency[1], &whole[i]->latency[1])) {
			g_string_append_printf(why, "row %u of %u differs", i, count);
			return false;
		}
	}
	return true;
}

/* Calls in flight: as many, and none of their time is lost between two intervals. */
static bool
same_depth(const struct cut *cut, GString *why)
{
	const struct concurrency *sum = aggregate_concurrency(cut->joined, 0);
	const struct concurrency *whole = aggregate_concurrency(cut->whole, 0);

	if (sum == NULL || whole == NULL)
		return true;
	return same_number("calls in the server", concurrency_server(sum)->calls, concurrency_server(whole)->calls, why) &&
	    same_number("their time", (uint64_t)concurrency_server(sum)->sum_ns,
	    (uint64_t)concurrency_server(whole)->sum_ns, why);
}

bool
prop_intervals(struct trace *trace, GString *why)
{
	bool same = true;

	for (guint i = 0; same && trace->paths->pdata[i] != NULL; i++) {
		const char *paths[] = { trace->paths->pdata[i], NULL };
		struct cut cut = {
			.whole = aggregate_new(1, 0), .interval = aggregate_new_interval(1), .joined = aggregate_new_interval(1),
		};

		same = cut_capture(&cut, trace, paths, why);
		aggregate_finish(cut.whole);
		same = same && same_counters(&cut, why) && same_rows(&cut, why) && same_depth(&cut, why);
		capture_facts_drop(&cut.kept);
		dist_clear(&cut.tcp.round_trip[0]);
		dist_clear(&cut.tcp.round_trip[1]);
		pipeline_free(cut.pipeline);
		aggregate_free(cut.whole);
		aggregate_free(cut.interval);
		aggregate_free(cut.joined);
	}
	return same;
}
