#include "correlate/polygon.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#include "correlate/clock.h"

/*
 * Corners are always the meeting point of two stored lines, never derived from
 * other corners, so errors do not add up over millions of cuts. With times
 * within some years of the reference and offsets within hours of it, a corner
 * is good to well below a nanosecond; the two constants cover that and what
 * larger numbers lose.
 */
static const double slack_ns = 1;
static const double rounding = 0x1p-50;
static const double slope_max = CLOCK_MAX_DRIFT_PPB * 1e-9;
/*
 * A band goes on for that long behind the time that asked for it, and began a
 * quarter of it before: stamps come nearly in order. One that is too wide to
 * show what the corners do is followed by one of half the length, one that
 * lasts by a somewhat longer one.
 */
static const double band_least_ns = 0x1p18, band_most_ns = 0x1p26, band_growth = 1.125;

/* A strip has no times or offsets farther away, so that none of them is rounded. */
static const double strip_most = 0x1p50;

/* a - b, kept within the range. */
static double
difference(int64_t a, int64_t b)
{
	int64_t result;

	if (__builtin_sub_overflow(a, b, &result))
		return a < b ? -0x1p63 : 0x1p63;
	return (double)result;
}

/* What a double of this size at this distance may be off by. */
static double
lost_ns(double at, double value)
{
	return rounding * (fabs(at) * slope_max + fabs(value));
}

static struct polygon_line
line_of(const struct polygon *polygon, const struct bound *bound)
{
	struct polygon_line line = {
		.at = difference(bound->at_ns, polygon->reference_ns),
		.limit = difference(bound->offset_ns, polygon->reference_offset_ns),
		.upper = bound->upper,
	};
	double slack = slack_ns + lost_ns(line.at, line.limit);

	line.limit += bound->upper ? slack : -slack;
	return line;
}

static void
forget_band(struct polygon *polygon)
{
	polygon->band = (struct polygon_band){ 0 };
	polygon->strip = (struct polygon_strip){ 0 };
}

void
polygon_init(struct polygon *polygon)
{
	polygon->corners = 0;
	polygon->has[0] = polygon->has[1] = false;
	forget_band(polygon);
	polygon->band_reach = band_most_ns;
	polygon->band_is_old = true;
}

void
polygon_copy(struct polygon *to, const struct polygon *from)
{
	unsigned n = from->corners;

	to->reference_ns = from->reference_ns;
	to->reference_offset_ns = from->reference_offset_ns;
	to->corners = n;
	for (unsigned upper = 0; upper < 2; upper++) {
		to->has[upper] = from->has[upper];
		if (from->has[upper])
			to->first[upper] = from->first[upper];
	}
	memcpy(to->corner, from->corner, n * sizeof to->corner[0]);
	to->band = from->band;
	to->strip = from->strip;
	to->band_reach = from->band_reach;
	to->band_is_old = from->band_is_old;
}

bool
polygon_known(const struct polygon *polygon)
{
	return polygon->corners > 0;
}

/* What the line that the corner stands for says of a time. */
static inline double
value_at(const struct polygon_corner *corner, double at)
{
	return corner->a + corner->b * at;
}

/* The least and the greatest value at one time. */
static void
extent(const struct polygon *polygon, double at, double *low, double *high)
{
	double least = value_at(&polygon->corner[0], at), greatest = least;

	for (unsigned i = 1; i < polygon->corners; i++) {
		double value = value_at(&polygon->corner[i], at);

		least = least < value ? least : value;
		greatest = greatest > value ? greatest : value;
	}
	*low = least;
	*high = greatest;
}

/* The lowest offset is concave in time and the highest one convex, so the chords are outside. */
static void
band_build(struct polygon_band *band, const struct polygon *polygon, double from, double to)
{
	double low = value_at(&polygon->corner[0], from), high = low;
	double to_low = value_at(&polygon->corner[0], to), to_high = to_low;

	for (unsigned i = 1; i < polygon->corners; i++) {
		double value = value_at(&polygon->corner[i], from), to_value = value_at(&polygon->corner[i], to);

		low = low < value ? low : value;
		high = high > value ? high : value;
		to_low = to_low < to_value ? to_low : to_value;
		to_high = to_high > to_value ? to_high : to_value;
	}
	*band = (struct polygon_band){ from, to, low, (to_low - low) / (to - from), high,
	    (to_high - high) / (to - from) };
}

