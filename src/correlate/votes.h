/*
 * Which connections of the two sides are the same under different addresses:
 * every op that agrees with one of the other side in call, arguments and time
 * is a vote for the pair of their connections.
 */
#ifndef CORRELATE_VOTES_H
#define CORRELATE_VOTES_H

#include "correlate/flows.h"

struct ballot {
	uint32_t connection[2];	/* the first capture's, the client's */
	uint64_t place[2];	/* of the ops on them */
	bool solid;		/* arguments were there to be compared */
	bool alone;		/* the op fits no other connection */
};

void votes_give(struct flows *flows, const struct ballot *ballot);
/*
 * The connection of the other side that the votes leave no doubt about, or
 * FLOW_NONE. last: nothing follows, so few votes are enough where nothing
 * speaks for another.
 */
uint32_t votes_elected(const struct flows *flows, uint32_t connection, bool last);

#endif
