#include "correlate/stretch.h"

#include <stddef.h>

#include "base/arith.h"
#include "correlate/pair_bounds.h"

void
stretch_init(struct stretch *stretch, const uint64_t change_frame[2])
{
	polygon_init(&stretch->recent);
	polygon_init(&stretch->young);
	polygon_init(&stretch->whole);
	stretch->young_pairs = stretch->whole_pairs = stretch->pairs = 0;
	stretch->young_ns = stretch->whole_first_ns = stretch->whole_last_ns = stretch->first_ns = 0;
	stretch->is_bent = stretch->bends = false;
	stretch->follows = change_frame != NULL;
	for (unsigned side = 0; side < 2; side++)
		stretch->change_frame[side] = stretch->follows ? change_frame[side] : 0;
}

bool
is_behind(const struct op_pair *pair, const uint64_t frame[2])
{
	return pair->op[PAIR_SERVER].call_frame > frame[PAIR_SERVER] &&
	    pair->op[PAIR_CLIENT].call_frame > frame[PAIR_CLIENT];
}

bool
stretch_holds(const struct stretch *stretch, const struct op_pair *pair)
{
	return !stretch->follows || is_behind(pair, stretch->change_frame);
}

bool
stretch_excludes(const struct stretch *stretch, const struct bound *bound, unsigned bounds)
{
	for (unsigned i = 0; i < bounds; i++)
		if (polygon_effect(&stretch->recent, &bound[i]) == BOUND_CONTRADICTS)
			return true;
	return false;
}

/* Counts a pair that was taken in; the next generation takes over when it is old enough. */
static void
count(struct stretch *stretch, const struct op_pair *pair)
{
	int64_t first_ns = pair->op[PAIR_SERVER].call_first_ns, last_ns = pair->op[PAIR_SERVER].reply_last_ns;

	if (stretch->pairs++ == 0)
		stretch->first_ns = first_ns;
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
	if (polygon_known(&stretch->young))
		polygon_copy(&stretch->recent, &stretch->young);
	polygon_init(&stretch->young);
	stretch->young_pairs = 0;
}

bool
stretch_learn(struct stretch *stretch, const struct op_pair *pair, const struct bound *bound, unsigned bounds)
{
	/* Each polygon holds the one before: what is not new to the youngest is new to none. */
	if (!polygon_is_within(&stretch->young, bound, bounds)) {
		if (!polygon_cut(&stretch->recent, bound, bounds))
			return false;
		polygon_cut(&stretch->young, bound, bounds);
		if (!stretch->is_bent)
			stretch->is_bent = !polygon_cut(&stretch->whole, bound, bounds);
	}
	count(stretch, pair);
	return true;
}

void
stretch_straighten(struct stretch *stretch)
{
	polygon_copy(&stretch->whole, &stretch->recent);
	stretch->whole_first_ns = stretch->young_ns;
	stretch->whole_last_ns = max_ns(stretch->whole_first_ns, stretch->whole_last_ns);
	stretch->whole_pairs = stretch->young_pairs;
	stretch->is_bent = false;
}
