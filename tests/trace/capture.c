#include "trace/capture.h"

#include <string.h>

#include "trace/packet.h"
#include "trace/pcapout.h"
#include "trace/udp.h"

/* The random numbers of the file order, apart from those of what is captured. */
enum { ORDER_STREAMS = 1 << 20 };

/* A packet as it goes to the file. */
struct packet {
	int64_t at_ns;
	unsigned number;		/* in its block, in the order of time */
	uint32_t captured_bytes, wire_bytes;
	uint8_t *bytes;
};

struct capture {
	struct sim *sim;
	struct host *host;
	const struct trace_capture *config;
	struct pcap_out *out;
	struct trace_rng rng, order_rng;
	struct capture_counts counts;
	int64_t burst_left;		/* packets to be dropped */
	GQueue copies;			/* second copies whose time has not come */
	GArray *block;			/* packets to be shuffled */
	uint8_t *scratch;		/* the packet in work */
};

static void
clear_packet(void *packet)
{
	g_free(((struct packet *)packet)->bytes);
}

struct capture *
trace_capture_open(struct sim *sim, struct host *host, const char *path, unsigned stream,
	GError **error)
{
	const struct trace_capture *config = &sim->config->capture[host->side];
	struct pcap_out *out = trace_pcap_open(path, config, trace_packet_link_type(config), error);
	struct capture *capture;

	if (out == NULL)
		return NULL;
	capture = g_new0(struct capture, 1);
	capture->sim = sim;
	capture->host = host;
	capture->config = config;
	capture->out = out;
	trace_rng_init(&capture->rng, sim->config->seed, stream);
	trace_rng_init(&capture->order_rng, sim->config->seed, stream + ORDER_STREAMS);
	g_queue_init(&capture->copies);
	capture->block = g_array_new(FALSE, FALSE, sizeof(struct packet));
	g_array_set_clear_func(capture->block, clear_packet);
	capture->scratch = g_malloc(PACKET_BYTES);
	return capture;
}

struct capture_counts *
trace_capture_counts(struct capture *capture)
{
	return &capture->counts;
}

/* ---- file order ---- */

static void
write_packet(struct capture *capture, const struct packet *packet)
{
	capture->counts.packets++;
	capture->counts.truncated += packet->captured_bytes < packet->wire_bytes;
	trace_pcap_write(capture->out, packet->at_ns, packet->bytes, packet->captured_bytes,
		packet->wire_bytes);
}

/* Of packets with equal stamps only their order tells which was first. */
static void
restore_ties(const struct capture *capture, struct packet *packet, unsigned count)
{
	int64_t unit_ns = capture->config->magic == TRACE_NANOSECONDS ? 1 : 1000;

	for (unsigned i = 0; i < count; i++)
		for (unsigned j = i + 1; j < count; j++)
			if (packet[i].at_ns / unit_ns == packet[j].at_ns / unit_ns
			    && packet[i].number > packet[j].number) {
				struct packet swap = packet[i];

				packet[i] = packet[j];
				packet[j] = swap;
			}
}

static void
write_block(struct capture *capture)
{
	struct packet *packet = (struct packet *)(void *)capture->block->data;

	for (unsigned left = capture->block->len; left > 1; left--) {
		uint64_t chosen = trace_rng_below(&capture->order_rng, left);
		struct packet swap = packet[left - 1];

		packet[left - 1] = packet[chosen];
		packet[chosen] = swap;
	}
	if (!capture->config->permute_ties)
		restore_ties(capture, packet, capture->block->len);
	for (unsigned i = 0; i < capture->block->len; i++)
		write_packet(capture, &packet[i]);
	g_array_set_size(capture->block, 0);
}

static void
shuffle(struct capture *capture, const struct packet *packet)
{
	const struct trace_capture *config = capture->config;
	struct packet kept = *packet;

	if (config->permute_packets < 2) {
		write_packet(capture, packet);
		return;
	}
	if (capture->block->len > 0 && config->permute_ns > 0
	    && packet->at_ns - g_array_index(capture->block, struct packet, 0).at_ns
		> config->permute_ns)
		write_block(capture);
	kept.number = capture->block->len;
	kept.bytes = g_memdup2(packet->bytes, packet->captured_bytes);
	g_array_append_val(capture->block, kept);
	if (capture->block->len >= config->permute_packets)
		write_block(capture);
}

static void
write_copies(struct capture *capture, int64_t until_ns)
{
	struct packet *copy;

	while ((copy = g_queue_peek_head(&capture->copies)) != NULL && copy->at_ns <= until_ns) {
		g_queue_pop_head(&capture->copies);
		capture->counts.duplicates++;
		shuffle(capture, copy);
		clear_packet(copy);
		g_free(copy);
	}
}

