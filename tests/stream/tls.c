/*
 * TLS where RPC is expected (RFC 9289): recognised, counted to the byte, and
 * nothing made up of it. Numbers in names are those of the list in tests/README.
 */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "stream/wire.h"

enum { MS = 1000000, AUTH_TLS = 7, NFS = 100003, HANDSHAKE = 22, DATA = 23, CLIENT_HELLO = 1, SERVER_HELLO = 2 };

/* NULL with AUTH_TLS (RFC 9289 section 4.1). */
static void
probe(struct wire *wire, uint32_t xid)
{
	const uint32_t words[] = { xid, 0, 2, NFS, 4, 0, AUTH_TLS, 0, 0, 0 };

	wire_words(wire, TO_SERVER, words, G_N_ELEMENTS(words));
}

/* Its reply; the verifier is STARTTLS. */
static void
agree(struct wire *wire, uint32_t xid)
{
	const uint32_t words[] = { xid, 1, 0, 0, 8, 0x53544152, 0x54544c53, 0 };

	wire_words(wire, TO_CLIENT, words, G_N_ELEMENTS(words));
}

/* MSG_DENIED, AUTH_ERROR, AUTH_BADCRED (RFC 5531 section 9). */
static void
refuse(struct wire *wire, uint32_t xid)
{
	const uint32_t words[] = { xid, 1, 1, 1, 1 };

	wire_words(wire, TO_CLIENT, words, G_N_ELEMENTS(words));
}

/* A TLS record of len bytes whose content begins with first. */
static void
tls_record(struct wire *wire, enum wire_direction direction, uint8_t type, uint8_t first, uint16_t len)
{
	uint8_t *at = wire->bytes[direction] + wire->len[direction];

	wire_append(wire, direction, 0x5a, 5 + (uint32_t)len);
	memcpy(at, (uint8_t[]){ type, 3, 3, (uint8_t)(len >> 8), (uint8_t)len, first }, 6);
}

static void
handshake_and_data(struct wire *wire)
{
	tls_record(wire, TO_SERVER, HANDSHAKE, CLIENT_HELLO, 300);
	tls_record(wire, TO_CLIENT, HANDSHAKE, SERVER_HELLO, 122);
	for (unsigned i = 0; i < 20; i++) {
		tls_record(wire, TO_SERVER, DATA, (uint8_t)i, (uint16_t)(100 + 700 * i));
		tls_record(wire, TO_CLIENT, DATA, (uint8_t)i, 16384);
	}
}

/* What both streams carry from here on, in segments of mss bytes. */
static void
send_both(struct wire *wire, const uint32_t from[2], uint32_t mss, int64_t ts_ns)
{
	for (int d = TO_SERVER; d <= TO_CLIENT; d++)
		for (uint32_t at = from[d]; at < wire->len[d]; at += mss)
			wire_send(wire, (enum wire_direction)d, at, MIN(mss, wire->len[d] - at), 0, ts_ns++);
}

static void
expect_tls(const struct wire *wire, uint64_t connections, uint64_t bytes)
{
	cr_assert_eq(wire->tcp->tls_connections, connections);
	cr_assert_eq(wire->tcp->tls_bytes, bytes, "%u of %u", (unsigned)wire->tcp->tls_bytes, (unsigned)bytes);
	cr_assert_eq(wire->rpc->malformed + wire->rpc->hidden_records + wire->rpc->orphan_replies, 0);
	cr_assert_eq(wire->tcp->resyncs + wire->tcp->hidden_records, 0);
}

Test(tls, row_29_probe_and_handover)
{
	static const uint32_t sizes[] = { 1, 3, 7, 100, 1448, 60000 };

	for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
		struct wire *wire = wire_new(0, 0);
		uint32_t clear[2];

		probe(wire, 5);
		agree(wire, 5);
		clear[0] = wire->len[0];
		clear[1] = wire->len[1];
		handshake_and_data(wire);
		wire_open(wire, 1 * MS);
		wire_send(wire, TO_SERVER, 0, clear[0], 0, 10 * MS);
		wire_send(wire, TO_CLIENT, 0, clear[1], clear[0], 12 * MS);
		send_both(wire, clear, sizes[i], 20 * MS);
		wire_finish(wire, 900 * MS);
		cr_assert_eq(wire->rpc->calls, 1);
		cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 1);
		cr_assert_eq(wire_op(wire, 5)->reply_last_ns - wire_op(wire, 5)->call_first_ns, 2 * MS);
		cr_assert_eq(wire->rpc->tls_asked, 1);
		cr_assert_eq(wire->rpc->tls_agreed, 1);
		expect_tls(wire, 1, wire->len[0] - clear[0] + wire->len[1] - clear[1]);
		wire_free(wire);
	}
}

