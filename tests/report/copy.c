/*
 * A copy of an aggregate, finished at any point of its input, tells what one
 * would that had had no more input; the original never notices. An interval's
 * aggregate that was used before tells what a new one does.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "report/fixture.h"
#include "stats/build.h"
#include "stats/chains.h"
#include "stats/flight.h"
#include "stats/serial.h"
#include "stats/threads.h"

enum { CALLS = 12000, CUTS = 6, CAPTURES = 2, JUKEBOX = 10008 };

/* Calls of many clients, connections, sessions and files, more than the tables keep; the same for the same number. */
static struct nfs_op
op_number(unsigned number)
{
	static const uint32_t procedures[] = { PROC_READ, PROC_WRITE, PROC_GETATTR, 3, 4, 17 };
	uint64_t random = 1 + number;
	uint32_t kind = build_random(&random, 100), connection = build_random(&random, 3000);
	/* one in a hundred outlasts many that come after it */
	int64_t latency_ns = 20000 + build_random(&random, kind == 0 ? 2000000000 : 4000000);
	struct nfs_op op = build_op(procedures[build_random(&random, 6)], (int64_t)number * 100000, latency_ns);

	op.xid = number;
	op.call_frame = 2 * (uint64_t)number + 1;
	op.reply_frame = 2 * (uint64_t)number + 2;
	op.connection = 1 + connection;
	op.client.address[14] = (uint8_t)(connection % 7);
	op.client.address[15] = (uint8_t)(1 + connection % 200);
	op.client.port = (uint16_t)(600 + connection);
	op.retransmits = kind == 1;
	if (op.procedure != PROC_GETATTR)
		build_data(&op, build_random(&random, 2500), number * UINT64_C(8192), 8192, build_random(&random, 8192));
	if (kind < 5) {
		op.valid &= ~(uint32_t)(OP_HAS_REPLY_FIRST | OP_HAS_REPLY_LAST);
		op.outcome = (uint8_t)(kind == 4 ? OP_EVICTED : kind);
	} else if (kind < 15) {
		op.status = kind < 10 ? JUKEBOX : 2;
		op.file = op.file_offset = op.file % 4;
	}
	if (kind >= 60 && op.outcome == OP_ANSWERED) {
		op.slot = build_random(&random, 64);
		op.session = 1 + connection / 2;
		op.valid |= OP_HAS_SLOT;
	}
	return op;
}

static void
feed(struct fixture *fixture, struct aggregate *aggregate, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		struct nfs_op op = op_number(i);
		struct op_pair pair = build_pair(&op, (op.reply_first_ns - op.call_last_ns) / 3);

		pair.client_id = ids_of(fixture->ids, ID_CLIENT, &op);
		pair.connection_id = ids_of(fixture->ids, ID_CONNECTION, &op);
		pair.file_id = ids_of(fixture->ids, ID_FILE, &op);
		pair.parts.client_known = i % 3 != 0;
		pair.parts.client_ns = i % 5 == 0 ? 100 : 0;
		pair.parts.network_ns -= pair.parts.client_ns;
		aggregate_add_op(aggregate, 0, &pair.op[PAIR_SERVER]);
		aggregate_add_op(aggregate, 1, &op);
		if (op.outcome == OP_ANSWERED)
			aggregate_add_pair(aggregate, &pair);
	}
}

/* All that a report shows of an aggregate, which is finished by it; caller frees with free(). */
static char *
told(struct fixture *fixture, struct aggregate *aggregate)
{
	char *text;

	aggregate_finish(aggregate);
	fixture->aggregate = fixture->report.aggregate = aggregate;
	fixture_finish(fixture);
	text = fixture_json(fixture);
	quality_free(fixture->quality);
	verdict_free(fixture->verdict);
	findings_free(fixture->findings);
	fixture->quality = NULL;
	fixture->verdict = NULL;
	fixture->findings = NULL;
	return text;
}

