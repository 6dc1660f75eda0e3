/*
 * What happens next: a heap of events by time; events of one time keep the
 * order in which they were added.
 */
#ifndef TRACE_EVENTS_H
#define TRACE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
	EVENT_CALLER,		/* struct caller: make the next call */
	EVENT_ARRIVAL,		/* struct client: a call of an open loop */
	EVENT_TRANSMIT,		/* struct frame leaves its host */
	EVENT_RECEIVE,		/* struct frame arrives */
	EVENT_GRO,		/* struct half: hand up what is held */
	EVENT_CORK,		/* struct half: stop waiting for company */
	EVENT_RTO,		/* struct half */
	EVENT_DELAYED_ACK,	/* struct half */
	EVENT_KEEPALIVE,	/* struct half */
	EVENT_READ,		/* struct half: the receiver reads again */
	EVENT_PAUSE_END,	/* struct half: the sender goes on inside a record */
	EVENT_RETRY,		/* struct call: made again after NFS3ERR_JUKEBOX */
	EVENT_SERVED,		/* struct call: its thread has done its own work */
	EVENT_STORED,		/* struct call: its disk is done */
	EVENT_LANE_TIMER,	/* struct lane: send calls again, give them up */
	EVENT_CONNECT,		/* struct lane */
};

struct event {
	int64_t at_ns;
	uint64_t order;
	void *subject;
	enum event_kind kind;
};

struct event_queue;

struct event_queue *trace_events_new(void);
void trace_events_free(struct event_queue *queue);
void trace_events_add(struct event_queue *queue, int64_t at_ns, enum event_kind kind,
	void *subject);
/* False when nothing is left. */
bool trace_events_next(struct event_queue *queue, struct event *event);

#endif
