#include <criterion/criterion.h>
#include <glib.h>

#include "correlate/ids.h"
#include "stats/aggregate.h"
#include "stats/build.h"
#include "stats/flight.h"
#include "stats/serial.h"

static const struct side_row *
side_of(struct aggregate *aggregate, unsigned capture, uint32_t procedure)
{
	unsigned count;
	const struct side_row *const *rows = aggregate_side(aggregate, capture, &count);

	for (unsigned i = 0; i < count; i++) {
		if (rows[i]->key.procedure == procedure)
			return rows[i];
	}
	return NULL;
}

static const struct breakdown_row *
part_of(struct aggregate *aggregate, enum breakdown_kind kind, uint64_t id)
{
	unsigned count;
	const struct breakdown_row *const *rows = aggregate_breakdown(aggregate, kind, &count);

	for (unsigned i = 0; i < count; i++) {
		if (rows[i]->id == id)
			return rows[i];
	}
	return NULL;
}

static unsigned
parts(struct aggregate *aggregate, enum breakdown_kind kind)
{
	unsigned count;

	aggregate_breakdown(aggregate, kind, &count);
	return count;
}

Test(aggregate, an_op_counts_for_both_sides_and_rpc_time)
{
	struct aggregate *aggregate = aggregate_new(2, 10);
	struct nfs_op op = build_op(PROC_READ, 0, 7000);
	const struct side_row *row;

	build_data(&op, 5, 0, 8192, 4096);
	op.path_ns = 300;
	op.valid |= OP_HAS_PATH;
	aggregate_add_op(aggregate, 1, &op);
	row = side_of(aggregate, 1, PROC_READ);
	cr_assert_not_null(row);
	cr_assert_eq(row->count, 1);
	cr_assert_eq(row->bytes, 4096);
	cr_assert_eq(row->sized, 1);
	/* reply_first - call_last, reply_last - call_first, reply_last - call_last, latency - path */
	cr_assert_eq(row->latency[PAIR_SERVER].sum_ns, 7000);
	cr_assert_eq(row->latency[PAIR_CLIENT].sum_ns, 8500);
	cr_assert_eq(row->rpc_time.sum_ns, 7500);
	cr_assert_eq(row->server_estimate.count, 0, "the other capture measures it");
	cr_assert_null(side_of(aggregate, 0, PROC_READ), "the other capture has its own rows");
	aggregate_free(aggregate);
	aggregate = aggregate_new(1, 10);
	aggregate_add_op(aggregate, 0, &op);
	cr_assert_eq(side_of(aggregate, 0, PROC_READ)->server_estimate.sum_ns, 8200);
	aggregate_free(aggregate);
}

/* Of a call and a reply of one packet each all three times are one; those rows are looked at, merged and fed on. */
Test(aggregate, calls_of_two_packets_are_in_all_three_times)
{
	struct aggregate *aggregate = aggregate_new(2, 0), *other = aggregate_new(2, 0);
	struct nfs_op several = build_op(PROC_READ, 0, 7000), two = several;
	const struct side_row *row;

	two.call_last_ns = two.call_first_ns;
	two.reply_last_ns = two.reply_first_ns = two.call_first_ns + 100;
	for (unsigned i = 0; i < 2; i++) {
		aggregate_add_op(aggregate, 0, &two);
		aggregate_add_op(aggregate, 0, &several);
		aggregate_add_op(other, 0, &two);
		aggregate_merge(aggregate, other);
		row = side_of(aggregate, 0, PROC_READ);
	}
	cr_assert_eq(row->count, 7);
	cr_assert_eq(row->latency[PAIR_SERVER].count, 7);
	cr_assert_eq(row->latency[PAIR_SERVER].sum_ns, 2 * 7000 + 5 * 100);
	cr_assert_eq(row->latency[PAIR_CLIENT].sum_ns, 2 * 8500 + 5 * 100);
	cr_assert_eq(row->rpc_time.sum_ns, 2 * 7500 + 5 * 100);
	cr_assert_eq(row->rpc_time.min_ns, 100);
	aggregate_free(aggregate);
	aggregate_free(other);
}

/* 301 calls, of them 100 READs of one file one behind the other, 100 callbacks, 100 that are not answered. */
Test(aggregate, ops_of_a_batch_count_as_one_by_one)
{
	enum { CALLS = 301 };
	struct aggregate *aggregate = aggregate_new(2, 10);
	struct nfs_op op[CALLS];

	for (unsigned i = 0; i < CALLS; i++) {
		op[i] = build_op(i % 3 == 0 ? PROC_READ : PROC_GETATTR, 10000 * (int64_t)i, 3000);
		if (i % 3 == 0)
			build_data(&op[i], 5, i / 3 * 4096, 4096, 4096);
		if (i % 3 == 1)
			op[i].program = 0x40000000;
		if (i % 3 == 2) {
			op[i].outcome = OP_UNANSWERED;
			op[i].valid = OP_HAS_CALL_FIRST | OP_HAS_CALL_LAST;
		}
	}
	aggregate_add_ops(aggregate, 0, op, 0);
	for (unsigned i = 0; i < CALLS; i += 43)
		aggregate_add_ops(aggregate, 0, &op[i], MIN(43, CALLS - i));
	aggregate_finish(aggregate);
	cr_assert_eq(side_of(aggregate, 0, PROC_READ)->count, 101);
	cr_assert_eq(side_of(aggregate, 0, PROC_READ)->latency[PAIR_CLIENT].sum_ns, 101 * 4500);
	/* callbacks are in a row of their own program, and in nothing that findings are judged by */
	cr_assert_eq(aggregate_flight(aggregate, 0)->calls, 201);
	cr_assert_eq(aggregate_serial(aggregate, 0)->reads, 101);
	cr_assert_eq(aggregate_serial(aggregate, 0)->in_turn, 100);
	cr_assert_eq(concurrency_counts(aggregate_concurrency(aggregate, 0))->calls[CONCURRENCY_OUTSIDE], 101);
	aggregate_free(aggregate);
}

