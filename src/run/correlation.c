#include "run/correlation.h"

#include <string.h>

#include "correlate/anchor.h"

enum {
	/* Default caps of one capture; --max-memory scales them. */
	CONNECTIONS = 256 * 1024,
	CALLS = 1024 * 1024,
	UNMATCHED = 128 * 1024,
	WAIT_EVERY = 4096,	/* ops between two calls of wait */
};

static const uint64_t held_bytes = UINT64_C(256) << 20;
/* What all tables of one capture take when they are full, about. */
static const uint64_t full_bytes = UINT64_C(1) << 30;

static uint64_t
scaled(const struct options *options, unsigned captures, uint64_t cap)
{
	uint64_t memory = options->max_memory;

	return memory == 0 ? cap : (uint64_t)((double)cap * (double)memory / (double)(full_bytes * captures));
}

struct pipeline_limits
correlation_limits(const struct options *options, unsigned captures)
{
	return (struct pipeline_limits){
		.connections = (uint32_t)MIN(scaled(options, captures, CONNECTIONS), 1u << 28),
		.calls = (uint32_t)MIN(scaled(options, captures, CALLS), 1u << 27),
		.held_bytes = scaled(options, captures, held_bytes),
	};
}

uint32_t
correlation_unmatched(const struct options *options, unsigned captures)
{
	return (uint32_t)CLAMP(scaled(options, captures, UNMATCHED), 1024, 1u << 24);
}

static void
take_event(void *context, unsigned capture, const struct tcp_event *event)
{
	const struct correlation *result = context;

	correlate_push_event(result->correlate, capture, event);
}

/* result: whose correlation takes the events of TCP; NULL: they are not wanted. */
static struct feed *
open_feed(const struct correlation_config *config, unsigned capture, struct aggregate *aggregate,
    struct correlation *result, bool threaded, GError **error)
{
	struct feed_config feed = {
		.paths = config->captures[capture],
		.source = config->source,
		.limits = correlation_limits(config->options, config->count),
		.aggregate = aggregate,
		.capture = capture,
		.threaded = threaded,
		.event = result != NULL ? take_event : NULL,
		.event_context = result,
	};

	return feed_new(&feed, error);
}

unsigned
correlation_views(unsigned captures, unsigned capture, enum side_option side, bool exchanged, bool has_streams)
{
	unsigned inside = 1u << CONCURRENCY_INSIDE, outside = 1u << CONCURRENCY_OUTSIDE;

	if (captures == 1)
		return side == SIDE_CLIENT ? outside : inside | outside;
	if (has_streams)
		return inside | outside;
	return (capture == 0) != exchanged ? inside : outside;
}

static unsigned
views_of(const struct correlation_config *config, unsigned capture, bool exchanged)
{
	return correlation_views(config->count, capture, config->options->side, exchanged, config->has_streams);
}

/* One run's objects. Decoding threads have aggregates of their own, merged at the end. */
struct run {
	const struct correlation_config *config;
	struct correlation *result;
	struct aggregate **part;	/* of each feed */
	const struct nfs_op **next;	/* what each feed offers; NULL: it has ended */
	int64_t *next_ns;		/* their times */
	bool *ended;
	unsigned open;			/* feeds that have not ended */
	uint64_t since_wait;
};

static bool
open_run(struct run *run, const int64_t *hints_ns, GError **error)
{
	const struct correlation_config *config = run->config;
	const struct options *options = config->options;
	struct correlation *result = run->result;

	*result = (struct correlation){ .count = config->count };
	result->feeds = g_new0(struct feed *, config->count);
	result->aggregate = aggregate_new(config->count, options->top);
	run->part = g_new0(struct aggregate *, config->count);
	run->next = g_new0(const struct nfs_op *, config->count);
	run->next_ns = g_new0(int64_t, config->count);
	run->ended = g_new0(bool, config->count);
	for (unsigned i = 0; i < config->count; i++) {
		/* a thread each, as far as they go; this one correlates and decodes the rest */
		run->part[i] = aggregate_new(config->count, options->top);
		aggregate_watch(run->part[i], i, views_of(config, i, false));
		result->feeds[i] = open_feed(config, i, run->part[i], config->count > 1 ? result : NULL,
		    i + 1 < options->threads, error);
		if (result->feeds[i] == NULL)
			return false;
	}
	if (config->count > 1) {
		struct correlate_config correlate = {
			.clients = config->count - 1,
			.clock_mode = options->clock_mode,
			.clock_given_ns = options->clock_given_ns,
			.keep_roles = options->swap,
			.limit = correlation_unmatched(options, config->count),
			.hints_ns = hints_ns,
		};

		result->correlate = correlate_new(&correlate, config->each, config->each_context);
	}
	return true;
}

