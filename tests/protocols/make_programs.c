/*
 * NFSv2, the programs beside NFS, what the portmapper tells, sessions.
 */
#include <glib.h>
#include <rpc/rpc.h>
#include <rpc/pmap_prot.h>
#include <string.h>

#include "protocols/scenarios.h"

enum {
	NLM = 100021, NSM = 100024, NFSACL = 100227, RQUOTA = 100011, OP_EXCHANGE_ID = 42, OP_CREATE_SESSION = 43,
	OP_SETCLIENTID = 35, OP_CB_RECALL = 4, PROTOCOL_TCP = 6, PORT_LEARNED = 33049, NFS3_WRITE = 7, WRITE_BYTES = 3000,
};

/* A call whose body is `words` of one value, and a reply alike, as a datagram. */
static void
plain(struct line *line, uint32_t xid, uint32_t program, uint32_t version, uint32_t procedure, int64_t at_us,
    int64_t took_us)
{
	struct message call, reply;

	message_call(&call, xid, program, version, procedure);
	if (procedure != 0)
		message_words(&call, 1, 0x61000000, 1, 0x62000000, 0, 0, 0, 0);
	message_reply(&reply, xid);
	if (procedure != 0)
		message_words(&reply, 0, 0, 0, 0);
	ask_datagram(line, &call, &reply, at_us, took_us);
}

static void
getport(struct line *line, uint32_t xid, u_long program, u_long version, uint32_t port, int64_t at_us, int64_t took_us)
{
	struct message call, reply;
	struct pmap mapping = { program, version, PROTOCOL_TCP, 0 };

	message_call(&call, xid, PROGRAM_PORTMAP, PMAPVERS, PMAPPROC_GETPORT);
	g_assert(xdr_pmap(&call.xdr, &mapping));
	message_reply(&reply, xid);
	message_words(&reply, port);
	ask_datagram(line, &call, &reply, at_us, took_us);
}

static void
getaddr(struct line *line, uint32_t xid, uint32_t version, int64_t at_us, int64_t took_us)
{
	struct message call, reply;
	char tcp[] = "tcp", none[] = "";
	RPCB wanted = { PROGRAM_NFS, 4, tcp, none, none };

	message_call(&call, xid, PROGRAM_PORTMAP, version, RPCBPROC_GETADDR);
	g_assert(xdr_rpcb(&call.xdr, &wanted));
	message_reply(&reply, xid);
	message_text(&reply, "10.0.0.1.8.1");
	ask_datagram(line, &call, &reply, at_us, took_us);
}

/* The n-th call takes n times 10 us. */
void
make_side_programs(struct talk *talk)
{
	static const struct {
		uint16_t port;
		uint32_t program, version, procedure;
	} calls[] = {
		{ 20048, PROGRAM_MOUNT, 1, 1 }, { 20048, PROGRAM_MOUNT, 3, 1 }, { 20048, PROGRAM_MOUNT, 3, 3 },
		{ 4045, NLM, 1, 2 }, { 4045, NLM, 3, 20 }, { 4045, NLM, 4, 2 }, { 4045, NLM, 4, 4 },
		{ 662, NSM, 1, 6 }, { 2049, NFSACL, 3, 1 }, { 875, RQUOTA, 1, 1 },
	};
	struct line portmap = talk_line(talk, 2, 700, 111);

	getport(&portmap, 1, PROGRAM_MOUNT, 3, 20048, 1000, 10);
	getport(&portmap, 2, NLM, 4, 4045, 2000, 20);
	getaddr(&portmap, 3, 3, 3000, 30);
	getaddr(&portmap, 4, 4, 4000, 40);
	for (unsigned i = 0; i < G_N_ELEMENTS(calls); i++) {
		struct line line = talk_line(talk, 2, (uint16_t)(701 + i), calls[i].port);

		plain(&line, 5 + i, calls[i].program, calls[i].version, calls[i].procedure, 1000 * (int64_t)(5 + i),
		    10 * (int64_t)(5 + i));
	}
}

/* RFC 1094: GETATTR 100 us, READ of 512 bytes 200 us, WRITE of 256 bytes 300 us, over UDP and TCP. */
void
make_nfs2(struct talk *talk)
{
	static const char handle[32] = "handle";
	struct message call, reply;

	for (unsigned tcp = 0; tcp < 2; tcp++) {
		struct line line = tcp ? talk_connect(talk, 3, 701, 2049, 0) : talk_line(talk, 2, 700, 2049);
		void (*send)(struct line *, struct message *, struct message *, int64_t, int64_t) =
		    tcp ? ask : ask_datagram;

		for (uint32_t what = 0; what < 3; what++) {
			static const uint32_t procedures[] = { 1, 6, 8 };
			uint32_t xid = 10 + what;

			message_call(&call, xid, PROGRAM_NFS, 2, procedures[what]);
			g_assert(xdr_opaque(&call.xdr, (char *)handle, sizeof handle));
			if (what == 1)
				message_words(&call, 4096, 512, 512);
			if (what == 2) {
				message_words(&call, 0, 8192, 256);
				put_data(&call, 256);
			}
			message_reply(&reply, xid);
			message_words(&reply, 0);
			for (uint32_t i = 0; i < 17; i++)
				message_words(&reply, i == 0 ? 1 : 4096);
			if (what == 1)
				put_data(&reply, 512);
			send(&line, &call, &reply, 1000 * (int64_t)(what + 1), 100 * (int64_t)(what + 1));
		}
	}
}

