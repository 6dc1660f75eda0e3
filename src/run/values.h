/*
 * The values of options: numbers, sizes, seconds, choices.
 *
 * All return false with an error of NFSCORR_ERROR_USAGE that names the option
 * and what it takes; name is without its dashes.
 */
#ifndef RUN_VALUES_H
#define RUN_VALUES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Always false, so that it can be returned. */
bool value_wrong(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* A whole number within bounds and nothing behind it. */
bool value_number(const char *name, const char *text, int64_t least, int64_t most, int64_t *value, GError **error);
/* 512M, 4G, 100000000: bytes, with a unit of 1024. */
bool value_size(const char *name, const char *text, uint64_t *bytes, GError **error);
/* 5, 0.5: seconds with up to nine decimals, at least a tenth. */
bool value_seconds(const char *name, const char *text, int64_t *ns, GError **error);
/* The place of text in choices. */
bool value_choice(const char *name, const char *text, const char *const *choices, unsigned count, unsigned *choice,
    GError **error);

#endif