static bool
band_covers(const struct polygon_band *band, double at)
{
	return at >= band->from && at < band->to;
}

/* By how much the upper line lies above the lower one when both have this slope. */
static double
gap(const struct polygon_line *lower, const struct polygon_line *upper, double slope)
{
	return (upper->limit - slope * upper->at) - (lower->limit - slope * lower->at);
}

enum bound_effect
polygon_effect(const struct polygon *polygon, const struct bound *bound)
{
	struct polygon_line line;
	double low, high;

	if (polygon->corners == 0 && !polygon->has[!bound->upper])
		return BOUND_CUTS;
	line = line_of(polygon, bound);
	if (polygon->corners == 0) {
		const struct polygon_line *upper = bound->upper ? &line : &polygon->first[1];
		const struct polygon_line *lower = bound->upper ? &polygon->first[0] : &line;

		return gap(lower, upper, -slope_max) < 0 && gap(lower, upper, slope_max) < 0 ?
		    BOUND_CONTRADICTS : BOUND_CUTS;
	}
	extent(polygon, line.at, &low, &high);
	if (bound->upper ? high <= line.limit : low >= line.limit)
		return BOUND_LOOSE;
	return (bound->upper ? low > line.limit : high < line.limit) ? BOUND_CONTRADICTS : BOUND_CUTS;
}

/* Where the edges in front of one and behind it would meet without it; false when they do not. */
static bool
neighbours_meet(const struct polygon *polygon, unsigned i, double *a, double *b)
{
	unsigned n = polygon->corners;
	const struct polygon_line *edge = &polygon->corner[i].edge;
	const struct polygon_line *before = &polygon->corner[i == 0 ? n - 1 : i - 1].edge;
	const struct polygon_line *after = &polygon->corner[i + 1 == n ? 0 : i + 1].edge;

	if (edge->is_slope || before->is_slope || after->is_slope || before->at == after->at)
		return false;
	*b = (before->limit - after->limit) / (before->at - after->at);
	*a = before->limit - *b * before->at;
	return true;
}

/* How far the neighbours of an edge reach beyond it when it is gone; negative when they do not meet. */
static double
excess(const struct polygon *polygon, unsigned i)
{
	const struct polygon_line *edge = &polygon->corner[i].edge;
	double a, b, beyond;

	if (!neighbours_meet(polygon, i, &a, &b))
		return -1;
	beyond = a + b * edge->at - edge->limit;
	return edge->upper ? beyond : -beyond;
}

static void
renew_excess(struct polygon *polygon, unsigned i)
{
	polygon->corner[i].excess = excess(polygon, i);
}

/* Adds the corner where a line has this slope, and the edge that leaves it. */
static void
add_corner(struct polygon *polygon, const struct polygon_line *on, double slope, const struct polygon_line *edge)
{
	polygon->corner[polygon->corners++] = (struct polygon_corner){
		.a = on->limit - slope * on->at,
		.b = slope,
		.edge = *edge,
	};
}

/*
 * The first polygon: two lines and the limits of the slope. A quadrangle, or a
 * triangle when the lines cross within the limits; that they leave something
 * was seen before.
 *
 *	a   upper ______
 *	         |      |
 *	         |______|          the edges go around:
 *	    lower                  lower, steepest, upper, flattest
 *	        -max   +max   b
 */
static void
start(struct polygon *polygon)
{
	const struct polygon_line lower = polygon->first[0], upper = polygon->first[1];
	const struct polygon_line steepest = { .limit = slope_max, .is_slope = true };
	const struct polygon_line flattest = { .limit = -slope_max, .is_slope = true };
	bool left = gap(&lower, &upper, -slope_max) >= 0, right = gap(&lower, &upper, slope_max) >= 0;
	double crossing = 0;

	if (left != right)
		crossing = (upper.limit - lower.limit) / (upper.at - lower.at);
	if (left)
		add_corner(polygon, &lower, -slope_max, &lower);
	else
		add_corner(polygon, &lower, crossing, &lower);
	if (right) {
		add_corner(polygon, &lower, slope_max, &steepest);
		add_corner(polygon, &upper, slope_max, &upper);
	} else
		add_corner(polygon, &lower, crossing, &upper);
	if (left)
		add_corner(polygon, &upper, -slope_max, &flattest);
	for (unsigned i = 0; i < polygon->corners; i++)
		renew_excess(polygon, i);
}

