#include "findings/causes.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
/* ---- facts ---- */

struct interval {
	int64_t from_ns, to_ns;
};

static gint
by_start(gconstpointer a, gconstpointer b)
{
	const struct interval *left = a, *right = b;

	return left->from_ns < right->from_ns ? -1 : left->from_ns > right->from_ns;
}

/* How long at least one of them lasts, and from the first start to the last end. */
static int64_t
union_ns(GArray *intervals, int64_t *span_ns)
{
	int64_t busy_ns = 0, end_ns = INT64_MIN;

	g_array_sort(intervals, by_start);
	for (unsigned i = 0; i < intervals->len; i++) {
		const struct interval *next = &g_array_index(intervals, struct interval, i);

		if (next->to_ns > end_ns) {
			busy_ns += next->to_ns - MAX(next->from_ns, end_ns);
			end_ns = next->to_ns;
		}
	}
	*span_ns = intervals->len == 0 ? 0
		: end_ns - g_array_index(intervals, struct interval, 0).from_ns;
	return busy_ns;
}

struct moment {
	int64_t at_ns;
	int step;
};

static gint
by_time(gconstpointer a, gconstpointer b)
{
	const struct moment *left = a, *right = b;

	return left->at_ns < right->at_ns ? -1 : left->at_ns > right->at_ns ? 1
		: left->step - right->step;
}

/* For how long there are so many, of how long there is one at least. */
struct flat_top {
	int most;
	int64_t top_ns, busy_ns;
};

static struct flat_top
flat_top_of(GArray *moments)
{
	struct flat_top flat = { 0 };
	int64_t since_ns = 0;
	int now = 0;

	g_array_sort(moments, by_time);
	for (unsigned i = 0; i < moments->len; i++) {
		const struct moment *moment = &g_array_index(moments, struct moment, i);
		int64_t part_ns = moment->at_ns - since_ns;

		flat.busy_ns += now > 0 ? part_ns : 0;
		flat.top_ns += now > 0 && now == flat.most ? part_ns : 0;
		since_ns = moment->at_ns;
		now += moment->step;
		if (now > flat.most) {
			flat.most = now;
			flat.top_ns = 0;
		}
	}
	return flat;
}

/* What is kept while the lines are read. */
struct reading {
	GArray *intervals;		/* of calls of clients with a capture */
	GHashTable *of_client;		/* the same: "client" to GArray */
	GHashTable *connections;	/* "client connection" to GArray of struct moment */
	GHashTable *moved;		/* "client direction" to double *, bytes */
	GHashTable *session;		/* "client connection" to int64_t *, the time at which it stands */
	double lossless_network_ns, lossy_network_ns;
	unsigned lossless, lossy;
};

static void
note_interval(struct reading *reading, const char *client, const struct interval *interval)
{
	GArray *intervals = g_hash_table_lookup(reading->of_client, client);

	if (intervals == NULL) {
		intervals = g_array_new(FALSE, FALSE, sizeof *interval);
		g_hash_table_insert(reading->of_client, g_strdup(client), intervals);
	}
	g_array_append_val(intervals, *interval);
}

static void
note_moments(struct reading *reading, const struct trace *trace, unsigned line, int64_t from_ns, int64_t to_ns)
{
	char *key = g_strconcat(table_text(trace->truth, line, "client"), " ",
		table_text(trace->truth, line, "connection"), NULL);
	GArray *moments = g_hash_table_lookup(reading->connections, key);
	struct moment start = { from_ns, 1 }, end = { to_ns, -1 };

	if (moments == NULL) {
		moments = g_array_new(FALSE, FALSE, sizeof start);
		g_hash_table_insert(reading->connections, key, moments);
	} else {
		g_free(key);
	}
	g_array_append_val(moments, start);
	g_array_append_val(moments, end);
}

