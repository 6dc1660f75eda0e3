/*
 * Rules about how many calls a client may have under way: slot tables, sessions
 * (RFC 8881 section 2.10.6), and more calls than a server likes.
 */
#include <string.h>

#include "base/format.h"
#include "stats/aggregate.h"
#include "stats/rule_help.h"

enum {
	PPM = 1000000,
	STRANGER_PART = 10,		/* of a client's calls: fewer were matched */
	LEFT_OUT_PPM = 50000,		/* of the calls: with more, what is missing may have been above the flat top */
	SHARE_OF_CALLS_PPM = 100000,	/* of the captures' calls: less is not what the client does */
	GROWTH_PPM = 1500000,		/* of latency, many calls in flight against few */
	SERVER_PPM = 500000,		/* of the clients' time: the server's, for its growth to count */
	READY_PPM = 800000,		/* of the calls, right behind a reply */
	BUSY_PPM = 300000,		/* of the time, with a call in flight */
	READY_PART = 8,			/* of a call's time, the time from a reply to the next call */
	COUNTED_CALLS = 30,		/* that the client's own counters have, to say anything */
	COUNTED_PPM = 500000,		/* of the calls of a flat top: with fewer the counters are of other calls */
	QUEUE_PPM = 100000,		/* of a call's time in the client, before it is sent: calls wait */
	NO_QUEUE_PPM = 20000,		/* less than that: they do not */
	BACKLOG_PPM = 500000,		/* calls that wait for a slot, at each one that is sent */
	LINUX_SLOTS = 128,		/* that the remedies name */
	LINUX_SESSION_SLOTS = 180,
	SESSION_CALLS = 30,		/* beyond the first of each slot */
	FULL_PPM = 500000,		/* of the busy time, with nine tenths of a session's slots in use */
	MOVING_PPM = 500000,		/* of the calls' time, between first and last bytes of records */
	MANY_CALLS = 128,
	MANY_PPM = 50000,		/* of the busy time, with more than MANY_CALLS in flight */
};

/*
 * Sizes that slot tables have by themselves: Linux's 2 (first), 16 (RHEL 5 and
 * 6), 64 and 65 (sessions), 128 (a common advice) and 180 (sessions).
 */
static bool
is_table_size(uint32_t slots)
{
	static const uint32_t sizes[] = { 2, 16, 64, 65, 128, 180 };

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		if (sizes[i] == slots)
			return true;
	}
	return false;
}

/* ---- what the captures show ---- */

static bool
is_seen_by_client(const struct facts *facts)
{
	for (unsigned i = 0; i < facts->capture_count; i++) {
		if (facts->captures[i].side == PAIR_CLIENT)
			return true;
	}
	return false;
}

/* The calls in flight of a capture that shows connections; NULL when others show them better, or it lacks too much. */
static const struct concurrency *
client_view(const struct facts *facts, unsigned capture)
{
	enum pair_side side = is_seen_by_client(facts) ? PAIR_CLIENT : PAIR_SERVER;
	const struct concurrency *concurrency = aggregate_concurrency(facts->aggregate, capture);
	const struct capture_facts *captured = &facts->captures[capture];
	const struct concurrency_counts *counts;
	uint64_t lacking;

	if (captured->side != side || concurrency == NULL)
		return NULL;
	/* of another time or another server: nothing of it belongs to what the others show */
	if (facts->correlated != NULL && captured->paired_calls < captured->rpc.calls / STRANGER_PART)
		return NULL;
	counts = concurrency_counts(concurrency);
	lacking = counts->left_out[CONCURRENCY_OUTSIDE] + captured->rpc.hidden_records;
	if (counts->calls[CONCURRENCY_OUTSIDE] == 0 ||
	    (double)lacking * PPM > (double)counts->calls[CONCURRENCY_OUTSIDE] * LEFT_OUT_PPM)
		return NULL;
	return concurrency;
}

