/*
 * Callbacks of NFS version 4 (RFC 7530 sections 17 and 18, RFC 8881 section
 * 20, RFC 7862 section 16): a server's calls to a client, to a program of the
 * client's choice. In minor version 0 they have a connection of their own, from
 * 1 on they come over the client's.
 */
#include "nfs4.h"

#include "decoders.h"

/* layoutrecall4 behind type, mode, changed (RFC 8881 section 20.3) */
static void
layout_recall_call(struct nfs4_walk *walk)
{
	enum { RECALL_FILE = 1, RECALL_FSID = 2, RECALL_ALL = 3 };
	uint32_t what = xdr_u32(walk->body);

	if (what == RECALL_FILE) {
		nfs4_read_handle(walk);
		xdr_skip(walk->body, 16 + NFS4_STATEID_BYTES);
	} else if (what == RECALL_FSID) {
		xdr_skip(walk->body, 16);
	} else if (what != RECALL_ALL) {
		nfs4_give_up(walk);
	}
}

/* file, attributes wanted (RFC 7530 section 18.1) */
static void
getattr_call(struct nfs4_walk *walk)
{
	nfs4_read_handle(walk);
	nfs4_skip_bitmap(walk);
}

/* notify4<>: what is told of, and how (RFC 8881 section 20.4) */
static void
skip_notifications(struct nfs4_walk *walk)
{
	uint32_t count = xdr_u32(walk->body);

	for (uint32_t i = 0; i < count && xdr_ok(walk->body); i++) {
		nfs4_skip_bitmap(walk);
		nfs4_skip_opaque(walk);
	}
}

static void
notify_call(struct nfs4_walk *walk)
{
	nfs4_read_handle(walk);
	skip_notifications(walk);
}

static void
push_delegation_call(struct nfs4_walk *walk)
{
	nfs4_read_handle(walk);
	nfs4_skip_delegation(walk);
}

/* the arguments of SEQUENCE, and referring_call_list4<> (RFC 8881 section 20.9) */
static void
sequence_call(struct nfs4_walk *walk)
{
	uint32_t count;

	nfs4_sequence_call(walk);
	count = xdr_u32(walk->body);
	for (uint32_t i = 0; i < count && xdr_ok(walk->body); i++) {
		xdr_skip(walk->body, NFS4_SESSIONID_BYTES);
		nfs4_skip_array(walk, 8);
	}
}

/* file, lock_owner4 (RFC 8881 section 20.11) */
static void
notify_lock_call(struct nfs4_walk *walk)
{
	nfs4_read_handle(walk);
	xdr_skip(walk->body, 8);
	nfs4_skip_opaque(walk);
}

/* file, stateid, offload_info4: write_response4, or the bytes that were copied (RFC 7862 section 16.1) */
static void
offload_call(struct nfs4_walk *walk)
{
	nfs4_read_handle(walk);
	xdr_skip(walk->body, NFS4_STATEID_BYTES);
	if (xdr_u32(walk->body) == NFS4_OK)
		nfs4_read_write_response(walk);
	else
		xdr_skip(walk->body, 8);
}

/* Row = operation number. */
static const struct nfs4_operation operations[] = {
	[3] = { "CB_GETATTR", OP_CLASS_OTHER, 0, 0, getattr_call, nfs4_skip_attributes },
	[4] = { "CB_RECALL", OP_CLASS_OTHER, NFS4_STATEID_BYTES + 4, 0, nfs4_read_handle, NULL },
	[5] = { "CB_LAYOUTRECALL", OP_CLASS_OTHER, 12, 0, layout_recall_call, NULL },
	[6] = { "CB_NOTIFY", OP_CLASS_OTHER, NFS4_STATEID_BYTES, 0, notify_call, NULL },
	[7] = { "CB_PUSH_DELEG", OP_CLASS_OTHER, 0, 0, push_delegation_call, NULL },
	[8] = { "CB_RECALL_ANY", OP_CLASS_OTHER, 4, 0, nfs4_skip_bitmap, NULL },
	[9] = { "CB_RECALLABLE_OBJ_AVAIL", OP_CLASS_OTHER, 4, 0, nfs4_skip_bitmap, NULL },
	[10] = { "CB_RECALL_SLOT", OP_CLASS_OTHER, 4, 0, NULL, NULL },
	[11] = { "CB_SEQUENCE", OP_CLASS_SEQUENCE, 0, 0, sequence_call, nfs4_sequence_reply },
	[12] = { "CB_WANTS_CANCELLED", OP_CLASS_OTHER, 8, 0, NULL, NULL },
	[13] = { "CB_NOTIFY_LOCK", OP_CLASS_OTHER, 0, 0, notify_lock_call, NULL },
	[14] = { "CB_NOTIFY_DEVICEID", OP_CLASS_OTHER, 0, 0, skip_notifications, NULL },
	[15] = { "CB_OFFLOAD", OP_CLASS_OTHER, 0, 0, offload_call, NULL },
};

static const struct nfs4_operation illegal = { "CB_ILLEGAL", OP_CLASS_OTHER, 0, 0, NULL, NULL };

static const struct nfs4_operation *
find(uint32_t operation)
{
	const struct nfs4_operation *row = NULL;

	if (operation < sizeof operations / sizeof operations[0])
		row = &operations[operation];
	else if (operation == NFS4_ILLEGAL)
		row = &illegal;
	return row != NULL && row->name != NULL ? row : NULL;
}

static const char *
operation_name(uint32_t operation)
{
	const struct nfs4_operation *row = find(operation);

	return row != NULL ? row->name : NULL;
}

/* CB_COMPOUND4args: tag, minor version, callback_ident, operations (RFC 7530 section 17.2) */
static void
compound_call(struct xdr_cursor *body, struct nfs_op *op)
{
	xdr_skip_opaque(body, UINT32_MAX);
	xdr_skip(body, 8);
	nfs4_read_call(body, op, find);
}

static void
compound_reply(struct xdr_cursor *body, struct nfs_op *op)
{
	nfs4_read_reply(body, op, find);
}

static const struct decoder_procedure procedures[] = {
	[0] = { "CB_NULL", NULL, NULL },
	[1] = { "CB_COMPOUND", compound_call, compound_reply },
};

/* A transient program (RFC 5531 section 8.3). */
const struct decoder nfs4cb_decoder = {
	.program = 0x40000000,
	.program_last = 0x5fffffff,
	.version = 1,
	.label = "nfs4cb",
	.procedures = procedures,
	.procedure_count = sizeof procedures / sizeof procedures[0],
	.compound = 1,
	.operation_name = operation_name,
};
