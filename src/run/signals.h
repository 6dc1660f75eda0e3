/*
 * Signals that end the program, seen where it is safe: blocked in every
 * thread, read from a descriptor by the one that asks.
 */
#ifndef RUN_SIGNALS_H
#define RUN_SIGNALS_H

/* Blocks SIGINT, SIGTERM and SIGHUP, ignores SIGPIPE; the descriptor, or -1. Before any thread starts. */
int signals_open(void);
/* The number of a signal that came, 0 for none; never waits. */
int signals_pending(int descriptor);

#endif
