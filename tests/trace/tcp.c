#include "trace/tcp.h"

#include <string.h>

#include "trace/load.h"
#include "trace/network.h"
#include "trace/server.h"
#include "trace/stream.h"
#include "trace/udp.h"

enum { FLAG_FIN = 0x01, FLAG_SYN = 0x02, FLAG_RST = 0x04, FLAG_PSH = 0x08, FLAG_ACK = 0x10 };

static const int64_t longest_rto_ns = 120000000000;

static struct sim *
sim_of(const struct half *half)
{
	return half->conn->lane->client->host.sim;
}

static struct half *
other(const struct half *half)
{
	return &half->conn->half[opposite(half->direction)];
}

/* What the sender of this half acknowledges of the other. */
static uint64_t
acknowledged(const struct half *heard)
{
	return heard->expected + (heard->fin_at == heard->expected ? 1 : 0);
}

static uint64_t
sent(const struct half *half)
{
	return half->nxt + (half->fin_sent ? 1 : 0);
}

bool
trace_tcp_can_send(const struct half *half)
{
	return !half->closed && !half->fin_wanted;
}

/* ---- sending ---- */

static void
send_control(struct half *half, enum frame_kind kind, uint8_t flags)
{
	struct frame *frame = trace_frame_new(half, kind);

	frame->offset = kind == FRAME_SYN ? 0 : half->nxt;
	frame->flags = flags;
	frame->has_ack = (flags & FLAG_ACK) != 0;
	trace_network_send(frame);
}

static void
send_ack(struct half *half)
{
	if (!half->closed || half->fin_sent)
		send_control(half, FRAME_ACK, FLAG_ACK);
}

static void
arm_rto(struct half *half)
{
	struct sim *sim = sim_of(half);

	half->rto_at_ns = sim->now_ns + half->rto_ns;
	if (half->rto_armed)
		return;
	half->rto_armed = true;
	trace_events_add(sim->events, half->rto_at_ns, EVENT_RTO, half);
}

/* Bytes of the stream, with `garbage` rubbish in front of them. */
static void
send_bytes(struct half *half, uint64_t from, uint32_t len, uint32_t garbage)
{
	struct frame *frame = trace_frame_new(half, FRAME_DATA);

	frame->retransmission = from < half->nxt || len == 0;
	frame->offset = from;
	frame->len = len;
	frame->garbage = garbage;
	frame->flags = (uint8_t)(FLAG_ACK | (from + len == half->end ? FLAG_PSH : 0));
	frame->has_ack = true;
	if (len > 0)
		frame->record = trace_stream_find(
			frame->retransmission ? half->first : half->sending, from);
	trace_stream_hold(frame);
	if (frame->retransmission)
		sim_of(half)->totals.retransmitted_segments[half->direction]++;
	trace_network_send(frame);
}

/* An old sequence number and no byte: the answer tells the window. */
static void
send_probe(struct half *half)
{
	struct frame *frame = trace_frame_new(half, FRAME_PROBE);

	frame->offset = half->nxt - (half->nxt > 0 ? 1 : 0);
	frame->flags = FLAG_ACK;
	frame->has_ack = true;
	trace_network_send(frame);
}

static void
send_fin(struct half *half)
{
	half->fin_sent = true;
	send_control(half, FRAME_FIN, FLAG_FIN | FLAG_ACK);
	arm_rto(half);
}

static void
send_first_again(struct half *half)
{
	uint64_t left = half->nxt - MIN(half->una, half->nxt);

	if (left > 0)
		send_bytes(half, half->una,
			(uint32_t)MIN(left, (uint64_t)sim_of(half)->config->mss_bytes), 0);
	else if (half->fin_sent && half->una == half->end)
		send_fin(half);
}

/* A segment that ends inside a record mark, where that was asked for. */
static uint32_t
split_at_mark(const struct half *half, uint32_t len)
{
	for (const struct record *r = half->sending; r != NULL && r->start < half->nxt + len;
	    r = r->next) {
		uint64_t split = r->start + r->split_bytes;

		if (r->split_bytes > 0 && split > half->nxt && split < half->nxt + len)
			return (uint32_t)(split - half->nxt);
	}
	return len;
}

static uint32_t
largest_frame(const struct half *half)
{
	const struct trace_config *config = sim_of(half)->config;
	int64_t mss = config->mss_bytes;
	int64_t gso = config->capture[sender_of(half->direction)].gso_bytes;

	return (uint32_t)(gso > mss ? gso - gso % mss : mss);
}

