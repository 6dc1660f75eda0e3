/*
 * Rules about the clients and what calls them.
 */
#include <math.h>

#include "base/arith.h"
#include "base/format.h"
#include "stats/flight.h"
#include "stats/rule_help.h"
#include "stats/serial.h"

enum {
	IDLE_TIME = 70,			/* per cent of the time without a call in flight: by far the most of it */
	IDLE_NS = 20 * NS_PER_MS,	/* and so long at least */
	SERIAL_READS = 64,		/* in turn: fewer are a small file */
	SERIAL_READS_SHARE = 80,	/* per cent of all READs that are in turn */
	SERIAL_TIME = 50,		/* per cent of the time with calls in flight that READs in turn take */
};

/* Captures in which the clients' calls are timed: the clients', or the one there is. */
static unsigned
first_capture(const struct facts *facts)
{
	return facts->correlated != NULL ? 1 : 0;
}

static char *
whose_words(const struct facts *facts, unsigned capture)
{
	return facts->correlated != NULL ? client_words(facts, capture - 1) : g_strdup("");
}

/* ---- idle-wire ---- */

/* A finding of another part of the way, that is not a hint only: the wire is then not what is well. */
static bool
has_trouble(const struct findings *before)
{
	for (unsigned i = 0; i < findings_count(before); i++) {
		const struct finding *finding = findings_at(before, i);

		if (finding->confidence != CONFIDENCE_LOW &&
		    (finding->component == COMPONENT_SERVER || finding->component == COMPONENT_NETWORK))
			return true;
	}
	return false;
}

struct idle {
	int64_t idle_ns, span_ns;
};

/*
 * The longest pause is left out: one alone may be a capture that began before
 * the load, or a clock that was set forward. The server's capture alone does
 * not see calls on the way: each may take a round trip longer.
 */
static struct idle
idle_of(const struct facts *facts, unsigned capture)
{
	const struct capture_facts *at = &facts->captures[capture];
	const struct dist *trips = &at->tcp.round_trip[1];
	const struct flight *flight = aggregate_flight(facts->aggregate, capture);
	int64_t pause_ns = flight_pause_ns(flight);
	struct idle idle = {
		.idle_ns = flight_idle_ns(flight) - pause_ns,
		.span_ns = flight_span_ns(flight) - pause_ns,
	};

	if (at->side == PAIR_SERVER) {
		double way_ns = trips->count > 0 ? (double)dist_quantile(trips, 500) * (double)flight->calls : INFINITY;

		idle.idle_ns = way_ns >= (double)idle.idle_ns ? 0 : idle.idle_ns - (int64_t)way_ns;
	}
	return idle;
}

static void
tell_idle(const struct facts *facts, struct finding *finding, unsigned capture, unsigned idle, unsigned all)
{
	struct idle told = idle_of(facts, capture);
	double share = (double)told.idle_ns / (double)told.span_ns;
	char idle_text[PERCENT_SIZE], busy_text[PERCENT_SIZE], span_text[FORMAT_SIZE];
	g_autofree char *whose = whose_words(facts, capture);

	finding->text = g_strdup_printf("For %s of %s no call was in flight%s: the storage is not what the application "
	    "waits for. If every call took no time at all, it would be faster by %s at most.",
	    percent_words(idle_text, share), format_duration(span_text, told.span_ns), whose,
	    percent_words(busy_text, 1 - share));
	finding->doubt = g_strdup("Calls that wait inside the client before they leave look the same, and so does a capture "
	    "that began long before the load or ended long after it: the client's own counters tell (mountstats, or "
	    "what the application says it waits for).");
	finding_share(finding, "idle_share", share);
	finding_ns(finding, "span_ns", told.span_ns);
	finding_count(finding, "calls", aggregate_flight(facts->aggregate, capture)->calls);
	if (all > 1)
		finding_count(finding, "clients", idle);
}

/* The time of calls that a capture lost may have been thought idle. */
static bool
loses_calls(const struct capture_facts *capture)
{
	uint64_t lost = capture->rpc.outcomes[OP_LOST_IN_CAPTURE] + capture->rpc.outcomes[OP_EVICTED] +
	    capture->rpc.orphan_replies;

	return lost * PERCENT > capture->rpc.calls;
}

