#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errors.h"

enum { BUFFER_BYTES = 1 << 20 };

struct output {
	FILE *file;
	char *path;
	char *temporary;	/* NULL: the target is written as it is */
};

static void
set_error(GError **error, const char *path, int code)
{
	g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED, "cannot write %s: %s", path, g_strerror(code));
}

/* A new file beside the target, with the rights that the umask leaves. */
static int
open_temporary(struct output *output)
{
	mode_t mask;
	int fd;

	output->temporary = g_strconcat(output->path, ".XXXXXX", NULL);
	fd = g_mkstemp_full(output->temporary, O_WRONLY | O_CLOEXEC, 0600);
	if (fd >= 0) {
		mask = umask(0);
		umask(mask);
		(void)!fchmod(fd, 0666 & ~mask);
	}
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
		fd = open_temporary(output);
	if (fd >= 0)
		output->file = fdopen(fd, "w");
	if (output->file == NULL) {
		set_error(error, path, errno);
		if (fd < 0)
			g_clear_pointer(&output->temporary, g_free);
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

bool
output_commit(struct output *output, GError **error)
{
	bool failed = ferror(output->file) != 0;
	int code = failed ? errno : 0;

	if (fclose(output->file) != 0 && !failed) {
		failed = true;
		code = errno;
	}
	output->file = NULL;
	if (!failed && output->temporary != NULL && rename(output->temporary, output->path) != 0) {
		failed = true;
		code = errno;
	}
	if (failed)
		set_error(error, output->path, code != 0 ? code : EIO);
	else
		g_clear_pointer(&output->temporary, g_free);
	output_drop(output);
	return !failed;
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
