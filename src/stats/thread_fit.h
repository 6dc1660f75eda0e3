/*
 * How many threads of a server answer its calls, from the order and the times
 * in which calls arrive and replies leave.
 *
 * With N threads that take calls in the order of their arrival, call j starts
 * when it has arrived and all but N of the calls before it have left:
 * max(a_j, d_(j-N)), a in the order of arrival, d in that of departure. What is
 * left until its own departure is its service. Too few threads leave calls no
 * time at all; too many leave those that had to wait more time than those that
 * found a free thread take. Both are looked at, class by class of calls.
 */
#ifndef STATS_THREAD_FIT_H
#define STATS_THREAD_FIT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SERVED_CLASSES = 64,	/* kinds of calls that cost alike */
	SERVED_OTHERS = SERVED_CLASSES - 1,	/* the class of those for which there was no room */
	SERVED_LANES = 1024,
};

enum { SERVED_NS = 8 };	/* unit of latencies */

/* One answered call as the server's capture shows it; there are many. */
struct served {
	int64_t arrival_ns;	/* call_last */
	uint32_t latency;	/* reply_first - call_last, in SERVED_NS */
	uint16_t lane;		/* its connection, or one of a few that share the number */
	uint8_t class;
	uint8_t server : 4;	/* number of its address */
	uint8_t exact : 1;	/* its times are those of the only copies: it may be judged, not only counted */
	uint8_t pressed : 1;	/* its reply left as soon as the one before it on its connection had */
};

/* Calls that left one after the other, in about that order, without others between them. */
struct spell {
	const struct served *call;
	unsigned count;
	bool from_idle;		/* nothing was in the server when it began */
	bool continues;		/* where the one before ended */
};

/* All but the first four members are valid when there are calls that waited. */
struct thread_fit {
	bool saturated;		/* there is something to tell */
	bool slows;		/* service grows with the calls in the server: something else is short */
	bool reply_bound;	/* replies wait for those before them to leave */
	uint64_t calls, waited;	/* that could be judged; of those that had to wait */
	uint64_t found_free;	/* calls that found a free thread, of the classes that waited */
	unsigned threads;	/* 0: not known, at_least is */
	unsigned at_least;
	bool compared;		/* services agree with those of calls that found a free thread */
	bool all_kinds;		/* calls that cost little wait as those do that cost much */
	bool one_at_a_time;	/* 1 thread, or one thing that every call needs */
	double busy_share;	/* of the time with a call in the server: at least so many were */
	double wait_share;	/* of the time that calls spent in the server */
	int64_t queue_wait_p50_ns, queue_wait_p95_ns;	/* of the calls that waited */
	int64_t queue_wait_mean_ns;
	int64_t service_mean_ns, latency_mean_ns;	/* of all calls */
	int64_t latency_at_double_ns;	/* mean, at most, with twice the threads and the same calls at a time */
};

/*
 * Fits the calls of one server address, or of all (server < 0). Takes memory
 * in proportion to the calls while it works.
 */
void thread_fit(const struct spell *spell, unsigned spells, int server, struct thread_fit *fit);

#endif
