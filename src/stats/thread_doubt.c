#include "stats/thread_doubt.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "stats/slope.h"

enum {
	SLOWER_PERCENT = 25,
	SURE_ERRORS = 3,	/* standard errors; more for few calls */
	RECENT = 64,
	APART = 29,		/* places between two calls whose services have nothing to do with one another */
	SLACK_PART = 8,		/* of a service: by less calls do not overtake, they leave in any order */
	LEAST_OVERTAKEN = 20,	/* calls, if services had nothing to do with one another */
	OVERTAKEN_PART = 10,	/* of the calls, at least, or services vary too little to tell */
	LEAST_SHAPE = 30,	/* calls of a class that found a free thread, to know what services are like */
	SHAPE_SLACK_PART = 5,	/* of their median: by so much services may lie outside, */
	SLACK_NS = 50 * NS_PER_US,	/* and by this, for what stands around a thread */
	UNLIKE_PART = 3,	/* of the calls may not */
	UNLIKE = 2,		/* times as much: another kind of call */
};

#define PACED_SPREAD 0.15	/* of the gaps between departures, to their mean */
#define PAID_LEAST 0.7		/* of the wait, where the number of threads is known */
#define PAID_SURE 0.5		/* where it is not */

/* The calls of each class that found a free thread; from so many ahead on, below so many. */
static void
sum_free(const struct points *points, uint32_t from, uint32_t below, struct tally free[SERVED_CLASSES])
{
	memset(free, 0, SERVED_CLASSES * sizeof *free);
	for (uint32_t i = 0; i < points->count; i++) {
		const struct point *point = &points->point[i];

		if (point->judged && point->ahead >= from && point->ahead < below)
			tally_add(&free[point->class], point_latency_ns(point));
	}
}

/*
 * True when classes take longer in the second than in the first, for certain
 * and by much; compared: calls of the first. Were they alike, the spread of
 * both together would be that of each: one alone may lack what is rare.
 */
static bool
is_slower(const struct tally *first, const struct tally *second, double *compared)
{
	double expected = 0, found = 0, error2 = 0;

	*compared = 0;
	for (unsigned class = 0; class < SERVED_OTHERS; class++) {
		const struct tally *a = &first[class], *b = &second[class];
		struct tally both = { a->count + b->count, a->sum + b->sum, a->squares + b->squares };

		if (a->count < LEAST_COMPARED || b->count < LEAST_COMPARED)
			continue;
		*compared += a->count;
		expected += b->count * tally_mean(a);
		found += b->sum;
		error2 += b->count * b->count * tally_variance(&both) * (1 / a->count + 1 / b->count);
	}
	return found - expected > (SURE_ERRORS + 20 / MAX(*compared, 1)) * sqrt(error2) &&
	    found * 100 > expected * (100 + SLOWER_PERCENT);
}

/* Service grows with the calls that are being served, or those that waited take longer than those that did not. */
static bool
does_slow(const struct points *points, uint32_t threads, struct thread_fit *result)
{
	struct tally first[SERVED_CLASSES], second[SERVED_CLASSES];
	double compared;

	sum_free(points, 0, (threads + 1) / 2, first);
	sum_free(points, (threads + 1) / 2, threads, second);
	if (is_slower(first, second, &compared))
		return true;
	sum_free(points, 0, threads, first);
	points_tally_services(points, threads, second);
	if (is_slower(first, second, &compared))
		return true;
	result->found_free = (uint64_t)compared;
	result->compared = compared >= LEAST_COMPARED;
	return false;
}

/*
 * True when calls of the class that takes most time hardly ever overtake one
 * another although their services, if they had nothing to do with one another,
 * would make them: they stand in line for something behind the threads.
 */
static bool
stand_in_line(const struct points *points, uint32_t threads, const struct tally services[SERVED_CLASSES])
{
	int64_t recent_ns[RECENT], before_ns = 0, before_start_ns = 0, slack_ns;
	uint64_t seen = 0, overtaken = 0, expected = 0;
	unsigned class = 0;

	for (unsigned i = 1; i < SERVED_OTHERS; i++)
		class = services[i].sum > services[class].sum ? i : class;
	slack_ns = (int64_t)(tally_mean(&services[class]) / SLACK_PART);
	for (uint32_t i = 0; i < points->count; i++) {
		const struct point *point = &points->point[i];
		int64_t start, mine_ns;

		if (!point_waits(point, threads) || point->class != class)
			continue;
		start = points_start_ns(points, point, threads);
		mine_ns = point->departure_ns - start;
		if (seen >= RECENT) {
			overtaken += point->departure_ns + slack_ns < before_start_ns + before_ns;
			expected += start + recent_ns[(seen - APART) % RECENT] + slack_ns <
			    before_start_ns + recent_ns[(seen - 2 * APART) % RECENT];
		}
		recent_ns[seen++ % RECENT] = mine_ns;
		before_ns = mine_ns;
		before_start_ns = start;
	}
	return expected >= LEAST_OVERTAKEN && expected * OVERTAKEN_PART >= seen && overtaken * 2 < expected;
}

