#include "stats/sweep.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "base/arith.h"

enum {
	FRONT = 64,		/* places in front of the first event after it was moved */
	FIRST_ROOM = 256,
	/* An event that would have to pass more of those that wait goes to the stragglers. */
	NEAR_EVENTS = 64,
	TELL_CALLS = 64,	/* settled, whose begins are told at a time */
	TELL_EVENTS = 64,
};

struct event {
	int64_t at_ns;
	int64_t end_ns;		/* of a begin */
	uint64_t tag;
};

/* Events of one sort that wait, the earliest first: nearly all come nearly in order. */
struct queue {
	struct event *event;	/* in front of the first one stands one that nothing comes before */
	uint32_t first, back, room;	/* back: behind the last one */
	uint32_t due;			/* behind the first ones that are to be told */
	bool due_stand;			/* nothing comes before what is due any more */
	struct event *heap;		/* the stragglers */
	uint32_t heap_count, heap_room;
};

struct sweep {
	sweep_sink_fn *sink;
	void *context;
	/*
	 * Each call's begin in the first view decides when it is settled; without
	 * that view nobody's stands for it, at its begin inside. Of what begins
	 * inside all is due that is before what is settled.
	 */
	enum sweep_view first;
	struct queue begins[SWEEP_VIEWS], ends[SWEEP_VIEWS];
	uint32_t limit;
	uint32_t in_past;		/* calls in a row that lay wholly before settled_ns */
	uint32_t untold;		/* settled since anything was told */
	int64_t settled_ns;
	int64_t latest_ns[SWEEP_VIEWS];	/* of all its stamps */
};

/* ---- queues ---- */

/* Of a tag below its rank: the event is no call's own. */
static const uint64_t nobody = (UINT64_C(1) << SWEEP_RANK_SHIFT) - 1;

static bool
is_nobody(const struct event *event)
{
	return (event->tag & nobody) == nobody;
}

static bool
is_before(const struct event *a, const struct event *b)
{
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns;
	return a->end_ns != b->end_ns ? a->end_ns < b->end_ns :
	    a->tag >> SWEEP_RANK_SHIFT < b->tag >> SWEEP_RANK_SHIFT;
}

static void
heap_push(struct queue *queue, const struct event *event)
{
	uint32_t at = queue->heap_count++;

	if (queue->heap_count > queue->heap_room) {
		queue->heap_room = MAX(64, 2 * queue->heap_room);
		queue->heap = g_renew(struct event, queue->heap, queue->heap_room);
	}
	while (at > 0 && is_before(event, &queue->heap[(at - 1) / 2])) {
		queue->heap[at] = queue->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	queue->heap[at] = *event;
}

static struct event
heap_pop(struct queue *queue)
{
	struct event top = queue->heap[0], last = queue->heap[--queue->heap_count];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < queue->heap_count) {
		if (child + 1 < queue->heap_count && is_before(&queue->heap[child + 1], &queue->heap[child]))
			child++;
		if (!is_before(&queue->heap[child], &last))
			break;
		queue->heap[at] = queue->heap[child];
		at = child;
	}
	queue->heap[at] = last;
	return top;
}

/* The first event stands there from now on, and in front of it the one that nothing comes before. */
static void
set_first(struct queue *queue, uint32_t first)
{
	queue->first = first;
	queue->event[first - 1].at_ns = INT64_MIN;
}

/* Room for one at either end. */
static void
make_room(struct queue *queue)
{
	const struct event *from = queue->event + queue->first;
	uint32_t count = queue->back - queue->first;

	if (queue->room < FIRST_ROOM || count > queue->room / 2) {
		uint32_t room = MAX(FIRST_ROOM, 2 * queue->room);
		struct event *event = g_new(struct event, room);

		if (count > 0)
			memcpy(event + FRONT, from, count * sizeof(*event));
		g_free(queue->event);
		queue->event = event;
		queue->room = room;
	} else {
		memmove(queue->event + FRONT, from, count * sizeof(*queue->event));
	}
	queue->due += FRONT - queue->first;
	queue->back = FRONT + count;
	set_first(queue, FRONT);
}

/* An event that does not simply come last, or for which there is no room. */
static G_GNUC_NO_INLINE void
queue_insert(struct queue *queue, int64_t at_ns, int64_t end_ns, uint64_t tag)
{
	const struct event event = { .at_ns = at_ns, .end_ns = end_ns, .tag = tag };
	const struct event *stand;
	struct event *place;

	if (queue->back >= queue->room)
		make_room(queue);
	place = queue->event + queue->back;
	stand = queue->event + (queue->due_stand ? queue->due : queue->first);
	if (queue->back - queue->first > NEAR_EVENTS && place[-NEAR_EVENTS].at_ns > at_ns) {
		heap_push(queue, &event);
		return;
	}
	for (; place[-1].at_ns > at_ns; place--)
		*place = place[-1];
	for (; place > stand && is_before(&event, &place[-1]); place--)
		*place = place[-1];
	*place = event;
	queue->back++;
}