static const struct depth *
server_view(const struct facts *facts)
{
	for (unsigned i = 0; i < facts->capture_count; i++) {
		const struct concurrency *concurrency = aggregate_concurrency(facts->aggregate, i);

		if (facts->captures[i].side == PAIR_SERVER && concurrency != NULL)
			return concurrency_server(concurrency);
	}
	return NULL;
}

static bool
grows(const struct depth *depth, uint32_t many)
{
	struct depth_growth growth;

	return depth_growth(depth, many, &growth) && growth.ratio * PPM >= GROWTH_PPM && growth.least > 1;
}

/* Rows with the same flat top, put together. */
struct flat {
	uint32_t top;
	unsigned rows;
	unsigned connections;	/* of the rows */
	uint64_t calls;
	bool grows;		/* of one, latency grows with the calls in flight */
	bool compared;		/* of one, it is known whether it does */
	double sum_ns;		/* of the calls' times */
	double busy_ns, span_ns;
	double moving_ns;	/* of the calls' times, from a record's first byte to its last */
	/* sums weighted by calls */
	double share, reused, reuse_ns;
};

static void
flat_add(struct flat *flat, const struct concurrency_row *row, const struct depth_plateau *plateau, unsigned connections)
{
	const struct depth *depth = &row->depth;
	struct depth_growth growth;
	double calls = (double)depth->calls;

	flat->top = plateau->top;
	flat->rows++;
	flat->connections += connections;
	flat->calls += depth->calls;
	flat->grows = flat->grows || grows(depth, plateau->top - plateau->top / 10);
	flat->compared = flat->compared || depth_growth(depth, plateau->top - plateau->top / 10, &growth);
	flat->sum_ns += (double)depth->sum_ns;
	flat->moving_ns += (double)row->moving_ns;
	flat->busy_ns += (double)depth_busy_ns(depth);
	flat->span_ns += (double)depth->span_ns;
	flat->share += calls * plateau->share;
	flat->reused += calls * plateau->reused;
	flat->reuse_ns += calls * (double)plateau->reuse_ns;
}

static void
flats_add(GArray *flats, const struct concurrency_row *row, const struct depth_plateau *plateau, unsigned connections)
{
	struct flat none = { 0 };
	unsigned at = 0;

	while (at < flats->len && g_array_index(flats, struct flat, at).top != plateau->top)
		at++;
	if (at == flats->len)
		g_array_append_val(flats, none);
	flat_add(&g_array_index(flats, struct flat, at), row, plateau, connections);
}

/* How many connections a row is of; a client's row has no ports. */
static unsigned
count_connections(const struct concurrency *concurrency, const struct concurrency_row *row)
{
	unsigned count, found = 0;
	g_autofree const struct concurrency_row **rows = concurrency_rows(concurrency, CONCURRENCY_CONNECTIONS, &count);

	for (unsigned i = 0; i < count; i++)
		found += memcmp(rows[i]->client.address, row->client.address, sizeof row->client.address) == 0 &&
		    memcmp(rows[i]->server.address, row->server.address, sizeof row->server.address) == 0;
	return found;
}

/* The calls that have slots of a session: what limits these is known (rule_session_slots), and no other table. */
static uint64_t
session_calls(const struct concurrency *concurrency)
{
	unsigned count;
	g_autofree const struct concurrency_row **rows = concurrency_rows(concurrency, CONCURRENCY_SESSIONS, &count);
	uint64_t calls = 0;

	for (unsigned i = 0; i < count; i++)
		calls += rows[i]->depth.calls;
	return calls;
}

static void
flats_add_rows(GArray *flats, const struct concurrency *concurrency, enum concurrency_table table)
{
	unsigned count;
	g_autofree const struct concurrency_row **rows = concurrency_rows(concurrency, table, &count);

	for (unsigned i = 0; i < count; i++) {
		struct depth_plateau plateau;
		unsigned connections = 1;

		if (!depth_plateau(&rows[i]->depth, 2, &plateau))
			continue;
		if (table == CONCURRENCY_CLIENTS)
			connections = count_connections(concurrency, rows[i]);
		/* a client with one connection is that connection */
		if (table == CONCURRENCY_CONNECTIONS || connections > 1)
			flats_add(flats, rows[i], &plateau, connections);
	}
}

