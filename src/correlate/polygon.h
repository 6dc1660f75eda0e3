/*
 * All lines offset = a + b t that a set of bounds allows: a convex polygon in
 * (a, b), with |b| within CLOCK_MAX_DRIFT_PPB.
 *
 * Every rounding is outward, and when there is no room for one more corner the
 * edge that matters least is dropped: the polygon may hold more than the bounds
 * allow, never less.
 */
#ifndef CORRELATE_POLYGON_H
#define CORRELATE_POLYGON_H

#include <stdbool.h>
#include <stdint.h>

enum { POLYGON_CORNERS = 32 };	/* the bits of a uint32_t */

/* At that time the offset is at most (upper) or at least that much. */
struct bound {
	int64_t at_ns;
	int64_t offset_ns;
	bool upper;
};

/* a + b * at = limit; a slope edge is b = limit. Relative to the polygon's reference. */
struct polygon_line {
	double at, limit;
	bool is_slope, upper;
};

/* A corner, and the edge from it to the next one. */
struct polygon_corner {
	double a, b;
	struct polygon_line edge;
	double excess;		/* how far the edge's neighbours reach beyond it if it goes; negative: they do not meet */
};

/*
 * Two straight lines around all offsets during a stretch of time: a look at
 * them instead of at every corner. Still true after more cuts. All zero: none yet.
 */
struct polygon_band {
	double from, to;		/* none when from = to */
	double low, low_slope, high, high_slope;	/* at from, and per nanosecond */
};

/*
 * A band in whole nanoseconds, from which a gain was taken: a bound outside of it
 * takes away no more than that. All zero: none.
 */
struct polygon_strip {
	int64_t from_ns;
	uint64_t span_ns;
	int64_t low_ns, low_slope, high_ns, high_slope;	/* at from_ns, and per 2^32 ns */
	double gain_ns;
};

/* The fields belong to polygon.c; it is open only so that it can be held and assigned. */
struct polygon {
	int64_t reference_ns, reference_offset_ns;	/* of the first bound */
	unsigned corners;		/* 0: bounds of one direction at most */
	bool has[2];			/* of the directions, while there are no corners */
	struct polygon_line first[2];
	struct polygon_corner corner[POLYGON_CORNERS];
	struct polygon_band band;
	struct polygon_strip strip;	/* of the band */
	double band_reach;		/* nanoseconds that the next one goes on */
	bool band_is_old;		/* there were cuts */
};

enum bound_effect {
	BOUND_LOOSE,		/* says nothing new */
	BOUND_CUTS,
	BOUND_CONTRADICTS,	/* no line would be left */
};

/* Makes it hold every line. */
void polygon_init(struct polygon *polygon);
/* Copies; cheaper than an assignment, as corners that are not there stay behind. */
void polygon_copy(struct polygon *to, const struct polygon *from);
/* False until bounds of both directions came: nothing can be said of the offset. */
bool polygon_known(const struct polygon *polygon);
enum bound_effect polygon_effect(const struct polygon *polygon, const struct bound *bound);
/*
 * True when none of the bounds would take away more than that at its time; cheap,
 * the polygon is only changed in what it remembers for that.
 */
bool polygon_is_within(struct polygon *polygon, const struct bound *bound, unsigned count, double gain_ns);
/* All of the bounds or, if they leave no line, none of them and false. */
bool polygon_cut(struct polygon *polygon, const struct bound *bound, unsigned count);
/*
 * The lowest and the highest offset that any line has at any time from one to
 * the other, in either order; widened to the int64 range at most. False while unknown.
 */
bool polygon_offset(const struct polygon *polygon, int64_t from_ns, int64_t to_ns, int64_t *low_ns, int64_t *high_ns);
/* How far the lowest and the highest offset at that time are apart; 0 while unknown. */
double polygon_width_ns(const struct polygon *polygon, int64_t at_ns);
/*
 * A band around the times from one to the other, for many look-ups there; none
 * if it would be some thousandths wider than what the polygon says.
 */
void polygon_band(const struct polygon *polygon, int64_t from_ns, int64_t to_ns, struct polygon_band *band);
/* The same as polygon_offset, by the band where it can. */
bool polygon_offset_near(const struct polygon *polygon, const struct polygon_band *band, int64_t from_ns, int64_t to_ns,
    int64_t *low_ns, int64_t *high_ns);
/* The lowest and the highest slope, rounded outward. False while unknown. */
bool polygon_drift(const struct polygon *polygon, int64_t *low_ppb, int64_t *high_ppb);

#endif
