/*
 * Whether two runs said the same.
 */
#ifndef COMPARE_H
#define COMPARE_H

#include "program.h"

/* What may differ: names of keys and columns, NULL-terminated; a list may be NULL. */
struct leeway {
	const char *const *keys;	/* NAME, or PARENT.NAME: left out of the reports */
	const char *const *columns;	/* left out of the records */
	const char *const *unordered;	/* keys of lists that may be in another order */
	/*
	 * Keys and columns whose numbers may differ by close_ns. A distribution
	 * of that name: as many values, ends and mean as close, quantiles with
	 * their own error on top. error: the column with the bound of a record's
	 * clock, or NULL; one part in ERROR_PARTS of it more: the clock passes
	 * over a bound that takes less than a 1024th of the width away, which is
	 * twice the error, so that of several the order decides which one counts.
	 */
	const char *const *close;
	int64_t close_ns;
	const char *error;
};
enum { ERROR_PARTS = 512 };

/* Names separated by dots, numbers for lists; NULL: there is none. Borrowed. */
json_t *value_at(json_t *json, const char *path);
/* UNKNOWN: no integer. */
int64_t integer_at(json_t *json, const char *path);

/* False with the first difference appended to why. */
bool same_report(const struct outcome *a, const struct outcome *b, const struct leeway *leeway, GString *why);
/* The same, in any order. */
bool same_records(const struct table *a, const struct table *b, const struct leeway *leeway, GString *why);

#endif
