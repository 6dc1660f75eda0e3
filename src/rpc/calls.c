/*
 * Outstanding calls of one shard. A call is keyed by its connection's epoch,
 * its direction and its XID. Answered calls leave at once; what it takes to
 * know a copy of them that was sent before their reply was acknowledged stays
 * in a short ring of the connection.
 */
#include "rpc/calls.h"

#include <glib.h>
#include <nfscorr/decoder.h>
#include <nfscorr/nfs_said.h>
#include <string.h>

#include "base/arith.h"
#include "rpc/answered.h"
#include "rpc/call_hash.h"
#include "rpc/fingerprint.h"
#include "rpc/handles.h"
#include "rpc/header.h"
#include "rpc/hosts.h"
#include "rpc/names.h"
#include "rpc/orphans.h"
#include "rpc/outstanding.h"

enum {
	/* A reply this much in front of its call in time still is its reply: packets may be out of order. */
	REPLY_BEFORE_CALL_NS = 200 * NS_PER_US,
	RECENT = 8,
	LATELY = 512,			/* answered calls of a shard that copies and second replies are known by */
	LATELY_UDP = 4096,
	NEAR_XIDS = 1 << 16,
	CALL_PROGRAM_END = 16,		/* XID, type, RPC version, program: RFC 5531 section 9 */
	TOKEN_ORPHAN = 1 << 30,		/* a record's token that names no call: it takes 30 bits */
};

/* What became of the head of a reply. */
enum reply_result { REPLY_READ, REPLY_GOES_ON, REPLY_OTHER };

/* Why a call ends without a reply. */
enum call_end { CALL_CONNECTION_OVER, CALL_CAPTURE_OVER, CALL_EVICTED, CALL_REPLACED };

/* An answered call whose reply was not acknowledged yet. */
struct recent {
	uint32_t xid, program, version, procedure;
	struct arg_print print;
	int64_t reply_end;
	uint8_t direction;
	bool used;
};

/* One connection's state; hangs on connection_info.rpc. */
struct peer {
	uint32_t first;			/* its calls, newest first */
	int64_t missed_ns[2];		/* messages of this direction may be missing up to then */
	int64_t longest_ns;		/* latency seen, by this side's stamps */
	struct orphans *orphans;	/* NULL until a reply came without its call */
	struct recent *recent;		/* RECENT of them */
	unsigned recent_next;
	struct usual_header usual[2];	/* of calls by their direction */
	uint32_t answered_xid;		/* of the last call that was answered */
	bool answered;
	bool missed[2];
	const struct connection_info *connection;
};

struct calls {
	op_sink_fn *sink;
	void *context;
	struct rpc_counters counters;
	struct outstanding *table;
	uint32_t orphan_room, orphan_limit;	/* of all connections */
	struct answered *lately;	/* answered over TCP; NULL until the first */
	struct answered *answered;	/* over UDP; NULL until the first */
	struct handles *handles;	/* NULL until the first */
	struct hosts *hosts;		/* NULL: nobody wants to know */
	struct nfs_said said;		/* of the message at hand */
};

struct calls *
calls_new(uint32_t limit, op_sink_fn *sink, void *context)
{
	struct calls *calls = g_new0(struct calls, 1);

	calls->sink = sink;
	calls->context = context;
	calls->table = outstanding_new(limit);
	calls->orphan_limit = limit;
	return calls;
}

void
calls_free(struct calls *calls)
{
	if (calls == NULL)
		return;
	outstanding_free(calls->table);
	answered_free(calls->lately);
	answered_free(calls->answered);
	handles_free(calls->handles);
	g_free(calls);
}

void
calls_set_hosts(struct calls *calls, struct hosts *hosts)
{
	calls->hosts = hosts;
}

const struct rpc_counters *
calls_counters(const struct calls *calls)
{
	return &calls->counters;
}

void
rpc_counters_add(struct rpc_counters *sum, const struct rpc_counters *part)
{
	/* all members are counts */
	uint64_t *into = &sum->calls;
	const uint64_t *from = &part->calls;

	for (size_t i = 0; i < sizeof *sum / sizeof *into; i++)
		into[i] += from[i];
}

/* ---- a call's end ---- */

