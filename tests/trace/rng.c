#include "trace/rng.h"

#include <math.h>
#include <string.h>

static uint64_t
splitmix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static uint64_t
rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

void
trace_rng_init(struct trace_rng *rng, uint64_t seed, uint64_t stream)
{
	uint64_t mixed = splitmix(&seed) ^ stream * 0xd1342543de82ef95u;

	for (unsigned i = 0; i < G_N_ELEMENTS(rng->state); i++)
		rng->state[i] = splitmix(&mixed);
}

uint64_t
trace_rng_next(struct trace_rng *rng)
{
	uint64_t *s = rng->state;
	uint64_t result = rotate(s[1] * 5, 7) * 9;
	uint64_t shifted = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = rotate(s[3], 45);
	return result;
}

uint64_t
trace_rng_below(struct trace_rng *rng, uint64_t limit)
{
	/* The bias is below 2^-32 for every limit used here. */
	return limit == 0 ? 0 : trace_rng_next(rng) % limit;
}

double
trace_rng_unit(struct trace_rng *rng)
{
	return (double)(trace_rng_next(rng) >> 11) * 0x1p-53;
}

bool
trace_rng_chance(struct trace_rng *rng, double probability)
{
	return probability > 0 && trace_rng_unit(rng) < probability;
}

void
trace_rng_fill(struct trace_rng *rng, uint8_t *bytes, size_t len)
{
	while (len > 0) {
		uint64_t word = trace_rng_next(rng);
		size_t part = MIN(len, sizeof word);

		for (size_t i = 0; i < part; i++)
			bytes[i] = (uint8_t)(word >> 8 * i);
		bytes += part;
		len -= part;
	}
}

static int64_t
exponential_ns(struct trace_rng *rng, int64_t mean_ns)
{
	return (int64_t)(-log1p(-trace_rng_unit(rng)) * (double)mean_ns);
}

/* Box and Muller. */
static double
normal(struct trace_rng *rng)
{
	double radius = sqrt(-2 * log1p(-trace_rng_unit(rng)));

	return radius * cos(2 * G_PI * trace_rng_unit(rng));
}

static int64_t
lognormal_ns(struct trace_rng *rng, int64_t mean_ns, double sigma)
{
	return (int64_t)((double)mean_ns * exp(sigma * normal(rng) - sigma * sigma / 2));
}

int64_t
trace_rng_draw_ns(struct trace_rng *rng, const struct trace_distribution *distribution)
{
	int64_t a_ns = distribution->a_ns;
	int64_t b_ns = distribution->b_ns;

	switch ((enum trace_distribution_kind)distribution->kind) {
	case TRACE_CONSTANT:
		return a_ns;
	case TRACE_UNIFORM:
		return b_ns <= a_ns ? a_ns
			: a_ns + (int64_t)trace_rng_below(rng, (uint64_t)(b_ns - a_ns) + 1);
	case TRACE_EXPONENTIAL:
		return exponential_ns(rng, a_ns);
	case TRACE_BIMODAL:
		return trace_rng_chance(rng, distribution->share)
			? exponential_ns(rng, b_ns) : a_ns;
	case TRACE_LOGNORMAL:
		return lognormal_ns(rng, a_ns, distribution->share);
	}
	return 0;
}
