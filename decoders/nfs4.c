/*
 * NFS version 4: COMPOUNDs, and the operations of minor version 0 (RFC 7530).
 *
 *	call:	tag, minor version, count, { operation, arguments } ...
 *	reply:	status, tag, count, { operation, status, results } ...
 *
 * Nothing tells where an operation ends but what it says itself: behind one
 * that is not known, all is opaque.
 */
#include "nfs4.h"

#include "decoders.h"
#include "universal.h"

enum {
	FH_MOST = 128,			/* NFS4_FHSIZE, RFC 7531 */
	STABLE_HOW_LAST = 2,		/* section 16.36, FILE_SYNC4 */
	CALLBACK_VERSION = 1,		/* of NFS4_CALLBACK, RFC 7531 */
	NUMBERS_KEPT = 128,		/* operations below it stand in the list as they are */
	MINOR_COUNT = 3,
};

/* ---- what operations have in common ---- */

void
nfs4_skip_array(struct nfs4_walk *walk, uint32_t bytes)
{
	uint32_t count = xdr_u32(walk->body);

	if (count > UINT32_MAX / bytes)
		xdr_fail(walk->body, XDR_MALFORMED);
	xdr_skip(walk->body, count * bytes);
}

void
nfs4_skip_bitmap(struct nfs4_walk *walk)
{
	nfs4_skip_array(walk, 4);
}

void
nfs4_skip_attributes(struct nfs4_walk *walk)
{
	nfs4_skip_bitmap(walk);
	nfs4_skip_opaque(walk);
}

void
nfs4_read_offset(struct nfs4_walk *walk)
{
	uint64_t offset = xdr_u64(walk->body);

	if (!walk->main || !xdr_ok(walk->body))
		return;
	walk->op->file_offset = offset;
	walk->op->valid |= OP_HAS_OFFSET;
}

/* A count that does not fit stays unknown. */
static void
set_requested(struct nfs4_walk *walk, uint64_t bytes)
{
	if (!walk->main || !xdr_ok(walk->body) || bytes > UINT32_MAX)
		return;
	walk->op->requested_bytes = (uint32_t)bytes;
	walk->op->valid |= OP_HAS_REQUESTED;
}

void
nfs4_read_count(struct nfs4_walk *walk)
{
	set_requested(walk, xdr_u32(walk->body));
}

void
nfs4_read_length(struct nfs4_walk *walk)
{
	set_requested(walk, xdr_u64(walk->body));
}

void
nfs4_read_stable(struct nfs4_walk *walk)
{
	uint32_t stable = xdr_u32(walk->body);

	if (stable > STABLE_HOW_LAST)
		xdr_fail(walk->body, XDR_MALFORMED);
	if (!walk->main || !xdr_ok(walk->body))
		return;
	walk->op->stable = (uint8_t)stable;
	walk->op->valid |= OP_HAS_STABLE;
}

void
nfs4_set_moved(struct nfs4_walk *walk, uint64_t bytes)
{
	if (!walk->main || !xdr_ok(walk->body) || bytes > UINT32_MAX)
		return;
	walk->op->moved_bytes = (uint32_t)bytes;
	walk->op->valid |= OP_HAS_MOVED;
}

void
nfs4_say_opaque(struct nfs4_walk *walk, enum said_text which)
{
	struct xdr_cursor there = *walk->body;
	uint32_t len;
	const uint8_t *bytes = xdr_read_opaque(&there, UINT32_MAX, &len);

	/* one that is not wholly here is stepped over all the same */
	nfs4_skip_opaque(walk);
	if (bytes != NULL && xdr_ok(walk->body))
		say_text(walk->op, which, bytes, len);
}

/* A flag, and what follows it only when it is true. */
bool
nfs4_read_flag(struct nfs4_walk *walk)
{
	uint32_t flag = xdr_u32(walk->body);

	if (flag > 1)
		xdr_fail(walk->body, XDR_MALFORMED);
	return flag == 1;
}

