#include "correlate/loss.h"

#include <glib.h>

#include "base/arith.h"
#include "correlate/pair_bounds.h"

enum {
	EVENTS_FIRST = 64,		/* a power of two */
	EVENTS_MAX = 1 << 15,		/* of one capture; as well */
	BUCKETS = 1 << 12,
	WAITING_FIRST = 64,		/* a power of two */
	WAITING_MAX = 1 << 13,		/* as well */
	LATE_NS = 50 * NS_PER_MS,	/* what was overtaken on the way has come by then */
	/* No segment comes again when the stream has moved on by so much. */
	REACH_BYTES = 16 << 20,
};

struct noted {
	struct tcp_event event;
	uint64_t older;			/* number of the one before in the bucket; 0: none */
};

/* One capture's events: a ring by number, which counts from 1, with chains over it, newest first. */
struct events {
	struct noted *ring;
	uint32_t room;
	uint64_t made;
	uint64_t *newest;		/* BUCKETS of them: number */
	int64_t forgotten_ns;		/* up to then something is missing; valid when forgets */
	bool forgets;
	bool lacks;			/* its capture lost packets */
};

struct waiting {
	struct op_pair pair;
	unsigned server, client;	/* captures */
};

struct loss {
	pair_sink_fn *sink;
	void *context;
	struct events *events;
	bool notes;			/* some capture has events */
	int64_t *read_ns;		/* by capture: up to then it was read */
	unsigned captures;
	struct waiting *waiting;	/* ring */
	unsigned room, first, count;
};

struct loss *
loss_new(unsigned captures, pair_sink_fn *sink, void *context)
{
	struct loss *loss = g_new0(struct loss, 1);

	loss->sink = sink;
	loss->context = context;
	loss->events = g_new0(struct events, captures);
	loss->read_ns = g_new(int64_t, captures);
	for (unsigned i = 0; i < captures; i++)
		loss->read_ns[i] = INT64_MIN / 2;
	loss->captures = captures;
	return loss;
}

void
loss_free(struct loss *loss)
{
	if (loss == NULL)
		return;
	for (unsigned i = 0; i < loss->captures; i++) {
		g_free(loss->events[i].ring);
		g_free(loss->events[i].newest);
	}
	g_free(loss->events);
	g_free(loss->read_ns);
	g_free(loss->waiting);
	g_free(loss);
}

/* ---- events ---- */

static unsigned
bucket_of(uint64_t connection, uint8_t direction)
{
	return (unsigned)(2 * connection + direction) % BUCKETS;
}

static const struct noted *
event_at(const struct events *events, uint64_t number)
{
	return number == 0 || number + events->room <= events->made ? NULL :
	    &events->ring[number & (events->room - 1)];
}

static void
grow(struct events *events)
{
	uint32_t room = events->room == 0 ? EVENTS_FIRST : 2 * events->room;
	struct noted *ring = g_new(struct noted, room);

	if (events->newest == NULL)
		events->newest = g_new0(uint64_t, BUCKETS);
	for (uint64_t number = events->made; event_at(events, number) != NULL; number--)
		ring[number & (room - 1)] = *event_at(events, number);
	g_free(events->ring);
	events->ring = ring;
	events->room = room;
}

void
loss_note(struct loss *loss, unsigned capture, const struct tcp_event *event)
{
	struct events *events = &loss->events[capture];
	unsigned bucket = bucket_of(event->connection, event->direction);
	uint64_t number = events->made + 1;

	if (events->made >= events->room && events->room < EVENTS_MAX)
		grow(events);
	if (events->made >= events->room) {
		int64_t ns = events->ring[number & (events->room - 1)].event.to_ns;

		events->forgotten_ns = events->forgets ? max_ns(events->forgotten_ns, ns) : ns;
		events->forgets = true;
	}
	events->lacks |= event->kind == TCP_UNSEEN;
	events->ring[number & (events->room - 1)] = (struct noted){ *event, events->newest[bucket] };
	events->newest[bucket] = number;
	events->made = number;
	loss->notes = true;
	loss->read_ns[capture] = max_ns(loss->read_ns[capture], event->to_ns);
}

