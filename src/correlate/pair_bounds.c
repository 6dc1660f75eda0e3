#include "correlate/pair_bounds.h"

#include "base/arith.h"

/*
 * The stamps themselves tell: that all are multiples of 8 and two of them of
 * 1000 does not come by chance. Divisions are what costs here.
 */
int64_t
resolution_ns(const struct nfs_op *op)
{
	int64_t all = op->call_first_ns | op->call_last_ns | op->reply_first_ns | op->reply_last_ns;
	int64_t first = op->call_first_ns, last = op->reply_last_ns;

	if (all % 4 != 0)
		return 0;
	if (all % 8 == 0 && first % NS_PER_US == 0 && last % NS_PER_US == 0)
		return first % NS_PER_MS == 0 && last % NS_PER_MS == 0 ? NS_PER_MS - 1 : NS_PER_US - 1;
	return first % 100 == 0 && last % 100 == 0 ? 99 : 0;
}

/* Adds what one packet says, unless the bound before it implies it or it implies that one. */
static unsigned
add_bound(struct bound *bound, unsigned count, int64_t server_ns, int64_t client_ns, int64_t tolerance_ns, bool upper)
{
	struct bound added = { .at_ns = server_ns, .upper = upper };
	int64_t lead, reach;

	if (__builtin_sub_overflow(server_ns, client_ns, &added.offset_ns) ||
	    __builtin_add_overflow(added.offset_ns, upper ? tolerance_ns : -tolerance_ns, &added.offset_ns))
		return count;
	if (count == 0 || bound[count - 1].upper != upper) {
		bound[count] = added;
		return count + 1;
	}
	/* What the offset may change between the two, rounded up in either direction: 1/512 > 1/1000. */
	reach = distance_ns(server_ns, bound[count - 1].at_ns) / 512;
	lead = distance_ns(added.offset_ns, bound[count - 1].offset_ns);
	if (lead < reach)
		bound[count++] = added;
	else if (upper == (added.offset_ns < bound[count - 1].offset_ns))
		bound[count - 1] = added;
	return count;
}

unsigned
pair_bounds(const struct op_pair *pair, struct bound bound[PAIR_BOUNDS])
{
	const struct nfs_op *server = &pair->op[PAIR_SERVER], *client = &pair->op[PAIR_CLIENT];
	unsigned flags = server->flags | client->flags, count = 0;
	int64_t tolerance_ns;

	/* Where a sender's two stamps are of one packet, the receiver's second one says less than its first. */
	if (server->retransmits > 0 || client->retransmits > 0)
		return 0;
	if (!(flags & OP_CALL_TIME_DEDUCED)) {
		tolerance_ns = resolution_ns(server);
		count = add_bound(bound, count, server->call_first_ns, client->call_first_ns, tolerance_ns, true);
		if (client->call_last_ns != client->call_first_ns)
			count = add_bound(bound, count, server->call_last_ns, client->call_last_ns, tolerance_ns, true);
	}
	if (!(flags & OP_REPLY_TIME_DEDUCED)) {
		tolerance_ns = resolution_ns(client);
		count = add_bound(bound, count, server->reply_first_ns, client->reply_first_ns, tolerance_ns, false);
		if (server->reply_last_ns != server->reply_first_ns)
			count = add_bound(bound, count, server->reply_last_ns, client->reply_last_ns, tolerance_ns, false);
	}
	return count;
}
