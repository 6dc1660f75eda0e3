#include "correlate/search.h"

#include "correlate/agree.h"

enum {
	CANDIDATES = 64,		/* of one call that are looked at */
	SIBLINGS = 16,			/* other connections of the same hosts */
	SAMPLES_AN_OP = 16,
};

/* One op of each side, whichever was looked for. */
struct couple {
	const struct waiting *first, *client;
	struct offset *offset;
};

static struct couple
couple(const struct field *field, const struct waiting *one, const struct waiting *other)
{
	const struct waiting *client = search_side(one) == SIDE_CLIENTS ? one : other;

	return (struct couple){ client == one ? other : one, client, &field->offsets[client->capture - 1] };
}

static bool
all_times(const struct couple *c)
{
	return op_has(&c->first->op, OP_TIMES) && op_has(&c->client->op, OP_TIMES);
}

static struct offset_place
place_of(const struct waiting *op)
{
	return (struct offset_place){ op->serial, op->place, op->connection };
}

static void
take_sample(struct search *search, const struct couple *c, bool exact)
{
	if (search->again || search->samples++ >= SAMPLES_AN_OP)
		return;
	offset_sample(c->offset, &c->first->op, &c->client->op, (struct offset_sample){
		.op = { place_of(c->first), place_of(c->client) },
		.trusted = exact || agree_args_known(&c->first->op, &c->client->op),
	});
}

/* For an offset that is not known, or was not confirmed for long. */
static void
suggest_offset(struct search *search, const struct couple *c, bool exact)
{
	if (!search->again && search->samples == 0)
		c->offset->suspects++;
	take_sample(search, c, exact);
}

/* Nothing is known: at the very end, what cannot be timed anyway needs no offset. */
static enum offset_fit
fit_unknown(const struct field *field, struct search *search, const struct couple *c, bool exact)
{
	if (!offset_near(c->offset, &c->first->op, &c->client->op))
		return OFFSET_IMPOSSIBLE;
	search->fits = true;
	if (all_times(c))
		suggest_offset(search, c, exact);
	else if (field->last && exact)
		return OFFSET_PARTIAL;
	return OFFSET_IMPOSSIBLE;
}

/* XIDs begin again with a connection: where it is not certain that this is the same one, they come again at once. */
static enum offset_fit
known_fit(const struct field *field, const struct couple *c)
{
	uint32_t first = c->first->connection, client = c->client->connection;
	int64_t reuse_ns = min_ns(flows_reuse_ns(field->flows, first), flows_reuse_ns(field->flows, client));

	if (!all_times(c) && flows_bound(field->flows, first) != client)
		reuse_ns = 0;
	return offset_fits(c->offset, &c->first->op, &c->client->op, reuse_ns);
}

/*
 * What is known of time allows both to be one call. Where it does not, or not
 * for certain, they are a sample for the offset: it may have changed.
 */
static enum offset_fit
fit_in_time(const struct field *field, struct search *search, const struct couple *c, bool exact)
{
	enum offset_fit fit;

	if (!c->offset->known)
		return fit_unknown(field, search, c, exact);
	fit = known_fit(field, c);
	if (fit == OFFSET_FULL || fit == OFFSET_PARTIAL) {
		search->fits = true;
		return fit;
	}
	if (exact && all_times(c)) {
		search->refused |= fit == OFFSET_IMPOSSIBLE;
		suggest_offset(search, c, exact);
	}
	return OFFSET_IMPOSSIBLE;
}

/* A candidate that is the same call by name. */
static enum offset_fit
weigh(struct field *field, struct search *search, struct waiting *candidate, bool exact)
{
	struct couple c = couple(field, search->op, candidate);
	bool others = search->fits;
	enum offset_fit fit;

	field->steps++;
	if (!agree_args(&c.first->op, &c.client->op))
		return OFFSET_IMPOSSIBLE;
	if (!agree_reply(&c.first->op, &c.client->op)) {
		search->refused |= c.offset->known && known_fit(field, &c) > OFFSET_STALE;
		return OFFSET_IMPOSSIBLE;
	}
	search->fits = false;
	fit = fit_in_time(field, search, &c, exact);
	candidate->contested |= search->mark && search->fits;
	search->fits |= others;
	return fit;
}

/* ---- on connections that are known to be the same ---- */

static void
look_exact(struct field *field, struct search *search, uint32_t tuple)
{
	const struct pool *pool = &field->pools[search->other];
	uint32_t bound = flows_bound(field->flows, search->op->connection);
	uint32_t id = pool_first_exact(pool, tuple, search->op->call_hash);
	struct waiting *candidate;

	for (unsigned i = 0; id != SLAB_NONE && i < CANDIDATES; id = candidate->next[LINK_EXACT]) {
		enum offset_fit fit;
		unsigned partial;

		candidate = pool_at(pool, id);
		if (candidate->tuple != tuple || !agree_call(&candidate->op, &search->op->op))
			continue;
		i++;
		if (search->wandering && candidate->op.retransmits == 0 && search->op->op.retransmits == 0)
			continue;
		fit = weigh(field, search, candidate, true);
		if (fit == OFFSET_IMPOSSIBLE)
			continue;
		partial = fit == OFFSET_PARTIAL;
		if (search->count[partial]++ == 0)
			search->best[partial] = id;
		if (candidate->connection == bound && search->bound_count[partial]++ == 0)
			search->bound_best[partial] = id;
	}
}

