/*
 * Findings: what the captures prove, and what to change about it.
 *
 * Facts are gathered where they arise and judged once, when the report is
 * frozen, by one const table of rules (findings.c). A rule is a row there, a
 * judge function (rules.h) and its remedies (remedies.c). A finding that the
 * evidence does not carry is not made: silence is better than a false alarm.
 */
#ifndef STATS_FINDINGS_H
#define STATS_FINDINGS_H

#include "stats/mountstats.h"
#include "stats/quality.h"

/* What the modules gathered; all borrowed. A rule takes NULL or zero counts as not known. */
struct facts {
	const struct capture_facts *captures;	/* the server's first, then the clients'; or the one capture */
	unsigned capture_count;
	const struct correlate_facts *correlated;	/* NULL with one capture */
	const struct clock_facts *clocks;	/* per client; NULL with one capture */
	struct aggregate *aggregate;		/* read only */
	const struct quality *quality;
	const struct ids *ids;			/* names of clients; NULL: they are numbered */
	const struct mountstats_delta *counters;	/* of the one client, over the time of its capture; NULL: not known */
};

/*
 * What to change on one system. All static text; setting, command and note may
 * be NULL. A command is one or more lines of at most REMEDY_COLUMNS, to be
 * pasted as they are.
 */
enum { REMEDY_COLUMNS = 70 };
struct remedy {
	const char *system, *setting, *command, *note;
};
struct remedies {
	const struct remedy *remedy;
	unsigned count;
};

enum value_kind {
	VALUE_COUNT,		/* integer: of things or bytes */
	VALUE_NS,		/* integer: a duration */
	VALUE_STAMP,		/* integer: nanoseconds since 1970 */
	VALUE_SHARE,		/* real: 0..1 */
	VALUE_REAL,		/* real */
	VALUE_BPS,		/* integer: bits per second */
	VALUE_WORD,		/* word */
};

/* One of the numbers that a finding rests on. */
struct finding_value {
	const char *key;	/* static text; units in the name */
	enum value_kind kind;
	bool known;		/* false: null in the report */
	int64_t integer;
	double real;
	const char *word;	/* static text */
};

enum { FINDING_VALUES = 16 };
struct finding {
	const char *id;		/* static text */
	enum component component;
	enum confidence confidence;
	bool outside_wire;	/* tells of time that is in no call; in the client: of more than on the wire */
	char *text;		/* owned: sentences with their full stops: what, and by how much */
	char *doubt;		/* owned: what else looks the same and what would settle it; NULL: nothing */
	struct finding_value value[FINDING_VALUES];
	unsigned values;
	struct remedies remedies;
};

struct findings;

/* Judges every rule of the table, in its order, which is that of the findings. Caller frees. */
struct findings *findings_judge(const struct facts *facts);
/* NULL is allowed, here and as no findings below. */
void findings_free(struct findings *findings);
unsigned findings_count(const struct findings *findings);
const struct finding *findings_at(const struct findings *findings, unsigned number);
/* The client's counters of the servers that the captures show. */
const struct mountstats_sums *findings_counters(const struct findings *findings);
/* The finding of a rule, NULL when it was not made. */
const struct finding *findings_of(const struct findings *findings, const char *id);

/* What the table has of remedies, by the number of the rule; NULL: none. For tests. */
unsigned findings_rules(void);
const struct remedies *findings_remedies(unsigned rule);

/*
 * A rule: true when there is something to tell, with confidence, text, doubt
 * and values filled in; what it leaves behind when it returns false is freed.
 * id, component (that of the row, which it may change) and remedies are set
 * before. `before` holds the findings of the rows above it.
 */
typedef bool finding_rule_fn(const struct facts *facts, const struct findings *before, struct finding *finding);

/* Evidence, in the order of the calls; key and word are static text. At most FINDING_VALUES. */
void finding_count(struct finding *finding, const char *key, uint64_t count);
void finding_ns(struct finding *finding, const char *key, int64_t ns);
void finding_stamp(struct finding *finding, const char *key, int64_t ns);
void finding_share(struct finding *finding, const char *key, double share);
void finding_real(struct finding *finding, const char *key, double value);
void finding_bps(struct finding *finding, const char *key, int64_t bps);
void finding_word(struct finding *finding, const char *key, const char *word);
/* A value that scripts rely on and that is not known here. */
void finding_unknown(struct finding *finding, const char *key);

#endif
