/*
 * COMPOUNDs from words written by hand: every operation is stepped over to its
 * last byte, what is kept is right, and a body that is cut loses fields only.
 */
#include <criterion/criterion.h>
#include <nfscorr/decoder.h>
#include <string.h>

#include "decoders/nfs4_samples.h"

enum {
	MOST = 512,
	COMPOUND = 1,
	PUTFH = 22, PUTROOTFH = 24, READ = 25, WRITE = 38, GETATTR = 9, LOOKUP = 15, OPEN = 18, SEQUENCE = 53,
	COMMIT = 5, ACCESS = 3, GETFH = 10, SAVEFH = 32, RESTOREFH = 31, ILLEGAL = 10044,
	STALE = 70, DELAY = 10008,
};

struct body {
	uint8_t bytes[MOST * 4];
	uint32_t len;
};

#define PUT(body, ...) put_words(body, (const uint32_t[]){ __VA_ARGS__ }, \
	    sizeof (const uint32_t[]){ __VA_ARGS__ } / sizeof(uint32_t))
#define SESSION 0x51525354, 0x55565758, 0x595a5b5c, 0x5d5e5f60
#define STATEID 1, 2, 3, 4
#define PUT_SEQUENCE SEQUENCE, SESSION, 21, 3, 5, 1
#define SEQUENCE_DONE SEQUENCE, 0, SESSION, 21, 3, 63, 31, 0
#define HANDLE_A 4, 0xaaaaaaaa
#define HANDLE_B 8, 0xbbbbbbbb, 0xbbbbbbbb

static const struct decoder *
decoder_of(uint32_t program, uint32_t version)
{
	for (const struct decoder *const *decoder = decoders; *decoder != NULL; decoder++)
		if ((*decoder)->program == program && (*decoder)->version == version)
			return *decoder;
	cr_assert_fail("no decoder");
	return NULL;
}

static const struct decoder *
nfs4(void)
{
	return decoder_of(100003, 4);
}

static void
put_words(struct body *body, const uint32_t *words, size_t count)
{
	cr_assert_leq(body->len + count * 4, sizeof body->bytes);
	for (size_t i = 0; i < count; i++)
		for (unsigned shift = 32; shift > 0; shift -= 8)
			body->bytes[body->len++] = (uint8_t)(words[i] >> (shift - 8));
}

static struct nfs_op
new_op(void)
{
	return (struct nfs_op){ .program = 100003, .version = 4, .procedure = COMPOUND, .operation = COMPOUND,
	    .minor = OP_MINOR_UNKNOWN, .operation_class = OP_CLASS_NONE };
}

/* Reads the first cap bytes; those behind were not captured, or have not come. */
static struct xdr_cursor
decode(const struct body *body, decode_fn *function, uint32_t cap, enum xdr_status beyond, struct nfs_op *op)
{
	struct xdr_cursor cursor = { .data = body->bytes, .cap = cap, .total = body->len, .beyond = (uint8_t)beyond };

	function(&cursor, op);
	return cursor;
}

static struct nfs_op
read_call(const struct body *body, uint32_t cap)
{
	struct nfs_op op = new_op();

	decode(body, nfs4()->procedures[COMPOUND].call, cap, XDR_HOLE, &op);
	return op;
}

static enum xdr_status
read_reply(const struct body *body, uint32_t cap, struct nfs_op *op)
{
	return (enum xdr_status)decode(body, nfs4()->procedures[COMPOUND].reply, cap, XDR_HOLE, op).status;
}

static bool
is_handle(const struct nfs_op *op, uint8_t fill, uint32_t len)
{
	uint8_t bytes[128];

	memset(bytes, fill, len);
	return op->handle_len == len && memcmp(op->handle, bytes, len) == 0;
}

/* ---- stepping over ---- */

