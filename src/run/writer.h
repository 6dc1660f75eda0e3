/*
 * A thread that writes what nobody may wait for: a pager that is stopped, or a
 * disk that is slow, must not cost a capture its packets. What it cannot take
 * any more is left out whole.
 */
#ifndef RUN_WRITER_H
#define RUN_WRITER_H

#include <stdbool.h>
#include <stddef.h>

struct writer;

/* Called by the thread when writing failed. */
typedef void writer_wake_fn(void *context);

/* fd is borrowed. most_bytes: that may wait, beside the piece that is being written. */
struct writer *writer_new(int fd, size_t most_bytes, writer_wake_fn *wake, void *context);
/* Gives up what waits unless writer_finish came before; a write that hangs is left hanging. NULL allowed. */
void writer_free(struct writer *writer);
/*
 * Takes text (of g_malloc). False, and nothing of it is written, when too much
 * waits already; must: it is taken all the same.
 */
bool writer_offer(struct writer *writer, char *text, size_t len, bool must);
/* The errno of the write that failed, after which nothing is written; 0: none did. */
int writer_error(struct writer *writer);
/* True when nothing waits any more, or writing failed. */
bool writer_is_idle(struct writer *writer);

#endif
