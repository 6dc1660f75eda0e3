#include "correlate/clock.h"

#include <glib.h>
#include <string.h>

#include "base/arith.h"
#include "correlate/loss.h"
#include "correlate/pair_bounds.h"
#include "correlate/polygon.h"
#include "correlate/records.h"
#include "correlate/stretch.h"
#include "correlate/suspicion.h"

/*
 * How pairs become bounds, bounds a line, and a line the split of the network
 * time; and what happens when the clocks do not keep to one line.
 *
 * A pair that leaves no line is suspected. The line then rests, and nothing is
 * emitted until the pairs behind it have decided. If the map splits and the two
 * lines exclude each other, the offset has jumped: a call that is on neither
 * side for certain has durations that the jump may be part of, and gets no
 * split. If they do not exclude each other, only the slope is known to differ,
 * and the two lines together bound the offset of such a call.
 */

enum {
	WINDOW_PAIRS = 1000,
	QUEUE_FIRST = 1 << 6,		/* a power of 2, as all that follow */
	WAITING_MAX = 1 << 16,
	PATIENCE_PAIRS = 1 << 13,	/* so many wait for the call that shows a window to be whole */
	BAND_PAIRS = 250,		/* that share one band */
	REREAD_MAX = 1 << 19,		/* pairs: hostile stamps must not cost more than that */
};
#define WINDOW_NS ((int64_t)NS_PER_S)
/* A step is found some calls late: so long the time around it is on both sides. */
#define AROUND_STEP_NS (10 * (int64_t)NS_PER_S)

static const struct polygon_band no_band = { 0 };

/* A moment on both hosts. The frame of a record is that of its first byte, so its end needs the stamp. */
struct moment {
	uint64_t frame[2];
	int64_t stamp_ns[2];
	int64_t server_ns;	/* not behind it, server clock */
};
static const struct moment nowhere = { .stamp_ns = { INT64_MIN, INT64_MIN }, .server_ns = INT64_MIN };

/* A change of the line; whether it is a jump shows the better, the more pairs come behind it. */
struct pending_step {
	bool active;
	struct reach end;		/* of the stretch before */
	struct polygon line;		/* the same */
};

struct clock_stage {
	enum clock_mode mode;
	int64_t given_ns;
	pair_sink_fn *sink;
	void *context;

	struct op_pair *queue;		/* ring of the pairs that wait */
	size_t room, head, waiting;
	size_t read;			/* of the pairs that wait: those that were learned from or judged */
	size_t reread;			/* since something was emitted */
	struct resolution resolution[2];	/* enum pair_side */

	struct stretch now, before;	/* before: when now follows a change */
	bool suspicious;
	size_t suspect;			/* place in the queue of the first pair that contradicts */
	struct suspicion suspicion;
	struct pending_step pending;	/* at the begin of now */
	struct polygon settled_recent, settled_whole;	/* now's lines without what the pairs that wait say */

	bool window_begun;
	int64_t window_start_ns;	/* server clock */
	size_t closed;			/* pairs at the head whose window is over */
	struct polygon closed_recent, closed_whole;	/* the lines at that moment */
	uint64_t closed_frame[2], last_frame[2];	/* highest frames: of the closed pairs, of all that wait */

	struct records records;
	uint32_t steps;
	struct clock_step step[CLOCK_STEPS_KEPT];
	uint64_t outliers;
};

/* ---- pairs ---- */

static bool
is_matched(const struct op_pair *pair)
{
	return pair->match == MATCH_MATCHED;
}

/* True when the pair's reply was there, on both hosts, no later than that. */
static bool
is_before(const struct op_pair *pair, const struct moment *moment)
{
	for (unsigned side = 0; side < 2; side++) {
		const struct nfs_op *op = &pair->op[side];

		if (op->reply_order > moment->frame[side] || op->reply_last_ns > moment->stamp_ns[side] ||
		    op->reply_last_ns < op->reply_first_ns)
			return false;
	}
	return true;
}

/* Moves the frames on to the pair's last ones. */
static void
raise_frames(uint64_t frame[2], const struct op_pair *pair)
{
	for (unsigned side = 0; side < 2; side++) {
		uint64_t last = MAX(pair->op[side].call_order, pair->op[side].reply_order);

		frame[side] = MAX(frame[side], last);
	}
}

