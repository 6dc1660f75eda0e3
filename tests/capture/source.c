/* Capture files of every magic, and what is wrong with those that are not read. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <pcap/dlt.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/errors.h"
#include "capture/build.h"
#include "capture/source.h"

static char *folder;

static void
make_folder(void)
{
	folder = g_dir_make_tmp("nfscorr-source-XXXXXX", NULL);
	cr_assert_not_null(folder);
}

static void
remove_folder(void)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(dir)) != NULL) {
		g_autofree char *path = g_build_filename(folder, name, NULL);

		g_remove(path);
	}
	g_rmdir(folder);
	g_free(folder);
}

TestSuite(source, .init = make_folder, .fini = remove_folder);

static char *
path_of(const char *name)
{
	return g_build_filename(folder, name, NULL);
}

static char *
write_file(const char *name, const void *bytes, size_t len)
{
	char *path = path_of(name);

	cr_assert(g_file_set_contents(path, bytes, (gssize)len, NULL));
	return path;
}

/* ---- files ---- */

struct kind {
	const char *what;
	uint32_t magic;
	bool swapped;		/* big-endian */
	bool nanoseconds;
	bool modified;		/* 8 bytes more in each packet's header */
	unsigned minor;		/* version 2.minor */
};

enum { MODIFIED_INTERFACE = 6 };

static const struct kind kinds[] = {
	{ "microseconds", 0xa1b2c3d4, false, false, false, 4 },
	{ "microseconds, big-endian", 0xa1b2c3d4, true, false, false, 4 },
	{ "nanoseconds", 0xa1b23c4d, false, true, false, 4 },
	{ "nanoseconds, big-endian", 0xa1b23c4d, true, true, false, 4 },
	{ "modified", 0xa1b2cd34, false, false, true, 4 },
	{ "modified, big-endian", 0xa1b2cd34, true, false, true, 4 },
	{ "version 2.1, big-endian", 0xa1b2c3d4, true, false, false, 1 },
};

static const struct kind *const plain = &kinds[0];

static void
file_u32(GByteArray *file, const struct kind *kind, uint32_t value)
{
	value = kind->swapped ? GUINT32_TO_BE(value) : GUINT32_TO_LE(value);
	g_byte_array_append(file, (const uint8_t *)&value, sizeof(value));
}

static GByteArray *
file_start(const struct kind *kind, uint32_t link_type)
{
	GByteArray *file = g_byte_array_new();

	file_u32(file, kind, kind->magic);
	file_u32(file, kind, kind->swapped ? 2 << 16 | kind->minor : kind->minor << 16 | 2);
	file_u32(file, kind, 0);
	file_u32(file, kind, 0);
	file_u32(file, kind, 2000);
	file_u32(file, kind, link_type);
	return file;
}

static void
file_packet(GByteArray *file, const struct kind *kind, uint32_t seconds, uint32_t fraction,
    uint32_t cap_len, uint32_t wire_len)
{
	static const uint8_t zeros[2000];
	bool exchanged = kind->minor < 3;	/* the lengths, before version 2.3 */

	file_u32(file, kind, seconds);
	file_u32(file, kind, fraction);
	file_u32(file, kind, exchanged ? wire_len : cap_len);
	file_u32(file, kind, exchanged ? cap_len : wire_len);
	if (kind->modified) {
		file_u32(file, kind, MODIFIED_INTERFACE);
		file_u32(file, kind, 0);
	}
	g_byte_array_append(file, zeros, cap_len);
}

static char *
file_write(const char *name, GByteArray *file)
{
	char *path = write_file(name, file->data, file->len);

	g_byte_array_unref(file);
	return path;
}

static GByteArray *
three_packets(const struct kind *kind)
{
	GByteArray *file = file_start(kind, DLT_EN10MB);

	file_packet(file, kind, 1700000000, 123456, 60, 60);
	file_packet(file, kind, 1700000001, 999999, 96, 1514);
	file_packet(file, kind, 4000000000, 0, 0, 65536);
	return file;
}

static struct source *
opened(const char *path, const struct filter *filter)
{
	g_autoptr(GError) error = NULL;
	struct source_config config = { .filter = filter };
	struct source *source = source_open(path, &config, &error);

	cr_assert_not_null(source, "%s", error != NULL ? error->message : "");
	return source;
}

