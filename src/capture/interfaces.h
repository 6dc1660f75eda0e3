/*
 * The network interfaces of this host; nobody needs rights to see them.
 */
#ifndef CAPTURE_INTERFACES_H
#define CAPTURE_INTERFACES_H

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

/* One a line, with its state, description and addresses. False with an error when they cannot be listed. */
bool interfaces_print(FILE *file, GError **error);
/* "eth0, lo, any", for a message. Caller frees. */
char *interfaces_names(void);

#endif
