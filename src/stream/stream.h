/*
 * Segments to RPC records: the flow table, TCP order, overlap and loss, facts
 * about the path, record marking (RFC 5531 section 11) and its resynchronisation.
 *
 * One stream object is one shard: it sees all segments of its flows, in the
 * order of the capture. It owns its share of every cap.
 */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H

#include "base/histogram.h"
#include "capture/segment.h"

struct stream;

/* What a later layer needs to know of one connection's epoch. */
struct connection_info {
	struct flow_key key;
	uint64_t serial;	/* unique in the capture, from 1, in order of first segment */
	bool reset;		/* ended by RST */
	bool finished;		/* ended by FIN of both directions */
	bool captured[2];	/* packets of a direction were seen */
	bool datagrams;		/* over UDP: no order, no acknowledgements, no end */
	bool tls_expected;	/* the sink's word: one end asked for TLS (RFC 9289 section 4.1) */
	void *rpc;		/* the sink's own state; NULL at first */
};

/* What a capture point sees of bytes that TCP sent more than once, or that it did not see at all. */
enum tcp_event_kind {
	TCP_REPEATED,	/* seen before, at from_ns (INT64_MIN: not known when), and again at to_ns */
	TCP_FILLED,	/* missing until to_ns, later than packets out of order are */
	TCP_UNSEEN,	/* acknowledged, not captured until to_ns or at all: taken as seen at from_ns */
};

struct tcp_event {
	uint64_t connection;	/* its serial */
	int64_t offset;		/* of the first byte, as rpc_record.begin_offset */
	int64_t from_ns, to_ns;
	uint32_t len;
	uint8_t direction;	/* as segment.direction */
	uint8_t kind;		/* enum tcp_event_kind */
};

/* Why a record's times or bytes are not what the wire carried. */
enum record_flag {
	RECORD_TIME_DEDUCED = 1 << 0,	/* a time stems from bytes that were acknowledged and never captured */
	RECORD_UNPROVEN = 1 << 1,	/* found by resynchronisation; nothing after it could confirm it */
	RECORD_TIME_FILLED = 1 << 3,	/* a time is that of a retransmission which filled a hole: too late at its sender */
	RECORD_TIME_STALE = 1 << 4,	/* began mid-stream: may be a retransmission whose first copy came before the capture */
	RECORD_FRAGMENTED = 1 << 2,	/* more than one RPC fragment: total_len grows until the end */
	RECORD_WHOLE = 1 << 5,		/* with its head: what is valid at the end is valid already */
	RECORD_TIMES = RECORD_TIME_DEDUCED | RECORD_TIME_FILLED | RECORD_TIME_STALE,
};

struct rpc_record {
	struct connection_info *connection;
	uint8_t direction;		/* as segment.direction */
	uint8_t flags;			/* enum record_flag */
	int64_t first_ns;		/* packet that first carried the record mark */
	int64_t last_ns;		/* deliverable: every byte of it and before it was seen; valid at the end */
	uint64_t first_frame;
	uint64_t first_order;		/* place of the same packet in the order of stamps */
	int64_t first_acked;		/* stream offset of the other direction acknowledged before it; INT64_MIN: none */
	int64_t begin_offset;		/* stream offset of its first mark */
	int64_t end_offset;		/* stream offset behind the record; valid at the end */
	int64_t receiver_ns, sender_ns;	/* for which either end kept the other waiting (stream/waits.h), unless waits_unknown; valid at the end */
	bool waits_unknown;
	uint32_t total_len;		/* bytes without record marks; all of it known at the end */
	const uint8_t *head;		/* borrowed for the call */
	uint32_t head_cap;
	uint8_t head_beyond;		/* XDR_SHORT or XDR_HOLE */
	uint32_t token;			/* the sink's, kept from head to end; 0 at first */
};

/* A complete record's bytes on the wire, its record marks included; 0 when it is too long to be one. */
static inline uint32_t
record_bytes(const struct rpc_record *record)
{
	int64_t bytes = record->end_offset - record->begin_offset;

	return bytes > 0 && bytes <= UINT32_MAX ? (uint32_t)bytes : 0;
}

enum header_verdict { HEADER_NO, HEADER_MAYBE, HEADER_YES };

enum stream_end {
	END_OF_CONNECTION,	/* FIN, RST, a new SYN, or a connection that took its place */
	END_OF_CAPTURE,
	END_BY_EVICTION,	/* the flow table was full */
};

enum head_result {
	HEAD_TAKEN,	/* all that is wanted was there */
	HEAD_ENDED,	/* the same of a RECORD_WHOLE, and its end was taken with it */
	HEAD_MORE,	/* ran into XDR_SHORT */
	HEAD_NOT_RPC,	/* not a message: the place in the stream is wrong */
};