/* The main operation's is the current one, where that is known. */
static void
set_handle(struct nfs4_walk *walk)
{
	if (walk->file.bytes != NULL)
		op_set_handle(walk->op, walk->file.bytes, walk->file.len);
}

/* nfs_fh4: the current file handle from here on */
void
nfs4_read_handle(struct nfs4_walk *walk)
{
	walk->file.bytes = xdr_read_opaque(walk->body, FH_MOST, &walk->file.len);
	if (walk->main)
		set_handle(walk);
}

/* The current file handle is another one now, which the call does not tell. */
static void
lose_handle(struct nfs4_walk *walk)
{
	walk->file.bytes = NULL;
}

static void
name_lookup(struct nfs4_walk *walk)
{
	nfs4_skip_opaque(walk);
	lose_handle(walk);
}

/* ---- arguments (RFC 7530 sections 16.1 to 16.37) ---- */

/* offset4 offset; count4 count */
void
nfs4_range_call(struct nfs4_walk *walk)
{
	nfs4_read_offset(walk);
	nfs4_read_count(walk);
}

/* createtype4 objtype; component4 objname; fattr4 createattrs (section 16.4) */
static void
create_call(struct nfs4_walk *walk)
{
	enum { BLOCK = 3, CHARACTER = 4, LINK = 5 };
	uint32_t type = xdr_u32(walk->body);

	if (type == LINK)
		nfs4_skip_opaque(walk);
	else if (type == BLOCK || type == CHARACTER)
		xdr_skip(walk->body, 8);
	nfs4_skip_opaque(walk);
	nfs4_skip_attributes(walk);
	lose_handle(walk);
}

/* lock_owner4: clientid4, opaque */
static void
skip_owner(struct nfs4_walk *walk)
{
	xdr_skip(walk->body, 8);
	nfs4_skip_opaque(walk);
}

/* locker4 (section 16.10): with a new owner also open_seqid, and lock_seqid in front of the owner */
static void
lock_call(struct nfs4_walk *walk)
{
	bool is_new = nfs4_read_flag(walk);

	xdr_skip(walk->body, is_new ? 4 + NFS4_STATEID_BYTES + 4 : NFS4_STATEID_BYTES + 4);
	if (is_new)
		skip_owner(walk);
}

/* openflag4 (section 16.16): opentype, and for CREATE createhow4; EXCLUSIVE4_1 is RFC 8881 section 18.16's */
static void
skip_open_how(struct nfs4_walk *walk)
{
	enum { NOCREATE, CREATE };
	enum { UNCHECKED, GUARDED, EXCLUSIVE, EXCLUSIVE_1 };
	uint32_t type = xdr_u32(walk->body), how;

	if (type == NOCREATE)
		return;
	how = xdr_u32(walk->body);
	if (type > CREATE || how > EXCLUSIVE_1)
		nfs4_give_up(walk);
	if (how == EXCLUSIVE || how == EXCLUSIVE_1)
		xdr_skip(walk->body, NFS4_VERIFIER_BYTES);
	if (how != EXCLUSIVE)
		nfs4_skip_attributes(walk);
}

/* open_claim4 (section 16.16; from CLAIM_FH on RFC 8881 section 18.16) */
static void
skip_open_claim(struct nfs4_walk *walk)
{
	enum { BY_NAME, PREVIOUS, DELEGATE_CUR, DELEGATE_PREV, BY_HANDLE, DELEG_CUR_FH, DELEG_PREV_FH };

	switch (xdr_u32(walk->body)) {
	case BY_NAME:
	case DELEGATE_PREV:
		nfs4_skip_opaque(walk);
		break;
	case PREVIOUS:
		xdr_skip(walk->body, 4);
		break;
	case DELEGATE_CUR:
		xdr_skip(walk->body, NFS4_STATEID_BYTES);
		nfs4_skip_opaque(walk);
		break;
	case DELEG_CUR_FH:
		xdr_skip(walk->body, NFS4_STATEID_BYTES);
		break;
	case BY_HANDLE:
	case DELEG_PREV_FH:
		break;
	default:
		nfs4_give_up(walk);
	}
}

