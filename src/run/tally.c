#include "run/tally.h"

#include "base/arith.h"
#include "run/comparison.h"
#include "run/conclude.h"
#include "run/correlation.h"
#include "stats/capture_since.h"

enum {
	SIDES = 2,
	READ_OPS = 4096,	/* of the stream, in one turn of the loop */
	BATCH_OPS = 64,		/* are counted together, which takes less time */
};

/* Ops of one capture that are yet to be counted. */
struct batch {
	unsigned count;
	struct nfs_op op[BATCH_OPS];
};

/* What reports of one capture, or of both, are made from. */
struct counts {
	unsigned captures;
	struct aggregate *part[SIDES];	/* of each capture, as offline; but rows, all in the first, lack those of: */
	struct aggregate *interval;
};

struct tally {
	struct tally_config config;
	unsigned device, stream;	/* numbers of the captures, with two */
	struct pipeline *pipeline;	/* the interface's */
	struct feed *feed;		/* the stream's; NULL: there is none */
	struct comparison *comparison;	/* the same */
	struct counts *alone;		/* until the stream shows a call; for good if it never does */
	struct counts *both;		/* NULL: there is no stream, or there was nothing in it */
	struct batch batch[SIDES];	/* of each capture, as with two */
	struct aggregate *pairs;	/* with both */
	struct client_calls client, interval_client;	/* the client's capture */
	struct capture_facts kept[SIDES];	/* as the last interval left them */
	struct correlate_facts kept_correlated;
	uint64_t calls, stream_calls;
	int64_t passed_ns;		/* of tally_pass_time */
	bool stream_over, ended;
};

struct snapshot {
	struct tally *tally;
	const struct counts *counts;
	unsigned device;		/* the interface's number in them */
	struct capture_facts now[SIDES], since[SIDES];
	struct correlate_facts correlated, correlated_since;
	struct aggregate *owned;	/* NULL: the interval's */
	struct conclusion *conclusion;
	int64_t to_ns;
	bool is_interval;
};

static struct counts *
counts_new(const struct options *options, unsigned captures, enum pair_side side)
{
	struct counts *counts = g_new0(struct counts, 1);

	counts->captures = captures;
	counts->interval = aggregate_new_interval(captures);
	for (unsigned i = 0; i < captures; i++) {
		unsigned views = correlation_views(captures, i, side == PAIR_CLIENT ? SIDE_CLIENT : SIDE_SERVER, false, true);

		counts->part[i] = aggregate_new(captures, options->top);
		aggregate_leave_rows(counts->part[i]);
		aggregate_watch(counts->part[i], i, views);
		aggregate_watch(counts->interval, i, views);
	}
	return counts;
}

static void
counts_free(struct counts *counts)
{
	if (counts == NULL)
		return;
	for (unsigned i = 0; i < counts->captures; i++)
		aggregate_free(counts->part[i]);
	aggregate_free(counts->interval);
	g_free(counts);
}

static void
count(struct counts *counts, unsigned capture, const struct batch *batch)
{
	if (counts == NULL)
		return;
	aggregate_add_ops(counts->part[capture], capture, batch->op, batch->count);
	aggregate_add_ops(counts->interval, capture, batch->op, batch->count);
}

/* Of an interval that is over, before anything is made of it. */
static void
take_rows(struct counts *counts)
{
	if (counts != NULL)
		aggregate_take_rows(counts->part[0], counts->interval);
}

static void
count_batch(struct tally *tally, unsigned capture)
{
	struct batch *batch = &tally->batch[capture];

	if (capture == tally->device)
		count(tally->alone, 0, batch);
	count(tally->both, capture, batch);
	batch->count = 0;
}

static void
count_later(struct tally *tally, unsigned capture, const struct nfs_op *op)
{
	struct batch *batch = &tally->batch[capture];

	op_copy(&batch->op[batch->count++], op);
	if (batch->count == BATCH_OPS)
		count_batch(tally, capture);
}

/* ---- ops and pairs ---- */

static void
take_pair(void *context, const struct op_pair *pair)
{
	struct tally *tally = context;

	client_calls_add(&tally->client, pair);
	client_calls_add(&tally->interval_client, pair);
	aggregate_add_pair(tally->pairs, pair);
	aggregate_add_pair(tally->both->interval, pair);
	if (tally->config.each != NULL)
		tally->config.each(tally->config.context, pair);
}

static void
give_alone(struct tally *tally, const struct nfs_op *op)
{
	struct op_pair pair = { .match = MATCH_SERVER_ONLY, .client_capture = UINT16_MAX };

	if (tally->config.each == NULL)
		return;
	if (tally->config.side == PAIR_CLIENT) {
		pair.match = MATCH_CLIENT_ONLY;
		pair.client_capture = 0;
	}
	pair.op[tally->config.side] = *op;
	pair.has[tally->config.side] = true;
	tally->config.each(tally->config.context, &pair);
}

