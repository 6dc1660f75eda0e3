/*
 * RPC messages as records of a stream: record marks, headers, NFSv3 bodies.
 */
#ifndef TRACE_RPCGEN_H
#define TRACE_RPCGEN_H

#include "trace/sim.h"

/* The record of a call or its reply, to be given to trace_tcp_send(). */
struct record *trace_rpc_call(struct sim *sim, struct call *call);
struct record *trace_rpc_reply(struct sim *sim, struct call *call);
/* Encodes the client's credential once. */
void trace_rpc_credential(struct sim *sim, struct client *client);
const char *trace_rpc_outcome_name(enum rpc_outcome outcome);

/* Fills the payload pool as the configuration says. */
void trace_payload_fill(struct sim *sim);
/*
 * Fills a payload with records that look real: marks, calls and replies with
 * XIDs of the neighbourhood, one after the other.
 */
void trace_payload_fakes(struct trace_rng *rng, uint32_t xid, uint8_t *bytes, uint32_t len);

#endif