static const struct noted *
newest_of(const struct events *events, uint64_t connection, uint8_t direction)
{
	return events->made == 0 ? NULL : event_at(events, events->newest[bucket_of(connection, direction)]);
}

/* ---- one direction of a call ---- */

/* A record at its sender and at its receiver. Offsets, and times, are those of the one or the other. */
struct way {
	const struct events *sent, *received;
	uint64_t sent_connection, received_connection;
	uint8_t sent_direction, received_direction;
	int64_t sent_first_ns, received_first_ns, received_last_ns;
	int64_t begin, end;		/* at the sender */
	int64_t shift;			/* receiver's offsets less the sender's */
	bool aligned;
	int64_t transit_ns;		/* what leaves at t is not seen at the receiver before t + transit_ns; valid when aligned */
};

static int64_t
wrapping_plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static struct way
way_of(const struct loss *loss, unsigned server, unsigned client, const struct op_pair *pair, bool reply)
{
	const struct nfs_op *at_server = &pair->op[PAIR_SERVER], *at_client = &pair->op[PAIR_CLIENT];
	const struct nfs_op *sender = reply ? at_server : at_client, *receiver = reply ? at_client : at_server;
	const struct attribution *parts = &pair->parts;
	int64_t offset = wrapping_minus(wrapping_minus(at_server->call_last_ns, at_client->call_first_ns),
	    parts->request_ns);
	struct way way = {
		.sent = &loss->events[reply ? server : client],
		.received = &loss->events[reply ? client : server],
		.sent_connection = sender->connection,
		.received_connection = receiver->connection,
		.sent_direction = sender->call_direction ^ reply,
		.received_direction = receiver->call_direction ^ reply,
		.sent_first_ns = reply ? sender->reply_first_ns : sender->call_first_ns,
		.received_first_ns = reply ? receiver->reply_first_ns : receiver->call_first_ns,
		.received_last_ns = reply ? receiver->reply_last_ns : receiver->call_last_ns,
		.end = reply ? sender->reply_end : sender->call_end,
		.aligned = parts->aligned,
		/* the bounds of the offset are those that the fastest packets of each direction set */
		.transit_ns = wrapping_plus(reply ? wrapping_minus(0, offset) : offset, parts->clock_error_ns),
	};

	way.begin = way.end - (reply ? sender->reply_bytes : sender->call_bytes);
	way.shift = (reply ? receiver->reply_end : receiver->call_end) - way.end;
	return way;
}

/* What the receiver's capture shows of a range. */
struct arrival {
	bool filled;		/* it was missing, and came later */
	int64_t hole;		/* the first byte of what came last of it, at the sender; valid when filled */
	int64_t filled_ns;	/* when; the same */
	bool unseen;		/* part of it was not captured */
	unsigned repeated;	/* events of copies that came again */
	bool known;
	int64_t ns;		/* when the last byte of it was seen first; valid when known */
};

static bool
overlaps(const struct tcp_event *event, int64_t begin, int64_t end)
{
	return event->offset < end && event->offset + event->len > begin;
}

static struct arrival
arrival_of(const struct way *way, int64_t begin, int64_t end)
{
	const struct noted *noted = newest_of(way->received, way->received_connection, way->received_direction);
	struct arrival arrival = { 0 };

	begin += way->shift;
	end += way->shift;
	for (; noted != NULL; noted = event_at(way->received, noted->older)) {
		const struct tcp_event *event = &noted->event;
		int64_t ns = event->kind == TCP_FILLED ? event->to_ns : event->from_ns;

		if (event->connection != way->received_connection || event->direction != way->received_direction)
			continue;
		if (event->offset + REACH_BYTES < begin)
			break;
		if (!overlaps(event, begin, end))
			continue;
		if (event->kind == TCP_FILLED && (!arrival.filled || event->to_ns > arrival.filled_ns)) {
			arrival.filled = true;
			arrival.filled_ns = event->to_ns;
			arrival.hole = MAX(event->offset, begin) - way->shift;
		}
		arrival.unseen |= event->kind == TCP_UNSEEN;
		arrival.repeated += event->kind == TCP_REPEATED;
		if (event->kind == TCP_UNSEEN || ns == INT64_MIN)
			continue;
		arrival.ns = arrival.known ? max_ns(arrival.ns, ns) : ns;
		arrival.known = true;
	}
	return arrival;
}

