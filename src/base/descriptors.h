/*
 * File descriptors that came from whoever started the program.
 */
#ifndef BASE_DESCRIPTORS_H
#define BASE_DESCRIPTORS_H

#include <stddef.h>

/*
 * Whoever closed standard input, output or error gets what can neither be read
 * nor written there, so that no file of ours takes its place.
 */
void descriptors_plug(void);
/* The descriptor of this process that a path is another name for (/dev/stdin, /dev/fd/63), or -1. */
int descriptor_named(const char *path);
/* Closes all but those; 0 to 2 are plugged. */
void descriptors_close_but(const int *kept, size_t count);

#endif
