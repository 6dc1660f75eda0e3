#include "correlate/correlate.h"

#include <glib.h>
#include <limits.h>

#include "correlate/loss.h"
#include "correlate/pair_bounds.h"
#include "correlate/pairing.h"

enum {
	DEFAULT_LIMIT = 1 << 17,
	HELD = 1 << 16,			/* lone calls kept back until the roles are known */
	ASTRAY_CALLS = 1 << 16,		/* read in vain */
	ASTRAY_LEAST = 64,		/* of a side that carries few */
};

/* What was read of one capture; times by its own clock. */
struct reading {
	uint64_t ops;
	int64_t first_ns, last_ns;
	uint64_t in_reach;	/* a client's calls at times that the first capture covers */
	uint64_t first_before;	/* ops read of the first capture when the client's began */
	uint64_t paired;	/* of a client's calls */
};

struct held {
	struct nfs_op op;
	uint8_t side, match;
};

struct correlate {
	pair_sink_fn *sink;
	void *context;
	struct correlate_facts facts;
	struct pairing *pairing;
	const struct offset *offsets;	/* by client; pairing's */
	struct clock_stage **clocks;	/* by client */
	struct reading *readings;	/* by capture */
	struct ids *ids;
	struct loss *loss;
	struct op_pair pair;		/* one without a client, on its way out */
	struct held *held;
	uint32_t held_count, held_room;
	unsigned clients;
	bool keep_roles;
	bool decided;			/* about the roles */
	bool finished;
	bool settled;			/* the offsets of all clients are known, and remain so */
	bool astray;
};

/* ---- out ---- */

/* A pair that the clocks are done with. */
static void
measure_loss(void *context, const struct op_pair *pair)
{
	struct correlate *c = context;
	unsigned server = c->facts.exchanged ? 1 : 0;

	loss_push(c->loss, server, c->facts.exchanged ? 0 : pair->client_capture + 1u, pair);
}

static inline __attribute__((always_inline)) void
give_ids(struct correlate *c, struct op_pair *pair)
{
	const struct nfs_op *op = pair_op(pair);
	const struct nfs_op *with_file = op;

	if (!op_has(op, OP_HAS_FILE) && pair->has[PAIR_SERVER])
		with_file = &pair->op[PAIR_SERVER];
	ids_of_ends(c->ids, op, &pair->client_id, &pair->server_id, &pair->connection_id);
	pair->file_id = ids_of_file(c->ids, with_file);
}

static void
note_overlap(struct correlate_facts *facts, const struct nfs_op *server)
{
	if (facts->overlap_first_ns == 0 || server->call_first_ns < facts->overlap_first_ns)
		facts->overlap_first_ns = server->call_first_ns;
	if (facts->overlap_last_ns == 0 || server->reply_last_ns > facts->overlap_last_ns)
		facts->overlap_last_ns = server->reply_last_ns;
}

/* Where the capture of one side cut a COMPOUND in front of its main operation, the other side names it. */
static void
share_operation(struct nfs_op *to, const struct nfs_op *from)
{
	if (to->minor == OP_MINOR_UNKNOWN)
		to->minor = from->minor;
	if (from->operation_class != 0 && from->operation_class < to->operation_class) {
		to->operation = from->operation;
		to->operation_class = from->operation_class;
		to->valid &= ~(uint32_t)(OP_HAS_FILE | OP_HAS_OFFSET | OP_HAS_REQUESTED | OP_HAS_MOVED | OP_HAS_STABLE);
	}
}

/*
 * A callback, whose caller is in the server's capture. It says nothing of the
 * clocks that the calls do not, and goes past them; its parts need none.
 */
static G_GNUC_NO_INLINE void
emit_callback(struct correlate *c, struct op_pair *pair)
{
	const struct nfs_op *caller = &pair->op[PAIR_SERVER], *called = &pair->op[PAIR_CLIENT];

	if (pair->match == MATCH_MATCHED) {
		pair->parts = (struct attribution){ 0 };
		pair->parts.total_ns = wrapping_minus(caller->reply_last_ns, caller->call_first_ns);
		pair->parts.server_ns = wrapping_minus(called->reply_first_ns, called->call_last_ns);
		pair->parts.network_ns = wrapping_minus(pair->parts.total_ns, pair->parts.server_ns);
	}
	c->sink(c->context, pair);
}

