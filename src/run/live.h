/*
 * The whole of one live run: an interface's packets and, if there is one, a
 * stream of the other side's in; intervals while it goes on and a report at its
 * end out.
 */
#ifndef RUN_LIVE_H
#define RUN_LIVE_H

#include "base/log.h"
#include "run/options.h"

/* The exit status, as engine_run. */
int live_run(const struct options *options, struct log *log);

#endif
