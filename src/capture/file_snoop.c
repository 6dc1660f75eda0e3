/*
 * The packets of a snoop file (RFC 1761; version 1 has the same records). All
 * is in network byte order. Behind 16 bytes with "snoop", the version and the
 * data link type come the packets:
 *
 *      0                   1                   2                   3
 *      |                        Original Length                        |
 *      |                        Included Length                        |
 *      |                     Packet Record Length                      |
 *      |                       Cumulative Drops                        |
 *      |                       Timestamp, seconds                      |
 *      |                     Timestamp, microseconds                   |
 *      |                    Packet data, and padding                   |
 */
#include <glib.h>
#include <inttypes.h>
#include <pcap/dlt.h>
#include <stdio.h>

#include "base/arith.h"
#include "capture/file.h"
#include "capture/layer.h"

enum {
	FILE_HEADER = 16,
	HEAD = 24,
	/* RFC 1761 section 3; their frames look the same */
	LINK_IEEE_802_3 = 0,
	LINK_ETHERNET = 4,
};

struct file_snoop {
	struct bytes *bytes;	/* borrowed */
	struct file_facts facts;
	char text[FILE_TEXT];	/* after FILE_BROKEN */
};

static void *
open_snoop(struct bytes *bytes, char text[FILE_TEXT])
{
	struct file_snoop *file;
	uint32_t version, link;

	if (!bytes_look(bytes, FILE_HEADER)) {
		file_header_problem(bytes, text);
		return NULL;
	}
	version = load_be32(bytes->place + 8);
	link = load_be32(bytes->place + 12);
	if (version != 1 && version != 2) {
		snprintf(text, FILE_TEXT, "snoop version %" PRIu32 " is not known", version);
		return NULL;
	}
	if (link != LINK_IEEE_802_3 && link != LINK_ETHERNET) {
		snprintf(text, FILE_TEXT, "snoop data link type %" PRIu32 " is not supported", link);
		return NULL;
	}
	file = g_new0(struct file_snoop, 1);
	file->bytes = bytes;
	file->facts = (struct file_facts){ .link_type = DLT_EN10MB, .dropped_by_kernel = -1 };
	bytes_pass(bytes, FILE_HEADER);
	return file;
}

static enum file_result
next_packet(void *context, struct packet *packet)
{
	struct file_snoop *file = context;
	struct bytes *bytes = file->bytes;
	uint32_t wire_len, cap_len, len, drops;

	if (!bytes_look(bytes, HEAD))
		return bytes_left(bytes) == 0 && bytes->error == 0 ? FILE_END : file_ends_here(bytes, file->text);
	wire_len = load_be32(bytes->place);
	cap_len = load_be32(bytes->place + 4);
	len = load_be32(bytes->place + 8);
	drops = load_be32(bytes->place + 12);
	if (len == 0 && cap_len == 0 && wire_len == 0)
		return FILE_BLANK;
	if (cap_len > FILE_CAPTURED_MOST || len < HEAD + cap_len || len > BYTES_MOST) {
		snprintf(file->text, sizeof file->text, "a packet of %" PRIu32 " bytes in a record of %" PRIu32,
		    cap_len, len);
		return FILE_BROKEN;
	}
	/* the last one may lack its padding */
	if (!bytes_look(bytes, len) && (bytes->held || bytes_left(bytes) < HEAD + cap_len))
		return file_ends_here(bytes, file->text);
	packet->ts_ns = load_be32(bytes->place + 16) * (int64_t)NS_PER_S +
	    MIN(load_be32(bytes->place + 20), 999999) * (int64_t)NS_PER_US;
	packet->link_type = file->facts.link_type;
	packet->interface = 0;
	packet->data = bytes->place + HEAD;
	packet->cap_len = cap_len;
	packet->wire_len = MAX(wire_len, cap_len);
	/* a system that does not count its drops writes 0 */
	if (drops > 0)
		file->facts.dropped_by_kernel = drops;
	bytes_pass(bytes, MIN(len, bytes_left(bytes)));
	file_fetch_ahead(bytes->place, len);
	return FILE_PACKET;
}

static const struct file_facts *
facts_of(const void *context)
{
	const struct file_snoop *file = context;

	return &file->facts;
}

static const char *
problem_of(const void *context)
{
	const struct file_snoop *file = context;

	return file->text;
}

const struct file_format file_format_snoop = {
	.name = "snoop",
	.open = open_snoop,
	.next = next_packet,
	.facts = facts_of,
	.problem = problem_of,
	.free = g_free,
};
