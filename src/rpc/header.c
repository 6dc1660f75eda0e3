#include "rpc/header.h"

#include <glib.h>
#include <string.h>

#include "base/words.h"
#include "rpc/names.h"

enum {
	RPC_VERSION = 2,		/* RFC 5531 section 9, rpcvers */
	CALL_WORDS = 32,		/* bytes of a call's header up to its credential's */
	REPLY_WORDS = 24,		/* of an accepted reply's whose verifier has none */
	AUTH_MOST_BYTES = 400,		/* RFC 5531 section 8.2 */
	MACHINE_NAME_MOST = 255,	/* RFC 5531 appendix A */
	GIDS_MOST = 16,
	REPLY_ACCEPTED = 0,
	REPLY_DENIED = 1,
	DENIED_MISMATCH = 0,
	ACCEPT_MISMATCH = 2,
	ACCEPT_STAT_LAST = 5,		/* SYSTEM_ERR */
	GSS_DATA = 0,			/* RFC 2203 section 5, rpc_gss_proc_t and rpc_gss_service_t */
	GSS_INTEGRITY = 2,
};

/* RFC 5531 section 14 and the registry of authentication flavors. */
enum flavor { FLAVOR_NONE = 0, FLAVOR_SYS = 1, FLAVOR_SHORT = 2, FLAVOR_DH = 3, FLAVOR_GSS = 6, FLAVOR_TLS = 7 };

void
rpc_enter_integrity(struct xdr_cursor *body)
{
	enum { SEQUENCE_BYTES = 4 };
	uint32_t len = xdr_u32(body);

	xdr_skip(body, SEQUENCE_BYTES);
	if (!xdr_ok(body))
		return;
	if (len < SEQUENCE_BYTES || len - SEQUENCE_BYTES > body->total - body->off) {
		xdr_fail(body, XDR_MALFORMED);
		return;
	}
	body->total = body->off + len - SEQUENCE_BYTES;
	if (body->cap > body->total)
		body->cap = body->total;
}

/* credential flavor, verifier flavor: opaque_auth (RFC 5531 section 8.2) */
static void
skip_auth(struct xdr_cursor *cursor)
{
	xdr_skip(cursor, 4);
	xdr_skip_opaque(cursor, AUTH_MOST_BYTES);
}

/* flavor; rpc_gss_cred_t (RFC 2203 section 5): length, version, procedure, sequence number, service, handle */
static enum rpc_protection
read_protection(struct xdr_cursor cursor)
{
	uint32_t procedure, service;

	xdr_skip(&cursor, 12);
	procedure = xdr_u32(&cursor);
	xdr_skip(&cursor, 4);
	service = xdr_u32(&cursor);
	if (!xdr_ok(&cursor) || procedure != GSS_DATA || service > GSS_INTEGRITY)
		return RPC_HIDDEN;
	return service == GSS_INTEGRITY ? RPC_INTEGRITY : RPC_CLEAR;
}

/* The next integer, left where it is; 0 when it is not here. */
static uint32_t
peek_u32(const struct xdr_cursor *cursor)
{
	if (cursor->status != XDR_FINE || cursor->off > cursor->cap || cursor->cap - cursor->off < 4)
		return 0;
	return xdr_load32(cursor->data + cursor->off);
}

static void
read_call(struct xdr_cursor *cursor, struct rpc_message *message)
{
	message->credential_flavor = peek_u32(cursor);
	message->asks_for_tls = message->credential_flavor == FLAVOR_TLS;
	if (message->credential_flavor == FLAVOR_GSS)
		message->protection = (uint8_t)read_protection(*cursor);
	skip_auth(cursor);
	skip_auth(cursor);
	message->header_complete = xdr_ok(cursor);
	if (message->header_complete && message->protection == RPC_INTEGRITY)
		rpc_enter_integrity(cursor);
}

/* Steps over a reply's verifier; true when a server agrees to TLS with it (RFC 9289 section 4.1). */
static bool
skip_verifier(struct xdr_cursor *cursor)
{
	static const char word[] = "STARTTLS";
	enum { WORD = sizeof word - 1 };
	uint32_t flavor = xdr_u32(cursor), len = xdr_skip_opaque(cursor, AUTH_MOST_BYTES);

	return flavor == FLAVOR_NONE && len == WORD && cursor->off <= cursor->cap &&
	    memcmp(cursor->data + cursor->off - WORD, word, WORD) == 0;
}

static void
read_reply(struct xdr_cursor *cursor, struct rpc_message *message)
{
	message->reply_stat = xdr_u32(cursor);
	if (message->reply_stat == REPLY_ACCEPTED)
		message->starts_tls = skip_verifier(cursor);
	message->detail = xdr_u32(cursor);
	message->header_complete = xdr_ok(cursor);
}