static void
set_match(struct correlate *c, struct op_pair *pair, enum match match)
{
	pair->match = (uint8_t)match;
	/* those of a matched one are all set by who measures it */
	if (match != MATCH_MATCHED)
		pair->parts = (struct attribution){ 0 };
	c->facts.matches[match]++;
}

/* By the roles as they are now known. A pair is written where the clock of its client keeps it. */
static void
emit_pair(struct correlate *c, const struct nfs_op *first, const struct nfs_op *client, unsigned capture,
    enum match match)
{
	bool exchanged = c->facts.exchanged;
	unsigned client_capture = exchanged ? 0 : capture - 1;
	struct clock_stage *clock = c->clocks[client_capture];
	struct op_pair *pair = clock_stage_room(clock);
	struct nfs_op *at_server = &pair->op[PAIR_SERVER], *at_client = &pair->op[PAIR_CLIENT];

	pair->has[PAIR_SERVER] = pair->has[PAIR_CLIENT] = true;
	op_copy(at_server, exchanged ? client : first);
	op_copy(at_client, exchanged ? first : client);
	if (at_server->minor != at_client->minor || at_server->operation_class != at_client->operation_class) {
		share_operation(at_client, at_server);
		share_operation(at_server, at_client);
	}
	set_match(c, pair, match);
	give_ids(c, pair);
	pair->client_capture = (uint16_t)client_capture;
	if (op_is_callback(at_client)) {
		emit_callback(c, pair);
		return;
	}
	if (match == MATCH_MATCHED)
		note_overlap(&c->facts, at_server);
	clock_stage_push_room(clock);
}

/* The same of an op that stayed alone: one of a client goes through its clock, too. */
static G_GNUC_NO_INLINE void
emit_lone(struct correlate *c, const struct nfs_op *op, bool is_first, unsigned capture, enum match match)
{
	bool is_client = is_first == c->facts.exchanged;
	unsigned client_capture = c->facts.exchanged ? 0 : capture - 1;
	struct op_pair *pair = is_client ? clock_stage_room(c->clocks[client_capture]) : &c->pair;

	pair->has[PAIR_SERVER] = !is_client;
	pair->has[PAIR_CLIENT] = is_client;
	op_copy(&pair->op[is_client ? PAIR_CLIENT : PAIR_SERVER], op);
	if (match != MATCH_AMBIGUOUS)
		match = is_client ? MATCH_CLIENT_ONLY : MATCH_SERVER_ONLY;
	set_match(c, pair, match);
	give_ids(c, pair);
	pair->client_capture = is_client ? (uint16_t)client_capture : UINT16_MAX;
	if (is_client)
		clock_stage_push_room(c->clocks[client_capture]);
	else
		c->sink(c->context, pair);
}

/* For good: what comes later only tells that it was wrong. */
static void
decide(struct correlate *c)
{
	c->decided = true;
	c->facts.exchanged = c->clients == 1 && !c->keep_roles &&
	    c->offsets[0].roles == ROLES_REVERSED;
	for (uint32_t i = 0; i < c->held_count; i++) {
		const struct held *held = &c->held[i];
		bool first = held->side == PAIR_SERVER;

		emit_lone(c, &held->op, first, !first, held->match);
	}
	g_free(c->held);
	c->held = NULL;
	c->held_count = 0;
}

static void
hold(struct correlate *c, const struct nfs_op *op, unsigned side, enum match match)
{
	if (c->held_count == c->held_room) {
		c->held_room = c->held_room == 0 ? 64 : c->held_room * 2;
		c->held = g_renew(struct held, c->held, c->held_room);
	}
	c->held[c->held_count++] = (struct held){ *op, (uint8_t)side, (uint8_t)match };
	if (c->held_count == HELD)
		decide(c);
}

static void
note_roles(struct correlate *c, enum roles roles)
{
	c->facts.swapped |= roles == ROLES_REVERSED && !c->keep_roles;
	c->facts.same_side |= roles == ROLES_SAME;
}

