/*
 * The things of the simulation, shared by the files of the trace maker.
 *
 *   client ── lane ── conn ── half ×2 ── record ── call
 *
 * A lane is what stays of a connection when it is made anew: its place, its
 * slots, its XIDs. A conn is one TCP connection, a half one direction of it. A
 * record is one copy of a call or a reply in the stream of a half. A frame is
 * a packet on its way; it borrows the bytes of the records and keeps them
 * alive by `holders` of the first.
 */
#ifndef TRACE_SIM_H
#define TRACE_SIM_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/events.h"
#include "trace/rng.h"
#include "trace/sight.h"
#include "trace/trace.h"

/* The sender of a direction's bytes is the other side of their receiver. */
enum direction { CALLS, REPLIES, DIRECTIONS };

static inline enum trace_side
sender_of(enum direction direction)
{
	return direction == CALLS ? TRACE_CLIENT : TRACE_SERVER;
}

static inline enum trace_side
receiver_of(enum direction direction)
{
	return direction == CALLS ? TRACE_SERVER : TRACE_CLIENT;
}

static inline enum direction
opposite(enum direction direction)
{
	return direction == CALLS ? REPLIES : CALLS;
}

struct capture;
struct truth;
struct half;
struct lane;
struct sim;

struct endpoint {
	uint8_t address[16];	/* the first 4 bytes of IPv4 */
	uint16_t port;
};

struct host {
	struct sim *sim;
	enum trace_side side;
	const struct trace_clock *clock;
	struct capture *capture;	/* NULL: nobody captures here */
	int64_t transmit_free_ns;
	uint16_t ip_id;
};

/* One way of a client's line. */
struct line {
	int64_t free_ns;		/* when the last bit has left */
	int64_t last_arrival_ns;
};

struct call_times {
	int64_t first_ns, last_ns;
};

enum served { NOT_SEEN, IN_SERVER, ANSWERED };
enum rpc_outcome {
	RPC_OK, RPC_PROG_UNAVAIL, RPC_PROG_MISMATCH, RPC_PROC_UNAVAIL, RPC_GARBAGE_ARGS,
	RPC_SYSTEM_ERR, RPC_VERSION_MISMATCH, RPC_AUTH_REFUSED, RPC_OUTCOMES
};

/* In this order. */
enum set_up { SET_UP_NOTHING, SET_UP_CLIENT, SET_UP_SESSION };

struct session_slot {
	uint32_t sequence;
	bool used;
};

struct session {
	int64_t granted;		/* slots; 0: there are no sessions */
	struct session_slot *slot;
	enum set_up done;		/* or on its way */
};

struct call {
	unsigned refs;
	uint64_t id;
	struct lane *lane;
	struct caller *caller;		/* NULL: an open loop, or it gave up */
	struct call *next, *previous;	/* calls of the lane without a reply */
	struct call *queued;		/* behind it in a server's queue, or for a slot */

	uint32_t xid;
	uint8_t procedure;
	uint32_t status;
	enum rpc_outcome outcome;
	bool unanswered;
	uint32_t file;
	uint64_t offset;
	uint32_t size, moved;
	uint32_t stable;		/* stable_how of a WRITE */
	enum set_up set_up;		/* a call that sets up a session; its procedure is NULL */
	uint32_t slot, slot_sequence, slot_used_highest;	/* of the session, if there is one */

	bool outstanding;		/* in its lane's list */
	bool answered;			/* the client has the reply */
	unsigned copies;		/* handed to TCP */
	unsigned copies_sent;		/* whose first byte left the client */
	enum served served;
	struct conn *conn;		/* the connection of the newest copy that arrived */
	bool is_retry;
	uint64_t retry_of;		/* id */
	unsigned lost[DIRECTIONS];	/* segments */
	int64_t retransmit_ns[DIRECTIONS];
	int64_t window_closed_ns[DIRECTIONS];
	int64_t send_pause_ns;
	struct endpoint client_end[TRACE_SIDES];	/* of the first copy */
	int64_t timeo_ns, timeo_at_ns;	/* call retransmission */
	int64_t give_up_at_ns;

	int64_t made_ns, sent_ns;	/* wanted a slot, got one */
	int64_t arrived_ns, started_ns, served_ns;
	int64_t disk_wanted_ns, disk_wait_ns;

