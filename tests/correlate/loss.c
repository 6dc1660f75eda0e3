/*
 * What loss cost one call, from the events of both captures.
 *
 * The call's record is bytes 1000 to 2000 of its direction at the client, at
 * the server 100 further on; the server's clock is 7 s ahead. From the client
 * to the server takes 1 ms at least, and so does the way back.
 */
#include <criterion/criterion.h>

#include "base/arith.h"
#include "correlate/loss.h"

enum { SERVER, CLIENT, CAPTURES, SHIFT = 100 };
static const int64_t ahead_ns = 7 * (int64_t)NS_PER_S;
/* The pair that came last. */
static struct op_pair out;

/* Sent at 100 ms, there at call_there_ms; answered 1 ms later, the answer is back 1 ms after that. */
static struct op_pair
call_of(int64_t call_there_ms)
{
	int64_t there_ns = call_there_ms * NS_PER_MS;
	struct op_pair pair = { .match = MATCH_MATCHED, .has = { true, true } };
	struct nfs_op *client = &pair.op[PAIR_CLIENT], *server = &pair.op[PAIR_SERVER];

	*client = (struct nfs_op){
		.connection = 5,
		.call_first_ns = 100 * NS_PER_MS, .call_last_ns = 100 * NS_PER_MS,
		.reply_first_ns = there_ns + 2 * NS_PER_MS, .reply_last_ns = there_ns + 2 * NS_PER_MS,
		.call_end = 2000, .call_bytes = 1000, .reply_end = 300, .reply_bytes = 200,
		.valid = OP_TIMES,
	};
	*server = (struct nfs_op){
		.connection = 9,
		.call_direction = 1,
		.call_first_ns = ahead_ns + 101 * NS_PER_MS, .call_last_ns = ahead_ns + there_ns,
		.reply_first_ns = ahead_ns + there_ns + NS_PER_MS, .reply_last_ns = ahead_ns + there_ns + NS_PER_MS,
		.call_end = 2000 + SHIFT, .call_bytes = 1000, .reply_end = 300, .reply_bytes = 200,
		.valid = OP_TIMES,
	};
	pair.parts = (struct attribution){
		.total_ns = client->reply_last_ns - client->call_first_ns,
		.server_ns = NS_PER_MS,
		.request_ns = there_ns - client->call_first_ns,
		.reply_ns = NS_PER_MS,
		.clock_error_ns = NS_PER_MS,
		.aligned = true,
		.retransmit_known = loss_may_be_known(server, client),
	};
	pair.parts.network_ns = pair.parts.total_ns - pair.parts.server_ns;
	return pair;
}

/* The client's segment [from, to) left at first_ms, and again. */
static void
sent(struct loss *loss, int64_t from, int64_t to, int64_t first_ms, int64_t again_ms)
{
	struct tcp_event event = { .connection = 5, .offset = from, .len = (uint32_t)(to - from),
		.from_ns = first_ms * NS_PER_MS, .to_ns = again_ms * NS_PER_MS, .kind = TCP_REPEATED };

	loss_note(loss, CLIENT, &event);
}

static void
came(struct loss *loss, enum tcp_event_kind kind, int64_t from, int64_t to, int64_t first_ms, int64_t there_ms)
{
	struct tcp_event event = { .connection = 9, .direction = 1, .offset = from + SHIFT, .len = (uint32_t)(to - from),
		.from_ns = ahead_ns + first_ms * NS_PER_MS, .to_ns = ahead_ns + there_ms * NS_PER_MS, .kind = (uint8_t)kind };

	loss_note(loss, SERVER, &event);
}

static void
keep_pair(void *context, const struct op_pair *pair)
{
	*(struct op_pair *)context = *pair;
}

/* The cost in ms, -1: not known. The loss is freed; the pair is what came out. */
static int64_t
cost_ms(struct loss *loss, struct op_pair *pair)
{
	loss_push(loss, SERVER, CLIENT, pair);
	loss_finish(loss);
	*pair = out;
	loss_free(loss);
	return pair->parts.retransmit_known ? pair->parts.retransmit_ns / NS_PER_MS : -1;
}

Test(loss, none)
{
	struct loss *loss = loss_new(CAPTURES, keep_pair, &out);
	struct op_pair pair = call_of(101);

	/* of another connection, of the other direction, of before */
	sent(loss, 1000, 2000, 20, 30);
	loss_note(loss, CLIENT, &(struct tcp_event){ .connection = 6, .offset = 1000, .len = 1000,
	    .from_ns = 100 * NS_PER_MS, .to_ns = 105 * NS_PER_MS });
	loss_note(loss, CLIENT, &(struct tcp_event){ .connection = 5, .direction = 1, .offset = 1000, .len = 1000,
	    .from_ns = 100 * NS_PER_MS, .to_ns = 105 * NS_PER_MS });
	cr_assert_eq(cost_ms(loss, &pair), 0);
	cr_assert_eq(pair.parts.lost_segments, 0);
}

