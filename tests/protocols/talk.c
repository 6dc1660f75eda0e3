#include "protocols/talk.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

enum {
	START_S = 1700000000, LINK_ETHERNET = 1, SEGMENT = 1448, FRAME_MOST = 65536,
	ETHER_BYTES = 14, IP_BYTES = 20, TCP_BYTES = 20, UDP_BYTES = 8, PROTOCOL_TCP = 6, PROTOCOL_UDP = 17,
	SYN = 2, ACK = 16, PUSH = 8,
};

struct talk {
	FILE *file;
	GPtrArray *frames;	/* struct frame */
};

struct frame {
	int64_t at_us;
	unsigned number;
	uint32_t len;
	uint8_t bytes[];
};

static void
write_host(FILE *file, const uint32_t *words, size_t count)
{
	g_assert(fwrite(words, sizeof *words, count, file) == count);
}

struct talk *
talk_new(const char *path)
{
	struct talk *talk = g_new0(struct talk, 1);
	/* magic of nanoseconds, version 2.4, zone, accuracy, snap length, link */
	const uint32_t header[] = { 0xa1b23c4d, GUINT32_FROM_LE(4u << 16 | 2), 0, 0, FRAME_MOST, LINK_ETHERNET };

	talk->frames = g_ptr_array_new_with_free_func(g_free);
	talk->file = fopen(path, "wb");
	g_assert(talk->file != NULL);
	write_host(talk->file, header, G_N_ELEMENTS(header));
	return talk;
}

static int
by_time(gconstpointer a, gconstpointer b)
{
	const struct frame *one = *(struct frame *const *)a, *other = *(struct frame *const *)b;

	if (one->at_us != other->at_us)
		return one->at_us < other->at_us ? -1 : 1;
	return one->number < other->number ? -1 : 1;
}

void
talk_free(struct talk *talk)
{
	g_ptr_array_sort(talk->frames, by_time);
	for (unsigned i = 0; i < talk->frames->len; i++) {
		const struct frame *frame = talk->frames->pdata[i];
		const uint32_t header[] = { (uint32_t)(START_S + frame->at_us / 1000000),
			(uint32_t)(frame->at_us % 1000000 * 1000), frame->len, frame->len };

		write_host(talk->file, header, G_N_ELEMENTS(header));
		g_assert(fwrite(frame->bytes, 1, frame->len, talk->file) == frame->len);
	}
	g_assert(fclose(talk->file) == 0);
	g_ptr_array_unref(talk->frames);
	g_free(talk);
}

/* ---- packets ---- */

static void
put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void
put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value & 0xffff);
}

static void
put_address(uint8_t *at, const struct line *line, int end)
{
	put32(at, 0x0a000000u | (end == TO_SERVER ? line->client : line->server));
}

/* Ethernet and IPv4; gives where the transport's header begins. */
static uint8_t *
put_headers(uint8_t *frame, const struct line *line, int direction, uint8_t protocol, uint32_t len)
{
	uint8_t *ip = frame + ETHER_BYTES;
	uint32_t sum = 0;

	memset(frame, 0, ETHER_BYTES + IP_BYTES + TCP_BYTES);
	put16(frame + 12, 0x0800);
	ip[0] = 0x45;
	put16(ip + 2, IP_BYTES + len);
	put16(ip + 6, 0x4000);
	ip[8] = 64;
	ip[9] = protocol;
	put_address(ip + 12, line, direction);
	put_address(ip + 16, line, !direction);
	for (unsigned i = 0; i < IP_BYTES; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	put16(ip + 10, ~((sum & 0xffff) + (sum >> 16)) & 0xffff);
	put16(ip + IP_BYTES, line->port[direction]);
	put16(ip + IP_BYTES + 2, line->port[!direction]);
	return ip + IP_BYTES;
}

static void
write_frame(const struct talk *talk, const uint8_t *bytes, uint32_t len, int64_t at_us)
{
	struct frame *frame = g_malloc(sizeof *frame + len);

	*frame = (struct frame){ .at_us = at_us, .number = talk->frames->len, .len = len };
	memcpy(frame->bytes, bytes, len);
	g_ptr_array_add(talk->frames, frame);
}

static void
write_segment(struct line *line, int direction, unsigned flags, const void *bytes, uint32_t len, int64_t at_us)
{
	uint8_t frame[ETHER_BYTES + IP_BYTES + TCP_BYTES + SEGMENT];
	uint8_t *tcp = put_headers(frame, line, direction, PROTOCOL_TCP, TCP_BYTES + len);

	put32(tcp + 4, line->sequence[direction]);
	put32(tcp + 8, flags & ACK ? line->sequence[!direction] : 0);
	tcp[12] = TCP_BYTES / 4 << 4;
	tcp[13] = (uint8_t)flags;
	put16(tcp + 14, 0xfff0);
	if (len > 0)
		memcpy(tcp + TCP_BYTES, bytes, len);
	write_frame(line->talk, frame, ETHER_BYTES + IP_BYTES + TCP_BYTES + len, at_us);
	line->sequence[direction] += len + ((flags & SYN) != 0);
}

struct line
talk_line(struct talk *talk, uint8_t client, uint16_t client_port, uint16_t server_port)
{
	return (struct line){ talk, client, 1, { client_port, server_port }, { 1000, 900000 } };
}

struct line
talk_connect(struct talk *talk, uint8_t client, uint16_t client_port, uint16_t server_port, int64_t at_us)
{
	struct line line = talk_line(talk, client, client_port, server_port);

	write_segment(&line, TO_SERVER, SYN, NULL, 0, at_us);
	write_segment(&line, TO_CLIENT, SYN | ACK, NULL, 0, at_us + 1);
	write_segment(&line, TO_SERVER, ACK, NULL, 0, at_us + 2);
	return line;
}

void
talk_bytes(struct line *line, int direction, const void *bytes, uint32_t len, int64_t at_us)
{
	for (uint32_t at = 0; at < len; at += SEGMENT)
		write_segment(line, direction, ACK | PUSH, (const uint8_t *)bytes + at, MIN(SEGMENT, len - at), at_us);
}

/* ---- messages ---- */

void
message_put_words(struct message *message, const uint32_t *words, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t word = words[i];

		g_assert(xdr_uint32_t(&message->xdr, &word));
	}
}

