#include <glib.h>
#include <string.h>

#include "stream/connection.h"

struct held *
held_copy(const struct slice *slice)
{
	struct held *held = g_malloc(sizeof *held + slice->cap_len);

	held->next = NULL;
	held->slice = *slice;
	held->slice.data = (const uint8_t *)(held + 1);
	if (slice->cap_len > 0)
		memcpy(held + 1, slice->data, slice->cap_len);
	return held;
}
