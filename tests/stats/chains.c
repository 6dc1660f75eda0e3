/*
 * Calls that a server put off and their retries.
 */
#include <criterion/criterion.h>

#include "stats/build.h"
#include "stats/chains.h"

enum { DELAY = 10008, MS = 1000000 };

/* A READ of a block, sent at_ns after the epoch; its reply is complete 1 ms later. */
static struct nfs_op
read_op(uint32_t xid, uint64_t block, int64_t at_ns, uint32_t status)
{
	struct nfs_op op = build_op(PROC_READ, at_ns, 0);

	build_data(&op, 9, block * 4096, 4096, 0);
	op.reply_last_ns = op.call_first_ns + MS;
	op.xid = xid;
	op.status = status;
	op.valid |= OP_HAS_STATUS;
	op.print.prefix[0] = (uint32_t)block;
	op.print.prefixes = 1;
	return op;
}

static void
add(struct chains *chains, uint32_t xid, uint64_t block, int64_t at_ns, uint32_t status)
{
	struct nfs_op op = read_op(xid, block, at_ns, status);

	chains_add(chains, &op, 1);
}

/* Put off twice, then served: from the first call at 0 to the last reply at 41 ms. Another block meanwhile. */
Test(chains, a_chain_of_three)
{
	struct chains chains = { 0 }, sum = { 0 };

	add(&chains, 1, 0, 0, DELAY);
	add(&chains, 2, 1, 5 * MS, 0);
	add(&chains, 3, 0, 20 * MS, DELAY);
	cr_assert_eq(chains.chains, 1);
	cr_assert_eq(chains.wait_ns, 21 * MS);
	cr_assert_eq(chains.served, 0);
	add(&chains, 4, 0, 40 * MS, 0);
	add(&chains, 5, 0, 60 * MS, 0);		/* the block is read again: no part of it */
	cr_assert_eq(chains.calls, 2);
	cr_assert_eq(chains.chains, 1);
	cr_assert_eq(chains.served, 1);
	cr_assert_eq(chains.wait_ns, 41 * MS);
	cr_assert_eq(chains.longest_ns, 41 * MS);
	chains_merge(&sum, &chains);
	chains_merge(&sum, &chains);
	cr_assert_eq(sum.wait_ns, 82 * MS);
	cr_assert_eq(sum.longest_ns, 41 * MS);
	chains_clear(&chains);
}

Test(chains, what_is_no_retry)
{
	struct chains chains = { 0 };
	struct nfs_op other = read_op(7, 0, 700 * MS, 0);

	add(&chains, 1, 0, 0, DELAY);
	add(&chains, 2, 1, 10 * MS, 0);		/* another block */
	add(&chains, 3, 0, 0, 0);		/* sent before the answer */
	add(&chains, 1, 0, 20 * MS, 0);		/* the same XID */
	other.client.address[15] ^= 1;		/* another client */
	chains_add(&chains, &other, 1);
	add(&chains, 4, 0, INT64_C(601001) * MS, 0);	/* ten minutes and more behind the reply */
	cr_assert_eq(chains.calls, 1);
	cr_assert_eq(chains.chains, 0);
	cr_assert_eq(chains.wait_ns, 0);
	chains_clear(&chains);
}

/* The arguments of a COMPOUND are never the same; what it asks for is. */
Test(chains, nfs4)
{
	struct chains chains = { 0 };
	struct nfs_op first = read_op(1, 0, 0, DELAY), again = read_op(2, 0, 100 * MS, 0);

	first.version = again.version = 4;
	first.print.args_len = again.print.args_len = 120;
	first.print.length_known = again.print.length_known = true;
	again.print.prefix[0] ^= 1;
	chains_add(&chains, &first, 1);
	chains_add(&chains, &again, 1);
	cr_assert_eq(chains.served, 1);
	cr_assert_eq(chains.wait_ns, 101 * MS);
	chains_clear(&chains);
}

/* Stamps at both ends of time: sums stop at the end of 64 bits. */
Test(chains, stamps_that_lie)
{
	struct chains chains = { 0 };

	for (unsigned i = 0; i < 3; i++) {
		struct nfs_op first = read_op(1, i, 0, DELAY), again = read_op(2, i, 0, 0);

		first.call_first_ns = INT64_MIN;
		first.reply_last_ns = 0;
		again.call_first_ns = 1;
		again.reply_last_ns = INT64_MAX;
		chains_add(&chains, &first, 1);
		chains_add(&chains, &again, 1);
	}
	cr_assert_eq(chains.served, 3);
	cr_assert_eq(chains.wait_ns, INT64_MAX);
	chains_clear(&chains);
}

/* Thousands at the same time: the oldest are followed no further, and all are counted. */
Test(chains, bounded)
{
	struct chains chains = { 0 };

	for (uint32_t i = 0; i < 5000; i++)
		add(&chains, i + 1, i, i * (int64_t)MS, DELAY);
	cr_assert_eq(chains.calls, 5000);
	for (uint32_t i = 0; i < 5000; i++)
		add(&chains, 10000 + i, i, (10000 + i) * (int64_t)MS, 0);
	cr_assert(chains.served > 0 && chains.served <= 1024);
	cr_assert_eq(chains.served, chains.chains);
	chains_clear(&chains);
}