/* The reply to the probe is missing, or the calls before it: headers of TLS are told from marks all the same. */
Test(tls, row_29_reply_to_the_probe_not_captured)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t clear[2];

	probe(wire, 5);
	agree(wire, 5);
	clear[0] = wire->len[0];
	clear[1] = wire->len[1];
	handshake_and_data(wire);
	wire_open(wire, 1 * MS);
	wire_send(wire, TO_SERVER, 0, clear[0], 0, 10 * MS);
	wire_ack(wire, TO_SERVER, clear[0], clear[1], 13 * MS);
	send_both(wire, clear, 1448, 20 * MS);
	wire_finish(wire, 900 * MS);
	cr_assert_eq(wire->rpc->tls_asked, 1);
	cr_assert_eq(wire->rpc->tls_agreed, 0);
	cr_assert_eq(wire->rpc->outcomes[OP_LOST_IN_CAPTURE], 1);
	cr_assert_eq(wire->tcp->tls_connections, 1);
	cr_assert_eq(wire->tcp->tls_bytes, wire->len[0] - clear[0] + wire->len[1] - clear[1]);
	wire_free(wire);
}

/* Refused, or agreed to and not begun: the connection goes on in clear. */
Test(tls, row_29_goes_on_in_clear)
{
	for (unsigned agreed = 0; agreed < 2; agreed++) {
		struct wire *wire = wire_new(0, 0);

		probe(wire, 5);
		wire_getattr(wire, 6);
		wire_write(wire, 7, 0, 8192);
		(agreed ? agree : refuse)(wire, 5);
		wire_getattr_reply(wire, 6);
		wire_open(wire, 1 * MS);
		send_both(wire, (const uint32_t[2]){ 0, 0 }, 1448, 10 * MS);
		wire_finish(wire, 900 * MS);
		cr_assert_eq(wire->rpc->calls, 3);
		cr_assert_eq(wire->rpc->outcomes[OP_ANSWERED], 2);
		cr_assert_eq(wire->rpc->tls_asked, 1);
		cr_assert_eq(wire->rpc->tls_agreed, agreed);
		expect_tls(wire, 0, 0);
		wire_free(wire);
	}
}

/* A tunnel: from the first byte, on NFS's port. On another port nothing says that it is NFS. */
Test(tls, row_29_from_the_first_byte)
{
	static const uint16_t ports[] = { 2049, 443, 20049 };

	for (unsigned i = 0; i < G_N_ELEMENTS(ports); i++) {
		struct wire *wire = wire_new(0, 0);
		bool nfs = ports[i] == 2049;

		wire->server_port = ports[i];
		handshake_and_data(wire);
		wire_open(wire, 1 * MS);
		send_both(wire, (const uint32_t[2]){ 0, 0 }, 1448, 10 * MS);
		wire_finish(wire, 900 * MS);
		cr_assert_eq(wire->rpc->calls, 0);
		cr_assert_eq(wire->tcp->rpc_connections, 0);
		expect_tls(wire, nfs, nfs ? wire->len[0] + wire->len[1] : 0);
		wire_free(wire);
	}
}

/* A capture that begins inside: three records in a row, no less. */
Test(tls, row_29_from_the_middle)
{
	for (unsigned records = 1; records < 6; records++) {
		struct wire *wire = wire_new(0, 0);

		wire_append(wire, TO_CLIENT, 0x33, 5000);
		for (unsigned i = 0; i < records; i++)
			tls_record(wire, TO_CLIENT, DATA, 9, 4000);
		/* the rest of a record, then one with each segment */
		for (uint32_t at = 1000; at < 5000; at += 1000)
			wire_send(wire, TO_CLIENT, at, 1000, 0, 10 * MS + at);
		for (uint32_t at = 5000; at < wire->len[TO_CLIENT]; at += 4005)
			wire_send(wire, TO_CLIENT, at, 4005, 0, 20 * MS + at);
		wire_finish(wire, 900 * MS);
		cr_assert_eq(wire->rpc->calls, 0);
		expect_tls(wire, records >= 3, records >= 3 ? records * 4005 : 0);
		wire_free(wire);
	}
}

