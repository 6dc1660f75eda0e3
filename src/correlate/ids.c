#include "correlate/ids.h"

#include <arpa/inet.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "correlate/agree.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
	KEY_BYTES = 36,		/* the longest: two addresses and two ports */
	FIRST_SLOTS = 64,
	KNOWN_ENDS = 64,	/* a power of two */
	KNOWN_FILES = 256,	/* as well */
};

struct dictionary {
	uint8_t *keys;		/* of id 1, 2, ..., packed */
	uint32_t *slots;	/* open addressing: ids, 0 is free */
	uint32_t slot_count;	/* a power of two, at least twice the ids */
	uint32_t count;
	uint64_t overflow;
};

/* The ids of two ends that were asked for lately; none of them is ID_OTHERS, or nothing is known. */
struct known_ends {
	struct net_endpoint client, server;
	uint32_t client_id, server_id, connection_id;
};

/* A file's id that was asked for lately; never ID_OTHERS, or nothing is known. */
struct known_file {
	uint64_t file;
	uint32_t id;
};

struct ids {
	uint64_t seed;		/* places keys in slots, and has no other effect */
	struct dictionary dictionaries[ID_KINDS];
	struct known_ends known[KNOWN_ENDS];
	struct known_file known_files[KNOWN_FILES];
};

static const struct {
	uint32_t key_bytes;
	uint32_t cap;
} kinds[ID_KINDS] = {
	[ID_CLIENT] = { 16, 1 << 16 },
	[ID_SERVER] = { 16, 1 << 12 },
	[ID_CONNECTION] = { KEY_BYTES, 1 << 16 },
	[ID_FILE] = { 8, 1 << 18 },
};

struct ids *
ids_new(void)
{
	struct ids *ids = g_new0(struct ids, 1);

	ids->seed = agree_random_seed();
	return ids;
}

void
ids_free(struct ids *ids)
{
	if (ids == NULL)
		return;
	for (unsigned kind = 0; kind < ID_KINDS; kind++) {
		g_free(ids->dictionaries[kind].keys);
		g_free(ids->dictionaries[kind].slots);
	}
	g_free(ids);
}

static void
pack_endpoint(const struct net_endpoint *endpoint, uint8_t key[18])
{
	memcpy(key, endpoint->address, 16);
	memcpy(key + 16, &endpoint->port, 2);
}

/* False when op does not say. */
static bool
pack(enum id_kind kind, const struct nfs_op *op, uint8_t key[KEY_BYTES])
{
	switch (kind) {
	case ID_CLIENT:
		memcpy(key, op->client.address, 16);
		return true;
	case ID_SERVER:
		memcpy(key, op->server.address, 16);
		return true;
	case ID_CONNECTION:
		pack_endpoint(&op->client, key);
		pack_endpoint(&op->server, key + 18);
		return true;
	case ID_FILE:
		memcpy(key, &op->file, 8);
		return op_has(op, OP_HAS_FILE);
	case ID_KINDS:
		break;
	}
	return false;
}

/* The slot that holds key, or the free one where it belongs. */
static uint32_t *
slot_of(const struct ids *ids, enum id_kind kind, const uint8_t *key)
{
	const struct dictionary *dictionary = &ids->dictionaries[kind];
	uint32_t bytes = kinds[kind].key_bytes;
	uint32_t mask = dictionary->slot_count - 1;
	uint32_t at = (uint32_t)XXH3_64bits_withSeed(key, bytes, ids->seed) & mask;

	while (dictionary->slots[at] != 0 &&
	    memcmp(dictionary->keys + (size_t)bytes * (dictionary->slots[at] - 1), key, bytes) != 0)
		at = (at + 1) & mask;
	return &dictionary->slots[at];
}

static void
grow(struct ids *ids, enum id_kind kind)
{
	struct dictionary *dictionary = &ids->dictionaries[kind];
	uint32_t bytes = kinds[kind].key_bytes;

	dictionary->slot_count = dictionary->slot_count == 0 ? FIRST_SLOTS : dictionary->slot_count * 2;
	g_free(dictionary->slots);
	dictionary->slots = g_new0(uint32_t, dictionary->slot_count);
	dictionary->keys = g_realloc_n(dictionary->keys, dictionary->slot_count / 2, bytes);
	for (uint32_t id = 1; id <= dictionary->count; id++)
		*slot_of(ids, kind, dictionary->keys + (size_t)bytes * (id - 1)) = id;
}

uint32_t
ids_of(struct ids *ids, enum id_kind kind, const struct nfs_op *op)
{
	struct dictionary *dictionary = &ids->dictionaries[kind];
	uint32_t bytes = kinds[kind].key_bytes;
	uint8_t key[KEY_BYTES];
	uint32_t *slot;

	if (!pack(kind, op, key))
		return ID_OTHERS;
	if (dictionary->slot_count == 0)
		grow(ids, kind);
	slot = slot_of(ids, kind, key);
	if (*slot != 0)
		return *slot;
	if (dictionary->count == kinds[kind].cap) {
		dictionary->overflow++;
		return ID_OTHERS;
	}
	if (dictionary->count == dictionary->slot_count / 2) {
		grow(ids, kind);
		slot = slot_of(ids, kind, key);
	}
	memcpy(dictionary->keys + (size_t)bytes * dictionary->count, key, bytes);
	*slot = ++dictionary->count;
	return *slot;
}

