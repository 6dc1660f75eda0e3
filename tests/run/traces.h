/*
 * Random configurations of the trace maker, the traces made of them, and what
 * is known of them.
 */
#ifndef TRACES_H
#define TRACES_H

#include <glib.h>

#include "program.h"
#include "table.h"
#include "trace/trace.h"

struct trace {
	uint64_t seed;
	GPtrArray *options;	/* char *: NAME=VALUE or NAME, as the trace maker takes them */
	struct trace_config config;
	char *folder;
	GPtrArray *paths;	/* server, clients, NULL */
	struct table *truth;
	GHashTable *by_stamp;	/* "c|s:stamp:xid" to GArray of unsigned, lines of the truth */
	struct outcome *base;	/* the plain run; made when it is asked for */
	GRand *rand;		/* of the property */
};

/* What the seed chooses. Taken by the caller. */
GPtrArray *choose_options(uint64_t seed);
/* Their truth is known. */
bool allowed(GPtrArray *options);

/* In a folder inside tmp, whatever was there. Taken by the caller. */
struct trace *trace_new(const char *tmp, uint64_t seed, GPtrArray *options);
void trace_free(struct trace *trace);
/* NAME, server-NAME and client-NAME are the same trouble. */
bool has_option(const struct trace *trace, const char *name);
/* Packets are missing in a capture. */
bool captures_lack(const struct trace *trace);
/* Borrowed. */
const struct outcome *base_of(struct trace *trace);
/* Another trace of nearly the same configuration, in a folder beside. Taken by the caller. */
struct outcome *run_variant(struct trace *trace, const struct trace_config *config);
/*
 * Stamps of a capture's packets, by frame number from 1, and, unless it is
 * NULL, where in the file they begin. Taken by the caller.
 */
GArray *stamps_of(const struct trace_capture *capture, const char *path, GArray **places);

#endif