Test(aggregate, errors_are_statuses_and_rpc_errors)
{
	struct aggregate *aggregate = aggregate_new(2, 10);
	struct nfs_op op = build_op(PROC_READ, 0, 7000);

	aggregate_add_op(aggregate, 0, &op);
	op.status = 70;
	aggregate_add_op(aggregate, 0, &op);
	op.valid &= ~(uint32_t)OP_HAS_STATUS;
	aggregate_add_op(aggregate, 0, &op);
	op.flags = OP_RPC_ERROR;
	aggregate_add_op(aggregate, 0, &op);
	cr_assert_eq(side_of(aggregate, 0, PROC_READ)->count, 4);
	cr_assert_eq(side_of(aggregate, 0, PROC_READ)->errors, 2, "an unknown status is no error");
	aggregate_free(aggregate);
}

Test(aggregate, calls_without_reply_have_no_latency)
{
	struct aggregate *aggregate = aggregate_new(2, 10);
	struct nfs_op op = build_op(PROC_READ, 0, 7000);

	op.valid &= ~(uint32_t)(OP_HAS_REPLY_FIRST | OP_HAS_REPLY_LAST);
	op.outcome = OP_UNANSWERED;
	aggregate_add_op(aggregate, 0, &op);
	op.procedure = op.operation = PROC_WRITE;
	op.outcome = OP_LOST_IN_CAPTURE;
	aggregate_add_op(aggregate, 0, &op);
	cr_assert_eq(side_of(aggregate, 0, PROC_READ)->unanswered, 1);
	cr_assert_eq(side_of(aggregate, 0, PROC_READ)->count, 0);
	cr_assert_eq(side_of(aggregate, 0, PROC_READ)->latency[PAIR_SERVER].count, 0);
	cr_assert_null(side_of(aggregate, 0, PROC_WRITE), "what the capture lost is in no row");
	aggregate_free(aggregate);
}

Test(aggregate, a_missing_stamp_leaves_out_what_needs_it)
{
	struct aggregate *aggregate = aggregate_new(2, 10);
	struct nfs_op op = build_op(PROC_READ, 0, 7000);
	const struct side_row *row;

	op.valid &= ~(uint32_t)OP_HAS_REPLY_LAST;
	aggregate_add_op(aggregate, 0, &op);
	row = side_of(aggregate, 0, PROC_READ);
	cr_assert_eq(row->count, 1);
	cr_assert_eq(row->latency[PAIR_SERVER].count, 1);
	cr_assert_eq(row->latency[PAIR_CLIENT].count, 0);
	cr_assert_eq(row->rpc_time.count, 0);
	aggregate_free(aggregate);
}

Test(aggregate, stamps_at_the_ends_of_time_do_not_overflow)
{
	struct aggregate *aggregate = aggregate_new(1, 10);
	struct nfs_op op = build_op(PROC_READ, 0, 7000);

	op.call_first_ns = op.call_last_ns = INT64_MIN;
	op.reply_first_ns = op.reply_last_ns = INT64_MAX;
	aggregate_add_op(aggregate, 0, &op);
	cr_assert_eq(side_of(aggregate, 0, PROC_READ)->latency[PAIR_SERVER].max_ns, INT64_MAX);
	aggregate_free(aggregate);
}

Test(aggregate, sides_that_were_the_wrong_way_round_are_exchanged)
{
	struct aggregate *aggregate = aggregate_new(2, 10);
	struct nfs_op op = build_op(PROC_READ, 0, 7000);

	aggregate_add_op(aggregate, 0, &op);
	op.procedure = op.operation = PROC_WRITE;
	aggregate_add_op(aggregate, 1, &op);
	aggregate_exchange_sides(aggregate);
	cr_assert_not_null(side_of(aggregate, 1, PROC_READ));
	cr_assert_not_null(side_of(aggregate, 0, PROC_WRITE));
	cr_assert_null(side_of(aggregate, 0, PROC_READ));
	aggregate_free(aggregate);
}

Test(aggregate, threads_are_those_of_the_capture_that_is_watched_inside)
{
	struct aggregate *aggregate = aggregate_new(2, 10), *again = aggregate_new(2, 0);
	const struct threads *threads = aggregate_threads(again);
	struct nfs_op op = build_op(PROC_READ, 0, 7000);

	aggregate_watch(aggregate, 0, 1u << CONCURRENCY_OUTSIDE);
	aggregate_add_op(aggregate, 0, &op);
	cr_assert_null(aggregate_threads(aggregate));
	aggregate_watch(again, 0, 1u << CONCURRENCY_INSIDE);
	aggregate_take_concurrency(aggregate, again, 0);
	cr_assert_eq(aggregate_threads(aggregate), threads);
	cr_assert_null(aggregate_threads(again));
	aggregate_free(again);
	aggregate_free(aggregate);
}

