#include "correlate/votes.h"

#include <glib.h>

enum {
	ENOUGH = 8,		/* votes; twice as many without arguments */
	ENOUGH_LAST = 3,
	SHARE = 4,		/* one in so many ops between the first vote and the last must be one */
	CHANCES = 2,		/* wrong bindings before a connection gets no other */
};

static bool
is_for(const struct flows *flows, const struct vote *vote, uint32_t connection)
{
	return vote->count > 0 && vote->connection == connection &&
	    vote->serial == flows_at(flows, connection)->serial;
}

static void
count_vote(struct flows *flows, const struct ballot *ballot, unsigned side)
{
	struct connection *c = flows_at(flows, ballot->connection[side]);
	uint32_t other = ballot->connection[1 - side];
	struct vote *found = NULL, *room = NULL;

	for (unsigned i = 0; i < FLOW_VOTES && found == NULL; i++) {
		if (is_for(flows, &c->votes[i], other))
			found = &c->votes[i];
		else if (c->votes[i].count == 0)
			room = &c->votes[i];
	}
	if (found == NULL && room != NULL) {
		found = room;
		*found = (struct vote){
			.serial = flows_at(flows, other)->serial,
			.connection = other,
			.first = ballot->place[side],
			.last = ballot->place[side],
		};
	}
	if (found == NULL) {
		/* A newcomer and one vote of each of the others cancel out: a majority survives. */
		for (unsigned i = 0; i < FLOW_VOTES; i++) {
			c->votes[i].count--;
			c->votes[i].alone -= c->votes[i].alone > 0;
		}
		return;
	}
	found->count++;
	found->alone += ballot->alone;
	found->solid |= ballot->solid;
	found->first = MIN(found->first, ballot->place[side]);
	found->last = MAX(found->last, ballot->place[side]);
}

void
votes_give(struct flows *flows, const struct ballot *ballot)
{
	count_vote(flows, ballot, 0);
	count_vote(flows, ballot, 1);
}

/* The votes of one connection for another; NULL: none, or it was bound wrongly before. */
static const struct vote *
votes_for(const struct flows *flows, uint32_t connection, uint32_t other)
{
	const struct connection *c = flows_at(flows, connection);

	for (unsigned i = 0; i < FLOW_VOTES && c->unbound < CHANCES; i++)
		if (is_for(flows, &c->votes[i], other))
			return &c->votes[i];
	return NULL;
}

/* The most votes for another one that is still free. */
static uint32_t
rival_of(const struct flows *flows, const struct connection *c, const struct vote *chosen)
{
	uint32_t most = 0;

	for (unsigned i = 0; i < FLOW_VOTES; i++) {
		const struct vote *vote = &c->votes[i];

		if (vote != chosen && vote->count > most &&
		    (flows_at(flows, vote->connection)->serial != vote->serial ||
		    flows_bound(flows, vote->connection) == FLOW_NONE))
			most = vote->count;
	}
	return most;
}

/* Most of what the connection carried between the votes must have agreed: chance agrees now and then. */
static bool
mostly(const struct vote *vote)
{
	return (uint64_t)vote->count * SHARE >= vote->last - vote->first + 1;
}

static bool
no_doubt(const struct flows *flows, uint32_t one, uint32_t other, bool last)
{
	const struct vote *vote = votes_for(flows, one, other), *back = votes_for(flows, other, one);
	uint32_t count, alone, rival, enough;

	if (vote == NULL || back == NULL || !mostly(vote) || !mostly(back))
		return false;
	count = MIN(vote->count, back->count);
	alone = MIN(vote->alone, back->alone);
	rival = MAX(rival_of(flows, flows_at(flows, one), vote),
	    rival_of(flows, flows_at(flows, other), back));
	enough = vote->solid ? ENOUGH : 2 * ENOUGH;
	if (count >= enough + 2 * rival && alone >= enough / 2)
		return true;
	if (!last || alone == 0)
		return false;
	return rival == 0 ? vote->solid || count >= ENOUGH_LAST :
	    count >= ENOUGH_LAST + 2 * rival && alone >= ENOUGH_LAST;
}

uint32_t
votes_elected(const struct flows *flows, uint32_t connection, bool last)
{
	const struct connection *c = flows_at(flows, connection);
	const struct vote *best = NULL;

	for (unsigned i = 0; i < FLOW_VOTES; i++)
		if ((best == NULL || c->votes[i].count > best->count) &&
		    is_for(flows, &c->votes[i], c->votes[i].connection))
			best = &c->votes[i];
	if (best == NULL || flows_bound(flows, best->connection) != FLOW_NONE ||
	    !no_doubt(flows, connection, best->connection, last))
		return FLOW_NONE;
	return best->connection;
}
