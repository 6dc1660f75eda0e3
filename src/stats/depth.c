#include "stats/depth.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#include "base/arith.h"

enum {
	EXACT_BITS = 8,
	OCTAVE_BITS = 5,
	OCTAVE = 1 << OCTAVE_BITS,
	PLACES = 256,			/* remembered at once */
	USUAL_SHIFT = 4,
	PPM = 1000000,
	EXCESS_PPM = 1000,		/* of the busy time, above a flat top */
	FLAT_PPM = 500000,		/* of the busy time, nine tenths of the top held */
	/* or less of it, with nearly all calls: bursts, and what is left of them takes long */
	BURSTS_PPM = 200000,
	BURSTS_CALLS_PPM = 800000,	/* of the calls began there */
	FULL_PPM = 50000,		/* of the busy time, all of it held */
	REUSED_PPM = 500000,		/* of the calls that began there */
	TOP_CALLS = 20,			/* that began there, at least */
	KNEE_PPM = 1500000,
	ERRORS = 4,			/* standard errors, of few calls often, that a growth must be above */
	KNEE_CALLS = 16,		/* of a group, or of several joined */
	LOG_BITS = 8,
	LOG_ONE = 1 << LOG_BITS,
};

G_STATIC_ASSERT(DEPTH_EXACT == 1 << EXACT_BITS);

struct depth_place {
	int64_t free_ns, until_ns;
};

/* Clocks may say anything: a sum stops at its end. */
static inline void
add_ns(int64_t *sum_ns, int64_t ns)
{
	int64_t sum;

	if (G_UNLIKELY(__builtin_add_overflow(*sum_ns, ns, &sum)))
		sum = INT64_MAX;
	*sum_ns = sum;
}

/* ---- levels ---- */

static uint32_t
level_of(uint32_t depth)
{
	uint32_t shift;

	if (depth < DEPTH_EXACT)
		return depth;
	shift = 31u - (uint32_t)__builtin_clz(depth) - OCTAVE_BITS;
	return DEPTH_EXACT + (shift - (EXACT_BITS - OCTAVE_BITS)) * OCTAVE + (depth >> shift) - OCTAVE;
}

uint32_t
depth_of_level(uint32_t level)
{
	uint32_t above;

	if (level < DEPTH_EXACT)
		return level;
	above = level - DEPTH_EXACT;
	return (OCTAVE + above % OCTAVE) << (above / OCTAVE + EXACT_BITS - OCTAVE_BITS);
}

static void
levels_reach(struct depth *depth, uint32_t level)
{
	uint32_t levels = MAX(8, depth->levels);

	while (levels <= level)
		levels *= 2;
	depth->level = g_renew(struct depth_level, depth->level, levels);
	memset(depth->level + depth->levels, 0, (levels - depth->levels) * sizeof(*depth->level));
	depth->levels = levels;
	depth->room = depth_of_level(levels) - 1;
}

/* Before it begins, a call has made sure that its level is there. */
static inline struct depth_level *
level_at(const struct depth *depth, uint32_t count)
{
	return &depth->level[level_of(count)];
}

/* ---- places ---- */

static inline struct depth_place *
place_at(const struct depth *depth, uint32_t number)
{
	return &depth->place[number & (depth->place_room - 1)];
}

static inline bool
has_places(const struct depth *depth)
{
	return depth->first_place != depth->next_place;
}

static void
places_grow(struct depth *depth)
{
	uint32_t room = MAX(4, 2 * depth->place_room), count = depth->next_place - depth->first_place;
	struct depth_place *place = g_new(struct depth_place, room);

	for (uint32_t i = 0; i < count; i++)
		place[i] = *place_at(depth, depth->first_place + i);
	g_free(depth->place);
	depth->place = place;
	depth->place_room = room;
	depth->first_place = 0;
	depth->next_place = count;
}

/* The level's time goes on until now. */
static inline void
level_until(struct depth *depth, int64_t ns)
{
	if (ns <= depth->level_ns)
		return;
	add_ns(&level_at(depth, depth->held)->time_ns, ns - depth->level_ns);
	depth->level_ns = ns;
}

/* Places that nobody took for long enough are free. */
static void
places_expire(struct depth *depth, int64_t now_ns)
{
	while (has_places(depth) && place_at(depth, depth->first_place)->until_ns <= now_ns) {
		level_until(depth, place_at(depth, depth->first_place)->until_ns);
		depth->held--;
		depth->first_place++;
	}
}

