#include "correlate/workload.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "correlate/correlate.h"
#include "correlate/op_pair.h"
#include "trace/rng.h"

enum { SLOTS = 64 };
/* 2023-11-14, in the middle of what stamps usually are. */
#define START_NS (1700000000 * (int64_t)NS_PER_S)

/* One connection as it is being made. */
struct line {
	const struct workload_config *config;
	struct workload *workload;
	struct trace_rng rng;
	GArray *ops[2];		/* struct nfs_op, enum pair_side */
	unsigned client, connection;
	uint32_t xid;
	int64_t free_ns[SLOTS];
	uint32_t used[SLOTS];	/* XIDs in flight */
};

void
workload_config_init(struct workload_config *config, uint32_t seed)
{
	*config = (struct workload_config){
		.seed = seed,
		.clients = 1,
		.connections = 1,
		.slots = 4,
		.calls = 200,
		.epochs = 1,
		.service_ns = 200 * NS_PER_US,
		.delay_ns = 50 * NS_PER_US,
		.think_ns = 100 * NS_PER_US,
		.jitter_ns = 20 * NS_PER_US,
		.start_spread_ns = 20 * NS_PER_MS,
		.prefixes = { ARG_PREFIXES, ARG_PREFIXES },
	};
}

static int64_t
exponential_ns(struct trace_rng *rng, int64_t mean_ns)
{
	return (int64_t)(-log1p(-trace_rng_unit(rng)) * (double)mean_ns);
}

/* ---- one call ---- */

static void
set_address(struct net_endpoint *endpoint, bool v6, unsigned host, unsigned port)
{
	memset(endpoint, 0, sizeof *endpoint);
	if (v6) {
		endpoint->address[0] = 0xfd;
	} else {
		endpoint->address[10] = endpoint->address[11] = 0xff;
		endpoint->address[12] = 10;
	}
	endpoint->address[14] = (uint8_t)(host >> 8);
	endpoint->address[15] = (uint8_t)host;
	endpoint->port = (uint16_t)port;
}

static void
set_addresses(const struct line *line, enum pair_side side, struct nfs_op *op)
{
	enum workload_nat nat = line->config->nat;
	unsigned port = 700 + line->connection;
	unsigned host = 100 + line->client;

	set_address(&op->server, false, 1, 2049);
	if (nat == WORKLOAD_VIRTUAL)
		set_address(&op->server, side == PAIR_CLIENT, 2 + side, 2049);
	if (side == PAIR_SERVER && nat == WORKLOAD_PORTS)
		port += 20000;
	if (side == PAIR_SERVER && nat == WORKLOAD_ONE_ADDRESS) {
		port = 30000 + 100 * line->client + line->connection;
		host = 99;
	}
	set_address(&op->client, side == PAIR_CLIENT && nat == WORKLOAD_VIRTUAL, host, port);
}

static void
set_args(struct line *line, struct nfs_op *op, unsigned id)
{
	unsigned different = line->config->different_args;
	uint64_t args = different == 0 ? id : trace_rng_below(&line->rng, different);

	op->procedure = 1 + (uint32_t)(args % 3);
	op->print.args_len = 40 + (uint32_t)(args % 2) * 100;
	op->print.length_known = true;
	/* The first prefix is a file handle that many calls share. */
	op->print.prefix[0] = (uint32_t)(args % 5);
	for (unsigned i = 1; i < ARG_PREFIXES; i++)
		op->print.prefix[i] = (uint32_t)args * 0x9e3779b9u + op->print.args_len;
	op->print.prefixes = ARG_PREFIXES;
	op->file = args % 5;
	op->valid |= OP_HAS_FILE;
}

static int64_t
client_clock(const struct workload_config *config, unsigned client, int64_t at_ns)
{
	int64_t offset_ns = client < config->clients ? config->offset_ns[client] : 0;

	return at_ns - offset_ns + (int64_t)((double)(at_ns - START_NS) * (double)config->drift_ppb * 1e-9);
}

static int64_t
server_clock(const struct workload_config *config, int64_t at_ns)
{
	return at_ns + (config->step_ns != 0 && at_ns >= START_NS + config->step_at_ns ? config->step_ns : 0);
}

