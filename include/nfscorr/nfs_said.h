/*
 * What a message says of the hosts, beside what it is for: who they are, what a
 * session may carry, on which ports programs are to be found. It is lent to the
 * decoders, with the call's op, and points into the message.
 */
#ifndef NFSCORR_NFS_SAID_H
#define NFSCORR_NFS_SAID_H

#include <nfscorr/nfs_op.h>

#include <string.h>

enum said_text {
	SAID_OWNER,		/* server_owner4's so_major_id, client_owner4's co_ownerid, nfs_client_id4's id */
	SAID_SCOPE,		/* eir_server_scope */
	SAID_DOMAIN,		/* nfs_impl_id4 (RFC 8881 section 3.3.21): nii_domain, nii_name */
	SAID_PRODUCT,
	SAID_TEXTS,
};

/* More than these in one message are not kept. */
enum { SAID_PORTS = 32 };

struct said_bytes {
	const uint8_t *bytes;	/* NULL: not said */
	uint32_t len;
};

struct said_port {
	uint32_t program, version;
	uint16_t port;
	uint8_t protocol;	/* of IP: 6 TCP, 17 UDP */
	bool has_address;	/* else it is that of the host which said it */
	uint8_t address[16];	/* as in struct net_endpoint */
};

/* channel_attrs4 of the fore channel, as the server granted it (RFC 8881 section 18.36). */
struct said_session {
	uint32_t request_bytes, response_bytes;	/* ca_maxrequestsize, ca_maxresponsesize */
	uint32_t operations, requests;		/* ca_maxoperations, ca_maxrequests */
};

struct nfs_said {
	bool any;
	bool has_session;
	struct said_bytes text[SAID_TEXTS];
	struct said_session session;
	struct said_port port[SAID_PORTS];
	unsigned ports;
};

/* Where something may be put down, emptied when it is the first; NULL: nobody wants to know. */
static inline struct nfs_said *
said_of(const struct nfs_op *op)
{
	struct nfs_said *said = op->said;

	if (said != NULL && !said->any) {
		memset(said, 0, sizeof *said);
		said->any = true;
	}
	return said;
}

static inline void
say_text(const struct nfs_op *op, enum said_text which, const uint8_t *bytes, uint32_t len)
{
	struct nfs_said *said = bytes != NULL ? said_of(op) : NULL;

	if (said != NULL)
		said->text[which] = (struct said_bytes){ bytes, len };
}

/* Port 0 says that there is none. */
static inline void
say_port(const struct nfs_op *op, const struct said_port *port)
{
	struct nfs_said *said = port->port > 0 ? said_of(op) : NULL;

	if (said != NULL && said->ports < SAID_PORTS)
		said->port[said->ports++] = *port;
}

#endif
