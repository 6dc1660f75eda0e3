#include "correlate/flows.h"

#include <glib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "correlate/offset.h"

enum {
	BUCKETS = 1 << 16,
	IDLE_CONNECTIONS = 1 << 15,	/* kept without a waiting op, over all captures */
	MISSES = 64,			/* ops in a row without a counterpart: not the same connection */
	HOST_WALK = 64,
};

struct flows *
flows_new(uint64_t seed)
{
	struct flows *flows = g_new0(struct flows, 1);

	flows->seed = seed;
	slab_init(&flows->connections, sizeof(struct connection));
	slab_init(&flows->tuples, sizeof(struct tuple));
	flows->connection_heads = g_new0(uint32_t, BUCKETS);
	flows->tuple_heads = g_new0(uint32_t, BUCKETS);
	flows->host_heads = g_new0(uint32_t, BUCKETS);
	return flows;
}

void
flows_free(struct flows *flows)
{
	if (flows == NULL)
		return;
	slab_clear(&flows->connections);
	slab_clear(&flows->tuples);
	g_free(flows->connection_heads);
	g_free(flows->tuple_heads);
	g_free(flows->host_heads);
	g_free(flows);
}

/* ---- tuples ---- */

static uint32_t *
tuple_head(const struct flows *flows, const struct net_endpoint *client,
    const struct net_endpoint *server)
{
	uint8_t key[36];

	memcpy(key, client->address, 16);
	memcpy(key + 16, server->address, 16);
	memcpy(key + 32, &client->port, 2);
	memcpy(key + 34, &server->port, 2);
	return &flows->tuple_heads[XXH3_64bits_withSeed(key, sizeof key, flows->seed) % BUCKETS];
}

static uint32_t *
host_head(const struct flows *flows, const struct tuple *t)
{
	uint8_t key[32];

	memcpy(key, t->client.address, 16);
	memcpy(key + 16, t->server.address, 16);
	return &flows->host_heads[XXH3_64bits_withSeed(key, sizeof key, flows->seed) % BUCKETS];
}

static bool
same_endpoint(const struct net_endpoint *a, const struct net_endpoint *b)
{
	return a->port == b->port && memcmp(a->address, b->address, sizeof a->address) == 0;
}

static bool
is_tuple_of(const struct tuple *t, const struct nfs_op *op)
{
	return same_endpoint(&t->client, &op->client) && same_endpoint(&t->server, &op->server);
}

static uint32_t
find_tuple(struct flows *flows, const struct nfs_op *op)
{
	uint32_t *head = tuple_head(flows, &op->client, &op->server);
	uint32_t id;
	uint32_t *hosts;
	struct tuple *t;

	for (id = *head; id != FLOW_NONE; id = flows_tuple_at(flows, id)->hash_next)
		if (is_tuple_of(flows_tuple_at(flows, id), op))
			return id;
	id = slab_take(&flows->tuples);
	t = flows_tuple_at(flows, id);
	*t = (struct tuple){ .client = op->client, .server = op->server, .hash_next = *head };
	*head = id;
	hosts = host_head(flows, t);
	t->host_next = *hosts;
	if (*hosts != FLOW_NONE)
		flows_tuple_at(flows, *hosts)->host_prev = id;
	*hosts = id;
	return id;
}

void
flows_forget_tuple(struct flows *flows, uint32_t id)
{
	const struct tuple *t = flows_tuple_at(flows, id);
	uint32_t *link = tuple_head(flows, &t->client, &t->server);

	while (*link != id)
		link = &flows_tuple_at(flows, *link)->hash_next;
	*link = t->hash_next;
	if (t->host_prev == FLOW_NONE)
		*host_head(flows, t) = t->host_next;
	else
		flows_tuple_at(flows, t->host_prev)->host_next = t->host_next;
	if (t->host_next != FLOW_NONE)
		flows_tuple_at(flows, t->host_next)->host_prev = t->host_prev;
	slab_give_back(&flows->tuples, id);
}