/* One more can be remembered. */
static G_GNUC_NO_INLINE void
places_room(struct depth *depth, int64_t now_ns)
{
	if (depth->place_room < PLACES) {
		places_grow(depth);
		return;
	}
	level_until(depth, now_ns);
	depth->held--;
	depth->first_place++;
}

static inline void
place_free(struct depth *depth, int64_t now_ns)
{
	int64_t until_ns = now_ns + depth->hold_ns;
	struct depth_place *place;

	/* in order, although what is usual changes */
	if (has_places(depth))
		until_ns = max_ns(until_ns, depth->until_ns);
	place = place_at(depth, depth->next_place++);
	place->free_ns = now_ns;
	place->until_ns = depth->until_ns = until_ns;
}

/* Not if places have to expire first. */
static inline bool
take_place(struct depth *depth, int64_t now_ns)
{
	struct depth_level *level;

	if (has_places(depth)) {
		const struct depth_place *place = place_at(depth, depth->first_place);

		if (G_UNLIKELY(place->until_ns <= now_ns))
			return false;
		depth->first_place++;
		level = level_at(depth, depth->held);
		level->reused++;
		add_ns(&level->reuse_ns, now_ns - place->free_ns);
	} else {
		level_until(depth, now_ns);
		level = level_at(depth, ++depth->held);
	}
	level->begun++;
	return true;
}

/* ---- events ---- */

/* Time begins, or goes on where the clock was set back to. */
static void
begin_time(struct depth *depth, int64_t now_ns)
{
	add_ns(&depth->span_ns, depth->last_ns - depth->first_ns);
	depth->first_ns = depth->last_ns = depth->level_ns = now_ns;
	depth->held -= depth->next_place - depth->first_place;
	depth->first_place = depth->next_place;
}

/* 256 times the logarithm to base 2; inside an octave a line stands for it, which is off by 0.09 at most. */
static inline uint64_t
log_of(int64_t ns)
{
	uint64_t value = (uint64_t)ns, octave;

	if (G_UNLIKELY(ns <= 0))
		return 0;
	octave = 63u - (unsigned)__builtin_clzll(value);
	/* the first bit counts as an octave */
	return octave * LOG_ONE - LOG_ONE + ((value << (63 - octave)) >> (63 - LOG_BITS));
}

static inline void
level_note(struct depth_level *level, unsigned kind, int64_t latency_ns)
{
	uint64_t log = log_of(latency_ns);

	level->timed[kind]++;
	level->log_sum[kind] += log;
	level->log_squares[kind] += log * log;
	add_ns(&level->latency_ns, latency_ns);
}

static inline void
note_usual(struct depth *depth, int64_t latency_ns)
{
	depth->usual_ns += depth->usual_ns == 0 ? latency_ns : (latency_ns - depth->usual_ns) >> USUAL_SHIFT;
	depth->hold_ns = min_ns(DEPTH_REUSE_NS, depth->usual_ns >> 1);
}

static G_GNUC_NO_INLINE void
make_ready(struct depth *depth, int64_t at_ns)
{
	uint32_t level;

	if (depth->calls == 0 || at_ns < depth->last_ns)
		begin_time(depth, at_ns);
	places_expire(depth, at_ns);
	level = level_of(MAX(depth->in_flight, depth->held) + 1);
	if (level >= depth->levels)
		levels_reach(depth, level);
}

static G_GNUC_NO_INLINE void
begin_unready(struct depth *depth, int64_t at_ns, unsigned kind, int64_t latency_ns)
{
	make_ready(depth, at_ns);
	depth_begin(depth, at_ns, kind, latency_ns);
}

/* What of a depth changes with each event, while it goes through a run. */
struct followed {
	struct depth *depth;
	int64_t from_ns, last_ns;
	uint32_t in_flight, max;
	__int128 sum_ns;
};

/* The time with so many calls in flight goes on. */
static inline struct depth_level *
time_goes_on(struct followed *followed, int64_t at_ns)
{
	struct depth_level *level = level_at(followed->depth, followed->in_flight);

	add_ns(&level->time_ns, at_ns - followed->last_ns);
	followed->last_ns = at_ns;
	return level;
}