/* Who waits for a callback is in the server's capture; of whose time is spent it says nothing. */
Test(aggregate, callbacks_count_in_rows_only)
{
	struct aggregate *aggregate = aggregate_new(2, 10);
	struct nfs_op op = build_op(1, 0, 98500);	/* total 100000 */
	const struct aggregate_totals *totals = aggregate_totals(aggregate);
	const struct matched_row *const *rows;
	const struct side_row *const *sides;
	struct op_pair pair;
	unsigned count;

	op.program = 0x40000000;
	op.version = 1;
	op.path_ns = 1000;
	op.valid |= OP_HAS_PATH;
	pair = build_pair(&op, 60000);
	aggregate_add_pair(aggregate, &pair);
	cr_assert_eq(totals->callbacks, 1);
	cr_assert_eq(totals->matched, 0);
	cr_assert(totals->total_ns == 0 && totals->server_ns == 0);
	cr_assert_eq(totals->by_call[PART_SERVER] + totals->by_call[PART_NETWORK], 0);
	rows = aggregate_matched(aggregate, &count);
	cr_assert_eq(count, 1);
	cr_assert_eq(rows[0]->count, 1);
	cr_assert_eq(rows[0]->total.sum_ns, 100000);
	aggregate_add_op(aggregate, 0, &op);
	sides = aggregate_side(aggregate, 0, &count);
	cr_assert_eq(sides[0]->latency[PAIR_SERVER].max_ns, 100000, "from its first byte to the reply's last");
	cr_assert_eq(sides[0]->latency[PAIR_CLIENT].max_ns, 98500);
	cr_assert_eq(sides[0]->server_estimate.count, 0);
	aggregate_free(aggregate);
}

Test(aggregate, a_pair_counts_in_rows_and_totals)
{
	struct aggregate *aggregate = aggregate_new(2, 10);
	struct nfs_op op = build_op(PROC_READ, 0, 98500);	/* total 100000 */
	struct op_pair pair = build_pair(&op, 60000);
	const struct aggregate_totals *totals = aggregate_totals(aggregate);
	const struct matched_row *const *rows;
	unsigned count;

	aggregate_add_pair(aggregate, &pair);
	pair = build_pair(&op, 30000);
	pair.parts.aligned = true;
	pair.parts.request_ns = 20000;
	pair.parts.reply_ns = 50000;
	pair.parts.clock_error_ns = 700;
	aggregate_add_pair(aggregate, &pair);
	pair = build_pair(&op, 100001);
	aggregate_add_pair(aggregate, &pair);
	pair.match = MATCH_PARTIAL;
	aggregate_add_pair(aggregate, &pair);

	rows = aggregate_matched(aggregate, &count);
	cr_assert_eq(count, 1);
	cr_assert_eq(rows[0]->count, 3);
	cr_assert_eq(rows[0]->total.sum_ns, 300000);
	cr_assert_eq(rows[0]->server.sum_ns, 190001);
	cr_assert_eq(rows[0]->network.sum_ns, 109999);
	cr_assert_eq(rows[0]->request.count, 1);
	cr_assert_eq(rows[0]->reply.sum_ns, 50000);
	cr_assert_eq(rows[0]->clock_error.sum_ns, 700);
	cr_assert_eq(totals->matched, 3);
	cr_assert_eq(totals->negative, 1);
	cr_assert(totals->total_ns == totals->server_ns + totals->network_ns);
	cr_assert_eq(totals->by_call[PART_SERVER], 2);
	cr_assert_eq(totals->by_call[PART_NETWORK], 1);
	aggregate_free(aggregate);
}

Test(aggregate, rows_are_in_the_order_of_their_keys)
{
	struct aggregate *aggregate = aggregate_new(2, 10);
	static const uint32_t procedures[] = { PROC_WRITE, PROC_GETATTR, PROC_READ };
	const struct side_row *const *rows;
	unsigned count;

	for (size_t i = 0; i < G_N_ELEMENTS(procedures); i++) {
		struct nfs_op op = build_op(procedures[i], 0, 1000);

		aggregate_add_op(aggregate, 0, &op);
	}
	rows = aggregate_side(aggregate, 0, &count);
	cr_assert_eq(count, 3);
	cr_assert_eq(rows[0]->key.procedure, PROC_GETATTR);
	cr_assert_eq(rows[1]->key.procedure, PROC_READ);
	cr_assert_eq(rows[2]->key.procedure, PROC_WRITE);
	aggregate_free(aggregate);
}

/* A capture can invent procedures without end: what does not fit is one row, and nothing is lost. */
Test(aggregate, invented_procedures_end_in_one_row)
{
	struct aggregate *aggregate = aggregate_new(2, 10);
	const struct side_row *const *rows;
	uint64_t sum = 0;
	unsigned count;

	for (uint32_t procedure = 0; procedure < 5000; procedure++) {
		struct nfs_op op = build_op(procedure, 0, 1000);
		struct op_pair pair = build_pair(&op, 500);

		aggregate_add_op(aggregate, 0, &op);
		aggregate_add_pair(aggregate, &pair);
	}
	rows = aggregate_side(aggregate, 0, &count);
	cr_assert_leq(count, 512);
	for (unsigned i = 0; i < count; i++)
		sum += rows[i]->count;
	cr_assert_eq(sum, 5000);
	cr_assert(row_key_is_others(&rows[count - 1]->key), "others come last");
	/* Of one client: 511 operations with a call each, and the others. */
	cr_assert_eq(parts(aggregate, BREAKDOWN_CLIENT), 512);
	cr_assert_eq(part_of(aggregate, BREAKDOWN_CLIENT, 1)->count, 5000 - 511);
	aggregate_free(aggregate);
}

