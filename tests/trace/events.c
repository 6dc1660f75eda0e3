#include "trace/events.h"

#include <glib.h>

struct event_queue {
	struct event *heap;
	size_t count;
	size_t allocated;
	uint64_t order;
};

struct event_queue *
trace_events_new(void)
{
	struct event_queue *queue = g_new0(struct event_queue, 1);

	queue->allocated = 1024;
	queue->heap = g_new(struct event, queue->allocated);
	return queue;
}

void
trace_events_free(struct event_queue *queue)
{
	if (queue == NULL)
		return;
	g_free(queue->heap);
	g_free(queue);
}

static bool
before(const struct event *a, const struct event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void
trace_events_add(struct event_queue *queue, int64_t at_ns, enum event_kind kind, void *subject)
{
	struct event event = { at_ns, queue->order++, subject, kind };
	size_t at = queue->count++;

	if (queue->count > queue->allocated) {
		queue->allocated *= 2;
		queue->heap = g_renew(struct event, queue->heap, queue->allocated);
	}
	while (at > 0 && before(&event, &queue->heap[(at - 1) / 2])) {
		queue->heap[at] = queue->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	queue->heap[at] = event;
}

bool
trace_events_next(struct event_queue *queue, struct event *event)
{
	struct event last;
	size_t at = 0;

	if (queue->count == 0)
		return false;
	*event = queue->heap[0];
	last = queue->heap[--queue->count];
	for (size_t child; (child = 2 * at + 1) < queue->count; at = child) {
		if (child + 1 < queue->count
		    && before(&queue->heap[child + 1], &queue->heap[child]))
			child++;
		if (!before(&queue->heap[child], &last))
			break;
		queue->heap[at] = queue->heap[child];
	}
	queue->heap[at] = last;
	return true;
}
