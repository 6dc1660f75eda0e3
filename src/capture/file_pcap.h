/*
 * The packets of a pcap file (draft-ietf-opsawg-pcap), out of a struct bytes.
 * Its header is libpcap's to read: what is accepted, and what is said of the
 * rest, is what libpcap accepts and says.
 */
#ifndef CAPTURE_FILE_PCAP_H
#define CAPTURE_FILE_PCAP_H

#include <pcap/pcap.h>

#include "capture/bytes.h"
#include "capture/file_result.h"
#include "capture/packet.h"

enum { FILE_PCAP_HEADER = 24 };	/* bytes in front of the packets */

struct file_pcap {
	struct bytes *bytes;		/* borrowed */
	const char *problem;		/* after FILE_BROKEN; borrowed */
	char text[160];
	uint32_t head_len;		/* bytes in front of a packet */
	uint32_t snaplen;		/* 1 to 2^31 - 1 */
	int fraction_ns;		/* the unit of a stamp's second half */
	uint8_t lengths;		/* which of the two comes first */
	bool swapped;
};

/*
 * Starts behind a file header that libpcap has read into pcap; magic is its
 * first four bytes as this host reads them.
 */
void file_pcap_init(struct file_pcap *file, struct bytes *bytes, pcap_t *pcap, uint32_t magic);
/* The next packet; its frame is left to the caller, and so is its link type. Its bytes are lent as bytes.h says. */
enum file_result file_pcap_next(struct file_pcap *file, struct packet *packet);

#endif
