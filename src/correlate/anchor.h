/*
 * Where two captures meet when their clocks do not: the first calls of one,
 * looked for in the other until several agree in order on one offset.
 * Linear in the calls scanned, memory fixed.
 */
#ifndef CORRELATE_ANCHOR_H
#define CORRELATE_ANCHOR_H

#include <nfscorr/nfs_op.h>

struct anchor;

struct anchor *anchor_new(void);
void anchor_free(struct anchor *anchor);
/* One of the first calls of the one capture; false when enough were learned. */
bool anchor_learn(struct anchor *anchor, const struct nfs_op *op);
/*
 * One call of the other capture. True once several agree; *delta_ns is then
 * (this capture's clock) - (the learned capture's clock), good to about the
 * latency of a call.
 */
bool anchor_scan(struct anchor *anchor, const struct nfs_op *op, int64_t *delta_ns);

#endif
