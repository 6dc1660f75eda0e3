/*
 * The records of one half: which bytes a frame carries, what has passed the
 * two capture points, and when a record can be forgotten.
 */
#ifndef TRACE_STREAM_H
#define TRACE_STREAM_H

#include "trace/sim.h"

/* Takes the record. */
void trace_stream_append(struct half *half, struct record *record);
/* The record that holds this byte, looking from `from` on. */
struct record *trace_stream_find(struct record *from, uint64_t offset);
/* Copies bytes of the stream; `record` holds the first. */
void trace_stream_copy(const struct record *record, uint64_t offset, uint8_t *to, size_t len);

/* The frame passed this side's card, captured or not. */
void trace_stream_passed(const struct frame *frame, enum trace_side side);
/* Bytes arrived: moves `expected`. True if any was new. */
bool trace_stream_arrived(struct half *half, uint64_t from, uint64_t to);

/* Settles and frees what is over; `final`: everything. */
void trace_stream_forget(struct half *half, bool final);
void trace_stream_hold(struct frame *frame);
void trace_stream_release(struct frame *frame);

#endif
