#include "rpc/names.h"

#include <stdio.h>

enum { PROGRAM_NFS = 100003 };

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

	if (decoder == NULL)
		snprintf(text, size, "%u.%u", op->program, op->version);
	else if (op->procedure == decoder->compound && op->minor < decoder->minor_count)
		snprintf(text, size, "%s", decoder->minor_labels[op->minor]);
	else
		snprintf(text, size, "%s", decoder->label);
}

/* NULL when it has none. */
static const char *
name_of(const struct decoder *decoder, const struct nfs_op *op)
{
	if (decoder->operation_name != NULL && op->procedure == decoder->compound &&
	    op->operation != op->procedure)
		return decoder->operation_name(op->operation);
	return op->procedure < decoder->procedure_count ? decoder->procedures[op->procedure].name : NULL;
}

void
op_procedure_name(const struct nfs_op *op, char *text, size_t size)
{
	const struct decoder *decoder = decoder_find(op->program, op->version);
	const char *name = decoder != NULL ? name_of(decoder, op) : NULL;

	if (name != NULL)
		snprintf(text, size, "%s", name);
	else
		snprintf(text, size, "%u", op->operation);
}

enum op_kind
op_kind_of(uint32_t program, uint32_t version, uint32_t operation)
{
	/* RFC 1094 section 2.2, RFC 1813 section 3.3, RFC 7530 section 16 */
	static const struct {
		uint32_t version, operation;
		enum op_kind kind;
	} kinds[] = {
		{ 3, 6, KIND_READ }, { 3, 7, KIND_WRITE }, { 3, 1, KIND_GETATTR }, { 3, 4, KIND_ACCESS },
		{ 3, 3, KIND_LOOKUP }, { 3, 21, KIND_COMMIT },
		{ 4, 25, KIND_READ }, { 4, 68, KIND_READ }, { 4, 38, KIND_WRITE }, { 4, 9, KIND_GETATTR },
		{ 4, 3, KIND_ACCESS }, { 4, 15, KIND_LOOKUP }, { 4, 5, KIND_COMMIT },
		{ 2, 6, KIND_READ }, { 2, 8, KIND_WRITE }, { 2, 1, KIND_GETATTR }, { 2, 4, KIND_LOOKUP },
	};

	for (unsigned i = 0; program == PROGRAM_NFS && i < sizeof kinds / sizeof kinds[0]; i++)
		if (kinds[i].version == version && kinds[i].operation == operation)
			return kinds[i].kind;
	return KIND_OTHER;
}
