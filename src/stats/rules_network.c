/*
 * Rules about the way between the hosts.
 */
#include "base/arith.h"
#include "base/format.h"
#include "stats/flight.h"
#include "stats/rows.h"
#include "stats/rule_help.h"
#include "stats/transit.h"

enum {
	/*
	 * A local network takes well under half a millisecond there and back, a site
	 * 200 km away takes 2 ms by the speed of light in glass: from there on
	 * it is distance or a slow hop, between the two it may be either.
	 */
	DELAY_LOW_NS = NS_PER_MS, DELAY_NS = 2 * NS_PER_MS,
	STEADY_TRIP = 125,		/* per cent of the smallest round trip that the median may be: it is hardly luck */
	DELAY_SHARE = 50,		/* per cent of all time that the empty path takes, at least */
	/* A line is full: */
	FULL_TIME = 60,			/* per cent of the time with calls in flight, at one rate, ... */
	FULL_NETWORK = 50,		/* ... where so much of the calls' time is in the network, else ... */
	FULL_TIME_ALONE = 90,
	FULL_BYTES = 60,		/* per cent of the bytes, at the same rate */
	FULL_PEAK_NS = 20 * NS_PER_MS,	/* and for so long at least */
	FULL_PEAK_BYTES = 1 << 20,
	FULL_CALLS = 3,			/* that moved data */
	SHARED_QUEUED = 50,		/* per cent of all clients' data that waits where a line is shared */
	QUEUE_NS = 300 * NS_PER_US,	/* queued on the way, in the median: more than busy hosts take to hand packets on, */
	QUEUE_SHARE = 50,		/* and more than so many per cent of the empty path */
	IDLE_SHARE = 50,		/* a client that has nothing in flight for longer does not wait for the line ... */
	IDLE_DEPTH = 2,			/* ... unless it has at least so many calls in flight, in the mean */
};

/* The empty path, there and back: no more than the fastest call and the fastest TCP acknowledgement took. */
static int64_t
base_ns(const struct facts *facts, unsigned client)
{
	const struct transit *transit = aggregate_transit(facts->aggregate, client);
	const struct dist *trips = &facts->captures[1 + client].tcp.round_trip[0];
	int64_t way_ns = transit_base_ns(transit);

	return trips->count > 0 ? min_ns(way_ns, trips->min_ns) : way_ns;
}

/* Where the data arrives: at the client, or at the server on the line from this client. */
static bool
receiving_line(const struct facts *facts, unsigned client, enum pair_side receiver, struct line_peak *peak)
{
	const struct capture_facts *captures = facts->captures, *at = receiver == PAIR_CLIENT ?
	    &captures[1 + client] : &captures[0];
	const struct net_endpoint *from = facts->capture_count > 2 && captures[1 + client].has_endpoints ?
	    &captures[1 + client].client : NULL;

	return at->lines != NULL && lines_peak(at->lines, receiver == PAIR_CLIENT ? LINE_TO_CLIENT : LINE_TO_SERVER,
	    receiver == PAIR_CLIENT ? NULL : from, peak);
}

static bool
is_steady_over(const struct line_peak *peak, int64_t busy_ns, unsigned percent)
{
	return peak->time_ns >= FULL_PEAK_NS && peak->bytes >= FULL_PEAK_BYTES &&
	    at_least((double)peak->time_ns, (double)busy_ns, percent) &&
	    at_least((double)peak->bytes, (double)peak->all_bytes, FULL_BYTES);
}

/* For so many per cent of the time with calls in flight, data came in at one rate. */
static bool
is_steady(const struct facts *facts, unsigned client, const struct line_peak *peak, unsigned percent)
{
	const struct flight *flight = aggregate_flight(facts->aggregate, 1 + client);

	return is_steady_over(peak, flight_span_ns(flight) - flight_idle_ns(flight), percent);
}

