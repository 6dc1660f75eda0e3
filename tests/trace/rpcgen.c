#include "trace/rpcgen.h"

#include <rpc/types.h>
#include <rpc/xdr.h>
#include <rpc/auth.h>
#include <rpc/auth_unix.h>
#include <rpc/clnt.h>
#include <rpc/rpc_msg.h>
#include <stdio.h>
#include <string.h>

#include "trace/nfs3.h"
#include "trace/nfs4.h"

enum {
	NFS_PROGRAM = 100003, NFS_VERSION = 3, NFS_VERSION_4 = 4,
	MARK_BYTES = 4,
	CALL_HEADER_BYTES = 24,		/* up to the procedure number */
	REPLY_HEADER_BYTES = 8,		/* up to the message type */
	HEAD_BYTES = 8192,		/* of the longest message without its data */
};

static const uint32_t last_fragment = 0x80000000;
/* Streams of random numbers, one a call. */
static const uint64_t fake_streams = UINT64_C(1) << 32;

static void
put_mark(uint8_t *bytes, uint32_t mark)
{
	uint32_t value = GUINT32_TO_BE(mark);

	memcpy(bytes, &value, sizeof value);
}

/* ---- records ---- */

/* A message: `head` and behind it `bulk` and its padding. */
struct message {
	uint8_t head[MARK_BYTES + HEAD_BYTES];	/* the mark's place included */
	uint32_t head_len;			/* without the mark */
	uint32_t header_bytes;
	const uint8_t *bulk;
	uint32_t bulk_len;
	uint32_t pad_len;
};

static uint32_t
message_len(const struct message *message)
{
	return message->head_len + message->bulk_len + message->pad_len;
}

static uint8_t *
flat_message(const struct message *message)
{
	uint8_t *flat = g_malloc0(message_len(message));

	memcpy(flat, message->head + MARK_BYTES, message->head_len);
	if (message->bulk_len > 0)
		memcpy(flat + message->head_len, message->bulk, message->bulk_len);
	return flat;
}

static struct record *
new_record(struct call *call)
{
	struct record *record = g_new0(struct record, 1);

	record->call = call;
	return record;
}

static struct record *
one_fragment(struct call *call, struct message *message)
{
	struct record *record = new_record(call);

	put_mark(message->head, last_fragment | message_len(message));
	record->head_len = MARK_BYTES + message->head_len;
	record->head = g_memdup2(message->head, record->head_len);
	record->bulk = message->bulk;
	record->bulk_len = message->bulk_len;
	record->end = MARK_BYTES + (uint64_t)message_len(message);
	record->header_end = MARK_BYTES + message->header_bytes;
	return record;
}

/*
 * Several fragments (RFC 5531 §11), and where asked for one of 0 bytes: as the
 * first, the second or the last, by XID.
 */
static struct record *
many_fragments(const struct trace_config *config, struct call *call,
	const struct message *message)
{
	g_autofree uint8_t *flat = flat_message(message);
	uint32_t len = message_len(message);
	uint32_t largest = config->fragment_bytes > 0
		? (uint32_t)MIN(config->fragment_bytes, (int64_t)len) : len;
	uint32_t marks = (len + largest - 1) / largest + 1;
	struct record *record = new_record(call);
	uint8_t *to = record->head = g_malloc(len + MARK_BYTES * marks);
	unsigned empty = config->empty_fragment ? call->xid % 3 : 3;

	for (uint32_t at = 0, part; at < len; at += part) {
		part = MIN(largest, len - at);
		if (empty == 0 || (empty == 1 && at > 0)) {
			put_mark(to, 0);
			to += MARK_BYTES;
			empty = 3;
		}
		put_mark(to, part | (at + part == len && empty != 2 ? last_fragment : 0));
		to += MARK_BYTES;
		memcpy(to, flat + at, part);
		if (message->header_bytes > at && message->header_bytes <= at + part)
			record->header_end = (uint64_t)(to - record->head)
				+ message->header_bytes - at;
		to += part;
	}
	if (empty == 2) {
		put_mark(to, last_fragment);
		to += MARK_BYTES;
	}
	record->head_len = (uint32_t)(to - record->head);
	record->end = record->head_len;
	return record;
}

/* Payload that imitates RPC is made for this record alone, and the same for the copies of a call. */
static void
fake_payload(struct sim *sim, struct record *record, const struct message *message, const struct call *call)
{
	uint8_t *whole = g_malloc0(record->end);
	struct trace_rng rng;

	trace_rng_init(&rng, sim->config->seed, fake_streams + call->id);
	memcpy(whole, record->head, record->head_len);
	trace_payload_fakes(&rng, call->xid, whole + record->head_len, message->bulk_len);
	g_free(record->head);
	record->head = whole;
	record->head_len = (uint32_t)record->end;
	record->bulk_len = 0;
}

