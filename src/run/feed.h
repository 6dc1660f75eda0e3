/*
 * One capture's finished operations, one after the other, decoded either by a
 * thread of its own or as they are asked for: the order is the same.
 */
#ifndef RUN_FEED_H
#define RUN_FEED_H

#include <glib.h>

#include "run/pipeline.h"
#include "stats/aggregate.h"

struct feed;

/* An event of a capture that came before its next op. */
typedef void feed_event_fn(void *context, unsigned capture, const struct tcp_event *event);

struct feed_config {
	const char *const *paths;	/* NULL-terminated, borrowed */
	const struct source_config *source;	/* borrowed */
	struct pipeline_limits limits;
	struct aggregate *aggregate;	/* every op is added to it, by the decoding thread; borrowed; NULL: not */
	unsigned capture;		/* number of the capture in the aggregate */
	bool threaded;
	feed_event_fn *event;		/* called in feed_peek and feed_advance; NULL: nobody wants them */
	void *event_context;
};

/* Called now and then while a decoding thread is waited for. */
typedef void feed_wait_fn(void *context);

struct feed *feed_new(const struct feed_config *config, GError **error);

/*
 * A stream that may stall at any time, opened and decoded by a thread of its
 * own whatever config->threaded is: nothing here waits for it. wake is called
 * by that thread when feed_try has something new to tell.
 */
typedef void feed_wake_fn(void *context);
struct feed *feed_new_live(const struct feed_config *config, feed_wake_fn *wake, void *context);
enum feed_state { FEED_OP, FEED_NOT_YET, FEED_END };
/* The next op, borrowed until feed_advance. */
enum feed_state feed_try(struct feed *feed, const struct nfs_op **op);
/* A live feed's pipeline_facts_now; false while the stream is not open. */
bool feed_facts_now(struct feed *feed, struct capture_facts *facts, op_sink_fn *each, void *context);
/* A live feed ends where it is: what was read comes out before FEED_END. */
void feed_stop(struct feed *feed);
/* Why a live feed could not be opened; NULL: it was, or not yet. Valid after FEED_END, borrowed. */
const GError *feed_error(const struct feed *feed);

/* Stops decoding wherever it is; a live feed came to its FEED_END before. NULL allowed. */
void feed_free(struct feed *feed);
/* The next op, borrowed until feed_advance; NULL at the end. */
const struct nfs_op *feed_peek(struct feed *feed, feed_wait_fn *wait, void *context);
void feed_advance(struct feed *feed);
/* feed_advance and feed_peek in one. */
const struct nfs_op *feed_next(struct feed *feed, feed_wait_fn *wait, void *context);
/* The pipeline; its facts are valid once feed_peek gave NULL. */
const struct pipeline *feed_pipeline(const struct feed *feed);

#endif
