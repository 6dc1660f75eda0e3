#include "run/pipeline.h"

#include <string.h>

#include "base/arith.h"
#include "capture/datagram.h"
#include "capture/defragment.h"
#include "capture/duplicates.h"
#include "capture/flow_hash.h"
#include "capture/ip.h"
#include "capture/plain.h"
#include "capture/reorder.h"
#include "capture/segment.h"
#include "capture/source_set.h"
#include "rpc/hosts.h"
#include "rpc/reconnect.h"
#include "stream/datagrams.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
	TICK_NS = 2 * NS_PER_MS,
	TICK_SOON_NS = 100 * NS_PER_US,		/* while a connection waits */
	RECONNECTING_CALLS = 4096,
	/* One capture's side is told by round trips only when they differ so much. */
	SIDE_RATIO = 2,
};

G_STATIC_ASSERT(PIPELINE_SHARDS == 1 << FLOW_FIXED_BITS);

struct shard {
	struct calls *calls;
	struct stream *stream;
	struct datagrams *datagrams;
};

struct pipeline {
	struct source_set *sources;	/* NULL: packets are pushed */
	struct ahead ahead;		/* of what was read last */
	const struct source_facts *told;	/* then */
	struct reorder *reorder;
	struct duplicates *duplicates;
	struct defragment *defragment;
	struct shard shard[PIPELINE_SHARDS];
	struct reconnect *reconnect;
	struct lines *lines;
	struct hosts *hosts;
	op_sink_fn *sink;
	tcp_event_fn *event_sink;	/* NULL: nobody wants them */
	void *context;
	struct flow_hashes *hashes;
	uint64_t next_serial;
	int64_t next_tick_ns, newest_ns;
	unsigned pushed;		/* packets in the room of reorder, which go on together */
	uint64_t taken;			/* packets, in the order of their stamps */
	struct source_facts *files;
	struct capture_facts facts;
	struct nfs_op busiest;		/* candidate of a majority vote over the ops' endpoints */
	uint64_t busiest_votes;
	bool over;
};

/* A majority vote (Boyer and Moore): the endpoints of more than half the calls, if any have so many. */
static void
vote_endpoints(struct pipeline *pipeline, const struct nfs_op *op)
{
	struct nfs_op *candidate = &pipeline->busiest;

	if (pipeline->busiest_votes == 0) {
		candidate->client = op->client;
		candidate->server = op->server;
	}
	if (memcmp(candidate->server.address, op->server.address, sizeof op->server.address) == 0 &&
	    memcmp(candidate->client.address, op->client.address, sizeof op->client.address) == 0)
		pipeline->busiest_votes++;
	else
		pipeline->busiest_votes--;
}

static void
give_out(void *context, const struct nfs_op *op)
{
	struct pipeline *pipeline = context;

	vote_endpoints(pipeline, op);
	lines_note(pipeline->lines, &op->client, &op->server);
	pipeline->sink(pipeline->context, op);
}

static void
from_shard(void *context, const struct nfs_op *op)
{
	struct pipeline *pipeline = context;

	reconnect_push(pipeline->reconnect, op);
}

static void
event_from_shard(void *context, const struct tcp_event *event)
{
	struct pipeline *pipeline = context;

	if (pipeline->event_sink != NULL)
		pipeline->event_sink(pipeline->context, event);
}

/* Either end of it is where a portmapper said that a program is. */
static bool
is_learned(void *context, const struct flow_key *key, bool datagrams)
{
	const struct pipeline *pipeline = context;
	uint8_t protocol = datagrams ? IP_UDP : IP_TCP;

	if (hosts_ports(pipeline->hosts) == 0)
		return false;
	return hosts_has_port(pipeline->hosts, key->address[0], key->port[0], protocol) ||
	    hosts_has_port(pipeline->hosts, key->address[1], key->port[1], protocol);
}

static void
make_shards(struct pipeline *pipeline, const struct pipeline_limits *limits)
{
	struct stream_limits share = {
		.connections = MAX(limits->connections / PIPELINE_SHARDS, 16),
		.held_bytes = MAX(limits->held_bytes / PIPELINE_SHARDS, 256 * 1024),
	};

	for (unsigned i = 0; i < PIPELINE_SHARDS; i++) {
		struct shard *shard = &pipeline->shard[i];
		struct stream_sink sink;

		shard->calls = calls_new(MAX(limits->calls / PIPELINE_SHARDS, 64), from_shard, pipeline);
		sink = calls_sink(shard->calls);
		sink.event = event_from_shard;
		sink.event_context = pipeline;
		sink.expected = is_learned;
		sink.expected_context = pipeline;
		calls_set_hosts(shard->calls, pipeline->hosts);
		shard->stream = stream_new(&sink, &share, &pipeline->next_serial);
		shard->datagrams = datagrams_new(&sink, share.connections, &pipeline->next_serial);
	}
}