static bool
waits_for_line(const struct facts *facts, unsigned client)
{
	const struct flight *flight = aggregate_flight(facts->aggregate, 1 + client);
	int64_t span_ns = flight_span_ns(flight), idle_ns = flight_idle_ns(flight);

	return !at_least((double)idle_ns, (double)span_ns, IDLE_SHARE) ||
	    (double)flight->time_ns >= (double)IDLE_DEPTH * (double)(span_ns - idle_ns);
}

/* ---- network-path-delay ---- */

struct delay {
	unsigned client;
	int64_t min_ns, median_ns;
	double share;
};

/*
 * One that keeps a line full is no case: where the capture never saw its path
 * empty, the queue would be taken for distance.
 */
static bool
find_delay(const struct facts *facts, unsigned client, struct delay *delay)
{
	const struct transit *transit = aggregate_transit(facts->aggregate, client);
	struct line_peak peak;

	if (transit->all.count < VERDICT_CALLS || transit->total_ns <= 0)
		return false;
	*delay = (struct delay){
		.client = client,
		.min_ns = base_ns(facts, client),
		.median_ns = dist_quantile(&transit->all, 500),
	};
	delay->share = (double)delay->min_ns * (double)transit->calls / (double)transit->total_ns;
	if (delay->min_ns < DELAY_LOW_NS || !at_least(delay->share, 1, DELAY_SHARE))
		return false;
	for (unsigned receiver = 0; receiver < 2; receiver++)
		if (receiving_line(facts, client, receiver, &peak) && is_steady(facts, client, &peak, FULL_TIME))
			return false;
	return true;
}

static void
tell_delay(const struct facts *facts, struct finding *finding, const struct delay *delay, unsigned clients)
{
	char least[FORMAT_SIZE], median[FORMAT_SIZE], share[PERCENT_SIZE];
	g_autofree char *whose = client_words(facts, delay->client);

	finding->text = g_strdup_printf("The way between client and server takes %s there and back%s, whatever a call "
	    "moves and however many are in flight (median %s): %s of the time of %s. The server and the size of "
	    "transfers have no part in it.%s", format_duration(least, delay->min_ns), whose,
	    format_duration(median, delay->median_ns), percent_words(share, MIN(delay->share, 1)),
	    facts->capture_count > 2 ? "its calls" : "all calls",
	    clients > 1 ? " Other clients have a long way, too." : "");
	finding->doubt = g_strdup("Distance, a detour and a slow hop such as a firewall look the same from both ends: "
	    "ping and tracepath between the two hosts, and from a host beside the client, tell which.");
	finding_ns(finding, "min_ns", delay->min_ns);
	finding_ns(finding, "p50_ns", delay->median_ns);
	finding_share(finding, "share", MIN(delay->share, 1));
	finding_count(finding, "clients", clients);
}

/*
 * From one capture alone the way is known from TCP, and the calls' time of that
 * side only. A host may acknowledge data as late as it likes, but not the
 * start of a connection: one has to be there.
 */
static bool
find_delay_alone(const struct facts *facts, struct finding *finding)
{
	const struct capture_facts *capture = &facts->captures[0];
	const struct dist *trips = &capture->tcp.round_trip[capture->side == PAIR_SERVER ? 1 : 0];
	struct side_sum sum = side_sum(facts, capture->side);
	char least[FORMAT_SIZE], share[PERCENT_SIZE];
	double total_ns, part;

	if (trips->count == 0 || trips->min_ns < DELAY_NS || sum.calls < VERDICT_CALLS ||
	    capture->tcp.mid_stream == capture->tcp.rpc_connections)
		return false;
	total_ns = (double)sum.latency_ns + (capture->side == PAIR_SERVER ? (double)trips->min_ns * (double)sum.calls : 0);
	part = (double)trips->min_ns * (double)sum.calls / total_ns;
	if (!at_least(part, 1, DELAY_SHARE))
		return false;
	finding->confidence = at_least((double)trips->min_ns, (double)dist_quantile(trips, 500), PERCENT * PERCENT / STEADY_TRIP) ?
	    CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
	finding->text = g_strdup_printf("The way from this capture to the other host and back takes %s at least, as TCP's "
	    "acknowledgements show: about %s of the time of all calls (an estimate, from one capture).",
	    format_duration(least, trips->min_ns), percent_words(share, MIN(part, 1)));
	finding->doubt = g_strdup("A proxy that ends TCP on the way hides what is behind it; a capture of the other side "
	    "settles it.");
	finding_ns(finding, "min_ns", trips->min_ns);
	finding_ns(finding, "p50_ns", dist_quantile(trips, 500));
	finding_share(finding, "share", MIN(part, 1));
	return true;
}

