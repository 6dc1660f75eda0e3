/* The process that opens files: what it hands over, and that it ends with whom it works for. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/keeper.h"

static char *folder;
static GPtrArray *inputs, *outputs;

static char *
path_of(const char *name)
{
	return g_build_filename(folder, name, NULL);
}

static void
begin(void)
{
	folder = g_dir_make_tmp("nfscorr-keeper-XXXXXX", NULL);
	cr_assert_not_null(folder);
	inputs = g_ptr_array_new_with_free_func(g_free);
	outputs = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(inputs, path_of("a"));
	g_ptr_array_add(inputs, path_of("b"));
	g_ptr_array_add(outputs, path_of("out"));
}

static void
end(void)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(dir)) != NULL) {
		g_autofree char *path = path_of(name);

		g_remove(path);
	}
	g_rmdir(folder);
	g_free(folder);
	g_ptr_array_unref(inputs);
	g_ptr_array_unref(outputs);
}

TestSuite(keeper, .init = begin, .fini = end);

static void
write_file(const char *name, const char *text)
{
	g_autofree char *path = path_of(name);

	cr_assert(g_file_set_contents(path, text, -1, NULL));
}

static char *
save_name(const void *context, uint64_t number, int64_t seconds)
{
	return g_strdup_printf("%s/%s%u-%d", folder, (const char *)context, (unsigned)number, (int)seconds);
}

static struct keeper *
start(void)
{
	struct keeper_config config = {
		.inputs = inputs, .outputs = outputs, .save = { save_name, "save" }, .owner = { (uid_t)-1, (gid_t)-1 },
	};
	struct keeper *keeper = keeper_start(&config, NULL);

	cr_assert_not_null(keeper);
	return keeper;
}

static void
expect_text(int fd, const char *text)
{
	char found[64] = "";

	cr_assert_geq(fd, 0);
	cr_assert_eq(read(fd, found, sizeof found - 1), (ssize_t)strlen(text));
	cr_expect_str_eq(found, text);
	close(fd);
}

Test(keeper, inputs_are_those_that_were_named)
{
	struct keeper *keeper;

	write_file("a", "first");
	write_file("b", "second");
	write_file("c", "third");
	keeper = start();
	expect_text(keeper_input(keeper, g_ptr_array_index(inputs, 1), NULL, NULL), "second");
	expect_text(keeper_input(keeper, g_ptr_array_index(inputs, 0), NULL, NULL), "first");
	expect_text(keeper_input(keeper, g_ptr_array_index(inputs, 0), NULL, NULL), "first");
	cr_expect_eq(keeper_input(keeper, "c", NULL, NULL), -1);
	cr_expect_eq(errno, EACCES);
	cr_expect_eq(keeper_input(keeper, g_ptr_array_index(outputs, 0), NULL, NULL), -1);
	cr_expect_eq(errno, EACCES);
	g_remove(g_ptr_array_index(inputs, 0));
	cr_expect_eq(keeper_input(keeper, g_ptr_array_index(inputs, 0), NULL, NULL), -1);
	cr_expect_eq(errno, ENOENT);
	keeper_free(keeper);
}

Test(keeper, kinds_are_those_of_the_start)
{
	struct keeper *keeper;

	write_file("a", "first");
	cr_assert_eq(mkfifo(g_ptr_array_index(inputs, 1), 0666), 0);
	keeper = start();
	g_remove(g_ptr_array_index(inputs, 0));
	cr_expect_eq(keeper_kind(keeper, g_ptr_array_index(inputs, 0)), KEEPER_FILE);
	cr_expect_eq(keeper_kind(keeper, g_ptr_array_index(inputs, 1)), KEEPER_STREAM);
	cr_expect_eq(keeper_kind(keeper, "elsewhere"), KEEPER_NOTHING);
	cr_expect_eq(keeper_kind(NULL, "-"), KEEPER_STREAM);
	cr_expect_eq(keeper_kind(NULL, folder), KEEPER_FOLDER);
	keeper_free(keeper);
}

/* Opens its end of the FIFO only when it is told that another file was opened. */
static void *
write_late(void *told)
{
	char byte;
	int fd;

	if (read(*(int *)told, &byte, 1) == 1 && (fd = open(g_ptr_array_index(inputs, 0), O_WRONLY)) >= 0) {
		cr_assert_eq(write(fd, "late", 4), 4);
		close(fd);
	}
	return NULL;
}

struct other { struct keeper *keeper; int tell; };

static void *
open_other(void *context)
{
	struct other *other = context;

	expect_text(keeper_input(other->keeper, g_ptr_array_index(inputs, 1), NULL, NULL), "file");
	cr_assert_eq(write(other->tell, "", 1), 1);
	return NULL;
}

/* The writer waits for the other file, which would wait for the FIFO if the keeper did. */
Test(keeper, a_fifo_that_nobody_writes_to_keeps_nobody_from_other_files, .timeout = 60)
{
	struct other other;
	pthread_t writer, reader;
	int told[2];

	cr_assert_eq(mkfifo(g_ptr_array_index(inputs, 0), 0666), 0);
	write_file("b", "file");
	other.keeper = start();
	cr_assert_eq(pipe(told), 0);
	other.tell = told[1];
	cr_assert_eq(pthread_create(&writer, NULL, write_late, &told[0]), 0);
	cr_assert_eq(pthread_create(&reader, NULL, open_other, &other), 0);
	expect_text(keeper_input(other.keeper, g_ptr_array_index(inputs, 0), NULL, NULL), "late");
	pthread_join(writer, NULL);
	pthread_join(reader, NULL);
	keeper_free(other.keeper);
}

