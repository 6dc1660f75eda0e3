/*
 * From options to rights: what may be opened during a run, and when the run has
 * nothing more of its own.
 */
#ifndef RUN_CONFINE_H
#define RUN_CONFINE_H

#include "base/log.h"
#include "capture/rights.h"
#include "run/options.h"

/* Starts the keeper of all files that the options name. save: of saved packets, NULL for none; copied. */
struct rights *confine_begin(const struct options *options, const struct keeper_save *save, GError **error);
/*
 * PHASE_RUN, and a line in a verbose log about it. From here on packets may be
 * looked at. NULL rights: nothing happens.
 */
bool confine(struct rights *rights, struct log *log, GError **error);

#endif
