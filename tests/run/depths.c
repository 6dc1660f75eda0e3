/*
 * Calls in flight, counted again out of the truth the slow way: all begins and
 * ends of all calls in a list, sorted.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "compare.h"
#include "properties.h"

struct change {
	int64_t at_ns;
	int by;
};

struct depths {
	GArray *changes;	/* struct change */
	int64_t sum_ns;
	int64_t calls, max;
	double mean;
};

static int
by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->by - y->by;		/* ends first */
}

static void
depths_free(void *data)
{
	struct depths *depths = data;

	g_array_unref(depths->changes);
	g_free(depths);
}

static struct depths *
depths_new(void)
{
	struct depths *depths = g_new0(struct depths, 1);

	depths->changes = g_array_new(FALSE, FALSE, sizeof(struct change));
	return depths;
}

static void
depths_add(struct depths *depths, int64_t begin_ns, int64_t end_ns)
{
	struct change changes[] = { { begin_ns, 1 }, { end_ns, -1 } };

	if (begin_ns == UNKNOWN || end_ns == UNKNOWN || begin_ns >= end_ns)
		return;
	g_array_append_vals(depths->changes, changes, 2);
	depths->sum_ns += end_ns - begin_ns;
	depths->calls++;
}

static void
depths_count(struct depths *depths)
{
	struct change *change = (struct change *)(void *)depths->changes->data;
	unsigned count = depths->changes->len;
	int64_t now = 0;

	if (count == 0)
		return;
	qsort(change, count, sizeof *change, by_time);
	for (unsigned i = 0; i < count; i++) {
		now += change[i].by;
		depths->max = MAX(depths->max, now);
	}
	depths->mean = (double)depths->sum_ns / (double)(change[count - 1].at_ns - change[0].at_ns);
}

static bool
is_told(struct depths *depths, json_t *told, const char *whose, GString *why)
{
	double mean = json_real_value(json_object_get(told, "mean"));

	depths_count(depths);
	if (depths->calls == 0 && integer_at(told, "max") == UNKNOWN)
		return true;
	if (depths->calls == integer_at(told, "calls") && depths->max == integer_at(told, "max") &&
	    fabs(depths->mean - mean) < 2e-6)
		return true;
	g_string_append_printf(why, "%s: %" PRId64 " calls, %" PRId64 " at most, mean %f; told: %" PRId64 ", %" PRId64
	    ", %f", whose, depths->calls, depths->max, depths->mean, integer_at(told, "calls"),
	    integer_at(told, "max"), mean);
	return false;
}

/* Where the truth of a call at its capture point is one thing, and both captures show all of it. */
static bool
is_settled(const struct trace *trace)
{
	static const char *const unsettled[] = {
		"snaplen", "step", "reconnect", "timeo", "unanswered", "overlap", "nat", "virtual-server", "ip",
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(unsettled); i++) {
		if (has_option(trace, unsettled[i]))
			return false;
	}
	return !captures_lack(trace);
}

bool
prop_depths(struct trace *trace, GString *why)
{
	json_t *concurrency = value_at(base_of(trace)->report, "concurrency"), *told;
	g_autoptr(GHashTable) connections = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, depths_free);
	struct depths *server = depths_new();
	bool good;
	size_t i;

	if (!is_settled(trace)) {
		depths_free(server);
		return true;
	}
	for (unsigned line = 0; line < trace->truth->lines->len; line++) {
		char *name = g_strdup_printf("%s %s %s", table_text(trace->truth, line, "client_addr"),
		    table_text(trace->truth, line, "client_port"), table_text(trace->truth, line, "server_addr"));
		struct depths *depths = g_hash_table_lookup(connections, name);

		if (depths == NULL)
			g_hash_table_insert(connections, g_strdup(name), depths = depths_new());
		g_free(name);
		depths_add(server, table_number(trace->truth, line, "file_s_call_last"),
		    table_number(trace->truth, line, "file_s_reply_first"));
		depths_add(depths, table_number(trace->truth, line, "file_c_call_first"),
		    table_number(trace->truth, line, "file_c_reply_last"));
	}
	good = is_told(server, json_object_get(concurrency, "server"), "server", why);
	json_array_foreach(json_object_get(concurrency, "connections"), i, told) {
		g_autofree char *name = g_strdup_printf("%s %" PRId64 " %s",
		    json_string_value(json_object_get(told, "client")), integer_at(told, "client_port"),
		    json_string_value(json_object_get(told, "server")));
		struct depths *depths = g_hash_table_lookup(connections, name);

		if (depths == NULL)
			g_string_append_printf(why, "no such connection: %s", name);
		good = good && depths != NULL && is_told(depths, told, name, why);
	}
	depths_free(server);
	return good;
}
