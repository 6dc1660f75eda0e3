/*
 * Records to operations: outstanding calls by XID, one nfs_op per finished
 * call (RFC 5531 section 9; retransmission as RFC 5531 section 4 leaves it).
 */
#ifndef RPC_CALLS_H
#define RPC_CALLS_H

#include <nfscorr/nfs_op.h>

#include "stream/stream.h"

struct calls;
struct hosts;

struct rpc_counters {
	uint64_t calls;			/* distinct; = answered + unanswered + lost + in flight + evicted */
	uint64_t replies;		/* reply messages seen */
	uint64_t outcomes[OP_OUTCOMES];
	uint64_t orphan_replies;	/* whose call was not seen */
	uint64_t retransmitted_calls;	/* copies after the first */
	uint64_t hidden_records;	/* record headers that the snap length is known to have cut away */
	uint64_t malformed;		/* messages that contradict themselves */
	uint64_t tls_asked;		/* of the calls: those that ask for TLS (RFC 9289 section 4.1) */
	uint64_t tls_agreed;		/* of them, those whose reply says STARTTLS */
};

/*
 * op is borrowed for the call. An op with OP_CONNECTION_ENDED that is answered
 * or in flight is no call of its own but a note (see rpc/reconnect.h).
 */
typedef void op_sink_fn(void *context, const struct nfs_op *op);

/* Of a call that was reported before, whose reply the client never acknowledged, on a connection that is over. */
static inline bool
op_is_answered_note(const struct nfs_op *op)
{
	return op->outcome == OP_ANSWERED && op->flags & OP_CONNECTION_ENDED;
}

/* Of a call that will be reported: its connection was reset, but a reply to it may still be under way. */
static inline bool
op_is_open_note(const struct nfs_op *op)
{
	return op->outcome == OP_IN_FLIGHT && op->flags & OP_CONNECTION_ENDED;
}

/* Outstanding calls are capped (the oldest is evicted, with outcome OP_EVICTED). */
struct calls *calls_new(uint32_t limit, op_sink_fn *sink, void *context);
void calls_free(struct calls *calls);
/* The functions a stream calls; context is the calls object itself. */
struct stream_sink calls_sink(struct calls *calls);
/* Who is to keep what messages say of the hosts; borrowed, NULL: nobody. */
void calls_set_hosts(struct calls *calls, struct hosts *hosts);
const struct rpc_counters *calls_counters(const struct calls *calls);
/*
 * Those that are known to wait for a reply at the capture's time now_ns, as ops
 * with the outcome OP_IN_FLIGHT, oldest first; one whose reply the capture may
 * have lost is not.
 */
void calls_each_waiting(const struct calls *calls, int64_t now_ns, op_sink_fn *each, void *context);
/* Adds the counters of one shard to a sum that begins as zeros. */
void rpc_counters_add(struct rpc_counters *sum, const struct rpc_counters *part);

#endif
