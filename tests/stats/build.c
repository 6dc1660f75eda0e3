#include "stats/build.h"

#include <string.h>

enum { SEND_NS = 1000, ANSWER_NS = 500, WAY_NS = 20000 };

static struct net_endpoint
endpoint(uint8_t host, uint16_t port)
{
	return (struct net_endpoint){
		.address = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = host },
		.port = port,
	};
}

struct nfs_op
build_op(uint32_t procedure, int64_t call_ns, int64_t latency_ns)
{
	int64_t call_first_ns = BUILD_EPOCH_NS + call_ns;

	return (struct nfs_op){
		.call_first_ns = call_first_ns,
		.call_last_ns = call_first_ns + SEND_NS,
		.reply_first_ns = call_first_ns + SEND_NS + latency_ns,
		.reply_last_ns = call_first_ns + SEND_NS + latency_ns + ANSWER_NS,
		.call_frame = 11,
		.reply_frame = 12,
		.connection = 1,
		.client = endpoint(1, 700),
		.server = endpoint(2, 2049),
		.xid = 0xabcd,
		.program = NFS_PROGRAM,
		.version = 3,
		.procedure = procedure,
		.operation = procedure,
		.valid = OP_TIMES | OP_HAS_STATUS,
		.outcome = OP_ANSWERED,
	};
}

void
build_data(struct nfs_op *op, uint64_t file, uint64_t offset, uint32_t requested, uint32_t moved)
{
	op->file = file;
	op->file_offset = offset;
	op->requested_bytes = requested;
	op->moved_bytes = moved;
	op->valid |= OP_HAS_FILE | OP_HAS_OFFSET | OP_HAS_REQUESTED | OP_HAS_MOVED;
}

struct op_pair
build_pair(const struct nfs_op *client, int64_t server_ns)
{
	struct op_pair pair = {
		.op = { *client, *client },
		.has = { true, true },
		.match = MATCH_MATCHED,
		.client_id = 1, .server_id = 1, .connection_id = 1, .file_id = 1,
	};
	struct nfs_op *server = &pair.op[PAIR_SERVER];

	server->call_first_ns += WAY_NS;
	server->call_last_ns += WAY_NS;
	server->reply_first_ns = server->call_last_ns + server_ns;
	server->reply_last_ns = server->reply_first_ns + ANSWER_NS;
	server->call_frame = 21;
	server->reply_frame = 22;
	pair.parts.total_ns = client->reply_last_ns - client->call_first_ns;
	pair.parts.server_ns = server_ns;
	pair.parts.network_ns = pair.parts.total_ns - server_ns;
	return pair;
}

uint32_t
build_random(uint64_t *state, uint32_t limit)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*state >> 32) % limit);
}
