/*
 * CSV files without quotes, truth.csv and --ops, by line and name of the column.
 */
#ifndef TABLE_H
#define TABLE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* An empty field. */
#define UNKNOWN INT64_MIN

struct table {
	char *text;		/* the whole file; NULL: there is none */
	GPtrArray *lines;	/* char **: fields, in the order of the columns; without the header */
	GHashTable *columns;	/* name to number + 1 */
};

/* A file that is not there is a table without lines. Taken by the caller. */
struct table *table_read(const char *path);
void table_free(struct table *table);
/* Borrowed, as long as the table is. */
char **table_line(const struct table *table, unsigned line);
/* A name that is no column's aborts: the test is wrong. */
unsigned table_column(const struct table *table, const char *name);
const char *table_text(const struct table *table, unsigned line, const char *name);
int64_t table_number(const struct table *table, unsigned line, const char *name);
bool table_is(const struct table *table, unsigned line, const char *name, const char *text);

#endif
