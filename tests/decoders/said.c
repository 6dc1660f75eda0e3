/*
 * What messages say of the hosts: names, sessions, ports. Bodies written by
 * hand from RFC 1833, RFC 5665, RFC 7530 section 16.33 and RFC 8881 sections
 * 18.35 and 18.36.
 */
#include <criterion/criterion.h>
#include <nfscorr/decoder.h>
#include <nfscorr/nfs_said.h>
#include <string.h>

enum {
	MOST = 1024, PORTMAP = 100000, NFS = 100003, MOUNT = 100005, NLM = 100021, GETPORT = 3, GETADDR = 3, DUMP = 4,
	COMPOUND = 1, TCP = 6, UDP = 17, CALLBACK = 0x40000000,
};

struct body {
	uint8_t bytes[MOST];
	uint32_t len;
};

#define PUT(body, ...) put_words(body, (const uint32_t[]){ __VA_ARGS__ }, \
	    sizeof (const uint32_t[]){ __VA_ARGS__ } / sizeof(uint32_t))

static void
put_words(struct body *body, const uint32_t *words, size_t count)
{
	cr_assert_leq(body->len + count * 4, sizeof body->bytes);
	for (size_t i = 0; i < count; i++)
		for (unsigned shift = 32; shift > 0; shift -= 8)
			body->bytes[body->len++] = (uint8_t)(words[i] >> (shift - 8));
}

static void
put_text(struct body *body, const char *text)
{
	uint32_t len = (uint32_t)strlen(text), padded = (len + 3) / 4 * 4;

	PUT(body, len);
	cr_assert_leq(body->len + padded, sizeof body->bytes);
	memset(body->bytes + body->len, 0, padded);
	memcpy(body->bytes + body->len, text, len);
	body->len += padded;
}

static void
put_rpcb(struct body *body, uint32_t program, uint32_t version, const char *netid, const char *address)
{
	PUT(body, program, version);
	put_text(body, netid);
	put_text(body, address);
	put_text(body, "superuser");
}

static decode_fn *
reader(uint32_t program, uint32_t version, uint32_t procedure, bool reply)
{
	for (const struct decoder *const *decoder = decoders; *decoder != NULL; decoder++)
		if ((*decoder)->program == program && (*decoder)->version == version)
			return reply ? (*decoder)->procedures[procedure].reply : (*decoder)->procedures[procedure].call;
	cr_assert_fail("no decoder");
	return NULL;
}

/* Reads a body, cut to cap bytes. */
static enum xdr_status
read_cut(decode_fn *read, const struct body *body, uint32_t cap, struct nfs_op *op, struct nfs_said *said)
{
	struct xdr_cursor cursor = { .data = body->bytes, .cap = cap, .total = body->len, .beyond = XDR_HOLE };

	said->any = false;
	op->said = said;
	read(&cursor, op);
	op->said = NULL;
	return (enum xdr_status)cursor.status;
}

static void
read_all(decode_fn *read, const struct body *body, struct nfs_op *op, struct nfs_said *said)
{
	cr_assert_eq(read_cut(read, body, body->len, op, said), XDR_FINE);
}

static void
expect_port(const struct said_port *port, uint32_t program, uint32_t version, uint8_t protocol, uint16_t number)
{
	cr_assert_eq(port->program, program);
	cr_assert_eq(port->version, version);
	cr_assert_eq(port->protocol, protocol);
	cr_assert_eq(port->port, number);
}

Test(said, getport)
{
	struct body call = { .len = 0 }, reply = { .len = 0 };
	struct nfs_op op = { .xid = 1 };
	struct nfs_said said;

	PUT(&call, MOUNT, 3, TCP, 0);
	read_all(reader(PORTMAP, 2, GETPORT, false), &call, &op, &said);
	cr_assert_not(said.any, "the call asks only");
	PUT(&reply, 20048);
	read_all(reader(PORTMAP, 2, GETPORT, true), &reply, &op, &said);
	cr_assert_eq(said.ports, 1);
	expect_port(&said.port[0], MOUNT, 3, TCP, 20048);
	cr_assert_not(said.port[0].has_address, "that of the host that answers");
	/* not registered; and a number that is no port */
	for (unsigned i = 0; i < 2; i++) {
		reply.len = 0;
		PUT(&reply, i == 0 ? 0 : 65536);
		read_all(reader(PORTMAP, 2, GETPORT, true), &reply, &op, &said);
		cr_assert_not(said.any);
	}
}

