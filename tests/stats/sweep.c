#include <criterion/criterion.h>
#include <glib.h>

#include "stats/build.h"
#include "stats/sweep.h"

/* What a sweep tells, as text: "+a@5" a began at 5, "-a@7" it ended, "~a 3" 3 ns of it were missed; inside in capitals. */
static void
note(GString *notes, enum sweep_view view, char sign, const struct sweep_event *event)
{
	g_string_append_printf(notes, "%c%c@%d ", sign, (char)((view == SWEEP_INSIDE ? 'A' : 'a') + event->tag),
	    (int)event->at_ns);
}

static void
note_begin(void *context, const struct sweep_event *event)
{
	note(context, SWEEP_OUTSIDE, '+', event);
}

static void
note_end(void *context, const struct sweep_event *event)
{
	note(context, SWEEP_OUTSIDE, '-', event);
}

static void
note_begin_inside(void *context, const struct sweep_event *event)
{
	note(context, SWEEP_INSIDE, '+', event);
}

static void
note_end_inside(void *context, const struct sweep_event *event)
{
	note(context, SWEEP_INSIDE, '-', event);
}

static void
note_run(void *context, const struct sweep_run *run)
{
	if (run->view == SWEEP_INSIDE)
		sweep_each(run, note_begin_inside, note_end_inside, context);
	else
		sweep_each(run, note_begin, note_end, context);
}

static void
note_late(void *context, enum sweep_view view, const struct sweep_late *late)
{
	g_string_append_printf(context, "~%c %d ", (char)((view == SWEEP_INSIDE ? 'A' : 'a') + late->begin.tag),
	    (int)late->missed_ns);
	if (late->begins)
		note(context, view, '+', &late->begin);
}

static const struct sweep_sink to_notes = { .run = note_run, .late = note_late };

static struct sweep *
noting(GString *notes)
{
	return sweep_new(SWEEP_OUTSIDE, &to_notes, notes);
}

static void
add(struct sweep *sweep, uint64_t tag, int64_t begin_ns, int64_t end_ns)
{
	struct sweep_call call = {
		.begin_ns = { begin_ns }, .end_ns = { end_ns }, .tag = tag, .has = 1u << SWEEP_OUTSIDE,
	};

	sweep_add(sweep, &call);
}

Test(sweep, events_come_in_the_order_of_time_and_ends_before_begins)
{
	GString *notes = g_string_new(NULL);
	struct sweep *sweep = noting(notes);

	add(sweep, 1, 5, 7);
	add(sweep, 2, 7, 8);
	add(sweep, 0, 1, 9);
	sweep_finish(sweep);
	cr_assert_str_eq(notes->str, "+a@1 +b@5 -b@7 +c@7 -c@8 -a@9 ");
	sweep_free(sweep);
	g_string_free(notes, TRUE);
}

Test(sweep, an_open_call_ends_with_the_last_stamp_of_any)
{
	GString *notes = g_string_new(NULL);
	struct sweep *sweep = noting(notes);

	add(sweep, 0, 1, 4);
	add(sweep, 1, 2, SWEEP_OPEN);
	add(sweep, 2, 6, SWEEP_OPEN);
	sweep_finish(sweep);
	cr_assert_str_eq(notes->str, "+a@1 +b@2 -a@4 +c@6 -b@6 -c@6 ");
	sweep_free(sweep);
	g_string_free(notes, TRUE);
}

static void
expect_notes(const struct sweep_call *calls, size_t count, const char *expected)
{
	GString *notes = g_string_new(NULL);
	struct sweep *sweep = noting(notes);

	for (size_t i = 0; i < count; i++)
		sweep_add(sweep, &calls[i]);
	sweep_finish(sweep);
	cr_assert_str_eq(notes->str, expected);
	sweep_free(sweep);
	g_string_free(notes, TRUE);
}

