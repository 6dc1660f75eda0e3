/*
 * What is left of the program's rights once it reads captures. Each attempt is
 * made by a process of its own, since most of them end it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/errors.h"
#include "capture/rights.h"

static char *folder;

static void
make_folder(void)
{
	folder = g_dir_make_tmp("nfscorr-rights-XXXXXX", NULL);
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

TestSuite(rights, .init = make_folder, .fini = remove_folder);

static char *
path_of(const char *name)
{
	return g_build_filename(folder, name, NULL);
}

static char *
write_file(const char *name, const char *text)
{
	char *path = path_of(name);

	cr_assert(g_file_set_contents(path, text, -1, NULL));
	return path;
}

/* What the attempts may need, made while there were rights. */
struct scene {
	struct rights *rights;
	struct keeper *keeper;
	char *known, *unknown, *output;
	int pair[2];		/* of sockets */
	int device;
};

enum { REFUSED = 100 };		/* an attempt that did what it should not */

typedef int attempt_fn(struct scene *scene);	/* the errno, or 0: it was done */

static struct rights *
begin(const struct scene *scene, const char *user)
{
	g_autoptr(GPtrArray) inputs = g_ptr_array_new();
	g_autoptr(GPtrArray) outputs = g_ptr_array_new();
	struct rights_config config = { .inputs = inputs, .outputs = outputs, .user = user };

	g_ptr_array_add(inputs, scene->known);
	g_ptr_array_add(outputs, scene->output);
	return rights_new(&config, NULL);
}

/* The wait status of a process that gave its rights up and then made the attempt. */
static int
status_of(attempt_fn *attempt)
{
	struct scene scene = {
		.known = write_file("known", "text"), .unknown = write_file("unknown", "text"), .output = path_of("out"),
	};
	int status = 0;
	pid_t child;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, scene.pair), 0);
	scene.device = open("/dev/null", O_RDWR);
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) {
		scene.rights = begin(&scene, NULL);
		scene.keeper = rights_keeper(scene.rights);
		rights_protect_device(scene.rights, scene.device);
		if (scene.rights == NULL || !rights_enter(scene.rights, PHASE_RUN, NULL))
			_exit(REFUSED);
		_exit(attempt(&scene));
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	close(scene.pair[0]);
	close(scene.pair[1]);
	close(scene.device);
	g_free(scene.known);
	g_free(scene.unknown);
	g_free(scene.output);
	return status;
}

static int
outcome(long result)
{
	return result < 0 ? errno : 0;
}

/* ---- what is refused ---- */

static int open_file(struct scene *scene) { return outcome(open(scene->known, O_RDONLY)); }
static int create_file(struct scene *scene) { return outcome(open(scene->output, O_WRONLY | O_CREAT, 0666)); }
static int look_at_file(struct scene *scene) { struct stat s; return outcome(stat(scene->known, &s)); }
static int make_socket(struct scene *scene) { (void)scene; return outcome(socket(AF_INET, SOCK_STREAM, 0)); }

static int remove_file(struct scene *scene) { return outcome(unlink(scene->known)); }
static int rename_file(struct scene *scene) { return outcome(rename(scene->known, scene->output)); }
static int make_link(struct scene *scene) { return outcome(link(scene->known, scene->output)); }
static int make_symlink(struct scene *scene) { return outcome(symlink(scene->known, scene->output)); }
static int make_folder_of_own(struct scene *scene) { return outcome(mkdir(scene->output, 0777)); }
static int change_mode(struct scene *scene) { return outcome(chmod(scene->known, 0777)); }
static int change_folder(struct scene *scene) { (void)scene; return outcome(chdir("/")); }
static int start_program(struct scene *scene) { (void)scene; return outcome(execl("/bin/true", "true", NULL)); }
static int start_process(struct scene *scene) { (void)scene; return outcome(fork()); }
static int trace_process(struct scene *scene) { (void)scene; return outcome(ptrace(PTRACE_TRACEME, 0, 0, 0)); }
static int signal_other(struct scene *scene) { (void)scene; return outcome(kill(getppid(), SIGCONT)); }
static int signal_keeper(struct scene *scene) { return outcome(kill(keeper_process(scene->keeper), SIGKILL)); }
static int become_root(struct scene *scene) { (void)scene; return outcome(setresuid(0, 0, 0)); }
static int take_groups(struct scene *scene) { (void)scene; return outcome(setgroups(0, NULL)); }
static int allow_dumps(struct scene *scene) { (void)scene; return outcome(syscall(SYS_prctl, 4, 1, 0, 0, 0)); }
static int duplicate(struct scene *scene) { return outcome(dup(scene->device)); }
static int write_device(struct scene *scene) { return outcome(write(scene->device, "packet", 6)); }
static int send_packet(struct scene *scene) { return outcome(send(scene->pair[0], "packet", 6, 0)); }
static int join_group(struct scene *scene)
{
	int value = 1;

	return outcome(setsockopt(scene->pair[0], 263 /* SOL_PACKET */, 1, &value, sizeof value));
}

