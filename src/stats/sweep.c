#include "stats/sweep.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "base/arith.h"

enum {
	FRONT = 64,		/* places in front of the first event after it was moved */
	FIRST_ROOM = 512,
	/* An event that would have to pass more of those that wait goes to the stragglers. */
	NEAR_EVENTS = 64,
	TELL_CALLS = 64,	/* settled, whose begins are told at a time */
	RESERVE = TELL_CALLS + 1,
};
/* Enough is left behind what make_room() moved. */
G_STATIC_ASSERT(FIRST_ROOM / 2 - FRONT >= RESERVE);

/* Events of one sort that wait, the earliest first: nearly all come nearly in order. */
struct queue {
	struct sweep_event *event;	/* in front of the first one stands one that nothing comes before */
	uint32_t first, back, room;	/* back: behind the last one */
	uint32_t due;			/* behind the first ones that are to be told */
	bool due_stand;			/* nothing comes before what is due any more */
	struct sweep_event *heap;		/* the stragglers */
	uint32_t heap_count, heap_room;
};

struct sweep {
	const struct sweep_sink *sink;
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
	bool has_nobody;
	int64_t settled_ns;
	/*
	 * Calls that begin after near_ns change nothing in what is settled next: so
	 * many of them are settled together, and only then is settled_ns up to date.
	 */
	int64_t near_ns;
	uint32_t far_left;
	int64_t latest_ns[SWEEP_VIEWS];	/* of its stamps, those aside that are in ends */
};

/* ---- queues ---- */

/* Of a tag below its rank: the event is no call's own. */
static const uint64_t nobody = (UINT64_C(1) << SWEEP_RANK_SHIFT) - 1;

static bool
is_nobody(const struct sweep_event *event)
{
	return (event->tag & nobody) == nobody;
}

static bool
is_before(const struct sweep_event *a, const struct sweep_event *b)
{
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns;
	return a->end_ns != b->end_ns ? a->end_ns < b->end_ns :
	    a->tag >> SWEEP_RANK_SHIFT < b->tag >> SWEEP_RANK_SHIFT;
}

