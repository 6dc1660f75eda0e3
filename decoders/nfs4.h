/*
 * What the files of NFSv4 share. A COMPOUND is walked in nfs4.c; each
 * operation has a row that says how to step over its arguments and results,
 * and what to keep of them.
 */
#ifndef DECODERS_NFS4_H
#define DECODERS_NFS4_H

#include <nfscorr/decoder.h>
#include <nfscorr/nfs_said.h>

enum {
	NFS4_OK = 0,
	NFS4_STATEID_BYTES = 16,	/* RFC 7530 section 2.2.16 */
	NFS4_SESSIONID_BYTES = 16,	/* RFC 8881 section 3.1 */
	NFS4_VERIFIER_BYTES = 8,
	NFS4_TIME_BYTES = 12,
	NFS4_CHANGE_INFO_BYTES = 20,	/* RFC 7530 section 2.2.9 */
	NFS4_DEVICEID_BYTES = 16,	/* RFC 8881 section 3.3.14 */
};

struct nfs4_handle {
	const uint8_t *bytes;		/* in the message; NULL: it does not tell */
	uint32_t len;
};

/* A message on its way through the operations. */
struct nfs4_walk {
	struct xdr_cursor *body;
	struct nfs_op *op;
	bool main;			/* the operation at hand names the call */
	struct nfs4_handle file, saved;	/* the current and the saved file handle */
};

typedef void nfs4_fn(struct nfs4_walk *walk);

struct nfs4_operation {
	const char *name;
	uint8_t class;			/* enum op_class */
	uint8_t call_bytes;		/* of the arguments, in front of what call reads */
	uint8_t reply_bytes;		/* of the results behind the status OK, in front of what reply reads */
	nfs4_fn *call, *reply;		/* NULL: nothing more to step over */
};

/* The row of an operation; NULL when it is not known: all behind it is opaque. */
typedef const struct nfs4_operation *nfs4_find_fn(uint32_t operation);

/* Arguments from the number of operations on. Tag and minor version are read. */
void nfs4_read_call(struct xdr_cursor *body, struct nfs_op *op, nfs4_find_fn *find);
/* The whole of the results of a COMPOUND or CB_COMPOUND. */
void nfs4_read_reply(struct xdr_cursor *body, struct nfs_op *op, nfs4_find_fn *find);

/* By operation number minus that of the first (RFC 8881 section 18, RFC 7862 section 15, RFC 8276 section 8.4). */
enum { NFS41_FIRST = 40, NFS41_COUNT = 19, NFS42_FIRST = 59, NFS42_COUNT = 17, NFS4_ILLEGAL = 10044 };
extern const struct nfs4_operation nfs41_operations[NFS41_COUNT];
extern const struct nfs4_operation nfs42_operations[NFS42_COUNT];

/* ---- what operations have in common ---- */

/* A choice that this version of the protocol does not know: what follows is opaque, and no contradiction. */
static inline void
nfs4_give_up(struct nfs4_walk *walk)
{
	xdr_fail(walk->body, XDR_HOLE);
}

/* A string or opaque of any length. */
static inline void
nfs4_skip_opaque(struct nfs4_walk *walk)
{
	xdr_skip_opaque(walk->body, UINT32_MAX);
}

static inline void
nfs4_skip_two_opaques(struct nfs4_walk *walk)
{
	nfs4_skip_opaque(walk);
	nfs4_skip_opaque(walk);
}

/* bitmap4: words of 32 bits (RFC 7530 section 2.1) */
void nfs4_skip_bitmap(struct nfs4_walk *walk);
/* fattr4: a bitmap and the attributes that it names, as one opaque (section 2.2.8) */
void nfs4_skip_attributes(struct nfs4_walk *walk);
/* The same, and what op keeps of it. */
void nfs4_read_attributes(struct nfs4_walk *walk);
/* A counted array of elements of bytes each. */
void nfs4_skip_array(struct nfs4_walk *walk, uint32_t bytes);
/* A boolean; false with an error kept when it is neither 0 nor 1. */
bool nfs4_read_flag(struct nfs4_walk *walk);
/* nfs_fh4: the current file handle from here on, and the main operation's file */
void nfs4_read_handle(struct nfs4_walk *walk);
/* offset4 and count4 (32 bits) or length4 (64 bits): kept when they are the main operation's. */
void nfs4_read_offset(struct nfs4_walk *walk);
void nfs4_read_count(struct nfs4_walk *walk);
void nfs4_read_length(struct nfs4_walk *walk);
void nfs4_range_call(struct nfs4_walk *walk);
/* stable_how4 of the main operation (section 16.36) */
void nfs4_read_stable(struct nfs4_walk *walk);
/* An opaque or string that says who a host is. */
void nfs4_say_opaque(struct nfs4_walk *walk, enum said_text which);
/* The main operation moved bytes; nothing is set behind an error. */
void nfs4_set_moved(struct nfs4_walk *walk, uint64_t bytes);
/* open_delegation4 (RFC 7530 section 16.16, RFC 8881 section 18.16) */
void nfs4_skip_delegation(struct nfs4_walk *walk);
/* SECINFO4resok (RFC 7530 section 16.31) */
void nfs4_skip_secinfo(struct nfs4_walk *walk);
/* sessionid, sequenceid, slotid, highest_slotid: of SEQUENCE and CB_SEQUENCE (RFC 8881 sections 18.46, 20.9) */
void nfs4_sequence_call(struct nfs4_walk *walk);
/* the same, and target_highest_slotid */
void nfs4_sequence_reply(struct nfs4_walk *walk);
/* write_response4 (RFC 7862 section 15.2); gives the count */
uint64_t nfs4_read_write_response(struct nfs4_walk *walk);

#endif
