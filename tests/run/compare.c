#include "compare.h"

#include <stdlib.h>
#include <string.h>

enum { QUANTILE_ERRORS = 50 };	/* two quantiles off by one part in a hundred each */

json_t *
value_at(json_t *json, const char *path)
{
	g_auto(GStrv) part = g_strsplit(path, ".", -1);

	for (unsigned i = 0; part[i] != NULL && json != NULL; i++)
		json = g_ascii_isdigit(*part[i])
			? json_array_get(json, (size_t)g_ascii_strtoull(part[i], NULL, 10))
			: json_object_get(json, part[i]);
	return json;
}

int64_t
integer_at(json_t *json, const char *path)
{
	json_t *value = value_at(json, path);

	return json_is_integer(value) ? json_integer_value(value) : UNKNOWN;
}

static bool
is_close(int64_t a, int64_t b, int64_t most)
{
	return (a == UNKNOWN) == (b == UNKNOWN) && ABS(a - b) <= most;
}

/* Sums are means, and what is in the buckets are the quantiles. */
static bool
is_close_dist(json_t *a, json_t *b, int64_t most_ns)
{
	static const char *const exact[] = { "min", "max", "mean", "min_ns", "max_ns", "mean_ns" };
	static const char *const quantile[] = { "p50", "p95", "p99", "p999" };
	bool same = integer_at(a, "count") == integer_at(b, "count");

	for (unsigned i = 0; i < G_N_ELEMENTS(exact); i++)
		same &= is_close(integer_at(a, exact[i]), integer_at(b, exact[i]), most_ns);
	for (unsigned i = 0; i < G_N_ELEMENTS(quantile); i++) {
		int64_t left = integer_at(a, quantile[i]);

		same &= is_close(left, integer_at(b, quantile[i]),
			most_ns + (left != UNKNOWN ? ABS(left) / QUANTILE_ERRORS : 0));
	}
	return same;
}

static bool
may_be_close(const struct leeway *leeway, const char *name)
{
	return leeway->close != NULL && g_strv_contains(leeway->close, name);
}

static bool
same_value(json_t *a, json_t *b, const char *name, const struct leeway *leeway)
{
	if (a == NULL || b == NULL || json_typeof(a) != json_typeof(b))
		return false;
	if (may_be_close(leeway, name) && json_is_integer(a))
		return is_close(json_integer_value(a), json_integer_value(b), leeway->close_ns);
	if (may_be_close(leeway, name) && json_is_object(a))
		return is_close_dist(a, b, leeway->close_ns);
	return json_equal(a, b);
}

