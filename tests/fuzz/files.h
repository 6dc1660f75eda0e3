/*
 * What the targets of the file formats share: a reader over a fuzzer's bytes.
 */
#ifndef FUZZ_FILES_H
#define FUZZ_FILES_H

#include "capture/file.h"

/*
 * Reads a file of these bytes, and the same file cut off somewhere; aborts
 * where the reader breaks what file.h and bytes.h promise, or where the packets
 * of the shorter file are not the first ones of the longer.
 */
void fuzz_file(const struct file_format *format, const uint8_t *data, size_t size);

#endif
