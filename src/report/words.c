#include "report/words.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/names.h"
#include "stats/rows.h"

const char *const side_words[2] = {
	[PAIR_SERVER] = "server",
	[PAIR_CLIENT] = "client",
};

const char *const component_words[] = {
	[COMPONENT_SERVER] = "server",
	[COMPONENT_NETWORK] = "network",
	[COMPONENT_CLIENT] = "client",
	[COMPONENT_NONE] = "none",
	[COMPONENT_CAPTURE] = "capture",
};

const char *const confidence_words[] = {
	[CONFIDENCE_HIGH] = "high",
	[CONFIDENCE_MEDIUM] = "medium",
	[CONFIDENCE_LOW] = "low",
};

const char *const quality_words[] = {
	[QUALITY_GOOD] = "good",
	[QUALITY_USABLE] = "usable",
	[QUALITY_POOR] = "poor",
};

void
row_names(const struct row_key *key, char version[NAME_SIZE], char procedure[NAME_SIZE])
{
	struct nfs_op op = {
		.program = key->program,
		.version = key->version,
		.minor = key->minor,
		.procedure = key->procedure,
		.operation = key->operation,
	};

	if (row_key_is_others(key)) {
		g_strlcpy(version, "others", NAME_SIZE);
		g_strlcpy(procedure, "others", NAME_SIZE);
		return;
	}
	op_version_label(&op, version, NAME_SIZE);
	op_procedure_name(&op, procedure, NAME_SIZE);
}

bool
share_of(__int128 part, __int128 whole, double *share)
{
	if (whole <= 0)
		return false;
	*share = (double)part / (double)whole;
	return true;
}

/* Copies of a call may have gone over several connections, and an op knows the port of one. */
static bool
sent_again(const struct op_pair *pair)
{
	for (unsigned side = 0; side < 2; side++)
		if (pair->has[side] && pair->op[side].retransmits > 0)
			return true;
	return false;
}

/*
 * The port keeps calls of other connections out, and both sides' files must
 * still show the call: behind an address translation they have no port in
 * common.
 */
static void
filter_words(const struct op_pair *pair, struct call_words *words)
{
	unsigned port = words->op->client.port;

	if (sent_again(pair) || (pair->has[PAIR_SERVER] && pair->has[PAIR_CLIENT] &&
	    pair->op[PAIR_SERVER].client.port != pair->op[PAIR_CLIENT].client.port))
		g_snprintf(words->filter, FILTER_SIZE, "rpc.xid == 0x%08x", words->op->xid);
	else
		g_snprintf(words->filter, FILTER_SIZE, "rpc.xid == 0x%08x && (tcp.port == %u || udp.port == %u)",
		    words->op->xid, port, port);
}

void
call_words(const struct op_pair *pair, struct call_words *words)
{
	const struct nfs_op *file = pair_with(pair, OP_HAS_FILE), *offset = pair_with(pair, OP_HAS_OFFSET);
	struct row_key key;

	*words = (struct call_words){ .op = pair_op(pair) };
	key = row_key_of(words->op);
	row_names(&key, words->version, words->procedure);
	for (unsigned side = 0; side < 2; side++) {
		const struct nfs_op *op = &pair->op[side];

		if (pair->has[side] && op_has(op, OP_HAS_CALL_FIRST))
			words->frame[side][0] = op->call_frame;
		if (pair->has[side] && op_has(op, OP_HAS_REPLY_FIRST))
			words->frame[side][1] = op->reply_frame;
	}
	words->has_file = file != NULL;
	words->file = file != NULL ? file->file : 0;
	words->has_offset = offset != NULL;
	words->offset = offset != NULL ? offset->file_offset : 0;
	words->has_size = pair_size(pair, &words->size);
	filter_words(pair, words);
}

struct slow_times
slow_times(const struct op_pair *pair)
{
	struct slow_times times = { 0 };

	if (pair->match == MATCH_MATCHED) {
		times.has_total = times.has_server = times.has_network = true;
		times.total_ns = pair->parts.total_ns;
		times.server_ns = pair->parts.server_ns;
		times.network_ns = pair->parts.network_ns;
		times.has_client = pair->parts.client_known;
		times.client_ns = pair->parts.client_ns;
		times.has_retransmit = pair->parts.retransmit_known;
		times.retransmit_ns = pair->parts.retransmit_ns;
		return times;
	}
	if (pair->has[PAIR_CLIENT]) {
		const struct nfs_op *op = &pair->op[PAIR_CLIENT];

		times.has_total = op_has(op, OP_HAS_CALL_FIRST | OP_HAS_REPLY_LAST);
		times.total_ns = duration_ns(op->call_first_ns, op->reply_last_ns);
	}
	if (pair->has[PAIR_SERVER]) {
		const struct nfs_op *op = &pair->op[PAIR_SERVER];

		times.has_server = op_has(op, OP_HAS_CALL_LAST | OP_HAS_REPLY_FIRST);
		times.server_ns = duration_ns(op->call_last_ns, op->reply_first_ns);
	}
	return times;
}

const struct slow_call *
report_slowest(const struct report *report, unsigned *count)
{
	if (report->two_sided || report->capture_count != 1)
		return aggregate_slowest(report->aggregate, count);
	return aggregate_slowest_alone(report->aggregate, report->captures[0].side, count);
}

struct named_row {
	const struct breakdown_row *row;
	char name[LABEL_SIZE];
};

/* The largest count first, others last. */
static int
compare_named(const void *a, const void *b)
{
	const struct named_row *x = a, *y = b;
	int order;

	if ((x->row->id == ID_OTHERS) != (y->row->id == ID_OTHERS))
		return x->row->id == ID_OTHERS ? 1 : -1;
	if (x->row->count != y->row->count)
		return x->row->count > y->row->count ? -1 : 1;
	order = strcmp(x->name, y->name);
	return order != 0 ? order : row_key_compare(&x->row->key, &y->row->key);
}

const struct breakdown_row **
report_breakdown(const struct report *report, enum breakdown_kind kind, unsigned *count)
{
	const struct breakdown_row *const *rows = aggregate_breakdown(report->aggregate, kind, count);
	const struct breakdown_row **order = g_new(const struct breakdown_row *, *count + 1);
	g_autofree struct named_row *named = NULL;

	for (unsigned i = 0; i < *count; i++)
		order[i] = rows[i];
	if (kind == BREAKDOWN_SIZE || kind == BREAKDOWN_TIME || *count == 0)
		return order;
	named = g_new(struct named_row, *count);
	for (unsigned i = 0; i < *count; i++) {
		named[i].row = rows[i];
		breakdown_label(report, kind, rows[i]->id, named[i].name);
	}
	qsort(named, *count, sizeof(*named), compare_named);
	for (unsigned i = 0; i < *count; i++)
		order[i] = named[i].row;
	return order;
}

void
breakdown_label(const struct report *report, enum breakdown_kind kind, uint64_t id, char name[LABEL_SIZE])
{
	static const enum id_kind kinds[BREAKDOWN_KINDS] = {
		[BREAKDOWN_CLIENT] = ID_CLIENT,
		[BREAKDOWN_SERVER] = ID_SERVER,
		[BREAKDOWN_FILE] = ID_FILE,
		[BREAKDOWN_CONNECTION] = ID_CONNECTION,
	};

	label(report->ids, kinds[kind], (uint32_t)id, name);
}
