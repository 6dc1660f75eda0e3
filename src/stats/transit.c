#include "stats/transit.h"

#include "stats/rows.h"

/* A stamp that was deduced, or that is a retransmission's, says nothing about the way. */
static bool
has_own_stamps(const struct op_pair *pair)
{
	static const unsigned doubtful = OP_CALL_TIME_DEDUCED | OP_REPLY_TIME_DEDUCED | OP_CALL_TIME_FILLED |
	    OP_REPLY_TIME_FILLED;

	return ((pair->op[PAIR_SERVER].flags | pair->op[PAIR_CLIENT].flags) & doubtful) == 0 &&
	    pair->op[PAIR_SERVER].retransmits == 0 && pair->op[PAIR_CLIENT].retransmits == 0;
}

void
transit_add(struct transit *transit, const struct op_pair *pair, uint32_t size_bytes)
{
	const struct nfs_op *server = &pair->op[PAIR_SERVER], *client = &pair->op[PAIR_CLIENT];
	int64_t way_ns;

	transit->calls++;
	transit->total_ns += pair->parts.total_ns;
	transit->server_ns += pair->parts.server_ns;
	transit->network_ns += pair->parts.network_ns;
	if (!has_own_stamps(pair))
		return;
	way_ns = duration_ns(duration_ns(server->call_last_ns, server->reply_last_ns),
	    duration_ns(client->call_last_ns, client->reply_last_ns));
	dist_add_here(&transit->all, way_ns);
	if (size_bytes < TRANSIT_DATA_BYTES)
		return;
	if (op_reads(client))
		dist_add_here(&transit->data[PAIR_CLIENT], way_ns);
	else if (op_writes(client))
		dist_add_here(&transit->data[PAIR_SERVER], way_ns);
}

void
transit_merge(struct transit *into, const struct transit *from)
{
	dist_merge(&into->all, &from->all);
	dist_merge(&into->data[PAIR_SERVER], &from->data[PAIR_SERVER]);
	dist_merge(&into->data[PAIR_CLIENT], &from->data[PAIR_CLIENT]);
	into->calls += from->calls;
	into->total_ns += from->total_ns;
	into->server_ns += from->server_ns;
	into->network_ns += from->network_ns;
}

void
transit_clear(struct transit *transit)
{
	dist_clear(&transit->all);
	dist_clear(&transit->data[PAIR_SERVER]);
	dist_clear(&transit->data[PAIR_CLIENT]);
}

void
transit_reset(struct transit *transit)
{
	dist_reset(&transit->all);
	dist_reset(&transit->data[PAIR_SERVER]);
	dist_reset(&transit->data[PAIR_CLIENT]);
	transit->calls = 0;
	transit->total_ns = transit->server_ns = transit->network_ns = 0;
}

void
transit_copy(struct transit *copy, const struct transit *transit)
{
	*copy = *transit;
	dist_copy(&copy->all, &transit->all);
	dist_copy(&copy->data[PAIR_SERVER], &transit->data[PAIR_SERVER]);
	dist_copy(&copy->data[PAIR_CLIENT], &transit->data[PAIR_CLIENT]);
}

int64_t
transit_base_ns(const struct transit *transit)
{
	int64_t common_ns = dist_quantile(&transit->all, 10);

	return transit->all.min_ns >= common_ns / 2 ? transit->all.min_ns : common_ns;
}
