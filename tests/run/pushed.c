/*
 * Packets that are pushed into a pipeline, a few at a time and with time
 * passing in between, make of it what the file that holds them does.
 */
#include <inttypes.h>
#include <string.h>

#include "capture/source_set.h"
#include "properties.h"
#include "run/pipeline.h"

enum { BATCH_MOST = 400 };

static const struct pipeline_limits limits = { .connections = 4096, .calls = 65536, .held_bytes = 1 << 26 };

/* What comes out of a pipeline. */
struct made {
	GArray *ops, *events;
	struct capture_facts facts;	/* but for pointers */
	struct line_peak peak[3];
};

/* But for what is undefined, or leads to bytes that are gone. */
static void
note_op(void *context, const struct nfs_op *op)
{
	struct nfs_op known = *op;

	memset((uint8_t *)&known + offsetof(struct nfs_op, operations), 0,
	    sizeof known - offsetof(struct nfs_op, operations));
	memcpy(known.operations, op->operations, MIN(op->operations_seen, OP_LIST));
	g_array_append_vals(((struct made *)context)->ops, &known, 1);
}

static void
note_event(void *context, const struct tcp_event *event)
{
	g_array_append_vals(((struct made *)context)->events, event, 1);
}

static void
made_init(struct made *made)
{
	*made = (struct made){ .ops = g_array_new(FALSE, FALSE, sizeof(struct nfs_op)),
		.events = g_array_new(FALSE, FALSE, sizeof(struct tcp_event)) };
}

static void
made_clear(struct made *made)
{
	g_array_unref(made->ops);
	g_array_unref(made->events);
}

static void
note_facts(struct made *made, const struct pipeline *pipeline)
{
	made->facts = *pipeline_facts(pipeline);
	for (enum line_end end = LINE_UNKNOWN; end <= LINE_TO_SERVER; end++)
		lines_peak_together(made->facts.lines, end, &made->peak[end]);
}

static void
read_file(const char *const *paths, struct made *made)
{
	struct pipeline *pipeline = pipeline_new(paths, NULL, &limits, note_op, made, NULL);

	pipeline_set_event_sink(pipeline, note_event);
	while (pipeline_step(pipeline, 1000))
		continue;
	note_facts(made, pipeline);
	pipeline_free(pipeline);
}

/* calls = answered + unanswered + lost in capture + in flight + evicted, at any time */
static bool
books_close(const struct pipeline *pipeline, GString *why)
{
	struct capture_facts now;
	uint64_t ended = 0, calls;
	bool good;

	pipeline_facts_now(pipeline, &now, NULL, NULL);
	for (unsigned outcome = 0; outcome < OP_OUTCOMES; outcome++)
		ended += now.rpc.outcomes[outcome];
	calls = now.rpc.calls;
	good = calls == ended && now.waiting <= now.rpc.outcomes[OP_IN_FLIGHT];
	if (!good)
		g_string_append_printf(why, "after %" PRIu64 " packets: %" PRIu64 " calls, %" PRIu64
			" ended or in flight, %" PRIu64 " of %" PRIu64 " wait", now.packets, calls, ended,
			now.waiting, now.rpc.outcomes[OP_IN_FLIGHT]);
	pipeline_facts_clear(&now);
	return good;
}

/*
 * Between batches the time may pass up to the next stamp that any packet has,
 * not beyond: this far nothing follows.
 */