static inline void
queue_push(struct queue *queue, int64_t at_ns, int64_t end_ns, uint64_t tag)
{
	struct event *place = queue->event + queue->back;

	if (queue->back >= queue->room || place[-1].at_ns >= at_ns) {
		queue_insert(queue, at_ns, end_ns, tag);
		return;
	}
	place->at_ns = at_ns;
	place->end_ns = end_ns;
	place->tag = tag;
	queue->back++;
}

/* The first straggler is the first event that is not due yet. */
static G_GNUC_NO_INLINE void
take_straggler(struct queue *queue)
{
	struct event *first, *before;

	if (queue->first < 2)
		make_room(queue);
	first = queue->event + queue->first;
	before = queue->event + queue->due;
	while (!queue->due_stand && before > first && is_before(&queue->heap[0], &before[-1]))
		before--;
	memmove(first - 1, first, (size_t)(before - first) * sizeof(*first));
	before[-1] = heap_pop(queue);
	queue->due--;
	set_first(queue, queue->first - 1);
}

/* The first event that is not due yet; NULL: there is none. */
static inline const struct event *
queue_next(struct queue *queue)
{
	const struct event *next = &queue->event[queue->due];
	bool none = queue->due == queue->back;

	if (queue->heap_count > 0 && (none || queue->heap[0].at_ns <= next->at_ns)) {
		if (none || is_before(&queue->heap[0], next))
			take_straggler(queue);
		return &queue->event[queue->due];
	}
	return none ? NULL : next;
}

static inline uint32_t
queue_waiting(const struct queue *queue)
{
	return queue->back - queue->due + queue->heap_count;
}

/* All that are not behind until_ns are due. */
static G_GNUC_NO_INLINE void
queue_until(struct queue *queue, int64_t until_ns)
{
	const struct event *next;

	while ((next = queue_next(queue)) != NULL && next->at_ns <= until_ns)
		queue->due++;
}

static void
queue_drop(struct queue *queue, uint32_t first)
{
	queue->due = MAX(queue->due, first);
	set_first(queue, first);
}

static void
queue_copy(struct queue *copy, const struct queue *queue)
{
	*copy = *queue;
	copy->event = g_memdup2(queue->event, queue->room * sizeof(*queue->event));
	copy->heap = g_memdup2(queue->heap, queue->heap_room * sizeof(*queue->heap));
}

static void
queue_reset(struct queue *queue)
{
	queue->first = queue->due = queue->back = FRONT;
	queue->heap_count = 0;
	if (queue->room == 0)
		make_room(queue);
	set_first(queue, FRONT);
}

static void
queue_clear(struct queue *queue)
{
	g_free(queue->event);
	g_free(queue->heap);
}

static void
queue_retag(struct queue *queue, sweep_tag_fn *retag, void *context)
{
	for (uint32_t i = queue->first; i < queue->back; i++) {
		if (!is_nobody(&queue->event[i]))
			queue->event[i].tag = retag(context, queue->event[i].tag);
	}
	for (uint32_t i = 0; i < queue->heap_count; i++) {
		if (!is_nobody(&queue->heap[i]))
			queue->heap[i].tag = retag(context, queue->heap[i].tag);
	}
}

/* ---- what is told ---- */

struct telling {
	const struct sweep *sweep;
	enum sweep_view view;
	unsigned count;
	struct sweep_event event[TELL_EVENTS];
};

static void
telling_flush(struct telling *telling)
{
	const struct sweep *sweep = telling->sweep;

	if (telling->count > 0)
		sweep->sink(sweep->context, telling->view, telling->event, telling->count);
	telling->count = 0;
}

static inline struct sweep_event *
telling_next(struct telling *telling)
{
	if (G_UNLIKELY(telling->count == TELL_EVENTS))
		telling_flush(telling);
	return &telling->event[telling->count++];
}

/*
 * So many begins, the first ones, and what ended before each of them; then what
 * ended until until_ns. A call that ends by then began before it, and so has
 * begun here.
 */