static G_GNUC_NO_INLINE void
take_lone(struct correlate *c, const struct nfs_op *op, bool is_first, unsigned capture, enum match match)
{
	if (!c->decided && !c->finished && !c->offsets[0].known) {
		hold(c, op, is_first ? PAIR_SERVER : PAIR_CLIENT, match);
		return;
	}
	if (!c->decided)
		decide(c);
	emit_lone(c, op, is_first, capture, match);
}

static void
take(void *context, const struct nfs_op *first, const struct nfs_op *client, unsigned capture,
    enum match match)
{
	struct correlate *c = context;
	enum roles roles;

	if (first == NULL || client == NULL) {
		take_lone(c, first != NULL ? first : client, first != NULL, capture, match);
		return;
	}
	roles = c->offsets[capture - 1].roles;
	if (roles > ROLES_AS_GIVEN)
		note_roles(c, roles);
	c->readings[capture].paired++;
	if (!c->decided)
		decide(c);
	emit_pair(c, first, client, capture, match);
}

/* ---- in ---- */

/* From an anchor, else what the user says of the clocks, else nothing. */
static struct pairing *
make_pairing(const struct correlate_config *config, struct correlate *c)
{
	g_autofree int64_t *hints_ns = g_new0(int64_t, config->clients + 1);
	const struct pairing_config pairing = {
		.clients = config->clients,
		.limit = config->limit == 0 ? DEFAULT_LIMIT : config->limit,
		.hints_ns = hints_ns,
	};

	for (unsigned i = 0; i < config->clients; i++)
		hints_ns[i] = config->hints_ns != NULL ? config->hints_ns[i] :
		    config->clock_mode == CLOCK_GIVEN ? config->clock_given_ns : 0;
	return pairing_new(&pairing, take, c);
}

struct correlate *
correlate_new(const struct correlate_config *config, pair_sink_fn *sink, void *context)
{
	struct correlate *c = g_new0(struct correlate, 1);

	c->sink = sink;
	c->context = context;
	c->clients = config->clients;
	c->keep_roles = config->keep_roles;
	/* Several clients, or roles that are given, leave nothing to wait for. */
	c->decided = config->clients != 1 || config->keep_roles;
	c->ids = ids_new();
	c->pairing = make_pairing(config, c);
	c->offsets = pairing_offsets(c->pairing);
	c->loss = loss_new(config->clients + 1, sink, context);
	c->readings = g_new0(struct reading, config->clients + 1);
	c->clocks = g_new0(struct clock_stage *, config->clients);
	for (unsigned i = 0; i < config->clients; i++)
		c->clocks[i] = clock_stage_new(config->clock_mode, config->clock_given_ns, measure_loss, c);
	return c;
}

void
correlate_free(struct correlate *c)
{
	if (c == NULL)
		return;
	for (unsigned i = 0; i < c->clients; i++)
		clock_stage_free(c->clocks[i]);
	g_free(c->clocks);
	loss_free(c->loss);
	g_free(c->readings);
	g_free(c->held);
	pairing_free(c->pairing);
	ids_free(c->ids);
	g_free(c);
}

/* A capture's time by the first one's clock, as well as it is known. */
static int64_t
first_clock_ns(const struct correlate *c, unsigned capture, int64_t at_ns)
{
	return capture == 0 ? at_ns : offset_shift(at_ns, offset_middle(&c->offsets[capture - 1]));
}

static G_GNUC_NO_INLINE unsigned
choose_of_many(const struct correlate *c, const int64_t *next_ns, const bool *ended)
{
	unsigned chosen = UINT_MAX;
	int64_t earliest_ns = INT64_MAX;

	for (unsigned i = 0; i <= c->clients; i++) {
		int64_t at_ns;

		if (ended[i])
			continue;
		at_ns = first_clock_ns(c, i, next_ns[i]);
		if (at_ns < earliest_ns || chosen > c->clients) {
			earliest_ns = at_ns;
			chosen = i;
		}
	}
	return chosen;
}

unsigned
correlate_choose(const struct correlate *c, const int64_t *next_ns, const bool *ended)
{
	/* as it is mostly */
	if (c->clients == 1 && !ended[0] && !ended[1])
		return first_clock_ns(c, 1, next_ns[1]) < next_ns[0];
	return choose_of_many(c, next_ns, ended);
}

