/*
 * Files of packets in each of the formats.
 */
#include "frames.h"

#include <string.h>

enum { PAD = 4, SECTION_PACKETS = 7, RUBBISH_PACKETS = 5 };

/* A file on its way. */
struct file {
	GByteArray *bytes;
	bool big;		/* the byte order of what is put next */
	guint block;		/* where the block in hand began */
};

static void
put16(struct file *file, uint32_t value)
{
	uint16_t word = file->big ? GUINT16_TO_BE((uint16_t)value) : GUINT16_TO_LE((uint16_t)value);

	g_byte_array_append(file->bytes, (const guint8 *)&word, sizeof word);
}

static void
put32(struct file *file, uint64_t value)
{
	uint32_t word = file->big ? GUINT32_TO_BE((uint32_t)value) : GUINT32_TO_LE((uint32_t)value);

	g_byte_array_append(file->bytes, (const guint8 *)&word, sizeof word);
}

static void
put_bytes(struct file *file, const GByteArray *bytes, guint unit)
{
	static const guint8 zeros[PAD];

	g_byte_array_append(file->bytes, bytes->data, bytes->len);
	g_byte_array_append(file->bytes, zeros, -bytes->len % unit);
}

static const struct frame *
frame_at(const GArray *frames, guint i)
{
	return &g_array_index(frames, struct frame, i);
}

/* ---- pcap ---- */

static GByteArray *
write_pcap(const GArray *frames, uint32_t magic, int64_t unit_ns, bool big)
{
	struct file file = { .bytes = g_byte_array_new(), .big = big };

	put32(&file, magic);
	put16(&file, 2);
	put16(&file, 4);
	put32(&file, 0);
	put32(&file, 0);
	put32(&file, 262144);
	put32(&file, frame_at(frames, 0)->link);
	for (guint i = 0; i < frames->len; i++) {
		const struct frame *frame = frame_at(frames, i);

		put32(&file, (uint64_t)(frame->ts_ns / 1000000000));
		put32(&file, (uint64_t)(frame->ts_ns % 1000000000 / unit_ns));
		put32(&file, frame->bytes->len);
		put32(&file, frame->wire_len);
		if (magic == 0xa1b2cd34) {
			put32(&file, 3);
			put32(&file, 0);
		}
		put_bytes(&file, frame->bytes, 1);
	}
	return file.bytes;
}

GByteArray *
file_pcap_us(const GArray *frames)
{
	return write_pcap(frames, 0xa1b2c3d4, 1000, false);
}

GByteArray *
file_pcap_ns(const GArray *frames)
{
	return write_pcap(frames, 0xa1b23c4d, 1, false);
}

GByteArray *
file_pcap_us_swapped(const GArray *frames)
{
	return write_pcap(frames, 0xa1b2c3d4, 1000, true);
}

GByteArray *
file_pcap_ns_swapped(const GArray *frames)
{
	return write_pcap(frames, 0xa1b23c4d, 1, true);
}

GByteArray *
file_pcap_modified(const GArray *frames)
{
	return write_pcap(frames, 0xa1b2cd34, 1000, false);
}

GByteArray *
file_pcap_modified_swapped(const GArray *frames)
{
	return write_pcap(frames, 0xa1b2cd34, 1000, true);
}

/* ---- snoop, RFC 1761 ---- */

static GByteArray *
write_snoop(const GArray *frames, uint32_t version)
{
	struct file file = { .bytes = g_byte_array_new(), .big = true };

	g_byte_array_append(file.bytes, (const guint8 *)"snoop\0\0", 8);
	put32(&file, version);
	put32(&file, version == 1 ? 0 : 4);
	for (guint i = 0; i < frames->len; i++) {
		const struct frame *frame = frame_at(frames, i);

		put32(&file, frame->wire_len);
		put32(&file, frame->bytes->len);
		put32(&file, 24 + ((frame->bytes->len + PAD - 1) & ~(guint)(PAD - 1)));
		put32(&file, 0);
		put32(&file, (uint64_t)(frame->ts_ns / 1000000000));
		put32(&file, (uint64_t)(frame->ts_ns % 1000000000 / 1000));
		put_bytes(&file, frame->bytes, PAD);
	}
	return file.bytes;
}

GByteArray *
file_snoop_1(const GArray *frames)
{
	return write_snoop(frames, 1);
}

GByteArray *
file_snoop_2(const GArray *frames)
{
	return write_snoop(frames, 2);
}

/* ---- pcapng ---- */

static void
begin(struct file *file, uint32_t type)
{
	file->block = file->bytes->len;
	put32(file, type);
	put32(file, 0);
}

static void
end(struct file *file)
{
	uint32_t len = file->bytes->len - file->block + 4;
	uint32_t word = file->big ? GUINT32_TO_BE(len) : GUINT32_TO_LE(len);

	memcpy(file->bytes->data + file->block + 4, &word, sizeof word);
	put32(file, len);
}

/* Stamps in units of 10^-resolution seconds, so many seconds behind. */
struct unit {
	uint8_t resolution;
	int64_t offset_s;
};

static void
put_option(struct file *file, unsigned code, const void *value, guint len)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	g_byte_array_append(bytes, value, len);
	put16(file, code);
	put16(file, len);
	put_bytes(file, bytes, PAD);
}