bool
rule_network_path_delay(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	struct delay worst = { 0 }, delay;
	unsigned clients = 0;

	(void)before;
	if (facts->correlated == NULL)
		return find_delay_alone(facts, finding);
	for (unsigned client = 0; client + 1 < facts->capture_count; client++) {
		if (!find_delay(facts, client, &delay))
			continue;
		clients++;
		if (delay.min_ns > worst.min_ns)
			worst = delay;
	}
	if (clients == 0)
		return false;
	finding->confidence = worst.min_ns >= DELAY_NS ? CONFIDENCE_HIGH : CONFIDENCE_LOW;
	tell_delay(facts, finding, &worst, clients);
	return true;
}

/* ---- network-bandwidth ---- */

struct full_line {
	unsigned client;
	enum pair_side receiver;
	struct line_peak peak;
	int64_t busy_ns, empty_ns, median_ns;
	bool queued;			/* on the way: known from a path that was seen empty */
	bool together;			/* of all clients, at the server */
};

/* What waits on the way to the receiver, in the median; false when it is not seen to. */
static bool
is_queued(const struct facts *facts, unsigned client, enum pair_side receiver, struct full_line *line)
{
	int64_t queue_ns;

	line->empty_ns = base_ns(facts, client);
	line->median_ns = dist_quantile(&aggregate_transit(facts->aggregate, client)->data[receiver], 500);
	queue_ns = duration_ns(line->empty_ns, line->median_ns);
	return queue_ns >= QUEUE_NS && at_least((double)queue_ns, (double)line->empty_ns, QUEUE_SHARE);
}

/*
 * Data comes in at one rate for most of the time that calls are in flight, so
 * that something lets it through at that rate. It is the path if data stands in
 * a queue on it: behind a sender that has no more to send, or that waits for
 * its window, the path stays empty. Where no connection began in the capture,
 * it may not have seen the path empty; if the calls' time is in the network and
 * data came in with hardly a pause, that is a sign, but a window may do the same.
 */
static bool
find_full_line(const struct facts *facts, unsigned client, enum pair_side receiver, struct full_line *line)
{
	const struct transit *transit = aggregate_transit(facts->aggregate, client);
	const struct flight *flight = aggregate_flight(facts->aggregate, 1 + client);
	const struct stream_counters *tcp = &facts->captures[1 + client].tcp;
	bool in_network = at_least((double)transit->network_ns, (double)transit->total_ns, FULL_NETWORK);
	bool constant;

	*line = (struct full_line){ .client = client, .receiver = receiver };
	if (transit->data[receiver].count < FULL_CALLS || !receiving_line(facts, client, receiver, &line->peak) ||
	    !waits_for_line(facts, client))
		return false;
	line->busy_ns = flight_span_ns(flight) - flight_idle_ns(flight);
	line->queued = is_queued(facts, client, receiver, line);
	constant = is_steady(facts, client, &line->peak, FULL_TIME_ALONE);
	return line->queued ? constant || (in_network && is_steady(facts, client, &line->peak, FULL_TIME)) :
	    constant && in_network && tcp->mid_stream == tcp->rpc_connections;
}

/*
 * A line at the server that its clients share: each has a part that changes, but
 * together they have one rate, nearly all the time, and for most of them data
 * stands in a queue. At the server it is seen as its packets leave, which is as
 * fast as acknowledgements let them.
 */
