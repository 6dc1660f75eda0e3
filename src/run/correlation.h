/*
 * Captures to pairs: feeds read in the order that correlation asks for, and
 * begun again where the clocks turn out to be far apart.
 */
#ifndef RUN_CORRELATION_H
#define RUN_CORRELATION_H

#include "base/log.h"
#include "correlate/correlate.h"
#include "run/feed.h"
#include "run/options.h"

struct correlation {
	unsigned count;			/* captures: the server's first, then the clients' */
	struct feed **feeds;
	struct aggregate *aggregate;	/* of all captures and pairs */
	struct correlate *correlate;	/* NULL with one capture */
	struct correlate_facts facts;	/* once it is done */
};

struct correlation_config {
	const struct options *options;
	const char *const *const *captures;	/* the files of each, NULL-terminated; borrowed */
	unsigned count;
	const struct source_config *source;	/* borrowed */
	bool has_streams;		/* one of them can be read only once */
	pair_sink_fn *each;		/* every pair and every call that stayed alone; NULL: nobody wants them */
	void *each_context;
	feed_wait_fn *wait;		/* called now and then, for the progress line */
	void *wait_context;
	struct log *log;
};

/*
 * Fills result, to be cleared by the caller; false with an error when a
 * capture could not be opened. restart is called when pairs that were given
 * out are void: everything begins again.
 */
bool correlation_run(const struct correlation_config *config, struct correlation *result,
    void (*restart)(void *context), GError **error);
void correlation_clear(struct correlation *result);
/* Bytes read and in all, of every capture. */
void correlation_position(const struct correlation *result, uint64_t *done, uint64_t *all);

/* Caps of one of so many captures: of its pipeline, and of its ops that wait for their counterparts. */
struct pipeline_limits correlation_limits(const struct options *options, unsigned captures);
uint32_t correlation_unmatched(const struct options *options, unsigned captures);
/*
 * The calls in flight that a capture is asked for, as aggregate_watch takes them:
 * its side's (side: of a single capture), and a server's capture alone for
 * connections, too. The roles of two captures may turn out to be exchanged, and
 * what is missing then can be counted from files once more, from streams not.
 */
unsigned correlation_views(unsigned captures, unsigned capture, enum side_option side, bool exchanged, bool has_streams);

#endif