static unsigned
count_files(const struct pipeline *pipeline)
{
	return pipeline->sources != NULL ? source_set_count(pipeline->sources) : 1;
}

static const struct source_facts *
file_of(const struct pipeline *pipeline, unsigned index)
{
	return pipeline->sources != NULL ? source_set_facts(pipeline->sources, index) : pipeline->told;
}

static void
note_files(struct pipeline *pipeline)
{
	struct capture_facts *facts = &pipeline->facts;

	facts->file_count = count_files(pipeline);
	pipeline->files = g_new0(struct source_facts, MAX(facts->file_count, 1));
	facts->files = pipeline->files;
	facts->dropped_by_kernel = facts->dropped_by_interface = -1;
	for (unsigned i = 0; i < facts->file_count; i++) {
		const struct source_facts *file = file_of(pipeline, i);

		pipeline->files[i] = *file;
		facts->bytes += file->bytes;
		facts->nanoseconds = (i == 0 || facts->nanoseconds) && file->nanoseconds;
		facts->format = file->format;
		facts->compression = file->compression;
		facts->name = i == 0 ? file->name : facts->name;
	}
}

static struct pipeline *
new_pipeline(const struct pipeline_limits *limits, op_sink_fn *sink, void *context)
{
	struct pipeline *pipeline = g_new0(struct pipeline, 1);

	pipeline->reorder = reorder_new();
	pipeline->duplicates = duplicates_new();
	pipeline->defragment = defragment_new();
	pipeline->lines = lines_new();
	pipeline->facts.lines = pipeline->lines;
	pipeline->hosts = hosts_new();
	pipeline->facts.hosts = pipeline->hosts;
	pipeline->reconnect = reconnect_new(RECONNECTING_CALLS, give_out, pipeline);
	pipeline->sink = sink;
	pipeline->context = context;
	pipeline->hashes = flow_hashes_new((uint64_t)g_random_int() << 32 | g_random_int());
	pipeline->next_serial = 1;
	pipeline->next_tick_ns = INT64_MIN;
	pipeline->newest_ns = INT64_MIN;
	make_shards(pipeline, limits);
	return pipeline;
}

struct pipeline *
pipeline_new(const char *const *paths, const struct source_config *config, const struct pipeline_limits *limits,
    op_sink_fn *sink, void *context, GError **error)
{
	struct source_set *sources = source_set_open(paths, config, error);
	struct pipeline *pipeline;

	if (sources == NULL)
		return NULL;
	pipeline = new_pipeline(limits, sink, context);
	pipeline->sources = sources;
	source_set_on_gone(sources, reorder_gone, pipeline->reorder);
	note_files(pipeline);
	return pipeline;
}

struct pipeline *
pipeline_new_live(const struct source_facts *told, const struct pipeline_limits *limits, op_sink_fn *sink,
    void *context)
{
	struct pipeline *pipeline = new_pipeline(limits, sink, context);

	pipeline->told = told;
	note_files(pipeline);
	return pipeline;
}

static void
finish_shard(struct shard *shard, int64_t end_ns)
{
	stream_finish(shard->stream, end_ns);
	datagrams_finish(shard->datagrams, end_ns);
}

static void
ignore_op(void *context, const struct nfs_op *op)
{
	(void)context;
	(void)op;
}

void
pipeline_set_event_sink(struct pipeline *pipeline, tcp_event_fn *sink)
{
	pipeline->event_sink = sink;
}

