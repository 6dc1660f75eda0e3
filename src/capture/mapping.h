/*
 * Pages of a file in place of memory. A file that becomes shorter takes its
 * pages away, and so does a disk or a server that fails: whoever reads them
 * then would be ended by SIGBUS. Where a mapping watches, he gets zeros, and
 * mapping_lost tells.
 */
#ifndef CAPTURE_MAPPING_H
#define CAPTURE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MAPPING_BYTES = 33 << 19 };

struct mapping;

/*
 * Watches over MAPPING_BYTES of memory, which is borrowed and read by one thread
 * at a time. NULL: over too many already.
 */
struct mapping *mapping_new(const uint8_t *memory);
/* NULL allowed. */
void mapping_free(struct mapping *mapping);
/* Was there a page that could not be read? */
bool mapping_lost(const struct mapping *mapping);

/*
 * Pages of a file, from offset on, in place of the memory; to be read only. All
 * of it in whole pages, which the file is to have. False: it cannot be done, and
 * what is there now may only be cleared.
 */
bool mapping_put(uint8_t *at, size_t len, int fd, off_t offset);
/* Pages that take no memory until they are looked at again; what is no page of a file is zeros then. */
void mapping_rest(const uint8_t *at, size_t len);
/* Zeroed memory in place of pages. False: there is none, see errno. */
bool mapping_clear(uint8_t *at, size_t len);

#endif
