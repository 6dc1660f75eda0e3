/*
 * The operations that minor version 1 adds (RFC 8881 section 18).
 */
#include "nfs4.h"

/* callback_sec_parms4<> (section 18.33) */
static void
skip_callback_security(struct nfs4_walk *walk)
{
	enum { FLAVOR_NONE = 0, FLAVOR_SYS = 1, FLAVOR_GSS = 6 };
	uint32_t count = xdr_u32(walk->body);

	for (uint32_t i = 0; i < count && xdr_ok(walk->body); i++) {
		uint32_t flavor = xdr_u32(walk->body);

		if (flavor == FLAVOR_SYS) {
			/* authsys_parms (RFC 5531 appendix A): stamp, machine name, uid, gid, gids */
			xdr_skip(walk->body, 4);
			nfs4_skip_opaque(walk);
			xdr_skip(walk->body, 8);
			nfs4_skip_array(walk, 4);
		} else if (flavor == FLAVOR_GSS) {
			xdr_skip(walk->body, 4);
			nfs4_skip_two_opaques(walk);
		} else if (flavor != FLAVOR_NONE) {
			nfs4_give_up(walk);
		}
	}
}

/* nfs_impl_id4<1>: domain, name, date (section 3.3.21) */
static void
read_implementation(struct nfs4_walk *walk)
{
	uint32_t count = xdr_u32(walk->body);

	if (count > 1)
		xdr_fail(walk->body, XDR_MALFORMED);
	if (count != 1)
		return;
	nfs4_say_opaque(walk, SAID_DOMAIN);
	nfs4_say_opaque(walk, SAID_PRODUCT);
	xdr_skip(walk->body, NFS4_TIME_BYTES);
}

enum { PROTECT_NONE, PROTECT_MACHINE, PROTECT_SSV };

/* state_protect_ops4 (section 18.35): operations that must and may use the machine's credential */
static void
skip_protected_operations(struct nfs4_walk *walk)
{
	nfs4_skip_bitmap(walk);
	nfs4_skip_bitmap(walk);
}

static void
skip_opaques(struct nfs4_walk *walk)
{
	uint32_t count = xdr_u32(walk->body);

	for (uint32_t i = 0; i < count && xdr_ok(walk->body); i++)
		nfs4_skip_opaque(walk);
}

/* behind the verifier: ownerid, flags, state_protect4_a, nfs_impl_id4<1> (section 18.35) */
static void
exchange_id_call(struct nfs4_walk *walk)
{
	uint32_t how;

	nfs4_say_opaque(walk, SAID_OWNER);
	xdr_skip(walk->body, 4);
	how = xdr_u32(walk->body);
	if (how > PROTECT_SSV)
		nfs4_give_up(walk);
	if (how != PROTECT_NONE)
		skip_protected_operations(walk);
	if (how == PROTECT_SSV) {
		skip_opaques(walk);
		skip_opaques(walk);
		xdr_skip(walk->body, 8);
	}
	read_implementation(walk);
}

/* behind client id, sequence id, flags: state_protect4_r, server_owner4, scope, nfs_impl_id4<1> */
static void
exchange_id_reply(struct nfs4_walk *walk)
{
	uint32_t how = xdr_u32(walk->body);

	if (how > PROTECT_SSV)
		nfs4_give_up(walk);
	if (how != PROTECT_NONE)
		skip_protected_operations(walk);
	if (how == PROTECT_SSV) {
		xdr_skip(walk->body, 16);
		skip_opaques(walk);
	}
	xdr_skip(walk->body, 8);
	nfs4_say_opaque(walk, SAID_OWNER);
	nfs4_say_opaque(walk, SAID_SCOPE);
	read_implementation(walk);
}

/*
 * channel_attrs4 (section 18.36): header pad, ca_maxrequestsize,
 * ca_maxresponsesize, the same cached, ca_maxoperations, ca_maxrequests, ca_rdma_ird<1>
 */
static struct said_session
read_channel(struct nfs4_walk *walk)
{
	struct said_session channel;

	xdr_skip(walk->body, 4);
	channel.request_bytes = xdr_u32(walk->body);
	channel.response_bytes = xdr_u32(walk->body);
	xdr_skip(walk->body, 4);
	channel.operations = xdr_u32(walk->body);
	channel.requests = xdr_u32(walk->body);
	nfs4_skip_array(walk, 4);
	return channel;
}

/* behind client id, sequence id, flags: both channels, the callback's program and security */
static void
create_session_call(struct nfs4_walk *walk)
{
	read_channel(walk);
	read_channel(walk);
	xdr_skip(walk->body, 4);
	skip_callback_security(walk);
}

/* A session id is the server's choice of 16 bytes: any mixture of its halves names it. */
static uint64_t
read_session(struct nfs4_walk *walk)
{
	uint64_t high = xdr_u64(walk->body), low = xdr_u64(walk->body);

	return (high ^ low >> 32) * UINT64_C(0x9e3779b97f4a7c15) ^ low;
}

