/*
 * RPCSEC_GSS (RFC 2203) and RPC-with-TLS (RFC 9289).
 */
#include <glib.h>
#include <string.h>

#include "protocols/scenarios.h"

enum {
	GSS_DATA = 0, GSS_INIT = 1, GSS_DESTROY = 3, NONE = 1, INTEGRITY = 2, PRIVACY = 3,
	NFS3_NULL = 0, NFS3_GETATTR = 1, NFS3_READ = 6, NFS4_COMPOUND = 1, OP_PUTFH = 22, OP_READ = 25,
};

/* rpc_gss_cred_t: version, procedure, sequence number, service, handle (section 5) */
static void
gss_call(struct message *call, uint32_t xid, uint32_t version, uint32_t procedure, uint32_t what, uint32_t sequence,
    uint32_t service)
{
	char bytes[64];
	XDR xdr;
	uint32_t words[] = { 1, what, sequence, service };
	char handle[4] = "ctx", *place = handle;
	u_int len = what == GSS_INIT ? 0 : sizeof handle;

	xdrmem_create(&xdr, bytes, sizeof bytes, XDR_ENCODE);
	for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
		g_assert(xdr_uint32_t(&xdr, &words[i]));
	g_assert(xdr_bytes(&xdr, &place, &len, sizeof handle));
	message_call_as(call, xid, PROGRAM_NFS, version, procedure, FLAVOR_GSS, bytes, xdr_getpos(&xdr));
}

static void
gss_reply(struct message *reply, uint32_t xid)
{
	static const char checksum[28] = "of the sequence number";

	message_reply_as(reply, xid, FLAVOR_GSS, checksum, sizeof checksum);
}

/* Puts inner, in the form of a service, behind the header: as it is, with length, number and checksum, encrypted. */
static void
gss_body(struct message *message, struct message *inner, uint32_t sequence, uint32_t service)
{
	char checksum[28];

	memset(checksum, (int)('A' + sequence % 16), sizeof checksum);
	if (service == NONE) {
		g_assert(xdr_opaque(&message->xdr, inner->bytes, message_len(inner)));
		return;
	}
	message_opaque(message, inner->bytes, message_len(inner));
	if (service == INTEGRITY)
		message_opaque(message, checksum, sizeof checksum);
}

/* The sequence number in front of what is protected (section 5.3.2.2). */
static void
begin_inner(struct message *inner, uint32_t sequence, uint32_t service)
{
	xdrmem_create(&inner->xdr, inner->bytes, MESSAGE_MOST, XDR_ENCODE);
	if (service != NONE)
		message_words(inner, sequence);
}

static void
gss_getattr3(struct line *line, uint32_t xid, uint32_t sequence, uint32_t service, int64_t at_us, int64_t took_us)
{
	struct message call, reply, inner;

	gss_call(&call, xid, 3, NFS3_GETATTR, GSS_DATA, sequence, service);
	begin_inner(&inner, sequence, service);
	put_handle(&inner);
	gss_body(&call, &inner, sequence, service);
	gss_reply(&reply, xid);
	begin_inner(&inner, sequence, service);
	message_words(&inner, 0);
	put_attributes3(&inner);
	gss_body(&reply, &inner, sequence, service);
	ask(line, &call, &reply, at_us, took_us);
}

static void
gss_read3_call(struct message *call, uint32_t xid, uint32_t sequence, uint32_t service)
{
	struct message inner;

	gss_call(call, xid, 3, NFS3_READ, GSS_DATA, sequence, service);
	begin_inner(&inner, sequence, service);
	put_read3(&inner, 4096);
	gss_body(call, &inner, sequence, service);
}

static void
gss_read3_reply(struct message *reply, uint32_t xid, uint32_t sequence, uint32_t service)
{
	struct message inner;

	gss_reply(reply, xid);
	begin_inner(&inner, sequence, service);
	put_read3_reply(&inner, 4096);
	gss_body(reply, &inner, sequence, service);
}

static void
gss_read4(struct line *line, uint32_t xid, uint32_t sequence, uint32_t service, int64_t at_us, int64_t took_us)
{
	struct message call, reply, inner;

	gss_call(&call, xid, 4, NFS4_COMPOUND, GSS_DATA, sequence, service);
	begin_inner(&inner, sequence, service);
	message_text(&inner, "");
	message_words(&inner, 0, 2, OP_PUTFH);
	put_handle(&inner);
	message_words(&inner, OP_READ, 1, 2, 3, 4, 0, 0, 2048);
	gss_body(&call, &inner, sequence, service);
	gss_reply(&reply, xid);
	begin_inner(&inner, sequence, service);
	message_words(&inner, 0);
	message_text(&inner, "");
	message_words(&inner, 2, OP_PUTFH, 0, OP_READ, 0, 1);
	put_data(&inner, 2048);
	gss_body(&reply, &inner, sequence, service);
	ask(line, &call, &reply, at_us, took_us);
}

