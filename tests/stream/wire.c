#include "stream/wire.h"

#include <criterion/criterion.h>
#include <glib.h>
#include <nfscorr/xdr.h>
#include <string.h>

enum { FH_BYTES = 32, CALL_HEADER_WORDS = 10, REPLY_HEADER_WORDS = 6, FATTR3_BYTES = 84 };

static void
keep_op(void *context, const struct nfs_op *op)
{
	struct wire *wire = context;

	wire->open_notes += op_is_open_note(op);
	if (op_is_answered_note(op) || op_is_open_note(op))
		return;
	cr_assert_lt(wire->ops, WIRE_OPS);
	wire->op[wire->ops++] = *op;
}

static void
keep_event(void *context, const struct tcp_event *event)
{
	struct wire *wire = context;

	if (wire->events < WIRE_EVENTS)
		wire->event[wire->events++] = *event;
}

struct wire *
wire_new(uint32_t connections, uint32_t calls)
{
	struct wire *wire = g_new0(struct wire, 1);
	struct stream_limits limits = { .connections = connections > 0 ? connections : 64, .held_bytes = 64 << 20 };
	struct stream_sink sink;

	wire->calls = calls_new(calls > 0 ? calls : 4096, keep_op, wire);
	sink = calls_sink(wire->calls);
	sink.event = keep_event;
	sink.event_context = wire;
	wire->serial = 1;
	wire->stream = stream_new(&sink, &limits, &wire->serial);
	wire->datagrams = datagrams_new(&sink, limits.connections, &wire->serial);
	wire->tcp = stream_counters(wire->stream);
	wire->rpc = calls_counters(wire->calls);
	wire->window[TO_SERVER] = wire->window[TO_CLIENT] = 1000;
	wire->client_port = 1023;
	wire->server_port = 2049;
	wire->syn_answer_ns = 1;
	wire->isn[TO_SERVER] = 0xfffff000;	/* wraps soon */
	wire->isn[TO_CLIENT] = 77;
	return wire;
}

void
wire_free(struct wire *wire)
{
	stream_free(wire->stream);
	datagrams_free(wire->datagrams);
	calls_free(wire->calls);
	g_free(wire);
}

static void
push(struct wire *wire, enum wire_direction direction, uint32_t seq, uint32_t ack, uint8_t flags,
    const uint8_t *bytes, uint32_t len, int64_t ts_ns)
{
	uint32_t cap = wire->snaplen > 0 ? MIN(len, wire->snaplen) : len;
	g_autofree uint8_t *copy = g_memdup2(bytes, cap);
	struct packet packet = { .ts_ns = ts_ns, .frame = ++wire->frame, .cap_len = cap, .wire_len = len };
	const struct flow_key key = {
		.address = { { [15] = 1 }, { [15] = 2 } },
		.port = { wire->client_port, wire->server_port },
	};
	struct segment segment = {
		.packet = &packet,
		.key = &key,
		.direction = (uint8_t)direction,
		.flags = flags | wire->flags,
		.window = wire->window[direction],
		.has_window_scale = (flags & TCP_SYN) != 0 && wire->scaled,
		.window_scale = (flags & TCP_SYN) != 0 && wire->scaled ? wire->window_scale : 0,
		.seq = seq,
		.ack = ack,
		.payload = copy,
		.payload_cap_len = cap,
		.payload_wire_len = len,
	};

	stream_push(wire->stream, &segment, wire->client_port * UINT64_C(0x9e3779b97f4a7c15), wire->frame);
}

void
wire_open(struct wire *wire, int64_t ts_ns)
{
	push(wire, TO_SERVER, wire->isn[TO_SERVER], 0, TCP_SYN, NULL, 0, ts_ns);
	push(wire, TO_CLIENT, wire->isn[TO_CLIENT], wire->isn[TO_SERVER] + 1, TCP_SYN | TCP_ACK, NULL, 0,
	    ts_ns + wire->syn_answer_ns);
}

void
wire_send_bytes(struct wire *wire, enum wire_direction direction, uint32_t offset, const void *bytes,
    uint32_t len, uint32_t ack, int64_t ts_ns)
{
	push(wire, direction, wire->isn[direction] + 1 + offset, wire->isn[!direction] + 1 + ack, TCP_ACK,
	    bytes, len, ts_ns);
}