static void
close_run(struct run *run)
{
	for (unsigned i = 0; i < run->config->count; i++)
		aggregate_free(run->part[i]);
	g_free(run->part);
	g_free(run->next);
	g_free(run->next_ns);
	g_free(run->ended);
}

void
correlation_clear(struct correlation *result)
{
	for (unsigned i = 0; result->feeds != NULL && i < result->count; i++)
		feed_free(result->feeds[i]);
	g_free(result->feeds);
	aggregate_free(result->aggregate);
	correlate_free(result->correlate);
	*result = (struct correlation){ 0 };
}

void
correlation_position(const struct correlation *result, uint64_t *done, uint64_t *all)
{
	*done = *all = 0;
	for (unsigned i = 0; result->feeds != NULL && i < result->count; i++) {
		uint64_t part_done, part_all;

		if (result->feeds[i] == NULL)
			continue;
		pipeline_position(feed_pipeline(result->feeds[i]), &part_done, &part_all);
		*done += part_done;
		*all += part_all;
	}
}

static void
look_around(struct run *run)
{
	if (++run->since_wait < WAIT_EVERY)
		return;
	run->since_wait = 0;
	run->config->wait(run->config->wait_context);
}

static const struct nfs_op *
peek(const struct correlation_config *config, struct feed *feed)
{
	return feed_peek(feed, config->wait, config->wait_context);
}

static void
take_next(struct run *run, unsigned capture, const struct nfs_op *op)
{
	run->next[capture] = op;
	if (op != NULL) {
		run->next_ns[capture] = op_order_ns(op);
	} else {
		run->ended[capture] = true;
		run->open--;
	}
}

/* One capture: its ops are all there is. */
static void
drive_alone(struct run *run)
{
	struct feed *feed = run->result->feeds[0];
	bool is_client = run->config->options->side == SIDE_CLIENT;
	struct op_pair pair = { .match = is_client ? MATCH_CLIENT_ONLY : MATCH_SERVER_ONLY,
	    .client_capture = is_client ? 0 : UINT16_MAX };
	const struct nfs_op *op;

	pair.has[is_client ? PAIR_CLIENT : PAIR_SERVER] = true;
	while ((op = peek(run->config, feed)) != NULL) {
		pair.op[is_client ? PAIR_CLIENT : PAIR_SERVER] = *op;
		run->config->each(run->config->each_context, &pair);
		feed_advance(feed);
		look_around(run);
	}
}

/* True when it came to its end; false when it went astray and may begin again. */
static bool
drive(struct run *run, bool may_restart)
{
	struct correlate *correlate = run->result->correlate;

	if (correlate == NULL) {
		drive_alone(run);
		return true;
	}
	run->open = run->config->count;
	for (unsigned i = 0; i < run->config->count; i++)
		take_next(run, i, peek(run->config, run->result->feeds[i]));
	while (run->open > 0) {
		unsigned chosen = correlate_choose(correlate, run->next_ns, run->ended);

		correlate_push(correlate, chosen, run->next[chosen]);
		if (may_restart && correlate_astray(correlate))
			return false;
		look_around(run);
		take_next(run, chosen, feed_next(run->result->feeds[chosen], run->config->wait,
		    run->config->wait_context));
	}
	correlate_finish(correlate);
	run->result->facts = *correlate_facts(correlate);
	return true;
}

/* Looks for the first calls of one capture in another; true with the clocks' distance. */
static bool
seek_anchor(const struct correlation_config *config, unsigned learned, unsigned scanned, int64_t *delta_ns)
{
	struct feed *first = open_feed(config, learned, NULL, NULL, false, NULL);
	struct feed *second = open_feed(config, scanned, NULL, NULL, false, NULL);
	struct anchor *anchor = anchor_new();
	const struct nfs_op *op;
	bool found = false;

	while (first != NULL && (op = peek(config, first)) != NULL) {
		if (!anchor_learn(anchor, op))
			break;
		feed_advance(first);
	}
	while (second != NULL && !found && (op = peek(config, second)) != NULL) {
		found = anchor_scan(anchor, op, delta_ns);
		feed_advance(second);
	}
	anchor_free(anchor);
	feed_free(first);
	feed_free(second);
	return found;
}

/* Offsets, server minus client, of the clients whose calls are found; how many were. */
static unsigned
find_offsets(const struct correlation_config *config, int64_t *hints_ns)
{
	unsigned found = 0;

	for (unsigned i = 1; i < config->count; i++) {
		int64_t delta_ns;

		if (seek_anchor(config, 0, i, &delta_ns))
			hints_ns[i - 1] = -delta_ns;
		else if (seek_anchor(config, i, 0, &delta_ns))
			hints_ns[i - 1] = delta_ns;
		else
			continue;
		found++;
	}
	return found;
}

static bool
can_rewind(const struct correlation *result)
{
	for (unsigned i = 0; i < result->count; i++)
		if (!pipeline_can_rewind(feed_pipeline(result->feeds[i])))
			return false;
	return true;
}