static void
check_call(const struct decoder *decoder, const struct nfs4_sample *sample, bool callback)
{
	struct body body = { .len = 0 };
	struct nfs_op op = new_op();
	struct xdr_cursor cursor;

	PUT(&body, 0, 1);
	if (callback)
		PUT(&body, 1);
	PUT(&body, 2, sample->operation);
	put_words(&body, sample->call, sample->call_words);
	PUT(&body, ILLEGAL);
	cursor = decode(&body, decoder->procedures[COMPOUND].call, body.len, XDR_HOLE, &op);
	cr_assert_eq(cursor.status, XDR_FINE, "%s", sample->name);
	cr_assert_eq(cursor.off, body.len, "%s ends at %u of %u", sample->name, cursor.off, body.len);
	cr_assert(op.operations_all, "%s", sample->name);
	cr_assert_eq(op.operations_seen, 2);
	cr_assert_eq(op.operations[0], sample->operation);
	cr_assert_eq(op.operations[1], OP_LIST_OTHER);
}

static void
check_reply(const struct decoder *decoder, const struct nfs4_sample *sample)
{
	struct body body = { .len = 0 };
	struct nfs_op op = new_op();
	struct xdr_cursor cursor;

	PUT(&body, 0, 0, 2, sample->operation, 0);
	put_words(&body, sample->reply, sample->reply_words);
	PUT(&body, ILLEGAL, 10044);
	cursor = decode(&body, decoder->procedures[COMPOUND].reply, body.len, XDR_HOLE, &op);
	cr_assert_eq(cursor.status, XDR_FINE, "%s", sample->name);
	cr_assert_eq(cursor.off, body.len, "%s ends at %u of %u", sample->name, cursor.off, body.len);
}

Test(nfs4, every_operation_is_stepped_over)
{
	for (const struct nfs4_sample *sample = nfs4_samples; sample->name != NULL; sample++) {
		check_call(nfs4(), sample, false);
		check_reply(nfs4(), sample);
	}
	for (const struct nfs4_sample *sample = nfs4cb_samples; sample->name != NULL; sample++) {
		check_call(decoder_of(0x40000000, 1), sample, true);
		check_reply(decoder_of(0x40000000, 1), sample);
	}
}

Test(nfs4, every_operation_is_named)
{
	const struct nfs4_sample *sample = nfs4_samples;

	for (uint32_t operation = 3; operation <= 75; operation++) {
		while (sample->operation < operation)
			sample++;
		cr_assert_eq(sample->operation, operation);
		cr_assert_str_eq(nfs4()->operation_name(operation), sample->name);
	}
	cr_assert_str_eq(nfs4()->operation_name(ILLEGAL), "ILLEGAL");
	cr_assert_null(nfs4()->operation_name(0));
	cr_assert_null(nfs4()->operation_name(2));
	cr_assert_null(nfs4()->operation_name(76));
	cr_assert_null(nfs4()->operation_name(UINT32_MAX));
	for (sample = nfs4cb_samples; sample->name != NULL; sample++)
		cr_assert_str_eq(decoder_of(0x40000000, 1)->operation_name(sample->operation), sample->name);
}

/* Cut at any byte, a body is no contradiction; and while more may come, it is asked for. */
Test(nfs4, every_operation_cut_everywhere)
{
	for (const struct nfs4_sample *sample = nfs4_samples; sample->name != NULL; sample++) {
		struct body call = { .len = 0 }, reply = { .len = 0 };

		PUT(&call, 0, 1, 1, sample->operation);
		put_words(&call, sample->call, sample->call_words);
		PUT(&reply, 0, 0, 1, sample->operation, 0);
		put_words(&reply, sample->reply, sample->reply_words);
		for (uint32_t cap = 0; cap < call.len; cap++) {
			struct nfs_op op = read_call(&call, cap);

			cr_assert(cap < 16 || op.operation == sample->operation, "%s at %u", sample->name, cap);
			cr_assert(cap >= 16 || op.operation == COMPOUND);
			cr_assert_eq(op.minor, cap < 8 ? (uint32_t)OP_MINOR_UNKNOWN : 1);
		}
		for (uint32_t cap = 0; cap < reply.len; cap++) {
			struct nfs_op op = new_op();

			cr_assert_neq(read_reply(&reply, cap, &op), XDR_MALFORMED, "%s at %u", sample->name, cap);
			cr_assert_eq((op.valid & OP_HAS_STATUS) != 0, cap >= 4);
			op = new_op();
			cr_assert_neq(decode(&reply, nfs4()->procedures[COMPOUND].reply, cap, XDR_SHORT, &op).status,
			    XDR_MALFORMED);
		}
	}
}

