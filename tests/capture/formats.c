/*
 * pcapng and snoop files put together block by block, and the same files
 * compressed: what is read of them, cut anywhere and with lengths that lie.
 */
#include <archive.h>
#include <archive_entry.h>
#include <criterion/criterion.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <pcap/dlt.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/errors.h"
#include "capture/source.h"

static char *path;

static void
make_path(void)
{
	int fd = g_file_open_tmp("nfscorr-format-XXXXXX", &path, NULL);

	cr_assert_geq(fd, 0);
	close(fd);
}

static void
remove_path(void)
{
	g_remove(path);
	g_free(path);
}

/* ---- files in memory ---- */

struct made {
	GByteArray *bytes;
	bool big;		/* the byte order of what is put next */
	guint block;		/* where the block in hand began */
};

static void
put16(struct made *made, unsigned value)
{
	uint16_t word = made->big ? GUINT16_TO_BE(value) : GUINT16_TO_LE(value);

	g_byte_array_append(made->bytes, (const uint8_t *)&word, sizeof word);
}

static void
put32(struct made *made, uint32_t value)
{
	uint32_t word = made->big ? GUINT32_TO_BE(value) : GUINT32_TO_LE(value);

	g_byte_array_append(made->bytes, (const uint8_t *)&word, sizeof word);
}

static void
put64(struct made *made, uint64_t value)
{
	put32(made, (uint32_t)(made->big ? value >> 32 : value));
	put32(made, (uint32_t)(made->big ? value : value >> 32));
}

static void
put_zeros(struct made *made, unsigned len)
{
	while (len-- > 0)
		g_byte_array_append(made->bytes, (const uint8_t *)"", 1);
}

static void
begin_block(struct made *made, uint32_t type)
{
	made->block = made->bytes->len;
	put32(made, type);
	put32(made, 0);
}

static void
end_block(struct made *made)
{
	uint32_t len = made->bytes->len - made->block + 4;
	uint32_t word = made->big ? GUINT32_TO_BE(len) : GUINT32_TO_LE(len);

	memcpy(made->bytes->data + made->block + 4, &word, sizeof word);
	put32(made, len);
}

static void
put_option(struct made *made, unsigned code, const void *value, unsigned len)
{
	put16(made, code);
	put16(made, len);
	g_byte_array_append(made->bytes, value, len);
	put_zeros(made, -len & 3);
}

static void
put_section(struct made *made)
{
	begin_block(made, 0x0a0d0d0a);
	put32(made, 0x1a2b3c4d);
	put16(made, 1);
	put16(made, 0);
	put64(made, UINT64_MAX);
	end_block(made);
}

/* resolution 0, name NULL: the option is left out. */
static void
put_named(struct made *made, unsigned link_type, uint8_t resolution, int64_t offset_s, const char *name)
{
	begin_block(made, 1);
	put16(made, link_type);
	put16(made, 0);
	put32(made, 4000);
	if (name != NULL)
		put_option(made, 2, name, (unsigned)strlen(name));
	if (resolution != 0)
		put_option(made, 9, &resolution, 1);
	if (offset_s != 0) {
		put16(made, 14);
		put16(made, 8);
		put64(made, (uint64_t)offset_s);
	}
	end_block(made);
}

static void
put_interface(struct made *made, unsigned link_type, uint8_t resolution, int64_t offset_s)
{
	put_named(made, link_type, resolution, offset_s, NULL);
}

/* cap_len bytes of zeros with the length wire_len. */
static void
put_packet(struct made *made, uint32_t interface, uint64_t stamp, uint32_t cap_len, uint32_t wire_len)
{
	begin_block(made, 6);
	put32(made, interface);
	put32(made, (uint32_t)(stamp >> 32));
	put32(made, (uint32_t)stamp);
	put32(made, cap_len);
	put32(made, wire_len);
	put_zeros(made, (cap_len + 3) & ~3U);
	end_block(made);
}