/* csr_sessionid, csr_sequence, csr_flags, fore and back channel */
static void
create_session_reply(struct nfs4_walk *walk)
{
	uint64_t session = read_session(walk);
	struct said_session granted;
	struct nfs_said *said;

	xdr_skip(walk->body, 8);
	granted = read_channel(walk);
	read_channel(walk);
	if (!xdr_ok(walk->body))
		return;
	walk->op->session = session;
	walk->op->slots_granted = granted.requests;
	walk->op->valid |= OP_HAS_GRANTED;
	said = said_of(walk->op);
	if (said == NULL)
		return;
	said->session = granted;
	said->has_session = true;
}

/* notification types, delays (RFC 8881 section 18.39): child and directory, then the attributes of both */
static void
directory_delegation_call(struct nfs4_walk *walk)
{
	nfs4_skip_bitmap(walk);
	xdr_skip(walk->body, 2 * NFS4_TIME_BYTES);
	nfs4_skip_bitmap(walk);
	nfs4_skip_bitmap(walk);
}

static void
directory_delegation_reply(struct nfs4_walk *walk)
{
	enum { GRANTED, UNAVAILABLE };
	uint32_t status = xdr_u32(walk->body);

	if (status == UNAVAILABLE) {
		xdr_skip(walk->body, 4);
		return;
	}
	if (status != GRANTED)
		nfs4_give_up(walk);
	xdr_skip(walk->body, NFS4_VERIFIER_BYTES + NFS4_STATEID_BYTES);
	nfs4_skip_bitmap(walk);
	nfs4_skip_bitmap(walk);
	nfs4_skip_bitmap(walk);
}

/* behind the layout type: device_addr4's body, notification types (section 18.40) */
static void
device_info_reply(struct nfs4_walk *walk)
{
	nfs4_skip_opaque(walk);
	nfs4_skip_bitmap(walk);
}

/* behind cookie and verifier: device ids, eof (section 18.41) */
static void
device_list_reply(struct nfs4_walk *walk)
{
	nfs4_skip_array(walk, NFS4_DEVICEID_BYTES);
	xdr_skip(walk->body, 4);
}

/* behind offset, length, reclaim, stateid: newoffset4, newtime4, layoutupdate4 (section 18.42) */
static void
layout_commit_call(struct nfs4_walk *walk)
{
	if (nfs4_read_flag(walk))
		xdr_skip(walk->body, 8);
	if (nfs4_read_flag(walk))
		xdr_skip(walk->body, NFS4_TIME_BYTES);
	xdr_skip(walk->body, 4);
	nfs4_skip_opaque(walk);
}

/* newsize4 */
static void
layout_commit_reply(struct nfs4_walk *walk)
{
	if (nfs4_read_flag(walk))
		xdr_skip(walk->body, 8);
}

/* layout4<> behind return_on_close and stateid (section 18.43): offset, length, mode, type, body */
static void
layout_get_reply(struct nfs4_walk *walk)
{
	uint32_t count = xdr_u32(walk->body);

	for (uint32_t i = 0; i < count && xdr_ok(walk->body); i++) {
		xdr_skip(walk->body, 24);
		nfs4_skip_opaque(walk);
	}
}

/* layoutreturn4 behind reclaim, type, mode (section 18.44) */
static void
layout_return_call(struct nfs4_walk *walk)
{
	enum { RETURN_FILE = 1 };

	/* whatever else is returned, nothing follows */
	if (xdr_u32(walk->body) != RETURN_FILE)
		return;
	xdr_skip(walk->body, 16 + NFS4_STATEID_BYTES);
	nfs4_skip_opaque(walk);
}

/* layoutreturn_stateid */
static void
layout_return_reply(struct nfs4_walk *walk)
{
	if (nfs4_read_flag(walk))
		xdr_skip(walk->body, NFS4_STATEID_BYTES);
}

static void
set_slot(struct nfs4_walk *walk, uint64_t session, uint32_t sequence, uint32_t slot)
{
	if (!xdr_ok(walk->body))
		return;
	walk->op->session = session;
	walk->op->slot_sequence = sequence;
	walk->op->slot = slot;
	walk->op->valid |= OP_HAS_SLOT;
}

void
nfs4_sequence_call(struct nfs4_walk *walk)
{
	uint64_t session = read_session(walk);
	uint32_t sequence = xdr_u32(walk->body), slot = xdr_u32(walk->body), highest;

	set_slot(walk, session, sequence, slot);
	highest = xdr_u32(walk->body);
	xdr_skip(walk->body, 4);
	if (!xdr_ok(walk->body))
		return;
	walk->op->slot_used_highest = highest;
	walk->op->valid |= OP_HAS_SLOT_USED;
}

