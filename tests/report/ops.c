#include <criterion/criterion.h>
#include <glib.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "correlate/ids.h"
#include "report/report.h"
#include "stats/build.h"

#define HEADER "time_ns,client_addr,client_port,server_addr,server_port,xid,version,proc,status,file,offset,size,moved," \
    "slot,match,total_ns,server_ns,network_ns,client_ns,request_ns,reply_ns,clock_error_ns,retransmits," \
    "client_call_frame,client_reply_frame,server_call_frame,server_reply_frame\n"

static char *
written(enum ops_format format, const struct op_pair *pairs, unsigned count)
{
	struct ids *ids = ids_new();
	struct ops_writer *writer;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	writer = ops_writer_new(out, format, ids);
	for (unsigned i = 0; i < count; i++)
		ops_write(writer, &pairs[i]);
	ops_writer_free(writer);
	fclose(out);
	ids_free(ids);
	return text;
}

static struct op_pair
full_pair(void)
{
	struct nfs_op op = build_op(PROC_READ, 0, 98500);
	struct op_pair pair;

	op.status = 70;
	op.retransmits = 1;
	op.slot = 3;
	op.valid |= OP_HAS_SLOT;
	build_data(&op, 0xabc, 65536, 8192, 4096);
	pair = build_pair(&op, 60000);
	pair.parts.aligned = true;
	pair.parts.request_ns = -5;
	pair.parts.reply_ns = 40005;
	pair.parts.clock_error_ns = 77;
	return pair;
}

Test(ops, a_header_without_calls)
{
	char *text = written(OPS_CSV, NULL, 0);

	cr_assert_str_eq(text, HEADER);
	free(text);
	text = written(OPS_NDJSON, NULL, 0);
	cr_assert_str_eq(text, "");
	free(text);
}

Test(ops, a_matched_call)
{
	struct op_pair pair = full_pair();
	char *text = written(OPS_CSV, &pair, 1);

	cr_assert_str_eq(text, HEADER "1700000000000000000,10.0.0.1,700,10.0.0.2,2049,43981,3,READ,70,"
	    "fh:0000000000000abc,65536,8192,4096,3,matched,100000,60000,40000,,-5,40005,77,1,11,12,21,22\n");
	free(text);
}

Test(ops, the_same_as_json)
{
	struct op_pair pair = full_pair();
	char *text = written(OPS_NDJSON, &pair, 1);

	cr_assert_str_eq(text, "{\"time_ns\":1700000000000000000,\"client_addr\":\"10.0.0.1\",\"client_port\":700,"
	    "\"server_addr\":\"10.0.0.2\",\"server_port\":2049,\"xid\":43981,\"version\":\"3\",\"proc\":\"READ\","
	    "\"status\":70,\"file\":\"fh:0000000000000abc\",\"offset\":65536,\"size\":8192,\"moved\":4096,\"slot\":3,"
	    "\"match\":\"matched\",\"total_ns\":100000,\"server_ns\":60000,\"network_ns\":40000,\"client_ns\":null,"
	    "\"request_ns\":-5,\"reply_ns\":40005,\"clock_error_ns\":77,\"retransmits\":1,\"client_call_frame\":11,"
	    "\"client_reply_frame\":12,\"server_call_frame\":21,\"server_reply_frame\":22}\n");
	free(text);
}

static void
assert_field(const struct op_pair *pair, const char *key, const char *value)
{
	char *text = written(OPS_NDJSON, pair, 1);
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	char *found = json_dumps(json_object_get(root, key), JSON_ENCODE_ANY);

	cr_assert_not_null(root, "%s", text);
	cr_assert_eq(json_object_size(root), 27);
	cr_assert_str_eq(found, value, "%s is %s, not %s", key, found, value);
	free(found);
	json_decref(root);
	free(text);
}

