#include "correlate/pairing.h"

#include <glib.h>

#include "correlate/agree.h"
#include "correlate/flows.h"
#include "correlate/pool.h"
#include "correlate/search.h"

enum { LEAST_CALLS = 8 };	/* that must agree on an offset while more may come */

struct pairing {
	pairing_sink_fn *sink;
	void *context;
	struct field field;
	struct pairing_counts counts;
	unsigned clients;
	uint32_t limit;
	uint64_t seed;
	uint64_t serials;		/* ops so far */
	uint64_t *ops;			/* by capture */
	/* Where walks along lists stand; a removal moves them on. */
	struct waiting *next_aged, *next_connected;
};

struct pairing *
pairing_new(const struct pairing_config *config, pairing_sink_fn *sink, void *context)
{
	struct pairing *p = g_new0(struct pairing, 1);

	p->sink = sink;
	p->context = context;
	p->clients = config->clients;
	p->limit = config->limit;
	p->seed = agree_random_seed();
	p->field.flows = flows_new(p->seed);
	pool_init(&p->field.pools[SIDE_FIRST], 1);
	pool_init(&p->field.pools[SIDE_CLIENTS], p->clients + 1);
	p->field.offsets = g_new0(struct offset, p->clients);
	p->ops = g_new0(uint64_t, p->clients + 1);
	for (unsigned i = 0; i < p->clients; i++)
		offset_init(&p->field.offsets[i], config->hints_ns == NULL ? 0 : config->hints_ns[i]);
	return p;
}

void
pairing_free(struct pairing *p)
{
	if (p == NULL)
		return;
	for (unsigned i = 0; i < p->clients; i++)
		offset_clear(&p->field.offsets[i]);
	g_free(p->field.offsets);
	g_free(p->ops);
	pool_clear(&p->field.pools[SIDE_FIRST]);
	pool_clear(&p->field.pools[SIDE_CLIENTS]);
	flows_free(p->field.flows);
	g_free(p);
}

const struct offset *
pairing_offsets(const struct pairing *p)
{
	return p->field.offsets;
}

const struct pairing_counts *
pairing_counts(const struct pairing *p)
{
	return &p->counts;
}

uint64_t
pairing_steps(const struct pairing *p)
{
	return p->field.steps;
}

/* ---- pools ---- */

static inline void
put(struct pairing *p, const struct waiting *waiting)
{
	unsigned side = search_side(waiting);
	struct pool_list *connected = flows_hold(p->field.flows, waiting->connection);

	pool_add(&p->field.pools[side], waiting, connected);
	p->field.retransmitted[side] += waiting->op->retransmits > 0;
}

static inline __attribute__((always_inline)) void
take(struct pairing *p, struct waiting *waiting)
{
	unsigned side = search_side(waiting);
	uint32_t connection = waiting->connection, tuple = waiting->tuple;

	if (p->next_aged == waiting)
		p->next_aged = waiting->next[LINK_AGE];
	if (p->next_connected == waiting)
		p->next_connected = waiting->next[LINK_CONNECTION];
	p->field.retransmitted[side] -= waiting->op->retransmits > 0;
	pool_remove(&p->field.pools[side], waiting, &flows_at(p->field.flows, connection)->waiting);
	flows_release(p->field.flows, connection, tuple);
}

/* ---- out ---- */

static void
leave_alone(struct pairing *p, struct waiting *waiting, bool contested)
{
	unsigned side = search_side(waiting);
	const struct nfs_op *op = waiting->op;
	enum match match = side == SIDE_FIRST ? MATCH_SERVER_ONLY : MATCH_CLIENT_ONLY;

	if (contested || waiting->contested)
		match = MATCH_AMBIGUOUS;
	else
		p->counts.mispaired += waiting->refused;
	p->sink(p->context, side == SIDE_FIRST ? op : NULL, side == SIDE_CLIENTS ? op : NULL,
	    waiting->capture, match);
	take(p, waiting);
}

static G_GNUC_NO_INLINE void
evict_oldest(struct pairing *p, unsigned side, unsigned capture)
{
	struct waiting *waiting = p->field.pools[side].ages[capture].oldest;

	p->counts.evicted[side]++;
	leave_alone(p, waiting, search_contested(&p->field, waiting, true));
}

/*
 * Whether both sides time the call from the same copy. Copies that only the
 * server's capture has were sent before the client's shows any; a sender's
 * capture that shows a hole filled by a retransmission lacks its first copy; a call that
 * was sent again on another connection, on one side only or less often than on
 * the other, may lack its first copy there: the network lost it, or a capture
 * that began in the middle of that connection did.
 */
