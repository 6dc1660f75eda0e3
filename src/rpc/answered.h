/*
 * Calls that were answered lately, to know a copy of them that was sent again,
 * and the reply to it. Over UDP a copy that comes within the life of an entry
 * in a server's duplicate request cache is the same call, sent again because
 * its reply was lost; over TCP the caller judges.
 */
#ifndef RPC_ANSWERED_H
#define RPC_ANSWERED_H

#include <nfscorr/nfs_op.h>

struct answered;

struct answered_call {
	uint64_t connection;
	int64_t reply;			/* over TCP the stream offset behind it, over UDP its time */
	uint32_t xid, program, version, procedure;
	struct arg_print print;
	uint8_t direction;
	uint32_t older;			/* the ring's own: serial of the one before it in its bucket, perhaps overwritten since */
};

/* Room for so many calls, a power of two; the oldest give way. */
struct answered *answered_new(unsigned calls);
void answered_free(struct answered *answered);
/* A call that has its reply (see struct answered_call); hash is its call_hash(), here as below. */
void answered_add(struct answered *answered, uint32_t hash, const struct nfs_op *op, int64_t reply);
/* The latest with this XID on its connection, if it is still there; else NULL. Borrowed until the next one is added. */
const struct answered_call *answered_find(const struct answered *answered, uint32_t hash, uint64_t connection,
    uint8_t direction, uint32_t xid);
/* Are both the same call by all but time? */
bool answered_agrees(const struct answered_call *call, const struct nfs_op *op);
/* Over UDP: the latest call with this XID on its connection that was answered within 120 s before op began: is op a copy of it? */
bool answered_is_copy(const struct answered *answered, uint32_t hash, const struct nfs_op *op);
/* Over UDP: was any call with this XID on the connection answered within 120 s before ts_ns? */
bool answered_has(const struct answered *answered, uint32_t hash, uint64_t connection, uint8_t direction, uint32_t xid,
    int64_t ts_ns);

#endif
