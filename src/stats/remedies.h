/*
 * What to change, per rule and system. Settings and commands are those of the
 * systems' own documentation.
 */
#ifndef STATS_REMEDIES_H
#define STATS_REMEDIES_H

#include "stats/findings.h"

/* From an array of struct remedy. */
#define REMEDIES(list) { .remedy = (list), .count = G_N_ELEMENTS(list) }

/* remedies_server.c */
extern const struct remedies remedies_threads;		/* server-thread-saturation */
extern const struct remedies remedies_slow_service;	/* server-slow-service */
extern const struct remedies remedies_jukebox;		/* jukebox-delay */

/* remedies_client.c */
extern const struct remedies remedies_client_slots;	/* client-slot-saturation */
extern const struct remedies remedies_session_slots;	/* session-slot-saturation */
extern const struct remedies remedies_too_many_slots;	/* slot-count-too-high */
extern const struct remedies remedies_serial_client, remedies_idle_wire;

/* remedies_network.c */
extern const struct remedies remedies_path_delay, remedies_bandwidth, remedies_loss;

/* remedies_capture.c */
extern const struct remedies remedies_capture;	/* a better capture */
extern const struct remedies remedies_order;	/* the order of the captures */
extern const struct remedies remedies_tls;	/* encrypted calls */
extern const struct remedies remedies_clock;	/* clocks that jump */

#endif