uint32_t
flows_sibling(const struct flows *flows, uint32_t tuple, uint32_t after)
{
	const struct tuple *own = flows_tuple_at(flows, tuple), *t;
	uint32_t id = after == FLOW_NONE ? *host_head(flows, own) : flows_tuple_at(flows, after)->host_next;

	/* Other hosts may share the bucket, and have many. */
	for (unsigned i = 0; id != FLOW_NONE; id = t->host_next) {
		if (++i > HOST_WALK)
			return FLOW_NONE;
		t = flows_tuple_at(flows, id);
		if (id != tuple &&
		    memcmp(t->client.address, own->client.address, sizeof own->client.address) == 0 &&
		    memcmp(t->server.address, own->server.address, sizeof own->server.address) == 0)
			break;
	}
	return id;
}

/* ---- connections ---- */

static uint32_t *
connection_head(const struct flows *flows, unsigned capture, uint64_t number)
{
	const uint64_t key[2] = { capture, number };

	return &flows->connection_heads[XXH3_64bits_withSeed(key, sizeof key, flows->seed) % BUCKETS];
}

static void
idle_append(struct flows *flows, struct connection *c)
{
	c->idle_next = NULL;
	c->idle_prev = flows->idle.newest;
	if (flows->idle.newest != NULL)
		flows->idle.newest->idle_next = c;
	else
		flows->idle.oldest = c;
	flows->idle.newest = c;
	flows->idle.count++;
}

static void
idle_remove(struct flows *flows, const struct connection *c)
{
	if (c->idle_prev != NULL)
		c->idle_prev->idle_next = c->idle_next;
	else
		flows->idle.oldest = c->idle_next;
	if (c->idle_next != NULL)
		c->idle_next->idle_prev = c->idle_prev;
	else
		flows->idle.newest = c->idle_prev;
	flows->idle.count--;
}

static G_GNUC_NO_INLINE void
forget_oldest(struct flows *flows)
{
	struct connection *c = flows->idle.oldest;
	uint32_t *link = connection_head(flows, c->capture, c->number);

	idle_remove(flows, c);
	while (*link != c->id)
		link = &flows_at(flows, *link)->hash_next;
	*link = c->hash_next;
	flows_drop_tuple(flows, c->tuple);
	/* What still refers to it by number must not find it. */
	c->serial = 0;
	slab_give_back(&flows->connections, c->id);
}

static bool
is_connection(const struct connection *c, unsigned capture, uint64_t number)
{
	return c->number == number && c->capture == capture && c->serial != 0;
}

static G_GNUC_NO_INLINE struct connection *
look_up_connection(struct flows *flows, unsigned capture, const struct nfs_op *op)
{
	uint32_t *head = connection_head(flows, capture, op->connection);
	uint32_t id;
	struct connection *c;
	struct tuple *t;

	for (id = *head; id != FLOW_NONE; id = c->hash_next) {
		c = flows_at(flows, id);
		if (is_connection(c, capture, op->connection))
			return c;
	}
	if (flows->idle.count == IDLE_CONNECTIONS)
		forget_oldest(flows);
	id = slab_take(&flows->connections);
	c = flows_at(flows, id);
	*c = (struct connection){
		.id = id,
		.serial = ++flows->serials,
		.number = op->connection,
		.capture = (uint16_t)capture,
		.tuple = find_tuple(flows, op),
		.hash_next = *head,
		.lowest_xid = op->xid,
		.highest_xid = op->xid,
		.last_xid = op->xid,
		.last_order = op->call_order,
		.cycle_began_ns = op->call_first_ns,
		.cycle_ns = INT64_MAX,
	};
	t = flows_tuple_at(flows, c->tuple);
	t->uses++;
	t->epochs[capture != 0]++;
	*head = id;
	idle_append(flows, c);
	return c;
}

static inline struct connection *
find_connection(struct flows *flows, unsigned capture, const struct nfs_op *op)
{
	struct connection **known = &flows->known[(2 * op->connection + capture) % FLOWS_KNOWN];

	if (*known == NULL || !is_connection(*known, capture, op->connection))
		*known = look_up_connection(flows, capture, op);
	return *known;
}

/*
 * XIDs count up; where a later call goes back by about all that they went, they
 * begin again.
 */
