#include "rpc/handles.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "base/words.h"

enum { KNOWN_BITS = 8, WORD = 8, LINE = 64, MOST_BYTES = LINE - 12 };

/* A line of the cache. */
struct known {
	uint64_t hash;
	uint32_t len;		/* 0: none */
	uint8_t bytes[MOST_BYTES];
};

struct handles {
	struct known known[1 << KNOWN_BITS];
};

struct handles *
handles_new(void)
{
	return g_new0(struct handles, 1);
}

void
handles_free(struct handles *handles)
{
	g_free(handles);
}

/* FNV-1a: no library, the same in every build. */
static uint64_t
hash_of(const uint8_t *bytes, uint32_t len)
{
	const uint64_t prime = UINT64_C(0x100000001b3);
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	/* each step waits for the one before; in fours, so that little else stands in the way */
	for (; len >= 4; bytes += 4, len -= 4) {
		hash = (hash ^ bytes[0]) * prime;
		hash = (hash ^ bytes[1]) * prime;
		hash = (hash ^ bytes[2]) * prime;
		hash = (hash ^ bytes[3]) * prime;
	}
	for (; len > 0; bytes++, len--)
		hash = (hash ^ bytes[0]) * prime;
	return hash;
}

/* Of a word at least; the last one may reach back into the one before, here as below. */
static inline unsigned
place_of(const uint8_t *bytes, uint32_t len)
{
	const uint8_t *last = bytes + len - WORD;
	uint64_t sum = load64(last);

	for (; bytes < last; bytes += WORD)
		sum += load64(bytes);
	return (unsigned)(sum * UINT64_C(0x9e3779b97f4a7c15) >> (64 - KNOWN_BITS));
}

static inline bool
is_same(const uint8_t *a, const uint8_t *b, uint32_t len)
{
	uint64_t differ = load64(a + len - WORD) ^ load64(b + len - WORD);

	for (uint32_t at = 0; at < len - WORD; at += WORD)
		differ |= load64(a + at) ^ load64(b + at);
	return differ == 0;
}

static G_GNUC_NO_INLINE uint64_t
learn(struct known *known, const uint8_t *bytes, uint32_t len)
{
	known->hash = hash_of(bytes, len);
	known->len = len;
	memcpy(known->bytes, bytes, len);
	return known->hash;
}

uint64_t
handles_hash(struct handles *handles, const uint8_t *bytes, uint32_t len)
{
	struct known *known;

	if (len < WORD || len > MOST_BYTES)
		return hash_of(bytes, len);
	known = &handles->known[place_of(bytes, len)];
	if (G_LIKELY(known->len == len && is_same(known->bytes, bytes, len)))
		return known->hash;
	return learn(known, bytes, len);
}
