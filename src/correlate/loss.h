/*
 * What the loss of segments between the two captures cost a call: which copies
 * of what its sender's capture shows more than once did not arrive, by what
 * the receiver's capture shows of them.
 *
 * A call waits for a lost segment from its first copy at the sender to the copy
 * that filled the hole, both by the sender's clock, as far as that lies behind
 * the record's own first byte. It waits so for the segments of its own record
 * and for those in front of it in the stream, which TCP has to hand over first.
 */
#ifndef CORRELATE_LOSS_H
#define CORRELATE_LOSS_H

#include "correlate/op_pair.h"
#include "stream/stream.h"

struct loss;

/*
 * captures: the first one and the clients'. Pairs go to the sink in the order in
 * which they came; the pair is borrowed for the call.
 */
struct loss *loss_new(unsigned captures, pair_sink_fn *sink, void *context);
void loss_free(struct loss *loss);
/* An event of one capture. Of too many the oldest is forgotten, and what it may have concerned is not known. */
void loss_note(struct loss *loss, unsigned capture, const struct tcp_event *event);
/* A capture was read up to this time. */
void loss_progress(struct loss *loss, unsigned capture, int64_t at_ns);
/*
 * A pair whose other parts are set; server, client: captures, if it is matched.
 * It goes on at once unless something of it was sent again: then it waits, and
 * what comes behind it, until copies that are late would have come.
 */
void loss_push(struct loss *loss, unsigned server, unsigned client, const struct op_pair *pair);
/* What waits goes on. */
void loss_finish(struct loss *loss);

/*
 * Whether both records are known as TCP carried them, and the first copies of
 * them at their senders: else what was sent again is not known either.
 */
static inline bool
loss_may_be_known(const struct nfs_op *server, const struct nfs_op *client)
{
	unsigned either = OP_CALL_TIME_DEDUCED | OP_REPLY_TIME_DEDUCED | OP_JOINED;

	return ((server->flags | client->flags) & either) == 0 &&
	    (client->flags & (OP_CALL_TIME_FILLED | OP_CALL_TIME_STALE)) == 0 &&
	    (server->flags & (OP_REPLY_TIME_FILLED | OP_REPLY_TIME_STALE)) == 0 &&
	    client->call_bytes > 0 && client->call_bytes == server->call_bytes &&
	    client->reply_bytes > 0 && client->reply_bytes == server->reply_bytes;
}

#endif
