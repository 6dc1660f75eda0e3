/*
 * One const report, frozen from all that was found; exporters read nothing else.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdio.h>

#include "stats/aggregate.h"
#include "stats/capture_facts.h"
#include "stats/findings.h"
#include "stats/mountstats.h"
#include "stats/quality.h"

struct report {
	int64_t generated_ns;
	const struct capture_facts *captures;	/* server first, then clients; or the one capture */
	unsigned capture_count;
	const struct correlate_facts *correlated;	/* NULL with one capture */
	const struct clock_facts *clocks;		/* per client */
	struct aggregate *aggregate;		/* read only */
	const struct quality *quality;
	const struct verdict *verdict;
	const struct findings *findings;
	const struct ids *ids;
	const struct mountstats_delta *counters;	/* the client's own; NULL: not known */
	bool two_sided;
	const char *why_nothing;	/* exit status 3: what was found and why nothing could be correlated; else NULL */
};

struct text_style {
	bool colour;
	bool verbose;
};

/* Writes the whole report; false when writing failed (errno is set). */
bool report_text(const struct report *report, const struct text_style *style, FILE *out);
bool report_json(const struct report *report, FILE *out);

/* The commands that make good captures, for a system, filled in with hosts and port where known. */
enum capture_system { CAPTURE_LINUX, CAPTURE_SOLARIS, CAPTURE_ONTAP, CAPTURE_ONEFS, CAPTURE_SYSTEMS };
struct capture_targets {
	const char *server, *client;	/* addresses as text; NULL: not known, a placeholder is printed */
	uint16_t port;			/* 2049 unless known otherwise */
};
extern const char *const capture_system_names[CAPTURE_SYSTEMS];	/* "linux", "solaris", "ontap", "onefs" */
void how_to_capture(enum capture_system system, const struct capture_targets *targets, FILE *out);

/* One record per call. */
struct ops_writer;
enum ops_format { OPS_CSV, OPS_NDJSON };
struct ops_writer *ops_writer_new(FILE *out, enum ops_format format, const struct ids *ids);
void ops_writer_free(struct ops_writer *writer);
/* Borrowed pair; errors are sticky in out (ferror). */
void ops_write(struct ops_writer *writer, const struct op_pair *pair);

#endif
