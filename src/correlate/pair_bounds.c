#include "correlate/pair_bounds.h"

void
resolution_init(struct resolution *resolution)
{
	resolution->begun = false;
	resolution->unit_ns = 1000;
}

void
resolution_learn(struct resolution *resolution, const struct nfs_op *op)
{
	const int64_t stamp_ns[4] = { op->call_first_ns, op->call_last_ns, op->reply_first_ns, op->reply_last_ns };

	if (resolution->unit_ns == 1)
		return;
	if (!resolution->begun)
		resolution->origin_ns = op->call_first_ns;
	resolution->begun = true;
	for (unsigned i = 0; i < 4 && resolution->unit_ns > 1; i++) {
		int64_t distance = wrapping_minus(stamp_ns[i], resolution->origin_ns);

		if (resolution->unit_ns == 1000 && distance % 1000 != 0)
			resolution->unit_ns = 100;
		if (resolution->unit_ns == 100 && distance % 100 != 0)
			resolution->unit_ns = 1;
	}
}

/* Adds what one packet says, unless the bound before it implies it or it implies that one. */
static inline unsigned
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
pair_bounds(const struct op_pair *pair, const struct resolution resolution[2], struct bound bound[PAIR_BOUNDS])
{
	const struct nfs_op *server = &pair->op[PAIR_SERVER], *client = &pair->op[PAIR_CLIENT];
	unsigned flags = server->flags | client->flags, count = 0;
	int64_t tolerance_ns;

	/* Where a sender's two stamps are of one packet, the receiver's second one says less than its first. */
	if (server->retransmits > 0 || client->retransmits > 0)
		return 0;
	/* a retransmission is later than the truth at its sender, and at the receiver that is no harm */
	if (!(flags & OP_CALL_TIME_DEDUCED) && !(client->flags & (OP_CALL_TIME_FILLED | OP_CALL_TIME_STALE))) {
		tolerance_ns = resolution[PAIR_SERVER].unit_ns - 1;
		count = add_bound(bound, count, server->call_first_ns, client->call_first_ns, tolerance_ns, true);
		if (client->call_last_ns != client->call_first_ns)
			count = add_bound(bound, count, server->call_last_ns, client->call_last_ns, tolerance_ns, true);
	}
	if (!(flags & OP_REPLY_TIME_DEDUCED) && !(server->flags & (OP_REPLY_TIME_FILLED | OP_REPLY_TIME_STALE))) {
		tolerance_ns = resolution[PAIR_CLIENT].unit_ns - 1;
		count = add_bound(bound, count, server->reply_first_ns, client->reply_first_ns, tolerance_ns, false);
		if (server->reply_last_ns != server->reply_first_ns)
			count = add_bound(bound, count, server->reply_last_ns, client->reply_last_ns, tolerance_ns, false);
	}
	return count;
}