/* The words that every message has, and a call's up to its procedure; the type, 0 with an error kept. */
static uint32_t
read_words(struct xdr_cursor *cursor, struct rpc_message *message, uint32_t *rpc_version)
{
	uint32_t type;

	message->xid = xdr_u32(cursor);
	type = xdr_u32(cursor);
	if (type == RPC_TYPE_CALL) {
		*rpc_version = xdr_u32(cursor);
		message->program = xdr_u32(cursor);
		message->version = xdr_u32(cursor);
		message->procedure = xdr_u32(cursor);
	}
	return type;
}

/* Word by word: whatever is missing, or is not as usual. */
static G_GNUC_NO_INLINE enum header_result
read_header(struct rpc_message *message)
{
	struct xdr_cursor *cursor = &message->body;
	uint32_t rpc_version = RPC_VERSION, type = read_words(cursor, message, &rpc_version);

	if (!xdr_ok(cursor))
		return cursor->status == XDR_SHORT ? HEADER_WANTS :
		    cursor->status == XDR_HOLE ? HEADER_CUT : HEADER_BROKEN;
	if (type > RPC_TYPE_REPLY || rpc_version != RPC_VERSION)
		return HEADER_BROKEN;
	message->type = (uint8_t)type;
	if (type == RPC_TYPE_CALL)
		read_call(cursor, message);
	else
		read_reply(cursor, message);
	if (cursor->status == XDR_SHORT)
		return HEADER_WANTS;
	if (type == RPC_TYPE_REPLY && message->reply_stat > REPLY_DENIED && cursor->status != XDR_HOLE)
		return HEADER_BROKEN;
	return HEADER_READ;
}

/*
 *   0    4    8           12      16      20        24                 32 + credential
 *   XID  CALL rpc version program version procedure flavor len bytes.. flavor len bytes..
 */
enum { KIND = 4, SERVICE = 12, PROCEDURE = 20, CREDENTIAL = 24, AUTH_WORDS = 8 };

static inline bool
is_call_of_version_2(const uint8_t *words)
{
	static const uint8_t kind[8] = { [3] = RPC_TYPE_CALL, [7] = RPC_VERSION };

	return load64(words + KIND) == load64(kind);
}

/* A call like the one before it. */
static inline bool
load_usual(struct rpc_message *message, const struct usual_header *usual)
{
	const uint8_t *words = message->body.data;

	/* no bytes of a header are more than any */
	if (usual->bytes - 1 >= message->body.cap)
		return false;
	if (!is_call_of_version_2(words) || ((load64(words + SERVICE) ^ usual->service) |
	    (load64(words + CREDENTIAL) ^ usual->credential) |
	    (load64(words + usual->bytes - AUTH_WORDS) ^ usual->verifier)) != 0)
		return false;
	message->type = RPC_TYPE_CALL;
	message->xid = xdr_load32(words);
	message->program = usual->program;
	message->version = usual->version;
	message->procedure = xdr_load32(words + PROCEDURE);
	message->credential_flavor = usual->credential_flavor;
	message->header_complete = true;
	message->body.off = usual->bytes;
	return true;
}

static void
learn_usual(struct usual_header *usual, const struct rpc_message *message)
{
	const uint8_t *words = message->body.data;

	usual->bytes = message->body.off;
	usual->program = message->program;
	usual->version = message->version;
	usual->credential_flavor = message->credential_flavor;
	usual->service = load64(words + SERVICE);
	usual->credential = load64(words + CREDENTIAL);
	usual->verifier = load64(words + usual->bytes - AUTH_WORDS);
}

/* One that is all here, without what takes more to read. */
static bool
load_call(struct rpc_message *message, struct usual_header *usual)
{
	struct xdr_cursor *cursor = &message->body;
	const uint8_t *words = cursor->data;
	uint32_t flavor = xdr_load32(words + CREDENTIAL), len = xdr_load32(words + CREDENTIAL + 4), verifier;

	if (!is_call_of_version_2(words) || flavor == FLAVOR_GSS || flavor == FLAVOR_TLS || len > AUTH_MOST_BYTES)
		return false;
	verifier = CREDENTIAL + AUTH_WORDS + (uint32_t)xdr_padded(len);
	if (!xdr_holds(cursor, verifier + AUTH_WORDS))
		return false;
	len = xdr_load32(words + verifier + 4);
	if (len > AUTH_MOST_BYTES || !xdr_holds(cursor, verifier + AUTH_WORDS + (uint32_t)xdr_padded(len)))
		return false;
	message->type = RPC_TYPE_CALL;
	message->xid = xdr_load32(words);
	message->program = xdr_load32(words + SERVICE);
	message->version = xdr_load32(words + SERVICE + 4);
	message->procedure = xdr_load32(words + PROCEDURE);
	message->credential_flavor = flavor;
	message->header_complete = true;
	cursor->off = verifier + AUTH_WORDS + (uint32_t)xdr_padded(len);
	if (usual != NULL && len == 0)
		learn_usual(usual, message);
	return true;
}

