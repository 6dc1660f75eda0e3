/*
 * The server: a queue for its threads, a queue for its disks, a cache of
 * finished requests.
 */
#ifndef TRACE_SERVER_H
#define TRACE_SERVER_H

#include "trace/sim.h"

/* From TCP: a copy of a call arrived on this connection. */
void trace_server_call(struct conn *conn, struct call *call);
void trace_server_served(struct call *call);	/* EVENT_SERVED */
void trace_server_stored(struct call *call);	/* EVENT_STORED */

#endif