static bool
is_idle(const struct facts *facts, unsigned capture)
{
	const struct flight *flight = aggregate_flight(facts->aggregate, capture);
	struct idle idle = idle_of(facts, capture);

	return flight->calls >= VERDICT_CALLS && idle.idle_ns >= IDLE_NS && !loses_calls(&facts->captures[capture]) &&
	    at_least((double)idle.idle_ns, (double)idle.span_ns, IDLE_TIME);
}

/*
 * Of several clients all have to be idle: those that do not matter are not
 * told of. The one that is told is the least idle one.
 */
bool
rule_idle_wire(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	unsigned told = 0, idle = 0, all = 0;
	double least = 1;

	/* who is put off waits for the storage, and makes no call */
	if (findings_of(before, "jukebox-delay") != NULL)
		return false;
	for (unsigned capture = first_capture(facts); capture < facts->capture_count; capture++) {
		struct idle found = idle_of(facts, capture);
		double share;

		if (aggregate_flight(facts->aggregate, capture)->calls == 0)
			continue;
		all++;
		if (!is_idle(facts, capture))
			return false;
		idle++;
		share = (double)found.idle_ns / (double)found.span_ns;
		if (idle == 1 || share < least) {
			least = share;
			told = capture;
		}
	}
	if (idle == 0)
		return false;
	tell_idle(facts, finding, told, idle, all);
	/* losses on the way make calls late, and the server look idle */
	if (facts->correlated == NULL && facts->captures[0].side == PAIR_SERVER)
		finding->confidence = CONFIDENCE_LOW;
	else
		finding->confidence = facts->correlated != NULL && !has_trouble(before) ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
	finding->outside_wire = true;
	return true;
}

/* ---- serial-client ---- */

static bool
is_serial(const struct facts *facts, unsigned capture)
{
	const struct serial *serial = aggregate_serial(facts->aggregate, capture);
	const struct flight *flight = aggregate_flight(facts->aggregate, capture);
	int64_t busy_ns = flight_span_ns(flight) - flight_idle_ns(flight);

	return serial->in_turn >= SERIAL_READS &&
	    at_least((double)serial->in_turn, (double)serial->reads, SERIAL_READS_SHARE) &&
	    at_least((double)serial->time_ns, (double)busy_ns, SERIAL_TIME) &&
	    flight->time_ns < 2 * (__int128)busy_ns && serial->gap_ns <= serial->time_ns;
}

static void
tell_serial(const struct facts *facts, struct finding *finding, unsigned capture)
{
	const struct serial *serial = aggregate_serial(facts->aggregate, capture);
	int64_t mean_ns = serial->time_ns / (int64_t)serial->in_turn, gap_ns = serial->gap_ns / (int64_t)serial->in_turn;
	double per_second = (double)serial->bytes * 1e9 / (double)(serial->time_ns + serial->gap_ns);
	char share[PERCENT_SIZE], mean[FORMAT_SIZE], gap[FORMAT_SIZE], rate[FORMAT_SIZE], size[FORMAT_SIZE];
	g_autofree char *whose = whose_words(facts, capture);

	finding->text = g_strdup_printf("Files are read from front to end with one READ at a time%s: %s of all READs were "
	    "sent only after the answer to the one before it, %s later, and each took %s. So %s bytes a READ make %sB/s, "
	    "whatever the server and the line could do.", whose,
	    percent_words(share, (double)serial->in_turn / (double)serial->reads), format_duration(gap, gap_ns),
	    format_duration(mean, mean_ns), format_short(size, (double)serial->bytes / (double)serial->in_turn),
	    format_short(rate, per_second));
	finding->doubt = g_strdup("No readahead (direct I/O, a mount or device setting) and an application that asks for "
	    "one piece after the other with direct I/O look the same.");
	finding->confidence = CONFIDENCE_MEDIUM;
	finding_share(finding, "share", (double)serial->in_turn / (double)serial->reads);
	finding_count(finding, "reads", serial->in_turn);
	finding_ns(finding, "read_mean_ns", mean_ns);
	finding_ns(finding, "gap_mean_ns", gap_ns);
	finding_real(finding, "bytes_per_second", per_second);
}

/* The first client that does; nothing to gain where the line is full anyway. */
bool
rule_serial_client(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	if (findings_of(before, "network-bandwidth") != NULL)
		return false;
	for (unsigned capture = first_capture(facts); capture < facts->capture_count; capture++) {
		if (!is_serial(facts, capture))
			continue;
		tell_serial(facts, finding, capture);
		return true;
	}
	return false;
}