/* While bounds of one direction are missing only the best one of the other is kept. */
static void
begin(struct polygon *polygon, const struct bound *bound)
{
	struct polygon_line *kept = &polygon->first[bound->upper];
	struct polygon_line line;

	if (!polygon->has[0] && !polygon->has[1]) {
		polygon->reference_ns = bound->at_ns;
		polygon->reference_offset_ns = bound->offset_ns;
	}
	line = line_of(polygon, bound);
	/* Better: implies the old one, or would if the old one were from the same time. */
	if (!polygon->has[bound->upper] || (bound->upper ? 1 : -1) * (line.limit - kept->limit) <=
	    slope_max * fabs(line.at - kept->at))
		*kept = line;
	polygon->has[bound->upper] = true;
	if (polygon->has[!bound->upper])
		start(polygon);
}

/* Where the edge from corner i, whose one end is outside, meets the line. */
static struct polygon_corner
meet(const struct polygon *polygon, unsigned i, unsigned outside, const struct polygon_line *line)
{
	const struct polygon_line *edge = &polygon->corner[i].edge;
	unsigned next = i + 1 == polygon->corners ? 0 : i + 1;
	double slope = polygon->corner[i].b, least = polygon->corner[next].b, most = slope;
	const struct polygon_line *exact = line;

	if (slope < least) {
		most = least;
		least = slope;
	}
	if (edge->is_slope)
		slope = edge->limit;
	else if (edge->at == line->at)
		slope = polygon->corner[outside].b;	/* the same line but for rounding */
	else {
		slope = (line->limit - edge->limit) / (line->at - edge->at);
		if (fabs(edge->at) < fabs(line->at))
			exact = edge;
	}
	slope = slope < least ? least : slope > most ? most : slope;
	return (struct polygon_corner){ .a = exact->limit - slope * exact->at, .b = slope };
}

/* Drops the edge whose absence adds least, with the corner that it starts from: its place, POLYGON_CORNERS when none can go. */
static unsigned
make_room(struct polygon *polygon)
{
	struct polygon_corner *corner = polygon->corner;
	unsigned n = polygon->corners, least = n, next;
	double a, b;

	for (unsigned i = 0; i < n; i++)
		if (corner[i].excess >= 0 && (least == n || corner[i].excess < corner[least].excess))
			least = i;
	if (least == n || !neighbours_meet(polygon, least, &a, &b))
		return POLYGON_CORNERS;
	next = least + 1 == n ? 0 : least + 1;
	/* The edge's two corners become one, from which the next edge starts. */
	corner[next].a = a;
	corner[next].b = b;
	n = --polygon->corners;
	memmove(&corner[least], &corner[least + 1], (n - least) * sizeof corner[0]);
	renew_excess(polygon, least == 0 ? n - 1 : least - 1);
	renew_excess(polygon, least == n ? 0 : least);
	forget_band(polygon);
	return least;
}

static bool
is_behind_line(const struct polygon_corner *corner, const struct polygon_line *line)
{
	double value = value_at(corner, line->at);

	return line->upper ? value > line->limit : value < line->limit;
}

/* A bit for each corner: set when it lies behind the line. */
static uint32_t
behind(const struct polygon *polygon, const struct polygon_line *line)
{
	unsigned n = polygon->corners;
	uint32_t bits = 0;

	if (line->upper)
		for (unsigned i = n; i-- > 0;)
			bits = 2 * bits + (value_at(&polygon->corner[i], line->at) > line->limit);
	else
		for (unsigned i = n; i-- > 0;)
			bits = 2 * bits + (value_at(&polygon->corner[i], line->at) < line->limit);
	return bits;
}

/* The bits once make_room took that corner away, and moved the next one. */
static uint32_t
without(uint32_t bits, unsigned gone, const struct polygon *polygon, const struct polygon_line *line)
{
	unsigned next = gone == polygon->corners ? 0 : gone;
	uint32_t in_front = ((uint32_t)1 << gone) - 1;

	bits = (bits & in_front) | (bits >> 1 & ~in_front);
	bits &= ~((uint32_t)1 << next);
	return bits | (uint32_t)is_behind_line(&polygon->corner[next], line) << next;
}

