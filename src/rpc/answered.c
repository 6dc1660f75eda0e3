#include "rpc/answered.h"

#include <glib.h>

#include "base/arith.h"
#include "rpc/fingerprint.h"

enum {
	CALLS = 4096,		/* a power of two */
	BUCKETS = 4096,		/* a power of two */
	LIFE_S = 120,		/* CONTRACT section 2 */
};

struct entry {
	uint64_t connection, older;	/* older: serial of the one before it in its bucket, perhaps overwritten since */
	int64_t ts_ns;
	uint32_t xid, program, version, procedure;
	struct arg_print print;
	uint8_t direction;
};

/* A ring in the order of the replies, with a hash over it. */
struct answered {
	uint64_t serial;		/* of the next entry; starts where 0 is out of the ring */
	uint64_t bucket[BUCKETS];	/* serial of the newest */
	struct entry ring[CALLS];
};

struct answered *
answered_new(void)
{
	struct answered *answered = g_new0(struct answered, 1);

	answered->serial = CALLS + 1;
	return answered;
}

void
answered_free(struct answered *answered)
{
	g_free(answered);
}

static unsigned
bucket_of(uint64_t connection, uint8_t direction, uint32_t xid)
{
	uint64_t mixed = (connection << 33) ^ ((uint64_t)direction << 32) ^ xid;

	return (unsigned)(mixed * 0x9e3779b97f4a7c15U >> 40) & (BUCKETS - 1);
}

static const struct entry *
find(const struct answered *answered, uint64_t connection, uint8_t direction, uint32_t xid, int64_t ts_ns)
{
	uint64_t at = answered->bucket[bucket_of(connection, direction, xid)];

	while (answered->serial - at <= CALLS) {
		const struct entry *entry = &answered->ring[at % CALLS];

		if (entry->connection == connection && entry->direction == direction && entry->xid == xid)
			return ts_ns - entry->ts_ns <= LIFE_S * (int64_t)NS_PER_S ? entry : NULL;
		at = entry->older;
	}
	return NULL;
}

void
answered_add(struct answered *answered, const struct nfs_op *op, uint8_t direction, int64_t ts_ns)
{
	uint64_t *bucket = &answered->bucket[bucket_of(op->connection, direction, op->xid)];

	answered->ring[answered->serial % CALLS] = (struct entry){
		.connection = op->connection, .direction = direction, .older = *bucket, .ts_ns = ts_ns, .xid = op->xid,
		.program = op->program, .version = op->version, .procedure = op->procedure, .print = op->print };
	*bucket = answered->serial++;
}

bool
answered_is_copy(const struct answered *answered, const struct nfs_op *op, uint8_t direction, int64_t ts_ns)
{
	const struct entry *entry = find(answered, op->connection, direction, op->xid, ts_ns);

	return entry != NULL && entry->program == op->program && entry->version == op->version &&
	    entry->procedure == op->procedure && fingerprint_agrees(&entry->print, &op->print);
}

bool
answered_has(const struct answered *answered, uint64_t connection, uint8_t direction, uint32_t xid, int64_t ts_ns)
{
	return find(answered, connection, direction, xid, ts_ns) != NULL;
}