static inline void
follow_begin(void *context, const struct sweep_event *begin)
{
	struct followed *followed = context;
	struct depth *depth = followed->depth;

	if (G_UNLIKELY(followed->in_flight >= depth->room || begin->at_ns < followed->last_ns)) {
		depth->in_flight = followed->in_flight;
		depth->last_ns = followed->last_ns;
		make_ready(depth, begin->at_ns);
		followed->last_ns = depth->last_ns;
	}
	time_goes_on(followed, begin->at_ns);
	depth->calls++;
	followed->sum_ns -= begin->at_ns;
	followed->in_flight++;
	followed->max = MAX(followed->max, followed->in_flight);
	if (G_LIKELY(begin->end_ns != SWEEP_OPEN && begin->at_ns != followed->from_ns))
		level_note(level_at(depth, followed->in_flight), begin->tag >> SWEEP_RANK_SHIFT, begin->end_ns - begin->at_ns);
}

static inline void
follow_end(void *context, const struct sweep_event *end)
{
	struct followed *followed = context;

	if (G_LIKELY(end->at_ns > followed->last_ns))
		time_goes_on(followed, end->at_ns);
	followed->sum_ns += end->at_ns;
	followed->in_flight--;
}

void
depth_follow(struct depth *depth, const struct sweep_run *run, int64_t from_ns)
{
	struct followed followed = {
		.depth = depth, .from_ns = from_ns, .last_ns = depth->last_ns,
		.in_flight = depth->in_flight, .max = depth->max, .sum_ns = depth->sum_ns,
	};

	sweep_each(run, follow_begin, follow_end, &followed);
	depth->last_ns = followed.last_ns;
	depth->in_flight = followed.in_flight;
	depth->max = followed.max;
	depth->sum_ns = followed.sum_ns;
}

static G_GNUC_NO_INLINE void
begin_by_calls(struct depth *depth, int64_t at_ns, unsigned kind, int64_t latency_ns)
{
	const struct sweep_event begin = {
		.at_ns = at_ns,
		.end_ns = latency_ns < 0 ? SWEEP_OPEN : at_ns + latency_ns,
		.tag = (uint64_t)kind << SWEEP_RANK_SHIFT,
	};

	depth_follow(depth, &(struct sweep_run){ .begin = &begin, .begin_stop = &begin + 1 }, INT64_MIN);
}

static G_GNUC_NO_INLINE void
end_by_calls(struct depth *depth, int64_t at_ns)
{
	const struct sweep_event end = { .at_ns = at_ns };

	depth_follow(depth, &(struct sweep_run){ .end = &end, .end_stop = &end + 1 }, INT64_MIN);
}

void
depth_begin(struct depth *depth, int64_t at_ns, unsigned kind, int64_t latency_ns)
{
	if (G_UNLIKELY(depth->by_calls)) {
		begin_by_calls(depth, at_ns, kind, latency_ns);
		return;
	}
	/* not below in_flight */
	if (G_UNLIKELY(depth->held >= depth->room || at_ns < depth->last_ns || !take_place(depth, at_ns))) {
		begin_unready(depth, at_ns, kind, latency_ns);
		return;
	}
	if (depth->in_flight == 0)
		add_ns(&depth->idle_ns, at_ns - depth->last_ns);
	depth->last_ns = at_ns;
	depth->calls++;
	depth->sum_ns -= at_ns;
	if (G_UNLIKELY(++depth->in_flight > depth->max))
		depth->max = depth->in_flight;
	if (G_UNLIKELY(latency_ns < 0))
		return;
	level_note(level_at(depth, depth->in_flight), kind, latency_ns);
	note_usual(depth, latency_ns);
}

void
depth_end(struct depth *depth, int64_t at_ns)
{
	if (G_UNLIKELY(depth->by_calls)) {
		end_by_calls(depth, at_ns);
		return;
	}
	if (G_UNLIKELY(depth->next_place - depth->first_place == depth->place_room))
		places_room(depth, at_ns);
	place_free(depth, at_ns);
	depth->last_ns = max_ns(depth->last_ns, at_ns);
	depth->sum_ns += at_ns;
	depth->in_flight--;
}

void
depth_missed(struct depth *depth, int64_t part_ns)
{
	depth->sum_ns += part_ns;
}

void
depth_finish(struct depth *depth)
{
	if (depth->by_calls) {
		depth->idle_ns = depth->levels > 0 ? depth->level[0].time_ns : 0;
	} else {
		places_expire(depth, depth->last_ns);
		level_until(depth, depth->last_ns);
	}
	begin_time(depth, depth->last_ns);
	g_free(depth->place);
	depth->place = NULL;
	depth->place_room = depth->first_place = depth->next_place = 0;
}

