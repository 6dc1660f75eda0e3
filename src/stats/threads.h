/*
 * What one capture shows of the threads that serve its calls: samples of
 * consecutive calls, in bounded memory, judged once at the end
 * (thread_fit.h has the relation).
 */
#ifndef STATS_THREADS_H
#define STATS_THREADS_H

#include <nfscorr/nfs_op.h>

#include "stats/thread_fit.h"

/* Server addresses that are told apart; calls of others count for the whole only. */
enum { THREADS_SERVERS = 8 };

struct threads;

struct threads *threads_new(void);
void threads_free(struct threads *threads);	/* NULL allowed */
struct threads *threads_copy(const struct threads *threads);
/* As new, with the memory that it has. */
void threads_reset(struct threads *threads);
/* Finished ops of the capture, in the order in which they finish. Constant time each, no allocation in the steady state. */
void threads_add(struct threads *threads, const struct nfs_op *ops, unsigned count);

/* Adds the samples of another one, of later calls of the same capture. */
void threads_merge(struct threads *into, const struct threads *from);

/* One pool of threads: that of a server's address, or of all addresses together, which are then one host's. */
struct thread_pool {
	struct net_endpoint server;	/* an address of it, of the calls seen first */
	bool all;			/* no other address had calls, or they share the threads */
	struct thread_fit fit;
};

/*
 * Fits what was gathered. from_idle: the capture saw the call of every reply,
 * so that no call was in the server when it began. At most THREADS_SERVERS
 * pools, those that are saturated; their number.
 */
unsigned threads_judge(const struct threads *threads, bool from_idle, struct thread_pool pool[THREADS_SERVERS]);

#endif