Test(sweep, inside_goes_with_outside)
{
	static const struct sweep_call calls[] = {
		{ .begin_ns = { 2, 5 }, .end_ns = { 9, 7 }, .tag = 1, .has = 3 },
		{ .begin_ns = { 1, 6 }, .end_ns = { 11, 10 }, .tag = 0, .has = 3 },
		{ .begin_ns = { 0, 3 }, .end_ns = { 0, 12 }, .tag = 2, .has = 1u << SWEEP_INSIDE },
	};

	/* each view is in order by itself */
	expect_notes(calls, G_N_ELEMENTS(calls), "+a@1 +b@2 -b@9 -a@11 +C@3 +B@5 +A@6 -B@7 -A@10 -C@12 ");
}

/* Of its first bytes the capture may have but a late copy. */
Test(sweep, a_call_that_begins_inside_before_outside_is_in_order)
{
	static const struct sweep_call calls[] = {
		{ .begin_ns = { 4, 4 }, .end_ns = { 9, 7 }, .tag = 0, .has = 3 },
		{ .begin_ns = { 6, 3 }, .end_ns = { 9, 8 }, .tag = 1, .has = 3 },
		{ .begin_ns = { 5, 4 }, .end_ns = { 9, 5 }, .tag = 2, .has = 3 },
	};

	expect_notes(calls, G_N_ELEMENTS(calls), "+a@4 +c@5 +b@6 -a@9 -b@9 -c@9 +B@3 +C@4 +A@4 -C@5 -A@7 -B@8 ");
}

/* Whether another view is followed as well changes nothing in this one. */
Test(sweep, an_open_call_ends_with_the_last_stamp_of_its_view)
{
	static const char *const inside = "+A@2 -A@5 +B@6 -B@6 ";

	for (unsigned both = 0; both < 2; both++) {
		GString *notes = g_string_new(NULL);
		struct sweep *sweep = sweep_new(both ? SWEEP_OUTSIDE : SWEEP_INSIDE, &to_notes, notes);
		struct sweep_call calls[] = {
			{ .begin_ns = { 1, 2 }, .end_ns = { 9, 5 }, .tag = 0, .has = 1u << SWEEP_INSIDE },
			{ .begin_ns = { 3, 6 }, .end_ns = { SWEEP_OPEN, SWEEP_OPEN }, .tag = 1, .has = 1u << SWEEP_INSIDE },
		};

		for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
			calls[i].has |= both << SWEEP_OUTSIDE;
			sweep_add(sweep, &calls[i]);
		}
		sweep_finish(sweep);
		cr_assert_str_eq(notes->str, both ? "+a@1 +b@3 -a@9 -b@9 +A@2 -A@5 +B@6 -B@6 " : inside);
		sweep_free(sweep);
		g_string_free(notes, TRUE);
	}
}

/* Begins and missed time of one tag, summed. */
struct sums {
	int64_t begins, missed_ns, begin_at_ns;
};

static void
sum_begin(void *context, const struct sweep_event *event)
{
	struct sums *sums = context;

	if (event->tag != 1)
		return;
	sums->begins++;
	sums->begin_at_ns = event->at_ns;
}

static void
sum_end(void *context, const struct sweep_event *event)
{
	(void)context, (void)event;
}

static void
sum_run(void *context, const struct sweep_run *run)
{
	sweep_each(run, sum_begin, sum_end, context);
}

static void
sum_late(void *context, enum sweep_view view, const struct sweep_late *late)
{
	struct sums *sums = context;

	(void)view;
	if (late->begin.tag == 1)
		sums->missed_ns += late->missed_ns;
	if (late->begins)
		sum_begin(context, &late->begin);
}

static const struct sweep_sink to_sums = { .run = sum_run, .late = sum_late };