void
message_opaque(struct message *message, const void *bytes, uint32_t len)
{
	char *place = (char *)bytes;

	g_assert(xdr_bytes(&message->xdr, &place, &len, len));
}

void
message_text(struct message *message, const char *text)
{
	message_opaque(message, text, (uint32_t)strlen(text));
}

uint32_t
message_len(struct message *message)
{
	return xdr_getpos(&message->xdr);
}

static void
begin(struct message *message)
{
	xdrmem_create(&message->xdr, message->bytes, MESSAGE_MOST, XDR_ENCODE);
}

static void
put_auth(struct message *message, uint32_t flavor, const void *body, uint32_t len)
{
	message_words(message, flavor);
	message_opaque(message, body, len);
}

void
message_call_as(struct message *message, uint32_t xid, uint32_t program, uint32_t version, uint32_t procedure,
    uint32_t flavor, const char *credential, uint32_t len)
{
	static const char checksum[28] = "checksum";

	begin(message);
	message_words(message, xid, 0, 2, program, version, procedure);
	put_auth(message, flavor, credential, len);
	put_auth(message, flavor == FLAVOR_GSS ? FLAVOR_GSS : FLAVOR_NONE, checksum,
	    flavor == FLAVOR_GSS ? sizeof checksum : 0);
}

void
message_call(struct message *message, uint32_t xid, uint32_t program, uint32_t version, uint32_t procedure)
{
	message_call_as(message, xid, program, version, procedure, FLAVOR_NONE, "", 0);
}

void
message_reply_as(struct message *message, uint32_t xid, uint32_t flavor, const char *verifier, uint32_t len)
{
	begin(message);
	message_words(message, xid, 1, 0);
	put_auth(message, flavor, verifier, len);
	message_words(message, 0);
}

void
message_reply(struct message *message, uint32_t xid)
{
	message_reply_as(message, xid, FLAVOR_NONE, "", 0);
}

void
talk_record(struct line *line, int direction, struct message *message, int64_t at_us)
{
	uint32_t len = message_len(message);
	g_autofree uint8_t *record = g_malloc(4 + len);

	put32(record, 0x80000000u | len);
	memcpy(record + 4, message->bytes, len);
	talk_bytes(line, direction, record, 4 + len, at_us);
}

void
talk_datagram(struct line *line, int direction, struct message *message, int64_t at_us)
{
	uint32_t len = message_len(message);
	uint8_t frame[FRAME_MOST];
	uint8_t *udp = put_headers(frame, line, direction, PROTOCOL_UDP, UDP_BYTES + len);

	g_assert(ETHER_BYTES + IP_BYTES + UDP_BYTES + len <= 1514);
	put16(udp + 4, UDP_BYTES + len);
	put16(udp + 6, 0);
	memcpy(udp + UDP_BYTES, message->bytes, len);
	write_frame(line->talk, frame, ETHER_BYTES + IP_BYTES + UDP_BYTES + len, at_us);
}
