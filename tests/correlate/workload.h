/*
 * Operations of a server capture and of client captures whose truth is known:
 * an op's file_offset is the number of the call that it is of, in whatever
 * capture. The same configuration gives the same ops.
 */
#ifndef CORRELATE_WORKLOAD_H
#define CORRELATE_WORKLOAD_H

#include <nfscorr/nfs_op.h>

enum { WORKLOAD_CLIENTS = 8 };

enum workload_nat {
	WORKLOAD_SAME,		/* addresses are the same on both sides */
	WORKLOAD_PORTS,		/* the server sees other client ports */
	WORKLOAD_ONE_ADDRESS,	/* and one client address for all */
	WORKLOAD_VIRTUAL,	/* the clients know the server by another address, of another family */
};

struct workload_config {
	uint32_t seed;
	unsigned clients;		/* with a capture */
	unsigned strangers;		/* clients without */
	unsigned connections;		/* of a client, at the same time */
	unsigned slots;			/* calls in flight on a connection */
	unsigned calls;			/* of a connection */
	unsigned epochs;		/* a connection is closed and made again on the same port so often */
	bool equal_xids;		/* every epoch of every connection starts with XID 1 */
	uint32_t xid_modulus;		/* 0: none */
	unsigned different_args;	/* so many; 0: every call has its own */
	bool lockstep;			/* all clients do the same at the same time */
	int64_t service_ns, delay_ns, think_ns;	/* means */
	int64_t jitter_ns;		/* of a delay, mean */
	int64_t start_spread_ns;	/* connections begin within */
	double lost[2];			/* share of ops that a side does not show; enum pair_side */
	double cut[2];			/* share of ops whose reply a side does not show */
	double resent;			/* share of calls of which another copy arrives on a later connection */
	double doubled;			/* share of ops that a server's capture shows twice */
	unsigned prefixes[2];		/* of the arguments that a side knows, at most */
	bool no_length[2];
	enum workload_nat nat;
	int64_t offset_ns[WORKLOAD_CLIENTS];	/* server's clock - client's */
	int64_t drift_ppb;		/* of the clients' clocks */
	int64_t step_at_ns, step_ns;	/* of the server's clock; at since the start */
	int64_t begin_ns[2], end_ns[2];	/* of a side's captures, since the start; end 0: all */
};

/* The ops of one capture, in order of op_order_ns. */
struct workload_capture {
	struct nfs_op *ops;
	unsigned count;
};

/* What is known of a call. */
struct workload_call {
	bool full[2], seen[2];	/* enum pair_side: all times; at all, in whichever capture */
};

struct workload {
	struct workload_capture capture[1 + WORKLOAD_CLIENTS];
	struct workload_call *calls;
	unsigned call_count;
	unsigned both_full;	/* calls with all times on both sides */
	unsigned both_seen;	/* the others that are seen on both */
};

void workload_config_init(struct workload_config *config, uint32_t seed);
struct workload *workload_new(const struct workload_config *config);
void workload_free(struct workload *workload);

#endif
