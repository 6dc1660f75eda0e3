/*
 * Compressed files: a thread of their own unpacks them into a pipe.
 */
#ifndef CAPTURE_DECOMPRESS_H
#define CAPTURE_DECOMPRESS_H

#include <stddef.h>
#include <stdint.h>

struct decompress;

/* What a compressed file starts with; "gzip", "zstd", "xz", "lz4", or NULL. Static text. */
const char *decompress_format(const uint8_t *bytes, size_t len);
/*
 * Starts to unpack fd, which it takes, from which the first len bytes (at most
 * 8) were read before. *out is the pipe's end with the content, the caller's
 * to close. NULL and errno: no pipe.
 */
struct decompress *decompress_new(int fd, const uint8_t *first, size_t len, int *out);
/* The pipe's end was closed. NULL allowed. */
void decompress_free(struct decompress *decompress);
/* The content is over: what was wrong with the compressed file, NULL if nothing. Borrowed. */
const char *decompress_problem(struct decompress *decompress);
/* Compressed bytes consumed so far, about. Safe from any thread. */
uint64_t decompress_position(const struct decompress *decompress);

#endif