static void
remember_answered(struct calls *calls, const struct call *call, const struct connection_info *connection)
{
	const struct nfs_op *op = &call->op;
	struct peer *peer = call->peer;
	struct recent *recent;

	if (calls->lately == NULL)
		calls->lately = answered_new(LATELY);
	answered_add(calls->lately, call->hash, op, op->reply_end);
	if (connection_acked(connection, !op->call_direction) >= op->reply_end)
		return;
	if (peer->recent == NULL)
		peer->recent = g_new0(struct recent, RECENT);
	recent = &peer->recent[peer->recent_next++ % RECENT];
	*recent = (struct recent){ .xid = op->xid, .program = op->program, .version = op->version,
	    .procedure = op->procedure, .print = op->print, .reply_end = op->reply_end,
	    .direction = op->call_direction, .used = true };
}

static void
remember_datagram(struct calls *calls, const struct call *call)
{
	if (calls->answered == NULL)
		calls->answered = answered_new(LATELY_UDP);
	answered_add(calls->answered, call->hash, &call->op, call->op.reply_first_ns);
}

static void
emit(struct calls *calls, struct call *call, enum op_outcome outcome)
{
	call->op.outcome = (uint8_t)outcome;
	calls->counters.outcomes[outcome]++;
	calls->sink(calls->context, &call->op);
	outstanding_remove(calls->table, call);
}

/* The call has its reply, and both records are over. */
static void
emit_answered(struct calls *calls, struct call *call, const struct connection_info *connection)
{
	struct nfs_op *op = &call->op;

	if (op_has(op, OP_TIMES))
		call->peer->longest_ns = max_ns(call->peer->longest_ns, op->reply_last_ns - op->call_first_ns);
	call->peer->answered_xid = op->xid;
	call->peer->answered = true;
	op->path_ns = connection_path_ns(connection);
	if (op->path_ns >= 0)
		op->valid |= OP_HAS_PATH;
	if (!connection->datagrams && !call->waits_unknown)
		op->valid |= OP_HAS_CLIENT;
	if (connection->datagrams)
		remember_datagram(calls, call);
	else
		remember_answered(calls, call, connection);
	emit(calls, call, OP_ANSWERED);
}

/* Why a call has no reply (CONTRACT section 2). */
static enum op_outcome
outcome_of(const struct call *call, int64_t now_ns, enum call_end why)
{
	const struct peer *peer = call->peer;
	uint8_t replies = !call->op.call_direction;

	if (why == CALL_CAPTURE_OVER && now_ns - call->op.call_first_ns <= peer->longest_ns)
		return OP_IN_FLIGHT;
	if (!peer->connection->captured[replies] || (peer->missed[replies] && peer->missed_ns[replies] >= call->op.call_first_ns))
		return OP_LOST_IN_CAPTURE;
	return why == CALL_EVICTED ? OP_EVICTED : OP_UNANSWERED;
}

/* Clients count their XIDs up, in either byte order. */
static bool
is_near(const struct peer *peer, uint32_t xid)
{
	uint32_t apart = xid - peer->answered_xid;
	uint32_t swapped = GUINT32_SWAP_LE_BE(xid) - GUINT32_SWAP_LE_BE(peer->answered_xid);

	return peer->answered && (apart + NEAR_XIDS <= 2 * NEAR_XIDS || swapped + NEAR_XIDS <= 2 * NEAR_XIDS);
}

void
calls_each_waiting(const struct calls *calls, int64_t now_ns, op_sink_fn *each, void *context)
{
	const struct call *call = outstanding_oldest(calls->table);

	for (; call != NULL; call = outstanding_newer(calls->table, call)) {
		struct nfs_op op;

		if (call->foreign || call->unproven || outcome_of(call, now_ns, CALL_CAPTURE_OVER) == OP_LOST_IN_CAPTURE)
			continue;
		op = call->op;
		op.outcome = OP_IN_FLIGHT;
		op.valid &= ~(uint32_t)(OP_HAS_REPLY_FIRST | OP_HAS_REPLY_LAST);
		each(context, &op);
	}
}

/*
 * Ends a call without a reply. One for which nothing vouches but its own bytes
 * is a call whose reply was missed, too, if its XID is in sequence; else it
 * was payload that looks like one.
 */
static void
give_up_call(struct calls *calls, struct call *call, int64_t now_ns, enum call_end why)
{
	enum op_outcome outcome = outcome_of(call, now_ns, why);

	if (call->foreign) {
		outstanding_remove(calls->table, call);
		return;
	}
	call->op.valid &= ~(uint32_t)(OP_HAS_REPLY_FIRST | OP_HAS_REPLY_LAST);
	if (call->unproven && !is_near(call->peer, call->op.xid)) {
		calls->counters.calls--;
		outstanding_remove(calls->table, call);
		return;
	}
	if (call->unproven && outcome == OP_UNANSWERED)
		outcome = OP_LOST_IN_CAPTURE;
	if (why == CALL_CONNECTION_OVER)
		call->op.flags |= OP_CONNECTION_ENDED;
	emit(calls, call, outcome);
}

