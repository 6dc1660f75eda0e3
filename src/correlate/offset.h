/*
 * Which pairs of ops are possible in time: the range in which the offset
 * between two capture clocks must lie, as the pairs found so far prove it.
 *
 * clock.c measures the offset of pairs that are known to be right; this one
 * decides whether they may be. So it needs no roles: of a pair, each of the four
 * stamps of the one side differs from the other side's by the offset plus or
 * minus a way through the network, whichever side is the server; the offset
 * lies between the smallest and the largest of the four differences.
 *
 * Offset = first capture's clock - client capture's clock, as given. Beside
 * numbers in "first" and "client" nothing is said of who is the server.
 */
#ifndef CORRELATE_OFFSET_H
#define CORRELATE_OFFSET_H

#include <nfscorr/nfs_op.h>

#include "base/arith.h"

/* What is assumed of two clocks before anything is known. */
#define OFFSET_ASSUMED_NS (120 * (int64_t)NS_PER_S)

enum {
	OFFSET_SAMPLES = 2048,
	OFFSET_TIMED_TRIAL = 8,		/* samples that are enough for a trial when it is time for one */
};

struct offset_range {
	int64_t low_ns, high_ns;
};

/* A pair that fits, and what is known of the offset at its time. */
struct offset_news {
	int64_t first_ns;		/* when the first capture saw the call */
	int64_t drift_ns;		/* so much the clocks may have drifted since the last pair, or before it */
	struct offset_range range, known;
};

enum roles {
	ROLES_UNKNOWN,
	ROLES_AS_GIVEN,
	ROLES_REVERSED,		/* the client capture is evidently the server's */
	ROLES_SAME,		/* no network between the two */
};

enum offset_fit {
	OFFSET_IMPOSSIBLE,
	OFFSET_STALE,		/* too long since the last pair to tell it from another use of its XID */
	OFFSET_PARTIAL,		/* a stamp is missing, the others agree */
	OFFSET_LOOSE,		/* not quite, but no other use of the XID is near: a stamp is wrong, or the clock */
	OFFSET_FULL,
};

/* Which op it was. */
struct offset_place {
	uint64_t serial;	/* among all */
	uint64_t place;		/* among those of its connection */
	uint32_t connection;
};

/* A pair that may be one call, kept until many of them show the offset. */
struct offset_sample {
	struct offset_range range;
	int64_t at_ns;
	int64_t network_ns;	/* both ways, positive when the roles are as given */
	struct offset_place op[2];	/* first's, client's */
	bool trusted;		/* addresses or arguments agree, not only numbers */
	bool deduced;		/* a stamp stems from bytes that were not captured */
};

struct offset {
	bool known;
	struct offset_range range;	/* at at_ns; grows with the distance from it */
	int64_t at_ns;			/* first capture's clock */
	int64_t hint_ns;
	enum roles roles;
	struct offset_sample *samples;
	uint32_t sample_count;
	uint32_t sample_room;
	uint32_t next_trial;		/* samples, of a known offset suspects, at which to look for it */
	int64_t next_trial_ns;		/* or time since the first sample */
	uint32_t suspects;		/* arrivals since the last fit whose only partners are impossible */
	uint64_t first_client;		/* oldest client op among the samples */
	uint64_t look_from;		/* client ops from this one on may fit what was found */
};

void offset_init(struct offset *offset, int64_t hint_ns);
void offset_clear(struct offset *offset);
/* The samples so far say nothing any more. */
void offset_forget(struct offset *offset);

/* a - b, kept within a quarter of the type's range so that sums of few cannot overflow. */
static inline int64_t
offset_difference(int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference))
		difference = a < b ? INT64_MIN : INT64_MAX;
	return max_ns(min_ns(difference, INT64_MAX / 4), INT64_MIN / 4);
}

/* The time on the other clock, kept within the type's range. */
static inline int64_t
offset_shift(int64_t at_ns, int64_t by_ns)
{
	int64_t sum;

	if (__builtin_add_overflow(at_ns, by_ns, &sum))
		sum = by_ns < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

/* The best single number: the middle of what is known, else the hint. */
static inline int64_t
offset_middle(const struct offset *offset)
{
	return offset->known ? offset->range.low_ns + (offset->range.high_ns - offset->range.low_ns) / 2 :
	    offset->hint_ns;
}

/* False when an op lacks one of the four times. */
bool offset_range_of(const struct nfs_op *first, const struct nfs_op *client, struct offset_range *range);
/* Whether both may be the same call if nothing is known but that clocks differ by two minutes at most. */
bool offset_near(const struct offset *offset, const struct nfs_op *first, const struct nfs_op *client);
/*
 * Whether both may be the same call. reuse_ns: after that time XIDs come again
 * on their connection, so that times must tell calls apart; INT64_MAX: never.
 * clean: nothing at all points to another use of the XID there. The offset is
 * known.
 */
enum offset_fit offset_fits(const struct offset *offset, const struct nfs_op *first,
    const struct nfs_op *client, int64_t reuse_ns, bool clean);
/* True, as it is of most pairs, when that is OFFSET_FULL whatever XIDs do: news is what the two say then. */
bool offset_fits_soon(const struct offset *offset, const struct nfs_op *first, const struct nfs_op *client,
    struct offset_news *news);
/* The range at another time than that of the last pair: wider, since the clocks may drift meanwhile. */
struct offset_range offset_range_at(const struct offset *offset, int64_t first_ns);
/* States what is known for another time. */
void offset_move(struct offset *offset, int64_t first_ns);
/* A pair that fits was matched: narrows the range. The offset is known. */
void offset_learn(struct offset *offset, const struct nfs_op *first, const struct nfs_op *client);
/* The same by what offset_fits_soon found of them; nothing was learned since. */
void offset_learn_news(struct offset *offset, const struct offset_news *news);

/*
 * A pair of ops that agree in all but time. sample's places and trusted are
 * the caller's; the rest is filled in here. Nothing is kept of a pair that
 * lacks a time or is too far away.
 */
void offset_sample(struct offset *offset, const struct nfs_op *first, const struct nfs_op *client,
    struct offset_sample sample);
/*
 * True when enough samples have come for another trial. Trials are few: each
 * one waits for twice as many samples as the one before.
 */
static inline bool
offset_due(const struct offset *offset)
{
	uint32_t count = offset->sample_count;

	if (offset->known)
		return offset->suspects >= offset->next_trial;
	return count >= offset->next_trial || (count >= OFFSET_TIMED_TRIAL &&
	    offset_difference(offset->samples[count - 1].at_ns, offset->samples[0].at_ns) >=
	    offset->next_trial_ns);
}

/*
 * Looks for the one offset that explains at least two in three of the calls
 * among the samples, `least` of them or more, and no small part of what their
 * connections carried between them, while no other explains nearly as many.
 * True when it was found: it is known then, look_from is set, and the samples
 * are gone.
 */
bool offset_find(struct offset *offset, uint32_t least);

#endif
