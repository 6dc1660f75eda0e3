#include "stats/sweep.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "base/arith.h"

enum {
	FIRST_ROOM = 64,	/* a power of two */
	/* An event that would have to pass more of those that wait goes to the stragglers. */
	NEAR_EVENTS = 64,
	AHEAD = 4,		/* events whose calls are fetched in front of their turn */
	FAR_AHEAD = 16,		/* and those that are fetched themselves */
};

#define NO_CALL UINT32_MAX

struct event {
	int64_t at_ns;
	int64_t end_ns;			/* of a begin */
	uint32_t call;			/* its place */
	uint32_t rank;
};

/* Events of one sort that wait, the earliest first: nearly all come nearly in order. */
struct queue {
	struct event *ring;
	uint32_t first, count, room;		/* room is a power of two */
	struct event *heap;			/* the stragglers */
	uint32_t heap_count, heap_room;
};

struct waiting {
	struct sweep_call call;
	uint32_t ends;			/* that are to come; of a free place the next one */
};

struct sweep {
	struct sweep_sink sink;
	/*
	 * All begins wait in the first queue, by the begin of the first view
	 * that they have. Those of the second wait in theirs once they have
	 * left it: what is settled of one view is of the other.
	 */
	struct queue begins[SWEEP_VIEWS], ends[SWEEP_VIEWS];
	struct waiting *calls;
	uint32_t calls_room, calls_free;	/* NO_CALL: none is */
	uint32_t limit;
	uint32_t in_past;		/* calls in a row that lay wholly before settled_ns */
	int64_t settled_ns;
	int64_t latest_ns[SWEEP_VIEWS];	/* of all its stamps */
};

/* ---- queues ---- */

static bool
is_before(const struct event *a, const struct event *b)
{
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns;
	return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->rank < b->rank;
}

