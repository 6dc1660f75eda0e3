#include "correlate/search.h"

#include "correlate/agree.h"
#include "correlate/votes.h"

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
	return op_has(c->first->op, OP_TIMES) && op_has(c->client->op, OP_TIMES);
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
	offset_sample(c->offset, c->first->op, c->client->op, (struct offset_sample){
		.op = { place_of(c->first), place_of(c->client) },
		.trusted = exact || agree_args_known(c->first->op, c->client->op),
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

/* Nothing is known: at the very end, where nothing can be timed, nothing needs an offset. */
static enum offset_fit
fit_unknown(const struct field *field, struct search *search, const struct couple *c, bool exact)
{
	if (!offset_near(c->offset, c->first->op, c->client->op))
		return OFFSET_IMPOSSIBLE;
	search->fits = true;
	if (all_times(c))
		suggest_offset(search, c, exact);
	else if (field->last && exact && c->offset->sample_count == 0 &&
	    flows_same(field->flows, c->first->connection, c->client->connection))
		return OFFSET_PARTIAL;
	return OFFSET_IMPOSSIBLE;
}

/*
 * Where a time is missing, XIDs that may come again come again at once: with a
 * new connection, or where they went back before.
 */
static enum offset_fit
known_fit(const struct field *field, const struct couple *c)
{
	uint32_t first = c->first->connection, client = c->client->connection;
	int64_t reuse_ns = min_ns(flows_reuse_ns(field->flows, first), flows_reuse_ns(field->flows, client));
	bool clean = reuse_ns == INT64_MAX && flows_same(field->flows, first, client) &&
	    flows_clean(field->flows, first) && flows_clean(field->flows, client);

	if (!all_times(c) && !clean && reuse_ns == INT64_MAX)
		reuse_ns = 0;
	return offset_fits(c->offset, c->first->op, c->client->op, reuse_ns, clean);
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
	search->fits = fit > OFFSET_STALE;
	if (fit == OFFSET_FULL || !all_times(c) || (!exact && !agree_args_known(c->first->op, c->client->op)))
		return fit;
	search->refused |= exact && fit == OFFSET_IMPOSSIBLE;
	suggest_offset(search, c, exact);
	return fit;
}

/* A candidate that is the same call by name. */
static enum offset_fit
weigh(struct field *field, struct search *search, struct waiting *candidate, bool exact)
{
	struct couple c = couple(field, search->op, candidate);
	bool others = search->fits;
	enum offset_fit fit;

	field->steps++;
	if (!agree_args(c.first->op, c.client->op))
		return OFFSET_IMPOSSIBLE;
	if (!agree_reply(c.first->op, c.client->op)) {
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

/* One was sent again, and more than its number says that it is the other. */
static bool
may_wander(const struct nfs_op *a, const struct nfs_op *b)
{
	return (a->retransmits > 0 || b->retransmits > 0) && agree_args_known(a, b);
}

static void
look_exact(struct field *field, struct search *search, uint32_t tuple)
{
	const struct pool *pool = &field->pools[search->other];
	struct waiting *candidate = pool_first_exact(pool, pool_exact_hash(tuple, search->op->call_hash));
	uint32_t bound;

	if (candidate == NULL)
		return;
	bound = flows_bound(field->flows, search->op->connection);
	for (unsigned i = 0; candidate != NULL && i < CANDIDATES; candidate = candidate->next[LINK_EXACT]) {
		enum offset_fit fit;
		enum rank rank;

		if (candidate->tuple != tuple || !agree_call(candidate->op, search->op->op))
			continue;
		i++;
		if (search->wandering && !may_wander(candidate->op, search->op->op))
			continue;
		fit = weigh(field, search, candidate, true);
		if (fit <= OFFSET_STALE)
			continue;
		rank = fit == OFFSET_FULL ? RANK_FULL : fit == OFFSET_LOOSE ? RANK_LOOSE : RANK_PARTIAL;
		if (search->count[rank]++ == 0)
			search->best[rank] = candidate;
		if (candidate->connection == bound && search->bound_count[rank]++ == 0)
			search->bound_best[rank] = candidate;
	}
}

/* The bound connection comes before another one with the same addresses. */
static void
choose(struct search *search)
{
	for (unsigned rank = 0; rank < RANKS; rank++) {
		if (search->count[rank] == 0)
			continue;
		search->loose = rank == RANK_LOOSE;
		if (search->count[rank] == 1)
			search->found = search->best[rank];
		else if (search->bound_count[rank] == 1)
			search->found = search->bound_best[rank];
		return;
	}
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
		.op = search->found,
		.again = true,
		.side = search->other,
		.other = search->side,
		.wandering = search->wandering,
	};
	bool bound = flows_bound(field->flows, back.op->connection) == search->op->connection;
	uint32_t others = 0;

	look_exact(field, &back, search->op->tuple);
	for (unsigned rank = 0; rank < RANKS; rank++) {
		others += bound ? back.bound_count[rank] : back.count[rank];
		if (search->count[rank] > 0)
			break;
	}
	return others == search->waits;
}

static void
run_exact(struct field *field, struct search *search, uint32_t tuple)
{
	look_exact(field, search, tuple);
	choose(search);
	if (search->count[RANK_FULL] + search->count[RANK_LOOSE] + search->count[RANK_PARTIAL] == 0 &&
	    search->side == SIDE_CLIENTS && tuple == search->op->tuple &&
	    (search->op->op->retransmits > 0 || field->retransmitted[SIDE_FIRST] > 0)) {
		look_at_siblings(field, search);
		choose(search);
	}
	if (search->found != NULL && !is_mutual(field, search))
		search->found = NULL;
}

/* ---- by content ---- */

/* What fits is put down as a vote, not as the counterpart. */
static void
look_content(struct field *field, struct search *search, struct waiting *fitting[CANDIDATES])
{
	struct pool *pool = &field->pools[search->other];
	struct waiting *candidate = pool_first_content(pool, search->op->call_hash), *next;

	for (unsigned i = 0; candidate != NULL && i < CANDIDATES; candidate = next) {
		next = candidate->next[LINK_CONTENT];
		if (!agree_call(candidate->op, search->op->op))
			continue;
		if (flows_exact(field->flows, candidate->tuple)) {
			pool_hide_content(pool, candidate);
			continue;
		}
		i++;
		if (flows_bound(field->flows, candidate->connection) == FLOW_NONE &&
		    weigh(field, search, candidate, false) > OFFSET_STALE)
			fitting[search->count[RANK_FULL]++] = candidate;
	}
}

static void
vote(struct field *field, const struct search *search, struct waiting *const fitting[CANDIDATES])
{
	for (uint32_t i = 0; i < search->count[RANK_FULL]; i++) {
		struct couple c = couple(field, search->op, fitting[i]);
		const struct ballot ballot = {
			.connection = { c.first->connection, c.client->connection },
			.place = { c.first->place, c.client->place },
			.solid = agree_args_known(c.first->op, c.client->op),
			.alone = search->count[RANK_FULL] == 1,
		};

		votes_give(field->flows, &ballot);
	}
}

static void
run_content(struct field *field, struct search *search, bool voting)
{
	uint32_t own = search->op->connection, other;
	struct waiting *fitting[CANDIDATES];

	look_content(field, search, fitting);
	if (voting)
		vote(field, search, fitting);
	else if (!field->last)
		return;
	other = votes_elected(field->flows, own, field->last);
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

/* ---- at a glance ---- */

/* Nothing waits under op's own name; or it may stand under that of another connection. */
static enum glance_result
glance_at_nothing(const struct field *field, const struct waiting *op, unsigned side)
{
	return side == SIDE_CLIENTS && (op->op->retransmits > 0 || field->retransmitted[SIDE_FIRST] > 0) ?
	    GLANCE_UNSURE : GLANCE_NOTHING;
}

enum glance_result
search_glance(struct field *field, const struct waiting *op, bool exact, struct glance *glance)
{
	unsigned side = search_side(op), other = SIDES - 1 - side;
	const struct waiting *candidate;
	struct couple c;

	if (!exact)
		return GLANCE_UNSURE;
	candidate = glance->found = pool_first_exact(&field->pools[other], op->exact_hash);
	if (candidate == NULL)
		return glance_at_nothing(field, op, side);
	c = couple(field, op, candidate);
	if (candidate->next[LINK_EXACT] != NULL || candidate->tuple != op->tuple ||
	    !agree_call(candidate->op, op->op) || !c.offset->known ||
	    pool_first_exact(&field->pools[side], op->exact_hash) != NULL ||
	    !agree_args(c.first->op, c.client->op) || !agree_reply(c.first->op, c.client->op) ||
	    !offset_fits_soon(c.offset, c.first->op, c.client->op, &glance->news))
		return GLANCE_UNSURE;
	field->steps++;
	glance->offset = c.offset;
	return GLANCE_FOUND;
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
	struct waiting *fitting[CANDIDATES];

	if (tuple != FLOW_NONE)
		look_exact(field, &search, tuple);
	else
		look_content(field, &search, fitting);
	return search.fits;
}