static void
heap_push(struct queue *queue, const struct sweep_event *event)
{
	uint32_t at = queue->heap_count++;

	if (queue->heap_count > queue->heap_room) {
		queue->heap_room = MAX(64, 2 * queue->heap_room);
		queue->heap = g_renew(struct sweep_event, queue->heap, queue->heap_room);
	}
	while (at > 0 && is_before(event, &queue->heap[(at - 1) / 2])) {
		queue->heap[at] = queue->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	queue->heap[at] = *event;
}

static struct sweep_event
heap_pop(struct queue *queue)
{
	struct sweep_event top = queue->heap[0], last = queue->heap[--queue->heap_count];
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

/* Room for one in front and for RESERVE behind. */
static void
make_room(struct queue *queue)
{
	const struct sweep_event *from = queue->event + queue->first;
	uint32_t count = queue->back - queue->first;

	if (queue->room < FIRST_ROOM || count > queue->room / 2) {
		uint32_t room = MAX(FIRST_ROOM, 2 * queue->room);
		struct sweep_event *event = g_new(struct sweep_event, room);

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

static inline void
reserve(struct queue *queue)
{
	if (queue->room - queue->back < RESERVE)
		make_room(queue);
}

/* It would have to pass too many. */
static G_GNUC_NO_INLINE void
insert_straggler(struct queue *queue, int64_t at_ns, int64_t end_ns, uint64_t tag)
{
	const struct sweep_event event = { .at_ns = at_ns, .end_ns = end_ns, .tag = tag };

	heap_push(queue, &event);
}

/* Others in front of the place, which is free, are at the same time. */
static G_GNUC_NO_INLINE void
insert_equal(struct queue *queue, struct sweep_event *place, int64_t at_ns, int64_t end_ns, uint64_t tag)
{
	const struct sweep_event event = { .at_ns = at_ns, .end_ns = end_ns, .tag = tag };
	const struct sweep_event *stand = queue->event + (queue->due_stand ? queue->due : queue->first);

	for (; place > stand && is_before(&event, &place[-1]); place--)
		*place = place[-1];
	*place = event;
}

/* An event that does not come last. */
static G_GNUC_NO_INLINE void
queue_insert(struct queue *queue, int64_t at_ns, int64_t end_ns, uint64_t tag)
{
	struct sweep_event *place = queue->event + queue->back;

	if (queue->back - queue->first > NEAR_EVENTS && G_UNLIKELY(place[-NEAR_EVENTS].at_ns > at_ns)) {
		insert_straggler(queue, at_ns, end_ns, tag);
		return;
	}
	queue->back++;
	for (; place[-1].at_ns > at_ns; place--)
		*place = place[-1];
	if (G_UNLIKELY(place[-1].at_ns == at_ns))
		insert_equal(queue, place, at_ns, end_ns, tag);
	else
		*place = (struct sweep_event){ .at_ns = at_ns, .end_ns = end_ns, .tag = tag };
}

/* There is room for it. */
static inline void
queue_push(struct queue *queue, int64_t at_ns, int64_t end_ns, uint64_t tag)
{
	struct sweep_event *place = queue->event + queue->back;

	if (place[-1].at_ns >= at_ns) {
		queue_insert(queue, at_ns, end_ns, tag);
		return;
	}
	*place = (struct sweep_event){ .at_ns = at_ns, .end_ns = end_ns, .tag = tag };
	queue->back++;
}

/* The first straggler is the first event that is not due yet. */
static G_GNUC_NO_INLINE void
take_straggler(struct queue *queue)
{
	struct sweep_event *first, *before;

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
static inline const struct sweep_event *
queue_next(struct queue *queue)
{
	const struct sweep_event *next = &queue->event[queue->due];
	bool none = queue->due == queue->back;

	if (queue->heap_count > 0 && (none || queue->heap[0].at_ns <= next->at_ns)) {
		if (none || is_before(&queue->heap[0], next))
			take_straggler(queue);
		return &queue->event[queue->due];
	}
	return none ? NULL : next;
}

/* A straggler may be among the next ones, so many, that are not due yet. */
static inline bool
is_straggler_before(const struct queue *queue, uint32_t count)
{
	return queue->heap_count > 0 && (count > queue->back - queue->due ||
	    queue->heap[0].at_ns <= queue->event[queue->due + count - 1].at_ns);
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
	const struct sweep_event *next;

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

/* So many events, the first ones: those that are nobody's give way. How many are left, the last ones of them. */
static uint32_t
drop_nobodies(struct queue *queue, uint32_t count)
{
	struct sweep_event *stop = queue->event + queue->first + count, *kept = stop;

	for (struct sweep_event *event = stop; event-- > queue->event + queue->first;) {
		if (!is_nobody(event))
			*--kept = *event;
	}
	return (uint32_t)(stop - kept);
}

/* The first of the events that wait which is after ns. */
static const struct sweep_event *
first_after(const struct queue *queue, int64_t ns)
{
	const struct sweep_event *first = queue->event + queue->first;
	uint32_t count = queue->back - queue->first;

	while (count > 0) {
		uint32_t half = count / 2;

		if (first[half].at_ns <= ns) {
			first += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return first;
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
	struct sweep_run run = { .view = view, .begin_stop = begins->event + begins->first + count };

	if (G_UNLIKELY(sweep->has_nobody))
		count = drop_nobodies(begins, count);
	run.begin = run.begin_stop - count;
	if (count > 0)
		until_ns = max_ns(until_ns, run.begin_stop[-1].at_ns);
	if (G_UNLIKELY(ends->heap_count > 0))
		queue_until(ends, until_ns);
	run.end = ends->event + ends->first;
	run.end_stop = first_after(ends, until_ns);
	sweep->sink->run(sweep->context, &run);
	if (run.end < run.end_stop)
		sweep->latest_ns[view] = max_ns(sweep->latest_ns[view], run.end_stop[-1].at_ns);
	queue_drop(begins, (uint32_t)(run.begin_stop - begins->event));
	queue_drop(ends, (uint32_t)(run.end_stop - ends->event));
}

/* How many of those that are due come before ns. */
static uint32_t
count_before(const struct queue *queue, int64_t ns)
{
	const struct sweep_event *first = queue->event + queue->first;
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

/* The first ones that wait are settled, so many. */
static void
settle(struct sweep *sweep, uint32_t count)
{
	struct queue *begins = &sweep->begins[sweep->first];

	for (; count > 0 && is_straggler_before(begins, count); count--) {
		sweep->settled_ns = queue_next(begins)->at_ns;
		begins->due++;
		sweep->untold++;
	}
	if (count == 0)
		return;
	begins->due += count;
	sweep->untold += count;
	sweep->settled_ns = begins->event[begins->due - 1].at_ns;
}

static void
tell_settled(struct sweep *sweep)
{
	struct queue *outside = &sweep->begins[SWEEP_OUTSIDE], *inside = &sweep->begins[SWEEP_INSIDE];

	sweep->untold = 0;
	if (sweep->settled_ns == INT64_MIN)
		return;
	if (sweep->first == SWEEP_OUTSIDE) {
		tell(sweep, SWEEP_OUTSIDE, outside->due - outside->first, INT64_MIN);
		queue_until(inside, sweep->settled_ns - 1);
	}
	/* not at the time up to which all is settled: more may begin then */
	tell(sweep, SWEEP_INSIDE, count_before(inside, sweep->settled_ns), INT64_MIN);
}

/* All that is to be settled is, and told when that is enough. */
static void
settle_all(struct sweep *sweep)
{
	uint32_t waiting = queue_waiting(&sweep->begins[sweep->first]);

	if (waiting > sweep->limit)
		settle(sweep, waiting - sweep->limit);
	if (sweep->untold >= TELL_CALLS)
		tell_settled(sweep);
}

/* How many calls can be added before anything is settled or told, and which; there is room for them. */
static void
look_ahead(struct sweep *sweep)
{
	const struct queue *begins = &sweep->begins[sweep->first];
	uint32_t waiting = queue_waiting(begins), last;

	for (unsigned i = 0; i < SWEEP_VIEWS; i++) {
		reserve(&sweep->begins[i]);
		reserve(&sweep->ends[i]);
	}
	if (waiting < sweep->limit) {
		sweep->far_left = MIN(sweep->limit - waiting, TELL_CALLS);
		sweep->near_ns = max_ns(sweep->settled_ns, -INT64_MAX) - 1;
		return;
	}
	sweep->far_left = TELL_CALLS - sweep->untold;
	last = begins->due + sweep->far_left - 1;
	sweep->near_ns = last < begins->back ? begins->event[last].at_ns : INT64_MAX;
}

static G_GNUC_NO_INLINE void
go_on(struct sweep *sweep)
{
	settle_all(sweep);
	look_ahead(sweep);
}

void
sweep_tell(struct sweep *sweep)
{
	settle_all(sweep);
	tell_settled(sweep);
	look_ahead(sweep);
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

/* Calls that are still open end with the last stamp of all. */
static void
close_open(struct sweep *sweep, enum sweep_view view)
{
	struct queue *ends = &sweep->ends[view];
	int64_t latest_ns = sweep->latest_ns[view];

	queue_until(ends, SWEEP_OPEN - 1);
	if (ends->due > ends->first)
		latest_ns = max_ns(latest_ns, ends->event[ends->due - 1].at_ns);
	for (uint32_t i = ends->due; i < ends->back; i++)
		ends->event[i].at_ns = latest_ns;
}

static void
tell_all(struct sweep *sweep)
{
	for (enum sweep_view view = 0; view < SWEEP_VIEWS; view++) {
		struct queue *begins = &sweep->begins[view];

		while (queue_waiting(begins) > 0) {
			while (begins->due - begins->first < TELL_CALLS && queue_next(begins) != NULL)
				begins->due++;
			tell(sweep, view, begins->due - begins->first, INT64_MIN);
		}
		tell(sweep, view, begins->due - begins->first, INT64_MIN);
		close_open(sweep, view);
		tell(sweep, view, 0, SWEEP_OPEN);
	}
}

/* A view of a call that began before what is settled. */
static void
take_late_view(struct sweep *sweep, enum sweep_view view, const struct sweep_call *call)
{
	int64_t begin_ns = call->begin_ns[view], end_ns = call->end_ns[view], settled_ns = sweep->settled_ns;
	const struct sweep_late late = {
		.missed_ns = min_ns(end_ns, settled_ns) - begin_ns,
		.begins = end_ns > settled_ns,
		.begin = { .at_ns = settled_ns, .end_ns = end_ns, .tag = call->tag },
		.begin_ns = begin_ns,
	};

	if (late.begins) {
		wait_for_end(sweep, view, call);
		if (begin_ns >= settled_ns) {
			wait_for_begin(sweep, SWEEP_INSIDE, call);
			return;
		}
		tell(sweep, view, 0, settled_ns);
	}
	sweep->sink->late(sweep->context, view, &late);
}

static void
take_late(struct sweep *sweep, const struct sweep_call *call, int64_t end_ns)
{
	tell_settled(sweep);
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
	sweep->has_nobody = false;
	forget_time(sweep);
	look_ahead(sweep);
}

struct sweep *
sweep_new(enum sweep_view first, const struct sweep_sink *sink, void *context)
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

static void
note_latest(struct sweep *sweep, enum sweep_view view, const struct sweep_call *call)
{
	int64_t stamp_ns = call->end_ns[view] == SWEEP_OPEN ? call->begin_ns[view] : call->end_ns[view];

	sweep->latest_ns[view] = max_ns(sweep->latest_ns[view], stamp_ns);
}

static inline void
wait_for(struct sweep *sweep, enum sweep_view view, const struct sweep_call *call)
{
	wait_for_begin(sweep, view, call);
	wait_for_end(sweep, view, call);
}

/* Whatever it is: open, late, among what is settled next, or seen inside only where others are seen outside too. */
static G_GNUC_NO_INLINE void
add_any(struct sweep *sweep, const struct sweep_call *call)
{
	enum sweep_view first = sweep->first, own = has_view(call, first) ? first : SWEEP_INSIDE;

	settle_all(sweep);
	for (enum sweep_view view = own; view < SWEEP_VIEWS; view++) {
		if (has_view(call, view))
			note_latest(sweep, view, call);
	}
	if (call->begin_ns[own] < sweep->settled_ns) {
		take_late(sweep, call, call->end_ns[own]);
		look_ahead(sweep);
		return;
	}
	sweep->in_past = 0;
	if (own != first) {
		queue_push(&sweep->begins[first], call->begin_ns[own], call->end_ns[own], call->tag | nobody);
		sweep->has_nobody = true;
	} else if (own != SWEEP_INSIDE && has_view(call, SWEEP_INSIDE)) {
		wait_for(sweep, SWEEP_INSIDE, call);
	}
	wait_for(sweep, own, call);
	go_on(sweep);
}

static G_GNUC_NO_INLINE void
add_near(struct sweep *sweep, int64_t begin_ns, int64_t end_ns, uint64_t tag)
{
	struct sweep_call call = { .tag = tag, .has = 1u << sweep->first };

	call.begin_ns[sweep->first] = begin_ns;
	call.end_ns[sweep->first] = end_ns;
	add_any(sweep, &call);
}

static inline bool
is_far(const struct sweep *sweep, int64_t begin_ns, int64_t end_ns)
{
	return begin_ns > sweep->near_ns && end_ns != SWEEP_OPEN;
}

void
sweep_add_first(struct sweep *sweep, int64_t begin_ns, int64_t end_ns, uint64_t tag)
{
	if (G_UNLIKELY(!is_far(sweep, begin_ns, end_ns))) {
		add_near(sweep, begin_ns, end_ns, tag);
		return;
	}
	sweep->in_past = 0;
	queue_push(&sweep->begins[sweep->first], begin_ns, end_ns, tag);
	queue_push(&sweep->ends[sweep->first], end_ns, 0, tag);
	if (--sweep->far_left == 0)
		go_on(sweep);
}

void
sweep_add(struct sweep *sweep, const struct sweep_call *call)
{
	enum sweep_view first = sweep->first;

	if (G_UNLIKELY(!has_view(call, first) || !is_far(sweep, call->begin_ns[first], call->end_ns[first]))) {
		add_any(sweep, call);
		return;
	}
	if (first == SWEEP_OUTSIDE && has_view(call, SWEEP_INSIDE))
		wait_for(sweep, SWEEP_INSIDE, call);
	sweep_add_first(sweep, call->begin_ns[first], call->end_ns[first], call->tag);
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