void
wire_send(struct wire *wire, enum wire_direction direction, uint32_t offset, uint32_t len, uint32_t ack,
    int64_t ts_ns)
{
	cr_assert_leq(offset + len, wire->len[direction]);
	wire_send_bytes(wire, direction, offset, wire->bytes[direction] + offset, len, ack, ts_ns);
}

void
wire_ack(struct wire *wire, enum wire_direction direction, uint32_t offset, uint32_t ack, int64_t ts_ns)
{
	wire_send_bytes(wire, direction, offset, NULL, 0, ack, ts_ns);
}

void
wire_flags(struct wire *wire, enum wire_direction direction, uint32_t offset, uint8_t flags, int64_t ts_ns)
{
	push(wire, direction, wire->isn[direction] + 1 + offset, 0, flags, NULL, 0, ts_ns);
}

void
wire_wait(struct wire *wire, int64_t now_ns)
{
	wire->frame += 100;
	stream_tick(wire->stream, now_ns, wire->frame);
	datagrams_tick(wire->datagrams, now_ns);
}

void
wire_finish(struct wire *wire, int64_t now_ns)
{
	stream_finish(wire->stream, now_ns);
	datagrams_finish(wire->datagrams, now_ns);
}

static void
push_datagram(struct wire *wire, enum wire_direction direction, uint32_t offset, struct datagram *piece, uint32_t to,
    int64_t ts_ns)
{
	const uint8_t *record = wire->bytes[direction] + offset;
	uint32_t len = (xdr_load32(record) & 0x7fffffff) + UDP_HEADER_LEN;
	uint32_t from = piece->offset > 0 ? piece->offset : UDP_HEADER_LEN;
	uint32_t cap = MIN((to > 0 ? to : len) - from, wire->snaplen > 0 ? wire->snaplen : len);
	g_autofree uint8_t *copy = g_memdup2(record + 4 + from - UDP_HEADER_LEN, cap);
	struct packet packet = { .ts_ns = ts_ns, .frame = ++wire->frame };

	piece->packet = &packet;
	piece->direction = (uint8_t)direction;
	piece->address_direction = (uint8_t)direction;
	piece->key.address[0][15] = 1;
	piece->key.address[1][15] = 2;
	piece->begins = piece->offset == 0;
	if (piece->begins) {
		piece->key.port[0] = wire->client_port;
		piece->key.port[1] = wire->server_port;
		piece->datagram_len = len;
	}
	piece->wire_len = (to > 0 ? to : len) - piece->offset;
	piece->more = to > 0 && to < len;
	piece->payload = copy;
	piece->payload_cap_len = cap;
	datagrams_push(wire->datagrams, piece, wire->client_port * UINT64_C(0x9e3779b97f4a7c15), wire->frame);
}

void
wire_datagram(struct wire *wire, enum wire_direction direction, uint32_t offset, int64_t ts_ns)
{
	struct datagram whole = { .id = 0 };

	push_datagram(wire, direction, offset, &whole, 0, ts_ns);
}

void
wire_fragment(struct wire *wire, enum wire_direction direction, uint32_t offset, uint32_t id, uint32_t from,
    uint32_t to, int64_t ts_ns)
{
	struct datagram piece = { .fragment = true, .id = id, .offset = from };

	push_datagram(wire, direction, offset, &piece, to, ts_ns);
}

/* ---- records ---- */

static void
put_u32(struct wire *wire, enum wire_direction direction, uint32_t value)
{
	uint8_t *at = wire->bytes[direction] + wire->len[direction];

	cr_assert_leq(wire->len[direction] + 4, WIRE_BYTES);
	at[0] = (uint8_t)(value >> 24);
	at[1] = (uint8_t)(value >> 16);
	at[2] = (uint8_t)(value >> 8);
	at[3] = (uint8_t)value;
	wire->len[direction] += 4;
}

uint32_t
wire_append(struct wire *wire, enum wire_direction direction, uint8_t fill, uint32_t len)
{
	uint32_t offset = wire->len[direction];

	cr_assert_leq(offset + len, WIRE_BYTES);
	memset(wire->bytes[direction] + offset, fill, len);
	wire->len[direction] += len;
	return offset;
}

