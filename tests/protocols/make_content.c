/*
 * What is recognised by content, and told apart by it: ports, versions,
 * operations that nobody knows, lengths that lie, roles.
 */
#include <glib.h>
#include <string.h>

#include "protocols/scenarios.h"

enum {
	OP_COPY = 60, OP_GETATTR = 9, OP_LAYOUTGET = 50, OP_PUTFH = 22, OP_READ = 25, OP_READ_PLUS = 68, OP_SEQUENCE = 53,
	OP_ILLEGAL = 10044, OP_VENDOR = 0x10000001, OP_UNKNOWN = 77, OP_SAVEFH = 32,
	CB_RECALL = 4, CB_SEQUENCE = 11, NFS3_READ = 6, NFS3_WRITE = 7, STALE = 70,
};

#define STATEID 1, 2, 3, 4
#define SESSION 0x51, 0x52, 0x53, 0x54

/* Five GETATTRs on each connection: of 100, 200, 300, 400 and 500 us. */
void
make_ports(struct talk *talk)
{
	static const uint16_t ports[] = { 20049, 12049, 33333, 2049 };

	for (unsigned i = 0; i < G_N_ELEMENTS(ports); i++) {
		struct line line = talk_connect(talk, (uint8_t)(2 + i), 700, ports[i], 10000 * (int64_t)i);

		for (unsigned call = 0; call < 5; call++)
			getattr3(&line, 10 + call, 0, 10000 * (int64_t)i + 1000 + 1000 * call, 100 * (int64_t)(i + 1));
	}
	/* in the middle of a connection */
	for (unsigned call = 0; call < 1; call++) {
		struct line line = talk_line(talk, 9, 701, 20049);

		for (unsigned i = 0; i < 5; i++)
			getattr3(&line, 10 + i, 0, 50000 + 1000 * (int64_t)i, 500);
	}
}

/* HTTP and noise on NFS's port, beside three calls of 200 us. */
void
make_not_nfs(struct talk *talk)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";
	struct line http = talk_connect(talk, 2, 40000, 2049, 0), noise = talk_connect(talk, 3, 40001, 2049, 10);
	struct line nfs = talk_connect(talk, 4, 700, 2049, 20);
	g_autofree uint8_t *bytes = g_malloc(100000);
	g_autoptr(GRand) rand = g_rand_new_with_seed(23);

	talk_bytes(&http, TO_SERVER, request, sizeof request - 1, 1000);
	memset(bytes, 'x', 100000);
	memcpy(bytes, "HTTP/1.1 200 OK\r\n\r\n", 19);
	talk_bytes(&http, TO_CLIENT, bytes, 100000, 1100);
	for (unsigned i = 0; i < 100000; i++)
		bytes[i] = (uint8_t)g_rand_int(rand);
	talk_bytes(&noise, TO_SERVER, bytes, 50000, 1200);
	talk_bytes(&noise, TO_CLIENT, bytes + 50000, 50000, 1300);
	for (unsigned i = 0; i < 3; i++)
		getattr3(&nfs, 5 + i, 0, 2000 + 1000 * (int64_t)i, 200);
}

static void
put_putfh(struct message *call)
{
	message_words(call, OP_PUTFH);
	put_handle(call);
}

static void
getattr4(struct message *call, struct message *reply, uint32_t xid, uint32_t status)
{
	compound(call, xid, 0, 2);
	put_putfh(call);
	message_words(call, OP_GETATTR, 1, 8);
	compound_reply(reply, xid, status, status == 0 ? 2 : 1);
	message_words(reply, OP_PUTFH, status);
	if (status == 0)
		message_words(reply, OP_GETATTR, 0, 1, 8, 8, 0, 4096);
}

/* Both procedure 1, at a time, on one connection and with equal XIDs on two: version 3 takes 300 us, 4 takes 500 us. */
void
make_versions(struct talk *talk)
{
	struct line both = talk_connect(talk, 2, 700, 2049, 0), other = talk_connect(talk, 2, 701, 2049, 10);
	struct message call, reply;

	for (uint32_t i = 0; i < 4; i++) {
		int64_t at_us = 1000 + 1000 * (int64_t)i;

		getattr4(&call, &reply, 2 * i + 2, i == 3 ? STALE : 0);
		talk_record(&both, TO_SERVER, &call, at_us);
		getattr3(&both, 2 * i + 1, i == 3 ? STALE : 0, at_us + 100, 300);
		talk_record(&both, TO_CLIENT, &reply, at_us + 500);
	}
	getattr3(&both, 100, 0, 8000, 300);
	getattr4(&call, &reply, 100, 0);
	ask(&other, &call, &reply, 8000, 500);
}

