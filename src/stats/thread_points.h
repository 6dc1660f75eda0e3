/*
 * The calls of a server as points: their place in the order of arrival, those
 * ahead of them, and what their service is with so many threads.
 */
#ifndef STATS_THREAD_POINTS_H
#define STATS_THREAD_POINTS_H

#include "stats/thread_fit.h"

enum {
	LEAST_WAITED = 60,	/* calls that waited: fewer say nothing */
	LEAST_COMPARED = 16,	/* calls of a class, to be compared with others */
};

struct point {
	int64_t arrival_ns, departure_ns;
	uint32_t at;		/* its place by start, counted on through all spells */
	uint32_t base;		/* that of its spell's first call */
	uint32_t end;		/* one beyond the last */
	uint32_t ahead;		/* calls in the server when it arrived */
	uint32_t gone;		/* place of the first departure after its arrival */
	uint32_t left;		/* of its own departure */
	uint16_t lane;		/* its connection, about */
	uint8_t class;
	bool judged;		/* its times are exact and the calls before it known */
	bool pressed;		/* it left as soon as the reply before it on its connection had */
};

struct points {
	struct point *point;	/* by spell and start: in order of arrival, or as connections take turns */
	struct point *arrived;	/* in order of arrival; NULL: point is */
	int64_t *departure_ns;	/* by spell and time */
	uint32_t count;
	uint32_t most_ahead;
	uint32_t *need;		/* judged calls that need so many threads to have any time, 1 to most_ahead + 1 */
	uint32_t *ahead;	/* judged calls that have at least so many ahead, 0 to most_ahead + 1 */
	int64_t *scratch_ns;	/* room for as many values */
};

/* Count, sum and sum of squares of durations. */
struct tally {
	double count, sum, squares;
};

static inline void
tally_add(struct tally *tally, int64_t value_ns)
{
	double value = (double)value_ns;

	tally->count++;
	tally->sum += value;
	tally->squares += value * value;
}

static inline double
tally_mean(const struct tally *tally)
{
	return tally->sum / tally->count;
}

/* Infinite below two values. */
double tally_variance(const struct tally *tally);

/* server < 0: all. Nothing of the spells is kept. */
struct points *points_new(const struct spell *spell, unsigned spells, int server);
void points_free(struct points *points);
/*
 * Calls start in the order of their arrival. With this they start as on a
 * server of so many threads that goes from connection to connection, each that
 * has calls waiting once, as Linux does (svc_xprt_enqueue puts one that has
 * more at the end of the line). 0: in the order of their arrival again.
 */
void points_take_turns(struct points *points, uint32_t threads);
/* True when there are connections to take turns. */
bool points_has_lanes(const struct points *points);

static inline int64_t
point_latency_ns(const struct point *point)
{
	return point->departure_ns - point->arrival_ns;
}

/* True for a judged call that has at least so many ahead. */
static inline bool
point_waits(const struct point *point, uint32_t threads)
{
	return point->judged && point->ahead >= threads;
}

/* When its service starts, and how long it takes, with so many threads. */
int64_t points_start_ns(const struct points *points, const struct point *point, uint32_t threads);
int64_t points_service_ns(const struct points *points, const struct point *point, uint32_t threads);

/* The fewest threads that leave next to no call a service below zero; 1 to most_ahead + 1. */
uint32_t points_fewest_threads(const struct points *points);
/* Calls of each class that wait with so many threads; the class with most of them; their services. */
void points_count_waited(const struct points *points, uint32_t threads, uint32_t waited[SERVED_CLASSES]);
uint8_t points_most_waited(const struct points *points, uint32_t threads);
void points_tally_services(const struct points *points, uint32_t threads, struct tally services[SERVED_CLASSES]);

enum { COLLECTED = 8192 };	/* services at most */
/* Latencies of a class's judged calls that have fewer than so many ahead, sorted, into scratch_ns; how many. */
uint32_t points_collect_free(const struct points *points, uint8_t class, uint32_t threads);
/*
 * Services of a class's calls that have at least `least` ahead (of which there
 * are `waited`, about COLLECTED of them evenly; 0: all), with so many threads,
 * into scratch_ns; how many.
 */
uint32_t points_collect_services(const struct points *points, uint8_t class, uint32_t least, uint32_t waited,
    uint32_t threads);
/* The value of that rank; the order of the others is changed. count > 0. */
int64_t points_select_ns(int64_t *value_ns, uint32_t count, uint32_t rank);
/* The rank of a quantile of 0..1. */
uint32_t points_rank(double quantile, uint32_t count);

#endif