static uint32_t
next_frame(const struct half *half)
{
	const struct trace_config *config = sim_of(half)->config;
	uint64_t mss = (uint64_t)config->mss_bytes;
	uint64_t unsent = half->end - half->nxt;
	uint64_t cwnd = (uint64_t)config->cwnd_bytes[half->direction];
	uint64_t limit = cwnd > 0 ? MIN(half->allowed, half->una + cwnd) : half->allowed;
	uint64_t len = MIN(unsent, largest_frame(half));

	if (half->nxt + len > limit) {
		/* Whole segments only: no silly windows. */
		len = limit > half->nxt ? limit - half->nxt : 0;
		len -= len % mss;
	}
	if (half->nxt + len > half->pause_at)
		len = half->pause_at - half->nxt;
	return config->split_mark > 0 ? split_at_mark(half, (uint32_t)len) : (uint32_t)len;
}

/* Nothing is under way and the window lets nothing go: it has to be probed. */
static bool
shut_out(const struct half *half)
{
	return half->una == half->nxt && half->nxt < half->end && half->nxt < half->pause_at
		&& !half->corked;
}

static void
output(struct half *half)
{
	uint32_t len;

	if (half->closed || half->corked)
		return;
	if (half->direction == CALLS && half->conn->state == CONN_CONNECTING)
		return;
	while (half->nxt < half->end && (len = next_frame(half)) > 0) {
		send_bytes(half, half->nxt, len, 0);
		half->nxt += len;
		half->sending = trace_stream_find(half->sending, half->nxt);
		if (!half->rto_armed)
			arm_rto(half);
	}
	if (shut_out(half) && !half->rto_armed)
		arm_rto(half);
	if (half->fin_wanted && !half->fin_sent && half->nxt == half->end)
		send_fin(half);
}

int64_t
trace_tcp_send(struct half *half, struct record *record, int64_t pause_ns)
{
	struct sim *sim = sim_of(half);

	if (sim->config->udp) {
		trace_udp_send(half, record);
		return 0;
	}
	trace_stream_append(half, record);
	if (half->pause_at != UINT64_MAX)
		pause_ns = 0;
	if (pause_ns > 0) {
		half->pause_at = record->start + (record->end - record->start) / 2;
		trace_events_add(sim->events, sim->now_ns + pause_ns, EVENT_PAUSE_END, half);
	}
	if (sim->config->coalesce_ns > 0) {
		half->corked = half->end - half->nxt < largest_frame(half);
		if (half->corked && !half->cork_armed) {
			half->cork_armed = true;
			trace_events_add(sim->events, sim->now_ns + sim->config->coalesce_ns,
				EVENT_CORK, half);
		}
	}
	output(half);
	return pause_ns;
}

void
trace_tcp_pause_end(struct half *half)
{
	half->pause_at = UINT64_MAX;
	output(half);
}

void
trace_tcp_cork(struct half *half)
{
	half->cork_armed = false;
	half->corked = false;
	output(half);
}

void
trace_tcp_rto(struct half *half)
{
	struct sim *sim = sim_of(half);

	half->rto_armed = false;
	if (half->closed || (half->una == sent(half) && !shut_out(half)))
		return;
	if (sim->now_ns < half->rto_at_ns) {
		half->rto_armed = true;
		trace_events_add(sim->events, half->rto_at_ns, EVENT_RTO, half);
		return;
	}
	half->rto_ns = MIN(half->rto_ns * 2, longest_rto_ns);
	if (shut_out(half)) {
		send_probe(half);
	} else {
		half->recovering = true;
		half->recover = sent(half);
		half->duplicate_acks = 0;
		send_first_again(half);
	}
	arm_rto(half);
}

int64_t
trace_tcp_closed_ns(const struct half *half)
{
	return half->closed_total_ns
		+ (half->window_closed ? sim_of(half)->now_ns - half->closed_since_ns : 0);
}