/* Moves the moment on to the stamps that a bound is made of; line: of the offset there. */
static void
raise_moment(struct moment *moment, const struct op_pair *pair, const struct bound *bound, const struct polygon *line)
{
	const int64_t stamp_ns[2] = {
		[PAIR_SERVER] = bound->at_ns,
		[PAIR_CLIENT] = wrapping_minus(bound->at_ns, bound->offset_ns),
	};
	int64_t low, high, sent_ns = bound->at_ns;

	/* A request was sent before that, and a clock may have been set while it was under way. */
	if (bound->upper && polygon_offset(line, bound->at_ns, bound->at_ns, &low, &high))
		sent_ns = wrapping_minus(bound->at_ns, max_ns(wrapping_minus(bound->offset_ns, low), 0));
	moment->server_ns = max_ns(moment->server_ns, sent_ns);
	for (unsigned side = 0; side < 2; side++) {
		uint64_t frame = bound->upper ? pair->op[side].call_order : pair->op[side].reply_order;

		moment->frame[side] = MAX(moment->frame[side], frame);
		moment->stamp_ns[side] = MAX(moment->stamp_ns[side], stamp_ns[side]);
	}
}

/* Of several moments the last and the one before it. */
static void
order_moments(struct moment *last, struct moment *second, const struct moment *moment)
{
	for (unsigned side = 0; side < 2; side++) {
		second->frame[side] = MAX(second->frame[side], MIN(last->frame[side], moment->frame[side]));
		last->frame[side] = MAX(last->frame[side], moment->frame[side]);
		second->stamp_ns[side] = max_ns(second->stamp_ns[side],
		    min_ns(last->stamp_ns[side], moment->stamp_ns[side]));
		last->stamp_ns[side] = max_ns(last->stamp_ns[side], moment->stamp_ns[side]);
	}
	second->server_ns = max_ns(second->server_ns, min_ns(last->server_ns, moment->server_ns));
	last->server_ns = max_ns(last->server_ns, moment->server_ns);
}

/* The durations, which need no common clock. */
static void
measure(struct op_pair *pair)
{
	const struct nfs_op *server = &pair->op[PAIR_SERVER], *client = &pair->op[PAIR_CLIENT];

	int64_t total_ns = wrapping_minus(client->reply_last_ns, client->call_first_ns);
	int64_t server_ns = wrapping_minus(server->reply_first_ns, server->call_last_ns);
	int64_t network_ns = wrapping_minus(total_ns, server_ns);
	bool client_known = op_has(client, OP_HAS_CLIENT) && client->client_ns >= 0 && client->client_ns <= network_ns;
	int64_t client_ns = client_known ? client->client_ns : 0;

	pair->parts = (struct attribution){
		.total_ns = total_ns,
		.server_ns = server_ns,
		.network_ns = network_ns - client_ns,
		.client_ns = client_ns,
		.client_known = client_known,
		.retransmit_known = loss_may_be_known(server, client),
	};
}

/*
 * True when no offset within the range lets both hosts see the call, and the
 * reply, in their order: a clock was set, or a stamp is wrong. coarse_ns: of stamps.
 */
static bool
goes_back(const struct op_pair *pair, int64_t low_ns, int64_t high_ns, int64_t coarse_ns)
{
	const struct nfs_op *server = &pair->op[PAIR_SERVER], *client = &pair->op[PAIR_CLIENT];
	int64_t request_ns = wrapping_minus(wrapping_minus(server->call_first_ns, client->call_first_ns), low_ns);
	int64_t reply_ns = wrapping_minus(high_ns, wrapping_minus(server->reply_first_ns, client->reply_first_ns));
	int64_t slack_ns;

	if (request_ns >= 0 && reply_ns >= 0)
		return false;
	/* The range is that of the time from call to reply: 1/512 is beyond what the offset changes around it. */
	slack_ns = coarse_ns + distance_ns(server->call_first_ns, server->call_last_ns) / 512 +
	    distance_ns(server->reply_first_ns, server->reply_last_ns) / 512;
	return request_ns < -slack_ns || reply_ns < -slack_ns;
}

/*
 * The split of the network time, from what one or two lines say of the offset
 * at both times at which the server stamped it: request and reply use one
 * offset, so that they sum up, and what it drifts in between is in the error.
 */