static void
note_moved(struct reading *reading, const struct trace *trace, unsigned line)
{
	bool write = table_is(trace->truth, line, "proc", "WRITE");
	char *key = g_strconcat(table_text(trace->truth, line, "client"), write ? " w" : " r", NULL);
	double *sum = g_hash_table_lookup(reading->moved, key);

	if (sum == NULL) {
		sum = g_new0(double, 1);
		g_hash_table_insert(reading->moved, key, sum);
	} else {
		g_free(key);
	}
	*sum += (double)table_number(trace->truth, line, write ? "size" : "moved");
}

/* Calls that were made before there was a session waited for that and not for a slot of it. */
static bool
waits_for_session(struct reading *reading, const struct trace *trace, unsigned line, int64_t sent_ns)
{
	bool sets_up = table_is(trace->truth, line, "proc", "EXCHANGE_ID")
		|| table_is(trace->truth, line, "proc", "CREATE_SESSION");
	g_autofree char *key = g_strconcat(table_text(trace->truth, line, "client"), " ",
		table_text(trace->truth, line, "connection"), NULL);
	int64_t *stands_ns = g_hash_table_lookup(reading->session, key);

	if (sets_up) {
		stands_ns = g_new(int64_t, 1);
		*stands_ns = table_number(trace->truth, line, "c_reply_last");
		g_hash_table_replace(reading->session, g_steal_pointer(&key), stands_ns);
		return true;
	}
	return stands_ns != NULL && sent_ns - table_number(trace->truth, line, "slot_wait_ns") <= *stands_ns;
}

static void
read_call(const struct trace *trace, unsigned line, struct facts *facts, struct reading *reading)
{
	const struct table *truth = trace->truth;
	int64_t sent_ns = table_number(truth, line, "c_call_first");
	int64_t back_ns = table_number(truth, line, "c_reply_last");
	int64_t arrived_ns = table_number(truth, line, "s_call_last");
	int64_t replied_ns = table_number(truth, line, "s_reply_first");
	unsigned lost = (unsigned)(table_number(truth, line, "call_lost")
		+ table_number(truth, line, "reply_lost"));
	struct interval interval = { sent_ns, back_ns };
	double network_ns;

	facts->put_off += table_is(truth, line, "status", "10008");
	if (sent_ns == UNKNOWN || back_ns == UNKNOWN || arrived_ns == UNKNOWN || replied_ns == UNKNOWN)
		return;
	network_ns = (double)(back_ns - sent_ns - replied_ns + arrived_ns);
	facts->calls++;
	facts->total_ns += (double)(back_ns - sent_ns);
	facts->server_ns += (double)(replied_ns - arrived_ns);
	facts->network_ns += network_ns;
	facts->least_network_ns = facts->calls == 1 ? network_ns : MIN(facts->least_network_ns, network_ns);
	facts->service_ns += (double)table_number(truth, line, "service_ns");
	facts->thread_wait_ns += (double)table_number(truth, line, "thread_wait_ns");
	facts->disk_wait_ns += (double)table_number(truth, line, "disk_wait_ns");
	facts->waited_thread += table_number(truth, line, "thread_wait_ns") > 0;
	if (!waits_for_session(reading, trace, line, sent_ns)) {
		facts->slot_wait_ns += (double)table_number(truth, line, "slot_wait_ns");
		facts->waited_slot += table_number(truth, line, "slot_wait_ns") > 0;
	}
	facts->window_closed_ns += (double)table_number(truth, line, "s_window_closed_ns");
	facts->reads += table_is(truth, line, "proc", "READ");
	facts->lost_segments += lost;
	facts->hidden += !table_is(truth, line, "seen_server", "full");
	*(lost > 0 ? &reading->lossy_network_ns : &reading->lossless_network_ns) += network_ns;
	*(lost > 0 ? &reading->lossy : &reading->lossless) += 1;
	note_moments(reading, trace, line, sent_ns, back_ns);
	note_moved(reading, trace, line);
	if (table_number(truth, line, "client") >= trace->config.clients)
		return;
	facts->lost_between += lost;
	g_array_append_val(reading->intervals, interval);
	note_interval(reading, table_text(truth, line, "client"), &interval);
}