/*
 * True when calls that waited leave at even distances: one thing that takes
 * the same time for each lets them through. Threads are not in step with one
 * another.
 */
static bool
is_paced(const struct points *points, uint32_t threads)
{
	struct tally gaps = { 0 };

	for (uint32_t i = 0; i < points->count; i++) {
		const struct point *point = &points->point[i];

		if (point_waits(point, threads) && point->at >= point->base + threads)
			tally_add(&gaps, points->departure_ns[point->at - threads + 1] -
			    points->departure_ns[point->at - threads]);
	}
	return gaps.count > 1 && sqrt(tally_variance(&gaps)) < PACED_SPREAD * tally_mean(&gaps);
}

/*
 * True when many services of calls that waited are shorter or longer than
 * nearly all of those of calls of their kind that found a free thread, whatever
 * their means: they were held up together, by something else.
 */
static bool
is_unlike(const struct points *points, uint32_t threads)
{
	uint8_t class = points_most_waited(points, threads);
	uint32_t count = points_collect_free(points, class, threads);
	int64_t low_ns, high_ns, slack_ns;
	uint64_t waited = 0, outside = 0;

	if (count < LEAST_SHAPE)
		return false;
	low_ns = points->scratch_ns[points_rank(0.05, count)];
	high_ns = points->scratch_ns[points_rank(0.95, count)];
	slack_ns = max_ns(SLACK_NS, points->scratch_ns[count / 2] / SHAPE_SLACK_PART);
	for (uint32_t i = 0; i < points->count; i++) {
		int64_t taken_ns;

		if (!point_waits(&points->point[i], threads) || points->point[i].class != class)
			continue;
		taken_ns = points_service_ns(points, &points->point[i], threads);
		waited++;
		outside += taken_ns < low_ns - slack_ns || taken_ns > high_ns + slack_ns;
	}
	return outside * UNLIKE_PART > waited;
}

/* True when calls that cost much and calls that cost little all wait for the same. */
static bool
all_kinds_wait(const struct tally services[SERVED_CLASSES])
{
	double least = INFINITY, most = 0;

	for (unsigned i = 0; i < SERVED_OTHERS; i++) {
		if (services[i].count < LEAST_COMPARED)
			continue;
		least = MIN(least, tally_mean(&services[i]));
		most = MAX(most, tally_mean(&services[i]));
	}
	return most >= UNLIKE * least;
}

/* True when most calls that waited left when the reply before theirs, of several packets, had just done so. */
static bool
is_reply_bound(const struct points *points, uint32_t threads)
{
	uint64_t waited = 0, pressed = 0;

	for (uint32_t i = 0; i < points->count; i++) {
		if (!point_waits(&points->point[i], threads))
			continue;
		waited++;
		pressed += points->point[i].pressed;
	}
	return pressed * 2 > waited;
}

/*
 * How much of what the calls wait, by the points, they take longer: all of it, 1,
 * or nothing where they do not wait at all. Of the class that waited most;
 * error: of that share.
 */
static double
paid_share(const struct points *points, uint32_t threads, double *error)
{
	struct slope whole = { 0 }, all = { 0 };
	uint8_t class = points_most_waited(points, threads);

	for (uint32_t i = 0; i < points->count; i++) {
		const struct point *point = &points->point[i];
		double wait_ns, taken_ns;

		if (!point_waits(point, threads) || point->class != class)
			continue;
		wait_ns = (double)(points_start_ns(points, point, threads) - point->arrival_ns);
		taken_ns = (double)point_latency_ns(point);
		slope_add(&all, wait_ns, taken_ns);
	}
	slope_close_block(&whole, &all);
	return slope_of(&whole, LEAST_WAITED, error);
}

void
thread_doubt(const struct points *points, uint32_t threads, struct thread_fit *result)
{
	struct tally services[SERVED_CLASSES];
	double paid, error;

	points_tally_services(points, threads, services);
	result->slows = does_slow(points, threads, result) || is_unlike(points, threads) ||
	    (threads > 1 && (stand_in_line(points, threads, services) || is_paced(points, threads)));
	result->all_kinds = all_kinds_wait(services);
	result->reply_bound = is_reply_bound(points, threads);
	paid = paid_share(points, threads, &error);
	/* a number is believed unless it is refuted, a bound only when waiting is proven */
	result->slows |= result->threads > 0 ? paid + 2 * error < PAID_LEAST : paid < MAX(PAID_SURE, 2.5 * error);
}
