#include <criterion/criterion.h>
#include <glib.h>
#include <stdlib.h>

#include "stats/build.h"
#include "stats/concurrency.h"

static struct concurrency *
concurrency_of(const struct nfs_op *ops, unsigned count)
{
	struct concurrency *concurrency = concurrency_new(3);

	for (unsigned i = 0; i < count; i++)
		concurrency_add(concurrency, &ops[i], 1);
	concurrency_finish(concurrency);
	return concurrency;
}

static const struct depth *
first_row(const struct concurrency *concurrency, enum concurrency_table table, unsigned *count)
{
	g_autofree const struct concurrency_row **rows = concurrency_rows(concurrency, table, count);

	return *count > 0 ? &rows[0]->depth : NULL;
}

/* build_op: 1000 ns from call_first to call_last, 500 ns from reply_first to reply_last. */
Test(concurrency, inside_and_outside_have_stamps_of_their_own)
{
	struct nfs_op ops[] = { build_op(PROC_READ, 0, 7000), build_op(PROC_READ, 7500, 7000) };
	struct concurrency *concurrency = concurrency_of(ops, 2);
	const struct depth *server = concurrency_server(concurrency), *connection;
	unsigned count;
	double mean;

	/* inside 1000 to 8000 and 8500 to 15500, outside 0 to 8500 and 7500 to 16000 */
	cr_assert_eq(server->max, 1);
	cr_assert(depth_mean(server, &mean));
	cr_assert_float_eq(mean, 14000.0 / 14500, 1e-12);
	connection = first_row(concurrency, CONCURRENCY_CONNECTIONS, &count);
	cr_assert_eq(count, 1);
	cr_assert_eq(connection->max, 2);
	cr_assert(depth_mean(connection, &mean));
	cr_assert_float_eq(mean, 17000.0 / 16000, 1e-12);
	cr_assert_eq(concurrency_counts(concurrency)->calls[CONCURRENCY_INSIDE], 2);
	concurrency_free(concurrency);
}

/* What is not followed is empty, and the rest the same. */
Test(concurrency, one_side_is_enough)
{
	struct nfs_op ops[] = { build_op(PROC_READ, 0, 7000), build_op(PROC_READ, 7500, 7000) };

	for (unsigned view = 0; view < CONCURRENCY_VIEWS; view++) {
		struct concurrency *concurrency = concurrency_new(1u << view);
		const struct depth *connection;
		unsigned count;

		for (unsigned i = 0; i < 2; i++)
			concurrency_add(concurrency, &ops[i], 1);
		concurrency_finish(concurrency);
		connection = first_row(concurrency, CONCURRENCY_CONNECTIONS, &count);
		cr_assert_eq(count, view == CONCURRENCY_OUTSIDE);
		cr_assert(connection == NULL || connection->max == 2);
		cr_assert_eq(concurrency_server(concurrency)->max, view == CONCURRENCY_INSIDE);
		cr_assert_eq(concurrency_counts(concurrency)->calls[view], 2);
		cr_assert_eq(concurrency_counts(concurrency)->calls[!view], 0);
		cr_assert_eq(concurrency_counts(concurrency)->left_out[!view], 0, "not wanted");
		concurrency_free(concurrency);
	}
}

Test(concurrency, a_client_is_all_its_connections)
{
	struct nfs_op ops[3];
	struct concurrency *concurrency;
	const struct concurrency_row **rows;
	unsigned count;

	for (unsigned i = 0; i < 3; i++) {
		ops[i] = build_op(PROC_READ, 100 * i, 7000);
		ops[i].client.port = i < 2 ? 700 : 701;
		ops[i].connection = i < 2 ? 1 : 2;
	}
	concurrency = concurrency_of(ops, 3);
	rows = concurrency_rows(concurrency, CONCURRENCY_CONNECTIONS, &count);
	cr_assert_eq(count, 2);
	cr_assert_eq(rows[0]->client.port, 700);
	cr_assert_eq(rows[0]->depth.max, 2);
	cr_assert_eq(rows[1]->client.port, 701);
	cr_assert_eq(rows[1]->depth.max, 1);
	g_free(rows);
	rows = concurrency_rows(concurrency, CONCURRENCY_CLIENTS, &count);
	cr_assert_eq(count, 1);
	cr_assert_eq(rows[0]->client.port, 0);
	cr_assert_eq(rows[0]->depth.max, 3);
	g_free(rows);
	concurrency_free(concurrency);
}

