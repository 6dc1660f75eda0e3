#include "stats/thread_fit.h"

#include <glib.h>
#include <math.h>

#include "base/arith.h"
#include "stats/thread_doubt.h"
#include "stats/thread_edge.h"
#include "stats/thread_learn.h"
#include "stats/thread_pattern.h"

enum {
	OVERTAKE_PART = 10,	/* of the calls overtake another when there are two threads */
	TOLERATED_PART = 33,	/* of the number of threads: the error it may have */
	FAR_ERRORS = 3,		/* standard errors between two ways to the number: one is wrong */
	LEAST_TURNS = 2,	/* calls to a thread that waited */
	LEAST_WAIT_PERCENT = 10,	/* of the time in the server */
};

/* Times with anything and with at least so many calls in the server, over a spell's calls in order of arrival. */
static void
add_times(const struct points *points, uint32_t base, uint32_t end, uint32_t threads, double *any_ns, double *full_ns)
{
	int64_t last_ns = points->point[base].arrival_ns;
	uint32_t come = base, gone = base;

	while (gone < end) {
		bool comes = come < end && points->point[come].arrival_ns < points->departure_ns[gone];
		int64_t now_ns = comes ? points->point[come].arrival_ns : points->departure_ns[gone];
		uint32_t inside = come - gone;

		*any_ns += inside > 0 ? (double)(now_ns - last_ns) : 0;
		*full_ns += inside >= threads ? (double)(now_ns - last_ns) : 0;
		last_ns = now_ns;
		if (comes)
			come++;
		else
			gone++;
	}
}

static double
busy_share(const struct points *points, uint32_t threads)
{
	double any_ns = 0, full_ns = 0;

	for (uint32_t base = 0; base < points->count; base = points->point[base].end)
		add_times(points, base, points->point[base].end, threads, &any_ns, &full_ns);
	return any_ns > 0 ? full_ns / any_ns : 0;
}

/* What the calls were, with so many threads. */
static void
describe(const struct points *points, uint32_t threads, struct thread_fit *result)
{
	double latency = 0, service = 0, wait = 0, doubled = 0;
	uint32_t waited = 0;

	for (uint32_t i = 0; i < points->count; i++) {
		const struct point *point = &points->point[i];
		int64_t served_ns;

		if (!point->judged)
			continue;
		served_ns = point->ahead >= threads ? points_service_ns(points, point, threads) : point_latency_ns(point);
		result->calls++;
		latency += (double)point_latency_ns(point);
		service += (double)served_ns;
		/* the same calls at a time: what waited takes half as long, and not less than its service */
		doubled += (double)max_ns(served_ns, point->ahead >= threads ? point_latency_ns(point) / 2 : served_ns);
		if (point->ahead >= threads)
			points->scratch_ns[waited++] = point_latency_ns(point) - served_ns;
	}
	for (uint32_t i = 0; i < waited; i++)
		wait += (double)points->scratch_ns[i];
	result->waited = waited;
	if (waited == 0)
		return;
	result->queue_wait_mean_ns = (int64_t)(wait / waited);
	result->queue_wait_p50_ns = points_select_ns(points->scratch_ns, waited, (waited - 1) / 2);
	result->queue_wait_p95_ns = points_select_ns(points->scratch_ns, waited, (uint32_t)(0.95 * (waited - 1)));
	result->wait_share = latency > 0 ? wait / latency : 0;
	result->service_mean_ns = (int64_t)(service / (double)result->calls);
	result->latency_mean_ns = (int64_t)(latency / (double)result->calls);
	result->latency_at_double_ns = (int64_t)(doubled / (double)result->calls);
	result->busy_share = busy_share(points, threads);
}

/* The standard error that a number of threads may have to be told. */
static double
tolerated(double threads)
{
	return MAX(1, threads / TOLERATED_PART);
}

/* From the fewest threads that the order allows to the number, 0 when it cannot be told. */
static uint32_t
choose(const struct points *points, uint32_t least)
{
	double threads = 0, error = INFINITY, edge, edge_error;
	uint32_t pattern;

	if (least > 2 && thread_is_sharp(points, least))
		return least;
	pattern = thread_find_pattern(points, least);
	if (pattern != 0)
		return pattern;
	if (!thread_learn(points, least, &threads, &error))
		error = INFINITY;
	if (least > 1 && error > tolerated(threads) / 2 && thread_find_edge(points, least, &edge, &edge_error) &&
	    edge_error < error && (error == INFINITY || fabs(edge - threads) < FAR_ERRORS * error) &&
	    thread_is_least_spread(points, least, (uint32_t)edge)) {
		threads = edge;
		error = edge_error;
	}
	/* what may be chance is met half-way */
	if (threads - least <= 2 * error && error < INFINITY) {
		error = (threads + error - least) / 2 - 0.5;
		threads = (threads + least) / 2;
	}
	if (error > tolerated(threads))
		return (least == 1 && thread_is_one(points)) ||
		    (least == 2 && points->need[2] > points->need[1] / OVERTAKE_PART) ? least : 0;
	return (uint32_t)(threads + 0.5);
}

static void
judge(const struct points *points, struct thread_fit *result)
{
	uint32_t least = points_fewest_threads(points), threads;

	*result = (struct thread_fit){ 0 };
	if (points->ahead[least] < LEAST_WAITED)
		return;
	result->at_least = least;
	result->threads = choose(points, least);
	threads = MAX(result->threads, least);
	if (points->ahead[MIN(threads, points->most_ahead + 1)] < MAX(LEAST_WAITED, LEAST_TURNS * threads))
		return;
	result->one_at_a_time = threads == 1;
	describe(points, threads, result);
	thread_doubt(points, threads, result);
	result->saturated = (result->threads > 0 || least > 1) && !result->slows && !result->reply_bound &&
	    result->wait_share * 100 >= LEAST_WAIT_PERCENT;
}

/*
 * Puts connections in turn if that explains the departures with clearly fewer
 * threads. Who is next depends on the threads as well: with too few of them the
 * order is wrong and asks for more.
 */
static bool
take_turns(struct points *points)
{
	uint32_t first = points_fewest_threads(points), low = 0, high = first, turned = 0;

	if (first < 2 || !points_has_lanes(points))
		return false;
	while (low + 1 < high) {
		uint32_t middle = low + (high - low) / 2;

		points_take_turns(points, middle);
		turned = middle;
		if (points_fewest_threads(points) <= middle)
			high = middle;
		else
			low = middle;
	}
	if (turned != high)
		points_take_turns(points, high);
	return high * 10 <= first * 9;
}

/* First come, first served, unless connections in turn explain it with fewer threads, and as well. */
void
thread_fit(const struct spell *spell, unsigned spells, int server, struct thread_fit *result)
{
	struct points *points = points_new(spell, spells, server);
	struct thread_fit turned;

	*result = (struct thread_fit){ 0 };
	if (points->count > 0)
		judge(points, result);
	if (points->count > 0 && take_turns(points)) {
		judge(points, &turned);
		if (turned.saturated && turned.threads > 0)
			*result = turned;
	}
	points_free(points);
}
