/*
 * NFSv3 bodies encoded by libtirpc's primitives, read by the decoder, whole
 * and cut at every byte.
 */
#include <criterion/criterion.h>
#include <nfscorr/decoder.h>
#include <rpc/rpc.h>
#include <string.h>

enum { BUFFER = 4096, READ = 6, WRITE = 7, FSINFO = 19, COMMIT = 21 };

static const struct decoder *
nfs3(void)
{
	for (const struct decoder *const *decoder = decoders; *decoder != NULL; decoder++)
		if ((*decoder)->program == 100003 && (*decoder)->version == 3)
			return *decoder;
	cr_assert_fail("no NFSv3 decoder");
	return NULL;
}

struct body {
	char buffer[BUFFER];
	XDR xdrs;
};

static void
begin(struct body *body)
{
	xdrmem_create(&body->xdrs, body->buffer, BUFFER, XDR_ENCODE);
}

static void
put_handle(struct body *body, u_int len)
{
	char handle[64];
	char *bytes = handle;

	memset(handle, 0x5c, sizeof handle);
	cr_assert(xdr_bytes(&body->xdrs, &bytes, &len, 64));
}

static void
put_u32(struct body *body, uint32_t value)
{
	cr_assert(xdr_u_int32_t(&body->xdrs, &value));
}

static void
put_u64(struct body *body, uint64_t value)
{
	cr_assert(xdr_u_int64_t(&body->xdrs, &value));
}

static void
put_opaque(struct body *body, u_int len)
{
	char data[2048] = { 0 };
	char *bytes = data;

	cr_assert(xdr_bytes(&body->xdrs, &bytes, &len, 2048));
}

/* Decodes the first cap bytes. */
static struct nfs_op
decode(const struct body *body, decode_fn *function, uint32_t cap, enum xdr_status *status)
{
	struct nfs_op op = { 0 };
	struct xdr_cursor cursor = { .data = (const uint8_t *)body->buffer, .cap = cap,
		.total = xdr_getpos((XDR *)&body->xdrs), .beyond = XDR_HOLE };

	function(&cursor, &op);
	*status = cursor.status;
	return op;
}

static uint32_t
length(const struct body *body)
{
	return xdr_getpos((XDR *)&body->xdrs);
}

Test(nfs3, all_procedures_are_named)
{
	/* RFC 1813 section 3.3 */
	static const char *const names[] = { "NULL", "GETATTR", "SETATTR", "LOOKUP", "ACCESS", "READLINK", "READ",
		"WRITE", "CREATE", "MKDIR", "SYMLINK", "MKNOD", "REMOVE", "RMDIR", "RENAME", "LINK", "READDIR",
		"READDIRPLUS", "FSSTAT", "FSINFO", "PATHCONF", "COMMIT" };

	cr_assert_eq(nfs3()->procedure_count, 22);
	for (unsigned i = 0; i < 22; i++)
		cr_assert_str_eq(nfs3()->procedures[i].name, names[i]);
}

Test(nfs3, read)
{
	struct body body;
	enum xdr_status status;
	struct nfs_op op;

	begin(&body);
	put_handle(&body, 28);
	put_u64(&body, UINT64_C(0x123456789a));
	put_u32(&body, 32768);
	op = decode(&body, nfs3()->procedures[READ].call, length(&body), &status);
	cr_assert_eq(status, XDR_FINE);
	cr_assert_eq(op.valid, (uint32_t)(OP_HAS_FILE | OP_HAS_OFFSET | OP_HAS_REQUESTED));
	cr_assert_eq(op.file_offset, UINT64_C(0x123456789a));
	cr_assert_eq(op.requested_bytes, 32768);
	for (uint32_t cap = 0; cap < length(&body); cap++) {
		op = decode(&body, nfs3()->procedures[READ].call, cap, &status);
		cr_assert_eq(status, XDR_HOLE);
		cr_assert_eq((op.valid & OP_HAS_FILE) != 0, cap >= 32, "%u", cap);
		cr_assert_eq((op.valid & OP_HAS_OFFSET) != 0, cap >= 40, "%u", cap);
		cr_assert_eq((op.valid & OP_HAS_REQUESTED) != 0, false);
	}
}

/* With and without attributes; the data itself need not be there. */
Test(nfs3, read_reply)
{
	for (uint32_t attributes = 0; attributes < 2; attributes++) {
		struct body body;
		enum xdr_status status;
		struct nfs_op op;
		uint32_t head;

		begin(&body);
		put_u32(&body, 0);
		put_u32(&body, attributes);
		for (unsigned i = 0; attributes == 1 && i < 21; i++)
			put_u32(&body, i);
		put_u32(&body, 1999);
		put_u32(&body, 1);
		head = length(&body) + 4;
		put_opaque(&body, 1999);
		op = decode(&body, nfs3()->procedures[READ].reply, length(&body), &status);
		cr_assert_eq(status, XDR_FINE);
		cr_assert_eq(op.status, 0);
		cr_assert_eq(op.moved_bytes, 1999);
		op = decode(&body, nfs3()->procedures[READ].reply, head, &status);
		cr_assert_eq(status, XDR_FINE, "skipping what was not captured costs nothing");
		cr_assert_eq(op.valid, (uint32_t)(OP_HAS_STATUS | OP_HAS_MOVED));
	}
}

