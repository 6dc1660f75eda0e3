/*
 * Captures written message by message, for what no simulation makes: RPC in
 * any order, form and disguise, over TCP and UDP. The bodies are put together
 * by libtirpc's XDR routines. Lengths and checksums of IP are right, those of TCP and
 * UDP are left out.
 */
#ifndef TESTS_PROTOCOLS_TALK_H
#define TESTS_PROTOCOLS_TALK_H

#include <rpc/types.h>
#include <rpc/xdr.h>
#include <stdint.h>

enum {
	MESSAGE_MOST = 1 << 17,
	TO_SERVER = 0, TO_CLIENT = 1,
	PROGRAM_NFS = 100003, PROGRAM_PORTMAP = 100000, PROGRAM_MOUNT = 100005, PROGRAM_CALLBACK = 0x40000000,
	FLAVOR_NONE = 0, FLAVOR_SYS = 1, FLAVOR_GSS = 6, FLAVOR_TLS = 7,
};

struct talk;

/* The file is made anew, and written at the end in the order of time; it aborts when that fails. */
struct talk *talk_new(const char *path);
void talk_free(struct talk *talk);

/* A connection or pair of ports between two of the hosts 10.0.0.N; the server is 10.0.0.1 unless that is changed. */
struct line {
	struct talk *talk;
	uint8_t client, server;		/* N */
	uint16_t port[2];		/* of the client, of the server */
	uint32_t sequence[2];
};

/* Opened by a handshake that begins at_us after the start. */
struct line talk_connect(struct talk *talk, uint8_t client, uint16_t client_port, uint16_t server_port, int64_t at_us);
/* As if its handshake had been before the capture; over UDP there is none. */
struct line talk_line(struct talk *talk, uint8_t client, uint16_t client_port, uint16_t server_port);
/* Bytes in segments of 1448. */
void talk_bytes(struct line *line, int direction, const void *bytes, uint32_t len, int64_t at_us);

struct message {
	XDR xdr;
	char bytes[MESSAGE_MOST];
};

/* Call up to the procedure, with credential and verifier of no body. */
void message_call(struct message *message, uint32_t xid, uint32_t program, uint32_t version, uint32_t procedure);
/* The same with a credential; its verifier has 28 bytes for FLAVOR_GSS. */
void message_call_as(struct message *message, uint32_t xid, uint32_t program, uint32_t version, uint32_t procedure,
    uint32_t flavor, const char *credential, uint32_t len);
/* Accepted, SUCCESS, with a verifier. */
void message_reply(struct message *message, uint32_t xid);
void message_reply_as(struct message *message, uint32_t xid, uint32_t flavor, const char *verifier, uint32_t len);
/* Unsigned integers. */
#define message_words(message, ...) \
	message_put_words(message, (const uint32_t[]){ __VA_ARGS__ }, sizeof (const uint32_t[]){ __VA_ARGS__ } / 4)
void message_put_words(struct message *message, const uint32_t *words, uint32_t count);
/* An opaque or string with its length. */
void message_opaque(struct message *message, const void *bytes, uint32_t len);
void message_text(struct message *message, const char *text);
uint32_t message_len(struct message *message);

/* As a record with its mark, or as a datagram. */
void talk_record(struct line *line, int direction, struct message *message, int64_t at_us);
void talk_datagram(struct line *line, int direction, struct message *message, int64_t at_us);

#endif