/* How often the byte came again, at one of the two captures. */
static unsigned
times_repeated(const struct events *events, uint64_t connection, uint8_t direction, int64_t offset)
{
	const struct noted *noted = newest_of(events, connection, direction);
	unsigned times = 0;

	for (; noted != NULL; noted = event_at(events, noted->older)) {
		const struct tcp_event *event = &noted->event;

		if (event->connection != connection || event->direction != direction)
			continue;
		if (event->offset + REACH_BYTES < offset)
			break;
		times += event->kind == TCP_REPEATED && overlaps(event, offset, offset + 1);
	}
	return times;
}

/* All copies of a range came, those of what was missing of it: if they came late they were overtaken, not lost. */
static bool
all_came(const struct way *way, const struct arrival *arrival, int64_t begin)
{
	int64_t probe = arrival->filled ? arrival->hole : begin;

	return arrival->repeated > 0 &&
	    times_repeated(way->received, way->received_connection, way->received_direction, probe + way->shift) >=
	    times_repeated(way->sent, way->sent_connection, way->sent_direction, probe);
}

/* When the copy before this one left. */
static int64_t
copy_before_ns(const struct way *way, const struct noted *copy)
{
	const struct tcp_event *event = &copy->event;
	const struct noted *noted = event_at(way->sent, copy->older);

	for (; noted != NULL && noted->event.to_ns > event->from_ns; noted = event_at(way->sent, noted->older))
		if (noted->event.connection == event->connection && noted->event.direction == event->direction &&
		    noted->event.kind == TCP_REPEATED && noted->event.to_ns < event->to_ns &&
		    overlaps(&noted->event, event->offset, event->offset + event->len))
			return noted->event.to_ns;
	return event->from_ns;
}

enum fate { FATE_ARRIVED, FATE_LOST, FATE_UNKNOWN };

/* Was the range still missing at the receiver when this copy of it, which is not the first, could be there? */
static enum fate
fate_before(const struct way *way, const struct noted *copy, int64_t begin, int64_t end)
{
	struct arrival arrival = arrival_of(way, begin, end);
	int64_t leeway_ns, earliest_ns;

	if (arrival.unseen || copy->event.from_ns == INT64_MIN)
		return FATE_UNKNOWN;
	/* transit times vary: the fastest packet may not have been among those that the clocks are known from */
	if (all_came(way, &arrival, begin))
		return FATE_ARRIVED;
	leeway_ns = wrapping_minus(copy->event.to_ns, copy_before_ns(way, copy)) / 4;
	earliest_ns = wrapping_plus(copy->event.to_ns, wrapping_minus(way->transit_ns, leeway_ns));
	if (!way->aligned)
		return !arrival.filled || arrival.repeated > 0 ? FATE_UNKNOWN : FATE_LOST;
	if (arrival.known)
		return earliest_ns <= arrival.ns ? FATE_LOST : FATE_ARRIVED;
	if (arrival.repeated > 0)
		return FATE_UNKNOWN;
	/* it came once and in order: not after the record was complete */
	if (earliest_ns > (begin <= way->begin && end > way->begin ? way->received_first_ns : way->received_last_ns))
		return FATE_ARRIVED;
	/* unless another copy of it was not captured */
	return way->received->lacks ? FATE_UNKNOWN : FATE_LOST;
}

