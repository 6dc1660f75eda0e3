/*
 * client41 SERVER [DIRECTORY FILE CALLS]: an NFSv4.1 client for tests against a
 * real server, since libnfs speaks 3 and 4.0 only. One session; CALLS READs of
 * the file and as many GETATTRs, as many at a time as the session has slots.
 * Prints what it sent and the slots that it was granted, a word and a number a
 * line. With SERVER alone it sends a datagram to the discard port and nothing
 * else: an end for those who capture. Numbers and layouts are those of RFC 8881
 * section 18.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <rpc/rpc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	NFS_PROGRAM = 100003, NFS_V4 = 4, COMPOUND = 1, MINOR = 1,
	OP_GETATTR = 9, OP_GETFH = 10, OP_LOOKUP = 15, OP_PUTFH = 22, OP_PUTROOTFH = 24, OP_READ = 25,
	OP_EXCHANGE_ID = 42, OP_CREATE_SESSION = 43, OP_DESTROY_SESSION = 44, OP_SEQUENCE = 53, OP_RECLAIM_COMPLETE = 58,
	SESSION_BYTES = 16, HANDLE_MOST = 128, MESSAGE_MOST = 1 << 20, WANTED_SLOTS = 16, READ_BYTES = 4096, FIRST_XID = 1 << 20,
};

struct client {
	int fd;
	char message[MESSAGE_MOST];
	XDR xdr;			/* of the message in hand */
	char session[SESSION_BYTES];
	uint32_t sequence[WANTED_SLOTS], xid[WANTED_SLOTS];	/* of each slot: the latest */
	uint32_t slots;
	char handle[HANDLE_MOST];
	u_int handle_len;
};

static void
fail(const char *what)
{
	fprintf(stderr, "client41: %s\n", what);
	exit(1);
}

static void
put(struct client *client, uint32_t value)
{
	if (!xdr_uint32_t(&client->xdr, &value))
		fail("no room");
}

static void
put64(struct client *client, uint64_t value)
{
	put(client, (uint32_t)(value >> 32));
	put(client, (uint32_t)value);
}

static void
put_bytes(struct client *client, const char *bytes, u_int len)
{
	char *place = (char *)bytes;

	if (!xdr_bytes(&client->xdr, &place, &len, len))
		fail("no room");
}

static uint32_t
get(struct client *client)
{
	uint32_t value;

	if (!xdr_uint32_t(&client->xdr, &value))
		fail("a reply that is too short");
	return value;
}

static void
get_opaque(struct client *client, char *bytes, u_int len)
{
	if (!xdr_opaque(&client->xdr, bytes, len))
		fail("a reply that is too short");
}

/* ---- messages ---- */

/* RFC 5531 section 9; the mark is put in front when it is sent. */
static void
begin_call(struct client *client, uint32_t xid, uint32_t operations)
{
	xdrmem_create(&client->xdr, client->message + 4, MESSAGE_MOST - 4, XDR_ENCODE);
	put(client, xid);
	put(client, CALL);
	put(client, RPC_MSG_VERSION);
	put(client, NFS_PROGRAM);
	put(client, NFS_V4);
	put(client, COMPOUND);
	put(client, AUTH_SYS);
	put(client, 20);	/* stamp, no name, user and group 0, no groups */
	for (int word = 0; word < 5; word++)
		put(client, 0);
	put64(client, 0);	/* no verifier */
	put(client, 0);		/* no tag */
	put(client, MINOR);
	put(client, operations);
}

static void
write_all(struct client *client, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t written = write(client->fd, client->message + at, len - at);

		if (written <= 0)
			fail("cannot send");
		at += (size_t)written;
	}
}

static void
send_call(struct client *client)
{
	u_int len = xdr_getpos(&client->xdr);
	uint32_t mark = htonl(0x80000000U | len);

	memcpy(client->message, &mark, sizeof mark);
	write_all(client, len + 4);
}