static void
check_packet(struct source *source, int64_t ts_ns, uint32_t cap_len, uint32_t wire_len,
    uint64_t frame)
{
	g_autoptr(GError) error = NULL;
	struct packet packet;

	cr_assert_eq(source_next(source, &packet, &error), SOURCE_PACKET, "%s",
	    error != NULL ? error->message : "");
	cr_assert_eq(packet.ts_ns, ts_ns);
	cr_assert_eq(packet.cap_len, cap_len);
	cr_assert_eq(packet.wire_len, wire_len);
	cr_assert_eq(packet.frame, frame);
	cr_assert_eq(packet.link_type, source_facts(source)->link_type);
}

static void
check_end(struct source *source)
{
	g_autoptr(GError) error = NULL;
	struct packet packet;

	cr_assert_eq(source_next(source, &packet, &error), SOURCE_END);
	cr_assert_null(error);
}

static void
check_three_packets(struct source *source, const struct kind *kind)
{
	int64_t unit_ns = kind->nanoseconds ? 1 : NS_PER_US;

	check_packet(source, INT64_C(1700000000) * NS_PER_S + 123456 * unit_ns, 60, 60, 1);
	check_packet(source, INT64_C(1700000001) * NS_PER_S + 999999 * unit_ns, 96, 1514, 2);
	check_packet(source, INT64_C(4000000000) * NS_PER_S, 0, 65536, 3);	/* after 2038 */
}

/* ---- what is read ---- */

Test(source, row_16_every_magic)
{
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
		g_autofree char *path = file_write("a.pcap", three_packets(&kinds[i]));
		struct source *source = opened(path, NULL);
		const struct source_facts *facts = source_facts(source);

		cr_assert_str_eq(facts->name, path, "%s", kinds[i].what);
		cr_assert_str_eq(facts->format, "pcap");
		cr_assert_eq(facts->link_type, DLT_EN10MB);
		/* libpcap allows for a link header there that the patch did not count. */
		cr_assert_eq(facts->snaplen, kinds[i].modified ? 2014 : 2000);
		cr_assert_eq(facts->nanoseconds, kinds[i].nanoseconds);
		cr_assert_eq(facts->dropped_by_kernel, -1);
		check_three_packets(source, &kinds[i]);
		check_end(source);
		source_free(source);
	}
}

/* The modified format has one in each packet's header. */
Test(source, row_22_interfaces)
{
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
		g_autofree char *path = file_write("a.pcap", three_packets(&kinds[i]));
		struct source *source = opened(path, NULL);
		struct packet packet;

		cr_assert_eq(source_next(source, &packet, NULL), SOURCE_PACKET);
		cr_assert_eq(packet.interface, kinds[i].modified ? MODIFIED_INTERFACE + 1 : 0, "%s", kinds[i].what);
		source_free(source);
	}
}

Test(source, no_packets_are_no_error)
{
	g_autofree char *path = file_write("a.pcap", file_start(plain, DLT_EN10MB));
	struct source *source = opened(path, NULL);

	check_end(source);
	check_end(source);
	source_free(source);
}

Test(source, link_types_are_libpcaps)
{
	/* In a file raw IP has another number than in memory. */
	static const struct { uint32_t in_file; int in_memory; } types[] = {
		{ 1, DLT_EN10MB }, { 101, DLT_RAW }, { 113, DLT_LINUX_SLL }, { 276, DLT_LINUX_SLL2 },
		{ 228, DLT_IPV4 }, { 229, DLT_IPV6 }, { 0, DLT_NULL }, { 108, DLT_LOOP },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
		g_autofree char *path = file_write("a.pcap", file_start(plain, types[i].in_file));
		struct source *source = opened(path, NULL);

		cr_assert_eq(source_facts(source)->link_type, types[i].in_memory);
		source_free(source);
	}
}

Test(source, a_wire_length_below_the_captured_one_is_raised)
{
	GByteArray *file = file_start(plain, DLT_EN10MB);
	g_autofree char *path = NULL;
	struct source *source;

	file_packet(file, plain, 1, 0, 100, 60);
	path = file_write("a.pcap", file);
	source = opened(path, NULL);
	check_packet(source, NS_PER_S, 100, 100, 1);
	source_free(source);
}

