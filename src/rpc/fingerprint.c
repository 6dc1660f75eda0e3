#include "rpc/fingerprint.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static const uint32_t prefix_bytes[ARG_PREFIXES] = { 24, 64, 160 };

void
fingerprint_take(struct arg_print *print, const struct xdr_cursor *body, bool length_known)
{
	uint32_t here = body->cap > body->off ? body->cap - body->off : 0;
	uint32_t len = body->total - body->off;

	*print = (struct arg_print){ .args_len = length_known ? len : 0, .length_known = length_known };
	for (unsigned i = 0; i < ARG_PREFIXES; i++) {
		uint32_t want = prefix_bytes[i];

		if (want > len)
			want = len;
		if (want > here || (!length_known && want < prefix_bytes[i]))
			return;
		/* the whole of short arguments stands for every longer prefix */
		print->prefix[i] = i > 0 && want <= prefix_bytes[i - 1] ? print->prefix[i - 1] :
		    (uint32_t)XXH3_64bits(body->data + body->off, want);
		print->prefixes++;
	}
}

bool
fingerprint_agrees(const struct arg_print *a, const struct arg_print *b)
{
	unsigned both = a->prefixes < b->prefixes ? a->prefixes : b->prefixes;

	if (a->length_known && b->length_known && a->args_len != b->args_len)
		return false;
	return both == 0 || a->prefix[both - 1] == b->prefix[both - 1];
}
