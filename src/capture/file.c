#include "capture/file.h"

#include <glib.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>

void
file_header_problem(const struct bytes *bytes, char text[FILE_TEXT])
{
	g_strlcpy(text, bytes->error != 0 ? g_strerror(bytes->error) : "ends inside its file header", FILE_TEXT);
}

enum file_result
file_ends_here(const struct bytes *bytes, char text[FILE_TEXT])
{
	if (bytes->error == 0)
		return FILE_CUT;
	snprintf(text, FILE_TEXT, "error reading dump file: %s", g_strerror(bytes->error));
	return FILE_BROKEN;
}

/* libpcap knows which numbers differ, and tells it only of a file. */
int
file_link_type(uint32_t number)
{
	uint32_t header[] = { 0xa1b2c3d4, 0, 0, 0, FILE_CAPTURED_MOST, number };
	char text[PCAP_ERRBUF_SIZE];
	int link_type = -1;
	pcap_t *pcap;
	FILE *file;

	((uint16_t *)header)[2] = 2;	/* version 2.4 */
	((uint16_t *)header)[3] = 4;
	file = fmemopen(header, sizeof header, "r");
	if (file == NULL)
		return -1;
	pcap = pcap_fopen_offline(file, text);
	if (pcap == NULL) {
		fclose(file);
		return -1;
	}
	link_type = pcap_datalink(pcap);
	pcap_close(pcap);
	return link_type;
}
