#include <criterion/criterion.h>

#include "stats/build.h"
#include "stats/capture_since.h"

static struct rpc_counters
books(uint64_t answered, uint64_t unanswered, uint64_t in_flight)
{
	return (struct rpc_counters){
		.calls = answered + unanswered + in_flight, .replies = answered,
		.outcomes = { [OP_ANSWERED] = answered, [OP_UNANSWERED] = unanswered, [OP_IN_FLIGHT] = in_flight },
	};
}

/* 100 calls were answered and 7 under way; of these and of 50 new ones 52 are answered, 1 is not, 4 are under way. */
Test(capture_since, calls_that_were_under_way_end_in_the_interval)
{
	struct capture_facts earlier = { .rpc = books(100, 2, 7) }, now = { .rpc = books(152, 3, 4) }, since;

	capture_facts_since(&since, &earlier, &now, BUILD_EPOCH_NS, BUILD_EPOCH_NS + 5);
	cr_assert_eq(since.rpc.outcomes[OP_ANSWERED], 52);
	cr_assert_eq(since.rpc.outcomes[OP_UNANSWERED], 1);
	cr_assert_eq(since.rpc.outcomes[OP_IN_FLIGHT], 4);
	cr_assert_eq(since.rpc.calls, 7 + 50);
	cr_assert_eq(since.rpc.replies, 52);
	cr_assert_eq(since.first_ns, BUILD_EPOCH_NS);
	cr_assert_eq(since.last_ns, BUILD_EPOCH_NS + 5);
	capture_facts_drop(&since);
}

/* A call without a reply proves to be a copy: it is taken back, and the one before it was answered. */
Test(capture_since, what_is_taken_back_is_no_count_below_zero)
{
	struct capture_facts earlier = { .rpc = books(10, 3, 0) }, now = { .rpc = books(11, 2, 0) }, since;

	capture_facts_since(&since, &earlier, &now, 0, 1);
	cr_assert_eq(since.rpc.outcomes[OP_ANSWERED], 1);
	cr_assert_eq(since.rpc.outcomes[OP_UNANSWERED], 0);
	cr_assert_eq(since.rpc.calls, 1);
	capture_facts_drop(&since);
}

Test(capture_since, counters_are_subtracted_and_maxima_are_not)
{
	struct capture_facts earlier = {
		.packets = 1000, .dropped_by_kernel = 5, .dropped_by_interface = 2, .backward_stamps = 1, .backward_max_ns = 700,
		.tcp = { .segments = 900, .retransmitted = 4, .unacked_bytes = { 0, 60000 }, .first_loss_ns = 50, .last_loss_ns = 70 },
		.udp = { .records = 9, .headless = 1 },
	};
	struct capture_facts now = earlier, kept = { 0 }, since;

	dist_add(&earlier.tcp.round_trip[0], 40000);
	capture_facts_keep(&kept, &earlier);
	dist_copy(&now.tcp.round_trip[0], &earlier.tcp.round_trip[0]);
	dist_add(&now.tcp.round_trip[0], 30000);
	capture_facts_since(&since, &kept, &now, 0, 1);
	cr_assert_eq(since.packets + since.tcp.segments + since.udp.records, 0);
	cr_assert_eq(since.dropped_by_kernel, 0);
	cr_assert_eq(since.backward_max_ns, 0, "none in this interval");
	cr_assert_eq(since.tcp.first_loss_ns, 0, "no loss in this interval");
	cr_assert_eq(since.tcp.round_trip[0].count, 1);
	cr_assert_eq(since.tcp.round_trip[0].max_ns, bucket_lower(30000) + 127, "30000 is in a bucket of 128");
	capture_facts_drop(&since);
	now.packets = 1500;
	now.dropped_by_kernel = 25;
	now.dropped_by_interface = 3;
	now.backward_stamps = 3;
	now.tcp.retransmitted = 6;
	now.tcp.last_loss_ns = 90;
	now.udp.headless = 2;
	capture_facts_since(&since, &kept, &now, 0, 1);
	cr_assert_eq(since.packets, 500);
	cr_assert_eq(since.dropped_by_kernel, 20);
	cr_assert_eq(since.dropped_by_interface, 1);
	cr_assert_eq(since.backward_stamps, 2);
	cr_assert_eq(since.backward_max_ns, 700);
	cr_assert_eq(since.tcp.retransmitted, 2);
	cr_assert_eq(since.tcp.unacked_bytes[1], 60000);
	cr_assert_eq(since.tcp.first_loss_ns, 70, "no earlier than the last one before");
	cr_assert_eq(since.tcp.last_loss_ns, 90);
	cr_assert_eq(since.udp.records, 0);
	cr_assert_eq(since.udp.headless, 1);
	capture_facts_drop(&since);
	now.dropped_by_kernel = -1;
	capture_facts_since(&since, &kept, &now, 0, 1);
	cr_assert_eq(since.dropped_by_kernel, -1, "not known stays not known");
	capture_facts_drop(&since);
	capture_facts_keep(&kept, &now);
	cr_assert_eq(kept.tcp.round_trip[0].count, 2, "kept again");
	capture_facts_drop(&kept);
	dist_clear(&earlier.tcp.round_trip[0]);
	dist_clear(&now.tcp.round_trip[0]);
}

Test(capture_since, an_interval_without_a_match_has_no_overlap)
{
	struct correlate_facts earlier = { .matches = { [MATCH_MATCHED] = 10, [MATCH_CLIENT_ONLY] = 1 },
		.overlap_first_ns = 100, .overlap_last_ns = 200, .evicted = { 3, 0 } };
	struct correlate_facts now = earlier, since;

	now.matches[MATCH_CLIENT_ONLY] = 5;
	now.evicted[PAIR_CLIENT] = 2;
	correlate_facts_since(&since, &earlier, &now);
	cr_assert_eq(since.matches[MATCH_MATCHED], 0);
	cr_assert_eq(since.matches[MATCH_CLIENT_ONLY], 4);
	cr_assert_eq(since.evicted[PAIR_SERVER], 0);
	cr_assert_eq(since.evicted[PAIR_CLIENT], 2);
	cr_assert_eq(since.overlap_last_ns, 0);
	now.matches[MATCH_MATCHED] = 11;
	now.overlap_last_ns = 260;
	correlate_facts_since(&since, &earlier, &now);
	cr_assert_eq(since.matches[MATCH_MATCHED], 1);
	cr_assert_eq(since.overlap_first_ns, 200);
	cr_assert_eq(since.overlap_last_ns, 260);
}
