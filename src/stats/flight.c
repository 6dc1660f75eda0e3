#include "stats/flight.h"

#include <glib.h>
#include <string.h>

#include "base/arith.h"
#include "stats/rows.h"

static int64_t
idle_before(const struct flight *flight, int64_t from_ns)
{
	return max_ns(duration_ns(flight->closed_ns, from_ns), 0);
}

/* The earliest stretch is over: nothing changes it any more. */
static void
close_stretch(struct flight *flight)
{
	int64_t pause_ns = idle_before(flight, flight->stretch[0].from_ns);

	flight->idle_ns = sum_ns(flight->idle_ns, pause_ns);
	flight->pause_ns = max_ns(flight->pause_ns, pause_ns);
	flight->closed_ns = max_ns(flight->closed_ns, flight->stretch[0].to_ns);
	flight->stretches--;
	memmove(&flight->stretch[0], &flight->stretch[1], flight->stretches * sizeof(flight->stretch[0]));
}

/* What of it lies in the closed part may have covered idle time there. */
static int64_t
open_part(struct flight *flight, int64_t from_ns)
{
	int64_t beyond_ns = duration_ns(from_ns, flight->closed_ns);

	if (beyond_ns <= 0)
		return from_ns;
	flight->idle_ns -= min_ns(flight->idle_ns, beyond_ns);
	return flight->closed_ns;
}

static G_GNUC_NO_INLINE void
add_apart(struct flight *flight, int64_t from_ns, int64_t to_ns)
{
	unsigned after = flight->stretches, before;

	from_ns = open_part(flight, from_ns);
	if (to_ns < from_ns)
		return;
	while (after > 0 && flight->stretch[after - 1].from_ns > to_ns)
		after--;
	before = after;
	while (before > 0 && flight->stretch[before - 1].to_ns >= from_ns)
		before--;
	if (before < after) {
		/* joined with those from before to after */
		flight->stretch[before].from_ns = min_ns(flight->stretch[before].from_ns, from_ns);
		flight->stretch[before].to_ns = max_ns(flight->stretch[after - 1].to_ns, to_ns);
		memmove(&flight->stretch[before + 1], &flight->stretch[after],
		    (flight->stretches - after) * sizeof(flight->stretch[0]));
		flight->stretches -= after - before - 1;
		return;
	}
	if (flight->stretches == FLIGHT_STRETCHES) {
		if (before == 0) {
			/* earlier than all that are kept: closed as it comes */
			flight->idle_ns = sum_ns(flight->idle_ns, idle_before(flight, from_ns));
			flight->closed_ns = max_ns(flight->closed_ns, to_ns);
			return;
		}
		close_stretch(flight);
		before--;
	}
	memmove(&flight->stretch[before + 1], &flight->stretch[before],
	    (flight->stretches - before) * sizeof(flight->stretch[0]));
	flight->stretch[before] = (struct flight_stretch){ .from_ns = from_ns, .to_ns = to_ns };
	flight->stretches++;
}

static inline void
add_stretch(struct flight *flight, int64_t from_ns, int64_t to_ns)
{
	struct flight_stretch *last = flight->stretches > 0 ? &flight->stretch[flight->stretches - 1] : NULL;

	if (last != NULL && from_ns >= last->from_ns && from_ns <= last->to_ns)
		last->to_ns = max_ns(last->to_ns, to_ns);
	else
		add_apart(flight, from_ns, to_ns);
}

static G_GNUC_NO_INLINE void
add_any(struct flight *flight, const struct nfs_op *op)
{
	int64_t from_ns = op->call_first_ns, to_ns;

	if (!op_has(op, OP_HAS_CALL_FIRST))
		return;
	if (op_has(op, OP_HAS_REPLY_LAST))
		to_ns = op->reply_last_ns;
	else if (op->outcome != OP_UNANSWERED && op->outcome != OP_IN_FLIGHT)
		return;
	else
		to_ns = flight->calls > 0 ? max_ns(flight->last_ns, from_ns) : from_ns;
	to_ns = max_ns(from_ns, to_ns);
	if (flight->calls == 0) {
		flight->first_ns = flight->closed_ns = from_ns;
		flight->last_ns = to_ns;
	}
	flight->calls++;
	/* time in front of the first call so far was not idle: it was not looked at */
	if (from_ns < flight->first_ns) {
		if (flight->closed_ns == flight->first_ns)
			flight->closed_ns = from_ns;
		flight->first_ns = from_ns;
	}
	flight->last_ns = max_ns(flight->last_ns, to_ns);
	flight->time_ns += duration_ns(from_ns, to_ns);
	add_stretch(flight, from_ns, to_ns);
}

/* An answered call that begins within the last stretch, as nearly every one does. */
static inline bool
add_to_last(struct flight *flight, const struct nfs_op *op)
{
	int64_t from_ns = op->call_first_ns, to_ns = op->reply_last_ns;
	struct flight_stretch *last = &flight->stretch[flight->stretches - 1];

	if (from_ns < last->from_ns || from_ns > last->to_ns || to_ns < from_ns)
		return false;
	flight->calls++;
	flight->time_ns += duration_ns(from_ns, to_ns);
	if (to_ns > last->to_ns) {
		last->to_ns = to_ns;
		flight->last_ns = max_ns(flight->last_ns, to_ns);
	}
	return true;
}

void
flight_add(struct flight *flight, const struct nfs_op *ops, unsigned count)
{
	for (const struct nfs_op *op = ops; op < ops + count; op++) {
		if (flight->stretches == 0 || !op_has(op, OP_HAS_CALL_FIRST | OP_HAS_REPLY_LAST) || !add_to_last(flight, op))
			add_any(flight, op);
	}
}

/* The closed part of from goes in as one stretch, and its idle time beside it. */
void
flight_merge(struct flight *into, const struct flight *from)
{
	if (from->calls == 0)
		return;
	if (into->calls == 0) {
		*into = *from;
		return;
	}
	into->calls += from->calls;
	into->time_ns += from->time_ns;
	into->first_ns = min_ns(into->first_ns, from->first_ns);
	into->last_ns = max_ns(into->last_ns, from->last_ns);
	if (from->closed_ns > from->first_ns)
		add_stretch(into, from->first_ns, from->closed_ns);
	into->idle_ns = sum_ns(into->idle_ns, from->idle_ns);
	into->pause_ns = max_ns(into->pause_ns, from->pause_ns);
	for (unsigned i = 0; i < from->stretches; i++)
		add_stretch(into, from->stretch[i].from_ns, from->stretch[i].to_ns);
}

int64_t
flight_span_ns(const struct flight *flight)
{
	return flight->calls > 0 ? duration_ns(flight->first_ns, flight->last_ns) : 0;
}

int64_t
flight_idle_ns(const struct flight *flight)
{
	int64_t idle_ns = flight->idle_ns, end_ns = flight->closed_ns;

	for (unsigned i = 0; i < flight->stretches; i++) {
		idle_ns = sum_ns(idle_ns, max_ns(duration_ns(end_ns, flight->stretch[i].from_ns), 0));
		end_ns = flight->stretch[i].to_ns;
	}
	return min_ns(idle_ns, flight_span_ns(flight));
}

int64_t
flight_pause_ns(const struct flight *flight)
{
	int64_t pause_ns = flight->pause_ns, end_ns = flight->closed_ns;

	for (unsigned i = 0; i < flight->stretches; i++) {
		pause_ns = max_ns(pause_ns, duration_ns(end_ns, flight->stretch[i].from_ns));
		end_ns = flight->stretch[i].to_ns;
	}
	return pause_ns;
}