static void
read_all(struct client *client, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t got = read(client->fd, client->message + at, len - at);

		if (got <= 0)
			fail("the server closed the connection");
		at += (size_t)got;
	}
}

/* Reads a reply up to its first operation's result; returns its XID. */
static uint32_t
take_reply(struct client *client)
{
	uint32_t mark, xid, len;

	read_all(client, sizeof mark);
	memcpy(&mark, client->message, sizeof mark);
	len = ntohl(mark) & 0x7fffffff;
	if (len > MESSAGE_MOST)
		fail("a reply that is too long");
	read_all(client, len);
	xdrmem_create(&client->xdr, client->message, len, XDR_DECODE);
	xid = get(client);
	if (get(client) != REPLY || get(client) != MSG_ACCEPTED)
		fail("a call was denied");
	get(client);
	if (get(client) != 0 || get(client) != SUCCESS)
		fail("a call was not accepted");
	if (get(client) != 0)
		fail("an operation failed");
	if (get(client) != 0)
		fail("a tag that was not sent");
	get(client);
	return xid;
}

static void
take_operation(struct client *client, uint32_t operation)
{
	if (get(client) != operation || get(client) != 0)
		fail("another operation than was asked for");
}

static void
put_sequence(struct client *client, uint32_t slot)
{
	put(client, OP_SEQUENCE);
	if (!xdr_opaque(&client->xdr, client->session, SESSION_BYTES))
		fail("no room");
	put(client, ++client->sequence[slot]);
	put(client, slot);
	put(client, client->slots - 1);
	put(client, FALSE);
}

/* What a SEQUENCE returns is of no use here. */
static void
take_sequence(struct client *client)
{
	char result[SESSION_BYTES + 5 * 4];

	take_operation(client, OP_SEQUENCE);
	get_opaque(client, result, sizeof result);
}

/* ---- the session ---- */

static uint64_t
exchange_id(struct client *client, uint32_t *sequence)
{
	uint64_t id;

	begin_call(client, 1, 1);
	put(client, OP_EXCHANGE_ID);
	put64(client, (uint64_t)getpid());	/* verifier: each run is a client that has rebooted (section 18.35.3) */
	put_bytes(client, "client41", 8);
	put(client, 0);		/* flags */
	put(client, 0);		/* no state protection */
	put(client, 0);		/* no implementation id */
	send_call(client);
	take_reply(client);
	take_operation(client, OP_EXCHANGE_ID);
	id = (uint64_t)get(client) << 32;
	id |= get(client);
	*sequence = get(client);
	return id;
}

/* Channel attributes: padding, sizes, operations, requests, no RDMA. */
static void
put_channel(struct client *client, uint32_t requests)
{
	put(client, 0);
	put(client, 65536);
	put(client, 65536);
	put(client, 4096);
	put(client, 16);
	put(client, requests);
	put(client, 0);
}

static void
create_session(struct client *client)
{
	uint32_t sequence, granted[7];
	uint64_t id = exchange_id(client, &sequence);

	begin_call(client, 2, 1);
	put(client, OP_CREATE_SESSION);
	put64(client, id);
	put(client, sequence);
	put(client, 0);		/* flags */
	put_channel(client, WANTED_SLOTS);
	put_channel(client, 1);
	put(client, 0x40000000);	/* callback program */
	put(client, 1);
	put(client, AUTH_NONE);
	send_call(client);
	take_reply(client);
	take_operation(client, OP_CREATE_SESSION);
	get_opaque(client, client->session, SESSION_BYTES);
	get(client);
	get(client);
	for (int i = 0; i < 7; i++)
		granted[i] = get(client);
	client->slots = granted[5] < WANTED_SLOTS ? granted[5] : WANTED_SLOTS;
	begin_call(client, 3, 2);
	put_sequence(client, 0);
	put(client, OP_RECLAIM_COMPLETE);
	put(client, FALSE);
	send_call(client);
	take_reply(client);
}

