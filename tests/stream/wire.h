/*
 * A TCP connection for tests: bytes put into streams at chosen places and
 * times, and the operations that a shard makes of them.
 */
#ifndef TESTS_STREAM_WIRE_H
#define TESTS_STREAM_WIRE_H

#include "rpc/calls.h"
#include "stream/datagrams.h"
#include "stream/stream.h"

enum { WIRE_OPS = 4096, WIRE_EVENTS = 64, WIRE_BYTES = 1 << 20 };
enum wire_direction { TO_SERVER, TO_CLIENT };

struct wire {
	struct calls *calls;
	struct stream *stream;
	struct datagrams *datagrams;
	const struct stream_counters *tcp;
	const struct rpc_counters *rpc;
	uint64_t serial;
	uint64_t frame;
	uint16_t client_port, server_port;
	uint32_t isn[2];
	uint32_t snaplen;		/* payload bytes kept of a segment; 0: all */
	uint16_t window[2];		/* that is announced in a direction; 1000 unless told otherwise */
	uint8_t flags;			/* that every segment has besides */
	bool scaled;			/* SYNs have a window scale of window_scale */
	uint8_t window_scale;
	int64_t syn_answer_ns;		/* from SYN to SYN-ACK */
	unsigned ops;
	struct nfs_op op[WIRE_OPS];	/* in the order in which they finished */
	unsigned open_notes;		/* calls that were open when their connection was reset */
	unsigned events;
	struct tcp_event event[WIRE_EVENTS];	/* the first ones */
	/* the bytes of both streams, for senders that keep them in order */
	uint8_t bytes[2][WIRE_BYTES];
	uint32_t len[2];
};

/* Limits of 0 are generous ones. Port 1023 to 2049. Caller frees. */
struct wire *wire_new(uint32_t connections, uint32_t calls);
void wire_free(struct wire *wire);

/* SYN and SYN-ACK. */
void wire_open(struct wire *wire, int64_t ts_ns);
/* len bytes of a stream's content from offset on, as one segment; ack: of the other direction, as an offset. */
void wire_send(struct wire *wire, enum wire_direction direction, uint32_t offset, uint32_t len, uint32_t ack,
    int64_t ts_ns);
/* The same with bytes of its own. */
void wire_send_bytes(struct wire *wire, enum wire_direction direction, uint32_t offset, const void *bytes,
    uint32_t len, uint32_t ack, int64_t ts_ns);
void wire_ack(struct wire *wire, enum wire_direction direction, uint32_t offset, uint32_t ack, int64_t ts_ns);
void wire_flags(struct wire *wire, enum wire_direction direction, uint32_t offset, uint8_t flags, int64_t ts_ns);
/* Other packets of the capture pass: the reorder window goes by. */
void wire_wait(struct wire *wire, int64_t now_ns);
void wire_finish(struct wire *wire, int64_t now_ns);

/*
 * The record at an offset of a stream's content as a UDP datagram, without its
 * mark; and as a fragment the bytes from one place of that datagram to another,
 * its UDP header counted. to of 0: all that there is.
 */
void wire_datagram(struct wire *wire, enum wire_direction direction, uint32_t offset, int64_t ts_ns);
void wire_fragment(struct wire *wire, enum wire_direction direction, uint32_t offset, uint32_t id, uint32_t from,
    uint32_t to, int64_t ts_ns);

/*
 * Appends a record to a stream's content; gives its offset. Records are whole:
 * mark, header, body. READ asks for size bytes, READ's reply and WRITE carry
 * them.
 */
uint32_t wire_getattr(struct wire *wire, uint32_t xid);
uint32_t wire_getattr_reply(struct wire *wire, uint32_t xid);
uint32_t wire_read(struct wire *wire, uint32_t xid, uint64_t offset, uint32_t size);
uint32_t wire_read_reply(struct wire *wire, uint32_t xid, uint32_t size);
uint32_t wire_write(struct wire *wire, uint32_t xid, uint64_t offset, uint32_t size);
/* Appends a record of words, its mark in front of them; gives its offset. */
uint32_t wire_words(struct wire *wire, enum wire_direction direction, const uint32_t *words, uint32_t count);
/* Appends raw bytes; fill is the value of each. */
uint32_t wire_append(struct wire *wire, enum wire_direction direction, uint8_t fill, uint32_t len);
/* The finished op of an XID, the first of several; fails the test if there is none. */
const struct nfs_op *wire_op(const struct wire *wire, uint32_t xid);
/* Asserts that calls are the sum of their outcomes and bytes the sum of theirs. */
void wire_check_books(const struct wire *wire);

#endif