static void
split(const struct clock_stage *stage, struct op_pair *pair, const struct stretch *stretch,
    const struct polygon_band *band, const struct stretch *other)
{
	const struct nfs_op *server = &pair->op[PAIR_SERVER], *client = &pair->op[PAIR_CLIENT];
	struct attribution *parts = &pair->parts;
	int64_t coarse_ns = max_ns(stage->resolution[PAIR_SERVER].unit_ns, stage->resolution[PAIR_CLIENT].unit_ns) - 1;
	int64_t low, high, other_low, other_high, offset;

	if (!polygon_offset_near(stretch_recent(stretch), band, server->call_last_ns, server->reply_first_ns, &low, &high))
		return;
	if (other != NULL) {
		if (!polygon_offset(stretch_recent(other), server->call_last_ns, server->reply_first_ns, &other_low,
		    &other_high))
			return;
		low = min_ns(low, other_low);
		high = max_ns(high, other_high);
	}
	if (stage->mode == CLOCK_AUTO && goes_back(pair, low, high, coarse_ns))
		return;
	/* The middle is rounded down, so that the upper end is the farther one. */
	offset = stage->mode == CLOCK_GIVEN ? stage->given_ns : middle_ns(low, high);
	parts->clock_error_ns = distance_ns(offset, high);
	if (stage->mode == CLOCK_GIVEN)
		parts->clock_error_ns = max_ns(parts->clock_error_ns, distance_ns(offset, low));
	parts->request_ns = wrapping_minus(wrapping_minus(server->call_last_ns, client->call_first_ns), offset);
	parts->reply_ns = wrapping_minus(parts->network_ns, wrapping_minus(parts->request_ns, parts->client_ns));
	if (__builtin_add_overflow(parts->clock_error_ns, coarse_ns, &parts->clock_error_ns))
		parts->clock_error_ns = INT64_MAX;
	parts->aligned = true;
}

/* ---- the queue ---- */

static struct op_pair *
queue_at(const struct clock_stage *stage, size_t place)
{
	return &stage->queue[(stage->head + place) & (stage->room - 1)];
}

static G_GNUC_NO_INLINE void
queue_grow(struct clock_stage *stage)
{
	size_t room = stage->room == 0 ? QUEUE_FIRST : 2 * stage->room;
	struct op_pair *queue = g_new(struct op_pair, room);

	for (size_t i = 0; i < stage->waiting; i++)
		queue[i] = *queue_at(stage, i);
	g_free(stage->queue);
	stage->queue = queue;
	stage->room = room;
	stage->head = 0;
}

struct op_pair *
clock_stage_room(struct clock_stage *stage)
{
	if (stage->waiting == stage->room)
		queue_grow(stage);
	return queue_at(stage, stage->waiting);
}

/* Hands on the pair at the head, which it is. */
static inline void
queue_emit(struct clock_stage *stage, const struct op_pair *pair)
{
	stage->sink(stage->context, pair);
	stage->head = (stage->head + 1) & (stage->room - 1);
	stage->waiting--;
	if (stage->read > 0)
		stage->read--;
}

/*
 * The few pairs that are left of many begin the ring anew: the next window is
 * written where the last one was, which the caches still hold.
 */
static void
queue_rewind(struct clock_stage *stage)
{
	if (stage->waiting > stage->head / 8 || stage->head + stage->waiting > stage->room)
		return;
	memcpy(stage->queue, queue_at(stage, 0), stage->waiting * sizeof stage->queue[0]);
	stage->head = 0;
}

/* Around the next pairs at the head: most of their times, not all, for the rest costs little. */
static void
make_band(const struct clock_stage *stage, size_t pairs, struct polygon_band *band)
{
	const struct op_pair *first = queue_at(stage, 0), *last = queue_at(stage, pairs - 1);

	*band = no_band;
	if (is_matched(first) && is_matched(last))
		polygon_band(stretch_recent(&stage->now), first->op[PAIR_SERVER].call_last_ns,
		    last->op[PAIR_SERVER].reply_first_ns, band);
}

/* Emits so many pairs with what is known now. */
static void
emit(struct clock_stage *stage, size_t count)
{
	struct polygon_band band;
	size_t banded = 0;

	for (; count > 0; count--, banded--) {
		struct op_pair *pair = queue_at(stage, 0);

		if (banded == 0) {
			banded = MIN(BAND_PAIRS, count);
			make_band(stage, banded, &band);
		}
		if (is_matched(pair) && stretch_holds(&stage->now, pair))
			split(stage, pair, &stage->now, &band, NULL);
		else if (is_matched(pair) && stage->now.bends)
			split(stage, pair, &stage->now, &band, &stage->before);
		queue_emit(stage, pair);
	}
}

