/*
 * Calls that a server put off, and the same calls made again: NFS3ERR_JUKEBOX
 * (RFC 1813 section 2.6), NFS4ERR_DELAY (RFC 8881 section 15.1.1.3). The retry
 * has a new XID and is a call of its own; the chain from the first to the one
 * that was served is what an application waits for.
 */
#ifndef STATS_CHAINS_H
#define STATS_CHAINS_H

#include <nfscorr/nfs_op.h>

struct chain_table;

/* All zero: empty. */
struct chains {
	uint64_t calls;		/* answered so */
	uint64_t chains;	/* of calls put off and made again at least once */
	uint64_t served;	/* of them, whose latest call was answered in another way */
	int64_t wait_ns;	/* sum over the chains, from their first call_first to their latest reply_last */
	int64_t longest_ns;
	struct chain_table *pending;	/* 1024 that may be made again; the oldest give way */
};

void chains_clear(struct chains *chains);
/* Makes copy, whatever it held, the same with a table of its own. */
void chains_copy(struct chains *copy, const struct chains *chains);
/*
 * Ops, in the order of replies; those that are answered count. One is a retry
 * when the same client asks the same of the same file within ten minutes after
 * it was put off: over NFSv3 with the same arguments; the arguments of a
 * COMPOUND change with its SEQUENCE, so that there file, offset, size and length
 * of the arguments count.
 */
void chains_add(struct chains *chains, const struct nfs_op *ops, unsigned count);
/* Counts only: what is pending in from is not followed further. */
void chains_merge(struct chains *into, const struct chains *from);

#endif
