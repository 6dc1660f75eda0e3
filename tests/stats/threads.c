#include <criterion/criterion.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "stats/build.h"
#include "stats/threads.h"

/*
 * A server of N threads, first come, first served, under calls that come as
 * they like. What it should find was put in.
 */
enum law { CONSTANT, UNIFORM, EXPONENTIAL, BIMODAL, LOGNORMAL, LAWS };

struct server {
	unsigned threads;
	enum law law;
	unsigned calls;
	double quiet, busy;	/* load, 1: all threads have just enough to do; of the first and last third, and between */
	bool shared;		/* all calls are served at once, each the slower the more there are */
	bool mixed;		/* a fourth of the calls cost a tenth */
	bool turns;		/* four connections, one with half of the calls, take turns */
};

struct made {
	struct nfs_op *op;	/* in the order in which they leave */
	unsigned count;
};

#define SERVICE_NS 2e6

static double
unit(uint64_t *state)
{
	return (build_random(state, 1u << 31) + 0.5) / (double)(1u << 31);
}

static double
draw_ns(enum law law, uint64_t *state)
{
	switch (law) {
	case CONSTANT:
		return SERVICE_NS;
	case UNIFORM:
		return SERVICE_NS * (0.5 + unit(state));
	case EXPONENTIAL:
		return -log(unit(state)) * SERVICE_NS;
	case BIMODAL:
		return unit(state) < 0.9 ? SERVICE_NS / 20 : -log(unit(state)) * SERVICE_NS * 9.55;
	default:
		return SERVICE_NS * exp(sqrt(-2 * log(unit(state))) * cos(2 * G_PI * unit(state)) / 2 - 0.125);
	}
}

static int
compare_ends(const void *a, const void *b)
{
	const struct nfs_op *x = a, *y = b;

	return (x->reply_last_ns > y->reply_last_ns) - (x->reply_last_ns < y->reply_last_ns);
}

/* When each call leaves a server that works on all of them at once. */
static void
share(const double *arrival_ns, double *work_ns, double *end_ns, unsigned count)
{
	double now_ns = 0;
	unsigned come = 0, inside = 0, *in = g_new(unsigned, count);

	while (come < count || inside > 0) {
		double next_ns = come < count ? arrival_ns[come] : INFINITY, least_ns = INFINITY, step_ns;
		unsigned first = 0;

		for (unsigned i = 0; i < inside; i++) {
			if (work_ns[in[i]] < least_ns) {
				least_ns = work_ns[in[i]];
				first = i;
			}
		}
		step_ns = MIN(next_ns - now_ns, least_ns * inside);
		for (unsigned i = 0; i < inside; i++)
			work_ns[in[i]] -= step_ns / inside;
		now_ns += inside > 0 ? step_ns : next_ns - now_ns;
		if (inside > 0 && now_ns < next_ns) {
			end_ns[in[first]] = now_ns;
			in[first] = in[--inside];
		} else {
			in[inside++] = come++;
		}
	}
	g_free(in);
}

enum { CONNECTIONS = 4 };

/* Connections with calls that wait, in the order in which they began to or were served. */
struct line {
	unsigned connection[CONNECTIONS], length;
};

static void
join(struct line *line, unsigned connection)
{
	for (unsigned i = 0; i < line->length; i++)
		if (line->connection[i] == connection)
			return;
	line->connection[line->length++] = connection;
}

/* When each call leaves a server whose threads go from connection to connection. */
static void
take_turns(const struct server *server, const double *arrival_ns, const double *work_ns, const unsigned *connection,
    double *end_ns, unsigned count)
{
	double *free_ns = g_new0(double, server->threads);
	bool *done = g_new0(bool, count);
	struct line line = { 0 };
	unsigned come = 0;

	for (unsigned served = 0; served < count; served++) {
		unsigned first = 0, call = 0, who;

		for (unsigned n = 1; n < server->threads; n++)
			first = free_ns[n] < free_ns[first] ? n : first;
		if (line.length == 0)
			free_ns[first] = MAX(free_ns[first], arrival_ns[come]);
		for (; come < count && arrival_ns[come] <= free_ns[first]; come++)
			join(&line, connection[come]);
		who = line.connection[0];
		memmove(line.connection, line.connection + 1, --line.length * sizeof line.connection[0]);
		while (done[call] || connection[call] != who)
			call++;
		done[call] = true;
		for (unsigned i = call + 1; i < come; i++) {
			if (!done[i] && connection[i] == who) {
				join(&line, who);
				break;
			}
		}
		end_ns[call] = free_ns[first] = free_ns[first] + work_ns[call];
	}
	g_free(free_ns);
	g_free(done);
}

