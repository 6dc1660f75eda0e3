#include "correlate/stretch.h"

#include <stddef.h>

#include "base/arith.h"
#include "correlate/pair_bounds.h"

/* So many pairs may say something of the offset at the start: later ones are too far away. */
enum { START_PAIRS = 4096 };
/*
 * With delays that hardly vary nearly every pair would take a little away. What
 * less than this part of the width adds up to is of no use; leaving bounds out
 * is always right.
 */
static const double gain_worth_it = 1.0 / 1024;

void
stretch_init(struct stretch *stretch, const uint64_t change_frame[2])
{
	stretch->start = stretch->end = (struct reach){ 0 };
	stretch->recent = stretch->young = stretch->whole = 0;
	polygon_init(&stretch->line[0]);
	stretch->young_pairs = stretch->whole_pairs = stretch->pairs = 0;
	stretch->generation = 0;
	stretch->least_gain_ns = 0;
	stretch->recent_first_ns = stretch->young_ns = stretch->first_ns = 0;
	stretch->whole_first_ns = stretch->whole_last_ns = 0;
	for (unsigned upper = 0; upper < 2; upper++) {
		stretch->bounds_first_ns[upper] = INT64_MAX;
		stretch->bounds_last_ns[upper] = INT64_MIN;
	}
	stretch->is_bent = stretch->bends = false;
	stretch->follows = change_frame != NULL;
	for (unsigned side = 0; side < 2; side++)
		stretch->change_frame[side] = stretch->follows ? change_frame[side] : 0;
}

bool
stretch_excludes(const struct stretch *stretch, const struct bound *bound, unsigned bounds)
{
	for (unsigned i = 0; i < bounds; i++)
		if (polygon_effect(stretch_recent(stretch), &bound[i]) == BOUND_CONTRADICTS)
			return true;
	return false;
}

/*
 * True when the first bound is tighter than the second at the second's time,
 * after more drift than any clock has: 1/512 is beyond CLOCK_MAX_DRIFT_PPB.
 * Of a lower and an upper bound: true when they exclude each other.
 */
static inline bool
leads(const struct bound *bound, const struct bound *other)
{
	bool is_lower = bound->offset_ns < other->offset_ns;

	return bound->upper == is_lower &&
	    distance_ns(bound->offset_ns, other->offset_ns) > distance_ns(bound->at_ns, other->at_ns) / 512;
}

static void
reach_out(struct stretch *stretch, const struct bound *bound)
{
	struct bound *first = &stretch->start.best[bound->upper], *last = &stretch->end.best[bound->upper];
	int64_t *first_ns = &stretch->bounds_first_ns[bound->upper], *last_ns = &stretch->bounds_last_ns[bound->upper];

	*first_ns = min_ns(*first_ns, bound->at_ns);
	*last_ns = max_ns(*last_ns, bound->at_ns);
	if (!stretch->end.has[bound->upper]) {
		stretch->start.has[bound->upper] = stretch->end.has[bound->upper] = true;
		*first = *last = *bound;
		return;
	}
	if (!leads(last, bound))
		*last = *bound;
	if (stretch->pairs < START_PAIRS && leads(bound, first))
		*first = *bound;
}

bool
stretch_jumps(const struct reach *end, const struct reach *start)
{
	for (unsigned upper = 0; upper < 2; upper++)
		if (end->has[upper] && start->has[!upper] && leads(&end->best[upper], &start->best[!upper]))
			return true;
	return false;
}

/* The next generation has no bounds yet. */
static void
begin_young(struct stretch *stretch)
{
	stretch->young = 0;
	while (stretch->young == stretch->recent || stretch->young == stretch->whole)
		stretch->young++;
	polygon_init(&stretch->line[stretch->young]);
	stretch->young_pairs = 0;
}