/* Connections differ by their client's port, if not by its address. */
static struct known_ends *
known_ends_of(struct ids *ids, const struct nfs_op *op)
{
	const uint8_t *address = op->client.address;

	return &ids->known[(op->client.port ^ address[15] ^ address[14] ^ op->server.address[15]) % KNOWN_ENDS];
}

static bool
is_of_ends(const struct known_ends *known, const struct nfs_op *op)
{
	return known->client.port == op->client.port && known->server.port == op->server.port &&
	    memcmp(known->client.address, op->client.address, sizeof op->client.address) == 0 &&
	    memcmp(known->server.address, op->server.address, sizeof op->server.address) == 0;
}

void
ids_of_ends(struct ids *ids, const struct nfs_op *op, uint32_t *client, uint32_t *server, uint32_t *connection)
{
	struct known_ends *known = known_ends_of(ids, op);

	if (known->connection_id != ID_OTHERS && is_of_ends(known, op)) {
		*client = known->client_id;
		*server = known->server_id;
		*connection = known->connection_id;
		return;
	}
	*client = ids_of(ids, ID_CLIENT, op);
	*server = ids_of(ids, ID_SERVER, op);
	*connection = ids_of(ids, ID_CONNECTION, op);
	/* what is among the others is counted each time */
	if (*client != ID_OTHERS && *server != ID_OTHERS && *connection != ID_OTHERS)
		*known = (struct known_ends){ op->client, op->server, *client, *server, *connection };
}

uint32_t
ids_of_file(struct ids *ids, const struct nfs_op *op)
{
	struct known_file *known = &ids->known_files[op->file % KNOWN_FILES];
	uint32_t id;

	if (!op_has(op, OP_HAS_FILE))
		return ID_OTHERS;
	if (known->id != ID_OTHERS && known->file == op->file)
		return known->id;
	id = ids_of(ids, ID_FILE, op);
	if (id != ID_OTHERS)
		*known = (struct known_file){ op->file, id };
	return id;
}

uint64_t
ids_overflow(const struct ids *ids, enum id_kind kind)
{
	return ids->dictionaries[kind].overflow;
}

static void
address_text(const uint8_t address[16], bool bracketed, char text[LABEL_SIZE])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	char plain[INET6_ADDRSTRLEN];

	if (memcmp(address, mapped, sizeof mapped) == 0) {
		inet_ntop(AF_INET, address + 12, text, LABEL_SIZE);
		return;
	}
	inet_ntop(AF_INET6, address, plain, sizeof plain);
	snprintf(text, LABEL_SIZE, bracketed ? "[%s]" : "%s", plain);
}

static void
connection_text(const uint8_t key[KEY_BYTES], char text[LABEL_SIZE])
{
	char client[LABEL_SIZE], server[LABEL_SIZE];
	uint16_t client_port, server_port;

	address_text(key, true, client);
	address_text(key + 18, true, server);
	memcpy(&client_port, key + 16, 2);
	memcpy(&server_port, key + 34, 2);
	/* The longest form is 2 * (2 + 45 + 6) + 3 characters. */
	snprintf(text, LABEL_SIZE, "%.48s:%u > %.48s:%u", client, client_port, server, server_port);
}

void
label(const struct ids *ids, enum id_kind kind, uint32_t id, char text[LABEL_SIZE])
{
	const struct dictionary *dictionary = &ids->dictionaries[kind];
	const uint8_t *key;
	uint64_t file;

	if (id == ID_OTHERS || id > dictionary->count) {
		snprintf(text, LABEL_SIZE, "others");
		return;
	}
	key = dictionary->keys + (size_t)kinds[kind].key_bytes * (id - 1);
	switch (kind) {
	case ID_CLIENT:
	case ID_SERVER:
	case ID_KINDS:
		address_text(key, false, text);
		break;
	case ID_CONNECTION:
		connection_text(key, text);
		break;
	case ID_FILE:
		memcpy(&file, key, 8);
		label_file(ids, file, text);
		break;
	}
}

void
label_address(const struct ids *ids, const struct net_endpoint *endpoint, char text[LABEL_SIZE])
{
	(void)ids;
	address_text(endpoint->address, false, text);
}

void
label_name(const struct ids *ids, const char *name, char text[LABEL_SIZE])
{
	(void)ids;
	snprintf(text, LABEL_SIZE, "%s", name);
}

void
label_file(const struct ids *ids, uint64_t file, char text[LABEL_SIZE])
{
	(void)ids;
	snprintf(text, LABEL_SIZE, "fh:%016" PRIx64, file);
}
