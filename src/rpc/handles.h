/*
 * Hashes of file handles: what tells files apart, and names those that have no
 * other name. The same in every run.
 */
#ifndef RPC_HANDLES_H
#define RPC_HANDLES_H

#include <stdint.h>

struct handles;

struct handles *handles_new(void);
void handles_free(struct handles *handles);
/* 64 bits over a file handle's bytes; those of handles that were asked for lately are remembered. */
uint64_t handles_hash(struct handles *handles, const uint8_t *bytes, uint32_t len);

#endif