static double
least_idle(struct reading *reading)
{
	GHashTableIter iter;
	gpointer value;
	double least = 1;

	g_hash_table_iter_init(&iter, reading->of_client);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		int64_t span_ns, busy_ns = union_ns(value, &span_ns);

		least = MIN(least, span_ns > 0 ? 1 - (double)busy_ns / (double)span_ns : 0);
	}
	return least;
}

static void
conclude(const struct trace *trace, struct facts *facts, struct reading *reading)
{
	double *const means[] = {
		&facts->total_ns, &facts->server_ns, &facts->network_ns, &facts->service_ns,
		&facts->thread_wait_ns, &facts->disk_wait_ns, &facts->slot_wait_ns,
		&facts->waited_thread, &facts->waited_slot, &facts->window_closed_ns, &facts->reads,
		&facts->hidden,
	};
	double n = MAX(facts->calls, 1);
	double in_flight_ns = 0, top_ns = 0, busy_connections_ns = 0;
	int64_t span_ns;
	int64_t busy_ns = union_ns(reading->intervals, &span_ns);
	double slowest_line = (double)MIN(trace->config.rate_bits[0], trace->config.rate_bits[1]);
	GHashTableIter iter;
	gpointer value;

	for (unsigned i = 0; i < reading->intervals->len; i++) {
		const struct interval *call = &g_array_index(reading->intervals, struct interval, i);

		in_flight_ns += (double)(call->to_ns - call->from_ns);
	}
	if (reading->lossy > 0 && reading->lossless > 0)
		facts->loss_cost_share = MAX(0, reading->lossy_network_ns
			- reading->lossless_network_ns / reading->lossless * reading->lossy) / facts->total_ns;
	for (unsigned i = 0; i < G_N_ELEMENTS(means); i++)
		*means[i] /= n;
	facts->idle_share = least_idle(reading);
	facts->in_flight = busy_ns > 0 ? in_flight_ns / (double)busy_ns : 0;
	g_hash_table_iter_init(&iter, reading->connections);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct flat_top flat = flat_top_of(value);

		facts->most_in_flight = MAX(facts->most_in_flight, flat.most);
		top_ns += (double)flat.top_ns;
		busy_connections_ns += (double)flat.busy_ns;
	}
	facts->top_share = busy_connections_ns > 0 ? top_ns / busy_connections_ns : 0;
	g_hash_table_iter_init(&iter, reading->moved);
	while (slowest_line > 0 && span_ns > 0 && g_hash_table_iter_next(&iter, NULL, &value))
		facts->line_use = MAX(facts->line_use, 8e9 * *(double *)value / (double)span_ns / slowest_line);
}

void
facts_of(const struct trace *trace, bool first_only, struct facts *facts)
{
	struct reading reading = {
		.intervals = g_array_new(FALSE, FALSE, sizeof(struct interval)),
		.of_client = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
			(GDestroyNotify)g_array_unref),
		.connections = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
			(GDestroyNotify)g_array_unref),
		.moved = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
		.session = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
	};

	*facts = (struct facts){ 0 };
	for (unsigned i = 0; i < trace->truth->lines->len; i++)
		if (!first_only || table_number(trace->truth, i, "client") == 0)
			read_call(trace, i, facts, &reading);
	conclude(trace, facts, &reading);
	g_array_unref(reading.intervals);
	g_hash_table_unref(reading.of_client);
	g_hash_table_unref(reading.connections);
	g_hash_table_unref(reading.moved);
	g_hash_table_unref(reading.session);
}

/* ---- what is told ---- */

static json_t *
evidence_of(json_t *finding, const char *key)
{
	return json_object_get(json_object_get(finding, "evidence"), key);
}

