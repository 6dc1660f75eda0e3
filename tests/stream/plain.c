/*
 * The short way of plain segments against the long one: the same traffic, once as
 * it is and once with a flag that makes no difference but keeps every segment
 * off the short way, gives the same records, events and counters.
 */
#include <criterion/criterion.h>
#include <glib.h>
#include <inttypes.h>
#include <nfscorr/xdr.h>
#include <string.h>

#include "stream/wire.h"

enum { ECE = 0x40, US = 1000, MS = 1000000, TRACES = 300, STEPS = 300, CALLS = 60, SEGMENT = 1448 };

/* Passes on what a stream tells, and writes it down. */
struct watched {
	struct wire *wire;
	struct stream_sink calls;
	GString *told;
};

static enum header_verdict
on_header(void *context, const struct connection_info *connection, uint8_t direction, const uint8_t *bytes,
    uint32_t cap, uint32_t record_len)
{
	struct watched *watched = context;

	return watched->calls.header(watched->calls.context, connection, direction, bytes, cap, record_len);
}

static void
tell(struct watched *watched, const char *what, const struct rpc_record *record)
{
	g_string_append_printf(watched->told, "%s %u %x %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64
	    " %" PRId64 " %" PRId64 " %" PRId64 " %u\n", what, record->direction, record->flags & ~RECORD_WHOLE, record->first_ns,
	    record->first_frame, record->first_order, record->first_acked, record->begin_offset,
	    connection_acked(record->connection, 0), connection_acked(record->connection, 1),
	    connection_path_ns(record->connection), record->total_len);
}

static void
tell_end(struct watched *watched, const struct rpc_record *record)
{
	tell(watched, "end", record);
	g_string_append_printf(watched->told, " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d\n", record->last_ns,
	    record->end_offset, record->receiver_ns, record->sender_ns, record->waits_unknown);
}

static enum head_result
on_head(void *context, struct rpc_record *record)
{
	struct watched *watched = context;
	enum head_result result;

	tell(watched, "head", record);
	g_string_append_printf(watched->told, " %u %u\n", record->head_cap, record->head_beyond);
	result = watched->calls.head(watched->calls.context, record);
	if (result == HEAD_ENDED)
		tell_end(watched, record);
	return result;
}

static void
on_end(void *context, struct rpc_record *record)
{
	struct watched *watched = context;

	tell_end(watched, record);
	watched->calls.end(watched->calls.context, record);
}

static void
on_abandon(void *context, struct rpc_record *record)
{
	struct watched *watched = context;

	tell(watched, "abandon", record);
	watched->calls.abandon(watched->calls.context, record);
}

static void
on_missed(void *context, struct connection_info *connection, uint8_t direction, int64_t ts_ns)
{
	struct watched *watched = context;

	g_string_append_printf(watched->told, "missed %u %" PRId64 "\n", direction, ts_ns);
	watched->calls.missed(watched->calls.context, connection, direction, ts_ns);
}

static void
on_over(void *context, struct connection_info *connection, int64_t ts_ns, enum stream_end why)
{
	struct watched *watched = context;

	g_string_append_printf(watched->told, "over %" PRIu64 " %" PRId64 " %d %d %d\n", connection->serial, ts_ns,
	    (int)why, connection->reset, connection->finished);
	watched->calls.over(watched->calls.context, connection, ts_ns, why);
}

static void
on_event(void *context, const struct tcp_event *event)
{
	struct watched *watched = context;

	g_string_append_printf(watched->told, "event %d %u %" PRId64 " %" PRId64 " %" PRId64 " %u\n", event->kind,
	    event->direction, event->offset, event->from_ns, event->to_ns, event->len);
}

static struct watched *
watched_new(uint8_t flags)
{
	struct watched *watched = g_new0(struct watched, 1);
	struct stream_limits limits = { .connections = 64, .held_bytes = 64 << 20 };
	struct stream_sink sink;

	watched->wire = wire_new(0, 0);
	watched->wire->flags = flags;
	watched->told = g_string_new(NULL);
	watched->calls = calls_sink(watched->wire->calls);
	sink = watched->calls;
	sink.context = sink.event_context = watched;
	sink.header = on_header;
	sink.head = on_head;
	sink.end = on_end;
	sink.abandon = on_abandon;
	sink.missed = on_missed;
	sink.reset = NULL;
	sink.over = on_over;
	sink.event = on_event;
	stream_free(watched->wire->stream);
	watched->wire->stream = stream_new(&sink, &limits, &watched->wire->serial);
	watched->wire->tcp = stream_counters(watched->wire->stream);
	return watched;
}

