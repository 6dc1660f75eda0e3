#include "stats/aggregate.h"

#include <glib.h>

#include "stats/breakdown.h"
#include "stats/chains.h"
#include "stats/flight.h"
#include "stats/rows.h"
#include "stats/serial.h"
#include "stats/slowest.h"
#include "stats/threads.h"
#include "stats/transit.h"

struct aggregate {
	unsigned captures;
	bool interval;			/* no breakdowns; calls in flight have rows */
	bool leaves_rows;		/* of sides and pairs, to intervals */
	struct row_keys keys;
	struct side_row *(*side)[ROW_KEYS];	/* a capture; NULL where nothing was counted */
	struct matched_row *matched[ROW_KEYS];
	struct breakdowns *breakdowns;		/* NULL: an interval's */
	struct concurrency **concurrency;	/* a capture; NULL: no op yet */
	struct threads **threads;		/* a capture; NULL where it cannot be the server's */
	struct slowest *slowest;
	struct slowest *alone[2];		/* enum pair_side; with one capture only */
	struct aggregate_totals totals;
	struct flight *flight;			/* a capture */
	struct serial *serial;			/* a capture */
	struct chains *chains;			/* a capture */
	struct transit *transit;		/* a client's capture */
	GPtrArray **side_view;			/* a capture */
	GPtrArray *matched_view;
	GPtrArray *breakdown_view[BREAKDOWN_KINDS];
};

static struct aggregate *
aggregate_make(unsigned captures, unsigned top, bool interval)
{
	struct aggregate *aggregate = g_new0(struct aggregate, 1);

	aggregate->captures = captures;
	aggregate->interval = interval;
	row_keys_init(&aggregate->keys);
	aggregate->side = g_malloc0_n(captures, sizeof(*aggregate->side));
	aggregate->flight = g_new0(struct flight, captures);
	aggregate->serial = g_new0(struct serial, captures);
	aggregate->chains = g_new0(struct chains, captures);
	aggregate->transit = g_new0(struct transit, captures);
	aggregate->concurrency = g_new0(struct concurrency *, captures);
	aggregate->threads = g_new0(struct threads *, captures);
	for (unsigned i = 0; i < captures && (i == 0 || captures == 2); i++)
		aggregate->threads[i] = threads_new();
	aggregate->side_view = g_new0(GPtrArray *, captures);
	for (unsigned i = 0; i < captures; i++)
		aggregate->side_view[i] = g_ptr_array_new();
	aggregate->matched_view = g_ptr_array_new();
	if (!interval)
		aggregate->breakdowns = breakdowns_new(&aggregate->keys);
	for (unsigned kind = 0; kind < BREAKDOWN_KINDS; kind++)
		aggregate->breakdown_view[kind] = g_ptr_array_new();
	aggregate->slowest = slowest_new(top);
	aggregate->alone[PAIR_SERVER] = slowest_new(captures == 1 ? top : 0);
	aggregate->alone[PAIR_CLIENT] = slowest_new(captures == 1 ? top : 0);
	return aggregate;
}

struct aggregate *
aggregate_new(unsigned captures, unsigned top)
{
	return aggregate_make(captures, top, false);
}

struct aggregate *
aggregate_new_interval(unsigned captures)
{
	return aggregate_make(captures, 0, true);
}

static void
copy_capture(struct aggregate *copy, const struct aggregate *aggregate, unsigned capture)
{
	for (unsigned number = 0; number < ROW_KEYS; number++)
		copy->side[capture][number] = side_row_copy(aggregate->side[capture][number]);
	transit_copy(&copy->transit[capture], &aggregate->transit[capture]);
	chains_copy(&copy->chains[capture], &aggregate->chains[capture]);
	copy->side_view[capture] = g_ptr_array_new();
	if (aggregate->concurrency[capture] != NULL)
		copy->concurrency[capture] = concurrency_copy(aggregate->concurrency[capture]);
	if (aggregate->threads[capture] != NULL)
		copy->threads[capture] = threads_copy(aggregate->threads[capture]);
}

