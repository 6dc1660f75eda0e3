/*
 * What hosts say of themselves in a capture: their names, what their sessions
 * carry, and the ports on which their programs are to be found.
 *
 * Both tables are capped: what comes when they are full is counted and not kept.
 */
#ifndef RPC_HOSTS_H
#define RPC_HOSTS_H

#include <nfscorr/nfs_said.h>

enum host_role { HOST_SERVER, HOST_CLIENT, HOST_ROLES };

struct host_facts {
	uint8_t address[16];		/* as in struct net_endpoint */
	enum host_role role;
	char *text[SAID_TEXTS];		/* printable ASCII, other bytes as \xNN; NULL: not said */
	bool has_session;		/* of a server: the session granted last */
	struct said_session session;
	uint32_t read_most_bytes, write_most_bytes;	/* of a server, FSINFO or FATTR4; 0: not said */
};

struct host_port {
	uint8_t address[16];
	uint16_t port;
	uint8_t protocol;		/* of IP */
	uint32_t program, version;
};

struct hosts;

struct hosts *hosts_new(void);
/* The same with memory of its own. */
struct hosts *hosts_copy(const struct hosts *hosts);
void hosts_free(struct hosts *hosts);
/* What a host said: the client in a call, the server in a reply. */
void hosts_note(struct hosts *hosts, const struct net_endpoint *host, enum host_role role, const struct nfs_said *said);
/* The transfer sizes of a call's server. */
void hosts_note_sizes(struct hosts *hosts, const struct nfs_op *op);
/* In the order in which they first said something. */
unsigned hosts_count(const struct hosts *hosts);
const struct host_facts *hosts_at(const struct hosts *hosts, unsigned number);
unsigned hosts_ports(const struct hosts *hosts);
const struct host_port *hosts_port_at(const struct hosts *hosts, unsigned number);
/* What no longer fitted. */
uint64_t hosts_overflow(const struct hosts *hosts);
/* A program that a decoder knows was said to be there. */
bool hosts_has_port(const struct hosts *hosts, const uint8_t address[16], uint16_t port, uint8_t protocol);

#endif
