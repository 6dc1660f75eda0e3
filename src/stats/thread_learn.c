#include "stats/thread_learn.h"

#include <glib.h>
#include <math.h>

#include "base/arith.h"

enum {
	ROUNDS = 6,		/* of learning what a free thread takes */
	STEADY_PART = 4,	/* the middle half of the services within a fourth of them */
	LEAST_MEAN = 4,		/* calls that found a free thread, to use their mean */
	LEAST_QUANTILE = 50,	/* such calls, to use their quantiles */
	FINEST_NS = NS_PER_US,	/* differences of services that mean something: this, and */
	FINEST_PART = 200,	/* this part of a service */
	TOO_LONG_PART = 10,	/* of a service: by so much, or by a thread, calls that waited may take longer */
};

#define CHOSEN_FACTOR 1.25

/* The class and quantile that tell the service best, and what it is. */
struct mark {
	uint8_t class;
	double quantile;	/* below 0: the mean */
	int64_t service_ns;
	double error_ns;	/* standard error */
};

/* Tries the quantiles of one class; better than the mark that there is: it takes its place. */
static void
try_class(const struct points *points, uint8_t class, uint32_t threads, const struct tally *waited, struct mark *mark)
{
	static const double quantiles[] = { 0.02, 0.05, 0.1, 0.2 };
	uint32_t count = points_collect_free(points, class, threads);
	struct tally sums = { 0 };
	double error_ns;

	for (uint32_t i = 0; i < count; i++)
		tally_add(&sums, points->scratch_ns[i]);
	if (count >= LEAST_MEAN) {
		/* few of them tell their own spread badly, and may lack what is rare: about Student's factor */
		error_ns = (1 + 2.4 / count) *
		    sqrt(MAX(tally_variance(&sums), tally_variance(waited)) * (1. / count + 1 / waited->count));
		if (error_ns < mark->error_ns)
			*mark = (struct mark){ class, -1, (int64_t)tally_mean(&sums), error_ns };
	}
	for (size_t i = 0; i < G_N_ELEMENTS(quantiles) && count >= LEAST_QUANTILE; i++) {
		double q = quantiles[i];
		double off = 2 * sqrt(q * (1 - q) * (1. / count + 1 / MIN(waited->count, COLLECTED)));

		if (q - off <= 0.5 / count || q + off >= 1)
			continue;
		/* four standard errors, and the best of several such estimates is one that is too good */
		error_ns = (double)(points->scratch_ns[points_rank(q + off, count)] -
		    points->scratch_ns[points_rank(q - off, count)]) / 4 * CHOSEN_FACTOR;
		if (error_ns < mark->error_ns)
			*mark = (struct mark){ class, q, points->scratch_ns[points_rank(q, count)], error_ns };
	}
}

/* What the services have in place of the mark with so many threads. */
static int64_t
counterpart_ns(const struct points *points, const struct mark *mark, uint32_t least, uint32_t waited, uint32_t threads)
{
	uint32_t count = points_collect_services(points, mark->class, least, waited, threads);
	double sum = 0;

	for (uint32_t i = 0; i < count && mark->quantile < 0; i++)
		sum += (double)points->scratch_ns[i];
	if (mark->quantile < 0)
		return (int64_t)(sum / count);
	return points_select_ns(points->scratch_ns, count, points_rank(mark->quantile, count));
}

/* Differences that mean nothing: of clocks, and of what stands around a thread. */
static int64_t
finest_of(int64_t service_ns)
{
	return max_ns(FINEST_NS, service_ns / FINEST_PART);
}

/*
 * The number of threads with which the services of calls that had at least
 * `least` ahead meet the mark, at least `least`; error: its standard error.
 */
