/*
 * Operations and pairs made by hand, for the tests of stats and report.
 */
#ifndef TESTS_STATS_BUILD_H
#define TESTS_STATS_BUILD_H

#include "correlate/op_pair.h"

enum { NFS_PROGRAM = 100003, PROC_GETATTR = 1, PROC_READ = 6, PROC_WRITE = 7 };

/* A stamp of 2023-11-14 22:13:20 UTC. */
#define BUILD_EPOCH_NS INT64_C(1700000000000000000)

/*
 * An answered NFSv3 call at call_ns after the epoch: 1000 ns from its first to
 * its last byte, latency_ns from there to the reply's first byte, 500 ns for
 * the reply. 10.0.0.1:700 calls 10.0.0.2:2049.
 */
struct nfs_op build_op(uint32_t procedure, int64_t call_ns, int64_t latency_ns);
/* The data of READ and WRITE: requested and moved bytes, file and offset. */
void build_data(struct nfs_op *op, uint64_t file, uint64_t offset, uint32_t requested, uint32_t moved);
/*
 * A matched pair out of a client's op: server_ns inside the server, the rest of
 * its total is the network's. Ids are all 1. Not aligned.
 */
struct op_pair build_pair(const struct nfs_op *client, int64_t server_ns);
/* A repeatable stream of numbers below limit. */
uint32_t build_random(uint64_t *state, uint32_t limit);

#endif