/* What the receiver of this half offers now, as the scaled field can tell it. */
static void
offer_window(struct half *half, struct frame *frame)
{
	const struct sim *sim = sim_of(half);
	uint64_t full = (uint64_t)sim->config->window_bytes[half->direction];
	uint64_t unread = half->expected - half->read;
	uint64_t window = full > unread ? full - unread : 0;
	bool closed;

	if (frame->kind != FRAME_SYN)
		window &= ~UINT64_C(127);
	closed = window < (uint64_t)sim->config->mss_bytes;
	if (closed && !half->window_closed)
		half->closed_since_ns = sim->now_ns;
	else if (!closed && half->window_closed)
		half->closed_total_ns += sim->now_ns - half->closed_since_ns;
	half->window_closed = closed;
	half->offered = (uint32_t)window;
	frame->window = half->offered;
}

void
trace_tcp_leaving(struct frame *frame)
{
	struct half *half = frame->half;
	struct half *heard = other(half);
	struct host *host = host_of(half->conn, sender_of(half->direction));

	frame->ip_id = host->ip_id++;
	frame->stamp = (uint32_t)(trace_clock_ns(host, host->sim->now_ns) / 1000000);
	frame->echo = heard->echo;
	offer_window(heard, frame);
	if (!frame->has_ack)
		return;
	frame->ack = acknowledged(heard);
	frame->gap = heard->early.count > 0;
	heard->ack_owed = 0;
	heard->ack_at_ns = INT64_MAX;
}

void
trace_tcp_keepalive(struct half *half)
{
	struct sim *sim = sim_of(half);
	struct frame *frame;

	if (half->closed || half->fin_wanted || sim->finished)
		return;
	trace_events_add(sim->events, sim->now_ns + sim->config->keepalive_ns, EVENT_KEEPALIVE, half);
	if (half->conn->state != CONN_OPEN || half->una != half->nxt)
		return;
	frame = trace_frame_new(half, FRAME_KEEPALIVE);
	frame->offset = half->nxt;
	frame->garbage = 1;
	frame->flags = FLAG_ACK;
	frame->has_ack = true;
	sim->totals.keepalives++;
	trace_network_send(frame);
}

/* ---- receiving ---- */

/* Old bytes come again with another content, perhaps with newer ones behind. */
static void
send_overlap(struct half *half)
{
	struct sim *sim = sim_of(half);
	uint64_t wanted = 1 + trace_rng_below(&sim->tcp_rng, (uint64_t)sim->config->mss_bytes / 2);
	uint64_t old = MIN(half->una, wanted);
	uint64_t new = MIN(half->nxt - MIN(half->una, half->nxt),
		(uint64_t)sim->config->mss_bytes / 2);

	if (old == 0 || half->una > half->end || half->closed)
		return;
	sim->totals.overlaps++;
	send_bytes(half, half->una, (uint32_t)new, (uint32_t)old);
}

static void
receive_ack(struct half *half, const struct frame *frame)
{
	struct sim *sim = sim_of(half);

	bool news = frame->ack + frame->window > half->allowed;

	if (half->closed || frame->ack > sent(half))
		return;
	half->allowed = MAX(half->allowed, frame->ack + frame->window);
	if (frame->ack > half->una) {
		half->una = frame->ack;
		half->duplicate_acks = 0;
		half->rto_ns = sim->config->rto_ns;
		half->rto_at_ns = sim->now_ns + half->rto_ns;
		if (half->recovering && half->una >= half->recover)
			half->recovering = false;
		else if (half->recovering && frame->gap)
			send_first_again(half);
		if (half->fin_sent && half->una == half->end + 1)
			half->closed = true;
		trace_stream_forget(half, false);
		if (trace_rng_chance(&sim->tcp_rng, sim->config->overlap))
			send_overlap(half);
		output(half);
	} else if (news) {
		output(half);
	} else if (frame->ack == half->una && frame->kind == FRAME_ACK
	    && half->una < sent(half) && !half->recovering && ++half->duplicate_acks == 3) {
		half->recovering = true;
		half->recover = sent(half);
		send_first_again(half);
	}
}

static void
owe_ack(struct half *half, const struct frame *frame, bool at_once)
{
	struct sim *sim = sim_of(half);
	uint32_t mss = (uint32_t)sim->config->mss_bytes;
	int64_t delay_ns = sim->config->receiver[receiver_of(half->direction)].delayed_ack_ns;

	half->ack_owed += (frame->len + mss - 1) / mss;
	if (at_once || half->ack_owed >= 2 || delay_ns == 0) {
		send_ack(other(half));
		return;
	}
	half->ack_at_ns = sim->now_ns + delay_ns;
	if (half->ack_armed)
		return;
	half->ack_armed = true;
	trace_events_add(sim->events, half->ack_at_ns, EVENT_DELAYED_ACK, half);
}