static uint32_t
all_bits(unsigned corners)
{
	return (uint32_t)(((uint64_t)1 << corners) - 1);
}

/*
 * Takes away what lies behind the line, which is known to cut. The corners
 * outside follow one another; where rounding makes another one of them, it
 * stays, which is the safe side.
 */
static void
clip(struct polygon *polygon, const struct polygon_line *line, uint32_t outside)
{
	struct polygon_corner *corner = polygon->corner;
	struct polygon_corner moved[POLYGON_CORNERS], in, out;
	unsigned n, first, last, inside;
	uint32_t ends;

	if (polygon->corners == POLYGON_CORNERS) {
		unsigned gone = make_room(polygon);

		if (gone < POLYGON_CORNERS)
			outside = without(outside, gone, polygon, line);
	}
	n = polygon->corners;
	if (outside == 0 || outside == all_bits(n))
		return;
	first = (unsigned)__builtin_ctz(outside & ~(outside << 1 | outside >> (n - 1)));
	ends = outside & ~(outside >> 1 | outside << (n - 1));
	last = (unsigned)__builtin_ctz(ends >> first != 0 ? ends >> first << first : ends);
	inside = n - 1 - (last + n - first) % n;
	if (inside + 2 > POLYGON_CORNERS)
		return;
	in = meet(polygon, first == 0 ? n - 1 : first - 1, first, line);
	in.edge = *line;
	out = meet(polygon, last, last, line);
	out.edge = corner[last].edge;
	/* Behind the two new corners those inside, from the one that follows on. */
	if (first <= last) {
		memcpy(moved, corner, first * sizeof corner[0]);
		memmove(&corner[2], &corner[last + 1], (inside - first) * sizeof corner[0]);
		memcpy(&corner[2 + inside - first], moved, first * sizeof corner[0]);
	} else {
		memmove(&corner[2], &corner[last + 1], inside * sizeof corner[0]);
	}
	corner[0] = in;
	corner[1] = out;
	polygon->corners = inside + 2;
	for (unsigned i = 0; i < 2; i++)
		renew_excess(polygon, i);
	renew_excess(polygon, inside + 1);
	polygon->band_is_old = true;
}

/* True when a look at the band is enough to see that the bound takes away no more than that. */
static bool
is_outside_band(const struct polygon *polygon, const struct bound *bound, double at, double gain_ns)
{
	const struct polygon_band *band = &polygon->band;
	double limit = difference(bound->offset_ns, polygon->reference_offset_ns);

	if (!band_covers(band, at))
		return false;
	at -= band->from;
	return bound->upper ? band->high + band->high_slope * at - gain_ns <= limit :
	    band->low + band->low_slope * at + gain_ns >= limit;
}

/* The farthest corner decides; looked at one by one, none of them waits for those before it. */
static bool
gains_little(const struct polygon *polygon, const struct bound *bound, double at, double gain_ns)
{
	double limit = difference(bound->offset_ns, polygon->reference_offset_ns);
	unsigned n = polygon->corners, i = 0;

	if (bound->upper)
		while (i < n && value_at(&polygon->corner[i], at) - gain_ns <= limit)
			i++;
	else
		while (i < n && value_at(&polygon->corner[i], at) + gain_ns >= limit)
			i++;
	return n > 0 && i == n;
}

/* A bit wider than the band, as it is rounded; not made where that would not be enough. */
static void
build_strip(struct polygon *polygon, double gain_ns)
{
	const struct polygon_band *band = &polygon->band;
	struct polygon_strip *strip = &polygon->strip;
	double low = floor(band->low + gain_ns), high = ceil(band->high - gain_ns);

	*strip = (struct polygon_strip){ .gain_ns = gain_ns };
	if (band->from == band->to || fabs(band->from) > strip_most || fabs(low) > strip_most || fabs(high) > strip_most)
		return;
	strip->low_slope = (int64_t)floor(band->low_slope * 0x1p32);
	strip->high_slope = (int64_t)ceil(band->high_slope * 0x1p32);
	if (!__builtin_add_overflow(polygon->reference_ns, (int64_t)ceil(band->from), &strip->from_ns) &&
	    !__builtin_add_overflow(polygon->reference_offset_ns, (int64_t)low - 2, &strip->low_ns) &&
	    !__builtin_add_overflow(polygon->reference_offset_ns, (int64_t)high + 2, &strip->high_ns))
		strip->span_ns = (uint64_t)(band->to - band->from) - 1;
}