struct aggregate *
aggregate_copy(const struct aggregate *aggregate)
{
	struct aggregate *copy = g_memdup2(aggregate, sizeof(*aggregate));
	unsigned captures = aggregate->captures;

	copy->side = g_malloc0_n(captures, sizeof(*copy->side));
	copy->flight = g_memdup2(aggregate->flight, captures * sizeof(*copy->flight));
	copy->serial = g_memdup2(aggregate->serial, captures * sizeof(*copy->serial));
	copy->chains = g_new0(struct chains, captures);
	copy->transit = g_new0(struct transit, captures);
	copy->concurrency = g_new0(struct concurrency *, captures);
	copy->threads = g_new0(struct threads *, captures);
	copy->side_view = g_new0(GPtrArray *, captures);
	for (unsigned i = 0; i < captures; i++)
		copy_capture(copy, aggregate, i);
	for (unsigned number = 0; number < ROW_KEYS; number++)
		copy->matched[number] = matched_row_copy(aggregate->matched[number]);
	copy->matched_view = g_ptr_array_new();
	if (aggregate->breakdowns != NULL)
		copy->breakdowns = breakdowns_copy(aggregate->breakdowns, &copy->keys);
	for (unsigned kind = 0; kind < BREAKDOWN_KINDS; kind++)
		copy->breakdown_view[kind] = g_ptr_array_new();
	copy->slowest = slowest_copy(aggregate->slowest);
	for (unsigned side = PAIR_SERVER; side <= PAIR_CLIENT; side++)
		copy->alone[side] = slowest_copy(aggregate->alone[side]);
	return copy;
}

static struct concurrency *
concurrency_of(struct aggregate *aggregate, unsigned capture)
{
	if (aggregate->concurrency[capture] == NULL)
		aggregate->concurrency[capture] = concurrency_new((1u << CONCURRENCY_VIEWS) - 1);
	return aggregate->concurrency[capture];
}

static void
reset_capture(struct aggregate *aggregate, unsigned capture, int64_t from_ns)
{
	for (unsigned number = 0; number < aggregate->keys.count; number++) {
		if (aggregate->side[capture][number] != NULL)
			side_row_reset(aggregate->side[capture][number]);
	}
	transit_reset(&aggregate->transit[capture]);
	chains_clear(&aggregate->chains[capture]);
	concurrency_reset(concurrency_of(aggregate, capture), from_ns);
	if (aggregate->threads[capture] != NULL)
		threads_reset(aggregate->threads[capture]);
	aggregate->flight[capture] = (struct flight){ 0 };
	aggregate->serial[capture] = (struct serial){ 0 };
	aggregate->chains[capture] = (struct chains){ 0 };
}

void
aggregate_reset(struct aggregate *aggregate, const int64_t *from_ns)
{
	for (unsigned i = 0; i < aggregate->captures; i++)
		reset_capture(aggregate, i, from_ns[i]);
	for (unsigned number = 0; number < aggregate->keys.count; number++) {
		if (aggregate->matched[number] != NULL)
			matched_row_reset(aggregate->matched[number]);
	}
	row_keys_init(&aggregate->keys);
	aggregate->totals = (struct aggregate_totals){ 0 };
}

void
aggregate_free(struct aggregate *aggregate)
{
	if (aggregate == NULL)
		return;
	for (unsigned i = 0; i < aggregate->captures; i++) {
		for (unsigned number = 0; number < ROW_KEYS; number++)
			side_row_free(aggregate->side[i][number]);
		transit_clear(&aggregate->transit[i]);
		chains_clear(&aggregate->chains[i]);
		g_ptr_array_unref(aggregate->side_view[i]);
		concurrency_free(aggregate->concurrency[i]);
		threads_free(aggregate->threads[i]);
	}
	for (unsigned number = 0; number < ROW_KEYS; number++)
		matched_row_free(aggregate->matched[number]);
	breakdowns_free(aggregate->breakdowns);
	for (unsigned kind = 0; kind < BREAKDOWN_KINDS; kind++)
		g_ptr_array_unref(aggregate->breakdown_view[kind]);
	slowest_free(aggregate->slowest);
	slowest_free(aggregate->alone[PAIR_SERVER]);
	slowest_free(aggregate->alone[PAIR_CLIENT]);
	g_ptr_array_unref(aggregate->matched_view);
	g_free(aggregate->flight);
	g_free(aggregate->serial);
	g_free(aggregate->chains);
	g_free(aggregate->transit);
	g_free(aggregate->side_view);
	g_free(aggregate->concurrency);
	g_free(aggregate->threads);
	g_free(aggregate->side);
	g_free(aggregate);
}

