#include "run/confine.h"

#include <jansson.h>

struct rights *
confine_begin(const struct options *options, const struct keeper_save *save, GError **error)
{
	g_autoptr(GPtrArray) inputs = g_ptr_array_new();
	g_autoptr(GPtrArray) outputs = g_ptr_array_new();
	struct rights_config config = { .inputs = inputs, .outputs = outputs, .user = options->user };

	g_ptr_array_extend(inputs, options->server, NULL, NULL);
	for (unsigned i = 0; i < options->clients->len; i++)
		g_ptr_array_extend(inputs, g_ptr_array_index(options->clients, i), NULL, NULL);
	if (options->json_path != NULL)
		g_ptr_array_add(outputs, options->json_path);
	if (options->ops_path != NULL)
		g_ptr_array_add(outputs, options->ops_path);
	if (save != NULL)
		config.save = *save;
	return rights_new(&config, error);
}

bool
confine(struct rights *rights, struct log *log, GError **error)
{
	g_autofree char *given_up = NULL;
	g_autofree char *left = NULL;

	/* from the kernel, which it would ask by a file later */
	json_object_seed(0);
	if (!rights_enter(rights, PHASE_RUN, error))
		return false;
	if (rights == NULL)
		return true;
	given_up = rights_given_up(rights);
	left = rights_left(rights);
	log_line(log, LOG_VERBOSE, "rights", "%s", given_up);
	if (left != NULL)
		log_line(log, LOG_VERBOSE, "rights", "%s", left);
	return true;
}
