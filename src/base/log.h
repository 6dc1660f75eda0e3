/*
 * Diagnostics for the user: one line each, `nfscorr: module: text`.
 *
 * A log may be used by several threads. A text that was printed lately is
 * counted instead of being printed again; the count follows when the log is
 * flushed or has forgotten the text. Control and formatting characters are
 * escaped: a text may hold names that come from a capture or a file system.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <glib.h>
#include <stdio.h>

struct log;

/* What a log prints; as the level of a line, the lowest level of a log that prints it. */
enum log_level {
	LOG_QUIET,	/* why something failed */
	LOG_NORMAL,	/* what the user should know about the result */
	LOG_VERBOSE,	/* what is being done */
};

/* The stream is borrowed until log_free. */
struct log *log_new(FILE *stream, enum log_level level);
/* Flushes; NULL is allowed. */
void log_free(struct log *log);

/* Prints one line; the format makes the text, without a line feed. */
void log_line(struct log *log, enum log_level level, const char *module, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
/* Prints how often texts were repeated since they were printed. */
void log_flush(struct log *log);

#endif