static void
put_statistics(struct made *made, uint32_t interface, uint64_t interface_drops, uint64_t system_drops)
{
	begin_block(made, 5);
	put32(made, interface);
	put64(made, 0);
	put_option(made, 1, "counted", 7);
	put16(made, 5);
	put16(made, 8);
	put64(made, interface_drops);
	put16(made, 7);
	put16(made, 8);
	put64(made, system_drops);
	end_block(made);
}

static struct made
made_new(bool big)
{
	return (struct made){ .bytes = g_byte_array_new(), .big = big };
}

static struct source *
opened_as(const uint8_t *bytes, guint len)
{
	g_autoptr(GError) error = NULL;
	struct source *source;

	cr_assert(g_file_set_contents(path, (const char *)bytes, len, NULL));
	source = source_open(path, NULL, &error);
	cr_assert_not_null(source, "%s", error != NULL ? error->message : "");
	return source;
}

static struct source *
opened(const struct made *made)
{
	return opened_as(made->bytes->data, made->bytes->len);
}

static void
check_packet(struct source *source, int64_t ts_ns, uint32_t cap_len, uint32_t wire_len, int link_type, uint64_t frame)
{
	g_autoptr(GError) error = NULL;
	struct packet packet;

	cr_assert_eq(source_next(source, &packet, &error), SOURCE_PACKET, "%s", error != NULL ? error->message : "");
	cr_assert_eq(packet.ts_ns, ts_ns, "%" G_GINT64_FORMAT ", not %" G_GINT64_FORMAT, packet.ts_ns, ts_ns);
	cr_assert_eq(packet.cap_len, cap_len);
	cr_assert_eq(packet.wire_len, wire_len);
	cr_assert_eq(packet.link_type, link_type);
	cr_assert_eq(packet.frame, frame);
}

static void
check_end(struct source *source)
{
	g_autoptr(GError) error = NULL;
	struct packet packet;

	cr_assert_eq(source_next(source, &packet, &error), SOURCE_END, "%s", error != NULL ? error->message : "");
}

/* Reads all; how many packets came. */
static unsigned
read_all(struct source *source, GError **error)
{
	struct packet packet;
	unsigned packets = 0;

	while (source_next(source, &packet, error) == SOURCE_PACKET)
		packets++;
	source_free(source);
	return packets;
}

/* The packets are the same whether they come one by one or as many as there are. */
static void
check_more(const struct made *made)
{
	struct source *one = opened(made), *many = opened(made);
	struct packet packet[7], expected;

	while (source_next(many, packet, NULL) == SOURCE_PACKET) {
		unsigned count = 1 + source_more(many, packet + 1, G_N_ELEMENTS(packet) - 1);

		for (unsigned i = 0; i < count; i++) {
			cr_assert_eq(source_next(one, &expected, NULL), SOURCE_PACKET);
			cr_assert_eq(packet[i].frame, expected.frame);
			cr_assert_eq(packet[i].ts_ns, expected.ts_ns);
			cr_assert_eq(packet[i].wire_len, expected.wire_len);
			cr_assert_eq(packet[i].cap_len, expected.cap_len);
			cr_assert_eq(memcmp(packet[i].data, expected.data, expected.cap_len), 0);
		}
	}
	check_end(one);
	cr_assert_eq(source_facts(many)->bad_blocks, source_facts(one)->bad_blocks);
	cr_assert_eq(source_facts(many)->dropped_by_kernel, source_facts(one)->dropped_by_kernel);
	source_free(one);
	source_free(many);
}

TestSuite(pcapng, .init = make_path, .fini = remove_path);
TestSuite(snoop, .init = make_path, .fini = remove_path);
TestSuite(compressed, .init = make_path, .fini = remove_path);

/* ---- pcapng ---- */