static void
take_op(void *context, const struct nfs_op *op)
{
	struct tally *tally = context;

	tally->calls++;
	count_later(tally, tally->device, op);
	if (tally->both != NULL)
		comparison_push(tally->comparison, tally->device, op);
	else
		give_alone(tally, op);
}

static void
take_event(void *context, const struct tcp_event *event)
{
	struct tally *tally = context;

	if (tally->both != NULL)
		comparison_push_event(tally->comparison, tally->device, event);
}

static void
take_stream_event(void *context, unsigned capture, const struct tcp_event *event)
{
	struct tally *tally = context;

	comparison_push_event(tally->comparison, capture, event);
}

static void
take_stream_op(struct tally *tally, const struct nfs_op *op)
{
	if (tally->stream_calls++ == 0)
		g_clear_pointer(&tally->alone, counts_free);
	count_later(tally, tally->stream, op);
	comparison_push(tally->comparison, tally->stream, op);
}

/* ---- what comes in ---- */

static void
open_stream(struct tally *tally)
{
	const struct tally_config *config = &tally->config;
	struct feed_config feed = {
		.paths = config->stream,
		.source = config->source,
		.limits = correlation_limits(config->options, SIDES),
		.capture = tally->stream,
		.event = take_stream_event,
		.event_context = tally,
	};
	struct comparison_config comparison = {
		.clock_mode = config->options->clock_mode,
		.clock_given_ns = config->options->clock_given_ns,
		.limit = correlation_unmatched(config->options, SIDES),
		.each = take_pair,
		.context = tally,
		.log = config->log,
	};

	tally->both = counts_new(config->options, SIDES, config->side);
	tally->pairs = aggregate_new(SIDES, config->options->top);
	aggregate_leave_rows(tally->pairs);
	tally->comparison = comparison_new(&comparison);
	tally->feed = feed_new_live(&feed, config->wake, config->wake_context);
}

struct tally *
tally_new(const struct tally_config *config)
{
	struct tally *tally = g_new0(struct tally, 1);
	struct pipeline_limits limits = correlation_limits(config->options, config->stream != NULL ? SIDES : 1);

	tally->config = *config;
	tally->device = config->side == PAIR_CLIENT ? 1 : 0;
	tally->stream = !tally->device;
	tally->pipeline = pipeline_new_live(config->told, &limits, take_op, tally);
	pipeline_set_event_sink(tally->pipeline, take_event);
	tally->alone = counts_new(config->options, 1, config->side);
	tally->stream_over = config->stream == NULL;
	if (config->stream != NULL)
		open_stream(tally);
	return tally;
}

void
tally_free(struct tally *tally)
{
	if (tally == NULL)
		return;
	pipeline_free(tally->pipeline);
	if (tally->stream_over)
		feed_free(tally->feed);
	comparison_free(tally->comparison);
	counts_free(tally->alone);
	counts_free(tally->both);
	aggregate_free(tally->pairs);
	for (unsigned i = 0; i < SIDES; i++)
		capture_facts_drop(&tally->kept[i]);
	g_free(tally);
}

void
tally_push(struct tally *tally, const struct packet *packet)
{
	pipeline_push(tally->pipeline, packet);
}

void
tally_pass_time(struct tally *tally, int64_t now_ns)
{
	tally->passed_ns = now_ns;
	pipeline_pass_time(tally->pipeline, now_ns);
	if (tally->comparison != NULL)
		comparison_pass_time(tally->comparison, tally->device, now_ns);
}

/* A stream without a call in it is nothing to report of. */
static void
give_up_stream(struct tally *tally)
{
	g_clear_pointer(&tally->comparison, comparison_free);
	g_clear_pointer(&tally->both, counts_free);
	g_clear_pointer(&tally->pairs, aggregate_free);
}

static void
note_stream_end(struct tally *tally)
{
	const GError *error = feed_error(tally->feed);
	const char *trouble = error == NULL ? pipeline_trouble(feed_pipeline(tally->feed)) : error->message;

	tally->stream_over = true;
	if (tally->stream_calls == 0)
		give_up_stream(tally);
	else
		comparison_over(tally->comparison, tally->stream);
	if (tally->ended)
		return;
	if (trouble != NULL)
		log_line(tally->config.log, LOG_NORMAL, "live", "%s", trouble);
	log_line(tally->config.log, LOG_NORMAL, "live", "the other side's stream has ended%s; the capture goes on "
	    "with this side alone", tally->stream_calls == 0 ? " without an NFS call" : "");
}