/* The other side's calls in flight of both captures, whose roles were exchanged. */
static bool
count_exchanged(struct run *run, GError **error)
{
	const struct correlation_config *config = run->config;

	for (unsigned i = 0; i < config->count; i++) {
		struct aggregate *again = aggregate_new(config->count, 0);
		struct feed *feed;

		aggregate_watch(again, i, views_of(config, i, true));
		feed = open_feed(config, i, again, NULL, false, error);
		while (feed != NULL && peek(config, feed) != NULL)
			feed_advance(feed);
		aggregate_take_concurrency(run->part[i], again, i);
		aggregate_free(again);
		if (feed == NULL)
			return false;
		feed_free(feed);
	}
	return true;
}

static void
merge_parts(struct run *run)
{
	for (unsigned i = 0; i < run->config->count; i++) {
		aggregate_finish(run->part[i]);
		aggregate_merge(run->result->aggregate, run->part[i]);
	}
}

/* Ends a run's threads before the aggregates that they fill are gone. */
static void
abandon_run(struct run *run)
{
	correlation_clear(run->result);
	close_run(run);
}

/* Which capture is the server's after all; 0: the first, or it cannot be told. */
static unsigned
find_server(const struct run *run)
{
	unsigned found = 0;

	if (!run->result->facts.swapped || run->result->facts.exchanged || run->config->options->swap)
		return 0;
	if (run->config->count == 2)
		return 1;
	for (unsigned i = 1; i < run->config->count; i++) {
		const struct capture_facts *facts = pipeline_facts(feed_pipeline(run->result->feeds[i]));

		if (!facts->side_detected || facts->detected_side != PAIR_SERVER)
			continue;
		if (found != 0)
			return 0;
		found = i;
	}
	return found;
}

/* What one run tells the next one. */
struct knowledge {
	struct correlation_config config;
	const char *const **order;	/* of the captures: the server's first, then the clients as given */
	int64_t *hints_ns;		/* server - client, by client in that order; valid when hinted */
	bool reordered, hinted;
};

static void
put_first(struct knowledge *known, unsigned server)
{
	const char *const *captures = known->order[server];

	memmove(known->order + 1, known->order, server * sizeof *known->order);
	known->order[0] = captures;
	known->config.captures = known->order;
	known->reordered = true;
	/* The hints were distances from another capture. */
	known->hinted = false;
}

/*
 * A run that went wrong for want of knowledge, and what is known now: the
 * clocks' distances, the capture that is the server's. False: nothing better.
 */
static bool
learn(const struct run *run, bool came_to_end, struct knowledge *known)
{
	unsigned server = came_to_end && !known->reordered ? find_server(run) : 0;

	if (server != 0) {
		log_line(known->config.log, LOG_VERBOSE, "correlate", "capture %u is the server's: once more", server + 1);
		put_first(known, server);
		return true;
	}
	if (known->hinted || (came_to_end && !correlate_astray(run->result->correlate)))
		return false;
	log_line(known->config.log, LOG_VERBOSE, "correlate", "nothing matches; looking for common calls");
	known->hinted = true;
	for (unsigned i = 0; i + 1 < known->config.count; i++)
		known->hints_ns[i] = known->config.options->clock_mode == CLOCK_GIVEN ?
		    known->config.options->clock_given_ns : 0;
	return find_offsets(&known->config, known->hints_ns) > 0 || !came_to_end;
}

/* As often as another run knows more than the one before: four times at most. */
static bool
run_on(struct run *run, struct knowledge *known, void (*restart)(void *context), GError **error)
{
	for (;;) {
		bool may_restart, came_to_end;

		if (!open_run(run, known->hinted ? known->hints_ns : NULL, error))
			return false;
		may_restart = run->result->correlate != NULL && can_rewind(run->result);
		came_to_end = drive(run, may_restart && !known->hinted);
		if (!may_restart || !learn(run, came_to_end, known))
			return true;
		abandon_run(run);
		restart(known->config.each_context);
		*run = (struct run){ .config = &known->config, .result = run->result };
	}
}

bool
correlation_run(const struct correlation_config *config, struct correlation *result,
    void (*restart)(void *context), GError **error)
{
	g_autofree int64_t *hints_ns = g_new0(int64_t, config->count);
	g_autofree const char *const **order = g_memdup2(config->captures, config->count * sizeof *order);
	struct knowledge known = { .config = *config, .order = order, .hints_ns = hints_ns };
	struct run run = { .config = &known.config, .result = result };

	if (!run_on(&run, &known, restart, error)) {
		abandon_run(&run);
		return false;
	}
	result->facts.swapped |= known.reordered;
	if (result->facts.exchanged && !config->has_streams && !count_exchanged(&run, error)) {
		abandon_run(&run);
		return false;
	}
	merge_parts(&run);
	close_run(&run);
	return true;
}