static bool
push_file(struct trace *trace, const char *const *paths, struct made *made, GString *why)
{
	struct source_set *packets = source_set_open(paths, NULL, NULL);
	struct source_facts told = *source_set_facts(packets, 0);
	struct pipeline *pipeline = pipeline_new_live(&told, &limits, note_op, made);
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct packet));
	g_autoptr(GArray) least_ns = NULL;
	struct packet packet;
	bool good = true;
	guint left = 0;

	pipeline_set_event_sink(pipeline, note_event);
	while (source_set_next(packets, &packet) == SOURCE_PACKET) {
		packet.data = g_memdup2(packet.data, packet.cap_len);
		g_array_append_val(all, packet);
	}
	told = *source_set_facts(packets, 0);
	least_ns = g_array_sized_new(FALSE, TRUE, sizeof(int64_t), all->len + 1);
	g_array_set_size(least_ns, all->len + 1);
	g_array_index(least_ns, int64_t, all->len) = INT64_MAX;
	for (guint i = all->len; i-- > 0;)
		g_array_index(least_ns, int64_t, i) = MIN(g_array_index(least_ns, int64_t, i + 1),
			g_array_index(all, struct packet, i).ts_ns);
	for (guint i = 0; i < all->len && good; i++) {
		struct packet *next = &g_array_index(all, struct packet, i);

		pipeline_push(pipeline, next);
		/* lent for the call only */
		memset((void *)next->data, 0xa5, next->cap_len);
		if (left-- > 0)
			continue;
		left = (guint)g_rand_int_range(trace->rand, 0, BATCH_MOST);
		if (i + 1 < all->len)
			pipeline_pass_time(pipeline, g_array_index(least_ns, int64_t, i + 1) - 1);
		good = books_close(pipeline, why);
	}
	pipeline_end(pipeline);
	note_facts(made, pipeline);
	pipeline_free(pipeline);
	for (guint i = 0; i < all->len; i++)
		g_free((void *)g_array_index(all, struct packet, i).data);
	source_set_free(packets);
	return good;
}

static bool
same_bytes(const char *what, const GArray *a, const GArray *b, GString *why)
{
	guint size = g_array_get_element_size((GArray *)a);

	if (a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, (size_t)a->len * size) == 0))
		return true;
	g_string_append_printf(why, "%s: %u from the file, %u pushed", what, a->len, b->len);
	for (guint i = 0; i < MIN(a->len, b->len); i++) {
		if (memcmp(a->data + (size_t)i * size, b->data + (size_t)i * size, size) != 0) {
			g_string_append_printf(why, ", number %u differs", i);
			break;
		}
	}
	return false;
}

/* Distributions hold pointers: they are compared by what they say. */
static bool
same_facts(struct capture_facts *a, struct capture_facts *b, GString *why)
{
	bool same = a->packets == b->packets && a->truncated_packets == b->truncated_packets
		&& a->duplicate_packets == b->duplicate_packets && a->fragments == b->fragments
		&& a->bad_packets == b->bad_packets && a->first_ns == b->first_ns && a->last_ns == b->last_ns
		&& a->backward_stamps == b->backward_stamps && a->backward_max_ns == b->backward_max_ns
		&& a->snaplen == b->snaplen && a->side_detected == b->side_detected
		&& memcmp(&a->rpc, &b->rpc, sizeof a->rpc) == 0 && memcmp(&a->udp, &b->udp, sizeof a->udp) == 0
		&& memcmp(&a->tcp, &b->tcp, offsetof(struct stream_counters, round_trip)) == 0;

	if (!same)
		g_string_append(why, "the facts of the capture differ");
	return same;
}

bool
prop_pushed(struct trace *trace, GString *why)
{
	bool same = true;

	for (guint i = 0; same && trace->paths->pdata[i] != NULL; i++) {
		const char *paths[] = { trace->paths->pdata[i], NULL };
		struct made file, pushed;

		made_init(&file);
		made_init(&pushed);
		read_file(paths, &file);
		same = push_file(trace, paths, &pushed, why) && same_bytes("ops", file.ops, pushed.ops, why)
			&& same_bytes("events", file.events, pushed.events, why)
			&& same_facts(&file.facts, &pushed.facts, why);
		if (same && memcmp(file.peak, pushed.peak, sizeof file.peak) != 0) {
			g_string_append(why, "rates of data differ");
			same = false;
		}
		made_clear(&file);
		made_clear(&pushed);
	}
	return same;
}