/* NULL when the evidence lies within [least, most]. */
static char *
outside(json_t *finding, const char *key, double least, double most)
{
	json_t *value = evidence_of(finding, key);
	double told = json_is_number(value) ? json_number_value(value) : NAN;

	if (told >= least && told <= most)
		return NULL;
	return g_strdup_printf("%s is %.6g, %.6g to %.6g would be right", key, told, least, most);
}

static int64_t
round_trip_ns(const struct trace *trace)
{
	return trace->config.delay_ns[0] + trace->config.delay_ns[1];
}

static enum cause
verdict(bool present, bool absent)
{
	return present ? CAUSE_PRESENT : absent ? CAUSE_ABSENT : CAUSE_UNCLEAR;
}

/* ---- threads ---- */

/* So many calls that the relation can be seen, in captures that hold them. */
static bool
captures_carry(const struct trace *trace, const struct facts *facts)
{
	return facts->calls >= 300 && !captures_lack(trace) && !has_option(trace, "unanswered")
		&& facts->hidden < 0.02;
}

/*
 * Much the same number of calls all the time, which all take the same: no call
 * shows more than another, and what they wait for is anybody's guess.
 */
static bool
nothing_varies(const struct trace *trace, const struct facts *facts)
{
	const struct trace_config *config = &trace->config;
	int64_t service_ns = 0;

	for (unsigned i = 0; i < TRACE_PROCEDURES; i++) {
		const struct trace_distribution *service = &config->service[i];

		if (config->weight[i] <= 0)
			continue;
		if (service->kind != TRACE_CONSTANT || (service_ns > 0 && service->a_ns != service_ns))
			return false;
		service_ns = service->a_ns;
	}
	return config->rate == 0 && (double)config->think.a_ns < 0.1 * facts->server_ns;
}

static bool
threads_lack(const struct facts *facts)
{
	return facts->waited_thread >= 0.3 && facts->thread_wait_ns >= 0.3 * facts->service_ns;
}

/*
 * Every call goes to one of several disks, or through a lock after work that
 * always takes the same: from outside those are as many threads.
 */
static bool
look_like_threads(const struct trace *trace)
{
	const struct trace_config *config = &trace->config;

	for (unsigned i = 0; i < TRACE_PROCEDURES; i++)
		if (config->weight[i] > 0 && (config->storage[i].a_ns == 0
		    || (config->disks == 1 && config->service[i].kind != TRACE_CONSTANT)))
			return false;
	return config->disks > 0;
}

static enum cause
cause_threads(const struct trace *trace, const struct facts *facts)
{
	bool enough = facts->calls >= MAX(300, 20 * trace->config.threads);
	bool drops = has_option(trace, "drop") || has_option(trace, "burst")
		|| has_option(trace, "capture-stop");

	return verdict(threads_lack(facts) && enough && !drops && !has_option(trace, "stall")
		&& facts->hidden < 0.02 && !nothing_varies(trace, facts),
		facts->waited_thread < 0.01 && !look_like_threads(trace));
}

static char *
wrong_threads(const struct trace *trace, const struct facts *facts, json_t *finding)
{
	int64_t threads = trace->config.threads;
	double slack = threads > 20 ? ceil(0.05 * (double)threads) : 1;

	(void)facts;
	if (json_is_null(evidence_of(finding, "threads")) || look_like_threads(trace))
		return NULL;
	return outside(finding, "threads", (double)threads - slack, (double)threads + slack);
}

/* ---- the server ---- */

static enum cause
cause_slow_service(const struct trace *trace, const struct facts *facts)
{
	double waited_ns = facts->thread_wait_ns + facts->disk_wait_ns;
	bool slow = facts->server_ns >= 0.7 * facts->total_ns && facts->service_ns >= 10e6;

	return verdict(slow && waited_ns < 0.1 * facts->server_ns && captures_carry(trace, facts),
		facts->server_ns < 1e6 || facts->server_ns < 0.3 * facts->total_ns
		|| (threads_lack(facts) && facts->service_ns < 3e6 && !has_option(trace, "stall")
		&& !nothing_varies(trace, facts)));
}

