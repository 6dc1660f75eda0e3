/*
 * When calls were in flight at a capture point: for how long at least one was.
 *
 * Calls come in the order of their ends, so that a long call may cover gaps
 * between calls before it. The latest stretches are kept apart; when there are
 * too many, the earliest is closed, and a call that reaches back beyond it
 * counts as if it had covered no gap but the largest it can: idle time is
 * never told too high.
 */
#ifndef STATS_FLIGHT_H
#define STATS_FLIGHT_H

#include <nfscorr/nfs_op.h>

enum { FLIGHT_STRETCHES = 64 };

struct flight_stretch {
	int64_t from_ns, to_ns;
};

/* All zero: empty. */
struct flight {
	uint64_t calls;
	int64_t first_ns, last_ns;	/* of all calls; valid with calls */
	int64_t closed_ns;		/* end of the closed stretches; first_ns without one */
	int64_t idle_ns;		/* before closed_ns, at most */
	int64_t pause_ns;		/* before closed_ns, the longest without a call */
	__int128 time_ns;		/* sum of the calls' times in flight */
	unsigned stretches;
	struct flight_stretch stretch[FLIGHT_STRETCHES];	/* not overlapping, in order */
};

/* Ops that have a reply, from the call's first byte to the last of the reply; those without: until the latest end. */
void flight_add(struct flight *flight, const struct nfs_op *ops, unsigned count);
/* from is of the same capture point, and later. */
void flight_merge(struct flight *into, const struct flight *from);
/* From the first call to the last reply, and how much of it no call was in flight. */
int64_t flight_span_ns(const struct flight *flight);
int64_t flight_idle_ns(const struct flight *flight);
/* The longest time without a call, at least. */
int64_t flight_pause_ns(const struct flight *flight);

#endif
