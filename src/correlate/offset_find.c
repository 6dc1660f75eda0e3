/*
 * The offset that most samples agree on: the place that the most ranges cover.
 */
#include <glib.h>
#include <stdlib.h>

#include "correlate/clock.h"
#include "correlate/offset.h"

enum {
	SAME_NOISE_NS = 2000,	/* a network that takes less, both ways, is none */
	SAME_LEAST = 4,		/* calls that must say so */
	ENOUGH = 8,		/* calls that are evidence without addresses or arguments */
	MANY = 64,		/* calls that are evidence where most fit several others but for the time */
	SHARE = 4,		/* one in so many calls of a connection must agree */
};

struct edge {
	int64_t at_ns;
	int32_t step;		/* +1 a range begins, -1 it has ended */
	uint32_t sample;
};

struct trial {
	struct offset *offset;
	int64_t at_ns;		/* where in time the samples are compared */
	struct edge *edges;
	struct offset_place *places;
	bool *supports;
};

static struct offset_range
range_of_sample(const struct trial *trial, uint32_t i)
{
	const struct offset_sample *sample = &trial->offset->samples[i];
	int64_t distance = offset_difference(sample->at_ns, trial->at_ns);
	int64_t drift = (distance < 0 ? -distance : distance) / (NS_PER_S / CLOCK_MAX_DRIFT_PPB);

	return (struct offset_range){ sample->range.low_ns - drift, sample->range.high_ns + drift };
}

/* Ranges are closed: where one ends another may begin. */
static int
compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->step != y->step)
		return x->step > y->step ? -1 : 1;
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static int
compare_places(const void *a, const void *b)
{
	const struct offset_place *x = a, *y = b;

	if (x->connection != y->connection)
		return x->connection < y->connection ? -1 : 1;
	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

/* The greatest number of ranges over one place; of all samples, or of those that do not support. */
static uint32_t
deepest(const struct trial *trial, bool rivals, struct offset_range *where)
{
	uint32_t count = 0, best = 0;
	int32_t depth = 0;

	for (uint32_t i = 0; i < trial->offset->sample_count; i++) {
		struct offset_range range = range_of_sample(trial, i);

		if (rivals && trial->supports[i])
			continue;
		trial->edges[count++] = (struct edge){ range.low_ns, 1, i };
		trial->edges[count++] = (struct edge){ range.high_ns, -1, i };
	}
	qsort(trial->edges, count, sizeof *trial->edges, compare_edges);
	for (uint32_t i = 0; i < count; i++) {
		depth += trial->edges[i].step;
		if (depth > (int32_t)best) {
			best = (uint32_t)depth;
			where->low_ns = trial->edges[i].at_ns;
			where->high_ns = trial->edges[i + 1].at_ns;
		}
	}
	return best;
}

/*
 * Different calls of one side among the samples, or among those that support;
 * and the calls that their connections carried from the first of them to the last.
 */
static uint32_t
distinct(const struct trial *trial, unsigned side, bool supporting, uint64_t *carried)
{
	const struct offset_sample *samples = trial->offset->samples;
	struct offset_place *places = trial->places;
	uint32_t count = 0, different = 0;

	*carried = 0;
	for (uint32_t i = 0; i < trial->offset->sample_count; i++)
		if (!supporting || trial->supports[i])
			places[count++] = samples[i].op[side];
	qsort(places, count, sizeof *places, compare_places);
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && places[i].serial == places[i - 1].serial)
			continue;
		different++;
		*carried += i > 0 && places[i].connection == places[i - 1].connection ?
		    places[i].place - places[i - 1].place : 1;
	}
	return different;
}

static uint32_t
fewer_distinct(const struct trial *trial, bool supporting, uint64_t *carried)
{
	uint64_t first, client;
	uint32_t different = distinct(trial, 0, supporting, &first);

	different = MIN(different, distinct(trial, 1, supporting, &client));
	*carried = MIN(first, client);
	return different;
}

/*
 * The network lies inside the client's times and outside the server's, so the
 * sign of the difference tells the roles. Stamps deduced from other packets, or
 * of calls that were sent again, have a say only when there is nothing better.
 */
