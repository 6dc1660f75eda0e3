#include "correlate/offset.h"

#include <glib.h>
#include <string.h>

#include "correlate/clock.h"

enum {
	FIRST_TRIAL = 32,
	FIRST_STEP_TRIAL = 8,
	STAMP_NOISE_NS = 1000,		/* resolution of ordinary captures */
};
/* Without XID reuse no other call can be meant; this only keeps the absurd out. */
#define REACH_NS (120 * (int64_t)NS_PER_S)
#define LOOSE_NOISE_NS ((int64_t)NS_PER_S)
#define FIRST_TRIAL_NS (10 * (int64_t)NS_PER_S)

void
offset_init(struct offset *offset, int64_t hint_ns)
{
	*offset = (struct offset){
		.hint_ns = hint_ns,
		.next_trial = FIRST_TRIAL,
		.next_trial_ns = FIRST_TRIAL_NS,
	};
}

void
offset_clear(struct offset *offset)
{
	g_free(offset->samples);
	offset->samples = NULL;
	offset->sample_room = 0;
	offset_forget(offset);
}

void
offset_forget(struct offset *offset)
{
	offset->sample_count = 0;
	offset->next_trial = offset->known ? FIRST_STEP_TRIAL : FIRST_TRIAL;
	offset->next_trial_ns = FIRST_TRIAL_NS;
	offset->suspects = 0;
}

static void
include(struct offset_range *range, int64_t value)
{
	range->low_ns = min_ns(range->low_ns, value);
	range->high_ns = max_ns(range->high_ns, value);
}

bool
offset_range_of(const struct nfs_op *first, const struct nfs_op *client, struct offset_range *range)
{
	if (!op_has(first, OP_TIMES) || !op_has(client, OP_TIMES))
		return false;
	range->low_ns = range->high_ns = offset_difference(first->call_first_ns, client->call_first_ns);
	include(range, offset_difference(first->call_last_ns, client->call_last_ns));
	include(range, offset_difference(first->reply_first_ns, client->reply_first_ns));
	include(range, offset_difference(first->reply_last_ns, client->reply_last_ns));
	return true;
}

static int64_t
drift_ns(int64_t from_ns, int64_t to_ns)
{
	int64_t distance = offset_difference(to_ns, from_ns);

	return (distance < 0 ? -distance : distance) / (NS_PER_S / CLOCK_MAX_DRIFT_PPB);
}

/* So much the clocks may have drifted since then, or before. */
static struct offset_range
range_after(const struct offset *offset, int64_t drift)
{
	/* Kept within what offset_difference gives, however often it grows. */
	return (struct offset_range){ max_ns(offset->range.low_ns - drift, INT64_MIN / 4),
	    min_ns(offset->range.high_ns + drift, INT64_MAX / 4) };
}

struct offset_range
offset_range_at(const struct offset *offset, int64_t first_ns)
{
	return range_after(offset, drift_ns(offset->at_ns, first_ns));
}

/*
 * How far a pair may miss the range. Another use of the XID on the same
 * connection is off by more than the time its server spent, since a client
 * waits for the reply before it uses the XID again; half of that is safe.
 */
static int64_t
slack_ns(const struct nfs_op *first, const struct nfs_op *client)
{
	int64_t inner = min_ns(offset_difference(first->reply_first_ns, first->call_last_ns),
	    offset_difference(client->reply_first_ns, client->call_last_ns));

	return STAMP_NOISE_NS + max_ns(inner, 0) / 2;
}

/* The calls' stamps, or the replies': one way through the network is within reach of the offset. */
static void
limit_one_way(struct offset_range *range, const int64_t first_ns[2], const int64_t client_ns[2],
    const bool has[2], int64_t before, int64_t after)
{
	for (unsigned i = 0; i < 2; i++)
		if (has[i]) {
			int64_t difference = offset_difference(first_ns[i], client_ns[i]);

			range->low_ns = max_ns(range->low_ns, difference - before);
			range->high_ns = min_ns(range->high_ns, difference + after);
		}
}

