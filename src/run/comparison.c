#include "run/comparison.h"

#include <glib.h>

#include "base/arith.h"
#include "correlate/anchor.h"

enum {
	SIDES = 2,
	SEEK_AFTER = 32,	/* ops of each side without a pair, */
	SEEK_AGAIN = 1 << 12,	/* and after a distance was found that led to none */
	LEARNED = 128,		/* ops that are looked for on the other side */
	SCANNED = 1 << 18,	/* ops among which they are looked for, until others are */
};

/* What a capture brought, in its order. */
struct item {
	bool is_event;
	union {
		struct nfs_op op;
		struct tcp_event event;
	};
};

/* A ring of them that grows; size is a power of two, or 0. */
struct line {
	struct item *item;
	uint32_t size, first, count;
	uint32_t ops;			/* of count */
	int64_t passed_ns;		/* what comes still is later */
	bool over;
};

/* Ops of one capture that are looked for in the other. */
struct seeker {
	struct anchor *anchor;		/* NULL: none yet */
	unsigned learned, scanned;
};

struct comparison {
	struct comparison_config config;
	struct correlate *correlate;
	struct correlate_facts before;	/* of a correlation that was given up */
	struct line lines[SIDES];	/* what waits for its turn, by capture */
	struct seeker seekers[SIDES];	/* by the capture whose ops are looked for */
	uint64_t ops[SIDES];
	uint64_t seek_from[SIDES];	/* number of ops */
	int64_t newest_ns[SIDES];	/* order of the last op, by its own clock */
	int64_t first_ns[SIDES];
	int64_t paired_ns[SIDES];	/* the same of the last op whose pair is out */
	bool paired;			/* calls were found on both sides, whether or not their pairs are out */
	bool finished;
	bool dissolving;		/* what comes out has no clocks to go by, and its ids will be gone */
};

/* ---- out ---- */

static bool
is_pair(const struct op_pair *pair)
{
	return pair->match == MATCH_MATCHED || pair->match == MATCH_PARTIAL;
}

/* Each side of a pair for itself. */
static void
give_alone(struct comparison *comparison, const struct op_pair *pair)
{
	struct op_pair alone = *pair;

	for (unsigned side = 0; side < SIDES; side++) {
		if (!pair->has[side])
			continue;
		alone.has[side] = true;
		alone.has[!side] = false;
		alone.match = side == PAIR_SERVER ? MATCH_SERVER_ONLY : MATCH_CLIENT_ONLY;
		alone.client_capture = side == PAIR_SERVER ? UINT16_MAX : 0;
		comparison->before.matches[alone.match]++;
		comparison->config.each(comparison->config.context, &alone);
	}
}

static void
take_pair(void *context, const struct op_pair *pair)
{
	struct comparison *comparison = context;

	if (comparison->dissolving) {
		give_alone(comparison, pair);
		return;
	}
	if (is_pair(pair)) {
		bool exchanged = correlate_facts(comparison->correlate)->exchanged;

		for (unsigned side = 0; side < SIDES; side++) {
			unsigned capture = exchanged ? !side : side;

			comparison->paired_ns[capture] = max_ns(comparison->paired_ns[capture], op_order_ns(&pair->op[side]));
		}
	}
	comparison->config.each(comparison->config.context, pair);
}

static struct correlate *
make_correlate(struct comparison *comparison, const int64_t *hint_ns)
{
	const struct comparison_config *config = &comparison->config;
	struct correlate_config correlate = {
		.clients = 1,
		.clock_mode = config->clock_mode,
		.clock_given_ns = config->clock_given_ns,
		.limit = config->limit,
		.hints_ns = hint_ns,
	};

	return correlate_new(&correlate, take_pair, comparison);
}

struct comparison *
comparison_new(const struct comparison_config *config)
{
	struct comparison *comparison = g_new0(struct comparison, 1);

	comparison->config = *config;
	comparison->lines[0].passed_ns = comparison->lines[1].passed_ns = INT64_MIN;
	comparison->paired_ns[0] = comparison->paired_ns[1] = INT64_MIN;
	comparison->seek_from[0] = comparison->seek_from[1] = SEEK_AFTER;
	comparison->correlate = make_correlate(comparison, NULL);
	return comparison;
}