/* What holds an unknown time is left out; what was in flight at the end lasts until the capture's last call does. */
Test(concurrency, calls_without_an_end)
{
	struct nfs_op ops[] = {
		build_op(PROC_READ, 0, 7000), build_op(PROC_READ, 1000, 7000), build_op(PROC_READ, 2000, 7000),
		build_op(PROC_READ, 3000, 7000), build_op(PROC_READ, 4000, 7000),
	};
	struct concurrency *concurrency;
	const struct depth *server;
	double mean;

	ops[1].outcome = OP_UNANSWERED;
	ops[2].outcome = OP_LOST_IN_CAPTURE;
	ops[3].valid &= ~(uint32_t)(OP_HAS_REPLY_FIRST | OP_HAS_REPLY_LAST);
	ops[4].outcome = OP_IN_FLIGHT;
	ops[4].valid &= ~(uint32_t)(OP_HAS_REPLY_FIRST | OP_HAS_REPLY_LAST);
	concurrency = concurrency_of(ops, 5);
	cr_assert_eq(concurrency_counts(concurrency)->calls[CONCURRENCY_INSIDE], 2);
	cr_assert_eq(concurrency_counts(concurrency)->left_out[CONCURRENCY_INSIDE], 3);
	server = concurrency_server(concurrency);
	cr_assert_eq(server->max, 2);
	/* 1000 to 8000, and 5000 to the last stamp inside, 8000: the reply's last byte, at 8500, is no stamp inside */
	cr_assert(depth_mean(server, &mean));
	cr_assert_float_eq(mean, (7000 + 3000) / 7000.0, 1e-12);
	concurrency_free(concurrency);
}

Test(concurrency, other_programs_and_calls_that_took_no_time_do_not_count)
{
	struct nfs_op ops[] = { build_op(PROC_READ, 0, 7000), build_op(PROC_READ, 1000, 7000), build_op(PROC_READ, 2000, 7000) };
	struct concurrency *concurrency;
	unsigned count;

	ops[0].program = 100005;
	ops[1].reply_first_ns = ops[1].call_last_ns;
	ops[2].reply_first_ns = INT64_MAX;
	ops[2].reply_last_ns = ops[2].call_first_ns = INT64_MIN;
	concurrency = concurrency_of(ops, 3);
	cr_assert_eq(concurrency_server(concurrency)->calls, 0);
	cr_assert_eq(first_row(concurrency, CONCURRENCY_CONNECTIONS, &count)->calls, 1);
	cr_assert_eq(count, 1);
	concurrency_free(concurrency);
}

