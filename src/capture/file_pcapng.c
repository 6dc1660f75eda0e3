/*
 * The packets of a pcapng file (draft-ietf-opsawg-pcapng). A file is a list of
 * blocks, in the byte order of the section that they belong to:
 *
 *      0                   1                   2                   3
 *      |                          Block Type                           |
 *      |                      Block Total Length                       |
 *      |                    Body, a multiple of 4 bytes                |
 *      |                      Block Total Length                       |
 *
 * A section describes its interfaces one after the other, packets name them by
 * their number. Offsets below count from a block's first byte.
 */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "capture/file.h"
#include "capture/segment.h"

enum block {
	BLOCK_INTERFACE = 1,
	BLOCK_OLD_PACKET = 2,
	BLOCK_SIMPLE_PACKET = 3,
	BLOCK_STATISTICS = 5,
	BLOCK_PACKET = 6,
	BLOCK_SECTION = 0x0a0d0d0a,
};

enum {
	BLOCK_MIN = 12,
	SECTION_MIN = 28,
	INTERFACE_MIN = 20,
	SIMPLE_MIN = 16,
	STATISTICS_MIN = 24,
	PACKET_MIN = 32,
	PACKET_DATA = 28,
	INTERFACES = 4096,	/* of one section */
	STAMP_MOST_S = UINT32_MAX,	/* so that the difference of two stamps always fits */
};

static const uint32_t ORDER_MAGIC = 0x1a2b3c4d;

enum option {
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	INTERFACE_NAME = 2,
	INTERFACE_RESOLUTION = 9,
	INTERFACE_OFFSET = 14,
	STATISTICS_INTERFACE_DROPS = 5,
	STATISTICS_SYSTEM_DROPS = 7,
};

struct interface {
	int link_type;
	uint32_t snaplen;	/* 0: no limit */
	uint8_t resolution;	/* as the option has it */
	int64_t offset_s;
	int64_t drops;		/* of the latest statistics; -1: none */
};

struct file_pcapng {
	struct bytes *bytes;	/* borrowed */
	struct file_facts facts;
	char text[FILE_TEXT];	/* after FILE_BROKEN */
	GArray *interfaces;	/* struct interface, of this section */
	GStringChunk *texts;	/* comments and names */
	const char *name[FILE_INTERFACES];	/* of the interface with this number in any section; NULL: not known */
	int64_t drops_before;	/* in sections that are over; -1: none */
	uint32_t long_left;	/* bytes still to be passed over, of a block that is larger than anything we read */
	bool long_is_packet;
	bool swapped;
};

/* ---- words in the section's byte order ---- */

static uint16_t
load16(const struct file_pcapng *file, const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof value);
	return file->swapped ? GUINT16_SWAP_LE_BE(value) : value;
}

static uint32_t
load32(const struct file_pcapng *file, const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof value);
	return file->swapped ? GUINT32_SWAP_LE_BE(value) : value;
}

static uint64_t
load64(const struct file_pcapng *file, const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof value);
	return file->swapped ? GUINT64_SWAP_LE_BE(value) : value;
}

/* ---- options ---- */

struct option_at {
	const uint8_t *next, *end;
	uint16_t code, len;
	const uint8_t *value;
};

/* The next option, each a code, a length and a value that is padded to 4 bytes; false at their end. */
static bool
next_option(const struct file_pcapng *file, struct option_at *option)
{
	if (option->end - option->next < 4)
		return false;
	option->code = load16(file, option->next);
	option->len = load16(file, option->next + 2);
	option->value = option->next + 4;
	if (option->code == OPTION_END || option->end - option->value < option->len)
		return false;
	option->next = option->value + MIN((option->len + 3) & ~3, option->end - option->value);
	return true;
}

static struct option_at
options_of(const uint8_t *block, uint32_t from, uint32_t len)
{
	return (struct option_at){ .next = block + from, .end = block + len - 4 };
}

static void
keep_comment(struct file_pcapng *file, const struct option_at *option)
{
	if (file->facts.comments < FILE_COMMENTS && option->len > 0)
		file->facts.comment[file->facts.comments++] =
		    g_string_chunk_insert_len(file->texts, (const char *)option->value, option->len);
}

