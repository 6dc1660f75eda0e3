/*
 * The operations that were seen, numbered, and the rows of counts behind the
 * numbers.
 */
#ifndef STATS_ROWS_H
#define STATS_ROWS_H

#include "stats/aggregate.h"

enum {
	ROW_OTHERS = 0,		/* number of the keys that did not fit */
	ROW_KEYS = 512,		/* numbers, ROW_OTHERS included */
	ROW_SLOTS = 2048,	/* a power of two, several times ROW_KEYS */
	ROW_RECENT = 64,	/* a power of two */
};

struct row_keys {
	struct row_key key[ROW_KEYS];
	unsigned count;
	uint16_t recent[ROW_RECENT];	/* numbers found lately, by the operation: most calls ask for one again */
	uint64_t seed;			/* places slots, nothing else: captures are hostile */
	uint16_t slot[ROW_SLOTS];	/* number; ROW_OTHERS: free */
};

void row_keys_init(struct row_keys *keys);
/* The number of a key, made when new; ROW_OTHERS when there are too many. */
unsigned row_number(struct row_keys *keys, const struct row_key *key);
struct row_key row_key_of(const struct nfs_op *op);
/* The number of an op's key, which was not asked for lately. */
unsigned row_number_again(struct row_keys *keys, const struct nfs_op *op);
static inline unsigned
row_number_of(struct row_keys *keys, const struct nfs_op *op)
{
	unsigned number = keys->recent[op->operation % ROW_RECENT];
	const struct row_key *key = &keys->key[number];

	if (__builtin_expect(memcmp(key, &op->program, offsetof(struct row_key, minor)) == 0 && key->minor == op->minor, 1))
		return number;
	return row_number_again(keys, op);
}
/* As strcmp: by program, version, minor, procedure, operation; others last. */
int row_key_compare(const struct row_key *a, const struct row_key *b);

/*
 * Counts an op that is answered, unanswered or in flight; what was lost or
 * evicted is in no row. callback: op_is_callback(); alone: there is no other capture.
 */
void side_row_add(struct side_row *row, const struct nfs_op *op, bool callback, bool alone);
/* Before it is looked at: what was counted in `alike` goes where it belongs. */
void side_row_settle(struct side_row *row);
void side_row_merge(struct side_row *into, const struct side_row *from);
/* Nothing was counted in it. */
bool side_row_is_empty(const struct side_row *row);
/* The same with memory of its own; NULL of NULL. */
struct side_row *side_row_copy(const struct side_row *row);
/* Empties it and keeps its memory. */
void side_row_reset(struct side_row *row);
/* Frees what the row owns, or the row with it (NULL is allowed). */
void side_row_clear(struct side_row *row);
void side_row_free(struct side_row *row);

/* What is asked of a matched pair more than once. */
struct pair_gist {
	unsigned number;	/* of its operation */
	uint32_t bucket;	/* of its total_ns */
	uint32_t moved_bytes;	/* 0: not known, too */
	uint32_t size_bytes;	/* moved, else requested; 0: not known, too */
	bool has_size, has_file;
};

void matched_row_add(struct matched_row *row, const struct attribution *parts, const struct pair_gist *gist);
/* Before it is looked at. */
void matched_row_settle(struct matched_row *row);
void matched_row_merge(struct matched_row *into, const struct matched_row *from);
struct matched_row *matched_row_copy(const struct matched_row *row);
void matched_row_reset(struct matched_row *row);
void matched_row_free(struct matched_row *row);

/* READ or WRITE of any version of NFS: data in the reply, or in the call. */
bool op_reads(const struct nfs_op *op);
bool op_writes(const struct nfs_op *op);

/* From one stamp to another; stamps may be anything, so what leaves 64 bits stops at their end. */
static inline int64_t
duration_ns(int64_t from_ns, int64_t to_ns)
{
	int64_t duration;

	if (__builtin_expect(__builtin_sub_overflow(to_ns, from_ns, &duration), 0))
		return to_ns < from_ns ? INT64_MIN : INT64_MAX;
	return duration;
}

/* The sum of two durations, which stops where 64 bits end. */
static inline int64_t
sum_ns(int64_t a_ns, int64_t b_ns)
{
	int64_t sum;

	if (__builtin_expect(__builtin_add_overflow(a_ns, b_ns, &sum), 0))
		return a_ns < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

/* The op of the pair that has a field (enum op_has), the client's first; NULL when neither has. */
static inline const struct nfs_op *
pair_with(const struct op_pair *pair, uint32_t field)
{
	if (pair->has[PAIR_CLIENT] && op_has(&pair->op[PAIR_CLIENT], field))
		return &pair->op[PAIR_CLIENT];
	if (pair->has[PAIR_SERVER] && op_has(&pair->op[PAIR_SERVER], field))
		return &pair->op[PAIR_SERVER];
	return NULL;
}

/* The size of the call: moved, else requested bytes; false when neither is known. */
static inline bool
pair_size(const struct op_pair *pair, uint32_t *bytes)
{
	const struct nfs_op *op = pair_with(pair, OP_HAS_MOVED);

	if (op != NULL) {
		*bytes = op->moved_bytes;
		return true;
	}
	op = pair_with(pair, OP_HAS_REQUESTED);
	if (op != NULL)
		*bytes = op->requested_bytes;
	return op != NULL;
}

#endif
