/*
 * The decoder of a program and version, and the names reports use.
 */
#ifndef RPC_NAMES_H
#define RPC_NAMES_H

#include <nfscorr/decoder.h>

/* NULL when no decoder knows the program and version. */
const struct decoder *decoder_find(uint32_t program, uint32_t version);
/* True when any decoder knows the program. */
bool decoder_knows_program(uint32_t program);
/* "3", "4.1", "mount3"; a program that no decoder knows: "PROGRAM.VERSION" in decimal. In text, NUL-terminated. */
void op_version_label(const struct nfs_op *op, char *text, size_t size);
/* "READ"; a procedure or main operation that its decoder does not know: its number. */
void op_procedure_name(const struct nfs_op *op, char *text, size_t size);

/* What an NFS call does, whatever its version; callbacks and other programs are KIND_OTHER. */
enum op_kind { KIND_OTHER, KIND_READ, KIND_WRITE, KIND_COMMIT, KIND_GETATTR, KIND_ACCESS, KIND_LOOKUP };
/* operation: of struct nfs_op, the procedure where there are no COMPOUNDs. */
enum op_kind op_kind_of(uint32_t program, uint32_t version, uint32_t operation);

#endif
