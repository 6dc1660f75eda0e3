#include "stats/capture_facts.h"

#include <glib.h>

enum { PAIRS_TOLD = 3 };

static const char *const ways[] = { [WAY_UNKNOWN] = "", [WAY_IN] = " (in)", [WAY_OUT] = " (out)" };

const char *
capture_interface_name(const struct capture_facts *facts, const struct capture_point *point)
{
	return point->kind == POINT_OF_FILE && facts->interfaces != NULL && point->number < FILE_INTERFACES ?
	    facts->interfaces[point->number] : NULL;
}

static void
append_point(GString *text, const struct capture_facts *facts, const struct capture_point *point)
{
	const char *name = capture_interface_name(facts, point);

	if (name != NULL)
		g_string_append(text, name);
	else if (point->kind == POINT_OF_FILE)
		g_string_append_printf(text, "the file's interface %" G_GUINT32_FORMAT, point->number);
	else if (point->kind == POINT_OF_HOST)
		g_string_append_printf(text, "the host's interface %" G_GUINT32_FORMAT, point->number);
	else
		g_string_append(text, "the capture");
	g_string_append(text, ways[point->way]);
}

static bool
is_told(const struct point_pair *pair)
{
	return pair->kept.kind != POINT_UNKNOWN || pair->kept.way != WAY_UNKNOWN ||
	    pair->dropped.kind != POINT_UNKNOWN || pair->dropped.way != WAY_UNKNOWN || pair->hops != 0;
}

bool
capture_append_pair(GString *text, const struct capture_facts *facts, const struct point_pair *pair)
{
	int routers = ABS(pair->hops);

	if (!is_told(pair))
		return false;
	g_string_append(text, "first on ");
	append_point(text, facts, &pair->kept);
	g_string_append(text, ", again on ");
	append_point(text, facts, &pair->dropped);
	if (pair->hops != 0)
		g_string_append_printf(text, " %d router%s %s", routers, routers == 1 ? "" : "s",
		    pair->hops > 0 ? "further" : "nearer to the sender");
	return true;
}

const struct point_pair *
capture_next_pair(const struct capture_facts *facts, const struct point_pair *before)
{
	const struct point_pairs *all = facts->duplicates;
	const struct point_pair *next = NULL;

	for (unsigned i = 0; all != NULL && i < all->count; i++) {
		const struct point_pair *pair = &all->pair[i];

		if (before != NULL && (pair->packets > before->packets ||
		    (pair->packets == before->packets && pair <= before)))
			continue;
		if (next == NULL || pair->packets > next->packets)
			next = pair;
	}
	return next;
}

void
capture_append_pairs(GString *text, const struct capture_facts *facts)
{
	const struct point_pair *pair = NULL;

	for (unsigned i = 0; i < PAIRS_TOLD; i++) {
		gsize len = text->len;

		pair = capture_next_pair(facts, pair);
		if (pair == NULL)
			return;
		g_string_append_printf(text, "; %" G_GUINT64_FORMAT " ", pair->packets);
		if (!capture_append_pair(text, facts, pair))
			g_string_truncate(text, len);
	}
}
