#include "stats/rows.h"

#include <glib.h>
#include <stddef.h>
#include <string.h>
#include <xxhash.h>

#include "base/arith.h"
#include "rpc/names.h"

void
row_keys_init(struct row_keys *keys)
{
	memset(keys, 0, sizeof(*keys));
	keys->count = 1;
	keys->seed = (uint64_t)g_random_int() << 32 | g_random_int();
}

static bool
same_key(const struct row_key *a, const struct row_key *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

unsigned
row_number(struct row_keys *keys, const struct row_key *key)
{
	size_t at;

	if (row_key_is_others(key))
		return ROW_OTHERS;
	at = XXH3_64bits_withSeed(key, sizeof(*key), keys->seed) % ROW_SLOTS;
	while (keys->slot[at] != ROW_OTHERS && !same_key(&keys->key[keys->slot[at]], key))
		at = (at + 1) % ROW_SLOTS;
	if (keys->slot[at] == ROW_OTHERS) {
		if (keys->count == ROW_KEYS)
			return ROW_OTHERS;
		keys->key[keys->count] = *key;
		keys->slot[at] = (uint16_t)keys->count++;
	}
	return keys->slot[at];
}

/* row_number_of() compares a key with the op's own bytes, minor apart. */
G_STATIC_ASSERT(offsetof(struct nfs_op, version) - offsetof(struct nfs_op, program) == offsetof(struct row_key, version));
G_STATIC_ASSERT(offsetof(struct nfs_op, procedure) - offsetof(struct nfs_op, program) ==
    offsetof(struct row_key, procedure));
G_STATIC_ASSERT(offsetof(struct nfs_op, operation) - offsetof(struct nfs_op, program) ==
    offsetof(struct row_key, operation) && offsetof(struct row_key, program) == 0);

struct row_key
row_key_of(const struct nfs_op *op)
{
	return (struct row_key){
		.program = op->program,
		.version = op->version,
		.procedure = op->procedure,
		.operation = op->operation,
		.minor = op->minor,
	};
}

unsigned
row_number_again(struct row_keys *keys, const struct nfs_op *op)
{
	struct row_key key = row_key_of(op);

	return keys->recent[op->operation % ROW_RECENT] = (uint16_t)row_number(keys, &key);
}

bool
op_reads(const struct nfs_op *op)
{
	return op_kind_of(op->program, op->version, op->operation) == KIND_READ;
}

bool
op_writes(const struct nfs_op *op)
{
	return op_kind_of(op->program, op->version, op->operation) == KIND_WRITE;
}

static int
compare_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

int
row_key_compare(const struct row_key *a, const struct row_key *b)
{
	int order = row_key_is_others(a) - row_key_is_others(b);

	if (order == 0)
		order = compare_u32(a->program, b->program);
	if (order == 0)
		order = compare_u32(a->version, b->version);
	if (order == 0)
		order = compare_u32(a->minor, b->minor);
	if (order == 0)
		order = compare_u32(a->procedure, b->procedure);
	return order != 0 ? order : compare_u32(a->operation, b->operation);
}

static bool
op_failed(const struct nfs_op *op)
{
	return (op->flags & OP_RPC_ERROR) != 0 || (op_has(op, OP_HAS_STATUS) && op->status != 0);
}

/* server, client: where the latencies belong that a server's, that a client's capture would have. */
static inline void
side_row_time(struct side_row *row, const struct nfs_op *op, uint32_t valid, struct dist *server,
    struct dist *client)
{
	if ((~valid & (OP_HAS_CALL_LAST | OP_HAS_REPLY_FIRST)) == 0)
		dist_add_here(server, duration_ns(op->call_last_ns, op->reply_first_ns));
	if ((~valid & (OP_HAS_CALL_LAST | OP_HAS_REPLY_LAST)) == 0)
		dist_add_here(&row->rpc_time, duration_ns(op->call_last_ns, op->reply_last_ns));
	if ((~valid & (OP_HAS_CALL_FIRST | OP_HAS_REPLY_LAST)) == 0)
		dist_add_here(client, duration_ns(op->call_first_ns, op->reply_last_ns));
}

/* Not all its stamps are known; or it calls back, so that who does is in the server's capture. */
static G_GNUC_NO_INLINE void
side_row_time_other(struct side_row *row, const struct nfs_op *op, bool callback)
{
	side_row_time(row, op, op->valid, &row->latency[callback ? PAIR_CLIENT : PAIR_SERVER],
	    &row->latency[callback ? PAIR_SERVER : PAIR_CLIENT]);
}

/* Call and reply came in a packet each, as most do. */
static inline bool
is_of_two_packets(const struct nfs_op *op)
{
	return op->call_first_ns == op->call_last_ns && op->reply_first_ns == op->reply_last_ns;
}

void
side_row_add(struct side_row *row, const struct nfs_op *op, bool callback, bool alone)
{
	row->retransmits += op->retransmits;
	if (G_UNLIKELY(op->outcome != OP_ANSWERED)) {
		row->unanswered += op->outcome == OP_UNANSWERED;
		row->in_flight += op->outcome == OP_IN_FLIGHT;
		row->in_flight_retransmits += op->outcome == OP_IN_FLIGHT ? op->retransmits : 0;
		return;
	}
	row->count++;
	row->errors += op_failed(op);
	if (op_has(op, OP_HAS_MOVED)) {
		row->bytes += op->moved_bytes;
		row->sized++;
	}
	if (G_UNLIKELY(!op_has(op, OP_TIMES) || callback))
		side_row_time_other(row, op, callback);
	else if (is_of_two_packets(op))
		dist_add_here(&row->alike, duration_ns(op->call_first_ns, op->reply_last_ns));
	else
		side_row_time(row, op, OP_TIMES, &row->latency[PAIR_SERVER], &row->latency[PAIR_CLIENT]);
	if (alone && !callback && op_has(op, OP_HAS_CALL_FIRST | OP_HAS_REPLY_LAST | OP_HAS_PATH))
		dist_add_here(&row->server_estimate,
		    duration_ns(op->path_ns, duration_ns(op->call_first_ns, op->reply_last_ns)));
}

void
side_row_settle(struct side_row *row)
{
	dist_merge(&row->latency[PAIR_SERVER], &row->alike);
	dist_merge(&row->latency[PAIR_CLIENT], &row->alike);
	dist_merge(&row->rpc_time, &row->alike);
	dist_reset(&row->alike);
}

void
side_row_merge(struct side_row *into, const struct side_row *from)
{
	into->count += from->count;
	into->errors += from->errors;
	into->unanswered += from->unanswered;
	into->in_flight += from->in_flight;
	into->retransmits += from->retransmits;
	into->in_flight_retransmits += from->in_flight_retransmits;
	into->bytes += from->bytes;
	into->sized += from->sized;
	dist_merge(&into->alike, &from->alike);
	dist_merge(&into->latency[PAIR_SERVER], &from->latency[PAIR_SERVER]);
	dist_merge(&into->latency[PAIR_CLIENT], &from->latency[PAIR_CLIENT]);
	dist_merge(&into->rpc_time, &from->rpc_time);
	dist_merge(&into->server_estimate, &from->server_estimate);
}

bool
side_row_is_empty(const struct side_row *row)
{
	return row->count + row->unanswered + row->in_flight == 0;
}

/* Where the distributions of a row are: all that owns memory in it. */
static const size_t side_dists[] = {
	offsetof(struct side_row, alike), offsetof(struct side_row, latency[PAIR_SERVER]),
	offsetof(struct side_row, latency[PAIR_CLIENT]), offsetof(struct side_row, rpc_time),
	offsetof(struct side_row, server_estimate),
};
static const size_t matched_dists[] = {
	offsetof(struct matched_row, total), offsetof(struct matched_row, server),
	offsetof(struct matched_row, network), offsetof(struct matched_row, network_whole),
	offsetof(struct matched_row, retransmit), offsetof(struct matched_row, client),
	offsetof(struct matched_row, request), offsetof(struct matched_row, reply),
};

static struct dist *
dist_at(void *row, size_t offset)
{
	return (struct dist *)(void *)((char *)row + offset);
}

struct side_row *
side_row_copy(const struct side_row *row)
{
	struct side_row *copy = g_memdup2(row, sizeof(*row));

	for (size_t i = 0; copy != NULL && i < G_N_ELEMENTS(side_dists); i++) {
		struct dist had = *dist_at(copy, side_dists[i]);

		dist_copy(dist_at(copy, side_dists[i]), &had);
	}
	return copy;
}

void
side_row_reset(struct side_row *row)
{
	struct side_row empty = { .key = row->key };

	for (size_t i = 0; i < G_N_ELEMENTS(side_dists); i++) {
		dist_reset(dist_at(row, side_dists[i]));
		*dist_at(&empty, side_dists[i]) = *dist_at(row, side_dists[i]);
	}
	*row = empty;
}

void
side_row_clear(struct side_row *row)
{
	for (size_t i = 0; i < G_N_ELEMENTS(side_dists); i++)
		dist_clear(dist_at(row, side_dists[i]));
}

void
side_row_free(struct side_row *row)
{
	if (row == NULL)
		return;
	side_row_clear(row);
	g_free(row);
}

static G_GNUC_NO_INLINE void
matched_network_differs(struct matched_row *row)
{
	dist_merge(&row->network_whole, &row->network);
	row->network_differs = true;
}

/* dist_add of what is 0 for nearly all calls, which are counted in none. */
static inline void
add_nothing_often(struct dist *dist, uint64_t *none, int64_t value_ns)
{
	if (G_LIKELY(value_ns == 0))
		++*none;
	else
		dist_add_here(dist, value_ns);
}

void
matched_row_add(struct matched_row *row, const struct attribution *parts, const struct pair_gist *gist)
{
	row->count++;
	row->bytes += gist->moved_bytes;
	dist_count(&row->total, parts->total_ns, gist->bucket);
	dist_add_here(&row->server, parts->server_ns);
	if (G_UNLIKELY(parts->client_ns != 0 && !row->network_differs))
		matched_network_differs(row);
	dist_add_here(&row->network, parts->network_ns);
	if (row->network_differs)
		dist_add_here(&row->network_whole, parts->network_ns + parts->client_ns);
	if (parts->client_known)
		add_nothing_often(&row->client, &row->client_none, parts->client_ns);
	if (parts->retransmit_known)
		add_nothing_often(&row->retransmit, &row->retransmit_none, parts->retransmit_ns);
	if (parts->aligned) {
		dist_add_here(&row->request, parts->request_ns);
		dist_add_here(&row->reply, parts->reply_ns);
		dist_sum(&row->clock_error, parts->clock_error_ns);
	}
}

void
matched_row_settle(struct matched_row *row)
{
	dist_add_times(&row->client, 0, row->client_none);
	dist_add_times(&row->retransmit, 0, row->retransmit_none);
	row->client_none = row->retransmit_none = 0;
}

void
matched_row_merge(struct matched_row *into, const struct matched_row *from)
{
	into->count += from->count;
	into->bytes += from->bytes;
	dist_merge(&into->total, &from->total);
	dist_merge(&into->server, &from->server);
	if (from->network_differs && !into->network_differs)
		dist_merge(&into->network_whole, &into->network);
	into->network_differs |= from->network_differs;
	if (into->network_differs)
		dist_merge(&into->network_whole, from->network_differs ? &from->network_whole : &from->network);
	dist_merge(&into->network, &from->network);
	into->client_none += from->client_none;
	into->retransmit_none += from->retransmit_none;
	dist_merge(&into->retransmit, &from->retransmit);
	dist_merge(&into->client, &from->client);
	dist_merge(&into->request, &from->request);
	dist_merge(&into->reply, &from->reply);
	dist_merge(&into->clock_error, &from->clock_error);
}

struct matched_row *
matched_row_copy(const struct matched_row *row)
{
	struct matched_row *copy = g_memdup2(row, sizeof(*row));

	for (size_t i = 0; copy != NULL && i < G_N_ELEMENTS(matched_dists); i++) {
		struct dist had = *dist_at(copy, matched_dists[i]);

		dist_copy(dist_at(copy, matched_dists[i]), &had);
	}
	return copy;
}

void
matched_row_reset(struct matched_row *row)
{
	struct matched_row empty = { .key = row->key };

	for (size_t i = 0; i < G_N_ELEMENTS(matched_dists); i++) {
		dist_reset(dist_at(row, matched_dists[i]));
		*dist_at(&empty, matched_dists[i]) = *dist_at(row, matched_dists[i]);
	}
	*row = empty;
}

void
matched_row_free(struct matched_row *row)
{
	if (row == NULL)
		return;
	for (size_t i = 0; i < G_N_ELEMENTS(matched_dists); i++)
		dist_clear(dist_at(row, matched_dists[i]));
	g_free(row);
}
