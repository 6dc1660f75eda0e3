#include "correlate/anchor.h"

#include <glib.h>

#include "correlate/agree.h"
#include "correlate/offset.h"

enum {
	LEARNED = 4096,
	BUCKETS = 8192,
	TRACKS = 64,
	CANDIDATES = 16,		/* learned ops that one scanned op is compared with */
	LEAST_CALLS = 3,		/* fewer prove nothing */
	FEW_CALLS = 8,			/* so many must agree, or all of fewer */
	ENOUGH_CALLS = 256,		/* a remount, or a second run, repeats some; not so many at the same pace */
	SHARE = 4,			/* of the learned calls one in so many must agree */
};

struct learned {
	struct nfs_op op;
	uint32_t next;			/* in the bucket, index + 1 */
	uint32_t same;			/* first learned op of the same call and arguments */
};

/* An offset that some calls agree on. Learned clock - scanned clock. */
struct track {
	struct offset offset;
	uint32_t calls;			/* different learned ones */
	uint64_t agreed;		/* scanned ops that agree */
	uint64_t first, last;		/* the first and the last of them */
	uint8_t seen[LEARNED / 8];	/* bits by learned.same */
};

struct anchor {
	uint64_t seed;
	uint64_t scanned;		/* ops that had something to be compared with */
	uint32_t count, different;
	uint32_t buckets[BUCKETS];
	struct learned learned[LEARNED];
	struct track tracks[TRACKS];
};

struct anchor *
anchor_new(void)
{
	struct anchor *anchor = g_new0(struct anchor, 1);

	anchor->seed = agree_random_seed();
	return anchor;
}

void
anchor_free(struct anchor *anchor)
{
	g_free(anchor);
}

static uint32_t *
bucket(struct anchor *anchor, const struct nfs_op *op)
{
	return &anchor->buckets[agree_call_hash(op, anchor->seed) % BUCKETS];
}

bool
anchor_learn(struct anchor *anchor, const struct nfs_op *op)
{
	uint32_t *head = bucket(anchor, op);
	uint32_t index = anchor->count;
	uint32_t same = index;

	if (index == LEARNED)
		return false;
	if (!op_has(op, OP_TIMES))
		return true;
	/* The newest of the same call knows the first one. */
	for (uint32_t i = *head; i != 0; i = anchor->learned[i - 1].next)
		if (agree_call(&anchor->learned[i - 1].op, op) && agree_args(&anchor->learned[i - 1].op, op)) {
			same = anchor->learned[i - 1].same;
			break;
		}
	anchor->learned[index] = (struct learned){ *op, *head, same };
	*head = ++anchor->count;
	anchor->different += same == index;
	return anchor->count < LEARNED;
}

/* Calls that must agree; 0: what was learned can prove nothing. */
static uint32_t
needed(const struct anchor *anchor)
{
	if (anchor->different >= FEW_CALLS)
		return MIN(ENOUGH_CALLS, MAX(FEW_CALLS, anchor->different / SHARE));
	return anchor->different >= LEAST_CALLS && anchor->different == anchor->count ?
	    anchor->different : 0;
}

/* Narrows the track to what the pair allows; false when it allows nothing of it. */
static bool
continues(struct track *track, const struct nfs_op *learned, const struct offset_range *range)
{
	struct offset_range both = offset_range_at(&track->offset, learned->call_first_ns);

	both.low_ns = max_ns(both.low_ns, range->low_ns);
	both.high_ns = min_ns(both.high_ns, range->high_ns);
	if (!track->offset.known || both.low_ns > both.high_ns)
		return false;
	track->offset.range = both;
	track->offset.at_ns = learned->call_first_ns;
	return true;
}

/* The track that a pair of ops continues, or one that it may begin. */
static struct track *
track_of(struct anchor *anchor, const struct nfs_op *learned, const struct nfs_op *op)
{
	struct track *weakest = anchor->tracks;
	struct offset_range range;

	offset_range_of(learned, op, &range);
	for (struct track *track = anchor->tracks; track < anchor->tracks + TRACKS; track++) {
		if (continues(track, learned, &range))
			return track;
		if (track->calls < weakest->calls ||
		    (track->calls == weakest->calls && track->last < weakest->last))
			weakest = track;
	}
	*weakest = (struct track){
		.offset = { .known = true, .range = range, .at_ns = learned->call_first_ns },
		.first = anchor->scanned,
	};
	return weakest;
}

/*
 * Most that could agree since the track began does, and nothing else has nearly
 * as many calls behind it: calls that are not the same agree now and then.
 */
static bool
stands_out(const struct anchor *anchor, const struct track *best)
{
	if (best->agreed * 2 < anchor->scanned - best->first + 1)
		return false;
	for (const struct track *track = anchor->tracks; track < anchor->tracks + TRACKS; track++)
		if (track != best && track->calls * 2 >= best->calls)
			return false;
	return true;
}

static struct track *
compare(struct anchor *anchor, const struct learned *learned, const struct nfs_op *op)
{
	struct track *track = track_of(anchor, &learned->op, op);
	uint8_t bit = (uint8_t)(1u << learned->same % 8);

	track->agreed += track->last != anchor->scanned;
	track->last = anchor->scanned;
	if (!(track->seen[learned->same / 8] & bit)) {
		track->seen[learned->same / 8] |= bit;
		track->calls++;
	}
	return track;
}

bool
anchor_scan(struct anchor *anchor, const struct nfs_op *op, int64_t *delta_ns)
{
	uint32_t need = needed(anchor);
	unsigned compared = 0;
	bool counted = false;

	if (need == 0 || !op_has(op, OP_TIMES))
		return false;
	for (uint32_t i = *bucket(anchor, op); i != 0 && compared < CANDIDATES;
	    i = anchor->learned[i - 1].next) {
		const struct learned *learned = &anchor->learned[i - 1];
		const struct track *track;

		if (!agree_call(&learned->op, op))
			continue;
		compared++;
		if (!agree_args(&learned->op, op) || !agree_reply(&learned->op, op))
			continue;
		anchor->scanned += !counted;
		counted = true;
		track = compare(anchor, learned, op);
		if (track->calls >= need && stands_out(anchor, track)) {
			*delta_ns = -offset_middle(&track->offset);
			return true;
		}
	}
	return false;
}
