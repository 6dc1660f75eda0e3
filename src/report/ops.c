/*
 * One record per call, CSV or NDJSON: the columns of CONTRACT section 4.
 *
 * A record is some 250 bytes made from 27 fields, so numbers are formatted by
 * hand and texts are kept: the label of an address, a file or a procedure is
 * asked for once and found again by its key.
 */
#include <glib.h>
#include <string.h>

#include "report/report.h"
#include "report/words.h"
#include "stats/rows.h"

enum {
	BUFFER = 1 << 16,
	/* Room for one record: three labels, each byte of them escaped, and the numbers. */
	RECORD_MAX = 8192,
	KEPT_BITS = 8, KEPT = 1 << KEPT_BITS,
	KEPT_TEXT = 6 * LABEL_SIZE + 2,
};

/* Texts as they go out, quoted and escaped for the format. */
struct kept_text {
	bool used;
	uint16_t len;
	char text[KEPT_TEXT];
};
struct kept_address {
	uint8_t address[16];
	struct kept_text name;
};
struct kept_file {
	uint64_t file;
	struct kept_text name;
};
struct kept_names {
	struct row_key key;
	struct kept_text version, procedure;
};

struct ops_writer {
	FILE *out;
	enum ops_format format;
	const struct ids *ids;
	size_t used;
	char buffer[BUFFER];
	struct kept_address address[KEPT];
	struct kept_file file[KEPT];
	struct kept_names names[KEPT];
};

/* What the columns of one record are made from. */
struct record {
	const struct op_pair *pair;
	const struct nfs_op *op;	/* that names the call */
	const struct kept_names *names;
	struct slow_times times;
};

static void
put_bytes(struct ops_writer *writer, const char *bytes, size_t len)
{
	memcpy(writer->buffer + writer->used, bytes, len);
	writer->used += len;
}

static void
put_u64(struct ops_writer *writer, uint64_t value)
{
	static const char pairs[] =
	    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
	    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
	    "8081828384858687888990919293949596979899";
	char digits[20], *at = digits + sizeof(digits);

	while (value >= 100) {
		at -= 2;
		memcpy(at, pairs + 2 * (value % 100), 2);
		value /= 100;
	}
	if (value >= 10) {
		at -= 2;
		memcpy(at, pairs + 2 * value, 2);
	} else {
		*--at = (char)('0' + value);
	}
	put_bytes(writer, at, (size_t)(digits + sizeof(digits) - at));
}

static void
put_i64(struct ops_writer *writer, int64_t value)
{
	if (value < 0) {
		writer->buffer[writer->used++] = '-';
		put_u64(writer, -(uint64_t)value);
	} else {
		put_u64(writer, (uint64_t)value);
	}
}

static void
put_unknown(struct ops_writer *writer)
{
	if (writer->format == OPS_NDJSON)
		put_bytes(writer, "null", 4);
}

static void
put_known(struct ops_writer *writer, bool known, int64_t value)
{
	if (known)
		put_i64(writer, value);
	else
		put_unknown(writer);
}

static void
put_kept(struct ops_writer *writer, const struct kept_text *kept)
{
	put_bytes(writer, kept->text, kept->len);
}

/* RFC 4180 section 2: quoted when it holds a comma, a quote or a line break. */
static void
keep_csv(struct kept_text *kept, const char *text)
{
	bool quote = strpbrk(text, ",\"\r\n") != NULL;
	size_t len = 0;

	if (quote)
		kept->text[len++] = '"';
	for (; *text != '\0'; text++) {
		if (*text == '"')
			kept->text[len++] = '"';
		kept->text[len++] = *text;
	}
	if (quote)
		kept->text[len++] = '"';
	kept->len = (uint16_t)len;
}

/* RFC 8259 section 7. Labels are ASCII; a byte that is not could break the line's encoding. */
static void
keep_json(struct kept_text *kept, const char *text)
{
	static const char hex[] = "0123456789abcdef";
	size_t len = 0;

	kept->text[len++] = '"';
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c >= 0x7f) {
			memcpy(kept->text + len, "\\u00", 4);
			kept->text[len + 4] = hex[c >> 4];
			kept->text[len + 5] = hex[c & 15];
			len += 6;
			continue;
		}
		if (c == '"' || c == '\\')
			kept->text[len++] = '\\';
		kept->text[len++] = (char)c;
	}
	kept->text[len++] = '"';
	kept->len = (uint16_t)len;
}

