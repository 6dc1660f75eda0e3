/*
 * Fingerprints of arguments (struct arg_print of nfs_op.h).
 */
#ifndef RPC_FINGERPRINT_H
#define RPC_FINGERPRINT_H

#include <nfscorr/rpc_message.h>
#include <nfscorr/nfs_op.h>

/* Of the arguments at the body cursor; the length is known unless the record is fragmented. */
void fingerprint_take(struct arg_print *print, const struct xdr_cursor *body, bool length_known);
/* True unless what both know differs. */
bool fingerprint_agrees(const struct arg_print *a, const struct arg_print *b);

#endif