Test(loss, hole_that_the_second_copy_filled)
{
	struct loss *loss = loss_new(CAPTURES, keep_pair, &out);
	struct op_pair pair = call_of(142);

	sent(loss, 1200, 1400, 100, 140);
	came(loss, TCP_FILLED, 1200, 1400, 142, 142);
	cr_assert_eq(cost_ms(loss, &pair), 40);
	cr_assert_eq(pair.parts.lost_segments, 1);
}

/* The last segment of a stream leaves no hole: the time at which the call was complete tells. */
Test(loss, tail)
{
	struct loss *loss = loss_new(CAPTURES, keep_pair, &out);
	struct op_pair pair = call_of(142);

	sent(loss, 1900, 2000, 100, 140);
	cr_assert_eq(cost_ms(loss, &pair), 40);

	loss = loss_new(CAPTURES, keep_pair, &out);
	pair = call_of(102);
	sent(loss, 1900, 2000, 100, 140);
	cr_assert_eq(cost_ms(loss, &pair), 0);
}

/* The receiver had it; only the sender did not know. */
Test(loss, needless_copy)
{
	struct loss *loss = loss_new(CAPTURES, keep_pair, &out);
	struct op_pair pair = call_of(171);

	sent(loss, 1200, 1400, 100, 140);
	came(loss, TCP_REPEATED, 1200, 1400, 101, 141);
	cr_assert_eq(cost_ms(loss, &pair), 0);
	cr_assert_eq(pair.parts.lost_segments, 0);
}

/* Three copies: the second one arrived, so the third one cost nothing. */
Test(loss, copy_that_filled_is_told_by_its_time)
{
	struct loss *loss = loss_new(CAPTURES, keep_pair, &out);
	struct op_pair pair = call_of(171);

	sent(loss, 1200, 1400, 100, 130);
	sent(loss, 1200, 1400, 100, 160);
	came(loss, TCP_FILLED, 1200, 1400, 132, 132);
	came(loss, TCP_REPEATED, 1200, 1400, 132, 162);
	cr_assert_eq(cost_ms(loss, &pair), 30);
	cr_assert_eq(pair.parts.lost_segments, 1);

	loss = loss_new(CAPTURES, keep_pair, &out);
	pair = call_of(171);
	sent(loss, 1200, 1400, 100, 130);
	sent(loss, 1200, 1400, 100, 160);
	came(loss, TCP_FILLED, 1200, 1400, 162, 162);
	cr_assert_eq(cost_ms(loss, &pair), 60);
	cr_assert_eq(pair.parts.lost_segments, 2);
}

/* Overlapping waits count once; those with time between them, each. */
Test(loss, union_of_intervals)
{
	struct loss *loss = loss_new(CAPTURES, keep_pair, &out);
	struct op_pair pair = call_of(192);

	sent(loss, 1000, 1200, 100, 120);
	came(loss, TCP_FILLED, 1000, 1200, 121, 121);
	sent(loss, 1200, 1400, 110, 130);
	came(loss, TCP_FILLED, 1200, 1400, 131, 131);
	sent(loss, 1600, 1800, 180, 190);
	came(loss, TCP_FILLED, 1600, 1800, 191, 191);
	cr_assert_eq(cost_ms(loss, &pair), 30 + 10);
	cr_assert_eq(pair.parts.lost_segments, 3);
}

/* TCP hands over in order: an earlier segment's loss holds the call up, from the call's own first byte on. */
Test(loss, of_an_earlier_record)
{
	struct loss *loss = loss_new(CAPTURES, keep_pair, &out);
	struct op_pair pair = call_of(142);

	sent(loss, 600, 800, 60, 140);
	came(loss, TCP_FILLED, 600, 800, 142, 142);
	/* and one behind it does not */
	sent(loss, 2000, 2200, 100, 170);
	came(loss, TCP_FILLED, 2000, 2200, 172, 172);
	cr_assert_eq(cost_ms(loss, &pair), 40);
	cr_assert_eq(pair.parts.lost_segments, 0);
}

/* A segment that was overtaken came as often as it was sent. */
Test(loss, reordered)
{
	struct loss *loss = loss_new(CAPTURES, keep_pair, &out);
	struct op_pair pair = call_of(150);

	sent(loss, 1200, 1400, 100, 140);
	came(loss, TCP_FILLED, 1200, 1400, 142, 142);
	came(loss, TCP_REPEATED, 1200, 1400, 142, 148);
	cr_assert_eq(cost_ms(loss, &pair), 0);
}

