/*
 * In front of each packet, in the byte order of the file:
 *
 *      0                   1                   2                   3
 *      |                      Timestamp, seconds                       |
 *      |           Timestamp, microseconds or nanoseconds              |
 *      |                        Captured length                        |
 *      |                        Original length                        |
 *
 * and in the modified format eight bytes more: interface, protocol, type.
 */
#include "capture/file_pcap.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"

enum {
	HEAD = 16,
	MODIFIED_HEAD = 24,
	CAPTURED_MOST = 262144,	/* bytes; what libpcap takes from any link type that we know */
};

static const uint32_t MAGIC_NANOSECONDS = 0xa1b23c4d;
static const uint32_t MAGIC_MODIFIED = 0xa1b2cd34;

/* Version 2.3 was written either way round, older ones with the original length first. */
enum lengths { CAPTURED_FIRST, EITHER_FIRST, ORIGINAL_FIRST };

G_STATIC_ASSERT(MODIFIED_HEAD + CAPTURED_MOST <= BYTES_MOST);

static enum lengths
lengths_of(int major, int minor)
{
	if (major != 2)
		return ORIGINAL_FIRST;
	return minor < 3 ? ORIGINAL_FIRST : minor == 3 ? EITHER_FIRST : CAPTURED_FIRST;
}

void
file_pcap_init(struct file_pcap *file, struct bytes *bytes, pcap_t *pcap, uint32_t magic)
{
	bool swapped = pcap_is_swapped(pcap) != 0;

	if (swapped)
		magic = GUINT32_SWAP_LE_BE(magic);
	*file = (struct file_pcap){
		.bytes = bytes,
		.head_len = magic == MAGIC_MODIFIED ? MODIFIED_HEAD : HEAD,
		.snaplen = (uint32_t)pcap_snapshot(pcap),
		.fraction_ns = magic == MAGIC_NANOSECONDS ? 1 : NS_PER_US,
		.lengths = (uint8_t)lengths_of(pcap_major_version(pcap), pcap_minor_version(pcap)),
		.swapped = swapped,
	};
}

static enum file_result
too_long(struct file_pcap *file, uint32_t cap_len)
{
	if (cap_len > file->snaplen)
		snprintf(file->text, sizeof file->text,
		    "invalid packet capture length %u, bigger than snaplen of %u", cap_len, file->snaplen);
	else
		snprintf(file->text, sizeof file->text,
		    "invalid packet capture length %u, bigger than maximum of %u", cap_len, CAPTURED_MOST);
	file->problem = file->text;
	return FILE_BROKEN;
}

static enum file_result
ends_here(struct file_pcap *file)
{
	if (file->bytes->error == 0)
		return FILE_CUT;
	snprintf(file->text, sizeof file->text, "error reading dump file: %s", g_strerror(file->bytes->error));
	file->problem = file->text;
	return FILE_BROKEN;
}

/*
 * Seconds are 32 bits wide, unsigned today. A fraction that is none is kept
 * within its second.
 */
static int64_t
stamp_ns(const struct file_pcap *file, const uint32_t head[4])
{
	int64_t fraction_ns = (int64_t)(int32_t)head[1] * file->fraction_ns;

	return head[0] * (int64_t)NS_PER_S + CLAMP(fraction_ns, 0, NS_PER_S - 1);
}

enum file_result
file_pcap_next(struct file_pcap *file, struct packet *packet)
{
	struct bytes *bytes = file->bytes;
	uint32_t head[4], cap_len, wire_len;

	if (G_UNLIKELY(!bytes_look(bytes, file->head_len)))
		return bytes_left(bytes) == 0 && bytes->error == 0 ? FILE_END : ends_here(file);
	memcpy(head, bytes->place, sizeof head);
	if (file->swapped)
		for (unsigned i = 0; i < 4; i++)
			head[i] = GUINT32_SWAP_LE_BE(head[i]);
	cap_len = head[2];
	wire_len = head[3];
	if (file->lengths == ORIGINAL_FIRST || (file->lengths == EITHER_FIRST && cap_len > wire_len)) {
		cap_len = head[3];
		wire_len = head[2];
	}
	if (G_UNLIKELY(cap_len > CAPTURED_MOST))
		return too_long(file, cap_len);
	if (G_UNLIKELY(!bytes_look(bytes, file->head_len + cap_len)))
		return ends_here(file);
	if (G_UNLIKELY((head[0] | head[1] | cap_len | wire_len) == 0))
		return FILE_BLANK;
	packet->ts_ns = stamp_ns(file, head);
	packet->data = bytes->place + file->head_len;
	/* libpcap, and so every tool, takes no more of a packet than the file's header allows */
	packet->cap_len = MIN(cap_len, file->snaplen);
	packet->wire_len = MAX(wire_len, packet->cap_len);
	bytes_pass(bytes, file->head_len + cap_len);
	__builtin_prefetch(bytes->place);
	return FILE_PACKET;
}