/* NULL carries the tokens of the mechanism (section 5.2.2). */
static void
gss_context(struct line *line, uint32_t xid, uint32_t what, int64_t at_us, int64_t took_us)
{
	struct message call, reply;

	gss_call(&call, xid, 3, NFS3_NULL, what, 0, NONE);
	if (what == GSS_INIT)
		message_text(&call, "token of the client");
	message_reply(&reply, xid);
	if (what == GSS_INIT) {
		message_text(&reply, "ctx");
		message_words(&reply, 0, 0, 128);
		message_text(&reply, "token of the server");
	}
	ask(line, &call, &reply, at_us, took_us);
}

/* Of each service a GETATTR of 100 us times it, a READ of 1000 us and one of version 4 of 2000 us. */
void
make_gss(struct talk *talk)
{
	struct line line = talk_connect(talk, 2, 700, 2049, 0);
	struct message call, reply;

	gss_context(&line, 1, GSS_INIT, 1000, 5000);
	for (uint32_t service = NONE; service <= PRIVACY; service++) {
		int64_t at_us = 10000 * (int64_t)service;

		gss_getattr3(&line, 10 * service, 3 * service, service, at_us, 100 * (int64_t)service);
		gss_read3_call(&call, 10 * service + 1, 3 * service + 1, service);
		gss_read3_reply(&reply, 10 * service + 1, 3 * service + 1, service);
		ask(&line, &call, &reply, at_us + 2000, 1000);
		gss_read4(&line, 10 * service + 2, 3 * service + 2, service, at_us + 5000, 2000);
	}
	gss_context(&line, 99, GSS_DESTROY, 50000, 300);
}

/* Each service's READ sent again before its reply: the sequence number is another one, and with it the checksum. */
void
make_gss_copies(struct talk *talk)
{
	struct line line = talk_connect(talk, 2, 700, 2049, 0);
	struct message call, reply;

	for (uint32_t service = NONE; service <= PRIVACY; service++) {
		int64_t at_us = 100000 * (int64_t)service;

		gss_read3_call(&call, service, 2 * service, service);
		talk_record(&line, TO_SERVER, &call, at_us);
		gss_read3_call(&call, service, 2 * service + 1, service);
		talk_record(&line, TO_SERVER, &call, at_us + 50000);
		gss_read3_reply(&reply, service, 2 * service, service);
		talk_record(&line, TO_CLIENT, &reply, at_us + 60000);
	}
}

/* Records of 5 and len bytes; the first content byte of a handshake is its message. */
static uint32_t
tls_record(uint8_t *at, uint8_t type, uint8_t first, uint32_t len)
{
	memset(at, 0xe7, 5 + len);
	memcpy(at, (uint8_t[]){ type, 3, 3, (uint8_t)(len >> 8), (uint8_t)len, first }, 6);
	return 5 + len;
}

/* Hellos of 300 and 1200 bytes, ten records of 1000 bytes up and 16384 down: 10355 and 165095 bytes. */
static void
tls_traffic(struct line *line, int64_t at_us)
{
	g_autofree uint8_t *bytes = g_malloc(1 << 15);
	uint32_t len = tls_record(bytes, 22, 1, 300);

	talk_bytes(line, TO_SERVER, bytes, len, at_us);
	len = tls_record(bytes, 22, 2, 1200);
	talk_bytes(line, TO_CLIENT, bytes, len, at_us + 100);
	for (unsigned i = 1; i <= 10; i++) {
		len = tls_record(bytes, 23, 7, 1000);
		talk_bytes(line, TO_SERVER, bytes, len, at_us + 1000 * (int64_t)i);
		len = tls_record(bytes, 23, 7, 16384);
		talk_bytes(line, TO_CLIENT, bytes, len, at_us + 1000 * (int64_t)i + 300);
	}
}

/* The probe takes 400 us; the rest is hidden. Another connection is refused and stays in clear, two calls of 200 us. */
void
make_tls(struct talk *talk)
{
	struct line line = talk_connect(talk, 2, 700, 2049, 0), clear = talk_connect(talk, 3, 700, 2049, 10);
	struct message call, reply;

	message_call_as(&call, 1, PROGRAM_NFS, 4, NFS3_NULL, FLAVOR_TLS, "", 0);
	message_reply_as(&reply, 1, FLAVOR_NONE, "STARTTLS", 8);
	ask(&line, &call, &reply, 1000, 400);
	tls_traffic(&line, 2000);
	message_call_as(&call, 7, PROGRAM_NFS, 4, NFS3_NULL, FLAVOR_TLS, "", 0);
	/* denied: AUTH_ERROR, AUTH_BADCRED (RFC 5531 section 9) */
	xdrmem_create(&reply.xdr, reply.bytes, MESSAGE_MOST, XDR_ENCODE);
	message_words(&reply, 7, 1, 1, 1, 1);
	ask(&clear, &call, &reply, 1000, 400);
	for (uint32_t i = 0; i < 2; i++)
		getattr3(&clear, 8 + i, 0, 3000 + 1000 * (int64_t)i, 200);
}

/* Nothing but TLS on the port, from the first byte and from the middle. */
void
make_tls_tunnel(struct talk *talk)
{
	struct line line = talk_connect(talk, 2, 700, 2049, 0), middle = talk_line(talk, 3, 701, 2049);

	tls_traffic(&line, 2000);
	tls_traffic(&middle, 2500);
}