/* A record that is too short for what it begins with contradicts itself. */
Test(nfs4, every_operation_too_short)
{
	for (const struct nfs4_sample *sample = nfs4_samples; sample->name != NULL; sample++) {
		struct body call = { .len = 0 };
		struct nfs_op op = new_op();

		if (sample->call_words == 0)
			continue;
		PUT(&call, 0, 1, 1, sample->operation);
		put_words(&call, sample->call, sample->call_words - 1);
		cr_assert_eq(decode(&call, nfs4()->procedures[COMPOUND].call, call.len, XDR_HOLE, &op).status,
		    XDR_MALFORMED, "%s", sample->name);
		cr_assert_eq(op.operation, sample->operation);
	}
}

/* ---- what is kept ---- */

Test(nfs4, read)
{
	struct body call = { .len = 0 }, reply = { .len = 0 };
	struct nfs_op op;

	/* tag "xy" */
	PUT(&call, 2, 0x78790000, 2, 4, PUT_SEQUENCE, PUTFH, HANDLE_A, READ, STATEID, 0x12, 0x3456789a, 65536,
	    GETATTR, 1, 0x18);
	op = read_call(&call, call.len);
	cr_assert_eq(op.minor, 2);
	cr_assert_eq(op.operation, READ);
	cr_assert_eq(op.operation_class, OP_CLASS_DATA);
	cr_assert_eq(op.valid, (uint32_t)(OP_HAS_FILE | OP_HAS_OFFSET | OP_HAS_REQUESTED | OP_HAS_SLOT | OP_HAS_SLOT_USED));
	cr_assert(is_handle(&op, 0xaa, 4));
	cr_assert_eq(op.file_offset, UINT64_C(0x123456789a));
	cr_assert_eq(op.requested_bytes, 65536);
	cr_assert_eq(op.slot, 3);
	cr_assert_eq(op.slot_sequence, 21);
	cr_assert_eq(op.slot_used_highest, 5);
	cr_assert_eq(op.operations_seen, 4);
	cr_assert(op.operations_all);

	PUT(&reply, 0, 0, 4, SEQUENCE_DONE, PUTFH, 0, READ, 0, 1, 6, 0x01020304, 0x05060000, GETATTR, 0, 1, 0x18, 0);
	cr_assert_eq(read_reply(&reply, reply.len, &op), XDR_FINE);
	cr_assert_eq(op.status, 0);
	cr_assert(op_has(&op, OP_HAS_STATUS | OP_HAS_MOVED | OP_HAS_SLOT_LIMITS));
	cr_assert_eq(op.moved_bytes, 6);
	cr_assert_eq(op.slot_highest, 63);
	cr_assert_eq(op.slot_target, 31);
}

/* What stands in the call when it is cut has the value it has in the whole. */
Test(nfs4, read_cut_everywhere)
{
	struct body call = { .len = 0 };
	struct nfs_op whole;

	PUT(&call, 0, 1, 3, PUT_SEQUENCE, PUTFH, HANDLE_A, READ, STATEID, 0, 4096, 65536);
	whole = read_call(&call, call.len);
	for (uint32_t cap = 0; cap < call.len; cap++) {
		struct nfs_op op = read_call(&call, cap);

		/* twelve bytes in front of the operations, 36 of SEQUENCE, 12 of PUTFH */
		cr_assert_eq(op.operation, cap < 64 ? COMPOUND : READ, "%u: preparation names no call", cap);
		cr_assert_eq((op.valid & OP_HAS_SLOT) != 0, cap >= 40, "%u", cap);
		cr_assert_eq((op.valid & OP_HAS_FILE) != 0, cap >= 64, "%u", cap);
		cr_assert_eq((op.valid & OP_HAS_OFFSET) != 0, cap >= 88, "%u", cap);
		cr_assert_eq((op.valid & OP_HAS_REQUESTED) != 0, false);
		cr_assert(!op_has(&op, OP_HAS_SLOT) || (op.slot == whole.slot && op.session == whole.session));
		cr_assert(!op_has(&op, OP_HAS_FILE) || is_handle(&op, 0xaa, 4));
		cr_assert(!op_has(&op, OP_HAS_OFFSET) || op.file_offset == whole.file_offset);
	}
}

