#include "stats/thread_pattern.h"

#include <glib.h>
#include <math.h>

enum {
	SCANNED = 2048,		/* calls, where many numbers of threads are tried */
	PATTERN_FACTOR = 2,	/* the right number halves the spread of its neighbours */
	VARIES_PART = 20,	/* of a service: its spread */
	ONE_REACH = 32,		/* threads */
	EDGE_PART = 16,		/* of the threads: the edge */
	LEAST_AT_EDGE = 4,	/* calls */
};

#define SHARP_SHARE 0.5

bool
thread_is_sharp(const struct points *points, uint32_t least)
{
	uint32_t top = least / EDGE_PART + 1;
	uint64_t sum = 0, most = 0;

	/* so many neighbours at a time; whatever was overtaken itself needs 1 */
	for (uint32_t n = 2; n <= least; n++) {
		sum += points->need[n];
		sum -= n > top + 1 ? points->need[n - top] : 0;
		most = MAX(most, sum);
	}
	return sum >= LEAST_AT_EDGE && (double)sum > SHARP_SHARE * (double)most;
}

/* The mean deviation of services from their mean, with so many threads, over calls that all waited. */
static double
spread_ns(const struct points *points, const uint32_t *call, uint32_t calls, uint32_t threads)
{
	struct tally sums = { 0 };

	for (uint32_t i = 0; i < calls; i++)
		tally_add(&sums, points_service_ns(points, &points->point[call[i]], threads));
	return sqrt(MAX(sums.squares / sums.count - tally_mean(&sums) * tally_mean(&sums), 0));
}

/*
 * The spread of services for every number of threads from `least` to `most`,
 * over calls that all waited; NULL when there are too few. Freed by the caller.
 */
static double *
spreads(const struct points *points, uint32_t least, uint32_t *most)
{
	uint32_t call[SCANNED], calls = 0;
	double *spread = NULL;
	uint8_t class;

	/* they must be nearly all that waited: some alone have a pattern of their own */
	*most = MIN(points->most_ahead, SCANNED_THREADS);
	while (*most > least && points->ahead[*most] * 10 < points->ahead[least] * 9)
		(*most)--;
	class = points_most_waited(points, *most);
	for (uint32_t i = 0; i < points->count && calls < SCANNED; i++)
		if (point_waits(&points->point[i], *most) && points->point[i].class == class)
			call[calls++] = i;
	if (calls < LEAST_WAITED)
		return NULL;
	spread = g_new(double, *most + 1);
	for (uint32_t n = least; n <= *most; n++)
		spread[n] = spread_ns(points, call, calls, n);
	return spread;
}

uint32_t
thread_find_pattern(const struct points *points, uint32_t least)
{
	uint32_t most, found = 0;
	double *spread = spreads(points, least, &most);

	for (uint32_t n = MAX(least, 2); spread != NULL && n < most && found == 0; n++)
		if (spread[n] * PATTERN_FACTOR < spread[n + 1] &&
		    (n == least || spread[n] * PATTERN_FACTOR < spread[n - 1]))
			found = n;
	g_free(spread);
	return found;
}

bool
thread_is_one(const struct points *points)
{
	uint32_t most;
	double *spread = spreads(points, 1, &most);
	struct tally services[SERVED_CLASSES];
	bool one;

	if (spread == NULL)
		return false;
	points_tally_services(points, 1, services);
	one = spread[1] * VARIES_PART > tally_mean(&services[points_most_waited(points, 1)]);
	for (uint32_t n = 2; one && n <= MIN(most, ONE_REACH); n++)
		one = spread[n] * spread[n] * 2 >= n * spread[1] * spread[1];
	g_free(spread);
	return one;
}

bool
thread_is_least_spread(const struct points *points, uint32_t least, uint32_t threads)
{
	uint32_t most;
	double *spread = spreads(points, least, &most);
	bool is_least = spread != NULL && threads <= most;

	for (uint32_t n = threads + 1; is_least && n <= most; n++)
		is_least = spread[n] * 5 >= spread[threads] * 4;
	g_free(spread);
	return is_least;
}
