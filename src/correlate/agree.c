#include "correlate/agree.h"

#include <sys/random.h>

#include "rpc/fingerprint.h"

bool
agree_args(const struct nfs_op *a, const struct nfs_op *b)
{
	return fingerprint_agrees(&a->print, &b->print);
}

bool
agree_args_known(const struct nfs_op *a, const struct nfs_op *b)
{
	return a->print.prefixes > 0 && b->print.prefixes > 0 &&
	    (!a->print.length_known || a->print.args_len > 0);
}

bool
agree_reply(const struct nfs_op *a, const struct nfs_op *b)
{
	if (a->outcome != OP_ANSWERED || b->outcome != OP_ANSWERED)
		return true;
	if ((a->flags ^ b->flags) & OP_RPC_ERROR)
		return false;
	return !op_has(a, OP_HAS_STATUS) || !op_has(b, OP_HAS_STATUS) || a->status == b->status;
}

uint64_t
agree_random_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
		seed = (uint64_t)(uintptr_t)&seed;
	return seed;
}
