/*
 * Every procedure of every decoder, arguments and results: the first byte
 * chooses the decoder, the second the procedure and the kind of message. Where
 * the fourth says so, the same bytes are then the reply to what they were.
 */
#include <stdlib.h>

#include <nfscorr/decoder.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct decoder *const *decoder = decoders;
	struct nfs_op op = { .operation_class = OP_CLASS_NONE };
	struct xdr_cursor body;
	const struct decoder_procedure *procedure;
	decode_fn *decode;

	if (size < 4)
		return 0;
	for (unsigned skip = data[0] & 31; skip > 0 && decoder[1] != NULL; skip--)
		decoder++;
	procedure = &(*decoder)->procedures[(data[1] >> 1) % (*decoder)->procedure_count];
	decode = data[1] & 1 ? procedure->reply : procedure->call;
	body = (struct xdr_cursor){ .data = data + 4, .cap = (uint32_t)size - 4,
	    .total = (uint32_t)size - 4 + data[2] * 64, .beyond = data[3] & 1 ? XDR_HOLE : XDR_SHORT };
	if (decode != NULL)
		decode(&body, &op);
	if (body.off > body.total)
		abort();
	body = (struct xdr_cursor){ .data = data + 4, .cap = (uint32_t)size - 4, .total = UINT32_MAX, .beyond = XDR_SHORT };
	if (data[3] & 2 && procedure->reply != NULL)
		procedure->reply(&body, &op);
	return 0;
}