/* True when the sender's capture shows more than one copy of part of a range. */
static bool
sent_again(const struct way *way, int64_t begin, int64_t end)
{
	const struct noted *noted = newest_of(way->sent, way->sent_connection, way->sent_direction);

	for (; noted != NULL; noted = event_at(way->sent, noted->older)) {
		const struct tcp_event *event = &noted->event;

		if (event->connection != way->sent_connection || event->direction != way->sent_direction)
			continue;
		if (event->offset + REACH_BYTES < begin)
			break;
		if (event->kind == TCP_REPEATED && overlaps(event, begin, end))
			return true;
	}
	return false;
}

/* True when every hole at the receiver that the record waited for has its copies at the sender. */
static bool
is_explained(const struct way *way)
{
	const struct noted *noted = newest_of(way->received, way->received_connection, way->received_direction);

	for (; noted != NULL; noted = event_at(way->received, noted->older)) {
		const struct tcp_event *event = &noted->event;
		int64_t begin = event->offset - way->shift, end = begin + event->len;

		if (event->connection != way->received_connection || event->direction != way->received_direction)
			continue;
		if (event->to_ns < way->received_first_ns)
			break;
		if (event->kind == TCP_FILLED && begin < way->end && !sent_again(way, begin, MIN(end, way->end)))
			return false;
	}
	return true;
}

static bool
forgets(const struct events *events, int64_t first_ns)
{
	return events->forgets && first_ns <= events->forgotten_ns;
}

/* Adds what loss cost one direction; false when it cannot be known. */
static bool
measure_way(const struct way *way, int64_t *cost_ns, uint32_t *segments)
{
	const struct noted *noted = newest_of(way->sent, way->sent_connection, way->sent_direction);
	int64_t covered_ns = INT64_MAX;	/* what is behind it is counted */

	if (forgets(way->sent, way->sent_first_ns) || forgets(way->received, way->received_first_ns) ||
	    !is_explained(way))
		return false;
	for (; noted != NULL; noted = event_at(way->sent, noted->older)) {
		const struct tcp_event *event = &noted->event;
		int64_t end = MIN(event->offset + event->len, way->end), from_ns, to_ns;
		enum fate fate;

		if (event->connection != way->sent_connection || event->direction != way->sent_direction)
			continue;
		if (event->to_ns < way->sent_first_ns)
			break;
		if (event->offset >= way->end)
			continue;
		/* a first copy that was not captured cannot tell when it left: harmless if it came in order */
		if (event->kind != TCP_REPEATED) {
			struct arrival arrival = arrival_of(way, event->offset, end);

			if (arrival.filled || arrival.unseen || arrival.repeated > 0)
				return false;
			continue;
		}
		fate = fate_before(way, noted, event->offset, end);
		if (fate == FATE_UNKNOWN)
			return false;
		if (fate == FATE_ARRIVED)
			continue;
		from_ns = max_ns(event->from_ns, way->sent_first_ns);
		to_ns = min_ns(event->to_ns, covered_ns);
		*cost_ns = wrapping_plus(*cost_ns, to_ns > from_ns ? wrapping_minus(to_ns, from_ns) : 0);
		covered_ns = min_ns(covered_ns, from_ns);
		*segments += event->offset >= way->begin;
	}
	return true;
}

/* ---- pairs ---- */

/* Has anything come again, or was it forgotten, since a record began at one end? */
static bool
is_touched(const struct events *events, const struct nfs_op *op, uint8_t direction, int64_t first_ns)
{
	const struct noted *noted = newest_of(events, op->connection, direction);

	return (noted != NULL && noted->event.to_ns >= first_ns) || forgets(events, first_ns);
}

static G_GNUC_NO_INLINE bool
touches(const struct loss *loss, unsigned server, unsigned client, const struct op_pair *pair)
{
	const struct events *events[2] = { [PAIR_SERVER] = &loss->events[server], [PAIR_CLIENT] = &loss->events[client] };

	for (unsigned side = 0; side < 2; side++) {
		const struct nfs_op *op = &pair->op[side];

		if (is_touched(events[side], op, op->call_direction, op->call_first_ns) ||
		    is_touched(events[side], op, !op->call_direction, op->reply_first_ns))
			return true;
	}
	return false;
}

