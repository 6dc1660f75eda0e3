/*
 * The configuration as an object for truth.json.
 */
#ifndef TRACE_CONFIG_H
#define TRACE_CONFIG_H

#include <jansson.h>

#include "trace/trace.h"

/* One member an option. Taken by the caller. */
json_t *trace_config_json(const struct trace_config *config);
/* False with an error for a combination that makes no sense. */
bool trace_config_check(const struct trace_config *config, GError **error);

#endif