Test(aggregate, sizes_fall_into_powers_of_two)
{
	static const struct {
		uint32_t bytes;
		uint64_t class;
	} cases[] = {
		{ 0, 0 }, { 1, 1 }, { 2, 2 }, { 3, 2 }, { 4095, 2048 }, { 4096, 4096 }, { 8191, 4096 },
		{ UINT32_MAX, UINT64_C(1) << 31 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct aggregate *aggregate = aggregate_new(2, 10);
		struct nfs_op op = build_op(PROC_READ, 0, 1000);
		struct op_pair pair;

		build_data(&op, 1, 0, 65536, cases[i].bytes);
		pair = build_pair(&op, 500);
		aggregate_add_pair(aggregate, &pair);
		cr_assert_not_null(part_of(aggregate, BREAKDOWN_SIZE, cases[i].class), "%u", cases[i].bytes);
		cr_assert_eq(part_of(aggregate, BREAKDOWN_SIZE, cases[i].class)->bytes, cases[i].bytes);
		aggregate_free(aggregate);
	}
}

Test(aggregate, a_call_without_a_size_has_no_size_class)
{
	struct aggregate *aggregate = aggregate_new(2, 10);
	struct nfs_op op = build_op(PROC_GETATTR, 0, 1000);
	struct op_pair pair = build_pair(&op, 500);

	aggregate_add_pair(aggregate, &pair);
	cr_assert_eq(parts(aggregate, BREAKDOWN_SIZE), 0);
	/* Not moved, but asked for, and only the server's capture shows it. */
	pair.op[PAIR_SERVER].requested_bytes = 512;
	pair.op[PAIR_SERVER].valid |= OP_HAS_REQUESTED;
	aggregate_add_pair(aggregate, &pair);
	cr_assert_not_null(part_of(aggregate, BREAKDOWN_SIZE, 512));
	aggregate_free(aggregate);
}

static void
add_at(struct aggregate *aggregate, int64_t call_ns)
{
	struct nfs_op op = build_op(PROC_READ, call_ns, 1000);
	struct op_pair pair = build_pair(&op, 500);

	aggregate_add_pair(aggregate, &pair);
}

Test(aggregate, windows_are_whole_seconds_of_the_server)
{
	struct aggregate *aggregate = aggregate_new(2, 10);
	uint64_t epoch_ns = BUILD_EPOCH_NS;

	/* The call reaches the server 20 us after it left the client. */
	add_at(aggregate, -20000);
	add_at(aggregate, INT64_C(999979999));
	add_at(aggregate, INT64_C(999980000));
	add_at(aggregate, -20001);
	cr_assert_eq(aggregate_window_ns(aggregate), INT64_C(1000000000));
	cr_assert_eq(parts(aggregate, BREAKDOWN_TIME), 3);
	cr_assert_eq(part_of(aggregate, BREAKDOWN_TIME, epoch_ns)->count, 2);
	cr_assert_eq(part_of(aggregate, BREAKDOWN_TIME, epoch_ns + 1000000000)->count, 1);
	cr_assert_eq(part_of(aggregate, BREAKDOWN_TIME, epoch_ns - 1000000000)->count, 1);
	aggregate_free(aggregate);
}

Test(aggregate, windows_double_beyond_240)
{
	struct aggregate *aggregate = aggregate_new(2, 10);
	const struct breakdown_row *const *rows;
	unsigned count;

	for (int64_t second = 0; second < 240; second++)
		add_at(aggregate, second * 1000000000);
	cr_assert_eq(aggregate_window_ns(aggregate), INT64_C(1000000000));
	cr_assert_eq(parts(aggregate, BREAKDOWN_TIME), 240);
	add_at(aggregate, INT64_C(240000000000));
	cr_assert_eq(aggregate_window_ns(aggregate), INT64_C(2000000000));
	rows = aggregate_breakdown(aggregate, BREAKDOWN_TIME, &count);
	cr_assert_eq(count, 121);
	for (unsigned i = 0; i < count; i++) {
		cr_assert_eq(rows[i]->count, i < 120 ? 2 : 1);
		cr_assert_eq((int64_t)rows[i]->id, BUILD_EPOCH_NS + i * INT64_C(2000000000));
	}
	aggregate_free(aggregate);
}

Test(aggregate, windows_survive_stamps_at_the_ends_of_time)
{
	struct aggregate *aggregate = aggregate_new(2, 10);
	struct nfs_op op = build_op(PROC_READ, 0, 1000);
	struct op_pair pair = build_pair(&op, 500);
	static const int64_t stamps[] = { 0, INT64_MAX, INT64_MIN, INT64_MAX - 1, -1, INT64_MIN + 1 };
	const struct breakdown_row *const *rows;
	uint64_t sum = 0;
	unsigned count;

	for (size_t i = 0; i < G_N_ELEMENTS(stamps); i++) {
		pair.op[PAIR_SERVER].call_first_ns = stamps[i];
		aggregate_add_pair(aggregate, &pair);
	}
	rows = aggregate_breakdown(aggregate, BREAKDOWN_TIME, &count);
	for (unsigned i = 0; i < count; i++) {
		sum += rows[i]->count;
		cr_assert(i == 0 || (int64_t)rows[i - 1]->id < (int64_t)rows[i]->id);
	}
	cr_assert_eq(sum, G_N_ELEMENTS(stamps));
	cr_assert_leq(count, 240);
	aggregate_free(aggregate);
}

Test(aggregate, a_full_breakdown_keeps_the_heavy_and_loses_nothing)
{
	enum { KEYS = 20000, HEAVY = 20, CALLS = 200000 };
	struct aggregate *aggregate = aggregate_new(2, 10);
	struct nfs_op op = build_op(PROC_READ, 0, 98500);
	struct op_pair pair;
	g_autofree uint64_t *truth = g_new0(uint64_t, KEYS + 1);
	const struct breakdown_row *const *rows;
	uint64_t random = 7, sum = 0, total = 0;
	unsigned count, heavy = 0;

	build_data(&op, 1, 0, 8192, 8192);
	pair = build_pair(&op, 40000);
	for (unsigned i = 0; i < CALLS; i++) {
		/* A third of the calls go to the heavy ones, whose ids are among the latest. */
		uint32_t id = build_random(&random, 3) == 0 ?
		    KEYS - build_random(&random, HEAVY) : 1 + build_random(&random, KEYS - HEAVY);

		truth[id]++;
		pair.file_id = id;
		aggregate_add_pair(aggregate, &pair);
	}
	rows = aggregate_breakdown(aggregate, BREAKDOWN_FILE, &count);
	cr_assert_leq(count, BREAKDOWN_ROWS + 1);
	for (unsigned i = 0; i < count; i++) {
		sum += rows[i]->count;
		total += (uint64_t)rows[i]->total.sum_ns;
		cr_assert_eq(rows[i]->total.count, rows[i]->count);
		if (rows[i]->id == ID_OTHERS) {
			cr_assert_eq(i, count - 1, "others come last");
			continue;
		}
		heavy += rows[i]->id > KEYS - HEAVY;
		cr_assert_leq(rows[i]->count, truth[rows[i]->id]);
		cr_assert_leq(truth[rows[i]->id], rows[i]->count + rows[i]->lack,
		    "key %u: true %u, counted %u, bound %u", (unsigned)rows[i]->id, (unsigned)truth[rows[i]->id],
		    (unsigned)rows[i]->count, (unsigned)rows[i]->lack);
	}
	cr_assert_eq(sum, CALLS);
	cr_assert_eq(total, UINT64_C(100000) * CALLS);
	cr_assert_eq(heavy, HEAVY);
	aggregate_free(aggregate);
}

Test(aggregate, a_breakdown_that_fits_is_exact)
{
	struct aggregate *aggregate = aggregate_new(2, 10);
	struct nfs_op op = build_op(PROC_READ, 0, 1000);
	struct op_pair pair = build_pair(&op, 500);
	const struct breakdown_row *const *rows;
	unsigned count;

	for (uint32_t i = 0; i < 5 * BREAKDOWN_ROWS; i++) {
		pair.connection_id = 1 + i % BREAKDOWN_ROWS;
		aggregate_add_pair(aggregate, &pair);
	}
	rows = aggregate_breakdown(aggregate, BREAKDOWN_CONNECTION, &count);
	cr_assert_eq(count, BREAKDOWN_ROWS);
	for (unsigned i = 0; i < count; i++) {
		cr_assert_eq(rows[i]->count, 5);
		cr_assert_eq(rows[i]->lack, 0);
	}
	aggregate_free(aggregate);
}

Test(aggregate, a_call_without_a_file_is_in_no_file_row)
{
	struct aggregate *aggregate = aggregate_new(2, 10);
	struct nfs_op op = build_op(PROC_READ, 0, 1000);
	struct op_pair pair = build_pair(&op, 500);

	aggregate_add_pair(aggregate, &pair);
	cr_assert_eq(parts(aggregate, BREAKDOWN_FILE), 0);
	build_data(&pair.op[PAIR_SERVER], 9, 0, 1, 1);
	aggregate_add_pair(aggregate, &pair);
	cr_assert_eq(part_of(aggregate, BREAKDOWN_FILE, 1)->count, 1);
	aggregate_free(aggregate);
}

/* ---- merging ---- */

static struct op_pair
random_pair(uint64_t *random)
{
	static const uint32_t procedures[] = { PROC_GETATTR, PROC_READ, PROC_WRITE };
	struct nfs_op op = build_op(procedures[build_random(random, 3)],
	    (int64_t)build_random(random, 1000) * 1000000000, 1000 + build_random(random, 50000000));
	struct op_pair pair;

	if (op.procedure != PROC_GETATTR)
		build_data(&op, 1, 0, 65536, build_random(random, 65536));
	op.call_frame = build_random(random, 1000000);
	pair = build_pair(&op, build_random(random, 1000000));
	pair.parts.aligned = build_random(random, 2) == 0;
	pair.parts.request_ns = 100;
	pair.parts.reply_ns = pair.parts.network_ns - 100;
	pair.client_id = 1 + build_random(random, 20);
	pair.connection_id = 1 + build_random(random, 90);
	pair.file_id = 1 + build_random(random, 300);
	return pair;
}

static void
add_both(struct aggregate *aggregate, const struct op_pair *pair)
{
	aggregate_add_op(aggregate, 0, &pair->op[PAIR_SERVER]);
	aggregate_add_op(aggregate, 1, &pair->op[PAIR_CLIENT]);
	aggregate_add_pair(aggregate, pair);
}

static void
assert_same_dist(const struct dist *a, const struct dist *b)
{
	cr_assert_eq(a->count, b->count);
	cr_assert(a->sum_ns == b->sum_ns);
	if (a->count == 0)
		return;
	cr_assert_eq(a->min_ns, b->min_ns);
	cr_assert_eq(a->max_ns, b->max_ns);
	cr_assert_eq(a->counts == NULL, b->counts == NULL);
	for (unsigned per_mille = 1; a->counts != NULL && per_mille <= 1000; per_mille += 37)
		cr_assert_eq(dist_quantile(a, per_mille), dist_quantile(b, per_mille));
}

static void
assert_same_sides(struct aggregate *a, struct aggregate *b, unsigned capture)
{
	unsigned a_count, b_count;
	const struct side_row *const *x = aggregate_side(a, capture, &a_count);
	const struct side_row *const *y = aggregate_side(b, capture, &b_count);

	cr_assert_eq(a_count, b_count);
	for (unsigned i = 0; i < a_count; i++) {
		cr_assert_eq(x[i]->key.procedure, y[i]->key.procedure);
		cr_assert_eq(x[i]->count, y[i]->count);
		cr_assert_eq(x[i]->bytes, y[i]->bytes);
		assert_same_dist(&x[i]->latency[PAIR_SERVER], &y[i]->latency[PAIR_SERVER]);
		assert_same_dist(&x[i]->latency[PAIR_CLIENT], &y[i]->latency[PAIR_CLIENT]);
		assert_same_dist(&x[i]->rpc_time, &y[i]->rpc_time);
	}
}

static void
assert_same_breakdown(struct aggregate *a, struct aggregate *b, enum breakdown_kind kind)
{
	unsigned a_count, b_count;
	const struct breakdown_row *const *x = aggregate_breakdown(a, kind, &a_count);
	const struct breakdown_row *const *y = aggregate_breakdown(b, kind, &b_count);

	cr_assert_eq(a_count, b_count);
	for (unsigned i = 0; i < a_count; i++) {
		cr_assert_eq(x[i]->id, y[i]->id);
		cr_assert_eq(x[i]->key.procedure, y[i]->key.procedure);
		cr_assert_eq(x[i]->count, y[i]->count);
		cr_assert_eq(x[i]->bytes, y[i]->bytes);
		cr_assert_eq(x[i]->lack, y[i]->lack);
		assert_same_dist(&x[i]->total, &y[i]->total);
		assert_same_dist(&x[i]->server, &y[i]->server);
		assert_same_dist(&x[i]->network, &y[i]->network);
	}
}

static void
assert_same(struct aggregate *a, struct aggregate *b)
{
	unsigned a_count, b_count;
	const struct matched_row *const *x = aggregate_matched(a, &a_count);
	const struct matched_row *const *y = aggregate_matched(b, &b_count);
	const struct slow_call *p, *q;

	assert_same_sides(a, b, 0);
	assert_same_sides(a, b, 1);
	cr_assert_eq(a_count, b_count);
	for (unsigned i = 0; i < a_count; i++) {
		cr_assert_eq(x[i]->count, y[i]->count);
		assert_same_dist(&x[i]->total, &y[i]->total);
		assert_same_dist(&x[i]->request, &y[i]->request);
		assert_same_dist(&x[i]->clock_error, &y[i]->clock_error);
	}
	cr_assert_eq(aggregate_window_ns(a), aggregate_window_ns(b));
	for (unsigned kind = 0; kind < BREAKDOWN_KINDS; kind++)
		assert_same_breakdown(a, b, kind);
	p = aggregate_slowest(a, &a_count);
	q = aggregate_slowest(b, &b_count);
	cr_assert_eq(a_count, b_count);
	for (unsigned i = 0; i < a_count; i++) {
		cr_assert_eq(p[i].pair.parts.total_ns, q[i].pair.parts.total_ns);
		cr_assert_eq(p[i].pair.op[PAIR_CLIENT].call_frame, q[i].pair.op[PAIR_CLIENT].call_frame);
	}
	cr_assert_eq(aggregate_totals(a)->matched, aggregate_totals(b)->matched);
	cr_assert(aggregate_totals(a)->network_ns == aggregate_totals(b)->network_ns);
	cr_assert_eq(aggregate_totals(a)->by_call[PART_SERVER], aggregate_totals(b)->by_call[PART_SERVER]);
}

/* Three kinds that are counted together against one that is not, up to and beyond where rows give way. */
Test(aggregate, what_is_bundled_counts_as_what_is_not)
{
	static const enum breakdown_kind bundled[] = { BREAKDOWN_CLIENT, BREAKDOWN_SERVER, BREAKDOWN_CONNECTION };
	static const uint32_t ids[] = { 40, 400, 4000 };

	for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
		struct aggregate *aggregate = aggregate_new(2, 0);
		uint64_t random = 5 + i;
		unsigned count, other;
		const struct breakdown_row *const *x, *const *y;

		for (unsigned call = 0; call < 20000; call++) {
			struct op_pair pair = random_pair(&random);

			/* half of the calls are of few */
			pair.file_id = 1 + build_random(&random, build_random(&random, 2) == 0 ? 10 : ids[i]);
			pair.client_id = pair.server_id = pair.connection_id = pair.file_id;
			for (unsigned side = 0; side < 2; side++) {
				pair.op[side].file = 1;
				pair.op[side].valid |= OP_HAS_FILE;
			}
			pair.parts.client_known = build_random(&random, 3) > 0;
			if (pair.parts.client_known)
				pair.parts.client_ns = build_random(&random, 2) * build_random(&random, 100000);
			pair.parts.network_ns -= pair.parts.client_ns;
			aggregate_add_pair(aggregate, &pair);
			if (call == 7000)
				aggregate_free(aggregate_copy(aggregate));
		}
		x = aggregate_breakdown(aggregate, BREAKDOWN_FILE, &count);
		for (size_t kind = 0; kind < G_N_ELEMENTS(bundled); kind++) {
			y = aggregate_breakdown(aggregate, bundled[kind], &other);
			cr_assert_eq(count, other);
			for (unsigned j = 0; j < count; j++) {
				cr_assert_eq(x[j]->id, y[j]->id);
				cr_assert_eq(x[j]->key.procedure, y[j]->key.procedure);
				cr_assert_eq(x[j]->count, y[j]->count);
				cr_assert_eq(x[j]->bytes, y[j]->bytes);
				cr_assert_eq(x[j]->lack, y[j]->lack);
				assert_same_dist(&x[j]->total, &y[j]->total);
				assert_same_dist(&x[j]->server, &y[j]->server);
				assert_same_dist(&x[j]->client, &y[j]->client);
				assert_same_dist(breakdown_network(x[j]), breakdown_network(y[j]));
			}
		}
		aggregate_free(aggregate);
	}
}

