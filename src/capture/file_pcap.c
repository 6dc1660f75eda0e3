/*
 * The packets of a pcap file (draft-ietf-opsawg-pcap). Its header is libpcap's
 * to read: what is accepted, and what is said of the rest, is what libpcap
 * accepts and says. In front of each packet, in the byte order of the file:
 *
 *      0                   1                   2                   3
 *      |                      Timestamp, seconds                       |
 *      |           Timestamp, microseconds or nanoseconds              |
 *      |                        Captured length                        |
 *      |                        Original length                        |
 *
 * and in the modified format eight bytes more: interface, protocol, type.
 */
#include <errno.h>
#include <glib.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "capture/file.h"

enum {
	FILE_HEADER = 24,
	HEAD = 16,
	MODIFIED_HEAD = 24,
};

static const uint32_t MAGIC_NANOSECONDS = 0xa1b23c4d;
static const uint32_t MAGIC_MODIFIED = 0xa1b2cd34;

/* Version 2.3 was written either way round, older ones with the original length first. */
enum lengths { CAPTURED_FIRST, EITHER_FIRST, ORIGINAL_FIRST };

G_STATIC_ASSERT(MODIFIED_HEAD + FILE_CAPTURED_MOST <= BYTES_MOST);
G_STATIC_ASSERT(FILE_TEXT >= PCAP_ERRBUF_SIZE);

struct file_pcap {
	struct bytes *bytes;		/* borrowed */
	struct file_facts facts;
	char text[FILE_TEXT];		/* after FILE_BROKEN */
	uint32_t head_len;		/* bytes in front of a packet */
	uint32_t snaplen;		/* 1 to 2^31 - 1 */
	uint32_t most;			/* captured bytes of a packet that are not cut, and no mistake */
	int fraction_ns;		/* the unit of a stamp's second half */
	uint32_t fractions;		/* of them in a second */
	uint8_t lengths;		/* which of the two comes first */
	bool swapped;
	bool is_plain;			/* the head is of 16 bytes, lengths and byte order are as this host likes them */
};

static enum lengths
lengths_of(int major, int minor)
{
	if (major != 2)
		return ORIGINAL_FIRST;
	return minor < 3 ? ORIGINAL_FIRST : minor == 3 ? EITHER_FIRST : CAPTURED_FIRST;
}

static void
take_header(struct file_pcap *file, pcap_t *pcap)
{
	uint32_t magic;

	memcpy(&magic, file->bytes->place, sizeof magic);
	file->swapped = pcap_is_swapped(pcap) != 0;
	if (file->swapped)
		magic = GUINT32_SWAP_LE_BE(magic);
	file->head_len = magic == MAGIC_MODIFIED ? MODIFIED_HEAD : HEAD;
	file->snaplen = (uint32_t)pcap_snapshot(pcap);
	file->most = MIN(file->snaplen, FILE_CAPTURED_MOST);
	file->fraction_ns = magic == MAGIC_NANOSECONDS ? 1 : NS_PER_US;
	file->fractions = NS_PER_S / (uint32_t)file->fraction_ns;
	file->lengths = (uint8_t)lengths_of(pcap_major_version(pcap), pcap_minor_version(pcap));
	file->is_plain = !file->swapped && file->lengths == CAPTURED_FIRST && file->head_len == HEAD;
	file->facts = (struct file_facts){
		.link_type = pcap_datalink(pcap),
		.snaplen = file->snaplen,
		.nanoseconds = magic == MAGIC_NANOSECONDS,
		.dropped_by_kernel = -1,
	};
}

static void *
open_pcap(struct bytes *bytes, char text[FILE_TEXT])
{
	struct file_pcap *file;
	pcap_t *pcap;
	FILE *header;

	if (!bytes_look(bytes, FILE_HEADER)) {
		file_header_problem(bytes, text);
		return NULL;
	}
	header = fmemopen((void *)bytes->place, FILE_HEADER, "r");
	if (header == NULL) {
		g_strlcpy(text, g_strerror(errno), FILE_TEXT);
		return NULL;
	}
	pcap = pcap_fopen_offline_with_tstamp_precision(header, PCAP_TSTAMP_PRECISION_NANO, text);
	if (pcap == NULL) {
		fclose(header);
		return NULL;
	}
	file = g_new0(struct file_pcap, 1);
	file->bytes = bytes;
	take_header(file, pcap);
	pcap_close(pcap);
	bytes_pass(bytes, FILE_HEADER);
	return file;
}

static enum file_result
too_long(struct file_pcap *file, uint32_t cap_len)
{
	if (cap_len > file->snaplen)
		snprintf(file->text, sizeof file->text,
		    "invalid packet capture length %u, bigger than snaplen of %u", cap_len, file->snaplen);
	else
		snprintf(file->text, sizeof file->text,
		    "invalid packet capture length %u, bigger than maximum of %u", cap_len, FILE_CAPTURED_MOST);
	return FILE_BROKEN;
}

/*
 * Seconds are 32 bits wide, unsigned today. A fraction that is none is kept
 * within its second.
 */
