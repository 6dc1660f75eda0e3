#include "capture/file_libpcap.h"

#include <errno.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arith.h"

enum {
	BUFFER_BYTES = 1 << 20,	/* the default one of 4 KiB halves the speed */
	BUFFER_ALIGNMENT = 4096,	/* the kernel copies faster to the start of a page */
};

struct file_libpcap {
	FILE *file;			/* the pcap's, once there is one */
	char *buffer;			/* of the file; freed after it */
	pcap_t *pcap;
};

/* Puts what was read back, which also works in a pipe. */
static bool
open_again(struct file_libpcap *file, int fd, const uint8_t *first, size_t len)
{
	file->file = fdopen(fd, "rb");
	if (file->file == NULL) {
		close(fd);
		return false;
	}
	file->buffer = aligned_alloc(BUFFER_ALIGNMENT, BUFFER_BYTES);
	if (file->buffer == NULL)
		return false;
	setvbuf(file->file, file->buffer, _IOFBF, BUFFER_BYTES);
	for (size_t i = len; i > 0; i--)
		if (ungetc(first[i - 1], file->file) == EOF)
			return false;
	return true;
}

struct file_libpcap *
file_libpcap_new(int fd, const uint8_t *first, size_t len, char *text, const char **problem)
{
	struct file_libpcap *file = g_new0(struct file_libpcap, 1);

	*problem = "its first bytes cannot be read again";
	if (open_again(file, fd, first, len)) {
		*problem = text;
		file->pcap = pcap_fopen_offline_with_tstamp_precision(file->file, PCAP_TSTAMP_PRECISION_NANO, text);
	}
	if (file->pcap != NULL)
		return file;
	if (file->file != NULL && feof(file->file))
		*problem = NULL;
	file_libpcap_free(file);
	return NULL;
}

void
file_libpcap_free(struct file_libpcap *file)
{
	if (file == NULL)
		return;
	if (file->pcap != NULL)
		pcap_close(file->pcap);	/* closes the file as well */
	else if (file->file != NULL)
		fclose(file->file);
	free(file->buffer);
	g_free(file);
}

/* What a file that was laid out in advance holds where nothing was written. */
static bool
is_blank(const struct pcap_pkthdr *header)
{
	return header->caplen == 0 && header->len == 0 && header->ts.tv_sec == 0 &&
	    header->ts.tv_usec == 0;
}

enum file_result
file_libpcap_next(struct file_libpcap *file, struct packet *packet)
{
	struct pcap_pkthdr *header;
	const unsigned char *data;
	int status = pcap_next_ex(file->pcap, &header, &data);

	if (status == PCAP_ERROR_BREAK)
		return FILE_END;
	if (status != 1)
		return feof(file->file) ? FILE_CUT : FILE_BROKEN;
	if (is_blank(header))
		return FILE_BLANK;
	/* A stamp may claim any time; bounded, so that the difference of two always fits. */
	packet->ts_ns = CLAMP((int64_t)header->ts.tv_sec, 0, UINT32_MAX) * NS_PER_S +
	    CLAMP(header->ts.tv_usec, 0, NS_PER_S - 1);
	packet->cap_len = header->caplen;
	packet->wire_len = MAX(header->len, header->caplen);
	packet->data = data;
	return FILE_PACKET;
}

const char *
file_libpcap_problem(const struct file_libpcap *file)
{
	return pcap_geterr(file->pcap);
}

uint64_t
file_libpcap_position(const struct file_libpcap *file)
{
	off_t position = ftello(file->file);

	return position > 0 ? (uint64_t)position : 0;
}

pcap_t *
file_libpcap_pcap(const struct file_libpcap *file)
{
	return file->pcap;
}
