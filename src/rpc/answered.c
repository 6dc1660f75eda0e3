#include "rpc/answered.h"

#include <glib.h>

#include "base/arith.h"
#include "rpc/fingerprint.h"

enum {
	LIFE_S = 120,		/* CONTRACT section 2 */
};

struct entry {
	struct answered_call call;
	uint64_t older;		/* serial of the one before it in its bucket, perhaps overwritten since */
};

/* A ring in the order of the replies, with a hash over it. */
struct answered {
	uint64_t serial;	/* of the next entry; starts where 0 is out of the ring */
	uint64_t *bucket;	/* serial of the newest */
	struct entry *ring;
	unsigned calls;		/* entries, and buckets */
};

struct answered *
answered_new(unsigned calls)
{
	struct answered *answered = g_new0(struct answered, 1);

	answered->calls = calls;
	answered->bucket = g_new0(uint64_t, calls);
	answered->ring = g_new0(struct entry, calls);
	answered->serial = calls + 1;
	return answered;
}

void
answered_free(struct answered *answered)
{
	if (answered == NULL)
		return;
	g_free(answered->bucket);
	g_free(answered->ring);
	g_free(answered);
}

static uint64_t *
bucket_of(const struct answered *answered, uint64_t connection, uint8_t direction, uint32_t xid)
{
	uint64_t mixed = (connection << 33) ^ ((uint64_t)direction << 32) ^ xid;

	return &answered->bucket[(mixed * 0x9e3779b97f4a7c15U >> 40) & (answered->calls - 1)];
}

const struct answered_call *
answered_find(const struct answered *answered, uint64_t connection, uint8_t direction, uint32_t xid)
{
	uint64_t at = *bucket_of(answered, connection, direction, xid);

	while (answered->serial - at <= answered->calls) {
		const struct entry *entry = &answered->ring[at & (answered->calls - 1)];

		if (entry->call.connection == connection && entry->call.direction == direction &&
		    entry->call.xid == xid)
			return &entry->call;
		at = entry->older;
	}
	return NULL;
}

void
answered_add(struct answered *answered, const struct nfs_op *op, uint8_t direction, int64_t ts_ns, int64_t reply_end)
{
	uint64_t *bucket = bucket_of(answered, op->connection, direction, op->xid);

	answered->ring[answered->serial & (answered->calls - 1)] = (struct entry){
		.call = { .connection = op->connection, .direction = direction, .ts_ns = ts_ns,
		    .reply_end = reply_end, .xid = op->xid, .program = op->program, .version = op->version,
		    .procedure = op->procedure, .print = op->print },
		.older = *bucket };
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
	return call != NULL && ts_ns - call->ts_ns <= LIFE_S * (int64_t)NS_PER_S;
}

bool
answered_is_copy(const struct answered *answered, const struct nfs_op *op, uint8_t direction, int64_t ts_ns)
{
	const struct answered_call *call = answered_find(answered, op->connection, direction, op->xid);

	return lives(call, ts_ns) && answered_agrees(call, op);
}

bool
answered_has(const struct answered *answered, uint64_t connection, uint8_t direction, uint32_t xid, int64_t ts_ns)
{
	return lives(answered_find(answered, connection, direction, xid), ts_ns);
}
