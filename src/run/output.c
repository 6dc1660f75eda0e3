#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errors.h"

enum { BUFFER_BYTES = 1 << 20, NAMES = 16 };

struct output {
	FILE *file;
	char *path;
	bool nameless;		/* the file has no name yet, and vanishes with the program */
	char *temporary;	/* its name until it takes the target's */
};

static void
set_error(GError **error, const char *path, int code)
{
	g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED, "cannot write %s: %s", path, g_strerror(code));
}

/* A new file beside the target: without a name where the file system has such, so that a signal leaves nothing. */
static int
open_beside(struct output *output)
{
	g_autofree char *folder = g_path_get_dirname(output->path);
	int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	mode_t mask;

	output->nameless = fd >= 0;
	if (fd >= 0)
		return fd;
	output->temporary = g_strconcat(output->path, ".XXXXXX", NULL);
	fd = g_mkstemp_full(output->temporary, O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0) {
		g_clear_pointer(&output->temporary, g_free);
		return -1;
	}
	mask = umask(0);
	umask(mask);
	(void)!fchmod(fd, 0666 & ~mask);
	return fd;
}

struct output *
output_open(const char *path, GError **error)
{
	struct output *output = g_new0(struct output, 1);
	struct stat status;
	int fd;

	output->path = g_strdup(path);
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		fd = open(path, O_WRONLY | O_CLOEXEC);
	else
		fd = open_beside(output);
	if (fd >= 0)
		output->file = fdopen(fd, "w");
	if (output->file == NULL) {
		set_error(error, path, errno);
		output_drop(output);
		return NULL;
	}
	setvbuf(output->file, NULL, _IOFBF, BUFFER_BYTES);
	return output;
}

FILE *
output_file(struct output *output)
{
	return output->file;
}

/* Gives a nameless file a name beside the target; rename() then replaces the target in one step. */
static bool
give_name(struct output *output)
{
	g_autofree char *self = g_strdup_printf("/proc/self/fd/%d", fileno(output->file));

	for (unsigned attempt = 0; attempt < NAMES; attempt++) {
		g_autofree char *name = g_strdup_printf("%s.%08x", output->path, g_random_int());

		if (linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0) {
			output->temporary = g_steal_pointer(&name);
			return true;
		}
		if (errno != EEXIST)
			return false;
	}
	return false;
}

/* 0, or the errno of what could not be done. */
static int
finish(struct output *output)
{
	bool failed = ferror(output->file) != 0 || fflush(output->file) != 0;
	int code = failed ? errno : 0;

	if (!failed && output->nameless && !give_name(output))
		code = errno;
	failed |= fclose(g_steal_pointer(&output->file)) != 0;
	if (failed && code == 0)
		code = errno != 0 ? errno : EIO;
	if (code == 0 && output->temporary != NULL && rename(output->temporary, output->path) != 0)
		code = errno;
	if (code == 0)
		g_clear_pointer(&output->temporary, g_free);
	return code;
}

bool
output_commit(struct output *output, GError **error)
{
	int code = finish(output);

	if (code != 0)
		set_error(error, output->path, code);
	output_drop(output);
	return code == 0;
}

void
output_drop(struct output *output)
{
	if (output == NULL)
		return;
	if (output->file != NULL)
		fclose(output->file);
	if (output->temporary != NULL)
		unlink(output->temporary);
	g_free(output->temporary);
	g_free(output->path);
	g_free(output);
}