Test(source, fractions_beyond_a_second_are_bounded)
{
	GByteArray *file = file_start(plain, DLT_EN10MB);
	g_autofree char *path = NULL;
	struct source *source;

	file_packet(file, plain, 7, 0x7fffffff, 60, 60);
	file_packet(file, plain, 0xffffffff, 0xffffffff, 60, 60);
	path = file_write("a.pcap", file);
	source = opened(path, NULL);
	check_packet(source, INT64_C(7) * NS_PER_S + NS_PER_S - 1, 60, 60, 1);
	check_packet(source, INT64_C(0xffffffff) * NS_PER_S, 60, 60, 2);
	source_free(source);
}

Test(source, position_and_size)
{
	GByteArray *file = three_packets(plain);
	uint64_t len = file->len;
	g_autofree char *path = file_write("a.pcap", file);
	struct source *source = opened(path, NULL);

	cr_assert_eq(source_facts(source)->bytes, len);
	cr_assert(source_can_rewind(source));
	check_three_packets(source, plain);
	check_end(source);
	cr_assert_eq(source_position(source), len);
	source_free(source);
}

/* ---- how long packets stay ---- */

enum { LENT = 4000, LENT_BYTES = 2000 };

struct lent {
	struct packet packet[LENT];
	uint64_t count;
	bool gone[LENT];
};

static void
note_gone(void *context, const uint8_t *from, const uint8_t *to)
{
	struct lent *lent = context;

	for (uint64_t i = 0; i < lent->count; i++) {
		const struct packet *packet = &lent->packet[i];

		/* what was overwritten may lie there again */
		if (packet->data < to && packet->data + packet->cap_len > from)
			lent->gone[i] = true;
	}
}

/* The bytes of a packet say which it is: as long as they are not gone they do. */
static void
check_lent(const struct lent *lent, uint64_t least)
{
	uint64_t here = 0;

	for (uint64_t i = 0; i < lent->count; i++) {
		const uint8_t *data = lent->packet[i].data;

		if (lent->gone[i])
			continue;
		here++;
		for (uint32_t at = 0; at < LENT_BYTES; at += 100)
			cr_assert_eq(data[at] << 8 | data[at + 1], i, "packet %u of %u", (unsigned)i, (unsigned)lent->count);
	}
	cr_assert_geq(here, MIN(least, lent->count));
}

/* Many times what any buffer holds. */
static char *
write_many(void)
{
	static uint8_t data[LENT_BYTES];
	GByteArray *file = file_start(plain, DLT_EN10MB);

	for (unsigned i = 0; i < LENT; i++) {
		for (uint32_t at = 0; at < LENT_BYTES; at += 100) {
			data[at] = (uint8_t)(i >> 8);
			data[at + 1] = (uint8_t)i;
		}
		for (unsigned word = 0; word < 4; word++)
			file_u32(file, plain, word < 2 ? i : LENT_BYTES);
		g_byte_array_append(file, data, LENT_BYTES);
	}
	return file_write("a.pcap", file);
}

/* Not one byte changes before it is said to be gone. */
Test(source, packets_stay_until_they_are_gone)
{
	static struct lent lent;
	g_autofree char *path = write_many();
	struct source *source = opened(path, NULL);

	source_on_gone(source, note_gone, &lent);
	for (unsigned i = 0; i < LENT; i++) {
		cr_assert_eq(source_next(source, &lent.packet[i], NULL), SOURCE_PACKET);
		lent.count++;
		if (i % 64 == 0)
			check_lent(&lent, 64);
	}
	check_lent(&lent, 64);
	source_free(source);
	for (unsigned i = 0; i < LENT; i++)
		cr_assert(lent.gone[i]);
}

/* Those that were read already come at once, as they come one by one; nothing goes until then. */
Test(source, many_at_once)
{
	enum { MANY = 20 };
	static struct lent lent;
	GByteArray *file = file_start(plain, DLT_EN10MB);
	g_autofree char *path = NULL;
	struct source *source, *other;
	struct packet packet;
	unsigned at_once = 0;

	for (unsigned i = 0; i < LENT; i++)
		file_packet(file, plain, i, 0, i % 3 * 1000, LENT_BYTES);
	path = file_write("a.pcap", file);
	source = opened(path, NULL);
	other = opened(path, NULL);
	source_on_gone(source, note_gone, &lent);
	while (source_next(source, &lent.packet[0], NULL) == SOURCE_PACKET) {
		unsigned count = 1 + source_more(source, lent.packet + 1, MANY - 1);

		lent.count = count;
		memset(lent.gone, 0, sizeof lent.gone);
		at_once += count == MANY;
		for (unsigned i = 0; i < count; i++) {
			cr_assert_eq(source_next(other, &packet, NULL), SOURCE_PACKET);
			cr_assert_eq(packet.frame, lent.packet[i].frame);
			cr_assert_eq(packet.ts_ns, lent.packet[i].ts_ns);
			cr_assert_eq(packet.cap_len, lent.packet[i].cap_len);
			cr_assert_not(lent.gone[i]);
		}
	}
	cr_assert_eq(source_next(other, &packet, NULL), SOURCE_END);
	cr_assert_geq(at_once, LENT / MANY / 2);
	source_free(source);
	source_free(other);
}