static void
stop_seeking(struct comparison *comparison)
{
	for (unsigned side = 0; side < SIDES; side++)
		g_clear_pointer(&comparison->seekers[side].anchor, anchor_free);
}

void
comparison_free(struct comparison *comparison)
{
	if (comparison == NULL)
		return;
	stop_seeking(comparison);
	for (unsigned capture = 0; capture < SIDES; capture++)
		g_free(comparison->lines[capture].item);
	correlate_free(comparison->correlate);
	g_free(comparison);
}

/* ---- clocks that are far apart ---- */

/* From here on with another distance between the clocks; what was read so far stays alone. */
static void
begin_again(struct comparison *comparison, int64_t hint_ns)
{
	const struct correlate_facts *facts;

	log_line(comparison->config.log, LOG_NORMAL, "correlate", "the server's clock less the client's is about %.3f s; "
	    "calls are compared from here on", (double)hint_ns / NS_PER_S);
	comparison->dissolving = true;
	correlate_finish(comparison->correlate);
	comparison->dissolving = false;
	facts = correlate_facts(comparison->correlate);
	comparison->before.evicted[PAIR_SERVER] += facts->evicted[PAIR_SERVER];
	comparison->before.evicted[PAIR_CLIENT] += facts->evicted[PAIR_CLIENT];
	correlate_free(comparison->correlate);
	comparison->correlate = make_correlate(comparison, &hint_ns);
	stop_seeking(comparison);
	for (unsigned side = 0; side < SIDES; side++)
		comparison->seek_from[side] = comparison->ops[side] + SEEK_AGAIN;
}

/* An op of a capture is one to look for, and may be one of the other capture's that are looked for. */
static void
seek(struct comparison *comparison, unsigned capture, const struct nfs_op *op)
{
	struct seeker *own = &comparison->seekers[capture], *others = &comparison->seekers[!capture];
	int64_t delta_ns;

	if (own->anchor == NULL)
		*own = (struct seeker){ .anchor = anchor_new() };
	if (own->learned < LEARNED && anchor_learn(own->anchor, op))
		own->learned++;
	if (others->anchor == NULL)
		return;
	/* this capture's clock less the other's; hints are the server's less the client's */
	if (anchor_scan(others->anchor, op, &delta_ns)) {
		begin_again(comparison, capture == 0 ? delta_ns : -delta_ns);
	} else if (++others->scanned == SCANNED) {
		g_clear_pointer(&others->anchor, anchor_free);
	}
}

static bool
must_seek(const struct comparison *comparison)
{
	return !comparison->paired && comparison->config.clock_mode != CLOCK_GIVEN &&
	    comparison->ops[0] >= comparison->seek_from[0] && comparison->ops[1] >= comparison->seek_from[1];
}

/* ---- lines ---- */

static struct item *
item_at(const struct line *line, uint32_t place)
{
	return &line->item[(line->first + place) & (line->size - 1)];
}

static void
grow(struct line *line)
{
	uint32_t size = line->size == 0 ? 64 : 2 * line->size;
	struct item *item = g_new(struct item, size);

	for (uint32_t i = 0; i < line->count; i++)
		item[i] = *item_at(line, i);
	g_free(line->item);
	line->item = item;
	line->first = 0;
	line->size = size;
}

static struct item *
append(struct line *line)
{
	if (line->count == line->size)
		grow(line);
	return item_at(line, line->count++);
}

/* Events do not wait: they come before the op behind them, and after the one in front. */
static void
pass_events(struct comparison *comparison, unsigned capture)
{
	struct line *line = &comparison->lines[capture];

	while (line->count > 0 && item_at(line, 0)->is_event) {
		correlate_push_event(comparison->correlate, capture, &item_at(line, 0)->event);
		line->first++;
		line->count--;
	}
}

/* The op in front, which is there, goes on. */
static void
pass_op(struct comparison *comparison, unsigned capture)
{
	struct line *line = &comparison->lines[capture];
	const struct correlate_facts *facts = correlate_facts(comparison->correlate);

	correlate_push(comparison->correlate, capture, &item_at(line, 0)->op);
	comparison->paired = facts->matches[MATCH_MATCHED] + facts->matches[MATCH_PARTIAL] > 0;
	line->first++;
	line->count--;
	line->ops--;
	pass_events(comparison, capture);
	if (comparison->paired)
		stop_seeking(comparison);
}

