#include "rpc/fingerprint.h"

#include <glib.h>
#include <string.h>

enum { SHORT_BYTES = 24, MIDDLE_BYTES = 64, LONG_BYTES = 160, WORD = 8 };

#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

/* One word more: no two take a hash to the same place, and bits go up, the upper ones around to the lower. */
static inline uint64_t
mix(uint64_t hash, const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof word);
	hash ^= word;
	return (hash << 29 | hash >> 35) * MULTIPLIER;
}

/* A prefix ends here: bits go down. */
static inline uint32_t
print_of(uint64_t hash)
{
	return (uint32_t)((hash ^ hash >> 32) * MULTIPLIER >> 32);
}

/* A multiple of words, known where it is called. */
static inline uint64_t
mix_words(uint64_t hash, const uint8_t *bytes, unsigned len)
{
#pragma GCC unroll 12
	for (unsigned at = 0; at < len; at += WORD)
		hash = mix(hash, bytes + at);
	return hash;
}

/* What is left of arguments, which nothing follows, behind a word at least: the last one may reach back into it. */
static inline uint64_t
mix_rest(uint64_t hash, const uint8_t *bytes, uint32_t len)
{
	const uint8_t *last = bytes + len - WORD;

	for (; bytes < last; bytes += WORD)
		hash = mix(hash, bytes);
	return mix(hash, last);
}

/* Arguments that are shorter than any prefix. */
static G_GNUC_NO_INLINE uint32_t
hash_short(const uint8_t *args, uint32_t len)
{
	uint8_t bytes[SHORT_BYTES] = { 0 };

	memcpy(bytes, args, len);
	return print_of(mix_words(len, bytes, SHORT_BYTES));
}

/* The prefixes that are known, over arguments of len bytes; the whole of short ones stands for every longer prefix. */
static inline void
hash_prefixes(struct arg_print *print, const uint8_t *args, uint32_t len)
{
	uint64_t hash;

	if (print->prefixes == 0)
		return;
	if (G_UNLIKELY(len < SHORT_BYTES)) {
		print->prefix[0] = print->prefix[1] = print->prefix[2] = hash_short(args, len);
		return;
	}
	hash = mix_words(0, args, SHORT_BYTES);
	print->prefix[0] = print_of(hash);
	if (print->prefixes == 1)
		return;
	args += SHORT_BYTES;
	if (len < MIDDLE_BYTES) {
		print->prefix[1] = print->prefix[2] = print_of(mix_rest(hash, args, len - SHORT_BYTES));
		return;
	}
	hash = mix_words(hash, args, MIDDLE_BYTES - SHORT_BYTES);
	print->prefix[1] = print_of(hash);
	if (print->prefixes == 2)
		return;
	args += MIDDLE_BYTES - SHORT_BYTES;
	print->prefix[2] = print_of(len < LONG_BYTES ? mix_rest(hash, args, len - MIDDLE_BYTES) :
	    mix_words(hash, args, LONG_BYTES - MIDDLE_BYTES));
}

/* Those all of which is here; what is here of a length that is not known may be less than the arguments. */
static inline uint8_t
known_prefixes(uint32_t here, uint32_t len, bool length_known)
{
	if ((length_known && here >= len) || here >= LONG_BYTES)
		return 3;
	return here >= MIDDLE_BYTES ? 2 : here >= SHORT_BYTES ? 1 : 0;
}

void
fingerprint_take(struct arg_print *print, const struct xdr_cursor *body, bool length_known)
{
	uint32_t here = body->cap > body->off ? body->cap - body->off : 0;
	uint32_t len = body->total - body->off;

	print->args_len = length_known ? len : 0;
	print->length_known = length_known;
	print->prefixes = known_prefixes(here, len, length_known);
	print->prefix[0] = print->prefix[1] = print->prefix[2] = 0;
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
