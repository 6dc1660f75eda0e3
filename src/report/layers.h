/*
 * Layers: what others than the wire counted, in rows of one shape.
 */
#ifndef REPORT_LAYERS_H
#define REPORT_LAYERS_H

#include "report/report.h"

struct layer_row {
	char *name;		/* owned */
	uint64_t count;
	int64_t mean_ns;
	int64_t p95_ns;		/* -1: not known */
};

struct layer {
	const char *kind;	/* static text: "mountstats" */
	const char *name;	/* what it is of; borrowed of the report */
	int64_t from_ns, to_ns;
	GArray *rows;		/* struct layer_row */
};

/*
 * struct layer, one of each NFS mount that had calls. Of each of its
 * operations three rows: "READ", the whole time of a call in the client; "READ
 * queue", until it was sent; "READ rtt", from then to its reply. Caller unrefs.
 */
GArray *report_layers(const struct report *report);

#endif