static inline struct side_row *
side_row(struct aggregate *aggregate, unsigned capture, unsigned number)
{
	struct side_row **row = &aggregate->side[capture][number];

	if (G_LIKELY(*row != NULL && (*row)->count > 0))
		return *row;
	if (*row == NULL)
		*row = g_new0(struct side_row, 1);
	if (side_row_is_empty(*row))
		(*row)->key = aggregate->keys.key[number];
	return *row;
}

static struct matched_row *
matched_row(struct aggregate *aggregate, unsigned number)
{
	struct matched_row **row = &aggregate->matched[number];

	if (*row == NULL)
		*row = g_new0(struct matched_row, 1);
	if ((*row)->count == 0)
		(*row)->key = aggregate->keys.key[number];
	return *row;
}

void
aggregate_watch(struct aggregate *aggregate, unsigned capture, unsigned views)
{
	concurrency_free(aggregate->concurrency[capture]);
	aggregate->concurrency[capture] = concurrency_new(views);
	if (aggregate->captures > 1 && (views >> CONCURRENCY_INSIDE & 1) == 0)
		g_clear_pointer(&aggregate->threads[capture], threads_free);
}

void
aggregate_take_concurrency(struct aggregate *aggregate, struct aggregate *from, unsigned capture)
{
	concurrency_free(aggregate->concurrency[capture]);
	aggregate->concurrency[capture] = g_steal_pointer(&from->concurrency[capture]);
	threads_free(aggregate->threads[capture]);
	aggregate->threads[capture] = g_steal_pointer(&from->threads[capture]);
}

/* One capture only: the op is all there is of its call. */
static void
add_alone(struct aggregate *aggregate, enum pair_side side, const struct nfs_op *op, int64_t latency_ns)
{
	struct op_pair pair;

	if (latency_ns < slowest_threshold_ns(aggregate->alone[side]))
		return;
	pair = (struct op_pair){
		.match = side == PAIR_SERVER ? MATCH_SERVER_ONLY : MATCH_CLIENT_ONLY,
	};
	pair.op[side] = *op;
	pair.has[side] = true;
	slowest_add(aggregate->alone[side], &pair, latency_ns);
}

/*
 * What findings are judged by, of calls that are no callbacks. One thing after
 * the other over all ops: what each of them runs through, and looks things up
 * in, then stays in the cache.
 */
static void
add_facts(struct aggregate *aggregate, unsigned capture, const struct nfs_op *ops, unsigned count)
{
	flight_add(&aggregate->flight[capture], ops, count);
	concurrency_add(concurrency_of(aggregate, capture), ops, count);
	if (aggregate->threads[capture] != NULL)
		threads_add(aggregate->threads[capture], ops, count);
	serial_add(&aggregate->serial[capture], ops, count);
	chains_add(&aggregate->chains[capture], ops, count);
}

static void
add_rows(struct aggregate *aggregate, unsigned capture, const struct nfs_op *ops, unsigned count, bool callbacks)
{
	bool alone = aggregate->captures == 1;

	for (unsigned i = 0; i < count; i++) {
		const struct nfs_op *op = &ops[i];

		if (G_LIKELY(op->outcome == OP_ANSWERED || op->outcome == OP_UNANSWERED) ||
		    (op->outcome == OP_IN_FLIGHT && aggregate->interval))
			side_row_add(side_row(aggregate, capture, row_number_of(&aggregate->keys, op)), op, callbacks, alone);
	}
}

static void
add_slow_alone(struct aggregate *aggregate, const struct nfs_op *ops, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const struct nfs_op *op = &ops[i];

		if (op->outcome != OP_ANSWERED)
			continue;
		if (op_has(op, OP_HAS_CALL_LAST | OP_HAS_REPLY_FIRST))
			add_alone(aggregate, PAIR_SERVER, op, duration_ns(op->call_last_ns, op->reply_first_ns));
		if (op_has(op, OP_HAS_CALL_FIRST | OP_HAS_REPLY_LAST))
			add_alone(aggregate, PAIR_CLIENT, op, duration_ns(op->call_first_ns, op->reply_last_ns));
	}
}