/* The spare call is one. */
static void
add_call(struct calls *calls, struct call *call, uint32_t hash, struct peer *peer)
{
	struct call *oldest = outstanding_overflow(calls->table);

	if (oldest != NULL)
		give_up_call(calls, oldest, INT64_MIN, CALL_EVICTED);
	outstanding_add(calls->table, call, hash, &peer->first);
	call->peer = peer;
	calls->counters.calls++;
}

/* ---- records ---- */

static struct peer *
peer_of(struct connection_info *connection)
{
	struct peer *peer = connection->rpc;

	if (peer == NULL) {
		peer = g_new0(struct peer, 1);
		peer->first = CALL_NONE;
		peer->connection = connection;
		connection->rpc = peer;
	}
	return peer;
}

static void
set_endpoints(struct nfs_op *op, const struct flow_key *key, uint8_t caller)
{
	memcpy(op->client.address, key->address[caller], sizeof op->client.address);
	memcpy(op->server.address, key->address[!caller], sizeof op->server.address);
	op->client.port = key->port[caller];
	op->server.port = key->port[!caller];
}

static bool
same_call(const struct nfs_op *a, const struct nfs_op *b)
{
	return a->program == b->program && a->version == b->version && a->procedure == b->procedure &&
	    fingerprint_agrees(&a->print, &b->print);
}

/*
 * True when op is a copy of a call that is answered: over TCP one whose reply
 * the client had not acknowledged.
 */
static bool
is_recent(const struct calls *calls, const struct rpc_record *record, uint32_t hash, const struct nfs_op *op)
{
	const struct answered_call *call;

	if (record->connection->datagrams)
		return calls->answered != NULL && answered_is_copy(calls->answered, hash, op);
	if (calls->lately == NULL)
		return false;
	call = answered_find(calls->lately, hash, op->connection, op->call_direction, op->xid);
	return call != NULL && answered_agrees(call, op) && record->first_acked < call->reply;
}

/* True for a reply to a call that was answered lately: to a copy of it that was sent again. */
static bool
is_second_reply(const struct calls *calls, const struct peer *peer, uint32_t xid, uint8_t direction, int64_t ts_ns)
{
	uint64_t connection = peer->connection->serial;
	uint32_t hash = call_hash(connection, direction, xid);

	if (peer->connection->datagrams)
		return calls->answered != NULL &&
		    answered_has(calls->answered, hash, connection, direction, xid, ts_ns);
	return calls->lately != NULL && answered_find(calls->lately, hash, connection, direction, xid) != NULL;
}

/* Member by member: what is made as a whole is copied as a whole, and waits for its members to be written. */
static void
set_cursor(struct xdr_cursor *cursor, const struct rpc_record *record)
{
	cursor->data = record->head;
	cursor->cap = record->head_cap;
	cursor->total = record->flags & RECORD_FRAGMENTED ? UINT32_MAX : record->total_len;
	cursor->beyond = record->head_beyond;
}

/* Lets a decoder read a body, and say what it finds out about the hosts. */
static void
decode(struct calls *calls, decode_fn *read, struct xdr_cursor *body, struct nfs_op *op)
{
	calls->said.any = false;
	op->said = calls->hosts != NULL ? &calls->said : NULL;
	read(body, op);
	op->said = NULL;
}

static struct call *
find_call(const struct calls *calls, uint64_t connection, uint8_t direction, uint32_t xid)
{
	return outstanding_find(calls->table, call_hash(connection, direction, xid), connection, direction, xid);
}

/* What the header of a call tells, and where it came. */
static void
set_call(struct call *call, const struct rpc_record *record, const struct rpc_message *message,
    const struct decoder *decoder)
{
	struct nfs_op *op = &call->op;

	set_endpoints(op, &record->connection->key, record->direction);
	op->connection = record->connection->serial;
	op->call_direction = record->direction;
	op->xid = message->xid;
	op->program = message->program;
	op->version = message->version;
	op->operation = op->procedure = message->procedure;
	op->call_first_ns = record->first_ns;
	op->call_frame = record->first_frame;
	op->call_order = record->first_order;
	op->valid = OP_HAS_CALL_FIRST;
	call->protection = message->protection;
	if (decoder == NULL)
		return;
	if (decoder->minor_labels != NULL)
		op->minor = OP_MINOR_UNKNOWN;
	if (decoder->operation_name != NULL && op->procedure == decoder->compound)
		op->operation_class = OP_CLASS_NONE;
	if (message->protection != RPC_HIDDEN && op->procedure < decoder->procedure_count)
		call->procedure = &decoder->procedures[op->procedure];
}