/* Interfaces for the link types of the frames, in the order of their numbers, 0 to 511. */
static void
put_section(struct file *file, const GArray *frames, const struct unit *unit)
{
	bool seen[512] = { false };

	begin(file, 0x0a0d0d0a);
	put32(file, 0x1a2b3c4d);
	put16(file, 1);
	put16(file, 0);
	put32(file, UINT32_MAX);
	put32(file, UINT32_MAX);
	end(file);
	for (guint i = 0; i < frames->len; i++)
		seen[frame_at(frames, i)->link % G_N_ELEMENTS(seen)] = true;
	for (unsigned link = 0; link < G_N_ELEMENTS(seen); link++) {
		int64_t offset_s = file->big ? GINT64_TO_BE(unit->offset_s) : GINT64_TO_LE(unit->offset_s);

		if (!seen[link])
			continue;
		begin(file, 1);
		put16(file, link);
		put16(file, 0);
		put32(file, 0);
		put_option(file, 2, "eth0", 4);
		put_option(file, 9, &unit->resolution, 1);
		put_option(file, 14, &offset_s, sizeof offset_s);
		put16(file, 0);
		put16(file, 0);
		end(file);
	}
}

static unsigned
interface_of(const GArray *frames, const struct frame *frame)
{
	bool below[512] = { false };
	unsigned number = 0;

	for (guint i = 0; i < frames->len; i++)
		if (frame_at(frames, i)->link < frame->link)
			below[frame_at(frames, i)->link] = true;
	for (unsigned link = 0; link < G_N_ELEMENTS(below); link++)
		number += below[link];
	return number;
}

/* Type 6, or 2, the one of old with a drop count. */
static void
put_packet(struct file *file, const GArray *frames, const struct frame *frame, const struct unit *unit, uint32_t type)
{
	uint64_t stamp = (uint64_t)(frame->ts_ns - unit->offset_s * 1000000000);

	for (unsigned i = 9; i < unit->resolution; i++)
		stamp *= 10;
	for (unsigned i = unit->resolution; i < 9; i++)
		stamp /= 10;
	begin(file, type);
	if (type == 6) {
		put32(file, interface_of(frames, frame));
	} else {
		put16(file, interface_of(frames, frame));
		put16(file, 0);
	}
	put32(file, stamp >> 32);
	put32(file, stamp);
	put32(file, frame->bytes->len);
	put32(file, frame->wire_len);
	put_bytes(file, frame->bytes, PAD);
	if (frame->wire_len % 3 == 0)
		put_option(file, 1, "a comment", 9);
	end(file);
}

static GByteArray *
write_pcapng(const GArray *frames, struct unit unit)
{
	struct file file = { .bytes = g_byte_array_new() };

	put_section(&file, frames, &unit);
	for (guint i = 0; i < frames->len; i++)
		put_packet(&file, frames, frame_at(frames, i), &unit, 6);
	return file.bytes;
}

GByteArray *
file_pcapng_us(const GArray *frames)
{
	return write_pcapng(frames, (struct unit){ 6, 0 });
}

GByteArray *
file_pcapng_ns(const GArray *frames)
{
	return write_pcapng(frames, (struct unit){ 9, 0 });
}

/* Picoseconds since 1970 do not fit into 64 bits: they count from a time that is near. */
GByteArray *
file_pcapng_ps(const GArray *frames)
{
	return write_pcapng(frames, (struct unit){ 12, frame_at(frames, 0)->ts_ns / 1000000000 - 100 });
}

GByteArray *
file_pcapng_ahead(const GArray *frames)
{
	return write_pcapng(frames, (struct unit){ 9, -12345 });
}

GByteArray *
file_pcapng_sections(const GArray *frames)
{
	static const struct unit units[] = { { 9, 0 }, { 9, 1000 }, { 10, -5 } };
	struct file file = { .bytes = g_byte_array_new() };

	for (guint i = 0; i < frames->len; i++) {
		const struct unit *unit = &units[i / SECTION_PACKETS % G_N_ELEMENTS(units)];

		if (i % SECTION_PACKETS == 0) {
			file.big = i / SECTION_PACKETS % 2 != 0;
			put_section(&file, frames, unit);
		}
		put_packet(&file, frames, frame_at(frames, i), unit, 6);
	}
	return file.bytes;
}

/* Of no interface, of more bytes than its block has, without a stamp; statistics of no interface; an unknown block. */
static void
put_rubbish(struct file *file, const GArray *frames, const struct unit *unit)
{
	struct frame frame = *frame_at(frames, 0);

	put_packet(file, frames, &frame, unit, 6);
	memset(file->bytes->data + file->block + 8, 0x7f, 4);
	put_packet(file, frames, &frame, unit, 6);
	memset(file->bytes->data + file->block + 20, 0x7f, 4);
	begin(file, 3);
	put32(file, frame.wire_len);
	put_bytes(file, frame.bytes, PAD);
	end(file);
	begin(file, 5);
	put32(file, 77);
	put32(file, 0);
	put32(file, 0);
	end(file);
	begin(file, 0x0bad);
	put32(file, 1);
	end(file);
}

GByteArray *
file_pcapng_rubbish(const GArray *frames)
{
	static const struct unit unit = { 9, 0 };
	struct file file = { .bytes = g_byte_array_new(), .big = true };

	put_section(&file, frames, &unit);
	for (guint i = 0; i < frames->len; i++) {
		if (i % RUBBISH_PACKETS == 0)
			put_rubbish(&file, frames, &unit);
		put_packet(&file, frames, frame_at(frames, i), &unit, i % 2 != 0 ? 2 : 6);
	}
	return file.bytes;
}
