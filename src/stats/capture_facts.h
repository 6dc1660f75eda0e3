/*
 * All that one capture says about itself, gathered from the layers at its end.
 */
#ifndef STATS_CAPTURE_FACTS_H
#define STATS_CAPTURE_FACTS_H

#include "capture/source.h"
#include "correlate/op_pair.h"
#include "rpc/calls.h"
#include "stats/lines.h"
#include "stream/datagrams.h"
#include "stream/stream.h"

enum { CAPTURE_LINK_TYPES = 8 };

struct capture_facts {
	enum pair_side side;		/* after correction */
	const char *name;		/* of the first file, as given; borrowed */
	const char *format;		/* static text */
	const char *compression;	/* the same; NULL: none */
	uint64_t bytes;			/* of all files */
	const struct source_facts *files;	/* in the order of reading; borrowed */
	unsigned file_count;
	int link_types[CAPTURE_LINK_TYPES];
	unsigned link_type_count;
	uint32_t snaplen;
	bool nanoseconds;
	int64_t first_ns, last_ns;	/* smallest and largest stamp; 0 without packets */
	uint64_t packets;
	uint64_t truncated_packets;	/* cap_len < wire_len */
	uint64_t duplicate_packets;
	uint64_t fragments;		/* IP fragments of TCP */
	uint64_t bad_blocks;		/* of pcapng files: skipped */
	const char *const *comments;	/* that the files have in them; borrowed */
	unsigned comment_count;
	uint64_t bad_packets;		/* headers cut or contradictory */
	uint64_t backward_stamps;	/* packets stamped before the latest stamp in front of them */
	int64_t backward_max_ns;	/* by how much, at most */
	int64_t dropped_by_kernel;	/* -1: not known */
	const char *trouble;		/* why reading stopped early, or NULL; owned by the facts' maker */
	struct stream_counters tcp;
	struct datagram_counters udp;
	struct rpc_counters rpc;
	struct calls_waiting waiting;	/* while the capture goes on */
	uint64_t paired_calls;		/* a client's: matched or partial */
	uint64_t against_clock;		/* of its matched calls: request or reply is below zero by its aligned clock */
	const struct lines *lines;	/* rates of data between hosts; NULL: not measured; borrowed */
	bool side_detected;		/* enum pair_side in detected_side, from TCP timing */
	enum pair_side detected_side;
	/* the busiest RPC connection's server, for the commands that make a better capture */
	struct net_endpoint server, client;
	bool has_endpoints;
};

#endif