static struct record *
make_record(struct sim *sim, struct call *call, struct message *message)
{
	const struct trace_config *config = sim->config;
	struct record *record;

	if (config->fragment_bytes > 0 || config->empty_fragment) {
		record = many_fragments(config, call, message);
	} else {
		record = one_fragment(call, message);
		if (config->payload == TRACE_FAKES && message->bulk_len > 0)
			fake_payload(sim, record, message, call);
	}
	if (trace_rng_chance(&sim->record_rng, config->split_mark))
		record->split_bytes = 1 + (uint32_t)trace_rng_below(&sim->record_rng, 3);
	call->refs++;
	return record;
}

/* The same bytes for the same place of a file, and for the copies of a call. */
static void
set_bulk(const struct sim *sim, const struct call *call, uint32_t len, struct message *message)
{
	uint64_t place = call->offset * 31 + call->file * UINT64_C(65537);

	message->bulk = sim->pool + place % (POOL_BYTES - LARGEST_PAYLOAD);
	message->bulk_len = len;
	message->pad_len = (4 - len % 4) % 4;
}

/* ---- messages ---- */

void
trace_rpc_credential(struct sim *sim, struct client *client)
{
	char name[32];
	gid_t groups[3] = { 54322, 54323, 54327 };
	struct authunix_parms parms = {
		.aup_time = 1760000000, .aup_machname = name, .aup_uid = 54321, .aup_gid = 54322,
		.aup_len = G_N_ELEMENTS(groups), .aup_gids = groups,
	};
	XDR xdr;

	if (sim->config->auth_none)
		return;
	snprintf(name, sizeof name, "client%u", client->index);
	client->credential = g_malloc(MAX_AUTH_BYTES);
	xdrmem_create(&xdr, (char *)client->credential, MAX_AUTH_BYTES, XDR_ENCODE);
	if (xdr_authunix_parms(&xdr, &parms))
		client->credential_len = xdr_getpos(&xdr);
	xdr_destroy(&xdr);
}

struct record *
trace_rpc_call(struct sim *sim, struct call *call)
{
	const struct client *client = call->lane->client;
	bool is_v4 = sim->config->nfs != TRACE_NFS3;
	bool is_null = call->procedure == NFS3_NULL && call->set_up == SET_UP_NOTHING;
	struct message message = { .header_bytes = CALL_HEADER_BYTES };
	struct rpc_msg header = { .rm_xid = call->xid, .rm_direction = CALL };
	XDR xdr;

	header.rm_call.cb_rpcvers = RPC_MSG_VERSION;
	header.rm_call.cb_prog = NFS_PROGRAM;
	header.rm_call.cb_vers = is_v4 ? NFS_VERSION_4 : NFS_VERSION;
	header.rm_call.cb_proc = is_null ? 0 : is_v4 ? NFS4_COMPOUND : call->procedure;
	if (client->credential != NULL) {
		header.rm_call.cb_cred.oa_flavor = AUTH_SYS;
		header.rm_call.cb_cred.oa_base = (caddr_t)client->credential;
		header.rm_call.cb_cred.oa_length = client->credential_len;
	}
	xdrmem_create(&xdr, (char *)message.head + MARK_BYTES, HEAD_BYTES, XDR_ENCODE);
	if (!xdr_callmsg(&xdr, &header)
	    || !(is_v4 ? trace_nfs4_arguments(&xdr, call) : trace_nfs3_arguments(&xdr, call)))
		g_error("a call does not fit into %d bytes", HEAD_BYTES);
	message.head_len = xdr_getpos(&xdr);
	xdr_destroy(&xdr);
	if (call->procedure == NFS3_WRITE)
		set_bulk(sim, call, call->size, &message);
	return make_record(sim, call, &message);
}

static const enum accept_stat accept_stats[] = {
	[RPC_OK] = SUCCESS, [RPC_PROG_UNAVAIL] = PROG_UNAVAIL,
	[RPC_PROG_MISMATCH] = PROG_MISMATCH, [RPC_PROC_UNAVAIL] = PROC_UNAVAIL,
	[RPC_GARBAGE_ARGS] = GARBAGE_ARGS, [RPC_SYSTEM_ERR] = SYSTEM_ERR,
};

static const char *const outcome_names[RPC_OUTCOMES] = {
	[RPC_OK] = "SUCCESS", [RPC_PROG_UNAVAIL] = "PROG_UNAVAIL",
	[RPC_PROG_MISMATCH] = "PROG_MISMATCH", [RPC_PROC_UNAVAIL] = "PROC_UNAVAIL",
	[RPC_GARBAGE_ARGS] = "GARBAGE_ARGS", [RPC_SYSTEM_ERR] = "SYSTEM_ERR",
	[RPC_VERSION_MISMATCH] = "RPC_MISMATCH", [RPC_AUTH_REFUSED] = "AUTH_ERROR",
};

