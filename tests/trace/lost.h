/*
 * What the loss of first copies costs the records of a half.
 */
#ifndef TRACE_LOST_H
#define TRACE_LOST_H

#include "trace/sim.h"

/* The network lost this frame of data. */
void trace_lost(const struct frame *frame);
/* This one came through. */
void trace_lost_arrived(const struct frame *frame);
/* For how long a record that is complete at its receiver waited for what had been lost. */
int64_t trace_lost_cost_ns(const struct record *record);
/* Gives up what no record to come can have waited for. */
void trace_lost_forget(struct half *half);

#endif
