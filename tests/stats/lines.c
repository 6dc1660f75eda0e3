#include <criterion/criterion.h>
#include <string.h>

#include "stats/build.h"
#include "stats/lines.h"

static const struct flow_key key = {
	.address = { { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 }, { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 2 } },
	.port = { 700, 2049 },
};

static struct net_endpoint
host(unsigned number)
{
	struct net_endpoint endpoint = { .port = key.port[number] };

	memcpy(endpoint.address, key.address[number], sizeof(endpoint.address));
	return endpoint;
}

/* A frame of so much payload and 54 bytes of headers, from the server. */
static void
frame(struct lines *lines, int64_t at_ns, uint32_t bytes)
{
	struct packet packet = { .ts_ns = BUILD_EPOCH_NS + at_ns, .wire_len = bytes + 54, .cap_len = 68 };

	lines_add(lines, &key, 1, &packet, bytes);
}

static void
note(struct lines *lines)
{
	struct net_endpoint client = host(0), server = host(1);

	lines_note(lines, &client, &server);
}

/* Frames of 1446 bytes, one in every gap_ns; returns the time of the next. */
static int64_t
burst(struct lines *lines, int64_t at_ns, int64_t gap_ns, unsigned frames)
{
	for (unsigned i = 0; i < frames; i++)
		frame(lines, at_ns + i * gap_ns, 1446);
	return at_ns + frames * gap_ns;
}

static struct line_peak
peak_of(const struct lines *lines)
{
	struct line_peak peak;

	cr_assert(lines_peak(lines, LINE_TO_CLIENT, NULL, &peak));
	cr_assert(!lines_peak(lines, LINE_TO_SERVER, NULL, &(struct line_peak){ 0 }));
	return peak;
}

/* 1500 bytes in 600 us are 20 Mbit/s, of which 1446 are payload. */
Test(lines, a_full_line)
{
	struct lines *lines = lines_new();
	struct line_peak peak;

	burst(lines, 0, 600000, 1001);
	note(lines);
	peak = peak_of(lines);
	cr_assert_float_eq((double)peak.rate_bps, 20e6 * 1446 / 1500, 1e5, "%ld", (long)peak.rate_bps);
	cr_assert_eq(peak.all_bytes, 1001 * 1446);
	cr_assert_geq(peak.bytes, 990 * 1446);
	cr_assert_geq(peak.time_ns, 990 * 600000);
	cr_assert_eq(peak.time_ns, peak.moving_ns);
	lines_free(lines);
}

/* A window of 40 frames in every 10 ms: they come at the line's rate, 1 Gbit/s, and the waits are not counted. */
Test(lines, a_window_that_is_waited_for)
{
	struct lines *lines = lines_new();
	struct line_peak peak;

	for (unsigned i = 0; i < 200; i++)
		burst(lines, i * 10000000, 12000, 40);
	note(lines);
	peak = peak_of(lines);
	cr_assert_float_eq((double)peak.rate_bps, 1e9 * 1446 / 1500, 5e7, "%ld", (long)peak.rate_bps);
	cr_assert_lt(peak.time_ns, INT64_C(2000000000) / 10, "%ld", (long)peak.time_ns);
	lines_free(lines);
}

/* Cards hand over what came in 100 us at once. */
Test(lines, frames_that_come_in_heaps)
{
	struct lines *lines = lines_new();
	struct line_peak peak;

	for (unsigned i = 0; i < 5000; i++)
		burst(lines, i * 96000, 100, 8);
	note(lines);
	peak = peak_of(lines);
	cr_assert_float_eq((double)peak.rate_bps, 1e9 * 1446 / 1500, 5e7, "%ld", (long)peak.rate_bps);
	cr_assert_geq(peak.time_ns, 5000 * INT64_C(96000) * 95 / 100);
	lines_free(lines);
}