static void
note_reading(struct correlate *c, unsigned capture, int64_t at_ns)
{
	const struct reading *first = &c->readings[0];
	struct reading *reading = &c->readings[capture];

	if (reading->ops++ == 0) {
		reading->first_ns = reading->last_ns = at_ns;
		reading->first_before = first->ops;
	}
	reading->first_ns = min_ns(reading->first_ns, at_ns);
	reading->last_ns = max_ns(reading->last_ns, at_ns);
	if (capture > 0 && first->ops > 0) {
		int64_t first_ns = first_clock_ns(c, capture, at_ns);

		reading->in_reach += first_ns >= first->first_ns &&
		    offset_difference(first_ns, first->last_ns) <= OFFSET_ASSUMED_NS;
	}
}

/* Both were read where they should meet, or cannot meet at all with this offset. */
static bool
reads_in_vain(const struct correlate *c, unsigned client)
{
	const struct offset *offset = &c->offsets[client];
	const struct reading *first = &c->readings[0], *other = &c->readings[client + 1];
	int64_t middle_ns = offset_middle(offset);

	if (offset->known || first->ops == 0 || other->ops == 0)
		return false;
	if (c->finished)
		return other->paired == 0;
	if (other->in_reach >= ASTRAY_LEAST &&
	    other->in_reach + first->ops - other->first_before >= ASTRAY_CALLS)
		return true;
	return (other->ops >= ASTRAY_CALLS &&
	    offset_difference(other->first_ns, first->last_ns) > OFFSET_ASSUMED_NS - middle_ns) ||
	    (first->ops >= ASTRAY_CALLS &&
	    offset_difference(first->first_ns, other->last_ns) > OFFSET_ASSUMED_NS + middle_ns);
}

static void
take_counts(struct correlate *c)
{
	const struct pairing_counts *counts = pairing_counts(c->pairing);

	c->facts.evicted[PAIR_SERVER] = counts->evicted[c->facts.exchanged];
	c->facts.evicted[PAIR_CLIENT] = counts->evicted[!c->facts.exchanged];
	c->facts.mispaired = counts->mispaired;
	c->facts.translated = counts->translated;
}

static bool
is_settled(const struct correlate *c)
{
	for (unsigned i = 0; i < c->clients; i++)
		if (!c->offsets[i].known)
			return false;
	return true;
}

/* While an offset is to be found, what is read in search of it is looked at. */
static G_GNUC_NO_INLINE void
push_unsettled(struct correlate *c, unsigned capture, const struct nfs_op *op)
{
	note_reading(c, capture, op_order_ns(op));
	pairing_push(c->pairing, capture, op);
	/* One client at a time is enough: this is asked for after every op. */
	if (reads_in_vain(c, capture > 0 ? capture - 1 : (unsigned)(c->readings[0].ops % c->clients)))
		c->astray = true;
	c->settled = is_settled(c);
}

void
correlate_push(struct correlate *c, unsigned capture, const struct nfs_op *op)
{
	if (c->clients == 0) {
		emit_lone(c, op, true, 0, MATCH_SERVER_ONLY);
		return;
	}
	loss_progress(c->loss, capture, op_order_ns(op));
	if (c->settled)
		pairing_push(c->pairing, capture, op);
	else
		push_unsettled(c, capture, op);
}

void
correlate_push_event(struct correlate *c, unsigned capture, const struct tcp_event *event)
{
	loss_note(c->loss, capture, event);
}

bool
correlate_astray(const struct correlate *c)
{
	return c->astray;
}

void
correlate_finish(struct correlate *c)
{
	c->finished = true;
	pairing_finish(c->pairing);
	if (!c->decided)
		decide(c);
	for (unsigned i = 0; i < c->clients; i++) {
		clock_stage_finish(c->clocks[i]);
		c->astray |= reads_in_vain(c, i);
	}
	loss_finish(c->loss);
}

const struct correlate_facts *
correlate_facts(struct correlate *c)
{
	take_counts(c);
	return &c->facts;
}

void
correlate_clock(const struct correlate *c, unsigned client, struct clock_facts *facts)
{
	clock_stage_facts(c->clocks[client], facts);
}

uint64_t
correlate_steps(const struct correlate *c)
{
	return pairing_steps(c->pairing);
}

struct ids *
correlate_ids(struct correlate *c)
{
	return c->ids;
}