/* Opens its end of the FIFO only when it is told that a file was opened. */
static void *
read_late(void *told)
{
	char byte;

	if (read(*(int *)told, &byte, 1) == 1)
		expect_text(open(g_ptr_array_index(outputs, 0), O_RDONLY), "late");
	return NULL;
}

/* The same of a reader; writing waits as ever once there is one. */
Test(keeper, a_fifo_that_nobody_reads_keeps_nobody_from_files, .timeout = 60)
{
	struct keeper_target target = { 0 };
	struct other other;
	pthread_t writer, reader;
	int told[2], fd;

	cr_assert_eq(mkfifo(g_ptr_array_index(outputs, 0), 0666), 0);
	write_file("b", "file");
	other.keeper = start();
	cr_assert_eq(pipe(told), 0);
	other.tell = told[1];
	cr_assert_eq(pthread_create(&reader, NULL, read_late, &told[0]), 0);
	cr_assert_eq(pthread_create(&writer, NULL, open_other, &other), 0);
	fd = keeper_output(other.keeper, g_ptr_array_index(outputs, 0), &target);
	cr_assert_geq(fd, 0);
	cr_expect_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	cr_expect_eq(write(fd, "late", 4), 4);
	close(fd);
	pthread_join(writer, NULL);
	pthread_join(reader, NULL);
	cr_expect_eq(keeper_commit(other.keeper, &target), 0);
	keeper_free(other.keeper);
}

Test(keeper, no_room_for_a_descriptor_is_told)
{
	struct keeper *keeper;
	struct rlimit before, none = { 0, 0 };
	int fd, error;

	write_file("a", "first");
	keeper = start();
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none.rlim_max = before.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	fd = keeper_input(keeper, g_ptr_array_index(inputs, 0), NULL, NULL);
	error = errno;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	cr_expect_eq(fd, -1);
	cr_expect_eq(error, EMFILE);
	expect_text(keeper_input(keeper, g_ptr_array_index(inputs, 0), NULL, NULL), "first");
	keeper_free(keeper);
}

Test(keeper, a_file_of_a_rotation_shows_at_once_and_replaces)
{
	g_autofree char *path = path_of("save7-9");
	g_autofree char *text = NULL;
	struct keeper *keeper;
	int fd;

	write_file("save7-9", "old");
	keeper = start();
	fd = keeper_open_save(keeper, NULL, 7, 9);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, "new", 3), 3);
	cr_assert(g_file_get_contents(path, &text, NULL, NULL));
	cr_expect_str_eq(text, "new");
	close(fd);
	keeper_free(keeper);
}

static unsigned
files_in_folder(void)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	unsigned count = 0;

	while (g_dir_read_name(dir) != NULL)
		count++;
	return count;
}

Test(keeper, what_was_not_committed_is_gone_in_the_end)
{
	struct keeper *keeper = start();
	struct keeper_target target = { 0 };
	int fd = keeper_output(keeper, g_ptr_array_index(outputs, 0), &target);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, "half", 4), 4);
	close(fd);
	keeper_free(keeper);
	cr_expect_eq(files_in_folder(), 0);
}

Test(keeper, a_second_commit_is_refused)
{
	struct keeper *keeper = start();
	struct keeper_target target = { 0 };

	close(keeper_output(keeper, g_ptr_array_index(outputs, 0), &target));
	cr_expect_eq(keeper_commit(keeper, &target), 0);
	cr_expect_eq(keeper_commit(keeper, &target), EBADF);
	cr_expect_eq(files_in_folder(), 1);
	keeper_free(keeper);
}

enum { NOBODY = 65534 };

/*
 * Whose parent is gone becomes the child of this process, which can wait for
 * it. The program is killed in whatever the keeper is doing, as somebody who
 * may send the keeper no signal.
 */
static void
expect_end_after_kill(void (*ask)(struct keeper *keeper))
{
	int ready[2];
	pid_t program, keeper = 0;

	cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	cr_assert_eq(pipe(ready), 0);
	program = fork();
	if (program == 0) {
		struct keeper *own = start();

		keeper = keeper_process(own);
		if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) != 0)
			_exit(1);
		if (write(ready[1], &keeper, sizeof keeper) == (ssize_t)sizeof keeper)
			ask(own);
		for (;;)
			pause();
	}
	cr_assert_eq(read(ready[0], &keeper, sizeof keeper), (ssize_t)sizeof keeper);
	kill(program, SIGKILL);
	cr_assert_eq(waitpid(program, NULL, 0), program);
	cr_expect_eq(waitpid(keeper, NULL, 0), keeper);
}

static void
ask_nothing(struct keeper *keeper)
{
	(void)keeper;
}

Test(keeper, it_ends_with_a_program_that_is_killed, .timeout = 60)
{
	expect_end_after_kill(ask_nothing);
}

static void
ask_for_a_reader(struct keeper *keeper)
{
	struct keeper_target target = { 0 };

	keeper_output(keeper, g_ptr_array_index(outputs, 0), &target);
}

/* Nobody ever reads what the keeper opens to be written. */
Test(keeper, it_ends_while_it_waits_for_a_reader, .timeout = 60)
{
	cr_assert_eq(mkfifo(g_ptr_array_index(outputs, 0), 0666), 0);
	expect_end_after_kill(ask_for_a_reader);
}