/* Behind a disk or a lock calls do wait for one another. */
static char *
wrong_slow_service(const struct trace *trace, const struct facts *facts, json_t *finding)
{
	const char *text = json_string_value(json_object_get(finding, "text"));

	(void)trace;
	return facts->disk_wait_ns + facts->thread_wait_ns > 0.3 * facts->server_ns && text != NULL
		&& strstr(text, "do not wait") != NULL ? g_strdup("they wait") : NULL;
}

/* ---- slots ---- */

static bool
is_table_size(double slots)
{
	static const double sizes[] = { 2, 16, 64, 65, 128, 180 };

	for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++)
		if (slots == sizes[i])
			return true;
	return false;
}

static bool
line_is_full(const struct facts *facts)
{
	return facts->line_use >= 0.7;
}

/*
 * More slots would help, by their truth: most calls wait for one, all are in use
 * most of the time, and nothing behind them is short.
 */
static bool
slots_lack(const struct trace *trace, const struct facts *facts)
{
	return facts->slot_wait_ns > 0.3 * facts->total_ns && facts->waited_slot >= 0.7
		&& facts->top_share >= 0.6 && facts->thread_wait_ns < 0.05 * facts->server_ns && facts->disk_wait_ns < 0.05 * facts->server_ns
		&& !line_is_full(facts) && facts->lost_segments == 0 && captures_carry(trace, facts);
}

/* What the server grants is not more than the client would use; 0: there are no sessions. */
static int64_t
granted_slots(const struct trace *trace)
{
	const struct trace_config *config = &trace->config;

	if (config->nfs < TRACE_NFS4_1 || config->session_slots > config->slots)
		return 0;
	return config->session_slots > 0 ? config->session_slots : config->slots;
}

static enum cause
cause_slots(const struct trace *trace, const struct facts *facts)
{
	bool flat = trace->config.rate == 0 && trace->config.think.a_ns == 0;

	return verdict(slots_lack(trace, facts) && trace->config.slots >= 2 && granted_slots(trace) == 0,
		(threads_lack(facts) && !nothing_varies(trace, facts)) || line_is_full(facts)
		|| (facts->waited_slot < 0.01 && !(flat && is_table_size(facts->most_in_flight))));
}

static char *
wrong_slots(const struct trace *trace, const struct facts *facts, json_t *finding)
{
	int64_t granted = granted_slots(trace);
	double slots = (double)(granted > 0 ? granted : trace->config.slots);

	/* of any connection, or of all connections of a client */
	if (facts->waited_slot < 0.01)
		return outside(finding, "slots", 2, MAX(facts->most_in_flight, (double)trace->config.callers));
	return outside(finding, "slots", slots, slots);
}

static enum cause
cause_session_slots(const struct trace *trace, const struct facts *facts)
{
	return verdict(slots_lack(trace, facts) && granted_slots(trace) >= 2,
		granted_slots(trace) == 0 || facts->waited_slot < 0.01);
}

static char *
wrong_session_slots(const struct trace *trace, const struct facts *facts, json_t *finding)
{
	double granted = (double)granted_slots(trace);
	char *wrong = outside(finding, "slots", granted, granted);

	(void)facts;
	return wrong != NULL || json_is_null(evidence_of(finding, "slots_granted")) ? wrong
		: outside(finding, "slots_granted", granted, granted);
}

static enum cause
cause_many_slots(const struct trace *trace, const struct facts *facts)
{
	bool many = facts->most_in_flight > 128;

	return verdict(many && facts->window_closed_ns > 0 && facts->thread_wait_ns > 0.8 * facts->server_ns
		&& captures_carry(trace, facts), !many);
}

/* ---- the network ---- */

