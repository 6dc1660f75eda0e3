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
 * The header of the last call of its kind, of one direction of a connection:
 * most differ in XID and procedure alone. All zeros: there was none.
 */
struct usual_header {
	uint32_t bytes;			/* in front of the arguments; 0: none */
	uint32_t program, version, credential_flavor;
	uint64_t service;		/* program and version as the bytes have them, here as below */
	uint64_t credential, verifier;	/* flavor and length: what else a credential says is nobody's question */
};

/*
 * Reads a header at the start of message->body, all else in the message being
 * zero. A call is identified by its bytes up to the procedure, a reply by those
 * up to the message type. usual learns from calls; NULL: nobody remembers.
 */
enum header_result rpc_header_parse(struct rpc_message *message, struct usual_header *usual);

/* The same at the cursor's start. In line: a cursor that was just made is not to be copied at once. */
static inline enum header_result
rpc_header_read(struct xdr_cursor cursor, struct rpc_message *message)
{
	*message = (struct rpc_message){ .body = cursor };
	return rpc_header_parse(message, NULL);
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
