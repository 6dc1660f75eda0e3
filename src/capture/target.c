#include "capture/target.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES = 64 };

struct target {
	int folder;		/* of the target, that it stays in whatever happens to the path; -1: none */
	char *name;		/* in it */
	int file;		/* a second descriptor of the new file; -1: written as it is */
	bool nameless;		/* the file has no name yet, and vanishes with the program */
	char *temporary;	/* its name until it takes the target's */
	struct owner owner;
	bool by_owner;		/* who alone may do anything there */
};

static char *
new_name(const struct target *target)
{
	return g_strdup_printf("%s.%08x", target->name, g_random_int());
}

/* Where the file system has no nameless files, a signal may leave one behind. */
static int
create_named(struct target *target)
{
	for (unsigned attempt = 0; attempt < NAMES; attempt++) {
		g_autofree char *name = new_name(target);
		int fd = openat(target->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

		if (fd >= 0)
			target->temporary = g_steal_pointer(&name);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static int
create(struct target *target, const char *path)
{
	g_autofree char *folder = g_path_get_dirname(path);
	struct stat status;
	int fd = -1;

	if (target->folder >= 0)
		close(target->folder);
	target->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (target->folder < 0)
		return -1;
	/* /proc is what a name can be given by */
	if (stat("/proc/self/fd", &status) == 0)
		fd = openat(target->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	target->nameless = fd >= 0;
	return fd >= 0 ? fd : create_named(target);
}

/* A file that is open twice: to be written, and to be named later. */
static int
create_owned(struct target *target, const char *path)
{
	int fd = create(target, path);

	if (fd < 0)
		return -1;
	/* what may not be given away stays ours */
	if (target->owner.user != (uid_t)-1)
		(void)!fchown(fd, target->owner.user, target->owner.group);
	target->file = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (target->file >= 0)
		return fd;
	close(fd);
	return -1;
}

/*
 * What is there already and no regular file; -1 with errno 0: nothing of the
 * kind. A FIFO that nobody reads is not waited for.
 */
static int
open_special(const char *path)
{
	struct stat status;
	int flags = O_WRONLY | O_NOCTTY | O_CLOEXEC, fd;

	errno = 0;
	if (stat(path, &status) != 0 || S_ISREG(status.st_mode)) {
		errno = 0;
		return -1;
	}
	if (S_ISFIFO(status.st_mode))
		flags |= O_NONBLOCK;
	fd = open(path, flags);
	if (fd < 0 && errno == ENXIO && S_ISFIFO(status.st_mode))
		errno = EAGAIN;
	if (fd < 0 || (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode)))
		return fd;
	/* it was replaced meanwhile */
	close(fd);
	errno = EAGAIN;
	return -1;
}

static int
open_any(struct target *target, const char *path)
{
	int fd = open_special(path);

	return fd >= 0 || errno != 0 ? fd : create_owned(target, path);
}

struct target *
target_open(const char *path, int descriptor, const struct owner *owner, int *fd)
{
	struct target *target = g_new0(struct target, 1);
	int code;

	target->folder = target->file = -1;
	target->name = g_path_get_basename(path);
	target->owner = *owner;
	*fd = descriptor >= 0 ? fcntl(descriptor, F_DUPFD_CLOEXEC, 0) : open_any(target, path);
	if (*fd < 0 && (errno == EACCES || errno == EPERM) && owner_assume(owner)) {
		target->by_owner = true;
		*fd = open_any(target, path);
		owner_resume();
	}
	if (*fd >= 0)
		return target;
	code = errno;
	target_drop(target);
	errno = code;
	return NULL;
}

/* Gives a nameless file a name beside the target. */
static int
give_name(struct target *target)
{
	g_autofree char *self = g_strdup_printf("/proc/self/fd/%d", target->file);

	for (unsigned attempt = 0; attempt < NAMES; attempt++) {
		g_autofree char *name = new_name(target);

		if (linkat(AT_FDCWD, self, target->folder, name, AT_SYMLINK_FOLLOW) == 0) {
			target->temporary = g_steal_pointer(&name);
			return 0;
		}
		if (errno != EEXIST)
			return errno;
	}
	return EEXIST;
}

static int
place(struct target *target)
{
	int code = target->nameless ? give_name(target) : 0;

	if (code != 0 || target->temporary == NULL)
		return code;
	if (renameat(target->folder, target->temporary, target->folder, target->name) != 0)
		return errno;
	g_clear_pointer(&target->temporary, g_free);
	return 0;
}

int
target_commit(struct target *target)
{
	bool assumed = target->by_owner && owner_assume(&target->owner);
	int code = place(target);

	if (assumed)
		owner_resume();
	target_drop(target);
	return code;
}

void
target_drop(struct target *target)
{
	if (target == NULL)
		return;
	if (target->temporary != NULL) {
		bool assumed = target->by_owner && owner_assume(&target->owner);

		unlinkat(target->folder, target->temporary, 0);
		if (assumed)
			owner_resume();
	}
	if (target->file >= 0)
		close(target->file);
	if (target->folder >= 0)
		close(target->folder);
	g_free(target->temporary);
	g_free(target->name);
	g_free(target);
}