void
depth_merge(struct depth *into, const struct depth *from)
{
	into->calls += from->calls;
	into->max = MAX(into->max, from->max);
	into->by_calls = from->by_calls;
	add_ns(&into->span_ns, from->span_ns);
	add_ns(&into->idle_ns, from->idle_ns);
	into->sum_ns += from->sum_ns;
	if (from->levels > into->levels)
		levels_reach(into, from->levels - 1);
	for (uint32_t i = 0; i < from->levels; i++) {
		struct depth_level *level = &into->level[i];
		const struct depth_level *more = &from->level[i];

		add_ns(&level->time_ns, more->time_ns);
		level->begun += more->begun;
		level->reused += more->reused;
		add_ns(&level->reuse_ns, more->reuse_ns);
		add_ns(&level->latency_ns, more->latency_ns);
		for (unsigned kind = 0; kind < DEPTH_KINDS; kind++) {
			level->timed[kind] += more->timed[kind];
			level->log_sum[kind] += more->log_sum[kind];
			level->log_squares[kind] += more->log_squares[kind];
		}
	}
}

void
depth_copy(struct depth *copy, const struct depth *depth)
{
	*copy = *depth;
	copy->level = g_memdup2(depth->level, depth->levels * sizeof(*depth->level));
	copy->place = g_memdup2(depth->place, depth->place_room * sizeof(*depth->place));
}

void
depth_clear(struct depth *depth)
{
	g_free(depth->level);
	g_free(depth->place);
	*depth = (struct depth){ 0 };
}

/* ---- what it shows ---- */

bool
depth_mean(const struct depth *depth, double *mean)
{
	if (depth->span_ns <= 0)
		return false;
	*mean = (double)depth->sum_ns / (double)depth->span_ns;
	return true;
}

int64_t
depth_busy_ns(const struct depth *depth)
{
	return depth->span_ns - depth->idle_ns;
}

/* Time with so many at least. */
static double
time_from(const struct depth *depth, uint32_t count)
{
	double time_ns = 0;

	for (uint32_t i = level_of(count); i < depth->levels; i++)
		time_ns += (double)depth->level[i].time_ns;
	return time_ns;
}

double
depth_share_above(const struct depth *depth, uint32_t count)
{
	double busy_ns = time_from(depth, 1);

	return busy_ns > 0 ? time_from(depth, count + 1) / busy_ns : 0;
}

bool
depth_plateau(const struct depth *depth, uint32_t least, struct depth_plateau *plateau)
{
	double busy_ns = time_from(depth, 1), full_ns;
	uint32_t top = depth->max, near;
	uint64_t begun = 0, reused = 0;
	int64_t reuse_ns = 0;

	while (top > least && time_from(depth, top) * PPM < busy_ns * EXCESS_PPM)
		top--;
	if (depth->by_calls || top < least || busy_ns <= 0)
		return false;
	near = top - top / 10;
	full_ns = time_from(depth, top);
	for (uint32_t i = level_of(near); i < depth->levels; i++) {
		begun += depth->level[i].begun;
		reused += depth->level[i].reused;
		add_ns(&reuse_ns, depth->level[i].reuse_ns);
	}
	if (begun < TOP_CALLS || (double)reused * PPM < (double)begun * REUSED_PPM)
		return false;
	*plateau = (struct depth_plateau){
		.top = top,
		.share = time_from(depth, near) / busy_ns,
		.reused = (double)reused / (double)begun,
		.reuse_ns = reuse_ns / (int64_t)reused,
	};
	if (full_ns * PPM < busy_ns * FULL_PPM)
		return false;
	return plateau->share * PPM >= FLAT_PPM ||
	    (plateau->share * PPM >= BURSTS_PPM && (double)begun * PPM >= (double)depth->calls * BURSTS_CALLS_PPM);
}

/* Latencies of one kind over a range of levels: their logarithms. */
struct logs {
	uint64_t count;
	double mean, error2;	/* error2: the squared standard error of the mean */
};

static void
logs_set(struct logs *logs, uint64_t sum, uint64_t squares)
{
	double n = (double)logs->count;

	logs->mean = (double)sum / n;
	logs->error2 = MAX((double)squares / n - logs->mean * logs->mean, 0) / n;
}

static struct logs
logs_in(const struct depth *depth, unsigned kind, uint32_t from, uint32_t to)
{
	struct logs logs = { 0 };
	uint64_t sum = 0, squares = 0;

	for (uint32_t i = level_of(from); i <= level_of(to) && i < depth->levels; i++) {
		logs.count += depth->level[i].timed[kind];
		sum += depth->level[i].log_sum[kind];
		squares += depth->level[i].log_squares[kind];
	}
	if (logs.count > 0)
		logs_set(&logs, sum, squares);
	return logs;
}