Test(said, dump)
{
	struct body reply = { .len = 0 };
	struct nfs_op op = { .xid = 1 };
	struct nfs_said said;

	for (uint32_t i = 0; i < 20; i++)
		PUT(&reply, 1, NLM, 4, i % 2 == 0 ? TCP : UDP, 4000 + i);
	PUT(&reply, 0);
	read_all(reader(PORTMAP, 2, DUMP, true), &reply, &op, &said);
	cr_assert_eq(said.ports, 20);
	expect_port(&said.port[19], NLM, 4, UDP, 4019);
	/* what is cut is not told, what stands before it is */
	for (uint32_t cap = 0; cap < reply.len - 4; cap++) {
		cr_assert_eq(read_cut(reader(PORTMAP, 2, DUMP, true), &reply, cap, &op, &said), XDR_HOLE);
		cr_assert_eq(said.any ? said.ports : 0, cap / 20);
	}
	/* more than are kept */
	reply.len = 0;
	for (uint32_t i = 0; i < SAID_PORTS + 5; i++)
		PUT(&reply, 1, NLM, 4, TCP, 4000 + i);
	PUT(&reply, 0);
	read_all(reader(PORTMAP, 2, DUMP, true), &reply, &op, &said);
	cr_assert_eq(said.ports, SAID_PORTS);
}

Test(said, getaddr)
{
	static const struct {
		const char *address;
		uint16_t port;
		uint8_t first, last;	/* of an IPv4 address; 0: none is told */
	} cases[] = {
		{ "192.0.2.7.8.1", 2049, 192, 7 }, { "0.0.0.0.78.80", 20048, 0, 0 }, { "::.8.1", 2049, 0, 0 },
		{ "2001:db8::7.255.255", 65535, 0, 0 }, { "", 0, 0, 0 }, { "8.1", 2049, 0, 0 }, { "1", 0, 0, 0 },
		{ "192.0.2.7.256.1", 0, 0, 0 }, { "192.0.2.7..1", 0, 0, 0 }, { "nowhere", 0, 0, 0 },
		{ "1.192.0.2.7.8.1", 2049, 0, 0 },
	};

	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
		for (uint32_t version = 3; version <= 4; version++) {
			struct body call = { .len = 0 }, reply = { .len = 0 };
			struct nfs_op op = { .xid = 1 };
			struct nfs_said said;

			put_rpcb(&call, NFS, 3, i % 2 == 0 ? "udp" : "tcp6", "");
			read_all(reader(PORTMAP, version, GETADDR, false), &call, &op, &said);
			cr_assert_not(said.any);
			put_text(&reply, cases[i].address);
			read_all(reader(PORTMAP, version, GETADDR, true), &reply, &op, &said);
			cr_assert_eq(said.any, cases[i].port > 0, "%s", cases[i].address);
			if (!said.any)
				continue;
			expect_port(&said.port[0], NFS, 3, i % 2 == 0 ? UDP : TCP, cases[i].port);
			cr_assert_eq(said.port[0].has_address, cases[i].first > 0, "%s", cases[i].address);
			cr_assert(cases[i].first == 0 || (said.port[0].address[12] == cases[i].first &&
			    said.port[0].address[15] == cases[i].last && said.port[0].address[11] == 0xff));
		}
}

