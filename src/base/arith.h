/*
 * Arithmetic of sequence numbers and time stamps.
 */
#ifndef BASE_ARITH_H
#define BASE_ARITH_H

#include <stdint.h>

enum { NS_PER_US = 1000, NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

/*
 * The 64-bit stream offset of a 32-bit sequence number, taken nearest to a
 * known pair (RFC 9293 section 3.4): within 2^31 either way of it.
 */
static inline int64_t
seq_unwrap(int64_t known_offset, uint32_t known_seq, uint32_t seq)
{
	return known_offset + (int32_t)(seq - known_seq);
}

static inline int64_t
min_ns(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t
max_ns(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

#endif