static void
set_file(struct calls *calls, struct nfs_op *op)
{
	if (calls->handles == NULL)
		calls->handles = handles_new();
	op->file = handles_hash(calls->handles, op->handle, op->handle_len);
}

/* The arguments that the head of its record holds; HEAD_MORE when they go on. */
static enum head_result
read_arguments(struct calls *calls, struct call *call, const struct rpc_record *record, struct xdr_cursor *body)
{
	struct nfs_op *op = &call->op;

	call->args_off = body->off;
	fingerprint_take(&op->print, body, !(record->flags & RECORD_FRAGMENTED));
	if (call->protection == RPC_HIDDEN)
		op->print.prefixes = 0;
	else if (call->procedure != NULL && call->procedure->call != NULL)
		decode(calls, call->procedure->call, body, op);
	if (op_has(op, OP_HAS_FILE))
		set_file(calls, op);
	if (body->status == XDR_MALFORMED)
		op->flags |= OP_CALL_MALFORMED;
	return body->status == XDR_SHORT ? HEAD_MORE : HEAD_TAKEN;
}

/* Another service on the connection: its replies are nobody's orphans. */
static void
take_foreign_call(struct calls *calls, struct rpc_record *record, const struct rpc_message *message)
{
	uint64_t connection = record->connection->serial;
	struct call *call;

	if (find_call(calls, connection, record->direction, message->xid) != NULL)
		return;
	call = outstanding_spare(calls->table);
	call->op.xid = message->xid;
	call->op.connection = connection;
	call->op.call_direction = record->direction;
	call->foreign = true;
	add_call(calls, call, call_hash(connection, record->direction, message->xid), peer_of(record->connection));
	calls->counters.calls--;
}

/* ---- the end of a record ---- */

/* Over UDP a call can lack a fragment in the capture for ever. */
static void
finish_if_over(struct calls *calls, struct call *call, const struct connection_info *connection)
{
	if (call->reply_over && (call->call_over || connection->datagrams))
		emit_answered(calls, call, connection);
}

/* What a record's times are, in the flags of its op. */
static uint16_t
flags_of(const struct rpc_record *record, enum op_flag deduced, enum op_flag filled, enum op_flag stale)
{
	return (uint16_t)((record->flags & RECORD_TIME_DEDUCED ? deduced : 0) |
	    (record->flags & RECORD_TIME_FILLED ? filled : 0) |
	    (record->flags & RECORD_TIME_STALE ? stale : 0));
}

static void
end_call(struct call *call, const struct rpc_record *record)
{
	struct nfs_op *op = &call->op;

	if (call->call_over)
		return;
	op->call_last_ns = record->last_ns;
	op->call_end = record->end_offset;
	op->call_bytes = record_bytes(record);
	op->client_ns += record->sender_ns;
	call->waits_unknown |= record->waits_unknown;
	op->valid |= OP_HAS_CALL_LAST;
	if (record->flags & RECORD_TIMES)
		op->flags |= flags_of(record, OP_CALL_TIME_DEDUCED, OP_CALL_TIME_FILLED, OP_CALL_TIME_STALE);
	if (!op->print.length_known && call->args_off > 0) {
		op->print.args_len = record->total_len - call->args_off;
		op->print.length_known = true;
	}
	call->call_over = true;
}

static void
end_reply(struct call *call, const struct rpc_record *record)
{
	if (record->connection->datagrams) {
		/* perhaps not the copy whose head came first */
		call->op.reply_first_ns = record->first_ns;
		call->op.reply_frame = record->first_frame;
		call->op.reply_order = record->first_order;
	}
	call->op.reply_last_ns = record->last_ns;
	call->op.valid |= OP_HAS_REPLY_LAST;
	if (record->flags & RECORD_TIMES)
		call->op.flags |= flags_of(record, OP_REPLY_TIME_DEDUCED, OP_REPLY_TIME_FILLED, OP_REPLY_TIME_STALE);
	call->op.reply_end = record->end_offset;
	call->op.reply_bytes = record_bytes(record);
	call->op.client_ns += record->receiver_ns;
	call->waits_unknown |= record->waits_unknown;
	call->reply_over = true;
}

static void
end_record(struct calls *calls, struct call *call, const struct rpc_record *record)
{
	if (record->direction == call->op.call_direction)
		end_call(call, record);
	else
		end_reply(call, record);
	finish_if_over(calls, call, record->connection);
}

