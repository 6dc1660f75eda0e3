/*
 * The whole of one offline run: captures in, report and per-call records out.
 */
#ifndef RUN_ENGINE_H
#define RUN_ENGINE_H

#include "base/log.h"
#include "capture/rights.h"
#include "run/options.h"

/* The exit status (CONTRACT section 1). */
enum exit_status { EXIT_REPORT = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NOTHING = 3 };

/* rights: in PHASE_START, whose keeper knows what the options name; borrowed. NULL: with those that the program has. */
int engine_run(const struct options *options, struct rights *rights, struct log *log);

#endif