/* With the mean of the jitter. */
static double
usual_path_ns(const struct trace *trace)
{
	return (double)round_trip_ns(trace) + (double)(trace->config.jitter_ns[0] + trace->config.jitter_ns[1]) / 2;
}

static enum cause
cause_path_delay(const struct trace *trace, const struct facts *facts)
{
	double path_ns = (double)round_trip_ns(trace), usual_ns = usual_path_ns(trace);

	return verdict(path_ns >= 5e6 && path_ns >= 0.6 * facts->total_ns && facts->lost_segments == 0
		&& captures_carry(trace, facts), usual_ns < 0.6e6 || usual_ns < 0.1 * facts->total_ns);
}

/* Clocks drift; of a few round trips with jitter the least may be a usual one. */
static char *
wrong_path_delay(const struct trace *trace, const struct facts *facts, json_t *finding)
{
	/* by the clock of a capture, which drifts */
	return outside(finding, "min_ns", 0.999 * (double)round_trip_ns(trace),
		MAX(1.05 * facts->least_network_ns + 1000, has_option(trace, "jitter") ? facts->network_ns : 0));
}

static enum cause
cause_bandwidth(const struct trace *trace, const struct facts *facts)
{
	return verdict(facts->line_use >= 0.8 && facts->network_ns >= 0.5 * facts->total_ns
		&& facts->lost_segments == 0 && captures_carry(trace, facts), facts->line_use < 0.3);
}

/* Payload is what a line carries less the headers of its packets: 4 to 8 % at an MSS of 1448. */
static char *
wrong_bandwidth(const struct trace *trace, const struct facts *facts, json_t *finding)
{
	double line = (double)MIN(trace->config.rate_bits[0], trace->config.rate_bits[1]);

	return outside(finding, "rate_bps", 0.85 * line, facts->line_use > 0 ? line : 0);
}

static enum cause
cause_loss(const struct trace *trace, const struct facts *facts)
{
	return verdict(facts->lost_between >= 5 && facts->loss_cost_share >= 0.1
		&& captures_carry(trace, facts), facts->lost_segments == 0);
}

/* Of a retransmission that was lost as well both may be counted or one. */
static char *
wrong_loss(const struct trace *trace, const struct facts *facts, json_t *finding)
{
	double lost = facts->lost_between;

	return has_option(trace, "gso") || captures_lack(trace) ? NULL
		: outside(finding, "segments", 0.7 * lost - 1, 1.1 * lost + 2);
}

/* ---- the client ---- */

/* An application that waits for what the server has put off does wait for the storage. */
static enum cause
cause_idle(const struct trace *trace, const struct facts *facts)
{
	return verdict(facts->idle_share >= 0.8 && facts->calls >= 50 && !captures_lack(trace)
		&& facts->put_off == 0 && !has_option(trace, "unanswered"),
		facts->idle_share <= 0.4 || has_option(trace, "jukebox"));
}

static enum cause
cause_serial(const struct trace *trace, const struct facts *facts)
{
	/* a READ of NFSv4 has its offset behind other operations */
	bool cut = trace->config.nfs != TRACE_NFS3 && trace->config.capture[TRACE_CLIENT].snaplen_bytes < 400;
	bool serial = trace->config.sequential && trace->config.callers == 1 && trace->config.clients == 1 && !cut;

	return verdict(serial && facts->reads >= 0.9 && facts->idle_share < 0.3 && captures_carry(trace, facts),
		!trace->config.sequential || facts->in_flight > 1.5);
}

/* ---- the captures ---- */

static enum cause
cause_translation(const struct trace *trace, const struct facts *facts)
{
	(void)facts;
	return has_option(trace, "nat") || has_option(trace, "virtual-server") ? CAUSE_UNCLEAR : CAUSE_ABSENT;
}

static enum cause
cause_step(const struct trace *trace, const struct facts *facts)
{
	(void)facts;
	return has_option(trace, "step") ? CAUSE_UNCLEAR : CAUSE_ABSENT;
}