static void
tell(struct sweep *sweep, enum sweep_view view, uint32_t count, int64_t until_ns)
{
	struct queue *begins = &sweep->begins[view], *ends = &sweep->ends[view];
	struct telling telling;		/* not set here, for its events would be as well */
	const struct event *begin = begins->event + begins->first, *last = begin + count, *end, *end_last;
	struct sweep_event *event;

	telling.sweep = sweep;
	telling.view = view;
	telling.count = 0;
	if (G_UNLIKELY(ends->heap_count > 0))
		queue_until(ends, count > 0 ? max_ns(until_ns, last[-1].at_ns) : until_ns);
	end = ends->event + ends->first;
	end_last = ends->event + ends->back;
	for (;; begin++) {
		int64_t at_ns = begin < last ? begin->at_ns : until_ns;

		if (begin < last && is_nobody(begin))
			continue;
		for (; end < end_last && end->at_ns <= at_ns; end++) {
			event = telling_next(&telling);
			event->at_ns = min_ns(end->at_ns, sweep->latest_ns[view]);
			event->tag = end->tag;
			event->kind = SWEEP_END;
		}
		if (begin == last)
			break;
		event = telling_next(&telling);
		event->at_ns = event->begin_ns = at_ns;
		event->end_ns = begin->end_ns;
		event->tag = begin->tag;
		event->kind = SWEEP_BEGIN;
	}
	telling_flush(&telling);
	queue_drop(begins, begins->first + count);
	queue_drop(ends, (uint32_t)(end - ends->event));
}

static void
tell_one(const struct sweep *sweep, enum sweep_view view, const struct sweep_event *event)
{
	sweep->sink(sweep->context, view, event, 1);
}

/* How many of those that are due come before ns. */
static uint32_t
count_before(const struct queue *queue, int64_t ns)
{
	const struct event *first = queue->event + queue->first;
	uint32_t before = 0, among = queue->due - queue->first;

	while (before < among) {
		uint32_t middle = before + (among - before) / 2;

		if (first[middle].at_ns < ns)
			before = middle + 1;
		else
			among = middle;
	}
	return before;
}

void
sweep_tell(struct sweep *sweep)
{
	struct queue *outside = &sweep->begins[SWEEP_OUTSIDE], *inside = &sweep->begins[SWEEP_INSIDE];

	if (sweep->settled_ns == INT64_MIN)
		return;
	if (sweep->first == SWEEP_OUTSIDE) {
		tell(sweep, SWEEP_OUTSIDE, outside->due - outside->first, INT64_MIN);
		queue_until(inside, sweep->settled_ns - 1);
	}
	/* not at the time up to which all is settled: more may begin then */
	tell(sweep, SWEEP_INSIDE, count_before(inside, sweep->settled_ns), INT64_MIN);
	sweep->untold = 0;
}

/* ---- time ---- */

static bool
has_view(const struct sweep_call *call, enum sweep_view view)
{
	return (call->has >> view & 1) != 0;
}

static inline void
wait_for_end(struct sweep *sweep, enum sweep_view view, const struct sweep_call *call)
{
	queue_push(&sweep->ends[view], call->end_ns[view], 0, call->tag);
}

static inline void
wait_for_begin(struct sweep *sweep, enum sweep_view view, const struct sweep_call *call)
{
	queue_push(&sweep->begins[view], call->begin_ns[view], call->end_ns[view], call->tag);
}

static void
forget_time(struct sweep *sweep)
{
	sweep->settled_ns = INT64_MIN;
	for (unsigned view = 0; view < SWEEP_VIEWS; view++)
		sweep->latest_ns[view] = INT64_MIN;
}

static void
tell_all(struct sweep *sweep)
{
	for (enum sweep_view view = 0; view < SWEEP_VIEWS; view++) {
		struct queue *begins = &sweep->begins[view];

		queue_until(begins, INT64_MAX);
		tell(sweep, view, begins->due - begins->first, SWEEP_OPEN);
	}
}

/* A view of a call that began before what is settled. */
static void
take_late_view(struct sweep *sweep, enum sweep_view view, const struct sweep_call *call)
{
	int64_t begin_ns = call->begin_ns[view], end_ns = call->end_ns[view], settled_ns = sweep->settled_ns;
	struct sweep_event event = { .begin_ns = begin_ns, .end_ns = end_ns, .tag = call->tag };

	if (begin_ns < settled_ns) {
		event.kind = SWEEP_MISSED;
		event.at_ns = min_ns(end_ns, settled_ns) - begin_ns;
		tell_one(sweep, view, &event);
	}
	if (end_ns <= settled_ns)
		return;
	wait_for_end(sweep, view, call);
	if (begin_ns < settled_ns) {
		tell(sweep, view, 0, settled_ns);
		event.kind = SWEEP_BEGIN;
		event.at_ns = settled_ns;
		tell_one(sweep, view, &event);
	} else {
		wait_for_begin(sweep, SWEEP_INSIDE, call);
	}
}

