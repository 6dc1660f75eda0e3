#include "table.h"

#include <string.h>

struct table *
table_read(const char *path)
{
	struct table *table = g_new0(struct table, 1);
	g_auto(GStrv) lines = NULL;

	table->lines = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	table->columns = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	if (!g_file_get_contents(path, &table->text, NULL, NULL))
		return table;
	lines = g_strsplit(table->text, "\n", -1);
	for (unsigned i = 0; lines[i] != NULL && *lines[i] != '\0'; i++)
		g_ptr_array_add(table->lines, g_strsplit(lines[i], ",", -1));
	if (table->lines->len > 0) {
		char **names = g_ptr_array_steal_index(table->lines, 0);

		for (unsigned i = 0; names[i] != NULL; i++)
			g_hash_table_insert(table->columns, names[i], GUINT_TO_POINTER(i + 1));
		g_free(names);
	}
	return table;
}

void
table_free(struct table *table)
{
	if (table == NULL)
		return;
	g_ptr_array_unref(table->lines);
	g_hash_table_unref(table->columns);
	g_free(table->text);
	g_free(table);
}

char **
table_line(const struct table *table, unsigned at)
{
	return g_ptr_array_index(table->lines, at);
}

unsigned
table_column(const struct table *table, const char *name)
{
	unsigned at = GPOINTER_TO_UINT(g_hash_table_lookup(table->columns, name));

	g_assert(at > 0);
	return at - 1;
}

const char *
table_text(const struct table *table, unsigned line, const char *name)
{
	return table_line(table, line)[table_column(table, name)];
}

int64_t
table_number(const struct table *table, unsigned line, const char *name)
{
	const char *text = table_text(table, line, name);

	return *text != '\0' ? g_ascii_strtoll(text, NULL, 10) : UNKNOWN;
}

bool
table_is(const struct table *table, unsigned line, const char *name, const char *text)
{
	return strcmp(table_text(table, line, name), text) == 0;
}