Test(source, a_file_that_becomes_shorter)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *path = write_many();
	struct source *source = opened(path, NULL);
	struct packet packet;
	enum source_result result = SOURCE_PACKET;

	for (unsigned i = 0; i < LENT / 2; i++)
		cr_assert_eq(source_next(source, &packet, NULL), SOURCE_PACKET);
	cr_assert_eq(truncate(path, 1000), 0);
	for (unsigned i = LENT / 2; i < LENT && result == SOURCE_PACKET; i++)
		result = source_next(source, &packet, &error);
	cr_assert_eq(result, SOURCE_BROKEN);
	cr_assert(g_error_matches(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED));
	cr_assert_not_null(strstr(error->message, ": it became shorter while it was read"), "%s", error->message);
	source_free(source);
}

/* ---- filters ---- */

Test(source, a_filter_keeps_the_frame_numbers)
{
	GByteArray *file = file_start(plain, DLT_EN10MB);
	g_autofree char *path = NULL;
	struct filter *filter = filter_new("len = 62", NULL);
	struct packet packets[4];
	struct source *source;

	for (uint32_t i = 1; i <= 10; i++)
		file_packet(file, plain, i, 0, 60 + i % 3, 60 + i % 3);
	path = file_write("a.pcap", file);
	source = opened(path, filter);
	check_packet(source, INT64_C(2) * NS_PER_S, 62, 62, 2);
	check_packet(source, INT64_C(5) * NS_PER_S, 62, 62, 5);
	check_packet(source, INT64_C(8) * NS_PER_S, 62, 62, 8);
	check_end(source);
	source_free(source);
	source = opened(path, filter);
	check_packet(source, INT64_C(2) * NS_PER_S, 62, 62, 2);
	cr_assert_eq(source_more(source, packets, G_N_ELEMENTS(packets)), 2);
	cr_assert_eq(packets[0].frame, 5);
	cr_assert_eq(packets[1].frame, 8);
	check_end(source);
	source_free(source);
	filter_free(filter);
}

Test(source, a_wrong_filter_is_wrong_usage)
{
	g_autoptr(GError) error = NULL;

	cr_assert_null(filter_new("port port", &error));
	cr_assert(g_error_matches(error, NFSCORR_ERROR, NFSCORR_ERROR_USAGE));
	cr_assert_not_null(strstr(error->message, "'port port'"));
}

/* ---- streams ---- */

/* Feeds the bytes into a pipe in small pieces. */
struct feed {
	const char *fifo;	/* opened by the thread, which waits for a reader; NULL: fd is open */
	int fd;
	GByteArray *file;
};

static gpointer
feed_pipe(gpointer context)
{
	struct feed *feed = context;

	if (feed->fifo != NULL)
		feed->fd = open(feed->fifo, O_WRONLY);
	cr_assert_geq(feed->fd, 0);
	for (guint at = 0; at < feed->file->len; at += 5) {
		size_t len = MIN(5, feed->file->len - at);

		cr_assert_eq(write(feed->fd, feed->file->data + at, len), (ssize_t)len);
	}
	close(feed->fd);
	return NULL;
}

Test(source, standard_input_may_be_a_pipe)
{
	struct feed feed = { .file = three_packets(&kinds[3]) };
	struct source *source;
	GThread *thread;
	int ends[2];

	cr_assert_eq(pipe(ends), 0);
	feed.fd = ends[1];
	cr_assert_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	close(ends[0]);
	thread = g_thread_new("feed", feed_pipe, &feed);
	source = opened("-", NULL);
	cr_assert_str_eq(source_facts(source)->name, "-");
	cr_assert_eq(source_facts(source)->bytes, 0);
	cr_assert_not(source_can_rewind(source));
	check_three_packets(source, &kinds[3]);
	check_end(source);
	cr_assert_eq(source_position(source), 0);
	g_thread_join(thread);
	source_free(source);
	cr_assert_eq(fcntl(STDIN_FILENO, F_GETFD), 0);	/* still open */
	g_byte_array_unref(feed.file);
}

