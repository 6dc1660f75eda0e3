/*
 * NFSv2 bodies from words written by hand (RFC 1094), whole and cut, and the
 * names of the programs beside NFS.
 */
#include <criterion/criterion.h>
#include <nfscorr/decoder.h>
#include <string.h>

enum { MOST = 2048, HANDLE_WORDS = 8, ATTRIBUTE_WORDS = 17, READ = 6, WRITE = 8, GETATTR = 1 };

struct body {
	uint8_t bytes[MOST];
	uint32_t len;
};

static const struct decoder *
decoder_of(uint32_t program, uint32_t version)
{
	for (const struct decoder *const *decoder = decoders; *decoder != NULL; decoder++)
		if ((*decoder)->program == program && (*decoder)->version == version)
			return *decoder;
	cr_assert_fail("no decoder of %u.%u", program, version);
	return NULL;
}

static void
put(struct body *body, uint32_t value, unsigned times)
{
	while (times-- > 0)
		for (unsigned shift = 32; shift > 0; shift -= 8)
			body->bytes[body->len++] = (uint8_t)(value >> (shift - 8));
}

static enum xdr_status
decode(const struct body *body, decode_fn *function, uint32_t cap, struct nfs_op *op)
{
	struct xdr_cursor cursor = { .data = body->bytes, .cap = cap, .total = body->len, .beyond = XDR_HOLE };

	function(&cursor, op);
	return (enum xdr_status)cursor.status;
}

static const struct decoder_procedure *
procedure(unsigned number)
{
	return &decoder_of(100003, 2)->procedures[number];
}

Test(nfs2, read)
{
	struct body call = { .len = 0 }, reply = { .len = 0 };
	struct nfs_op op = { 0 };

	put(&call, 0xaaaaaaaa, HANDLE_WORDS);
	put(&call, 8192, 1);	/* offset */
	put(&call, 4096, 1);	/* count */
	put(&call, 0, 1);	/* totalcount */
	cr_assert_eq(decode(&call, procedure(READ)->call, call.len, &op), XDR_FINE);
	cr_assert_eq(op.valid, (uint32_t)(OP_HAS_FILE | OP_HAS_OFFSET | OP_HAS_REQUESTED));
	cr_assert_eq(op.handle, call.bytes);
	cr_assert_eq(op.handle_len, 32);
	cr_assert_eq(op.file_offset, 8192);
	cr_assert_eq(op.requested_bytes, 4096);
	put(&reply, 0, 1);
	put(&reply, 1, ATTRIBUTE_WORDS);
	put(&reply, 1000, 1);
	put(&reply, 0x22222222, 250);
	cr_assert_eq(decode(&reply, procedure(READ)->reply, 76, &op), XDR_FINE, "the data need not be there");
	cr_assert_eq(op.moved_bytes, 1000);
	for (uint32_t cap = 0; cap < call.len; cap++) {
		op = (struct nfs_op){ 0 };
		decode(&call, procedure(READ)->call, cap, &op);
		cr_assert_eq((op.valid & OP_HAS_FILE) != 0, cap >= 32);
		cr_assert_eq((op.valid & OP_HAS_OFFSET) != 0, cap >= 36);
		cr_assert_eq((op.valid & OP_HAS_REQUESTED) != 0, cap >= 40);
	}
}

Test(nfs2, write)
{
	struct body call = { .len = 0 }, reply = { .len = 0 };
	struct nfs_op op = { 0 };

	put(&call, 0xaaaaaaaa, HANDLE_WORDS);
	put(&call, 1, 1);	/* beginoffset */
	put(&call, 8192, 1);	/* offset */
	put(&call, 2, 1);	/* totalcount */
	put(&call, 511, 1);
	put(&call, 0x33333333, 128);
	cr_assert_eq(decode(&call, procedure(WRITE)->call, 48, &op), XDR_FINE);
	cr_assert_eq(op.file_offset, 8192);
	cr_assert_eq(op.requested_bytes, 511);
	put(&reply, 0, 1);
	put(&reply, 1, ATTRIBUTE_WORDS);
	cr_assert_eq(decode(&reply, procedure(WRITE)->reply, reply.len, &op), XDR_FINE);
	cr_assert_eq(op.moved_bytes, 511, "success is all of it");
	op.valid &= ~(uint32_t)OP_HAS_MOVED;
	reply.bytes[3] = 28;	/* NFSERR_NOSPC */
	decode(&reply, procedure(WRITE)->reply, reply.len, &op);
	cr_assert_eq(op.status, 28);
	cr_assert_not(op_has(&op, OP_HAS_MOVED));
	op = (struct nfs_op){ 0 };
	reply.bytes[3] = 0;
	decode(&reply, procedure(WRITE)->reply, reply.len, &op);
	cr_assert_not(op_has(&op, OP_HAS_MOVED), "of a call that was not seen nobody knows");
}