/* Interfaces of different link types and units, in both byte orders. */
Test(pcapng, row_15_interfaces)
{
	for (int big = 0; big < 2; big++) {
		struct made made = made_new(big);
		struct source *source;

		put_section(&made);
		put_interface(&made, 1, 0, 0);			/* Ethernet, microseconds unless told otherwise */
		put_interface(&made, 101, 9, 0);		/* raw IP, nanoseconds */
		put_interface(&made, 276, 3, 1000);		/* SLL2, milliseconds, 1000 s ahead */
		put_interface(&made, 1, 0x80 | 20, 0);		/* 2^-20 s */
		put_interface(&made, 1, 12, 0);			/* picoseconds */
		put_packet(&made, 0, UINT64_C(1700000000123456), 60, 1514);
		put_packet(&made, 1, UINT64_C(1700000000123456789), 61, 61);
		put_packet(&made, 2, UINT64_C(1700000000123), 0, 40);
		/* 3/4 s and one unit, which is 953.67 ns */
		put_packet(&made, 3, (UINT64_C(1700000000) << 20) + (3 << 18) + 1, 8, 8);
		put_packet(&made, 4, UINT64_C(17000000123456789), 8, 4);
		source = opened(&made);
		cr_assert_str_eq(source_facts(source)->format, "pcapng");
		cr_assert_eq(source_facts(source)->link_type, DLT_EN10MB);
		cr_assert_eq(source_facts(source)->snaplen, 4000);
		cr_assert(source_facts(source)->nanoseconds);
		check_packet(source, INT64_C(1700000000123456000), 60, 1514, DLT_EN10MB, 1);
		check_packet(source, INT64_C(1700000000123456789), 61, 61, DLT_RAW, 2);
		check_packet(source, INT64_C(1700001000123000000), 0, 40, DLT_LINUX_SLL2, 3);
		check_packet(source, INT64_C(1700000000750000953), 8, 8, DLT_EN10MB, 4);
		check_packet(source, INT64_C(17000000123456), 8, 8, DLT_EN10MB, 5);
		check_end(source);
		source_free(source);
		g_byte_array_unref(made.bytes);
	}
}

/* A new section has its own byte order and its own interfaces. */
Test(pcapng, row_15_sections)
{
	struct made made = made_new(false);
	struct source *source;

	put_section(&made);
	put_interface(&made, 1, 9, 0);
	put_packet(&made, 0, 1000, 4, 4);
	put_statistics(&made, 0, 3, 4);
	made.big = true;
	put_section(&made);
	put_packet(&made, 0, 2000, 4, 4);	/* no interface was described */
	put_interface(&made, 101, 9, 0);
	put_packet(&made, 0, 3000, 4, 4);
	put_statistics(&made, 0, 0, 1);
	put_statistics(&made, 0, 10, 2);	/* later: all since the start */
	source = opened(&made);
	check_packet(source, 1000, 4, 4, DLT_EN10MB, 1);
	check_packet(source, 3000, 4, 4, DLT_RAW, 3);
	check_end(source);
	cr_assert_eq(source_facts(source)->dropped_by_kernel, 3 + 4 + 10 + 2);
	cr_assert_eq(source_facts(source)->bad_blocks, 1);
	cr_assert_eq(source_facts(source)->comments, 3);
	cr_assert_str_eq(source_facts(source)->comment[0], "counted");
	source_free(source);
	g_byte_array_unref(made.bytes);
}

/* Numbers begin again with each section; a number has a name as long as no section gives it another. */
Test(pcapng, row_22_names_of_interfaces)
{
	static const uint32_t numbers[] = { 1, 2, 3, 1, 3 };
	struct made made = made_new(true);
	struct source *source;
	struct packet packet;

	put_section(&made);
	put_named(&made, 1, 9, 0, "eth0");
	put_named(&made, 1, 9, 0, "a name with more than the sixty-four bytes that are kept of a name: 1234567890");
	put_interface(&made, 1, 9, 0);
	for (uint32_t i = 0; i < 3; i++)
		put_packet(&made, i, i, 4, 4);
	made.big = false;
	put_section(&made);
	put_named(&made, 1, 9, 0, "br0");
	put_interface(&made, 1, 9, 0);
	put_named(&made, 1, 9, 0, "veth1");
	put_packet(&made, 0, 4, 4, 4);
	put_packet(&made, 2, 5, 4, 4);
	source = opened(&made);
	cr_assert_str_eq(source_interface(source, 0), "eth0");
	for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
		cr_assert_eq(source_next(source, &packet, NULL), SOURCE_PACKET);
		cr_assert_eq(packet.interface, numbers[i], "%zu: %u", i, packet.interface);
	}
	check_end(source);
	cr_assert_null(source_interface(source, 0));
	cr_assert_str_eq(source_interface(source, 1), "a name with more than the sixty-four bytes that are kept of a na");
	cr_assert_str_eq(source_interface(source, 2), "veth1");
	cr_assert_null(source_interface(source, 3));
	cr_assert_null(source_interface(source, UINT32_MAX));
	source_free(source);
	g_byte_array_unref(made.bytes);
}