/* Behind the data nothing more is waited for. */
Test(nfs4, write)
{
	struct body call = { .len = 0 }, reply = { .len = 0 };
	struct nfs_op op = new_op();
	struct xdr_cursor cursor;

	PUT(&call, 0, 0, 3, PUTFH, HANDLE_A, WRITE, STATEID, 0, 8192, 2, 4095);
	for (unsigned i = 0; i < 64; i++)
		PUT(&call, i);
	call.len += 4095 + 1 - 64 * 4 + 12;	/* the data and a GETATTR, which are not here */
	cursor = decode(&call, nfs4()->procedures[COMPOUND].call, 64, XDR_SHORT, &op);
	cr_assert_eq(cursor.status, XDR_HOLE, "what is not needed is not asked for");
	cr_assert_eq(op.requested_bytes, 4095);
	cr_assert_eq(op.stable, 2);
	cr_assert_eq(op.file_offset, 8192);
	cr_assert_eq(op.operation, WRITE);
	PUT(&reply, 0, 0, 3, PUTFH, 0, WRITE, 0, 4095, 2, 7, 8, GETATTR, 0, 0, 0);
	cr_assert_eq(read_reply(&reply, reply.len, &op), XDR_FINE);
	cr_assert_eq(op.moved_bytes, 4095);
}

Test(nfs4, session)
{
	struct body reply = { .len = 0 }, other = { .len = 0 };
	struct nfs_op op = new_op(), sequence;

	PUT(&reply, 0, 0, 1, 43, 0, SESSION, 1, 3, 0, 4096, 4096, 2048, 8, 30, 0, 0, 4096, 4096, 0, 2, 16, 0);
	read_reply(&reply, reply.len, &op);
	cr_assert_eq(op.operation, 43, "named by its reply");
	cr_assert(op_has(&op, OP_HAS_GRANTED));
	cr_assert_eq(op.slots_granted, 30, "of the fore channel");
	PUT(&other, 0, 1, 1, PUT_SEQUENCE);
	sequence = read_call(&other, other.len);
	cr_assert_eq(sequence.operation, SEQUENCE, "alone it is what the call is for");
	cr_assert_eq(op.session, sequence.session);
}

/* CONTRACT: the first operation of the highest class. */
Test(nfs4, main_operation)
{
	static const struct {
		uint32_t main;
		uint32_t operations[5];
	} rows[] = {
		{ SEQUENCE, { SEQUENCE } },
		{ PUTROOTFH, { SEQUENCE, PUTROOTFH, GETFH } },
		{ GETATTR, { PUTROOTFH, GETFH, GETATTR } },
		{ LOOKUP, { PUTROOTFH, LOOKUP, GETATTR, LOOKUP } },
		{ COMMIT, { PUTROOTFH, GETATTR, COMMIT, GETATTR } },
		{ 29, { PUTROOTFH, SAVEFH, RESTOREFH, 29, GETATTR } },
		{ 50, { SEQUENCE, LOOKUP, 50 } },
		{ 8, { SEQUENCE, PUTROOTFH, 50, 8 } },
		{ 4, { SEQUENCE, 8, 50, 4, 29 } },
		{ 71, { SEQUENCE, PUTROOTFH, SAVEFH, 71, GETATTR } },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct body call = { .len = 0 };
		uint32_t count = 0;

		while (count < 5 && rows[i].operations[count] != 0)
			count++;
		PUT(&call, 0, 1, count);
		for (uint32_t k = 0; k < count; k++) {
			const struct nfs4_sample *sample = nfs4_samples;

			while (sample->operation != rows[i].operations[k])
				sample++;
			PUT(&call, sample->operation);
			put_words(&call, sample->call, sample->call_words);
		}
		cr_assert_eq(read_call(&call, call.len).operation, rows[i].main, "row %zu", i);
	}
}