void
nfs4_sequence_reply(struct nfs4_walk *walk)
{
	uint64_t session = read_session(walk);
	uint32_t sequence = xdr_u32(walk->body), slot = xdr_u32(walk->body);
	uint32_t highest, target;

	/* what the call said stands: a server that answers for another slot is not for us to believe */
	if (!op_has(walk->op, OP_HAS_SLOT))
		set_slot(walk, session, sequence, slot);
	highest = xdr_u32(walk->body);
	target = xdr_u32(walk->body);
	if (!xdr_ok(walk->body))
		return;
	walk->op->slot_highest = highest;
	walk->op->slot_target = target;
	walk->op->valid |= OP_HAS_SLOT_LIMITS;
}

/* as nfs4_sequence_reply, and sr_status_flags */
static void
sequence_reply(struct nfs4_walk *walk)
{
	nfs4_sequence_reply(walk);
	xdr_skip(walk->body, 4);
}

static void
skip_stateids(struct nfs4_walk *walk)
{
	nfs4_skip_array(walk, NFS4_STATEID_BYTES);
}

static void
skip_numbers(struct nfs4_walk *walk)
{
	nfs4_skip_array(walk, 4);
}

/* deleg_claim4 behind the kind of delegation (section 18.49) */
static void
want_delegation_call(struct nfs4_walk *walk)
{
	enum { CLAIM_PREVIOUS = 1, CLAIM_FH = 4, CLAIM_DELEG_PREV_FH = 6 };
	uint32_t claim = xdr_u32(walk->body);

	if (claim == CLAIM_PREVIOUS)
		xdr_skip(walk->body, 4);
	else if (claim != CLAIM_FH && claim != CLAIM_DELEG_PREV_FH)
		nfs4_give_up(walk);
}

/* Row = operation number - 40 (RFC 8881 section 18). */
const struct nfs4_operation nfs41_operations[NFS41_COUNT] = {
	[0] = { "BACKCHANNEL_CTL", OP_CLASS_OTHER, 4, 0, skip_callback_security, NULL },
	[1] = { "BIND_CONN_TO_SESSION", OP_CLASS_OTHER, NFS4_SESSIONID_BYTES + 8, NFS4_SESSIONID_BYTES + 8, NULL, NULL },
	[2] = { "EXCHANGE_ID", OP_CLASS_OTHER, NFS4_VERIFIER_BYTES, 16, exchange_id_call, exchange_id_reply },
	[3] = { "CREATE_SESSION", OP_CLASS_OTHER, 16, 0, create_session_call, create_session_reply },
	[4] = { "DESTROY_SESSION", OP_CLASS_OTHER, NFS4_SESSIONID_BYTES, 0, NULL, NULL },
	[5] = { "FREE_STATEID", OP_CLASS_OTHER, NFS4_STATEID_BYTES, 0, NULL, NULL },
	[6] = { "GET_DIR_DELEGATION", OP_CLASS_OTHER, 4, 0, directory_delegation_call, directory_delegation_reply },
	[7] = { "GETDEVICEINFO", OP_CLASS_OTHER, NFS4_DEVICEID_BYTES + 8, 4, nfs4_skip_bitmap, device_info_reply },
	[8] = { "GETDEVICELIST", OP_CLASS_OTHER, 16 + NFS4_VERIFIER_BYTES, 8 + NFS4_VERIFIER_BYTES, NULL, device_list_reply },
	[9] = { "LAYOUTCOMMIT", OP_CLASS_LAYOUT, 20 + NFS4_STATEID_BYTES, 0, layout_commit_call, layout_commit_reply },
	[10] = { "LAYOUTGET", OP_CLASS_LAYOUT, 36 + NFS4_STATEID_BYTES + 4, 4 + NFS4_STATEID_BYTES, NULL, layout_get_reply },
	[11] = { "LAYOUTRETURN", OP_CLASS_LAYOUT, 12, 0, layout_return_call, layout_return_reply },
	[12] = { "SECINFO_NO_NAME", OP_CLASS_ATTRIBUTES, 4, 0, NULL, nfs4_skip_secinfo },
	[13] = { "SEQUENCE", OP_CLASS_SEQUENCE, 0, 0, nfs4_sequence_call, sequence_reply },
	[14] = { "SET_SSV", OP_CLASS_OTHER, 0, 0, nfs4_skip_two_opaques, nfs4_skip_opaque },
	[15] = { "TEST_STATEID", OP_CLASS_OTHER, 0, 0, skip_stateids, skip_numbers },
	[16] = { "WANT_DELEGATION", OP_CLASS_OTHER, 4, 0, want_delegation_call, nfs4_skip_delegation },
	[17] = { "DESTROY_CLIENTID", OP_CLASS_OTHER, 8, 0, NULL, NULL },
	[18] = { "RECLAIM_COMPLETE", OP_CLASS_OTHER, 4, 0, NULL, NULL },
};