/* Blocks that contradict themselves are passed over; those that hold a packet keep its number. */
Test(pcapng, row_15_bad_blocks)
{
	struct made made = made_new(false);
	struct source *source;

	put_section(&made);
	put_interface(&made, 1, 9, 0);
	put_packet(&made, 7, 1, 4, 4);		/* no such interface */
	put_packet(&made, 0, 2, 4, 4);
	memcpy(made.bytes->data + made.block + 20, "\xff\xff\xff\xff", 4);	/* captured length */
	put_packet(&made, 0, 3, 4, 4);
	memcpy(made.bytes->data + made.bytes->len - 4, "\x40\0\0\0", 4);	/* the length at its end */
	begin_block(&made, 3);			/* a simple packet: no stamp */
	put32(&made, 4);
	put32(&made, 0);
	end_block(&made);
	begin_block(&made, 0x0bad0bad);		/* of a kind that nobody knows: not bad */
	put_zeros(&made, 2 * 1024 * 1024);
	end_block(&made);
	put_packet(&made, 0, 5, 4, 4);
	begin_block(&made, 2);			/* a packet block of old */
	put16(&made, 0);
	put16(&made, 0);
	put64(&made, UINT64_C(6) << 32);	/* high half first, of a little-endian file */
	put32(&made, 2);
	put32(&made, 100);
	put_zeros(&made, 4);
	end_block(&made);
	source = opened(&made);
	check_packet(source, 5, 4, 4, DLT_EN10MB, 5);
	check_packet(source, 6, 2, 100, DLT_EN10MB, 6);
	check_end(source);
	cr_assert_eq(source_facts(source)->bad_blocks, 4);
	source_free(source);
	check_more(&made);
	g_byte_array_unref(made.bytes);
}

/* Packets, blocks of no use and long ones, over every edge of what is read at once. */
Test(pcapng, many_at_once)
{
	struct made made = made_new(false);

	put_section(&made);
	put_interface(&made, 1, 9, 0);
	for (unsigned i = 0; i < 3000; i++) {
		put_packet(&made, i % 50 == 0, i, i % 1000, 1000);
		if (i % 400 == 0) {
			begin_block(&made, i % 800 == 0 ? 6 : 0x0bad0bad);
			put_zeros(&made, 600 * 1024);
			end_block(&made);
		}
		if (i % 100 == 0)
			put_statistics(&made, 0, i, 0);
	}
	check_more(&made);
	g_byte_array_unref(made.bytes);
}

Test(pcapng, row_34_lengths_that_lie)
{
	static const uint32_t lengths[] = { 4, 11, 13, 0xfffffffc, 0x00100000 };

	for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
		struct made made = made_new(false);
		g_autoptr(GError) error = NULL;
		uint32_t word = GUINT32_TO_LE(lengths[i]);

		put_section(&made);
		put_interface(&made, 1, 9, 0);
		put_packet(&made, 0, 1, 4, 4);
		put_packet(&made, 0, 2, 4, 4);
		memcpy(made.bytes->data + made.block + 4, &word, sizeof word);
		cr_assert_eq(read_all(opened(&made), &error), 1, "%x", lengths[i]);
		/* a length that can be is that of a block which goes on behind the file's end */
		cr_assert_eq(error->code, i < 3 ? NFSCORR_ERROR_FAILED : NFSCORR_ERROR_CUT, "%s", error->message);
		cr_assert_not_null(strstr(error->message, "after packet 1"), "%s", error->message);
		g_byte_array_unref(made.bytes);
	}
}