/* All times come before some; the bound connection before another one with the same addresses. */
static uint32_t
the_only(const struct search *search)
{
	for (unsigned partial = 0; partial < 2; partial++) {
		if (search->count[partial] == 1)
			return search->best[partial];
		if (search->count[partial] > 1)
			return search->bound_count[partial] == 1 ? search->bound_best[partial] : SLAB_NONE;
	}
	return SLAB_NONE;
}

/*
 * A call that was sent again on another connection may stand under that
 * one's ports on the other side.
 */
static void
look_at_siblings(struct field *field, struct search *search)
{
	uint32_t own = search->op->tuple;
	uint32_t tuple = flows_sibling(field->flows, own, FLOW_NONE);

	search->wandering = true;
	for (unsigned i = 0; tuple != FLOW_NONE && i < SIBLINGS; i++) {
		look_exact(field, search, tuple);
		tuple = flows_sibling(field->flows, own, tuple);
	}
}

/* The tuple under which the other side knows op's connection, or FLOW_NONE. */
static uint32_t
tuple_there(const struct field *field, const struct waiting *op)
{
	uint32_t bound;

	if (flows_exact(field->flows, op->tuple))
		return op->tuple;
	bound = flows_bound(field->flows, op->connection);
	return bound == FLOW_NONE ? FLOW_NONE : flows_at(field->flows, bound)->tuple;
}

/*
 * Whether another op of the same side may be what `found` belongs to. Where
 * that one is the only one there, it must also be the only one here.
 */
static bool
is_mutual(struct field *field, const struct search *search)
{
	struct search back = {
		.op = pool_at(&field->pools[search->other], search->found),
		.again = true,
		.side = search->other,
		.other = search->side,
		.wandering = search->wandering,
	};
	struct couple c = couple(field, search->op, back.op);
	bool partial = !all_times(&c);
	bool bound = flows_bound(field->flows, back.op->connection) == search->op->connection;
	uint32_t others;

	look_exact(field, &back, search->op->tuple);
	others = bound ? back.bound_count[0] : back.count[0];
	if (partial)
		others += bound ? back.bound_count[1] : back.count[1];
	return others == (search->id != SLAB_NONE);
}

static void
run_exact(struct field *field, struct search *search, uint32_t tuple)
{
	look_exact(field, search, tuple);
	search->found = the_only(search);
	if (search->found == SLAB_NONE && search->count[0] + search->count[1] == 0 &&
	    search->side == SIDE_CLIENTS && tuple == search->op->tuple &&
	    (search->op->op.retransmits > 0 || field->retransmitted[SIDE_FIRST] > 0)) {
		look_at_siblings(field, search);
		search->found = the_only(search);
	}
	if (search->found != SLAB_NONE && !is_mutual(field, search))
		search->found = SLAB_NONE;
}

/* ---- by content ---- */

static void
look_content(struct field *field, struct search *search, bool voting)
{
	struct pool *pool = &field->pools[search->other];
	uint32_t id = pool_first_content(pool, search->op->call_hash), next;

	for (unsigned i = 0; id != SLAB_NONE && i < CANDIDATES; id = next) {
		struct waiting *candidate = pool_at(pool, id);
		struct couple c = couple(field, search->op, candidate);

		next = candidate->next[LINK_CONTENT];
		if (!agree_call(&candidate->op, &search->op->op))
			continue;
		if (flows_exact(field->flows, candidate->tuple)) {
			pool_hide_content(pool, id);
			continue;
		}
		i++;
		if (flows_bound(field->flows, candidate->connection) != FLOW_NONE ||
		    weigh(field, search, candidate, false) == OFFSET_IMPOSSIBLE)
			continue;
		if (voting)
			flows_vote(field->flows, c.first->connection, c.client->connection,
			    agree_args_known(&c.first->op, &c.client->op));
	}
}

static void
run_content(struct field *field, struct search *search, bool voting)
{
	uint32_t own = search->op->connection, other;

	look_content(field, search, voting);
	if (!voting && !field->last)
		return;
	other = flows_elected(field->flows, own, field->last);
	if (other == FLOW_NONE)
		return;
	search->elected[search->side] = own;
	search->elected[search->other] = other;
}

void
search_run(struct field *field, struct search *search, bool voting)
{
	uint32_t tuple = tuple_there(field, search->op);

	search->side = search_side(search->op);
	search->other = SIDES - 1 - search->side;
	if (tuple != FLOW_NONE)
		run_exact(field, search, tuple);
	else
		run_content(field, search, voting);
}

/* ---- what is left over ---- */

bool
search_contested(struct field *field, const struct waiting *op, bool mark)
{
	struct search search = {
		.op = op,
		.again = true,
		.mark = mark,
		.side = search_side(op),
		.other = SIDES - 1 - search_side(op),
	};
	uint32_t tuple = tuple_there(field, op);

	if (tuple != FLOW_NONE)
		look_exact(field, &search, tuple);
	else
		look_content(field, &search, false);
	return search.fits;
}