/* Gaps from 0 to 2 ms: no rate has half of the time. */
Test(lines, no_one_rate)
{
	struct lines *lines = lines_new();
	struct line_peak peak;
	uint64_t random = 7;
	int64_t at_ns = 0;

	for (unsigned i = 0; i < 20000; i++) {
		frame(lines, at_ns, 1446);
		at_ns += build_random(&random, 4) == 0 ? build_random(&random, 2000000) : build_random(&random, 1000);
	}
	note(lines);
	peak = peak_of(lines);
	cr_assert_lt(peak.time_ns, peak.moving_ns / 2, "%ld of %ld", (long)peak.time_ns, (long)peak.moving_ns);
	lines_free(lines);
}

/*
 * Two frames a call, held up at random: either may come soon or late behind the
 * other, and over a few calls it is one rate.
 */
Test(lines, calls_that_are_held_up)
{
	struct lines *lines = lines_new();
	struct line_peak peak;
	uint64_t random = 3;
	int64_t at_ns = 0;

	for (unsigned i = 0; i < 2000; i++) {
		frame(lines, at_ns, 8948);
		frame(lines, at_ns + build_random(&random, 1000000), 7572);
		at_ns += 2400000 + build_random(&random, 400000);
	}
	note(lines);
	if (lines_peak(lines, LINE_TO_CLIENT, NULL, &peak))
		cr_assert_lt(peak.time_ns, at_ns / 2, "%ld of %ld", (long)peak.time_ns, (long)at_ns);
	lines_free(lines);
}

/* From 1 Gbit/s to a hundredth of it. */
Test(lines, a_line_that_becomes_slow)
{
	struct lines *lines = lines_new();
	struct line_peak peak;
	int64_t at_ns = burst(lines, 0, 12000, 1000);

	burst(lines, at_ns, 1200000, 1000);
	note(lines);
	peak = peak_of(lines);
	cr_assert_float_eq((double)peak.rate_bps, 1e7 * 1446 / 1500, 1e5, "%ld", (long)peak.rate_bps);
	cr_assert_geq(peak.time_ns, 980 * INT64_C(1200000));
	lines_free(lines);
}

Test(lines, merged_parts)
{
	struct lines *whole = lines_new(), *first = lines_new(), *second = lines_new(), *sum = lines_new();
	struct line_peak one, other;
	struct net_endpoint client = host(0);

	burst(whole, 0, 600000, 2001);
	burst(first, 0, 600000, 1001);
	burst(second, 1000 * 600000, 600000, 1001);
	note(whole);
	note(second);
	lines_merge(sum, first);
	lines_merge(sum, second);
	one = peak_of(whole);
	other = peak_of(sum);
	cr_assert_eq(one.rate_bps, other.rate_bps);
	/* but for the first frames of the second part */
	cr_assert_float_eq((double)one.time_ns, (double)other.time_ns, 4 * 600000);
	cr_assert_float_eq((double)one.bytes, (double)other.bytes, 4 * 1446);
	cr_assert(lines_peak(sum, LINE_TO_CLIENT, &client, &other));
	client.address[15] = 9;
	cr_assert(!lines_peak(sum, LINE_TO_CLIENT, &client, &other));
	lines_free(whole);
	lines_free(first);
	lines_free(second);
	lines_free(sum);
}

/* More pairs of hosts than are kept, stamps that run backwards, a clock that is set back. */
Test(lines, odd_input)
{
	struct lines *lines = lines_new();
	struct flow_key other = key;
	struct packet packet = { .wire_len = UINT32_MAX, .ts_ns = INT64_MAX };
	struct line_peak peak;

	for (unsigned i = 0; i < 4 * LINES_MAX; i++) {
		other.address[0][14] = (uint8_t)(i >> 8);
		other.address[0][15] = (uint8_t)i;
		for (unsigned j = 0; j < 10; j++) {
			packet.ts_ns = j % 2 == 0 ? INT64_MAX : INT64_MIN;
			lines_add(lines, &other, j % 2, &packet, UINT32_MAX);
		}
	}
	lines_break(lines);
	note(lines);
	cr_assert(!lines_peak(lines, LINE_TO_CLIENT, NULL, &peak));
	lines_free(lines);
}

