/*
 * One connection's epoch, as the modules of this folder share it.
 */
#ifndef STREAM_CONNECTION_H
#define STREAM_CONNECTION_H

#include "stream/stream.h"

enum {
	/* Nothing is called a gap before one of them has passed: packets may be stamped out of order, too. */
	SETTLE_NS = 2 * 1000 * 1000,
	SETTLE_PACKETS = 64,
	/* What was under way when a connection was reset still comes, for two round trips and at least so long. */
	RESET_NS = 1 * 1000 * 1000,
	/* Data behind the end of a connection by more than this is another one, whose SYN was not captured. */
	LATE_NS = 1000 * 1000 * 1000,
	/* A direction that began mid-stream and was never acknowledged to its end is fresh after so long. */
	FRESH_S = 3,
	/* A hole whose other direction was never captured, or a direction of which nothing is, is given up after so long. */
	SILENT_HOLE_NS = 2 * 1000 * 1000 * 1000,
	/* Bytes on a connection that was not recognised as RPC before it is only probed. */
	PROBATION_BYTES = 64 * 1024,
	/* Largest record that is believed: 4 MiB of data and room for its header. */
	RECORD_MAX = 4 * 1024 * 1024 + 64 * 1024,
	HEAD_MAX = 4096,
	SEGMENT_ASSUMED = 1448,	/* payload on Ethernet with time stamps, where no segment was seen */
	ACK_MARKS = 64,	/* those beyond stretch the last one */
	PLACE_MARKS = 64,	/* those beyond are passed over */
	NFS_PORT = 2049,
};

/* What either end of a direction kept the other waiting so far (stream/waits.h). */
struct waited {
	int64_t receiver_ns, sender_ns;
	uint32_t doubts;	/* gaps of which that cannot be told */
};

/* A piece of one direction's stream, in stream order. */
struct slice {
	int64_t offset;		/* of its first byte */
	int64_t seen_ns;	/* when its bytes were first seen */
	int64_t had_ns;		/* when TCP had them: seen_ns, or before it, where their acknowledgement was seen first */
	int64_t ready_ns;	/* when TCP could hand them over: running maximum of had_ns */
	uint64_t frame;
	uint64_t order;		/* place of its packet in the order of stamps */
	int64_t acked;		/* of the other direction, by packets of earlier stamps; INT64_MIN: nothing */
	const uint8_t *data;	/* borrowed */
	uint32_t clock;		/* stream.clock when it was captured */
	uint32_t cap_len;	/* bytes at data */
	uint32_t wire_len;	/* bytes of stream; those beyond cap_len are a hole */
	struct waited waited;	/* when it came */
	bool lost;		/* acknowledged, never captured: no data */
	/* enum record_flag, for the record that it is part of: */
	uint8_t flags;		/* it was lost, filled a hole too late to be out of order, or may be stale */
	uint8_t ready_flags;	/* ready_ns stems from a piece that was lost, captured too late, or filled a hole */
};

/* A copied slice, kept while it cannot be used yet. */
struct held {
	struct held *next;
	struct slice slice;	/* data points behind this struct */
};

/* Headers of TLS records that were found one behind the other (stream/tls.h). */
struct tls_trail {
	int64_t begin, next;	/* offsets of the first one and of the one to come */
	uint32_t headers;
	bool hello;		/* the first one begins the stream, with the hello of either end */
};

enum record_phase {
	RECORD_AT_MARK,		/* a record begins */
	RECORD_AT_NEXT_MARK,	/* another fragment of the record in hand */
	RECORD_IN_BODY,
	RECORD_NO_PLACE,	/* looking for the next boundary */
	RECORD_TLS,		/* nothing can be read any more */
};

struct resync;

struct record_state {
	enum record_phase phase;
	uint8_t mark[4];
	uint8_t mark_have;
	bool last_fragment;
	bool head_done;
	bool headless;		/* its header is not there: skipped by its length */
	uint8_t unproven;	/* records since then that nothing confirmed when it was found, to come or not */
	int8_t alignment;	/* offset modulo 4 of every record mark; -1: not known */
	struct waited waited;	/* when the record began */
	uint32_t fragment_left;
	uint32_t copy_len;
	uint8_t *copy;		/* HEAD_MAX bytes, made when a head does not lie in one slice */
	struct rpc_record record;
	struct resync *resync;
	struct tls_trail tls;
	unsigned since_resync;	/* records since the place was last lost, RECORDS_MOST at most */
	uint32_t largest;	/* record so far, of those that are proven */
};

/* An acknowledgement of bytes that were not seen yet, or an empty segment of their own direction from behind them. */
struct mark {
	int64_t offset;
	int64_t ts_ns;
	uint64_t packets;	/* stream.packets when it came; of an acknowledgement */
};

/* When a piece of the stream was first seen; it begins where the one before it ends. */
struct sent_mark {
	int64_t end;
	int64_t seen_ns;	/* INT64_MIN: it never was */
};

