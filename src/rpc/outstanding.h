/*
 * The table of calls that wait for their replies: by connection, direction and
 * XID, by age, and by connection alone.
 */
#ifndef RPC_OUTSTANDING_H
#define RPC_OUTSTANDING_H

#include <nfscorr/decoder.h>

struct peer;

enum { CALL_NONE = UINT32_MAX };

struct call {
	struct nfs_op op;
	struct peer *peer;		/* the state of its connection */
	const struct decoder_procedure *procedure;	/* what reads its results; NULL: nothing */
	uint32_t args_off;		/* of the arguments in the record; 0: not known */
	bool call_over;			/* its record ended, one way or the other */
	bool reply_over;		/* its reply is complete */
	bool waits_unknown;
	uint8_t protection;		/* enum rpc_protection */
	bool unproven;			/* nothing but its own bytes says that it is a call */
	bool asks_for_tls;
	bool foreign;			/* of a program that no decoder knows: only here so that its reply is known */
	/* the table's own */
	uint32_t token;			/* of 30 bits, never 0: names the call until it is removed, and then no other for long */
	uint32_t *first;		/* of its connection: the newest call */
	uint32_t hash;
	uint32_t bucket_next;
	uint32_t older, newer;
	uint32_t sibling_prev, sibling_next;
};

struct outstanding;

/* limit: calls at the same time, 2 to 2^22. */
struct outstanding *outstanding_new(uint32_t limit);
void outstanding_free(struct outstanding *table);
/* NULL if there is none; hash is the call_hash() of the three. Pointers to calls are good until the next outstanding_spare. */
struct call *outstanding_find(const struct outstanding *table, uint32_t hash, uint64_t connection, uint8_t direction,
    uint32_t xid);
/* The oldest call when the table is full, to be removed before the spare one is added; else NULL. */
struct call *outstanding_overflow(const struct outstanding *table);
/* A call that is not in the table yet, all zeros but what is the table's own: the same one until it is added. */
struct call *outstanding_spare(struct outstanding *table);
/*
 * The spare call is one of its op's connection, direction and XID, whose
 * call_hash() is hash. *first begins the list of that connection's calls,
 * CALL_NONE at first; it must stay where it is.
 */
void outstanding_add(struct outstanding *table, struct call *call, uint32_t hash, uint32_t *first);
void outstanding_remove(struct outstanding *table, struct call *call);
/* The oldest call of a connection's list; NULL when it is empty. */
struct call *outstanding_first_of(const struct outstanding *table, uint32_t first);
/* Of all connections by age, oldest first: the first one, and the one behind; NULL: none. */
const struct call *outstanding_oldest(const struct outstanding *table);
const struct call *outstanding_newer(const struct outstanding *table, const struct call *call);
/* The next newer call of the same connection; NULL: there is none. */
struct call *outstanding_next_of(const struct outstanding *table, const struct call *call);
/* The call with a token; NULL when it is gone. */
struct call *outstanding_of(const struct outstanding *table, uint32_t token);

#endif
