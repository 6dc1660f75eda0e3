/*
 * Traces for the findings: shapes of random size without any trouble, and the
 * same with one trouble put into them. Everything follows from the seed.
 */
#ifndef SHAPES_H
#define SHAPES_H

#include <glib.h>
#include <stdint.h>

/*
 * What a shape is before it becomes options of the trace maker. shape_choose()
 * makes it without trouble, by construction:
 *
 *   threads   as many as callers at least, so that no call waits for one; with
 *             a rate, so many that they are a tenth busy
 *   slots     more on each connection than the client has callers
 *   service   20 to 800 us in the mean, a tail of a few milliseconds at most
 *   path      a round trip of 20 to 300 us, jitter of at most a tenth of it
 *   line      so fast that what all callers move at once takes a twentieth of
 *             a call's time; network cards that send a frame in 10 ns
 *   packets   none is lost, by the path or by a capture; windows of 8 MiB
 *   clocks    any offset within a minute, drifts of at most 50 ppm
 *
 * Callers that do not think keep a constant number of calls in flight, as a
 * slot table does; their number is none that is a known table's size.
 */
struct shape {
	int clients, extra_clients, nconnect;
	int callers;			/* of a client */
	int slots;			/* of a connection */
	int threads;
	int calls;
	double rate;			/* of a client; 0: callers */
	int64_t think_ns;		/* mean; 0: none */
	int64_t service_ns;		/* mean of a READ or WRITE; others take a quarter */
	int64_t round_trip_ns;
	int64_t line_bits;
	int payload_bytes;		/* of a READ or WRITE */
	const char *mix;
	const char *law;		/* of the service, as a format of its mean in ns */
	GPtrArray *more;		/* char *: options that follow, owned */
};

/* What it puts into a shape. A chance, a size and so on come from rand. */
typedef void trouble_fn(GRand *rand, struct shape *shape);

struct trouble {
	const char *name;
	trouble_fn *put;		/* NULL: none */
	unsigned traces;		/* of a full run */
	unsigned few;			/* of a short one */
};

/* Ends with a name of NULL. */
extern const struct trouble troubles[];

/* Options of the trace maker, NAME=VALUE or NAME, without the seed. Taken by the caller. */
GPtrArray *shape_choose(const struct trouble *trouble, uint64_t seed);

#endif