Test(source, row_34_a_fifo)
{
	g_autofree char *path = path_of("fifo");
	struct feed feed = { .fifo = path, .file = three_packets(plain) };
	struct source *source;
	GThread *thread;

	cr_assert_eq(mkfifo(path, 0600), 0);
	thread = g_thread_new("feed", feed_pipe, &feed);
	source = opened(path, NULL);
	cr_assert_not(source_can_rewind(source));
	check_three_packets(source, plain);
	g_thread_join(thread);
	check_end(source);
	source_free(source);
	g_byte_array_unref(feed.file);
}

/* Of a pipe what came already is taken, and nothing is waited for before it was. */
Test(source, a_pipe_is_not_waited_for_in_between)
{
	enum { HALF = 24 + 16 + 60 + 16 + 96 + 7 };	/* two packets and a part of the third's head */
	GByteArray *file = three_packets(plain);
	struct packet packets[4];
	struct source *source;
	int pipes[2];

	cr_assert_eq(pipe(pipes), 0);
	cr_assert_eq(dup2(pipes[0], STDIN_FILENO), STDIN_FILENO);
	cr_assert_eq(write(pipes[1], file->data, HALF), HALF);
	source = opened("-", NULL);
	cr_assert_eq(source_next(source, packets, NULL), SOURCE_PACKET);
	cr_assert_eq(source_more(source, packets + 1, 3), 1);
	cr_assert_eq(packets[1].frame, 2);
	cr_assert_eq(source_more(source, packets + 1, 3), 0);
	cr_assert_eq(write(pipes[1], file->data + HALF, file->len - HALF), (ssize_t)(file->len - HALF));
	close(pipes[1]);
	check_packet(source, INT64_C(4000000000) * NS_PER_S, 0, 65536, 3);
	cr_assert_eq(source_more(source, packets, 4), 0);
	check_end(source);
	source_free(source);
	close(pipes[0]);
	g_byte_array_unref(file);
}

/* ---- what is not read ---- */

static void
check_refused(const char *path, const char *named, const char *why)
{
	g_autoptr(GError) error = NULL;

	cr_assert_null(source_open(path, NULL, &error), "%s", why);
	cr_assert(g_error_matches(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED), "%s", why);
	cr_assert(g_str_has_prefix(error->message, named), "%s", error->message);
	cr_assert_not_null(strstr(error->message, why), "%s, not %s", error->message, why);
	cr_assert_null(strchr(error->message, '\n'));
}

static void
check_content_refused(const void *bytes, size_t len, const char *why)
{
	g_autofree char *path = write_file("input", bytes, len);

	check_refused(path, path, why);
}

Test(source, row_34_missing_file_and_directory)
{
	g_autofree char *missing = path_of("missing");

	check_refused(missing, missing, "No such file");
	check_refused(folder, folder, "directory");
}

Test(source, row_34_other_contents)
{
	GByteArray *file = file_start(plain, DLT_IEEE802_11);

	check_content_refused("", 0, "empty (0 bytes)");
	check_content_refused("x", 1, "a text file");
	check_content_refused("tcpdump: listening on eth0\n", 27, "a text file");
	check_content_refused("\x7f" "ELF\2\1\1\0\0\0\0", 11, "not a pcap, pcapng or snoop capture");
	check_content_refused("\0\0\0\0\0\0\0\0\0\0\0\0", 12, "not a pcap, pcapng or snoop capture");
	check_content_refused("\xd4\xc3", 2, "not a pcap, pcapng or snoop capture");
	check_content_refused("BZh91AY&SY", 10, "bzip2 -d");
	check_content_refused(file->data, file->len, "IEEE802_11");
	g_byte_array_unref(file);
}

Test(source, row_34_a_cut_file_header)
{
	GByteArray *file = file_start(plain, DLT_EN10MB);

	for (guint len = 4; len < file->len; len++)
		check_content_refused(file->data, len, "ends inside its file header");
	g_byte_array_unref(file);
}

Test(source, standard_input_is_named)
{
	cr_assert_not_null(freopen("/dev/null", "r", stdin));
	check_refused("-", "standard input: ", "empty (0 bytes)");
}

