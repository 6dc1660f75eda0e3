#include "stats/thread_points.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#include "base/arith.h"

enum {
	NEGATIVE_PER_MILLE = 1,	/* of the calls that wait: they may be left without time */
	LANE_PART = 50,		/* of the calls: fewer make no lane */
	MOVES = 16,		/* of what is nearly in order, on the average: with more of them it is sorted another way */
};

/* Of the latencies; what takes longer is let go. */
#define NEARLY_ALL 0.995

double
tally_variance(const struct tally *sums)
{
	double mean = tally_mean(sums);

	return sums->count < 2 ? INFINITY :
	    MAX(sums->squares / sums->count - mean * mean, 0) * sums->count / (sums->count - 1);
}

static int
compare_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Of calls in one packet the order is not known: the one that fits best. */
static int
compare_points(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	if (x->arrival_ns != y->arrival_ns)
		return x->arrival_ns < y->arrival_ns ? -1 : 1;
	if (x->departure_ns != y->departure_ns)
		return x->departure_ns < y->departure_ns ? -1 : 1;
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->judged - y->judged) * 2 + (x->pressed - y->pressed);
}

/* They come nearly in order. */
static void
sort_points(struct point *point, uint32_t count)
{
	uint64_t moves_left = (uint64_t)count * MOVES;

	for (uint32_t i = 1; i < count; i++) {
		struct point moved = point[i];
		uint32_t at = i;

		for (; at > 0 && compare_points(&moved, &point[at - 1]) < 0; at--)
			point[at] = point[at - 1];
		point[at] = moved;
		if (i - at > moves_left) {
			qsort(point, count, sizeof *point, compare_points);
			return;
		}
		moves_left -= i - at;
	}
}

static void
sort_ns(int64_t *value_ns, uint32_t count)
{
	uint64_t moves_left = (uint64_t)count * MOVES;

	for (uint32_t i = 1; i < count; i++) {
		int64_t moved_ns = value_ns[i];
		uint32_t at = i;

		for (; at > 0 && moved_ns < value_ns[at - 1]; at--)
			value_ns[at] = value_ns[at - 1];
		value_ns[at] = moved_ns;
		if (i - at > moves_left) {
			qsort(value_ns, count, sizeof *value_ns, compare_ns);
			return;
		}
		moves_left -= i - at;
	}
}