/* ---- windows ---- */

/* The window begins anew with what is left in the queue. */
static void
window_restart(struct clock_stage *stage)
{
	stage->closed = 0;
	stage->reread = 0;
	stage->window_begun = false;
	stage->last_frame[0] = stage->last_frame[1] = 0;
	for (size_t i = 0; i < stage->waiting; i++) {
		const struct op_pair *pair = queue_at(stage, i);

		if (!is_matched(pair))
			continue;
		if (!stage->window_begun)
			stage->window_start_ns = pair->op[PAIR_SERVER].reply_last_ns;
		stage->window_begun = true;
		raise_frames(stage->last_frame, pair);
	}
}

/* Before this pair joins: is the window over? */
static void
window_close(struct clock_stage *stage, const struct op_pair *pair)
{
	int64_t now_ns = pair->op[PAIR_SERVER].reply_last_ns;

	if (!stage->window_begun) {
		stage->window_begun = true;
		stage->window_start_ns = now_ns;
	}
	if (stage->closed > 0 || stage->waiting == 0)
		return;
	if (stage->waiting < WINDOW_PAIRS && distance_ns(now_ns, stage->window_start_ns) < WINDOW_NS)
		return;
	stage->closed = stage->waiting;
	polygon_copy(&stage->closed_recent, stretch_recent(&stage->now));
	polygon_copy(&stage->closed_whole, stretch_whole(&stage->now));
	stage->closed_frame[0] = stage->last_frame[0];
	stage->closed_frame[1] = stage->last_frame[1];
}

/*
 * A closed window goes out when a call that began behind all of its replies
 * fits the line. Where the offset falls, replies that crossed the fall look
 * merely slow; the next call shows it.
 */
static void
window_emit(struct clock_stage *stage)
{
	emit(stage, stage->closed);
	queue_rewind(stage);
	polygon_copy(&stage->settled_recent, &stage->closed_recent);
	polygon_copy(&stage->settled_whole, &stage->closed_whole);
	window_restart(stage);
}

/* ---- changes ---- */

/* Is there a step where now begins, and how large? From the middle of one line to that of the other. */
static bool
pending_jumped(const struct clock_stage *stage, struct clock_step *step)
{
	const struct pending_step *pending = &stage->pending;
	int64_t low, high, next_low, next_high;

	step->at_ns = stage->now.first_ns;
	if (!pending->active || !stretch_jumps(&pending->end, &stage->now.start) ||
	    !polygon_offset(&pending->line, step->at_ns, step->at_ns, &low, &high) ||
	    !polygon_offset(stretch_whole(&stage->now), step->at_ns, step->at_ns, &next_low, &next_high))
		return false;
	step->step_ns = wrapping_minus(middle_ns(next_low, next_high), middle_ns(low, high));
	return true;
}

/* The line through all of now is over: it becomes a record, and tells whether it began with a step. */
static void
end_line(struct clock_stage *stage)
{
	struct clock_step step;

	if (pending_jumped(stage, &step)) {
		if (stage->steps < CLOCK_STEPS_KEPT)
			stage->step[stage->steps] = step;
		stage->steps++;
	}
	stage->pending.active = false;
	records_keep(&stage->records, &stage->now);
}

/* From here on another stretch, whose first pairs may wait already. */
static void
begin_stretch(struct clock_stage *stage, const struct stretch *next)
{
	stage->before = stage->now;
	stage->now = *next;
	stage->suspicious = false;
	polygon_init(&stage->settled_recent);
	polygon_init(&stage->settled_whole);
	window_restart(stage);
}

/* The line stands and the pair is wrong: all that came after it is read once more. */
static void
drop_suspicion(struct clock_stage *stage)
{
	stage->suspicious = false;
	stage->outliers++;
	stage->reread += stage->read;
	stage->read = stage->suspect + 1;
}

/*
 * The last moment that is surely before the change: of stamps that the new
 * lines rule out, of pairs that the old line allows. It takes two pairs to say
 * so, since one outlier may by chance be where the old line is. suspected: NULL,
 * or what the suspect says.
 */
