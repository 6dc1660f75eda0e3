/* Saved packets: the names of the files, and what is in them. */
#include <criterion/criterion.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <pcap/dlt.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/errors.h"
#include "capture/save.h"
#include "capture/source.h"

enum { BEGIN_S = 1700000000, PACKET_BYTES = 984, SNAPLEN = 1024 };

static char *folder;

static void
make_folder(void)
{
	g_setenv("TZ", "UTC0", TRUE);
	tzset();
	folder = g_dir_make_tmp("nfscorr-save-XXXXXX", NULL);
	cr_assert_not_null(folder);
}

static int
by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in the folder, in order, with a blank between them. */
static char *
names(void)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	g_autoptr(GPtrArray) all = g_ptr_array_new();
	const char *name;

	while ((name = g_dir_read_name(dir)) != NULL)
		g_ptr_array_add(all, (char *)name);
	g_ptr_array_sort(all, by_name);
	g_ptr_array_add(all, NULL);
	return g_strjoinv(" ", (char **)all->pdata);
}

static void
remove_folder(void)
{
	g_autofree char *all = names();
	g_auto(GStrv) each = g_strsplit(all, " ", -1);

	for (unsigned i = 0; each[i] != NULL; i++) {
		g_autofree char *path = g_build_filename(folder, each[i], NULL);

		g_remove(path);
	}
	g_rmdir(folder);
	g_free(folder);
}

TestSuite(save, .init = make_folder, .fini = remove_folder);

/* ---- names, as tcpdump 4.99 makes them ---- */

static void
check_name(struct save_config config, uint64_t number, const char *expected)
{
	g_autofree char *name = save_name(&config, number, BEGIN_S);

	cr_assert_str_eq(name, expected);
}

Test(save, name_without_rotation_is_the_path)
{
	check_name((struct save_config){ .path = "a%H" }, 0, "a%H");
}

Test(save, name_by_size_has_a_number_from_the_second_file_on)
{
	check_name((struct save_config){ .path = "a.pcap", .file_bytes = 1 }, 0, "a.pcap");
	check_name((struct save_config){ .path = "a.pcap", .file_bytes = 1 }, 1, "a.pcap1");
	check_name((struct save_config){ .path = "a.pcap", .file_bytes = 1 }, 12, "a.pcap12");
}

Test(save, name_in_a_ring_has_as_many_digits_as_the_last)
{
	check_name((struct save_config){ .path = "a", .file_bytes = 1, .files = 10 }, 0, "a0");
	check_name((struct save_config){ .path = "a", .file_bytes = 1, .files = 11 }, 0, "a00");
	check_name((struct save_config){ .path = "a", .file_bytes = 1, .files = 101 }, 7, "a007");
	check_name((struct save_config){ .path = "a", .file_bytes = 1, .files = 1 }, 0, "a");
}

/* 1700000000 is 2023-11-14 22:13:20 UTC. */
Test(save, name_by_time_is_formatted)
{
	check_name((struct save_config){ .path = "a-%Y%m%d%H%M%S", .seconds = 5 }, 0, "a-20231114221320");
	check_name((struct save_config){ .path = "a-%H", .seconds = 5, .files = 3 }, 0, "a-22");
	check_name((struct save_config){ .path = "a-%H.", .seconds = 5, .file_bytes = 1 }, 2, "a-22.2");
	check_name((struct save_config){ .path = "a-%H.", .seconds = 5, .file_bytes = 1, .files = 20 }, 2, "a-22.02");
}

/* ---- files ---- */

static struct save *
begin(struct save_config config, const char *name)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);
	GError *error = NULL;
	struct save *save;

	config.path = path;
	config.link_type = DLT_EN10MB;
	config.snaplen = SNAPLEN;
	config.begin_ns = (int64_t)BEGIN_S * NS_PER_S;
	save = save_new(&config, NULL, NULL, &error);
	cr_assert_not_null(save, "%s", error != NULL ? error->message : "");
	return save;
}