/*
 * Calls of a few connections, in windows that begin, that some come late for and
 * that double, against the same calls with a look at the rows after each, by
 * which nothing waits to be added up.
 */
Test(aggregate, what_waits_for_the_end_of_a_window_is_in_its_row)
{
	struct aggregate *waits = aggregate_new(2, 10), *looked = aggregate_new(2, 10);
	uint64_t random = 11;
	unsigned count;

	for (unsigned i = 0; i < 3000; i++) {
		struct op_pair pair = random_pair(&random);
		int64_t second = i / 8 + build_random(&random, 2);

		pair.op[PAIR_SERVER].call_first_ns = second * 1000000000;
		pair.client_id = pair.server_id = 1;
		pair.connection_id = 1 + build_random(&random, 2);
		aggregate_add_pair(waits, &pair);
		aggregate_add_pair(looked, &pair);
		aggregate_breakdown(looked, BREAKDOWN_TIME, &count);
	}
	cr_assert_eq(aggregate_window_ns(waits), INT64_C(2000000000));
	assert_same(waits, looked);
	aggregate_free(waits);
	aggregate_free(looked);
}

Test(aggregate, merging_is_exact_and_associative)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		enum { PIECES = 3 };
		struct aggregate *whole = aggregate_new(2, 25), *piece[PIECES], *left, *right;
		uint64_t random = seed;

		left = aggregate_new(2, 25);
		right = aggregate_new(2, 25);
		for (unsigned i = 0; i < PIECES; i++)
			piece[i] = aggregate_new(2, 25);
		for (unsigned i = 0; i < 600; i++) {
			struct op_pair pair = random_pair(&random);

			add_both(whole, &pair);
			add_both(piece[build_random(&random, PIECES)], &pair);
		}
		/* (0 + 1) + 2 and 0 + (1 + 2) */
		aggregate_merge(left, piece[0]);
		aggregate_merge(left, piece[1]);
		aggregate_merge(left, piece[2]);
		aggregate_merge(piece[1], piece[2]);
		aggregate_merge(right, piece[0]);
		aggregate_merge(right, piece[1]);
		assert_same(left, whole);
		assert_same(right, whole);
		for (unsigned i = 0; i < PIECES; i++)
			aggregate_free(piece[i]);
		aggregate_free(whole);
		aggregate_free(left);
		aggregate_free(right);
	}
}

