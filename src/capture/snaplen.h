/*
 * How many bytes of each packet a live capture keeps: headers only, and more
 * when that hides too many of them. A frame that offloading joined has records
 * in its middle, and one that is cut in front of a record's mark hides it.
 */
#ifndef CAPTURE_SNAPLEN_H
#define CAPTURE_SNAPLEN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * With 512 bytes nearly every header at the start of a segment is whole, NFSv4.1
 * with long file handles and many groups included, and with less it is not: of
 * a load of small NFSv4.1 calls behind 64 KiB frames 384 bytes hide 18 % of the
 * records, 512 10 %, 1024 6 %, 2048 4 %, 16384 none; of one of 8 KiB READs and
 * WRITEs 512 hide 14 %, 2048 13 %, 8192 10 %, 16384 half a percent.
 */
enum { SNAPLEN_DEFAULT = 512 };

/* Of a run until now. */
struct snaplen_counts {
	uint64_t records;	/* calls and replies that were seen */
	uint64_t hidden;	/* records that are known to be hidden */
	uint64_t dropped;	/* packets that found no room in the ring */
};

struct snaplen {
	uint32_t bytes;			/* at present */
	struct snaplen_counts before;	/* when the window began */
	bool settling;			/* what was captured by the former length is still being read */
};

void snaplen_begin(struct snaplen *snaplen);
/*
 * To be asked about once a second. True when the snap length should be raised, to
 * bytes, which is then the present one: more than 1 % of at least 1000 records
 * were hidden, and none dropped, of which there would be more.
 */
bool snaplen_is_short(struct snaplen *snaplen, const struct snaplen_counts *counts);

#endif
