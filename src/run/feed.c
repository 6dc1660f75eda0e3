#include "run/feed.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	BATCH_OPS = 256,	/* a batch may cost either thread a switch */
	BATCH_EVENTS = 128,
	BATCHES = 4,		/* between a decoding thread and its reader */
	ADDED_OPS = 64,		/* to the aggregate at once, while they are at hand */
	CACHE_LINE = 64,
	STEP_PACKETS = 512,
	WAIT_US = 100 * 1000,
	LIVE_BATCHES = 64,	/* behind which a live stream is not read on */
	QUIET_MS = 1000,	/* without a byte of a live stream: nothing belongs in front of what waits */
};

struct batch {
	unsigned count, added;		/* ops, and those that the aggregate has */
	bool last;
	struct nfs_op op[BATCH_OPS];
	unsigned events;
	unsigned before[BATCH_EVENTS];	/* index of the op that an event came before */
	struct tcp_event event[BATCH_EVENTS];
};

/* What the reader writes with every op lies in no cache line that the decoder looks at. */
struct feed {
	struct pipeline *pipeline;
	struct aggregate *aggregate;
	struct batch *writing;		/* the decoder's, NULL between batches */
	struct live *live;		/* NULL: a file, or a stream that is waited for */
	GAsyncQueue *full, *empty;
	GThread *thread;		/* NULL: decoded by the reader */
	unsigned capture;
	bool bounded;			/* the decoder waits for empty batches rather than make more */
	gint cancelled;			/* atomic */
	uint8_t apart[CACHE_LINE];
	struct batch *reading;		/* the reader's */
	unsigned at, event_at;
	bool over;			/* the last batch was handed over */
	feed_event_fn *event;
	void *event_context;
};

/* Of a stream that nobody waits for. The decoder holds the lock but where it may have to wait. */
struct live {
	const char *const *paths;
	struct source_config source;
	struct pipeline_limits limits;
	feed_wake_fn *wake;
	void *wake_context;
	GMutex lock;
	GCond changed;
	unsigned asked;			/* others that want the lock: they come first */
	int stop_fd;			/* an eventfd: readable once the stream is to end */
	GError *error;			/* it could not be opened */
};

static G_GNUC_NO_INLINE struct batch *
batch_begin(struct feed *feed)
{
	struct batch *batch = feed->bounded ? g_async_queue_pop(feed->empty) : g_async_queue_try_pop(feed->empty);

	if (batch == NULL)
		batch = g_new(struct batch, 1);
	batch->count = batch->added = batch->events = 0;
	batch->last = false;
	feed->writing = batch;
	return batch;
}

static void
add_ops(struct feed *feed, struct batch *batch)
{
	if (feed->aggregate != NULL && batch->count > batch->added)
		aggregate_add_ops(feed->aggregate, feed->capture, batch->op + batch->added, batch->count - batch->added);
	batch->added = batch->count;
}