/* Interfaces of several sections share their number: when their names differ, it has none. */
static void
keep_name(struct file_pcapng *file, unsigned number, const struct option_at *option)
{
	g_autofree char *name = g_strndup((const char *)option->value, MIN(option->len, FILE_INTERFACE_NAME));

	if (number >= FILE_INTERFACES || *name == '\0')
		return;
	if (file->name[number] == NULL)
		file->name[number] = g_string_chunk_insert(file->texts, name);
	else if (strcmp(file->name[number], name) != 0)
		file->name[number] = "";
}

/* ---- blocks ---- */

static void
count_drops(struct file_pcapng *file)
{
	int64_t drops = file->drops_before;

	for (guint i = 0; i < file->interfaces->len; i++) {
		const struct interface *interface = &g_array_index(file->interfaces, struct interface, i);

		if (interface->drops >= 0)
			drops = MAX(drops, 0) + interface->drops;
	}
	file->facts.dropped_by_kernel = drops;
}

/* The byte order was read with the block's length. */
static void
take_section(struct file_pcapng *file, const uint8_t *block, uint32_t len)
{
	struct option_at option = options_of(block, 24, len);

	file->drops_before = file->facts.dropped_by_kernel;
	g_array_set_size(file->interfaces, 0);
	while (next_option(file, &option))
		if (option.code == OPTION_COMMENT)
			keep_comment(file, &option);
}

/* Finer than a microsecond? The first bit says whether it is a power of 2 or of 10. */
static bool
is_fine(uint8_t resolution)
{
	return resolution & 0x80 ? (resolution & 0x7f) >= 20 : resolution > 6;
}

static bool
take_interface(struct file_pcapng *file, const uint8_t *block, uint32_t len)
{
	struct interface interface = { .resolution = 6, .drops = -1 };
	struct option_at option = options_of(block, 16, len);
	struct file_facts *facts = &file->facts;

	if (len < INTERFACE_MIN || file->interfaces->len == INTERFACES)
		return false;
	interface.link_type = file_link_type(load16(file, block + 8));
	interface.snaplen = load32(file, block + 12);
	while (next_option(file, &option)) {
		if (option.code == INTERFACE_RESOLUTION && option.len >= 1)
			interface.resolution = option.value[0];
		else if (option.code == INTERFACE_OFFSET && option.len >= 8)
			interface.offset_s = (int64_t)load64(file, option.value);
		else if (option.code == INTERFACE_NAME)
			keep_name(file, file->interfaces->len, &option);
	}
	g_array_append_val(file->interfaces, interface);
	if (facts->link_type < 0 ||
	    (!segment_knows_link(facts->link_type) && segment_knows_link(interface.link_type)))
		facts->link_type = interface.link_type;
	if (interface.snaplen > 0)
		facts->snaplen = facts->snaplen > 0 ? MIN(facts->snaplen, interface.snaplen) : interface.snaplen;
	facts->nanoseconds |= is_fine(interface.resolution);
	return true;
}

static struct interface *
interface_of(const struct file_pcapng *file, uint32_t number)
{
	return number < file->interfaces->len ? &g_array_index(file->interfaces, struct interface, number) : NULL;
}

/* Drops are counted from the start of the capture: the latest block has them all. */
static bool
take_statistics(struct file_pcapng *file, const uint8_t *block, uint32_t len)
{
	struct option_at option = options_of(block, 20, len);
	struct interface *interface;
	int64_t drops = -1;

	if (len < STATISTICS_MIN)
		return false;
	interface = interface_of(file, load32(file, block + 8));
	if (interface == NULL)
		return false;
	while (next_option(file, &option)) {
		bool dropped = option.code == STATISTICS_INTERFACE_DROPS || option.code == STATISTICS_SYSTEM_DROPS;

		if (option.code == OPTION_COMMENT)
			keep_comment(file, &option);
		else if (dropped && option.len >= 8)
			drops = MAX(drops, 0) + (int64_t)MIN(load64(file, option.value), UINT32_MAX);
	}
	if (drops >= 0)
		interface->drops = drops;
	count_drops(file);
	return true;
}