static int
read_other(struct scene *scene)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { scene->known, 1 };

	return outcome(process_vm_readv(getppid(), &here, 1, &there, 1, 0));
}

static int
map_code(struct scene *scene)
{
	(void)scene;
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? errno : 0;
}

static int
make_code(struct scene *scene)
{
	void *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)scene;
	return outcome(mprotect(place, 4096, PROT_READ | PROT_EXEC));
}

static int make_memory_file(struct scene *scene) { (void)scene; return outcome(memfd_create("x", 0)); }
static int call_kernel_ring(struct scene *scene) { (void)scene; return outcome(syscall(SYS_io_uring_setup, 1, NULL)); }
static int load_program(struct scene *scene) { (void)scene; return outcome(syscall(SYS_bpf, 0, NULL, 0)); }
static int enter_namespace(struct scene *scene) { (void)scene; return outcome(syscall(SYS_unshare, 0x10000000)); }
static int call_nothing(struct scene *scene) { (void)scene; return outcome(syscall(9999)); }

struct refusal {
	const char *what;
	attempt_fn *attempt;
	int error;		/* 0: it ends the process */
};

static const struct refusal refusals[] = {
	{ "to open a file that is readable", open_file, EACCES },
	{ "to create a file", create_file, EACCES },
	{ "to ask for a file", look_at_file, EACCES },
	{ "to make a socket", make_socket, EACCES },
	{ "to remove a file", remove_file, 0 },
	{ "to rename a file", rename_file, 0 },
	{ "to make a link", make_link, 0 },
	{ "to make a symbolic link", make_symlink, 0 },
	{ "to make a folder", make_folder_of_own, 0 },
	{ "to change a mode", change_mode, 0 },
	{ "to change the folder", change_folder, 0 },
	{ "to start a program", start_program, 0 },
	{ "to start a process", start_process, 0 },
	{ "to be traced", trace_process, 0 },
	{ "to signal another process", signal_other, 0 },
	{ "to end the keeper", signal_keeper, 0 },
	{ "to become root", become_root, 0 },
	{ "to take groups", take_groups, 0 },
	{ "to be dumped", allow_dumps, 0 },
	{ "to name the device otherwise", duplicate, 0 },
	{ "to write to the device", write_device, 0 },
	{ "to send on a socket", send_packet, 0 },
	{ "to set what is a packet socket's", join_group, EPERM },
	{ "to read another process", read_other, 0 },
	{ "to map code", map_code, 0 },
	{ "to make code of data", make_code, 0 },
	{ "to make a file in memory", make_memory_file, 0 },
	{ "to set up a ring with the kernel", call_kernel_ring, 0 },
	{ "to load a program into the kernel", load_program, 0 },
	{ "to enter a namespace", enter_namespace, 0 },
	{ "a call that there is not", call_nothing, 0 },
};

/* Sanitizers and coverage need more calls: a build with them has no filter. */
#if FILTERS_SYSTEM_CALLS
Test(rights, what_is_not_listed_is_refused)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(refusals); i++) {
		int status = status_of(refusals[i].attempt);

		if (refusals[i].error != 0)
			cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == refusals[i].error, "%s: %x",
			    refusals[i].what, (unsigned)status);
		else
			cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%s: %x", refusals[i].what,
			    (unsigned)status);
	}
}
#else
Test(rights, a_build_that_does_not_filter_can_be_told)
{
	struct scene scene = { .known = path_of("known"), .output = path_of("out") };
	struct rights *rights = begin(&scene, NULL);
	g_autofree char *left = NULL;

	cr_assert_not_null(refusals);
	cr_assert(rights_enter(rights, PHASE_RUN, NULL));
	left = rights_left(rights);
	cr_assert_not_null(strstr(left, "system calls are not filtered"));
	rights_free(rights);
	g_free(scene.known);
	g_free(scene.output);
}
#endif

/* ---- what is allowed ---- */

static void *
work(void *context)
{
	char *text = g_strdup(context);

	g_free(text);
	return NULL;
}

static int
start_threads(struct scene *scene)
{
	for (unsigned i = 0; i < 4; i++) {
		pthread_t thread;
		int code = pthread_create(&thread, NULL, work, scene->known);

		if (code != 0)
			return code;
		pthread_join(thread, NULL);
	}
	return 0;
}