/* Where two values differ first; true when they do. name: of the key they are at. */
static bool
differ(json_t *a, json_t *b, const char *name, const struct leeway *leeway, GString *path)
{
	gsize len = path->len;
	struct leeway drift = *leeway;
	const char *key;
	json_t *value;
	size_t i;

	/* the same for the bound of a drift */
	drift.close_ns += MAX(integer_at(a, "drift_error_ppb"), 0) / ERROR_PARTS;
	if (same_value(a, b, name, leeway))
		return false;
	if (!may_be_close(leeway, name) && json_is_object(a) && json_is_object(b)) {
		json_object_foreach(a, key, value) {
			g_string_append_printf(path, ".%s", key);
			if (differ(value, json_object_get(b, key), key,
			    g_str_has_prefix(key, "drift") ? &drift : leeway, path))
				return true;
			g_string_truncate(path, len);
		}
		if (json_object_size(a) == json_object_size(b))
			return false;
	}
	if (json_is_array(a) && json_is_array(b) && json_array_size(a) == json_array_size(b)) {
		json_array_foreach(a, i, value) {
			g_string_append_printf(path, ".%zu", i);
			if (differ(value, json_array_get(b, i), name, leeway, path))
				return true;
			g_string_truncate(path, len);
		}
		return false;
	}
	g_autofree char *left = a != NULL ? json_dumps(a, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	g_autofree char *right = b != NULL ? json_dumps(b, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

	g_string_append_printf(path, ": %.200s against %.200s", left != NULL ? left : "none",
		right != NULL ? right : "none");
	return true;
}

/* Takes NAME or PARENT.NAME out of all that is in a value at the key `under`. */
static void
forget_key(json_t *json, const char *under, const char *key)
{
	const char *dot = strchr(key, '.');
	const char *name;
	json_t *value;
	size_t i;

	if (json_is_object(json)) {
		if (dot == NULL || (strlen(under) == (size_t)(dot - key) && g_str_has_prefix(key, under)))
			json_object_del(json, dot == NULL ? key : dot + 1);
		json_object_foreach(json, name, value)
			forget_key(value, name, key);
	} else if (json_is_array(json)) {
		json_array_foreach(json, i, value)
			forget_key(value, under, key);
	}
}

static gint
by_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Puts the members of the lists at this key into an order of their own. */
static void
order_lists(json_t *json, const char *under, const char *key)
{
	const char *name;
	json_t *value;
	size_t i;

	if (json_is_object(json)) {
		json_object_foreach(json, name, value)
			order_lists(value, name, key);
	} else if (json_is_array(json) && strcmp(under, key) == 0) {
		g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(free);

		json_array_foreach(json, i, value)
			g_ptr_array_add(texts, json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS));
		g_ptr_array_sort(texts, by_text);
		json_array_clear(json);
		for (i = 0; i < texts->len; i++)
			json_array_append_new(json, json_loads(texts->pdata[i], 0, NULL));
	}
}

/* The bound in a line of records; 0: none. */
static int64_t
error_of(const struct table *ops, unsigned line, const struct leeway *leeway)
{
	int64_t error_ns = leeway->error != NULL ? table_number(ops, line, leeway->error) : UNKNOWN;

	return error_ns == UNKNOWN ? 0 : error_ns;
}

static int64_t
largest_error(const struct table *ops, const struct leeway *leeway)
{
	int64_t largest_ns = 0;

	for (unsigned line = 0; line < ops->lines->len; line++)
		largest_ns = MAX(largest_ns, error_of(ops, line, leeway));
	return largest_ns;
}

bool
same_report(const struct outcome *a, const struct outcome *b, const struct leeway *records, GString *why)
{
	struct leeway with_error = *records;
	const struct leeway *leeway = &with_error;
	json_t *left = json_deep_copy(a->report);
	json_t *right = json_deep_copy(b->report);
	g_autoptr(GString) path = g_string_new(NULL);
	bool same;

	with_error.close_ns += MAX(largest_error(a->ops, records), largest_error(b->ops, records)) / ERROR_PARTS;
	for (unsigned i = 0; leeway->keys != NULL && leeway->keys[i] != NULL; i++) {
		forget_key(left, "", leeway->keys[i]);
		forget_key(right, "", leeway->keys[i]);
	}
	for (unsigned i = 0; leeway->unordered != NULL && leeway->unordered[i] != NULL; i++) {
		order_lists(left, "", leeway->unordered[i]);
		order_lists(right, "", leeway->unordered[i]);
	}
	same = !differ(left, right, "", leeway, path);
	if (!same)
		g_string_append_printf(why, "the report differs at %s", path->str);
	json_decref(left);
	json_decref(right);
	return same;
}

/* ---- records ---- */

/* A record: what must be the same, and what must be close. */
struct record {
	char *exact;
	GArray *close;		/* int64_t */
	int64_t error_ns;	/* 0: none */
};

static void
record_clear(void *data)
{
	struct record *record = data;

	g_free(record->exact);
	g_array_unref(record->close);
}

static gint
by_content(gconstpointer a, gconstpointer b)
{
	const struct record *left = a, *right = b;
	int order = strcmp(left->exact, right->exact);

	for (unsigned i = 0; order == 0 && i < left->close->len; i++) {
		int64_t x = g_array_index(left->close, int64_t, i);
		int64_t y = g_array_index(right->close, int64_t, i);

		order = (x > y) - (x < y);
	}
	return order;
}

static GArray *
sorted_records(const struct table *ops, const struct leeway *leeway)
{
	GArray *records = g_array_new(FALSE, FALSE, sizeof(struct record));

	g_array_set_clear_func(records, record_clear);
	for (unsigned line = 0; line < ops->lines->len; line++) {
		g_auto(GStrv) fields = g_strdupv(table_line(ops, line));
		struct record record = { .close = g_array_new(FALSE, FALSE, sizeof(int64_t)),
			.error_ns = error_of(ops, line, leeway) };

		for (unsigned i = 0; leeway->columns != NULL && leeway->columns[i] != NULL; i++)
			*fields[table_column(ops, leeway->columns[i])] = '\0';
		for (unsigned i = 0; leeway->close != NULL && leeway->close[i] != NULL; i++) {
			int64_t number;

			if (!g_hash_table_contains(ops->columns, leeway->close[i]))
				continue;
			number = table_number(ops, line, leeway->close[i]);
			g_array_append_val(record.close, number);
			*fields[table_column(ops, leeway->close[i])] = '\0';
		}
		record.exact = g_strjoinv(",", fields);
		g_array_append_val(records, record);
	}
	g_array_sort(records, by_content);
	return records;
}

static bool
same_record(const struct record *a, const struct record *b, int64_t close_ns)
{
	bool same = strcmp(a->exact, b->exact) == 0;

	close_ns += MAX(a->error_ns, b->error_ns) / ERROR_PARTS;
	for (unsigned i = 0; i < a->close->len; i++)
		same &= is_close(g_array_index(a->close, int64_t, i), g_array_index(b->close, int64_t, i),
			close_ns);
	return same;
}

static void
explain(const struct record *record, GString *why)
{
	g_string_append_printf(why, "\n  %s", record->exact);
	for (unsigned i = 0; i < record->close->len; i++) {
		int64_t number = g_array_index(record->close, int64_t, i);

		if (number != UNKNOWN)
			g_string_append_printf(why, " %" G_GINT64_FORMAT, number);
		else
			g_string_append(why, " none");
	}
}

bool
same_records(const struct table *a, const struct table *b, const struct leeway *leeway, GString *why)
{
	g_autoptr(GArray) left = sorted_records(a, leeway);
	g_autoptr(GArray) right = sorted_records(b, leeway);
	unsigned fewer = MIN(left->len, right->len);

	for (unsigned i = 0; i < fewer; i++) {
		const struct record *x = &g_array_index(left, struct record, i);
		const struct record *y = &g_array_index(right, struct record, i);

		if (same_record(x, y, leeway->close_ns))
			continue;
		g_string_append(why, "records differ:");
		explain(x, why);
		explain(y, why);
		return false;
	}
	if (left->len != right->len)
		g_string_append_printf(why, "%u records against %u", left->len, right->len);
	return left->len == right->len;
}
