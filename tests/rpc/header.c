/*
 * Our header decoder against libtirpc's encoder, whole and cut at every byte.
 */
#include <criterion/criterion.h>
#include <rpc/rpc.h>
#include <string.h>

#include "rpc/header.h"

enum { BUFFER = 1024 };

/* A call with AUTH_SYS or AUTH_NONE; gives its length, and where the arguments begin. */
static uint32_t
encode_call(char buffer[BUFFER], bool auth_sys, uint32_t *args)
{
	char name[] = "client.example";
	gid_t gids[3] = { 10, 20, 30 };
	AUTH *auth = auth_sys ? authunix_create(name, 1000, 1000, 3, gids) : authnone_create();
	struct rpc_msg call = { .rm_xid = 0x12345678, .rm_direction = CALL };
	XDR xdrs;
	uint32_t len;

	xdrmem_create(&xdrs, buffer, BUFFER, XDR_ENCODE);
	call.rm_call.cb_rpcvers = RPC_MSG_VERSION;
	call.rm_call.cb_prog = 100003;
	call.rm_call.cb_vers = 3;
	call.rm_call.cb_proc = 6;
	call.rm_call.cb_cred = auth->ah_cred;
	call.rm_call.cb_verf = auth->ah_verf;
	cr_assert(xdr_callmsg(&xdrs, &call));
	*args = xdr_getpos(&xdrs);
	memset(buffer + *args, 0x77, 40);
	len = *args + 40;
	xdr_destroy(&xdrs);
	auth_destroy(auth);
	return len;
}

static struct xdr_cursor
cursor_over(const char *buffer, uint32_t cap, uint32_t total, enum xdr_status beyond)
{
	return (struct xdr_cursor){ .data = (const uint8_t *)buffer, .cap = cap, .total = total, .beyond = beyond };
}

Test(header, calls)
{
	for (int auth_sys = 0; auth_sys < 2; auth_sys++) {
		char buffer[BUFFER];
		uint32_t args, len = encode_call(buffer, auth_sys, &args);
		struct xdr_cursor cursor = cursor_over(buffer, len, len, XDR_HOLE);
		struct rpc_message message;

		cr_assert_eq(rpc_header_read(cursor, &message), HEADER_READ);
		cr_assert_eq(message.xid, 0x12345678);
		cr_assert_eq(message.type, RPC_TYPE_CALL);
		cr_assert_eq(message.program, 100003);
		cr_assert_eq(message.version, 3);
		cr_assert_eq(message.procedure, 6);
		cr_assert_eq(message.credential_flavor, auth_sys ? AUTH_SYS : AUTH_NONE);
		cr_assert(message.header_complete);
		cr_assert_eq(message.body.off, args);
		cr_assert_eq(rpc_call_likeness(&cursor), 2);
		cr_assert_eq(rpc_reply_likeness(&cursor), 0);
	}
}

/* With the header before it in mind a header reads as without, whichever of its bytes is another one, and wherever it is cut. */
static void
check_usual(const char *buffer, uint32_t cap, uint32_t len, struct usual_header usual)
{
	struct xdr_cursor cursor = cursor_over(buffer, cap, len, XDR_HOLE);
	struct rpc_message message = { .body = cursor }, alone;
	enum header_result result = rpc_header_parse(&message, &usual);

	cr_assert_eq(rpc_header_read(cursor, &alone), result);
	cr_assert_eq(message.xid, alone.xid);
	cr_assert_eq(message.type, alone.type);
	cr_assert_eq(message.program, alone.program);
	cr_assert_eq(message.version, alone.version);
	cr_assert_eq(message.procedure, alone.procedure);
	cr_assert_eq(message.credential_flavor, alone.credential_flavor);
	cr_assert_eq(message.protection, alone.protection);
	cr_assert_eq(message.asks_for_tls, alone.asks_for_tls);
	cr_assert_eq(message.header_complete, alone.header_complete);
	cr_assert_eq(message.body.off, alone.body.off);
	cr_assert_eq(message.body.status, alone.body.status);
}

