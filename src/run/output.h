/*
 * Output files that appear whole or not at all.
 */
#ifndef RUN_OUTPUT_H
#define RUN_OUTPUT_H

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

#include "capture/keeper.h"

struct output;

/*
 * A file beside the target that takes its place on commit. A target that is
 * no regular file (a pipe, a device) is written as it is. Errors name the path.
 * keeper: NULL, or one that knows the path; borrowed.
 */
struct output *output_open(struct keeper *keeper, const char *path, GError **error);
/*
 * The same at the start of the work that it is for, which a file that cannot be
 * written would waste. NULL without an error: a pipe or a device, which may keep
 * who opens it waiting; it is for output_open when there is something to write.
 */
struct output *output_open_early(struct keeper *keeper, const char *path, GError **error);
FILE *output_file(struct output *output);
/* Takes output. False with an error when anything could not be written; the target is then as it was. */
bool output_commit(struct output *output, GError **error);
/* Takes output, NULL allowed: nothing appears. */
void output_drop(struct output *output);

#endif