static struct made
make(const struct server *server, uint64_t seed)
{
	struct made made = { g_new(struct nfs_op, server->calls), server->calls };
	double *arrival_ns = g_new(double, made.count), *work_ns = g_new(double, made.count);
	double *end_ns = g_new(double, made.count), *free_ns = g_new0(double, server->threads);
	unsigned *connection = g_new(unsigned, made.count);
	uint64_t state = seed * 7919 + server->threads, who = seed;
	double now_ns = 0;

	for (unsigned i = 0; i < made.count; i++) {
		bool busy = i >= made.count / 3 && i < made.count * 2 / 3;
		bool cheap = server->mixed && build_random(&state, 4) == 0;

		now_ns -= log(unit(&state)) * SERVICE_NS * (server->mixed ? 0.775 : 1) /
		    ((server->shared ? 1 : server->threads) * (busy ? server->busy : server->quiet));
		arrival_ns[i] = now_ns;
		work_ns[i] = draw_ns(server->law, &state) * (cheap ? 0.1 : 1);
		made.op[i] = build_op(cheap ? PROC_GETATTR : PROC_READ, (int64_t)now_ns, 0);
		connection[i] = build_random(&who, 2) * build_random(&who, CONNECTIONS);
		made.op[i].connection = connection[i];
	}
	if (server->shared)
		share(arrival_ns, work_ns, end_ns, made.count);
	if (server->turns)
		take_turns(server, arrival_ns, work_ns, connection, end_ns, made.count);
	for (unsigned i = 0; i < made.count; i++) {
		unsigned first = 0;
		struct nfs_op *op = &made.op[i];

		for (unsigned n = 1; n < server->threads; n++)
			first = free_ns[n] < free_ns[first] ? n : first;
		if (!server->shared && !server->turns)
			end_ns[i] = free_ns[first] = MAX(free_ns[first], arrival_ns[i]) + work_ns[i];
		op->reply_first_ns += (int64_t)end_ns[i] - (int64_t)arrival_ns[i];
		op->reply_last_ns = op->reply_first_ns;
	}
	qsort(made.op, made.count, sizeof *made.op, compare_ends);
	g_free(arrival_ns);
	g_free(work_ns);
	g_free(end_ns);
	g_free(free_ns);
	g_free(connection);
	return made;
}

static struct thread_fit
judge_made(const struct made *made, unsigned from, bool from_idle)
{
	struct threads *threads = threads_new();
	struct thread_pool pool[THREADS_SERVERS] = { 0 };

	for (unsigned i = from; i < made->count; i++)
		threads_add(threads, &made->op[i], 1);
	threads_judge(threads, from_idle, pool);
	threads_free(threads);
	return pool[0].fit;
}

static struct thread_fit
judge(const struct server *server, uint64_t seed)
{
	struct made made = make(server, seed);
	struct thread_fit fit = judge_made(&made, 0, true);

	g_free(made.op);
	return fit;
}

static void
assert_near(const struct thread_fit *fit, unsigned threads, const char *what, unsigned law)
{
	double off = threads > 20 ? threads * 0.05 : 1;

	cr_assert(fit->saturated, "%s: %u threads, law %u: silent; %u at least %u", what, threads, law, fit->threads,
	    fit->at_least);
	cr_assert(fabs((double)fit->threads - threads) <= off, "%s: %u threads, law %u: found %u, at least %u", what,
	    threads, law, fit->threads, fit->at_least);
}

static const unsigned numbers[] = { 1, 2, 3, 4, 8, 16, 32, 64, 128, 256 };

Test(threads, the_number_whatever_service_is_like)
{
	for (unsigned law = 0; law < LAWS; law++) {
		for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
			struct server server = { .threads = numbers[i], .law = law, .quiet = 0.6, .busy = 1.3,
			    .calls = 3000 + 52 * numbers[i] };
			struct thread_fit fit = judge(&server, 1);

			assert_near(&fit, numbers[i], "a third of the time", law);
			cr_assert(fit.compared, "%u threads, law %u", numbers[i], law);
			cr_assert_eq(fit.one_at_a_time, numbers[i] == 1);
		}
	}
}

Test(threads, the_number_when_kinds_differ)
{
	for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
		struct server server = { .threads = numbers[i], .law = EXPONENTIAL, .quiet = 0.5, .busy = 1.5,
		    .calls = 3000 + 52 * numbers[i], .mixed = true };
		struct thread_fit fit = judge(&server, 2);

		assert_near(&fit, numbers[i], "mixed", EXPONENTIAL);
		cr_assert(fit.all_kinds);
	}
}

