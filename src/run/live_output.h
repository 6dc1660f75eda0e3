/*
 * What a live run writes, and none of it makes the capture wait: intervals and
 * reports on standard output, diagnostics on standard error, a record a call.
 */
#ifndef RUN_LIVE_OUTPUT_H
#define RUN_LIVE_OUTPUT_H

#include "base/log.h"
#include "capture/keeper.h"
#include "report/interval.h"
#include "run/options.h"
#include "run/writer.h"

struct live_output;

/* Opens what is written; a pipe for records waits for its reader. NULL with an error: a file cannot be made. */
struct live_output *live_output_new(const struct options *options, const struct ids *ids, struct keeper *keeper, GError **error);
/* From here on it can be written. wake: called by another thread when something could not be. */
void live_output_start(struct live_output *output, writer_wake_fn *wake, void *context);
/* Files that were not finished do not appear. NULL allowed. */
void live_output_free(struct live_output *output);
/* Diagnostics that do not wait for their reader either; borrowed, until the end. */
struct log *live_output_log(const struct live_output *output);
/* For a record of each call: a pair_sink_fn. NULL: none is asked for. */
pair_sink_fn *live_output_each(const struct live_output *output);

/* One that finds no room is counted and left out. */
void live_output_interval(struct live_output *output, const struct interval *interval);
/*
 * On standard output and as a file, a pipe only the last one. One that finds no
 * room, or its file being written, is left out; last: it is not, whatever waits in
 * front of it, and no record follows.
 */
void live_output_report(struct live_output *output, const struct report *report, bool last);
/* Hands over what was written so far. Some times a second. */
void live_output_tick(struct live_output *output);
/* Standard output is read no more: everything else still goes on. */
bool live_output_closed(const struct live_output *output);
/* True when all was handed over and written, or nobody will ever take it. */
bool live_output_is_written(struct live_output *output);
/* The file of records appears; true when all that was asked for was written. After the last report. */
bool live_output_finish(struct live_output *output);

#endif
