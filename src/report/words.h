/*
 * Words that more than one exporter needs: names of rows, calls and enums, and
 * shares.
 */
#ifndef REPORT_WORDS_H
#define REPORT_WORDS_H

#include "correlate/ids.h"
#include "report/report.h"

enum { NAME_SIZE = 40, FILTER_SIZE = 128 };

/* "3" and "READ"; "others" for what no longer fitted. */
void row_names(const struct row_key *key, char version[NAME_SIZE], char procedure[NAME_SIZE]);

extern const char *const side_words[2];		/* enum pair_side */
extern const char *const component_words[];	/* enum component */
extern const char *const confidence_words[];	/* enum confidence */
extern const char *const quality_words[];	/* enum quality_level */

/* part / whole; false when the whole is not above zero. */
bool share_of(__int128 part, __int128 whole, double *share);

/* A call of the slowest list: what either side knows of it, the client first. */
struct call_words {
	const struct nfs_op *op;	/* that names the call */
	char version[NAME_SIZE], procedure[NAME_SIZE];
	uint64_t frame[2][2];		/* enum pair_side, call and reply; 0: not known */
	bool has_file, has_offset, has_size;
	uint64_t file, offset;
	uint32_t size;			/* moved, else requested bytes */
	char filter[FILTER_SIZE];	/* Wireshark's display filter */
};
void call_words(const struct op_pair *pair, struct call_words *words);

/* The times of a call of the slowest list, as far as its captures show them. */
struct slow_times {
	bool has_total, has_server, has_network, has_client, has_retransmit;
	int64_t total_ns, server_ns, network_ns, client_ns, retransmit_ns;
};
struct slow_times slow_times(const struct op_pair *pair);
/* The slowest matched calls; with one capture, its slowest by that side's latency. */
const struct slow_call *report_slowest(const struct report *report, unsigned *count);

/*
 * The rows of a breakdown, those of as many calls in the order of their names:
 * ids follow the order of arrival, which the clocks decide. Caller frees.
 */
const struct breakdown_row **report_breakdown(const struct report *report, enum breakdown_kind kind, unsigned *count);

/* The text of a breakdown row's id, but SIZE's and TIME's, which are numbers. */
void breakdown_label(const struct report *report, enum breakdown_kind kind, uint64_t id, char name[LABEL_SIZE]);

#endif