/* The file of the main operation is the current file handle in front of it. */
Test(nfs4, current_file_handle)
{
	struct body call = { .len = 0 }, looked_up = { .len = 0 };
	struct nfs_op op;

	PUT(&call, 0, 0, 5, PUTFH, HANDLE_A, SAVEFH, PUTFH, HANDLE_B, RESTOREFH, COMMIT, 0, 0, 0);
	op = read_call(&call, call.len);
	cr_assert(is_handle(&op, 0xaa, 4));
	PUT(&looked_up, 0, 0, 3, PUTFH, HANDLE_A, LOOKUP, 1, 0x61000000, COMMIT, 0, 0, 0);
	op = read_call(&looked_up, looked_up.len);
	cr_assert_eq(op.operation, COMMIT);
	cr_assert_not(op_has(&op, OP_HAS_FILE), "what LOOKUP found is not in the call");
}

/* ---- replies and calls ---- */

/* Where the call was cut in front of its operations, the reply names it. */
Test(nfs4, reply_names_the_call)
{
	struct body call = { .len = 0 }, reply = { .len = 0 }, failed = { .len = 0 };

	PUT(&call, 0, 1, 3, PUT_SEQUENCE, PUTFH, HANDLE_A, READ, STATEID, 0, 4096, 65536);
	PUT(&reply, 0, 0, 3, SEQUENCE_DONE, PUTFH, 0, READ, 0, 1, 2, 0x61620000);
	PUT(&failed, STALE, 0, 2, SEQUENCE_DONE, PUTFH, STALE);
	for (uint32_t cap = 0; cap <= call.len; cap++) {
		struct nfs_op op = read_call(&call, cap);

		read_reply(&reply, reply.len, &op);
		cr_assert_eq(op.operation, READ, "%u", cap);
		cr_assert_eq(op.moved_bytes, 2);
		op = read_call(&call, cap);
		read_reply(&failed, failed.len, &op);
		cr_assert_eq(op.operation, cap < 64 ? COMPOUND : READ, "%u: the reply stops before it", cap);
		cr_assert_eq(op.status, STALE);
		cr_assert_not(op_has(&op, OP_HAS_MOVED));
	}
}

/* Attributes asked for in front of it: cut anywhere, in the call and in the reply, they never name it. */
Test(nfs4, what_stands_beside_it_does_not_name_a_cut_call)
{
	struct body call = { .len = 0 }, reply = { .len = 0 };
	bool named = false;

	PUT(&call, 0, 1, 4, PUT_SEQUENCE, PUTFH, HANDLE_A, GETATTR, 1, 8, READ, STATEID, 0, 4096, 65536);
	PUT(&reply, 0, 0, 4, SEQUENCE_DONE, PUTFH, 0, GETATTR, 0, 1, 8, 8, 0, 4096, READ, 0, 1, 2, 0x61620000);
	for (uint32_t cap = 0; cap <= call.len; cap++)
		for (uint32_t reply_cap = 0; reply_cap <= reply.len; reply_cap++) {
			struct nfs_op op = read_call(&call, cap);

			read_reply(&reply, reply_cap, &op);
			cr_assert(op.operation == READ || op.operation == COMPOUND, "%u, %u: %u", cap, reply_cap, op.operation);
			cr_assert(op.operation == READ || !op_has(&op, OP_HAS_FILE), "%u, %u", cap, reply_cap);
			named |= op.operation == READ && cap < call.len;
		}
	cr_assert(named);
}

Test(nfs4, a_failed_operation_moves_nothing)
{
	struct body call = { .len = 0 }, reply = { .len = 0 };
	struct nfs_op op;

	PUT(&call, 0, 0, 3, PUTFH, HANDLE_A, READ, STATEID, 0, 0, 4096, GETATTR, 0);
	op = read_call(&call, call.len);
	PUT(&reply, DELAY, 0, 2, PUTFH, 0, READ, DELAY);
	cr_assert_eq(read_reply(&reply, reply.len, &op), XDR_FINE);
	cr_assert_eq(op.status, DELAY);
	cr_assert_not(op_has(&op, OP_HAS_MOVED));
	cr_assert_eq(op.flags, 0);
}