/* The flat top of the rows with the most calls, of equal ones the higher; false when it is that of few calls. */
static bool
most_flat(const struct facts *facts, enum concurrency_table table, struct flat *most)
{
	GArray *flats = g_array_new(FALSE, FALSE, sizeof(struct flat));
	uint64_t calls = 0;

	*most = (struct flat){ 0 };
	for (unsigned i = 0; i < facts->capture_count; i++) {
		const struct concurrency *concurrency = client_view(facts, i);

		if (concurrency == NULL)
			continue;
		calls += concurrency_counts(concurrency)->calls[CONCURRENCY_OUTSIDE];
		if (session_calls(concurrency) < concurrency_counts(concurrency)->calls[CONCURRENCY_OUTSIDE] / 2)
			flats_add_rows(flats, concurrency, table);
	}
	for (unsigned i = 0; i < flats->len; i++) {
		const struct flat *flat = &g_array_index(flats, struct flat, i);

		if (flat->calls > most->calls || (flat->calls == most->calls && flat->top > most->top))
			*most = *flat;
	}
	g_array_unref(flats);
	return most->rows > 0 && (double)most->calls * PPM >= (double)calls * SHARE_OF_CALLS_PPM;
}

/* ---- client-slot-saturation ---- */

/* Where most of its calls are, the server takes longer than with few of them, and that is most of the clients' time. */
static bool
server_grows(const struct depth *server, double clients_ns)
{
	double mean;

	return server != NULL && depth_mean(server, &mean) && grows(server, MAX(2, (uint32_t)mean)) &&
	    (double)server->sum_ns * PPM > clients_ns * SERVER_PPM;
}

/*
 * More slots would bring more calls to where they wait already: threads, the
 * line, a window that lets out a piece of a call at a time.
 */
static bool
would_not_help(const struct facts *facts, const struct findings *before, const struct flat *flat)
{
	return findings_of(before, "server-thread-saturation") != NULL ||
	    findings_of(before, "network-bandwidth") != NULL || flat->grows ||
	    flat->moving_ns * PPM > flat->sum_ns * MOVING_PPM ||
	    server_grows(server_view(facts), flat->sum_ns);
}

/* The first remedy names a number, which is no advice where there are as many. */
static void
leave_out_first(struct finding *finding, bool leave_out)
{
	if (!leave_out || finding->remedies.count == 0)
		return;
	finding->remedies.remedy++;
	finding->remedies.count--;
}

/* "3 connections", "the 4 connections of one client together". Caller frees. */
static char *
rows_words(const struct flat *flat, bool on_connections)
{
	if (!on_connections)
		return g_strdup_printf("the %u connections of %u client%s together", flat->connections, flat->rows,
		    flat->rows == 1 ? "" : "s");
	return g_strdup_printf("%u connection%s", flat->rows, flat->rows == 1 ? "" : "s");
}

/*
 * Whether it may be a table: its size is one, what the client takes between a
 * reply and the next call is a small part of a call, as where calls wait, and
 * there are calls for more than a moment now and then.
 */
static bool
looks_like_table(const struct flat *flat)
{
	double calls = (double)flat->calls;

	return is_table_size(flat->top) && flat->reused * PPM >= calls * READY_PPM &&
	    flat->reuse_ns * READY_PART <= flat->sum_ns && flat->busy_ns * PPM >= flat->span_ns * BUSY_PPM;
}

/* What the client's own counters say of its calls. */
enum counted {
	COUNTED_NOTHING,	/* there are none, or of other calls, or it is in between */
	COUNTED_WAITS,		/* calls wait for a slot */
	COUNTED_NO_WAIT,	/* they leave at once */
};

