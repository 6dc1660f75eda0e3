/*
 * The trace maker: two-sided NFSv3 captures whose truth is known to the
 * nanosecond.
 *
 * A small simulation of clients, TCP connections, a network and nfsd threads
 * runs in one ideal clock. Every host that has a capture writes what passes its
 * network card in its own clock, with the imperfections asked for. The same
 * configuration gives the same bytes.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	TRACE_PROCEDURES = 22,	/* of NFSv3 */
	TRACE_STEPS = 16,	/* of one clock, and drop windows of one capture */
	TRACE_CLOCKS = 32,	/* clients with a clock of their own; the others take the last */
	TRACE_FILES = 256,	/* client captures */
};

enum trace_side { TRACE_SERVER, TRACE_CLIENT, TRACE_SIDES };

enum trace_distribution_kind {
	TRACE_CONSTANT,		/* a */
	TRACE_UNIFORM,		/* a to b */
	TRACE_EXPONENTIAL,	/* mean a */
	TRACE_BIMODAL,		/* a, or with probability `share` exponential of mean b */
	TRACE_LOGNORMAL,	/* mean a, standard deviation `share` of the logarithm */
};

struct trace_distribution {
	int64_t kind;		/* enum trace_distribution_kind */
	int64_t a_ns;
	int64_t b_ns;
	double share;
};

/* A step of a clock (`by_ns` is added from `at_ns` on), or a window [at, at + by). */
struct trace_step {
	int64_t at_ns;		/* since the start of the trace, ideal clock */
	int64_t by_ns;
};

struct trace_steps {
	int64_t count;
	struct trace_step step[TRACE_STEPS];
};

struct trace_clock {
	int64_t offset_ns;	/* at the start of the trace */
	int64_t drift_ppb;
	struct trace_steps steps;
};

enum trace_only { TRACE_BOTH_WAYS, TRACE_CALLS_ONLY, TRACE_REPLIES_ONLY };
enum trace_link {
	TRACE_ETHERNET, TRACE_VLAN, TRACE_QINQ, TRACE_SLL, TRACE_SLL2, TRACE_RAW
};
enum trace_magic { TRACE_MICROSECONDS, TRACE_NANOSECONDS, TRACE_MODIFIED };

/* How one side's host takes what arrives. */
struct trace_receiver {
	int64_t delayed_ack_ns;
	double stall;			/* probability that a segment is not read for a while */
	struct trace_distribution stall_time;	/* the window shrinks, and closes */
};

/* How one side captures. */
struct trace_capture {
	int64_t snaplen_bytes;
	double drop;			/* probability that a packet is not captured */
	double burst;			/* probability that a burst of drops starts */
	int64_t burst_packets;
	struct trace_steps drop_windows;	/* nothing is captured inside */
	int64_t only;			/* enum trace_only */
	int64_t start_ns, stop_ns;	/* of the capture; stop 0: the end */
	bool duplicate;			/* each packet twice */
	int64_t duplicate_delay_ns;
	bool duplicate_hop;		/* the second copy has a TTL less by one */
	int64_t permute_packets;	/* file order is shuffled inside blocks of so many packets */
	int64_t permute_ns;		/* and at most so long; 0: no limit */
	bool permute_after_handshake;	/* SYNs stay in their place */
	bool permute_ties;		/* packets with equal stamps do not keep their order */
	int64_t link;			/* enum trace_link */
	int64_t ip_version;		/* 4 or 6 */
	int64_t magic;			/* enum trace_magic */
	bool big_endian;
	int64_t gso_bytes;		/* largest frame sent here; 0: one segment a frame */
	int64_t gro_bytes;		/* largest frame received here; 0: the same */
	bool gso_zero_length;		/* IP length 0 on frames of more than one segment */
};

enum trace_reconnect { TRACE_FIN, TRACE_RST, TRACE_SERVER_FIN, TRACE_SERVER_RST };
enum trace_nat { TRACE_NAT_NONE, TRACE_NAT_ADDRESS, TRACE_NAT_PORT, TRACE_NAT_BOTH, TRACE_NAT_ONE };
enum trace_nfs { TRACE_NFS3, TRACE_NFS4_0, TRACE_NFS4_1, TRACE_NFS4_2 };
enum trace_payload { TRACE_RANDOM, TRACE_PATTERN, TRACE_FAKES };

struct trace_config {
	uint64_t seed;
	int64_t start_ns;		/* of the trace, since 1970 */