const char *
trace_rpc_outcome_name(enum rpc_outcome outcome)
{
	return outcome_names[outcome];
}

/* The result follows the header by itself. */
static bool_t
no_result(XDR *xdr, ...)
{
	(void)xdr;
	return TRUE;
}

static void
set_reply(struct rpc_msg *header, enum rpc_outcome outcome)
{
	if (outcome == RPC_VERSION_MISMATCH || outcome == RPC_AUTH_REFUSED) {
		struct rejected_reply *rejected = &header->rm_reply.rp_rjct;

		header->rm_reply.rp_stat = MSG_DENIED;
		if (outcome == RPC_AUTH_REFUSED) {
			rejected->rj_stat = AUTH_ERROR;
			rejected->rj_why = AUTH_TOOWEAK;
		} else {
			rejected->rj_stat = RPC_MISMATCH;
			rejected->rj_vers.low = RPC_MSG_VERSION;
			rejected->rj_vers.high = RPC_MSG_VERSION;
		}
		return;
	}
	header->rm_reply.rp_stat = MSG_ACCEPTED;
	header->acpted_rply.ar_stat = accept_stats[outcome];
	if (outcome == RPC_PROG_MISMATCH) {
		header->acpted_rply.ar_vers.low = 4;
		header->acpted_rply.ar_vers.high = 4;
	} else {
		header->acpted_rply.ar_results.proc = no_result;
	}
}

struct record *
trace_rpc_reply(struct sim *sim, struct call *call)
{
	bool is_v4 = sim->config->nfs != TRACE_NFS3;
	struct message message = { .header_bytes = REPLY_HEADER_BYTES };
	struct rpc_msg header = { .rm_xid = call->xid, .rm_direction = REPLY };
	XDR xdr;

	set_reply(&header, call->outcome);
	xdrmem_create(&xdr, (char *)message.head + MARK_BYTES, HEAD_BYTES, XDR_ENCODE);
	if (!xdr_replymsg(&xdr, &header)
	    || (call->outcome == RPC_OK
	    && !(is_v4 ? trace_nfs4_result(&xdr, call) : trace_nfs3_result(&xdr, call))))
		g_error("a reply does not fit into %d bytes", HEAD_BYTES);
	message.head_len = xdr_getpos(&xdr);
	xdr_destroy(&xdr);
	if (call->procedure == NFS3_READ && call->outcome == RPC_OK && call->status == 0)
		set_bulk(sim, call, call->moved, &message);
	return make_record(sim, call, &message);
}

/* ---- payload ---- */

void
trace_payload_fill(struct sim *sim)
{
	struct trace_rng rng;

	sim->pool = g_malloc(POOL_BYTES);
	if (sim->config->payload == TRACE_PATTERN) {
		for (uint32_t i = 0; i < POOL_BYTES; i += 4)
			put_mark(sim->pool + i, i);
		return;
	}
	trace_rng_init(&rng, sim->config->seed, 100);
	trace_rng_fill(&rng, sim->pool, POOL_BYTES);
}

static uint32_t
fake_message(uint8_t *bytes, uint32_t size, uint32_t xid, bool is_call)
{
	struct rpc_msg header = { .rm_xid = xid, .rm_direction = is_call ? CALL : REPLY };
	struct call call = { .procedure = NFS3_GETATTR, .file = xid % 16 };
	XDR xdr;
	uint32_t len = 0;

	if (is_call) {
		header.rm_call.cb_rpcvers = RPC_MSG_VERSION;
		header.rm_call.cb_prog = NFS_PROGRAM;
		header.rm_call.cb_vers = NFS_VERSION;
		header.rm_call.cb_proc = NFS3_GETATTR;
	} else {
		set_reply(&header, RPC_OK);
	}
	xdrmem_create(&xdr, (char *)bytes + MARK_BYTES, size - MARK_BYTES, XDR_ENCODE);
	if (is_call ? xdr_callmsg(&xdr, &header) && trace_nfs3_arguments(&xdr, &call)
	    : xdr_replymsg(&xdr, &header) && trace_nfs3_result(&xdr, &call))
		len = xdr_getpos(&xdr);
	xdr_destroy(&xdr);
	if (len == 0)
		return 0;
	put_mark(bytes, last_fragment | len);
	return MARK_BYTES + len;
}

void
trace_payload_fakes(struct trace_rng *rng, uint32_t xid, uint8_t *bytes, uint32_t len)
{
	/* Some payloads have the fakes where no word boundary is. */
	uint32_t at = (uint32_t)trace_rng_below(rng, 4);
	uint32_t part = 1;

	while (part > 0 && at + 200 < len) {
		uint32_t near = xid - 16 + (uint32_t)trace_rng_below(rng, 40);

		part = fake_message(bytes + at, len - at, near, trace_rng_below(rng, 2) == 0);
		at += part;
	}
}
