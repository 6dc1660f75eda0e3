/*
 * What every format of capture files has: one const struct a format, in
 * file_pcap.c, file_pcapng.c and file_snoop.c.
 */
#ifndef CAPTURE_FILE_H
#define CAPTURE_FILE_H

#include "capture/ahead.h"
#include "capture/bytes.h"
#include "capture/packet.h"

enum file_result {
	FILE_PACKET,
	FILE_SKIPPED,	/* a packet that cannot be placed in time, or whose block contradicts itself: it has a frame number */
	FILE_END,
	FILE_CUT,	/* ends inside a packet */
	FILE_BLANK,	/* zeros where a packet should begin: laid out in advance and never written */
	FILE_BROKEN,	/* cannot be read, or no packet can look like this */
};

enum {
	FILE_TEXT = 256,	/* bytes of a problem's text */
	FILE_COMMENTS = 8,
	FILE_INTERFACES = 64,	/* whose names are kept */
	FILE_INTERFACE_NAME = 64,	/* bytes of one, at most */
	FILE_CAPTURED_MOST = 262144,	/* bytes of a packet; what libpcap takes from any link type that we know */
};

/* What the file has said of itself so far. */
struct file_facts {
	int link_type;			/* DLT_ value, of the first interface that we know, else of the first; -1: none yet */
	uint32_t snaplen;		/* the smallest; 0: not known */
	bool nanoseconds;		/* stamps can be finer than a microsecond */
	int64_t dropped_by_kernel;	/* -1: not known */
	uint64_t bad_blocks;		/* that contradicted themselves, or packets without a stamp: skipped */
	const char *comment[FILE_COMMENTS];	/* of sections and statistics, the first ones; owned by the file */
	unsigned comments;
};

struct file_format {
	const char *name;
	/* NULL and a text without a full stop when it cannot be read. bytes are borrowed, at the file's start. */
	void *(*open)(struct bytes *bytes, char text[FILE_TEXT]);
	/*
	 * The next packet, link type included; its frame is left to the caller. Its bytes are lent as bytes.h says.
	 * What is no packet is met again by the next call; bytes that hold (bytes_hold) look like the end of the file.
	 */
	enum file_result (*next)(void *file, struct packet *packet);
	/*
	 * The packets that follow, `most` of them at most, with their frames from this one on, as far as next would
	 * only take them where they lie. Returns how many. NULL: ask next for each.
	 */
	unsigned (*run)(void *file, struct packet *packets, unsigned most, uint64_t frame);
	/* Sets the form of a packet's head (length_at, head_len). False: ahead.h does not know it. NULL: never. */
	bool (*ahead)(const void *file, struct ahead *ahead);
	/* Borrowed, and up to date after each packet. */
	const struct file_facts *(*facts)(const void *file);
	/* Of the interface with this number (packet.interface less 1), NULL: not known; borrowed. NULL: none has a name. */
	const char *(*interface)(const void *file, unsigned number);
	/* After FILE_BROKEN; borrowed. */
	const char *(*problem)(const void *file);
	void (*free)(void *file);
};

extern const struct file_format file_format_pcap, file_format_pcapng, file_format_snoop;

/* Text for a file that ends before its header does, or cannot be read. */
void file_header_problem(const struct bytes *bytes, char text[FILE_TEXT]);
/* What to say at the end of the bytes inside a packet: FILE_CUT, or FILE_BROKEN with a text. */
enum file_result file_ends_here(const struct bytes *bytes, char text[FILE_TEXT]);

/* Fetches the heads of the next packet, or of a later one where large packets in a row, len bytes each, would have it. */
static inline __attribute__((always_inline)) void
file_fetch_ahead(const uint8_t *next, uint32_t len)
{
	enum { LARGE = 512, LATER = 4 };

	ahead_fetch((uintptr_t)next + (len > LARGE ? LATER * len : 0));
}

/* The DLT_ value of a link type as files number them (LINKTYPE_, www.tcpdump.org/linktypes.html); -1: no memory. */
int file_link_type(uint32_t number);

#endif