/* Reads all; returns the packets that were delivered. */
static uint64_t
read_all(const char *path, GError **error)
{
	struct source *source = opened(path, NULL);
	struct packet packet;
	enum source_result result;
	uint64_t packets = 0;

	while ((result = source_next(source, &packet, error)) == SOURCE_PACKET)
		packets++;
	cr_assert_eq(result == SOURCE_BROKEN, *error != NULL);
	source_free(source);
	return packets;
}

/* Where each packet of three_packets ends. */
static bool
is_whole(const struct kind *kind, guint len, uint64_t *packets)
{
	guint header_len = kind->modified ? 24 : 16;
	guint ends[] = { 24, 24 + header_len + 60, 24 + 2 * header_len + 156,
		24 + 3 * header_len + 156 };

	*packets = 0;
	for (size_t i = 1; i < G_N_ELEMENTS(ends); i++)
		if (len >= ends[i])
			*packets = i;
	return len == ends[*packets];
}

Test(source, row_34_cut_at_every_byte)
{
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
		g_autoptr(GByteArray) file = three_packets(&kinds[i]);

		for (guint len = 24; len <= file->len; len++) {
			g_autofree char *path = write_file("cut.pcap", file->data, len);
			g_autoptr(GError) error = NULL;
			uint64_t expected;
			bool whole = is_whole(&kinds[i], len, &expected);
			g_autofree char *after = g_strdup_printf("after packet %" G_GUINT64_FORMAT,
			    expected);

			cr_assert_eq(read_all(path, &error), expected, "%s, %u", kinds[i].what, len);
			if (whole) {
				cr_assert_null(error);
				continue;
			}
			cr_assert(g_error_matches(error, NFSCORR_ERROR, NFSCORR_ERROR_CUT), "%s, %u",
			    kinds[i].what, len);
			cr_assert(g_str_has_prefix(error->message, path));
			cr_assert(g_str_has_suffix(error->message, after), "%s", error->message);
		}
	}
}

/* A length that no capture has; what came before is delivered. */
Test(source, row_34_a_packet_length_that_lies)
{
	static const uint32_t lengths[] = { 0xffffffff, 0x80000000, 0x00100000 };

	for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
		GByteArray *file = three_packets(plain);
		g_autofree char *path = NULL;
		g_autoptr(GError) error = NULL;

		for (int word = 0; word < 4; word++)
			file_u32(file, plain, lengths[i]);
		for (int more = 0; more < 1000; more++)
			file_u32(file, plain, 0);
		path = file_write("lies.pcap", file);
		cr_assert_eq(read_all(path, &error), 3);
		cr_assert(g_error_matches(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED), "%s",
		    error->message);
		cr_assert_not_null(strstr(error->message, "after packet 3: "));
	}
}

/* A file that was laid out in advance and never written to its end. */
Test(source, row_34_a_tail_of_zeros)
{
	GByteArray *file = three_packets(plain);
	g_autofree char *path = NULL;
	g_autoptr(GError) error = NULL;

	for (int i = 0; i < 1000; i++)
		file_u32(file, plain, 0);
	path = file_write("zeros.pcap", file);
	cr_assert_eq(read_all(path, &error), 3);
	cr_assert(g_error_matches(error, NFSCORR_ERROR, NFSCORR_ERROR_CUT));
	cr_assert(g_str_has_suffix(error->message, "zeros after packet 3"));
}

/* ---- paths ---- */

Test(source, the_same_file_by_any_name)
{
	g_autofree char *path = file_write("a.pcap", three_packets(plain));
	g_autofree char *other = file_write("b.pcap", three_packets(plain));
	g_autofree char *linked = path_of("c.pcap");
	g_autofree char *roundabout = g_build_filename(folder, ".", "a.pcap", NULL);
	g_autofree char *missing = path_of("missing");

	cr_assert_eq(symlink(path, linked), 0);
	cr_assert(source_same_file(path, path));
	cr_assert(source_same_file(path, linked));
	cr_assert(source_same_file(roundabout, path));
	cr_assert_not(source_same_file(path, other));
	cr_assert_not(source_same_file(path, missing));
	cr_assert_not(source_same_file(missing, missing));
	cr_assert_not_null(freopen(path, "r", stdin));
	cr_assert(source_same_file("-", path));
	cr_assert_not(source_same_file("-", other));
}