void
trace_tcp_delayed_ack(struct half *half)
{
	half->ack_armed = false;
	if (half->ack_owed == 0)
		return;
	if (sim_of(half)->now_ns >= half->ack_at_ns) {
		send_ack(other(half));
	} else {
		half->ack_armed = true;
		trace_events_add(sim_of(half)->events, half->ack_at_ns, EVENT_DELAYED_ACK, half);
	}
}

/* The receiver's end is gone: an RST went out or came in. */
static bool
deaf(const struct half *half)
{
	return half->direction == CALLS
		? !half->conn->server_knows : half->conn->state == CONN_CLOSED;
}

static void
deliver(struct half *half)
{
	struct record *record;

	if (half->stalled)
		return;
	half->read = half->expected;
	while ((record = half->delivering) != NULL && record->end <= half->expected) {
		half->delivering = record->next;
		if (deaf(half))
			continue;
		if (half->direction == CALLS)
			trace_server_call(half->conn, record->call);
		else
			trace_load_reply(record->call);
	}
}

/* The application is busy elsewhere; what arrives fills the window. */
static void
perhaps_stall(struct half *half)
{
	struct sim *sim = sim_of(half);
	const struct trace_receiver *receiver = &sim->config->receiver[receiver_of(half->direction)];

	if (half->stalled || !trace_rng_chance(&sim->tcp_rng, receiver->stall))
		return;
	half->stalled = true;
	trace_events_add(sim->events,
		sim->now_ns + trace_rng_draw_ns(&sim->tcp_rng, &receiver->stall_time),
		EVENT_READ, half);
}

void
trace_tcp_read(struct half *half)
{
	const struct trace_config *config = sim_of(half)->config;

	half->stalled = false;
	half->read = half->expected;
	if (!deaf(half) && half->offered < (uint64_t)config->window_bytes[half->direction] / 2)
		send_ack(other(half));
	deliver(half);
}

static void
receive_bytes(struct half *half, const struct frame *frame)
{
	bool hole = half->early.count > 0;
	bool new = trace_stream_arrived(half, frame->offset, frame->offset + frame->len);
	bool in_order = new && half->early.count == 0 && !hole && frame->garbage == 0;

	if (in_order)
		perhaps_stall(half);
	if (!half->stalled)
		half->read = half->expected;
	/* After a FIN old bytes are acknowledged again too, or they come for ever. */
	if (!deaf(half) || (other(half)->fin_sent && !half->closed))
		owe_ack(half, frame, !in_order);
	deliver(half);
}

static void
receive_fin(struct half *half)
{
	struct conn *conn = half->conn;
	enum trace_side side = receiver_of(half->direction);

	/* A FIN that comes again is acknowledged again, or it never ends. */
	send_ack(other(half));
	if (deaf(half))
		return;
	if (!other(half)->fin_wanted)
		trace_tcp_close(conn, side);
	if (side == TRACE_CLIENT && conn->state != CONN_CLOSED) {
		conn->state = CONN_CLOSED;
		trace_load_disconnected(conn);
	}
}

static void
receive_syn(struct half *half)
{
	struct conn *conn = half->conn;

	if (half->direction == CALLS) {
		conn->server_knows = true;
		send_control(&conn->half[REPLIES], FRAME_SYN, FLAG_SYN | FLAG_ACK);
	} else if (conn->state == CONN_CONNECTING) {
		conn->state = CONN_OPEN;
		send_ack(&conn->half[CALLS]);
		trace_load_connected(conn->lane);
	}
}

static void
receive_rst(struct half *half)
{
	struct conn *conn = half->conn;
	bool news = !deaf(half);

	other(half)->closed = true;
	half->closed = true;
	if (half->direction == CALLS)
		conn->server_knows = false;
	else
		conn->state = CONN_CLOSED;
	trace_stream_forget(&conn->half[CALLS], false);
	trace_stream_forget(&conn->half[REPLIES], false);
	if (news && half->direction == REPLIES)
		trace_load_disconnected(conn);
}

