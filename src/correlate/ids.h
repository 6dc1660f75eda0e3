/*
 * Small ids of clients, servers, connections and files, and the one place
 * where they become text.
 *
 * Dictionaries are capped: what no longer fits gets id 0, "others", and is
 * counted. Ids are given in the order in which keys come, so they do not
 * depend on any hash seed.
 */
#ifndef CORRELATE_IDS_H
#define CORRELATE_IDS_H

#include <nfscorr/nfs_op.h>

enum id_kind {
	ID_CLIENT,	/* an address, without port */
	ID_SERVER,	/* an address, without port */
	ID_CONNECTION,	/* client address and port, server address and port */
	ID_FILE,	/* a file handle's hash */
	ID_KINDS,
};
enum { ID_OTHERS = 0, LABEL_SIZE = 128 };

struct ids;

struct ids *ids_new(void);
void ids_free(struct ids *ids);
/* The id of what op says, made when new; ID_OTHERS when the dictionary is full or op does not say. */
uint32_t ids_of(struct ids *ids, enum id_kind kind, const struct nfs_op *op);
/* The same for the three that op's ends have, which takes less time. */
void ids_of_ends(struct ids *ids, const struct nfs_op *op, uint32_t *client, uint32_t *server, uint32_t *connection);
/* The same for its file. */
uint32_t ids_of_file(struct ids *ids, const struct nfs_op *op);
/* How many keys did not fit. */
uint64_t ids_overflow(const struct ids *ids, enum id_kind kind);
/* The text of an id: "10.0.0.1", "[2001:db8::1]:700 > 10.0.0.2:2049", "fh:0123456789abcdef", "others". */
void label(const struct ids *ids, enum id_kind kind, uint32_t id, char text[LABEL_SIZE]);
/* The same for an endpoint's address that has no id (per-call export): redaction has one door. */
void label_address(const struct ids *ids, const struct net_endpoint *endpoint, char text[LABEL_SIZE]);
/* The same for what a host calls itself; a longer name is cut. */
void label_name(const struct ids *ids, const char *name, char text[LABEL_SIZE]);
/* The same for a file handle's hash. */
void label_file(const struct ids *ids, uint64_t file, char text[LABEL_SIZE]);

#endif
