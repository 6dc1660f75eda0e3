/* A file's bytes: read, or mapped where there are many; and files that change meanwhile. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "capture/bytes.h"
#include "capture/mapping.h"

enum {
	FIRST = 8,		/* read before, as source.c does */
	PAGE = 1 << 16,		/* whole ones, whatever their size */
	WINDOW = 1 << 19,	/* as in bytes.c */
	STRETCH = 16 * WINDOW,	/* likewise */
	RING = 32 * WINDOW,	/* likewise */
	MANY = 100,		/* mappings, more than are watched */
	LENT = 64,
	PIECE = 40000,
};

/* No two places near each other are alike. */
static uint8_t
byte_at(uint64_t at)
{
	return (uint8_t)((at * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
}

static void
append(int fd, uint64_t from, uint64_t to)
{
	g_autofree uint8_t *all = g_malloc(to - from + 1);

	for (uint64_t at = from; at < to; at++)
		all[at - from] = byte_at(at);
	cr_assert_eq(pwrite(fd, all, to - from, (off_t)from), (ssize_t)(to - from));
}

static int
make_file(uint64_t size)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	append(fd, 0, size);
	return fd;
}

/* Starts in the file at `start`, as standard input may. */
static struct bytes *
open_at(int fd, off_t start)
{
	uint8_t first[FIRST];
	ssize_t len;
	struct bytes *bytes;

	cr_assert_eq(lseek(fd, start, SEEK_SET), start);
	len = read(fd, first, sizeof first);
	cr_assert_geq(len, 0);
	bytes = bytes_new(fd, first, (size_t)len);
	cr_assert_not_null(bytes);
	return bytes;
}

/* Goes on over len bytes, which are those of the file from `at` on. */
static void
take(struct bytes *bytes, uint64_t at, size_t len)
{
	cr_assert(bytes_look(bytes, len), "%zu bytes at %" G_GUINT64_FORMAT, len, at);
	for (size_t i = 0; i < len; i++)
		if (bytes->place[i] != byte_at(at + i))
			cr_assert_fail("at %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT, at + i, at);
	bytes_pass(bytes, len);
}

static void
check_end(struct bytes *bytes)
{
	cr_assert_not(bytes_look(bytes, bytes_left(bytes) + 1));
	cr_assert_eq(bytes_left(bytes), 0);
	cr_assert_eq(bytes->error, 0);
	cr_assert_null(bytes_lost(bytes));
}

/* From `at` to the size, in pieces. */
static void
take_rest(struct bytes *bytes, uint64_t at, uint64_t size, size_t piece)
{
	while (at < size) {
		size_t len = (size_t)MIN(piece, size - at);

		take(bytes, at, len);
		at += len;
	}
	check_end(bytes);
}

Test(bytes, every_size_is_read_to_its_end)
{
	static const uint64_t sizes[] = {
		0, 1, FIRST, 100, PAGE - 1, PAGE, PAGE + 1, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW - 1, 2 * WINDOW,
		2 * WINDOW + 1, 2 * WINDOW + PAGE, 13 * WINDOW, 13 * WINDOW + 4711,
		STRETCH + 1, STRETCH + WINDOW, RING, RING + 1, RING + 2 * WINDOW + 4711,
	};
	static const size_t pieces[] = { 1447, PAGE, 262144 + 16, BYTES_MOST };

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
		for (size_t k = 0; k < G_N_ELEMENTS(pieces); k++) {
			struct bytes *bytes = open_at(make_file(sizes[i]), 0);

			take_rest(bytes, 0, sizes[i], pieces[k]);
			/* whole windows, but for the first one, which was begun before */
			cr_assert_eq(bytes->mapped_to, sizes[i] < 2 * WINDOW ? 0 : (off_t)(sizes[i] / WINDOW * WINDOW));
			bytes_free(bytes);
		}
}

Test(bytes, from_any_place)
{
	static const struct {
		off_t start;
		bool mapped;
	} places[] = { { PAGE, true }, { 3, false }, { WINDOW + 17, false } };

	for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
		struct bytes *bytes = open_at(make_file(7 * WINDOW + 5), places[i].start);

		take_rest(bytes, (uint64_t)places[i].start, 7 * WINDOW + 5, 1447);
		cr_assert_eq(bytes->mapped_to > 0, places[i].mapped);
		bytes_free(bytes);
	}
}

static gpointer
feed(gpointer data)
{
	int fd = GPOINTER_TO_INT(data);
	g_autofree uint8_t *all = g_malloc(5 * WINDOW);

	for (size_t at = 0; at < 5 * WINDOW; at++)
		all[at] = byte_at(at);
	for (size_t at = 0; at < 5 * WINDOW;) {
		ssize_t len = write(fd, all + at, 5 * WINDOW - at);

		cr_assert_gt(len, 0);
		at += (size_t)len;
	}
	close(fd);
	return NULL;
}

Test(bytes, a_pipe_is_read)
{
	struct bytes *bytes;
	GThread *thread;
	int ends[2];

	cr_assert_eq(pipe(ends), 0);
	thread = g_thread_new("feed", feed, GINT_TO_POINTER(ends[1]));
	bytes = bytes_new(ends[0], "", 0);
	take_rest(bytes, 0, 5 * WINDOW, 1447);
	cr_assert_eq(bytes->mapped_to, 0);
	g_thread_join(thread);
	bytes_free(bytes);
}

Test(bytes, more_than_are_watched_are_read)
{
	struct bytes *many[MANY];
	unsigned mapped = 0;

	for (unsigned i = 0; i < MANY; i++) {
		many[i] = open_at(make_file(2 * WINDOW + 1), 0);
		take_rest(many[i], 0, 2 * WINDOW + 1, PAGE);
		mapped += many[i]->mapped_to > 0;
	}
	cr_assert(mapped > 0 && mapped < MANY);
	for (unsigned i = 0; i < MANY; i++)
		bytes_free(many[i]);
	many[0] = open_at(make_file(2 * WINDOW), 0);
	take_rest(many[0], 0, 2 * WINDOW, PAGE);
	cr_assert_eq(many[0]->mapped_to, 2 * WINDOW);
	bytes_free(many[0]);
}

/* What was lent last, until it is gone. */
struct lent {
	const uint8_t *place[LENT];	/* NULL: it is gone */
	uint64_t at[LENT];
	unsigned gone;
};

static void
note_gone(void *context, const uint8_t *from, const uint8_t *to)
{
	struct lent *lent = context;

	for (unsigned i = 0; i < LENT; i++)
		if (lent->place[i] != NULL && lent->place[i] < to && lent->place[i] + PIECE > from) {
			lent->place[i] = NULL;
			lent->gone++;
		}
}

static void
check_lent(const struct lent *lent)
{
	for (unsigned i = 0; i < LENT; i++)
		for (unsigned k = 0; lent->place[i] != NULL && k < PIECE; k += PIECE - 1)
			cr_assert_eq(lent->place[i][k], byte_at(lent->at[i] + k));
}

/* A file that grows by what is read of it, so that it is mapped and read in turn, or has all its bytes. */
static void
check_lending(uint64_t step)
{
	struct lent lent = { 0 };
	uint64_t size = step, all = 5 * RING / 2, at = 0;
	int fd = make_file(size);
	struct bytes *bytes = open_at(fd, 0);

	bytes_on_gone(bytes, note_gone, &lent);
	for (unsigned i = 0; at + PIECE <= all; i = (i + 1) % LENT) {
		for (; size < at + PIECE; size += step)
			append(fd, size, size + step);
		cr_assert(bytes_look(bytes, PIECE));
		lent.place[i] = bytes->place;
		lent.at[i] = at;
		bytes_pass(bytes, PIECE);
		at += PIECE;
		check_lent(&lent);
	}
	cr_assert_gt(lent.gone, 0);
	bytes_free(bytes);
	for (unsigned i = 0; i < LENT; i++)
		cr_assert_null(lent.place[i]);
}

Test(bytes, what_is_lent_stays_until_it_is_gone)
{
	check_lending(5 * RING / 2);
	check_lending(RING - 3 * WINDOW + 1);
	check_lending(4 * WINDOW + PAGE);
	check_lending(2 * WINDOW);
}

/* The ring of a mapping needs many addresses; what is read does not. */
Test(bytes, without_addresses_it_is_read)
{
	static const uint64_t size = 7 * WINDOW + 5;
	int fd = make_file(size);
	unsigned long pages = 0;
	struct rlimit before, limit;
	struct bytes *bytes;
	FILE *file = fopen("/proc/self/statm", "r");

	cr_assert_not_null(file);
	cr_assert_eq(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	cr_assert_eq(getrlimit(RLIMIT_AS, &before), 0);
	limit = before;
	limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (8 << 20);
	cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
	bytes = open_at(fd, 0);
	cr_assert_eq(setrlimit(RLIMIT_AS, &before), 0);
	take_rest(bytes, 0, size, 1447);
	cr_assert_eq(bytes->mapped_to, 0);
	bytes_free(bytes);
}

/* ---- files that change ---- */

Test(bytes, a_file_that_grows_is_read_on)
{
	static const uint64_t sizes[] = {
		100, PAGE, PAGE + 3, WINDOW, 2 * WINDOW + 9, 6 * WINDOW + 10, 6 * WINDOW + 11, 7 * WINDOW,
		RING - WINDOW, RING + 3 * WINDOW, RING + 3 * WINDOW + 1, RING + 5 * WINDOW,
	};
	int fd = make_file(sizes[0]);
	struct bytes *bytes = open_at(fd, 0);

	take_rest(bytes, 0, sizes[0], 50);
	for (size_t i = 1; i < G_N_ELEMENTS(sizes); i++) {
		append(fd, sizes[i - 1], sizes[i]);
		take_rest(bytes, sizes[i - 1], sizes[i], 1447);
	}
	cr_assert_gt(bytes->mapped_to, 0);
	bytes_free(bytes);
}

Test(bytes, shorter_by_what_was_not_reached)
{
	int fd = make_file(6 * WINDOW);
	struct bytes *bytes = open_at(fd, 0);

	take(bytes, 0, WINDOW);
	take(bytes, WINDOW, 100);
	cr_assert_eq(bytes->mapped_to, 2 * WINDOW);
	cr_assert_eq(ftruncate(fd, 2 * WINDOW + 5), 0);
	take_rest(bytes, WINDOW + 100, 2 * WINDOW + 5, 1447);
	bytes_free(bytes);
}

static void
count_gone(void *context, const uint8_t *from, const uint8_t *to)
{
	(void)from;
	(void)to;
	++*(unsigned *)context;
}

/* Zeros, at which nobody dies; and it is told, at the next window at the latest. */
static void
check_shorter(off_t size)
{
	int fd = make_file(6 * WINDOW);
	struct bytes *bytes = open_at(fd, 0);
	const uint8_t *lent;
	unsigned gone = 0, before;

	take(bytes, 0, WINDOW);
	take(bytes, WINDOW, WINDOW - PAGE);
	bytes_on_gone(bytes, count_gone, &gone);
	cr_assert(bytes_look(bytes, PAGE));
	lent = bytes->place - WINDOW / 2;
	cr_assert_eq(ftruncate(fd, size), 0);
	for (size_t i = 0; i < WINDOW / 2 + PAGE; i += 99) {
		bool is_there = (off_t)(bytes->passed - WINDOW / 2 + i) < size;

		cr_assert_eq(lent[i], is_there ? byte_at(bytes->passed - WINDOW / 2 + i) : 0);
	}
	bytes_pass(bytes, PAGE);
	cr_assert_not(bytes_look(bytes, 1));
	before = gone;
	cr_assert_str_eq(bytes_lost(bytes), "it became shorter while it was read");
	cr_assert_gt(gone, before);
	/* and still, when it is as long as ever */
	cr_assert_eq(ftruncate(fd, 6 * WINDOW), 0);
	cr_assert_not(bytes_look(bytes, 1));
	cr_assert_eq(bytes->error, EIO);
	cr_assert_not_null(bytes_lost(bytes));
	bytes_free(bytes);
}

Test(bytes, shorter_by_what_was_lent_out)
{
	check_shorter(0);
	check_shorter(100);
	check_shorter(WINDOW);
	check_shorter(2 * WINDOW - 2 * PAGE);
	check_shorter(2 * WINDOW - 2 * PAGE + 1);
}

static gpointer
be_shortened(gpointer data)
{
	(void)data;
	for (unsigned i = 0; i < 20; i++)
		check_shorter(i * 1000);
	return NULL;
}

Test(bytes, several_at_a_time_become_shorter)
{
	GThread *thread[4];

	for (size_t i = 0; i < G_N_ELEMENTS(thread); i++)
		thread[i] = g_thread_new("reader", be_shortened, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(thread); i++)
		g_thread_join(thread[i]);
}

/* ---- what is no page of a mapping ---- */

/* Sets the handler. */
static void
map_something(void)
{
	struct bytes *bytes = open_at(make_file(3 * WINDOW), 0);

	take_rest(bytes, 0, 3 * WINDOW, PAGE);
	bytes_free(bytes);
}

Test(bytes, other_pages_that_are_lost_end_the_program, .signal = SIGBUS)
{
	int fd = make_file(PAGE);
	volatile uint8_t *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	map_something();
	cr_assert(page != MAP_FAILED && page[0] == byte_at(0));
	cr_assert_eq(ftruncate(fd, 0), 0);
	cr_assert_fail("read %u", page[0]);
}

Test(bytes, the_signal_when_it_is_sent_ends_the_program, .signal = SIGBUS)
{
	map_something();
	kill(getpid(), SIGBUS);
	cr_assert_fail();
}

Test(bytes, what_cannot_be_mapped_can_be_cleared)
{
	uint8_t *memory = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = make_file(PAGE), ends[2];

	cr_assert(memory != MAP_FAILED);
	cr_assert_eq(pipe(ends), 0);
	cr_assert(mapping_put(memory, PAGE, fd, 0));
	cr_assert_eq(memory[PAGE - 1], byte_at(PAGE - 1));
	cr_assert(mapping_clear(memory, PAGE));
	memory[0] = 1;
	cr_assert_eq(memory[PAGE - 1], 0);
	cr_assert_not(mapping_put(memory, PAGE, ends[0], 0));
	cr_assert(mapping_clear(memory, 2 * PAGE));
	memory[0] = memory[2 * PAGE - 1] = 1;
}
