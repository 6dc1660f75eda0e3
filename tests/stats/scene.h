/*
 * Captures of which no rule has anything to say, to be changed by a test: what
 * the rules of findings look at.
 */
#ifndef TESTS_STATS_SCENE_H
#define TESTS_STATS_SCENE_H

#include "stats/findings.h"
#include "stats/flight.h"

enum { SCENE_CLIENTS = 2 };

struct scene {
	struct capture_facts captures[1 + SCENE_CLIENTS];
	unsigned count;			/* captures, the server's included; 1: that one alone */
	struct correlate_facts correlated;
	struct clock_facts clocks[SCENE_CLIENTS];
	struct aggregate *aggregate;
	struct lines *lines[1 + SCENE_CLIENTS];
	const struct mountstats_delta *counters;
};

/* count captures, of which a single one is of one_side. Round trips between the hosts take 100 us. */
struct scene scene_new(unsigned count, enum pair_side one_side);
/*
 * A matched call of a client: it leaves at_ns after the epoch, is in the server
 * for server_ns, and the bytes of both ways take way_ns together.
 */
void scene_call(struct scene *scene, unsigned client, uint32_t procedure, int64_t at_ns, int64_t server_ns, int64_t way_ns);
/* The same of a single capture. */
void scene_call_alone(struct scene *scene, uint32_t procedure, int64_t at_ns, int64_t latency_ns);
/*
 * Data of 1460 bytes a frame comes in at a client, one every gap_ns, frames of
 * them from at_ns on; the server's capture has them, too, in the order of the
 * calls of this function, which is to be that of time.
 */
void scene_frames(struct scene *scene, unsigned client, int64_t at_ns, int64_t gap_ns, unsigned frames);
/* What the rules find; the scene is used up. Caller frees. */
struct findings *scene_judge(struct scene *scene);

/* The finding of a rule, which has to be there; borrowed. */
const struct finding *finding_there(const struct findings *findings, const char *id);
/* One of its values, which has to be there. */
const struct finding_value *finding_value(const struct finding *finding, const char *key);

#endif