void
pipeline_free(struct pipeline *pipeline)
{
	if (pipeline == NULL)
		return;
	pipeline->event_sink = NULL;
	if (!pipeline->over) {
		/* Given up early: connections give back what hangs on them when they end, and nobody listens. */
		pipeline->sink = ignore_op;
		for (unsigned i = 0; i < PIPELINE_SHARDS; i++)
			finish_shard(&pipeline->shard[i], pipeline->newest_ns);
	}
	for (unsigned i = 0; i < PIPELINE_SHARDS; i++) {
		stream_free(pipeline->shard[i].stream);
		datagrams_free(pipeline->shard[i].datagrams);
		calls_free(pipeline->shard[i].calls);
	}
	dist_clear(&pipeline->facts.tcp.round_trip[0]);
	dist_clear(&pipeline->facts.tcp.round_trip[1]);
	reconnect_free(pipeline->reconnect);
	duplicates_free(pipeline->duplicates);
	flow_hashes_free(pipeline->hashes);
	source_set_free(pipeline->sources);	/* tells the reorder of what goes */
	defragment_free(pipeline->defragment);
	lines_free(pipeline->lines);
	hosts_free(pipeline->hosts);
	reorder_free(pipeline->reorder);
	g_free(pipeline->files);
	g_free(pipeline);
}

static void
note_link_type(struct capture_facts *facts, int link_type)
{
	for (unsigned i = 0; i < facts->link_type_count; i++)
		if (facts->link_types[i] == link_type)
			return;
	if (facts->link_type_count < CAPTURE_LINK_TYPES)
		facts->link_types[facts->link_type_count++] = link_type;
}

/* pcapng does not say so in its header. */
static void
note_resolution(struct capture_facts *facts, const struct packet *packets, unsigned count)
{
	for (unsigned i = 0; i < count && !facts->nanoseconds; i++)
		facts->nanoseconds = packets[i].ts_ns % NS_PER_US != 0;
}

/* True when all of them are in order, and behind all that came before. */
static bool
note_packets(struct pipeline *pipeline, const struct packet *packets, unsigned count)
{
	struct capture_facts *facts = &pipeline->facts;
	int64_t last_ns = facts->last_ns;
	uint64_t backward = facts->backward_stamps;
	unsigned truncated = 0;
	int link_type;

	if (!facts->nanoseconds)
		note_resolution(facts, packets, count);
	if (facts->packets == 0) {
		facts->first_ns = last_ns = packets->ts_ns;
		note_link_type(facts, packets->link_type);
	}
	link_type = facts->link_types[0];
	facts->packets += count;
	for (const struct packet *packet = packets; packet < packets + count; packet++) {
		int64_t ts_ns = packet->ts_ns;

		truncated += packet->cap_len < packet->wire_len;
		if (packet->link_type != link_type)
			note_link_type(facts, packet->link_type);
		if (G_LIKELY(ts_ns >= last_ns)) {
			last_ns = ts_ns;
			continue;
		}
		facts->first_ns = MIN(facts->first_ns, ts_ns);
		facts->backward_stamps++;
		facts->backward_max_ns = MAX(facts->backward_max_ns, last_ns - ts_ns);
	}
	facts->last_ns = last_ns;
	facts->truncated_packets += truncated;
	return facts->backward_stamps == backward;
}

static __attribute__((noinline)) void
tick(struct pipeline *pipeline)
{
	bool waits = false;

	for (unsigned i = 0; i < PIPELINE_SHARDS; i++) {
		stream_tick(pipeline->shard[i].stream, pipeline->newest_ns, pipeline->taken);
		waits |= stream_waits(pipeline->shard[i].stream);
		datagrams_tick(pipeline->shard[i].datagrams, pipeline->newest_ns);
	}
	pipeline->next_tick_ns = pipeline->newest_ns + (waits ? TICK_SOON_NS : TICK_NS);
}

/* A segment that was not seen before. */
static inline __attribute__((always_inline)) void
pass_on(struct pipeline *pipeline, const struct segment *segment, const struct flow_hash *flow)
{
	/* Shards must not depend on the seed: they have shares of caps, and an order at ticks and at the end. */
	struct stream *stream = pipeline->shard[flow->fixed].stream;

	if (segment->payload_wire_len > 0)
		lines_add(pipeline->lines, segment->key, segment->direction, segment->packet, segment->payload_wire_len);
	stream_push(stream, segment, flow->seeded, pipeline->taken);
	if (stream_waits(stream))
		pipeline->next_tick_ns = MIN(pipeline->next_tick_ns, pipeline->newest_ns + TICK_SOON_NS);
}

static void
take_segment(struct pipeline *pipeline, const struct segment *segment, struct flow_hash *flow)
{
	if (duplicates_seen(pipeline->duplicates, segment, flow))
		pipeline->facts.duplicate_packets++;
	else
		pass_on(pipeline, segment, flow);
}

