/*
 * The progress line on standard error of a terminal.
 */
#ifndef RUN_PROGRESS_H
#define RUN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress;

/* wanted is ignored unless standard error is a terminal. */
struct progress *progress_new(bool wanted);
/* Clears the line. NULL allowed. */
void progress_free(struct progress *progress);
/* Bytes done of all (0: not known), and calls so far; redrawn a few times a second, after the first second. */
void progress_show(struct progress *progress, uint64_t done, uint64_t all, uint64_t calls);
/* True when a call of progress_show would draw now: gathering the numbers may cost. */
bool progress_due(struct progress *progress);

#endif