static double
meet(const struct points *points, const struct mark *mark, uint32_t least, uint32_t waited, double *error)
{
	uint32_t low = least, high = points->most_ahead + 1;
	int64_t finest_ns = finest_of(mark->service_ns);
	int64_t low_ns = counterpart_ns(points, mark, least, waited, low), high_ns = 0;
	double gap_ns;

	if (low_ns + finest_ns >= mark->service_ns) {
		gap_ns = (double)(counterpart_ns(points, mark, least, waited, low + 1) - low_ns);
		*error = (double)max_ns((int64_t)mark->error_ns, finest_ns) / MAX(gap_ns, 1);
		/* beyond chance: with fewer threads they would be like it, but those the order does not allow */
		if ((double)(low_ns - mark->service_ns) >
		    2 * mark->error_ns + MAX((double)mark->service_ns / TOO_LONG_PART, gap_ns))
			*error = INFINITY;
		return low;
	}
	/* services grow with the threads: the fewest that are enough */
	while (low + 1 < high) {
		uint32_t middle = low + (high - low) / 2;
		int64_t middle_ns = counterpart_ns(points, mark, least, waited, middle);

		if (middle_ns + finest_ns >= mark->service_ns) {
			high = middle;
		} else {
			low = middle;
			low_ns = middle_ns;
		}
	}
	high_ns = counterpart_ns(points, mark, least, waited, high);
	gap_ns = (double)max_ns(high_ns - low_ns, 1);
	*error = (double)max_ns((int64_t)mark->error_ns, finest_ns) / gap_ns;
	return low + MIN((double)(mark->service_ns - low_ns) / gap_ns, 1);
}

/* Of the calls that had fewer than `certain` ahead, for those that had at least `least`. */
static bool
find_mark(const struct points *points, uint32_t least, uint32_t certain, struct mark *mark)
{
	struct tally waited[SERVED_CLASSES];

	points_tally_services(points, least, waited);
	*mark = (struct mark){ .error_ns = INFINITY };
	for (uint8_t class = 0; class < SERVED_OTHERS; class++)
		if (waited[class].count >= LEAST_WAITED)
			try_class(points, class, certain, &waited[class], mark);
	return mark->error_ns < INFINITY;
}

/* True when the services of a class, with so many threads, are nearly all the same. */
static bool
is_steady(const struct points *points, uint8_t class, uint32_t least, uint32_t threads)
{
	uint32_t count = points_collect_services(points, class, least, 0, threads);
	int64_t low_ns = points_select_ns(points->scratch_ns, count, points_rank(0.25, count));
	int64_t high_ns = points_select_ns(points->scratch_ns, count, points_rank(0.75, count));

	return (high_ns - low_ns) * STEADY_PART <= high_ns;
}

/*
 * A few calls that found a free thread tell enough when the services hardly
 * differ: the median of those of the class that waited most.
 */
static bool
find_few(const struct points *points, uint32_t threads, const uint32_t *waited, struct mark *mark)
{
	uint32_t most = 0, count;

	for (uint8_t class = 0; class < SERVED_OTHERS; class++) {
		if (waited[class] < MAX(LEAST_WAITED, most + 1) || (count = points_collect_free(points, class, threads)) == 0)
			continue;
		most = waited[class];
		*mark = (struct mark){ class, -1, points->scratch_ns[count / 2],
		    (double)(points->scratch_ns[count * 3 / 4] - points->scratch_ns[count / 4]) / 2 };
	}
	return most > 0;
}

bool
thread_learn(const struct points *points, uint32_t least, double *threads, double *error)
{
	uint32_t waited[SERVED_CLASSES], certain = least;
	bool found = false;

	points_count_waited(points, least, waited);
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct mark mark;
		double met, met_error;
		uint32_t next;

		if (!find_mark(points, least, certain, &mark)) {
			if (!find_few(points, certain, waited, &mark))
				break;
			met = meet(points, &mark, least, waited[mark.class], &met_error);
			if (!is_steady(points, mark.class, least, (uint32_t)(met + 0.5)))
				break;
		} else {
			met = meet(points, &mark, least, waited[mark.class], &met_error);
		}
		if (found && met_error > *error)
			break;
		found = true;
		*threads = met;
		*error = met_error;
		next = MAX(certain, (uint32_t)MAX(met - 2 * met_error, 0));
		if (next == certain)
			break;
		certain = next;
	}
	return found;
}
