#include "frames.h"

#include <stdlib.h>
#include <string.h>

enum {
	LINK_RAW = 101,
	IPV4 = 20, IPV6 = 40,
	PIECE = 304,		/* bytes of a fragment */
	HOP_BY_HOP = 0, ROUTING = 43, FRAGMENT = 44, DESTINATION = 60,
};

static void
clear_frame(void *data)
{
	g_byte_array_unref(((struct frame *)data)->bytes);
}

static GArray *
frames_new(void)
{
	GArray *frames = g_array_new(FALSE, FALSE, sizeof(struct frame));

	g_array_set_clear_func(frames, clear_frame);
	return frames;
}

static uint32_t
word_at(const char *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof word);
	return GUINT32_FROM_LE(word);
}

GArray *
frames_read(const char *path)
{
	GArray *frames = frames_new();
	g_autofree char *file = NULL;
	gsize len = 0, at = 24;
	int64_t unit_ns;

	if (!g_file_get_contents(path, &file, &len, NULL) || len < at || word_at(file + 20) != LINK_RAW)
		g_error("%s: no trace of bare IP", path);
	unit_ns = word_at(file) == 0xa1b23c4d ? 1 : 1000;
	for (uint32_t cap_len; at + 16 <= len; at += 16 + cap_len) {
		struct frame frame = { .ts_ns = word_at(file + at) * INT64_C(1000000000) +
			word_at(file + at + 4) * unit_ns, .link = LINK_RAW, .wire_len = word_at(file + at + 12) };

		cap_len = word_at(file + at + 8);
		frame.bytes = g_byte_array_new();
		g_byte_array_append(frame.bytes, (const guint8 *)file + at + 16, cap_len);
		g_array_append_val(frames, frame);
	}
	return frames;
}

/* ---- changes of IP ---- */

static unsigned
version_of(const struct frame *frame)
{
	return frame->bytes->data[0] >> 4;
}

static void
set16(struct frame *frame, guint at, uint32_t value)
{
	if (at + 2 > frame->bytes->len)
		g_error("cut inside a header");
	frame->bytes->data[at] = (guint8)(value >> 8);
	frame->bytes->data[at + 1] = (guint8)value;
}

/* With the bytes from one place to another alone; the wire's length goes by them. */
static struct frame
part_of(const struct frame *frame, uint32_t from, uint32_t to)
{
	struct frame part = *frame;

	part.bytes = g_byte_array_new();
	part.wire_len = to - from;
	if (from < frame->bytes->len)
		g_byte_array_append(part.bytes, frame->bytes->data + from, MIN(to, frame->bytes->len) - from);
	return part;
}

/* Bytes of bare headers, at this place. */
static void
insert(struct frame *frame, guint at, const void *bytes, guint len)
{
	guint behind = frame->bytes->len - at;

	if (len == 0)
		return;
	g_byte_array_set_size(frame->bytes, frame->bytes->len + len);
	memmove(frame->bytes->data + at + len, frame->bytes->data + at, behind);
	memcpy(frame->bytes->data + at, bytes, len);
	frame->wire_len += len;
}

void
frames_same(GArray *to, const struct frame *frame)
{
	struct frame copy = part_of(frame, 0, frame->wire_len);

	g_array_append_val(to, copy);
}

void
frames_no_length(GArray *to, const struct frame *frame)
{
	struct frame copy = part_of(frame, 0, frame->wire_len);

	set16(&copy, version_of(&copy) == 4 ? 2 : 4, 0);
	g_array_append_val(to, copy);
}

/* RFC 2675 section 2. */
void
frames_jumbo(GArray *to, const struct frame *frame)
{
	struct frame copy = part_of(frame, 0, frame->wire_len);
	uint32_t len = GUINT32_TO_BE(frame->wire_len - IPV6 + 8);
	uint8_t option[8] = { copy.bytes->data[6], 0, 0xc2, 4 };

	memcpy(option + 4, &len, sizeof len);
	copy.bytes->data[6] = HOP_BY_HOP;
	insert(&copy, IPV6, option, sizeof option);
	set16(&copy, 4, 0);
	g_array_append_val(to, copy);
}

void
frames_options(GArray *to, const struct frame *frame)
{
	static const uint8_t alert[4] = { 148, 4, 0, 0 };
	struct frame copy = part_of(frame, 0, frame->wire_len);
	uint8_t headers[8 + 24 + 16] = { ROUTING, 0, 1, 4 };

	if (version_of(&copy) == 4) {
		copy.bytes->data[0]++;
		insert(&copy, IPV4, alert, sizeof alert);
		set16(&copy, 2, copy.wire_len);
	} else {
		headers[8] = DESTINATION;
		headers[9] = 2;		/* of 8 bytes behind the first 8 */
		headers[32] = copy.bytes->data[6];
		headers[33] = 1;
		headers[34] = 1;	/* padding of 14 bytes */
		headers[35] = 12;
		copy.bytes->data[6] = HOP_BY_HOP;
		insert(&copy, IPV6, headers, sizeof headers);
		set16(&copy, 4, copy.wire_len - IPV6);
	}
	g_array_append_val(to, copy);
}

