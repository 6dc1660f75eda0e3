#include "stream/tls.h"

enum {
	HEADER_BYTES = 5,
	TYPE_FIRST = 20,		/* change_cipher_spec */
	TYPE_HANDSHAKE = 22,
	TYPE_LAST = 23,			/* application_data */
	VERSION_MAJOR = 3,
	VERSION_MINOR_LAST = 4,
	LENGTH_MOST = (1 << 14) + 2048,	/* RFC 5246 section 6.2.3 */
	CLIENT_HELLO = 1,
	SERVER_HELLO = 2,
	/* In a row, in the middle of a stream where nothing announced them: chance makes one of 10^19 places so. */
	ENOUGH = 3,
};

bool
tls_is_mark(const uint8_t mark[4])
{
	return mark[0] >= TYPE_FIRST && mark[0] <= TYPE_LAST && mark[1] == VERSION_MAJOR &&
	    mark[2] <= VERSION_MINOR_LAST && mark[3] <= LENGTH_MOST >> 8;
}

/* The length of a record whose header this is; 0: it is none. */
static uint32_t
record_length(const uint8_t *header)
{
	uint32_t length = (uint32_t)header[3] << 8 | header[4];

	return tls_is_mark(header) && length <= LENGTH_MOST ? length : 0;
}

static bool
is_hello(const uint8_t *record, uint32_t len)
{
	return record[0] == TYPE_HANDSHAKE && len > HEADER_BYTES &&
	    (record[HEADER_BYTES] == CLIENT_HELLO || record[HEADER_BYTES] == SERVER_HELLO);
}

/* What is behind a gap, or contradicts what was taken for TLS, begins anew. */
static void
begin(struct tls_trail *trail, int64_t offset)
{
	*trail = (struct tls_trail){ .begin = offset, .next = offset };
}

bool
tls_seen(struct tls_trail *trail, const struct slice *slice, bool asked_for, bool expected)
{
	if (!asked_for && !expected)
		return false;
	if (trail->headers == 0 || trail->next < slice->offset)
		begin(trail, slice->offset);
	while (trail->next + HEADER_BYTES <= slice->offset + slice->cap_len) {
		const uint8_t *header = slice->data + (trail->next - slice->offset);
		uint32_t length = record_length(header);

		if (length == 0) {
			begin(trail, slice->offset + slice->wire_len);
			return false;
		}
		if (trail->headers++ == 0)
			trail->hello = trail->begin == 0 &&
			    is_hello(header, (uint32_t)(slice->offset + slice->cap_len - trail->next));
		trail->next += HEADER_BYTES + length;
	}
	return trail->headers >= (asked_for || trail->hello ? 1 : ENOUGH);
}