/* Two intervals, in the second of which one call is under way, and a procedure that has no other. */
Test(aggregate, rows_of_intervals_are_those_of_the_whole_but_for_calls_in_flight)
{
	struct aggregate *whole = aggregate_new(1, 0), *interval = aggregate_new_interval(1);
	struct nfs_op read = build_op(PROC_READ, 0, 5000), open = build_op(PROC_READ, 10, 1);
	struct op_pair pair = build_pair(&read, 3000);
	const struct side_row *const *rows;
	unsigned count;

	read.retransmits = 1;
	open.retransmits = 4;
	open.outcome = OP_IN_FLIGHT;
	aggregate_leave_rows(whole);
	for (unsigned i = 0; i < 2; i++) {
		aggregate_add_op(whole, 0, &read);
		aggregate_add_op(interval, 0, &read);
		aggregate_add_pair(whole, &pair);
		aggregate_add_pair(interval, &pair);
		if (i == 1) {
			aggregate_add_op(interval, 0, &open);
			open.procedure = open.operation = PROC_GETATTR;
			aggregate_add_op(interval, 0, &open);
		}
		aggregate_take_rows(whole, interval);
		aggregate_finish(interval);
		aggregate_reset(interval, &(int64_t){ INT64_MIN });
	}
	rows = aggregate_side(whole, 0, &count);
	cr_assert_eq(count, 1);
	cr_expect_eq(rows[0]->count, 2);
	cr_expect_eq(rows[0]->latency[PAIR_SERVER].count, 2);
	cr_expect_eq(rows[0]->latency[PAIR_SERVER].sum_ns, 10000);
	cr_expect_eq(rows[0]->retransmits, 2);
	cr_expect_eq(rows[0]->in_flight, 0);
	cr_expect_eq(aggregate_matched(whole, &count)[0]->count, 2);
	cr_expect_eq(aggregate_totals(whole)->matched, 2);
	aggregate_free(whole);
	aggregate_free(interval);
}