/* All whose turn has come. */
static void
advance(struct comparison *comparison)
{
	for (;;) {
		int64_t next_ns[SIDES];
		bool ended[SIDES], waits[SIDES];
		unsigned chosen;

		for (unsigned capture = 0; capture < SIDES; capture++) {
			const struct line *line = &comparison->lines[capture];

			pass_events(comparison, capture);
			waits[capture] = line->ops == 0;
			ended[capture] = line->over && waits[capture];
			next_ns[capture] = waits[capture] ? line->passed_ns : op_order_ns(&item_at(line, 0)->op);
		}
		if (waits[0] && waits[1])
			return;
		chosen = correlate_choose(comparison->correlate, next_ns, ended);
		if (waits[chosen])
			return;
		pass_op(comparison, chosen);
	}
}

/* ---- in ---- */

void
comparison_push(struct comparison *comparison, unsigned capture, const struct nfs_op *op)
{
	struct line *line = &comparison->lines[capture];
	int64_t order_ns = op_order_ns(op);
	struct item *item;

	comparison->newest_ns[capture] = comparison->ops[capture] == 0 ? order_ns :
	    max_ns(comparison->newest_ns[capture], order_ns);
	if (comparison->ops[capture]++ == 0)
		comparison->first_ns[capture] = order_ns;
	if (must_seek(comparison))
		seek(comparison, capture, op);
	item = append(line);
	item->is_event = false;
	item->op = *op;
	line->ops++;
	advance(comparison);
	if (line->ops > comparison->config.limit)
		pass_op(comparison, capture);
}

void
comparison_push_event(struct comparison *comparison, unsigned capture, const struct tcp_event *event)
{
	struct line *line = &comparison->lines[capture];
	struct item *item;

	if (line->ops == 0) {
		correlate_push_event(comparison->correlate, capture, event);
		return;
	}
	/* of more than there may be ops the rest is lost, as correlation loses those that are too many */
	if (line->count > 2 * comparison->config.limit)
		return;
	item = append(line);
	item->is_event = true;
	item->event = *event;
}

void
comparison_pass_time(struct comparison *comparison, unsigned capture, int64_t now_ns)
{
	struct line *line = &comparison->lines[capture];

	line->passed_ns = max_ns(line->passed_ns, now_ns);
	advance(comparison);
}

void
comparison_over(struct comparison *comparison, unsigned capture)
{
	comparison->lines[capture].over = true;
	advance(comparison);
}

void
comparison_end(struct comparison *comparison)
{
	if (comparison->finished)
		return;
	comparison->finished = true;
	comparison_over(comparison, 0);
	comparison_over(comparison, 1);
	correlate_finish(comparison->correlate);
	stop_seeking(comparison);
}

/* ---- what is known ---- */

struct correlate *
comparison_correlate(const struct comparison *comparison)
{
	return comparison->correlate;
}

void
comparison_facts(const struct comparison *comparison, struct correlate_facts *facts)
{
	*facts = *correlate_facts(comparison->correlate);
	for (unsigned match = 0; match < MATCHES; match++)
		facts->matches[match] += comparison->before.matches[match];
	for (unsigned side = 0; side < SIDES; side++)
		facts->evicted[side] += comparison->before.evicted[side];
}

/* As far as the other side has come, by this capture's clock, as well as it is known. */
static int64_t
passed_ns(const struct comparison *comparison, unsigned capture)
{
	struct clock_facts clock;

	correlate_clock(comparison->correlate, 0, &clock);
	if (!clock.aligned || comparison->ops[!capture] == 0)
		return INT64_MIN;
	return comparison->newest_ns[!capture] + (capture == 0 ? clock.offset_ns : -clock.offset_ns);
}

int64_t
comparison_lag_ns(const struct comparison *comparison, unsigned capture)
{
	int64_t reached_ns;

	if (comparison->ops[capture] == 0)
		return 0;
	reached_ns = max_ns(comparison->first_ns[capture], max_ns(comparison->paired_ns[capture], passed_ns(comparison, capture)));
	return max_ns(comparison->newest_ns[capture] - reached_ns, 0);
}