/* behind seqid, share_access, share_deny: open_owner4, openflag4, open_claim4 */
static void
open_call(struct nfs4_walk *walk)
{
	skip_owner(walk);
	skip_open_how(walk);
	skip_open_claim(walk);
	lose_handle(walk);
}

static void
savefh_call(struct nfs4_walk *walk)
{
	walk->saved = walk->file;
}

static void
restorefh_call(struct nfs4_walk *walk)
{
	walk->file = walk->saved;
}

/* nfs_client_id4's id, cb_client4 (program, netid, address), callback_ident (section 16.33) */
static void
setclientid_call(struct nfs4_walk *walk)
{
	struct said_port port;
	uint32_t program;

	nfs4_say_opaque(walk, SAID_OWNER);
	program = xdr_u32(walk->body);
	universal_read(walk->body, &port);
	port.program = program;
	port.version = CALLBACK_VERSION;
	if (xdr_ok(walk->body) && port.protocol != 0)
		say_port(walk->op, &port);
	xdr_skip(walk->body, 4);
}

/* offset, stable, data (section 16.36) */
static void
write_call(struct nfs4_walk *walk)
{
	nfs4_read_offset(walk);
	nfs4_read_stable(walk);
	set_requested(walk, xdr_skip_opaque(walk->body, UINT32_MAX));
}

/* ---- results ---- */

static void
getfh_reply(struct nfs4_walk *walk)
{
	xdr_skip_opaque(walk->body, FH_MOST);
}

/* nfsace4: type, flag, mask, who (section 6.2.1) */
static void
skip_ace(struct nfs4_walk *walk)
{
	xdr_skip(walk->body, 12);
	nfs4_skip_opaque(walk);
}

void
nfs4_skip_delegation(struct nfs4_walk *walk)
{
	/* the last two are RFC 9754's, as READ and WRITE */
	enum { NONE, READ, WRITE, NONE_EXT, READ_ATTRS, WRITE_ATTRS };
	enum { CONTENTION = 1, RESOURCE = 2 };
	uint32_t type = xdr_u32(walk->body), why;

	if (type == READ || type == WRITE || type == READ_ATTRS || type == WRITE_ATTRS) {
		xdr_skip(walk->body, NFS4_STATEID_BYTES + 4);
		/* nfs_space_limit4: a size or blocks and their size, 8 bytes both */
		if (type == WRITE || type == WRITE_ATTRS)
			xdr_skip(walk->body, 4 + 8);
		skip_ace(walk);
	} else if (type == NONE_EXT) {
		why = xdr_u32(walk->body);
		if (why == CONTENTION || why == RESOURCE)
			xdr_skip(walk->body, 4);
	} else if (type != NONE) {
		nfs4_give_up(walk);
	}
}

/* behind stateid, change_info4, rflags: bitmap4, open_delegation4 */
static void
open_reply(struct nfs4_walk *walk)
{
	nfs4_skip_bitmap(walk);
	nfs4_skip_delegation(walk);
}

static void
read_reply(struct nfs4_walk *walk)
{
	nfs4_set_moved(walk, xdr_skip_opaque(walk->body, UINT32_MAX));
}

/* dirlist4 (section 16.24): entries behind flags, then eof */
static void
readdir_reply(struct nfs4_walk *walk)
{
	while (nfs4_read_flag(walk) && xdr_ok(walk->body)) {
		xdr_skip(walk->body, 8);
		nfs4_skip_opaque(walk);
		nfs4_skip_attributes(walk);
	}
	xdr_skip(walk->body, 4);
}

void
nfs4_skip_secinfo(struct nfs4_walk *walk)
{
	enum { FLAVOR_GSS = 6 };
	uint32_t count = xdr_u32(walk->body);

	for (uint32_t i = 0; i < count && xdr_ok(walk->body); i++) {
		if (xdr_u32(walk->body) != FLAVOR_GSS)
			continue;
		nfs4_skip_opaque(walk);
		xdr_skip(walk->body, 8);
	}
}