Test(sweep, a_call_that_outlasts_all_that_wait_counts_from_what_is_settled)
{
	struct sums sums = { 0 };
	struct sweep *sweep = sweep_new(SWEEP_OUTSIDE, &to_sums, &sums);
	int64_t at_ns = 1000;

	for (unsigned i = 0; i < SWEEP_CALLS_MIN + 10; i++, at_ns += 10)
		add(sweep, 0, at_ns, at_ns + 9);
	/* the ten earliest, at 1000 to 1090, are settled */
	add(sweep, 1, 990, at_ns);
	cr_assert_eq(sums.begins, 1);
	cr_assert_eq(sums.begin_at_ns, 1090);
	cr_assert_eq(sums.missed_ns, 100);
	/* twice as many wait now: one that outlasts no more than these is told in full */
	for (unsigned i = 0; i < SWEEP_CALLS_MIN - 20; i++, at_ns += 10)
		add(sweep, 0, at_ns, at_ns + 9);
	add(sweep, 1, 1095, at_ns);
	sweep_finish(sweep);
	cr_assert_eq(sums.begins, 2);
	cr_assert_eq(sums.begin_at_ns, 1095);
	cr_assert_eq(sums.missed_ns, 100);
	sweep_free(sweep);
}

Test(sweep, time_begins_again_when_the_clock_was_set_back)
{
	struct sums sums = { 0 };
	struct sweep *sweep = sweep_new(SWEEP_OUTSIDE, &to_sums, &sums);

	for (int i = 0; i < SWEEP_CALLS_MIN + 1; i++)
		add(sweep, 0, 1000000 + 10 * i, 1000005 + 10 * i);
	for (int i = 0; i < SWEEP_RESTART; i++)
		add(sweep, 1, 10 * i, 10 * i + 3);
	cr_assert_eq(sums.missed_ns, 3 * SWEEP_RESTART);
	cr_assert_eq(sums.begins, 0);
	for (int i = SWEEP_RESTART; i < SWEEP_RESTART + 5; i++)
		add(sweep, 1, 10 * i, 10 * i + 3);
	sweep_finish(sweep);
	cr_assert_eq(sums.missed_ns, 3 * SWEEP_RESTART);
	cr_assert_eq(sums.begins, 5);
	sweep_free(sweep);
}

/* Every event in order, whatever order calls come in, as long as none outlasts too many. */
struct order {
	int64_t last_ns[SWEEP_VIEWS];
	int64_t in_flight[SWEEP_VIEWS];
	unsigned events;
	bool is_good;
};

static void
order_note(struct order *order, enum sweep_view view, int64_t at_ns, int by)
{
	order->events++;
	order->in_flight[view] += by;
	order->is_good = order->is_good && at_ns >= order->last_ns[view] && order->in_flight[view] >= 0;
	order->last_ns[view] = at_ns;
}

static void
order_run(void *context, const struct sweep_run *run)
{
	const struct sweep_event *begin = run->begin, *end = run->end;
	struct order *order = context;

	while (begin < run->begin_stop || end < run->end_stop) {
		if (end < run->end_stop && (begin == run->begin_stop || end->at_ns <= begin->at_ns))
			order_note(order, run->view, end++->at_ns, -1);
		else
			order_note(order, run->view, begin++->at_ns, 1);
	}
}

static void
order_late(void *context, enum sweep_view view, const struct sweep_late *late)
{
	struct order *order = context;

	(void)view, (void)late;
	order->is_good = false;
}

static const struct sweep_sink to_order = { .run = order_run, .late = order_late };

