/*
 * One call and its reply as one capture point saw them.
 *
 * Times are nanoseconds since 1970 of the capturing host's clock. A field
 * counts only when its OP_HAS_ bit is set in `valid`: what the capture does not
 * show is unknown, never zero.
 */
#ifndef NFSCORR_NFS_OP_H
#define NFSCORR_NFS_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct nfs_said;

enum op_has {
	OP_HAS_CALL_FIRST = 1 << 0,	/* call_first_ns, call_frame */
	OP_HAS_CALL_LAST = 1 << 1,
	OP_HAS_REPLY_FIRST = 1 << 2,	/* reply_first_ns, reply_frame */
	OP_HAS_REPLY_LAST = 1 << 3,
	OP_HAS_FILE = 1 << 4,
	OP_HAS_OFFSET = 1 << 5,
	OP_HAS_REQUESTED = 1 << 6,
	OP_HAS_MOVED = 1 << 7,
	OP_HAS_STABLE = 1 << 8,
	OP_HAS_STATUS = 1 << 9,
	OP_HAS_SLOT = 1 << 10,		/* slot, slot_sequence, session */
	OP_HAS_PATH = 1 << 11,
	OP_HAS_SLOT_USED = 1 << 12,	/* slot_used_highest */
	OP_HAS_SLOT_LIMITS = 1 << 13,	/* slot_highest, slot_target */
	OP_HAS_GRANTED = 1 << 14,	/* slots_granted, session */
	OP_HAS_READ_MOST = 1 << 15,
	OP_HAS_WRITE_MOST = 1 << 16,
	OP_HAS_CLIENT = 1 << 17,	/* client_ns */
	/* what is written behind the slot */
	OP_HAS_RARE = OP_HAS_SLOT_USED | OP_HAS_SLOT_LIMITS | OP_HAS_GRANTED | OP_HAS_READ_MOST | OP_HAS_WRITE_MOST,
	OP_TIMES = OP_HAS_CALL_FIRST | OP_HAS_CALL_LAST | OP_HAS_REPLY_FIRST | OP_HAS_REPLY_LAST,
};

enum op_outcome {
	OP_ANSWERED,
	OP_UNANSWERED,		/* no reply, and no sign that the capture lost packets there */
	OP_LOST_IN_CAPTURE,	/* no reply, and it may lie in what the capture lacks */
	OP_IN_FLIGHT,		/* no reply yet when the capture ended */
	OP_EVICTED,		/* dropped from a full table */
	OP_OUTCOMES,
};

/* How the times of an op came about: what the clock and the parts may trust. */
enum op_flag {
	OP_CALL_TIME_DEDUCED = 1 << 0,	/* a time of the call stems from bytes that were not captured */
	OP_REPLY_TIME_DEDUCED = 1 << 1,	/* the same of the reply */
	OP_RPC_ERROR = 1 << 2,		/* denied, or accepted with another status than SUCCESS */
	OP_CALL_MALFORMED = 1 << 3,
	OP_REPLY_MALFORMED = 1 << 4,
	/* A time of the call or reply is that of a retransmission. At its sender the first copy was not captured. */
	OP_CALL_TIME_FILLED = 1 << 7,
	OP_REPLY_TIME_FILLED = 1 << 8,
	/* It may be one, since its connection began before the capture. */
	OP_CALL_TIME_STALE = 1 << 9,
	OP_REPLY_TIME_STALE = 1 << 10,
	OP_COPIES_MISSED = 1 << 11,	/* calls of its connection were missed before it: copies of it, perhaps */
	OP_JOINED = 1 << 6,		/* its copies came over more than one connection */
	OP_CONNECTION_ENDED = 1 << 5,	/* no reply, and its connection is over: it may be sent again on another */
	OP_OTHER_REPLY = 1 << 12,	/* the reply's operations are not the call's: a decoder's word to who asked it */
};

