/*
 * What to change, per rule and system. Settings and commands are those of the
 * systems' own documentation.
 */
#ifndef STATS_REMEDIES_H
#define STATS_REMEDIES_H

#include "stats/findings.h"

extern const struct remedies remedies_capture;	/* a better capture */
extern const struct remedies remedies_order;	/* the order of the captures */
extern const struct remedies remedies_clock;	/* clocks that jump */

#endif
