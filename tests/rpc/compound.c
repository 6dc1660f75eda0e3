/*
 * NFSv4's COMPOUNDs as calls: their names, replies that are another call's, and
 * callbacks over the same connection.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "rpc/names.h"
#include "stream/wire.h"

enum { MS = 1000000, NFS = 100003, CALLBACK = 0x40000000, PUTROOTFH = 24, GETATTR = 9, GETFH = 10, READ = 25 };

/* XID, CALL, RPC version 2, program, version, procedure, credential and verifier of AUTH_NONE (RFC 5531 section 9) */
#define CALL(XID, PROGRAM, VERSION, PROCEDURE) XID, 0, 2, PROGRAM, VERSION, PROCEDURE, 0, 0, 0, 0
/* XID, REPLY, MSG_ACCEPTED, verifier, SUCCESS */
#define REPLY(XID) XID, 1, 0, 0, 0, 0
/* tag, minor version 1, two operations */
#define ROOT_ATTRIBUTES 0, 1, 2, PUTROOTFH, GETATTR, 0

#define SEND(wire, direction, ts_ns, ...) send_words(wire, direction, ts_ns, (const uint32_t[]){ __VA_ARGS__ }, \
	    sizeof (const uint32_t[]){ __VA_ARGS__ } / sizeof(uint32_t))

static void
send_words(struct wire *wire, enum wire_direction direction, int64_t ts_ns, const uint32_t *words, size_t count)
{
	uint32_t offset = wire_words(wire, direction, words, (uint32_t)count);

	wire_send(wire, direction, offset, wire->len[direction] - offset, wire->len[!direction], ts_ns);
}

static void
assert_named(const struct nfs_op *op, const char *version, const char *procedure)
{
	char text[32];

	op_version_label(op, text, sizeof text);
	cr_assert_str_eq(text, version);
	op_procedure_name(op, text, sizeof text);
	cr_assert_str_eq(text, procedure);
}

/* HOSTILE 24: procedure 1 is GETATTR in version 3 and COMPOUND in version 4. */
Test(compound, names)
{
	struct wire *wire = wire_new(0, 0);

	wire_open(wire, 1 * MS);
	SEND(wire, TO_SERVER, 10 * MS, CALL(1, NFS, 4, 1), ROOT_ATTRIBUTES);
	SEND(wire, TO_CLIENT, 11 * MS, REPLY(1), 0, 0, 2, PUTROOTFH, 0, GETATTR, 0, 0, 0);
	SEND(wire, TO_SERVER, 20 * MS, CALL(2, NFS, 3, 1), 4, 0xabababab);
	SEND(wire, TO_CLIENT, 21 * MS, REPLY(2), 70);
	SEND(wire, TO_SERVER, 30 * MS, CALL(3, NFS, 4, 0));
	SEND(wire, TO_CLIENT, 31 * MS, REPLY(3));
	SEND(wire, TO_SERVER, 40 * MS, CALL(4, NFS, 4, 1), 0, 0, 1, 4711);
	SEND(wire, TO_CLIENT, 41 * MS, REPLY(4), 10044, 0, 1, 10044, 10044);
	SEND(wire, TO_SERVER, 50 * MS, CALL(5, NFS, 4, 1), 0, 3, 0);
	SEND(wire, TO_CLIENT, 51 * MS, REPLY(5), 10021, 0, 0);
	wire_finish(wire, 100 * MS);
	assert_named(wire_op(wire, 1), "4.1", "GETATTR");
	assert_named(wire_op(wire, 2), "3", "GETATTR");
	assert_named(wire_op(wire, 3), "4", "NULL");
	assert_named(wire_op(wire, 4), "4.0", "4711");
	assert_named(wire_op(wire, 5), "4", "COMPOUND");
	cr_assert_eq(wire_op(wire, 5)->status, 10021, "a minor version that nobody knows");
	cr_assert_eq(wire->rpc->malformed, 0);
	wire_check_books(wire);
	wire_free(wire);
}

/* A reply whose operations are not the call's is not its reply, whatever its XID. */
Test(compound, reply_of_another_call)
{
	struct wire *wire = wire_new(0, 0);

	wire_open(wire, 1 * MS);
	SEND(wire, TO_SERVER, 10 * MS, CALL(5, NFS, 4, 1), ROOT_ATTRIBUTES);
	SEND(wire, TO_CLIENT, 20 * MS, REPLY(5), 0, 0, 2, PUTROOTFH, 0, GETFH, 0, 4, 0xabababab);
	SEND(wire, TO_CLIENT, 40 * MS, REPLY(5), 0, 0, 2, PUTROOTFH, 0, GETATTR, 0, 0, 0);
	SEND(wire, TO_SERVER, 50 * MS, CALL(6, NFS, 4, 1), ROOT_ATTRIBUTES);
	SEND(wire, TO_CLIENT, 60 * MS, REPLY(6), 70, 0, 1, GETFH, 70);
	wire_finish(wire, 90 * MS);
	cr_assert_eq(wire_op(wire, 5)->outcome, OP_ANSWERED);
	cr_assert_eq(wire_op(wire, 5)->reply_last_ns, 40 * MS, "not that of the other call's");
	cr_assert_neq(wire_op(wire, 6)->outcome, OP_ANSWERED);
	cr_assert_not(op_has(wire_op(wire, 6), OP_HAS_STATUS), "nothing of it is kept");
	cr_assert_eq(wire_op(wire, 6)->flags & OP_OTHER_REPLY, 0);
	cr_assert_eq(wire->rpc->orphan_replies, 2);
	cr_assert_eq(wire->rpc->replies, 3);
	wire_check_books(wire);
	wire_free(wire);
}

