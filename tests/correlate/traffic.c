#include "correlate/traffic.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

enum stamp { CALL_FIRST, CALL_LAST, REPLY_FIRST, REPLY_LAST, STAMPS };

struct call {
	int64_t at_ns[2][STAMPS];	/* real time, by side */
	uint64_t frame[2][2];		/* by side; call, reply */
};

static double
unit(GRand *rand)
{
	return g_rand_double(rand);
}

/* Mostly close to nothing, seldom many times the mean. */
static int64_t
jitter(GRand *rand, int64_t mean_ns)
{
	double x = unit(rand);
	double value = x * x * 1.5;

	if (unit(rand) < 0.02)
		value = 1 / (unit(rand) + 0.01);
	return (int64_t)(value * (double)mean_ns);
}

static int64_t
exponential(GRand *rand, int64_t mean_ns)
{
	double x = unit(rand);
	double value = 0;

	/* -ln(x) by halves: exact enough, and the same everywhere */
	while (x < 0.5 && value < 20) {
		x *= 2;
		value += 0.693;
	}
	return (int64_t)((value + (1 - x)) * (double)mean_ns);
}

void
traffic_config_init(struct traffic_config *config, uint32_t seed)
{
	*config = (struct traffic_config){
		.seed = seed,
		.calls = 500,
		.gap_ns = 1000000,
		.service_ns = 300000,
		.delay_ns = { 100000, 100000 },
		.jitter_ns = { 50000, 50000 },
		.transfer_ns = 30000,
		.clock = {
			{ .start_ns = INT64_C(1700000000000000000), .unit_ns = 1 },
			{ .start_ns = INT64_C(1700000000000000000), .unit_ns = 1 },
		},
	};
}

long double
clock_shows(const struct traffic_config *config, enum pair_side side, int64_t real_ns)
{
	const struct host_clock *clock = &config->clock[side];
	long double shown = (long double)(clock->start_ns - config->clock[PAIR_SERVER].start_ns) + real_ns;

	shown += (long double)real_ns * clock->drift_ppb / 1000000000;
	for (unsigned i = 0; i < clock->changes; i++) {
		const struct clock_change *change = &clock->change[i];

		if (real_ns >= change->at_ns)
			shown += change->by_ns +
			    (long double)(real_ns - change->at_ns) * change->by_ppb / 1000000000;
	}
	return shown;
}

static int64_t
stamp(const struct traffic_config *config, enum pair_side side, int64_t real_ns)
{
	long double shown = clock_shows(config, side, real_ns);
	int64_t whole = (int64_t)shown;
	int64_t unit_ns = config->clock[side].unit_ns;

	whole -= (long double)whole > shown;
	whole += config->clock[PAIR_SERVER].start_ns;
	return whole - (whole % unit_ns + unit_ns) % unit_ns;
}

static void
make_call(const struct traffic_config *config, GRand *rand, int64_t start_ns, struct call *call)
{
	int64_t (*at)[STAMPS] = call->at_ns;
	int64_t length[2] = { 0, 0 }, delay[4];

	for (unsigned direction = 0; direction < 2; direction++)
		if (unit(rand) < 0.33)
			length[direction] = exponential(rand, config->transfer_ns);
	for (unsigned i = 0; i < 4; i++)
		delay[i] = config->delay_ns[i / 2] + jitter(rand, config->jitter_ns[i / 2]);
	at[PAIR_CLIENT][CALL_FIRST] = start_ns;
	at[PAIR_CLIENT][CALL_LAST] = start_ns + length[0];
	at[PAIR_SERVER][CALL_FIRST] = start_ns + delay[0];
	at[PAIR_SERVER][CALL_LAST] = length[0] == 0 ? at[PAIR_SERVER][CALL_FIRST] :
	    MAX(at[PAIR_SERVER][CALL_FIRST], at[PAIR_CLIENT][CALL_LAST] + delay[1]);
	at[PAIR_SERVER][REPLY_FIRST] = at[PAIR_SERVER][CALL_LAST] + 1000 + exponential(rand, config->service_ns);
	at[PAIR_SERVER][REPLY_LAST] = at[PAIR_SERVER][REPLY_FIRST] + length[1];
	at[PAIR_CLIENT][REPLY_FIRST] = at[PAIR_SERVER][REPLY_FIRST] + delay[2];
	at[PAIR_CLIENT][REPLY_LAST] = length[1] == 0 ? at[PAIR_CLIENT][REPLY_FIRST] :
	    MAX(at[PAIR_CLIENT][REPLY_FIRST], at[PAIR_SERVER][REPLY_LAST] + delay[3]);
}

struct frame_at {
	int64_t at_ns;
	uint64_t *frame;
};

static int
by_time(const void *a, const void *b)
{
	int64_t first = ((const struct frame_at *)a)->at_ns, second = ((const struct frame_at *)b)->at_ns;

	return (first > second) - (first < second);
}

static void
number_frames(struct call *call, unsigned calls)
{
	struct frame_at *frame = g_new(struct frame_at, 2 * (size_t)calls);

	for (unsigned side = 0; side < 2; side++) {
		for (unsigned i = 0; i < calls; i++) {
			frame[2 * i] = (struct frame_at){ call[i].at_ns[side][CALL_FIRST], &call[i].frame[side][0] };
			frame[2 * i + 1] = (struct frame_at){ call[i].at_ns[side][REPLY_FIRST], &call[i].frame[side][1] };
		}
		qsort(frame, 2 * (size_t)calls, sizeof(*frame), by_time);
		for (unsigned i = 0; i < 2 * calls; i++)
			*frame[i].frame = 3 * i + 1;	/* other packets lie between */
	}
	g_free(frame);
}