static void
heap_push(struct queue *queue, const struct event *event)
{
	uint32_t at = queue->heap_count++;

	if (queue->heap_count > queue->heap_room) {
		queue->heap_room = MAX(FIRST_ROOM, 2 * queue->heap_room);
		queue->heap = g_renew(struct event, queue->heap, queue->heap_room);
	}
	while (at > 0 && is_before(event, &queue->heap[(at - 1) / 2])) {
		queue->heap[at] = queue->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	queue->heap[at] = *event;
}

static void
heap_pop(struct queue *queue, struct event *event)
{
	struct event last = queue->heap[--queue->heap_count];
	uint32_t at = 0, child;

	*event = queue->heap[0];
	while ((child = 2 * at + 1) < queue->heap_count) {
		if (child + 1 < queue->heap_count && is_before(&queue->heap[child + 1], &queue->heap[child]))
			child++;
		if (!is_before(&queue->heap[child], &last))
			break;
		queue->heap[at] = queue->heap[child];
		at = child;
	}
	queue->heap[at] = last;
}

static struct event *
ring_at(const struct queue *queue, uint32_t number)
{
	return &queue->ring[(queue->first + number) & (queue->room - 1)];
}

static void
ring_grow(struct queue *queue)
{
	uint32_t room = MAX(FIRST_ROOM, 2 * queue->room);
	struct event *ring = g_new(struct event, room);

	for (uint32_t i = 0; i < queue->count; i++)
		ring[i] = *ring_at(queue, i);
	g_free(queue->ring);
	queue->ring = ring;
	queue->room = room;
	queue->first = 0;
}

/* The event comes in registers: read in whole right after its members were written, it would have to wait for them. */
static void
queue_push(struct queue *queue, int64_t at_ns, int64_t end_ns, uint32_t call, uint32_t rank)
{
	const struct event event = { .at_ns = at_ns, .end_ns = end_ns, .call = call, .rank = rank };
	uint32_t left = queue->count, at, mask;
	struct event *ring;

	if (left > NEAR_EVENTS && is_before(&event, ring_at(queue, left - 1)) &&
	    is_before(&event, ring_at(queue, left - NEAR_EVENTS))) {
		heap_push(queue, &event);
		return;
	}
	if (queue->count == queue->room)
		ring_grow(queue);
	queue->count++;
	ring = queue->ring;
	mask = queue->room - 1;
	for (at = queue->first + left; left > 0; left--, at--) {
		const struct event *before = &ring[(at - 1) & mask];

		if (!is_before(&event, before))
			break;
		ring[at & mask] = *before;
	}
	ring[at & mask].at_ns = at_ns;
	ring[at & mask].end_ns = end_ns;
	ring[at & mask].call = call;
	ring[at & mask].rank = rank;
}

static uint32_t
queue_count(const struct queue *queue)
{
	return queue->count + queue->heap_count;
}

/* Takes out the first event if it is not behind until_ns. */
static inline bool
queue_pop(struct queue *queue, int64_t until_ns, int64_t *at_ns, uint32_t *call)
{
	const struct event *first = queue->count > 0 ? ring_at(queue, 0) : NULL;
	struct event event;

	if (G_UNLIKELY(queue->heap_count > 0) && (first == NULL || is_before(&queue->heap[0], first))) {
		if (queue->heap[0].at_ns > until_ns)
			return false;
		heap_pop(queue, &event);
		*at_ns = event.at_ns;
		*call = event.call;
		return true;
	}
	if (first == NULL || first->at_ns > until_ns)
		return false;
	*at_ns = first->at_ns;
	*call = first->call;
	queue->first = (queue->first + 1) & (queue->room - 1);
	queue->count--;
	return true;
}

/*
 * Thousands of others were written since a call that is soon to be looked at.
 * In line at any rate: GCC takes a function that only fetches for one without
 * effect.
 */
static inline __attribute__((always_inline)) void
fetch_ahead(const struct sweep *sweep, const struct queue *queue)
{
	const struct waiting *waiting;

	if (queue->count <= FAR_AHEAD)
		return;
	__builtin_prefetch(ring_at(queue, FAR_AHEAD));
	/* its first and its last bytes may be in two lines of the cache */
	waiting = &sweep->calls[ring_at(queue, AHEAD)->call];
	__builtin_prefetch(waiting);
	__builtin_prefetch(&waiting->ends);
}

static void
queue_copy(struct queue *copy, const struct queue *queue)
{
	*copy = *queue;
	copy->ring = g_memdup2(queue->ring, queue->room * sizeof(*queue->ring));
	copy->heap = g_memdup2(queue->heap, queue->heap_room * sizeof(*queue->heap));
}

static void
queue_reset(struct queue *queue)
{
	queue->first = queue->count = queue->heap_count = 0;
}

static void
queue_clear(struct queue *queue)
{
	g_free(queue->ring);
	g_free(queue->heap);
}

/* ---- calls ---- */

/* Places from `from` on are free, in front of those that are free already. */
static void
places_free(struct sweep *sweep, uint32_t from)
{
	for (uint32_t i = sweep->calls_room; i-- > from;) {
		sweep->calls[i] = (struct waiting){ .ends = sweep->calls_free };
		sweep->calls_free = i;
	}
}

static uint32_t
call_keep(struct sweep *sweep, const struct sweep_call *call)
{
	uint32_t place;

	if (sweep->calls_free == NO_CALL) {
		uint32_t had = sweep->calls_room;

		sweep->calls_room = MAX(FIRST_ROOM, 2 * had);
		sweep->calls = g_renew(struct waiting, sweep->calls, sweep->calls_room);
		places_free(sweep, had);
	}
	place = sweep->calls_free;
	sweep->calls_free = sweep->calls[place].ends;
	sweep->calls[place] = (struct waiting){ .call = *call };
	return place;
}

static void
call_ended(struct sweep *sweep, uint32_t place)
{
	if (--sweep->calls[place].ends > 0)
		return;
	sweep->calls[place].call.has = 0;
	sweep->calls[place].ends = sweep->calls_free;
	sweep->calls_free = place;
}

static void
wait_for_end(struct sweep *sweep, enum sweep_view view, uint32_t place)
{
	struct waiting *waiting = &sweep->calls[place];

	waiting->ends++;
	queue_push(&sweep->ends[view], waiting->call.end_ns[view], 0, place, 0);
}

/* In the queue of one view, by the stamps of another one. */
static void
wait_for_begin(struct sweep *sweep, enum sweep_view queue, enum sweep_view view, uint32_t place)
{
	const struct sweep_call *call = &sweep->calls[place].call;

	queue_push(&sweep->begins[queue], call->begin_ns[view], call->end_ns[view], place, call->rank);
}

static bool
has_view(const struct sweep_call *call, enum sweep_view view)
{
	return (call->has >> view & 1) != 0;
}

/* ---- time ---- */

/* A call that ends by then began before it, and so has begun here. */
static void
end_until(struct sweep *sweep, enum sweep_view view, int64_t ns)
{
	struct queue *ends = &sweep->ends[view];
	int64_t at_ns;
	uint32_t place;

	while (queue_pop(ends, ns, &at_ns, &place)) {
		fetch_ahead(sweep, ends);
		sweep->sink.end(sweep->sink.context, view, &sweep->calls[place].call, min_ns(at_ns, sweep->latest_ns[view]));
		call_ended(sweep, place);
	}
}

static void
begin(struct sweep *sweep, enum sweep_view view, const struct sweep_call *call, int64_t at_ns)
{
	end_until(sweep, view, at_ns);
	sweep->sink.begin(sweep->sink.context, view, call, at_ns);
}

/* Before ns: more may begin at the same time. */
static void
begin_inside_until(struct sweep *sweep, int64_t ns)
{
	int64_t at_ns;
	uint32_t place;

	while (queue_pop(&sweep->begins[SWEEP_INSIDE], ns - 1, &at_ns, &place))
		begin(sweep, SWEEP_INSIDE, &sweep->calls[place].call, at_ns);
}

static void
forget_time(struct sweep *sweep)
{
	sweep->settled_ns = INT64_MIN;
	for (unsigned view = 0; view < SWEEP_VIEWS; view++)
		sweep->latest_ns[view] = INT64_MIN;
}

/* False when none waits. */
static bool
settle_earliest(struct sweep *sweep)
{
	const struct sweep_call *call;
	int64_t at_ns;
	uint32_t place;

	if (!queue_pop(&sweep->begins[SWEEP_OUTSIDE], INT64_MAX, &at_ns, &place))
		return false;
	call = &sweep->calls[place].call;
	fetch_ahead(sweep, &sweep->begins[SWEEP_OUTSIDE]);
	if (has_view(call, SWEEP_INSIDE))
		wait_for_begin(sweep, SWEEP_INSIDE, SWEEP_INSIDE, place);
	if (has_view(call, SWEEP_OUTSIDE))
		begin(sweep, SWEEP_OUTSIDE, call, at_ns);
	sweep->settled_ns = at_ns;
	begin_inside_until(sweep, at_ns);
	return true;
}

static void
settle_all(struct sweep *sweep)
{
	while (settle_earliest(sweep))
		continue;
	begin_inside_until(sweep, SWEEP_OPEN);
	end_until(sweep, SWEEP_OUTSIDE, SWEEP_OPEN);
	end_until(sweep, SWEEP_INSIDE, SWEEP_OPEN);
}

/* A view of a call that began before what is settled. */
static void
take_late_view(struct sweep *sweep, enum sweep_view view, uint32_t place)
{
	const struct sweep_call *call = &sweep->calls[place].call;
	int64_t begin_ns = call->begin_ns[view], end_ns = call->end_ns[view], settled_ns = sweep->settled_ns;

	if (begin_ns < settled_ns)
		sweep->sink.missed(sweep->sink.context, view, call, min_ns(end_ns, settled_ns) - begin_ns);
	if (end_ns <= settled_ns)
		return;
	wait_for_end(sweep, view, place);
	if (begin_ns < settled_ns)
		begin(sweep, view, call, settled_ns);
	else
		wait_for_begin(sweep, SWEEP_INSIDE, SWEEP_INSIDE, place);
}

static void
take_late(struct sweep *sweep, const struct sweep_call *call, int64_t end_ns)
{
	uint32_t place = call_keep(sweep, call);

	sweep->limit = MIN(2 * sweep->limit, SWEEP_CALLS_MAX);
	sweep->in_past = end_ns <= sweep->settled_ns ? sweep->in_past + 1 : 0;
	sweep->calls[place].ends = 1;
	for (enum sweep_view view = 0; view < SWEEP_VIEWS; view++) {
		if (has_view(call, view))
			take_late_view(sweep, view, place);
	}
	call_ended(sweep, place);
	if (sweep->in_past < SWEEP_RESTART)
		return;
	settle_all(sweep);
	forget_time(sweep);
	sweep->in_past = 0;
}

void
sweep_reset(struct sweep *sweep)
{
	for (unsigned i = 0; i < SWEEP_VIEWS; i++) {
		queue_reset(&sweep->begins[i]);
		queue_reset(&sweep->ends[i]);
	}
	sweep->limit = SWEEP_CALLS_MIN;
	sweep->in_past = 0;
	forget_time(sweep);
	sweep->calls_free = NO_CALL;
	places_free(sweep, 0);
}

struct sweep *
sweep_new(const struct sweep_sink *sink)
{
	struct sweep *sweep = g_new0(struct sweep, 1);

	sweep->sink = *sink;
	sweep_reset(sweep);
	return sweep;
}

struct sweep *
sweep_copy(const struct sweep *sweep, void *context)
{
	struct sweep *copy = g_memdup2(sweep, sizeof *sweep);

	copy->sink.context = context;
	for (unsigned i = 0; i < SWEEP_VIEWS; i++) {
		queue_copy(&copy->begins[i], &sweep->begins[i]);
		queue_copy(&copy->ends[i], &sweep->ends[i]);
	}
	copy->calls = g_memdup2(sweep->calls, sweep->calls_room * sizeof *sweep->calls);
	return copy;
}

void
sweep_free(struct sweep *sweep)
{
	if (sweep == NULL)
		return;
	for (unsigned i = 0; i < SWEEP_VIEWS; i++) {
		queue_clear(&sweep->begins[i]);
		queue_clear(&sweep->ends[i]);
	}
	g_free(sweep->calls);
	g_free(sweep);
}

void
sweep_add(struct sweep *sweep, const struct sweep_call *call)
{
	enum sweep_view first = has_view(call, SWEEP_OUTSIDE) ? SWEEP_OUTSIDE : SWEEP_INSIDE;
	bool open = call->end_ns[first] == SWEEP_OPEN;
	uint32_t place;

	for (enum sweep_view view = first; view < SWEEP_VIEWS; view++) {
		if (has_view(call, view))
			sweep->latest_ns[view] = max_ns(sweep->latest_ns[view], open ? call->begin_ns[view] : call->end_ns[view]);
	}
	if (call->begin_ns[first] < sweep->settled_ns) {
		take_late(sweep, call, call->end_ns[first]);
		return;
	}
	sweep->in_past = 0;
	place = call_keep(sweep, call);
	wait_for_begin(sweep, SWEEP_OUTSIDE, first, place);
	for (enum sweep_view view = 0; view < SWEEP_VIEWS; view++) {
		if (has_view(call, view))
			wait_for_end(sweep, view, place);
	}
	if (queue_count(&sweep->begins[SWEEP_OUTSIDE]) > sweep->limit)
		settle_earliest(sweep);
}

void
sweep_finish(struct sweep *sweep)
{
	settle_all(sweep);
}

void
sweep_retag(struct sweep *sweep, sweep_tag_fn *retag, void *context)
{
	for (uint32_t i = 0; i < sweep->calls_room; i++) {
		if (sweep->calls[i].call.has != 0)
			sweep->calls[i].call.tag = retag(context, sweep->calls[i].call.tag);
	}
}
