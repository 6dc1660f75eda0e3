#include "correlate/oracle.h"

#include <glib.h>

struct half {
	long double at, limit;
};

struct program {
	struct half *upper, *lower;
	unsigned uppers, lowers;
};

static const long double slope_max = 0.001L;

/* Stamps are whole nanoseconds: the truth is up to one later. */
static void
add(struct program *program, const struct op_pair *pair, int64_t zero_ns, int64_t zero_offset_ns)
{
	const struct nfs_op *server = &pair->op[PAIR_SERVER], *client = &pair->op[PAIR_CLIENT];
	const int64_t at_ns[4] = { server->call_first_ns, server->call_last_ns, server->reply_first_ns,
	    server->reply_last_ns };
	const int64_t from_ns[4] = { client->call_first_ns, client->call_last_ns, client->reply_first_ns,
	    client->reply_last_ns };
	unsigned flags = server->flags | client->flags;

	if (pair->match != MATCH_MATCHED || server->retransmits > 0 || client->retransmits > 0)
		return;
	for (unsigned i = 0; i < 4; i++) {
		struct half half = {
			.at = at_ns[i] - zero_ns,
			.limit = at_ns[i] - from_ns[i] - zero_offset_ns,
		};

		if (i < 2 && !(flags & OP_CALL_TIME_DEDUCED)) {
			half.limit += 1;
			program->upper[program->uppers++] = half;
		} else if (i >= 2 && !(flags & OP_REPLY_TIME_DEDUCED)) {
			half.limit -= 1;
			program->lower[program->lowers++] = half;
		}
	}
}

/* With this slope, the highest value that a line may have at time 0. */
static long double
ceiling(const struct program *program, long double slope)
{
	long double least = program->upper[0].limit - slope * program->upper[0].at;

	for (unsigned i = 1; i < program->uppers; i++)
		least = MIN(least, program->upper[i].limit - slope * program->upper[i].at);
	return least;
}

static long double
ground(const struct program *program, long double slope)
{
	long double most = program->lower[0].limit - slope * program->lower[0].at;

	for (unsigned i = 1; i < program->lowers; i++)
		most = MAX(most, program->lower[i].limit - slope * program->lower[i].at);
	return most;
}

static long double
room(const struct program *program, long double slope)
{
	return ceiling(program, slope) - ground(program, slope);
}

/* The slope with the most room: the room is concave in the slope. */
static long double
roomiest(const struct program *program)
{
	long double low = -slope_max, high = slope_max;

	for (unsigned i = 0; i < 90; i++) {
		long double first = low + (high - low) / 3, second = high - (high - low) / 3;

		if (room(program, first) < room(program, second))
			low = first;
		else
			high = second;
	}
	return (low + high) / 2;
}

/* The slope closest to `limit` that leaves room. */
static long double
last_slope(const struct program *program, long double inside, long double limit)
{
	if (room(program, limit) >= 0)
		return limit;
	for (unsigned i = 0; i < 64; i++) {
		long double middle = (inside + limit) / 2;

		if (room(program, middle) >= 0)
			inside = middle;
		else
			limit = middle;
	}
	return inside;
}

/* The greatest ceiling (sign 1) or, negated, the lowest ground (sign -1) at a time. */
static long double
extreme(const struct program *program, long double at, long double low, long double high, int sign)
{
	for (unsigned i = 0; i < 90; i++) {
		long double first = low + (high - low) / 3, second = high - (high - low) / 3;
		long double a = sign > 0 ? ceiling(program, first) + first * at : -ground(program, first) - first * at;
		long double b = sign > 0 ? ceiling(program, second) + second * at : -ground(program, second) - second * at;

		if (a < b)
			low = first;
		else
			high = second;
	}
	low = (low + high) / 2;
	return sign > 0 ? ceiling(program, low) + low * at : -ground(program, low) - low * at;
}

bool
oracle_offset(const struct op_pair *pair, unsigned pairs, int64_t from_ns, int64_t to_ns,
    long double *low_ns, long double *high_ns)
{
	int64_t zero_ns = pair[0].op[PAIR_SERVER].call_first_ns;
	int64_t zero_offset_ns = zero_ns - pair[0].op[PAIR_CLIENT].call_first_ns;
	struct program program = {
		.upper = g_new(struct half, 2 * (size_t)pairs),
		.lower = g_new(struct half, 2 * (size_t)pairs),
	};
	long double best, low, high;
	bool found = false;

	for (unsigned i = 0; i < pairs; i++)
		add(&program, &pair[i], zero_ns, zero_offset_ns);
	if (program.uppers > 0 && program.lowers > 0) {
		best = roomiest(&program);
		low = last_slope(&program, best, -slope_max);
		high = last_slope(&program, best, slope_max);
		found = room(&program, best) >= 0;
		*high_ns = MAX(extreme(&program, from_ns - zero_ns, low, high, 1),
		    extreme(&program, to_ns - zero_ns, low, high, 1)) + zero_offset_ns;
		*low_ns = MIN(-extreme(&program, from_ns - zero_ns, low, high, -1),
		    -extreme(&program, to_ns - zero_ns, low, high, -1)) + zero_offset_ns;
	}
	g_free(program.upper);
	g_free(program.lower);
	return found;
}
