/*
 * RPC headers: any bytes, any claim about the record's length; more bytes of
 * the same record never change what was read.
 */
#include <stdlib.h>
#include <string.h>

#include "rpc/header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct xdr_cursor cursor = { .data = data + 4, .beyond = XDR_SHORT };
	struct rpc_message whole, part;

	if (size < 4)
		return 0;
	cursor.total = xdr_load32(data) & 0xffff;
	cursor.cap = (uint32_t)size - 4;
	if (cursor.total < cursor.cap)
		cursor.total = cursor.cap;
	if (rpc_header_read(cursor, &whole) == HEADER_READ) {
		for (uint32_t cap = 0; cap < cursor.cap && cap < 600; cap += 4) {
			struct xdr_cursor shorter = cursor;

			shorter.cap = cap;
			if (rpc_header_read(shorter, &part) == HEADER_READ &&
			    (part.xid != whole.xid || part.type != whole.type || part.program != whole.program ||
			    part.procedure != whole.procedure || part.body.off != whole.body.off))
				abort();
		}
	}
	rpc_call_likeness(&cursor);
	rpc_reply_likeness(&cursor);
	return 0;
}
