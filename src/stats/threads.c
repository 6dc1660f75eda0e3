#include "stats/threads.h"

#include <glib.h>
#include <string.h>

#include "stats/rows.h"

enum {
	SPELL_CALLS = 2048,
	SPELL_CALLS_FIRST = 256,	/* allocated at first */
	SPELLS = 8,
	ENDS = 256,			/* connections whose last reply is known */
	NFS = 100003, NFSACL = 100227,	/* programs that the same threads serve */
	SMALL_BYTES = 4096, MEDIUM_BYTES = 32768, LARGE_BYTES = 262144,
};

/* The last reply of a connection. */
struct last_reply {
	uint64_t connection;
	int64_t tail_ns;	/* 0: of one packet */
	int64_t end_ns;
};

/* Every stride-th spell of calls is kept; when there are too many, every second one goes. */
struct threads {
	struct served *call[SPELLS];	/* of each spell kept */
	unsigned count[SPELLS];
	unsigned room[SPELLS];
	unsigned spells;		/* kept; the last one may be growing */
	uint64_t stride, skip;		/* skip: calls until the next spell begins */
	uint64_t kind[SERVED_CLASSES];
	unsigned kinds, last_kind;
	struct net_endpoint server[THREADS_SERVERS];
	unsigned servers, last_server;
	struct last_reply last[ENDS];
};

struct threads *
threads_new(void)
{
	struct threads *threads = g_new0(struct threads, 1);

	threads->stride = 1;
	return threads;
}

void
threads_free(struct threads *threads)
{
	if (threads == NULL)
		return;
	for (unsigned i = 0; i < SPELLS; i++)
		g_free(threads->call[i]);
	g_free(threads);
}

struct threads *
threads_copy(const struct threads *threads)
{
	struct threads *copy = g_memdup2(threads, sizeof *threads);

	for (unsigned i = 0; i < SPELLS; i++)
		copy->call[i] = g_memdup2(threads->call[i], threads->room[i] * sizeof *threads->call[i]);
	return copy;
}

void
threads_reset(struct threads *threads)
{
	struct threads empty = { .stride = 1 };

	memcpy(empty.call, threads->call, sizeof empty.call);
	memcpy(empty.room, threads->room, sizeof empty.room);
	*threads = empty;
}

static uint8_t
class_number(struct threads *threads, uint64_t kind)
{
	if (threads->kinds > 0 && threads->kind[threads->last_kind] == kind)
		return (uint8_t)threads->last_kind;
	for (unsigned i = 0; i < threads->kinds; i++) {
		if (threads->kind[i] == kind) {
			threads->last_kind = i;
			return (uint8_t)i;
		}
	}
	if (threads->kinds == SERVED_OTHERS)
		return SERVED_OTHERS;
	threads->kind[threads->kinds] = kind;
	return (uint8_t)threads->kinds++;
}

/* Calls of one operation and about one size cost alike. */
static uint8_t
class_of(struct threads *threads, const struct nfs_op *op)
{
	unsigned size = !op_has(op, OP_HAS_REQUESTED) || op->requested_bytes <= SMALL_BYTES ? 0 :
	    op->requested_bytes <= MEDIUM_BYTES ? 1 : op->requested_bytes <= LARGE_BYTES ? 2 : 3;

	return class_number(threads, (uint64_t)(op->program == NFSACL) << 63 | (uint64_t)(op->version & 0xff) << 40 |
	    (uint64_t)size << 32 | op->operation);
}

/* THREADS_SERVERS: one of too many. */
static uint8_t
server_number(struct threads *threads, const struct net_endpoint *server)
{
	for (unsigned n = 0, i = threads->last_server; n < threads->servers; n++, i = (i + 1) % threads->servers) {
		if (memcmp(threads->server[i].address, server->address, sizeof server->address) == 0) {
			threads->last_server = i;
			return (uint8_t)i;
		}
	}
	if (threads->servers == THREADS_SERVERS)
		return THREADS_SERVERS;
	threads->server[threads->servers] = *server;
	return (uint8_t)threads->servers++;
}

/* Makes room for another spell, in place of every second one if need be. */
static void
begin_spell(struct threads *threads)
{
	if (threads->spells == SPELLS) {
		for (unsigned i = 1; i < SPELLS / 2; i++) {
			struct served *other = threads->call[i];
			unsigned room = threads->room[i];

			threads->call[i] = threads->call[2 * i];
			threads->room[i] = threads->room[2 * i];
			threads->call[2 * i] = other;
			threads->room[2 * i] = room;
			threads->count[i] = threads->count[2 * i];
		}
		threads->spells = SPELLS / 2;
		threads->stride *= 2;
	}
	threads->count[threads->spells++] = 0;
}

