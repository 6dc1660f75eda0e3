#include "trace/folder.h"

#include <glib.h>
#include <glib/gstdio.h>

void
folder_remove(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
		g_autofree char *inside = g_build_filename(path, name, NULL);

		if (g_file_test(inside, G_FILE_TEST_IS_DIR))
			folder_remove(inside);
		else
			g_unlink(inside);
	}
	g_rmdir(path);
}
