#include "stats/concurrency.h"

#include <glib.h>
#include <string.h>
#include <xxhash.h>

#include "base/arith.h"
#include "stats/rows.h"
#include "stats/sweep.h"

enum {
	SLOTS = 4096,		/* a power of two, several times CONCURRENCY_ROWS */
	KNOWN = 256,		/* a power of two */
	NO_ROW = 0,
	ROW_BITS = 16,
	ROW_MASK = (1 << ROW_BITS) - 1,
	KIND_SHIFT = SWEEP_RANK_SHIFT,
	PROGRAM_NFS = 100003,
	PROGRAM_NFSACL = 100227,
};

/* Further from 0 no stamp of this age is. */
static const int64_t stamp_end_ns = INT64_C(1) << 61;

G_STATIC_ASSERT((int)CONCURRENCY_OUTSIDE == (int)SWEEP_OUTSIDE && (int)CONCURRENCY_INSIDE == (int)SWEEP_INSIDE);

G_STATIC_ASSERT((int)KIND_SHIFT == CONCURRENCY_TABLES * ROW_BITS);

struct row_name {
	uint64_t session;
	struct net_endpoint client, server;
	uint8_t zeros[4];		/* where padding would be: names are hashed */
};

G_STATIC_ASSERT(sizeof(struct row_name) == 8 + 2 * sizeof(struct net_endpoint) + 4);

/* Row 0 is nobody's: calls of rows that gave way. */
struct table {
	struct concurrency_row *row;
	uint32_t count, room;
	uint16_t slot[SLOTS];		/* NO_ROW: free */
};

/* Rows of a connection that was seen lately, as a call's tag has them. */
struct known {
	uint64_t connection;		/* serial in the capture; 0: none */
	uint64_t session;
	uint64_t rows;
};

struct concurrency {
	unsigned views;
	struct concurrency_counts counts;
	struct depth server;
	struct table table[CONCURRENCY_TABLES];
	struct sweep *sweep;
	bool finished;
	int64_t from_ns;		/* calls are followed from here on */
	uint64_t seed;			/* places names in slots, nothing else */
	struct known known[KNOWN];	/* by the connection's serial */
	const uint16_t *moved;		/* while rows give way: the new number of each old one */
	unsigned moved_table;
};

/* A call's tag: its row in each table and its kind. */
static uint32_t
tag_row(uint64_t tag, unsigned table)
{
	return (uint32_t)(tag >> (table * ROW_BITS)) & ROW_MASK;
}

static unsigned
tag_kind(uint64_t tag)
{
	return (unsigned)(tag >> KIND_SHIFT);
}

/* ---- rows ---- */

/* 0: none. */
static uint64_t
session_of(const struct nfs_op *op)
{
	return op_has(op, OP_HAS_SLOT) || op_has(op, OP_HAS_GRANTED) ? op->session : 0;
}

static struct row_name
name_of(const struct nfs_op *op, unsigned table)
{
	struct row_name name = { 0 };

	if (table == CONCURRENCY_SESSIONS) {
		name.session = session_of(op);
		return name;
	}
	memcpy(name.client.address, op->client.address, sizeof name.client.address);
	memcpy(name.server.address, op->server.address, sizeof name.server.address);
	if (table == CONCURRENCY_CONNECTIONS) {
		name.client.port = op->client.port;
		name.server.port = op->server.port;
	}
	return name;
}

static struct row_name
name_of_row(const struct concurrency_row *row)
{
	return (struct row_name){ .session = row->session, .client = row->client, .server = row->server };
}

static bool
has_name(const struct concurrency_row *row, const struct row_name *name)
{
	return row->session == name->session && memcmp(&row->client, &name->client, sizeof row->client) == 0 &&
	    memcmp(&row->server, &name->server, sizeof row->server) == 0;
}

/* The slot that holds the name's row, or the free one where it belongs. */
static uint16_t *
slot_of(struct concurrency *concurrency, struct table *table, const struct row_name *name)
{
	size_t at = XXH3_64bits_withSeed(name, sizeof *name, concurrency->seed) % SLOTS;

	while (table->slot[at] != NO_ROW && !has_name(&table->row[table->slot[at]], name))
		at = (at + 1) % SLOTS;
	return &table->slot[at];
}