Test(pcapng, row_34_cut_at_every_byte)
{
	struct made made = made_new(true);
	guint start, end;

	put_section(&made);
	put_interface(&made, 1, 9, 0);
	start = made.bytes->len;
	put_packet(&made, 0, 1, 5, 5);
	end = made.bytes->len;
	put_packet(&made, 0, 2, 7, 7);
	for (guint len = 28; len <= made.bytes->len; len++) {
		g_autoptr(GError) error = NULL;
		bool whole = len == 28 || len == start || len == end || len == made.bytes->len;
		unsigned packets = len == made.bytes->len ? 2 : len >= end;

		cr_assert_eq(read_all(opened_as(made.bytes->data, len), &error), packets, "%u", len);
		if (whole)
			cr_assert_null(error, "%u", len);
		else
			cr_assert(g_error_matches(error, NFSCORR_ERROR, NFSCORR_ERROR_CUT), "%u", len);
	}
	for (guint len = 8; len < 28; len++) {
		g_autoptr(GError) error = NULL;

		cr_assert(g_file_set_contents(path, (const char *)made.bytes->data, len, NULL));
		cr_assert_null(source_open(path, NULL, &error));
		cr_assert_not_null(strstr(error->message, "ends inside its file header"), "%s", error->message);
	}
	g_byte_array_unref(made.bytes);
}

/* The filter is compiled for each link type; numbers count what it drops. */
Test(pcapng, row_15_a_filter_on_two_link_types)
{
	struct made made = made_new(false);
	struct packet packet;
	struct filter *filter = filter_new("len = 61", NULL);
	struct source_config config = { .filter = filter };
	struct source *source;

	put_section(&made);
	put_interface(&made, 1, 9, 0);
	put_interface(&made, 101, 9, 0);
	for (unsigned i = 0; i < 6; i++)
		put_packet(&made, i % 2, i, 60 + i / 2, 60 + i / 2);
	cr_assert(g_file_set_contents(path, (const char *)made.bytes->data, made.bytes->len, NULL));
	source = source_open(path, &config, NULL);
	cr_assert_not_null(source);
	for (uint64_t frame = 3; frame <= 4; frame++) {
		cr_assert_eq(source_next(source, &packet, NULL), SOURCE_PACKET);
		cr_assert_eq(packet.frame, frame);
	}
	check_end(source);
	source_free(source);
	filter_free(filter);
	g_byte_array_unref(made.bytes);
}

/* ---- snoop ---- */

static struct made
snoop_file(uint32_t version, uint32_t link)
{
	struct made made = made_new(true);

	g_byte_array_append(made.bytes, (const uint8_t *)"snoop\0\0", 8);
	put32(&made, version);
	put32(&made, link);
	return made;
}

static void
put_record(struct made *made, uint32_t wire_len, uint32_t cap_len, uint32_t pad, uint32_t drops, uint32_t seconds,
    uint32_t us)
{
	put32(made, wire_len);
	put32(made, cap_len);
	put32(made, 24 + cap_len + pad);
	put32(made, drops);
	put32(made, seconds);
	put32(made, us);
	put_zeros(made, cap_len + pad);
}

Test(snoop, row_16_both_versions)
{
	for (uint32_t version = 1; version <= 2; version++) {
		struct made made = snoop_file(version, version == 1 ? 0 : 4);
		struct source *source;

		put_record(&made, 1514, 61, 3, 0, 1700000000, 123456);
		put_record(&made, 60, 60, 0, 7, 4000000000, 999999);
		put_record(&made, 90, 41, 0, 9, 1, 2000000);	/* no second has so many; and no padding */
		source = opened(&made);
		cr_assert_str_eq(source_facts(source)->format, "snoop");
		cr_assert_not(source_facts(source)->nanoseconds);
		cr_assert_eq(source_facts(source)->dropped_by_kernel, -1);
		check_packet(source, INT64_C(1700000000123456000), 61, 1514, DLT_EN10MB, 1);
		check_packet(source, INT64_C(4000000000999999000), 60, 60, DLT_EN10MB, 2);
		check_packet(source, INT64_C(1999999000), 41, 90, DLT_EN10MB, 3);
		check_end(source);
		cr_assert_eq(source_facts(source)->dropped_by_kernel, 9);
		source_free(source);
		g_byte_array_unref(made.bytes);
	}
}