struct stream_sink {
	void *context;
	/*
	 * Could these bytes be the start of a message on this connection? Asked of
	 * candidates while looking for a record boundary.
	 * At least 8 bytes (XID and message type) are given; record_len is what the
	 * mark says. HEADER_YES is a check strong enough to stand alone.
	 */
	enum header_verdict (*header)(void *context, const struct connection_info *connection,
	    uint8_t direction, const uint8_t *bytes, uint32_t cap, uint32_t record_len);
	/*
	 * The head of a record, again with more of it after HEAD_MORE. Without an
	 * answer other than HEAD_MORE a last time with head_beyond XDR_HOLE.
	 */
	enum head_result (*head)(void *context, struct rpc_record *record);
	/* The record is complete at record->last_ns. */
	void (*end)(void *context, struct rpc_record *record);
	/* The record will never be complete: the stream ended or lost its place inside it. */
	void (*abandon)(void *context, struct rpc_record *record);
	/* Up to this time records of this direction may have been missed: their headers were cut off or lost. */
	void (*missed)(void *context, struct connection_info *connection, uint8_t direction, int64_t ts_ns);
	/* It was reset; what was under way still comes, then it is over. NULL: nobody wants to know. */
	void (*reset)(void *context, struct connection_info *connection);
	/* The connection's epoch is over; `rpc` is to be released. */
	void (*over)(void *context, struct connection_info *connection, int64_t ts_ns, enum stream_end why);
	/* Of RPC connections, in the order of the capture; has a context of its own. NULL: nobody wants them. */
	void (*event)(void *event_context, const struct tcp_event *event);
	void *event_context;
	/* Whether RPC is to be expected on a connection or flow, beside NFS's own port. NULL: nobody knows. */
	bool (*expected)(void *expected_context, const struct flow_key *key, bool datagrams);
	void *expected_context;
};

/* Every captured byte of payload is in exactly one of: delivered, duplicate, discarded. */
struct stream_counters {
	uint64_t connections;
	uint64_t rpc_connections;	/* those on which a record was found */
	uint64_t mid_stream;		/* of them, whose start was not captured */
	uint64_t one_direction;		/* of them, of which only one direction was captured */
	uint64_t evicted_connections;	/* least recently used, when the table was full */
	uint64_t segments;		/* on all connections */
	uint64_t retransmitted;		/* carried bytes that were there before, or filled a hole later than out_of_order says */
	uint64_t out_of_order;		/* filled a hole within the connection's smallest round trip, 3 ms at most */
	uint64_t zero_window;		/* announced a window of zero, RST aside */
	uint64_t server_window_shrunk;	/* how often an RPC server's window fell to an eighth of the largest before, or less */
	uint64_t payload_bytes;		/* as the wire carried them */
	uint64_t delivered_bytes;	/* in order, once, on RPC connections, hole_bytes included */
	uint64_t duplicate_bytes;	/* seen before, or below the start of the stream */
	uint64_t discarded_bytes;	/* of connections that are not RPC, or behind a hole when the stream ended */
	uint64_t hole_bytes;		/* of delivered_bytes, those that the snap length cut away */
	uint64_t lost_bytes;		/* acknowledged, never captured, on RPC connections */
	uint64_t lost_segments;		/* the same in segments of the direction's largest size (1448 where none was seen), each hole rounded up */
	uint64_t hidden_records;	/* record marks that the snap length is known to have cut away */
	uint64_t resyncs;		/* record boundaries found again */
	uint64_t forced;		/* holes given up because a cap was reached */
	uint64_t tls_connections;	/* that went over to TLS, or were TLS from their start on an NFS port */
	uint64_t tls_bytes;		/* that they carried of it */
	uint64_t unacked_bytes[2];	/* the most that each RPC connection had sent and not acknowledged, summed: as round_trip */
	int64_t first_loss_ns, last_loss_ns;	/* 0: none */
	struct dist round_trip[2];	/* data or SYN to its ACK, RPC connections: [0] to the server, [1] to the client */
};

struct stream_limits {
	uint32_t connections;		/* in this shard */
	uint64_t held_bytes;		/* copied while a hole is open, in this shard */
};

/* next_serial is shared by the shards of one capture, so that serials are in order of the capture. */
struct stream *stream_new(const struct stream_sink *sink, const struct stream_limits *limits,
    uint64_t *next_serial);
void stream_free(struct stream *stream);
/* One segment, borrowed for the call, and how many packets of the capture came before it. */
void stream_push(struct stream *stream, const struct segment *segment, uint64_t flow_hash, uint64_t packets);
/* Capture time moves on (largest stamp, packets so far): what waited long enough is decided. */
void stream_tick(struct stream *stream, int64_t now_ns, uint64_t packets);
/* True when something waits for time to pass: ticks should come soon. */
bool stream_waits(const struct stream *stream);
/* The capture's clock was set back to now_ns: what waits for time to pass is decided, and no time reaches over it. */
void stream_clock_set_back(struct stream *stream, int64_t now_ns);
/* The capture ends: what is held is decided, every connection is over. */
void stream_finish(struct stream *stream, int64_t now_ns);
const struct stream_counters *stream_counters(const struct stream *stream);
/* Adds what only counts when a connection is over, of those that are not, to a sum. */
void stream_counters_add_open(struct stream_counters *sum, const struct stream *stream);
/* Adds the counters of one shard to a sum that begins as zeros. */
void stream_counters_add(struct stream_counters *sum, const struct stream_counters *part);
/* Which end of a connection sends the calls; the sink says so once it knows (for round_trip). */
void connection_set_caller(struct connection_info *connection, uint8_t direction);
/* The direction of the calls as it was said; -1 while not known. */
int connection_caller(const struct connection_info *connection);
/* Smallest round trip from the capture point to the end that answers the calls; -1 while not known. */
int64_t connection_path_ns(const struct connection_info *connection);
/* Highest stream offset of a direction that the other end has acknowledged; INT64_MIN if none. */
int64_t connection_acked(const struct connection_info *connection, uint8_t direction);

#endif
