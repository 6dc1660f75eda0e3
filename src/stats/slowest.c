#include "stats/slowest.h"

#include <glib.h>

/*
 * The heap holds what is ordered by and where the call is kept, so that moving
 * an entry does not move the call. The least slow call is on top.
 */
struct entry {
	int64_t rank_ns;
	unsigned at;		/* index into calls */
};

struct slowest {
	unsigned top, count, room;
	struct entry *heap;
	struct slow_call *calls;
	struct slow_call *sorted;	/* the last view */
};

struct slowest *
slowest_new(unsigned top)
{
	struct slowest *slowest = g_new0(struct slowest, 1);

	slowest->top = top;
	return slowest;
}

void
slowest_free(struct slowest *slowest)
{
	if (slowest == NULL)
		return;
	g_free(slowest->heap);
	g_free(slowest->calls);
	g_free(slowest->sorted);
	g_free(slowest);
}

struct slowest *
slowest_copy(const struct slowest *slowest)
{
	struct slowest *copy = g_memdup2(slowest, sizeof(*slowest));

	copy->heap = g_memdup2(slowest->heap, slowest->room * sizeof(*slowest->heap));
	copy->calls = g_memdup2(slowest->calls, slowest->room * sizeof(*slowest->calls));
	copy->sorted = NULL;
	return copy;
}

static int
compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* A total order on the calls of one run, by what the captures hold. */
static int
compare_calls(const struct op_pair *a, const struct op_pair *b)
{
	const struct nfs_op *x = pair_op(a), *y = pair_op(b);
	int order = compare_u64(a->client_capture, b->client_capture);

	if (order == 0)
		order = compare_u64(x->call_frame, y->call_frame);
	if (order == 0)
		order = compare_u64(x->reply_frame, y->reply_frame);
	/* Calls that share the client's packets may have packets of their own on the server. */
	if (order == 0)
		order = compare_u64(a->op[PAIR_SERVER].call_frame, b->op[PAIR_SERVER].call_frame);
	if (order == 0)
		order = compare_u64(a->op[PAIR_SERVER].reply_frame, b->op[PAIR_SERVER].reply_frame);
	if (order == 0)
		order = compare_u64(x->connection, y->connection);
	return order != 0 ? order : compare_u64(x->xid, y->xid);
}

/* True when call a of rank a_ns stands behind call b: less slow, or as slow and later. */
static bool
behind(int64_t a_ns, const struct op_pair *a, int64_t b_ns, const struct op_pair *b)
{
	if (a_ns != b_ns)
		return a_ns < b_ns;
	return compare_calls(a, b) > 0;
}

static bool
entry_behind(const struct slowest *slowest, unsigned i, unsigned j)
{
	const struct entry *a = &slowest->heap[i], *b = &slowest->heap[j];

	return behind(a->rank_ns, &slowest->calls[a->at].pair,
	    b->rank_ns, &slowest->calls[b->at].pair);
}

static void
swap_entries(struct slowest *slowest, unsigned i, unsigned j)
{
	struct entry kept = slowest->heap[i];

	slowest->heap[i] = slowest->heap[j];
	slowest->heap[j] = kept;
}

static void
sift_up(struct slowest *slowest, unsigned i)
{
	while (i > 0 && entry_behind(slowest, i, (i - 1) / 2)) {
		swap_entries(slowest, i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
}

static void
sift_down(struct slowest *slowest)
{
	unsigned i = 0;

	for (;;) {
		unsigned child = 2 * i + 1;

		if (child >= slowest->count)
			return;
		if (child + 1 < slowest->count && entry_behind(slowest, child + 1, child))
			child++;
		if (!entry_behind(slowest, child, i))
			return;
		swap_entries(slowest, child, i);
		i = child;
	}
}

int64_t
slowest_threshold_ns(const struct slowest *slowest)
{
	if (slowest->top == 0)
		return INT64_MAX;
	return slowest->count < slowest->top ? INT64_MIN : slowest->heap[0].rank_ns;
}

static void
slowest_grow(struct slowest *slowest)
{
	if (slowest->count < slowest->room)
		return;
	slowest->room = MIN(MAX(16, 2 * slowest->room), slowest->top);
	slowest->heap = g_renew(struct entry, slowest->heap, slowest->room);
	slowest->calls = g_renew(struct slow_call, slowest->calls, slowest->room);
}

void
slowest_add(struct slowest *slowest, const struct op_pair *pair, int64_t rank_ns)
{
	struct entry *first;

	if (slowest->top == 0)
		return;
	if (slowest->count < slowest->top) {
		slowest_grow(slowest);
		slowest->heap[slowest->count] = (struct entry){ .rank_ns = rank_ns, .at = slowest->count };
		slowest->calls[slowest->count].pair = *pair;
		sift_up(slowest, slowest->count++);
		return;
	}
	first = &slowest->heap[0];
	if (!behind(first->rank_ns, &slowest->calls[first->at].pair, rank_ns, pair))
		return;
	first->rank_ns = rank_ns;
	slowest->calls[first->at].pair = *pair;
	sift_down(slowest);
}

void
slowest_merge(struct slowest *into, const struct slowest *from)
{
	for (unsigned i = 0; i < from->count; i++)
		slowest_add(into, &from->calls[from->heap[i].at].pair, from->heap[i].rank_ns);
}

static int
compare_entries(const void *a, const void *b, void *context)
{
	const struct slowest *slowest = context;
	const struct entry *x = a, *y = b;

	if (x->rank_ns != y->rank_ns)
		return x->rank_ns > y->rank_ns ? -1 : 1;
	return compare_calls(&slowest->calls[x->at].pair, &slowest->calls[y->at].pair);
}

const struct slow_call *
slowest_view(struct slowest *slowest, unsigned *count)
{
	g_autofree struct entry *order = g_memdup2(slowest->heap, slowest->count * sizeof(*order));

	if (slowest->count > 0)
		qsort_r(order, slowest->count, sizeof(*order), compare_entries, slowest);
	g_free(slowest->sorted);
	slowest->sorted = g_new(struct slow_call, slowest->count);
	for (unsigned i = 0; i < slowest->count; i++)
		slowest->sorted[i] = slowest->calls[order[i].at];
	*count = slowest->count;
	return slowest->sorted;
}