static void
measure(const struct loss *loss, unsigned server, unsigned client, struct op_pair *pair)
{
	struct attribution *parts = &pair->parts;
	struct way call, reply;
	int64_t cost_ns = 0;
	uint32_t segments = 0;

	if (!parts->retransmit_known)
		return;
	call = way_of(loss, server, client, pair, false);
	reply = way_of(loss, server, client, pair, true);
	parts->retransmit_known = measure_way(&call, &cost_ns, &segments) && measure_way(&reply, &cost_ns, &segments);
	if (!parts->retransmit_known)
		return;
	parts->retransmit_ns = max_ns(0, min_ns(cost_ns, parts->network_ns));
	parts->lost_segments = segments;
}

/* ---- pairs that wait ---- */

static struct waiting *
waiting_at(const struct loss *loss, unsigned place)
{
	return &loss->waiting[(loss->first + place) & (loss->room - 1)];
}

static bool
is_touched_pair(const struct loss *loss, const struct waiting *waiting)
{
	return waiting->pair.match == MATCH_MATCHED && touches(loss, waiting->server, waiting->client, &waiting->pair);
}

/* Both captures were read far enough behind the reply. */
static bool
is_ripe(const struct loss *loss, const struct waiting *waiting)
{
	const struct op_pair *pair = &waiting->pair;

	return wrapping_minus(loss->read_ns[waiting->server], LATE_NS) >= pair->op[PAIR_SERVER].reply_last_ns &&
	    wrapping_minus(loss->read_ns[waiting->client], LATE_NS) >= pair->op[PAIR_CLIENT].reply_last_ns;
}

static void
let_go(struct loss *loss)
{
	struct waiting *waiting = waiting_at(loss, 0);

	if (is_touched_pair(loss, waiting))
		measure(loss, waiting->server, waiting->client, &waiting->pair);
	loss->first++;
	loss->count--;
	loss->sink(loss->context, &waiting->pair);
}

/* The pairs at the head that need not wait any more. */
static G_GNUC_NO_INLINE void
let_ripe_go(struct loss *loss)
{
	while (loss->count > 0 && (!is_touched_pair(loss, waiting_at(loss, 0)) || is_ripe(loss, waiting_at(loss, 0))))
		let_go(loss);
}

static G_GNUC_NO_INLINE void
keep(struct loss *loss, unsigned server, unsigned client, const struct op_pair *pair)
{
	if (loss->count == WAITING_MAX) {
		/* its late copies were not waited for */
		waiting_at(loss, 0)->pair.parts.retransmit_known = false;
		let_go(loss);
	}
	if (loss->count == loss->room) {
		unsigned room = loss->room == 0 ? WAITING_FIRST : 2 * loss->room;
		struct waiting *ring = g_new(struct waiting, room);

		for (unsigned i = 0; i < loss->count; i++)
			ring[i] = *waiting_at(loss, i);
		g_free(loss->waiting);
		loss->waiting = ring;
		loss->room = room;
		loss->first = 0;
	}
	*waiting_at(loss, loss->count++) = (struct waiting){ *pair, server, client };
}

void
loss_progress(struct loss *loss, unsigned capture, int64_t at_ns)
{
	loss->read_ns[capture] = max_ns(loss->read_ns[capture], at_ns);
	if (loss->count > 0)
		let_ripe_go(loss);
}

void
loss_push(struct loss *loss, unsigned server, unsigned client, const struct op_pair *pair)
{
	if (loss->count == 0 && (!loss->notes || pair->match != MATCH_MATCHED || !touches(loss, server, client, pair)))
		loss->sink(loss->context, pair);
	else
		keep(loss, server, client, pair);
}

void
loss_finish(struct loss *loss)
{
	while (loss->count > 0)
		let_go(loss);
}
