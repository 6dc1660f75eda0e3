/*
 * Calls over UDP that were answered lately: a copy that comes within the life
 * of an entry in a server's duplicate request cache is the same call, sent
 * again because its reply was lost.
 */
#ifndef RPC_ANSWERED_H
#define RPC_ANSWERED_H

#include <nfscorr/nfs_op.h>

struct answered;

/* 4096 calls, the oldest give way. */
struct answered *answered_new(void);
void answered_free(struct answered *answered);
/* The reply of a call came at ts_ns. */
void answered_add(struct answered *answered, const struct nfs_op *op, uint8_t direction, int64_t ts_ns);
/* The latest call with this XID on its connection that was answered within 120 s before ts_ns: is op a copy of it? */
bool answered_is_copy(const struct answered *answered, const struct nfs_op *op, uint8_t direction, int64_t ts_ns);
/* Was any call with this XID on the connection answered within 120 s before ts_ns? */
bool answered_has(const struct answered *answered, uint64_t connection, uint8_t direction, uint32_t xid, int64_t ts_ns);

#endif