/* A packet takes 1000 bytes of a file; its content tells its number. */
static bool
put(struct save *save, unsigned number, int64_t after_ns, GError **error)
{
	uint8_t bytes[PACKET_BYTES];
	struct packet packet = { .ts_ns = (int64_t)BEGIN_S * NS_PER_S + after_ns, .cap_len = PACKET_BYTES,
		.wire_len = 9000, .link_type = DLT_EN10MB, .frame = number, .data = bytes };

	memset(bytes, (int)number, sizeof bytes);
	return save_packet(save, &packet, error);
}

static void
put_many(struct save *save, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		cr_assert(put(save, i, i * NS_PER_MS, NULL));
}

static uint32_t
snaplen_of(const char *name)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);
	struct source *source = source_open(path, NULL, NULL);
	uint32_t snaplen = source_facts(source)->snaplen;

	source_free(source);
	return snaplen;
}

/* Holds that many packets, numbered from first. */
static void
check_file(const char *name, unsigned first, unsigned count)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);
	struct source *source = source_open(path, NULL, NULL);
	struct packet packet;
	GError *error = NULL;
	unsigned seen = 0;

	cr_assert_not_null(source, "%s", name);
	cr_assert(source_facts(source)->nanoseconds);
	cr_assert_eq(source_facts(source)->link_type, DLT_EN10MB);
	cr_assert_eq(source_facts(source)->snaplen, SNAPLEN);
	while (source_next(source, &packet, &error) == SOURCE_PACKET) {
		cr_assert_eq(packet.data[0], (uint8_t)(first + seen), "%s: packet %u", name, seen);
		cr_assert_eq(packet.wire_len, 9000);
		cr_assert_eq(packet.cap_len, PACKET_BYTES);
		seen++;
	}
	cr_assert_null(error);
	cr_assert_eq(seen, count, "%s has %u packets, and not %u", name, seen, count);
	source_free(source);
}

Test(save, keeps_stamps_to_the_nanosecond)
{
	struct save *save = begin((struct save_config){ 0 }, "a");
	g_autofree char *path = g_build_filename(folder, "a", NULL);
	struct source *source;
	struct packet packet;

	cr_assert(put(save, 1, 123456789, NULL));
	save_free(save);
	source = source_open(path, NULL, NULL);
	cr_assert_eq(source_next(source, &packet, NULL), SOURCE_PACKET);
	cr_assert_eq(packet.ts_ns, (int64_t)BEGIN_S * NS_PER_S + 123456789);
	source_free(source);
}

Test(save, can_be_read_while_it_grows)
{
	struct save *save = begin((struct save_config){ 0 }, "a");

	put_many(save, 3);
	cr_assert(save_flush(save, NULL));
	check_file("a", 0, 3);
	save_free(save);
}

Test(save, is_written_once_a_second_without_being_asked)
{
	struct save *save = begin((struct save_config){ 0 }, "a");

	cr_assert(put(save, 0, 0, NULL));
	cr_assert(put(save, 1, NS_PER_S, NULL));
	check_file("a", 0, 2);
	save_free(save);
}

Test(save, a_snap_length_that_was_raised_is_in_the_header)
{
	struct save *save = begin((struct save_config){ .file_bytes = 1500, .snaplen_most = 65535 }, "a");

	put_many(save, 1);
	save_set_snaplen(save, 2048);
	cr_assert(save_flush(save, NULL));
	cr_assert_eq(snaplen_of("a"), SNAPLEN);
	put_many(save, 2);
	cr_assert_eq(snaplen_of("a"), 2048);
	save_free(save);
	cr_assert_eq(snaplen_of("a1"), 2048);
}

static int
open_pipe(void *context, uint64_t number, int64_t seconds)
{
	(void)number;
	(void)seconds;
	return *(int *)context;
}

/* Nothing can be changed in a pipe: its header, of which the 17th byte begins the snap length, says the most. */
Test(save, a_pipe_says_what_the_snap_length_may_become)
{
	struct save_config config = { .path = "pipe", .link_type = DLT_EN10MB, .snaplen = SNAPLEN,
		.snaplen_most = 65535 };
	int ends[2];
	uint32_t words[6];
	struct save *save;

	cr_assert_eq(pipe(ends), 0);
	save = save_new(&config, open_pipe, &ends[1], NULL);
	cr_assert_eq(read(ends[0], words, sizeof words), (ssize_t)sizeof words);
	cr_assert_eq(words[4], 65535);
	save_free(save);
	close(ends[0]);
}