	/* the load */
	int64_t clients;		/* that have a capture */
	int64_t extra_clients;		/* on the server's capture only */
	int64_t extra_servers;		/* on the clients' captures only */
	int64_t nconnect;		/* connections of a client to a server */
	int64_t nfs;			/* enum trace_nfs */
	bool udp;			/* instead of TCP */
	int64_t mtu_bytes;		/* a datagram is cut into IP fragments of so many */
	int64_t slots;			/* calls in flight on a connection, at most */
	int64_t session_slots;		/* that a session of a connection grants; 0: slots */
	int64_t callers;		/* per client, one call at a time each */
	int64_t surge;			/* further callers, at work only during ... */
	int64_t surge_every_ns, surge_ns;	/* the first surge_ns of every period */
	double rate;			/* calls a second and client; 0: closed loop */
	struct trace_distribution think;
	int64_t pause_every_ns, pause_ns;	/* no call starts in the last pause_ns of every period */
	int64_t calls;			/* of the whole trace */
	int64_t duration_ns;		/* no call starts later; 0: no limit */
	double weight[TRACE_PROCEDURES];	/* the mix */
	int64_t read_bytes, write_bytes;
	bool vary_sizes;		/* 512 bytes to the size given, a power of two */
	double file_sync;		/* share of WRITEs */
	int64_t files;
	bool sequential;		/* each caller goes on where it ended, in a file of its own */
	double error_rate;		/* NFS3ERR_* */
	double jukebox;			/* NFS3ERR_JUKEBOX; the call is made again after a while */
	int64_t jukebox_delay_ns;
	bool auth_none;

	/* the server */
	int64_t threads;
	bool turns;			/* a free thread goes to the next connection that has a call waiting */
	struct trace_distribution service[TRACE_PROCEDURES];
	/* Then the thread waits for one of the disks, first come first served, and uses it. */
	int64_t disks;			/* 0: one for every call */
	struct trace_distribution storage[TRACE_PROCEDURES];

	/* the network, index: direction (calls, replies) */
	int64_t delay_ns[2];
	int64_t jitter_ns[2];
	int64_t rate_bits[2];		/* of each client's line; 0: no limit */
	double loss[2];
	double reorder[2];
	int64_t reorder_ns;		/* how much later a reordered packet arrives */

	/* TCP */
	int64_t mss_bytes;
	int64_t window_bytes[2];	/* that the receiver offers; index: direction */
	int64_t cwnd_bytes[2];		/* in flight, at most; 0: no limit but the window */
	int64_t rto_ns;
	int64_t transmit_gap_ns;	/* between two frames of a host, at least */
	int64_t coalesce_ns;		/* a record waits so long for company */
	int64_t gro_hold_ns;
	double gro_break;		/* probability that a received frame ends early */
	bool tcp_timestamps;
	bool high_sequence;		/* initial sequence numbers close to 2^32 */
	int64_t keepalive_ns;		/* 0: none */
	struct trace_receiver receiver[TRACE_SIDES];
	double call_pause;		/* probability that the client halts inside a WRITE */
	struct trace_distribution call_pause_time;
	double overlap;			/* probability of a retransmission with other content */

	/* records */
	int64_t fragment_bytes;		/* RPC fragments of at most so many bytes; 0: one */
	bool empty_fragment;		/* one of 0 bytes in every record */
	double split_mark;		/* probability that 1 to 3 bytes go ahead in a segment */
	int64_t payload;		/* enum trace_payload */

	/* RPC trouble */
	int64_t xid_start;		/* of every connection; -1: at random */
	int64_t xid_modulus;		/* XIDs wrap after so many; 0: 2^32 */
	bool xid_restart;		/* at a reconnect */
	int64_t timeo_ns;		/* call retransmission on the same connection; 0: never */
	int64_t give_up_ns;		/* an unanswered call frees its slot */
	double unanswered;
	double denied;			/* RPC_MISMATCH, AUTH_ERROR */
	double accept_error;		/* PROG_UNAVAIL .. SYSTEM_ERR */
	int64_t reconnect_calls;	/* a connection ends after so many calls; 0: never */
	int64_t reconnect_how;		/* enum trace_reconnect */
	int64_t reconnect_delay_ns;
	bool reconnect_same_port;
	bool close_at_end;

	/* between the captures */
	int64_t nat;			/* enum trace_nat */
	bool virtual_server;		/* the clients use another address of the server */

	struct trace_capture capture[TRACE_SIDES];
	struct trace_clock server_clock;
	struct trace_clock client_clock[TRACE_CLOCKS];
	bool short_truth;		/* truth.csv without the lines of calls */
};

