/*
 * From one host's card to the other's: transmit queue, line, loss, reordering,
 * segmentation and coalescing by the cards.
 */
#ifndef TRACE_NETWORK_H
#define TRACE_NETWORK_H

#include "trace/sim.h"

/* Takes the frame. */
void trace_network_send(struct frame *frame);
void trace_network_transmit(struct frame *frame);	/* EVENT_TRANSMIT */
void trace_network_receive(struct frame *frame);	/* EVENT_RECEIVE */
void trace_network_gro(struct half *half);		/* EVENT_GRO */

struct frame *trace_frame_new(struct half *half, enum frame_kind kind);
void trace_frame_free(struct frame *frame);

#endif