/* An operation that nobody knows between two that everybody does. */
static void
ask_unknown(struct line *line)
{
	struct message call, reply;

	compound(&call, 1, 2, 3);
	put_putfh(&call);
	message_words(&call, OP_UNKNOWN, 0xffffffff, 7, 0xffffffff, OP_GETATTR, 1, 8);
	compound_reply(&reply, 1, OP_ILLEGAL, 2);
	message_words(&reply, OP_PUTFH, 0, OP_ILLEGAL, OP_ILLEGAL);
	ask(line, &call, &reply, 1000, 100);
}

/* A vendor's behind a READ of 4096 bytes. */
static void
ask_vendor(struct line *line)
{
	struct message call, reply;

	compound(&call, 2, 2, 3);
	put_putfh(&call);
	message_words(&call, OP_READ, STATEID, 0, 8192, 4096, OP_VENDOR, 0xffffffff, 0xffffffff);
	compound_reply(&reply, 2, 0, 3);
	message_words(&reply, OP_PUTFH, 0, OP_READ, 0, 1);
	put_data(&reply, 4096);
	message_words(&reply, OP_VENDOR, 0, 0xffffffff, 0xffffffff);
	ask(line, &call, &reply, 2000, 200);
}

/* Attributes with a bit that nobody knows in front of a READ of 1000 bytes. */
static void
ask_unknown_attribute(struct line *line)
{
	struct message call, reply;

	compound(&call, 3, 2, 3);
	put_putfh(&call);
	message_words(&call, OP_GETATTR, 3, 1, 0, 0x80000000, OP_READ, STATEID, 0, 0, 1000);
	compound_reply(&reply, 3, 0, 3);
	message_words(&reply, OP_PUTFH, 0, OP_GETATTR, 0, 3, 1, 0, 0x80000000);
	put_data(&reply, 52);
	message_words(&reply, OP_READ, 0, 1);
	put_data(&reply, 1000);
	ask(line, &call, &reply, 3000, 300);
}

/* A hole of 3000 bytes and 2000 of data (RFC 7862 section 15.10). */
static void
ask_read_plus(struct line *line)
{
	struct message call, reply;

	compound(&call, 4, 2, 2);
	put_putfh(&call);
	message_words(&call, OP_READ_PLUS, STATEID, 0, 0, 5000);
	compound_reply(&reply, 4, 0, 2);
	message_words(&reply, OP_PUTFH, 0, OP_READ_PLUS, 0, 1, 2, 1, 0, 0, 0, 3000, 0, 0, 3000);
	put_data(&reply, 2000);
	ask(line, &call, &reply, 4000, 400);
}

/* A layout of a type that is not known, and a COPY behind two file handles. */
static void
ask_layout_and_copy(struct line *line)
{
	struct message call, reply;

	compound(&call, 5, 2, 3);
	put_putfh(&call);
	message_words(&call, OP_LAYOUTGET, 0, 99, 1, 0, 0, 0, 4096, 0, 4096, STATEID, 65536, OP_GETATTR, 1, 8);
	compound_reply(&reply, 5, 0, 3);
	message_words(&reply, OP_PUTFH, 0, OP_LAYOUTGET, 0, 1, STATEID, 1, 0, 0, 0, 4096, 1, 99);
	put_data(&reply, 77);
	message_words(&reply, OP_GETATTR, 0, 1, 8, 8, 0, 4096);
	ask(line, &call, &reply, 5000, 500);

	compound(&call, 6, 2, 4);
	put_putfh(&call);
	message_words(&call, OP_SAVEFH);
	put_putfh(&call);
	message_words(&call, OP_COPY, STATEID, STATEID, 0, 0, 0, 0, 0, 1 << 20, 1, 1, 0);
	compound_reply(&reply, 6, 0, 4);
	message_words(&reply, OP_PUTFH, 0, OP_SAVEFH, 0, OP_PUTFH, 0, OP_COPY, 0, 0, 0, 1 << 20, 2, 7, 7, 1, 1);
	ask(line, &call, &reply, 6000, 600);
}

void
make_unknown_operations(struct talk *talk)
{
	struct line line = talk_connect(talk, 2, 700, 2049, 0);

	ask_unknown(&line);
	ask_vendor(&line);
	ask_unknown_attribute(&line);
	ask_read_plus(&line);
	ask_layout_and_copy(&line);
	getattr3(&line, 7, 0, 7000, 700);
}