/* The band did not show what the corners did: it is for another time, from before some cuts, or too wide. */
static void
renew_band(struct polygon *polygon, double at)
{
	double longer = polygon->band_reach * band_growth;

	if (!band_covers(&polygon->band, at))
		polygon->band_reach = longer < band_most_ns ? longer : band_most_ns;
	else if (!polygon->band_is_old && polygon->band_reach > band_least_ns)
		polygon->band_reach /= 2;
	else if (!polygon->band_is_old)
		return;
	band_build(&polygon->band, polygon, at - polygon->band_reach / 4, at + polygon->band_reach);
	polygon->band_is_old = false;
}

/* The same as polygon_is_within, of a bound that the strip does not tell of. */
static G_GNUC_NO_INLINE bool
takes_little(struct polygon *polygon, const struct bound *bound, double gain_ns)
{
	double at = difference(bound->at_ns, polygon->reference_ns);

	if (is_outside_band(polygon, bound, at, gain_ns))
		return true;
	if (!gains_little(polygon, bound, at, gain_ns))
		return false;
	renew_band(polygon, at);
	build_strip(polygon, gain_ns);
	return true;
}

static inline bool
is_outside_strip(const struct polygon_strip *strip, const struct bound *bound)
{
	uint64_t since_ns = (uint64_t)bound->at_ns - (uint64_t)strip->from_ns;

	if (since_ns >= strip->span_ns)
		return false;
	return bound->upper ?
	    bound->offset_ns >= strip->high_ns + ((int64_t)since_ns * strip->high_slope >> 32) :
	    bound->offset_ns <= strip->low_ns + ((int64_t)since_ns * strip->low_slope >> 32);
}

bool
polygon_is_within(struct polygon *polygon, const struct bound *bound, unsigned count, double gain_ns)
{
	if (gain_ns != polygon->strip.gain_ns)
		build_strip(polygon, gain_ns);
	for (unsigned i = 0; i < count; i++)
		if (!is_outside_strip(&polygon->strip, &bound[i]) && !takes_little(polygon, &bound[i], gain_ns))
			return false;
	return true;
}

/* Takes in one bound; what it did. old: where the polygon as it was is put before it is changed, or NULL. */
static enum bound_effect
cut(struct polygon *polygon, const struct bound *bound, struct polygon *old)
{
	struct polygon_line line;
	uint32_t outside;

	if (polygon->corners == 0) {
		enum bound_effect effect = polygon_effect(polygon, bound);

		if (effect == BOUND_CUTS && old != NULL)
			polygon_copy(old, polygon);
		if (effect == BOUND_CUTS)
			begin(polygon, bound);
		return effect;
	}
	line = line_of(polygon, bound);
	outside = behind(polygon, &line);
	if (outside == 0)
		return BOUND_LOOSE;
	if (outside == all_bits(polygon->corners))
		return BOUND_CONTRADICTS;
	if (old != NULL)
		polygon_copy(old, polygon);
	clip(polygon, &line, outside);
	return BOUND_CUTS;
}

bool
polygon_cut(struct polygon *polygon, const struct bound *bound, unsigned count)
{
	struct polygon old;
	bool changed = false;

	for (unsigned i = 0; i < count; i++) {
		enum bound_effect effect = cut(polygon, &bound[i], changed || i + 1 == count ? NULL : &old);

		if (effect == BOUND_CONTRADICTS) {
			if (changed)
				polygon_copy(polygon, &old);
			return false;
		}
		changed |= effect == BOUND_CUTS;
	}
	return true;
}

