/*
 * A COMPOUND that one capture cut in front of its main operation is named by
 * the other.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/arith.h"
#include "correlate/correlate.h"

enum { GETATTR = 9, READ = 25, COMPOUND = 1, CALLS = 4 };

struct found {
	unsigned pairs;
	struct op_pair pair[CALLS];	/* by XID */
};

static void
keep(void *context, const struct op_pair *pair)
{
	struct found *found = context;

	cr_assert(pair->has[PAIR_SERVER] && pair->has[PAIR_CLIENT]);
	cr_assert_lt(pair_op(pair)->xid, (unsigned)CALLS);
	found->pair[pair_op(pair)->xid] = *pair;
	found->pairs++;
}

/* A call as one side saw it, of a COMPOUND of which no more than this was seen. */
static struct nfs_op
compound(uint32_t xid, enum pair_side side, uint32_t minor, uint32_t operation, enum op_class class)
{
	int64_t start_ns = xid * NS_PER_MS + (side == PAIR_SERVER ? 100 * NS_PER_US : 0);
	int64_t end_ns = xid * NS_PER_MS + (side == PAIR_SERVER ? 300 : 400) * NS_PER_US;
	struct nfs_op op = {
		.xid = xid, .program = 100003, .version = 4, .procedure = COMPOUND,
		.minor = minor, .operation = operation, .operation_class = (uint8_t)class,
		.call_first_ns = start_ns, .call_last_ns = start_ns, .reply_first_ns = end_ns, .reply_last_ns = end_ns,
		.connection = 1, .client = { .address = { 1 }, .port = 700 }, .server = { .address = { 2 }, .port = 2049 },
		.print = { .args_len = 100 + xid, .length_known = true, .prefixes = 1, .prefix = { xid } },
		.outcome = OP_ANSWERED, .valid = OP_TIMES,
	};

	if (operation == READ) {
		op.file_offset = 4096;
		op.valid |= OP_HAS_OFFSET;
	}
	return op;
}

Test(compound, the_other_side_names_it)
{
	const struct correlate_config config = { .clients = 1 };
	struct found found = { 0 };
	struct correlate *correlate = correlate_new(&config, keep, &found);
	const struct nfs_op ops[CALLS][2] = {
		/* the server's capture cut it; the client's did; a part of it was seen; nothing */
		{ compound(0, PAIR_SERVER, OP_MINOR_UNKNOWN, COMPOUND, OP_CLASS_NONE),
		    compound(0, PAIR_CLIENT, 1, READ, OP_CLASS_DATA) },
		{ compound(1, PAIR_SERVER, 2, READ, OP_CLASS_DATA),
		    compound(1, PAIR_CLIENT, OP_MINOR_UNKNOWN, COMPOUND, OP_CLASS_NONE) },
		{ compound(2, PAIR_SERVER, 1, GETATTR, OP_CLASS_ATTRIBUTES),
		    compound(2, PAIR_CLIENT, 1, READ, OP_CLASS_DATA) },
		{ compound(3, PAIR_SERVER, OP_MINOR_UNKNOWN, COMPOUND, OP_CLASS_NONE),
		    compound(3, PAIR_CLIENT, OP_MINOR_UNKNOWN, COMPOUND, OP_CLASS_NONE) },
	};

	for (unsigned i = 0; i < CALLS; i++) {
		correlate_push(correlate, 0, &ops[i][PAIR_SERVER]);
		correlate_push(correlate, 1, &ops[i][PAIR_CLIENT]);
	}
	correlate_finish(correlate);
	correlate_free(correlate);
	cr_assert_eq(found.pairs, CALLS);
	for (unsigned i = 0; i < CALLS; i++)
		for (unsigned side = 0; side < 2; side++) {
			const struct nfs_op *op = &found.pair[i].op[side];

			cr_assert_eq(op->operation, i < 3 ? READ : COMPOUND, "call %u side %u", i, side);
			cr_assert_eq(op->minor, i == 1 ? 2u : i < 3 ? 1u : (unsigned)OP_MINOR_UNKNOWN, "call %u side %u", i, side);
			cr_assert(i == 3 || op->operation_class == OP_CLASS_DATA);
		}
	cr_assert_not(op_has(&found.pair[0].op[PAIR_SERVER], OP_HAS_OFFSET), "the name, not what was not seen there");
	cr_assert(op_has(&found.pair[0].op[PAIR_CLIENT], OP_HAS_OFFSET));
}
