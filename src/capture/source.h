/*
 * Where packets come from: a capture file, or standard input.
 */
#ifndef CAPTURE_SOURCE_H
#define CAPTURE_SOURCE_H

#include <glib.h>
#include <stdbool.h>

#include "capture/file.h"
#include "capture/filter.h"
#include "capture/keeper.h"

struct source;

/* Borrowed by what was opened with it. NULL in its place: neither. */
struct source_config {
	const struct filter *filter;	/* NULL: all packets; those that it drops count in the frame numbers */
	struct keeper *keeper;		/* NULL: files are opened with the program's own rights */
	bytes_wait_fn *wait;		/* before each read that may have to wait; NULL: read(2) waits */
	void *wait_context;
};

struct source_facts {
	const char *name;	/* as the user gave it; borrowed from the source */
	const char *format;	/* "pcap", "pcapng", "snoop" */
	const char *compression;	/* "gzip", "zstd", "xz", "lz4", or NULL */
	int link_type;		/* -1: a file without a packet that has none */
	uint32_t snaplen;	/* the smallest that the file tells; 0: not known */
	bool nanoseconds;	/* the file says that its time stamps have nanosecond resolution */
	uint64_t bytes;		/* size of the file; 0 for a stream */
	int64_t dropped_by_kernel;	/* -1: not known; complete at the end of the file, as what follows */
	int64_t dropped_by_interface;	/* -1: not known; of a live capture */
	uint64_t bad_blocks;	/* of pcapng, that contradicted themselves or had no stamp: skipped */
	const char *comment[FILE_COMMENTS];	/* that the file has in it, the first ones; borrowed from the source */
	unsigned comments;
};

/*
 * "-" is standard input. Errors name the file and say what is wrong with it.
 * A filter that has no meaning for the file's link type is NFSCORR_ERROR_USAGE.
 * Caller frees.
 */
struct source *source_open(const char *path, const struct source_config *config, GError **error);
void source_free(struct source *source);
/*
 * Packets are lent: their bytes stay until gone is told, which happens in
 * source_next and source_free only. Without it they are borrowed until then.
 */
typedef void source_gone_fn(void *context, const uint8_t *from, const uint8_t *to);
void source_on_gone(struct source *source, source_gone_fn *gone, void *context);

enum source_result {
	SOURCE_PACKET,
	SOURCE_END,
	SOURCE_BROKEN,	/* error is set: NFSCORR_ERROR_CUT for a cut file, else FAILED; nothing follows */
};
/* A packet's time is 0 to 2^32 s, whatever the file claims. */
enum source_result source_next(struct source *source, struct packet *packet, GError **error);
/*
 * Those that follow it as far as they were read already, `most` of them at most:
 * nothing is waited for, nothing is gone. Returns how many.
 */
unsigned source_more(struct source *source, struct packet *packets, unsigned most);
/* The packets that follow these, as far as they were read; good until the next call of another function. */
void source_look_ahead(const struct source *source, struct ahead *ahead);

/* Borrowed; they grow while the source is read. */
const struct source_facts *source_facts(const struct source *source);
/* The name that the file has for the interface with this number (packet.interface less 1); NULL: none. Borrowed. */
const char *source_interface(const struct source *source, unsigned number);
/*
 * Bytes of the file consumed so far, about, for progress; 0 for a stream. Safe
 * to call from another thread.
 */
uint64_t source_position(const struct source *source);
/* True when the source can be opened again from its start (a regular file). */
bool source_can_rewind(const struct source *source);

/* True when both paths lead to the same file (device and inode). */
bool source_same_file(const char *path, const char *other);

#endif