static struct moment
last_before(const struct clock_stage *stage, const struct polygon *suspected)
{
	const struct suspicion *suspicion = &stage->suspicion;
	struct moment last = nowhere, second = nowhere;
	struct bound bound[PAIR_BOUNDS];

	for (size_t i = 0; i < stage->waiting; i++) {
		const struct op_pair *pair = queue_at(stage, i);
		struct moment moment = nowhere;
		unsigned bounds;

		if (!is_matched(pair) || !stretch_holds(&stage->now, pair) ||
		    suspicion_is_behind(suspicion, pair))
			continue;
		bounds = pair_bounds(pair, stage->resolution, bound);
		if (stretch_excludes(&stage->now, bound, bounds))
			continue;
		for (unsigned j = 0; j < bounds; j++)
			if (stretch_excludes(&suspicion->next, &bound[j], 1) ||
			    (suspected != NULL && polygon_effect(suspected, &bound[j]) == BOUND_CONTRADICTS))
				raise_moment(&moment, pair, &bound[j], stretch_recent(&stage->now));
		order_moments(&last, &second, &moment);
	}
	return second;
}

/*
 * The old lines once more, without pairs that may have been behind the jump and
 * were not noticed; how long they hold goes by that, too.
 */
static void
rebuild(struct clock_stage *stage, const struct moment *last)
{
	struct bound bound[PAIR_BOUNDS];

	stretch_rewind(&stage->now, &stage->settled_recent, &stage->settled_whole);
	for (size_t i = 0; i < stage->waiting; i++) {
		const struct op_pair *pair = queue_at(stage, i);
		unsigned bounds;

		if (!is_matched(pair) || !stretch_holds(&stage->now, pair) || !is_before(pair, last))
			continue;
		bounds = pair_bounds(pair, stage->resolution, bound);
		stretch_cut(&stage->now, bound, bounds);
	}
	stretch_end_at(&stage->now, max_ns(last->server_ns, stage->now.first_ns));
}

/* Emits up to the last pair that is not surely behind the change. */
static void
emit_change(struct clock_stage *stage, bool jumps, const struct moment *last)
{
	const struct suspicion *suspicion = &stage->suspicion;
	size_t count = stage->read;

	while (count > 0 && (!is_matched(queue_at(stage, count - 1)) ||
	    suspicion_is_behind(suspicion, queue_at(stage, count - 1))))
		count--;
	while (count-- > 0) {
		struct op_pair *pair = queue_at(stage, 0);

		if (!is_matched(pair))
			;
		else if (suspicion_is_behind(suspicion, pair))
			split(stage, pair, &suspicion->next, &no_band, NULL);
		else if (!stretch_holds(&stage->now, pair))
			;
		else if (!jumps)
			split(stage, pair, &stage->now, &no_band, &suspicion->next);
		else if (is_before(pair, last))
			split(stage, pair, &stage->now, &no_band, NULL);
		queue_emit(stage, pair);
	}
}

/* The map splits: what is behind the suspicion has a line of its own. */
static void
change(struct clock_stage *stage)
{
	struct suspicion *suspicion = &stage->suspicion;
	bool supported = stage->now.pairs >= SUSPICION_VOTES;
	bool jumps = !supported || stretch_jumps(&stage->now.end, &suspicion->next.start);
	struct pending_step pending = { .active = supported, .end = stage->now.end };
	struct moment last = nowhere;

	polygon_copy(&pending.line, stretch_recent(&stage->now));
	stage->outliers += suspicion->for_now + (supported ? 0 : stage->now.pairs);
	if (jumps && supported) {
		last = last_before(stage, NULL);
		rebuild(stage, &last);
	}
	emit_change(stage, jumps, &last);
	if (supported)
		end_line(stage);
	suspicion->next.bends = !jumps;
	begin_stretch(stage, &suspicion->next);
	stage->pending = pending;
}

/* No more pairs may wait for the verdict: what depends on it is not split. */
static void
give_up(struct clock_stage *stage)
{
	struct suspicion *suspicion = &stage->suspicion;
	uint64_t last_frame[2] = { stage->last_frame[0], stage->last_frame[1] };
	bool jumps = stretch_jumps(&stage->now.end, &suspicion->next.start);
	struct polygon suspected;
	struct moment last;

	/* What contradicts is true behind the change: the later of its stamps is. */
	polygon_init(&suspected);
	if (suspicion->has_bound)
		polygon_cut(&suspected, &suspicion->bound, 1);
	last = last_before(stage, &suspected);
	rebuild(stage, &last);
	stage->outliers += 1 + suspicion->for_next;
	for (size_t i = 0; stage->waiting > 0; i++) {
		struct op_pair *pair = queue_at(stage, 0);

		if (!is_matched(pair) || !stretch_holds(&stage->now, pair))
			;
		else if (i < stage->suspect && is_before(pair, &last))
			split(stage, pair, &stage->now, &no_band, NULL);
		else if (!jumps && suspicion_is_behind(suspicion, pair))
			split(stage, pair, &stage->now, &no_band, &suspicion->next);
		queue_emit(stage, pair);
	}
	end_line(stage);
	stretch_init(&suspicion->next, last_frame);
	begin_stretch(stage, &suspicion->next);
}