/*
 * The last pieces of a direction, in stream order: those that the other end
 * has not acknowledged, as far as they fit, and some that it has. Each new one
 * takes the place of the oldest; as long as there are fewer than places, those
 * that are free are empty pieces in front of the first.
 */
struct sent_ring {
	struct sent_mark *mark;	/* mask + 1 places, a power of two; NULL: none yet */
	uint32_t mask;
	uint64_t behind;	/* number of the piece to come */
	int64_t begin;		/* of the first piece */
};

enum syn_seen { SYN_UNSEEN, SYN_PLAIN, SYN_SCALED };

/*
 * What either end of a direction keeps waiting. Of a gap between two segments
 * with data, times are WAITS_NEVER where it has not come to it since data_ns.
 */
struct waits {
	uint32_t enough;	/* room in the window: for the largest segment that came; UINT32_MAX: it is shut */
	uint16_t largest;	/* segment that the receiver takes; 0: not known */
	uint8_t scale;		/* of the receiver's windows; 0 unless scale_known */
	uint8_t syn, offered_scale;	/* enum syn_seen; of this direction's SYN */
	bool scale_known;
	bool told;		/* any of what follows says something of the gap */
	bool doubtful;		/* without the scale, a window may have had room or not */
	int64_t data_ns;	/* the last new data */
	int64_t shut_ns;	/* the window had no room for a segment for so long, since data_ns, and has now */
	int64_t acked_ns;	/* all that came is acknowledged; free_ns is not without it */
	int64_t free_ns;	/* and there is room in the window */
	int64_t shut_since_ns;	/* there is none; beyond the gap */
	struct waited so_far;
};

/*
 * One direction of a connection. Offsets count bytes from seq_base. What every
 * segment needs comes first, close together.
 */
struct half {
	int64_t next;		/* everything below was delivered */
	int64_t acked;		/* by the other direction, highest; INT64_MIN: nothing */
	int64_t acked_before;	/* highest by earlier stamps; INT64_MIN: none */
	int64_t acked_ns;	/* stamp of acked */
	/* round trips of what this direction sends: one open sample, as Karn has it */
	int64_t sample_end;	/* PATH_NO_SAMPLE: none is open */
	uint32_t seq_base;
	uint32_t max_segment;
	/* windows that it offers, unscaled: of those from window_low on, window_usual are neither small nor the largest yet */
	uint16_t window_low, window_usual;
	uint16_t most_window;
	bool window_small;	/* the last one, against most_window */
	uint8_t ready_flags;
	int64_t ready_ns;
	int64_t sample_ns;
	struct waits waits;
	struct sent_ring sent;
	int64_t most_unacked;	/* bytes sent and not acknowledged, at most */
	int64_t round_trip_ns;
	struct record_state record;
	uint32_t clock;		/* that of the slice ready_ns was taken from: it does not reach over a step */
	bool based;		/* seq_base is known */
	bool from_start;	/* based on a SYN */
	bool starting;		/* mid-stream: its first byte to come is where it begins */
	bool captured;		/* packets of this direction were seen */
	bool fin;
	bool fresh;		/* all that was sent before the capture began is acknowledged */
	uint8_t implausible;	/* segments in a row whose place cannot be */
	int64_t begun_ns;	/* its first byte */
	int64_t fin_offset;
	int64_t beyond_offset;	/* no mark speaks of more than that; -1: there is none */
	uint8_t ack_marks, ack_room;
	uint8_t place_marks, place_room;
	struct mark *ack_mark;		/* those that went beyond what was delivered, in order */
	struct mark *place_mark;	/* the same of empty segments */
	struct held *held, *held_last;
	uint64_t held_bytes;
};

enum connection_phase {
	CONNECTION_FREE,
	CONNECTION_PROBED,	/* not known to be RPC: only segment starts are looked at */
	CONNECTION_TRACKED,
	CONNECTION_CLOSED,	/* its epoch is over; kept to know late segments */
};

struct connection {
	struct connection_info info;	/* first: the sink sees only this */
	uint64_t hash;
	uint32_t plain;			/* stream.clock while nothing is missing, waits or ends: stream/plain.h */
	enum connection_phase phase;
	bool rpc;			/* a record was found */
	bool expected;			/* RPC is to be expected */
	bool tls;			/* one direction has gone over to TLS, the other will */
	int8_t caller;			/* direction of the calls; -1: not known */
	bool round_trips_told;		/* what was measured before that is counted */
	bool pending;			/* on the list of those that wait for time to pass */
	uint32_t lru_newer, lru_older;
	uint32_t pending_next;
	int64_t end_ns;			/* when the epoch ends after a reset, and when it did end */
	uint64_t unrecognised_bytes;	/* delivered before the first record */
	struct half half[2];
};

struct stream {
	struct stream_sink sink;
	struct stream_limits limits;
	struct stream_counters counters;
	uint64_t held_bytes;
	struct flow_table *flows;
	uint64_t *next_serial;
	uint32_t pending;		/* head of the list, FLOW_NONE: empty */
	int64_t now_ns;			/* largest stamp so far, since the clock was set back */
	uint32_t clock;			/* how often it was, from 1 */
	uint64_t packets;		/* of the capture so far, in the order of their stamps */
};

