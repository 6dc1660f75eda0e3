/*
 * One capture's line: source, packet, segment, shards of streams and calls,
 * and at its end finished operations in the order in which they finished.
 */
#ifndef RUN_PIPELINE_H
#define RUN_PIPELINE_H

#include <glib.h>

#include "capture/source.h"
#include "rpc/calls.h"
#include "stats/capture_facts.h"

/* Fixed, whatever the number of threads: each shard has its share of every cap. */
enum { PIPELINE_SHARDS = 64 };

struct pipeline_limits {
	uint32_t connections;		/* in all shards */
	uint32_t calls;			/* outstanding, in all shards */
	uint64_t held_bytes;		/* in all shards */
};

struct pipeline;

/*
 * paths: the files of one capture (NULL-terminated, borrowed), put in order by
 * their first stamps. On an error that concerns the first file: NULL. config is
 * borrowed.
 */
struct pipeline *pipeline_new(const char *const *paths, const struct source_config *config,
    const struct pipeline_limits *limits, op_sink_fn *sink, void *context, GError **error);
/*
 * What TCP sent again, and what the capture did not see, goes to this sink, with the
 * context of the ops and in order with them. Set before the first step.
 */
typedef void tcp_event_fn(void *context, const struct tcp_event *event);
void pipeline_set_event_sink(struct pipeline *pipeline, tcp_event_fn *sink);
void pipeline_free(struct pipeline *pipeline);

/*
 * A pipeline without a source of its own: packets are pushed, with which it
 * becomes what the same packets in a file are. told: what their source says of
 * itself, read whenever facts are asked for; borrowed.
 */
struct pipeline *pipeline_new_live(const struct source_facts *told, const struct pipeline_limits *limits,
    op_sink_fn *sink, void *context);
/* A packet, whose bytes are borrowed for the call. Some wait to go on together, */
void pipeline_push(struct pipeline *pipeline, const struct packet *packet);
/* until now, or until time is said to pass. What is asked in between is without them. */
void pipeline_take_pushed(struct pipeline *pipeline);
/* Nothing stamped up to now_ns follows any more: what waited for it goes on. */
void pipeline_pass_time(struct pipeline *pipeline, int64_t now_ns);
/* No packet follows: as the end of a file. */
void pipeline_end(struct pipeline *pipeline);
/* Handles up to so many packets; false when the capture is at its end and every operation was given out. */
bool pipeline_step(struct pipeline *pipeline, unsigned packets);
/* Bytes read so far and in all, for progress; safe from another thread; 0 in all: a stream. */
void pipeline_position(const struct pipeline *pipeline, uint64_t *done, uint64_t *all);
/* Valid after the last step; borrowed. facts->side is left to the caller. */
const struct capture_facts *pipeline_facts(const struct pipeline *pipeline);
/*
 * The same at any time between two calls, as if the capture ended now: calls
 * without a reply count as in flight, and what waits behind a hole does not
 * count. Those that are known to wait for their reply go to each, as
 * calls_each_waiting has them; NULL: nobody wants them. Facts are cleared by the
 * caller; they borrow as above.
 */
void pipeline_facts_now(const struct pipeline *pipeline, struct capture_facts *facts, op_sink_fn *each, void *context);
/* Of the facts now, those of records alone: it is quick. */
void pipeline_count_records(const struct pipeline *pipeline, struct rpc_counters *counters);
void pipeline_facts_clear(struct capture_facts *facts);
/* Why reading stopped early: GError text, or NULL. */
const char *pipeline_trouble(const struct pipeline *pipeline);
/* The side that the round trips so far speak for; false: they do not tell. */
bool pipeline_side(const struct pipeline *pipeline, enum pair_side *side);
bool pipeline_can_rewind(const struct pipeline *pipeline);

#endif