/* False when both have no stamp in common. */
static bool
partial_range(const struct offset *offset, const struct nfs_op *first, const struct nfs_op *client,
    int64_t reach, int64_t noise, struct offset_range *range)
{
	uint32_t both = first->valid & client->valid;
	const bool calls[2] = { (both & OP_HAS_CALL_FIRST) != 0, (both & OP_HAS_CALL_LAST) != 0 };
	const bool replies[2] = { (both & OP_HAS_REPLY_FIRST) != 0, (both & OP_HAS_REPLY_LAST) != 0 };
	bool callback = op_is_callback(first);
	int64_t to = offset->roles == (callback ? ROLES_AS_GIVEN : ROLES_REVERSED) ? noise : reach;
	int64_t fro = offset->roles == (callback ? ROLES_REVERSED : ROLES_AS_GIVEN) ? noise : reach;

	*range = (struct offset_range){ INT64_MIN / 2, INT64_MAX / 2 };
	limit_one_way(range, (const int64_t[]){ first->call_first_ns, first->call_last_ns },
	    (const int64_t[]){ client->call_first_ns, client->call_last_ns }, calls, to, fro);
	limit_one_way(range, (const int64_t[]){ first->reply_first_ns, first->reply_last_ns },
	    (const int64_t[]){ client->reply_first_ns, client->reply_last_ns }, replies, fro, to);
	/* In either role the call is seen everywhere before the reply is. */
	if (op_has(first, OP_HAS_CALL_FIRST) && op_has(client, OP_HAS_REPLY_LAST))
		range->low_ns = max_ns(range->low_ns,
		    offset_difference(first->call_first_ns, client->reply_last_ns));
	if (op_has(client, OP_HAS_CALL_FIRST) && op_has(first, OP_HAS_REPLY_LAST))
		range->high_ns = min_ns(range->high_ns,
		    offset_difference(first->reply_last_ns, client->call_first_ns));
	return calls[0] || calls[1] || replies[0] || replies[1];
}

bool
offset_near(const struct offset *offset, const struct nfs_op *first, const struct nfs_op *client)
{
	int64_t middle = offset_middle(offset);
	struct offset_range range;

	if (!offset_range_of(first, client, &range) &&
	    !partial_range(offset, first, client, 0, OFFSET_ASSUMED_NS, &range))
		return false;
	return range.low_ns <= middle + OFFSET_ASSUMED_NS && range.high_ns >= middle - OFFSET_ASSUMED_NS;
}

static bool
meets(const struct offset_range *a, const struct offset_range *b, int64_t slack)
{
	return a->low_ns - slack <= b->high_ns && a->high_ns + slack >= b->low_ns;
}

/* Another use of the XID also is a round trip of the network away, which the client's capture shows; a quarter is safe. */
static int64_t
path_slack_ns(const struct nfs_op *first, const struct nfs_op *client)
{
	int64_t path_ns = 0;

	if (op_has(first, OP_HAS_PATH))
		path_ns = max_ns(path_ns, first->path_ns);
	if (op_has(client, OP_HAS_PATH))
		path_ns = max_ns(path_ns, client->path_ns);
	return path_ns / 4;
}

/* Both ops have all times; safe: another use of the XID is farther away than that. */
static enum offset_fit
fits_fully(const struct offset *offset, const struct nfs_op *first, const struct nfs_op *client,
    const struct offset_range *range, int64_t safe, bool clean)
{
	struct offset_range known = offset_range_at(offset, first->call_first_ns);
	int64_t slack = slack_ns(first, client);

	if (!meets(range, &known, slack))
		return clean && meets(range, &known, LOOSE_NOISE_NS) ? OFFSET_LOOSE : OFFSET_IMPOSSIBLE;
	safe = max_ns(safe, max_ns(slack, path_slack_ns(first, client)));
	return drift_ns(offset->at_ns, first->call_first_ns) > safe ? OFFSET_STALE : OFFSET_FULL;
}

/* All times are there, none before 1970 or behind 2043: no difference leaves what offset_difference gives. */
static inline bool
are_ordinary(const struct nfs_op *a, const struct nfs_op *b)
{
	int64_t all = a->call_first_ns | a->call_last_ns | a->reply_first_ns | a->reply_last_ns |
	    b->call_first_ns | b->call_last_ns | b->reply_first_ns | b->reply_last_ns;

	return (a->valid & b->valid & OP_TIMES) == OP_TIMES && (uint64_t)all >> 61 == 0;
}

bool
offset_fits_soon(const struct offset *offset, const struct nfs_op *first, const struct nfs_op *client,
    struct offset_news *news)
{
	struct offset_range range;
	int64_t inner, slack;

	if (!are_ordinary(first, client))
		return false;
	range.low_ns = range.high_ns = first->call_first_ns - client->call_first_ns;
	include(&range, first->call_last_ns - client->call_last_ns);
	include(&range, first->reply_first_ns - client->reply_first_ns);
	include(&range, first->reply_last_ns - client->reply_last_ns);
	inner = min_ns(first->reply_first_ns - first->call_last_ns, client->reply_first_ns - client->call_last_ns);
	slack = STAMP_NOISE_NS + max_ns(inner, 0) / 2;
	news->first_ns = first->call_first_ns;
	news->drift_ns = drift_ns(offset->at_ns, first->call_first_ns);
	news->range = range;
	news->known = range_after(offset, news->drift_ns);
	return news->drift_ns <= slack && meets(&range, &news->known, slack);
}