/* A reply's operations are the first of its call's. */
Test(nfs4, other_reply)
{
	struct body call = { .len = 0 };
	static const struct {
		bool other;
		uint32_t words[12];
		unsigned count;
	} rows[] = {
		{ false, { 0, 0, 2, PUTROOTFH, 0, GETATTR, 0, 0, 0 }, 9 },
		{ false, { STALE, 0, 1, PUTROOTFH, STALE }, 5 },
		{ false, { 10021, 0, 0 }, 3 },			/* MINOR_VERS_MISMATCH */
		{ false, { 10044, 0, 1, ILLEGAL, 10044 }, 5 },
		{ true, { 0, 0, 2, PUTROOTFH, 0, GETFH, 0, 0 }, 8 },
		{ true, { STALE, 0, 1, PUTFH, STALE }, 5 },
		{ true, { 0, 0, 3, PUTROOTFH, 0, GETATTR, 0, 0, 0, SAVEFH, 0 }, 11 },
		{ true, { 0, 0, 1, 77, 0 }, 5 },
	};

	PUT(&call, 0, 0, 2, PUTROOTFH, GETATTR, 0);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct body reply = { .len = 0 };
		struct nfs_op op = read_call(&call, call.len);

		put_words(&reply, rows[i].words, rows[i].count);
		read_reply(&reply, reply.len, &op);
		cr_assert_eq((op.flags & OP_OTHER_REPLY) != 0, rows[i].other, "row %zu", i);
	}
}

/* It names nothing, although it begins as the call does. */
Test(nfs4, other_reply_of_a_cut_call)
{
	enum { UP_TO_GETATTR = 20 };
	struct body call = { .len = 0 }, reply = { .len = 0 };
	struct nfs_op op;

	PUT(&call, 0, 0, 3, PUTROOTFH, GETATTR, 0, READ, STATEID, 0, 0, 4096);
	PUT(&reply, 0, 0, 2, PUTROOTFH, 0, GETFH, 0, 0);
	op = read_call(&call, UP_TO_GETATTR);
	cr_assert_eq(op.operation, COMPOUND);
	read_reply(&reply, reply.len, &op);
	cr_assert_neq(op.flags & OP_OTHER_REPLY, 0);
	cr_assert_eq(op.operation, COMPOUND);
	cr_assert_eq(op.operation_class, OP_CLASS_NONE);
}

/* HOSTILE 25: what came before an unknown operation is kept, the rest is opaque. */
Test(nfs4, unknown_operation)
{
	struct body call = { .len = 0 }, reply = { .len = 0 };
	struct nfs_op op;

	PUT(&call, 0, 2, 4, PUT_SEQUENCE, PUTFH, HANDLE_A, 4711, 0xffffffff, 0xffffffff, 0xffffffff);
	op = read_call(&call, call.len);
	cr_assert_eq(op.operation, 4711);
	cr_assert_eq(op.operation_class, OP_CLASS_OTHER);
	cr_assert_eq(op.operations_seen, 3);
	cr_assert_not(op.operations_all);
	cr_assert(is_handle(&op, 0xaa, 4));
	cr_assert_eq(op.slot, 3);
	PUT(&reply, 0, 0, 4, SEQUENCE_DONE, PUTFH, 0, 4711, 0, 0xffffffff, 0xffffffff);
	cr_assert_eq(read_reply(&reply, reply.len, &op), XDR_FINE);
	cr_assert_eq(op.slot_target, 31);
	cr_assert_eq(op.flags, 0);

	call.len = 0;
	PUT(&call, 0, 2, 3, PUTFH, HANDLE_A, READ, STATEID, 0, 0, 4096, 4711, 0xffffffff);
	op = read_call(&call, call.len);
	cr_assert_eq(op.operation, READ);
	cr_assert_eq(op.requested_bytes, 4096);
}

