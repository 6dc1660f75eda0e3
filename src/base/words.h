/*
 * Words out of bytes that lie anywhere, in this host's byte order: to compare and
 * to hash.
 */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <stdint.h>
#include <string.h>

static inline uint16_t
load16(const uint8_t *bytes)
{
	uint16_t word;

	memcpy(&word, bytes, sizeof word);
	return word;
}

static inline uint32_t
load32(const uint8_t *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof word);
	return word;
}

static inline uint64_t
load64(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof word);
	return word;
}

#endif