Test(aggregate, merging_nothing_changes_nothing)
{
	struct aggregate *empty = aggregate_new(2, 25), *one = aggregate_new(2, 25), *same = aggregate_new(2, 25);
	uint64_t random = 3;
	struct op_pair pair = random_pair(&random);

	add_both(one, &pair);
	add_both(same, &pair);
	aggregate_merge(one, empty);
	assert_same(one, same);
	aggregate_merge(empty, one);
	assert_same(empty, same);
	aggregate_free(empty);
	aggregate_free(one);
	aggregate_free(same);
}

/* Beyond the caps the rows may differ from those of one table; sums and bounds still hold. */
Test(aggregate, merging_full_breakdowns_keeps_totals_and_bounds)
{
	enum { KEYS = 8000, CALLS = 60000 };
	struct aggregate *a = aggregate_new(2, 0), *b = aggregate_new(2, 0);
	struct nfs_op op = build_op(PROC_READ, 0, 98500);
	struct op_pair pair;
	g_autofree uint64_t *truth = g_new0(uint64_t, KEYS);
	const struct breakdown_row *const *rows;
	uint64_t random = 11, sum = 0;
	unsigned count;

	build_data(&op, 1, 0, 8192, 8192);
	pair = build_pair(&op, 40000);
	for (unsigned i = 0; i < CALLS; i++) {
		uint32_t id = 1 + build_random(&random, 1 + build_random(&random, KEYS - 1));

		truth[id]++;
		pair.file_id = id;
		aggregate_add_pair(build_random(&random, 3) == 0 ? a : b, &pair);
	}
	aggregate_merge(a, b);
	rows = aggregate_breakdown(a, BREAKDOWN_FILE, &count);
	cr_assert_leq(count, BREAKDOWN_ROWS + 1);
	for (unsigned i = 0; i < count; i++) {
		sum += rows[i]->count;
		if (rows[i]->id == ID_OTHERS)
			continue;
		cr_assert_leq(rows[i]->count, truth[rows[i]->id]);
		cr_assert_leq(truth[rows[i]->id], rows[i]->count + rows[i]->lack);
	}
	cr_assert_eq(sum, CALLS);
	aggregate_free(a);
	aggregate_free(b);
}

