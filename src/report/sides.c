#include "report/sides.h"

#include <glib.h>

#include "base/arith.h"
#include "stats/rows.h"

bool
report_has_side(const struct report *report, enum pair_side side)
{
	for (unsigned i = 0; i < report->capture_count; i++) {
		if (report->captures[i].side == side)
			return true;
	}
	return false;
}

static struct side_line *
line_of(GArray *lines, const struct row_key *key)
{
	struct side_line line = { .row = { .key = *key }, .rated = true };
	unsigned i;

	for (i = 0; i < lines->len; i++) {
		struct side_line *there = &g_array_index(lines, struct side_line, i);
		int order = row_key_compare(&there->row.key, key);

		if (order == 0)
			return there;
		if (order > 0)
			break;
	}
	g_array_insert_val(lines, i, line);
	return &g_array_index(lines, struct side_line, i);
}

static void
line_add(struct side_line *line, const struct side_row *row, const struct capture_facts *facts)
{
	double seconds = (double)duration_ns(facts->first_ns, facts->last_ns) / NS_PER_S;

	side_row_merge(&line->row, row);
	if (seconds > 0) {
		line->per_second += (double)row->count / seconds;
		line->bytes_per_second += (double)row->bytes / seconds;
	} else {
		line->rated = false;
	}
}

struct side_line *
side_lines(const struct report *report, enum pair_side side, unsigned *count)
{
	GArray *lines = g_array_new(FALSE, FALSE, sizeof(struct side_line));

	for (unsigned i = 0; i < report->capture_count; i++) {
		const struct side_row *const *rows;
		unsigned row_count;

		if (report->captures[i].side != side)
			continue;
		rows = aggregate_side(report->aggregate, i, &row_count);
		for (unsigned j = 0; j < row_count; j++)
			line_add(line_of(lines, &rows[j]->key), rows[j], &report->captures[i]);
	}
	*count = lines->len;
	return (struct side_line *)(void *)g_array_free(lines, FALSE);
}

void
side_lines_free(struct side_line *lines, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		side_row_clear(&lines[i].row);
	g_free(lines);
}
