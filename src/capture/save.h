/*
 * The packets of a live run in pcap files with nanosecond stamps, rotated and
 * named as tcpdump does (-w, -C, -G, -W).
 *
 * A file shows at once and grows, so that it can be read at any time; what is
 * in memory goes into it once a second.
 */
#ifndef CAPTURE_SAVE_H
#define CAPTURE_SAVE_H

#include <glib.h>
#include <stdbool.h>

#include "capture/packet.h"

struct save_config {
	const char *path;	/* with seconds, a format for strftime */
	uint64_t file_bytes;	/* a file with more is followed by another; 0: however long it gets */
	unsigned seconds;	/* likewise; 0: however long it takes */
	unsigned files;		/* with file_bytes: after the last the first one again; with seconds alone: no more; 0: no end */
	int link_type;		/* DLT_ value */
	uint32_t snaplen;	/* at least what any packet has, for now: readers cut by it */
	uint32_t snaplen_most;	/* what it may be raised to; 0: it is not */
	int64_t begin_ns;	/* of the run: names the first file, and is what the first seconds count from */
};

/*
 * The name of a file: number since the last change of the time in it, and when
 * it began, seconds since 1970. config is a struct save_config. Caller frees.
 */
char *save_name(const void *config, uint64_t number, int64_t seconds);

/* Opens that file for writing, empty: the descriptor, which is taken, or -1 and errno. */
typedef int save_open_fn(void *context, uint64_t number, int64_t seconds);

struct save;

/* Opens the first file; open NULL: by its name, with the rights there are. config is copied, but for path. */
struct save *save_new(const struct save_config *config, save_open_fn *open, void *context, GError **error);
/* Writes what is left. NULL allowed. */
void save_free(struct save *save);

/*
 * False with an error once, when it cannot be written: saving is over then, and
 * the last packet in the file is whole. What follows is ignored.
 */
bool save_packet(struct save *save, const struct packet *packet, GError **error);
/* What is in memory goes into the file; false as save_packet. */
bool save_flush(struct save *save, GError **error);
/*
 * Packets that follow may have so many bytes: the header of the present file, if
 * it is one, and of later ones says so. A pipe's says the most from the start.
 * Safe from another thread, before the first such packet.
 */
void save_set_snaplen(struct save *save, uint32_t snaplen);
/* No packet is written any more: an error, or the last file is full. */
bool save_is_over(const struct save *save);
/* Packets in all files, those that were overwritten since among them. */
uint64_t save_packets(const struct save *save);

#endif