bool
tally_read_stream(struct tally *tally)
{
	const struct nfs_op *op;

	if (tally->stream_over)
		return true;
	for (unsigned i = 0; i < READ_OPS; i++) {
		switch (feed_try(tally->feed, &op)) {
		case FEED_OP:
			take_stream_op(tally, op);
			feed_advance(tally->feed);
			break;
		case FEED_NOT_YET:
			return true;
		case FEED_END:
			note_stream_end(tally);
			return true;
		}
	}
	return false;
}

bool
tally_stream_goes_on(const struct tally *tally)
{
	return !tally->stream_over;
}

void
tally_end_interface(struct tally *tally)
{
	pipeline_end(tally->pipeline);
	if (tally->comparison != NULL)
		comparison_over(tally->comparison, tally->device);
}

void
tally_stop_stream(struct tally *tally)
{
	tally->ended = true;
	if (!tally->stream_over)
		feed_stop(tally->feed);
}

void
tally_end(struct tally *tally)
{
	tally->ended = true;
	tally_end_interface(tally);
	if (tally->comparison != NULL)
		comparison_end(tally->comparison);
}

/* ---- what is known ---- */

uint64_t
tally_calls(const struct tally *tally)
{
	return tally->calls;
}

void
tally_records(const struct tally *tally, uint64_t *seen, uint64_t *hidden)
{
	struct rpc_counters counters;

	pipeline_count_records(tally->pipeline, &counters);
	*seen = counters.calls + counters.replies;
	*hidden = counters.hidden_records;
}

int64_t
tally_lag_ns(const struct tally *tally)
{
	if (tally->comparison == NULL || tally->stream_over || tally->calls == 0)
		return -1;
	return comparison_lag_ns(tally->comparison, tally->device);
}

/* Where the calls that wait are counted, as in flight. */
struct waiting_sink {
	struct aggregate *aggregate;
	unsigned capture;
};

static void
take_waiting(void *context, const struct nfs_op *op)
{
	struct waiting_sink *sink = context;

	aggregate_add_op(sink->aggregate, sink->capture, op);
}

/* Facts of all captures now; calls that wait are counted in `to`, by capture. False: the stream has none yet. */
static void
look(struct snapshot *snapshot, struct aggregate *const *to)
{
	struct tally *tally = snapshot->tally;
	unsigned captures = snapshot->counts->captures, device = snapshot->device;
	struct waiting_sink sink = { to[device], device };

	pipeline_facts_now(tally->pipeline, &snapshot->now[device], take_waiting, &sink);
	if (captures < SIDES)
		return;
	sink = (struct waiting_sink){ to[tally->stream], tally->stream };
	feed_facts_now(tally->feed, &snapshot->now[tally->stream], take_waiting, &sink);
	comparison_facts(tally->comparison, &snapshot->correlated);
}

static struct snapshot *
snapshot_new(struct tally *tally)
{
	struct snapshot *snapshot = g_new0(struct snapshot, 1);

	pipeline_take_pushed(tally->pipeline);
	for (unsigned capture = 0; capture < SIDES; capture++)
		count_batch(tally, capture);
	snapshot->tally = tally;
	snapshot->counts = tally->stream_calls > 0 ? tally->both : tally->alone;
	snapshot->device = snapshot->counts == tally->both ? tally->device : 0;
	return snapshot;
}

static void
judge(struct snapshot *snapshot, const struct capture_facts *captures, const struct correlate_facts *correlated,
    const struct client_calls *client, struct aggregate *aggregate, const struct mountstats_delta *counters)
{
	struct tally *tally = snapshot->tally;
	bool two = snapshot->counts->captures == SIDES;
	struct found found = {
		.captures = captures,
		.count = snapshot->counts->captures,
		.side = tally->config.side,
		.has_streams = true,
		.correlate = two ? comparison_correlate(tally->comparison) : NULL,
		.correlated = correlated,
		.clients = client,
		.aggregate = aggregate,
		.ids = two ? correlate_ids(comparison_correlate(tally->comparison)) : tally->config.ids,
		.counters = counters,
	};

	snapshot->conclusion = conclude(&found);
}

struct snapshot *
tally_report(struct tally *tally, const struct mountstats_delta *counters)
{
	struct snapshot *snapshot = snapshot_new(tally);
	const struct counts *counts = snapshot->counts;
	struct aggregate *parts[SIDES] = { NULL };

	snapshot->owned = counts->captures == SIDES ? aggregate_copy(tally->pairs) :
	    aggregate_new(counts->captures, tally->config.options->top);
	for (unsigned i = 0; i < counts->captures; i++)
		parts[i] = aggregate_copy(counts->part[i]);
	aggregate_take_rows(parts[0], counts->interval);
	look(snapshot, parts);
	for (unsigned i = 0; i < counts->captures; i++) {
		aggregate_finish(parts[i]);
		aggregate_merge(snapshot->owned, parts[i]);
		aggregate_free(parts[i]);
	}
	judge(snapshot, snapshot->now, &snapshot->correlated, &tally->client, snapshot->owned, counters);
	return snapshot;
}