/* At few calls in flight: the fewest that enough calls are known of, up to a limit. */
static bool
base_logs(const struct depth *depth, unsigned kind, uint32_t limit, struct logs *logs)
{
	uint64_t sum = 0, squares = 0;

	*logs = (struct logs){ 0 };
	for (uint32_t i = 1; logs->count < DEPTH_BASE_CALLS; i++) {
		if (i >= depth->levels || depth_of_level(i) > limit)
			return false;
		logs->count += depth->level[i].timed[kind];
		sum += depth->level[i].log_sum[kind];
		squares += depth->level[i].log_squares[kind];
	}
	logs_set(logs, sum, squares);
	return true;
}

/* Latency over a range of depths against that at few, up to limit; on how many calls it rests, 0 if not on half. */
static uint64_t
compare_with_base(const struct depth *depth, uint32_t from, uint32_t to, uint32_t limit, struct depth_growth *growth)
{
	double sum = 0, error2 = 0, n;
	uint64_t calls = 0, all = 0;

	for (unsigned kind = 0; kind < DEPTH_KINDS; kind++) {
		struct logs logs = logs_in(depth, kind, from, to), base;

		all += logs.count;
		if (logs.count == 0 || !base_logs(depth, kind, limit, &base))
			continue;
		n = (double)logs.count;
		calls += logs.count;
		sum += n * (logs.mean - base.mean);
		error2 += n * n * (logs.error2 + base.error2);
	}
	if (calls == 0 || calls < all / 2)
		return 0;
	n = (double)calls;
	growth->ratio = exp2(sum / n / LOG_ONE);
	growth->least = exp2((sum - ERRORS * sqrt(error2)) / n / LOG_ONE);
	return calls;
}

bool
depth_growth(const struct depth *depth, uint32_t many, struct depth_growth *growth)
{
	uint32_t limit = MIN(depth->max / 2, MAX(many, 2) - 1);

	return compare_with_base(depth, many, depth->max, limit, growth) >= DEPTH_CALLS;
}

static uint32_t
group_end(uint32_t from)
{
	uint64_t octave = 1, end;

	/* groups end at 1, 2, 3, 4, 6, 8, 12, 16, ... 192, and before 256, 384, ..., where levels begin */
	while (octave < from + (from >= DEPTH_EXACT))
		octave *= 2;
	end = octave - octave / 4;
	if (octave < 4 || end < from + (from >= DEPTH_EXACT))
		end = octave;
	return (uint32_t)(end < DEPTH_EXACT ? end : end - 1);
}

unsigned
depth_groups(const struct depth *depth, struct depth_group group[DEPTH_GROUPS])
{
	double busy_ns = time_from(depth, 1);
	unsigned count = 0;

	for (uint32_t from = 1, to; from <= depth->max && count < DEPTH_GROUPS; from = to + 1) {
		struct depth_group *next = &group[count++];
		double time_ns = 0;
		int64_t latency_ns = 0;

		to = MIN(group_end(from), depth->max);
		*next = (struct depth_group){ .from = from, .to = to };
		for (uint32_t i = level_of(from); i <= level_of(to) && i < depth->levels; i++) {
			time_ns += (double)depth->level[i].time_ns;
			add_ns(&latency_ns, depth->level[i].latency_ns);
			for (unsigned kind = 0; kind < DEPTH_KINDS; kind++)
				next->calls += depth->level[i].timed[kind];
		}
		next->share = busy_ns > 0 ? time_ns / busy_ns : 0;
		next->latency_ns = next->calls > 0 ? latency_ns / (int64_t)next->calls : 0;
	}
	return count;
}

uint32_t
depth_knee(const struct depth *depth)
{
	uint32_t knee = 0;

	for (uint32_t from = 1, to = 0; to < depth->max; from = to + 1) {
		struct depth_growth growth = { 0 };
		uint64_t calls;

		to = from - 1;
		do {
			to = MIN(group_end(to + 1), depth->max);
			calls = compare_with_base(depth, from, to, depth->max / 2, &growth);
		} while (calls < KNEE_CALLS && to < depth->max);
		if (calls < KNEE_CALLS)
			break;
		if (growth.ratio * PPM < KNEE_PPM)
			knee = 0;
		else if (knee == 0 && growth.least > 1)
			knee = from;
	}
	return knee;
}