/* ---- replies ---- */

/* The function that reads a reply's results into the call's op, the body then stands at them; NULL: nothing to read. */
static decode_fn *
results_reader(const struct call *call, struct rpc_message *message)
{
	if (call->procedure == NULL || !rpc_message_succeeded(message))
		return NULL;
	if (call->protection == RPC_INTEGRITY)
		rpc_enter_integrity(&message->body);
	return call->procedure->reply;
}

/* Results of which more may come. False: more must come, and op is as it was. */
static G_GNUC_NO_INLINE bool
decode_part(struct calls *calls, decode_fn *read, struct xdr_cursor *body, struct nfs_op *op)
{
	struct nfs_op before = *op;

	decode(calls, read, body, op);
	if (body->status != XDR_SHORT)
		return true;
	*op = before;
	return false;
}

/*
 * What a reply says of its call, whose results it reads. Malformed results keep
 * the times. When they go on behind what is here, or belong to another call,
 * this one is as it was.
 */
static enum reply_result
reply_head(struct calls *calls, struct call *call, struct rpc_message *message)
{
	struct nfs_op *op = &call->op;
	decode_fn *read = results_reader(call, message);
	uint32_t valid = op->valid;
	uint16_t flags = op->flags;

	calls->said.any = false;
	if (read != NULL && message->body.beyond != XDR_SHORT)
		decode(calls, read, &message->body, op);
	else if (read != NULL && !decode_part(calls, read, &message->body, op))
		return REPLY_GOES_ON;
	if (op->flags & OP_OTHER_REPLY) {
		op->valid = valid;
		op->flags = flags;
		return REPLY_OTHER;
	}
	if (calls->said.any)
		hosts_note(calls->hosts, &op->server, HOST_SERVER, &calls->said);
	if ((op->valid & ~valid & (OP_HAS_READ_MOST | OP_HAS_WRITE_MOST)) != 0 && calls->hosts != NULL)
		hosts_note_sizes(calls->hosts, op);
	call->unproven = false;
	calls->counters.tls_agreed += call->asks_for_tls && message->starts_tls;
	if (message->header_complete && !rpc_message_succeeded(message))
		op->flags |= OP_RPC_ERROR;
	if (message->body.status == XDR_MALFORMED) {
		op->flags |= OP_REPLY_MALFORMED;
		calls->counters.malformed++;
	}
	return REPLY_READ;
}

/* The same of a copy of the call; REPLY_OTHER, too, where the results cannot be those of the call. */
static G_GNUC_NO_INLINE enum reply_result
try_reply(const struct call *call, const struct rpc_message *message)
{
	struct call trial = *call;
	struct rpc_message copy = *message;
	struct calls nowhere = { 0 };
	enum reply_result result = reply_head(&nowhere, &trial, &copy);

	if (result == REPLY_READ && (trial.op.flags & OP_REPLY_MALFORMED ||
	    (op_has(&trial.op, OP_HAS_MOVED | OP_HAS_REQUESTED) && trial.op.moved_bytes > trial.op.requested_bytes)))
		return REPLY_OTHER;
	return result;
}

/* Its first packet. */
static void
begin_reply(struct nfs_op *op, int64_t first_ns, uint64_t first_frame, uint64_t first_order)
{
	op->reply_first_ns = first_ns;
	op->reply_frame = first_frame;
	op->reply_order = first_order;
	op->valid |= OP_HAS_REPLY_FIRST;
}

/* A reply that came before its call, or whose call was found late. */
static void
adopt_orphan(struct calls *calls, struct call *call)
{
	struct nfs_op *op = &call->op;
	struct orphan orphan;
	struct rpc_message message;

	if (!orphans_take(call->peer->orphans, op->xid, !op->call_direction, op->call_first_ns - REPLY_BEFORE_CALL_NS,
	    &orphan))
		return;
	if (rpc_header_read(orphan.head, &message) != HEADER_READ ||
	    reply_head(calls, call, &message) != REPLY_READ)
		return;
	begin_reply(op, orphan.times.first_ns, orphan.times.first_frame, orphan.times.first_order);
	if (orphan.times.deduced)
		op->flags |= OP_REPLY_TIME_DEDUCED;
	if (orphan.times.filled)
		op->flags |= OP_REPLY_TIME_FILLED;
	calls->counters.orphan_replies--;
	if (orphan.complete) {
		op->reply_last_ns = orphan.times.last_ns;
		op->valid |= OP_HAS_REPLY_LAST;
		op->reply_end = orphan.times.end_offset;
		op->reply_bytes = orphan.times.bytes;
		op->client_ns += orphan.times.receiver_ns;
		call->waits_unknown |= orphan.times.waits_unknown;
		call->reply_over = true;
	}
}

