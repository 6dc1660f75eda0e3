/*
 * An interface as a live run has it: opened for the ports of NFS, its snap length
 * raised when it hides too much, its packets saved on the way, its drops counted.
 */
#ifndef RUN_LISTENER_H
#define RUN_LISTENER_H

#include "base/log.h"
#include "capture/device.h"
#include "capture/save.h"
#include "capture/snaplen.h"
#include "capture/source.h"
#include "run/options.h"

struct listener;

/* How packets are saved; false: they are not. It borrows from options. */
bool listener_saves(const struct options *options, struct save_config *save);
/* With the rights that it takes. Errors as device_open. */
struct listener *listener_new(const struct options *options, struct log *log, GError **error);
/* Without them, but for a keeper: opens the first file, as save says; NULL: nothing is saved. It may wait for the reader of a pipe. */
bool listener_open_save(struct listener *listener, const struct save_config *save, struct keeper *keeper, GError **error);
/* Packets are saved from here on, by a thread of its own. */
void listener_start(struct listener *listener);
void listener_free(struct listener *listener);	/* NULL allowed */
/* Who is told of what; another one than at the start. */
void listener_set_log(struct listener *listener, struct log *log);

int listener_fd(const struct listener *listener);
/* As device_rest_ms. */
unsigned listener_rest_ms(const struct listener *listener);
/* As device_packet_fn; false: the packet does not count, and is not saved either. */
typedef bool listener_packet_fn(void *context, const struct packet *packet);
/* As device_read. */
enum device_result listener_read(struct listener *listener, listener_packet_fn *take, void *context, GError **error);
/* What is known of the interface, for reports: kept up to date by listener_drops and listener_tick; borrowed. */
const struct source_facts *listener_told(const struct listener *listener);
/* Drops so far. */
void listener_drops(struct listener *listener, struct device_counters *counters);
/* Some times a second: what was saved goes on its way; what failed is told, and whether the link is there. */
void listener_tick(struct listener *listener);
/* About once a second: records that were seen and hidden so far. */
void listener_judge_snaplen(struct listener *listener, uint64_t records, uint64_t hidden);
/* No packet follows: all is saved. False when not all of it was. */
bool listener_finish(struct listener *listener);

#endif