/* HOSTILE 27: the server calls back over the client's connection, with an XID that the client uses, too. */
Test(compound, callback_on_the_same_connection)
{
	struct wire *wire = wire_new(0, 0);

	wire_open(wire, 1 * MS);
	SEND(wire, TO_SERVER, 10 * MS, CALL(5, NFS, 4, 1), ROOT_ATTRIBUTES);
	/* tag, minor version 1, callback_ident, CB_RECALL: stateid, truncate, file */
	SEND(wire, TO_CLIENT, 11 * MS, CALL(5, CALLBACK, 1, 1), 0, 1, 0, 1, 4, 1, 2, 3, 4, 0, 4, 0xabababab);
	SEND(wire, TO_SERVER, 13 * MS, REPLY(5), 0, 0, 1, 4, 0);
	SEND(wire, TO_CLIENT, 20 * MS, REPLY(5), 0, 0, 2, PUTROOTFH, 0, GETATTR, 0, 0, 0);
	wire_finish(wire, 90 * MS);
	cr_assert_eq(wire->rpc->calls, 2);
	cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 2);
	assert_named(&wire->op[0], "nfs4cb", "CB_RECALL");
	cr_assert_eq(wire->op[0].reply_last_ns - wire->op[0].call_first_ns, 2 * MS);
	cr_assert_eq(wire->op[0].client.port, 2049, "the server is the caller");
	assert_named(&wire->op[1], "4.1", "GETATTR");
	cr_assert_eq(wire->op[1].reply_last_ns - wire->op[1].call_first_ns, 10 * MS);
	cr_assert_eq(wire->op[1].client.port, 1023);
	wire_check_books(wire);
	wire_free(wire);
}

/* A call that was cut in front of its operations goes by those of its reply. */
Test(compound, cut_call)
{
	struct wire *wire = wire_new(0, 0);

	wire_open(wire, 1 * MS);
	wire->snaplen = 48;	/* mark and header are 44 bytes */
	SEND(wire, TO_SERVER, 10 * MS, CALL(5, NFS, 4, 1), 0, 1, 2, PUTROOTFH, READ, 1, 2, 3, 4, 0, 0, 4096);
	wire->snaplen = 0;
	SEND(wire, TO_CLIENT, 20 * MS, REPLY(5), 0, 0, 2, PUTROOTFH, 0, READ, 0, 1, 4, 0x61626364);
	wire_finish(wire, 90 * MS);
	assert_named(wire_op(wire, 5), "4", "READ");
	cr_assert_eq(wire_op(wire, 5)->moved_bytes, 4);
	cr_assert_eq(wire->rpc->malformed, 0);
	wire_check_books(wire);
	wire_free(wire);
}

/* HOSTILE 28: with integrity the operations are in clear, with privacy there is the time alone. */
Test(compound, security_flavors)
{
	enum { GSS = 6, DATA = 0, INTEGRITY = 2, PRIVACY = 3 };
	struct wire *wire = wire_new(0, 0);

	wire_open(wire, 1 * MS);
	/* credential: version 1, DATA, sequence number, service, handle of 4 bytes; verifier; length and sequence number */
	SEND(wire, TO_SERVER, 10 * MS, 5, 0, 2, NFS, 4, 1, GSS, 24, 1, DATA, 77, INTEGRITY, 4, 0xabababab, GSS, 4, 0x12345678,
	    28, 77, ROOT_ATTRIBUTES, 4, 0x5a5a5a5a);
	SEND(wire, TO_CLIENT, 20 * MS, 5, 1, 0, GSS, 4, 0x12345678, 0, 40, 77, 0, 0, 2, PUTROOTFH, 0, GETATTR, 0, 0, 0,
	    4, 0x5a5a5a5a);
	SEND(wire, TO_SERVER, 30 * MS, 6, 0, 2, NFS, 4, 1, GSS, 24, 1, DATA, 78, PRIVACY, 4, 0xabababab, GSS, 4, 0x12345678,
	    16, 0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a);
	SEND(wire, TO_CLIENT, 50 * MS, 6, 1, 0, GSS, 4, 0x12345678, 0, 16, 0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a);
	wire_finish(wire, 90 * MS);
	assert_named(wire_op(wire, 5), "4.1", "GETATTR");
	cr_assert_eq(wire_op(wire, 5)->status, 0);
	cr_assert(op_has(wire_op(wire, 5), OP_HAS_STATUS));
	assert_named(wire_op(wire, 6), "4", "COMPOUND");
	cr_assert_not(op_has(wire_op(wire, 6), OP_HAS_STATUS));
	cr_assert_eq(wire_op(wire, 6)->reply_last_ns - wire_op(wire, 6)->call_first_ns, 20 * MS);
	cr_assert_eq(wire->rpc->malformed, 0);
	wire_check_books(wire);
	wire_free(wire);
}
