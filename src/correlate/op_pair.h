/*
 * What correlation makes of the operations of both sides: pairs with their
 * attribution, and those that stayed alone.
 */
#ifndef CORRELATE_OP_PAIR_H
#define CORRELATE_OP_PAIR_H

#include <nfscorr/nfs_op.h>

enum match {
	MATCH_MATCHED,		/* all four times on both sides */
	MATCH_PARTIAL,		/* known on both sides, a time is missing */
	MATCH_SERVER_ONLY,
	MATCH_CLIENT_ONLY,
	MATCH_AMBIGUOUS,	/* fits more than one call of the other side: not paired */
	MATCHES,
};

/*
 * Where one call's time went (CONTRACT section 2). Signed, never clamped;
 * server + network + client = total, request + reply = network + client.
 */
struct attribution {
	int64_t total_ns;	/* client clock: reply_last - call_first */
	int64_t server_ns;	/* server clock: reply_first - call_last */
	int64_t network_ns;	/* total - server - client; where the client's part is not known it is in here */
	int64_t client_ns;	/* client clock; 0 unless client_known */
	int64_t request_ns;	/* server call_last - client call_first; valid when aligned */
	int64_t reply_ns;	/* client reply_last - server reply_first; valid when aligned */
	int64_t clock_error_ns;	/* hard bound of request and reply; valid when aligned */
	int64_t retransmit_ns;	/* of network_ns; valid when retransmit_known */
	uint32_t lost_segments;	/* copies of the two records' segments that did not arrive; the same */
	bool aligned;
	bool retransmit_known;
	bool client_known;
};

struct op_pair {
	struct nfs_op op[2];		/* enum pair_side; valid where has[] is set */
	bool has[2];
	uint8_t match;			/* enum match */
	uint16_t client_capture;	/* index of the client capture, from 0; of a server_only pair: UINT16_MAX */
	struct attribution parts;	/* valid when matched */
	/* small ids into the dictionaries of correlate/ids.h */
	uint32_t client_id, server_id, connection_id, file_id;
};

enum pair_side { PAIR_SERVER, PAIR_CLIENT };

/* The op that names the call: the client's if there is one. */
static inline const struct nfs_op *
pair_op(const struct op_pair *pair)
{
	return &pair->op[pair->has[PAIR_CLIENT] ? PAIR_CLIENT : PAIR_SERVER];
}

typedef void pair_sink_fn(void *context, const struct op_pair *pair);

#endif