static uint32_t
put_record(uint8_t *bytes, uint32_t at, struct message *message)
{
	uint32_t mark = GUINT32_TO_BE(0x80000000u | message_len(message));

	memcpy(bytes + at, &mark, 4);
	memcpy(bytes + at + 4, message->bytes, message_len(message));
	return at + 4 + message_len(message);
}

/*
 * The portmapper names a port. On a connection to it that was there before the
 * capture, five WRITEs lie so that no segment begins with one, nor do their replies.
 */
void
make_learned_port(struct talk *talk)
{
	struct line portmap = talk_line(talk, 2, 800, 111), nfs = talk_line(talk, 2, 700, PORT_LEARNED);
	g_autofree uint8_t *calls = g_malloc0(1 << 16), *replies = g_malloc0(1 << 16);
	uint32_t up = 700, down = 50;
	struct message message;

	getport(&portmap, 1, PROGRAM_NFS, 3, PORT_LEARNED, 1000, 100);
	for (uint32_t xid = 1; xid <= 5; xid++) {
		message_call(&message, xid, PROGRAM_NFS, 3, NFS3_WRITE);
		put_handle(&message);
		message_words(&message, 0, 4096 * xid, WRITE_BYTES, 2);
		put_data(&message, WRITE_BYTES);
		up = put_record(calls, up, &message);
		message_reply(&message, xid);
		message_words(&message, 0, 0, 0, WRITE_BYTES, 2, 7, 7);
		down = put_record(replies, down, &message);
	}
	talk_bytes(&nfs, TO_SERVER, calls, up, 5000);
	talk_bytes(&nfs, TO_CLIENT, replies, down, 6000);
}

/* EXCHANGE_ID 100 us, CREATE_SESSION 200 us; SETCLIENTID of another client 300 us. */
void
make_session(struct talk *talk)
{
	struct line line = talk_connect(talk, 2, 700, 2049, 0), old = talk_connect(talk, 3, 700, 2049, 10);
	struct message call, reply;

	compound(&call, 1, 1, 1);
	message_words(&call, OP_EXCHANGE_ID, 1, 2);
	message_text(&call, "Linux NFSv4.1 client");
	message_words(&call, 0x101, 0, 1);
	message_text(&call, "kernel.example");
	message_text(&call, "Linux 6.1");
	message_words(&call, 0, 0, 0);
	compound_reply(&reply, 1, 0, 1);
	message_words(&reply, OP_EXCHANGE_ID, 0, 0, 7, 1, 0x20001, 0, 0, 1);
	message_text(&reply, "owner.example");
	message_text(&reply, "scope.example");
	message_words(&reply, 1);
	message_text(&reply, "vendor.example");
	message_text(&reply, "Server 9");
	message_words(&reply, 0, 0, 0);
	ask(&line, &call, &reply, 1000, 100);

	compound(&call, 2, 1, 1);
	message_words(&call, OP_CREATE_SESSION, 0, 7, 1, 3, 0, 1049620, 1049480, 7584, 8, 64, 0, 0, 4096, 4096, 0, 2, 16, 0,
	    0x40000000, 1, 0);
	compound_reply(&reply, 2, 0, 1);
	message_words(&reply, OP_CREATE_SESSION, 0, 1, 2, 3, 4, 1, 3, 0, 1049620, 1049480, 2128, 8, 30, 0,
	    0, 4096, 4096, 0, 2, 16, 0);
	ask(&line, &call, &reply, 2000, 200);

	compound(&call, 3, 0, 1);
	message_words(&call, OP_SETCLIENTID, 1, 2);
	message_text(&call, "Linux NFSv4.0 old");
	message_words(&call, PROGRAM_CALLBACK);
	message_text(&call, "tcp");
	message_text(&call, "10.0.0.3.140.18");
	message_words(&call, 1);
	compound_reply(&reply, 3, 0, 1);
	message_words(&reply, OP_SETCLIENTID, 0, 0, 9, 1, 2);
	ask(&old, &call, &reply, 3000, 300);
}

/* A server's own connection to a client of version 4.0: CB_NULL of 100 us, two CB_RECALLs of 200 us (RFC 7530 section 16.33). */
void
make_callback_connection(struct talk *talk)
{
	struct line line = talk_connect(talk, 1, 900, 35858, 0);
	struct message call, reply;

	message_call(&call, 1, PROGRAM_CALLBACK + 77, 1, 0);
	message_reply(&reply, 1);
	ask(&line, &call, &reply, 1000, 100);
	for (uint32_t xid = 2; xid <= 3; xid++) {
		message_call(&call, xid, PROGRAM_CALLBACK + 77, 1, 1);
		message_text(&call, "");
		message_words(&call, 0, 5, 1, OP_CB_RECALL, 1, 2, 3, 4, 0);
		put_handle(&call);
		compound_reply(&reply, xid, 0, 1);
		message_words(&reply, OP_CB_RECALL, 0);
		ask(&line, &call, &reply, 1000 * (int64_t)xid, 200);
	}
}
