/*
 * The properties, asked of one trace after the other; false with the reason
 * appended to why.
 */
#ifndef PROPERTIES_H
#define PROPERTIES_H

#include "traces.h"

/* Clocks more than two minutes apart take an anchor, and that takes so many calls. */
enum { ANCHORED_CALLS = 60 };

typedef bool property_fn(struct trace *trace, GString *why);

/* truths.c: what is told is true, and the books close */
property_fn prop_truth, prop_pairs, prop_complete, prop_parts, prop_loss, prop_client, prop_books, prop_bytes, prop_clock;

/* depths.c: the most calls in flight and their mean are those of the truth */
property_fn prop_depths;

/* The copies that are calls of their own by definition: whether one is, the order of packets decides. */
bool has_late_copies(const struct trace *trace);

/* invariants.c: what must not matter does not */
property_fn prop_threads, prop_permuted, prop_permuted_ties, prop_shifted, prop_cut_packets, prop_cut_file;

/* intervals.c: a capture in pieces of time is the capture */
property_fn prop_intervals;

/* pushed.c: a replayed file is the file */
property_fn prop_pushed;

/* alive.c: a live run is the offline run */
property_fn prop_alive;

#endif