/* base + value, rounded down (direction -1) or up (1), kept within the range. */
static int64_t
outward(int64_t base, double value, int direction)
{
	int64_t whole, result;

	if (fabs(value) >= 0x1p62)
		return value < 0 ? INT64_MIN : INT64_MAX;
	whole = (int64_t)value;
	if (direction < 0 ? (double)whole > value : (double)whole < value)
		whole += direction;
	if (__builtin_add_overflow(base, whole, &result))
		return whole < 0 ? INT64_MIN : INT64_MAX;
	return result;
}

/* The extent at two times, which are all in between as well. */
static void
extent_between(const struct polygon *polygon, double from, double to, double *low, double *high)
{
	double other_low, other_high;

	extent(polygon, from, low, high);
	if (to == from)
		return;
	extent(polygon, to, &other_low, &other_high);
	*low = other_low < *low ? other_low : *low;
	*high = other_high > *high ? other_high : *high;
}

static inline __attribute__((always_inline)) void
round_outward(const struct polygon *polygon, double at, double low, double high, int64_t *low_ns, int64_t *high_ns)
{
	*low_ns = outward(polygon->reference_offset_ns, low - lost_ns(at, low), -1);
	*high_ns = outward(polygon->reference_offset_ns, high + lost_ns(at, high), 1);
}

bool
polygon_offset(const struct polygon *polygon, int64_t from_ns, int64_t to_ns, int64_t *low_ns, int64_t *high_ns)
{
	double from = difference(from_ns, polygon->reference_ns), to = difference(to_ns, polygon->reference_ns);
	double low, high;

	if (polygon->corners == 0)
		return false;
	extent_between(polygon, from, to, &low, &high);
	round_outward(polygon, fabs(from) > fabs(to) ? from : to, low, high, low_ns, high_ns);
	return true;
}

double
polygon_width_ns(const struct polygon *polygon, int64_t at_ns)
{
	double low, high;

	if (polygon->corners == 0)
		return 0;
	extent(polygon, difference(at_ns, polygon->reference_ns), &low, &high);
	return high - low;
}

/*
 * The distance of a chord is concave, so nowhere more than twice that in the
 * middle: there the band shows whether it is close enough everywhere.
 */
void
polygon_band(const struct polygon *polygon, int64_t from_ns, int64_t to_ns, struct polygon_band *band)
{
	double from = difference(from_ns, polygon->reference_ns), to = difference(to_ns, polygon->reference_ns);
	double half = (to - from) / 2, low, high, too_much;

	*band = (struct polygon_band){ 0 };
	if (polygon->corners == 0 || to <= from)
		return;
	band_build(band, polygon, from, to);
	extent(polygon, from + half, &low, &high);
	too_much = 0.1 + (high - low) / 1024;
	if (band->high + half * band->high_slope - high > too_much ||
	    low - band->low - half * band->low_slope > too_much)
		*band = (struct polygon_band){ 0 };
}

bool
polygon_offset_near(const struct polygon *polygon, const struct polygon_band *band, int64_t from_ns, int64_t to_ns,
    int64_t *low_ns, int64_t *high_ns)
{
	double from = difference(from_ns, polygon->reference_ns), to = difference(to_ns, polygon->reference_ns);
	double first = from < to ? from : to, last = from < to ? to : from, low, high;

	if (first < band->from || last >= band->to || polygon->corners == 0)
		return polygon_offset(polygon, from_ns, to_ns, low_ns, high_ns);
	/* A straight line is lowest at one of its ends, and highest at one. */
	low = band->low + band->low_slope * ((band->low_slope < 0 ? last : first) - band->from);
	high = band->high + band->high_slope * ((band->high_slope > 0 ? last : first) - band->from);
	round_outward(polygon, fabs(from) > fabs(to) ? from : to, low, high, low_ns, high_ns);
	return true;
}

bool
polygon_drift(const struct polygon *polygon, int64_t *low_ppb, int64_t *high_ppb)
{
	double low = slope_max, high = -slope_max;

	if (polygon->corners == 0)
		return false;
	for (unsigned i = 0; i < polygon->corners; i++) {
		low = polygon->corner[i].b < low ? polygon->corner[i].b : low;
		high = polygon->corner[i].b > high ? polygon->corner[i].b : high;
	}
	*low_ppb = outward(0, low * 1e9 - 1e-6, -1);
	*high_ppb = outward(0, high * 1e9 + 1e-6, 1);
	return true;
}