static inline bool
are_of_one_copy(const struct nfs_op *server, const struct nfs_op *client)
{
	if (server->flags & OP_COPIES_MISSED && server->retransmits < client->retransmits)
		return false;
	if (server->flags & OP_JOINED && server->retransmits != client->retransmits)
		return false;
	return server->retransmits <= client->retransmits && ((server->flags ^ client->flags) & OP_JOINED) == 0 &&
	    !(client->flags & OP_CALL_TIME_FILLED) && !(server->flags & OP_REPLY_TIME_FILLED);
}

/* Hands on the pair with the op of the other side that waits; its times were learned from. */
static inline __attribute__((always_inline)) void
join(struct pairing *p, const struct waiting *waiting, struct waiting *partner)
{
	bool is_first = search_side(waiting) == SIDE_FIRST;
	const struct waiting *first = is_first ? waiting : partner, *client = is_first ? partner : waiting;
	const struct offset *offset = &p->field.offsets[client->capture - 1];
	bool reversed = (offset->roles == ROLES_REVERSED) != op_is_callback(first->op);
	bool full = op_has(first->op, OP_TIMES) && op_has(client->op, OP_TIMES) &&
	    (reversed ? are_of_one_copy(client->op, first->op) :
	    are_of_one_copy(first->op, client->op));

	flows_matched(p->field.flows, first->connection, client->connection);
	p->sink(p->context, first->op, client->op, client->capture,
	    full ? MATCH_MATCHED : MATCH_PARTIAL);
	take(p, partner);
}

static void
pair_up(struct pairing *p, const struct waiting *waiting, const struct search *search)
{
	bool is_first = search_side(waiting) == SIDE_FIRST;
	const struct waiting *first = is_first ? waiting : search->found;
	const struct waiting *client = is_first ? search->found : waiting;
	struct offset *offset = &p->field.offsets[client->capture - 1];

	if (offset->known && !search->loose)
		offset_learn(offset, first->op, client->op);
	join(p, waiting, search->found);
}

/* ---- ops that wait, once more ---- */

/* What votes have shown; the client's connection, or FLOW_NONE. */
static uint32_t
translate(struct pairing *p, const struct search *search)
{
	uint32_t client = search->elected[SIDE_CLIENTS];

	if (client != FLOW_NONE)
		p->counts.translated += flows_translate(p->field.flows, search->elected[SIDE_FIRST], client);
	return client;
}

/* The client's connection that was found to be one of the other side's by this, or FLOW_NONE. */
static uint32_t
again(struct pairing *p, struct waiting *waiting, bool voting)
{
	struct search search = { .op = waiting, .waits = true, .again = true };
	uint32_t translated;

	search_run(&p->field, &search, voting);
	translated = translate(p, &search);
	waiting->refused = search.refused;
	if (search.found != NULL) {
		pair_up(p, waiting, &search);
		take(p, waiting);
	}
	return translated;
}

static void
go_through_connection(struct pairing *p, uint32_t connection)
{
	struct waiting *waiting = flows_at(p->field.flows, connection)->waiting.oldest;

	for (; waiting != NULL; waiting = p->next_connected) {
		p->next_connected = waiting->next[LINK_CONNECTION];
		again(p, waiting, false);
	}
}

/* A client capture's ops from one on, in order of age. */
static void
go_through_client(struct pairing *p, struct waiting *from, bool voting)
{
	for (struct waiting *waiting = from; waiting != NULL; waiting = p->next_aged) {
		uint32_t translated;

		p->next_aged = waiting->next[LINK_AGE];
		translated = again(p, waiting, voting);
		if (translated != FLOW_NONE)
			go_through_connection(p, translated);
	}
}

/*
 * Carries what is known of the offset back to the oldest op that it may concern,
 * which is returned, pair by pair: a leap would leave it as wide as the clocks
 * may drift meanwhile.
 */
static struct waiting *
carry_offset_back(struct pairing *p, unsigned capture)
{
	const struct pool *pool = &p->field.pools[SIDE_CLIENTS];
	struct offset *offset = &p->field.offsets[capture - 1];
	int64_t client_ns = offset_shift(offset->at_ns, -offset_middle(offset));
	struct waiting *waiting = pool->ages[capture].newest, *oldest = NULL;

	for (; waiting != NULL && waiting->serial >= offset->look_from; waiting = waiting->prev[LINK_AGE]) {
		struct search search = { .op = waiting, .waits = true, .again = true };
		const struct nfs_op *first;

		oldest = waiting;
		if (waiting->op->call_first_ns > client_ns)
			continue;
		search_run(&p->field, &search, false);
		if (search.found == NULL || search.loose)
			continue;
		first = search.found->op;
		offset_move(offset, min_ns(first->call_first_ns, offset->at_ns));
		offset_learn(offset, first, waiting->op);
	}
	return oldest;
}

