/*
 * The command line (the table in nfscorr(1)).
 */
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H

#include <glib.h>
#include <stdbool.h>

#include "correlate/clock.h"
#include "report/report.h"
#include "stats/quality.h"

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
enum side_option { SIDE_DETECT, SIDE_SERVER, SIDE_CLIENT };

struct options {
	GPtrArray *server;		/* char *: files of the server's capture; empty with one capture of a client */
	GPtrArray *clients;		/* GPtrArray of char *: the files of each client's capture */
	enum side_option side;		/* of a single capture */
	bool sides_named;		/* --server and --client rather than positions */
	bool swap;
	enum clock_mode clock_mode;
	int64_t clock_given_ns;
	char *filter;
	GArray *ports;			/* uint16_t: more ports of NFS */
	bool json;			/* on standard output, instead of the text */
	char *json_path;
	char *ops_path;
	enum ops_format ops_format;
	unsigned top;
	unsigned threads;
	uint64_t max_memory;		/* bytes; 0: the default caps */
	bool quiet, verbose, progress;
	enum color_mode color;
	char *interface;		/* live; the server, if any, is the one capture then. NULL: captures are read */
	bool list_interfaces;
	char *write_path;		/* NULL: packets are not saved */
	uint64_t write_bytes;		/* of a file, about; 0: however long it gets */
	unsigned write_seconds;		/* of a file; 0: however long it takes */
	unsigned write_files;		/* 0: as many as there are */
	uint32_t snaplen;		/* bytes kept of a packet; 0: headers, as many as it takes */
	uint32_t buffer_kib;		/* of the kernel's ring; 0: the default */
	int64_t interval_ns;
	int64_t duration_ns;		/* 0: until it is ended */
	uint64_t count;			/* calls; 0: until it is ended */
	char *user;			/* to become; NULL: who called sudo, or nobody */
	bool show_commands;		/* --how-to-capture */
	enum capture_system system;
};

/* What main does next. */
enum options_result { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG };

/*
 * Reads the command line; OPTIONS_DONE after help or version was printed,
 * OPTIONS_WRONG with an error of NFSCORR_ERROR_USAGE.
 */
enum options_result options_read(struct options *options, int argc, char **argv, GError **error);
void options_clear(struct options *options);

#endif