static void
watched_free(struct watched *watched)
{
	wire_free(watched->wire);
	g_string_free(watched->told, TRUE);
	g_free(watched);
}

static void
append_calls(struct wire *wire, GRand *rand)
{
	static const uint32_t rubbish[12] = { [1] = 7 };

	for (uint32_t xid = 1; xid <= CALLS; xid++) {
		uint32_t size = (uint32_t)g_rand_int_range(rand, 1, 9000);

		switch (g_rand_int_range(rand, 0, 13)) {
		case 0:
			wire_words(wire, g_rand_boolean(rand) ? TO_CLIENT : TO_SERVER, rubbish, G_N_ELEMENTS(rubbish));
			break;
		case 1:
		case 2:
		case 3:
		case 4:
			wire_getattr(wire, xid);
			wire_getattr_reply(wire, xid);
			break;
		case 5:
		case 6:
		case 7:
		case 8:
			wire_read(wire, xid, 0, size);
			wire_read_reply(wire, xid, size);
			break;
		default:
			wire_write(wire, xid, 0, size);
			wire_getattr_reply(wire, xid);
			break;
		}
	}
}

/* How far the senders of a trace have come; trouble: one step in so many is not plain, 0: none. */
struct traffic {
	GRand *rand;
	int trouble;
	int64_t now_ns;
	uint32_t sent[2];
	uint32_t lost[2];	/* where the last hole begins */
};

static bool
chance(const struct traffic *traffic, int one_in)
{
	return g_rand_int_range(traffic->rand, 0, one_in) == 0;
}

/* Something that a capture point sees less often. */
static void
trouble(struct traffic *traffic, struct wire *wire, enum wire_direction direction)
{
	uint32_t *sent = &traffic->sent[direction], ack = traffic->sent[!direction];
	uint32_t lost = traffic->lost[direction], back = (uint32_t)g_rand_int_range(traffic->rand, 1, 4000);
	int64_t late_ns;

	back = MIN(back, *sent);
	switch (g_rand_int_range(traffic->rand, 0, 13)) {
	case 0:		/* lost, before or behind the capture point */
		traffic->lost[direction] = *sent;
		*sent = MIN(*sent + back, wire->len[direction]);
		break;
	case 1:		/* again, and more with it */
		wire_send(wire, direction, *sent - back, MIN(back + 100, wire->len[direction] - (*sent - back)), ack,
		    traffic->now_ns);
		break;
	case 2:		/* keep-alive */
		wire_send_bytes(wire, direction, *sent - MIN(*sent, 1), "", 1, ack, traffic->now_ns);
		break;
	case 3:		/* of what was not seen */
		wire_ack(wire, direction, *sent, ack + back, traffic->now_ns);
		break;
	case 4:		/* empty, from behind a hole */
		wire_ack(wire, direction, *sent + back, ack, traffic->now_ns);
		break;
	case 5:
		wire_ack(wire, direction, *sent, ack - MIN(ack, back), traffic->now_ns);
		break;
	case 6:
		traffic->now_ns -= g_rand_int_range(traffic->rand, 0, MS);
		break;
	case 7:
		traffic->now_ns -= 5 * (int64_t)MS;
		stream_clock_set_back(wire->stream, traffic->now_ns);
		break;
	case 8:
		traffic->now_ns += 5 * MS;
		wire_wait(wire, traffic->now_ns);
		break;
	case 9:		/* the hole is filled */
		wire_send(wire, direction, lost, MIN(SEGMENT, *sent - lost), ack, traffic->now_ns);
		break;
	case 11:	/* of another connection */
		for (int i = g_rand_int_range(traffic->rand, 1, 8); i > 0; i--)
			wire_send_bytes(wire, direction, *sent + UINT32_C(0x60000000), "", 1, ack, traffic->now_ns);
		break;
	case 10:	/* out of order, or filled late; what follows may be stamped earlier */
		back = MIN(back, (wire->len[direction] - *sent) / 2);
		late_ns = chance(traffic, 2) ? 10 * US : 5 * MS;
		wire_send(wire, direction, *sent + back, back, ack, traffic->now_ns);
		wire_send(wire, direction, *sent, back, ack, traffic->now_ns + late_ns);
		traffic->now_ns += late_ns / 2;
		*sent += 2 * back;
		break;
	default:
		wire->window[direction] = (uint16_t)g_rand_int_range(traffic->rand, 0, 3000);
		break;
	}
}