static bool
holds(int fd, const char *text)
{
	char found[16] = "";
	ssize_t len = fd >= 0 ? read(fd, found, sizeof found - 1) : -1;

	close(fd);
	return len == (ssize_t)strlen(text) && strcmp(found, text) == 0;
}

static int
read_known(struct scene *scene)
{
	return holds(keeper_input(scene->keeper, scene->known, NULL, NULL), "text") &&
	    holds(keeper_input(scene->keeper, scene->known, NULL, NULL), "text") ? 0 : REFUSED;
}

static int
read_unknown(struct scene *scene)
{
	return keeper_input(scene->keeper, scene->unknown, NULL, NULL) < 0 ? errno : 0;
}

static int
write_unknown(struct scene *scene)
{
	struct keeper_target target = { 0 };

	return keeper_output(scene->keeper, scene->unknown, &target) < 0 ? errno : 0;
}

static int
save_packets(struct scene *scene)
{
	return keeper_open_save(scene->keeper, NULL, 0, 0) < 0 ? errno : 0;
}

static int
write_output(struct scene *scene)
{
	struct keeper_target target = { 0 };
	int fd = keeper_output(scene->keeper, scene->output, &target);

	if (fd < 0 || write(fd, "whole", 5) != 5 || close(fd) != 0)
		return REFUSED;
	return keeper_commit(scene->keeper, &target);
}

static int
drop_output(struct scene *scene)
{
	struct keeper_target target = { 0 };
	int fd = keeper_output(scene->keeper, scene->output, &target);

	if (fd < 0 || write(fd, "whole", 5) != 5)
		return REFUSED;
	keeper_drop(scene->keeper, &target);
	return 0;
}

static int end(struct scene *scene) { rights_free(scene->rights); return 0; }

static void
expect_exit(int status, int code)
{
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == code, "status %x, wanted %d", (unsigned)status, code);
}

Test(rights, threads_can_be_started)
{
	expect_exit(status_of(start_threads), 0);
}

Test(rights, the_end_is_in_order)
{
	expect_exit(status_of(end), 0);
}

Test(rights, an_input_can_be_opened_again_and_again)
{
	expect_exit(status_of(read_known), 0);
}

Test(rights, what_was_not_named_at_the_start_is_not_opened)
{
	expect_exit(status_of(read_unknown), EACCES);
	expect_exit(status_of(write_unknown), EACCES);
	expect_exit(status_of(save_packets), EACCES);
}

Test(rights, an_output_appears_on_commit)
{
	g_autofree char *path = path_of("out");
	g_autofree char *text = NULL;

	expect_exit(status_of(drop_output), 0);
	cr_assert(!g_file_test(path, G_FILE_TEST_EXISTS));
	expect_exit(status_of(write_output), 0);
	cr_assert(g_file_get_contents(path, &text, NULL, NULL));
	cr_assert_str_eq(text, "whole");
}

static int give_up(struct scene *scene) { (void)scene; abort(); }

Test(rights, an_abort_is_told_as_one)
{
	int status = status_of(give_up);

	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%x", (unsigned)status);
}

/* ---- who ---- */

static int
who(struct scene *scene)
{
	(void)scene;
	return getuid() == 1234 && geteuid() == 1234 && getgid() == 2345 && getegid() == 2345 ? 0 : REFUSED;
}

static int
whose_output(struct scene *scene)
{
	struct stat status;
	struct keeper_target target = { 0 };
	int fd = keeper_output(scene->keeper, scene->output, &target);

	if (fd < 0 || fstat(fd, &status) != 0)
		return REFUSED;
	return status.st_uid == 1234 && status.st_gid == 2345 ? 0 : REFUSED;
}

/* One who is not root has nothing to become. */
Test(rights, root_becomes_who_called_sudo)
{
	bool root = geteuid() == 0 && CHANGES_USER;

	g_setenv("SUDO_UID", "1234", TRUE);
	g_setenv("SUDO_GID", "2345", TRUE);
	expect_exit(status_of(who), root ? 0 : REFUSED);
	expect_exit(status_of(whose_output), geteuid() == 0 ? 0 : REFUSED);
}

Test(rights, a_user_who_is_not_there_is_wrong_usage)
{
	g_autoptr(GError) error = NULL;
	struct rights_config config = { .user = "nobody of this name" };

	cr_assert_null(rights_new(&config, &error));
	cr_assert(g_error_matches(error, NFSCORR_ERROR, NFSCORR_ERROR_USAGE));
	cr_assert_not_null(strstr(error->message, "'nobody of this name'"));
}
