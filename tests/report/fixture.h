/*
 * Whole reports made by hand, for the tests of the exporters.
 */
#ifndef TESTS_REPORT_FIXTURE_H
#define TESTS_REPORT_FIXTURE_H

#include "correlate/ids.h"
#include "report/report.h"

enum { FIXTURE_CLIENTS = 3 };

struct fixture {
	struct capture_facts captures[1 + FIXTURE_CLIENTS];
	struct source_facts files[1 + FIXTURE_CLIENTS];		/* one a capture */
	struct clock_facts clocks[FIXTURE_CLIENTS];
	struct correlate_facts correlated;
	struct aggregate *aggregate;
	struct ids *ids;
	struct quality *quality;
	struct verdict *verdict;
	struct findings *findings;
	struct report report;
};

/*
 * captures: 1 (of one_side) or the server's and up to FIXTURE_CLIENTS clients'.
 * The captures last 10 s from BUILD_EPOCH_NS. Ops and pairs are added by the
 * test; then fixture_finish() closes the books and judges.
 */
void fixture_init(struct fixture *fixture, unsigned captures, enum pair_side one_side);
/* A pair of one client and what both captures say of it. */
void fixture_add(struct fixture *fixture, unsigned client, const struct op_pair *pair);
/* An op of a capture that found no partner. */
void fixture_add_alone(struct fixture *fixture, unsigned capture, const struct nfs_op *op);
void fixture_finish(struct fixture *fixture);
void fixture_clear(struct fixture *fixture);

/*
 * 200 calls of three procedures over 10 s with varied sizes, files and times,
 * of all clients in turn; the first is READ, 8192 bytes, total 100000 ns, of
 * which 60000 ns server.
 */
void fixture_fill(struct fixture *fixture);

/* What a writer writes, NUL-terminated; caller frees with free(). */
char *fixture_text(const struct fixture *fixture, bool verbose);
char *fixture_json(const struct fixture *fixture);

#endif
