/*
 * The ports of NFS and of what goes with it on this host, and the kernel's
 * filter for them. Learnt from the user, the mount table, the kernel's own
 * connections, and the rpcbind of this host and of the servers that it mounted.
 */
#ifndef CAPTURE_PORTS_H
#define CAPTURE_PORTS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct ports;

/* With 2049 and 111, and count given ones. Caller frees. */
struct ports *ports_new(const uint16_t *given, unsigned count);
void ports_free(struct ports *ports);

/* /proc/mounts: ports and servers of the NFS mounts in it. */
void ports_add_mounts(struct ports *ports, const char *text);
/* /proc/fs/nfsfs/servers: the kernel's NFS connections, those of other mount tables, too. */
void ports_add_servers(struct ports *ports, const char *text);
/*
 * What the rpcbind at an address knows of NFS, mount, NLM and NSM; false when
 * it does not answer in time. who is for ports_describe.
 */
bool ports_ask(struct ports *ports, const struct sockaddr *address, socklen_t len, const char *who, int timeout_ms);

/*
 * All of them, from this system; a second at most, however many servers there
 * are and whatever they do. No name is looked up.
 */
void ports_find(struct ports *ports);

/* A pcap-filter expression for the ports, with the fragments that show none. Caller frees. */
char *ports_filter(const struct ports *ports);
/* The same filter behind one or two VLAN tags, too; for Ethernet. Caller frees. */
char *ports_behind_tags(const char *filter);
/* "111, 2049, 20048 (mount table)" and who did not answer, for a message. Caller frees. */
char *ports_describe(const struct ports *ports);

#endif
