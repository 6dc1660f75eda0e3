/*
 * The Linux client's own counters of its NFS mounts, /proc/self/mountstats:
 * what no capture shows, since a call that waits for a slot or for its turn to
 * be sent has not left yet.
 *
 * Of each operation the kernel counts calls and sums three times, each printed
 * in whole milliseconds: in the queue (from the call's begin in the RPC layer
 * until its first transmission), round trip (until the reply), and execution
 * (the whole). Of each transport it counts messages, and at each one sent adds
 * the lengths of its queues: the backlog (waiting for a slot), sending and
 * pending.
 *
 * /proc/self/mountinfo says what mountstats leaves out: a server's address, and
 * which mounts are one file system and so have one set of counters.
 */
#ifndef STATS_MOUNTSTATS_H
#define STATS_MOUNTSTATS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	MOUNTSTATS_NAME = 32,		/* bytes of an operation's name */
	MOUNTSTATS_VERSION = 8,
	MOUNTSTATS_MOUNTS = 4096,	/* NFS mounts and, of each, operations that are read; more are passed over */
	MOUNTSTATS_OPS = 128,
};

/* Sums since the mount was made, or of an interval. */
struct mountstats_op {
	char name[MOUNTSTATS_NAME];	/* as the kernel writes it: "READ" */
	uint64_t calls;			/* that are over */
	uint64_t transmissions;		/* above the calls: sent again */
	uint64_t timeouts, bytes_sent, bytes_received;
	uint64_t queue_ms, rtt_ms, execute_ms;
	uint64_t errors;		/* replies with another status than 0 */
	bool errors_known;		/* older kernels do not say */
};

/* All transports of a mount together, which mounts of one server share. */
struct mountstats_transport {
	unsigned count;			/* 0: not known, nor anything else here */
	uint64_t sends, receives, bad_xids;
	uint64_t backlog;		/* of all sends: sum of the calls that waited for a slot then */
	bool queues_known;		/* statvers 1.1, not over RDMA */
	uint64_t sending, pending;	/* the same of calls that waited to be sent, and for their replies */
	uint64_t slots_most;		/* no sum: most slots of a transport in use so far */
};

struct mountstats_mount {
	char *device, *place;		/* owned: "server:/export", where it is mounted; kernel's escapes (\040) undone */
	char version[MOUNTSTATS_VERSION];	/* "3", "4.1", as in reports; "" when not said */
	uint64_t age_s;
	uint64_t file_system;		/* equal for mounts with one set of counters; 0: not known */
	bool address_known;
	uint8_t address[16];		/* of the server, as in struct net_endpoint */
	struct mountstats_op *ops;	/* owned */
	unsigned op_count;
	struct mountstats_transport transport;
};

/* One reading: a file system that is mounted in several places is here once. */
struct mountstats {
	int64_t at_ns;
	struct mountstats_mount *mounts;
	unsigned mount_count;
};

/*
 * Reads the text of the two files; mountinfo may be NULL. What is cut, too long
 * or no number is passed over, as is every mount that is not NFS. Caller frees.
 */
struct mountstats *mountstats_parse(const char *text, size_t len, const char *mountinfo, size_t mountinfo_len,
    int64_t at_ns);
/* NULL is allowed. */
void mountstats_free(struct mountstats *stats);

/* Frees what a mount owns. */
void mountstats_mount_clear(struct mountstats_mount *mount);

/*
 * What happened between two readings, or in several such intervals together.
 * Of a mount's operations only those with calls are there.
 */
struct mountstats_delta {
	int64_t from_ns, to_ns;
	struct mountstats_mount *mounts;	/* also those on which nothing happened */
	unsigned mount_count;
	unsigned left_out;		/* mounts that went, or whose counters do not continue those before */
};

/*
 * A mount that is new, or whose counters went back, was mounted meanwhile and
 * counts from zero if its age says so; else it is left out. Caller frees.
 */
struct mountstats_delta *mountstats_difference(const struct mountstats *before, const struct mountstats *after);
/* Adds what happened in a later interval. */
void mountstats_delta_add(struct mountstats_delta *into, const struct mountstats_delta *from);
/* NULL is allowed. */
void mountstats_delta_free(struct mountstats_delta *delta);

/* The mean of a sum of milliseconds over calls, in ns; 0 without calls. */
int64_t mountstats_mean_ns(uint64_t sum_ms, uint64_t calls);
/* The operation of that name; NULL: none of it. */
const struct mountstats_op *mountstats_find(const struct mountstats_mount *mount, const char *name);

/* mounts of some servers together; what is not known of one of them is not of all. */
struct mountstats_sums {
	unsigned mounts;
	uint64_t calls, queue_ms, rtt_ms, execute_ms;
	struct mountstats_op reads, writes;	/* of these names */
	struct mountstats_transport transport;	/* of several mounts of one server: the one with most sends */
};
/*
 * Adds up the mounts of a server. A mount whose address is not known is taken
 * for one of only_server's. delta may be NULL.
 */
void mountstats_sum(struct mountstats_sums *sums, const struct mountstats_delta *delta, const uint8_t address[16],
    bool only_server);

/*
 * The files, kept open: read again and again after rights are dropped, with
 * pread(2) alone.
 */
struct mountstats_watch;

/* Opens and reads them first; NULL when there is no such file, or it may not be read: error says why. */
struct mountstats_watch *mountstats_watch_new(int64_t now_ns, GError **error);
/* The same with other files, for tests. mountinfo may be NULL. */
struct mountstats_watch *mountstats_watch_files(const char *stats, const char *mountinfo, int64_t now_ns, GError **error);
/* NULL is allowed. */
void mountstats_watch_free(struct mountstats_watch *watch);
/*
 * Ends an interval: what happened since the one before ended; NULL when the
 * file could not be read, or no NFS is mounted. Borrowed until the next call.
 */
const struct mountstats_delta *mountstats_watch_interval(struct mountstats_watch *watch, int64_t now_ns);
/* What happened since the first reading; no interval ends. The same. */
const struct mountstats_delta *mountstats_watch_total(struct mountstats_watch *watch, int64_t now_ns);

#endif