/* A frame from the server to one of several clients, which is known to be one. */
static void
frame_to(struct lines *lines, uint8_t client, int64_t at_ns, uint32_t bytes)
{
	struct packet packet = { .ts_ns = BUILD_EPOCH_NS + at_ns, .wire_len = bytes + 54, .cap_len = 68 };
	struct net_endpoint to = host(0), server = host(1);
	struct flow_key flow = key;

	flow.address[0][14] = to.address[14] = client;
	lines_add(lines, &flow, 1, &packet, bytes);
	lines_note(lines, &to, &server);
}

/* Whoever frames go to, together they are what they were to one client alone: in runs, by turns, behind pauses. */
Test(lines, clients_together)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct lines *one = lines_new(), *several = lines_new(), *copy;
		struct line_peak expected, peak;
		uint64_t random = seed;
		int64_t at_ns = 0;
		uint8_t client = 0;

		for (uint8_t i = 0; i < 3; i++) {
			frame_to(one, 0, at_ns, 1446);
			frame_to(several, i, at_ns, 1446);
		}
		at_ns += 61 * INT64_C(1000000000);
		for (unsigned i = 0; i < 4000; i++) {
			uint32_t bytes = build_random(&random, 2) == 0 ? 1446 : 1 + build_random(&random, 1446);

			if (build_random(&random, 1 + (uint32_t)(seed % 4) * 40) == 0)
				client = (uint8_t)build_random(&random, 3);
			at_ns += build_random(&random, build_random(&random, 100) == 0 ? 4000000 : 12000);
			if (build_random(&random, 500) == 0) {
				lines_break(one);
				lines_break(several);
			}
			frame_to(one, 0, at_ns, bytes);
			frame_to(several, client, at_ns, bytes);
		}
		copy = lines_since(NULL, several);
		cr_assert(lines_peak_together(one, LINE_TO_CLIENT, &expected));
		cr_assert(lines_peak_together(copy, LINE_TO_CLIENT, &peak));
		cr_assert_eq(peak.rate_bps, expected.rate_bps, "seed %lu", (unsigned long)seed);
		cr_assert_eq(peak.time_ns, expected.time_ns, "seed %lu", (unsigned long)seed);
		cr_assert_eq(peak.moving_ns, expected.moving_ns, "seed %lu", (unsigned long)seed);
		cr_assert_eq(peak.bytes, expected.bytes, "seed %lu", (unsigned long)seed);
		cr_assert_eq(lines_bytes(one, LINE_TO_CLIENT), lines_bytes(several, LINE_TO_CLIENT));
		cr_assert(lines_peak_together(several, LINE_TO_CLIENT, &expected));
		cr_assert_eq(peak.all_bytes, expected.all_bytes);
		lines_free(copy);
		lines_free(one);
		lines_free(several);
	}
}

/* 1500 bytes in 600 us are 20 Mbit/s, in 300 us 40 Mbit/s. */
Test(lines, what_was_measured_since)
{
	struct lines *lines = lines_new(), *earlier, *since;
	int64_t at_ns = burst(lines, 0, 600000, 100);

	note(lines);
	at_ns = burst(lines, at_ns + 1000000000, 600000, 1000);
	earlier = lines_since(NULL, lines);
	cr_assert_eq(lines_bytes(earlier, LINE_TO_CLIENT), 1100 * UINT64_C(1446));
	burst(lines, at_ns + 1000000000, 300000, 200);
	since = lines_since(earlier, lines);
	cr_assert_eq(lines_bytes(since, LINE_TO_CLIENT), 200 * UINT64_C(1446));
	cr_assert_float_eq((double)peak_of(since).rate_bps, 40e6 * 1446 / 1500, 2e5);
	cr_assert_float_eq((double)peak_of(lines).rate_bps, 20e6 * 1446 / 1500, 1e5, "most of the time it was slower");
	cr_assert_float_eq((double)peak_of(earlier).rate_bps, 20e6 * 1446 / 1500, 1e5);
	lines_free(since);
	since = lines_since(lines, lines);
	cr_assert(!lines_peak(since, LINE_TO_CLIENT, NULL, &(struct line_peak){ 0 }));
	lines_free(since);
	lines_free(earlier);
	lines_free(lines);
}
