/*
 * How good the captures are, and what may be concluded from them.
 *
 * Calls that a capture lost, cut or never saw are counted and not timed, so a
 * flaw makes the numbers fewer and not wrong; what it does to the conclusion is
 * judged here: `good` can be relied on, `usable` can be relied on as far as
 * the reasons allow, `poor` supports no verdict.
 */
#ifndef STATS_QUALITY_H
#define STATS_QUALITY_H

#include <glib.h>

#include "correlate/correlate.h"
#include "stats/aggregate.h"
#include "stats/capture_facts.h"

enum quality_level { QUALITY_GOOD, QUALITY_USABLE, QUALITY_POOR };

/*
 * All thresholds, in parts per million. A flaw with a share above the first one
 * leaves at most `usable`, above the second one `poor`; below both it is told
 * and changes nothing.
 */
enum quality_threshold {
	/* of payload bytes or of calls, whichever is more: lost, dropped by the kernel or evicted */
	LOST_USABLE_PPM = 1000, LOST_POOR_PPM = 50000,
	/* of RPC connections: captured in one direction only */
	ONE_WAY_USABLE_PPM = 0, ONE_WAY_POOR_PPM = 500000,
	/* of record headers: cut away by the snap length */
	HIDDEN_USABLE_PPM = 10000, HIDDEN_POOR_PPM = 200000,
	/* of payload bytes: inside TLS */
	TLS_USABLE_PPM = 0, TLS_POOR_PPM = 500000,
	/* of packets or messages: cut inside their headers, or contradicting themselves */
	BAD_USABLE_PPM = 10000, BAD_POOR_PPM = 200000,
	/* of matched calls: with a part below zero */
	NEGATIVE_USABLE_PPM = 10000, NEGATIVE_POOR_PPM = 200000,
	/* of replies: whose call was not seen */
	ORPHAN_USABLE_PPM = 50000,
	/* of the calls of the side that has fewer: matched; less leaves `usable` */
	COMMON_USABLE_PPM = 500000,
	/* of one client's calls: matched or partial; less leaves `usable` */
	CLIENT_COMMON_USABLE_PPM = 100000,
	/* of matched calls: with a part below zero; more have a cause of their own, the wrong order of the captures */
	REVERSED_PPM = 500000,
	/* of matched calls: with a way below zero by an offset that was given */
	AGAINST_CLOCK_PPM = 10000,
	/* of all clients' calls: a client with no more of them leaves `usable` at worst */
	MINOR_CLIENT_PPM = 50000,
};

/*
 * Stamps of packets that several CPUs took in come a little out of order, which
 * harms nobody. A step back of this size or more is told and leaves `usable`.
 */
enum { BACKWARD_STEP_NS = 2000000 };

/*
 * ids are the capture rows of the findings. A flaw that has no row of its own
 * goes by the nearest one: a capture that lacks its other direction or that the
 * kernel dropped from is capture-drops, a file that ends early or starts in the
 * middle is capture-truncated, stamps that run backwards and an offset that was
 * given and does not fit are clock-step, captures that are the wrong way round
 * and were not corrected are capture-swapped.
 */
enum quality_cause {
	CAUSE_OTHER,
	CAUSE_LOST, CAUSE_KERNEL, CAUSE_ONE_WAY,	/* of capture-drops */
	CAUSE_HIDDEN, CAUSE_TROUBLE,	/* of capture-truncated */
};

struct quality_reason {
	const char *id;		/* static text */
	enum quality_cause cause;
	enum quality_level level;	/* the best level that this reason leaves */
	uint64_t count;
	char *text;		/* owned: numbers and where */
};

struct quality {
	enum quality_level level;
	GArray *reasons;	/* struct quality_reason, most serious first */
};

/*
 * facts[0] is the server's capture, then the clients'; clocks are the clients'.
 * One capture alone: count 1, correlated and clocks NULL. Caller frees.
 */
struct quality *quality_judge(const struct capture_facts *facts, unsigned count,
    const struct correlate_facts *correlated, const struct clock_facts *clocks, const struct aggregate_totals *totals);
void quality_free(struct quality *quality);

/* A verdict is never COMPONENT_CAPTURE, a finding never COMPONENT_NONE. */
enum component { COMPONENT_SERVER, COMPONENT_NETWORK, COMPONENT_CLIENT, COMPONENT_NONE, COMPONENT_CAPTURE };
enum confidence { CONFIDENCE_HIGH, CONFIDENCE_MEDIUM, CONFIDENCE_LOW };

enum verdict_threshold {
	VERDICT_CALLS = 30,		/* matched calls, fewer support no verdict */
	VERDICT_PPM = 500000,		/* of the time: the part that has as much is the verdict */
	VERDICT_HIGH_PPM = 700000,	/* of the time: what high confidence needs */
};

struct verdict {
	enum component component;
	/*
	 * high: good quality and at least VERDICT_HIGH_PPM; one of them missing:
	 * medium; both: low, and so is a verdict of none. network is medium at
	 * most: the client's own part is not measured and is still in it. Where a
	 * finding marks the part as slow, it is that of the finding, medium at most
	 * unless the quality is good.
	 */
	enum confidence confidence;
	char *text;		/* owned: one sentence, without a full stop */
};

struct findings;

/*
 * Where most of the time is. A client's finding of high confidence that shows
 * more time outside the wire than on it, or its own counters that do, come
 * before the parts of the calls.
 * Only what a finding marks is called slow. findings may be NULL. Caller frees.
 */
struct verdict *verdict_judge(const struct quality *quality, const struct aggregate_totals *totals,
    const struct findings *findings);
void verdict_free(struct verdict *verdict);

#endif
