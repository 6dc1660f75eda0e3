#include "report/layers.h"

static void
row_clear(void *data)
{
	struct layer_row *row = data;

	g_free(row->name);
}

static void
layer_clear(void *data)
{
	struct layer *layer = data;

	g_array_unref(layer->rows);
}

static void
add_row(GArray *rows, const struct mountstats_op *op, const char *what, uint64_t sum_ms)
{
	struct layer_row row = {
		.name = g_strconcat(op->name, what, NULL),
		.count = op->calls,
		.mean_ns = mountstats_mean_ns(sum_ms, op->calls),
		.p95_ns = -1,
	};

	g_array_append_val(rows, row);
}

static GArray *
mount_rows(const struct mountstats_mount *mount)
{
	GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct layer_row));

	g_array_set_clear_func(rows, row_clear);
	for (unsigned i = 0; i < mount->op_count; i++) {
		const struct mountstats_op *op = &mount->ops[i];

		add_row(rows, op, "", op->execute_ms);
		add_row(rows, op, " queue", op->queue_ms);
		add_row(rows, op, " rtt", op->rtt_ms);
	}
	return rows;
}

GArray *
report_layers(const struct report *report)
{
	GArray *layers = g_array_new(FALSE, FALSE, sizeof(struct layer));
	const struct mountstats_delta *counters = report->counters;

	g_array_set_clear_func(layers, layer_clear);
	for (unsigned i = 0; counters != NULL && i < counters->mount_count; i++) {
		struct layer layer = {
			.kind = "mountstats",
			.name = counters->mounts[i].device,
			.from_ns = counters->from_ns,
			.to_ns = counters->to_ns,
		};

		if (counters->mounts[i].op_count == 0)
			continue;
		layer.rows = mount_rows(&counters->mounts[i]);
		g_array_append_val(layers, layer);
	}
	return layers;
}
