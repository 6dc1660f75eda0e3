#include "run/feed.h"

enum {
	BATCH_OPS = 64,
	BATCH_EVENTS = 64,
	BATCHES = 16,		/* between a decoding thread and its reader */
	STEP_PACKETS = 256,
	WAIT_US = 100 * 1000,
};

struct batch {
	unsigned count;
	bool last;
	struct nfs_op op[BATCH_OPS];
	unsigned events;
	unsigned before[BATCH_EVENTS];	/* index of the op that an event came before */
	struct tcp_event event[BATCH_EVENTS];
};

struct feed {
	struct pipeline *pipeline;
	struct aggregate *aggregate;
	unsigned capture;
	feed_event_fn *event;
	void *event_context;
	GThread *thread;		/* NULL: decoded by the reader */
	bool bounded;			/* the decoder waits for empty batches rather than make more */
	GAsyncQueue *full, *empty;
	struct batch *writing;		/* the decoder's, NULL between batches */
	struct batch *reading;		/* the reader's */
	unsigned at, event_at;
	gint cancelled;			/* atomic */
	bool over;			/* the last batch was handed over */
};

static struct batch *
batch_begin(struct feed *feed)
{
	struct batch *batch = feed->bounded ? g_async_queue_pop(feed->empty) : g_async_queue_try_pop(feed->empty);

	if (batch == NULL)
		batch = g_new(struct batch, 1);
	batch->count = batch->events = 0;
	batch->last = false;
	feed->writing = batch;
	return batch;
}

/* The batch that the decoder fills goes to the reader. */
static void
hand_over(struct feed *feed)
{
	struct batch *batch = g_steal_pointer(&feed->writing);

	if (feed->aggregate != NULL && batch->count > 0)
		aggregate_add_ops(feed->aggregate, feed->capture, batch->op, batch->count);
	g_async_queue_push(feed->full, batch);
}

static void
take_event(void *context, const struct tcp_event *event)
{
	struct feed *feed = context;
	struct batch *batch = feed->writing != NULL ? feed->writing : batch_begin(feed);

	batch->before[batch->events] = batch->count;
	batch->event[batch->events++] = *event;
	if (batch->events == BATCH_EVENTS)
		hand_over(feed);
}

static void
take_op(void *context, const struct nfs_op *op)
{
	struct feed *feed = context;
	struct batch *batch = feed->writing;

	if (batch == NULL)
		batch = batch_begin(feed);
	batch->op[batch->count++] = *op;
	if (batch->count == BATCH_OPS)
		hand_over(feed);
}

/* What the decoder holds goes to the reader; last: nothing follows. */
static void
flush(struct feed *feed, bool last)
{
	if (last && feed->writing == NULL)
		feed->writing = g_new0(struct batch, 1);
	if (feed->writing == NULL)
		return;
	feed->writing->last = last;
	hand_over(feed);
}

static gpointer
decode(gpointer data)
{
	struct feed *feed = data;

	while (!g_atomic_int_get(&feed->cancelled) && pipeline_step(feed->pipeline, STEP_PACKETS))
		continue;
	flush(feed, true);
	return NULL;
}

struct feed *
feed_new(const struct feed_config *config, GError **error)
{
	struct feed *feed = g_new0(struct feed, 1);

	feed->pipeline = pipeline_new(config->paths, config->source, &config->limits, take_op, feed, error);
	if (feed->pipeline == NULL) {
		g_free(feed);
		return NULL;
	}
	if (config->event != NULL)
		pipeline_set_event_sink(feed->pipeline, take_event);
	feed->event = config->event;
	feed->event_context = config->event_context;
	feed->aggregate = config->aggregate;
	feed->capture = config->capture;
	feed->bounded = config->threaded;
	feed->full = g_async_queue_new_full(g_free);
	feed->empty = g_async_queue_new_full(g_free);
	if (config->threaded) {
		for (unsigned i = 0; i < BATCHES; i++)
			g_async_queue_push(feed->empty, g_new(struct batch, 1));
		feed->thread = g_thread_new("decode", decode, feed);
	}
	return feed;
}

/* The decoder may wait for an empty batch: it gets them until it has seen that it is to stop. */
static void
stop_thread(struct feed *feed)
{
	g_atomic_int_set(&feed->cancelled, 1);
	if (feed->reading != NULL)
		g_async_queue_push(feed->empty, g_steal_pointer(&feed->reading));
	while (!feed->over) {
		struct batch *batch = g_async_queue_pop(feed->full);

		feed->over = batch->last;
		g_async_queue_push(feed->empty, batch);
	}
	g_thread_join(feed->thread);
}

void
feed_free(struct feed *feed)
{
	if (feed == NULL)
		return;
	if (feed->thread != NULL)
		stop_thread(feed);
	g_free(feed->writing);
	g_free(feed->reading);
	g_async_queue_unref(feed->full);
	g_async_queue_unref(feed->empty);
	pipeline_free(feed->pipeline);
	g_free(feed);
}

/* The next batch, decoded here or by the thread. */
static struct batch *
next_batch(struct feed *feed, feed_wait_fn *wait, void *context)
{
	struct batch *batch = g_async_queue_try_pop(feed->full);

	while (batch == NULL) {
		wait(context);
		if (feed->thread == NULL) {
			bool more = pipeline_step(feed->pipeline, STEP_PACKETS);

			flush(feed, !more);
			batch = g_async_queue_try_pop(feed->full);
		} else {
			batch = g_async_queue_timeout_pop(feed->full, WAIT_US);
		}
	}
	return batch;
}

/* Those that came before the next op of the batch, or at its end. */
static void
hand_events(struct feed *feed)
{
	struct batch *batch = feed->reading;

	while (feed->event_at < batch->events && batch->before[feed->event_at] <= feed->at)
		feed->event(feed->event_context, feed->capture, &batch->event[feed->event_at++]);
}

const struct nfs_op *
feed_peek(struct feed *feed, feed_wait_fn *wait, void *context)
{
	while (feed->reading == NULL || feed->at == feed->reading->count) {
		if (feed->over)
			return NULL;
		if (feed->reading != NULL)
			g_async_queue_push(feed->empty, g_steal_pointer(&feed->reading));
		feed->reading = next_batch(feed, wait, context);
		feed->at = feed->event_at = 0;
		feed->over = feed->reading->last;
		hand_events(feed);
	}
	return &feed->reading->op[feed->at];
}

void
feed_advance(struct feed *feed)
{
	feed->at++;
	hand_events(feed);
}

const struct pipeline *
feed_pipeline(const struct feed *feed)
{
	return feed->pipeline;
}
