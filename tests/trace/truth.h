/*
 * The truth, written down: one line a call, one JSON object for the trace.
 */
#ifndef TRACE_TRUTH_H
#define TRACE_TRUTH_H

#include "trace/sim.h"

struct truth;

struct truth *trace_truth_open(struct sim *sim, const char *csv_path, GError **error);
void trace_truth_call(struct truth *truth, const struct call *call);
/* False if anything could not be written. Frees. */
bool trace_truth_close(struct truth *truth, GError **error);
bool trace_truth_json(const struct sim *sim, const char *path, GError **error);

#endif