/* The batch that the decoder fills goes to the reader. */
static void
hand_over(struct feed *feed)
{
	struct batch *batch = g_steal_pointer(&feed->writing);

	add_ops(feed, batch);
	g_async_queue_push(feed->full, batch);
	if (feed->live != NULL)
		feed->live->wake(feed->live->wake_context);
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

static G_GNUC_NO_INLINE void
settle_ops(struct feed *feed, struct batch *batch)
{
	add_ops(feed, batch);
	if (batch->count == BATCH_OPS)
		hand_over(feed);
}

static void
take_op(void *context, const struct nfs_op *op)
{
	struct feed *feed = context;
	struct batch *batch = feed->writing;

	if (batch == NULL)
		batch = batch_begin(feed);
	op_copy(&batch->op[batch->count++], op);
	if (batch->count % ADDED_OPS == 0)
		settle_ops(feed, batch);
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

/* ---- a live stream ---- */

/* The lock is held. Others that want it come in between. */
static void
let_in(struct live *live)
{
	while (live->asked > 0)
		g_cond_wait(&live->changed, &live->lock);
}

static bool
is_stopped(const struct live *live)
{
	struct pollfd stop = { .fd = live->stop_fd, .events = POLLIN };

	return poll(&stop, 1, 0) > 0;
}

/* The lock is held but while waiting. False: the stream is to end, or nothing came in time; -1: there is all of it. */
static bool
wait_readable(struct live *live, int fd, int timeout_ms)
{
	struct pollfd polls[] = { { .fd = fd, .events = POLLIN }, { .fd = live->stop_fd, .events = POLLIN } };
	int ready;

	g_mutex_unlock(&live->lock);
	do
		ready = poll(polls, G_N_ELEMENTS(polls), timeout_ms);
	while (ready < 0 && errno == EINTR);
	g_mutex_lock(&live->lock);
	let_in(live);
	return ready > 0 && (polls[1].revents & POLLIN) == 0;
}

/* While the reader is behind, no more is read. */
static void
wait_for_reader(struct feed *feed)
{
	struct live *live = feed->live;

	while (g_async_queue_length(feed->full) > LIVE_BATCHES && !is_stopped(live)) {
		g_cond_wait_until(&live->changed, &live->lock, g_get_monotonic_time() + WAIT_US);
		let_in(live);
	}
}

/* A bytes_wait_fn: the pipeline is at rest, whatever it had is given out. */
static bool
wait_for_bytes(void *context, int fd)
{
	struct feed *feed = context;
	struct live *live = feed->live;

	flush(feed, false);
	wait_for_reader(feed);
	if (wait_readable(live, fd, QUIET_MS))
		return true;
	if (is_stopped(live))
		return false;
	if (feed->pipeline != NULL)
		pipeline_pass_time(feed->pipeline, INT64_MAX);
	flush(feed, false);
	return wait_readable(live, fd, -1);
}

static gpointer
decode_live(gpointer data)
{
	struct feed *feed = data;
	struct live *live = feed->live;

	g_mutex_lock(&live->lock);
	feed->pipeline = pipeline_new(live->paths, &live->source, &live->limits, take_op, feed, &live->error);
	if (feed->pipeline != NULL)
		pipeline_set_event_sink(feed->pipeline, take_event);
	while (feed->pipeline != NULL && pipeline_step(feed->pipeline, STEP_PACKETS))
		let_in(live);
	flush(feed, true);
	g_mutex_unlock(&live->lock);
	return NULL;
}

struct feed *
feed_new_live(const struct feed_config *config, feed_wake_fn *wake, void *context)
{
	struct feed *feed = g_new0(struct feed, 1);
	struct live *live = g_new0(struct live, 1);

	*live = (struct live){ .paths = config->paths, .source = *config->source, .limits = config->limits,
	    .wake = wake, .wake_context = context, .stop_fd = eventfd(0, EFD_CLOEXEC) };
	live->source.wait = wait_for_bytes;
	live->source.wait_context = feed;
	g_mutex_init(&live->lock);
	g_cond_init(&live->changed);
	feed->live = live;
	feed->event = config->event;
	feed->event_context = config->event_context;
	feed->capture = config->capture;
	feed->full = g_async_queue_new_full(g_free);
	feed->empty = g_async_queue_new_full(g_free);
	feed->thread = g_thread_new("decode", decode_live, feed);
	return feed;
}

void
feed_stop(struct feed *feed)
{
	uint64_t one = 1;

	(void)!write(feed->live->stop_fd, &one, sizeof one);
	g_mutex_lock(&feed->live->lock);
	g_cond_broadcast(&feed->live->changed);
	g_mutex_unlock(&feed->live->lock);
}

bool
feed_facts_now(struct feed *feed, struct capture_facts *facts, op_sink_fn *each, void *context)
{
	struct live *live = feed->live;
	bool open;

	g_atomic_int_inc(&live->asked);
	g_mutex_lock(&live->lock);
	open = feed->pipeline != NULL;
	if (open)
		pipeline_facts_now(feed->pipeline, facts, each, context);
	/* where it was cut off by feed_stop is nobody's trouble */
	if (open && is_stopped(live))
		facts->trouble = NULL;
	g_atomic_int_add(&live->asked, -1);
	g_cond_broadcast(&live->changed);
	g_mutex_unlock(&live->lock);
	return open;
}

const GError *
feed_error(const struct feed *feed)
{
	return feed->live->error;
}

static void
live_free(struct live *live)
{
	if (live == NULL)
		return;
	close(live->stop_fd);
	g_clear_error(&live->error);
	g_cond_clear(&live->changed);
	g_mutex_clear(&live->lock);
	g_free(live);
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
	live_free(feed->live);
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

static G_GNUC_NO_INLINE void
hand_some_events(struct feed *feed)
{
	struct batch *batch = feed->reading;

	while (feed->event_at < batch->events && batch->before[feed->event_at] <= feed->at)
		feed->event(feed->event_context, feed->capture, &batch->event[feed->event_at++]);
}

/* Those that came before the next op of the batch, or at its end. */
static inline void
hand_events(struct feed *feed)
{
	if (feed->event_at < feed->reading->events)
		hand_some_events(feed);
}

static void
begin_batch(struct feed *feed, struct batch *batch)
{
	feed->reading = batch;
	feed->at = feed->event_at = 0;
	feed->over = batch->last;
	hand_events(feed);
}

const struct nfs_op *
feed_peek(struct feed *feed, feed_wait_fn *wait, void *context)
{
	while (feed->reading == NULL || feed->at == feed->reading->count) {
		if (feed->over)
			return NULL;
		if (feed->reading != NULL)
			g_async_queue_push(feed->empty, g_steal_pointer(&feed->reading));
		begin_batch(feed, next_batch(feed, wait, context));
	}
	return &feed->reading->op[feed->at];
}

enum feed_state
feed_try(struct feed *feed, const struct nfs_op **op)
{
	while (feed->reading == NULL || feed->at == feed->reading->count) {
		struct batch *batch;

		if (feed->over)
			return FEED_END;
		batch = g_async_queue_try_pop(feed->full);
		if (batch == NULL)
			return FEED_NOT_YET;
		if (feed->reading != NULL)
			g_async_queue_push(feed->empty, g_steal_pointer(&feed->reading));
		begin_batch(feed, batch);
	}
	*op = &feed->reading->op[feed->at];
	return FEED_OP;
}

void
feed_advance(struct feed *feed)
{
	feed->at++;
	hand_events(feed);
}

const struct nfs_op *
feed_next(struct feed *feed, feed_wait_fn *wait, void *context)
{
	feed_advance(feed);
	return feed->at < feed->reading->count ? &feed->reading->op[feed->at] : feed_peek(feed, wait, context);
}

const struct pipeline *
feed_pipeline(const struct feed *feed)
{
	return feed->pipeline;
}