/* NFS's port and another protocol: no calls, and no TLS. */
Test(tls, row_23_another_protocol_on_the_port)
{
	static const char request[] = "GET /index.html HTTP/1.1\r\nHost: a.example\r\n\r\n";
	struct wire *wire = wire_new(0, 0);
	GRand *rand = g_rand_new_with_seed(29);

	memcpy(wire->bytes[TO_SERVER], request, sizeof request - 1);
	wire->len[TO_SERVER] = sizeof request - 1;
	wire_append(wire, TO_CLIENT, 0, 400000);
	for (uint32_t i = 0; i < wire->len[TO_CLIENT]; i++)
		wire->bytes[TO_CLIENT][i] = (uint8_t)g_rand_int(rand);
	wire_open(wire, 1 * MS);
	send_both(wire, (const uint32_t[2]){ 0, 0 }, 1448, 10 * MS);
	wire_finish(wire, 900 * MS);
	cr_assert_eq(wire->rpc->calls + wire->rpc->replies, 0);
	cr_assert_eq(wire->tcp->rpc_connections, 0);
	expect_tls(wire, 0, 0);
	g_rand_free(rand);
	wire_free(wire);
}

/* What an NFS client writes into a file may be TLS: a capture of it, for instance. The place is lost in it and found. */
Test(tls, data_of_a_write)
{
	enum { CALLS = 30, SIZE = 32 * 1024 };
	struct wire *wire = wire_new(0, 0);
	uint32_t at[CALLS + 1];

	for (uint32_t i = 0; i < CALLS; i++) {
		at[i] = wire_write(wire, i + 1, i * SIZE, SIZE);
		/* records of 1443 bytes each, as long as a segment */
		for (uint32_t byte = at[i]; byte + 1448 <= wire->len[TO_SERVER]; byte += 1448)
			if (byte > at[i])
				memcpy(wire->bytes[TO_SERVER] + byte, "\x17\3\3\5\xa3", 5);
	}
	at[CALLS] = wire->len[TO_SERVER];
	wire_open(wire, 1 * MS);
	for (uint32_t i = 0; i < CALLS; i++)
		for (uint32_t byte = at[i]; byte < at[i + 1]; byte += 1448)
			/* of the tenth call only the later half is there */
			if (i != 9 || byte > at[i] + SIZE / 2)
				wire_send(wire, TO_SERVER, byte, MIN(1448, at[i + 1] - byte), 0, 10 * MS + byte);
	wire_ack(wire, TO_CLIENT, 0, wire->len[TO_SERVER], 800 * MS);
	wire_finish(wire, 900 * MS);
	cr_assert_eq(wire->rpc->calls, CALLS - 1);
	cr_assert_eq(wire->tcp->tls_connections, 0);
	wire_free(wire);
}

/* Over UDP the same by DTLS 1.2, whose version is 1s' complement. */
Test(tls, row_29_datagrams)
{
	struct wire *wire = wire_new(0, 0);
	uint32_t offset = wire->len[TO_SERVER];
	uint32_t words[32] = { 0x16fefd00, 0, 0, 0x00600000 };

	wire->server_port = 20049;
	offset = wire_words(wire, TO_SERVER, words, G_N_ELEMENTS(words));
	wire_datagram(wire, TO_SERVER, offset, 5 * MS);
	cr_assert_eq(datagrams_counters(wire->datagrams)->tls, 0, "nothing says that it is NFS");
	offset = wire->len[TO_SERVER];
	probe(wire, 5);
	wire_datagram(wire, TO_SERVER, offset, 10 * MS);
	offset = wire->len[TO_CLIENT];
	agree(wire, 5);
	wire_datagram(wire, TO_CLIENT, offset, 11 * MS);
	for (unsigned i = 0; i < 3; i++) {
		offset = wire_words(wire, TO_SERVER, words, G_N_ELEMENTS(words));
		wire_datagram(wire, TO_SERVER, offset, (12 + i) * MS);
	}
	wire_finish(wire, 900 * MS);
	cr_assert_eq(wire->rpc->calls, 1);
	cr_assert_eq(wire->rpc->tls_agreed, 1);
	cr_assert_eq(datagrams_counters(wire->datagrams)->tls, 3);
	wire_free(wire);
}
