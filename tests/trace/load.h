/*
 * The clients: callers, slots, XIDs, call retransmission, reconnects.
 */
#ifndef TRACE_LOAD_H
#define TRACE_LOAD_H

#include "trace/sim.h"

void trace_load_start(struct client *client);
void trace_load_stop(struct client *client);	/* frees what start made */
void trace_load_caller(struct caller *caller);	/* EVENT_CALLER */
void trace_load_retry(struct call *call);	/* EVENT_RETRY */
void trace_load_arrival(struct client *client);	/* EVENT_ARRIVAL */
void trace_load_timer(struct lane *lane);	/* EVENT_LANE_TIMER */
void trace_load_connect(struct lane *lane);	/* EVENT_CONNECT */

/* From TCP: the connection is open; a reply is there; the other end closed or aborted. */
void trace_load_connected(struct lane *lane);
void trace_load_reply(struct call *call);
void trace_load_disconnected(struct conn *conn);

struct call *trace_call_ref(struct call *call);
/* The last one writes the call's line of truth. */
void trace_call_unref(struct call *call);

#endif
