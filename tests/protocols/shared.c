#include "protocols/scenarios.h"

#include <glib.h>
#include <string.h>

enum { HANDLE_BYTES = 32, FATTR3_WORDS = 21, NFS3_GETATTR = 1, NFS4_COMPOUND = 1 };

void
ask(struct line *line, struct message *call, struct message *reply, int64_t at_us, int64_t took_us)
{
	talk_record(line, TO_SERVER, call, at_us);
	talk_record(line, TO_CLIENT, reply, at_us + took_us);
}

void
ask_datagram(struct line *line, struct message *call, struct message *reply, int64_t at_us, int64_t took_us)
{
	talk_datagram(line, TO_SERVER, call, at_us);
	talk_datagram(line, TO_CLIENT, reply, at_us + took_us);
}

void
put_data(struct message *message, uint32_t len)
{
	g_autofree char *bytes = g_malloc(len + 1);

	memset(bytes, 'd', len);
	message_opaque(message, bytes, len);
}

void
put_handle(struct message *message)
{
	static const char handle[HANDLE_BYTES] = "a file handle";

	message_opaque(message, handle, sizeof handle);
}

void
put_attributes3(struct message *message)
{
	for (unsigned i = 0; i < FATTR3_WORDS; i++)
		message_words(message, i == 0 ? 1 : i);
}

void
getattr3(struct line *line, uint32_t xid, uint32_t status, int64_t at_us, int64_t took_us)
{
	struct message call, reply;

	message_call(&call, xid, PROGRAM_NFS, 3, NFS3_GETATTR);
	put_handle(&call);
	message_reply(&reply, xid);
	message_words(&reply, status);
	if (status == 0)
		put_attributes3(&reply);
	ask(line, &call, &reply, at_us, took_us);
}

/* Offset 0 (RFC 1813 section 3.3.6). */
void
put_read3(struct message *call, uint32_t len)
{
	put_handle(call);
	message_words(call, 0, 0, len);
}

void
put_read3_reply(struct message *reply, uint32_t len)
{
	message_words(reply, 0, 1);
	put_attributes3(reply);
	message_words(reply, len, 1);
	put_data(reply, len);
}

void
compound(struct message *call, uint32_t xid, uint32_t minor, uint32_t operations)
{
	message_call(call, xid, PROGRAM_NFS, 4, NFS4_COMPOUND);
	message_text(call, "");
	message_words(call, minor, operations);
}

void
compound_reply(struct message *reply, uint32_t xid, uint32_t status, uint32_t operations)
{
	message_reply(reply, xid);
	message_words(reply, status);
	message_text(reply, "");
	message_words(reply, operations);
}
