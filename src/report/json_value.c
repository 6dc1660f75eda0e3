#include "report/json_value.h"

#include <glib.h>
#include <math.h>

#include "report/words.h"

enum { SHARE_DECIMALS = 1000000 };

/* NULL from jansson means that memory is out, as for GLib. */
void
object_put(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) != 0)
		g_error("json: no memory for %s", key);
}

void
array_append(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value) != 0)
		g_error("json: no memory");
}

bool
root_write(json_t *root, FILE *out)
{
	/* 15 digits carry six decimals exactly and print no binary remainder. */
	bool written = json_dumpf(root, out, JSON_COMPACT | JSON_REAL_PRECISION(15)) == 0 && fputc('\n', out) != EOF;

	json_decref(root);
	return written;
}

/* Names may hold any bytes: those that are not UTF-8 become \xNN. */
json_t *
value_text(const char *bytes)
{
	g_autoptr(GString) out = NULL;
	const char *end;

	if (bytes == NULL)
		return json_null();
	if (g_utf8_validate(bytes, -1, NULL))
		return json_string(bytes);
	out = g_string_new(NULL);
	while (!g_utf8_validate(bytes, -1, &end)) {
		g_string_append_len(out, bytes, end - bytes);
		g_string_append_printf(out, "\\x%02x", (unsigned char)*end);
		bytes = end + 1;
	}
	g_string_append(out, bytes);
	return json_string(out->str);
}

json_t *
value_known(bool is_known, int64_t value)
{
	return is_known ? json_integer(value) : json_null();
}

/* What JSON's integers do not hold (a file offset may) is null. */
json_t *
value_count(uint64_t value)
{
	return value <= INT64_MAX ? json_integer((json_int_t)value) : json_null();
}

json_t *
value_decimal(bool is_known, double value)
{
	return is_known ? json_real(round(value * SHARE_DECIMALS) / SHARE_DECIMALS) : json_null();
}

json_t *
value_share(__int128 part, __int128 whole)
{
	double value = 0;
	bool is_known = share_of(part, whole, &value);

	return value_decimal(is_known, value);
}

static void
append_bucket(void *context, int64_t lower_ns, uint64_t calls)
{
	array_append(context, json_pack("[I,o]", (json_int_t)lower_ns, value_count(calls)));
}

static json_t *
quantile(const struct dist *dist, unsigned per_mille)
{
	return dist->counts != NULL ? json_integer(dist_quantile(dist, per_mille)) : json_null();
}

json_t *
value_dist(const struct dist *dist, bool with_buckets)
{
	json_t *object, *buckets;
	bool fits = dist->sum_ns >= INT64_MIN && dist->sum_ns <= INT64_MAX;

	if (dist->count == 0)
		return json_null();
	object = json_object();
	object_put(object, "count", value_count(dist->count));
	object_put(object, "sum", value_known(fits, fits ? (int64_t)dist->sum_ns : 0));
	object_put(object, "mean", json_integer(dist_mean(dist)));
	object_put(object, "min", json_integer(dist->min_ns));
	object_put(object, "p50", quantile(dist, 500));
	object_put(object, "p95", quantile(dist, 950));
	object_put(object, "p99", quantile(dist, 990));
	object_put(object, "p999", quantile(dist, 999));
	object_put(object, "max", json_integer(dist->max_ns));
	if (with_buckets) {
		buckets = json_array();
		dist_each_bucket(dist, append_bucket, buckets);
		object_put(object, "hist", buckets);
	}
	return object;
}

json_t *
value_clients_part(const struct dist *client, const struct dist *total, bool with_buckets)
{
	return client_of(client, total) != NULL ? value_dist(client, with_buckets) : json_null();
}

void
object_put_names(json_t *object, const struct row_key *key)
{
	char version[NAME_SIZE], procedure[NAME_SIZE];

	row_names(key, version, procedure);
	object_put(object, "version", value_text(version));
	object_put(object, "proc", value_text(procedure));
}