/* What is alike: callbacks, or none. */
static void
add_run(struct aggregate *aggregate, unsigned capture, const struct nfs_op *ops, unsigned count, bool callbacks)
{
	if (!callbacks)
		add_facts(aggregate, capture, ops, count);
	if (!aggregate->leaves_rows)
		add_rows(aggregate, capture, ops, count, callbacks);
	if (!callbacks && aggregate->captures == 1)
		add_slow_alone(aggregate, ops, count);
}

void
aggregate_add_ops(struct aggregate *aggregate, unsigned capture, const struct nfs_op *ops, unsigned count)
{
	for (unsigned first = 0, end; first < count; first = end) {
		bool callbacks = op_is_callback(&ops[first]);

		for (end = first + 1; end < count && op_is_callback(&ops[end]) == callbacks; end++)
			continue;
		add_run(aggregate, capture, &ops[first], end - first, callbacks);
	}
}

void
aggregate_add_op(struct aggregate *aggregate, unsigned capture, const struct nfs_op *op)
{
	aggregate_add_ops(aggregate, capture, op, 1);
}

static enum part
largest_part(const struct attribution *parts)
{
	if (parts->client_ns > parts->server_ns && parts->client_ns > parts->network_ns)
		return PART_CLIENT;
	return parts->network_ns > parts->server_ns ? PART_NETWORK : PART_SERVER;
}

/* The client has a part in it, or a part is below zero. */
static G_GNUC_NO_INLINE void
totals_add_unusual(struct aggregate_totals *totals, const struct attribution *parts)
{
	totals->negative += parts->server_ns < 0 || parts->network_ns < 0;
	totals->client_ns += parts->client_ns;
	totals->by_call[largest_part(parts)]++;
	totals->by_call_of_two[parts->network_ns + parts->client_ns > parts->server_ns ? PART_NETWORK : PART_SERVER]++;
}

static void
totals_add(struct aggregate_totals *totals, const struct attribution *parts)
{
	totals->matched++;
	totals->total_ns += parts->total_ns;
	totals->server_ns += parts->server_ns;
	totals->network_ns += parts->network_ns;
	totals->client_known += parts->client_known;
	totals->retransmit_known += parts->retransmit_known;
	if (G_UNLIKELY(parts->client_ns != 0 || (parts->server_ns | parts->network_ns) < 0)) {
		totals_add_unusual(totals, parts);
	} else {
		enum part part = parts->network_ns > parts->server_ns ? PART_NETWORK : PART_SERVER;

		totals->by_call[part]++;
		totals->by_call_of_two[part]++;
	}
	if (parts->retransmit_known && G_UNLIKELY(parts->retransmit_ns != 0 || parts->lost_segments != 0)) {
		totals->retransmit_ns += parts->retransmit_ns;
		totals->delayed_calls += parts->retransmit_ns > 0;
		totals->lost_segments += parts->lost_segments;
	}
}

static struct pair_gist
gist_of(struct aggregate *aggregate, const struct op_pair *pair)
{
	const struct nfs_op *client = &pair->op[PAIR_CLIENT], *server = &pair->op[PAIR_SERVER];
	uint32_t valid = client->valid | server->valid;
	struct pair_gist gist = {
		.number = row_number_of(&aggregate->keys, client),
		.bucket = dist_bucket(pair->parts.total_ns),
		.has_file = (valid & OP_HAS_FILE) != 0,
		.has_size = (valid & (OP_HAS_MOVED | OP_HAS_REQUESTED)) != 0,
	};

	if (valid & OP_HAS_MOVED)
		gist.size_bytes = gist.moved_bytes = op_has(client, OP_HAS_MOVED) ? client->moved_bytes : server->moved_bytes;
	else if (valid & OP_HAS_REQUESTED)
		gist.size_bytes = op_has(client, OP_HAS_REQUESTED) ? client->requested_bytes : server->requested_bytes;
	return gist;
}

void
aggregate_add_pair(struct aggregate *aggregate, const struct op_pair *pair)
{
	struct pair_gist gist;

	if (pair->match != MATCH_MATCHED)
		return;
	gist = gist_of(aggregate, pair);
	if (aggregate->breakdowns != NULL)
		breakdowns_add(aggregate->breakdowns, pair, &gist);
	if (G_UNLIKELY(op_is_callback(pair_op(pair)))) {
		aggregate->totals.callbacks++;
	} else {
		totals_add(&aggregate->totals, &pair->parts);
		transit_add(&aggregate->transit[pair->client_capture], pair, gist.size_bytes);
	}
	if (!aggregate->leaves_rows)
		matched_row_add(matched_row(aggregate, gist.number), &pair->parts, &gist);
	if (pair->parts.total_ns >= slowest_threshold_ns(aggregate->slowest))
		slowest_add(aggregate->slowest, pair, pair->parts.total_ns);
}

