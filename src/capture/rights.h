/*
 * What the program may do, given up step by step as phases.h has it: the
 * interface is opened, the user changed, capabilities and system calls dropped,
 * and only then is a packet looked at. What is opened later is opened by the
 * keeper.
 */
#ifndef CAPTURE_RIGHTS_H
#define CAPTURE_RIGHTS_H

#include <glib.h>
#include <stdbool.h>

#include "capture/keeper.h"
#include "capture/phases.h"

struct rights;

struct rights_config {
	const GPtrArray *inputs, *outputs;	/* char *: paths that may be opened later; NULL: none */
	struct keeper_save save;
	const char *user;	/* to become; NULL: who called sudo, else nobody; only root becomes somebody else */
};

/*
 * PHASE_START; starts the keeper, so that no other thread may be there yet.
 * NFSCORR_ERROR_USAGE for a user who does not exist, or whom one may not become.
 */
struct rights *rights_new(const struct rights_config *config, GError **error);
/* Ends the keeper; what was given up stays so. NULL allowed. */
void rights_free(struct rights *rights);
/* Borrowed; NULL for NULL. */
struct keeper *rights_keeper(const struct rights *rights);

/* Before PHASE_RUN: this descriptor, of an interface, is not written to. */
void rights_protect_device(struct rights *rights, int fd);
/*
 * On to PHASE_OPEN or PHASE_RUN, for good. NULL rights: nothing happens. False
 * with an error when the user cannot be changed although -Z asked for it; what
 * a container or a kernel lacks otherwise is left, and told by rights_left.
 *
 * In PHASE_RUN open() and socket() fail, by EACCES, whatever they name: what is
 * read again and again, as of /proc and /sys, is opened before and read from its
 * start. Host names, users, time zones and character sets cannot be looked up.
 * Threads can be started, processes not.
 */
bool rights_enter(struct rights *rights, enum phase phase, GError **error);
/* In words for the log, of PHASE_RUN: what is given up; and what should be, and why not: NULL, nothing. Caller frees. */
char *rights_given_up(const struct rights *rights);
char *rights_left(const struct rights *rights);

#endif