Test(nfs2, lying_length)
{
	struct body call = { .len = 0 };
	struct nfs_op op = { 0 };

	put(&call, 0, HANDLE_WORDS + 3);
	put(&call, UINT32_MAX, 1);
	cr_assert_eq(decode(&call, procedure(WRITE)->call, call.len, &op), XDR_MALFORMED);
	cr_assert_eq(decode(&call, procedure(GETATTR)->call, 31, &op), XDR_HOLE);
}

/* RFC 1094, 1813, 1833, the XNFS specification, and Sun's nfs_acl.x, mount.x and rquota.x */
Test(names, beside_nfs)
{
	static const struct {
		uint32_t program, version;
		const char *label, *procedures[25];
	} rows[] = {
		{ 100003, 2, "2", { "NULL", "GETATTR", "SETATTR", "ROOT", "LOOKUP", "READLINK", "READ", "WRITECACHE",
		    "WRITE", "CREATE", "REMOVE", "RENAME", "LINK", "SYMLINK", "MKDIR", "RMDIR", "READDIR", "STATFS" } },
		{ 100005, 1, "mount1", { "NULL", "MNT", "DUMP", "UMNT", "UMNTALL", "EXPORT", "EXPORTALL" } },
		{ 100005, 2, "mount2", { "NULL", "MNT", "DUMP", "UMNT", "UMNTALL", "EXPORT", "EXPORTALL", "PATHCONF" } },
		{ 100005, 3, "mount3", { "NULL", "MNT", "DUMP", "UMNT", "UMNTALL", "EXPORT" } },
		{ 100021, 1, "nlm1", { "NULL", "TEST", "LOCK", "CANCEL", "UNLOCK", "GRANTED" } },
		{ 100021, 3, "nlm3", { "NULL", "TEST", "LOCK", "CANCEL", "UNLOCK", "GRANTED", "TEST_MSG", "LOCK_MSG",
		    "CANCEL_MSG", "UNLOCK_MSG", "GRANTED_MSG", "TEST_RES", "LOCK_RES", "CANCEL_RES", "UNLOCK_RES",
		    "GRANTED_RES", NULL, NULL, NULL, NULL, "SHARE", "UNSHARE", "NM_LOCK", "FREE_ALL" } },
		{ 100021, 4, "nlm4", { "NULL", "TEST", "LOCK", "CANCEL", "UNLOCK", "GRANTED", "TEST_MSG", "LOCK_MSG",
		    "CANCEL_MSG", "UNLOCK_MSG", "GRANTED_MSG", "TEST_RES", "LOCK_RES", "CANCEL_RES", "UNLOCK_RES",
		    "GRANTED_RES", NULL, NULL, NULL, NULL, "SHARE", "UNSHARE", "NM_LOCK", "FREE_ALL" } },
		{ 100024, 1, "nsm1", { "NULL", "STAT", "MON", "UNMON", "UNMON_ALL", "SIMU_CRASH", "NOTIFY" } },
		{ 100227, 2, "nfsacl2", { "NULL", "GETACL", "SETACL", "GETATTR", "ACCESS", "GETXATTRDIR" } },
		{ 100227, 3, "nfsacl3", { "NULL", "GETACL", "SETACL", "GETXATTRDIR" } },
		{ 100000, 2, "portmap2", { "NULL", "SET", "UNSET", "GETPORT", "DUMP", "CALLIT" } },
		{ 100000, 3, "rpcbind3", { "NULL", "SET", "UNSET", "GETADDR", "DUMP", "CALLIT", "GETTIME", "UADDR2TADDR",
		    "TADDR2UADDR" } },
		{ 100000, 4, "rpcbind4", { "NULL", "SET", "UNSET", "GETADDR", "DUMP", "BCAST", "GETTIME", "UADDR2TADDR",
		    "TADDR2UADDR", "GETVERSADDR", "INDIRECT", "GETADDRLIST", "GETSTAT" } },
		{ 100011, 1, "rquota1", { "NULL", "GETQUOTA", "GETACTIVEQUOTA", "SETQUOTA", "SETACTIVEQUOTA" } },
		{ 100011, 2, "rquota2", { "NULL", "GETQUOTA", "GETACTIVEQUOTA", "SETQUOTA", "SETACTIVEQUOTA" } },
		{ 0x40000000, 1, "nfs4cb", { "CB_NULL", "CB_COMPOUND" } },
		{ 100003, 4, "4", { "NULL", "COMPOUND" } },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct decoder *decoder = decoder_of(rows[i].program, rows[i].version);

		cr_assert_str_eq(decoder->label, rows[i].label);
		for (unsigned p = 0; p < 25; p++) {
			const char *want = rows[i].procedures[p];

			if (want != NULL)
				cr_assert(p < decoder->procedure_count && decoder->procedures[p].name != NULL &&
				    strcmp(decoder->procedures[p].name, want) == 0, "%s %s", rows[i].label, want);
		}
	}
}
