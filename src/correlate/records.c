#include "correlate/records.h"

#include <glib.h>

#include "base/arith.h"
#include "correlate/pair_bounds.h"

void
records_init(struct records *records)
{
	*records = (struct records){ .stride = 1 };
}

void
records_clear(struct records *records)
{
	for (unsigned i = 0; i < records->wholes; i++)
		g_free(records->whole[i]);
	for (unsigned i = 0; i < records->samples; i++)
		g_free(records->sample[i]);
}

static struct record
whole_of(const struct stretch *stretch)
{
	struct record record = { .pairs = stretch->whole_pairs };

	stretch_span(stretch, &record.first_ns, &record.last_ns);
	polygon_copy(&record.line, stretch_whole(stretch));
	return record;
}

static struct record
sample_of(const struct stretch *stretch)
{
	struct record record = { .pairs = stretch->pairs };

	stretch_span(stretch, &record.first_ns, &record.last_ns);
	record.first_ns = min_ns(max_ns(record.first_ns, stretch->recent_first_ns), record.last_ns);
	polygon_copy(&record.line, stretch_recent(stretch));
	return record;
}

void
records_keep(struct records *records, const struct stretch *stretch)
{
	struct record *kept;
	unsigned fewest = 0;

	if (!polygon_known(stretch_whole(stretch)))
		return;
	records_span(records, stretch, &records->first_ns, &records->last_ns);
	records->any = true;
	if (records->wholes < RECORDS_KEPT)
		kept = g_new(struct record, 1);
	else {
		for (unsigned i = 1; i < records->wholes; i++)
			if (records->whole[i]->pairs < records->whole[fewest]->pairs)
				fewest = i;
		kept = records->whole[fewest];
		records->wholes--;
		for (unsigned i = fewest; i < records->wholes; i++)
			records->whole[i] = records->whole[i + 1];
	}
	records->whole[records->wholes++] = kept;
	*kept = whole_of(stretch);
}

void
records_sample(struct records *records, const struct stretch *stretch)
{
	if (records->offered++ % records->stride != 0)
		return;
	if (records->samples == RECORDS_KEPT) {
		records->samples = 0;
		for (unsigned i = 0; i < RECORDS_KEPT; i++)
			if (i % 2 == 0)
				records->sample[records->samples++] = records->sample[i];
			else
				g_free(records->sample[i]);
		records->stride *= 2;
	}
	records->sample[records->samples] = g_new(struct record, 1);
	*records->sample[records->samples++] = sample_of(stretch);
}

void
records_span(const struct records *records, const struct stretch *now, int64_t *first_ns, int64_t *last_ns)
{
	*first_ns = records->first_ns;
	*last_ns = records->last_ns;
	if (!polygon_known(stretch_whole(now)))
		return;
	*first_ns = records->any ? min_ns(*first_ns, now->whole_first_ns) : now->whole_first_ns;
	*last_ns = records->any ? max_ns(*last_ns, now->whole_last_ns) : now->whole_last_ns;
}

/* How far a time lies from what a record spans. */
static int64_t
outside_ns(const struct record *record, int64_t at_ns)
{
	if (at_ns < record->first_ns)
		return distance_ns(at_ns, record->first_ns);
	return at_ns > record->last_ns ? distance_ns(at_ns, record->last_ns) : 0;
}

/* The second one takes the first one's place when it is nearer, or as near and rests on more. */
static void
prefer(struct record *found, const struct record *other, int64_t at_ns)
{
	int64_t found_outside = outside_ns(found, at_ns), outside = outside_ns(other, at_ns);

	if (!polygon_known(&found->line) || outside < found_outside ||
	    (outside == found_outside && other->pairs > found->pairs))
		*found = *other;
}

bool
records_find(const struct records *records, const struct stretch *now, int64_t at_ns,
    struct record *whole, struct record *sample)
{
	struct record last = sample_of(now);

	*whole = whole_of(now);
	for (unsigned i = 0; i < records->wholes; i++)
		prefer(whole, records->whole[i], at_ns);
	/* A line through all has no sample when it was short: then it is its own. */
	polygon_init(&sample->line);
	for (unsigned i = 0; i < records->samples; i++)
		if (records->sample[i]->first_ns >= whole->first_ns && records->sample[i]->last_ns <= whole->last_ns)
			prefer(sample, records->sample[i], at_ns);
	if (polygon_known(&sample->line) && last.first_ns >= whole->first_ns && last.last_ns <= whole->last_ns)
		prefer(sample, &last, at_ns);
	if (!polygon_known(&sample->line))
		*sample = *whole;
	return polygon_known(&whole->line);
}
