/*
 * NFS version 2 (RFC 1094).
 */
#include "decoders.h"

enum {
	FHSIZE = 32,			/* section 2.3.3 */
	FATTR_BYTES = 68,		/* section 2.3.5 */
	DATA_MOST = 16 * 1024 * 1024,	/* MAXDATA is 8192, which servers exceed over TCP */
};

/* fhandle: of fixed size */
static void
read_handle(struct xdr_cursor *body, struct nfs_op *op)
{
	if (!xdr_have(body, FHSIZE))
		return;
	op_set_handle(op, body->data + body->off, FHSIZE);
	xdr_skip(body, FHSIZE);
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
set_requested(struct xdr_cursor *body, struct nfs_op *op, uint32_t count)
{
	if (!xdr_ok(body))
		return;
	op->requested_bytes = count;
	op->valid |= OP_HAS_REQUESTED;
}

static void
set_moved(struct xdr_cursor *body, struct nfs_op *op, uint32_t count)
{
	if (!xdr_ok(body))
		return;
	op->moved_bytes = count;
	op->valid |= OP_HAS_MOVED;
}

static void
read_offset(struct xdr_cursor *body, struct nfs_op *op)
{
	uint32_t offset = xdr_u32(body);

	if (!xdr_ok(body))
		return;
	op->file_offset = offset;
	op->valid |= OP_HAS_OFFSET;
}

/* readargs (section 2.2.7): file, offset, count; totalcount is unused */
static void
read_call(struct xdr_cursor *body, struct nfs_op *op)
{
	uint32_t count;

	read_handle(body, op);
	read_offset(body, op);
	count = xdr_u32(body);
	set_requested(body, op, count);
}

/* readres: status, attributes, data */
static void
read_reply(struct xdr_cursor *body, struct nfs_op *op)
{
	uint32_t length;

	read_status(body, op);
	if (!xdr_ok(body) || op->status != 0)
		return;
	xdr_skip(body, FATTR_BYTES);
	length = xdr_skip_opaque(body, DATA_MOST);
	set_moved(body, op, length);
}

/* writeargs (section 2.2.9): file, beginoffset (unused), offset, totalcount (unused), data */
static void
write_call(struct xdr_cursor *body, struct nfs_op *op)
{
	uint32_t length;

	read_handle(body, op);
	xdr_skip(body, 4);
	read_offset(body, op);
	xdr_skip(body, 4);
	length = xdr_skip_opaque(body, DATA_MOST);
	set_requested(body, op, length);
}

/* attrstat: a WRITE that succeeds has written all, and to stable storage (section 2.2.9) */
static void
write_reply(struct xdr_cursor *body, struct nfs_op *op)
{
	read_status(body, op);
	if (op->status == 0 && op_has(op, OP_HAS_REQUESTED))
		set_moved(body, op, op->requested_bytes);
}

/* Row = procedure number (section 2.2). */
static const struct decoder_procedure procedures[] = {
	[0] = { "NULL", NULL, NULL },
	[1] = { "GETATTR", read_handle, read_status },
	[2] = { "SETATTR", read_handle, read_status },
	[3] = { "ROOT", NULL, NULL },
	[4] = { "LOOKUP", read_handle, read_status },
	[5] = { "READLINK", read_handle, read_status },
	[6] = { "READ", read_call, read_reply },
	[7] = { "WRITECACHE", NULL, NULL },
	[8] = { "WRITE", write_call, write_reply },
	[9] = { "CREATE", read_handle, read_status },
	[10] = { "REMOVE", read_handle, read_status },
	[11] = { "RENAME", read_handle, read_status },
	[12] = { "LINK", read_handle, read_status },
	[13] = { "SYMLINK", read_handle, read_status },
	[14] = { "MKDIR", read_handle, read_status },
	[15] = { "RMDIR", read_handle, read_status },
	[16] = { "READDIR", read_handle, read_status },
	[17] = { "STATFS", read_handle, read_status },
};

const struct decoder nfs2_decoder = {
	.program = 100003,
	.version = 2,
	.label = "2",
	.procedures = procedures,
	.procedure_count = sizeof procedures / sizeof procedures[0],
};
