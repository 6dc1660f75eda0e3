#include "capture/defragment.h"

#include <glib.h>
#include <pcap/pcap.h>
#include <string.h>

#include "base/arith.h"
#include "capture/fragment_marks.h"
#include "capture/ip.h"
#include "capture/link.h"

enum {
	DATAGRAMS = 16,
	JOIN_S = 30,		/* Linux: ipfrag_time; the number may come again behind it */
	IPV4_LEN = 20,
	IPV6_LEN = 40,
};

struct joining {
	bool used;
	uint8_t version;
	uint8_t address[2][16];		/* source, destination; of IPv4 4 bytes */
	uint32_t id;
	int64_t begun_ns;
	uint64_t first_frame;		/* of the piece at offset 0; else of the first that came */
	uint32_t cut_at;		/* the first byte that the snap length cut */
	struct fragment_marks marks;
	uint8_t bytes[IPV6_LEN + FRAGMENTED_MAX + FRAGMENT_UNIT];	/* room for a header, then what IP carries */
};

struct defragment {
	struct joining *joining[DATAGRAMS];	/* made when they are needed */
};

struct defragment *
defragment_new(void)
{
	return g_new0(struct defragment, 1);
}

void
defragment_free(struct defragment *defragment)
{
	if (defragment == NULL)
		return;
	for (unsigned i = 0; i < DATAGRAMS; i++)
		g_free(defragment->joining[i]);
	g_free(defragment);
}

static bool
belongs(const struct joining *joining, const struct ip_header *ip, int64_t ts_ns)
{
	size_t len = ip->version == 4 ? 4 : 16;

	return joining->used && joining->version == ip->version && joining->id == ip->fragment_id &&
	    memcmp(joining->address[0], ip->source, len) == 0 &&
	    memcmp(joining->address[1], ip->destination, len) == 0 &&
	    ts_ns - joining->begun_ns <= JOIN_S * (int64_t)NS_PER_S;
}

/* The datagram that a fragment belongs to: a new one takes a place that is free, or the oldest. */
static struct joining *
joining_of(struct defragment *defragment, const struct ip_header *ip, const struct packet *packet)
{
	unsigned place = 0;
	struct joining *joining;

	for (unsigned i = 0; i < DATAGRAMS; i++) {
		const struct joining *best = defragment->joining[place];

		joining = defragment->joining[i];
		if (joining == NULL) {
			joining = defragment->joining[i] = g_new(struct joining, 1);
			joining->used = false;
		}
		if (belongs(joining, ip, packet->ts_ns))
			return joining;
		if (i > 0 && best->used && (!joining->used || joining->begun_ns < best->begun_ns))
			place = i;
	}
	joining = defragment->joining[place];
	memset(joining, 0, offsetof(struct joining, bytes));
	joining->used = true;
	joining->version = ip->version;
	memcpy(joining->address[0], ip->source, ip->version == 4 ? 4 : 16);
	memcpy(joining->address[1], ip->destination, ip->version == 4 ? 4 : 16);
	joining->id = ip->fragment_id;
	joining->begun_ns = packet->ts_ns;
	joining->first_frame = packet->frame;
	joining->cut_at = UINT32_MAX;
	return joining;
}

/* A header of its own in front of what IP carries: no options, no fragment. */
static void
put_header(const struct joining *joining, uint8_t *header)
{
	uint32_t len = joining->marks.len + (joining->version == 4 ? IPV4_LEN : 0);

	/* a length that its field cannot hold stands as 0, as offloading leaves it */
	len = len > UINT16_MAX ? 0 : len;
	if (joining->version == 4) {
		memset(header, 0, IPV4_LEN);
		header[0] = 0x45;
		header[2] = (uint8_t)(len >> 8);
		header[3] = (uint8_t)len;
		header[4] = (uint8_t)(joining->id >> 8);
		header[5] = (uint8_t)joining->id;
		header[9] = IP_TCP;
		memcpy(header + 12, joining->address[0], 4);
		memcpy(header + 16, joining->address[1], 4);
		return;
	}
	memset(header, 0, IPV6_LEN);
	header[0] = 0x60;
	header[4] = (uint8_t)(len >> 8);
	header[5] = (uint8_t)len;
	header[6] = IP_TCP;
	memcpy(header + 8, joining->address[0], 16);
	memcpy(header + 24, joining->address[1], 16);
}

static void
make_whole(struct joining *joining, const struct packet *last, struct packet *whole)
{
	uint32_t header_len = joining->version == 4 ? IPV4_LEN : IPV6_LEN;
	uint8_t *header = joining->bytes + IPV6_LEN - header_len;

	put_header(joining, header);
	*whole = (struct packet){
		.ts_ns = last->ts_ns,
		.frame = joining->first_frame,
		.link_type = DLT_RAW,
		.interface = last->interface,
		.data = header,
		.cap_len = header_len + MIN(joining->cut_at, joining->marks.len),
		.wire_len = header_len + joining->marks.len,
	};
	joining->used = false;
}

bool
defragment_push(struct defragment *defragment, const struct packet *packet, struct packet *whole)
{
	struct layer layer = { .data = packet->data, .cap_len = packet->cap_len, .wire_len = packet->wire_len };
	struct ip_header ip;
	struct joining *joining;

	if (link_strip(packet->link_type, &layer) != LAYER_FOUND ||
	    ip_strip_to_transport(&layer, &ip) != LAYER_FRAGMENT)
		return false;
	joining = joining_of(defragment, &ip, packet);
	if (fragment_marks_add(&joining->marks, ip.fragment_offset, layer.wire_len, ip.more_fragments) != FRAGMENT_NEW)
		return false;
	memcpy(joining->bytes + IPV6_LEN + ip.fragment_offset, layer.data, layer.cap_len);
	if (layer.cap_len < layer.wire_len)
		joining->cut_at = MIN(joining->cut_at, ip.fragment_offset + layer.cap_len);
	if (ip.fragment_offset == 0)
		joining->first_frame = packet->frame;
	if (!fragment_marks_complete(&joining->marks))
		return false;
	make_whole(joining, packet, whole);
	return true;
}
