/*
 * READs that follow one another in a file, each sent after the answer to the one
 * before: what a reader without readahead looks like at a capture point. A few
 * files are followed at a time; one may take the place of another.
 */
#ifndef STATS_SERIAL_H
#define STATS_SERIAL_H

#include <nfscorr/nfs_op.h>

enum { SERIAL_FILES = 64 };

struct serial_file {
	uint64_t file, next_offset;
	int64_t reply_last_ns;
	bool used;
};

/* All zero: empty. */
struct serial {
	uint64_t reads;			/* with offset, bytes and times */
	uint64_t sequential;		/* of them, that begin where the one before in their file ended */
	uint64_t in_turn;		/* of those, sent after its reply */
	uint64_t bytes;			/* moved by those in turn */
	int64_t time_ns;		/* sum of their times in flight */
	int64_t gap_ns;			/* sum of the times from a reply to the READ after it */
	struct serial_file file[SERIAL_FILES];
};

/* Ops, in the order of replies; those that are answered count. */
void serial_add(struct serial *serial, const struct nfs_op *ops, unsigned count);
/* Counts only: what was followed in from is not followed further. */
void serial_merge(struct serial *into, const struct serial *from);

#endif