/* Counts a pair that was taken in; the next generation takes over when it is old enough. */
static void
count(struct stretch *stretch, const struct op_pair *pair)
{
	int64_t first_ns = pair->op[PAIR_SERVER].call_first_ns, last_ns = pair->op[PAIR_SERVER].reply_last_ns;

	if (stretch->pairs++ == 0)
		stretch->first_ns = stretch->recent_first_ns = first_ns;
	stretch->first_ns = min_ns(stretch->first_ns, first_ns);
	if (stretch->whole_pairs++ == 0) {
		stretch->whole_first_ns = first_ns;
		stretch->whole_last_ns = last_ns;
	}
	stretch->whole_first_ns = min_ns(stretch->whole_first_ns, first_ns);
	stretch->whole_last_ns = max_ns(stretch->whole_last_ns, last_ns);
	if (stretch->young_pairs++ == 0)
		stretch->young_ns = last_ns;
	if (stretch->young_pairs < RECENT_PAIRS || distance_ns(last_ns, stretch->young_ns) < RECENT_NS)
		return;
	if (polygon_known(&stretch->line[stretch->young])) {
		stretch->recent = stretch->young;
		stretch->recent_first_ns = stretch->young_ns;
		stretch->generation++;
	}
	begin_young(stretch);
}

/* Takes in bounds that say something new to the youngest line; false as stretch_learn. */
static bool
cut_lines(struct stretch *stretch, const struct bound *bound, unsigned bounds)
{
	if (!polygon_cut(&stretch->line[stretch->recent], bound, bounds))
		return false;
	if (stretch->young != stretch->recent)
		polygon_cut(&stretch->line[stretch->young], bound, bounds);
	if (stretch->whole != stretch->recent && !stretch->is_bent)
		stretch->is_bent = !polygon_cut(&stretch->line[stretch->whole], bound, bounds);
	stretch->least_gain_ns = gain_worth_it *
	    polygon_width_ns(stretch_recent(stretch), bound[bounds - 1].at_ns);
	return true;
}

bool
stretch_learn(struct stretch *stretch, const struct op_pair *pair, const struct bound *bound, unsigned bounds)
{
	/* Each polygon holds the one before: what is not new to the youngest is new to none. */
	if (!polygon_is_within(&stretch->line[stretch->young], bound, bounds, stretch->least_gain_ns) &&
	    !cut_lines(stretch, bound, bounds))
		return false;
	for (unsigned i = 0; i < bounds; i++)
		reach_out(stretch, &bound[i]);
	count(stretch, pair);
	return true;
}

void
stretch_span(const struct stretch *stretch, int64_t *first_ns, int64_t *last_ns)
{
	*first_ns = max_ns(stretch->bounds_first_ns[0], stretch->bounds_first_ns[1]);
	*last_ns = min_ns(stretch->bounds_last_ns[0], stretch->bounds_last_ns[1]);
	/* Those of one direction ended before those of the other began: that there was no step is taken on trust. */
	*last_ns = max_ns(*last_ns, *first_ns);
}

void
stretch_end_at(struct stretch *stretch, int64_t last_ns)
{
	for (unsigned upper = 0; upper < 2; upper++) {
		stretch->bounds_first_ns[upper] = min_ns(stretch->bounds_first_ns[upper], last_ns);
		stretch->bounds_last_ns[upper] = min_ns(stretch->bounds_last_ns[upper], last_ns);
	}
}

void
stretch_rewind(struct stretch *stretch, const struct polygon *recent, const struct polygon *whole)
{
	stretch->recent = 0;
	stretch->whole = 1;
	polygon_copy(&stretch->line[0], recent);
	polygon_copy(&stretch->line[1], whole);
	begin_young(stretch);
}

void
stretch_cut(struct stretch *stretch, const struct bound *bound, unsigned bounds)
{
	polygon_cut(&stretch->line[stretch->recent], bound, bounds);
	polygon_cut(&stretch->line[stretch->whole], bound, bounds);
}

void
stretch_straighten(struct stretch *stretch)
{
	stretch->whole = stretch->recent;
	stretch->whole_first_ns = stretch->recent_first_ns;
	for (unsigned upper = 0; upper < 2; upper++)
		stretch->bounds_first_ns[upper] = max_ns(stretch->bounds_first_ns[upper], stretch->recent_first_ns);
	stretch->whole_pairs = stretch->young_pairs;
	stretch->is_bent = false;
}
