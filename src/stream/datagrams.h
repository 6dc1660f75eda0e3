/*
 * UDP datagrams to RPC records: one datagram is one record (RFC 5531 section
 * 9), without a mark. IP fragments are joined as far as the times need it: the
 * head of a record is what its first fragment holds, the rest is counted and
 * never copied (RFC 791 section 3.2, RFC 8200 section 4.5).
 *
 * One object is one shard: it sees every piece of all datagrams between two
 * addresses, in the order of their stamps. It owns its share of every cap.
 */
#ifndef STREAM_DATAGRAMS_H
#define STREAM_DATAGRAMS_H

#include "capture/datagram.h"
#include "stream/stream.h"

struct datagrams;

struct datagram_counters {
	uint64_t flows;			/* pairs of address and port that carried RPC */
	uint64_t evicted_flows;		/* least recently used, when the table was full */
	uint64_t records;		/* datagrams that are RPC messages */
	uint64_t joined;		/* of them, those that came in fragments and were complete */
	uint64_t incomplete;		/* of them, those of which a fragment is missing */
	uint64_t tls;			/* datagrams of DTLS on flows that asked for it, or on NFS's port */
	uint64_t headless;		/* datagrams of any protocol whose first fragment is missing */
};

/* The sink is the one of a stream; its functions missed and over are called as there. */
struct datagrams *datagrams_new(const struct stream_sink *sink, uint32_t connections, uint64_t *next_serial);
void datagrams_free(struct datagrams *datagrams);
/* One piece, borrowed for the call; order: its packet's place in the order of stamps. */
void datagrams_push(struct datagrams *datagrams, const struct datagram *datagram, uint64_t flow_hash, uint64_t order);
/* Capture time moves on: fragments that waited long enough are given up. */
void datagrams_tick(struct datagrams *datagrams, int64_t now_ns);
/* All that waits is given up: the capture's clock was set back. */
void datagrams_clock_set_back(struct datagrams *datagrams);
/* The capture ends: what waits is given up, every flow is over. */
void datagrams_finish(struct datagrams *datagrams, int64_t now_ns);
const struct datagram_counters *datagrams_counters(const struct datagrams *datagrams);
/* Adds the counters of one shard to a sum that begins as zeros. */
void datagram_counters_add(struct datagram_counters *sum, const struct datagram_counters *part);

#endif