/* Exact where a nanosecond divides the unit, else rounded down. */
static int64_t
stamp_ns(const struct interface *interface, uint64_t stamp)
{
	unsigned exponent = interface->resolution & 0x7f;
	__int128 ns = stamp;

	if (interface->resolution & 0x80) {
		ns = exponent < 96 ? ns * NS_PER_S >> exponent : 0;
	} else {
		for (; exponent < 9; exponent++)
			ns *= 10;
		for (; exponent > 9 && ns > 0; exponent--)
			ns /= 10;
	}
	ns += (__int128)interface->offset_s * NS_PER_S;
	return (int64_t)CLAMP(ns, 0, STAMP_MOST_S * (__int128)NS_PER_S);
}

/* An enhanced packet, or one of the old blocks, which differ in the interface's width alone. */
static bool
take_packet(const struct file_pcapng *file, uint32_t type, const uint8_t *block, uint32_t len, struct packet *packet)
{
	const struct interface *interface;
	uint32_t number, cap_len;

	if (len < PACKET_MIN)
		return false;
	number = type == BLOCK_PACKET ? load32(file, block + 8) : load16(file, block + 8);
	interface = interface_of(file, number);
	cap_len = load32(file, block + 20);
	if (interface == NULL || cap_len > len - PACKET_MIN || cap_len > FILE_CAPTURED_MOST)
		return false;
	packet->ts_ns = stamp_ns(interface, (uint64_t)load32(file, block + 12) << 32 | load32(file, block + 16));
	packet->link_type = interface->link_type;
	packet->interface = number + 1;
	packet->data = block + PACKET_DATA;
	packet->cap_len = cap_len;
	packet->wire_len = MAX(load32(file, block + 24), cap_len);
	return true;
}

static bool
is_packet(uint32_t type)
{
	return type == BLOCK_PACKET || type == BLOCK_OLD_PACKET || type == BLOCK_SIMPLE_PACKET;
}

/*
 * The type and length of the block that comes: FILE_PACKET, or why there is
 * none. A section's first word after them says in which order its bytes are.
 */
static enum file_result
look_block(struct file_pcapng *file, uint32_t *type, uint32_t *len)
{
	struct bytes *bytes = file->bytes;
	uint32_t order;

	if (!bytes_look(bytes, BLOCK_MIN))
		return bytes_left(bytes) == 0 && bytes->error == 0 ? FILE_END : file_ends_here(bytes, file->text);
	*type = load32(file, bytes->place);
	if (*type == BLOCK_SECTION) {
		memcpy(&order, bytes->place + 8, sizeof order);
		if (order != ORDER_MAGIC && order != GUINT32_SWAP_LE_BE(ORDER_MAGIC)) {
			snprintf(file->text, sizeof file->text, "a section in no known byte order");
			return FILE_BROKEN;
		}
		file->swapped = order != ORDER_MAGIC;
	}
	*len = load32(file, bytes->place + 4);
	if (*type == 0 && *len == 0)
		return FILE_BLANK;
	if (*len < BLOCK_MIN || *len % 4 != 0 || (*type == BLOCK_SECTION && *len < SECTION_MIN)) {
		snprintf(file->text, sizeof file->text, "a block of type %" PRIu32 " with the length %" PRIu32, *type, *len);
		return FILE_BROKEN;
	}
	return FILE_PACKET;
}

static enum file_result
pass_long(struct file_pcapng *file)
{
	while (file->long_left > 0) {
		uint32_t part = MIN(file->long_left, BYTES_MOST);

		if (!bytes_look(file->bytes, part))
			return file_ends_here(file->bytes, file->text);
		bytes_pass(file->bytes, part);
		file->long_left -= part;
	}
	return file->long_is_packet ? FILE_SKIPPED : FILE_PACKET;
}

/* Takes a whole block that is no packet; false when it contradicts itself. Those of no use are passed over. */
static bool
take_block(struct file_pcapng *file, uint32_t type, const uint8_t *block, uint32_t len)
{
	switch (type) {
	case BLOCK_SECTION:
		take_section(file, block, len);
		return true;
	case BLOCK_INTERFACE:
		return take_interface(file, block, len);
	case BLOCK_STATISTICS:
		return take_statistics(file, block, len);
	default:
		return true;
	}
}