/* A pair that comes while another one is suspected. */
static void
judge(struct clock_stage *stage, const struct op_pair *pair, const struct bound *bound, unsigned bounds)
{
	enum verdict verdict = suspicion_hear(&stage->suspicion, &stage->now, pair, bound, bounds);

	if (verdict == VERDICT_CHANGE)
		change(stage);
	else if (stage->reread > REREAD_MAX)
		give_up(stage);
	else if (verdict == VERDICT_OUTLIER)
		drop_suspicion(stage);
}

/* Takes in what the next pair says. True when it supports the line. */
static bool
learn(struct clock_stage *stage, const struct op_pair *pair)
{
	struct bound bound[PAIR_BOUNDS];
	uint64_t generation = stage->now.generation;
	unsigned bounds;

	if (!stretch_holds(&stage->now, pair))
		return false;
	bounds = pair_bounds(pair, stage->resolution, bound);
	if (stage->suspicious) {
		judge(stage, pair, bound, bounds);
		return false;
	}
	if (bounds == 0)
		return false;
	if (stretch_learn(&stage->now, pair, bound, bounds)) {
		if (stage->now.is_bent) {
			end_line(stage);
			stretch_straighten(&stage->now);
			/* They are of the line that is over. */
			polygon_init(&stage->settled_whole);
			polygon_init(&stage->closed_whole);
		}
		if (stage->now.generation != generation)
			records_sample(&stage->records, &stage->now);
		return true;
	}
	if (polygon_known(stretch_recent(&stage->now))) {
		stage->suspicious = true;
		stage->suspect = stage->read - 1;
		suspicion_begin(&stage->suspicion, &stage->now, pair, bound, bounds);
	} else {
		/* One of a few bounds is wrong, and nothing says which. */
		stage->outliers++;
		stretch_init(&stage->now, stage->now.follows ? stage->now.change_frame : NULL);
	}
	return false;
}

/* ---- the stage ---- */

struct clock_stage *
clock_stage_new(enum clock_mode mode, int64_t given_ns, pair_sink_fn *sink, void *context)
{
	struct clock_stage *stage = g_new0(struct clock_stage, 1);

	stage->mode = mode;
	stage->given_ns = given_ns;
	stage->sink = sink;
	stage->context = context;
	resolution_init(&stage->resolution[PAIR_SERVER]);
	resolution_init(&stage->resolution[PAIR_CLIENT]);
	records_init(&stage->records);
	stretch_init(&stage->now, NULL);
	polygon_init(&stage->settled_recent);
	polygon_init(&stage->settled_whole);
	return stage;
}

void
clock_stage_free(struct clock_stage *stage)
{
	if (stage == NULL)
		return;
	records_clear(&stage->records);
	g_free(stage->queue);
	g_free(stage);
}

/* Learns from the pairs that were not read yet, and emits what that allows. */
static void
read_on(struct clock_stage *stage)
{
	while (stage->read < stage->waiting) {
		const struct op_pair *pair = queue_at(stage, stage->read++);

		if (is_matched(pair) && learn(stage, pair) && stage->closed > 0 &&
		    is_behind(pair, stage->closed_frame))
			window_emit(stage);
	}
}

/* Takes the pair in the room. */
static void
push_waiting(struct clock_stage *stage, struct op_pair *pair)
{
	if (is_matched(pair) && !stage->suspicious)
		window_close(stage, pair);
	stage->waiting++;
	if (is_matched(pair)) {
		measure(pair);
		if (stage->resolution[PAIR_SERVER].unit_ns > 1 || stage->resolution[PAIR_CLIENT].unit_ns > 1)
			for (unsigned side = 0; side < 2; side++)
				resolution_learn(&stage->resolution[side], &pair->op[side]);
		raise_frames(stage->last_frame, pair);
	}
	read_on(stage);
	if (stage->suspicious && stage->waiting == WAITING_MAX)
		give_up(stage);
	else if (!stage->suspicious && stage->waiting >= PATIENCE_PAIRS) {
		emit(stage, stage->waiting);
		polygon_copy(&stage->settled_recent, stretch_recent(&stage->now));
		polygon_copy(&stage->settled_whole, stretch_whole(&stage->now));
		window_restart(stage);
	}
}

