#include "capture/snaplen.h"

#include "capture/device.h"

enum {
	WINDOW_RECORDS = 1000,
	HIDDEN_SHARE = 100,	/* one in so many is still no reason */
};

/* What is worth a try: a few headers more, most of a frame, all of it. */
static const uint32_t steps[] = { SNAPLEN_DEFAULT, 2048, 16384, DEVICE_SNAPLEN_MOST };

void
snaplen_begin(struct snaplen *snaplen)
{
	*snaplen = (struct snaplen){ .bytes = SNAPLEN_DEFAULT };
}

/* The step above; 0: there is none. */
static uint32_t
next_step(uint32_t bytes)
{
	for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++)
		if (steps[i] > bytes)
			return steps[i];
	return 0;
}

bool
snaplen_is_short(struct snaplen *snaplen, const struct snaplen_counts *counts)
{
	uint64_t hidden = counts->hidden - snaplen->before.hidden;
	uint64_t records = counts->records - snaplen->before.records + hidden;
	bool dropped = counts->dropped != snaplen->before.dropped;
	uint32_t next = next_step(snaplen->bytes);

	if (snaplen->settling) {
		snaplen->settling = false;
		snaplen->before = *counts;
		return false;
	}
	if (records < WINDOW_RECORDS)
		return false;
	snaplen->before = *counts;
	if (hidden * HIDDEN_SHARE <= records || dropped || next == 0)
		return false;
	snaplen->bytes = next;
	snaplen->settling = true;
	return true;
}
