/*
 * Whole runs of the program, in this process.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <jansson.h>

#include "table.h"

struct outcome {
	int status;
	json_t *report;		/* without generated_ns, here and below */
	char *json_text;
	struct table *ops;
};

/*
 * paths: server (a file or a folder), client, client ..., NULL, all inside
 * folder: they are named as seen from it, and the outputs go there too. more:
 * another option, or NULL. Taken by the caller.
 */
struct outcome *run_program(const char *folder, const char *const *paths, const char *more);
void outcome_free(struct outcome *outcome);

/*
 * The report alone, by way of a file at the path json. arguments: of the
 * program, NULL at the end; files as seen from folder. An empty object when
 * there is none. Taken by the caller.
 */
json_t *run_report(const char *folder, const char *json, const char *const *arguments);

#endif
