#include "rpc/reconnect.h"

#include <glib.h>
#include <string.h>

#include "rpc/fingerprint.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BUCKETS = 1024, NONE = UINT32_MAX };

struct waiting {
	struct nfs_op op;
	uint32_t next;			/* in its bucket, oldest last */
	uint32_t newer, older;		/* by arrival; newer also links free ones */
	uint32_t bucket;
	bool taken;			/* an open note whose call went on as a copy of it: what comes of it is that copy's */
};

struct reconnect {
	op_sink_fn *sink;
	void *context;
	uint32_t limit, made;
	struct waiting *pool;
	uint32_t free_head, oldest, newest;
	uint32_t bucket[BUCKETS];
	uint64_t joined[OP_OUTCOMES];	/* joined copies, by the outcome that was counted for them */
};

struct reconnect *
reconnect_new(uint32_t limit, op_sink_fn *sink, void *context)
{
	struct reconnect *reconnect = g_new0(struct reconnect, 1);

	reconnect->sink = sink;
	reconnect->context = context;
	reconnect->limit = MAX(limit, 1);
	reconnect->free_head = reconnect->oldest = reconnect->newest = NONE;
	memset(reconnect->bucket, 0xff, sizeof reconnect->bucket);
	return reconnect;
}

void
reconnect_free(struct reconnect *reconnect)
{
	if (reconnect == NULL)
		return;
	g_free(reconnect->pool);
	g_free(reconnect);
}

static uint32_t
bucket_of(const struct nfs_op *op)
{
	struct {
		uint8_t client[16], server[16];
		uint32_t xid, program, version, procedure;
	} key = { .xid = op->xid, .program = op->program, .version = op->version, .procedure = op->procedure };

	memcpy(key.client, op->client.address, sizeof key.client);
	memcpy(key.server, op->server.address, sizeof key.server);
	return (uint32_t)XXH3_64bits(&key, sizeof key) % BUCKETS;
}

static void
unlink_waiting(struct reconnect *reconnect, uint32_t index)
{
	struct waiting *waiting = &reconnect->pool[index];
	uint32_t *at = &reconnect->bucket[waiting->bucket];

	while (*at != index)
		at = &reconnect->pool[*at].next;
	*at = waiting->next;
	if (waiting->older != NONE)
		reconnect->pool[waiting->older].newer = waiting->newer;
	else
		reconnect->oldest = waiting->newer;
	if (waiting->newer != NONE)
		reconnect->pool[waiting->newer].older = waiting->older;
	else
		reconnect->newest = waiting->older;
	waiting->newer = reconnect->free_head;
	reconnect->free_head = index;
}

static bool
is_note(const struct nfs_op *op)
{
	return op_is_answered_note(op) || op_is_open_note(op);
}

static void
pass_on_oldest(struct reconnect *reconnect)
{
	uint32_t index = reconnect->oldest;
	struct nfs_op op = reconnect->pool[index].op;

	unlink_waiting(reconnect, index);
	if (!is_note(&op))
		reconnect->sink(reconnect->context, &op);
}

static uint32_t
take_slot(struct reconnect *reconnect)
{
	uint32_t index;

	if (reconnect->free_head == NONE && reconnect->made == reconnect->limit)
		pass_on_oldest(reconnect);
	if (reconnect->free_head == NONE) {
		if ((reconnect->made & (reconnect->made - 1)) == 0)
			reconnect->pool = g_renew(struct waiting, reconnect->pool,
			    MIN(MAX(reconnect->made * 2, 1), reconnect->limit));
		return reconnect->made++;
	}
	index = reconnect->free_head;
	reconnect->free_head = reconnect->pool[index].newer;
	return index;
}

static void
keep(struct reconnect *reconnect, const struct nfs_op *op, uint32_t bucket)
{
	uint32_t index = take_slot(reconnect);
	struct waiting *waiting = &reconnect->pool[index];

	*waiting = (struct waiting){ .op = *op, .bucket = bucket, .next = reconnect->bucket[bucket],
	    .older = reconnect->newest, .newer = NONE };
	if (reconnect->newest != NONE)
		reconnect->pool[reconnect->newest].newer = index;
	else
		reconnect->oldest = index;
	reconnect->newest = index;
	reconnect->bucket[bucket] = index;
}