/* A call of 1 ms: 0.25 in the server, and client_ns of the rest the client's; -1: not known. */
static void
add_with_client(struct aggregate *aggregate, int64_t client_ns)
{
	struct nfs_op op = build_op(PROC_READ, 0, 998500);
	struct op_pair pair = build_pair(&op, 250000);

	pair.parts.client_known = client_ns >= 0;
	pair.parts.client_ns = MAX(client_ns, 0);
	pair.parts.network_ns -= pair.parts.client_ns;
	aggregate_add_pair(aggregate, &pair);
}

/* Whichever part has what: the network's with the client's in it is that of one aggregate with all the calls. */
Test(aggregate, network_with_a_client_that_is_not_known_of_all)
{
	static const int64_t client_ns[] = { 0, 300000, -1, 0, 500000, 0 };
	enum { CALLS = sizeof client_ns / sizeof client_ns[0] };

	for (unsigned cut = 0; cut <= CALLS; cut++) {
		struct aggregate *into = aggregate_new(2, 1), *from = aggregate_new(2, 1);
		const struct matched_row *const *rows;
		const struct breakdown_row *const *parts;
		unsigned count;

		for (unsigned i = 0; i < CALLS; i++)
			add_with_client(i < cut ? into : from, client_ns[i]);
		aggregate_merge(into, from);
		rows = aggregate_matched(into, &count);
		cr_assert_eq(count, 1);
		cr_assert_null(client_of(&rows[0]->client, &rows[0]->total));
		cr_assert_eq(matched_network(rows[0])->count, CALLS);
		cr_assert_eq(matched_network(rows[0])->sum_ns, CALLS * 750000);
		cr_assert_eq(matched_network(rows[0])->min_ns, 750000);
		parts = aggregate_breakdown(into, BREAKDOWN_CLIENT, &count);
		cr_assert_eq(breakdown_network(parts[0])->sum_ns, CALLS * 750000);
		cr_assert_eq(breakdown_network(parts[0])->min_ns, 750000);
		cr_assert_eq(aggregate_network_ns(aggregate_totals(into)), CALLS * 750000);
		cr_assert_eq(aggregate_by_call(aggregate_totals(into))[PART_NETWORK], CALLS);
		aggregate_free(into);
		aggregate_free(from);
	}
}

Test(aggregate, client_that_is_known_of_all)
{
	struct aggregate *aggregate = aggregate_new(2, 1);
	const struct matched_row *const *rows;
	unsigned count;

	add_with_client(aggregate, 0);
	add_with_client(aggregate, 600000);
	rows = aggregate_matched(aggregate, &count);
	cr_assert_eq(client_of(&rows[0]->client, &rows[0]->total)->sum_ns, 600000);
	cr_assert_eq(matched_network(rows[0])->sum_ns, 750000 + 150000);
	cr_assert_eq(matched_network(rows[0])->max_ns, 750000);
	cr_assert_eq(aggregate_by_call(aggregate_totals(aggregate))[PART_CLIENT], 1);
	cr_assert_eq(aggregate_network_ns(aggregate_totals(aggregate)), 900000);
	aggregate_free(aggregate);
}
