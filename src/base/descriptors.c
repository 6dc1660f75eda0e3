#include "base/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	LINKS_MOST = 40,		/* as the kernel follows */
	BLIND_MOST = 4096,		/* descriptors that are tried where /proc does not list them */
};

static void
plug(int fd)
{
	int place;

	/* a place, and no file: reading and writing fail as on a closed one */
	if (fcntl(fd, F_GETFD) >= 0 || (place = open("/", O_PATH)) < 0 || place == fd)
		return;
	dup2(place, fd);
	close(place);
}

void
descriptors_plug(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		plug(fd);
}

/* What a symbolic link holds, as seen from where the program is; NULL: no link. */
static char *
follow(const char *path)
{
	g_autofree char *folder = g_path_get_dirname(path);
	g_autofree char *held = g_file_read_link(path, NULL);

	if (held == NULL)
		return NULL;
	return g_path_is_absolute(held) ? g_steal_pointer(&held) : g_build_filename(folder, held, NULL);
}

int
descriptor_named(const char *path)
{
	char *ours = realpath("/proc/self/fd", NULL);
	g_autofree char *at = g_strdup(path);
	int named = -1;

	for (unsigned links = 0; links < LINKS_MOST && ours != NULL && at != NULL && named < 0; links++) {
		g_autofree char *folder = g_path_get_dirname(at);
		g_autofree char *name = g_path_get_basename(at);
		char *real = realpath(folder, NULL);
		char *next;

		if (g_strcmp0(real, ours) == 0 && g_ascii_isdigit(*name))
			named = atoi(name);
		free(real);
		next = follow(at);
		g_free(at);
		at = next;
	}
	free(ours);
	return named;
}

static bool
is_kept(int fd, const int *kept, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (kept[i] == fd)
			return true;
	return false;
}

void
descriptors_close_but(const int *kept, size_t count)
{
	g_autoptr(GArray) open_ones = g_array_new(FALSE, FALSE, sizeof(int));
	DIR *list = opendir("/proc/self/fd");
	struct dirent *entry;

	while (list != NULL && (entry = readdir(list)) != NULL) {
		int fd = atoi(entry->d_name);

		if (g_ascii_isdigit(entry->d_name[0]) && fd != dirfd(list))
			g_array_append_val(open_ones, fd);
	}
	for (int fd = 0; list == NULL && fd < BLIND_MOST; fd++)
		g_array_append_val(open_ones, fd);
	if (list != NULL)
		closedir(list);
	for (unsigned i = 0; i < open_ones->len; i++)
		if (!is_kept(g_array_index(open_ones, int, i), kept, count))
			close(g_array_index(open_ones, int, i));
	descriptors_plug();
}
