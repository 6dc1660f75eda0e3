/*
 * One ONC RPC message as its header tells it (RFC 5531 section 9).
 */
#ifndef NFSCORR_RPC_MESSAGE_H
#define NFSCORR_RPC_MESSAGE_H

#include <nfscorr/xdr.h>

/* RFC 5531 section 9; named apart from libtirpc's enums, which tests include too. */
enum rpc_type { RPC_TYPE_CALL = 0, RPC_TYPE_REPLY = 1 };

/* What RPCSEC_GSS leaves of a body to read (RFC 2203 section 5.3). */
enum rpc_protection {
	RPC_CLEAR,
	RPC_INTEGRITY,		/* in clear behind a length and a sequence number */
	RPC_HIDDEN,		/* encrypted, or a message of the security mechanism itself */
};

struct rpc_message {
	uint32_t xid;
	uint8_t type;			/* enum rpc_type */
	bool header_complete;		/* the body cursor stands at the arguments or results */
	/* calls */
	uint32_t program;
	uint32_t version;
	uint32_t procedure;
	uint32_t credential_flavor;
	bool asks_for_tls;		/* AUTH_TLS (RFC 9289 section 4.1) */
	uint8_t protection;		/* enum rpc_protection, of this call and of its reply */
	/* replies */
	uint32_t reply_stat;		/* MSG_ACCEPTED 0, MSG_DENIED 1 */
	bool starts_tls;		/* the verifier says STARTTLS */
	uint32_t detail;		/* accept_stat, or reject_stat of a denied reply */
	struct xdr_cursor body;		/* at the arguments or results when header_complete, as far as they are in clear */
};

/* True when the reply carries results: accepted and SUCCESS. */
static inline bool
rpc_message_succeeded(const struct rpc_message *message)
{
	return message->header_complete && message->reply_stat == 0 && message->detail == 0;
}

#endif