/* Mark, call header with AUTH_NONE, file handle; body bytes follow. RFC 5531 section 9. */
static uint32_t
begin_call(struct wire *wire, uint32_t xid, uint32_t procedure, uint32_t body)
{
	uint32_t offset = wire->len[TO_SERVER];

	put_u32(wire, TO_SERVER, 0x80000000 | (CALL_HEADER_WORDS * 4 + 4 + FH_BYTES + body));
	put_u32(wire, TO_SERVER, xid);
	put_u32(wire, TO_SERVER, 0);
	put_u32(wire, TO_SERVER, 2);
	put_u32(wire, TO_SERVER, 100003);
	put_u32(wire, TO_SERVER, 3);
	put_u32(wire, TO_SERVER, procedure);
	for (int i = 0; i < 4; i++)
		put_u32(wire, TO_SERVER, 0);
	put_u32(wire, TO_SERVER, FH_BYTES);
	wire_append(wire, TO_SERVER, 0xab, FH_BYTES);
	return offset;
}

static uint32_t
begin_reply(struct wire *wire, uint32_t xid, uint32_t body)
{
	uint32_t offset = wire->len[TO_CLIENT];

	put_u32(wire, TO_CLIENT, 0x80000000 | (REPLY_HEADER_WORDS * 4 + body));
	put_u32(wire, TO_CLIENT, xid);
	put_u32(wire, TO_CLIENT, 1);
	for (int i = 0; i < 4; i++)
		put_u32(wire, TO_CLIENT, 0);
	return offset;
}

uint32_t
wire_getattr(struct wire *wire, uint32_t xid)
{
	return begin_call(wire, xid, 1, 0);
}

uint32_t
wire_getattr_reply(struct wire *wire, uint32_t xid)
{
	uint32_t offset = begin_reply(wire, xid, 4 + FATTR3_BYTES);

	put_u32(wire, TO_CLIENT, 0);
	wire_append(wire, TO_CLIENT, 0x11, FATTR3_BYTES);
	return offset;
}

uint32_t
wire_read(struct wire *wire, uint32_t xid, uint64_t offset, uint32_t size)
{
	uint32_t at = begin_call(wire, xid, 6, 12);

	put_u32(wire, TO_SERVER, (uint32_t)(offset >> 32));
	put_u32(wire, TO_SERVER, (uint32_t)offset);
	put_u32(wire, TO_SERVER, size);
	return at;
}

/* RFC 1813 section 3.3.6, without attributes */
uint32_t
wire_read_reply(struct wire *wire, uint32_t xid, uint32_t size)
{
	uint32_t at = begin_reply(wire, xid, 5 * 4 + size);

	put_u32(wire, TO_CLIENT, 0);
	put_u32(wire, TO_CLIENT, 0);
	put_u32(wire, TO_CLIENT, size);
	put_u32(wire, TO_CLIENT, 0);
	put_u32(wire, TO_CLIENT, size);
	wire_append(wire, TO_CLIENT, 0x22, size);
	return at;
}

/* RFC 1813 section 3.3.7 */
uint32_t
wire_write(struct wire *wire, uint32_t xid, uint64_t offset, uint32_t size)
{
	uint32_t at = begin_call(wire, xid, 7, 5 * 4 + size);

	put_u32(wire, TO_SERVER, (uint32_t)(offset >> 32));
	put_u32(wire, TO_SERVER, (uint32_t)offset);
	put_u32(wire, TO_SERVER, size);
	put_u32(wire, TO_SERVER, 0);
	put_u32(wire, TO_SERVER, size);
	wire_append(wire, TO_SERVER, 0x33, size);
	return at;
}

uint32_t
wire_words(struct wire *wire, enum wire_direction direction, const uint32_t *words, uint32_t count)
{
	uint32_t offset = wire->len[direction];

	put_u32(wire, direction, 0x80000000 | count * 4);
	for (uint32_t i = 0; i < count; i++)
		put_u32(wire, direction, words[i]);
	return offset;
}

const struct nfs_op *
wire_op(const struct wire *wire, uint32_t xid)
{
	for (unsigned i = 0; i < wire->ops; i++)
		if (wire->op[i].xid == xid)
			return &wire->op[i];
	cr_assert_fail("no op with XID %u", xid);
	return NULL;
}

void
wire_check_books(const struct wire *wire)
{
	uint64_t sum = 0;

	for (int outcome = 0; outcome < OP_OUTCOMES; outcome++)
		sum += wire->rpc->outcomes[outcome];
	cr_assert_eq(wire->rpc->calls, sum);
	cr_assert_eq(wire->rpc->calls, wire->ops);
	cr_assert_eq(wire->tcp->payload_bytes,
	    wire->tcp->delivered_bytes + wire->tcp->duplicate_bytes + wire->tcp->discarded_bytes);
}