static void
totals_merge(struct aggregate_totals *into, const struct aggregate_totals *from)
{
	into->callbacks += from->callbacks;
	into->matched += from->matched;
	into->negative += from->negative;
	into->total_ns += from->total_ns;
	into->server_ns += from->server_ns;
	into->network_ns += from->network_ns;
	into->client_ns += from->client_ns;
	into->client_known += from->client_known;
	into->retransmit_ns += from->retransmit_ns;
	into->retransmit_known += from->retransmit_known;
	into->delayed_calls += from->delayed_calls;
	into->lost_segments += from->lost_segments;
	for (unsigned part = 0; part < PARTS; part++) {
		into->by_call[part] += from->by_call[part];
		into->by_call_of_two[part] += from->by_call_of_two[part];
	}
}

static void
concurrency_take(struct aggregate *into, unsigned capture, const struct concurrency *from)
{
	struct concurrency *to;

	if (from == NULL)
		return;
	to = concurrency_of(into, capture);
	concurrency_finish(to);
	concurrency_merge(to, from);
}

void
aggregate_finish(struct aggregate *aggregate)
{
	for (unsigned i = 0; i < aggregate->captures; i++) {
		if (aggregate->concurrency[i] != NULL)
			concurrency_finish(aggregate->concurrency[i]);
	}
}

static void
side_take(struct aggregate *into, unsigned capture, unsigned number, const struct side_row *from)
{
	struct side_row *row;

	if (!into->interval && from->count + from->unanswered == 0)
		return;
	row = side_row(into, capture, number);
	side_row_merge(row, from);
	if (into->interval)
		return;
	row->retransmits -= row->in_flight_retransmits;
	row->in_flight = row->in_flight_retransmits = 0;
}

void
aggregate_take_rows(struct aggregate *into, const struct aggregate *from)
{
	for (unsigned number = 0; number < from->keys.count; number++) {
		unsigned to = row_number(&into->keys, &from->keys.key[number]);

		for (unsigned i = 0; i < MIN(into->captures, from->captures); i++) {
			if (from->side[i][number] != NULL)
				side_take(into, i, to, from->side[i][number]);
		}
		if (from->matched[number] != NULL)
			matched_row_merge(matched_row(into, to), from->matched[number]);
	}
}

void
aggregate_leave_rows(struct aggregate *aggregate)
{
	aggregate->leaves_rows = true;
}

void
aggregate_merge(struct aggregate *into, const struct aggregate *from)
{
	aggregate_take_rows(into, from);
	for (unsigned i = 0; i < MIN(into->captures, from->captures); i++) {
		flight_merge(&into->flight[i], &from->flight[i]);
		serial_merge(&into->serial[i], &from->serial[i]);
		chains_merge(&into->chains[i], &from->chains[i]);
		transit_merge(&into->transit[i], &from->transit[i]);
		concurrency_take(into, i, from->concurrency[i]);
		if (from->threads[i] != NULL)
			threads_merge(into->threads[i], from->threads[i]);
	}
	if (into->breakdowns != NULL && from->breakdowns != NULL)
		breakdowns_merge(into->breakdowns, from->breakdowns);
	slowest_merge(into->slowest, from->slowest);
	slowest_merge(into->alone[PAIR_SERVER], from->alone[PAIR_SERVER]);
	slowest_merge(into->alone[PAIR_CLIENT], from->alone[PAIR_CLIENT]);
	totals_merge(&into->totals, &from->totals);
}

static int
compare_sides(const void *a, const void *b)
{
	const struct side_row *const *x = a, *const *y = b;

	return row_key_compare(&(*x)->key, &(*y)->key);
}