/* One block: FILE_PACKET and packet->data NULL when it was no packet. */
static enum file_result
next_block(struct file_pcapng *file, struct packet *packet)
{
	struct bytes *bytes = file->bytes;
	uint32_t type, len;
	const uint8_t *block;
	enum file_result result;
	bool good;

	packet->data = NULL;
	if (file->long_left > 0)
		return pass_long(file);
	result = look_block(file, &type, &len);
	if (result != FILE_PACKET)
		return result;
	if (len > BYTES_MOST) {
		file->facts.bad_blocks += is_packet(type);
		file->long_left = len;
		file->long_is_packet = is_packet(type);
		return pass_long(file);
	}
	if (!bytes_look(bytes, len))
		return file_ends_here(bytes, file->text);
	block = bytes->place;
	bytes_pass(bytes, len);
	file_fetch_ahead(bytes->place, len);
	good = load32(file, block + len - 4) == len;
	if (!is_packet(type)) {
		good = good && take_block(file, type, block, len);
		file->facts.bad_blocks += !good;
		return FILE_PACKET;
	}
	/* a simple packet has no stamp */
	if (good && type != BLOCK_SIMPLE_PACKET && take_packet(file, type, block, len, packet))
		return FILE_PACKET;
	file->facts.bad_blocks++;
	return FILE_SKIPPED;
}

/* ---- the format ---- */

static void
free_pcapng(void *context)
{
	struct file_pcapng *file = context;

	g_array_free(file->interfaces, TRUE);
	g_string_chunk_free(file->texts);
	g_free(file);
}

/* All that comes before the first packet, so that the link types are known. */
static enum file_result
read_ahead(struct file_pcapng *file)
{
	for (;;) {
		struct packet none;
		uint32_t type, len;
		enum file_result result = look_block(file, &type, &len);

		if (result != FILE_PACKET || is_packet(type) || len > BYTES_MOST || !bytes_look(file->bytes, len))
			return result == FILE_BROKEN ? FILE_BROKEN : FILE_PACKET;
		next_block(file, &none);
	}
}

static void *
open_pcapng(struct bytes *bytes, char text[FILE_TEXT])
{
	struct file_pcapng *file;

	if (!bytes_look(bytes, SECTION_MIN)) {
		file_header_problem(bytes, text);
		return NULL;
	}
	file = g_new0(struct file_pcapng, 1);
	file->bytes = bytes;
	file->facts.link_type = -1;
	file->facts.dropped_by_kernel = file->drops_before = -1;
	file->interfaces = g_array_new(FALSE, TRUE, sizeof(struct interface));
	file->texts = g_string_chunk_new(256);
	if (read_ahead(file) == FILE_BROKEN) {
		g_strlcpy(text, file->text, FILE_TEXT);
		free_pcapng(file);
		return NULL;
	}
	return file;
}

static enum file_result
next_packet(void *context, struct packet *packet)
{
	enum file_result result;

	do
		result = next_block(context, packet);
	while (result == FILE_PACKET && packet->data == NULL);
	return result;
}

static const struct file_facts *
facts_of(const void *context)
{
	const struct file_pcapng *file = context;

	return &file->facts;
}

static const char *
interface_name(const void *context, unsigned number)
{
	const struct file_pcapng *file = context;

	return number < FILE_INTERFACES && g_strcmp0(file->name[number], "") != 0 ? file->name[number] : NULL;
}

static const char *
problem_of(const void *context)
{
	const struct file_pcapng *file = context;

	return file->text;
}

static bool
ahead_of(const void *context, struct ahead *ahead)
{
	const struct file_pcapng *file = context;

	ahead->length_at = sizeof(uint32_t);
	ahead->head_len = 0;
	return !file->swapped;
}

const struct file_format file_format_pcapng = {
	.name = "pcapng",
	.open = open_pcapng,
	.next = next_packet,
	.ahead = ahead_of,
	.facts = facts_of,
	.interface = interface_name,
	.problem = problem_of,
	.free = free_pcapng,
};