enum offset_fit
offset_fits(const struct offset *offset, const struct nfs_op *first, const struct nfs_op *client,
    int64_t reuse_ns, bool clean)
{
	int64_t width = offset->range.high_ns - offset->range.low_ns;
	int64_t safe = reuse_ns / 4;
	int64_t noise = min_ns(LOOSE_NOISE_NS, max_ns(STAMP_NOISE_NS, safe));
	int64_t reach = min_ns(REACH_NS, max_ns(STAMP_NOISE_NS + 4 * min_ns(width, REACH_NS), safe / 2));
	struct offset_range known, range;

	if (offset_range_of(first, client, &range))
		return fits_fully(offset, first, client, &range, safe, clean);
	known = offset_range_at(offset,
	    op_has(first, OP_HAS_CALL_FIRST) ? first->call_first_ns : offset->at_ns);
	/* A step of a clock may lie between it and the pairs that are known; its call has no other use of the XID to go to. */
	if (!partial_range(offset, first, client, reach, noise, &range) ||
	    !meets(&range, &known, clean ? LOOSE_NOISE_NS : 0))
		return OFFSET_IMPOSSIBLE;
	return reach + known.high_ns - known.low_ns > safe ? OFFSET_STALE : OFFSET_PARTIAL;
}

void
offset_move(struct offset *offset, int64_t first_ns)
{
	offset->range = offset_range_at(offset, first_ns);
	offset->at_ns = first_ns;
}

static void
forget_suspects(struct offset *offset)
{
	if (offset->sample_count + offset->suspects > 0)
		offset_forget(offset);
}

void
offset_learn(struct offset *offset, const struct nfs_op *first, const struct nfs_op *client)
{
	struct offset_news news = { .first_ns = first->call_first_ns };

	if (!offset_range_of(first, client, &news.range))
		return;
	news.drift_ns = drift_ns(offset->at_ns, news.first_ns);
	news.known = range_after(offset, news.drift_ns);
	offset_learn_news(offset, &news);
}

void
offset_learn_news(struct offset *offset, const struct offset_news *news)
{
	struct offset_range range = news->range, known = news->known;

	/* A call that a step was in the middle of fits what is known and what is suspected alike. */
	if (offset->sample_count == 0 || !meets(&range, &offset->samples[offset->sample_count - 1].range, 0))
		forget_suspects(offset);
	if (news->first_ns > offset->at_ns) {
		offset->at_ns = news->first_ns;
	} else {
		known = offset->range;
		range.low_ns -= news->drift_ns;
		range.high_ns += news->drift_ns;
	}
	if (range.low_ns > known.high_ns) {
		/* Within the slack: what was proved before was a little too narrow. */
		known.high_ns = range.low_ns;
	} else if (range.high_ns < known.low_ns) {
		known.low_ns = range.high_ns;
	} else {
		known.low_ns = max_ns(known.low_ns, range.low_ns);
		known.high_ns = min_ns(known.high_ns, range.high_ns);
	}
	offset->range = known;
}

void
offset_sample(struct offset *offset, const struct nfs_op *first, const struct nfs_op *client,
    struct offset_sample sample)
{
	int64_t middle = offset_middle(offset);

	if (!offset_range_of(first, client, &sample.range) || offset->sample_count == OFFSET_SAMPLES ||
	    sample.range.low_ns > middle + OFFSET_ASSUMED_NS ||
	    sample.range.high_ns < middle - OFFSET_ASSUMED_NS)
		return;
	if (offset->sample_count == offset->sample_room) {
		offset->sample_room = offset->sample_room == 0 ? FIRST_TRIAL : offset->sample_room * 2;
		offset->samples = g_renew(struct offset_sample, offset->samples, offset->sample_room);
	}
	sample.at_ns = first->call_first_ns;
	sample.network_ns =
	    offset_difference(first->call_first_ns, client->call_first_ns) / 2 -
	    offset_difference(first->reply_last_ns, client->reply_last_ns) / 2 +
	    offset_difference(first->call_last_ns, client->call_last_ns) / 2 -
	    offset_difference(first->reply_first_ns, client->reply_first_ns) / 2;
	if (op_is_callback(first))
		sample.network_ns = -sample.network_ns;
	sample.deduced = ((first->flags | client->flags) &
	    (OP_CALL_TIME_DEDUCED | OP_REPLY_TIME_DEDUCED | OP_JOINED)) != 0 ||
	    first->retransmits > 0 || client->retransmits > 0;
	if (offset->sample_count == 0 || sample.op[1].serial < offset->first_client)
		offset->first_client = sample.op[1].serial;
	offset->samples[offset->sample_count++] = sample;
}
