/*
 * The packets of a pcapng file, read by libpcap.
 */
#ifndef CAPTURE_FILE_LIBPCAP_H
#define CAPTURE_FILE_LIBPCAP_H

#include <pcap/pcap.h>
#include <stddef.h>

#include "capture/file_result.h"
#include "capture/packet.h"

struct file_libpcap;

/*
 * Takes fd, from which the first len bytes (1 to 8) were read before. *problem:
 * what is wrong, in text (PCAP_ERRBUF_SIZE bytes) or constant; NULL: it ends
 * inside its header.
 */
struct file_libpcap *file_libpcap_new(int fd, const uint8_t *first, size_t len, char *text, const char **problem);
/* NULL allowed. */
void file_libpcap_free(struct file_libpcap *file);
/* The next packet, its bytes borrowed until the next call; its frame and link type are left to the caller. */
enum file_result file_libpcap_next(struct file_libpcap *file, struct packet *packet);
/* After FILE_BROKEN; borrowed. */
const char *file_libpcap_problem(const struct file_libpcap *file);
/* Bytes consumed, about. */
uint64_t file_libpcap_position(const struct file_libpcap *file);
/* Borrowed. */
pcap_t *file_libpcap_pcap(const struct file_libpcap *file);

#endif