/* What findings are made of, beside what the report shows. */
static void
assert_same_facts(const struct aggregate *a, const struct aggregate *b)
{
	for (unsigned i = 0; i < CAPTURES; i++) {
		struct chains x = *aggregate_chains(a, i), y = *aggregate_chains(b, i);

		cr_assert_eq(memcmp(aggregate_flight(a, i), aggregate_flight(b, i), sizeof(struct flight)), 0);
		cr_assert_eq(memcmp(aggregate_serial(a, i), aggregate_serial(b, i), sizeof(struct serial)), 0);
		x.pending = y.pending = NULL;
		cr_assert_eq(memcmp(&x, &y, sizeof(x)), 0);
	}
}

static void
assert_same(struct fixture *fixture, struct aggregate *a, struct aggregate *b, const char *what, unsigned at)
{
	char *x = told(fixture, a), *y = told(fixture, b);

	cr_assert_str_eq(x, y, "%s, cut after call %u", what, at);
	assert_same_facts(a, b);
	free(x);
	free(y);
}

Test(copy, a_copy_that_is_finished_is_the_report_up_to_there_and_nothing_to_the_original)
{
	struct fixture fixture;
	struct aggregate *original = aggregate_new(CAPTURES, 10), *never_copied = aggregate_new(CAPTURES, 10);
	uint64_t random = 7;
	unsigned at = 0;

	fixture_init(&fixture, CAPTURES, PAIR_CLIENT);
	aggregate_free(fixture.aggregate);
	for (unsigned i = 0; i < CUTS; i++) {
		unsigned cut = i == 0 ? 0 : at + build_random(&random, CALLS / CUTS);
		struct aggregate *copy, *fresh = aggregate_new(CAPTURES, 10);

		feed(&fixture, original, at, cut);
		feed(&fixture, fresh, 0, cut);
		copy = aggregate_copy(original);
		assert_same(&fixture, copy, fresh, "the copy", cut);
		aggregate_free(copy);
		aggregate_free(fresh);
		at = cut;
	}
	feed(&fixture, original, at, CALLS);
	feed(&fixture, never_copied, 0, CALLS);
	assert_same(&fixture, original, never_copied, "the original", CALLS);
	aggregate_free(original);
	fixture.aggregate = never_copied;
	fixture_clear(&fixture);
}

Test(copy, a_copy_takes_more_input_as_the_original_does)
{
	struct fixture fixture;
	struct aggregate *original = aggregate_new(CAPTURES, 10), *copy;

	fixture_init(&fixture, CAPTURES, PAIR_CLIENT);
	aggregate_free(fixture.aggregate);
	feed(&fixture, original, 0, CALLS / 2);
	copy = aggregate_copy(original);
	feed(&fixture, original, CALLS / 2, CALLS);
	feed(&fixture, copy, CALLS / 2, CALLS);
	assert_same(&fixture, copy, original, "both", CALLS);
	aggregate_free(copy);
	fixture.aggregate = original;
	fixture_clear(&fixture);
}

Test(copy, an_aggregate_that_was_reset_is_as_new)
{
	struct fixture fixture;
	struct aggregate *used = aggregate_new_interval(CAPTURES), *fresh = NULL;
	uint64_t random = 11;
	unsigned at = 0;

	fixture_init(&fixture, CAPTURES, PAIR_CLIENT);
	aggregate_free(fixture.aggregate);
	for (unsigned i = 0; i < CUTS; i++) {
		unsigned next = at + build_random(&random, CALLS / CUTS);
		int64_t from_ns[CAPTURES] = { INT64_MIN, BUILD_EPOCH_NS + at * INT64_C(100000) };

		aggregate_free(fresh);
		fresh = aggregate_new_interval(CAPTURES);
		aggregate_reset(fresh, from_ns);
		aggregate_reset(used, from_ns);
		feed(&fixture, fresh, at, next);
		feed(&fixture, used, at, next);
		assert_same(&fixture, used, fresh, "used again", next);
		at = next;
	}
	aggregate_free(used);
	fixture.aggregate = fresh;
	fixture_clear(&fixture);
}