Test(loss, kept_within_the_network)
{
	struct loss *loss = loss_new(CAPTURES, keep_pair, &out);
	struct op_pair pair = call_of(142);

	pair.parts.network_ns = 10 * NS_PER_MS;
	sent(loss, 1200, 1400, 100, 140);
	came(loss, TCP_FILLED, 1200, 1400, 142, 142);
	cr_assert_eq(cost_ms(loss, &pair), 10);

	loss = loss_new(CAPTURES, keep_pair, &out);
	pair = call_of(142);
	pair.parts.network_ns = -5;
	sent(loss, 1200, 1400, 100, 140);
	came(loss, TCP_FILLED, 1200, 1400, 142, 142);
	cr_assert_eq(cost_ms(loss, &pair), 0);
}

Test(loss, replies_go_by_the_servers_clock)
{
	struct loss *loss = loss_new(CAPTURES, keep_pair, &out);
	struct op_pair pair = call_of(102);
	struct nfs_op *client = &pair.op[PAIR_CLIENT];

	client->reply_first_ns = client->reply_last_ns = 155 * NS_PER_MS;
	pair.parts.total_ns = 55 * NS_PER_MS;
	pair.parts.network_ns = 54 * NS_PER_MS;
	pair.parts.reply_ns = 52 * NS_PER_MS;
	loss_note(loss, SERVER, &(struct tcp_event){ .connection = 9, .direction = 0, .offset = 100, .len = 200,
	    .from_ns = ahead_ns + 103 * NS_PER_MS, .to_ns = ahead_ns + 153 * NS_PER_MS, .kind = TCP_REPEATED });
	cr_assert_eq(cost_ms(loss, &pair), 50);
	cr_assert_eq(pair.parts.lost_segments, 1);
}

Test(loss, not_known)
{
	struct loss *loss = loss_new(CAPTURES, keep_pair, &out);
	struct op_pair pair = call_of(142);

	/* when the first copy left */
	sent(loss, 1200, 1400, 100, 140);
	loss_note(loss, CLIENT, &(struct tcp_event){ .connection = 5, .offset = 1200, .len = 100,
	    .from_ns = INT64_MIN, .to_ns = 141 * NS_PER_MS, .kind = TCP_REPEATED });
	came(loss, TCP_FILLED, 1200, 1400, 142, 142);
	cr_assert_eq(cost_ms(loss, &pair), -1);

	/* what filled a hole that the sender's capture does not know */
	loss = loss_new(CAPTURES, keep_pair, &out);
	pair = call_of(142);
	came(loss, TCP_FILLED, 1200, 1400, 142, 142);
	cr_assert_eq(cost_ms(loss, &pair), -1);

	/* what the receiver's capture lost */
	loss = loss_new(CAPTURES, keep_pair, &out);
	pair = call_of(142);
	sent(loss, 1200, 1400, 100, 140);
	came(loss, TCP_UNSEEN, 1200, 1400, 101, 142);
	cr_assert_eq(cost_ms(loss, &pair), -1);

	/* a tail, where another copy of it may be among what the capture lost elsewhere */
	loss = loss_new(CAPTURES, keep_pair, &out);
	pair = call_of(142);
	came(loss, TCP_UNSEEN, 10, 20, 1, 1);
	sent(loss, 1900, 2000, 100, 140);
	cr_assert_eq(cost_ms(loss, &pair), -1);

	/* no clock to tell by, and no hole that shows it */
	loss = loss_new(CAPTURES, keep_pair, &out);
	pair = call_of(142);
	pair.parts.aligned = false;
	sent(loss, 1900, 2000, 100, 140);
	cr_assert_eq(cost_ms(loss, &pair), -1);
}

Test(loss, hole_needs_no_clock)
{
	struct loss *loss = loss_new(CAPTURES, keep_pair, &out);
	struct op_pair pair = call_of(142);

	pair.parts.aligned = false;
	sent(loss, 1200, 1400, 100, 140);
	came(loss, TCP_FILLED, 1200, 1400, 142, 142);
	cr_assert_eq(cost_ms(loss, &pair), 40);
}

Test(loss, records_that_differ_or_are_not_first_copies)
{
	struct op_pair pair = call_of(102);
	struct nfs_op *server = &pair.op[PAIR_SERVER], *client = &pair.op[PAIR_CLIENT];

	cr_assert(loss_may_be_known(server, client));
	server->call_bytes++;
	cr_assert(!loss_may_be_known(server, client));
	server->call_bytes--;
	client->flags = OP_CALL_TIME_FILLED;
	cr_assert(!loss_may_be_known(server, client));
	client->flags = OP_REPLY_TIME_FILLED;
	cr_assert(loss_may_be_known(server, client));
	server->flags = OP_REPLY_TIME_STALE;
	cr_assert(!loss_may_be_known(server, client));
	client->reply_bytes = server->reply_bytes = 0;
	server->flags = 0;
	cr_assert(!loss_may_be_known(server, client), "a datagram");
}