static int
by_end(const void *a, const void *b)
{
	int64_t first = ((const struct call *)a)->at_ns[PAIR_CLIENT][REPLY_LAST];
	int64_t second = ((const struct call *)b)->at_ns[PAIR_CLIENT][REPLY_LAST];

	return (first > second) - (first < second);
}

static void
fill_truth(const struct traffic_config *config, const struct call *call, struct truth *truth)
{
	const int64_t (*at)[STAMPS] = call->at_ns;
	long double before, after;

	truth->real_ns = at[PAIR_SERVER][CALL_LAST];
	before = clock_shows(config, PAIR_CLIENT, at[PAIR_SERVER][CALL_LAST]);
	after = clock_shows(config, PAIR_CLIENT, at[PAIR_SERVER][REPLY_FIRST]);
	truth->request_ns = before - clock_shows(config, PAIR_CLIENT, at[PAIR_CLIENT][CALL_FIRST]);
	truth->reply_ns = clock_shows(config, PAIR_CLIENT, at[PAIR_CLIENT][REPLY_LAST]) - after;
	truth->offset_ns = (int64_t)(clock_shows(config, PAIR_SERVER, truth->real_ns) - before);
	for (unsigned side = 0; side < 2; side++)
		for (unsigned i = 0; i < config->clock[side].changes; i++) {
			int64_t change_ns = config->clock[side].change[i].at_ns;

			if (change_ns > at[side][CALL_FIRST] && change_ns <= at[side][REPLY_LAST])
				truth->crosses = true;
		}
}

/* Stamps that are not what they seem, but whole units of their clock. */
static void
spoil(const struct traffic_config *config, GRand *rand, struct op_pair *pair, struct truth *truth)
{
	unsigned wrong_side = (unsigned)g_rand_int_range(rand, 0, 2);
	int64_t by_ns = (int64_t)(config->outlier_ns / (unit(rand) + 0.001));
	struct nfs_op *op = &pair->op[wrong_side];

	by_ns -= by_ns % config->clock[wrong_side].unit_ns;
	if (g_rand_boolean(rand))
		by_ns = -by_ns;
	if (unit(rand) < config->outliers) {
		truth->wrong = truth->outlier = true;
		if (g_rand_boolean(rand)) {
			op->call_first_ns += by_ns;
			op->call_last_ns += by_ns;
		} else {
			op->reply_first_ns += by_ns;
			op->reply_last_ns += by_ns;
		}
	}
	for (unsigned side = 0; side < 2; side++) {
		int64_t unit_ns = config->clock[side].unit_ns;

		op = &pair->op[side];
		if (unit(rand) < config->deduced) {
			op->flags |= OP_CALL_TIME_DEDUCED;
			op->call_last_ns += (int64_t)((unit(rand) - 0.5) * 10000000) / unit_ns * unit_ns;
			truth->wrong = true;
		}
		if (unit(rand) < config->deduced) {
			op->flags |= OP_REPLY_TIME_DEDUCED;
			op->reply_first_ns += (int64_t)((unit(rand) - 0.5) * 10000000) / unit_ns * unit_ns;
			truth->wrong = true;
		}
		if (unit(rand) < config->resent) {
			op->retransmits = 1;
			op->call_first_ns += 200000000;
			truth->wrong = true;
		}
	}
}

static void
fill_op(const struct traffic_config *config, const struct call *call, enum pair_side side, struct nfs_op *op)
{
	op->call_first_ns = stamp(config, side, call->at_ns[side][CALL_FIRST]);
	op->call_last_ns = stamp(config, side, call->at_ns[side][CALL_LAST]);
	op->reply_first_ns = stamp(config, side, call->at_ns[side][REPLY_FIRST]);
	op->reply_last_ns = stamp(config, side, call->at_ns[side][REPLY_LAST]);
	op->call_frame = op->call_order = call->frame[side][0];
	op->reply_frame = op->reply_order = call->frame[side][1];
	op->valid = OP_TIMES;
}

struct traffic *
traffic_new(const struct traffic_config *config)
{
	struct traffic *traffic = g_new0(struct traffic, 1);
	struct call *call = g_new0(struct call, config->calls);
	GRand *rand = g_rand_new_with_seed(config->seed);
	int64_t start_ns = 1000;

	traffic->pairs = config->calls;
	traffic->pair = g_new0(struct op_pair, config->calls);
	traffic->truth = g_new0(struct truth, config->calls);
	for (unsigned i = 0; i < config->calls; i++) {
		make_call(config, rand, start_ns, &call[i]);
		start_ns += exponential(rand, config->gap_ns);
	}
	number_frames(call, config->calls);
	qsort(call, config->calls, sizeof(*call), by_end);
	for (unsigned i = 0; i < config->calls; i++) {
		struct op_pair *pair = &traffic->pair[i];

		pair->match = MATCH_MATCHED;
		pair->has[0] = pair->has[1] = true;
		for (unsigned side = 0; side < 2; side++) {
			fill_op(config, &call[i], side, &pair->op[side]);
			pair->op[side].xid = i;
		}
		fill_truth(config, &call[i], &traffic->truth[i]);
		spoil(config, rand, pair, &traffic->truth[i]);
		if (unit(rand) < config->unmatched) {
			pair->match = g_rand_boolean(rand) ? MATCH_CLIENT_ONLY : MATCH_PARTIAL;
			pair->has[PAIR_SERVER] = pair->match == MATCH_PARTIAL;
			traffic->truth[i].wrong = true;
		}
	}
	g_rand_free(rand);
	g_free(call);
	return traffic;
}

void
traffic_free(struct traffic *traffic)
{
	g_free(traffic->pair);
	g_free(traffic->truth);
	g_free(traffic);
}