Test(header, what_is_usual_changes_nothing)
{
	for (int auth_sys = 0; auth_sys < 2; auth_sys++) {
		char buffer[BUFFER];
		uint32_t args, len = encode_call(buffer, auth_sys, &args);
		struct usual_header usual = { 0 };
		struct rpc_message message = { .body = cursor_over(buffer, len, len, XDR_HOLE) };

		check_usual(buffer, len, len, usual);
		cr_assert_eq(rpc_header_parse(&message, &usual), HEADER_READ);
		cr_assert_eq(usual.bytes, args);
		for (uint32_t cap = 0; cap <= len; cap++)
			check_usual(buffer, cap, len, usual);
		for (uint32_t at = 0; at < args; at++)
			for (int bit = 0; bit < 8; bit++) {
				buffer[at] = (char)(buffer[at] ^ 1 << bit);
				check_usual(buffer, len, len, usual);
				buffer[at] = (char)(buffer[at] ^ 1 << bit);
			}
	}
}

/* Cut by a hole or still coming: never more than the bytes tell, never something else. */
Test(header, cut_calls)
{
	char buffer[BUFFER];
	uint32_t args, len = encode_call(buffer, true, &args);

	for (uint32_t cap = 0; cap < len; cap++) {
		struct rpc_message message;
		struct xdr_cursor coming = cursor_over(buffer, cap, len, XDR_SHORT);
		struct xdr_cursor cut = cursor_over(buffer, cap, len, XDR_HOLE);

		cr_assert_eq(rpc_header_read(coming, &message), cap >= args ? HEADER_READ : HEADER_WANTS, "%u", cap);
		cr_assert_eq(rpc_header_read(cut, &message), cap >= 24 ? HEADER_READ : HEADER_CUT, "%u", cap);
		cr_assert_eq(message.header_complete, cap >= args, "%u", cap);
		if (cap >= 8)
			cr_assert_neq(rpc_call_likeness(&cut), 0, "nothing speaks against it at %u", cap);
	}
}

Test(header, replies)
{
	static const struct { enum reply_stat stat; int detail; } forms[] = {
		{ MSG_ACCEPTED, SUCCESS }, { MSG_ACCEPTED, PROG_UNAVAIL }, { MSG_ACCEPTED, PROG_MISMATCH },
		{ MSG_ACCEPTED, PROC_UNAVAIL }, { MSG_ACCEPTED, GARBAGE_ARGS }, { MSG_ACCEPTED, SYSTEM_ERR },
		{ MSG_DENIED, RPC_MISMATCH }, { MSG_DENIED, AUTH_ERROR },
	};

	for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		char buffer[BUFFER] = { 0 };
		struct rpc_msg reply = { .rm_xid = 7, .rm_direction = REPLY };
		struct rpc_message message;
		struct xdr_cursor cursor;
		XDR xdrs;

		reply.rm_reply.rp_stat = forms[i].stat;
		if (forms[i].stat == MSG_ACCEPTED) {
			reply.acpted_rply.ar_verf = _null_auth;
			reply.acpted_rply.ar_stat = (enum accept_stat)forms[i].detail;
			reply.acpted_rply.ar_results.proc = (xdrproc_t)(void *)xdr_void;
		} else {
			reply.rjcted_rply.rj_stat = (enum reject_stat)forms[i].detail;
		}
		xdrmem_create(&xdrs, buffer, BUFFER, XDR_ENCODE);
		cr_assert(xdr_replymsg(&xdrs, &reply));
		cursor = cursor_over(buffer, xdr_getpos(&xdrs), xdr_getpos(&xdrs), XDR_HOLE);
		cr_assert_eq(rpc_header_read(cursor, &message), HEADER_READ, "form %u", i);
		cr_assert_eq(message.type, RPC_TYPE_REPLY);
		cr_assert_eq(message.xid, 7);
		cr_assert_eq(message.reply_stat, forms[i].stat);
		cr_assert_eq(message.detail, (uint32_t)forms[i].detail, "form %u", i);
		cr_assert_eq(rpc_message_succeeded(&message), i == 0);
		cr_assert_eq(rpc_reply_likeness(&cursor), 1);
		cr_assert_eq(rpc_call_likeness(&cursor), 0);
		xdr_destroy(&xdrs);
	}
}