/*
 * Where the files go; a path of NULL is not written. `client` holds
 * config->clients paths (at most TRACE_FILES).
 *
 * truth_csv, one line a call, in the order in which calls are over:
 *   id                  0, 1, ... in the order in which the calls were made
 *   client, connection  indices; those of extra clients follow the others
 *   client_addr, client_port, server_addr, server_port
 *                       of the first copy, as the client sees them
 *   s_client_addr, s_client_port, s_server_addr, s_server_port
 *                       the same as the server sees them (NAT)
 *   xid, proc, status   proc: of a COMPOUND its main operation; status: nfsstat3, nfsstat4; empty when there is none
 *   rpc_status          SUCCESS, PROG_UNAVAIL, ..., RPC_MISMATCH, AUTH_ERROR; NONE: unanswered
 *   file, offset, size, moved
 *                       file is an index; size is what was asked for (READ, WRITE), moved
 *                       what was transferred
 *   c_call_first, c_call_last, s_call_first, s_call_last,
 *   s_reply_first, s_reply_last, c_reply_first, c_reply_last
 *                       ideal clock, ns since 1970, at the client's and the server's card,
 *                       whether or not the packet was captured. first: of the packet that
 *                       first carried the first byte; last: when every byte up to the end
 *                       of the record had passed. With several copies of a call: the
 *                       earliest first and the earliest last, of copies on one connection
 *                       the first of the one that is first in its stream; of a reply: those
 *                       of the first one that was complete. Empty: it never happened.
 *   file_c_call_first .. file_c_reply_last
 *                       the same eight as the capture shows them: in the host's clock, in
 *                       the file's resolution, from captured packets only. A byte that was
 *                       never captured, but acknowledged, counts as seen with the first
 *                       captured packet of its direction with a sequence number after it
 *                       (ACKs too) or with the first captured acknowledgement of it,
 *                       whichever is first; so does one of which a copy was captured
 *                       behind its acknowledgement.
 *                       Empty: the capture does not show it.
 *   retransmits         copies that left the client, less one
 *   seen_server, seen_client
 *                       full: call and reply captured to their last byte (snaplen may have
 *                       cut payload) with both headers in the file; partial: at least one
 *                       header is in the file; no; none: that host has no capture
 *   server_call, server_reply, client_call, client_reply
 *                       full: every byte is in the file; cut: every packet is, the header
 *                       too, snaplen cut the rest; part: the header is in the file, later
 *                       packets were dropped; hidden: the header was in a captured packet
 *                       behind snaplen; no. Header: up to the procedure number of a call,
 *                       the message type of a reply
 *   offset_ns           server's clock minus client's when the call was sent
 *   slot_wait_ns, thread_wait_ns, service_ns, disk_wait_ns
 *                       before the call was sent; in the server's queue; in a thread,
 *                       and of that the wait for a disk
 *   call_lost, reply_lost
 *                       segments with bytes of the call's or the reply's copies that the
 *                       network lost
 *   c_window_closed_ns, s_window_closed_ns
 *                       how long the client (server) offered less than a segment while the
 *                       reply (call) was under way, from its first byte at the sender to
 *                       its last at the receiver
 *   send_pause_ns       for which the client halted inside the call
 *   retry_of            id of the call that was answered NFS3ERR_JUKEBOX and is made again
 *   slot                of the session (NFSv4.1, 4.2); calls that set one up have none
 *   retransmit_ns       for which the call and the reply, from their first bytes at their
 *                       senders on, waited for bytes of theirs, or in front of them on the
 *                       connection, that the network had lost: from the first copy to that
 *                       which arrived, both as they left
 *
 * truth_json: the configuration, clocks, and counts of the whole trace.
 */
struct trace_output {
	const char *server;
	const char *const *client;
	const char *truth_csv;
	const char *truth_json;
};

/* Sane defaults: one client, READ/WRITE/GETATTR, a clean network and clean captures. */
void trace_config_init(struct trace_config *config);

/*
 * Sets what the command line option --NAME=VALUE sets; VALUE is NULL for a
 * flag. False with an error for an unknown name or a bad value.
 */
bool trace_config_set(struct trace_config *config, const char *name, const char *value,
	GError **error);

/* Lists the options, one line each. Taken by the caller. */
char *trace_config_help(void);

/* Makes the trace. False with an error when a file could not be written. */
bool trace_make(const struct trace_config *config, const struct trace_output *output,
	GError **error);

#endif
