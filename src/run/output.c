#include "run/output.h"

#include <errno.h>
#include <unistd.h>

#include "base/errors.h"

enum { BUFFER_BYTES = 1 << 20 };

struct output {
	FILE *file;
	char *path;
	struct keeper *keeper;
	struct keeper_target target;
	bool placed;		/* the target was committed, or was never opened */
};

static void
set_error(GError **error, const char *path, int code)
{
	g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED, "cannot write %s: %s", path, g_strerror(code));
}

struct output *
output_open(struct keeper *keeper, const char *path, GError **error)
{
	struct output *output = g_new0(struct output, 1);
	int fd;

	output->path = g_strdup(path);
	output->keeper = keeper;
	fd = keeper_output(keeper, path, &output->target);
	output->placed = fd < 0;
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

struct output *
output_open_early(struct keeper *keeper, const char *path, GError **error)
{
	return keeper_output_kind(keeper, path) == KEEPER_STREAM ? NULL : output_open(keeper, path, error);
}

FILE *
output_file(struct output *output)
{
	return output->file;
}

/* 0, or the errno of what could not be done. A file server may refuse what was written when it is closed. */
static int
finish(struct output *output)
{
	bool failed = ferror(output->file) != 0 || fflush(output->file) != 0;
	int code = failed ? errno : 0;

	failed |= fclose(g_steal_pointer(&output->file)) != 0;
	if (failed)
		return code != 0 ? code : errno != 0 ? errno : EIO;
	output->placed = true;
	return keeper_commit(output->keeper, &output->target);
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
	if (!output->placed)
		keeper_drop(output->keeper, &output->target);
	g_free(output->path);
	g_free(output);
}