/* Padding that was not read yet is not missing. */
Test(snoop, many_at_once)
{
	struct made made = snoop_file(2, 4);

	for (uint32_t i = 0; i < 20000; i++)
		put_record(&made, 1000, i % 61, 100, 0, i, 0);
	check_more(&made);
	g_byte_array_unref(made.bytes);
}

Test(snoop, row_34_what_is_not_read)
{
	static const struct {
		uint32_t version, link;
		const char *why;
	} files[] = { { 3, 4, "snoop version 3" }, { 2, 9, "data link type 9" } };

	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		struct made made = snoop_file(files[i].version, files[i].link);
		g_autoptr(GError) error = NULL;

		cr_assert(g_file_set_contents(path, (const char *)made.bytes->data, made.bytes->len, NULL));
		cr_assert_null(source_open(path, NULL, &error));
		cr_assert_not_null(strstr(error->message, files[i].why), "%s", error->message);
		g_byte_array_unref(made.bytes);
	}
}

Test(snoop, row_34_cut_at_every_byte)
{
	struct made made = snoop_file(2, 4);
	guint end;

	put_record(&made, 5, 5, 3, 0, 1, 1);
	end = made.bytes->len;
	put_record(&made, 6, 6, 2, 0, 1, 2);
	for (guint len = 16; len <= made.bytes->len; len++) {
		g_autoptr(GError) error = NULL;
		/* padding that is missing is missed by nobody */
		bool first = len >= end - 3, second = len >= made.bytes->len - 2;

		cr_assert_eq(read_all(opened_as(made.bytes->data, len), &error), first + second, "%u", len);
		cr_assert_eq(error == NULL, len == 16 || (len >= end - 3 && len <= end) || second, "%u", len);
	}
	g_byte_array_unref(made.bytes);
}

Test(snoop, row_34_lengths_that_lie)
{
	static const struct {
		uint32_t cap_len, record_len;
	} lies[] = { { 0xffffffff, 24 }, { 100, 100 }, { 4, 23 }, { 4, 0xffffffff }, { 0x00100000, 0x00100018 } };

	for (size_t i = 0; i < G_N_ELEMENTS(lies); i++) {
		struct made made = snoop_file(2, 4);
		g_autoptr(GError) error = NULL;

		put_record(&made, 4, 4, 0, 0, 1, 1);
		put32(&made, 4);
		put32(&made, lies[i].cap_len);
		put32(&made, lies[i].record_len);
		put_zeros(&made, 4000);
		cr_assert_eq(read_all(opened(&made), &error), 1);
		cr_assert(g_error_matches(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED), "%zu", i);
		g_byte_array_unref(made.bytes);
	}
}

/* ---- compressed ---- */

static const struct {
	const char *name;
	int filter;
} filters[] = {
	{ "gzip", ARCHIVE_FILTER_GZIP },
	{ "zstd", ARCHIVE_FILTER_ZSTD },
	{ "xz", ARCHIVE_FILTER_XZ },
	{ "lz4", ARCHIVE_FILTER_LZ4 },
};

static GByteArray *
compress(const GByteArray *content, int filter)
{
	size_t room = content->len + 65536, used = 0;
	GByteArray *out = g_byte_array_sized_new((guint)room);
	struct archive *archive = archive_write_new();
	struct archive_entry *entry = archive_entry_new();

	archive_write_set_format_raw(archive);
	archive_write_add_filter(archive, filter);
	archive_write_set_bytes_per_block(archive, 0);
	cr_assert_eq(archive_write_open_memory(archive, out->data, room, &used), ARCHIVE_OK);
	archive_entry_set_filetype(entry, AE_IFREG);
	cr_assert_eq(archive_write_header(archive, entry), ARCHIVE_OK);
	cr_assert_eq(archive_write_data(archive, content->data, content->len), (la_ssize_t)content->len);
	cr_assert_eq(archive_write_close(archive), ARCHIVE_OK);
	archive_entry_free(entry);
	archive_write_free(archive);
	g_byte_array_set_size(out, (guint)used);
	return out;
}