Test(said, rpcbind_dump)
{
	struct body reply = { .len = 0 };
	struct nfs_op op = { .xid = 1 };
	struct nfs_said said;

	PUT(&reply, 1);
	put_rpcb(&reply, PORTMAP, 4, "local", "/run/rpcbind.sock");
	PUT(&reply, 1);
	put_rpcb(&reply, NFS, 4, "tcp", "0.0.0.0.8.1");
	PUT(&reply, 1);
	put_rpcb(&reply, MOUNT, 3, "udp6", "::.78.80");
	PUT(&reply, 0);
	read_all(reader(PORTMAP, 4, DUMP, true), &reply, &op, &said);
	cr_assert_eq(said.ports, 2, "a path is no port");
	expect_port(&said.port[0], NFS, 4, TCP, 2049);
	expect_port(&said.port[1], MOUNT, 3, UDP, 20048);
}

static void
expect_text(const struct nfs_said *said, enum said_text which, const char *text)
{
	cr_assert(said->any);
	cr_assert_eq(said->text[which].len, strlen(text));
	cr_assert_arr_eq(said->text[which].bytes, text, strlen(text));
}

Test(said, setclientid)
{
	struct body call = { .len = 0 };
	struct nfs_op op = { .minor = OP_MINOR_UNKNOWN, .procedure = COMPOUND, .operation = COMPOUND,
		.operation_class = OP_CLASS_NONE };
	struct nfs_said said;

	put_text(&call, "");
	PUT(&call, 0, 1, 35, 0x11111111, 0x22222222);
	put_text(&call, "Linux NFSv4.0 host");
	PUT(&call, CALLBACK);
	put_text(&call, "tcp");
	put_text(&call, "198.51.100.4.140.18");
	PUT(&call, 1);
	read_all(reader(NFS, 4, COMPOUND, false), &call, &op, &said);
	expect_text(&said, SAID_OWNER, "Linux NFSv4.0 host");
	cr_assert_eq(said.ports, 1);
	expect_port(&said.port[0], CALLBACK, 1, TCP, 140 * 256 + 18);
	cr_assert(said.port[0].has_address && said.port[0].address[15] == 4);
}

/* Client's and server's words of EXCHANGE_ID, and what CREATE_SESSION granted. */
Test(said, session)
{
	struct body call = { .len = 0 }, reply = { .len = 0 }, create = { .len = 0 };
	struct nfs_op op = { .minor = OP_MINOR_UNKNOWN, .procedure = COMPOUND, .operation = COMPOUND,
		.operation_class = OP_CLASS_NONE }, other = op;
	struct nfs_said said;

	put_text(&call, "");
	PUT(&call, 1, 1, 42, 0x11111111, 0x22222222);
	put_text(&call, "Linux NFSv4.1 host");
	PUT(&call, 0x101, 0, 1);
	put_text(&call, "kernel.org");
	put_text(&call, "Linux 6.1.0");
	PUT(&call, 0, 0, 0);
	read_all(reader(NFS, 4, COMPOUND, false), &call, &op, &said);
	expect_text(&said, SAID_OWNER, "Linux NFSv4.1 host");
	expect_text(&said, SAID_DOMAIN, "kernel.org");
	expect_text(&said, SAID_PRODUCT, "Linux 6.1.0");
	cr_assert_null(said.text[SAID_SCOPE].bytes);
	PUT(&reply, 0, 0, 1, 42, 0, 7, 7, 1, 0x20001, 0, 0, 9);
	put_text(&reply, "server.example");
	put_text(&reply, "scope.example");
	PUT(&reply, 0);
	read_all(reader(NFS, 4, COMPOUND, true), &reply, &op, &said);
	expect_text(&said, SAID_OWNER, "server.example");
	expect_text(&said, SAID_SCOPE, "scope.example");
	cr_assert_null(said.text[SAID_PRODUCT].bytes);
	PUT(&create, 0, 0, 1, 43, 0, 1, 2, 3, 4, 1, 3, 0, 1049620, 1049480, 2128, 8, 64, 0, 0, 4096, 4096, 0, 2, 16, 0);
	read_all(reader(NFS, 4, COMPOUND, true), &create, &other, &said);
	cr_assert(said.has_session);
	cr_assert_eq(said.session.request_bytes, 1049620);
	cr_assert_eq(said.session.response_bytes, 1049480);
	cr_assert_eq(said.session.operations, 8);
	cr_assert_eq(said.session.requests, 64);
	cr_assert_eq(other.slots_granted, 64);
}
