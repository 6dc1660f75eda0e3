/*
 * RPC over UDP: a message is a datagram, in IP fragments where it is longer
 * than the network takes. What is lost is nobody's business but the caller's,
 * who sends the call again.
 */
#ifndef TRACE_UDP_H
#define TRACE_UDP_H

#include "trace/sim.h"

/* Takes the record, without its mark, and sends it. */
void trace_udp_send(struct half *half, struct record *record);
/* A fragment, or a whole datagram, arrived at the receiver of its half. Borrows it. */
void trace_udp_receive(struct frame *frame);
/* What a captured packet with so many bytes of the datagram (its header counted) tells somebody who reads the file. */
void trace_udp_sight(const struct frame *frame, enum trace_side side, uint32_t visible);
/* Fills in what this side's capture shows of the record; no packet of it may come later. */
void trace_udp_settle(struct record *record, enum trace_side side);

#endif
