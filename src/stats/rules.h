/*
 * The rules that findings.c lists, one function each (finding_rule_fn), in a
 * file for each component. What a rule looks for and its thresholds stand in
 * front of its function.
 */
#ifndef STATS_RULES_H
#define STATS_RULES_H

#include "stats/findings.h"

/* rules_server.c */
finding_rule_fn rule_server_slow_service, rule_jukebox_delay;

/* rules_threads.c */
finding_rule_fn rule_server_thread_saturation;

/* rules_client.c */
finding_rule_fn rule_idle_wire, rule_serial_client;

/* rules_slots.c */
finding_rule_fn rule_client_slots, rule_session_slots, rule_slot_count;

/* rules_network.c */
finding_rule_fn rule_network_path_delay, rule_network_bandwidth;

/* rules_loss.c */
finding_rule_fn rule_network_loss;

/* rules_capture.c */
finding_rule_fn rule_address_translation, rule_capture_drops, rule_capture_truncated, rule_capture_overlap,
    rule_capture_swapped, rule_capture_duplicates, rule_clock_step, rule_tls_hidden;

#endif