static void
keep(const struct ops_writer *writer, struct kept_text *kept, const char *text)
{
	if (writer->format == OPS_CSV)
		keep_csv(kept, text);
	else
		keep_json(kept, text);
	kept->used = true;
}

static unsigned
place_of(uint64_t value)
{
	return (unsigned)(value * UINT64_C(0x9e3779b97f4a7c15) >> (64 - KEPT_BITS));
}

static void
put_address(struct ops_writer *writer, const struct net_endpoint *endpoint)
{
	struct kept_address *kept;
	char name[LABEL_SIZE];
	uint64_t low;

	memcpy(&low, endpoint->address + 8, sizeof(low));
	kept = &writer->address[place_of(low)];
	if (!kept->name.used || memcmp(kept->address, endpoint->address, sizeof(kept->address)) != 0) {
		memcpy(kept->address, endpoint->address, sizeof(kept->address));
		label_address(writer->ids, endpoint, name);
		keep(writer, &kept->name, name);
	}
	put_kept(writer, &kept->name);
}

static const struct kept_names *
names_of(struct ops_writer *writer, const struct nfs_op *op)
{
	struct row_key key = row_key_of(op);
	struct kept_names *kept = &writer->names[place_of((uint64_t)key.program << 32 ^
	    (uint64_t)key.version << 24 ^ (uint64_t)key.minor << 16 ^ key.procedure << 8 ^ key.operation)];
	char version[NAME_SIZE], procedure[NAME_SIZE];

	if (!kept->version.used || row_key_compare(&kept->key, &key) != 0) {
		kept->key = key;
		row_names(&key, version, procedure);
		keep(writer, &kept->version, version);
		keep(writer, &kept->procedure, procedure);
	}
	return kept;
}

static void
put_time(struct ops_writer *writer, const struct record *record)
{
	const struct nfs_op *op = pair_with(record->pair, OP_HAS_CALL_FIRST);

	put_known(writer, op != NULL, op != NULL ? op->call_first_ns : 0);
}

static void
put_client_addr(struct ops_writer *writer, const struct record *record)
{
	put_address(writer, &record->op->client);
}

static void
put_client_port(struct ops_writer *writer, const struct record *record)
{
	put_u64(writer, record->op->client.port);
}

static void
put_server_addr(struct ops_writer *writer, const struct record *record)
{
	put_address(writer, &record->op->server);
}

static void
put_server_port(struct ops_writer *writer, const struct record *record)
{
	put_u64(writer, record->op->server.port);
}

static void
put_xid(struct ops_writer *writer, const struct record *record)
{
	put_u64(writer, record->op->xid);
}

static void
put_version(struct ops_writer *writer, const struct record *record)
{
	put_kept(writer, &record->names->version);
}

static void
put_procedure(struct ops_writer *writer, const struct record *record)
{
	put_kept(writer, &record->names->procedure);
}

static void
put_status(struct ops_writer *writer, const struct record *record)
{
	const struct nfs_op *op = pair_with(record->pair, OP_HAS_STATUS);

	put_known(writer, op != NULL, op != NULL ? op->status : 0);
}

static void
put_file(struct ops_writer *writer, const struct record *record)
{
	const struct nfs_op *op = pair_with(record->pair, OP_HAS_FILE);
	struct kept_file *kept;
	char name[LABEL_SIZE];

	if (op == NULL) {
		put_unknown(writer);
		return;
	}
	kept = &writer->file[place_of(op->file)];
	if (!kept->name.used || kept->file != op->file) {
		kept->file = op->file;
		label_file(writer->ids, op->file, name);
		keep(writer, &kept->name, name);
	}
	put_kept(writer, &kept->name);
}

