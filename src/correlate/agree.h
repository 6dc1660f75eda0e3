/*
 * What makes two ops of two captures possibly the same call, times aside.
 */
#ifndef CORRELATE_AGREE_H
#define CORRELATE_AGREE_H

#include <nfscorr/nfs_op.h>

/* The same XID and procedure. */
static inline bool
agree_call(const struct nfs_op *a, const struct nfs_op *b)
{
	return a->xid == b->xid && a->procedure == b->procedure && a->program == b->program &&
	    a->version == b->version;
}

/* Nothing that both know of arguments and length differs. */
bool agree_args(const struct nfs_op *a, const struct nfs_op *b);
/* Both know arguments, and there are some: that they agree means something. */
bool agree_args_known(const struct nfs_op *a, const struct nfs_op *b);
/* Nothing that both saw of the reply differs. */
bool agree_reply(const struct nfs_op *a, const struct nfs_op *b);
/* Seeded, over what agree_call compares: both halves of a product in which each bit meets each. */
static inline uint64_t
agree_call_hash(const struct nfs_op *op, uint64_t seed)
{
	uint64_t call = (uint64_t)op->program << 32 | op->xid, kind = (uint64_t)op->version << 32 | op->procedure;
	uint64_t low = call ^ seed, high = kind ^ seed ^ UINT64_C(0x9e3779b97f4a7c15);
	__extension__ unsigned __int128 product = (unsigned __int128)low * high;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* For hashes: captures are hostile. It places in buckets, and has no other effect. */
uint64_t agree_random_seed(void);

#endif