static enum roles
roles_by(const struct trial *trial, bool deduced, uint32_t *count)
{
	uint32_t none = 0, positive = 0, negative = 0, changes = 0;
	bool was_negative = false, mixed;

	*count = 0;
	for (uint32_t i = 0; i < trial->offset->sample_count; i++) {
		const struct offset_sample *sample = &trial->offset->samples[i];

		if (!trial->supports[i] || (sample->deduced && !deduced))
			continue;
		changes += *count > 0 && was_negative != (sample->network_ns < 0);
		was_negative = sample->network_ns < 0;
		++*count;
		positive += sample->network_ns > 0;
		negative += sample->network_ns < 0;
		none += sample->network_ns <= SAME_NOISE_NS && sample->network_ns >= -SAME_NOISE_NS;
	}
	/* Independent noise on one capture point shows either sign, by turns; calls across a step show one after the other. */
	mixed = MIN(positive, negative) * 4 >= *count;
	if (*count >= SAME_LEAST && (none >= *count - *count / 10 || (mixed && changes * 4 >= *count)))
		return ROLES_SAME;
	if (positive == negative || (mixed && *count >= SAME_LEAST))
		return ROLES_UNKNOWN;
	return positive > negative ? ROLES_AS_GIVEN : ROLES_REVERSED;
}

static enum roles
roles_of(const struct trial *trial)
{
	uint32_t count, all;
	enum roles roles = roles_by(trial, false, &count), by_all = roles_by(trial, true, &all);

	if (count == 0 || roles == ROLES_UNKNOWN)
		return by_all;
	/* A few may all have been under way while a clock was set: then nothing may say the contrary. */
	return roles == ROLES_REVERSED && count < ENOUGH && all > count && by_all != roles ? ROLES_UNKNOWN : roles;
}

/* The samples that cover the place; true when addresses or arguments are behind one of them. */
static bool
support(const struct trial *trial, const struct offset_range *where)
{
	bool trusted = false;

	for (uint32_t i = 0; i < trial->offset->sample_count; i++) {
		struct offset_range range = range_of_sample(trial, i);

		trial->supports[i] = range.low_ns <= where->low_ns && range.high_ns >= where->high_ns;
		trusted |= trial->supports[i] && trial->offset->samples[i].trusted;
	}
	return trusted;
}

/*
 * Where XIDs come again soon, chance lets other offsets explain many calls as
 * well; where calls are regular, the next use of an XID explains all but one.
 */
static bool
stands_out(uint32_t supporting, uint32_t rivals)
{
	return rivals * 2 < supporting || (supporting >= MANY && rivals * 4 < supporting * 3);
}

static bool
try(const struct trial *trial, uint32_t least)
{
	struct offset *offset = trial->offset;
	struct offset_range where, other;
	uint64_t carried, ignored;
	uint32_t supporting, different;

	if (deepest(trial, false, &where) < least)
		return false;
	if (!support(trial, &where))
		least = MAX(least, ENOUGH);
	supporting = fewer_distinct(trial, true, &carried);
	different = fewer_distinct(trial, false, &ignored);
	if (offset->sample_count > 2 * different)
		least = MAX(least, MANY);
	if (supporting < least || (uint64_t)supporting * SHARE < carried ||
	    supporting * 3 < different * 2 || !stands_out(supporting, deepest(trial, true, &other)))
		return false;
	offset->look_from = offset->known ? offset->first_client : 0;
	offset->known = true;
	offset->range = where;
	offset->at_ns = trial->at_ns;
	if (offset->roles == ROLES_UNKNOWN)
		offset->roles = roles_of(trial);
	return true;
}

bool
offset_find(struct offset *offset, uint32_t least)
{
	uint32_t count = offset->sample_count;
	struct trial trial = { .offset = offset };
	bool found;

	if (count == 0)
		return false;
	trial.at_ns = offset->samples[count / 2].at_ns;
	trial.edges = g_new(struct edge, 2 * count);
	trial.places = g_new(struct offset_place, count);
	trial.supports = g_new0(bool, count);
	found = try(&trial, least);
	g_free(trial.edges);
	g_free(trial.places);
	g_free(trial.supports);

	if (found || count == OFFSET_SAMPLES) {
		offset_forget(offset);
	} else {
		offset->next_trial *= 2;
		offset->next_trial_ns *= 2;
	}
	return found;
}