static int64_t
stamp_ns(const struct file_pcap *file, uint32_t seconds, uint32_t fraction)
{
	int64_t fraction_ns = (int64_t)(int32_t)fraction * file->fraction_ns;

	if (G_UNLIKELY((uint64_t)fraction_ns >= NS_PER_S))
		fraction_ns = fraction_ns < 0 ? 0 : NS_PER_S - 1;
	return seconds * (int64_t)NS_PER_S + fraction_ns;
}

/* The head in this host's order, the captured length first. */
static void
put_right(const struct file_pcap *file, uint32_t head[4])
{
	if (file->swapped)
		for (unsigned i = 0; i < 4; i++)
			head[i] = GUINT32_SWAP_LE_BE(head[i]);
	if (file->lengths == ORIGINAL_FIRST || (file->lengths == EITHER_FIRST && head[2] > head[3])) {
		uint32_t original = head[2];

		head[2] = head[3];
		head[3] = original;
	}
}

/* What a modified file has behind the head; as packet.interface has it. */
static uint32_t
interface_of(const struct file_pcap *file, const uint8_t *at)
{
	uint32_t interface;

	memcpy(&interface, at, sizeof interface);
	return (file->swapped ? GUINT32_SWAP_LE_BE(interface) : interface) + 1;
}

static __attribute__((noinline)) enum file_result
next_any(struct file_pcap *file, struct packet *packet)
{
	struct bytes *bytes = file->bytes;
	uint32_t head[4], cap_len, wire_len, interface = 0;

	if (G_UNLIKELY(!bytes_look(bytes, file->head_len)))
		return bytes_left(bytes) == 0 && bytes->error == 0 ? FILE_END : file_ends_here(bytes, file->text);
	memcpy(head, bytes->place, sizeof head);
	if (!file->is_plain) {
		put_right(file, head);
		if (file->head_len == MODIFIED_HEAD)
			interface = interface_of(file, bytes->place + HEAD);
	}
	cap_len = head[2];
	wire_len = head[3];
	if (G_UNLIKELY(cap_len > FILE_CAPTURED_MOST))
		return too_long(file, cap_len);
	if (G_UNLIKELY(!bytes_look(bytes, file->head_len + cap_len)))
		return file_ends_here(bytes, file->text);
	if (G_UNLIKELY((head[0] | head[1] | cap_len | wire_len) == 0))
		return FILE_BLANK;
	packet->ts_ns = stamp_ns(file, head[0], head[1]);
	packet->link_type = file->facts.link_type;
	packet->interface = interface;
	packet->data = bytes->place + file->head_len;
	bytes_pass(bytes, file->head_len + cap_len);
	file_fetch_ahead(bytes->place, file->head_len + cap_len);
	/* libpcap, and so every tool, takes no more of a packet than the file's header allows */
	packet->cap_len = MIN(cap_len, file->snaplen);
	packet->wire_len = MAX(wire_len, packet->cap_len);
	return FILE_PACKET;
}

/* Plain heads and their packets, which lie there and contradict nothing. */
static inline unsigned
take_plain(struct file_pcap *file, struct packet *packets, unsigned most, uint64_t frame)
{
	struct bytes *bytes = file->bytes;
	const uint8_t *place = bytes->place;
	const uint8_t *last = bytes->filled - HEAD;	/* where a head can begin; in front of the ring there is a margin */
	const uint32_t longest = file->most - 1, fractions = file->fractions, fraction_ns = (uint32_t)file->fraction_ns;
	const int link_type = file->facts.link_type;
	struct packet *packet = packets, *end = packets + most;

	while (packet < end && place <= last) {
		uint32_t head[4];

		memcpy(head, place, sizeof head);
		/* of a length of 0 there is more to know */
		if (head[2] - 1 > longest || place + head[2] > last || head[1] >= fractions)
			break;
		packet->ts_ns = head[0] * (int64_t)NS_PER_S + head[1] * fraction_ns;
		packet->cap_len = head[2];
		packet->wire_len = MAX(head[3], head[2]);
		packet->link_type = link_type;
		packet->interface = 0;
		packet->frame = frame++;
		packet->data = place + HEAD;
		place += HEAD + head[2];
		packet++;
	}
	bytes_pass(bytes, (size_t)(place - bytes->place));
	return (unsigned)(packet - packets);
}

static unsigned
next_run(void *context, struct packet *packets, unsigned most, uint64_t frame)
{
	struct file_pcap *file = context;

	return file->is_plain ? take_plain(file, packets, most, frame) : 0;
}

static bool
ahead_of(const void *context, struct ahead *ahead)
{
	const struct file_pcap *file = context;

	ahead->length_at = 2 * sizeof(uint32_t);
	ahead->head_len = HEAD;
	return file->is_plain;
}

static enum file_result
next_packet(void *context, struct packet *packet)
{
	return next_run(context, packet, 1, 0) == 1 ? FILE_PACKET : next_any(context, packet);
}

static const struct file_facts *
facts_of(const void *context)
{
	const struct file_pcap *file = context;

	return &file->facts;
}

static const char *
problem_of(const void *context)
{
	const struct file_pcap *file = context;

	return file->text;
}

const struct file_format file_format_pcap = {
	.name = "pcap",
	.open = open_pcap,
	.next = next_packet,
	.run = next_run,
	.ahead = ahead_of,
	.facts = facts_of,
	.problem = problem_of,
	.free = g_free,
};