static int
compare_ns(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The most calls at once: the slow way, over sorted begins and ends. */
static unsigned
most_at_once(int64_t *begin_ns, int64_t *end_ns, unsigned count)
{
	unsigned most = 0, ended = 0;

	qsort(begin_ns, count, sizeof *begin_ns, compare_ns);
	qsort(end_ns, count, sizeof *end_ns, compare_ns);
	for (unsigned i = 0; i < count; i++) {
		while (end_ns[ended] <= begin_ns[i])
			ended++;
		most = MAX(most, i + 1 - ended);
	}
	return most;
}

Test(concurrency, random_calls_against_the_slow_way)
{
	enum { CALLS = 20000 };
	g_autofree int64_t *begin_ns = g_new(int64_t, CALLS), *end_ns = g_new(int64_t, CALLS);
	struct concurrency *concurrency = concurrency_new(3);
	uint64_t random = 3;
	int64_t sum_ns = 0, ends_ns = 0;
	double mean;
	unsigned most;

	for (unsigned i = 0; i < CALLS; i++) {
		int64_t latency_ns = 1 + build_random(&random, build_random(&random, 100) == 0 ? 100000 : 4000);
		struct nfs_op op;

		ends_ns += build_random(&random, 60);
		op = build_op(PROC_READ, ends_ns - latency_ns, latency_ns);
		begin_ns[i] = op.call_last_ns;
		end_ns[i] = op.reply_first_ns;
		sum_ns += latency_ns;
		concurrency_add(concurrency, &op, 1);
	}
	concurrency_finish(concurrency);
	most = most_at_once(begin_ns, end_ns, CALLS);
	cr_assert_eq(concurrency_server(concurrency)->max, most);
	cr_assert(depth_mean(concurrency_server(concurrency), &mean));
	cr_assert_float_eq(mean, (double)sum_ns / (double)(end_ns[CALLS - 1] - begin_ns[0]), 1e-9);
	cr_assert_eq(concurrency_counts(concurrency)->late[CONCURRENCY_INSIDE], 0);
	concurrency_free(concurrency);
}

/* Many short-lived connections do not push out the busy one, and their calls count all the same. */
Test(concurrency, the_least_used_connections_give_way)
{
	struct concurrency *concurrency = concurrency_new(3);
	const struct concurrency_row **rows;
	unsigned count, listed = 0;

	for (unsigned i = 0; i < 5000; i++) {
		struct nfs_op op = build_op(PROC_READ, 10000 * (int64_t)i, 7000);

		concurrency_add(concurrency, &op, 1);
		op = build_op(PROC_READ, 10000 * (int64_t)i, 7000);
		op.client.port = (uint16_t)(1000 + i);
		op.connection = 2 + i;
		concurrency_add(concurrency, &op, 1);
	}
	concurrency_finish(concurrency);
	rows = concurrency_rows(concurrency, CONCURRENCY_CONNECTIONS, &count);
	cr_assert_leq(count, CONCURRENCY_ROWS);
	cr_assert_eq(rows[0]->client.port, 700);
	cr_assert_eq(rows[0]->depth.calls, 5000);
	for (unsigned i = 0; i < count; i++)
		listed += (unsigned)rows[i]->depth.calls;
	cr_assert_eq(concurrency_counts(concurrency)->calls[CONCURRENCY_INSIDE], 10000);
	cr_assert_gt(listed, 5000);
	g_free(rows);
	rows = concurrency_rows(concurrency, CONCURRENCY_CLIENTS, &count);
	cr_assert_eq(count, 1);
	cr_assert_eq(rows[0]->depth.calls, 10000);
	cr_assert_eq(rows[0]->depth.max, 2);
	g_free(rows);
	concurrency_free(concurrency);
}

Test(concurrency, parts_merge)
{
	struct nfs_op ops[] = { build_op(PROC_READ, 0, 7000), build_op(PROC_READ, 100, 7000) };
	struct concurrency *into = concurrency_of(ops, 1), *from = concurrency_of(ops, 2);
	unsigned count;

	concurrency_merge(into, from);
	cr_assert_eq(concurrency_counts(into)->calls[CONCURRENCY_INSIDE], 3);
	cr_assert_eq(concurrency_server(into)->max, 2);
	cr_assert_eq(concurrency_server(into)->calls, 3);
	cr_assert_eq(first_row(into, CONCURRENCY_CONNECTIONS, &count)->calls, 3);
	cr_assert_eq(count, 1);
	concurrency_free(into);
	concurrency_free(from);
}

/*
 * From 2000 on: of a call that is there from 0 to 8500, inside from 1000 to
 * 8000; of one that ended at 1900 nothing; of one from 7500 to 16000, inside from
 * 8500 to 15500, all.
 */
Test(concurrency, an_interval_begins_with_the_calls_that_are_there)
{
	struct nfs_op ops[] = { build_op(PROC_READ, 0, 7000), build_op(PROC_READ, 0, 400), build_op(PROC_READ, 7500, 7000) };
	struct concurrency *concurrency = concurrency_of(ops, 3);
	const struct depth *server, *connection;
	unsigned count;
	double mean;

	for (unsigned again = 0; again < 2; again++) {
		concurrency_reset(concurrency, BUILD_EPOCH_NS + 2000);
		for (unsigned i = 0; i < 3; i++)
			concurrency_add(concurrency, &ops[i], 1);
		concurrency_finish(concurrency);
		server = concurrency_server(concurrency);
		cr_assert_eq(server->calls, 2);
		cr_assert_eq(server->max, 1);
		cr_assert(depth_mean(server, &mean));
		cr_assert_float_eq(mean, (6000.0 + 7000) / 13500, 1e-12);
		connection = first_row(concurrency, CONCURRENCY_CONNECTIONS, &count);
		cr_assert_eq(count, 1);
		cr_assert_eq(connection->max, 2);
		cr_assert(depth_mean(connection, &mean));
		cr_assert_float_eq(mean, (6500.0 + 8500) / 14000, 1e-12);
		cr_assert_eq(connection->level[1].latency_ns + connection->level[2].latency_ns, 8500,
		    "only of calls seen from their begin");
		cr_assert_eq(concurrency_counts(concurrency)->left_out[CONCURRENCY_OUTSIDE], 1);
	}
	concurrency_free(concurrency);
}

/* Three calls that hang: they are there from the interval's begin. */
Test(concurrency, an_interval_in_which_nothing_ends)
{
	struct concurrency *concurrency = concurrency_new(3);
	unsigned count;

	concurrency_reset(concurrency, BUILD_EPOCH_NS + 5000);
	for (unsigned i = 0; i < 3; i++) {
		struct nfs_op op = build_op(PROC_READ, i, 0);

		op.outcome = OP_IN_FLIGHT;
		op.valid &= ~(uint32_t)(OP_HAS_REPLY_FIRST | OP_HAS_REPLY_LAST);
		concurrency_add(concurrency, &op, 1);
	}
	concurrency_finish(concurrency);
	cr_assert_eq(first_row(concurrency, CONCURRENCY_CONNECTIONS, &count)->max, 3);
	cr_assert_eq(concurrency_server(concurrency)->max, 3);
	concurrency_free(concurrency);
}
