/*
 * The error domain of everything a user may read (GError), and the exit status
 * that each code leads to.
 */
#ifndef BASE_ERRORS_H
#define BASE_ERRORS_H

#include <glib.h>

#define NFSCORR_ERROR nfscorr_error_quark()
GQuark nfscorr_error_quark(void);

enum nfscorr_error {
	NFSCORR_ERROR_FAILED,	/* exit 1: unreadable input, output that cannot be written */
	NFSCORR_ERROR_USAGE,	/* exit 2 */
	NFSCORR_ERROR_CUT,	/* the input ends inside a packet or block; what came before is whole */
};

#endif
