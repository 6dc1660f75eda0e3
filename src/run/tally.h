/*
 * All that a live run counts, from packets to reports: those of one interface,
 * and a stream of the other side's packets if there is one. What the interface
 * shows never waits for the stream.
 */
#ifndef RUN_TALLY_H
#define RUN_TALLY_H

#include "base/log.h"
#include "report/interval.h"
#include "run/feed.h"
#include "run/options.h"

struct tally;

struct tally_config {
	const struct options *options;
	enum pair_side side;			/* the interface's */
	const struct source_facts *told;	/* of the interface; borrowed, read at each report */
	const char *const *stream;		/* the other side's capture, NULL-terminated; NULL: there is none; borrowed */
	const struct source_config *source;	/* of the same; borrowed until the stream is open */
	const struct ids *ids;			/* for labels of what has no id; borrowed */
	pair_sink_fn *each;			/* every pair, and every call that stays alone; NULL: nobody wants them */
	void *context;
	feed_wake_fn *wake;			/* called by another thread when tally_read_stream has something to do */
	void *wake_context;
	struct log *log;
};

struct tally *tally_new(const struct tally_config *config);
/* The stream came to its end, or is left to the end of the program. NULL allowed. */
void tally_free(struct tally *tally);

/* A packet of the interface, whose bytes are borrowed for the call. */
void tally_push(struct tally *tally, const struct packet *packet);
/* Nothing stamped up to now_ns comes from the interface any more. */
void tally_pass_time(struct tally *tally, int64_t now_ns);
/* Takes what the stream has, and not more than one turn of the loop may take; false: it has more. */
bool tally_read_stream(struct tally *tally);
/* True while the stream may bring more. */
bool tally_stream_goes_on(const struct tally *tally);
/* No packet of the interface follows. */
void tally_end_interface(struct tally *tally);
/* The stream ends where it is; what was read of it is still taken, by tally_read_stream. */
void tally_stop_stream(struct tally *tally);
/* Nothing follows at all: what waits for its counterpart comes out. */
void tally_end(struct tally *tally);

/* Records that the interface showed so far, and that the snap length is known to have hidden. */
void tally_records(const struct tally *tally, uint64_t *seen, uint64_t *hidden);
/* Finished calls that the interface showed. */
uint64_t tally_calls(const struct tally *tally);
/* How far the comparison is behind; -1: nothing is compared, or not any more. */
int64_t tally_lag_ns(const struct tally *tally);

/* A report and what it lends. Nothing else is done with the tally while there is one. */
struct snapshot;
/* Of all so far; after tally_end the last one. counters: the client's own, over the same time; NULL: not known; borrowed. */
struct snapshot *tally_report(struct tally *tally, const struct mountstats_delta *counters);
/*
 * Of an interval, from the end of the one before to now, whose times by the
 * interface's clock, drops and counters are in it already; fills in the rest.
 * The next one begins when it is freed.
 */
struct snapshot *tally_interval(struct tally *tally, struct interval *interval);
const struct report *snapshot_report(const struct snapshot *snapshot);
void snapshot_free(struct snapshot *snapshot);

#endif
