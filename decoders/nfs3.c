/*
 * NFS version 3 (RFC 1813).
 */
#include "decoders.h"

enum {
	NFS3_FHSIZE = 64,		/* RFC 1813 section 2.4 */
	FATTR3_BYTES = 84,		/* section 2.5, fattr3 */
	WCC_ATTR_BYTES = 24,		/* section 2.6, wcc_attr */
	STABLE_HOW_LAST = 2,		/* section 3.3.7, FILE_SYNC */
	DATA_MOST = 16 * 1024 * 1024,
};

/* nfs_fh3: the file or directory that nearly every procedure names first. */
static void
read_handle(struct xdr_cursor *body, struct nfs_op *op)
{
	uint32_t len;
	const uint8_t *handle = xdr_read_opaque(body, NFS3_FHSIZE, &len);

	if (handle != NULL)
		op_set_handle(op, handle, len);
}

static void
read_status(struct xdr_cursor *body, struct nfs_op *op)
{
	uint32_t status = xdr_u32(body);

	if (!xdr_ok(body))
		return;
	op->status = status;
	op->valid |= OP_HAS_STATUS;
}

static void
read_range(struct xdr_cursor *body, struct nfs_op *op)
{
	uint64_t offset = xdr_u64(body);
	uint32_t count;

	if (xdr_ok(body)) {
		op->file_offset = offset;
		op->valid |= OP_HAS_OFFSET;
	}
	count = xdr_u32(body);
	if (xdr_ok(body)) {
		op->requested_bytes = count;
		op->valid |= OP_HAS_REQUESTED;
	}
}

/* A flag, and what follows it only when it is true. */
static void
skip_optional(struct xdr_cursor *body, uint32_t len)
{
	uint32_t follows = xdr_u32(body);

	if (follows > 1)
		xdr_fail(body, XDR_MALFORMED);
	if (follows == 1)
		xdr_skip(body, len);
}

static void
read_moved(struct xdr_cursor *body, struct nfs_op *op)
{
	uint32_t count = xdr_u32(body);

	if (!xdr_ok(body))
		return;
	op->moved_bytes = count;
	op->valid |= OP_HAS_MOVED;
}

/* READ3args and COMMIT3args (sections 3.3.6 and 3.3.21): file, offset, count */
static void
range_call(struct xdr_cursor *body, struct nfs_op *op)
{
	read_handle(body, op);
	read_range(body, op);
}

/* READ3resok (section 3.3.6): attributes, count, eof, data */
static void
read_reply(struct xdr_cursor *body, struct nfs_op *op)
{
	uint32_t length;

	read_status(body, op);
	if (!xdr_ok(body) || op->status != 0)
		return;
	skip_optional(body, FATTR3_BYTES);
	read_moved(body, op);
	xdr_skip(body, 4);
	length = xdr_skip_opaque(body, DATA_MOST);
	if (xdr_ok(body) && length != op->moved_bytes)
		xdr_fail(body, XDR_MALFORMED);
}

/* WRITE3args (section 3.3.7): file, offset, count, stable, data */
static void
write_call(struct xdr_cursor *body, struct nfs_op *op)
{
	uint32_t stable, length;

	range_call(body, op);
	stable = xdr_u32(body);
	if (stable > STABLE_HOW_LAST)
		xdr_fail(body, XDR_MALFORMED);
	if (xdr_ok(body)) {
		op->stable = (uint8_t)stable;
		op->valid |= OP_HAS_STABLE;
	}
	length = xdr_skip_opaque(body, DATA_MOST);
	if (xdr_ok(body) && length != op->requested_bytes)
		xdr_fail(body, XDR_MALFORMED);
}

/* WRITE3resok (section 3.3.7): wcc_data, count, committed, verf */
static void
write_reply(struct xdr_cursor *body, struct nfs_op *op)
{
	read_status(body, op);
	if (!xdr_ok(body) || op->status != 0)
		return;
	skip_optional(body, WCC_ATTR_BYTES);
	skip_optional(body, FATTR3_BYTES);
	read_moved(body, op);
}

/* FSINFO3resok (section 3.3.19): attributes, rtmax, rtpref, rtmult, wtmax */
static void
fsinfo_reply(struct xdr_cursor *body, struct nfs_op *op)
{
	uint32_t most;

	read_status(body, op);
	if (!xdr_ok(body) || op->status != 0)
		return;
	skip_optional(body, FATTR3_BYTES);
	most = xdr_u32(body);
	if (xdr_ok(body)) {
		op->read_most_bytes = most;
		op->valid |= OP_HAS_READ_MOST;
	}
	xdr_skip(body, 8);
	most = xdr_u32(body);
	if (xdr_ok(body)) {
		op->write_most_bytes = most;
		op->valid |= OP_HAS_WRITE_MOST;
	}
}

/* Row = procedure number (section 3.3). */
static const struct decoder_procedure procedures[] = {
	[0] = { "NULL", NULL, NULL },
	[1] = { "GETATTR", read_handle, read_status },
	[2] = { "SETATTR", read_handle, read_status },
	[3] = { "LOOKUP", read_handle, read_status },
	[4] = { "ACCESS", read_handle, read_status },
	[5] = { "READLINK", read_handle, read_status },
	[6] = { "READ", range_call, read_reply },
	[7] = { "WRITE", write_call, write_reply },
	[8] = { "CREATE", read_handle, read_status },
	[9] = { "MKDIR", read_handle, read_status },
	[10] = { "SYMLINK", read_handle, read_status },
	[11] = { "MKNOD", read_handle, read_status },
	[12] = { "REMOVE", read_handle, read_status },
	[13] = { "RMDIR", read_handle, read_status },
	[14] = { "RENAME", read_handle, read_status },
	[15] = { "LINK", read_handle, read_status },
	[16] = { "READDIR", read_handle, read_status },
	[17] = { "READDIRPLUS", read_handle, read_status },
	[18] = { "FSSTAT", read_handle, read_status },
	[19] = { "FSINFO", read_handle, fsinfo_reply },
	[20] = { "PATHCONF", read_handle, read_status },
	[21] = { "COMMIT", range_call, read_status },
};

const struct decoder nfs3_decoder = {
	.program = 100003,
	.version = 3,
	.label = "3",
	.procedures = procedures,
	.procedure_count = sizeof procedures / sizeof procedures[0],
};