/* The backlog is that of slots; a queue may be for other reasons, such as a connection that is made. */
static enum counted
read_counters(const struct mountstats_sums *sums, const struct flat *flat)
{
	const struct mountstats_transport *transport = &sums->transport;
	double queue = (double)sums->queue_ms * PPM, execute = (double)sums->execute_ms;
	double backlog = (double)transport->backlog * PPM, sends = (double)transport->sends;

	if (sums->calls < COUNTED_CALLS || (double)sums->calls * PPM < (double)flat->calls * COUNTED_PPM)
		return COUNTED_NOTHING;
	if (queue >= execute * QUEUE_PPM && execute > 0 &&
	    (transport->count == 0 || (backlog >= sends * BACKLOG_PPM && sends > 0)))
		return COUNTED_WAITS;
	if (queue < execute * NO_QUEUE_PPM && (transport->count == 0 || backlog < sends * NO_QUEUE_PPM))
		return COUNTED_NO_WAIT;
	return COUNTED_NOTHING;
}

static void
put_queue(struct finding *finding, const char *key, const struct mountstats_op *op)
{
	if (op->calls > 0)
		finding_ns(finding, key, mountstats_mean_ns(op->queue_ms, op->calls));
}

static void
put_counters(struct finding *finding, const struct mountstats_sums *sums)
{
	const struct mountstats_transport *transport = &sums->transport;

	finding_count(finding, "counted_calls", sums->calls);
	finding_ns(finding, "queue_mean_ns", mountstats_mean_ns(sums->queue_ms, sums->calls));
	if (sums->execute_ms > 0)
		finding_share(finding, "queue_share", (double)sums->queue_ms / (double)sums->execute_ms);
	if (transport->sends > 0)
		finding_real(finding, "backlog_mean", (double)transport->backlog / (double)transport->sends);
	put_queue(finding, "read_queue_mean_ns", &sums->reads);
	put_queue(finding, "write_queue_mean_ns", &sums->writes);
}

/* In place of the doubt: what the wire leaves open is settled. */
static void
tell_counters(struct finding *finding, const struct mountstats_sums *sums)
{
	double share = (double)sums->queue_ms / (double)sums->execute_ms;
	g_autofree char *before = finding->text, *others = NULL;
	char queue[FORMAT_SIZE], percent[PERCENT_SIZE];

	if (sums->transport.sends > 0)
		others = g_strdup_printf(", behind %.1f others that wait for a slot",
		    (double)sums->transport.backlog / (double)sums->transport.sends);
	finding->text = g_strdup_printf("%s The client's own counters say that it is a table: a call waits %s in the mean "
	    "before it is sent, %s of its time there%s.", before,
	    format_duration(queue, mountstats_mean_ns(sums->queue_ms, sums->calls)),
	    percent_words(percent, MIN(share, 1)), others == NULL ? "" : others);
	g_clear_pointer(&finding->doubt, g_free);
	finding->confidence = CONFIDENCE_HIGH;
	finding->outside_wire = counters_outside_ms(sums) > sums->rtt_ms;
}

static void
tell_client_slots(struct finding *finding, const struct flat *flat, bool on_connections)
{
	double calls = (double)flat->calls;
	char share[FORMAT_SIZE], reused[FORMAT_SIZE], gap[FORMAT_SIZE];
	g_autofree char *rows = rows_words(flat, on_connections);

	format_share(share, true, flat->share / calls);
	format_share(reused, true, flat->reused / calls);
	format_duration(gap, (int64_t)(flat->reuse_ns / calls));
	finding->text = g_strdup_printf("On %s never more than %u calls were in flight, and for %s of the busy time that "
	    "many were, or nearly: %s of the calls left right behind a reply, after %s in the mean. %s.", rows, flat->top,
	    share, reused, gap, flat->compared ? "Latency does not grow with the calls in flight, so that more at once "
	    "would be answered as fast" : "As the number in flight hardly changes, it does not show whether more at once "
	    "would be answered as fast");
	finding->doubt = g_strdup_printf("A slot table of %u and %u callers that each wait for their answer look the same on "
	    "the wire. On a Linux client nfsiostat 1 settles it: avg queue well above 0 is the wait for a slot, near 0 "
	    "it is the callers; on Solaris iostat -xn 1: wait above 0 for the mount.", flat->top, flat->top);
	finding_count(finding, "slots", flat->top);
	finding_share(finding, "busy_share", flat->share / calls);
	finding_count(finding, "connections", flat->connections);
	finding_share(finding, "reused_share", flat->reused / calls);
	finding_ns(finding, "reuse_mean_ns", (int64_t)(flat->reuse_ns / calls));
	finding_word(finding, "table_size", is_table_size(flat->top) ? "known" : "none");
	leave_out_first(finding, flat->top >= LINUX_SLOTS);
}

