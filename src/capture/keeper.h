/*
 * A small process that kept the rights which the program gives up, and opens
 * what cannot be opened before: a file that is read again, the next one of a
 * set, an output, the next file of a rotation. It knows their names from the
 * start and a few verbs, and is asked by number: nothing that a capture makes
 * of the program can name another file. It sees no packet.
 *
 * Where a keeper is NULL the program does the same itself, with what rights it
 * has. Safe from any thread.
 */
#ifndef CAPTURE_KEEPER_H
#define CAPTURE_KEEPER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/bytes.h"
#include "capture/target.h"

struct keeper;

/* The name of a rotation's file: number from 0, begun at seconds since 1970. Caller frees. */
typedef char *keeper_name_fn(const void *context, uint64_t number, int64_t seconds);
struct keeper_save {
	keeper_name_fn *name;	/* NULL: no packets are saved */
	const void *context;
};

struct keeper_config {
	const GPtrArray *inputs, *outputs;	/* char *: paths; NULL: none */
	struct keeper_save save;
	struct owner owner;	/* of outputs and saved packets; who opens what root may not */
	/* What the new process does first, to give up all but what it needs; NULL: nothing. */
	void (*restrict_rights)(void *context, int socket);
	void *restrict_context;
};

/* config is copied, the contexts are the new process's from then on. No other thread may be there yet. */
struct keeper *keeper_start(const struct keeper_config *config, GError **error);
/* Ends the process; what was not committed is dropped. NULL allowed. */
void keeper_free(struct keeper *keeper);
/* The descriptor by which it is asked, and the process. */
int keeper_socket(const struct keeper *keeper);
pid_t keeper_process(const struct keeper *keeper);

/* ---- the verbs: -1 and errno when it cannot be done; EACCES: not a name that it knows ---- */

/* Open for reading; the first writer of a FIFO is waited for, by wait unless it is NULL. The caller's to close. */
int keeper_input(struct keeper *keeper, const char *path, bytes_wait_fn *wait, void *context);
/*
 * An output as target.h has it; a FIFO's first reader is waited for, here and
 * not by the keeper. *target is for keeper_commit or keeper_drop, which take it;
 * the descriptor is the caller's, to be closed before the commit.
 */
struct keeper_target { unsigned number; struct target *own; };
int keeper_output(struct keeper *keeper, const char *path, struct keeper_target *target);
int keeper_commit(struct keeper *keeper, struct keeper_target *target);	/* 0, or an errno */
void keeper_drop(struct keeper *keeper, struct keeper_target *target);
/*
 * A file of saved packets, empty, which shows at once under its name; what had
 * the name is replaced. save is for the program itself: a keeper has its own.
 */
int keeper_open_save(struct keeper *keeper, const struct keeper_save *save, uint64_t number, int64_t seconds);

/* What a path was at the start. "-" is a stream. */
enum keeper_kind { KEEPER_NOTHING, KEEPER_FILE, KEEPER_FOLDER, KEEPER_STREAM };
enum keeper_kind keeper_kind(const struct keeper *keeper, const char *path);
/* The same of an output. */
enum keeper_kind keeper_output_kind(const struct keeper *keeper, const char *path);

#endif