static void
take_datagram(struct pipeline *pipeline, const struct packet *packet)
{
	struct datagram datagram;
	uint64_t shard, hash;

	if (datagram_parse(packet, &datagram) != SEGMENT_UDP) {
		pipeline->facts.bad_packets++;
		return;
	}
	if (duplicates_seen_datagram(pipeline->duplicates, &datagram)) {
		pipeline->facts.duplicate_packets++;
		return;
	}
	lines_add(pipeline->lines, &datagram.key, datagram.direction, packet, datagram.wire_len);
	/* Not by the ports, which only the first fragment of a datagram has. */
	shard = XXH3_64bits(datagram.key.address, sizeof datagram.key.address) >> (64 - FLOW_FIXED_BITS);
	hash = XXH3_64bits_withSeed(&datagram.key, sizeof datagram.key, pipeline->hashes->seed);
	datagrams_push(pipeline->shard[shard].datagrams, &datagram, hash, pipeline->taken);
}

static void
take_fragment(struct pipeline *pipeline, const struct packet *packet)
{
	struct flow_hash *flow;
	struct segment segment;
	struct packet whole;

	pipeline->facts.fragments++;
	if (defragment_push(pipeline->defragment, packet, &whole) &&
	    segment_parse_known(&whole, pipeline->hashes, &segment, &flow) == SEGMENT_TCP)
		take_segment(pipeline, &segment, flow);
}

/* What is not simply a segment that goes on where its flow was. */
static __attribute__((noinline)) void
take_other(struct pipeline *pipeline, const struct packet *packet)
{
	struct flow_hash *flow;
	struct segment segment;

	switch (segment_parse_known(packet, pipeline->hashes, &segment, &flow)) {
	case SEGMENT_TCP:
		take_segment(pipeline, &segment, flow);
		return;
	case SEGMENT_UDP:
		take_datagram(pipeline, packet);
		return;
	case SEGMENT_FRAGMENT:
		take_fragment(pipeline, packet);
		return;
	case SEGMENT_CUT:
	case SEGMENT_BAD:
		pipeline->facts.bad_packets++;
		return;
	case SEGMENT_OTHER:
		return;
	}
}

static inline void
take_packet(struct pipeline *pipeline, const struct packet *packet)
{
	struct flow_hash *flow;
	struct segment segment;

	ahead_step(&pipeline->ahead);
	pipeline->taken++;
	if (G_LIKELY(packet->ts_ns >= pipeline->newest_ns)) {
		pipeline->newest_ns = packet->ts_ns;
		if (G_UNLIKELY(packet->ts_ns >= pipeline->next_tick_ns))
			tick(pipeline);
	}
	flow = plain_parse(packet, pipeline->hashes, &segment);
	if (G_LIKELY(flow != NULL && duplicates_pass(pipeline->duplicates, &segment, flow)))
		pass_on(pipeline, &segment, flow);
	else
		take_other(pipeline, packet);
}

/* At the server its own answers come at once and the client's take the path; at the client the reverse. */
static bool
side_of(const struct stream_counters *tcp, enum pair_side *side)
{
	const struct dist *to_server = &tcp->round_trip[0];
	const struct dist *to_client = &tcp->round_trip[1];

	if (to_server->count == 0 || to_client->count == 0)
		return false;
	*side = to_server->min_ns > to_client->min_ns ? PAIR_CLIENT : PAIR_SERVER;
	return MAX(to_server->min_ns, to_client->min_ns) > MIN(to_server->min_ns, to_client->min_ns) * SIDE_RATIO;
}

bool
pipeline_side(const struct pipeline *pipeline, enum pair_side *side)
{
	struct stream_counters tcp = { 0 };
	bool told;

	for (unsigned i = 0; i < PIPELINE_SHARDS; i++)
		stream_counters_add(&tcp, stream_counters(pipeline->shard[i].stream));
	told = side_of(&tcp, side);
	dist_clear(&tcp.round_trip[0]);
	dist_clear(&tcp.round_trip[1]);
	return told;
}