static G_GNUC_NO_INLINE void
take_late(struct sweep *sweep, const struct sweep_call *call, int64_t end_ns)
{
	sweep_tell(sweep);
	sweep->limit = MIN(2 * sweep->limit, SWEEP_CALLS_MAX);
	sweep->in_past = end_ns <= sweep->settled_ns ? sweep->in_past + 1 : 0;
	for (enum sweep_view view = sweep->first; view < SWEEP_VIEWS; view++) {
		if (has_view(call, view))
			take_late_view(sweep, view, call);
	}
	if (sweep->in_past < SWEEP_RESTART)
		return;
	tell_all(sweep);
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
	sweep->in_past = sweep->untold = 0;
	forget_time(sweep);
}

struct sweep *
sweep_new(enum sweep_view first, sweep_sink_fn *sink, void *context)
{
	struct sweep *sweep = g_new0(struct sweep, 1);

	sweep->sink = sink;
	sweep->context = context;
	sweep->first = first;
	sweep->begins[SWEEP_OUTSIDE].due_stand = true;
	sweep_reset(sweep);
	return sweep;
}

struct sweep *
sweep_copy(const struct sweep *sweep, void *context)
{
	struct sweep *copy = g_memdup2(sweep, sizeof *sweep);

	copy->context = context;
	for (unsigned i = 0; i < SWEEP_VIEWS; i++) {
		queue_copy(&copy->begins[i], &sweep->begins[i]);
		queue_copy(&copy->ends[i], &sweep->ends[i]);
	}
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
	g_free(sweep);
}

static inline void
note_latest(struct sweep *sweep, enum sweep_view view, const struct sweep_call *call, bool open)
{
	int64_t stamp_ns = open ? call->begin_ns[view] : call->end_ns[view];

	if (stamp_ns > sweep->latest_ns[view])
		sweep->latest_ns[view] = stamp_ns;
}

static inline void
wait_for(struct sweep *sweep, enum sweep_view view, const struct sweep_call *call)
{
	wait_for_begin(sweep, view, call);
	wait_for_end(sweep, view, call);
}

/* If enough wait, the earliest of them is settled. */
static inline void
settle(struct sweep *sweep, struct queue *begins)
{
	if (queue_waiting(begins) <= sweep->limit)
		return;
	sweep->settled_ns = queue_next(begins)->at_ns;
	begins->due++;
	if (++sweep->untold >= TELL_CALLS)
		sweep_tell(sweep);
}

/* A call that has the first view. */
static inline void
add_first(struct sweep *sweep, enum sweep_view first, const struct sweep_call *call)
{
	bool both = first == SWEEP_OUTSIDE && has_view(call, SWEEP_INSIDE);
	bool open = call->end_ns[first] == SWEEP_OPEN;

	note_latest(sweep, first, call, open);
	if (both)
		note_latest(sweep, SWEEP_INSIDE, call, open);
	if (G_UNLIKELY(call->begin_ns[first] < sweep->settled_ns)) {
		take_late(sweep, call, call->end_ns[first]);
		return;
	}
	sweep->in_past = 0;
	if (both)
		wait_for(sweep, SWEEP_INSIDE, call);
	wait_for(sweep, first, call);
	settle(sweep, &sweep->begins[first]);
}

/* A call that was seen inside only, where others are seen outside too. */
static G_GNUC_NO_INLINE void
add_second(struct sweep *sweep, const struct sweep_call *call)
{
	int64_t begin_ns = call->begin_ns[SWEEP_INSIDE], end_ns = call->end_ns[SWEEP_INSIDE];

	note_latest(sweep, SWEEP_INSIDE, call, end_ns == SWEEP_OPEN);
	if (begin_ns < sweep->settled_ns) {
		take_late(sweep, call, end_ns);
		return;
	}
	sweep->in_past = 0;
	queue_push(&sweep->begins[SWEEP_OUTSIDE], begin_ns, end_ns, call->tag | nobody);
	wait_for(sweep, SWEEP_INSIDE, call);
	settle(sweep, &sweep->begins[SWEEP_OUTSIDE]);
}

void
sweep_add(struct sweep *sweep, const struct sweep_call *call)
{
	if (sweep->first == SWEEP_INSIDE)
		add_first(sweep, SWEEP_INSIDE, call);
	else if (has_view(call, SWEEP_OUTSIDE))
		add_first(sweep, SWEEP_OUTSIDE, call);
	else
		add_second(sweep, call);
}

void
sweep_finish(struct sweep *sweep)
{
	tell_all(sweep);
}

void
sweep_retag(struct sweep *sweep, sweep_tag_fn *retag, void *context)
{
	for (unsigned i = 0; i < SWEEP_VIEWS; i++) {
		queue_retag(&sweep->begins[i], retag, context);
		queue_retag(&sweep->ends[i], retag, context);
	}
}