static enum cause
cause_drops(const struct trace *trace, const struct facts *facts)
{
	(void)facts;
	return captures_lack(trace) ? CAUSE_UNCLEAR : CAUSE_ABSENT;
}

/* Snap length of any size may hide a header behind others in its frame. */
static enum cause
cause_truncated(const struct trace *trace, const struct facts *facts)
{
	(void)facts;
	return has_option(trace, "snaplen") ? CAUSE_UNCLEAR : CAUSE_ABSENT;
}

static enum cause
cause_overlap(const struct trace *trace, const struct facts *facts)
{
	(void)facts;
	return captures_lack(trace) || trace->config.capture[TRACE_SERVER].snaplen_bytes < 128
		? CAUSE_UNCLEAR : CAUSE_ABSENT;
}

/* They are given in the right order. */
static enum cause
cause_swapped(const struct trace *trace, const struct facts *facts)
{
	(void)trace;
	(void)facts;
	return CAUSE_ABSENT;
}

/* The trace maker encrypts nothing. */
static enum cause
cause_tls(const struct trace *trace, const struct facts *facts)
{
	(void)trace;
	(void)facts;
	return CAUSE_ABSENT;
}

static enum cause
cause_duplicates(const struct trace *trace, const struct facts *facts)
{
	(void)facts;
	return has_option(trace, "duplicate") ? CAUSE_UNCLEAR : CAUSE_ABSENT;
}

static enum cause
cause_retransmission(const struct trace *trace, const struct facts *facts)
{
	(void)facts;
	return has_option(trace, "timeo") || has_option(trace, "reconnect") ? CAUSE_UNCLEAR : CAUSE_ABSENT;
}

/* NFS3ERR_JUKEBOX, NFS4ERR_DELAY; made again or not. */
static enum cause
cause_jukebox(const struct trace *trace, const struct facts *facts)
{
	return verdict(facts->put_off >= 5 && has_option(trace, "jukebox") && captures_carry(trace, facts),
		facts->put_off == 0);
}

static char *
wrong_jukebox(const struct trace *trace, const struct facts *facts, json_t *finding)
{
	return captures_lack(trace) || has_option(trace, "snaplen") || has_option(trace, "reconnect") ? NULL
		: outside(finding, "calls", 1, facts->put_off);	/* one client's are fewer */
}

const struct rule rules[] = {
	{ "server-thread-saturation", "threads", cause_threads, wrong_threads },
	{ "server-slow-service", "slow", cause_slow_service, wrong_slow_service },
	{ "client-slot-saturation", "slots", cause_slots, wrong_slots },
	{ "session-slot-saturation", "session", cause_session_slots, wrong_session_slots },
	{ "slot-count-too-high", "many", cause_many_slots, NULL },
	{ "network-path-delay", "path", cause_path_delay, wrong_path_delay },
	{ "network-bandwidth", "line", cause_bandwidth, wrong_bandwidth },
	{ "network-loss", "loss", cause_loss, wrong_loss },
	{ "idle-wire", "idle", cause_idle, NULL },
	{ "serial-client", "serial", cause_serial, NULL },
	{ "address-translation", "nat", cause_translation, NULL },
	{ "clock-step", "step", cause_step, NULL },
	{ "capture-drops", "drops", cause_drops, NULL },
	{ "capture-truncated", "cut", cause_truncated, NULL },
	{ "capture-overlap", "overlap", cause_overlap, NULL },
	{ "capture-swapped", "swapped", cause_swapped, NULL },
	{ "tls-hidden", "tls", cause_tls, NULL },
	{ "capture-duplicates", "twice", cause_duplicates, NULL },
	{ "rpc-retransmission", "rpc", cause_retransmission, NULL },
	{ "jukebox-delay", "jukebox", cause_jukebox, wrong_jukebox },
	{ NULL, NULL, NULL, NULL }
};
