#include <criterion/criterion.h>

#include "stats/build.h"
#include "stats/serial.h"
#include "stats/transit.h"

/* READ of 1000 bytes of a file at an offset, from a time on, for 100 ns. */
static struct nfs_op
read_op(uint64_t file, uint64_t offset, int64_t at_ns)
{
	struct nfs_op op = build_op(PROC_READ, at_ns, 0);

	op.reply_last_ns = op.call_first_ns + 100;
	build_data(&op, file, offset, 1000, 1000);
	return op;
}

static void
add(struct serial *serial, uint64_t file, uint64_t offset, int64_t at_ns)
{
	struct nfs_op op = read_op(file, offset, at_ns);

	serial_add(serial, &op, 1);
}

Test(serial, in_turn)
{
	struct serial serial = { 0 }, sum = { 0 };

	/* two files at a time, from 10 ns after the reply before */
	for (unsigned i = 0; i < 10; i++) {
		add(&serial, 1, i * 1000, i * 220);
		add(&serial, 2, i * 1000, i * 220 + 110);
	}
	cr_assert_eq(serial.reads, 20);
	cr_assert_eq(serial.sequential, 18);
	cr_assert_eq(serial.in_turn, 18);
	cr_assert_eq(serial.bytes, 18000);
	cr_assert_eq(serial.time_ns, 1800);
	cr_assert_eq(serial.gap_ns, 18 * 120);
	serial_merge(&sum, &serial);
	serial_merge(&sum, &serial);
	cr_assert_eq(sum.in_turn, 36);
	cr_assert_eq(sum.gap_ns, 2 * serial.gap_ns);
}

Test(serial, not_in_turn)
{
	struct serial serial = { 0 };
	struct nfs_op op;

	add(&serial, 1, 0, 0);
	add(&serial, 1, 1000, 50);		/* read ahead */
	cr_assert_eq(serial.sequential, 1);
	cr_assert_eq(serial.in_turn, 0);
	add(&serial, 1, 5000, 300);		/* elsewhere */
	cr_assert_eq(serial.sequential, 1);
	op = read_op(1, 6000, 500);
	op.procedure = op.operation = PROC_WRITE;
	serial_add(&serial, &op, 1);
	op = read_op(1, 6000, 500);
	op.version = 4;				/* operation 6 of NFSv4 is none that reads */
	serial_add(&serial, &op, 1);
	cr_assert_eq(serial.reads, 3);
	op.operation = 25;
	serial_add(&serial, &op, 1);
	cr_assert_eq(serial.in_turn, 1);
}

/* Where the senders' time goes does not count, nor what is in the server. */
Test(transit, of_the_bytes)
{
	struct transit transit = { 0 }, sum = { 0 };
	struct nfs_op op = build_op(PROC_READ, 0, 500000 + 40000);
	struct op_pair pair;

	build_data(&op, 1, 0, 65536, 65536);
	pair = build_pair(&op, 500000);
	transit_add(&transit, &pair, 65536);
	/* the server takes 3 ms longer to send the reply, and it arrives as much later */
	pair.op[PAIR_SERVER].reply_last_ns += 3000000;
	pair.op[PAIR_CLIENT].reply_last_ns += 3000000;
	pair.parts.total_ns += 3000000;
	pair.parts.network_ns += 3000000;
	transit_add(&transit, &pair, 65536);
	cr_assert_eq(transit.all.count, 2);
	cr_assert_eq(transit.all.min_ns, 40000);
	cr_assert_eq(transit.all.max_ns, 40000);
	cr_assert_eq(transit.data[PAIR_CLIENT].count, 2);
	cr_assert_eq(transit.data[PAIR_SERVER].count, 0);
	cr_assert_eq((int64_t)transit.total_ns, 2 * 541500 + 3000000);
	/* a copy's stamps say nothing of the way */
	pair.op[PAIR_CLIENT].retransmits = 1;
	transit_add(&transit, &pair, 65536);
	cr_assert_eq(transit.all.count, 2);
	cr_assert_eq(transit.calls, 3);
	transit_merge(&sum, &transit);
	transit_merge(&sum, &transit);
	cr_assert_eq(sum.all.count, 4);
	cr_assert_eq(sum.calls, 6);
	transit_clear(&transit);
	transit_clear(&sum);
}

/* One call in a thousand during which a clock was set does not make the way short; the shortest ones of many do. */
Test(transit, base)
{
	struct transit transit = { 0 };

	for (unsigned i = 0; i < 1000; i++)
		dist_add(&transit.all, 10000000 + i);
	cr_assert_eq(transit_base_ns(&transit), 10000000);
	dist_add(&transit.all, -5000000);
	cr_assert_float_eq((double)transit_base_ns(&transit), 1e7, 1e5);
	transit_clear(&transit);
}