/*
 * A flat top of two or more on connections, or of clients that spread over
 * several. From the wire alone low; medium when it is the size of a table on a
 * connection, and the server's capture shows no limit of its own. That alone
 * does not show a client's table: a call on its way is in none of the server's.
 * High when the client's own counters show the wait for slots; and no finding
 * when they show that there is none, since then it is the callers.
 */
bool
rule_client_slots(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	struct mountstats_sums sums = { 0 };
	enum counted counted;
	struct flat flat;
	bool on_connections;

	if (!is_seen_by_client(facts) || findings_of(before, "session-slot-saturation") != NULL)
		return false;
	on_connections = most_flat(facts, CONCURRENCY_CONNECTIONS, &flat);
	if (!on_connections && !most_flat(facts, CONCURRENCY_CLIENTS, &flat))
		return false;
	sum_counters(facts, on_connections ? CONCURRENCY_CONNECTIONS : CONCURRENCY_CLIENTS, flat.top, &sums);
	counted = read_counters(&sums, &flat);
	if (counted == COUNTED_NO_WAIT || would_not_help(facts, before, &flat))
		return false;
	finding->confidence = on_connections && facts->correlated != NULL && looks_like_table(&flat) ?
	    CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
	tell_client_slots(finding, &flat, on_connections);
	if (sums.calls > 0)
		put_counters(finding, &sums);
	if (counted == COUNTED_WAITS)
		tell_counters(finding, &sums);
	return true;
}

/* ---- session-slot-saturation ---- */

/*
 * The fewer of what was granted and what the server allows now; 0: not known.
 * The highest slot ids of a SEQUENCE count (RFC 8881 section 2.10.6.1).
 */
static uint32_t
session_limit(const struct concurrency_row *row)
{
	if (row->slots_granted == 0 || row->slots_allowed == 0)
		return MAX(row->slots_granted, row->slots_allowed);
	return MIN(row->slots_granted, row->slots_allowed);
}

/* share: of the busy time, with nine tenths of the slots in use at least. */
static bool
is_full(const struct concurrency_row *row, double *share)
{
	uint32_t limit = session_limit(row);
	struct depth_plateau plateau;

	if (limit == 0 || row->slots_used < limit || row->depth.calls < limit + SESSION_CALLS)
		return false;
	*share = depth_share_above(&row->depth, limit - limit / 10 - 1);
	return *share * PPM >= FULL_PPM || (depth_plateau(&row->depth, 1, &plateau) && plateau.top >= limit);
}

/*
 * All slots that the server grants are in use for most of the busy time, and a
 * slot that a reply made free is used again at once: the protocol says so
 * itself. Slots of one session may be used on several connections. Of several
 * sessions the one with the most calls is told.
 */