/* The place of the first departure after a time, from `low` on; mostly it is not far from there. */
static uint32_t
left_until(const struct points *points, uint32_t low, uint32_t end, int64_t until_ns)
{
	uint32_t high = low;

	for (uint32_t step = 1; high < end && points->departure_ns[high] <= until_ns; step *= 2) {
		low = high + 1;
		high = end - low > step ? low + step : end;
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (points->departure_ns[middle] <= until_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Adds a spell's calls as they come; where the next one goes. */
static uint32_t
add_calls(struct points *points, const struct spell *spell, int server, uint32_t end)
{
	for (unsigned i = 0; i < spell->count; i++) {
		const struct served *call = &spell->call[i];

		if (server >= 0 && call->server != server)
			continue;
		points->departure_ns[end] = call->arrival_ns + (int64_t)call->latency * SERVED_NS;
		points->point[end] = (struct point){ .arrival_ns = call->arrival_ns,
		    .departure_ns = points->departure_ns[end], .lane = call->lane, .class = call->class,
		    .judged = call->exact, .pressed = call->pressed };
		end++;
	}
	return end;
}

/* The calls of a run stand in the order of their starts: each one's place, and how many are ahead of it. */
static void
place_calls(struct points *points, uint32_t base, uint32_t end)
{
	for (uint32_t at = base; at < end; at++) {
		struct point *point = &points->point[at];

		point->at = at;
		point->ahead = at > point->gone ? at - point->gone : 0;
		points->most_ahead = MAX(points->most_ahead, point->ahead);
	}
}

/* Puts the calls from base on, which came without a gap, into order. */
static void
order_calls(struct points *points, uint32_t base, uint32_t end, bool from_idle)
{
	uint32_t gone = base;
	int64_t first_ns;

	if (end == base)
		return;
	sort_points(points->point + base, end - base);
	sort_ns(points->departure_ns + base, end - base);
	first_ns = from_idle ? INT64_MIN : points->departure_ns[base];
	for (uint32_t at = base; at < end; at++) {
		struct point *point = &points->point[at];

		point->base = base;
		point->end = end;
		point->gone = gone = left_until(points, gone, end, point->arrival_ns);
		point->left = left_until(points, gone, end, point->departure_ns) - 1;
		point->judged = point->judged && point->arrival_ns >= first_ns;
	}
	place_calls(points, base, end);
	points->count = end;
}

static void
add_spells(struct points *points, const struct spell *spell, unsigned spells, int server)
{
	for (unsigned i = 0, next; i < spells; i = next) {
		uint32_t base = points->count, end = base;

		end = add_calls(points, &spell[i], server, end);
		for (next = i + 1; next < spells && spell[next].continues; next++)
			end = add_calls(points, &spell[next], server, end);
		order_calls(points, base, end, spell[i].from_idle);
	}
}

/* Hoare's selection. */
int64_t
points_select_ns(int64_t *value_ns, uint32_t count, uint32_t rank)
{
	uint32_t low = 0, high = count - 1;

	while (low < high) {
		int64_t pivot_ns = value_ns[low + (high - low) / 2];
		uint32_t i = low, j = high;

		for (;;) {
			while (value_ns[i] < pivot_ns)
				i++;
			while (value_ns[j] > pivot_ns)
				j--;
			if (i >= j)
				break;
			int64_t swap_ns = value_ns[i];

			value_ns[i++] = value_ns[j];
			value_ns[j--] = swap_ns;
		}
		if (rank <= j)
			high = j;
		else
			low = j + 1;
	}
	return value_ns[rank];
}

uint32_t
points_rank(double quantile, uint32_t count)
{
	return MIN((uint32_t)(quantile * count), count - 1);
}

/*
 * Of what arrived last in a spell, calls that took long are not here: those
 * that are would speak for short services, and may have been overtaken. Left
 * out is as long a time as nearly all calls take, of the arrivals half at most.
 */
static void
cut_end(struct points *points, uint32_t base, uint32_t end)
{
	uint32_t count = end - base;
	int64_t last_ns;

	for (uint32_t i = 0; i < count; i++)
		points->scratch_ns[i] = point_latency_ns(&points->point[base + i]);
	last_ns = points->departure_ns[end - 1] - points_select_ns(points->scratch_ns, count, points_rank(NEARLY_ALL, count));
	for (uint32_t at = base + count / 2; at < end; at++)
		points->point[at].judged = points->point[at].judged && points->point[at].arrival_ns < last_ns;
}

int64_t
points_start_ns(const struct points *points, const struct point *point, uint32_t threads)
{
	if (point->at < point->base + threads)
		return point->arrival_ns;
	return max_ns(point->arrival_ns, points->departure_ns[point->at - threads]);
}

int64_t
points_service_ns(const struct points *points, const struct point *point, uint32_t threads)
{
	return point->departure_ns - points_start_ns(points, point, threads);
}

/*
 * The fewest threads that leave a call time: it has started when the last
 * departure before its own has taken place, at the latest.
 */
static uint32_t
need_of(const struct point *point)
{
	return point->at >= point->left ? point->at - point->left + 1 : 1;
}

static void
count_needs(struct points *points)
{
	g_free(points->need);
	g_free(points->ahead);
	points->need = g_new0(uint32_t, points->most_ahead + 2);
	points->ahead = g_new0(uint32_t, points->most_ahead + 2);
	for (uint32_t i = 0; i < points->count; i++) {
		const struct point *point = &points->point[i];

		if (!point->judged)
			continue;
		points->need[MIN(need_of(point), points->most_ahead + 1)]++;
		points->ahead[point->ahead]++;
	}
	for (uint32_t n = points->most_ahead; n > 0; n--)
		points->ahead[n - 1] += points->ahead[n];
}

uint32_t
points_fewest_threads(const struct points *points)
{
	uint64_t lacking = 0;
	uint32_t threads = points->most_ahead + 1;

	while (threads > 1) {
		lacking += points->need[threads];
		if (lacking > 1 + (uint64_t)points->ahead[threads - 1] * NEGATIVE_PER_MILLE / 1000)
			break;
		threads--;
	}
	return threads;
}

struct points *
points_new(const struct spell *spell, unsigned spells, int server)
{
	struct points *points = g_new0(struct points, 1);
	size_t calls = 0;

	for (unsigned i = 0; i < spells; i++)
		calls += spell[i].count;
	points->point = g_new(struct point, calls + 1);
	points->departure_ns = g_new(int64_t, calls + 1);
	points->scratch_ns = g_new(int64_t, calls + 1);
	add_spells(points, spell, spells, server);
	for (uint32_t base = 0; base < points->count; base = points->point[base].end)
		cut_end(points, base, points->point[base].end);
	count_needs(points);
	return points;
}

/* Lanes with calls that wait, in turn; of each its calls in order of arrival, by place. */
struct turns {
	uint32_t first[SERVED_LANES], last[SERVED_LANES];	/* UINT32_MAX: none */
	uint32_t *next;				/* call of the same lane, by place */
	uint16_t lane[SERVED_LANES];			/* a ring of those that wait */
	unsigned begin, waiting;
};

static void
turns_put(struct turns *turns, uint32_t at, uint16_t lane)
{
	turns->next[at] = UINT32_MAX;
	if (turns->first[lane] == UINT32_MAX) {
		turns->first[lane] = at;
		turns->lane[(turns->begin + turns->waiting++) % SERVED_LANES] = lane;
	} else {
		turns->next[turns->last[lane]] = at;
	}
	turns->last[lane] = at;
}

static uint32_t
turns_take(struct turns *turns)
{
	uint16_t lane = turns->lane[turns->begin];
	uint32_t at = turns->first[lane];

	turns->begin = (turns->begin + 1) % SERVED_LANES;
	turns->waiting--;
	turns->first[lane] = turns->next[at];
	if (turns->first[lane] != UINT32_MAX)
		turns->lane[(turns->begin + turns->waiting++) % SERVED_LANES] = lane;
	return at;
}

/* Puts a run, arrived, into the order in which its calls would start. */
static void
turn_calls(struct points *points, uint32_t base, uint32_t end, uint32_t threads, struct turns *turns)
{
	const struct point *arrived = points->arrived;

	uint32_t come = base, gone = base, started = base;

	memset(turns->first, 0xff, sizeof turns->first);
	turns->begin = turns->waiting = 0;
	while (come < end || turns->waiting > 0) {
		if (come < end && (gone == end || arrived[come].arrival_ns < points->departure_ns[gone])) {
			turns_put(turns, come, arrived[come].lane);
			come++;
		} else {
			gone += gone < end;
		}
		while (turns->waiting > 0 && (started < gone + threads || gone == end))
			points->point[started++] = arrived[turns_take(turns)];
	}
}

void
points_take_turns(struct points *points, uint32_t threads)
{
	size_t bytes = points->count * sizeof *points->point;
	struct turns turns;

	if (points->arrived == NULL) {
		points->arrived = g_new(struct point, points->count + 1);
		memcpy(points->arrived, points->point, bytes);
	}
	if (threads == 0)
		memcpy(points->point, points->arrived, bytes);
	points->most_ahead = 0;
	turns.next = g_new(uint32_t, points->count + 1);
	for (uint32_t base = 0; base < points->count; base = points->arrived[base].end) {
		uint32_t end = points->arrived[base].end;

		if (threads > 0)
			turn_calls(points, base, end, threads, &turns);
		place_calls(points, base, end);
	}
	g_free(turns.next);
	count_needs(points);
}

bool
points_has_lanes(const struct points *points)
{
	uint32_t calls[SERVED_LANES] = { 0 }, lanes = 0;

	for (uint32_t i = 0; i < points->count; i++)
		lanes += ++calls[points->point[i].lane] == points->count / LANE_PART + 1;
	return lanes > 1;
}

void
points_free(struct points *points)
{
	g_free(points->point);
	g_free(points->arrived);
	g_free(points->departure_ns);
	g_free(points->scratch_ns);
	g_free(points->need);
	g_free(points->ahead);
	g_free(points);
}

void
points_count_waited(const struct points *points, uint32_t threads, uint32_t waited[SERVED_CLASSES])
{
	memset(waited, 0, SERVED_CLASSES * sizeof *waited);
	for (uint32_t i = 0; i < points->count; i++)
		if (point_waits(&points->point[i], threads))
			waited[points->point[i].class]++;
}

uint8_t
points_most_waited(const struct points *points, uint32_t threads)
{
	uint32_t waited[SERVED_CLASSES];
	uint8_t class = 0;

	points_count_waited(points, threads, waited);
	for (uint8_t i = 1; i < SERVED_OTHERS; i++)
		class = waited[i] > waited[class] ? i : class;
	return class;
}

void
points_tally_services(const struct points *points, uint32_t threads, struct tally services[SERVED_CLASSES])
{
	memset(services, 0, SERVED_CLASSES * sizeof *services);
	for (uint32_t i = 0; i < points->count; i++)
		if (point_waits(&points->point[i], threads))
			tally_add(&services[points->point[i].class], points_service_ns(points, &points->point[i], threads));
}

uint32_t
points_collect_free(const struct points *points, uint8_t class, uint32_t threads)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < points->count; i++) {
		const struct point *point = &points->point[i];

		if (point->judged && point->class == class && point->ahead < threads)
			points->scratch_ns[count++] = point_latency_ns(point);
	}
	qsort(points->scratch_ns, count, sizeof *points->scratch_ns, compare_ns);
	return count;
}

uint32_t
points_collect_services(const struct points *points, uint8_t class, uint32_t least, uint32_t waited, uint32_t threads)
{
	uint32_t count = 0, step = waited / COLLECTED + 1, seen = 0;

	for (uint32_t i = 0; i < points->count; i++) {
		const struct point *point = &points->point[i];

		if (point_waits(point, least) && point->class == class && seen++ % step == 0)
			points->scratch_ns[count++] = points_service_ns(points, point, threads);
	}
	return count;
}