	/* by side: in the ideal clock, as the capture shows them, and how well it does */
	struct call_times call_ideal[TRACE_SIDES], reply_ideal[TRACE_SIDES];
	struct call_times call_shown[TRACE_SIDES], reply_shown[TRACE_SIDES];
	enum trace_seen call_seen[TRACE_SIDES], reply_seen[TRACE_SIDES];
	const struct conn *last_copy;	/* of the call: on this connection */
};

/* What a capture shows of a datagram. */
struct datagram_sight {
	uint64_t captured;		/* bytes of it, behind its UDP header */
	int64_t first_ns, last_ns;	/* of its first fragment; when all of them had come */
	bool begun, header, cut;	/* the first one is there, with the RPC header; bytes lie behind snaplen */
};

/* `head`, `bulk` and `pad` zero bytes follow one another. */
struct record {
	struct record *next;
	struct call *call;
	struct half *half;
	uint64_t start, end;		/* of the stream */
	uint64_t header_end;		/* procedure number of a call, message type of a reply */
	uint8_t *head;			/* owned */
	const uint8_t *bulk;		/* borrowed from the pool */
	uint32_t head_len, bulk_len;
	uint32_t split_bytes;		/* the first segment ends here; 0: anywhere */
	unsigned holders;
	uint64_t arrived;		/* bytes of a datagram */
	struct datagram_sight datagram[TRACE_SIDES];
	bool settled[TRACE_SIDES];
	int64_t closed_before_ns;	/* the half's window, when the first byte left */
	struct call_times ideal[TRACE_SIDES];
	struct call_times shown[TRACE_SIDES];
	enum trace_seen seen[TRACE_SIDES];
};

enum frame_kind {
	FRAME_DATA, FRAME_ACK, FRAME_SYN, FRAME_FIN, FRAME_RST, FRAME_KEEPALIVE, FRAME_PROBE,
	FRAME_DATAGRAM,		/* or a fragment of one */
};

struct frame {
	struct half *half;
	enum frame_kind kind;
	uint8_t flags;			/* of TCP */
	bool retransmission;
	bool has_ack;
	bool more;			/* fragments of the datagram follow */
	bool gap;			/* the receiver has bytes behind `ack`; SACK would tell */
	uint64_t offset;		/* of the first byte after `garbage` */
	uint32_t len;
	int64_t left_ns;		/* the sender's card */
	uint32_t garbage;		/* bytes of other content in front */
	uint64_t ack;			/* offset in the other half */
	uint32_t window;		/* offered, in bytes */
	uint32_t stamp, echo;		/* TCP time stamps */
	uint16_t ip_id;
	struct record *record;		/* of the first byte; NULL without len */
};

struct range {
	uint64_t from, to;
};

/* Bytes that arrived early, sorted and disjoint. */
struct ranges {
	struct range *range;
	unsigned count, allocated;
};

/* Bytes whose first copy the network lost. */
struct lost_range {
	uint64_t from, to;
	int64_t first_ns;		/* that copy left */
	int64_t filled_ns;		/* the copy that arrived first left; TRACE_NEVER: none yet */
};

struct half {
	struct conn *conn;
	enum direction direction;
	uint32_t isn;

	/* sender */
	uint64_t una, nxt, end;		/* acknowledged, sent, queued */
	struct record *first, *last;	/* records not yet done with */
	struct record *sending;		/* holds byte `nxt`, if there is one */
	bool fin_wanted, fin_sent;	/* the FIN is byte `end` */
	bool closed;			/* nothing is sent any more, not even again */
	bool forgotten;			/* and every record is settled */
	bool corked, cork_armed;
	uint64_t allowed;		/* end of the window that was offered */
	uint64_t pause_at;		/* nothing from here on is sent for now; UINT64_MAX */
	unsigned duplicate_acks;
	bool recovering;
	uint64_t recover;		/* recovery ends when this is acknowledged */
	int64_t rto_ns, rto_at_ns;
	bool rto_armed;
	uint32_t echo;			/* newest time stamp heard from the other end */

