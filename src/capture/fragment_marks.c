#include "capture/fragment_marks.h"

static bool
fits(const struct fragment_marks *marks, uint32_t offset, uint32_t len, bool more)
{
	if (len == 0 || offset > FRAGMENTED_MAX || len > FRAGMENTED_MAX - offset ||
	    (more && len % FRAGMENT_UNIT != 0))
		return false;
	if (!more && marks->reach >= offset + len)
		return false;
	if (!marks->last_seen)
		return true;
	return more ? offset + len < marks->len : offset + len == marks->len;
}

enum fragment_result
fragment_marks_add(struct fragment_marks *marks, uint32_t offset, uint32_t len, bool more)
{
	uint32_t first = offset / FRAGMENT_UNIT;
	uint32_t behind = (offset + len + FRAGMENT_UNIT - 1) / FRAGMENT_UNIT;
	enum fragment_result result = FRAGMENT_COPY;

	if (!fits(marks, offset, len, more))
		return FRAGMENT_BAD;
	if (more) {
		marks->reach = offset + len > marks->reach ? offset + len : marks->reach;
	} else {
		marks->last_seen = true;
		marks->len = offset + len;
		marks->units = behind;
	}
	for (uint32_t i = first; i < behind; i++) {
		uint64_t bit = (uint64_t)1 << i % 64;

		if (marks->have[i / 64] & bit)
			continue;
		marks->have[i / 64] |= bit;
		marks->units_have++;
		result = FRAGMENT_NEW;
	}
	return result;
}

bool
fragment_marks_complete(const struct fragment_marks *marks)
{
	return marks->last_seen && marks->units_have == marks->units;
}