static uint64_t
retag(void *context, uint64_t tag)
{
	const struct concurrency *concurrency = context;
	unsigned shift = concurrency->moved_table * ROW_BITS;
	uint64_t row = concurrency->moved[tag_row(tag, concurrency->moved_table)];

	return (tag & ~((uint64_t)ROW_MASK << shift)) | row << shift;
}

static int
compare_calls(const void *a, const void *b)
{
	const struct concurrency_row *x = *(const struct concurrency_row *const *)a;
	const struct concurrency_row *y = *(const struct concurrency_row *const *)b;

	if (x->depth.calls != y->depth.calls)
		return x->depth.calls > y->depth.calls ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Half of the rows give way, those with the fewest calls, of equal ones the newer. */
static void
table_prune(struct concurrency *concurrency, unsigned number)
{
	struct table *table = &concurrency->table[number];
	const struct concurrency_row *order[CONCURRENCY_ROWS + 1];
	uint16_t moved[CONCURRENCY_ROWS + 1] = { 0 };
	uint32_t kept = 1;

	sweep_tell(concurrency->sweep);
	for (uint32_t i = 1; i < table->count; i++)
		order[i] = &table->row[i];
	qsort(order + 1, table->count - 1, sizeof *order, compare_calls);
	for (uint32_t i = 1; i <= CONCURRENCY_ROWS / 2; i++)
		moved[order[i] - table->row] = 1;
	for (uint32_t i = 1; i < table->count; i++) {
		if (moved[i] == 0) {
			if (number == CONCURRENCY_CONNECTIONS)
				concurrency->counts.without_row += table->row[i].depth.calls;
			depth_clear(&table->row[i].depth);
			continue;
		}
		table->row[kept] = table->row[i];
		moved[i] = (uint16_t)kept++;
	}
	table->count = kept;
	memset(concurrency->known, 0, sizeof concurrency->known);
	memset(table->slot, 0, sizeof table->slot);
	for (uint32_t i = 1; i < kept; i++) {
		struct row_name name = name_of_row(&table->row[i]);

		*slot_of(concurrency, table, &name) = (uint16_t)i;
	}
	concurrency->moved = moved;
	concurrency->moved_table = number;
	sweep_retag(concurrency->sweep, retag, concurrency);
	concurrency->moved = NULL;
}

static uint32_t
row_new(struct concurrency *concurrency, unsigned number, const struct row_name *name)
{
	struct table *table = &concurrency->table[number];

	if (table->count == CONCURRENCY_ROWS + 1)
		table_prune(concurrency, number);
	if (table->count >= table->room) {
		table->room = MAX(8, MIN(2 * table->room, CONCURRENCY_ROWS + 1));
		table->row = g_renew(struct concurrency_row, table->row, table->room);
	}
	table->row[table->count] = (struct concurrency_row){
		.client = name->client, .server = name->server, .session = name->session,
	};
	*slot_of(concurrency, table, name) = (uint16_t)table->count;
	return table->count++;
}

static uint32_t
row_named(struct concurrency *concurrency, unsigned number, const struct row_name *name)
{
	uint32_t row = *slot_of(concurrency, &concurrency->table[number], name);

	return row != NO_ROW ? row : row_new(concurrency, number, name);
}

static G_GNUC_NO_INLINE uint64_t
find_rows(struct concurrency *concurrency, const struct nfs_op *op)
{
	uint64_t rows = 0, session = session_of(op);

	for (unsigned i = 0; i < CONCURRENCY_TABLES; i++) {
		struct row_name name = name_of(op, i);

		if (i != CONCURRENCY_SESSIONS || session != 0)
			rows |= (uint64_t)row_named(concurrency, i, &name) << (i * ROW_BITS);
	}
	concurrency->known[op->connection % KNOWN] =
	    (struct known){ .connection = op->connection, .session = session, .rows = rows };
	return rows;
}

static inline uint64_t
rows_of(struct concurrency *concurrency, const struct nfs_op *op)
{
	const struct known *known = &concurrency->known[op->connection % KNOWN];

	if (G_LIKELY(known->connection == op->connection && known->session == session_of(op) && op->connection != 0))
		return known->rows;
	return find_rows(concurrency, op);
}

/* What a call and its reply say of their session's slots (RFC 8881 sections 18.36 and 18.46). */
static G_GNUC_NO_INLINE void
note_slots(struct concurrency *concurrency, const struct nfs_op *op, uint32_t number)
{
	struct concurrency_row *row = &concurrency->table[CONCURRENCY_SESSIONS].row[number];

	if (op_has(op, OP_HAS_GRANTED))
		row->slots_granted = op->slots_granted;
	if (op_has(op, OP_HAS_SLOT) && op->slot < UINT32_MAX)
		row->slots_used = MAX(row->slots_used, op->slot + 1);
	if (!op_has(op, OP_HAS_SLOT | OP_HAS_SLOT_LIMITS) || MIN(op->slot_highest, op->slot_target) == UINT32_MAX)
		return;
	row->slots_allowed = MIN(op->slot_highest, op->slot_target) + 1;
	row->target_lower = op->slot_target < op->slot_highest;
}

/* ---- events ---- */

/* -1: not known, as the call is still open or began before it was followed. */
static inline int64_t
latency_of(const struct concurrency *concurrency, int64_t begin_ns, int64_t end_ns)
{
	return end_ns != SWEEP_OPEN && begin_ns != concurrency->from_ns ? end_ns - begin_ns : -1;
}

static inline void
begin_in(struct concurrency *concurrency, unsigned table, const struct sweep_event *begin, int64_t latency_ns)
{
	uint32_t row = tag_row(begin->tag, table);

	if (row != NO_ROW)
		depth_begin(&concurrency->table[table].row[row].depth, begin->at_ns, tag_kind(begin->tag), latency_ns);
}

static inline void
begin_outside(void *context, const struct sweep_event *begin)
{
	struct concurrency *concurrency = context;
	int64_t latency_ns = latency_of(concurrency, begin->at_ns, begin->end_ns);

	begin_in(concurrency, CONCURRENCY_CONNECTIONS, begin, latency_ns);
	begin_in(concurrency, CONCURRENCY_CLIENTS, begin, latency_ns);
	begin_in(concurrency, CONCURRENCY_SESSIONS, begin, latency_ns);
}

static inline void
end_in(struct concurrency *concurrency, unsigned table, const struct sweep_event *end)
{
	uint32_t row = tag_row(end->tag, table);

	if (row != NO_ROW)
		depth_end(&concurrency->table[table].row[row].depth, end->at_ns);
}

static inline void
end_outside(void *context, const struct sweep_event *end)
{
	struct concurrency *concurrency = context;

	end_in(concurrency, CONCURRENCY_CONNECTIONS, end);
	end_in(concurrency, CONCURRENCY_CLIENTS, end);
	end_in(concurrency, CONCURRENCY_SESSIONS, end);
}

static void
take_run(void *context, const struct sweep_run *run)
{
	struct concurrency *concurrency = context;

	if (run->view == SWEEP_INSIDE)
		depth_follow(&concurrency->server, run, concurrency->from_ns);
	else
		sweep_each(run, begin_outside, end_outside, concurrency);
}

static void
late_in(struct depth *depth, const struct sweep_late *late, int64_t latency_ns)
{
	depth_missed(depth, late->missed_ns);
	if (late->begins)
		depth_begin(depth, late->begin.at_ns, tag_kind(late->begin.tag), latency_ns);
}

static void
take_late(void *context, enum sweep_view view, const struct sweep_late *late)
{
	struct concurrency *concurrency = context;
	int64_t latency_ns = latency_of(concurrency, late->begin_ns, late->begin.end_ns);

	concurrency->counts.late[view]++;
	if (view == SWEEP_INSIDE)
		late_in(&concurrency->server, late, latency_ns);
	for (unsigned table = 0; table < CONCURRENCY_TABLES && view == SWEEP_OUTSIDE; table++) {
		uint32_t row = tag_row(late->begin.tag, table);

		if (row != NO_ROW)
			late_in(&concurrency->table[table].row[row].depth, late, latency_ns);
	}
}

static const struct sweep_sink sweep_sink = { .run = take_run, .late = take_late };

/* ---- ops ---- */

/*
 * What takes about as long as each other: looking, reading, writing, making
 * stable, changing a directory or an attribute, listing. By operation of RFC
 * 1094, RFC 1813 and RFC 8881; others look.
 */
enum kind { LOOK, READ, WRITE, STABLE, CHANGE, LIST, KINDS };
G_STATIC_ASSERT((int)KINDS <= (int)DEPTH_KINDS);

static unsigned
kind_of(const struct nfs_op *op)
{
	static const uint8_t kinds[][72] = {
		[2] = {
			[2] = CHANGE, [6] = READ, [8] = WRITE, [9] = CHANGE, [10] = CHANGE, [11] = CHANGE, [12] = CHANGE,
			[13] = CHANGE, [14] = CHANGE, [15] = CHANGE, [16] = LIST,
		},
		[3] = {
			[2] = CHANGE, [6] = READ, [7] = WRITE, [8] = CHANGE, [9] = CHANGE, [10] = CHANGE, [11] = CHANGE,
			[12] = CHANGE, [13] = CHANGE, [14] = CHANGE, [15] = CHANGE, [16] = LIST, [17] = LIST, [21] = STABLE,
		},
		[4] = {
			[4] = CHANGE, [5] = STABLE, [6] = CHANGE, [11] = CHANGE, [18] = CHANGE, [25] = READ, [26] = LIST,
			[28] = CHANGE, [29] = CHANGE, [34] = CHANGE, [38] = WRITE, [68] = READ, [70] = WRITE,
		},
	};

	G_STATIC_ASSERT(LOOK == 0);
	if (op->program != PROGRAM_NFS || op->version >= G_N_ELEMENTS(kinds) || op->operation >= sizeof kinds[0])
		return LOOK;
	return kinds[op->version][op->operation];
}

/* An end behind its begin, both of them no further from 0 than a stamp can be. */
static inline bool
is_time(int64_t begin_ns, int64_t end_ns)
{
	return begin_ns < end_ns && begin_ns > -stamp_end_ns && end_ns < stamp_end_ns;
}

/* Not when the op lacks one of the two stamps, or they are equal or the wrong way round. */
static inline bool
set_view(struct sweep_call *call, enum sweep_view view, const struct nfs_op *op, int64_t from_ns)
{
	uint32_t begins = view == SWEEP_OUTSIDE ? OP_HAS_CALL_FIRST : OP_HAS_CALL_LAST;
	uint32_t ends = view == SWEEP_OUTSIDE ? OP_HAS_REPLY_LAST : OP_HAS_REPLY_FIRST;
	int64_t begin_ns = view == SWEEP_OUTSIDE ? op->call_first_ns : op->call_last_ns;
	int64_t end_ns = view == SWEEP_OUTSIDE ? op->reply_last_ns : op->reply_first_ns;

	if (op->outcome == OP_ANSWERED) {
		if (!op_has(op, begins | ends) || !is_time(begin_ns, end_ns) || end_ns <= from_ns)
			return false;
	} else if (op->outcome == OP_IN_FLIGHT) {
		if (!op_has(op, begins) || !is_time(begin_ns, stamp_end_ns - 1))
			return false;
		end_ns = SWEEP_OPEN;
	} else {
		return false;
	}
	call->begin_ns[view] = max_ns(begin_ns, from_ns);
	call->end_ns[view] = end_ns;
	call->has |= 1u << view;
	return true;
}

/* How long the bytes of a call and its reply take to pass. */
static inline void
note_moving(struct concurrency *concurrency, const struct nfs_op *op, uint64_t tag)
{
	double moving_ns = (double)duration_ns(op->call_first_ns, op->call_last_ns) +
	    (double)duration_ns(op->reply_first_ns, op->reply_last_ns);

	for (unsigned i = 0; i <= CONCURRENCY_CLIENTS; i++) {
		uint32_t row = tag_row(tag, i);

		if (row != NO_ROW)
			concurrency->table[i].row[row].moving_ns += moving_ns;
	}
}

/* Where a call was, of what is followed; nothing when that is not known. */
static inline void
follow(struct concurrency *concurrency, struct sweep_call *call, enum sweep_view view, const struct nfs_op *op)
{
	if (G_LIKELY(set_view(call, view, op, concurrency->from_ns)))
		concurrency->counts.calls[view]++;
	else
		concurrency->counts.left_out[view]++;
}

/* The call's rows, and what it says of them beside its times. */
static inline uint64_t
note_rows(struct concurrency *concurrency, const struct nfs_op *op)
{
	uint64_t rows = rows_of(concurrency, op);

	if (op_has(op, OP_TIMES) && op->outcome == OP_ANSWERED)
		note_moving(concurrency, op, rows);
	if (tag_row(rows, CONCURRENCY_SESSIONS) != NO_ROW)
		note_slots(concurrency, op, tag_row(rows, CONCURRENCY_SESSIONS));
	if (!op_has(op, OP_HAS_SLOT))
		rows &= ~((uint64_t)ROW_MASK << (CONCURRENCY_SESSIONS * ROW_BITS));
	return rows;
}

static inline __attribute__((always_inline)) void
add_ops(struct concurrency *concurrency, unsigned views, const struct nfs_op *ops, unsigned count)
{
	for (const struct nfs_op *op = ops; op < ops + count; op++) {
		struct sweep_call call;

		if (op->program != PROGRAM_NFS && op->program != PROGRAM_NFSACL)
			continue;
		call.has = 0;
		if ((views >> CONCURRENCY_OUTSIDE & 1) != 0)
			follow(concurrency, &call, SWEEP_OUTSIDE, op);
		if ((views >> CONCURRENCY_INSIDE & 1) != 0)
			follow(concurrency, &call, SWEEP_INSIDE, op);
		if (call.has == 0)
			continue;
		call.tag = (uint64_t)kind_of(op) << KIND_SHIFT;
		if ((views >> CONCURRENCY_OUTSIDE & 1) != 0)
			call.tag |= note_rows(concurrency, op);
		if (views == 1u << CONCURRENCY_INSIDE)
			sweep_add_first(concurrency->sweep, call.begin_ns[SWEEP_INSIDE], call.end_ns[SWEEP_INSIDE], call.tag);
		else if (views == 1u << CONCURRENCY_OUTSIDE)
			sweep_add_first(concurrency->sweep, call.begin_ns[SWEEP_OUTSIDE], call.end_ns[SWEEP_OUTSIDE], call.tag);
		else
			sweep_add(concurrency->sweep, &call);
	}
}

/* Two captures of which one shows the server are asked for one view each. */
void
concurrency_add(struct concurrency *concurrency, const struct nfs_op *ops, unsigned count)
{
	if (concurrency->views == 1u << CONCURRENCY_INSIDE)
		add_ops(concurrency, 1u << CONCURRENCY_INSIDE, ops, count);
	else if (concurrency->views == 1u << CONCURRENCY_OUTSIDE)
		add_ops(concurrency, 1u << CONCURRENCY_OUTSIDE, ops, count);
	else
		add_ops(concurrency, concurrency->views, ops, count);
}

struct concurrency *
concurrency_new(unsigned views)
{
	struct concurrency *concurrency = g_new0(struct concurrency, 1);
	bool outside = (views >> CONCURRENCY_OUTSIDE & 1) != 0;

	concurrency->sweep = sweep_new(outside ? SWEEP_OUTSIDE : SWEEP_INSIDE, &sweep_sink, concurrency);
	concurrency->from_ns = INT64_MIN;
	concurrency->views = views;
	concurrency->server.by_calls = true;
	concurrency->seed = (uint64_t)g_random_int() << 32 | g_random_int();
	for (unsigned i = 0; i < CONCURRENCY_TABLES; i++)
		concurrency->table[i].count = 1;
	return concurrency;
}

static void
depths_clear(struct concurrency *concurrency)
{
	for (unsigned i = 0; i < CONCURRENCY_TABLES; i++) {
		for (uint32_t j = 1; j < concurrency->table[i].count; j++)
			depth_clear(&concurrency->table[i].row[j].depth);
	}
	depth_clear(&concurrency->server);
}

void
concurrency_free(struct concurrency *concurrency)
{
	if (concurrency == NULL)
		return;
	sweep_free(concurrency->sweep);
	depths_clear(concurrency);
	for (unsigned i = 0; i < CONCURRENCY_TABLES; i++)
		g_free(concurrency->table[i].row);
	g_free(concurrency);
}

struct concurrency *
concurrency_copy(const struct concurrency *concurrency)
{
	struct concurrency *copy = g_memdup2(concurrency, sizeof *concurrency);

	copy->sweep = sweep_copy(concurrency->sweep, copy);
	depth_copy(&copy->server, &concurrency->server);
	for (unsigned i = 0; i < CONCURRENCY_TABLES; i++) {
		const struct table *table = &concurrency->table[i];

		copy->table[i].row = g_memdup2(table->row, table->room * sizeof *table->row);
		for (uint32_t j = 1; j < table->count; j++)
			depth_copy(&copy->table[i].row[j].depth, &table->row[j].depth);
	}
	return copy;
}

void
concurrency_reset(struct concurrency *concurrency, int64_t from_ns)
{
	sweep_reset(concurrency->sweep);
	depths_clear(concurrency);
	concurrency->server.by_calls = true;
	concurrency->counts = (struct concurrency_counts){ 0 };
	concurrency->finished = false;
	concurrency->from_ns = from_ns;
	memset(concurrency->known, 0, sizeof concurrency->known);
	for (unsigned i = 0; i < CONCURRENCY_TABLES; i++) {
		concurrency->table[i].count = 1;
		memset(concurrency->table[i].slot, 0, sizeof concurrency->table[i].slot);
	}
}

void
concurrency_finish(struct concurrency *concurrency)
{
	if (concurrency->finished)
		return;
	sweep_finish(concurrency->sweep);
	concurrency->finished = true;
	depth_finish(&concurrency->server);
	for (unsigned i = 0; i < CONCURRENCY_TABLES; i++) {
		for (uint32_t j = 1; j < concurrency->table[i].count; j++)
			depth_finish(&concurrency->table[i].row[j].depth);
	}
}

void
concurrency_merge(struct concurrency *into, const struct concurrency *from)
{
	for (unsigned view = 0; view < CONCURRENCY_VIEWS; view++) {
		into->counts.calls[view] += from->counts.calls[view];
		into->counts.left_out[view] += from->counts.left_out[view];
		into->counts.late[view] += from->counts.late[view];
	}
	into->counts.without_row += from->counts.without_row;
	depth_merge(&into->server, &from->server);
	for (unsigned i = 0; i < CONCURRENCY_TABLES; i++) {
		for (uint32_t j = 1; j < from->table[i].count; j++) {
			const struct concurrency_row *more = &from->table[i].row[j];
			struct row_name name = name_of_row(more);
			uint32_t number = row_named(into, i, &name);
			struct concurrency_row *row = &into->table[i].row[number];

			depth_merge(&row->depth, &more->depth);
			row->moving_ns += more->moving_ns;
			row->slots_granted = MAX(row->slots_granted, more->slots_granted);
			row->slots_used = MAX(row->slots_used, more->slots_used);
			row->slots_allowed = more->slots_allowed;
			row->target_lower = more->target_lower;
		}
	}
}

const struct concurrency_counts *
concurrency_counts(const struct concurrency *concurrency)
{
	return &concurrency->counts;
}

const struct depth *
concurrency_server(const struct concurrency *concurrency)
{
	return &concurrency->server;
}

static int
compare_endpoints(const struct net_endpoint *a, const struct net_endpoint *b)
{
	int order = memcmp(a->address, b->address, sizeof a->address);

	return order != 0 ? order : (a->port > b->port) - (a->port < b->port);
}

static int
compare_rows(const void *a, const void *b)
{
	const struct concurrency_row *x = *(const struct concurrency_row *const *)a;
	const struct concurrency_row *y = *(const struct concurrency_row *const *)b;
	int order;

	if (x->depth.calls != y->depth.calls)
		return x->depth.calls > y->depth.calls ? -1 : 1;
	order = compare_endpoints(&x->client, &y->client);
	if (order == 0)
		order = compare_endpoints(&x->server, &y->server);
	return order != 0 ? order : (x->session > y->session) - (x->session < y->session);
}

const struct concurrency_row **
concurrency_rows(const struct concurrency *concurrency, enum concurrency_table table, unsigned *count)
{
	const struct table *from = &concurrency->table[table];
	const struct concurrency_row **rows = g_new(const struct concurrency_row *, from->count);

	*count = 0;
	for (uint32_t i = 1; i < from->count; i++) {
		if (from->row[i].depth.calls > 0)
			rows[(*count)++] = &from->row[i];
	}
	qsort(rows, *count, sizeof *rows, compare_rows);
	return rows;
}
