/*
 * What a protocol decoder is: a const table, one row per procedure.
 */
#ifndef NFSCORR_DECODER_H
#define NFSCORR_DECODER_H

#include <nfscorr/nfs_op.h>
#include <nfscorr/xdr.h>

/*
 * Reads one message's arguments or results and sets fields of op with their
 * OP_HAS_ bits. It reads in the order of the wire and sets a field only after
 * xdr_ok() has held behind it. It keeps no state and never fails: the cursor
 * does.
 */
typedef void decode_fn(struct xdr_cursor *body, struct nfs_op *op);

struct decoder_procedure {
	const char *name;	/* as the RFC writes it, in capitals */
	decode_fn *call;	/* NULL: nothing to read */
	decode_fn *reply;	/* NULL: nothing to read */
};

struct decoder {
	uint32_t program;
	uint32_t program_last;	/* of a range of programs; 0: only the one */
	uint32_t version;
	const char *label;	/* what reports call it: "3", "mount3" */
	const struct decoder_procedure *procedures;	/* index = procedure number */
	uint32_t procedure_count;
	/* where a procedure is a list of operations, else 0 and NULL */
	uint32_t compound;				/* that procedure: its calls go by their main operation */
	const char *(*operation_name)(uint32_t operation);	/* NULL when it has no name */
	const char *const *minor_labels;		/* labels by minor version; NULL: label holds for all */
	uint32_t minor_count;
};

/* All decoders, NULL-terminated. */
extern const struct decoder *const decoders[];

#endif
