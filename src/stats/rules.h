/*
 * The rules that findings.c lists, one function each (finding_rule_fn), in a
 * file for each component. What a rule looks for and its thresholds stand in
 * front of its function.
 */
#ifndef STATS_RULES_H
#define STATS_RULES_H

#include "stats/findings.h"

/* rules_capture.c */
finding_rule_fn rule_address_translation, rule_capture_drops, rule_capture_truncated, rule_capture_overlap,
    rule_capture_swapped, rule_capture_duplicates, rule_clock_step;

#endif
