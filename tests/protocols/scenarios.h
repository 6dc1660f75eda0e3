/*
 * Captures made by hand and what they hold, worked out by hand as well.
 */
#ifndef TESTS_PROTOCOLS_SCENARIOS_H
#define TESTS_PROTOCOLS_SCENARIOS_H

#include "protocols/talk.h"

enum { ROWS_MOST = 16, CHECKS_MOST = 12, ANY = -1 };

/* Answered calls of one procedure, their replies with an error, the sum of their rpc_time, the bytes they moved. */
struct expected_row {
	const char *version, *procedure;
	int count, errors, rpc_us, bytes;
};

struct scenario {
	const char *name;		/* row_N_..: N is that of the list in tests/README */
	void (*make)(struct talk *talk);
	int calls;			/* all of them answered */
	int copies, malformed;
	int rpc_connections;		/* over TCP; ANY: not looked at */
	struct expected_row row[ROWS_MOST];	/* all that there are */
	/* Integers of the report by their path, up to one without a path. */
	struct expected_number {
		const char *path;
		int value;
	} number[CHECKS_MOST];
	struct expected_text {
		const char *path, *text;
	} text[CHECKS_MOST];
};

/* Ends with a row without a name. */
extern const struct scenario scenarios[];

/* make_*.c */
void make_ports(struct talk *talk), make_not_nfs(struct talk *talk), make_versions(struct talk *talk);
void make_unknown_operations(struct talk *talk), make_lies(struct talk *talk);
void make_callbacks(struct talk *talk), make_both_roles(struct talk *talk);
void make_gss(struct talk *talk), make_gss_copies(struct talk *talk);
void make_tls(struct talk *talk), make_tls_tunnel(struct talk *talk);
void make_side_programs(struct talk *talk), make_nfs2(struct talk *talk), make_learned_port(struct talk *talk);
void make_session(struct talk *talk), make_callback_connection(struct talk *talk);

/* ---- what they share ---- */

/* A call and its reply after took_us. */
void ask(struct line *line, struct message *call, struct message *reply, int64_t at_us, int64_t took_us);
void ask_datagram(struct line *line, struct message *call, struct message *reply, int64_t at_us, int64_t took_us);
/* NFSv3 (RFC 1813): GETATTR, and the READ of len bytes, alone or behind a GSS wrapping of the caller's. */
void put_handle(struct message *message);
void put_attributes3(struct message *message);
void getattr3(struct line *line, uint32_t xid, uint32_t status, int64_t at_us, int64_t took_us);
void put_read3(struct message *call, uint32_t len);
void put_read3_reply(struct message *reply, uint32_t len);
/* The head of a COMPOUND, and of its reply (RFC 7530 section 15.2). */
void compound(struct message *call, uint32_t xid, uint32_t minor, uint32_t operations);
void compound_reply(struct message *reply, uint32_t xid, uint32_t status, uint32_t operations);
void put_data(struct message *message, uint32_t len);

#endif
