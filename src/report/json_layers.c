/*
 * JSON: layers.
 */
#include "report/json_value.h"
#include "report/layers.h"

static json_t *
layer_row(const struct layer_row *row)
{
	json_t *object = json_object();

	object_put(object, "name", value_text(row->name));
	object_put(object, "count", value_count(row->count));
	object_put(object, "mean_ns", json_integer(row->mean_ns));
	object_put(object, "p95_ns", value_known(row->p95_ns >= 0, row->p95_ns));
	return object;
}

json_t *
block_layers(const struct report *report)
{
	json_t *array = json_array();
	g_autoptr(GArray) layers = report_layers(report);

	for (unsigned i = 0; i < layers->len; i++) {
		const struct layer *layer = &g_array_index(layers, struct layer, i);
		json_t *object = json_object(), *rows = json_array();

		for (unsigned j = 0; j < layer->rows->len; j++)
			array_append(rows, layer_row(&g_array_index(layer->rows, struct layer_row, j)));
		object_put(object, "kind", value_text(layer->kind));
		object_put(object, "name", value_text(layer->name));
		object_put(object, "from_ns", json_integer(layer->from_ns));
		object_put(object, "to_ns", json_integer(layer->to_ns));
		object_put(object, "rows", rows);
		array_append(array, object);
	}
	return array;
}
