#include "rpc/names.h"

#include <stdio.h>

static bool
is_program(const struct decoder *decoder, uint32_t program)
{
	return program == decoder->program ||
	    (program > decoder->program && program <= decoder->program_last);
}

const struct decoder *
decoder_find(uint32_t program, uint32_t version)
{
	for (const struct decoder *const *decoder = decoders; *decoder != NULL; decoder++)
		if (is_program(*decoder, program) && (*decoder)->version == version)
			return *decoder;
	return NULL;
}

bool
decoder_knows_program(uint32_t program)
{
	for (const struct decoder *const *decoder = decoders; *decoder != NULL; decoder++)
		if (is_program(*decoder, program))
			return true;
	return false;
}

void
op_version_label(const struct nfs_op *op, char *text, size_t size)
{
	const struct decoder *decoder = decoder_find(op->program, op->version);

	if (decoder != NULL)
		snprintf(text, size, "%s", decoder->label);
	else
		snprintf(text, size, "%u.%u", op->program, op->version);
}

void
op_procedure_name(const struct nfs_op *op, char *text, size_t size)
{
	const struct decoder *decoder = decoder_find(op->program, op->version);

	if (decoder != NULL && op->procedure < decoder->procedure_count &&
	    decoder->procedures[op->procedure].name != NULL)
		snprintf(text, size, "%s", decoder->procedures[op->procedure].name);
	else
		snprintf(text, size, "%u", op->procedure);
}