/* Stamps are those of the ideal clock until here. */
static void
add_op(struct line *line, enum pair_side side, struct nfs_op op, unsigned id)
{
	const struct workload_config *config = line->config;
	int64_t *stamps[] = { &op.call_first_ns, &op.call_last_ns, &op.reply_first_ns, &op.reply_last_ns };
	int64_t since_ns = op.call_first_ns - START_NS;

	if (trace_rng_chance(&line->rng, config->lost[side]) || since_ns < config->begin_ns[side] ||
	    (config->end_ns[side] != 0 && since_ns > config->end_ns[side]))
		return;
	op.outcome = OP_ANSWERED;
	op.valid |= OP_TIMES | OP_HAS_STATUS | OP_HAS_OFFSET;
	op.file_offset = id;
	/* the order of the packets, whatever the clocks show */
	op.call_order = (uint64_t)op.call_first_ns;
	op.reply_order = (uint64_t)op.reply_first_ns;
	if (trace_rng_chance(&line->rng, config->cut[side])) {
		op.outcome = OP_LOST_IN_CAPTURE;
		op.valid &= ~(uint32_t)(OP_HAS_REPLY_FIRST | OP_HAS_REPLY_LAST | OP_HAS_STATUS);
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(stamps); i++)
		*stamps[i] = side == PAIR_SERVER ? server_clock(config, *stamps[i]) :
		    client_clock(config, line->client, *stamps[i]);
	set_addresses(line, side, &op);
	op.print.prefixes = (uint8_t)MIN(op.print.prefixes, config->prefixes[side]);
	op.print.length_known = !config->no_length[side];
	if (side == PAIR_CLIENT && line->client >= config->clients)
		return;
	g_array_append_val(line->ops[side], op);
	line->workload->calls[id].seen[side] = true;
	line->workload->calls[id].full[side] = op_has(&op, OP_TIMES);
}

static int64_t
delay_ns(struct line *line)
{
	return line->config->delay_ns + exponential_ns(&line->rng, line->config->jitter_ns);
}

/* When the client has its reply. */
static int64_t
make_call(struct line *line, unsigned id, unsigned epoch, int64_t at_ns)
{
	const struct workload_config *config = line->config;
	struct nfs_op client = { .xid = line->xid, .program = 100003, .version = 3 };
	struct nfs_op server;
	int64_t call_ns = exponential_ns(&line->rng, config->jitter_ns) / 4;
	int64_t reply_ns = exponential_ns(&line->rng, config->jitter_ns) / 4;

	client.connection = 1 + line->connection + (uint64_t)epoch * 1000 + line->client * UINT64_C(1000000);
	set_args(line, &client, id);
	server = client;
	client.call_first_ns = at_ns;
	client.call_last_ns = at_ns + call_ns;
	server.call_first_ns = client.call_first_ns + delay_ns(line);
	server.call_last_ns = max_ns(server.call_first_ns, client.call_last_ns + delay_ns(line));
	server.reply_first_ns = server.call_last_ns + 10 * NS_PER_US +
	    exponential_ns(&line->rng, config->service_ns);
	server.reply_last_ns = server.reply_first_ns + reply_ns;
	client.reply_first_ns = server.reply_first_ns + delay_ns(line);
	client.reply_last_ns = max_ns(client.reply_first_ns, server.reply_last_ns + delay_ns(line));
	if (trace_rng_chance(&line->rng, config->resent)) {
		/* The client's capture shows the connection of the first copy, the server's that of the second. */
		client.retransmits = 1;
		server.connection += 500;
		line->connection += 500;
		add_op(line, PAIR_SERVER, server, id);
		line->connection -= 500;
	} else {
		add_op(line, PAIR_SERVER, server, id);
	}
	if (trace_rng_chance(&line->rng, config->doubled)) {
		server.reply_last_ns += 1;
		add_op(line, PAIR_SERVER, server, id);
	}
	add_op(line, PAIR_CLIENT, client, id);
	return client.reply_last_ns;
}

/* ---- a connection ---- */