/* RFC 791 section 3.2, RFC 8200 section 4.5. */
void
frames_fragments(GArray *to, const struct frame *frame)
{
	unsigned version = version_of(frame);
	uint32_t header_len = version == 4 ? IPV4 : IPV6, len = frame->wire_len - header_len;

	for (uint32_t at = 0; at < len; at += PIECE) {
		bool more = at + PIECE < len;
		struct frame piece = part_of(frame, header_len + at, header_len + MIN(at + PIECE, len));

		insert(&piece, 0, frame->bytes->data, header_len);
		if (version == 4) {
			set16(&piece, 2, piece.wire_len);
			set16(&piece, 6, at / 8 | (more ? 0x2000 : 0));
		} else {
			uint32_t id = GUINT32_TO_BE(to->len - at / PIECE);
			uint8_t header[8] = { frame->bytes->data[6], 0, (uint8_t)(at >> 8),
				(uint8_t)((at & 0xf8) | more) };

			memcpy(header + 4, &id, sizeof id);
			piece.bytes->data[6] = FRAGMENT;
			insert(&piece, IPV6, header, sizeof header);
			set16(&piece, 4, piece.wire_len - IPV6);
		}
		g_array_append_val(to, piece);
	}
}

void
frames_twice(GArray *to, const struct frame *frame)
{
	struct frame copy = part_of(frame, 0, frame->wire_len);

	frames_same(to, frame);
	copy.bytes->data[version_of(&copy) == 4 ? 8 : 7]--;
	g_array_append_val(to, copy);
}

/* ---- what lies below IP ---- */

static void
put16(GByteArray *to, uint32_t value)
{
	const uint8_t bytes[2] = { (uint8_t)(value >> 8), (uint8_t)value };

	g_byte_array_append(to, bytes, sizeof bytes);
}

static void
put_hex(GByteArray *to, const char *digits)
{
	for (; digits[0] != '\0' && digits[1] != '\0'; digits += 2) {
		const char pair[3] = { digits[0], digits[1], '\0' };
		uint8_t byte = (uint8_t)strtoul(pair, NULL, 16);

		g_byte_array_append(to, &byte, 1);
	}
}

static void
put_ip(GByteArray *to, unsigned version, unsigned protocol, uint32_t behind_len)
{
	put_hex(to, version == 4 ? "4500" : "60000000");
	put16(to, version == 4 ? behind_len + IPV4 : behind_len);
	if (version == 4) {
		put_hex(to, "000040004000");
		to->data[to->len - 1] = (uint8_t)protocol;
		put_hex(to, "0000c6336401c6336402");
	} else {
		put_hex(to, "0040");
		to->data[to->len - 2] = (uint8_t)protocol;
		put_hex(to, "20010db8000000000000000000000001" "20010db8000000000000000000000002");
	}
}

/* A word of layers, behind_len bytes being behind it. */
static void
put_word(GByteArray *to, const char *word, unsigned inside, uint32_t behind_len)
{
	const char *value = strchr(word, '=');
	unsigned number = value == NULL ? 0 : strcmp(value, "=ipip") == 0 ? (inside == 4 ? 4 : 41) :
	    (unsigned)strtoul(value + 1, NULL, 10);

	if (strcmp(word, "macs") == 0)
		put_hex(to, "020000000001020000000002");
	else if (strcmp(word, "type") == 0)
		put_hex(to, inside == 4 ? "0800" : "86dd");
	else if (strcmp(word, "ppp") == 0)
		put_hex(to, inside == 4 ? "0021" : "0057");
	else if (strcmp(word, "afbe") == 0)
		put_hex(to, inside == 4 ? "00000002" : "0000001c");
	else if (strcmp(word, "afle") == 0)
		put_hex(to, inside == 4 ? "02000000" : "0a000000");
	else if (g_str_has_prefix(word, "ip4=") || g_str_has_prefix(word, "ip6="))
		put_ip(to, word[2] == '4' ? 4 : 6, number, behind_len);
	else if (g_str_has_prefix(word, "udp=")) {
		put16(to, 40000);
		put16(to, number);
		put16(to, behind_len + 8);
		put16(to, 0);
	} else if (strcmp(word, "fcs") != 0)
		put_hex(to, word);
}

void
frames_put_below(struct frame *frame, uint32_t link, const char *layers)
{
	g_auto(GStrv) words = g_strsplit(layers, " ", -1);
	unsigned inside = version_of(frame);
	bool whole = frame->bytes->len == frame->wire_len;

	/* from the inside out: headers know how much is behind them */
	for (unsigned i = g_strv_length(words); i-- > 0; ) {
		g_autoptr(GByteArray) header = g_byte_array_new();

		put_word(header, words[i], inside, frame->wire_len);
		insert(frame, 0, header->data, header->len);
	}
	frame->link = link;
	if (!g_strv_contains((const char *const *)words, "fcs"))
		return;
	frame->wire_len += 4;
	if (whole)
		g_byte_array_append(frame->bytes, (const guint8 *)"\xde\xad\xbe\xef", 4);
}