	/* receiver */
	uint64_t expected;		/* next byte */
	struct ranges early;
	struct record *delivering;	/* the first one not delivered */
	uint64_t fin_at;		/* offset of the FIN, UINT64_MAX: not seen */
	unsigned ack_owed;		/* segments */
	int64_t ack_at_ns;
	bool ack_armed;
	uint64_t read;			/* by the application */
	bool stalled;
	uint32_t offered;		/* window of the last frame */
	bool window_closed;		/* less than a segment was offered */
	int64_t closed_since_ns, closed_total_ns;
	struct frame *held;		/* by GRO */
	int64_t held_until_ns;
	bool gro_armed;

	/* the network */
	struct lost_range *lost;
	unsigned lost_count, lost_allocated;

	/* capture points */
	uint64_t left;			/* bytes that left the sender */
	struct record *leaving;
	struct sight sight[TRACE_SIDES];
};

enum conn_state { CONN_CONNECTING, CONN_OPEN, CONN_CLOSING, CONN_CLOSED };

struct conn {
	struct conn *next;		/* of the whole simulation */
	struct lane *lane;
	struct half half[DIRECTIONS];
	enum conn_state state;		/* as the client sees it */
	bool server_knows;		/* the server got the SYN and no RST */
	struct endpoint client_end[TRACE_SIDES];	/* as each side's capture shows it */
};

/* Of calls, linked by `queued`. */
struct queue {
	struct call *first, *last;
};

struct server {
	struct host host;
	unsigned index;
	struct endpoint end[TRACE_SIDES];
	int64_t idle_threads;
	struct queue threads_queue;
	struct lane *turn_first, *turn_last;	/* with calls waiting, by `turn_next` */
	int64_t busy_disks;
	struct queue disks_queue;
};

struct lane {
	struct client *client;
	struct server *server;
	unsigned index;			/* of the client's lanes */
	struct conn *conn;
	struct call *first, *last;	/* outstanding */
	int64_t outstanding;
	struct call *waiting_first, *waiting_last;	/* for a slot */
	struct queue threads_queue;	/* in place of the server's, when lanes take turns */
	struct lane *turn_next;
	int64_t limit;			/* outstanding calls */
	bool ready;			/* for other calls than those that set up the session */
	struct session session;
	uint32_t xid_start;
	uint64_t xids;			/* used so far */
	int64_t calls_here;		/* on this connection */
	bool reconnecting, connect_armed;
	bool timer_armed;
};

struct caller {
	struct client *client;
	bool surges;			/* at work during surges only */
	uint64_t next_offset;		/* of a sequential one */
};

struct client {
	struct host host;
	unsigned index;
	uint8_t address[TRACE_SIDES][16];	/* as each side's capture shows it */
	struct lane *lane;
	unsigned lanes, next_lane;
	struct caller *caller;
	unsigned next_port;
	struct line line[DIRECTIONS];
	uint8_t *credential;		/* encoded AUTH_SYS parameters */
	uint32_t credential_len;
};

/* What the whole trace counted. */
struct totals {
	uint64_t calls, answered, connections, retransmitted_calls;
	uint64_t wire_packets[DIRECTIONS], lost[DIRECTIONS], reordered[DIRECTIONS];
	uint64_t retransmitted_segments[DIRECTIONS], overlaps, keepalives;
	uint64_t duplicate_requests;
};

struct sim {
	const struct trace_config *config;
	struct event_queue *events;
	int64_t now_ns;			/* since the start */
	struct trace_rng load_rng, service_rng, network_rng, tcp_rng, record_rng;
	double weight_sum;
	struct server *server;
	unsigned servers;
	struct client *client;
	unsigned clients;
	struct conn *conns;
	unsigned next_nat_port;
	uint8_t *pool;			/* payload */
	struct truth *truth;
	struct totals totals;
	uint64_t calls_made, calls_over;
	bool finished;			/* every call is over */
};

enum { UDP_BYTES = 8 };		/* of its header */

enum { POOL_BYTES = 4 << 20, LARGEST_PAYLOAD = 1 << 20 };

static inline struct host *
host_of(const struct conn *conn, enum trace_side side)
{
	return side == TRACE_SERVER ? &conn->lane->server->host : &conn->lane->client->host;
}

/* The host's clock, ns since 1970, at this ideal time since the start. */
int64_t trace_clock_ns(const struct host *host, int64_t ideal_ns);

#endif