/* A reply whose call is not known, or not yet. */
static void
take_orphan(struct calls *calls, struct rpc_record *record, uint32_t xid)
{
	struct peer *peer = peer_of(record->connection);

	if (is_second_reply(calls, peer, xid, !record->direction, record->first_ns))
		return;
	if (peer->orphans == NULL)
		peer->orphans = orphans_new();
	else
		calls->orphan_room -= orphans_room(peer->orphans);
	calls->counters.orphan_replies++;
	record->token = TOKEN_ORPHAN |
	    orphans_add(peer->orphans, record, xid, calls->orphan_room < calls->orphan_limit);
	calls->orphan_room += orphans_room(peer->orphans);
}

/* A record that is whole has its end with its head. */
static enum head_result
end_with_head(struct calls *calls, struct call *call, const struct rpc_record *record)
{
	if (!(record->flags & RECORD_WHOLE))
		return HEAD_TAKEN;
	end_record(calls, call, record);
	return HEAD_ENDED;
}

static enum head_result
take_reply(struct calls *calls, struct rpc_record *record, struct rpc_message *message)
{
	struct call *call = find_call(calls, record->connection->serial, !record->direction, message->xid);
	bool unproven = (record->flags & RECORD_UNPROVEN) != 0, again;
	enum reply_result result = REPLY_OTHER;

	if (call != NULL && call->foreign) {
		outstanding_remove(calls->table, call);
		return HEAD_TAKEN;
	}
	again = call != NULL && op_has(&call->op, OP_HAS_REPLY_FIRST);
	if (call != NULL)
		result = unproven || again ? try_reply(call, message) : reply_head(calls, call, message);
	if (result == REPLY_GOES_ON)
		return HEAD_MORE;
	/* its own bytes must speak for it, then */
	if (unproven && result != REPLY_READ)
		return HEAD_TAKEN;
	calls->counters.replies++;
	if (again) {
		/* the first one that is complete is the reply */
		if (record->connection->datagrams)
			record->token = call->token;
		return HEAD_TAKEN;
	}
	if (unproven)
		result = reply_head(calls, call, message);
	if (result == REPLY_READ) {
		begin_reply(&call->op, record->first_ns, record->first_frame, record->first_order);
		if (record->flags & RECORD_TIME_DEDUCED)
			call->op.flags |= OP_REPLY_TIME_DEDUCED;
		record->token = call->token;
		return end_with_head(calls, call, record);
	}
	take_orphan(calls, record, message->xid);
	return HEAD_TAKEN;
}

/* ---- calls ---- */

/* The call that has this connection, direction and XID; not one that was but taken for a call, now that one is there. */
static struct call *
earlier_call(struct calls *calls, const struct nfs_op *op, uint32_t hash, bool unproven)
{
	struct call *earlier = outstanding_find(calls->table, hash, op->connection, op->call_direction, op->xid);

	if (earlier == NULL || !earlier->unproven || unproven)
		return earlier;
	/* what was taken for this call was payload */
	calls->counters.calls--;
	outstanding_remove(calls->table, earlier);
	return NULL;
}

/* True: a copy of a call that is known, or too little to take a call's place; else its place is free. */
static bool
is_known(struct calls *calls, struct rpc_record *record, const struct nfs_op *op, uint32_t hash)
{
	bool unproven = (record->flags & RECORD_UNPROVEN) != 0;
	struct call *earlier = earlier_call(calls, op, hash, unproven);

	if (earlier == NULL) {
		if (!is_recent(calls, record, hash, op))
			return false;
		calls->counters.retransmitted_calls++;
		return true;
	}
	if (same_call(&earlier->op, op)) {
		earlier->op.retransmits++;
		calls->counters.retransmitted_calls++;
		/* one that came complete before the first copy did is what the server could begin with */
		if (record->connection->datagrams)
			record->token = earlier->token;
		return true;
	}
	if (unproven)
		return true;
	give_up_call(calls, earlier, op->call_first_ns, CALL_REPLACED);
	return false;
}