/* An earlier copy of an op among those that wait, on a connection before this one; NONE: there is none. */
static uint32_t
first_copy(const struct reconnect *reconnect, const struct nfs_op *op, uint64_t connection, uint32_t bucket)
{
	for (uint32_t at = reconnect->bucket[bucket]; at != NONE; at = reconnect->pool[at].next) {
		const struct nfs_op *first = &reconnect->pool[at].op;

		if (!reconnect->pool[at].taken && first->xid == op->xid && first->program == op->program &&
		    first->version == op->version && first->procedure == op->procedure &&
		    first->connection < connection &&
		    memcmp(first->client.address, op->client.address, sizeof op->client.address) == 0 &&
		    memcmp(first->server.address, op->server.address, sizeof op->server.address) == 0 &&
		    fingerprint_agrees(&first->print, &op->print))
			return at;
	}
	return NONE;
}

/* One call out of two: the first copy's call, the last one's end. */
static struct nfs_op
join(const struct nfs_op *first, const struct nfs_op *last)
{
	struct nfs_op op = *last;

	op.call_first_ns = first->call_first_ns;
	op.call_frame = first->call_frame;
	op.call_order = first->call_order;
	if (op_has(first, OP_HAS_CALL_LAST)) {
		op.call_last_ns = first->call_last_ns;
		op.flags &= ~(unsigned)OP_CALL_TIME_DEDUCED;
		op.flags |= first->flags & OP_CALL_TIME_DEDUCED;
	}
	op.retransmits += first->retransmits + 1;
	op.flags |= OP_JOINED;
	return op;
}

/* The open note of this very call; NONE: there is none. */
static uint32_t
own_note(const struct reconnect *reconnect, const struct nfs_op *op, uint32_t bucket)
{
	for (uint32_t at = reconnect->bucket[bucket]; at != NONE; at = reconnect->pool[at].next) {
		const struct nfs_op *note = &reconnect->pool[at].op;

		if (op_is_open_note(note) && note->connection == op->connection && note->xid == op->xid &&
		    note->call_direction == op->call_direction && note->call_order == op->call_order)
			return at;
	}
	return NONE;
}

/*
 * A call that was open when its connection was reset is over; true: it was
 * reported as a copy of it. A reply behind a reset is acknowledged by nobody, so
 * that the client may still send the call again.
 */
static bool
settle_note(struct reconnect *reconnect, const struct nfs_op *op, uint32_t bucket)
{
	uint32_t own = own_note(reconnect, op, bucket);
	bool taken = own != NONE && reconnect->pool[own].taken;

	if (own == NONE)
		return false;
	if (taken)
		reconnect->joined[op->outcome]++;
	if (taken || op->outcome != OP_ANSWERED)
		unlink_waiting(reconnect, own);
	else
		reconnect->pool[own].op.outcome = OP_ANSWERED;
	return taken;
}

/* Joins the op with its earlier copies; false: it is but another copy of a call that was answered. */
static bool
join_copies(struct reconnect *reconnect, struct nfs_op *op, uint32_t bucket)
{
	uint64_t connection = op->connection;
	bool joined = false;
	uint32_t at;

	while ((at = first_copy(reconnect, op, connection, bucket)) != NONE) {
		struct waiting *first = &reconnect->pool[at];

		if (op_is_answered_note(&first->op)) {
			if (!joined)
				reconnect->joined[op->outcome]++;
			return joined;
		}
		joined = true;
		connection = first->op.connection;
		*op = join(&first->op, op);
		if (op_is_open_note(&first->op)) {
			first->taken = true;
		} else {
			reconnect->joined[first->op.outcome]++;
			unlink_waiting(reconnect, at);
		}
	}
	return true;
}

/* An op that may have copies among those that wait, or is to wait for one itself. */
static G_GNUC_NO_INLINE void
push_reconnecting(struct reconnect *reconnect, const struct nfs_op *op, bool ended)
{
	uint32_t bucket = bucket_of(op);
	struct nfs_op joined = *op;

	if (!is_note(op) && (settle_note(reconnect, op, bucket) || !join_copies(reconnect, &joined, bucket)))
		return;
	if (ended)
		keep(reconnect, &joined, bucket);
	else
		reconnect->sink(reconnect->context, &joined);
}

void
reconnect_push(struct reconnect *reconnect, const struct nfs_op *op)
{
	bool ended = (op->flags & OP_CONNECTION_ENDED) != 0;

	if (reconnect->oldest == NONE && !ended)
		reconnect->sink(reconnect->context, op);
	else
		push_reconnecting(reconnect, op, ended);
}

void
reconnect_finish(struct reconnect *reconnect)
{
	while (reconnect->oldest != NONE)
		pass_on_oldest(reconnect);
}

void
reconnect_correct(const struct reconnect *reconnect, struct rpc_counters *counters)
{
	for (int outcome = 0; outcome < OP_OUTCOMES; outcome++) {
		counters->outcomes[outcome] -= reconnect->joined[outcome];
		counters->calls -= reconnect->joined[outcome];
		counters->retransmitted_calls += reconnect->joined[outcome];
	}
}
