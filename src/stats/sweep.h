/*
 * Calls that are over, in about the order of their ends, turned into their
 * beginnings and ends in the order of time: those of the whole call, outside,
 * and those of its time inside the server.
 *
 * A call that is over tells when it began, and calls that are still under way
 * began earlier than others that have ended: so beginnings wait, in order,
 * until SWEEP_CALLS_MIN later ones stand behind them. A call that began before
 * what has been settled by then is late: what lies behind is told as missed,
 * the rest of it counts, and from then on twice as many calls wait, up to
 * SWEEP_CALLS_MAX. Exact as long as no call outlasts so many others.
 *
 * No clock is trusted: calls that lie wholly in the past, SWEEP_RESTART in a
 * row, mean that it was set back, and time begins again with them.
 */
#ifndef STATS_SWEEP_H
#define STATS_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

struct sweep;

enum sweep_view { SWEEP_OUTSIDE, SWEEP_INSIDE, SWEEP_VIEWS };

enum {
	SWEEP_CALLS_MIN = 1 << 12,
	SWEEP_CALLS_MAX = 1 << 17,
	SWEEP_RESTART = 64,
};

/* An end of SWEEP_OPEN: the call was still under way when the capture ended. */
#define SWEEP_OPEN INT64_MAX

/*
 * has: a bit for each view whose stamps are known, one at least. There begin <
 * end, and both are less than 2^62 from 0, but for SWEEP_OPEN. Inside begins no
 * earlier than outside, save where the capture has but a late copy of the call's
 * first bytes; it is in order all the same among those that wait.
 */
struct sweep_call {
	int64_t begin_ns[SWEEP_VIEWS], end_ns[SWEEP_VIEWS];
	/*
	 * Whatever the owner knows it by. Of calls that begin and end together the
	 * one comes first that is lower from bit SWEEP_RANK_SHIFT on; not all bits
	 * below are set.
	 */
	uint64_t tag;
	unsigned has;
};

enum { SWEEP_RANK_SHIFT = 48 };

/* at_ns: of a begin the call's; of an end the call's, or for an open call the last stamp that any call has in this view. */
struct sweep_event {
	int64_t at_ns;
	int64_t end_ns;		/* of a begin: when the call ends */
	uint64_t tag;
};

/* Begins and ends of one view that follow what was told before, each in order; sweep_each() has them in one. */
struct sweep_run {
	enum sweep_view view;
	const struct sweep_event *begin, *begin_stop;
	const struct sweep_event *end, *end_stop;
};

/* A call that began before what is settled. */
struct sweep_late {
	int64_t missed_ns;		/* how much of it lies in what is settled */
	bool begins;			/* not when that is all of it */
	struct sweep_event begin;	/* at the time up to which all is settled */
	int64_t begin_ns;		/* the call's own */
};

/* Neither may call the sweep. */
struct sweep_sink {
	void (*run)(void *context, const struct sweep_run *run);
	void (*late)(void *context, enum sweep_view view, const struct sweep_late *late);
};

typedef void sweep_event_fn(void *context, const struct sweep_event *event);

/*
 * Of equal stamps ends come first: whoever answers and asks again in one tick of
 * the clock had one call under way.
 */
static inline void
sweep_each(const struct sweep_run *run, sweep_event_fn *each_begin, sweep_event_fn *each_end, void *context)
{
	const struct sweep_event *begin = run->begin, *end = run->end;

	for (; begin < run->begin_stop; begin++) {
		for (; end < run->end_stop && end->at_ns <= begin->at_ns; end++)
			each_end(context, end);
		each_begin(context, begin);
	}
	for (; end < run->end_stop; end++)
		each_end(context, end);
}

/*
 * first: SWEEP_OUTSIDE, or SWEEP_INSIDE if nothing else is followed: what else
 * a call has is ignored then. sink: borrowed for as long as the sweep is there.
 * Calls that begin together come in the order of their ends.
 */
struct sweep *sweep_new(enum sweep_view first, const struct sweep_sink *sink, void *context);
void sweep_free(struct sweep *sweep);
/* The same, in the middle of its calls, with a sink that has another context. */
struct sweep *sweep_copy(const struct sweep *sweep, void *context);
/* As new, with the memory that it has; what waits is dropped. */
void sweep_reset(struct sweep *sweep);
/* What is settled thereby is told with that of later calls, or when sweep_tell() asks for it. */
void sweep_add(struct sweep *sweep, const struct sweep_call *call);
/* The same of a call of which nothing but the first view is known. */
void sweep_add_first(struct sweep *sweep, int64_t begin_ns, int64_t end_ns, uint64_t tag);
void sweep_tell(struct sweep *sweep);
/* Nothing follows: what waits is given out, open calls last. */
void sweep_finish(struct sweep *sweep);
/* New tags for calls of which anything is still to be told: those of an owner that moved its rows. */
typedef uint64_t sweep_tag_fn(void *context, uint64_t tag);
void sweep_retag(struct sweep *sweep, sweep_tag_fn *retag, void *context);

#endif