static G_GNUC_NO_INLINE void
find_offset(struct pairing *p, unsigned capture, uint32_t least)
{
	if (offset_find(&p->field.offsets[capture - 1], least))
		go_through_client(p, carry_offset_back(p, capture), true);
}

/* ---- in ---- */

/* A server's op may have brought samples for any of the clients that know its connection. */
static inline void
look_for_offsets(struct pairing *p, unsigned capture)
{
	unsigned from = capture == 0 ? 1 : capture;
	unsigned to = capture == 0 ? p->clients : capture;

	for (unsigned i = from; i <= to; i++)
		if (offset_due(&p->field.offsets[i - 1]))
			find_offset(p, i, LEAST_CALLS);
}

static inline __attribute__((always_inline)) void
let_wait(struct pairing *p, const struct waiting *waiting)
{
	unsigned side = search_side(waiting);

	if (p->field.pools[side].ages[waiting->capture].count == p->limit)
		evict_oldest(p, side, waiting->capture);
	put(p, waiting);
	if (side == SIDE_CLIENTS)
		flows_missed(p->field.flows, waiting->connection, waiting->op->xid);
}

/* An op of which a glance does not tell enough. */
static G_GNUC_NO_INLINE void
look_closely(struct pairing *p, struct waiting *waiting)
{
	struct search search = { .op = waiting };
	uint32_t translated;

	search_run(&p->field, &search, true);
	if (search.found != NULL) {
		pair_up(p, waiting, &search);
		flows_drop_tuple(p->field.flows, waiting->tuple);
		return;
	}
	waiting->refused = search.refused;
	waiting->by_content = !flows_exact(p->field.flows, waiting->tuple);
	let_wait(p, waiting);
	translated = translate(p, &search);
	if (translated != FLOW_NONE)
		go_through_connection(p, translated);
	look_for_offsets(p, waiting->capture);
}

void
pairing_push(struct pairing *p, unsigned capture, const struct nfs_op *op)
{
	struct waiting waiting;
	struct glance glance;
	bool exact;

	waiting.op = op;
	waiting.call_hash = agree_call_hash(op, p->seed);
	waiting.serial = ++p->serials;
	waiting.capture = (uint16_t)capture;
	waiting.by_content = waiting.refused = waiting.contested = false;
	p->ops[capture]++;
	exact = flows_place(p->field.flows, &waiting);
	waiting.exact_hash = pool_exact_hash(waiting.tuple, waiting.call_hash);
	switch (search_glance(&p->field, &waiting, exact, &glance)) {
	case GLANCE_FOUND:
		offset_learn_news(glance.offset, &glance.news);
		join(p, &waiting, glance.found);
		flows_drop_tuple(p->field.flows, waiting.tuple);
		break;
	case GLANCE_NOTHING:
		let_wait(p, &waiting);
		look_for_offsets(p, capture);
		break;
	case GLANCE_UNSURE:
		look_closely(p, &waiting);
		break;
	}
}

/* ---- the end ---- */

static void
let_go(struct pairing *p, unsigned side, unsigned capture)
{
	const struct pool *pool = &p->field.pools[side];

	while (pool->ages[capture].oldest != NULL)
		leave_alone(p, pool->ages[capture].oldest, false);
}

/* While all are still there, and before any has gone. */
static void
mark_contested(struct pairing *p, unsigned side, unsigned capture)
{
	const struct pool *pool = &p->field.pools[side];

	for (struct waiting *waiting = pool->ages[capture].oldest; waiting != NULL; waiting = waiting->next[LINK_AGE])
		if (search_contested(&p->field, waiting, false))
			waiting->contested = true;
}

void
pairing_finish(struct pairing *p)
{
	const struct pool_list *ages = p->field.pools[SIDE_CLIENTS].ages;

	/* Few calls are evidence only where there are few: one or two in many agree by chance. */
	for (unsigned i = 1; i <= p->clients; i++) {
		uint64_t least = MIN(p->ops[0], p->ops[i]) / 4;

		find_offset(p, i, p->field.offsets[i - 1].known ? LEAST_CALLS :
		    (uint32_t)CLAMP(least, 1, LEAST_CALLS));
	}
	for (unsigned i = 1; i <= p->clients; i++)
		go_through_client(p, ages[i].oldest, false);
	p->field.last = true;
	/* A second round: what is decided now may leave others without a rival. */
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 1; i <= p->clients; i++)
			go_through_client(p, ages[i].oldest, false);

	mark_contested(p, SIDE_FIRST, 0);
	for (unsigned i = 1; i <= p->clients; i++)
		mark_contested(p, SIDE_CLIENTS, i);
	let_go(p, SIDE_FIRST, 0);
	for (unsigned i = 1; i <= p->clients; i++)
		let_go(p, SIDE_CLIENTS, i);
}