/* What the files have told of themselves so far; files: room for them, which facts borrow. */
static void
gather_files(const struct pipeline *pipeline, struct source_facts *files, struct capture_facts *facts)
{
	facts->snaplen = 0;
	facts->files = files;
	for (unsigned i = 0; i < facts->file_count; i++) {
		const struct source_facts *file = file_of(pipeline, i);

		files[i] = *file;
		if (file->snaplen > 0)
			facts->snaplen = facts->snaplen > 0 ? MIN(facts->snaplen, file->snaplen) : file->snaplen;
		if (file->dropped_by_kernel >= 0)
			facts->dropped_by_kernel = MAX(facts->dropped_by_kernel, 0) + file->dropped_by_kernel;
		if (file->dropped_by_interface >= 0)
			facts->dropped_by_interface = MAX(facts->dropped_by_interface, 0) + file->dropped_by_interface;
		facts->bad_blocks += file->bad_blocks;
	}
	if (pipeline->sources != NULL) {
		facts->comments = source_set_comments(pipeline->sources, &facts->comment_count);
		facts->interfaces = source_set_interfaces(pipeline->sources);
	}
	facts->duplicates = duplicates_pairs(pipeline->duplicates);
}

static void
gather(const struct pipeline *pipeline, struct source_facts *files, struct capture_facts *facts)
{
	const GError *trouble = pipeline->sources != NULL ? source_set_trouble(pipeline->sources) : NULL;

	gather_files(pipeline, files, facts);
	for (unsigned i = 0; i < PIPELINE_SHARDS; i++) {
		stream_counters_add(&facts->tcp, stream_counters(pipeline->shard[i].stream));
		datagram_counters_add(&facts->udp, datagrams_counters(pipeline->shard[i].datagrams));
		rpc_counters_add(&facts->rpc, calls_counters(pipeline->shard[i].calls));
	}
	facts->rpc.hidden_records += facts->tcp.hidden_records;
	reconnect_correct(pipeline->reconnect, &facts->rpc);
	facts->trouble = trouble != NULL ? trouble->message : NULL;
	facts->has_endpoints = pipeline->busiest_votes > 0;
	facts->client = pipeline->busiest.client;
	facts->server = pipeline->busiest.server;
	facts->side_detected = side_of(&facts->tcp, &facts->detected_side);
}

/* Who is told of the calls that wait. */
struct waiting_sink {
	struct capture_facts *facts;
	op_sink_fn *each;
	void *context;
};

static void
note_waiting(void *context, const struct nfs_op *op)
{
	struct waiting_sink *sink = context;
	struct capture_facts *facts = sink->facts;

	facts->waiting++;
	facts->waiting_since_ns = facts->waiting == 1 ? op->call_first_ns :
	    min_ns(facts->waiting_since_ns, op->call_first_ns);
	if (sink->each != NULL)
		sink->each(sink->context, op);
}

void
pipeline_facts_now(const struct pipeline *pipeline, struct capture_facts *facts, op_sink_fn *each, void *context)
{
	struct waiting_sink sink = { facts, each, context };
	uint64_t ended = 0;
	struct lines *lines;

	*facts = pipeline->facts;
	lines = lines_new();
	lines_merge(lines, pipeline->lines);
	facts->lines = lines;
	facts->hosts = hosts_copy(pipeline->hosts);
	if (pipeline->over) {
		facts->files = g_memdup2(facts->files, facts->file_count * sizeof *facts->files);
		facts->tcp.round_trip[0] = facts->tcp.round_trip[1] = (struct dist){ 0 };
		dist_merge(&facts->tcp.round_trip[0], &pipeline->facts.tcp.round_trip[0]);
		dist_merge(&facts->tcp.round_trip[1], &pipeline->facts.tcp.round_trip[1]);
		return;
	}
	gather(pipeline, g_new0(struct source_facts, MAX(facts->file_count, 1)), facts);
	for (unsigned i = 0; i < PIPELINE_SHARDS; i++) {
		stream_counters_add_open(&facts->tcp, pipeline->shard[i].stream);
		calls_each_waiting(pipeline->shard[i].calls, pipeline->newest_ns, note_waiting, &sink);
	}
	for (unsigned outcome = 0; outcome < OP_OUTCOMES; outcome++)
		ended += facts->rpc.outcomes[outcome];
	facts->rpc.outcomes[OP_IN_FLIGHT] += facts->rpc.calls - ended;
}

void
pipeline_count_records(const struct pipeline *pipeline, struct rpc_counters *counters)
{
	*counters = (struct rpc_counters){ 0 };
	for (unsigned i = 0; i < PIPELINE_SHARDS; i++) {
		rpc_counters_add(counters, calls_counters(pipeline->shard[i].calls));
		counters->hidden_records += stream_counters(pipeline->shard[i].stream)->hidden_records;
	}
}

