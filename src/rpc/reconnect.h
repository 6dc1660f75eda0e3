/*
 * Calls sent again on another connection: state across the connections of one
 * capture. A call whose connection ended without a complete reply, or whose
 * reply was never acknowledged, is the same call when the same client sends
 * it again to the same server: same XID, procedure and arguments. What was under
 * way when a connection was reset still counts, so that its calls end later
 * than copies of them may be answered: notes tell of them at the reset.
 */
#ifndef RPC_RECONNECT_H
#define RPC_RECONNECT_H

#include "rpc/calls.h"

struct reconnect;

/* limit: calls that wait for a copy; the oldest are passed on as they are. */
struct reconnect *reconnect_new(uint32_t limit, op_sink_fn *sink, void *context);
void reconnect_free(struct reconnect *reconnect);
/* Operations of all shards, in the order of their end; borrowed. */
void reconnect_push(struct reconnect *reconnect, const struct nfs_op *op);
/* Nothing follows: what waits is passed on. */
void reconnect_finish(struct reconnect *reconnect);
/* Corrects the sum of the shards' counters by the calls that were joined. */
void reconnect_correct(const struct reconnect *reconnect, struct rpc_counters *counters);

#endif