static void
put_offset(struct ops_writer *writer, const struct record *record)
{
	const struct nfs_op *op = pair_with(record->pair, OP_HAS_OFFSET);

	if (op != NULL)
		put_u64(writer, op->file_offset);
	else
		put_unknown(writer);
}

static void
put_size(struct ops_writer *writer, const struct record *record)
{
	const struct nfs_op *op = pair_with(record->pair, OP_HAS_REQUESTED);

	put_known(writer, op != NULL, op != NULL ? op->requested_bytes : 0);
}

static void
put_moved(struct ops_writer *writer, const struct record *record)
{
	const struct nfs_op *op = pair_with(record->pair, OP_HAS_MOVED);

	put_known(writer, op != NULL, op != NULL ? op->moved_bytes : 0);
}

static void
put_slot(struct ops_writer *writer, const struct record *record)
{
	const struct nfs_op *op = pair_with(record->pair, OP_HAS_SLOT);

	put_known(writer, op != NULL, op != NULL ? op->slot : 0);
}

static const char *const match_words[MATCHES] = {
	[MATCH_MATCHED] = "matched",
	[MATCH_PARTIAL] = "partial",
	[MATCH_SERVER_ONLY] = "server_only",
	[MATCH_CLIENT_ONLY] = "client_only",
	[MATCH_AMBIGUOUS] = "ambiguous",
};

static const char *const outcome_words[OP_OUTCOMES] = {
	[OP_UNANSWERED] = "unanswered",
	[OP_LOST_IN_CAPTURE] = "lost_in_capture",
	[OP_IN_FLIGHT] = "in_flight",
	[OP_EVICTED] = "evicted",
};

/* A call that one side alone has and that was not answered there goes by its outcome. */
static void
put_match(struct ops_writer *writer, const struct record *record)
{
	const struct op_pair *pair = record->pair;
	bool alone = pair->has[PAIR_SERVER] != pair->has[PAIR_CLIENT];
	const char *word = match_words[pair->match];

	if (alone && record->op->outcome != OP_ANSWERED)
		word = outcome_words[record->op->outcome];
	if (writer->format == OPS_NDJSON)
		put_bytes(writer, "\"", 1);
	put_bytes(writer, word, strlen(word));
	if (writer->format == OPS_NDJSON)
		put_bytes(writer, "\"", 1);
}

static void
put_total(struct ops_writer *writer, const struct record *record)
{
	put_known(writer, record->times.has_total, record->times.total_ns);
}

static void
put_server(struct ops_writer *writer, const struct record *record)
{
	put_known(writer, record->times.has_server, record->times.server_ns);
}

static void
put_network(struct ops_writer *writer, const struct record *record)
{
	put_known(writer, record->times.has_network, record->times.network_ns);
}

static void
put_client(struct ops_writer *writer, const struct record *record)
{
	put_known(writer, record->times.has_client, record->times.client_ns);
}

static bool
is_aligned(const struct record *record)
{
	return record->pair->match == MATCH_MATCHED && record->pair->parts.aligned;
}

static void
put_request(struct ops_writer *writer, const struct record *record)
{
	put_known(writer, is_aligned(record), record->pair->parts.request_ns);
}

static void
put_reply(struct ops_writer *writer, const struct record *record)
{
	put_known(writer, is_aligned(record), record->pair->parts.reply_ns);
}

static void
put_clock_error(struct ops_writer *writer, const struct record *record)
{
	put_known(writer, is_aligned(record), record->pair->parts.clock_error_ns);
}

static void
put_retransmits(struct ops_writer *writer, const struct record *record)
{
	put_u64(writer, record->op->retransmits);
}

static void
put_frame(struct ops_writer *writer, const struct record *record, enum pair_side side, bool reply)
{
	const struct nfs_op *op = &record->pair->op[side];

	if (!record->pair->has[side] || !op_has(op, reply ? OP_HAS_REPLY_FIRST : OP_HAS_CALL_FIRST))
		put_unknown(writer);
	else
		put_u64(writer, reply ? op->reply_frame : op->call_frame);
}

static void
put_client_call_frame(struct ops_writer *writer, const struct record *record)
{
	put_frame(writer, record, PAIR_CLIENT, false);
}

