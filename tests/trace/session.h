/*
 * Sessions of NFSv4.1 and 4.2: one for each lane, set up before the first call,
 * with slots that calls take (RFC 8881 section 2.10.6).
 */
#ifndef TRACE_SESSION_H
#define TRACE_SESSION_H

#include <rpc/types.h>
#include <rpc/xdr.h>

#include "trace/sim.h"

/* 0, 1, 2; of version 3, too. */
uint32_t trace_minor(const struct trace_config *config);
/* Without sessions the lane is ready at once, and has no slots. */
void trace_session_init(struct lane *lane);
void trace_session_clear(struct lane *lane);
/* What has to be set up next; SET_UP_NOTHING: the lane is ready. */
enum set_up trace_session_next(struct lane *lane);
/* The lowest free slot for a call, or back. */
void trace_session_take(struct call *call);
void trace_session_give(struct call *call);
/* The 16 bytes of the session id. */
bool trace_session_put_id(XDR *xdr, const struct lane *lane);

#endif