void
trace_tcp_receive(struct frame *frame)
{
	struct half *half = frame->half;
	bool had_fin = half->fin_at == half->expected;

	if (frame->kind == FRAME_SYN) {
		half->echo = frame->stamp;
		receive_syn(half);
		return;
	}
	if (frame->kind == FRAME_RST) {
		receive_rst(half);
		return;
	}
	half->echo = frame->stamp;
	if (frame->has_ack)
		receive_ack(other(half), frame);
	if (frame->kind == FRAME_FIN)
		half->fin_at = frame->offset;
	if (frame->len > 0)
		receive_bytes(half, frame);
	else if ((frame->garbage > 0 || frame->kind == FRAME_PROBE) && !deaf(half))
		send_ack(other(half));
	if (half->fin_at == half->expected && (!had_fin || frame->kind == FRAME_FIN))
		receive_fin(half);
}

/* ---- opening and closing ---- */

static void
init_half(struct conn *conn, enum direction direction)
{
	struct sim *sim = conn->lane->client->host.sim;
	struct half *half = &conn->half[direction];

	half->conn = conn;
	half->direction = direction;
	half->isn = sim->config->high_sequence
		? UINT32_MAX - (uint32_t)trace_rng_below(&sim->tcp_rng, 20000)
		: (uint32_t)trace_rng_next(&sim->tcp_rng);
	half->rto_ns = sim->config->rto_ns;
	half->fin_at = UINT64_MAX;
	half->pause_at = UINT64_MAX;
	half->ack_at_ns = INT64_MAX;
	half->allowed = (uint64_t)sim->config->window_bytes[direction];
	if (sim->config->keepalive_ns > 0 && !sim->config->udp)
		trace_events_add(sim->events, sim->now_ns + sim->config->keepalive_ns,
			EVENT_KEEPALIVE, half);
}

static void
set_ends(struct conn *conn, uint16_t port)
{
	struct client *client = conn->lane->client;
	struct sim *sim = client->host.sim;
	bool other_port = sim->config->nat == TRACE_NAT_PORT || sim->config->nat == TRACE_NAT_BOTH
		|| sim->config->nat == TRACE_NAT_ONE;

	for (unsigned side = 0; side < TRACE_SIDES; side++) {
		memcpy(conn->client_end[side].address, client->address[side],
			sizeof client->address[side]);
		conn->client_end[side].port = port;
	}
	if (other_port)
		conn->client_end[TRACE_SERVER].port =
			(uint16_t)(20000 + sim->next_nat_port++ % 40000);
}

struct conn *
trace_tcp_connect(struct lane *lane, uint16_t port)
{
	struct sim *sim = lane->client->host.sim;
	struct conn *conn = g_new0(struct conn, 1);

	conn->lane = lane;
	conn->next = sim->conns;
	sim->conns = conn;
	sim->totals.connections++;
	init_half(conn, CALLS);
	init_half(conn, REPLIES);
	set_ends(conn, port);
	if (sim->config->udp) {
		conn->state = CONN_OPEN;
		conn->server_knows = true;
	} else {
		send_control(&conn->half[CALLS], FRAME_SYN, FLAG_SYN);
	}
	return conn;
}

void
trace_tcp_close(struct conn *conn, enum trace_side side)
{
	struct half *half = &conn->half[side == TRACE_CLIENT ? CALLS : REPLIES];

	if (half->closed || half->fin_wanted)
		return;
	half->fin_wanted = true;
	half->corked = false;
	if (side == TRACE_CLIENT && conn->state == CONN_OPEN)
		conn->state = CONN_CLOSING;
	output(half);
}

void
trace_tcp_abort(struct conn *conn, enum trace_side side)
{
	struct half *half = &conn->half[side == TRACE_CLIENT ? CALLS : REPLIES];

	if (half->closed)
		return;
	send_control(half, FRAME_RST, FLAG_RST | FLAG_ACK);
	half->closed = true;
	if (side == TRACE_CLIENT)
		conn->state = CONN_CLOSED;
	else
		conn->server_knows = false;
	trace_stream_forget(half, false);
}

void
trace_tcp_free(struct conn *conn)
{
	for (unsigned i = 0; i < DIRECTIONS; i++) {
		struct half *half = &conn->half[i];

		trace_stream_forget(half, true);
		g_free(half->early.range);
		g_free(half->lost);
		for (unsigned side = 0; side < TRACE_SIDES; side++)
			trace_sight_clear(&half->sight[side]);
	}
	g_free(conn);
}