/* A call that is not known yet, and what it says. */
static enum head_result
take_new_call(struct calls *calls, struct rpc_record *record, struct call *call, uint32_t hash, bool asks_for_tls)
{
	struct peer *peer = peer_of(record->connection);
	struct nfs_op *op = &call->op;

	calls->counters.tls_asked += asks_for_tls;
	call->asks_for_tls = asks_for_tls;
	if (op->flags & OP_CALL_MALFORMED)
		calls->counters.malformed++;
	if (record->flags & RECORD_UNPROVEN) {
		call->unproven = true;
	} else {
		/* a call behind it in clear: no TLS came of it */
		record->connection->tls_expected = asks_for_tls;
		if (calls->said.any)
			hosts_note(calls->hosts, &op->client, HOST_CLIENT, &calls->said);
	}
	if (peer->missed[record->direction])
		op->flags |= OP_COPIES_MISSED;
	add_call(calls, call, hash, peer);
	record->token = call->token;
	if (peer->orphans != NULL)
		adopt_orphan(calls, call);
	return end_with_head(calls, call, record);
}

static enum head_result
take_call(struct calls *calls, struct rpc_record *record, struct rpc_message *message)
{
	const struct decoder *decoder = decoder_find(message->program, message->version);
	struct call *call;
	uint32_t hash;

	if (decoder == NULL && !decoder_knows_program(message->program)) {
		take_foreign_call(calls, record, message);
		return HEAD_TAKEN;
	}
	calls->said.any = false;
	call = outstanding_spare(calls->table);
	set_call(call, record, message, decoder);
	if (message->header_complete && read_arguments(calls, call, record, &message->body) == HEAD_MORE)
		return HEAD_MORE;
	/* callbacks come from the other end, on the same connection (RFC 8881 section 2.10.3.1) */
	if (!is_transient_program(message->program))
		connection_set_caller(record->connection, record->direction);
	hash = call_hash(call->op.connection, record->direction, message->xid);
	if (is_known(calls, record, &call->op, hash))
		return HEAD_TAKEN;
	return take_new_call(calls, record, call, hash, message->asks_for_tls);
}

/* ---- what a stream calls ---- */

static enum header_verdict
on_header(void *context, const struct connection_info *connection, uint8_t direction,
    const uint8_t *bytes, uint32_t cap, uint32_t record_len)
{
	const struct calls *calls = context;
	struct xdr_cursor cursor = { .data = bytes, .cap = cap, .total = record_len, .beyond = XDR_HOLE };
	const struct call *call;

	if (xdr_load32(bytes + 4) == RPC_TYPE_CALL) {
		int likeness = rpc_call_likeness(&cursor);

		/* the answering end only calls back */
		if (connection_caller(connection) == !direction && cap >= CALL_PROGRAM_END &&
		    !is_transient_program(xdr_load32(bytes + CALL_PROGRAM_END - 4)))
			return HEADER_NO;
		return likeness == 0 ? HEADER_NO : likeness == 1 ? HEADER_MAYBE : HEADER_YES;
	}
	if (rpc_reply_likeness(&cursor) == 0)
		return HEADER_NO;
	call = find_call(calls, connection->serial, !direction, xdr_load32(bytes));
	return call != NULL && !op_has(&call->op, OP_HAS_REPLY_FIRST) ? HEADER_YES : HEADER_MAYBE;
}

static void
on_missed(void *context, struct connection_info *connection, uint8_t direction, int64_t ts_ns)
{
	struct peer *peer = peer_of(connection);

	(void)context;
	peer->missed_ns[direction] = peer->missed[direction] ? max_ns(peer->missed_ns[direction], ts_ns) : ts_ns;
	peer->missed[direction] = true;
}

/* A head that does not begin with a header that can be read. */
static G_GNUC_NO_INLINE enum head_result
refuse_head(struct calls *calls, const struct rpc_record *record, enum header_result why)
{
	if (why == HEADER_WANTS)
		return HEAD_MORE;
	if (why == HEADER_BROKEN)
		return HEAD_NOT_RPC;
	/* cut away, or lost with the bytes behind it */
	if (!(record->flags & RECORD_TIME_DEDUCED))
		calls->counters.hidden_records++;
	on_missed(calls, record->connection, record->direction, record->first_ns);
	return HEAD_TAKEN;
}

static enum head_result
on_head(void *context, struct rpc_record *record)
{
	struct calls *calls = context;
	struct peer *peer = peer_of(record->connection);
	struct rpc_message message = { 0 };
	enum header_result result;

	set_cursor(&message.body, record);
	result = rpc_header_parse(&message, &peer->usual[record->direction]);
	if (G_UNLIKELY(result != HEADER_READ))
		return refuse_head(calls, record, result);
	return message.type == RPC_TYPE_CALL ? take_call(calls, record, &message) :
	    take_reply(calls, record, &message);
}

