/*
 * A pcap-filter expression, for packets of any link type.
 */
#ifndef CAPTURE_FILTER_H
#define CAPTURE_FILTER_H

#include <glib.h>
#include <stdbool.h>

#include "capture/packet.h"

struct filter;

/*
 * Compiles it for all link types that we know, since names in it are looked up
 * now and cannot be later. NFSCORR_ERROR_USAGE when it fits none. Caller frees.
 */
struct filter *filter_new(const char *text, GError **error);
void filter_free(struct filter *filter);	/* NULL allowed */
/* False with NFSCORR_ERROR_USAGE: it has no meaning for this link type. */
bool filter_fits(const struct filter *filter, int link_type, GError **error);
/* Link types that it does not fit do not pass. Safe from any thread. */
bool filter_passes(const struct filter *filter, const struct packet *packet);

#endif
