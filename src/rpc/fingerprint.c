#include "rpc/fingerprint.h"

#include <string.h>

enum { SHORT_BYTES = 24, MIDDLE_BYTES = 64, LONG_BYTES = 160, WORD = 8 };

/* One word more: no two take a hash to the same place, and bits go down as well as up. */
static inline uint64_t
mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* A multiple of words, known where it is called. */
static inline uint64_t
mix_words(uint64_t hash, const uint8_t *bytes, unsigned len)
{
#pragma GCC unroll 12
	for (unsigned at = 0; at < len; at += WORD) {
		uint64_t word;

		memcpy(&word, bytes + at, sizeof word);
		hash = mix(hash, word);
	}
	return hash;
}

/* What is left of arguments, which nothing follows. */
static uint64_t
mix_rest(uint64_t hash, const uint8_t *bytes, uint32_t len)
{
	uint64_t word = 0;

	for (; len >= WORD; bytes += WORD, len -= WORD)
		hash = mix_words(hash, bytes, WORD);
	if (len == WORD / 2)
		return mix(hash, xdr_load32(bytes));
	for (; len > 0; bytes++, len--)
		word = word << 8 | *bytes;
	return mix(hash, word);
}

/* The prefixes that are known, over arguments of len bytes; the whole of short ones stands for every longer prefix. */
static void
hash_prefixes(struct arg_print *print, const uint8_t *args, uint32_t len)
{
	uint64_t hash = 0;

	if (print->prefixes == 0)
		return;
	if (len < SHORT_BYTES) {
		print->prefix[0] = print->prefix[1] = print->prefix[2] = (uint32_t)mix_rest(hash, args, len);
		return;
	}
	hash = mix_words(hash, args, SHORT_BYTES);
	print->prefix[0] = (uint32_t)hash;
	if (print->prefixes == 1)
		return;
	args += SHORT_BYTES;
	if (len < MIDDLE_BYTES) {
		print->prefix[1] = print->prefix[2] = (uint32_t)mix_rest(hash, args, len - SHORT_BYTES);
		return;
	}
	hash = mix_words(hash, args, MIDDLE_BYTES - SHORT_BYTES);
	print->prefix[1] = (uint32_t)hash;
	if (print->prefixes == 2)
		return;
	args += MIDDLE_BYTES - SHORT_BYTES;
	print->prefix[2] = (uint32_t)(len < LONG_BYTES ? mix_rest(hash, args, len - MIDDLE_BYTES) :
	    mix_words(hash, args, LONG_BYTES - MIDDLE_BYTES));
}

/* Those all of which is here; what is here of a length that is not known may be less than the arguments. */
static uint8_t
known_prefixes(uint32_t here, uint32_t len, bool length_known)
{
	static const uint32_t prefix_bytes[ARG_PREFIXES] = { SHORT_BYTES, MIDDLE_BYTES, LONG_BYTES };
	uint8_t known = 0;

	while (known < ARG_PREFIXES && (here >= prefix_bytes[known] || (length_known && here >= len)))
		known++;
	return known;
}

void
fingerprint_take(struct arg_print *print, const struct xdr_cursor *body, bool length_known)
{
	uint32_t here = body->cap > body->off ? body->cap - body->off : 0;
	uint32_t len = body->total - body->off;

	*print = (struct arg_print){ .args_len = length_known ? len : 0, .length_known = length_known,
	    .prefixes = known_prefixes(here, len, length_known) };
	hash_prefixes(print, body->data + body->off, len);
}

bool
fingerprint_agrees(const struct arg_print *a, const struct arg_print *b)
{
	unsigned both = a->prefixes < b->prefixes ? a->prefixes : b->prefixes;

	if (a->length_known && b->length_known && a->args_len != b->args_len)
		return false;
	return both == 0 || a->prefix[both - 1] == b->prefix[both - 1];
}
