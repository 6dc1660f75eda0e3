#include "rpc/answered.h"

#include <glib.h>

#include "base/arith.h"
#include "rpc/fingerprint.h"

enum {
	LIFE_S = 120,		/* CONTRACT section 2 */
	/* Every call is looked for and hardly one is found: that should show in the bucket. */
	BUCKETS_PER_CALL = 4,
};

/*
 * A ring in the order of the replies, with a hash over it. A serial that has
 * gone around only leads to a call that does not match.
 */
struct answered {
	uint32_t serial;	/* of the next one; starts where 0 is out of the ring */
	uint32_t calls;		/* in the ring */
	uint32_t *bucket;	/* serial of the newest */
	struct answered_call *call;
};

struct answered *
answered_new(unsigned calls)
{
	struct answered *answered = g_new0(struct answered, 1);

	answered->calls = calls;
	answered->bucket = g_new0(uint32_t, calls * BUCKETS_PER_CALL);
	answered->call = g_new0(struct answered_call, calls);
	answered->serial = calls + 1;
	return answered;
}

void
answered_free(struct answered *answered)
{
	if (answered == NULL)
		return;
	g_free(answered->bucket);
	g_free(answered->call);
	g_free(answered);
}

static uint32_t *
bucket_of(const struct answered *answered, uint32_t hash)
{
	return &answered->bucket[hash & (answered->calls * BUCKETS_PER_CALL - 1)];
}

const struct answered_call *
answered_find(const struct answered *answered, uint32_t hash, uint64_t connection, uint8_t direction, uint32_t xid)
{
	uint32_t at = *bucket_of(answered, hash);

	while (answered->serial - at <= answered->calls) {
		const struct answered_call *call = &answered->call[at & (answered->calls - 1)];

		if (call->xid == xid && call->connection == connection && call->direction == direction)
			return call;
		if (answered->serial - call->older <= answered->serial - at)
			break;
		at = call->older;
	}
	return NULL;
}

void
answered_add(struct answered *answered, uint32_t hash, const struct nfs_op *op, int64_t reply)
{
	uint32_t *bucket = bucket_of(answered, hash);

	answered->call[answered->serial & (answered->calls - 1)] = (struct answered_call){ .connection = op->connection,
	    .reply = reply, .xid = op->xid, .program = op->program, .version = op->version,
	    .procedure = op->procedure, .print = op->print, .direction = op->call_direction, .older = *bucket };
	*bucket = answered->serial++;
}

bool
answered_agrees(const struct answered_call *call, const struct nfs_op *op)
{
	return call->program == op->program && call->version == op->version &&
	    call->procedure == op->procedure && fingerprint_agrees(&call->print, &op->print);
}

/* Answered within the life of a server's entry before that. */
static bool
lives(const struct answered_call *call, int64_t ts_ns)
{
	return call != NULL && ts_ns - call->reply <= LIFE_S * (int64_t)NS_PER_S;
}

bool
answered_is_copy(const struct answered *answered, uint32_t hash, const struct nfs_op *op)
{
	const struct answered_call *call = answered_find(answered, hash, op->connection, op->call_direction, op->xid);

	return lives(call, op->call_first_ns) && answered_agrees(call, op);
}

bool
answered_has(const struct answered *answered, uint32_t hash, uint64_t connection, uint8_t direction, uint32_t xid,
    int64_t ts_ns)
{
	return lives(answered_find(answered, hash, connection, direction, xid), ts_ns);
}