/* count, committed, verifier (section 16.36) */
static void
write_reply(struct nfs4_walk *walk)
{
	nfs4_set_moved(walk, xdr_u32(walk->body));
	xdr_skip(walk->body, 4 + NFS4_VERIFIER_BYTES);
}

/* Row = operation number (section 16). */
static const struct nfs4_operation operations[] = {
	[3] = { "ACCESS", OP_CLASS_ATTRIBUTES, 4, 8, NULL, NULL },
	[4] = { "CLOSE", OP_CLASS_OTHER, 4 + NFS4_STATEID_BYTES, NFS4_STATEID_BYTES, NULL, NULL },
	[5] = { "COMMIT", OP_CLASS_DATA, 0, NFS4_VERIFIER_BYTES, nfs4_range_call, NULL },
	[6] = { "CREATE", OP_CLASS_OTHER, 0, NFS4_CHANGE_INFO_BYTES, create_call, nfs4_skip_bitmap },
	[7] = { "DELEGPURGE", OP_CLASS_OTHER, 8, 0, NULL, NULL },
	[8] = { "DELEGRETURN", OP_CLASS_DELEGRETURN, NFS4_STATEID_BYTES, 0, NULL, NULL },
	[9] = { "GETATTR", OP_CLASS_ATTRIBUTES, 0, 0, nfs4_skip_bitmap, nfs4_read_attributes },
	[10] = { "GETFH", OP_CLASS_HANDLE, 0, 0, NULL, getfh_reply },
	[11] = { "LINK", OP_CLASS_OTHER, 0, NFS4_CHANGE_INFO_BYTES, nfs4_skip_opaque, NULL },
	[12] = { "LOCK", OP_CLASS_OTHER, 24, NFS4_STATEID_BYTES, lock_call, NULL },
	[13] = { "LOCKT", OP_CLASS_OTHER, 20, 0, skip_owner, NULL },
	[14] = { "LOCKU", OP_CLASS_OTHER, 8 + NFS4_STATEID_BYTES + 16, NFS4_STATEID_BYTES, NULL, NULL },
	[15] = { "LOOKUP", OP_CLASS_LOOKUP, 0, 0, name_lookup, NULL },
	[16] = { "LOOKUPP", OP_CLASS_LOOKUP, 0, 0, lose_handle, NULL },
	[17] = { "NVERIFY", OP_CLASS_ATTRIBUTES, 0, 0, nfs4_skip_attributes, NULL },
	[18] = { "OPEN", OP_CLASS_OTHER, 12, NFS4_STATEID_BYTES + NFS4_CHANGE_INFO_BYTES + 4, open_call, open_reply },
	[19] = { "OPENATTR", OP_CLASS_OTHER, 4, 0, lose_handle, NULL },
	[20] = { "OPEN_CONFIRM", OP_CLASS_OTHER, NFS4_STATEID_BYTES + 4, NFS4_STATEID_BYTES, NULL, NULL },
	[21] = { "OPEN_DOWNGRADE", OP_CLASS_OTHER, NFS4_STATEID_BYTES + 12, NFS4_STATEID_BYTES, NULL, NULL },
	[22] = { "PUTFH", OP_CLASS_HANDLE, 0, 0, nfs4_read_handle, NULL },
	[23] = { "PUTPUBFH", OP_CLASS_HANDLE, 0, 0, lose_handle, NULL },
	[24] = { "PUTROOTFH", OP_CLASS_HANDLE, 0, 0, lose_handle, NULL },
	[25] = { "READ", OP_CLASS_DATA, NFS4_STATEID_BYTES, 4, nfs4_range_call, read_reply },
	[26] = { "READDIR", OP_CLASS_OTHER, 24, NFS4_VERIFIER_BYTES, nfs4_skip_bitmap, readdir_reply },
	[27] = { "READLINK", OP_CLASS_OTHER, 0, 0, NULL, nfs4_skip_opaque },
	[28] = { "REMOVE", OP_CLASS_OTHER, 0, NFS4_CHANGE_INFO_BYTES, nfs4_skip_opaque, NULL },
	[29] = { "RENAME", OP_CLASS_OTHER, 0, 2 * NFS4_CHANGE_INFO_BYTES, nfs4_skip_two_opaques, NULL },
	[30] = { "RENEW", OP_CLASS_OTHER, 8, 0, NULL, NULL },
	[31] = { "RESTOREFH", OP_CLASS_HANDLE, 0, 0, restorefh_call, NULL },
	[32] = { "SAVEFH", OP_CLASS_HANDLE, 0, 0, savefh_call, NULL },
	[33] = { "SECINFO", OP_CLASS_ATTRIBUTES, 0, 0, name_lookup, nfs4_skip_secinfo },
	[34] = { "SETATTR", OP_CLASS_OTHER, NFS4_STATEID_BYTES, 0, nfs4_skip_attributes, nfs4_skip_bitmap },
	[35] = { "SETCLIENTID", OP_CLASS_OTHER, NFS4_VERIFIER_BYTES, 16, setclientid_call, NULL },
	[36] = { "SETCLIENTID_CONFIRM", OP_CLASS_OTHER, 16, 0, NULL, NULL },
	[37] = { "VERIFY", OP_CLASS_ATTRIBUTES, 0, 0, nfs4_skip_attributes, NULL },
	[38] = { "WRITE", OP_CLASS_DATA, NFS4_STATEID_BYTES, 0, write_call, write_reply },
	[39] = { "RELEASE_LOCKOWNER", OP_CLASS_OTHER, 0, 0, skip_owner, NULL },
};