enum { OP_MINOR_UNKNOWN = UINT8_MAX };

/* Operations of a COMPOUND that are kept, and what stands for one that does not fit a byte. */
enum { OP_LIST = 16, OP_LIST_OTHER = UINT8_MAX };

/*
 * How much an operation says about what its COMPOUND is for: its main
 * operation is the first one of the lowest class.
 */
enum op_class {
	OP_CLASS_DATA = 1,	/* READ, WRITE, COMMIT, and what moves data otherwise */
	OP_CLASS_OTHER,
	OP_CLASS_DELEGRETURN,
	OP_CLASS_LAYOUT,
	OP_CLASS_LOOKUP,
	OP_CLASS_ATTRIBUTES,
	OP_CLASS_HANDLE,
	OP_CLASS_SEQUENCE,
	OP_CLASS_NONE,		/* no operation was seen */
};

/*
 * A fingerprint of the arguments that two captures with different snap lengths
 * can still compare: hashes of three prefixes, each valid only where all of it
 * was captured, and the exact length of the arguments. Credential and verifier
 * are not in it.
 */
enum { ARG_PREFIXES = 3 };
struct arg_print {
	uint32_t args_len;		/* bytes; valid when length_known */
	uint32_t prefix[ARG_PREFIXES];	/* over min(24, 64, 160; args_len) bytes */
	uint8_t prefixes;		/* how many of them are known, from the first on */
	bool length_known;
};

/* An IPv4 address stands mapped into IPv6 (RFC 4291 section 2.5.5.2). */
struct net_endpoint {
	uint8_t address[16];
	uint16_t port;
};

/* The program whose port a call asks for (RFC 1833). */
struct asked_program {
	uint32_t program, version;
	uint8_t protocol;	/* of IP: 6 TCP, 17 UDP; 0: another one */
};

/* In groups of 64 bytes, what is looked at together beside one another. */
struct nfs_op {
	uint64_t connection;			/* serial of the connection's epoch in its capture, from 1 */
	uint32_t xid, program, version, procedure;
	uint32_t operation;			/* of a COMPOUND, while not seen the procedure; else the procedure */
	uint32_t valid;				/* enum op_has */
	uint16_t flags;				/* enum op_flag */
	uint8_t outcome;			/* enum op_outcome */
	uint8_t operation_class;		/* enum op_class of the operation of a COMPOUND; else 0 */
	uint8_t call_direction;			/* of the call in its connection, 0 or 1; the reply's is the other */
	uint8_t minor;				/* of a COMPOUND, while not seen OP_MINOR_UNKNOWN; else 0 */
	uint8_t stable;				/* WRITE: stable_how of the call (RFC 1813 section 3.3.7) */
	uint32_t status;			/* the protocol's own; 0 is OK */
	uint32_t requested_bytes, moved_bytes;
	uint32_t retransmits;			/* copies after the first */
	uint64_t file;				/* hash of the file handle: not the decoder's to make */

	int64_t call_first_ns, call_last_ns, reply_first_ns, reply_last_ns;
	uint64_t call_order, reply_order;	/* of the packets below, their place in the order of stamps */
	uint64_t call_frame, reply_frame;	/* 1-based, of the record's first byte */

	uint64_t file_offset;
	int64_t path_ns;			/* smallest round trip from this capture point to the server so far */
	int64_t client_ns;			/* for which the client kept the server waiting, if this is the client's capture */
	/* Where the two records end in their directions of the TCP stream, and their bytes with record marks; 0: not known. */
	int64_t call_end, reply_end;
	uint32_t call_bytes, reply_bytes;
	uint64_t session;			/* hash of the session id */
	/* SEQUENCE (RFC 8881 section 18.46); the callback's own for CB_SEQUENCE (section 20.9) */
	uint32_t slot, slot_sequence;

	struct net_endpoint client, server;
	struct arg_print print;