static void
look_up(struct client *client, const char *directory, const char *file)
{
	begin_call(client, 4, 5);
	put_sequence(client, 0);
	put(client, OP_PUTROOTFH);
	put(client, OP_LOOKUP);
	put_bytes(client, directory, (u_int)strlen(directory));
	put(client, OP_LOOKUP);
	put_bytes(client, file, (u_int)strlen(file));
	put(client, OP_GETFH);
	send_call(client);
	take_reply(client);
	take_sequence(client);
	take_operation(client, OP_PUTROOTFH);
	take_operation(client, OP_LOOKUP);
	take_operation(client, OP_LOOKUP);
	take_operation(client, OP_GETFH);
	client->handle_len = get(client);
	if (client->handle_len > HANDLE_MOST)
		fail("a file handle that is too long");
	get_opaque(client, client->handle, client->handle_len);
}

static void
send_io(struct client *client, uint32_t xid, uint32_t slot, bool is_read, uint64_t offset)
{
	begin_call(client, xid, 3);
	put_sequence(client, slot);
	put(client, OP_PUTFH);
	put_bytes(client, client->handle, client->handle_len);
	if (is_read) {
		put(client, OP_READ);
		put64(client, 0);	/* the anonymous stateid */
		put64(client, 0);
		put64(client, offset);
		put(client, READ_BYTES);
	} else {
		put(client, OP_GETATTR);
		put(client, 1);
		put(client, 1 << 4);	/* size */
	}
	send_call(client);
}

static void
send_next(struct client *client, uint32_t number, uint32_t slot)
{
	client->xid[slot] = FIRST_XID + number;
	send_io(client, client->xid[slot], slot, number % 2 == 0, (uint64_t)number * READ_BYTES);
}

static uint32_t
slot_of(const struct client *client, uint32_t xid)
{
	for (uint32_t slot = 0; slot < client->slots; slot++)
		if (client->xid[slot] == xid)
			return slot;
	fail("a reply to no call");
	return 0;
}

/* Every slot is in use until all is sent. */
static void
load(struct client *client, uint32_t calls)
{
	uint32_t sent = 0;

	for (; sent < client->slots && sent < calls; sent++)
		send_next(client, sent, sent);
	for (uint32_t taken = 0; taken < calls; taken++) {
		uint32_t slot = slot_of(client, take_reply(client));

		if (sent < calls)
			send_next(client, sent++, slot);
	}
}

static void
send_end(const struct addrinfo *server)
{
	struct sockaddr_in discard;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	memcpy(&discard, server->ai_addr, sizeof discard);
	discard.sin_port = htons(9);
	if (fd < 0 || sendto(fd, "end", 3, 0, (const struct sockaddr *)&discard, sizeof discard) < 0)
		fail("cannot send the end");
	close(fd);
}

int
main(int argc, char **argv)
{
	static struct client client;
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *address;
	uint32_t calls;

	if (argc != 2 && argc != 5)
		fail("usage: client41 SERVER [DIRECTORY FILE CALLS]");
	if (getaddrinfo(argv[1], "2049", &hints, &address) != 0)
		fail("no such server");
	if (argc == 2) {
		send_end(address);
		freeaddrinfo(address);
		return 0;
	}
	calls = 2 * (uint32_t)strtoul(argv[4], NULL, 10);
	client.fd = socket(address->ai_family, SOCK_STREAM, 0);
	if (client.fd < 0 || connect(client.fd, address->ai_addr, address->ai_addrlen) != 0)
		fail("cannot connect");
	create_session(&client);
	look_up(&client, argv[2], argv[3]);
	load(&client, calls);
	begin_call(&client, 5, 1);
	put(&client, OP_DESTROY_SESSION);
	if (!xdr_opaque(&client.xdr, client.session, SESSION_BYTES))
		fail("no room");
	send_call(&client);
	take_reply(&client);
	close(client.fd);
	freeaddrinfo(address);
	printf("READ %u\nGETATTR %u\nslots %u\n", calls / 2, calls / 2, client.slots);
	return 0;
}