/* stream.c: takes a connection off the list of those that wait. */
void stream_forget(struct stream *stream, struct connection *connection);
/* RPC is to be expected: one end uses NFS's own port, or the sink knows of it. */
bool stream_expects(const struct stream_sink *sink, const struct flow_key *key, bool datagrams);
/* The books of a lost piece, and of a connection that is over. */
void stream_count_loss(struct stream *stream, const struct half *half, const struct slice *slice);
void stream_count_over(struct stream *stream, const struct connection *connection);

/* tcp.c: whether a segment's place makes sense on this half of a connection that is over or not. */
bool tcp_is_near(const struct half *half, uint32_t seq);
/* tcp.c: order, overlap and loss of one connection's segments. */
void tcp_segment(struct stream *stream, struct connection *connection, const struct segment *segment);
/* A segment that came when the epoch was over: copies that are late are told all the same. */
void tcp_late_segment(struct stream *stream, const struct connection *connection, const struct segment *segment);
/* Decides holes whose time has come; true while some remain. */
bool tcp_settle(struct stream *stream, struct connection *connection);
/*
 * Ends the epoch when both directions have sent their FIN and all before it
 * was delivered, or when nothing that was under way at a reset can come any more.
 */
void tcp_end_if_finished(struct stream *stream, struct connection *connection, int64_t ts_ns);
/* Delivers all that can be, gives up the rest, and ends the epoch. */
void tcp_close(struct stream *stream, struct connection *connection, int64_t ts_ns, enum stream_end why);
/* Begins a new epoch on a connection: all of it but key, hash and place in the table. */
void tcp_open(struct stream *stream, struct connection *connection);

/* records.c: record marking of one direction. Nothing is left of the slice. */
void records_push(struct stream *stream, struct connection *connection, uint8_t direction, struct slice *slice);
/* A slice whose mark says that all of it is a record, which the sink took for none: the place was wrong. */
void records_refuse(struct stream *stream, struct connection *connection, uint8_t direction, struct slice *slice);
/* Nothing more comes of the direction: boundaries that stand on their own are decided. */
void records_settle(struct stream *stream, struct connection *connection, uint8_t direction);
/* The direction ends: candidates are decided, the record in hand is abandoned, memory is given back. */
void records_finish(struct stream *stream, struct connection *connection, uint8_t direction);

/* held.c */
struct held *held_copy(const struct slice *slice);

/* By choice, since an index would be multiplied anew for each member. */
static inline struct half *
connection_half(struct connection *connection, uint8_t direction)
{
	return direction == 0 ? &connection->half[0] : &connection->half[1];
}

/* Most of a large record: nothing in so many bytes is looked at. */
static inline bool
record_skips(const struct record_state *state, uint32_t len)
{
	return state->phase == RECORD_IN_BODY && state->head_done && len < state->fragment_left;
}

/* Pieces that were held while the clock was set back are from before those that came behind it. */
static inline void
half_note_ready(struct half *half, uint32_t clock, int64_t had_ns, uint8_t flags)
{
	if (clock == half->clock ? had_ns >= half->ready_ns : (int32_t)(clock - half->clock) > 0) {
		half->clock = clock;
		half->ready_ns = had_ns;
		half->ready_flags = flags;
	}
}

/* The other end acknowledged more than before. */
static inline void
half_note_acked(struct half *half, int64_t offset, int64_t ts_ns)
{
	if (half->acked_ns != ts_ns)
		half->acked_before = half->acked;
	half->acked_ns = ts_ns;
	half->acked = offset;
}

/* What was acknowledged before that; whatever is stamped alike, its order says nothing. INT64_MIN: nothing. */
static inline int64_t
half_acked_before(const struct half *half, int64_t ts_ns)
{
	return half->acked_ns < ts_ns ? half->acked : half->acked_before;
}

/* The payload of a segment. */
static inline struct slice
slice_of(const struct stream *stream, const struct half *other, const struct segment *segment, int64_t offset)
{
	return (struct slice){
		.offset = offset,
		.seen_ns = segment->packet->ts_ns,
		.had_ns = segment->packet->ts_ns,
		.frame = segment->packet->frame,
		.order = stream->packets,
		.clock = stream->clock,
		.acked = half_acked_before(other, segment->packet->ts_ns),
		.data = segment->payload,
		.cap_len = segment->payload_cap_len,
		.wire_len = segment->payload_wire_len,
	};
}

/* Takes the first skip bytes off a slice, skip <= wire_len. */
static inline void
slice_pass(struct slice *slice, uint32_t skip)
{
	slice->offset += skip;
	slice->wire_len -= skip;
	if (skip < slice->cap_len) {
		slice->data += skip;
		slice->cap_len -= skip;
	} else {
		slice->cap_len = 0;
	}
}

/* The part of a slice behind its first skip bytes, skip <= wire_len. */
static inline struct slice
slice_from(const struct slice *slice, uint32_t skip)
{
	struct slice rest = *slice;

	slice_pass(&rest, skip);
	return rest;
}

#endif