Test(nfs3, write_and_commit)
{
	struct body body;
	enum xdr_status status;
	struct nfs_op op;

	begin(&body);
	put_handle(&body, 64);
	put_u64(&body, 4096);
	put_u32(&body, 511);
	put_u32(&body, 2);
	put_opaque(&body, 511);
	op = decode(&body, nfs3()->procedures[WRITE].call, 100, &status);
	cr_assert_eq(status, XDR_FINE);
	cr_assert_eq(op.requested_bytes, 511);
	cr_assert_eq(op.stable, 2);
	begin(&body);
	put_u32(&body, 0);
	put_u32(&body, 1);
	for (unsigned i = 0; i < 6; i++)
		put_u32(&body, i);
	put_u32(&body, 0);
	put_u32(&body, 511);
	put_u32(&body, 2);
	put_u64(&body, 1);
	op = decode(&body, nfs3()->procedures[WRITE].reply, length(&body), &status);
	cr_assert_eq(status, XDR_FINE);
	cr_assert_eq(op.moved_bytes, 511);
	begin(&body);
	put_handle(&body, 32);
	put_u64(&body, 7);
	put_u32(&body, 9);
	op = decode(&body, nfs3()->procedures[COMMIT].call, length(&body), &status);
	cr_assert_eq(op.file_offset, 7);
	cr_assert_eq(op.requested_bytes, 9);
}

/* FSINFO tells the largest READ and WRITE (section 3.3.19). */
Test(nfs3, fsinfo_reply)
{
	for (uint32_t attributes = 0; attributes < 2; attributes++) {
		struct body body;
		enum xdr_status status;
		struct nfs_op op;
		uint32_t limits;

		begin(&body);
		put_u32(&body, 0);
		put_u32(&body, attributes);
		for (unsigned i = 0; attributes == 1 && i < 21; i++)
			put_u32(&body, i);
		limits = length(&body);
		put_u32(&body, 1048576);	/* rtmax, rtpref, rtmult */
		put_u32(&body, 65536);
		put_u32(&body, 4096);
		put_u32(&body, 524288);		/* wtmax */
		for (unsigned i = 0; i < 9; i++)
			put_u32(&body, 4096);
		op = decode(&body, nfs3()->procedures[FSINFO].reply, length(&body), &status);
		cr_assert_eq(status, XDR_FINE);
		cr_assert_eq(op.valid, (uint32_t)(OP_HAS_STATUS | OP_HAS_READ_MOST | OP_HAS_WRITE_MOST));
		cr_assert_eq(op.read_most_bytes, 1048576);
		cr_assert_eq(op.write_most_bytes, 524288);
		op = decode(&body, nfs3()->procedures[FSINFO].reply, limits + 4, &status);
		cr_assert_eq(op.valid, (uint32_t)(OP_HAS_STATUS | OP_HAS_READ_MOST));
	}
}

/* A failed call says nothing of bytes. */
Test(nfs3, error_status)
{
	for (unsigned procedure = 1; procedure < 22; procedure++) {
		struct body body;
		enum xdr_status status;
		struct nfs_op op;

		begin(&body);
		put_u32(&body, 70);	/* NFS3ERR_STALE */
		put_u32(&body, 0);
		op = decode(&body, nfs3()->procedures[procedure].reply, length(&body), &status);
		cr_assert_eq(status, XDR_FINE, "procedure %u", procedure);
		cr_assert_eq(op.status, 70);
		cr_assert_eq(op.valid, (uint32_t)OP_HAS_STATUS);
	}
}

/* Lengths that lie: malformed, never read, never allocated. */
Test(nfs3, lying_lengths)
{
	struct body body;
	enum xdr_status status;

	begin(&body);
	put_u32(&body, 65);	/* a handle has at most 64 bytes */
	for (unsigned i = 0; i < 30; i++)
		put_u32(&body, 0);
	decode(&body, nfs3()->procedures[1].call, length(&body), &status);
	cr_assert_eq(status, XDR_MALFORMED);
	begin(&body);
	put_u32(&body, UINT32_MAX);
	decode(&body, nfs3()->procedures[1].call, length(&body), &status);
	cr_assert_eq(status, XDR_MALFORMED);
	begin(&body);
	put_handle(&body, 32);
	put_u64(&body, 0);
	put_u32(&body, 100);
	put_u32(&body, 0);
	put_opaque(&body, 96);	/* not what count says */
	decode(&body, nfs3()->procedures[WRITE].call, length(&body), &status);
	cr_assert_eq(status, XDR_MALFORMED);
	begin(&body);
	put_u32(&body, 0);
	put_u32(&body, 2);	/* a flag is 0 or 1 */
	put_u32(&body, 0);
	decode(&body, nfs3()->procedures[READ].reply, length(&body), &status);
	cr_assert_eq(status, XDR_MALFORMED);
}
