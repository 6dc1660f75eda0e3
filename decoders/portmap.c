/*
 * The portmapper, version 2, and rpcbind, versions 3 and 4 (RFC 1833): where
 * programs are to be found. Of the answers to GETPORT, GETADDR and DUMP the
 * ports are kept.
 */
#include <nfscorr/nfs_said.h>

#include "decoders.h"
#include "universal.h"

static uint8_t
known_protocol(uint32_t protocol)
{
	return protocol == PROTOCOL_TCP || protocol == PROTOCOL_UDP ? (uint8_t)protocol : 0;
}

static void
say_program(const struct nfs_op *op, const struct asked_program *program, struct said_port port)
{
	port.program = program->program;
	port.version = program->version;
	port.protocol = program->protocol;
	if (port.protocol != 0)
		say_port(op, &port);
}

/* mapping: prog, vers, prot, port (RFC 1833 section 3.1); gives the port */
static uint32_t
read_mapping(struct xdr_cursor *body, struct asked_program *program)
{
	program->program = xdr_u32(body);
	program->version = xdr_u32(body);
	program->protocol = known_protocol(xdr_u32(body));
	return xdr_u32(body);
}

static void
getport_call(struct xdr_cursor *body, struct nfs_op *op)
{
	struct asked_program asked;

	read_mapping(body, &asked);
	if (xdr_ok(body))
		op->asked = asked;
}

static void
getport_reply(struct xdr_cursor *body, struct nfs_op *op)
{
	uint32_t port = xdr_u32(body);

	if (xdr_ok(body) && port <= UINT16_MAX)
		say_program(op, &op->asked, (struct said_port){ .port = (uint16_t)port });
}

/* pmaplist (RFC 1833 section 3.1) */
static void
dump_reply(struct xdr_cursor *body, struct nfs_op *op)
{
	while (xdr_u32(body) == 1) {
		struct asked_program program;
		uint32_t port = read_mapping(body, &program);

		if (xdr_ok(body) && port <= UINT16_MAX)
			say_program(op, &program, (struct said_port){ .port = (uint16_t)port });
	}
}

/* rpcb: r_prog, r_vers, r_netid, r_addr, r_owner (RFC 1833 section 2.1) */
static void
read_rpcb(struct xdr_cursor *body, struct asked_program *program, struct said_port *port)
{
	program->program = xdr_u32(body);
	program->version = xdr_u32(body);
	universal_read(body, port);
	program->protocol = port->protocol;
	xdr_skip_opaque(body, UINT32_MAX);
}

static void
getaddr_call(struct xdr_cursor *body, struct nfs_op *op)
{
	struct asked_program asked;
	struct said_port ignored;

	read_rpcb(body, &asked, &ignored);
	if (xdr_ok(body))
		op->asked = asked;
}

/* a universal address; empty: not there */
static void
getaddr_reply(struct xdr_cursor *body, struct nfs_op *op)
{
	struct said_port port = { .port = 0 };

	universal_read_address(body, &port);
	if (xdr_ok(body))
		say_program(op, &op->asked, port);
}

/* rpcblist */
static void
rpcb_dump_reply(struct xdr_cursor *body, struct nfs_op *op)
{
	while (xdr_u32(body) == 1) {
		struct asked_program program;
		struct said_port port;

		read_rpcb(body, &program, &port);
		if (xdr_ok(body))
			say_program(op, &program, port);
	}
}

#define COUNT(rows) (sizeof (rows) / sizeof (rows)[0])
#define DECODER(NAME, VERSION, LABEL, ROWS)			\
	const struct decoder NAME = {				\
		.program = 100000,				\
		.version = VERSION,				\
		.label = LABEL,					\
		.procedures = ROWS,				\
		.procedure_count = COUNT(ROWS),			\
	}

/* RFC 1833 section 3.2 */
static const struct decoder_procedure portmap[] = {
	{ .name = "NULL" }, { .name = "SET" }, { .name = "UNSET" },
	{ "GETPORT", getport_call, getport_reply }, { "DUMP", NULL, dump_reply }, { .name = "CALLIT" },
};
DECODER(portmap2_decoder, 2, "portmap2", portmap);

/* RFC 1833 section 2.2.1: version 4 broadcasts where version 3 calls, and knows more */
static const struct decoder_procedure rpcbind3[] = {
	{ .name = "NULL" }, { .name = "SET" }, { .name = "UNSET" },
	{ "GETADDR", getaddr_call, getaddr_reply }, { "DUMP", NULL, rpcb_dump_reply }, { .name = "CALLIT" },
	{ .name = "GETTIME" }, { .name = "UADDR2TADDR" }, { .name = "TADDR2UADDR" },
};
DECODER(rpcbind3_decoder, 3, "rpcbind3", rpcbind3);

static const struct decoder_procedure rpcbind4[] = {
	{ .name = "NULL" }, { .name = "SET" }, { .name = "UNSET" },
	{ "GETADDR", getaddr_call, getaddr_reply }, { "DUMP", NULL, rpcb_dump_reply }, { .name = "BCAST" },
	{ .name = "GETTIME" }, { .name = "UADDR2TADDR" }, { .name = "TADDR2UADDR" },
	{ "GETVERSADDR", getaddr_call, getaddr_reply }, { .name = "INDIRECT" }, { .name = "GETADDRLIST" },
	{ .name = "GETSTAT" },
};
DECODER(rpcbind4_decoder, 4, "rpcbind4", rpcbind4);