/* So is what follows a choice that the protocol does not have: a claim of OPEN, a protection of EXCHANGE_ID, ... */
Test(nfs4, unknown_choice)
{
	static const struct {
		uint32_t operation, words[12];
		unsigned count;
	} rows[] = {
		{ OPEN, { 0, 0, 0, 0, 0, 0, 2 }, 7 },			/* opentype4 */
		{ OPEN, { 0, 0, 0, 0, 0, 0, 1, 4 }, 8 },		/* createmode4 */
		{ OPEN, { 0, 0, 0, 0, 0, 0, 0, 7 }, 8 },		/* open_claim_type4 */
		{ 42, { 0, 0, 0, 0, 3 }, 5 },				/* state_protect_how4 */
		{ 40, { 0, 1, 5 }, 3 },					/* a flavor */
		{ 56, { 0, 2 }, 2 },					/* deleg_claim4 */
		{ 61, { 0, 0, 0, 0, 4 }, 5 },				/* netloc_type4 */
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct body call = { .len = 0 };
		struct nfs_op op = new_op();

		PUT(&call, 0, 1, 2, rows[i].operation);
		put_words(&call, rows[i].words, rows[i].count);
		PUT(&call, 0xffffffff, 0xffffffff, 0xffffffff);
		cr_assert_eq(decode(&call, nfs4()->procedures[COMPOUND].call, call.len, XDR_HOLE, &op).status, XDR_HOLE,
		    "row %zu", i);
		cr_assert_eq(op.operation, rows[i].operation);
		cr_assert_not(op.operations_all);
	}
}

/* Bits of attributes that nobody knows stand in front of an opaque like any other. */
Test(nfs4, unknown_attribute_bit)
{
	struct body call = { .len = 0 }, reply = { .len = 0 };
	struct nfs_op op;

	PUT(&call, 0, 2, 3, PUTROOTFH, GETATTR, 3, 0, 0, 0x80000000, GETFH);
	op = read_call(&call, call.len);
	cr_assert(op.operations_all);
	PUT(&reply, 0, 0, 3, PUTROOTFH, 0, GETATTR, 0, 3, 0, 0, 0x80000000, 5, 1, 0x02000000, GETFH, 0, HANDLE_A);
	cr_assert_eq(read_reply(&reply, reply.len, &op), XDR_FINE);
	cr_assert_eq(op.flags, 0);
}

/* What stands in front of the limits is stepped over: bits 0, 1, 8, 12, 19, 24, then 27 to 31. */
Test(nfs4, transfer_limits)
{
	struct body reply = { .len = 0 };
	struct nfs_op op = new_op();
	uint32_t whole;

	PUT(&reply, 0, 0, 2, PUTROOTFH, 0, GETATTR, 0, 2, 0xf9081103, 0x30);
	whole = reply.len;
	PUT(&reply, 0);			/* of the opaque, set below */
	PUT(&reply, 2, 0xffffffff, 0x0fffffff, 2, 7, 7, 8, 8);
	PUT(&reply, 1, 0, 0, 0x1f, 3, 0x616c6c00);		/* an ACL of one */
	PUT(&reply, 4, 0xaaaaaaaa);				/* a handle */
	PUT(&reply, 2, 1, 0x61000000, 1, 0x62000000, 1, 1, 1, 0x63000000, 1, 1, 0x64000000);	/* locations */
	PUT(&reply, 0, 1 << 30, 255, 255, 0, 1 << 20, 0, 1 << 19);
	PUT(&reply, 1, 0x72000000, 1, 0x72000000);		/* owner and group, bits 36 and 37 */
	reply.bytes[whole + 3] = (uint8_t)(reply.len - whole - 4);
	cr_assert_lt(reply.len - whole - 4, 256);
	cr_assert_eq(read_reply(&reply, reply.len, &op), XDR_FINE);
	cr_assert(op_has(&op, OP_HAS_READ_MOST | OP_HAS_WRITE_MOST));
	cr_assert_eq(op.read_most_bytes, 1 << 20);
	cr_assert_eq(op.write_most_bytes, 1 << 19);
	for (uint32_t cap = 0; cap < reply.len; cap++) {
		op = new_op();
		cr_assert_neq(read_reply(&reply, cap, &op), XDR_MALFORMED, "%u", cap);
		cr_assert(!op_has(&op, OP_HAS_READ_MOST) || op.read_most_bytes == 1 << 20);
		cr_assert(!op_has(&op, OP_HAS_WRITE_MOST) || op.write_most_bytes == 1 << 19);
	}
	/* a limit of 2^40 is none that a transfer meets */
	reply.len = 0;
	PUT(&reply, 0, 0, 1, GETATTR, 0, 1, 0xc0000000, 16, 256, 0, 0, 1 << 19);
	op = new_op();
	cr_assert_eq(read_reply(&reply, reply.len, &op), XDR_FINE);
	cr_assert_not(op_has(&op, OP_HAS_READ_MOST));
	cr_assert_eq(op.write_most_bytes, 1 << 19);
}