bool
rule_session_slots(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	const struct concurrency_row *full = NULL;
	double share, full_share = 0;
	unsigned sessions = 0;
	char text[FORMAT_SIZE];

	(void)before;
	for (unsigned i = 0; i < facts->capture_count; i++) {
		const struct concurrency *concurrency = client_view(facts, i);
		g_autofree const struct concurrency_row **rows = NULL;
		unsigned count = 0;

		if (concurrency != NULL)
			rows = concurrency_rows(concurrency, CONCURRENCY_SESSIONS, &count);
		for (unsigned j = 0; j < count; j++) {
			if (!is_full(rows[j], &share))
				continue;
			sessions++;
			if (full == NULL || rows[j]->depth.calls > full->depth.calls) {
				full = rows[j];
				full_share = share;
			}
		}
	}
	if (full == NULL)
		return false;
	finding->confidence = CONFIDENCE_HIGH;
	finding->component = full->target_lower ? COMPONENT_SERVER : COMPONENT_CLIENT;
	finding->text = g_strdup_printf("All %u slots of a session are in use for %s of the busy time, and one that a reply "
	    "makes free is used again at once: a further call has to wait in the client. The server grants %u%s.",
	    full->slots_used, format_share(text, true, full_share), session_limit(full), full->target_lower ?
	    "; it asks the client to use fewer than it would take" : "");
	finding_count(finding, "slots", full->slots_used);
	finding_count(finding, "slots_granted", session_limit(full));
	finding_share(finding, "busy_share", full_share);
	finding_count(finding, "sessions", sessions);
	leave_out_first(finding, full->slots_used >= LINUX_SESSION_SLOTS);
	return true;
}

/* ---- slot-count-too-high ---- */

/* The row with the most calls in flight that had more than MANY_CALLS for long enough; NULL: none. */
static const struct concurrency_row *
deepest(const struct facts *facts)
{
	const struct concurrency_row *most = NULL;

	for (unsigned i = 0; i < facts->capture_count; i++) {
		const struct concurrency *concurrency = client_view(facts, i);
		g_autofree const struct concurrency_row **rows = NULL;
		unsigned count = 0;

		if (concurrency != NULL)
			rows = concurrency_rows(concurrency, CONCURRENCY_CONNECTIONS, &count);
		for (unsigned j = 0; j < count; j++) {
			const struct depth *depth = &rows[j]->depth;

			if (depth->max > MANY_CALLS && (most == NULL || depth->max > most->depth.max) &&
			    depth_share_above(depth, MANY_CALLS) * PPM >= MANY_PPM)
				most = rows[j];
		}
	}
	return most;
}

static uint64_t
server_windows_shrunk(const struct facts *facts)
{
	uint64_t shrunk = 0;

	for (unsigned i = 0; i < facts->capture_count; i++)
		shrunk = MAX(shrunk, facts->captures[i].tcp.server_window_shrunk);
	return shrunk;
}

/*
 * Three signs together: many calls of one connection at once, the server takes
 * longer the more there are, and its receive window shrinks. None of them alone
 * says that fewer would be better.
 */
bool
rule_slot_count(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	const struct concurrency_row *row = deepest(facts);
	const struct depth *server = server_view(facts);
	const struct depth *deep = server != NULL || row == NULL ? server : &row->depth;
	uint64_t shrunk = server_windows_shrunk(facts);
	struct depth_growth growth;
	double share;
	char text[FORMAT_SIZE];

	(void)before;
	if (row == NULL || shrunk == 0 || !grows(deep, MANY_CALLS) ||
	    !depth_growth(deep, MANY_CALLS, &growth))
		return false;
	share = depth_share_above(&row->depth, MANY_CALLS);
	finding->confidence = server != NULL ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
	finding->text = g_strdup_printf("Up to %u calls are in flight on one connection, more than %d for %s of the busy "
	    "time; with so many the server takes %.1f times as long as with few, and its receive window shrank to almost "
	    "nothing %" G_GUINT64_FORMAT " times: it takes in no more than it can work on.", row->depth.max, MANY_CALLS,
	    format_share(text, true, share), growth.ratio, shrunk);
	finding_count(finding, "most", row->depth.max);
	finding_share(finding, "busy_share", share);
	finding_real(finding, "latency_ratio", growth.ratio);
	finding_count(finding, "windows_shrunk", shrunk);
	return true;
}