void
pipeline_facts_clear(struct capture_facts *facts)
{
	dist_clear(&facts->tcp.round_trip[0]);
	dist_clear(&facts->tcp.round_trip[1]);
	g_free((void *)facts->files);
	lines_free((struct lines *)facts->lines);
	hosts_free((struct hosts *)facts->hosts);
	*facts = (struct capture_facts){ 0 };
}

static void
finish(struct pipeline *pipeline)
{
	int64_t end_ns = pipeline->newest_ns;

	for (unsigned i = 0; i < PIPELINE_SHARDS; i++)
		finish_shard(&pipeline->shard[i], end_ns);
	reconnect_finish(pipeline->reconnect);
	gather(pipeline, pipeline->files, &pipeline->facts);
	pipeline->over = true;
}

static __attribute__((noinline)) void
set_clock_back(struct pipeline *pipeline, int64_t now_ns)
{
	for (unsigned i = 0; i < PIPELINE_SHARDS; i++) {
		stream_clock_set_back(pipeline->shard[i].stream, now_ns);
		datagrams_clock_set_back(pipeline->shard[i].datagrams);
	}
	lines_break(pipeline->lines);
	pipeline->newest_ns = pipeline->next_tick_ns = now_ns;
}

/* Packets whose turn has come. */
static void
take_waiting(struct pipeline *pipeline, int64_t until_ns)
{
	for (;;) {
		bool stepped;
		unsigned count;
		const struct packet *packet = reorder_pop(pipeline->reorder, until_ns, &count, &stepped);
		const struct packet *end = packet + count;

		if (count == 0)
			return;
		if (stepped)
			set_clock_back(pipeline, packet->ts_ns);
		for (; packet < end; packet++)
			take_packet(pipeline, packet);
	}
}

/* Packets in the reorder's room: those that stand in the order of their stamps go on together. */
static void
push(struct pipeline *pipeline, const struct packet *packets, unsigned count)
{
	bool in_order = note_packets(pipeline, packets, count);

	while (count > 0) {
		count -= reorder_push(pipeline->reorder, count, in_order);
		take_waiting(pipeline, REORDER_NOW);
	}
}

bool
pipeline_step(struct pipeline *pipeline, unsigned packets)
{
	if (pipeline->over)
		return false;
	while (packets > 0) {
		unsigned places, count;
		struct packet *room = reorder_room(pipeline->reorder, &places);

		pipeline->ahead.end = 0;
		if (source_set_next(pipeline->sources, room) != SOURCE_PACKET) {
			pipeline_end(pipeline);
			return false;
		}
		count = 1 + source_set_more(pipeline->sources, room + 1, MIN(places, packets) - 1);
		source_set_look_ahead(pipeline->sources, &pipeline->ahead);
		push(pipeline, room, count);
		packets -= count;
	}
	return true;
}

void
pipeline_push(struct pipeline *pipeline, const struct packet *packet)
{
	unsigned places, number = pipeline->pushed++;
	struct packet *room = reorder_room(pipeline->reorder, &places);

	room[number] = *packet;
	reorder_keep(pipeline->reorder, number);
	if (pipeline->pushed == places)
		pipeline_take_pushed(pipeline);
}

void
pipeline_take_pushed(struct pipeline *pipeline)
{
	unsigned places, count = pipeline->pushed;

	pipeline->pushed = 0;
	if (count > 0)
		push(pipeline, reorder_room(pipeline->reorder, &places), count);
}

void
pipeline_pass_time(struct pipeline *pipeline, int64_t now_ns)
{
	pipeline_take_pushed(pipeline);
	take_waiting(pipeline, now_ns);
}

void
pipeline_end(struct pipeline *pipeline)
{
	if (pipeline->over)
		return;
	pipeline_take_pushed(pipeline);
	take_waiting(pipeline, REORDER_DRAIN);
	finish(pipeline);
}

void
pipeline_position(const struct pipeline *pipeline, uint64_t *done, uint64_t *all)
{
	*done = *all = 0;
	if (pipeline->sources != NULL)
		source_set_position(pipeline->sources, done, all);
}

const struct capture_facts *
pipeline_facts(const struct pipeline *pipeline)
{
	return &pipeline->facts;
}

const char *
pipeline_trouble(const struct pipeline *pipeline)
{
	return pipeline->facts.trouble;
}

bool
pipeline_can_rewind(const struct pipeline *pipeline)
{
	return pipeline->sources != NULL && source_set_can_rewind(pipeline->sources);
}