	/* From here on what is rarely there, OP_HAS_RARE, and what is for the decoder alone: op_copy() */
	uint32_t slot_used_highest;		/* sa_highest_slotid: the highest that the caller has in use */
	uint32_t slot_highest, slot_target;	/* sr_highest_slotid, sr_target_highest_slotid: of the reply */
	uint32_t slots_granted;			/* CREATE_SESSION's reply: ca_maxrequests of the fore channel (section 18.36) */
	/* FSINFO's rtmax and wtmax (RFC 1813 section 3.3.19), FATTR4_MAXREAD and _MAXWRITE (RFC 7530 section 5.8) */
	uint32_t read_most_bytes, write_most_bytes;
	struct asked_program asked;		/* a portmapper's call */
	uint16_t operations_seen;		/* of the call's COMPOUND; may exceed OP_LIST */
	bool operations_all;			/* there are no more than operations_seen */
	uint8_t handle_len;
	/* valid as far as others say */
	uint8_t operations[OP_LIST];		/* the call's, as far as they were seen, in order */
	const uint8_t *handle;			/* OP_HAS_FILE: the file handle, which a decoder leaves where it is in the call */
	struct nfs_said *said;			/* lent to a decoder (nfscorr/nfs_said.h); else NULL */
};

/* Programs whose number a host chose so that it can be called back (RFC 5531 section 8.3). */
static inline bool
is_transient_program(uint32_t program)
{
	return program >= UINT32_C(0x40000000) && program < UINT32_C(0x60000000);
}

/*
 * An NFS server's call to its client: who is client and who server of the call
 * is reversed. The callbacks of NFSv4 (RFC 8881 section 20), and of NLM what
 * grants a lock that was waited for, or carries a result as a call of its own
 * (RFC 1813 section 6.3: GRANTED, GRANTED_MSG, TEST_RES to UNLOCK_RES).
 */
static inline bool
op_is_callback(const struct nfs_op *op)
{
	enum { NFS = 100003, NLM = 100021, GRANTED = 5, GRANTED_MSG = 10, UNLOCK_RES = 14 };

	/* as nearly every call */
	if (op->program == NFS)
		return false;
	return is_transient_program(op->program) || (op->program == NLM &&
	    (op->procedure == GRANTED || (op->procedure >= GRANTED_MSG && op->procedure <= UNLOCK_RES)));
}

static inline bool
op_has(const struct nfs_op *op, uint32_t bits)
{
	return (op->valid & bits) == bits;
}

/* A call of which nothing is known yet. */
static inline void
op_clear(struct nfs_op *op)
{
	/* in parts, which a compiler makes in line */
	enum { PARTS = 3, PART_BYTES = offsetof(struct nfs_op, operations) / PARTS };

	_Static_assert(PARTS * PART_BYTES == offsetof(struct nfs_op, operations), "all of it");
	for (unsigned i = 0; i < PARTS; i++)
		memset((uint8_t *)op + i * PART_BYTES, 0, PART_BYTES);
	op->said = NULL;
}

/* The file handle of a call, 128 bytes at most (RFC 7531, NFS4_FHSIZE), is where it is in its bytes. */
static inline void
op_set_handle(struct nfs_op *op, const uint8_t *bytes, uint32_t len)
{
	op->handle = bytes;
	op->handle_len = (uint8_t)len;
	op->valid |= OP_HAS_FILE;
}

/*
 * Copies a call that a decoder is done with: without asked and what is behind
 * it, which are undefined in the copy.
 */
static inline void
op_copy(struct nfs_op *copy, const struct nfs_op *op)
{
	memcpy(copy, op, offsetof(struct nfs_op, slot_used_highest));
	if (op->valid & OP_HAS_RARE)
		memcpy(&copy->slot_used_highest, &op->slot_used_highest,
		    offsetof(struct nfs_op, asked) - offsetof(struct nfs_op, slot_used_highest));
}

#endif