static bool
find_shared_line(const struct facts *facts, enum pair_side receiver, struct full_line *line)
{
	const struct capture_facts *server = &facts->captures[0];
	const struct flight *flight = aggregate_flight(facts->aggregate, 0);
	uint64_t queued = 0, all = 0;

	*line = (struct full_line){ .receiver = receiver, .together = true, .queued = true };
	line->busy_ns = flight_span_ns(flight);
	if (facts->capture_count <= 2 || server->lines == NULL || !lines_peak_together(server->lines,
	    receiver == PAIR_CLIENT ? LINE_TO_CLIENT : LINE_TO_SERVER, &line->peak) ||
	    !is_steady_over(&line->peak, line->busy_ns, FULL_TIME_ALONE))
		return false;
	for (unsigned client = 0; client + 1 < facts->capture_count; client++) {
		uint64_t calls = aggregate_transit(facts->aggregate, client)->data[receiver].count;
		struct full_line found;

		if (calls == 0)
			continue;
		all += calls;
		if (!is_queued(facts, client, receiver, &found))
			continue;
		queued += calls;
		if (found.median_ns > line->median_ns) {
			line->median_ns = found.median_ns;
			line->empty_ns = found.empty_ns;
		}
	}
	return all >= FULL_CALLS && at_least((double)queued, (double)all, SHARED_QUEUED);
}

static void
tell_full_line(const struct facts *facts, struct finding *finding, const struct full_line *line)
{
	char rate[FORMAT_SIZE], share[PERCENT_SIZE], empty[FORMAT_SIZE], median[FORMAT_SIZE];
	double busy = MIN((double)line->peak.time_ns / (double)line->busy_ns, 1);
	g_autofree char *whose = line->together ? g_strdup(" (all clients together, at the server)") :
	    client_words(facts, line->client);
	g_autofree char *queue = line->queued ? g_strdup_printf(", and data stands in a queue on the way (%s there and back "
	    "in the median, %s when nothing waits)", format_duration(median, line->median_ns),
	    format_duration(empty, line->empty_ns)) : g_strdup("");

	finding->text = g_strdup_printf("The path to the %s lets data through at %sbit/s and is full%s: at that rate it "
	    "delivers for %s of the time in which calls are in flight%s. Larger transfers and more calls at once only wait "
	    "longer.", line->receiver == PAIR_CLIENT ? "client" : "server",
	    format_short(rate, (double)line->peak.rate_bps), whose, percent_words(share, busy), queue);
	finding->doubt = g_strdup_printf("A link of this speed, a shaper or policer, and the share of a faster link that others "
	    "leave look the same: the speeds of all ports on the way and their counters tell which.%s", line->queued ? "" :
	    " So does a TCP window that is just too small: a capture in which connections begin settles that.");
	finding->confidence = !line->queued ? CONFIDENCE_LOW : line->together ? CONFIDENCE_MEDIUM : CONFIDENCE_HIGH;
	finding_bps(finding, "rate_bps", line->peak.rate_bps);
	finding_word(finding, "direction", line->receiver == PAIR_CLIENT ? "to client" : "to server");
	finding_share(finding, "busy_share", busy);
	if (line->queued)
		finding_ns(finding, "queue_p50_ns", duration_ns(line->empty_ns, line->median_ns));
	else
		finding_unknown(finding, "queue_p50_ns");
}

bool
rule_network_bandwidth(const struct facts *facts, const struct findings *before, struct finding *finding)
{
	struct full_line fullest = { 0 }, line;

	(void)before;
	if (facts->correlated == NULL)
		return false;
	for (unsigned client = 0; client + 1 < facts->capture_count; client++) {
		for (unsigned receiver = 0; receiver < 2; receiver++) {
			if (find_full_line(facts, client, receiver, &line) &&
			    line.peak.time_ns > fullest.peak.time_ns)
				fullest = line;
		}
	}
	for (unsigned receiver = 0; fullest.peak.time_ns == 0 && receiver < 2; receiver++)
		if (find_shared_line(facts, receiver, &line))
			fullest = line;
	if (fullest.peak.time_ns == 0)
		return false;
	tell_full_line(facts, finding, &fullest);
	return true;
}
