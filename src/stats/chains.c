#include "stats/chains.h"

#include <glib.h>
#include <string.h>

#include "base/arith.h"
#include "stats/rows.h"

enum {
	PROGRAM_NFS = 100003,
	STATUS_DELAY = 10008,	/* NFS3ERR_JUKEBOX and NFS4ERR_DELAY */
	SETS = 256,		/* a power of two */
	WAYS = 4,
	RETRY_S = 600,
};

/* What makes two calls the same. */
struct likeness {
	uint8_t client[16];
	uint64_t file, offset;
	uint32_t version, operation, args_len, print, requested;
};

struct chain {
	struct likeness likeness;
	int64_t first_ns, last_ns;	/* its first call_first, its latest reply_last */
	uint32_t xid;
	bool used, counted;		/* counted: made again at least once */
};

struct chain_table {
	struct chain chain[SETS][WAYS];
};

void
chains_clear(struct chains *chains)
{
	g_clear_pointer(&chains->pending, g_free);
}

void
chains_copy(struct chains *copy, const struct chains *chains)
{
	*copy = *chains;
	copy->pending = g_memdup2(chains->pending, sizeof *chains->pending);
}

static struct likeness
likeness_of(const struct nfs_op *op)
{
	struct likeness likeness;

	/* compared as bytes */
	memset(&likeness, 0, sizeof likeness);
	memcpy(likeness.client, op->client.address, sizeof likeness.client);
	likeness.version = op->version;
	likeness.operation = op->operation;
	if (op_has(op, OP_HAS_FILE))
		likeness.file = op->file;
	if (op_has(op, OP_HAS_OFFSET))
		likeness.offset = op->file_offset;
	if (op_has(op, OP_HAS_REQUESTED))
		likeness.requested = op->requested_bytes;
	if (op->print.length_known)
		likeness.args_len = op->print.args_len;
	if (op->version < 4 && op->print.prefixes > 0)
		likeness.print = op->print.prefix[op->print.prefixes - 1];
	return likeness;
}

static struct chain *
set_of(struct chain_table *table, const struct likeness *likeness)
{
	uint64_t mixed = likeness->file ^ likeness->offset * 0x9e3779b97f4a7c15U ^
	    ((uint64_t)likeness->print << 32 | likeness->operation);

	return table->chain[(mixed * 0x9e3779b97f4a7c15U) >> 56];
}

static struct chain *
find(struct chain_table *table, const struct likeness *likeness)
{
	struct chain *set = set_of(table, likeness);

	for (unsigned way = 0; way < WAYS; way++)
		if (set[way].used && memcmp(&set[way].likeness, likeness, sizeof *likeness) == 0)
			return &set[way];
	return NULL;
}

/* A free place of its set, else that of the one which waits for longest. */
static struct chain *
place_of(struct chain_table *table, const struct likeness *likeness)
{
	struct chain *set = set_of(table, likeness), *place = &set[0];

	for (unsigned way = 0; way < WAYS; way++) {
		if (!set[way].used)
			return &set[way];
		if (set[way].last_ns < place->last_ns)
			place = &set[way];
	}
	return place;
}

static bool
is_retry(const struct chain *chain, const struct nfs_op *op)
{
	return op->xid != chain->xid && op->call_first_ns >= chain->last_ns &&
	    duration_ns(chain->last_ns, op->call_first_ns) <= RETRY_S * (int64_t)NS_PER_S;
}

/* Of stamps that a hostile capture may have made up. */
static void
add_wait(struct chains *chains, int64_t from_ns, int64_t to_ns)
{
	if (__builtin_add_overflow(chains->wait_ns, duration_ns(from_ns, to_ns), &chains->wait_ns))
		chains->wait_ns = INT64_MAX;
}

static void
join(struct chains *chains, struct chain *chain, const struct nfs_op *op, bool put_off)
{
	if (!chain->counted) {
		chains->chains++;
		add_wait(chains, chain->first_ns, chain->last_ns);
		chain->counted = true;
	}
	add_wait(chains, chain->last_ns, op->reply_last_ns);
	chains->longest_ns = max_ns(chains->longest_ns, duration_ns(chain->first_ns, op->reply_last_ns));
	chain->last_ns = op->reply_last_ns;
	chain->xid = op->xid;
	if (!put_off) {
		chains->served++;
		chain->used = false;
	}
}

static bool
is_put_off(const struct nfs_op *op)
{
	return op->status == STATUS_DELAY && op_has(op, OP_HAS_STATUS) && op->program == PROGRAM_NFS && op->version > 2;
}

/* A call that was put off, or while others wait. */
static void
follow(struct chains *chains, const struct nfs_op *op, bool put_off)
{
	struct likeness likeness;
	struct chain *chain;

	chains->calls += put_off;
	if (!op_has(op, OP_HAS_CALL_FIRST | OP_HAS_REPLY_LAST) || op->program != PROGRAM_NFS)
		return;
	if (chains->pending == NULL)
		chains->pending = g_new0(struct chain_table, 1);
	likeness = likeness_of(op);
	chain = find(chains->pending, &likeness);
	if (chain != NULL && is_retry(chain, op)) {
		join(chains, chain, op, put_off);
		return;
	}
	if (!put_off)
		return;
	if (chain == NULL)
		chain = place_of(chains->pending, &likeness);
	*chain = (struct chain){ .likeness = likeness, .first_ns = op->call_first_ns, .last_ns = op->reply_last_ns,
		.xid = op->xid, .used = true };
}

void
chains_add(struct chains *chains, const struct nfs_op *ops, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		bool put_off;

		if (G_LIKELY(ops[i].status != STATUS_DELAY && chains->pending == NULL))
			continue;
		put_off = is_put_off(&ops[i]);
		if ((put_off || chains->pending != NULL) && ops[i].outcome == OP_ANSWERED)
			follow(chains, &ops[i], put_off);
	}
}

void
chains_merge(struct chains *into, const struct chains *from)
{
	into->calls += from->calls;
	into->chains += from->chains;
	into->served += from->served;
	add_wait(into, 0, from->wait_ns);
	into->longest_ns = max_ns(into->longest_ns, from->longest_ns);
}