void
clock_stage_push_room(struct clock_stage *stage)
{
	struct op_pair *own = queue_at(stage, stage->waiting);

	if (stage->mode != CLOCK_NONE && (stage->waiting > 0 || is_matched(own))) {
		push_waiting(stage, own);
		return;
	}
	if (is_matched(own))
		measure(own);
	stage->sink(stage->context, own);
}

void
clock_stage_push(struct clock_stage *stage, const struct op_pair *pair)
{
	*clock_stage_room(stage) = *pair;
	clock_stage_push_room(stage);
}

void
clock_stage_finish(struct clock_stage *stage)
{
	if (stage->suspicious)
		give_up(stage);
	emit(stage, stage->waiting);
}

/* ---- what is known ---- */

/* Widens the range to what another line says; false when that is nothing. */
static bool
widen(const struct polygon *line, int64_t at_ns, int64_t *low_ns, int64_t *high_ns)
{
	int64_t low, high;

	if (!polygon_offset(line, at_ns, at_ns, &low, &high))
		return false;
	*low_ns = min_ns(*low_ns, low);
	*high_ns = max_ns(*high_ns, high);
	return true;
}

bool
clock_stage_offset(const struct clock_stage *stage, int64_t server_ns, int64_t *low_ns, int64_t *high_ns)
{
	const struct stretch *before = &stage->before;

	if (stage->mode == CLOCK_NONE ||
	    !polygon_offset(stretch_recent(&stage->now), server_ns, server_ns, low_ns, high_ns))
		return false;
	if (stage->now.follows && (server_ns <= before->whole_last_ns ||
	    distance_ns(server_ns, before->whole_last_ns) <= AROUND_STEP_NS))
		widen(stretch_recent(before), server_ns, low_ns, high_ns);
	for (unsigned i = 0; i < stage->records.wholes; i++)
		if (server_ns <= stage->records.whole[i]->last_ns)
			widen(&stage->records.whole[i]->line, server_ns, low_ns, high_ns);
	return !stage->suspicious || widen(stretch_recent(&stage->suspicion.next), server_ns, low_ns, high_ns);
}

void
clock_stage_facts(const struct clock_stage *stage, struct clock_facts *facts)
{
	struct clock_step step;
	struct record whole, sample;
	int64_t low, high;

	*facts = (struct clock_facts){ .mode = stage->mode };
	if (stage->mode == CLOCK_NONE)
		return;
	facts->outliers = stage->outliers;
	for (; facts->steps < stage->steps && facts->steps < CLOCK_STEPS_KEPT; facts->steps++)
		facts->step[facts->steps] = stage->step[facts->steps];
	facts->steps = stage->steps;
	if (pending_jumped(stage, &step) && facts->steps++ < CLOCK_STEPS_KEPT)
		facts->step[facts->steps - 1] = step;
	if (stage->mode == CLOCK_GIVEN)
		facts->offset_ns = stage->given_ns;
	records_span(&stage->records, &stage->now, &low, &high);
	facts->reference_ns = middle_ns(low, high);
	if (!records_find(&stage->records, &stage->now, facts->reference_ns, &whole, &sample))
		return;
	/* Between two records nothing is known: then the nearest time at which something is. */
	facts->reference_ns = min_ns(max_ns(facts->reference_ns, sample.first_ns), sample.last_ns);
	polygon_offset(&sample.line, facts->reference_ns, facts->reference_ns, &low, &high);
	if (stage->mode == CLOCK_AUTO)
		facts->offset_ns = middle_ns(low, high);
	facts->error_ns = max_ns(distance_ns(facts->offset_ns, low), distance_ns(facts->offset_ns, high));
	facts->aligned = true;
	polygon_drift(&whole.line, &low, &high);
	facts->drift_ppb = low + (high - low) / 2;
	facts->drift_error_ppb = max_ns(high - facts->drift_ppb, facts->drift_ppb - low);
	facts->has_drift = facts->drift_error_ppb < CLOCK_MAX_DRIFT_PPB;
}
