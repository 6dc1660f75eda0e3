#include "stream/waits.h"

#include "base/arith.h"

enum {
	TIMESTAMP_OPTION = 12,	/* bytes that the largest segment of a SYN does not know of: RFC 6691 section 2 */
	SCALE_MAX = 14,
};

void
waits_init(struct half *half)
{
	struct waits *waits = &half->waits;

	waits->data_ns = waits->shut_since_ns = waits->acked_ns = waits->free_ns = WAITS_NEVER;
}

void
waits_syn(struct connection *connection, const struct segment *segment)
{
	struct half *own = &connection->half[segment->direction];
	struct half *other = &connection->half[!segment->direction];

	own->waits.syn = segment->has_window_scale ? SYN_SCALED : SYN_PLAIN;
	own->waits.offered_scale = MIN(segment->window_scale, SCALE_MAX);
	other->waits.largest = segment->mss;
	if (other->waits.syn == SYN_UNSEEN)
		return;
	/* scaled both ways or not at all (RFC 7323 section 2.2) */
	for (int d = 0; d < 2; d++) {
		bool scaled = own->waits.syn == SYN_SCALED && other->waits.syn == SYN_SCALED;
		struct waits *waits = &connection->half[d].waits;

		waits->scale = scaled ? connection->half[!d].waits.offered_scale : 0;
		waits->scale_known = true;
	}
}

/* Less room than that is none. */
static int64_t
segment_of(const struct half *half)
{
	int64_t largest = half->waits.largest > TIMESTAMP_OPTION ? half->waits.largest - TIMESTAMP_OPTION : SEGMENT_ASSUMED;

	return MIN(largest, half->max_segment);
}

void
waits_weigh(struct half *half, int64_t acked, uint16_t window, int64_t now_ns)
{
	struct waits *waits = &half->waits;
	bool open = acked + ((int64_t)window << waits->scale) - half->next >= segment_of(half);

	if (!open && window > 0 && !waits->scale_known) {
		waits->doubtful = waits->told = true;
		open = true;
	}
	if (open && waits->shut_since_ns != WAITS_NEVER) {
		waits->shut_ns += max_ns(now_ns - max_ns(waits->shut_since_ns, waits->data_ns), 0);
		waits->told = true;
		waits->shut_since_ns = WAITS_NEVER;
		waits->enough = half->max_segment;
	} else if (!open && waits->shut_since_ns == WAITS_NEVER) {
		waits->shut_since_ns = now_ns;
		waits->enough = UINT32_MAX;
	}
	if (!open)
		waits->free_ns = WAITS_NEVER;
	if (acked < half->next || half->held != NULL)
		return;
	waits_note_acked(waits, open, now_ns);
}

/* Stamps of decades apart may add up to more than there is room for. */
static void
add_wait(int64_t *sum_ns, int64_t ns)
{
	if (G_UNLIKELY(__builtin_add_overflow(*sum_ns, ns, sum_ns)))
		*sum_ns = INT64_MAX;
}

/* Inside a record, in order. */
static void
judge_gap(struct half *half, const struct half *other, int64_t now_ns)
{
	struct waits *waits = &half->waits;
	/* from here to the sender and back, and to the receiver and back */
	int64_t sender_ns = other->round_trip_ns, receiver_ns = half->round_trip_ns;

	if (waits->data_ns == WAITS_NEVER || now_ns < waits->data_ns)
		return;
	if (sender_ns < 0 || receiver_ns < 0 || (waits->doubtful && now_ns - waits->data_ns > sender_ns)) {
		waits->so_far.doubts++;
		return;
	}
	if (waits->shut_ns > 0)
		add_wait(&waits->so_far.receiver_ns, waits->shut_ns);
	else if (waits->acked_ns != WAITS_NEVER && waits->acked_ns - waits->data_ns > sender_ns &&
	    now_ns - waits->acked_ns <= 2 * sender_ns)
		add_wait(&waits->so_far.receiver_ns, waits->acked_ns - waits->data_ns);
	if (waits->free_ns != WAITS_NEVER && now_ns - waits->free_ns > receiver_ns)
		add_wait(&waits->so_far.sender_ns, now_ns - waits->free_ns);
}

void
waits_end_gap(struct half *half, const struct half *other, bool in_order, int64_t now_ns)
{
	struct waits *waits = &half->waits;

	if (in_order && waits_matter(half) &&
	    (waits->acked_ns != WAITS_NEVER || waits->shut_ns > 0 || waits->doubtful))
		judge_gap(half, other, now_ns);
	waits->acked_ns = waits->free_ns = WAITS_NEVER;
	waits->shut_ns = 0;
	waits->doubtful = waits->told = false;
}
