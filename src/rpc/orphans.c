#include "rpc/orphans.h"

#include <glib.h>
#include <string.h>

#include "base/arith.h"

enum {
	FIRST_ORPHANS = 4,
	MOST_ORPHANS = 4096,	/* what one direction is behind the other when it waits for a hole */
	HEAD_KEPT = 160,	/* enough for the results of every procedure that is read */
	YOUNG_NS = NS_PER_S,	/* worth growing for */
	NONE = UINT32_MAX,
};

struct kept {
	uint32_t xid;
	uint32_t number;
	uint32_t older;		/* in its bucket: the number of the one before, perhaps overwritten since */
	uint8_t direction;
	bool taken, complete;
	struct reply_times times;
	uint32_t total_len;
	uint32_t cap;
	uint8_t head[HEAD_KEPT];
};

/* A ring in the order of arrival, with a hash over it. Sizes are powers of two. */
struct orphans {
	uint32_t next;		/* number of the next one */
	uint32_t size;
	struct kept *kept;
	uint32_t *bucket;	/* size of them: number of the newest */
};

static void
make_room(struct orphans *orphans, uint32_t size)
{
	orphans->kept = g_new0(struct kept, size);
	orphans->bucket = g_new(uint32_t, size);
	memset(orphans->bucket, 0xff, size * sizeof *orphans->bucket);
	for (uint32_t i = 0; i < size; i++)
		orphans->kept[i].number = NONE;
	orphans->size = size;
}

struct orphans *
orphans_new(void)
{
	struct orphans *orphans = g_new0(struct orphans, 1);

	make_room(orphans, FIRST_ORPHANS);
	return orphans;
}

void
orphans_free(struct orphans *orphans)
{
	if (orphans == NULL)
		return;
	g_free(orphans->kept);
	g_free(orphans->bucket);
	g_free(orphans);
}

uint32_t
orphans_room(const struct orphans *orphans)
{
	return orphans->size;
}

static struct kept *
slot_of(const struct orphans *orphans, uint32_t number)
{
	return &orphans->kept[number & (orphans->size - 1)];
}

static uint32_t *
bucket_of(const struct orphans *orphans, uint32_t xid)
{
	return &orphans->bucket[(xid * UINT32_C(0x9e3779b1) >> 16) & (orphans->size - 1)];
}

static void
link_kept(struct orphans *orphans, struct kept *kept)
{
	uint32_t *bucket = bucket_of(orphans, kept->xid);

	kept->older = *bucket;
	*bucket = kept->number;
}

static void
grow(struct orphans *orphans)
{
	struct orphans old = *orphans;

	make_room(orphans, old.size * 2);
	for (uint32_t back = old.size; back > 0; back--) {
		const struct kept *kept = slot_of(&old, old.next - back);

		if (kept->number == NONE)
			continue;
		*slot_of(orphans, kept->number) = *kept;
		link_kept(orphans, slot_of(orphans, kept->number));
	}
	g_free(old.kept);
	g_free(old.bucket);
}

uint32_t
orphans_add(struct orphans *orphans, const struct rpc_record *record, uint32_t xid, bool may_grow)
{
	uint32_t number = orphans->next & ORPHAN_NUMBERS;
	struct kept *kept = slot_of(orphans, number);

	if (may_grow && kept->number != NONE && !kept->taken && orphans->size < MOST_ORPHANS &&
	    kept->times.first_ns > record->first_ns - YOUNG_NS) {
		grow(orphans);
		kept = slot_of(orphans, number);
	}
	orphans->next = (number + 1) & ORPHAN_NUMBERS;
	kept->xid = xid;
	kept->number = number;
	kept->direction = record->direction;
	kept->taken = kept->complete = false;
	kept->times = (struct reply_times){ .first_ns = record->first_ns, .first_frame = record->first_frame,
	    .first_order = record->first_order };
	kept->total_len = record->flags & RECORD_FRAGMENTED ? UINT32_MAX : record->total_len;
	kept->cap = MIN(record->head_cap, HEAD_KEPT);
	memcpy(kept->head, record->head, kept->cap);
	link_kept(orphans, kept);
	return number;
}

bool
orphans_end(struct orphans *orphans, uint32_t number, const struct rpc_record *record, uint32_t *xid)
{
	struct kept *kept = slot_of(orphans, number);

	if (kept->number != number)
		return false;
	kept->complete = true;
	kept->times.last_ns = record->last_ns;
	kept->times.end_offset = record->end_offset;
	kept->times.bytes = record_bytes(record);
	kept->times.receiver_ns = record->receiver_ns;
	kept->times.waits_unknown = record->waits_unknown;
	kept->times.deduced = (record->flags & RECORD_TIME_DEDUCED) != 0;
	kept->times.filled = (record->flags & RECORD_TIME_FILLED) != 0;
	*xid = kept->xid;
	return kept->taken;
}

bool
orphans_take(struct orphans *orphans, uint32_t xid, uint8_t direction, int64_t not_before_ns,
    struct orphan *orphan)
{
	struct kept *found = NULL;

	/* the oldest that fits; a slot that was overwritten ends the chain: all behind it are older */
	for (uint32_t number = *bucket_of(orphans, xid); number != NONE;) {
		struct kept *kept = slot_of(orphans, number);

		if (kept->number != number)
			break;
		if (!kept->taken && kept->xid == xid && kept->direction == direction &&
		    kept->times.first_ns >= not_before_ns)
			found = kept;
		number = kept->older;
	}
	if (found == NULL)
		return false;
	found->taken = true;
	orphan->times = found->times;
	orphan->complete = found->complete;
	orphan->head = (struct xdr_cursor){ .data = found->head, .cap = found->cap,
	    .total = found->total_len, .beyond = XDR_HOLE };
	return true;
}