static void
put_client_reply_frame(struct ops_writer *writer, const struct record *record)
{
	put_frame(writer, record, PAIR_CLIENT, true);
}

static void
put_server_call_frame(struct ops_writer *writer, const struct record *record)
{
	put_frame(writer, record, PAIR_SERVER, false);
}

static void
put_server_reply_frame(struct ops_writer *writer, const struct record *record)
{
	put_frame(writer, record, PAIR_SERVER, true);
}

/* In the order of CONTRACT section 4. */
#define COLUMN(name, put) { name, ",\"" name "\":", sizeof(",\"" name "\":") - 1, put }
static const struct column {
	const char *name;
	const char *key;	/* before a value of NDJSON */
	size_t key_len;
	void (*put)(struct ops_writer *writer, const struct record *record);
} columns[] = {
	COLUMN("time_ns", put_time),
	COLUMN("client_addr", put_client_addr),
	COLUMN("client_port", put_client_port),
	COLUMN("server_addr", put_server_addr),
	COLUMN("server_port", put_server_port),
	COLUMN("xid", put_xid),
	COLUMN("version", put_version),
	COLUMN("proc", put_procedure),
	COLUMN("status", put_status),
	COLUMN("file", put_file),
	COLUMN("offset", put_offset),
	COLUMN("size", put_size),
	COLUMN("moved", put_moved),
	COLUMN("slot", put_slot),
	COLUMN("match", put_match),
	COLUMN("total_ns", put_total),
	COLUMN("server_ns", put_server),
	COLUMN("network_ns", put_network),
	COLUMN("client_ns", put_client),
	COLUMN("request_ns", put_request),
	COLUMN("reply_ns", put_reply),
	COLUMN("clock_error_ns", put_clock_error),
	COLUMN("retransmits", put_retransmits),
	COLUMN("client_call_frame", put_client_call_frame),
	COLUMN("client_reply_frame", put_client_reply_frame),
	COLUMN("server_call_frame", put_server_call_frame),
	COLUMN("server_reply_frame", put_server_reply_frame),
};

static void
ops_flush(struct ops_writer *writer)
{
	fwrite(writer->buffer, 1, writer->used, writer->out);
	writer->used = 0;
}

struct ops_writer *
ops_writer_new(FILE *out, enum ops_format format, const struct ids *ids)
{
	struct ops_writer *writer = g_new0(struct ops_writer, 1);

	writer->out = out;
	writer->format = format;
	writer->ids = ids;
	if (format == OPS_NDJSON)
		return writer;
	for (size_t i = 0; i < G_N_ELEMENTS(columns); i++) {
		put_bytes(writer, ",", i > 0);
		put_bytes(writer, columns[i].name, strlen(columns[i].name));
	}
	put_bytes(writer, "\n", 1);
	return writer;
}

void
ops_writer_free(struct ops_writer *writer)
{
	if (writer == NULL)
		return;
	ops_flush(writer);
	g_free(writer);
}

static void
write_csv(struct ops_writer *writer, const struct record *record)
{
	for (size_t i = 0; i < G_N_ELEMENTS(columns); i++) {
		columns[i].put(writer, record);
		writer->buffer[writer->used++] = ',';
	}
	writer->buffer[writer->used - 1] = '\n';
}

static void
write_ndjson(struct ops_writer *writer, const struct record *record)
{
	size_t start = writer->used;

	for (size_t i = 0; i < G_N_ELEMENTS(columns); i++) {
		put_bytes(writer, columns[i].key, columns[i].key_len);
		columns[i].put(writer, record);
	}
	writer->buffer[start] = '{';	/* for the first key's comma */
	put_bytes(writer, "}\n", 2);
}

void
ops_write(struct ops_writer *writer, const struct op_pair *pair)
{
	struct record record = {
		.pair = pair,
		.op = pair_op(pair),
		.names = names_of(writer, pair_op(pair)),
		.times = slow_times(pair),
	};

	if (BUFFER - writer->used < RECORD_MAX)
		ops_flush(writer);
	if (writer->format == OPS_CSV)
		write_csv(writer, &record);
	else
		write_ndjson(writer, &record);
}