static void
keep_copy(struct capture *capture, const struct packet *packet)
{
	struct packet *copy = g_memdup2(packet, sizeof *packet);

	copy->at_ns += capture->config->duplicate_delay_ns;
	copy->bytes = g_memdup2(packet->bytes, packet->captured_bytes);
	if (capture->config->duplicate_hop && packet->captured_bytes >= PACKET_LINK_BYTES + 20)
		trace_packet_hop(capture->config, copy->bytes);
	g_queue_push_tail(&capture->copies, copy);
}

/* ---- what is captured ---- */

static bool
in_window(const struct trace_steps *windows, int64_t now_ns)
{
	for (int64_t i = 0; i < windows->count; i++)
		if (now_ns >= windows->step[i].at_ns
		    && now_ns - windows->step[i].at_ns < windows->step[i].by_ns)
			return true;
	return false;
}

static bool
wanted(const struct capture *capture, const struct frame *frame)
{
	const struct trace_capture *config = capture->config;
	int64_t now_ns = capture->sim->now_ns;

	if (config->only == TRACE_CALLS_ONLY && frame->half->direction != CALLS)
		return false;
	if (config->only == TRACE_REPLIES_ONLY && frame->half->direction != REPLIES)
		return false;
	return now_ns >= config->start_ns && (config->stop_ns == 0 || now_ns < config->stop_ns);
}

static bool
dropped(struct capture *capture)
{
	const struct trace_capture *config = capture->config;

	if (capture->burst_left > 0) {
		capture->burst_left--;
		return true;
	}
	if (trace_rng_chance(&capture->rng, config->burst)) {
		capture->burst_left = config->burst_packets - 1;
		return true;
	}
	return in_window(&config->drop_windows, capture->sim->now_ns)
		|| trace_rng_chance(&capture->rng, config->drop);
}

/* Bytes of the datagram, its header counted, that snaplen leaves of a packet. */
static uint32_t
visible_datagram(const struct capture *capture, const struct frame *frame, uint32_t captured_bytes)
{
	uint32_t front = trace_packet_headers(capture->sim->config, capture->host->side, frame);

	return captured_bytes > front ? captured_bytes - front : 0;
}

/* What the packet tells somebody who reads the file. */
static void
note_sight(const struct capture *capture, const struct frame *frame, uint32_t captured_bytes)
{
	enum trace_side side = capture->host->side;
	struct half *half = frame->half;
	struct half *other = &half->conn->half[opposite(half->direction)];
	uint64_t first = frame->offset - MIN(frame->garbage, frame->offset);
	uint32_t front = trace_packet_headers(capture->sim->config, side, frame) + frame->garbage;
	uint64_t visible = captured_bytes > front ? captured_bytes - front : 0;
	int64_t now_ns = capture->sim->now_ns;

	if (frame->kind == FRAME_DATAGRAM) {
		trace_udp_sight(frame, side, visible_datagram(capture, frame, captured_bytes));
		return;
	}
	if (!half->forgotten)
		trace_sight_packet(&half->sight[side], first, first, first, now_ns);
	if (frame->len > 0 && !half->forgotten)
		trace_sight_packet(&half->sight[side], frame->offset, frame->offset + frame->len,
			frame->offset + visible, now_ns);
	if (frame->has_ack && !other->forgotten)
		trace_sight_ack(&other->sight[side], frame->ack, now_ns);
}

void
trace_capture_frame(struct capture *capture, const struct frame *frame)
{
	enum direction way = frame->half->direction;
	struct packet packet;

	if (!wanted(capture, frame)) {
		capture->counts.not_captured[way]++;
		return;
	}
	if (dropped(capture)) {
		capture->counts.dropped[way]++;
		return;
	}
	packet.at_ns = trace_clock_ns(capture->host, capture->sim->now_ns);
	packet.bytes = capture->scratch;
	packet.wire_bytes = trace_packet_make(capture->sim, capture->host->side, frame,
		packet.bytes);
	packet.captured_bytes = (uint32_t)MIN(packet.wire_bytes, capture->config->snaplen_bytes);
	note_sight(capture, frame, packet.captured_bytes);
	write_copies(capture, packet.at_ns);
	if (frame->kind == FRAME_SYN && capture->config->permute_after_handshake)
		write_block(capture);
	shuffle(capture, &packet);
	if (frame->kind == FRAME_SYN && capture->config->permute_after_handshake)
		write_block(capture);
	if (capture->config->duplicate)
		keep_copy(capture, &packet);
}

bool
trace_capture_close(struct capture *capture, GError **error)
{
	bool good;

	write_copies(capture, INT64_MAX);
	write_block(capture);
	good = trace_pcap_close(capture->out, error);
	g_array_free(capture->block, TRUE);
	g_free(capture->scratch);
	g_free(capture);
	return good;
}