/* HOSTILE 26: lengths and counts that lie end the reading, and nothing else. */
Test(nfs4, lying_lengths)
{
	static const uint32_t bodies[][16] = {
		{ UINT32_MAX },					/* tag */
		{ 0, 1, 1, PUTFH, UINT32_MAX },
		{ 0, 1, 1, PUTFH, 129 },			/* a handle has at most 128 bytes */
		{ 0, 1, 1, GETATTR, 0x40000001 },		/* times four it is 4 */
		{ 0, 1, 1, WRITE, STATEID, 0, 0, 0, UINT32_MAX },
		{ 0, 1, 1, WRITE, STATEID, 0, 0, 3, 4 },	/* stable_how4 ends with 2 */
		{ 0, 1, 1, 55, 0x10000001 },			/* stateids */
	};

	for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
		struct body call = { .len = 0 };
		struct nfs_op op = new_op();

		put_words(&call, bodies[i], 16);
		cr_assert_eq(decode(&call, nfs4()->procedures[COMPOUND].call, call.len, XDR_HOLE, &op).status,
		    XDR_MALFORMED, "row %zu", i);
	}
}

/* A count of operations without end is read as far as there are bytes. */
Test(nfs4, many_operations)
{
	struct body call = { .len = 0 };
	struct nfs_op op = new_op();

	PUT(&call, 0, 1, UINT32_MAX);
	for (unsigned i = 0; i < 100; i++)
		PUT(&call, GETFH);
	cr_assert_eq(decode(&call, nfs4()->procedures[COMPOUND].call, call.len, XDR_HOLE, &op).status, XDR_MALFORMED);
	cr_assert_eq(op.operations_seen, 100);
	cr_assert_not(op.operations_all);
	cr_assert_eq(op.operation, COMPOUND);
}

Test(nfs4, callback)
{
	const struct decoder *callbacks = decoder_of(0x40000000, 1);
	struct body call = { .len = 0 };
	struct nfs_op op = new_op();

	PUT(&call, 0, 1, 7, 2, 11, SESSION, 21, 0, 0, 0, 0, 4, STATEID, 0, HANDLE_B);
	cr_assert_eq(decode(&call, callbacks->procedures[COMPOUND].call, call.len, XDR_HOLE, &op).status, XDR_FINE);
	cr_assert_eq(op.operation, 4);
	cr_assert_str_eq(callbacks->operation_name(op.operation), "CB_RECALL");
	cr_assert(is_handle(&op, 0xbb, 8));
	cr_assert_eq(op.slot, 0);
	cr_assert(op_has(&op, OP_HAS_SLOT));
}

/* Outside of a decoder ops are copied without what is there for it alone. */
Test(nfs4, a_copy_says_all_that_is_valid)
{
	struct nfs_op op = { .xid = 7, .valid = OP_HAS_SLOT | OP_HAS_SLOT_USED | OP_HAS_SLOT_LIMITS | OP_HAS_GRANTED |
	    OP_HAS_READ_MOST | OP_HAS_WRITE_MOST, .slot = 3, .slot_sequence = 21, .slot_used_highest = 5,
	    .slot_highest = 63, .slot_target = 31, .slots_granted = 64, .read_most_bytes = 1 << 20,
	    .write_most_bytes = 1 << 19 };
	struct nfs_op whole, plain;

	op_copy(&whole, &op);
	cr_assert_eq(memcmp(&whole, &op, offsetof(struct nfs_op, asked)), 0);
	op.valid = OP_HAS_SLOT;
	op_copy(&plain, &op);
	cr_assert_eq(plain.xid, 7);
	cr_assert_eq(plain.slot, 3);
	cr_assert_eq(plain.slot_sequence, 21);
}
