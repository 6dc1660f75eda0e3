/*
 * Anchors: captures whose clocks are hours apart meet where they truly do, or
 * not at all.
 */
#include "correlate/anchor.h"

#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "base/arith.h"
#include "correlate/workload.h"

#define FAR_NS (5 * 3600 * (int64_t)NS_PER_S)

/* Learns one capture and scans another; false when they do not meet. */
static bool
meet(const struct workload_capture *learned, const struct workload_capture *scanned, int64_t *delta_ns)
{
	struct anchor *anchor = anchor_new();
	bool met = false;

	for (unsigned i = 0; i < learned->count; i++)
		if (!anchor_learn(anchor, &learned->ops[i]))
			break;
	for (unsigned i = 0; i < scanned->count && !met; i++)
		met = anchor_scan(anchor, &scanned->ops[i], delta_ns);
	anchor_free(anchor);
	return met;
}

static void
check_meets(const struct workload_config *config)
{
	struct workload *workload = workload_new(config);
	int64_t delta_ns = 0;

	cr_assert(meet(&workload->capture[1], &workload->capture[0], &delta_ns), "seed %u", config->seed);
	cr_assert_lt(ABS(delta_ns - config->offset_ns[0]), NS_PER_MS, "seed %u: %lld", config->seed,
	    (long long)delta_ns);
	cr_assert(meet(&workload->capture[0], &workload->capture[1], &delta_ns), "seed %u", config->seed);
	cr_assert_lt(ABS(delta_ns + config->offset_ns[0]), NS_PER_MS, "seed %u: %lld", config->seed,
	    (long long)delta_ns);
	workload_free(workload);
}

Test(anchor, of_ordinary_captures)
{
	for (uint32_t seed = 1; seed <= 60; seed++) {
		struct workload_config config;

		workload_config_init(&config, seed);
		config.connections = 1 + seed % 3;
		config.offset_ns[0] = seed % 2 == 0 ? FAR_NS : -FAR_NS;
		config.lost[0] = 0.1 * (seed % 3);
		config.nat = seed % 4;
		check_meets(&config);
	}
}

Test(anchor, of_few_calls)
{
	for (uint32_t seed = 1; seed <= 60; seed++) {
		struct workload_config config;

		workload_config_init(&config, seed);
		config.calls = 3 + seed % 10;
		config.offset_ns[0] = FAR_NS;
		check_meets(&config);
	}
}

Test(anchor, of_xids_that_begin_again_with_the_same_arguments)
{
	for (uint32_t seed = 1; seed <= 60; seed++) {
		struct workload_config config;

		workload_config_init(&config, seed);
		config.calls = 2000;
		config.epochs = 10;
		config.equal_xids = true;
		config.different_args = 20;
		config.offset_ns[0] = FAR_NS;
		config.lost[1] = 0.1 * (seed % 3);
		config.begin_ns[0] = 30 * NS_PER_MS;
		check_meets(&config);
	}
}

/* The same mounts and the same run, but another day's. */
Test(anchor, of_captures_that_have_no_call_in_common)
{
	for (uint32_t seed = 1; seed <= 60; seed++) {
		struct workload_config config;
		struct workload *one, *other;
		int64_t delta_ns;

		workload_config_init(&config, seed);
		config.equal_xids = true;
		config.different_args = 1 + seed % 20;
		config.calls = 100 + 100 * (seed % 8);
		one = workload_new(&config);
		config.seed += 1000;
		other = workload_new(&config);
		cr_assert_not(meet(&one->capture[0], &other->capture[1], &delta_ns), "seed %u", seed);
		workload_free(one);
		workload_free(other);
	}
}

Test(anchor, of_too_little)
{
	struct workload_config config;
	struct workload *workload;
	int64_t delta_ns;

	workload_config_init(&config, 1);
	config.calls = 2;
	workload = workload_new(&config);
	cr_assert_not(meet(&workload->capture[0], &workload->capture[1], &delta_ns));
	workload_free(workload);
	/* One call again and again. */
	config.calls = 200;
	config.slots = 1;
	config.xid_modulus = 1;
	config.different_args = 1;
	workload = workload_new(&config);
	cr_assert_not(meet(&workload->capture[0], &workload->capture[1], &delta_ns));
	workload_free(workload);
}

Test(anchor, learns_so_many)
{
	struct anchor *anchor = anchor_new();
	struct nfs_op op = { .valid = OP_TIMES, .outcome = OP_ANSWERED };
	unsigned count = 1;

	for (; count < 100000 && anchor_learn(anchor, &op); count++)
		op.xid++;
	cr_assert_eq(count, 4096);
	cr_assert_not(anchor_learn(anchor, &op));
	anchor_free(anchor);
}