/* Where the record ends that the next byte is of. */
static uint32_t
record_end(const struct wire *wire, enum wire_direction direction, uint32_t sent)
{
	uint32_t end = 0;

	while (end <= sent)
		end += 4 + (xdr_load32(wire->bytes[direction] + end) & 0x7fffffff);
	return end;
}

static void
step(struct traffic *traffic, struct wire *wire)
{
	enum wire_direction direction = chance(traffic, 2) ? TO_SERVER : TO_CLIENT;
	uint32_t *sent = &traffic->sent[direction], ack = traffic->sent[!direction];
	uint32_t len = (uint32_t)(chance(traffic, 6) ? g_rand_int_range(traffic->rand, 1, SEGMENT) : SEGMENT);

	traffic->now_ns += g_rand_int_range(traffic->rand, 0, 200 * US);
	if (traffic->trouble > 0 && chance(traffic, traffic->trouble)) {
		trouble(traffic, wire, direction);
	} else if (chance(traffic, 4) || *sent >= wire->len[direction]) {
		wire_ack(wire, direction, *sent, ack, traffic->now_ns);
	} else {
		len = MIN(len, (chance(traffic, 2) ? record_end(wire, direction, *sent) : wire->len[direction]) - *sent);
		wire_send(wire, direction, *sent, len, ack, traffic->now_ns);
		*sent += len;
	}
}

static void
run_trace(struct wire *wire, uint32_t seed)
{
	struct traffic traffic = { .rand = g_rand_new_with_seed(seed), .now_ns = 1000 * (int64_t)MS };

	traffic.trouble = (int)(seed % 4) * 20;
	append_calls(wire, traffic.rand);
	wire->snaplen = chance(&traffic, 3) ? 200 : 0;
	wire->scaled = chance(&traffic, 2);
	wire->window_scale = 3;
	if (!chance(&traffic, 4))
		wire_open(wire, traffic.now_ns);
	for (int i = 0; i < STEPS; i++)
		step(&traffic, wire);
	for (enum wire_direction direction = TO_SERVER; direction <= TO_CLIENT; direction++) {
		if (chance(&traffic, 2))
			wire_flags(wire, direction, traffic.sent[direction], chance(&traffic, 2) ? TCP_RST : TCP_FIN,
			    traffic.now_ns);
		for (int i = 0; i < 40; i++)
			step(&traffic, wire);
	}
	wire_finish(wire, traffic.now_ns + MS);
	g_rand_free(traffic.rand);
}

static void
compare_counters(const struct stream_counters *a, const struct stream_counters *b, uint32_t seed)
{
	cr_assert_arr_eq(a, b, offsetof(struct stream_counters, round_trip), "trace %u", seed);
	for (int d = 0; d < 2; d++) {
		cr_assert_eq(a->round_trip[d].count, b->round_trip[d].count, "trace %u", seed);
		cr_assert_eq(a->round_trip[d].sum_ns, b->round_trip[d].sum_ns, "trace %u", seed);
	}
}

Test(plain, the_same_as_in_full)
{
	uint64_t delivered = 0;

	for (uint32_t seed = 0; seed < TRACES; seed++) {
		struct watched *plain = watched_new(0), *full = watched_new(ECE);

		run_trace(plain->wire, seed);
		run_trace(full->wire, seed);
		cr_assert_str_eq(plain->told->str, full->told->str, "trace %u", seed);
		compare_counters(plain->wire->tcp, full->wire->tcp, seed);
		wire_check_books(plain->wire);
		delivered += plain->wire->tcp->delivered_bytes;
		watched_free(plain);
		watched_free(full);
	}
	cr_assert_gt(delivered, TRACES * SEGMENT * 100, "most of it comes in order");
}