/* More than any buffer holds, and not all zeros. */
static struct made
many_packets(unsigned packets)
{
	struct made made = snoop_file(2, 4);

	for (unsigned i = 0; i < packets; i++)
		put_record(&made, 1514, 200, 0, 0, 1700000000 + i, i * 7919 % 1000000);
	return made;
}

Test(compressed, every_format)
{
	struct made made = many_packets(20000);

	for (size_t i = 0; i < G_N_ELEMENTS(filters); i++) {
		g_autoptr(GByteArray) packed = compress(made.bytes, filters[i].filter);
		struct source *source = opened_as(packed->data, packed->len);
		g_autoptr(GError) error = NULL;

		cr_assert_str_eq(source_facts(source)->compression, filters[i].name);
		cr_assert_str_eq(source_facts(source)->format, "snoop");
		cr_assert_eq(source_facts(source)->bytes, packed->len);
		cr_assert(source_can_rewind(source));
		for (unsigned n = 0; n < 20000; n++)
			check_packet(source, (INT64_C(1700000000) + n) * NS_PER_S + n * 7919 % 1000000 * NS_PER_US, 200,
			    1514, DLT_EN10MB, n + 1);
		check_end(source);
		cr_assert_eq(source_position(source), packed->len);
		source_free(source);
	}
	g_byte_array_unref(made.bytes);
}

/* All that was whole is read, and one line says what was wrong. */
static void
check_compressed(const GByteArray *packed, const char *compression, unsigned packets)
{
	g_autoptr(GError) error = NULL;
	struct source *source = opened_as(packed->data, packed->len);

	cr_assert_str_eq(source_facts(source)->compression, compression);
	cr_assert_eq(read_all(source, &error), packets);
	cr_assert_null(error);
}

/* As pzstd writes it: a frame in front that tells how long the next one is (RFC 8878 section 3.1.2). */
Test(compressed, zstd_behind_a_skippable_frame)
{
	struct made made = many_packets(5000);
	g_autoptr(GByteArray) packed = compress(made.bytes, ARCHIVE_FILTER_ZSTD);

	g_byte_array_prepend(packed, (const guint8 *)"\x50\x2a\x4d\x18\4\0\0\0abcd", 12);
	check_compressed(packed, "zstd", 5000);
	g_byte_array_unref(made.bytes);
}

/* lz4 -l: the magic number, then the length and the content of each block; here one that has nothing but literals. */
Test(compressed, lz4_of_old)
{
	struct made made = many_packets(100);
	g_autoptr(GByteArray) packed = g_byte_array_new();
	guint rest = made.bytes->len - 15, len = 1 + rest / 255 + 1 + made.bytes->len;
	uint8_t lead[] = { 0x02, 0x21, 0x4c, 0x18, (uint8_t)len, (uint8_t)(len >> 8), (uint8_t)(len >> 16), 0, 0xf0 };
	uint8_t last = (uint8_t)(rest % 255);

	g_byte_array_append(packed, lead, sizeof lead);
	for (guint i = 0; i < rest / 255; i++)
		g_byte_array_append(packed, (const guint8 *)"\xff", 1);
	g_byte_array_append(packed, &last, 1);
	g_byte_array_append(packed, made.bytes->data, made.bytes->len);
	check_compressed(packed, "lz4", 100);
	g_byte_array_unref(made.bytes);
}

Test(compressed, row_34_cut_off)
{
	struct made made = many_packets(60000);

	for (size_t i = 0; i < G_N_ELEMENTS(filters); i++) {
		g_autoptr(GByteArray) packed = compress(made.bytes, filters[i].filter);
		g_autoptr(GError) error = NULL;
		struct source *source = opened_as(packed->data, packed->len * 3 / 4);
		unsigned packets = read_all(source, &error);

		cr_assert(packets > 0 && packets < 60000, "%s: %u", filters[i].name, packets);
		cr_assert(g_error_matches(error, NFSCORR_ERROR, NFSCORR_ERROR_CUT), "%s", filters[i].name);
		cr_assert_not_null(strstr(error->message, filters[i].name), "%s", error->message);
	}
	g_byte_array_unref(made.bytes);
}