/* Where the next call goes; NULL: it is in no sample. */
static struct served *
next_place(struct threads *threads)
{
	unsigned spell;

	if (threads->spells == 0)
		begin_spell(threads);
	if (threads->count[threads->spells - 1] == SPELL_CALLS) {
		begin_spell(threads);
		threads->skip = (threads->stride - 1) * SPELL_CALLS;
		if (threads->skip > 0) {
			threads->skip--;
			return NULL;
		}
	}
	spell = threads->spells - 1;
	if (threads->count[spell] == threads->room[spell]) {
		threads->room[spell] = MAX(SPELL_CALLS_FIRST, threads->room[spell] * 2);
		threads->call[spell] = g_renew(struct served, threads->call[spell], threads->room[spell]);
	}
	return &threads->call[spell][threads->count[spell]++];
}

/*
 * True when a reply leaves not longer after the one before it, of several
 * packets, than twice the time that one took: what keeps it back is the way.
 */
static bool
is_pressed(struct threads *threads, const struct nfs_op *op)
{
	struct last_reply *last = &threads->last[op->connection % ENDS];
	int64_t tail_ns = op_has(op, OP_HAS_REPLY_LAST) ?
	    CLAMP(duration_ns(op->reply_first_ns, op->reply_last_ns), 0, INT64_MAX / 4) : 0;
	bool pressed = last->connection == op->connection && last->tail_ns > 0 &&
	    duration_ns(last->end_ns, op->reply_first_ns) <= 2 * last->tail_ns;

	*last = (struct last_reply){ op->connection, tail_ns, op->reply_first_ns + tail_ns };
	return pressed;
}

static G_GNUC_NO_INLINE void
take_call(struct threads *threads, const struct nfs_op *op, int64_t latency_ns)
{
	struct served *call = next_place(threads);

	if (call == NULL)
		return;
	*call = (struct served){
		.arrival_ns = op->call_last_ns,
		.latency = (uint32_t)(latency_ns / SERVED_NS),
		.lane = (uint16_t)(op->connection % SERVED_LANES),
		.class = class_of(threads, op),
		.server = server_number(threads, &op->server) & 15,
		.exact = op->retransmits == 0 && (op->flags & (OP_CALL_TIME_DEDUCED | OP_REPLY_TIME_DEDUCED |
		    OP_CALL_TIME_FILLED | OP_REPLY_TIME_FILLED | OP_JOINED)) == 0,
		.pressed = is_pressed(threads, op),
	};
}

static inline void
add_op(struct threads *threads, const struct nfs_op *op)
{
	int64_t latency_ns = duration_ns(op->call_last_ns, op->reply_first_ns);

	if (op->outcome != OP_ANSWERED || (op->program != NFS && op->program != NFSACL) ||
	    !op_has(op, OP_HAS_CALL_LAST | OP_HAS_REPLY_FIRST) || latency_ns < 0 ||
	    latency_ns / SERVED_NS > UINT32_MAX)
		return;
	if (threads->skip > 0)
		threads->skip--;
	else
		take_call(threads, op, latency_ns);
}

void
threads_add(struct threads *threads, const struct nfs_op *ops, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		add_op(threads, &ops[i]);
}

/* A spell of another object's calls, under this one's numbers. */
static void
take_spell(struct threads *into, const struct threads *from, unsigned spell)
{
	unsigned count = from->count[spell], at;

	begin_spell(into);
	at = into->spells - 1;
	if (into->room[at] < count) {
		into->room[at] = count;
		into->call[at] = g_renew(struct served, into->call[at], count);
	}
	into->count[at] = count;
	for (unsigned i = 0; i < count; i++) {
		struct served *call = &into->call[at][i];

		*call = from->call[spell][i];
		if (call->class != SERVED_OTHERS)
			call->class = class_number(into, from->kind[call->class]);
		if (call->server != THREADS_SERVERS)
			call->server = server_number(into, &from->server[call->server]) & 15;
	}
}

void
threads_merge(struct threads *into, const struct threads *from)
{
	for (unsigned i = 0; i < from->spells; i++)
		take_spell(into, from, i);
	into->stride = MAX(into->stride, from->stride);
}

unsigned
threads_judge(const struct threads *threads, bool from_idle, struct thread_pool pool[THREADS_SERVERS])
{
	struct spell spell[SPELLS];
	unsigned pools = 0;

	for (unsigned i = 0; i < threads->spells; i++)
		spell[i] = (struct spell){
			.call = threads->call[i],
			.count = threads->count[i],
			.from_idle = from_idle && i == 0,
			.continues = i > 0 && threads->stride == 1,
		};
	if (threads->servers == 0)
		return 0;
	pool[0] = (struct thread_pool){ .server = threads->server[0], .all = true };
	thread_fit(spell, threads->spells, -1, &pool[0].fit);
	if (threads->servers == 1 || pool[0].fit.saturated)
		return pool[0].fit.saturated;
	for (unsigned i = 0; i < threads->servers; i++) {
		pool[pools] = (struct thread_pool){ .server = threads->server[i] };
		thread_fit(spell, threads->spells, (int)i, &pool[pools].fit);
		pools += pool[pools].fit.saturated;
	}
	return pools;
}