const struct side_row *const *
aggregate_side(struct aggregate *aggregate, unsigned capture, unsigned *count)
{
	GPtrArray *view = aggregate->side_view[capture];

	g_ptr_array_set_size(view, 0);
	for (unsigned number = 0; number < aggregate->keys.count; number++) {
		struct side_row *row = aggregate->side[capture][number];

		if (row == NULL || side_row_is_empty(row))
			continue;
		side_row_settle(row);
		g_ptr_array_add(view, row);
	}
	if (view->len > 0)
		qsort(view->pdata, view->len, sizeof(*view->pdata), compare_sides);
	*count = view->len;
	return (const struct side_row *const *)view->pdata;
}

static int
compare_matched(const void *a, const void *b)
{
	const struct matched_row *const *x = a, *const *y = b;

	return row_key_compare(&(*x)->key, &(*y)->key);
}

const struct matched_row *const *
aggregate_matched(struct aggregate *aggregate, unsigned *count)
{
	GPtrArray *view = aggregate->matched_view;

	g_ptr_array_set_size(view, 0);
	for (unsigned number = 0; number < aggregate->keys.count; number++) {
		struct matched_row *row = aggregate->matched[number];

		if (row == NULL || row->count == 0)
			continue;
		matched_row_settle(row);
		g_ptr_array_add(view, row);
	}
	if (view->len > 0)
		qsort(view->pdata, view->len, sizeof(*view->pdata), compare_matched);
	*count = view->len;
	return (const struct matched_row *const *)view->pdata;
}

const struct breakdown_row *const *
aggregate_breakdown(struct aggregate *aggregate, enum breakdown_kind kind, unsigned *count)
{
	GPtrArray *view = aggregate->breakdown_view[kind];

	if (aggregate->breakdowns != NULL)
		breakdowns_view(aggregate->breakdowns, kind, view);
	*count = view->len;
	return (const struct breakdown_row *const *)view->pdata;
}

const struct slow_call *
aggregate_slowest(struct aggregate *aggregate, unsigned *count)
{
	return slowest_view(aggregate->slowest, count);
}

const struct slow_call *
aggregate_slowest_alone(struct aggregate *aggregate, enum pair_side side, unsigned *count)
{
	return slowest_view(aggregate->alone[side], count);
}

const struct concurrency *
aggregate_concurrency(const struct aggregate *aggregate, unsigned capture)
{
	return aggregate->concurrency[capture];
}

const struct threads *
aggregate_threads(const struct aggregate *aggregate)
{
	return aggregate->threads[0];
}

int64_t
aggregate_window_ns(const struct aggregate *aggregate)
{
	return aggregate->breakdowns != NULL ? breakdowns_window_ns(aggregate->breakdowns) : 0;
}

const struct aggregate_totals *
aggregate_totals(const struct aggregate *aggregate)
{
	return &aggregate->totals;
}

const struct flight *
aggregate_flight(const struct aggregate *aggregate, unsigned capture)
{
	return &aggregate->flight[capture];
}

const struct serial *
aggregate_serial(const struct aggregate *aggregate, unsigned capture)
{
	return &aggregate->serial[capture];
}

const struct chains *
aggregate_chains(const struct aggregate *aggregate, unsigned capture)
{
	return &aggregate->chains[capture];
}

const struct transit *
aggregate_transit(const struct aggregate *aggregate, unsigned client)
{
	return &aggregate->transit[client];
}

void
aggregate_exchange_sides(struct aggregate *aggregate)
{
	struct concurrency *concurrency = aggregate->concurrency[0];
	struct threads *threads = aggregate->threads[0];
	struct flight flight;
	struct serial serial;
	struct chains chains;

	aggregate->concurrency[0] = aggregate->concurrency[1];
	aggregate->concurrency[1] = concurrency;
	aggregate->threads[0] = aggregate->threads[1];
	aggregate->threads[1] = threads;
	for (unsigned number = 0; number < ROW_KEYS; number++) {
		struct side_row *first = aggregate->side[0][number];

		aggregate->side[0][number] = aggregate->side[1][number];
		aggregate->side[1][number] = first;
	}
	flight = aggregate->flight[0];
	aggregate->flight[0] = aggregate->flight[1];
	aggregate->flight[1] = flight;
	serial = aggregate->serial[0];
	aggregate->serial[0] = aggregate->serial[1];
	aggregate->serial[1] = serial;
	chains = aggregate->chains[0];
	aggregate->chains[0] = aggregate->chains[1];
	aggregate->chains[1] = chains;
}