/* Linux goes from connection to connection: one with few calls overtakes those with many. */
Test(threads, connections_take_turns)
{
	for (size_t i = 1; numbers[i] <= 128; i++) {
		struct server server = { .threads = numbers[i], .law = EXPONENTIAL, .quiet = 0.6, .busy = 1.4,
		    .calls = 6000, .turns = true };
		struct thread_fit fit = judge(&server, 12);

		assert_near(&fit, numbers[i], "turns", EXPONENTIAL);
	}
}

/* Services are those that were put in, waits what is left. */
Test(threads, service_and_wait)
{
	struct server server = { .threads = 16, .law = EXPONENTIAL, .quiet = 0.6, .busy = 1.4, .calls = 6000 };
	struct thread_fit fit = judge(&server, 3);

	cr_assert_float_eq((double)fit.service_mean_ns, SERVICE_NS, 0.05 * SERVICE_NS);
	cr_assert_gt(fit.queue_wait_p95_ns, fit.queue_wait_p50_ns);
	cr_assert_gt(fit.queue_wait_p50_ns, 0);
	cr_assert_float_eq((double)(fit.latency_mean_ns - fit.service_mean_ns) * (double)fit.calls,
	    (double)fit.queue_wait_mean_ns * (double)fit.waited, 0.001 * (double)fit.latency_mean_ns * (double)fit.calls);
	cr_assert_lt(fit.latency_at_double_ns, fit.latency_mean_ns);
	cr_assert_geq(fit.latency_at_double_ns, fit.service_mean_ns);
	cr_assert(fit.busy_share > 0.3 && fit.busy_share < 0.9, "%f", fit.busy_share);
}

/* Without the beginning there is no call that surely found a free thread. */
Test(threads, capture_begins_in_the_middle)
{
	for (size_t i = 0; i < G_N_ELEMENTS(numbers) - 2; i++) {
		struct server server = { .threads = numbers[i], .law = EXPONENTIAL, .quiet = 1.2, .busy = 1,
		    .calls = 6000 };
		struct made made = make(&server, 4);
		struct thread_fit fit = judge_made(&made, 2000, false);

		assert_near(&fit, numbers[i], "midstream", EXPONENTIAL);
		g_free(made.op);
	}
}

/* One call of a hundred is never answered, or its reply is not in the capture: its thread is not seen at work. */
Test(threads, calls_that_are_not_seen)
{
	for (unsigned law = 0; law < LAWS; law++) {
		struct server server = { .threads = 16, .law = law, .quiet = 0.6, .busy = 1.3, .calls = 6000 };
		struct made made = make(&server, 5);
		struct thread_fit fit;

		for (unsigned i = 0; i < made.count; i += 100)
			made.op[i].outcome = i % 200 == 0 ? OP_UNANSWERED : OP_LOST_IN_CAPTURE;
		fit = judge_made(&made, 0, true);
		assert_near(&fit, 16, "unseen", law);
		g_free(made.op);
	}
}

Test(threads, silent_when_nobody_waits)
{
	for (unsigned law = 0; law < LAWS; law++) {
		for (unsigned threads = 16; threads <= 256; threads *= 4) {
			struct server server = { .threads = threads, .law = law, .quiet = 0.1, .busy = 0.4,
			    .calls = 6000 };
			struct thread_fit fit = judge(&server, 6);

			cr_assert(!fit.saturated, "%u threads, law %u: %u, at least %u", threads, law, fit.threads,
			    fit.at_least);
		}
	}
}

/* A disk or a processor that works on everything at once: what is missing is not threads. */
Test(threads, silent_when_service_slows_with_load)
{
	for (unsigned law = 0; law < LAWS; law++) {
		for (unsigned load = 5; load <= 9; load += 2) {
			struct server server = { .threads = 1, .law = law, .quiet = load / 10., .busy = load / 10.,
			    .calls = 6000, .shared = true };
			struct thread_fit fit = judge(&server, 7);

			cr_assert(!fit.saturated, "law %u, load 0.%u: %u, at least %u", law, load, fit.threads,
			    fit.at_least);
		}
	}
}