Test(header, what_is_no_message)
{
	char buffer[BUFFER];
	uint32_t args, len = encode_call(buffer, true, &args);
	struct rpc_message message;
	struct xdr_cursor cursor = cursor_over(buffer, len, len, XDR_HOLE);

	buffer[11] = 3;		/* RPC version */
	cr_assert_eq(rpc_header_read(cursor, &message), HEADER_BROKEN);
	cr_assert_eq(rpc_call_likeness(&cursor), 0);
	buffer[11] = 2;
	buffer[7] = 9;		/* message type */
	cr_assert_eq(rpc_header_read(cursor, &message), HEADER_BROKEN);
	buffer[7] = 0;
	buffer[23] = 22;	/* NFSv3 has procedures 0 to 21 */
	cr_assert_eq(rpc_header_read(cursor, &message), HEADER_READ, "a message all the same");
	cr_assert_eq(rpc_call_likeness(&cursor), 0, "but none to find a place by");
}

/* RFC 2203 section 5: what RPCSEC_GSS leaves to read. */
Test(header, protection)
{
	static const struct { uint32_t procedure, service; enum rpc_protection protection; uint32_t skipped; } forms[] = {
		{ 0, 1, RPC_CLEAR, 0 }, { 0, 2, RPC_INTEGRITY, 8 }, { 0, 3, RPC_HIDDEN, 0 },
		{ 1, 1, RPC_HIDDEN, 0 }, { 3, 1, RPC_HIDDEN, 0 },
	};

	for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		char buffer[BUFFER] = { 0 }, credential[64];
		struct rpc_msg call = { .rm_xid = 1, .rm_direction = CALL };
		uint32_t words[] = { 1, forms[i].procedure, 77, forms[i].service };
		char handle[] = "handle..", *bytes = handle;
		u_int len = 8;
		struct rpc_message message;
		struct xdr_cursor cursor;
		XDR xdrs;

		xdrmem_create(&xdrs, credential, sizeof credential, XDR_ENCODE);
		for (unsigned w = 0; w < 4; w++)
			cr_assert(xdr_u_int32_t(&xdrs, &words[w]));
		cr_assert(xdr_bytes(&xdrs, &bytes, &len, 8));
		call.rm_call.cb_rpcvers = RPC_MSG_VERSION;
		call.rm_call.cb_prog = 100003;
		call.rm_call.cb_vers = 3;
		call.rm_call.cb_cred.oa_flavor = 6;
		call.rm_call.cb_cred.oa_base = credential;
		call.rm_call.cb_cred.oa_length = xdr_getpos(&xdrs);
		call.rm_call.cb_verf = _null_auth;
		xdrmem_create(&xdrs, buffer, BUFFER, XDR_ENCODE);
		cr_assert(xdr_callmsg(&xdrs, &call));
		cursor = cursor_over(buffer, xdr_getpos(&xdrs) + 40, xdr_getpos(&xdrs) + 40, XDR_HOLE);
		cr_assert_eq(rpc_header_read(cursor, &message), HEADER_READ);
		cr_assert_eq(message.protection, forms[i].protection, "form %u", i);
		cr_assert_eq(message.body.off, xdr_getpos(&xdrs) + forms[i].skipped, "form %u", i);
		cr_assert_eq(rpc_call_likeness(&cursor), 2);
	}
}

/* rpc_gss_integ_data (RFC 2203 section 5.3.2.2): length, sequence number, arguments, and a checksum that is no part of them. */
Test(header, integrity)
{
	static const struct { uint8_t len; enum xdr_status status; uint32_t left; } forms[] = {
		{ 12, XDR_FINE, 8 }, { 4, XDR_FINE, 0 }, { 3, XDR_MALFORMED, 0 }, { 0, XDR_MALFORMED, 0 },
		{ 32, XDR_FINE, 28 }, { 33, XDR_MALFORMED, 0 }, { 255, XDR_MALFORMED, 0 },
	};

	for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		char body[36] = { 0, 0, 0, (char)forms[i].len };

		for (uint32_t cap = 0; cap <= sizeof body; cap++) {
			struct xdr_cursor cursor = cursor_over(body, cap, sizeof body, XDR_HOLE);
			bool here = cap >= 4;

			rpc_enter_integrity(&cursor);
			cr_assert_eq(cursor.status, here ? (uint8_t)forms[i].status : XDR_HOLE, "form %u, %u bytes", i, cap);
			if (cursor.status != XDR_FINE)
				continue;
			cr_assert_eq(cursor.off, 8);
			cr_assert_eq(cursor.total, 8 + forms[i].left);
			cr_assert_leq(cursor.cap, cursor.total);
		}
	}
}