Test(sweep, random_calls_come_out_in_order)
{
	struct order order = { .is_good = true };
	struct sweep *sweep = sweep_new(SWEEP_OUTSIDE, &to_order, &order);
	uint64_t random = 7;

	for (int64_t end_ns = 1000000; end_ns < 1000000 + 60000 * 10; end_ns += 10) {
		/* one in ten outlasts up to 3000 others, beyond what the ring moves */
		int64_t long_ns = build_random(&random, 10) == 0 ? 30000 : 300;
		int64_t jitter_ns = build_random(&random, 40), total_ns = 4 + build_random(&random, (uint32_t)long_ns);
		int64_t begin_ns = end_ns + jitter_ns - total_ns;
		struct sweep_call call = {
			.begin_ns = { begin_ns, begin_ns + 1 },
			.end_ns = { end_ns + jitter_ns, end_ns + jitter_ns - 1 - build_random(&random, 2) },
			.has = 3,
		};

		sweep_add(sweep, &call);
	}
	sweep_finish(sweep);
	cr_assert(order.is_good);
	cr_assert_eq(order.events, 4 * 60000);
	cr_assert_eq(order.in_flight[SWEEP_OUTSIDE], 0);
	cr_assert_eq(order.in_flight[SWEEP_INSIDE], 0);
	sweep_free(sweep);
}

static uint64_t
other_tag(void *context, uint64_t tag)
{
	(void)context;
	return 3 - tag;
}

Test(sweep, calls_that_wait_get_new_tags)
{
	GString *notes = g_string_new(NULL);
	struct sweep *sweep = noting(notes);

	add(sweep, 1, 1, 5);
	add(sweep, 2, 2, 4);
	sweep_retag(sweep, other_tag, NULL);
	add(sweep, 0, 3, 6);
	sweep_finish(sweep);
	cr_assert_str_eq(notes->str, "+c@1 +b@2 +a@3 -b@4 -c@5 -a@6 ");
	sweep_free(sweep);
	g_string_free(notes, TRUE);
}

/* The server's capture follows them alone: calls that begin in one tick of the clock come in the order of their ends. */
Test(sweep, calls_inside_come_in_order_by_themselves)
{
	struct order order = { .is_good = true };
	struct sweep *sweep = sweep_new(SWEEP_INSIDE, &to_order, &order);
	uint64_t random = 11;

	for (int64_t end_ns = 1000000; end_ns < 1000000 + 60000 * 10; end_ns += 10) {
		int64_t long_ns = build_random(&random, 10) == 0 ? 30000 : 300;
		int64_t begin_ns = (end_ns - 4 - build_random(&random, (uint32_t)long_ns)) / 100 * 100;
		struct sweep_call call = {
			.begin_ns = { 0, begin_ns }, .end_ns = { 0, end_ns }, .has = 1u << SWEEP_INSIDE,
		};

		sweep_add(sweep, &call);
	}
	sweep_finish(sweep);
	cr_assert(order.is_good);
	cr_assert_eq(order.events, 2 * 60000);
	cr_assert_eq(order.in_flight[SWEEP_INSIDE], 0);
	sweep_free(sweep);
}

/* A call that is added while others which begin with it are settled comes before those of them that end later. */
Test(sweep, what_is_settled_inside_has_not_begun_yet)
{
	GString *notes = g_string_new(NULL);
	struct sweep *sweep = sweep_new(SWEEP_INSIDE, &to_notes, notes);
	struct sweep_call call = { .begin_ns = { 0, 1 }, .end_ns = { 0, 20 }, .tag = 1, .has = 1u << SWEEP_INSIDE };

	sweep_add(sweep, &call);
	call.tag = 25;
	for (unsigned i = 0; i < SWEEP_CALLS_MIN; i++) {
		call.begin_ns[SWEEP_INSIDE] = call.end_ns[SWEEP_INSIDE] = 1000 + i;
		call.end_ns[SWEEP_INSIDE]++;
		sweep_add(sweep, &call);
	}
	call = (struct sweep_call){ .begin_ns = { 0, 1 }, .end_ns = { 0, 10 }, .has = 1u << SWEEP_INSIDE };
	sweep_add(sweep, &call);
	sweep_tell(sweep);
	cr_assert_str_eq(notes->str, "");
	sweep_finish(sweep);
	cr_assert(g_str_has_prefix(notes->str, "+A@1 +B@1 -A@10 -B@20 +Z@1000 -Z@1001 +Z@1001 "), "%.60s", notes->str);
	sweep_free(sweep);
	g_string_free(notes, TRUE);
}