/* Two servers in one capture, each with its own threads; the same calls under one address are one server's no more. */
Test(threads, two_servers)
{
	struct server first = { .threads = 4, .law = EXPONENTIAL, .quiet = 0.6, .busy = 1.3, .calls = 4000 };
	struct server second = { .threads = 4, .law = EXPONENTIAL, .quiet = 0.1, .busy = 0.3, .calls = 1000 };
	struct made made = make(&first, 8), other = make(&second, 9);
	struct threads *threads = threads_new();
	struct thread_pool pool[THREADS_SERVERS];

	made.op = g_renew(struct nfs_op, made.op, made.count + other.count);
	for (unsigned i = 0; i < other.count; i++)
		other.op[i].server.address[15] = 99;
	memcpy(made.op + made.count, other.op, other.count * sizeof *other.op);
	qsort(made.op, made.count + other.count, sizeof *made.op, compare_ends);
	for (unsigned i = 0; i < made.count + other.count; i++)
		threads_add(threads, &made.op[i], 1);
	cr_assert_eq(threads_judge(threads, true, pool), 1);
	cr_assert(!pool[0].all);
	cr_assert_neq(pool[0].server.address[15], 99);
	assert_near(&pool[0].fit, 4, "two servers", EXPONENTIAL);
	threads_free(threads);
	g_free(made.op);
	g_free(other.op);
}

/* One host with two addresses: its threads serve both. */
Test(threads, two_addresses)
{
	struct server server = { .threads = 8, .law = EXPONENTIAL, .quiet = 0.6, .busy = 1.3, .calls = 6000 };
	struct made made = make(&server, 10);
	struct threads *threads = threads_new();
	struct thread_pool pool[THREADS_SERVERS];

	for (unsigned i = 0; i < made.count; i++) {
		made.op[i].server.address[15] = (uint8_t)(i % 3 == 0);
		threads_add(threads, &made.op[i], 1);
	}
	cr_assert_eq(threads_judge(threads, true, pool), 1);
	cr_assert(pool[0].all);
	assert_near(&pool[0].fit, 8, "two addresses", EXPONENTIAL);
	threads_free(threads);
	g_free(made.op);
}

/* Mount and lock calls have threads of their own; a long capture is sampled; parts add up. */
Test(threads, samples)
{
	struct server server = { .threads = 32, .law = EXPONENTIAL, .quiet = 1.02, .busy = 1.02, .calls = 300000 };
	struct made made = make(&server, 11);
	struct threads *whole = threads_new(), *part[2] = { threads_new(), threads_new() };
	struct thread_pool pool[THREADS_SERVERS];

	for (unsigned i = 0; i < made.count; i++) {
		struct nfs_op mount = made.op[i];

		mount.program = 100005;
		mount.reply_first_ns += 1000 * NS_PER_MS;
		threads_add(whole, &made.op[i], 1);
		threads_add(whole, &mount, 1);
		threads_add(part[i * 2 / made.count], &made.op[i], 1);
	}
	cr_assert_eq(threads_judge(whole, true, pool), 1);
	assert_near(&pool[0].fit, 32, "long", EXPONENTIAL);
	cr_assert_leq(pool[0].fit.calls, 8 * 2048);
	threads_merge(part[0], part[1]);
	cr_assert_eq(threads_judge(part[0], true, pool), 1);
	assert_near(&pool[0].fit, 32, "merged", EXPONENTIAL);
	threads_free(whole);
	threads_free(part[0]);
	threads_free(part[1]);
	g_free(made.op);
}

/*
 * Parts of any length, more of them than are kept apart: a long one may come
 * into the place of a short one. What is kept stays what it was, so that the
 * fit of equal parts is that of one of them.
 */
Test(threads, many_parts_of_all_lengths)
{
	struct server server = { .threads = 8, .law = EXPONENTIAL, .quiet = 0.6, .busy = 1.3, .calls = 2000 };
	struct made made = make(&server, 12);
	struct threads *whole = threads_new();
	struct thread_pool pool[THREADS_SERVERS];
	uint64_t state = 12;

	for (unsigned part = 0; part < 60; part++) {
		struct threads *one = threads_new();
		unsigned calls = part < 40 ? build_random(&state, made.count) : made.count;

		for (unsigned i = 0; i < calls; i++) {
			struct nfs_op op = made.op[i];
			int64_t later_ns = part * INT64_C(100000) * NS_PER_MS;

			op.call_first_ns += later_ns;
			op.call_last_ns += later_ns;
			op.reply_first_ns += later_ns;
			op.reply_last_ns += later_ns;
			threads_add(one, &op, 1);
		}
		threads_merge(whole, one);
		threads_free(one);
	}
	cr_assert_eq(threads_judge(whole, true, pool), 1);
	assert_near(&pool[0].fit, 8, "parts", EXPONENTIAL);
	threads_free(whole);
	g_free(made.op);
}
