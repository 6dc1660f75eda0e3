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
};

struct correlation_config {
	const struct options *options;
	const char *const *const *captures;	/* the files of each, NULL-terminated; borrowed */
	unsigned count;
	pair_sink_fn *each;		/* every pair and every call that stayed alone; NULL: nobody wants them */
	void *each_context;
	feed_stop_fn *stop;		/* also drives the progress line */
	void *stop_context;
	struct log *log;
};

enum correlation_result { CORRELATION_DONE, CORRELATION_STOPPED, CORRELATION_FAILED };

/*
 * Fills result, to be cleared by the caller. restart is called when pairs that
 * were given out are void: everything begins again.
 */
enum correlation_result correlation_run(const struct correlation_config *config, struct correlation *result,
    void (*restart)(void *context), GError **error);
void correlation_clear(struct correlation *result);
/* Bytes read and in all, of every capture. */
void correlation_position(const struct correlation *result, uint64_t *done, uint64_t *all);

#endif