/* Of more events than there is room for the newest stay, and it is known that the others are gone. */
Test(loss, forgets_the_oldest)
{
	struct loss *loss = loss_new(CAPTURES, keep_pair, &out);
	struct op_pair pair = call_of(142);

	sent(loss, 1200, 1400, 100, 140);
	came(loss, TCP_FILLED, 1200, 1400, 142, 142);
	for (unsigned i = 0; i < 1 << 15; i++)
		loss_note(loss, CLIENT, &(struct tcp_event){ .connection = 100 + i, .offset = 0, .len = 1,
		    .from_ns = 150 * NS_PER_MS, .to_ns = 150 * NS_PER_MS + i, .kind = TCP_REPEATED });
	cr_assert_eq(cost_ms(loss, &pair), -1);

	loss = loss_new(CAPTURES, keep_pair, &out);
	pair = call_of(142);
	for (unsigned i = 0; i < 1 << 16; i++)
		loss_note(loss, CLIENT, &(struct tcp_event){ .connection = 100 + i, .offset = 0, .len = 1,
		    .from_ns = 50 * NS_PER_MS, .to_ns = 50 * NS_PER_MS + i, .kind = TCP_REPEATED });
	sent(loss, 1200, 1400, 100, 140);
	came(loss, TCP_FILLED, 1200, 1400, 142, 142);
	cr_assert_eq(cost_ms(loss, &pair), 40);
}

static void
read_up_to(struct loss *loss, int64_t ms)
{
	loss_progress(loss, CLIENT, ms * NS_PER_MS);
	loss_progress(loss, SERVER, ahead_ns + ms * NS_PER_MS);
}

/* The first copy was overtaken and comes when the call is long over: nothing was lost. */
Test(loss, waits_for_copies_that_are_late)
{
	struct loss *loss = loss_new(CAPTURES, keep_pair, &out);
	struct op_pair pair = call_of(142);

	pair.op[PAIR_CLIENT].xid = 1;
	sent(loss, 1200, 1400, 100, 140);
	came(loss, TCP_FILLED, 1200, 1400, 142, 142);
	loss_push(loss, SERVER, CLIENT, &pair);
	read_up_to(loss, 160);
	cr_assert_eq(out.op[PAIR_CLIENT].xid, 0, "it waits");
	came(loss, TCP_REPEATED, 1200, 1400, 142, 161);
	read_up_to(loss, 250);
	cr_assert_eq(out.op[PAIR_CLIENT].xid, 1);
	cr_assert(out.parts.retransmit_known);
	cr_assert_eq(out.parts.retransmit_ns, 0);
	loss_free(loss);
}

Test(loss, keeps_the_order)
{
	struct loss *loss = loss_new(CAPTURES, keep_pair, &out);
	struct op_pair pair = call_of(142), other = { .match = MATCH_CLIENT_ONLY, .has = { false, true } };

	pair.op[PAIR_CLIENT].xid = 1;
	other.op[PAIR_CLIENT].xid = 2;
	loss_push(loss, SERVER, CLIENT, &other);
	cr_assert_eq(out.op[PAIR_CLIENT].xid, 2, "nothing to wait for");
	sent(loss, 1200, 1400, 100, 140);
	came(loss, TCP_FILLED, 1200, 1400, 142, 142);
	loss_push(loss, SERVER, CLIENT, &pair);
	other.op[PAIR_CLIENT].xid = 3;
	loss_push(loss, SERVER, CLIENT, &other);
	cr_assert_eq(out.op[PAIR_CLIENT].xid, 2, "behind the one that waits");
	read_up_to(loss, 250);
	cr_assert_eq(out.op[PAIR_CLIENT].xid, 3);
	loss_free(loss);
}

/* Of too many that wait the first one goes. */
Test(loss, waits_in_bounded_memory)
{
	struct loss *loss = loss_new(CAPTURES, keep_pair, &out);
	struct op_pair pair = call_of(142);

	sent(loss, 1200, 1400, 100, 140);
	came(loss, TCP_FILLED, 1200, 1400, 142, 142);
	for (uint32_t i = 1; i <= 1 << 13; i++) {
		pair.op[PAIR_CLIENT].xid = i;
		loss_push(loss, SERVER, CLIENT, &pair);
	}
	cr_assert_eq(out.op[PAIR_CLIENT].xid, 0);
	loss_push(loss, SERVER, CLIENT, &pair);
	cr_assert_eq(out.op[PAIR_CLIENT].xid, 1);
	cr_assert(!out.parts.retransmit_known, "late copies of it may come");
	loss_finish(loss);
	cr_assert_eq(out.op[PAIR_CLIENT].xid, 1 << 13);
	cr_assert(out.parts.retransmit_known);
	loss_free(loss);
}
