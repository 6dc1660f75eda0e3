/*
 * Replies of one connection whose call was not seen before them. It may come
 * to light later: packets out of order, a direction that found its place late.
 */
#ifndef RPC_ORPHANS_H
#define RPC_ORPHANS_H

#include <nfscorr/xdr.h>

#include "stream/stream.h"

struct orphans;

struct reply_times {
	int64_t first_ns, last_ns;	/* last_ns valid when complete */
	uint64_t first_frame, first_order;
	int64_t end_offset;
	uint32_t bytes;			/* as nfs_op.reply_bytes; valid when complete */
	int64_t receiver_ns;		/* as rpc_record's; valid when complete */
	bool waits_unknown;		/* the same */
	bool deduced, filled;
};

struct orphan {
	struct reply_times times;
	bool complete;
	struct xdr_cursor head;		/* borrowed from the orphans until the next call of orphans_add */
};

struct orphans *orphans_new(void);
void orphans_free(struct orphans *orphans);
/* How many replies there is room for. */
uint32_t orphans_room(const struct orphans *orphans);
/*
 * Keeps a reply's head. Without room for all that are young it grows if it
 * may, else the oldest gives way. The number, up to ORPHAN_NUMBERS, names the
 * reply for orphans_end.
 */
enum { ORPHAN_NUMBERS = (1 << 24) - 1 };
uint32_t orphans_add(struct orphans *orphans, const struct rpc_record *record, uint32_t xid, bool may_grow);
/* The reply's record is complete. True when a call took it already; *xid names that call. */
bool orphans_end(struct orphans *orphans, uint32_t number, const struct rpc_record *record, uint32_t *xid);
/* Takes out the reply of an XID and direction that did not begin before not_before_ns; false if none. */
bool orphans_take(struct orphans *orphans, uint32_t xid, uint8_t direction, int64_t not_before_ns,
    struct orphan *orphan);

#endif