/* 24 bytes of header and 10 packets are more than 10000, 24 and 9 are not: tcpdump looks before it writes. */
Test(save, follows_by_size)
{
	struct save *save = begin((struct save_config){ .file_bytes = 10000 }, "a");
	g_autofree char *all = NULL;

	put_many(save, 25);
	cr_assert_eq(save_packets(save), 25);
	save_free(save);
	all = names();
	cr_assert_str_eq(all, "a a1 a2");
	check_file("a", 0, 10);
	check_file("a1", 10, 10);
	check_file("a2", 20, 5);
}

Test(save, ring_by_size_begins_again)
{
	struct save *save = begin((struct save_config){ .file_bytes = 10000, .files = 2 }, "a");
	g_autofree char *all = NULL;

	put_many(save, 25);
	save_free(save);
	all = names();
	cr_assert_str_eq(all, "a0 a1");
	check_file("a0", 20, 5);
	check_file("a1", 10, 10);
}

Test(save, follows_by_time_from_the_packet_that_shows_it)
{
	struct save *save = begin((struct save_config){ .seconds = 10 }, "a%S");
	g_autofree char *all = NULL;

	cr_assert(put(save, 0, 9 * (int64_t)NS_PER_S, NULL));
	cr_assert(put(save, 1, 13 * (int64_t)NS_PER_S, NULL));
	cr_assert(put(save, 2, 22 * (int64_t)NS_PER_S, NULL));
	cr_assert(put(save, 3, 23 * (int64_t)NS_PER_S, NULL));
	save_free(save);
	all = names();
	cr_assert_str_eq(all, "a20 a33 a43");
	check_file("a20", 0, 1);
	check_file("a33", 1, 2);
	check_file("a43", 3, 1);
}

Test(save, ends_after_so_many_files_by_time)
{
	struct save *save = begin((struct save_config){ .seconds = 1, .files = 2 }, "a%S");
	g_autofree char *all = NULL;

	for (unsigned i = 0; i < 5; i++) {
		cr_assert_eq(save_is_over(save), i > 2);
		cr_assert(put(save, i, i * (int64_t)NS_PER_S, NULL));
	}
	cr_assert_eq(save_packets(save), 2);
	save_free(save);
	all = names();
	cr_assert_str_eq(all, "a20 a21");
}

Test(save, numbers_begin_again_when_the_time_changes)
{
	struct save *save = begin((struct save_config){ .file_bytes = 1500, .seconds = 1 }, "a%S.");
	g_autofree char *all = NULL;

	for (unsigned i = 0; i < 8; i++)
		cr_assert(put(save, i, i * (int64_t)(NS_PER_S / 4), NULL));
	save_free(save);
	all = names();
	cr_assert_str_eq(all, "a20. a20.1 a21. a21.1");
	check_file("a20.1", 2, 2);
	check_file("a21.", 4, 2);
}

/* A limit of the process stands for a disk that is full: no write goes beyond it. */
Test(save, full_disk_is_told_once_and_leaves_whole_packets)
{
	struct save *save = begin((struct save_config){ 0 }, "a");
	struct rlimit limit = { .rlim_cur = 2500, .rlim_max = 2500 };
	GError *error = NULL;

	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	put_many(save, 4);
	cr_assert_not(save_flush(save, &error));
	cr_assert_not_null(strstr(error->message, "cannot write "));
	cr_assert_not_null(strstr(error->message, "File too large"));
	g_clear_error(&error);
	cr_assert(save_is_over(save));
	cr_assert(put(save, 4, 0, NULL));
	cr_assert(save_flush(save, NULL));
	save_free(save);
	check_file("a", 0, 2);
}

Test(save, no_such_folder)
{
	struct save_config config = { .path = "/nonexistent/a", .link_type = DLT_EN10MB, .snaplen = SNAPLEN };
	GError *error = NULL;

	cr_assert_null(save_new(&config, NULL, NULL, &error));
	cr_assert_str_eq(error->message, "cannot write /nonexistent/a: No such file or directory");
	g_clear_error(&error);
}
