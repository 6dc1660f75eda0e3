#include "trace/network.h"

#include "trace/capture.h"
#include "trace/lost.h"
#include "trace/stream.h"
#include "trace/tcp.h"
#include "trace/udp.h"

enum {
	FLAG_PSH = 0x08,
	/* Ethernet with preamble, checksum and gap; IPv4; TCP with time stamps. */
	WIRE_OVERHEAD_BYTES = 38 + 20 + 32,
};

struct frame *
trace_frame_new(struct half *half, enum frame_kind kind)
{
	struct frame *frame = g_slice_new0(struct frame);

	frame->half = half;
	frame->kind = kind;
	return frame;
}

void
trace_frame_free(struct frame *frame)
{
	trace_stream_release(frame);
	g_slice_free(struct frame, frame);
}

static struct sim *
sim_of(const struct frame *frame)
{
	return frame->half->conn->lane->client->host.sim;
}

void
trace_network_send(struct frame *frame)
{
	struct sim *sim = sim_of(frame);
	struct host *host = host_of(frame->half->conn, sender_of(frame->half->direction));
	int64_t at_ns = MAX(sim->now_ns, host->transmit_free_ns);

	host->transmit_free_ns = at_ns + sim->config->transmit_gap_ns;
	if (frame->kind != FRAME_DATAGRAM)
		trace_tcp_leaving(frame);
	trace_events_add(sim->events, at_ns, EVENT_TRANSMIT, frame);
}

static void
pass(struct frame *frame, enum trace_side side)
{
	struct host *host = host_of(frame->half->conn, side);

	trace_stream_passed(frame, side);
	if (host->capture != NULL)
		trace_capture_frame(host->capture, frame);
}

static void
note_loss(const struct frame *frame)
{
	uint64_t to = frame->offset + frame->len;

	for (struct record *r = frame->record; r != NULL && r->start < to; r = r->next)
		r->call->lost[frame->half->direction]++;
}

/* One packet on the line: serialization, delay, jitter, loss, reordering. */
static void
travel(struct frame *frame)
{
	struct sim *sim = sim_of(frame);
	const struct trace_config *config = sim->config;
	enum direction way = frame->half->direction;
	struct line *line = &frame->half->conn->lane->client->line[way];
	int64_t bits = (int64_t)(frame->garbage + frame->len + WIRE_OVERHEAD_BYTES) * 8;
	bool vital = frame->kind != FRAME_DATA && frame->kind != FRAME_ACK
		&& frame->kind != FRAME_DATAGRAM;
	int64_t at_ns = MAX(sim->now_ns, line->free_ns);

	sim->totals.wire_packets[way]++;
	if (config->rate_bits[way] > 0)
		at_ns += bits * 1000000000 / config->rate_bits[way];
	line->free_ns = at_ns;
	if (!vital && trace_rng_chance(&sim->network_rng, config->loss[way])) {
		sim->totals.lost[way]++;
		note_loss(frame);
		trace_lost(frame);
		trace_frame_free(frame);
		return;
	}
	at_ns += config->delay_ns[way];
	if (config->jitter_ns[way] > 0)
		at_ns += (int64_t)trace_rng_below(&sim->network_rng,
			(uint64_t)config->jitter_ns[way] + 1);
	if (!vital && trace_rng_chance(&sim->network_rng, config->reorder[way])) {
		sim->totals.reordered[way]++;
		at_ns += config->reorder_ns;
	} else {
		at_ns = MAX(at_ns, line->last_arrival_ns);
		line->last_arrival_ns = at_ns;
	}
	trace_events_add(sim->events, at_ns, EVENT_RECEIVE, frame);
}

void
trace_network_transmit(struct frame *frame)
{
	struct half *half = frame->half;
	uint32_t mss = (uint32_t)sim_of(frame)->config->mss_bytes;

	frame->left_ns = sim_of(frame)->now_ns;
	pass(frame, sender_of(half->direction));
	/* The card cuts a large frame into segments. */
	while (frame->len > mss && frame->kind == FRAME_DATA) {
		struct frame *segment = trace_frame_new(half, frame->kind);

		*segment = *frame;
		segment->len = mss;
		segment->flags &= (uint8_t)~FLAG_PSH;
		trace_stream_hold(segment);
		frame->offset += mss;
		frame->len -= mss;
		frame->ip_id++;
		frame->record->holders--;
		frame->record = trace_stream_find(frame->record, frame->offset);
		trace_stream_hold(frame);
		travel(segment);
	}
	travel(frame);
}

/* ---- the receiving card ---- */

static void
hand_up(struct frame *frame)
{
	pass(frame, receiver_of(frame->half->direction));
	if (frame->kind == FRAME_DATAGRAM)
		trace_udp_receive(frame);
	else
		trace_tcp_receive(frame);
	trace_frame_free(frame);
}

static void
flush_held(struct half *half)
{
	struct frame *held = half->held;

	half->held = NULL;
	if (held != NULL)
		hand_up(held);
}

static bool
mergeable(const struct frame *frame)
{
	return frame->kind == FRAME_DATA && frame->len > 0 && frame->garbage == 0;
}

static void
hold(struct frame *frame)
{
	struct half *half = frame->half;
	struct sim *sim = sim_of(frame);

	half->held = frame;
	half->held_until_ns = sim->now_ns + sim->config->gro_hold_ns;
	if (half->gro_armed)
		return;
	half->gro_armed = true;
	trace_events_add(sim->events, half->held_until_ns, EVENT_GRO, half);
}

void
trace_network_gro(struct half *half)
{
	struct sim *sim = half->conn->lane->client->host.sim;

	half->gro_armed = false;
	if (half->held == NULL)
		return;
	if (sim->now_ns < half->held_until_ns) {
		half->gro_armed = true;
		trace_events_add(sim->events, half->held_until_ns, EVENT_GRO, half);
		return;
	}
	flush_held(half);
}

void
trace_network_receive(struct frame *frame)
{
	struct half *half = frame->half;
	struct sim *sim = sim_of(frame);
	int64_t gro_bytes = sim->config->capture[receiver_of(half->direction)].gro_bytes;
	struct frame *held = half->held;

	trace_lost_arrived(frame);
	if (gro_bytes <= sim->config->mss_bytes || !mergeable(frame)) {
		flush_held(half);
		hand_up(frame);
		return;
	}
	if (held != NULL && held->offset + held->len == frame->offset
	    && held->len + frame->len <= (uint32_t)gro_bytes) {
		held->len += frame->len;
		held->flags |= frame->flags;
		held->ack = frame->ack;
		held->stamp = frame->stamp;
		trace_frame_free(frame);
	} else {
		flush_held(half);
		hold(frame);
		held = frame;
	}
	/* A push ends the frame, as does chance. */
	if ((held->flags & FLAG_PSH) != 0
	    || trace_rng_chance(&sim->network_rng, sim->config->gro_break))
		flush_held(half);
}