/* A WRITE that says count and carries data of another length (RFC 1813 section 3.3.7); len may be no length at all. */
static void
ask_write(struct line *line, uint32_t xid, uint32_t count, uint32_t len, uint32_t there, int64_t at_us)
{
	struct message call, reply;

	message_call(&call, xid, PROGRAM_NFS, 3, NFS3_WRITE);
	put_handle(&call);
	message_words(&call, 0, 0, count, 2, len);
	for (uint32_t i = 0; i < there; i += 4)
		message_words(&call, 0x64646464);
	message_reply(&reply, xid);
	message_words(&reply, 0, 0, 0, there, 2, 7, 7);
	ask(line, &call, &reply, at_us, 100);
}

/* Behind each lie a call that is plain: none of them costs the place. Lies take 100 us, GETATTRs 200 us. */
void
make_lies(struct talk *talk)
{
	struct line line = talk_connect(talk, 2, 700, 2049, 0);
	struct message call, reply;

	ask_write(&line, 1, 100, 100, 100, 1000);
	ask_write(&line, 2, 4096, 100, 100, 2000);
	getattr3(&line, 3, 0, 3000, 200);
	ask_write(&line, 4, 100, 0xffffffff, 100, 4000);
	getattr3(&line, 5, 0, 5000, 200);
	/* a handle of 4 GiB */
	message_call(&call, 6, PROGRAM_NFS, 3, NFS3_READ);
	message_words(&call, 0xffffffff, 0, 0, 0, 0, 0);
	message_reply(&reply, 6);
	message_words(&reply, 10001, 0);
	ask(&line, &call, &reply, 6000, 100);
	getattr3(&line, 7, 0, 7000, 200);
	/* a reply that ends long before the data that it announces */
	message_call(&call, 8, PROGRAM_NFS, 3, NFS3_READ);
	put_read3(&call, 8192);
	message_reply(&reply, 8);
	message_words(&reply, 0, 1);
	put_attributes3(&reply);
	message_words(&reply, 8192, 1, 8192, 0x64646464, 0x64646464);
	ask(&line, &call, &reply, 8000, 100);
	getattr3(&line, 9, 0, 9000, 200);
}

/* A GETATTR of version 4.1 that takes 700 us, and inside it a callback with the same XID, of 100 us. */
static void
call_and_callback(struct line *line, uint32_t xid, int64_t at_us)
{
	struct message call, reply, callback, answer;

	compound(&call, xid, 1, 3);
	message_words(&call, OP_SEQUENCE, SESSION, xid, 0, 0, 1);
	put_putfh(&call);
	message_words(&call, OP_GETATTR, 1, 8);
	compound_reply(&reply, xid, 0, 3);
	message_words(&reply, OP_SEQUENCE, 0, SESSION, xid, 0, 15, 15, 0, OP_PUTFH, 0, OP_GETATTR, 0, 1, 8, 8, 0, 4096);
	message_call(&callback, xid, PROGRAM_CALLBACK, 1, 1);
	message_text(&callback, "");
	message_words(&callback, 1, 0, 2, CB_SEQUENCE, SESSION, xid, 0, 0, 0, 0, CB_RECALL, STATEID, 0);
	put_handle(&callback);
	compound_reply(&answer, xid, 0, 2);
	message_words(&answer, CB_SEQUENCE, 0, SESSION, xid, 0, 15, 15, CB_RECALL, 0);
	talk_record(line, TO_SERVER, &call, at_us);
	talk_record(line, TO_CLIENT, &callback, at_us + 200);
	talk_record(line, TO_SERVER, &answer, at_us + 300);
	talk_record(line, TO_CLIENT, &reply, at_us + 700);
}

void
make_callbacks(struct talk *talk)
{
	struct line line = talk_connect(talk, 2, 700, 2049, 0);

	for (uint32_t xid = 1; xid <= 4; xid++)
		call_and_callback(&line, xid, 1000 * (int64_t)xid);
	/* no SYN, and the first message is a callback's */
	line = talk_line(talk, 3, 701, 2049);
	for (uint32_t xid = 1; xid <= 2; xid++)
		call_and_callback(&line, xid, 10000 + 1000 * (int64_t)xid);
}

/* Each of three hosts is another's client, and two of them are each other's: a call of 100 us each way. */
void
make_both_roles(struct talk *talk)
{
	static const uint8_t hosts[][2] = { { 1, 2 }, { 2, 3 }, { 3, 1 }, { 2, 1 } };

	for (unsigned i = 0; i < G_N_ELEMENTS(hosts); i++) {
		struct line line = talk_line(talk, hosts[i][0], 700, 2049);

		line.server = hosts[i][1];
		for (unsigned call = 0; call < 3; call++)
			getattr3(&line, 5 + call, 0, 1000 * (int64_t)(call + 1) + 10 * (int64_t)i, 100);
	}
}
