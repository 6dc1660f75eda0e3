/*
 * TCP: segments, acknowledgements, retransmission, opening and closing.
 */
#ifndef TRACE_TCP_H
#define TRACE_TCP_H

#include "trace/sim.h"

/* Opens a connection for the lane. The lane borrows it; the simulation owns it. */
struct conn *trace_tcp_connect(struct lane *lane, uint16_t port);
/*
 * Takes the record, queues and sends what may be sent; the second half of it
 * no earlier than after `pause_ns`. Returns the pause that was made.
 */
int64_t trace_tcp_send(struct half *half, struct record *record, int64_t pause_ns);
/* This side sends its FIN after what is queued. */
void trace_tcp_close(struct conn *conn, enum trace_side side);
/* This side aborts: an RST, and nothing afterwards. */
void trace_tcp_abort(struct conn *conn, enum trace_side side);
bool trace_tcp_can_send(const struct half *half);

/* A frame arrived at the receiver of its half. Borrows it. */
void trace_tcp_receive(struct frame *frame);
/* A frame goes to its host's card: the newest acknowledgement goes with it. */
void trace_tcp_leaving(struct frame *frame);

void trace_tcp_cork(struct half *half);
void trace_tcp_rto(struct half *half);
void trace_tcp_delayed_ack(struct half *half);
void trace_tcp_keepalive(struct half *half);
void trace_tcp_read(struct half *half);
void trace_tcp_pause_end(struct half *half);
/* How long the receiver of this half has offered less than a segment, so far. */
int64_t trace_tcp_closed_ns(const struct half *half);
void trace_tcp_free(struct conn *conn);

#endif
