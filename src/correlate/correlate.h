/*
 * The only place where a server's time meets a client's: operations of one
 * server capture and of any number of client captures in, op_pairs out.
 */
#ifndef CORRELATE_CORRELATE_H
#define CORRELATE_CORRELATE_H

#include "correlate/clock.h"
#include "correlate/ids.h"
#include "correlate/op_pair.h"
#include "stream/stream.h"

struct correlate;

struct correlate_config {
	unsigned clients;		/* client captures; 0: nothing to correlate with */
	enum clock_mode clock_mode;
	int64_t clock_given_ns;
	bool keep_roles;		/* the user said --swap or named the sides: do not exchange them */
	uint32_t limit;			/* unmatched calls kept a capture; 0: 2^17 */
	const int64_t *hints_ns;	/* per client: offset from an anchor, server - client; NULL: none, the given offset is assumed, or 0 */
};

struct correlate_facts {
	uint64_t matches[MATCHES];	/* calls by enum match; a pair counts once */
	uint64_t evicted[2];		/* unmatched calls dropped from a full table, by enum pair_side */
	uint64_t mispaired;		/* pairs refused because their replies or times cannot belong together */
	bool swapped;			/* the roles are evidently the other way round than given */
	bool exchanged;			/* and so were exchanged in all that was emitted. Not with several clients, nor when the
					   evidence came after 2^16 lone calls: the caller starts again with the captures exchanged */
	bool same_side;			/* both captures were made on the same side */
	uint64_t translated;		/* connections paired by content under different addresses or ports */
	int64_t overlap_first_ns, overlap_last_ns;	/* server clock: first and last matched call; 0: none */
};

struct correlate *correlate_new(const struct correlate_config *config, pair_sink_fn *sink, void *context);
void correlate_free(struct correlate *correlate);

/*
 * Which capture to read next: 0 is the server's, 1.. the clients'. next_ns[i] is
 * the time of the next op that capture i offers (its own clock), ended[i] true
 * when it has none. At least one has not ended.
 */
unsigned correlate_choose(const struct correlate *correlate, const int64_t *next_ns, const bool *ended);
/* The next op of a capture, in the order its decoder finished them; borrowed. */
void correlate_push(struct correlate *correlate, unsigned capture, const struct nfs_op *op);
/* What TCP sent again, and what was not captured; before the ops that were finished after it. */
void correlate_push_event(struct correlate *correlate, unsigned capture, const struct tcp_event *event);
/*
 * True when so much was read without a match that the assumed offset must be
 * wrong: the caller looks for an anchor and starts again with hints. After
 * correlate_finish: true when both sides had calls and none of some client's
 * matched, which small captures that are far apart only show then.
 */
bool correlate_astray(const struct correlate *correlate);
void correlate_finish(struct correlate *correlate);

/* What is known so far; the same place each time, its counts of pairing as they are at the call. */
const struct correlate_facts *correlate_facts(struct correlate *correlate);
void correlate_clock(const struct correlate *correlate, unsigned client, struct clock_facts *facts);
/* Candidates compared so far: the measure of work, in proportion to the ops whatever they are. */
uint64_t correlate_steps(const struct correlate *correlate);
/* The dictionaries that the ids of emitted pairs refer to; owned by correlate. */
struct ids *correlate_ids(struct correlate *correlate);

/* The time by which an op takes its place among the others: reply_last, else the last stamp it has. */
static inline int64_t
op_order_ns(const struct nfs_op *op)
{
	if (op_has(op, OP_HAS_REPLY_LAST))
		return op->reply_last_ns;
	if (op_has(op, OP_HAS_REPLY_FIRST))
		return op->reply_first_ns;
	return op_has(op, OP_HAS_CALL_LAST) ? op->call_last_ns : op->call_first_ns;
}

#endif