/* XID, REPLY, MSG_ACCEPTED, a verifier without bytes, accept_stat */
static inline bool
load_reply(struct rpc_message *message)
{
	static const uint8_t accepted[8] = { [3] = RPC_TYPE_REPLY, [7] = REPLY_ACCEPTED };
	const uint8_t *words = message->body.data;

	if (load64(words + KIND) != load64(accepted) || xdr_load32(words + 16) != 0)
		return false;
	message->type = RPC_TYPE_REPLY;
	message->xid = xdr_load32(words);
	message->detail = xdr_load32(words + 20);
	message->header_complete = true;
	message->body.off = REPLY_WORDS;
	return true;
}

/* Nearly every header is all here and as usual: it need not be looked for word by word. */
enum header_result
rpc_header_parse(struct rpc_message *message, struct usual_header *usual)
{
	const struct xdr_cursor *cursor = &message->body;

	if (G_LIKELY(xdr_holds(cursor, REPLY_WORDS)) && (load_reply(message) ||
	    (usual != NULL && load_usual(message, usual)) ||
	    (xdr_holds(cursor, CALL_WORDS) && load_call(message, usual))))
		return HEADER_READ;
	return read_header(message);
}

/* The body of AUTH_SYS (RFC 5531 appendix A) must fill its opaque exactly. */
static bool
is_auth_sys(struct xdr_cursor cursor, uint32_t len)
{
	uint32_t start = cursor.off;
	uint32_t gids;

	xdr_skip(&cursor, 4);
	xdr_skip_opaque(&cursor, MACHINE_NAME_MOST);
	xdr_skip(&cursor, 8);
	gids = xdr_u32(&cursor);
	if (gids > GIDS_MOST)
		return false;
	xdr_skip(&cursor, gids * 4);
	return !xdr_ok(&cursor) ? cursor.status != XDR_MALFORMED : cursor.off - start == len;
}

/* True unless the bytes contradict a credential or verifier. */
static bool
may_be_auth(struct xdr_cursor *cursor)
{
	uint32_t flavor = xdr_u32(cursor);
	uint32_t len = xdr_u32(cursor);

	if (!xdr_ok(cursor))
		return cursor->status != XDR_MALFORMED;
	if (len > AUTH_MOST_BYTES || flavor > FLAVOR_TLS || flavor == 4 || flavor == 5)
		return false;
	if ((flavor == FLAVOR_NONE || flavor == FLAVOR_TLS) && len != 0 && len != 8)
		return false;
	if (flavor == FLAVOR_SYS && !is_auth_sys(*cursor, len))
		return false;
	xdr_skip(cursor, (uint32_t)xdr_padded(len));
	return cursor->status != XDR_MALFORMED;
}

/* Programs that a search for boundaries believes in. */
static bool
may_be_procedure(uint32_t program, uint32_t version, uint32_t procedure)
{
	const struct decoder *decoder = decoder_find(program, version);

	return decoder != NULL && procedure < decoder->procedure_count;
}

int
rpc_call_likeness(const struct xdr_cursor *start)
{
	struct xdr_cursor cursor = *start;
	uint32_t program, version, procedure, rpc_version;

	xdr_skip(&cursor, 4);
	if (xdr_u32(&cursor) != RPC_TYPE_CALL)
		return 0;
	rpc_version = xdr_u32(&cursor);
	if (xdr_ok(&cursor) && rpc_version != RPC_VERSION)
		return 0;
	program = xdr_u32(&cursor);
	version = xdr_u32(&cursor);
	procedure = xdr_u32(&cursor);
	if (!xdr_ok(&cursor))
		return cursor.status != XDR_MALFORMED;
	if (!may_be_procedure(program, version, procedure))
		return 0;
	if (!may_be_auth(&cursor) || !may_be_auth(&cursor))
		return 0;
	return 2;
}

int
rpc_reply_likeness(const struct xdr_cursor *start)
{
	struct xdr_cursor cursor = *start;
	uint32_t reply_stat, detail;

	xdr_skip(&cursor, 4);
	if (xdr_u32(&cursor) != RPC_TYPE_REPLY)
		return 0;
	reply_stat = xdr_u32(&cursor);
	if (!xdr_ok(&cursor))
		return cursor.status != XDR_MALFORMED;
	if (reply_stat == REPLY_ACCEPTED) {
		if (!may_be_auth(&cursor))
			return 0;
		detail = xdr_u32(&cursor);
		return xdr_ok(&cursor) ? detail <= ACCEPT_STAT_LAST : cursor.status != XDR_MALFORMED;
	}
	return reply_stat == REPLY_DENIED;
}
