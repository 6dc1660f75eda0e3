/*
 * The options of a live capture. For options.c alone.
 */
#ifndef RUN_OPTIONS_LIVE_H
#define RUN_OPTIONS_LIVE_H

#include "run/options.h"

enum option_live_id { OPTION_INTERVAL = 512, OPTION_DURATION };

/* Takes one; *known tells whether it is one of these. False with an error when its value is wrong. */
bool options_take_live(struct options *options, int id, const char *value, bool *known, GError **error);
/*
 * What goes with what, once all are taken; and what is left to its default.
 * arguments: how many captures were given by position.
 */
bool options_check_live(struct options *options, int arguments, GError **error);

#endif
