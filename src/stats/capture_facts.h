/*
 * All that one capture says about itself, gathered from the layers at its end.
 */
#ifndef STATS_CAPTURE_FACTS_H
#define STATS_CAPTURE_FACTS_H

#include "capture/point.h"
#include "capture/source.h"
#include "correlate/op_pair.h"
#include "rpc/calls.h"
#include "rpc/hosts.h"
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
	const struct point_pairs *duplicates;	/* where those are from; NULL: none; borrowed */
	const char *const *interfaces;	/* names of those that the files number, FILE_INTERFACES of them; NULL: none; borrowed */
	uint64_t fragments;		/* IP fragments of TCP */
	uint64_t bad_blocks;		/* of pcapng files: skipped */
	const char *const *comments;	/* that the files have in them; borrowed */
	unsigned comment_count;
	uint64_t bad_packets;		/* headers cut or contradictory */
	uint64_t backward_stamps;	/* packets stamped before the latest stamp in front of them */
	int64_t backward_max_ns;	/* by how much, at most */
	int64_t dropped_by_kernel;	/* -1: not known */
	int64_t dropped_by_interface;	/* the same: whatever they were, before any filter */
	const char *trouble;		/* why reading stopped early, or NULL; owned by the facts' maker */
	struct stream_counters tcp;
	struct datagram_counters udp;
	struct rpc_counters rpc;
	uint64_t waiting;		/* while the capture goes on: calls that wait for a reply, */
	int64_t waiting_since_ns;	/* the earliest call_first of them; 0: none waits */
	uint64_t paired_calls;		/* a client's: matched or partial */
	uint64_t against_clock;		/* of its matched calls: request or reply is below zero by its aligned clock */
	const struct hosts *hosts;	/* what hosts say of themselves; NULL: nothing was read; borrowed */
	const struct lines *lines;	/* rates of data between hosts; NULL: not measured; borrowed */
	bool side_detected;		/* enum pair_side in detected_side, from TCP timing */
	enum pair_side detected_side;
	/* the busiest RPC connection's server, for the commands that make a better capture */
	struct net_endpoint server, client;
	bool has_endpoints;
};

/* The name of the interface, as the files tell it; NULL: they do not. Borrowed from the facts. */
const char *capture_interface_name(const struct capture_facts *facts, const struct capture_point *point);
/* The pair of capture points with the most packets after this one; NULL as the one before: of all, as the result: none. */
const struct point_pair *capture_next_pair(const struct capture_facts *facts, const struct point_pair *before);
/* "first on eth0, again on br0 1 router further"; false, and nothing, where the capture tells nothing of either. */
bool capture_append_pair(GString *text, const struct capture_facts *facts, const struct point_pair *pair);
/* The same of the commonest pairs, with their packets, each behind a semicolon. */
void capture_append_pairs(GString *text, const struct capture_facts *facts);

#endif