static inline void
follow_xid(struct connection *c, const struct nfs_op *op)
{
	uint32_t range = c->highest_xid - c->lowest_xid, back = c->last_xid - op->xid;
	bool later = op->call_order > c->last_order;
	bool again = op->xid <= c->last_xid && later && back >= range / 2;

	if (again)
		c->range_back = (uint64_t)MAX(range, back) + 1;
	if (op->xid - c->lowest_xid > range) {
		/* What was taken for the whole was only a part. */
		c->lowest_xid = MIN(c->lowest_xid, op->xid);
		c->highest_xid = MAX(c->highest_xid, op->xid);
		c->cycle_ns = INT64_MAX;
		c->cycle_began_ns = op->call_first_ns;
	} else if (again) {
		int64_t cycle_ns = offset_difference(op->call_first_ns, c->cycle_began_ns);

		c->cycle_ns = min_ns(c->cycle_ns, max_ns(cycle_ns, 0));
		c->cycle_began_ns = op->call_first_ns;
	}
	if (later) {
		c->last_xid = op->xid;
		c->last_order = op->call_order;
	}
}

bool
flows_place(struct flows *flows, struct waiting *waiting)
{
	const struct nfs_op *op = waiting->op;
	struct connection *c = find_connection(flows, waiting->capture, op);
	uint32_t tuple = c->tuple;
	struct tuple *t;

	if (c->waiting.count == 0 && flows->idle.newest != c) {
		idle_remove(flows, c);
		idle_append(flows, c);
	}
	if (c->ops++ > 0)
		follow_xid(c, op);
	t = flows_tuple_at(flows, tuple);
	if (!is_tuple_of(t, op)) {
		tuple = find_tuple(flows, op);
		t = flows_tuple_at(flows, tuple);
	}
	t->seen |= waiting->capture == 0 ? 1 : 2;
	t->uses++;
	waiting->connection = c->id;
	waiting->place = c->ops;
	waiting->tuple = tuple;
	return t->seen == 3;
}

struct pool_list *
flows_hold(struct flows *flows, uint32_t connection)
{
	struct connection *c = flows_at(flows, connection);

	if (c->waiting.count == 0)
		idle_remove(flows, c);
	return &c->waiting;
}

void
flows_release(struct flows *flows, uint32_t connection, uint32_t tuple)
{
	struct connection *c = flows_at(flows, connection);

	flows_drop_tuple(flows, tuple);
	if (c->waiting.count > 0)
		return;
	idle_append(flows, c);
	if (flows->idle.count > IDLE_CONNECTIONS)
		forget_oldest(flows);
}

/* ---- which is which ---- */

static void
set_bound(struct flows *flows, uint32_t one, uint32_t other, bool translated)
{
	struct connection *c = flows_at(flows, one);

	c->bound = other;
	c->bound_serial = other == FLOW_NONE ? 0 : flows_at(flows, other)->serial;
	c->translated = translated;
	c->misses = 0;
}

bool
flows_translate(struct flows *flows, uint32_t first, uint32_t client)
{
	bool is_new = !flows_at(flows, client)->was_translated;

	flows_at(flows, client)->was_translated = true;
	set_bound(flows, first, client, true);
	set_bound(flows, client, first, true);
	return is_new;
}

void
flows_matched(struct flows *flows, uint32_t first, uint32_t client)
{
	struct connection *f = flows_at(flows, first), *c = flows_at(flows, client);

	f->misses = c->misses = 0;
	/* A connection may meet an epoch more where one side did not see its end; that one stays unbound. */
	if (f->tuple == c->tuple && !flows_is_bound(flows, f) && !flows_is_bound(flows, c)) {
		set_bound(flows, first, client, false);
		set_bound(flows, client, first, false);
	}
}

/* What spoke for the binding is spent. */
static void
unbind(struct flows *flows, uint32_t connection)
{
	struct connection *c = flows_at(flows, connection);

	set_bound(flows, connection, FLOW_NONE, false);
	memset(c->votes, 0, sizeof c->votes);
	c->unbound++;
}

void
flows_missed(struct flows *flows, uint32_t connection, uint32_t xid)
{
	struct connection *c = flows_at(flows, connection);
	uint32_t other = flows_bound(flows, connection);

	if (!c->translated || other == FLOW_NONE || (int32_t)(flows_at(flows, other)->last_xid - xid) <= 0 ||
	    ++c->misses < MISSES)
		return;
	unbind(flows, connection);
	unbind(flows, other);
}
