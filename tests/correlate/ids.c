#include "correlate/ids.h"

#include <criterion/criterion.h>
#include <string.h>

static struct nfs_op
op_of(unsigned client, unsigned port, uint64_t file)
{
	struct nfs_op op = {
		.client = { .address = { [10] = 0xff, [11] = 0xff, [12] = 10 }, .port = (uint16_t)port },
		.server = { .address = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 2 }, .port = 2049 },
		.file = file,
		.valid = OP_HAS_FILE,
	};

	op.client.address[13] = (uint8_t)(client >> 16);
	op.client.address[14] = (uint8_t)(client >> 8);
	op.client.address[15] = (uint8_t)client;
	return op;
}

Test(ids, are_given_in_the_order_of_arrival_and_stay)
{
	struct ids *ids = ids_new();

	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 1000; i++) {
			struct nfs_op op = op_of(7 * i + 1, 700 + i % 2, i / 2 * UINT64_C(0x123456789));

			cr_assert_eq(ids_of(ids, ID_CLIENT, &op), i + 1);
			cr_assert_eq(ids_of(ids, ID_SERVER, &op), 1);
			cr_assert_eq(ids_of(ids, ID_CONNECTION, &op), i + 1);
			cr_assert_eq(ids_of(ids, ID_FILE, &op), i / 2 + 1);
			cr_assert_eq(ids_of_file(ids, &op), i / 2 + 1);
			op.valid = 0;
			cr_assert_eq(ids_of_file(ids, &op), ID_OTHERS);
		}
	ids_free(ids);
}

Test(ids, that_no_longer_fit_are_others_and_counted)
{
	struct ids *ids = ids_new();
	struct nfs_op op = op_of(0, 700, 0);
	char text[LABEL_SIZE];
	unsigned fit = 0;

	for (unsigned i = 0; i < 100000; i++) {
		op = op_of(i, 700, 0);
		fit += ids_of(ids, ID_CLIENT, &op) != ID_OTHERS;
	}
	cr_assert_lt(fit, 100000);
	cr_assert_eq(ids_overflow(ids, ID_CLIENT), 100000 - fit);
	cr_assert_eq(ids_of(ids, ID_CLIENT, &op), ID_OTHERS);
	cr_assert_eq(ids_overflow(ids, ID_CLIENT), 100001 - fit);
	cr_assert_eq(ids_overflow(ids, ID_FILE), 0);
	op = op_of(5, 700, 0);
	cr_assert_eq(ids_of(ids, ID_CLIENT, &op), 6, "what fits stays");
	label(ids, ID_CLIENT, ID_OTHERS, text);
	cr_assert_str_eq(text, "others");
	ids_free(ids);
}

/* More connections than are remembered, in turn: each finds its own ids again. */
Test(ids, of_both_ends_at_once)
{
	struct ids *ids = ids_new();
	uint32_t client, server, connection;

	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < 2000; i++) {
			struct nfs_op op = op_of(i / 2, 700 + i % 2, 0);

			for (unsigned times = 0; times < 2; times++) {
				ids_of_ends(ids, &op, &client, &server, &connection);
				cr_assert_eq(client, i / 2 + 1);
				cr_assert_eq(server, 1);
				cr_assert_eq(connection, i + 1);
			}
			cr_assert_eq(ids_of(ids, ID_CONNECTION, &op), i + 1);
		}
	ids_free(ids);
}

Test(ids, of_both_ends_that_no_longer_fit_are_counted_each_time)
{
	struct ids *ids = ids_new();
	uint32_t client, server, connection;
	struct nfs_op op;
	unsigned fit = 0;

	for (unsigned i = 0; i < 100000; i++) {
		op = op_of(i, 700, 0);
		ids_of_ends(ids, &op, &client, &server, &connection);
		cr_assert_eq(client, connection);
		fit += client != ID_OTHERS;
	}
	for (unsigned times = 0; times < 3; times++) {
		ids_of_ends(ids, &op, &client, &server, &connection);
		cr_assert_eq(client, ID_OTHERS);
		cr_assert_eq(server, 1);
	}
	cr_assert_eq(ids_overflow(ids, ID_CLIENT), 100003 - fit);
	cr_assert_eq(ids_overflow(ids, ID_CONNECTION), 100003 - fit);
	cr_assert_eq(ids_overflow(ids, ID_SERVER), 0);
	ids_free(ids);
}

Test(ids, of_a_file_that_is_not_known)
{
	struct ids *ids = ids_new();
	struct nfs_op op = op_of(1, 700, 5);

	op.valid = 0;
	cr_assert_eq(ids_of(ids, ID_FILE, &op), ID_OTHERS);
	cr_assert_eq(ids_overflow(ids, ID_FILE), 0);
	ids_free(ids);
}

Test(ids, as_text)
{
	struct ids *ids = ids_new();
	struct nfs_op op = op_of(1, 700, UINT64_C(0x0123456789abcdef));
	struct nfs_op v6 = op;
	char text[LABEL_SIZE];

	memset(v6.client.address, 0, 16);
	memcpy(v6.client.address, "\x20\x01\x0d\xb8", 4);
	v6.client.address[15] = 1;
	label(ids, ID_CLIENT, ids_of(ids, ID_CLIENT, &op), text);
	cr_assert_str_eq(text, "10.0.0.1");
	label(ids, ID_SERVER, ids_of(ids, ID_SERVER, &op), text);
	cr_assert_str_eq(text, "10.0.0.2");
	label(ids, ID_CONNECTION, ids_of(ids, ID_CONNECTION, &op), text);
	cr_assert_str_eq(text, "10.0.0.1:700 > 10.0.0.2:2049");
	label(ids, ID_CLIENT, ids_of(ids, ID_CLIENT, &v6), text);
	cr_assert_str_eq(text, "2001:db8::1");
	label(ids, ID_CONNECTION, ids_of(ids, ID_CONNECTION, &v6), text);
	cr_assert_str_eq(text, "[2001:db8::1]:700 > 10.0.0.2:2049");
	label(ids, ID_FILE, ids_of(ids, ID_FILE, &op), text);
	cr_assert_str_eq(text, "fh:0123456789abcdef");
	label_file(ids, 1, text);
	cr_assert_str_eq(text, "fh:0000000000000001");
	label_address(ids, &v6.client, text);
	cr_assert_str_eq(text, "2001:db8::1");
	label(ids, ID_FILE, 99, text);
	cr_assert_str_eq(text, "others");
	ids_free(ids);
}

/* The longest addresses and ports have room. */
Test(ids, as_long_text)
{
	struct ids *ids = ids_new();
	struct nfs_op op = op_of(1, 65535, 0);
	char text[LABEL_SIZE];

	memset(op.client.address, 0xee, 16);
	memset(op.server.address, 0xdd, 16);
	op.server.port = 65535;
	label(ids, ID_CONNECTION, ids_of(ids, ID_CONNECTION, &op), text);
	cr_assert_str_eq(text, "[eeee:eeee:eeee:eeee:eeee:eeee:eeee:eeee]:65535 > "
	    "[dddd:dddd:dddd:dddd:dddd:dddd:dddd:dddd]:65535");
	ids_free(ids);
}