/* More follows a packet that cannot be than a pipe holds. */
Test(compressed, broken_inside)
{
	struct made made = many_packets(20000);

	memset(made.bytes->data + 16 + 2 * 224 + 4, 0xff, 4);
	for (size_t i = 0; i < G_N_ELEMENTS(filters); i++) {
		g_autoptr(GByteArray) packed = compress(made.bytes, filters[i].filter);
		g_autoptr(GError) error = NULL;

		cr_assert_eq(read_all(opened_as(packed->data, packed->len), &error), 2, "%s", filters[i].name);
		cr_assert(g_error_matches(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED), "%s", filters[i].name);
	}
	g_byte_array_unref(made.bytes);
}

static bool
wait_a_little(void *context, int fd)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };

	(void)context;
	return poll(&readable, 1, 200) > 0;
}

/* Whoever fills the pipe is not waited for: neither is the thread that waits for it. */
Test(compressed, a_pipe_that_is_given_up, .timeout = 60)
{
	static const struct source_config config = { .wait = wait_a_little };
	struct made made = many_packets(20000);
	g_autoptr(GByteArray) packed = compress(made.bytes, ARCHIVE_FILTER_GZIP);
	const guint lens[] = { 10, MIN(packed->len, 60000) };

	for (size_t i = 0; i < G_N_ELEMENTS(lens); i++) {
		g_autofree char *name = NULL;
		struct source *source;
		struct packet packet;
		int ends[2];

		cr_assert_eq(pipe(ends), 0);
		name = g_strdup_printf("/proc/self/fd/%d", ends[0]);
		cr_assert_eq(write(ends[1], packed->data, lens[i]), (ssize_t)lens[i]);
		source = source_open(name, &config, NULL);
		cr_assert_eq(source != NULL, i > 0);
		while (source != NULL && source_next(source, &packet, NULL) == SOURCE_PACKET)
			continue;
		source_free(source);
		close(ends[0]);
		close(ends[1]);
	}
	g_byte_array_unref(made.bytes);
}

/* Given up in the middle: the thread that unpacks ends, too. */
Test(compressed, given_up)
{
	struct made made = many_packets(20000);
	g_autoptr(GByteArray) packed = compress(made.bytes, ARCHIVE_FILTER_GZIP);
	struct source *source = opened_as(packed->data, packed->len);

	check_packet(source, INT64_C(1700000000) * NS_PER_S, 200, 1514, DLT_EN10MB, 1);
	source_free(source);
	g_byte_array_unref(made.bytes);
}

Test(compressed, row_34_what_is_not_read)
{
	static const struct {
		const char *bytes;
		guint len;
	} files[] = {
		{ "\x1f\x8b", 2 },
		{ "\x1f\x8b\x08\0\0\0\0\0\0\3rubbish", 17 },
		{ "\x28\xb5\x2f\xfd rubbish", 12 },
	};
	struct made text = made_new(false);
	g_autoptr(GByteArray) packed = NULL;
	g_autoptr(GError) error = NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autoptr(GError) broken = NULL;

		cr_assert(g_file_set_contents(path, files[i].bytes, files[i].len, NULL));
		cr_assert_null(source_open(path, NULL, &broken));
		cr_assert(g_str_has_prefix(broken->message, path), "%s", broken->message);
	}
	g_byte_array_append(text.bytes, (const uint8_t *)"no capture at all", 17);
	packed = compress(text.bytes, ARCHIVE_FILTER_XZ);
	cr_assert(g_file_set_contents(path, (const char *)packed->data, packed->len, NULL));
	cr_assert_null(source_open(path, NULL, &error));
	cr_assert_not_null(strstr(error->message, "a text file"), "%s", error->message);
	g_byte_array_unref(text.bytes);
}
