/*
 * The header of an RPC message (RFC 5531 section 9).
 */
#ifndef RPC_HEADER_H
#define RPC_HEADER_H

#include <nfscorr/rpc_message.h>

enum header_result {
	HEADER_READ,	/* all that identifies the message is there; header_complete tells of the rest */
	HEADER_WANTS,	/* ran into XDR_SHORT before the message was identified or its header complete */
	HEADER_CUT,	/* ran into a hole before the message was identified */
	HEADER_BROKEN,	/* not a message */
};

/*
 * Reads a header at the start of message->body, all else in the message being
 * zero. A call is identified by its bytes up to the procedure, a reply by those
 * up to the message type.
 */
enum header_result rpc_header_parse(struct rpc_message *message);

/* The same at the cursor's start. In line: a cursor that was just made is not to be copied at once. */
static inline enum header_result
rpc_header_read(struct xdr_cursor cursor, struct rpc_message *message)
{
	*message = (struct rpc_message){ .body = cursor };
	return rpc_header_parse(message);
}

/*
 * Steps over what RPC_INTEGRITY puts in front of arguments or results, length
 * and sequence number, and leaves out the checksum behind them, which is
 * another one when the same call is sent again (RFC 2203 section 5.3.2.2).
 */
void rpc_enter_integrity(struct xdr_cursor *body);

/*
 * How sure is it that these bytes begin a call: its whole header holds
 * together, and the record is long enough for it. 0: no, 1: nothing speaks
 * against it, 2: more than chance explains.
 */
int rpc_call_likeness(const struct xdr_cursor *cursor);
/* The same for a reply, of which only the form can be told. 0 or 1. */
int rpc_reply_likeness(const struct xdr_cursor *cursor);

#endif
