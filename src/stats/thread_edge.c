#include "stats/thread_edge.h"

#include <glib.h>
#include <math.h>

#include "stats/slope.h"
#include "stats/thread_pattern.h"

enum {
	EDGE_REACH = 3,		/* times the fewest threads: so far it is looked for */
	EDGE_BLOCK = 16,	/* calls to a thread */
	EDGE_ROUNDS = 30,	/* calls to a thread, at least */
	EDGE_SURE = 12,		/* by so much a profile with an edge fits better than one without */
	EDGE_MISFIT = 3,	/* a place, at most */
};

#define EDGE_NOTHING 0.1	/* dependence before the edge */
#define EDGE_CLEAR 0.6		/* standard error of a dependence */

/*
 * How a call's end, seen from the departure so many places before it, depends
 * on the gap before that departure: not at all where the gap lies before the
 * start of the service, by the whole gap (-1) inside. Block by block, so that
 * a load that changes slowly says nothing. Of calls that had
 * at least so many ahead. later > 0: how the gap so many places later depends
 * on it, in place of the call's end.
 */
static double
dependence(const struct points *points, uint32_t ahead, uint32_t place, uint32_t later, double *error)
{
	struct slope whole = { 0 }, block = { 0 };
	struct tally rest[SERVED_CLASSES] = { 0 };

	for (uint32_t i = 0; i < points->count && later == 0; i++)
		if (point_waits(&points->point[i], ahead))
			tally_add(&rest[points->point[i].class], points_service_ns(points, &points->point[i], place));
	for (uint32_t i = 0; i < points->count; i++) {
		const struct point *point = &points->point[i];
		const int64_t *from_ns = &points->departure_ns[point->at - place];
		double gap_ns, rest_ns;

		if (!point_waits(point, ahead) || point->at < point->base + place + 1)
			continue;
		if (block.n >= EDGE_BLOCK * ahead)
			slope_close_block(&whole, &block);
		gap_ns = (double)(from_ns[0] - from_ns[-1]);
		rest_ns = later > 0 ? (double)(from_ns[later] - from_ns[later - 1]) :
		    (double)(point->departure_ns - from_ns[0]) - tally_mean(&rest[point->class]);
		slope_add(&block, gap_ns, rest_ns);
	}
	slope_close_block(&whole, &block);
	return slope_of(&whole, LEAST_WAITED, error);
}

/* Dependences at the places from least to most. */
struct profile {
	uint32_t least, most;
	double slope[SCANNED_THREADS], error[SCANNED_THREADS];
	double among[SCANNED_THREADS];	/* of the gaps themselves: the sum up to so many places apart */
};

/* False when there are too few calls or places. */
static bool
take_profile(const struct points *points, uint32_t least, struct profile *profile)
{
	uint32_t most = MIN(points->most_ahead, SCANNED_THREADS);

	while (most > least && points->ahead[most] * 2 < points->ahead[least])
		most--;
	most = MIN(MIN(most, EDGE_REACH * (least + 1)), points->ahead[least] / EDGE_ROUNDS);
	*profile = (struct profile){ .least = least, .most = most };
	for (uint32_t n = least; n < most; n++) {
		double ignored;

		profile->slope[n] = dependence(points, most, n, 0, &profile->error[n]);
		profile->among[n - least + 1] = profile->among[n - least] +
		    dependence(points, most, most, n - least + 1, &ignored);
	}
	return most >= least + 2;
}

/*
 * How far the dependences found are from those expected with an edge there,
 * squared, in standard errors. A start of service at the edge makes what lies
 * before it count only through the gaps' dependence among themselves, and what
 * lies behind it whole.
 */
static double
misfit(const struct profile *profile, uint32_t edge)
{
	double sum = 0;

	for (uint32_t n = profile->least; n < profile->most; n++) {
		double expected = n >= edge ? profile->among[n - edge] : -1 - profile->among[edge - n - 1];

		sum += pow((profile->slope[n] - expected) / profile->error[n], 2);
	}
	return sum;
}

/* What dependence is left before an edge. */
static double
left_before(const struct profile *profile, uint32_t edge)
{
	double left = 0;

	for (uint32_t n = edge; n < profile->most; n++)
		left += profile->slope[n] - profile->among[n - edge];
	return left / (profile->most - edge);
}

bool
thread_find_edge(const struct points *points, uint32_t least, double *threads, double *error)
{
	struct profile profile;
	double best_misfit = INFINITY;
	uint32_t best = least, near = 0;

	if (!take_profile(points, least, &profile))
		return false;
	for (uint32_t n = least; n < profile.most; n++) {
		double here = misfit(&profile, n);

		if (here < best_misfit) {
			best_misfit = here;
			best = n;
		}
	}
	/* within 4, about two standard errors either way */
	for (uint32_t n = least; n < profile.most; n++)
		near += misfit(&profile, n) < best_misfit + 4;
	*threads = best;
	*error = MAX(0.5, near / 4.);
	return profile.error[best] < EDGE_CLEAR && fabs(left_before(&profile, best)) < EDGE_NOTHING &&
	    best_misfit < EDGE_MISFIT * (profile.most - least) &&
	    misfit(&profile, profile.most) > best_misfit + EDGE_SURE;
}