/* What stands in a reply for an operation that the server does not know (section 16.38). */
static const struct nfs4_operation illegal = { "ILLEGAL", OP_CLASS_OTHER, 0, 0, NULL, NULL };

static const struct nfs4_operation *
find(uint32_t operation)
{
	const struct nfs4_operation *row = NULL;

	if (operation < NFS41_FIRST)
		row = &operations[operation];
	else if (operation - NFS41_FIRST < NFS41_COUNT)
		row = &nfs41_operations[operation - NFS41_FIRST];
	else if (operation - NFS42_FIRST < NFS42_COUNT)
		row = &nfs42_operations[operation - NFS42_FIRST];
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

/* ---- COMPOUND ---- */

static uint8_t
number_kept(uint32_t operation)
{
	return operation < NUMBERS_KEPT ? (uint8_t)operation : OP_LIST_OTHER;
}

/* The operation at hand is the main one if it is of a lower class than those before it. */
static void
choose_main(struct nfs4_walk *walk, uint32_t operation, const struct nfs4_operation *row)
{
	struct nfs_op *op = walk->op;
	uint8_t class = row != NULL ? row->class : OP_CLASS_OTHER;

	walk->main = class < op->operation_class;
	if (!walk->main)
		return;
	op->operation = operation;
	op->operation_class = class;
	op->valid &= ~(uint32_t)(OP_HAS_FILE | OP_HAS_OFFSET | OP_HAS_REQUESTED | OP_HAS_STABLE | OP_HAS_MOVED);
	set_handle(walk);
}

/*
 * What merely leads to the main operation, or stands beside it, does not name a
 * call whose operations are not all known: a READ may be behind a GETATTR.
 */
static void
forget_preparation(struct nfs_op *op)
{
	if (op->operation_class <= OP_CLASS_OTHER)
		return;
	op->operation = op->procedure;
	op->operation_class = OP_CLASS_NONE;
	op->valid &= ~(uint32_t)OP_HAS_FILE;
}

void
nfs4_read_call(struct xdr_cursor *body, struct nfs_op *op, nfs4_find_fn *find_row)
{
	struct nfs4_walk walk = { .body = body, .op = op };
	uint32_t count = xdr_u32(body);
	uint32_t seen = 0;

	while (seen < count) {
		uint32_t operation = xdr_u32(body);
		const struct nfs4_operation *row = find_row(operation);

		if (!xdr_ok(body))
			break;
		if (seen < OP_LIST)
			op->operations[seen] = number_kept(operation);
		seen++;
		choose_main(&walk, operation, row);
		if (row == NULL)
			break;
		xdr_skip(body, row->call_bytes);
		if (row->call != NULL)
			row->call(&walk);
		/* nothing behind it can tell more: it need not be waited for */
		if (op->operation_class == OP_CLASS_DATA && xdr_ok(body))
			body->beyond = XDR_HOLE;
	}
	op->operations_seen = (uint16_t)(seen < UINT16_MAX ? seen : UINT16_MAX);
	op->operations_all = seen == count && (seen > 0 || xdr_ok(body));
	if (!op->operations_all)
		forget_preparation(op);
}

/* Whether the reply's operations are those of the call so far. */
static bool
goes_with_call(const struct nfs_op *op, uint32_t place, uint32_t operation)
{
	if (place >= op->operations_seen)
		return !op->operations_all;
	return place >= OP_LIST || operation == NFS4_ILLEGAL || op->operations[place] == number_kept(operation);
}

void
nfs4_read_reply(struct xdr_cursor *body, struct nfs_op *op, nfs4_find_fn *find_row)
{
	struct nfs4_walk walk = { .body = body, .op = op };
	bool named = op->operations_all || op->operation_class == OP_CLASS_DATA, found = false;
	uint32_t status = xdr_u32(body), count, seen = 0, own = NFS4_OK;

	if (!xdr_ok(body))
		return;
	op->status = status;
	op->valid |= OP_HAS_STATUS;
	nfs4_skip_opaque(&walk);
	count = xdr_u32(body);
	while (seen < count && own == NFS4_OK) {
		uint32_t operation = xdr_u32(body);
		const struct nfs4_operation *row = find_row(operation);

		if (!xdr_ok(body))
			break;
		if (!goes_with_call(op, seen++, operation)) {
			op->flags |= OP_OTHER_REPLY;
			if (!named)
				forget_preparation(op);
			return;
		}
		if (named)
			walk.main = !found && operation == op->operation;
		else
			choose_main(&walk, operation, row);
		found |= walk.main;
		own = xdr_u32(body);
		if (row == NULL)
			break;
		if (own == NFS4_OK) {
			xdr_skip(body, row->reply_bytes);
			if (row->reply != NULL)
				row->reply(&walk);
		}
		if (xdr_ok(body) && (named ? found : op->operation_class == OP_CLASS_DATA))
			body->beyond = XDR_HOLE;
	}
	if (!named && (seen < count || count == 0 || status != NFS4_OK))
		forget_preparation(op);
}

/* COMPOUND4args (RFC 7530 section 15.2) */
static void
compound_call(struct xdr_cursor *body, struct nfs_op *op)
{
	uint32_t minor;

	xdr_skip_opaque(body, UINT32_MAX);
	minor = xdr_u32(body);
	if (xdr_ok(body) && minor < MINOR_COUNT)
		op->minor = (uint8_t)minor;
	nfs4_read_call(body, op, find);
}

static void
compound_reply(struct xdr_cursor *body, struct nfs_op *op)
{
	nfs4_read_reply(body, op, find);
}

/* Row = procedure number (RFC 7530 section 15). */
static const struct decoder_procedure procedures[] = {
	[0] = { "NULL", NULL, NULL },
	[1] = { "COMPOUND", compound_call, compound_reply },
};

static const char *const minor_labels[MINOR_COUNT] = { "4.0", "4.1", "4.2" };

const struct decoder nfs4_decoder = {
	.program = 100003,
	.version = 4,
	.label = "4",
	.procedures = procedures,
	.procedure_count = sizeof procedures / sizeof procedures[0],
	.compound = 1,
	.operation_name = operation_name,
	.minor_labels = minor_labels,
	.minor_count = MINOR_COUNT,
};