static bool
in_flight(const struct line *line, uint32_t xid, int64_t at_ns)
{
	for (unsigned i = 0; i < line->config->slots; i++)
		if (line->free_ns[i] > at_ns && line->used[i] == xid)
			return true;
	return false;
}

static void
next_xid(struct line *line, int64_t at_ns)
{
	do {
		line->xid++;
		if (line->config->xid_modulus != 0)
			line->xid %= line->config->xid_modulus;
	} while (in_flight(line, line->xid, at_ns));
}

static void
make_connection(struct line *line, unsigned *id)
{
	const struct workload_config *config = line->config;
	int64_t start_ns = START_NS +
	    (int64_t)trace_rng_below(&line->rng, (uint64_t)config->start_spread_ns + 1);

	for (unsigned epoch = 0; epoch < config->epochs; epoch++) {
		line->xid = config->equal_xids ? 0 : (uint32_t)trace_rng_next(&line->rng);
		for (unsigned i = 0; i < config->slots; i++)
			line->free_ns[i] = start_ns;
		for (unsigned i = 0; i < config->calls / config->epochs; i++) {
			unsigned slot = 0;
			int64_t at_ns;

			for (unsigned j = 1; j < config->slots; j++)
				if (line->free_ns[j] < line->free_ns[slot])
					slot = j;
			at_ns = line->free_ns[slot] + 1 * NS_PER_US + exponential_ns(&line->rng, config->think_ns);
			next_xid(line, at_ns);
			line->used[slot] = line->xid;
			line->free_ns[slot] = make_call(line, (*id)++, epoch, at_ns);
		}
		for (unsigned i = 0; i < config->slots; i++)
			start_ns = max_ns(start_ns, line->free_ns[i]);
		start_ns += NS_PER_MS;
	}
}

/* ---- all of them ---- */

static int
compare_ops(const void *a, const void *b)
{
	const struct nfs_op *x = a, *y = b;
	int64_t x_ns = op_order_ns(x), y_ns = op_order_ns(y);

	if (x_ns != y_ns)
		return x_ns < y_ns ? -1 : 1;
	return x->file_offset < y->file_offset ? -1 : x->file_offset > y->file_offset;
}

static void
finish_capture(struct workload_capture *capture, GArray *ops)
{
	g_array_sort(ops, compare_ops);
	capture->count = ops->len;
	for (unsigned i = 0; i < ops->len; i++) {
		struct nfs_op *op = &g_array_index(ops, struct nfs_op, i);

		op->call_frame = 2 * i + 1;
		op->reply_frame = 2 * i + 2;
	}
	capture->ops = (struct nfs_op *)(void *)g_array_free(ops, FALSE);
}

struct workload *
workload_new(const struct workload_config *config)
{
	struct workload *workload = g_new0(struct workload, 1);
	unsigned all = config->clients + config->strangers;
	unsigned id = 0;
	GArray *server = g_array_new(FALSE, FALSE, sizeof(struct nfs_op));

	workload->call_count = all * config->connections * config->calls;
	workload->calls = g_new0(struct workload_call, workload->call_count);
	for (unsigned client = 0; client < all; client++) {
		GArray *ops = g_array_new(FALSE, FALSE, sizeof(struct nfs_op));

		for (unsigned i = 0; i < config->connections; i++) {
			struct line line = {
				.config = config,
				.workload = workload,
				.ops = { [PAIR_SERVER] = server, [PAIR_CLIENT] = ops },
				.client = client,
				.connection = i,
			};

			trace_rng_init(&line.rng, config->seed, config->lockstep ? i : client * 1000 + i);
			make_connection(&line, &id);
		}
		if (client < config->clients)
			finish_capture(&workload->capture[1 + client], ops);
		else
			g_array_free(ops, TRUE);
	}
	finish_capture(&workload->capture[0], server);
	for (unsigned i = 0; i < workload->call_count; i++) {
		const struct workload_call *call = &workload->calls[i];

		if (call->full[0] && call->full[1])
			workload->both_full++;
		else if (call->seen[0] && call->seen[1])
			workload->both_seen++;
	}
	return workload;
}

void
workload_free(struct workload *workload)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(workload->capture); i++)
		g_free(workload->capture[i].ops);
	g_free(workload->calls);
	g_free(workload);
}