/* The call that has taken this reply, which is complete now; NULL: none. */
static struct call *
end_orphan(struct calls *calls, const struct rpc_record *record)
{
	struct peer *peer = record->connection->rpc;
	uint32_t xid;

	if (!orphans_end(peer->orphans, record->token & ORPHAN_NUMBERS, record, &xid))
		return NULL;
	return find_call(calls, record->connection->serial, !record->direction, xid);
}

static void
on_end(void *context, struct rpc_record *record)
{
	struct calls *calls = context;
	struct call *call = record->token & TOKEN_ORPHAN ? end_orphan(calls, record) :
	    outstanding_of(calls->table, record->token);

	if (call != NULL)
		end_record(calls, call, record);
}

/*
 * A datagram lacks a fragment. A copy of a call may still come complete; a
 * reply is told by its header, and has no last time.
 */
static void
abandon_datagram(struct calls *calls, struct call *call, const struct rpc_record *record)
{
	if (record->direction != call->op.call_direction && !call->reply_over) {
		call->reply_over = true;
		finish_if_over(calls, call, record->connection);
	}
}

static void
on_abandon(void *context, struct rpc_record *record)
{
	struct calls *calls = context;
	struct call *call = record->token & TOKEN_ORPHAN ? NULL : outstanding_of(calls->table, record->token);

	if (call == NULL)
		return;
	if (record->connection->datagrams) {
		abandon_datagram(calls, call, record);
		return;
	}
	if (record->direction == call->op.call_direction)
		call->call_over = true;
	else
		/* a reply is one when it is complete; a copy of it may follow */
		call->op.valid &= ~(uint32_t)OP_HAS_REPLY_FIRST;
	finish_if_over(calls, call, record->connection);
}

/* Answered calls whose reply was not acknowledged: the client may send them again elsewhere. */
static void
note_unacknowledged(struct calls *calls, struct peer *peer)
{
	const struct connection_info *connection = peer->connection;

	for (unsigned i = 0; peer->recent != NULL && i < RECENT; i++) {
		struct recent *recent = &peer->recent[i];
		struct nfs_op note = { .xid = recent->xid, .program = recent->program,
			.version = recent->version, .procedure = recent->procedure, .print = recent->print,
			.connection = connection->serial, .outcome = OP_ANSWERED,
			.flags = OP_CONNECTION_ENDED };

		if (!recent->used || recent->reply_end <= connection_acked(connection, !recent->direction))
			continue;
		recent->used = false;
		set_endpoints(&note, &connection->key, recent->direction);
		calls->sink(calls->context, &note);
	}
}

/* The client may send again what it has no reply to, before it is known that none comes. */
static void
on_reset(void *context, struct connection_info *connection)
{
	struct calls *calls = context;
	struct peer *peer = connection->rpc;
	const struct call *call = peer != NULL ? outstanding_first_of(calls->table, peer->first) : NULL;

	if (peer != NULL)
		note_unacknowledged(calls, peer);
	for (; call != NULL; call = outstanding_next_of(calls->table, call)) {
		struct nfs_op note = call->op;

		if (call->reply_over || call->foreign || call->unproven)
			continue;
		note.outcome = OP_IN_FLIGHT;
		note.flags |= OP_CONNECTION_ENDED;
		calls->sink(calls->context, &note);
	}
}

static void
on_over(void *context, struct connection_info *connection, int64_t ts_ns, enum stream_end why)
{
	struct calls *calls = context;
	struct peer *peer = connection->rpc;
	struct call *call;
	enum call_end end = why == END_OF_CONNECTION ? CALL_CONNECTION_OVER :
	    why == END_OF_CAPTURE ? CALL_CAPTURE_OVER : CALL_EVICTED;

	if (peer == NULL)
		return;
	while ((call = outstanding_first_of(calls->table, peer->first)) != NULL) {
		if (call->reply_over)
			emit_answered(calls, call, connection);
		else
			give_up_call(calls, call, ts_ns, end);
	}
	if (why == END_OF_CONNECTION)
		note_unacknowledged(calls, peer);
	if (peer->orphans != NULL)
		calls->orphan_room -= orphans_room(peer->orphans);
	orphans_free(peer->orphans);
	g_free(peer->recent);
	g_free(peer);
	connection->rpc = NULL;
}

struct stream_sink
calls_sink(struct calls *calls)
{
	return (struct stream_sink){ .context = calls, .header = on_header, .head = on_head,
	    .end = on_end, .abandon = on_abandon, .missed = on_missed,
	    .reset = on_reset, .over = on_over };
}
