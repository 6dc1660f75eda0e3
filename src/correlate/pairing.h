/*
 * Which op of the first capture and which of a client capture are one call.
 *
 * Ops are compared by call (XID, program, version, procedure), by what both
 * know of the arguments and the reply, and by time; on connections of the same
 * addresses, or on connections that were found to be the same by their content.
 * What fits more than one call stays alone.
 *
 * Nothing is paired before the offset between the clocks is known: without it,
 * an XID that comes again cannot be told from its first use. Until then ops
 * wait, as many as the limit allows.
 */
#ifndef CORRELATE_PAIRING_H
#define CORRELATE_PAIRING_H

#include "correlate/offset.h"
#include "correlate/op_pair.h"

struct pairing;

struct pairing_config {
	unsigned clients;		/* client captures */
	uint32_t limit;			/* ops that wait, a capture */
	const int64_t *hints_ns;	/* per client; NULL: 0 */
};

struct pairing_counts {
	uint64_t evicted[2];	/* the first capture's, the clients' */
	uint64_t mispaired;
	uint64_t translated;
};

/* first or client is NULL where a call is known on one side only. capture: as given to pairing_push. */
typedef void pairing_sink_fn(void *context, const struct nfs_op *first, const struct nfs_op *client,
    unsigned capture, enum match match);

struct pairing *pairing_new(const struct pairing_config *config, pairing_sink_fn *sink, void *context);
void pairing_free(struct pairing *pairing);
/* capture: 0 the first, 1.. the clients. */
void pairing_push(struct pairing *pairing, unsigned capture, const struct nfs_op *op);
/* Nothing follows: pairs what can be paired, and lets all that waits go. */
void pairing_finish(struct pairing *pairing);

/* What is known of the clocks and roles of the client captures, from 0: the same place while pairing lives. */
const struct offset *pairing_offsets(const struct pairing *pairing);
const struct pairing_counts *pairing_counts(const struct pairing *pairing);
/* Candidates looked at so far: the measure of work, in proportion to the ops whatever they are. */
uint64_t pairing_steps(const struct pairing *pairing);

#endif