/* A time of the interface's clock by the clock of a capture, as far as that is known. */
static int64_t
by_clock_of(const struct tally *tally, unsigned capture, int64_t at_ns)
{
	struct clock_facts clock;

	if (tally->comparison == NULL || capture == tally->device)
		return at_ns;
	correlate_clock(comparison_correlate(tally->comparison), 0, &clock);
	if (!clock.aligned)
		return at_ns;
	return at_ns + (tally->stream == 0 ? clock.offset_ns : -clock.offset_ns);
}

/* The interface alone: where nothing was compared, the other side only stands in the way. */
static void
judge_alone(struct snapshot *snapshot, const struct interval *interval)
{
	struct tally *tally = snapshot->tally;
	struct found found = {
		.captures = &snapshot->since[snapshot->device],
		.count = 1,
		.side = tally->config.side,
		.aggregate = snapshot->counts->interval,
		.ids = tally->config.ids,
		.counters = interval->counters,
	};

	if (snapshot->device > 0)
		aggregate_exchange_sides(found.aggregate);
	snapshot->conclusion = conclude(&found);
}

static void
judge_interval(struct snapshot *snapshot, const struct interval *interval)
{
	struct tally *tally = snapshot->tally;
	const struct correlate_facts *facts = &snapshot->correlated_since;

	aggregate_finish(snapshot->counts->interval);
	if (snapshot->counts->captures == SIDES && facts->matches[MATCH_MATCHED] + facts->matches[MATCH_PARTIAL] == 0)
		judge_alone(snapshot, interval);
	else
		judge(snapshot, snapshot->since, facts, &tally->interval_client, snapshot->counts->interval, interval->counters);
}

struct snapshot *
tally_interval(struct tally *tally, struct interval *interval)
{
	struct snapshot *snapshot = snapshot_new(tally);
	const struct counts *counts = snapshot->counts;
	bool two = counts->captures == SIDES;
	struct aggregate *to[SIDES] = { counts->interval, counts->interval };
	const struct capture_facts *own = &snapshot->now[snapshot->device];

	snapshot->is_interval = true;
	snapshot->to_ns = interval->to_ns;
	take_rows(tally->alone);
	take_rows(tally->both);
	look(snapshot, to);
	for (unsigned i = 0; i < counts->captures; i++) {
		unsigned capture = two ? i : tally->device;

		capture_facts_since(&snapshot->since[i], &tally->kept[capture], &snapshot->now[i],
		    by_clock_of(tally, capture, interval->from_ns), by_clock_of(tally, capture, interval->to_ns));
	}
	if (two)
		correlate_facts_since(&snapshot->correlated_since, &tally->kept_correlated, &snapshot->correlated);
	judge_interval(snapshot, interval);
	interval->report = conclusion_report(snapshot->conclusion);
	interval->outstanding = own->waiting;
	/* up to where the interface was looked at: what its ring holds may be the reply */
	interval->oldest_call_ns = own->waiting > 0 ?
	    max_ns(max_ns(own->last_ns, tally->passed_ns) - own->waiting_since_ns, 0) : -1;
	interval->lag_ns = tally_lag_ns(tally);
	return snapshot;
}

const struct report *
snapshot_report(const struct snapshot *snapshot)
{
	return conclusion_report(snapshot->conclusion);
}

/* The interval is over: the next one begins with what it left. */
static void
begin_next(struct snapshot *snapshot)
{
	struct tally *tally = snapshot->tally;
	bool two = snapshot->counts->captures == SIDES;
	int64_t from_ns[SIDES];

	for (unsigned i = 0; i < snapshot->counts->captures; i++)
		capture_facts_keep(&tally->kept[two ? i : tally->device], &snapshot->now[i]);
	tally->kept_correlated = snapshot->correlated;
	tally->interval_client = (struct client_calls){ 0 };
	for (unsigned i = 0; i < SIDES; i++)
		from_ns[i] = by_clock_of(tally, i, snapshot->to_ns);
	if (tally->both != NULL)
		aggregate_reset(tally->both->interval, from_ns);
	if (tally->alone != NULL)
		aggregate_reset(tally->alone->interval, &from_ns[tally->device]);
}

void
snapshot_free(struct snapshot *snapshot)
{
	conclusion_free(snapshot->conclusion);
	if (snapshot->is_interval)
		begin_next(snapshot);
	for (unsigned i = 0; i < snapshot->counts->captures; i++) {
		capture_facts_drop(&snapshot->since[i]);
		pipeline_facts_clear(&snapshot->now[i]);
	}
	aggregate_free(snapshot->owned);
	g_free(snapshot);
}