Test(ops, a_call_of_one_side_goes_by_its_outcome)
{
	static const struct {
		uint8_t outcome;
		const char *client, *server;
	} cases[] = {
		{ OP_ANSWERED, "\"client_only\"", "\"server_only\"" },
		{ OP_UNANSWERED, "\"unanswered\"", "\"unanswered\"" },
		{ OP_LOST_IN_CAPTURE, "\"lost_in_capture\"", "\"lost_in_capture\"" },
		{ OP_IN_FLIGHT, "\"in_flight\"", "\"in_flight\"" },
		{ OP_EVICTED, "\"evicted\"", "\"evicted\"" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct op_pair pair = full_pair();

		pair.op[0].outcome = pair.op[1].outcome = cases[i].outcome;
		pair.has[PAIR_SERVER] = false;
		pair.match = MATCH_CLIENT_ONLY;
		assert_field(&pair, "match", cases[i].client);
		pair.has[PAIR_SERVER] = true;
		pair.has[PAIR_CLIENT] = false;
		pair.match = MATCH_SERVER_ONLY;
		assert_field(&pair, "match", cases[i].server);
	}
}

Test(ops, what_one_side_alone_shows)
{
	struct op_pair pair = full_pair();

	pair.match = MATCH_CLIENT_ONLY;
	pair.has[PAIR_SERVER] = false;
	assert_field(&pair, "total_ns", "100000");
	assert_field(&pair, "server_ns", "null");
	assert_field(&pair, "network_ns", "null");
	assert_field(&pair, "request_ns", "null");
	assert_field(&pair, "server_call_frame", "null");
	assert_field(&pair, "client_call_frame", "11");
	pair = full_pair();
	pair.match = MATCH_SERVER_ONLY;
	pair.has[PAIR_CLIENT] = false;
	assert_field(&pair, "time_ns", "1700000000000020000");
	assert_field(&pair, "total_ns", "null");
	assert_field(&pair, "server_ns", "60000");
	assert_field(&pair, "client_reply_frame", "null");
}

Test(ops, what_is_not_known_is_null)
{
	struct op_pair pair = full_pair();

	pair.parts.aligned = false;
	pair.op[0].valid = pair.op[1].valid = 0;
	pair.match = MATCH_PARTIAL;
	assert_field(&pair, "match", "\"partial\"");
	assert_field(&pair, "time_ns", "null");
	assert_field(&pair, "status", "null");
	assert_field(&pair, "file", "null");
	assert_field(&pair, "offset", "null");
	assert_field(&pair, "size", "null");
	assert_field(&pair, "moved", "null");
	assert_field(&pair, "slot", "null");
	assert_field(&pair, "total_ns", "null");
	assert_field(&pair, "clock_error_ns", "null");
	assert_field(&pair, "client_call_frame", "null");
}

Test(ops, either_side_may_know_a_field)
{
	struct op_pair pair = full_pair();

	pair.op[PAIR_CLIENT].valid &= ~(uint32_t)(OP_HAS_FILE | OP_HAS_MOVED);
	pair.op[PAIR_SERVER].moved_bytes = 99;
	assert_field(&pair, "file", "\"fh:0000000000000abc\"");
	assert_field(&pair, "moved", "99");
}

Test(ops, the_largest_numbers)
{
	struct op_pair pair = full_pair();

	pair.op[PAIR_CLIENT].file_offset = INT64_MAX;
	pair.parts.total_ns = INT64_MIN;
	pair.parts.server_ns = INT64_MAX;
	pair.op[PAIR_CLIENT].xid = UINT32_MAX;
	assert_field(&pair, "offset", "9223372036854775807");
	assert_field(&pair, "total_ns", "-9223372036854775808");
	assert_field(&pair, "server_ns", "9223372036854775807");
	assert_field(&pair, "xid", "4294967295");
}

/* Kept texts must not be mixed up: more keys than there are places for them. */
Test(ops, many_calls)
{
	enum { CALLS = 20000 };
	g_autofree struct op_pair *pairs = g_new(struct op_pair, CALLS);
	uint64_t random = 9;
	char *text, *line;
	unsigned at = 0;

	for (unsigned i = 0; i < CALLS; i++) {
		pairs[i] = full_pair();
		pairs[i].op[PAIR_CLIENT].file = build_random(&random, 5000);
		pairs[i].op[PAIR_CLIENT].client.address[14] = (uint8_t)build_random(&random, 256);
		pairs[i].op[PAIR_CLIENT].client.address[15] = (uint8_t)build_random(&random, 256);
		pairs[i].op[PAIR_CLIENT].procedure = pairs[i].op[PAIR_CLIENT].operation = build_random(&random, 2000);
	}
	text = written(OPS_NDJSON, pairs, CALLS);
	for (line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"), at++) {
		const struct nfs_op *op = &pairs[at].op[PAIR_CLIENT];
		g_autofree char *client = g_strdup_printf("\"client_addr\":\"10.0.%u.%u\",", op->client.address[14],
		    op->client.address[15]);
		g_autofree char *file = g_strdup_printf("\"file\":\"fh:%016lx\",", (unsigned long)op->file);

		cr_assert_not_null(strstr(line, client), "%s", line);
		cr_assert_not_null(strstr(line, file), "%s", line);
		if (op->procedure > 100) {
			g_autofree char *procedure = g_strdup_printf("\"proc\":\"%u\",", op->procedure);

			cr_assert_not_null(strstr(line, procedure), "%s", line);
		}
	}
	cr_assert_eq(at, CALLS);
	free(text);
}

Test(ops, a_full_disk_is_left_in_the_stream)
{
	FILE *out = fopen("/dev/full", "w");
	struct ids *ids = ids_new();
	struct ops_writer *writer = ops_writer_new(out, OPS_CSV, ids);
	struct op_pair pair = full_pair();

	for (unsigned i = 0; i < 10000; i++)
		ops_write(writer, &pair);
	ops_writer_free(writer);
	cr_assert(ferror(out) || fflush(out) != 0);
	fclose(out);
	ids_free(ids);
}
