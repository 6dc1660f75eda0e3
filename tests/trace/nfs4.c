#include "trace/nfs4.h"

#include <stdio.h>

#include "trace/nfs3.h"
#include "trace/session.h"

#define WORDS(...) (const uint32_t[]){ __VA_ARGS__ }, sizeof (const uint32_t[]){ __VA_ARGS__ } / sizeof(uint32_t)

enum { DIRECTORY_ENTRIES = 12, CALLBACK_PROGRAM = 0x40000000 };

/* Operations, and those that stand for one with other arguments. */
enum operation {
	END, ACCESS, COMMIT, CREATE, EXCHANGE_ID, CREATE_SESSION, GETATTR, GETFH, LINK, LOOKUP, OPEN,
	PUT_FILE, PUT_DIRECTORY, READ, READDIR, READLINK, REMOVE, RENAME, SAVEFH, SETATTR, WRITE, OPERATIONS
};

/* ---- pieces ---- */

static bool
put32(XDR *xdr, uint32_t value)
{
	return xdr_uint32_t(xdr, &value);
}

static bool
put64(XDR *xdr, uint64_t value)
{
	return xdr_uint64_t(xdr, &value);
}

static bool
put_words(XDR *xdr, const uint32_t *words, size_t count)
{
	bool good = true;

	for (size_t i = 0; good && i < count; i++)
		good = put32(xdr, words[i]);
	return good;
}

static bool
put_nothing(XDR *xdr, const struct call *call)
{
	(void)xdr;
	(void)call;
	return true;
}

static bool
put_stateid(XDR *xdr, const struct call *call)
{
	return put_words(xdr, WORDS(1, 0x5354, call->file, 0));
}

/* fattr4 with a mode: bit 33 */
static bool
put_new_attributes(XDR *xdr)
{
	return put_words(xdr, WORDS(2, 0, 2, 4, 0640));
}

/* fattr4 with type, change, size and fileid: bits 1, 3, 4 and 20 */
static bool
put_attributes(XDR *xdr, uint32_t id, uint32_t type)
{
	return put_words(xdr, WORDS(1, 0x0010001a, 28, type)) && put64(xdr, id + UINT64_C(1)) &&
	    put64(xdr, UINT64_C(1) << 30) && put64(xdr, id + UINT64_C(1000000));
}

static bool
put_change(XDR *xdr, const struct call *call)
{
	return put32(xdr, TRUE) && put64(xdr, call->id) && put64(xdr, call->id + 1);
}

static bool
put_entry(XDR *xdr, const struct call *call)
{
	return trace_put_text(xdr, "file", call->file, ".dbf");
}

/* ---- operations ---- */

static bool
access_arguments(XDR *xdr, const struct call *call)
{
	(void)call;
	return put32(xdr, 0x1f);
}

static bool
access_result(XDR *xdr, const struct call *call)
{
	(void)call;
	return put_words(xdr, WORDS(0x1f, 0x1f));
}

static bool
commit_arguments(XDR *xdr, const struct call *call)
{
	(void)call;
	return put64(xdr, 0) && put32(xdr, 0);
}

static bool
put_verifier(XDR *xdr, const struct call *call)
{
	(void)call;
	return put64(xdr, 0x1122334455667788);
}

/* createtype4, name, attributes (RFC 7530 section 16.4) */
static bool
create_arguments(XDR *xdr, const struct call *call)
{
	enum { DIRECTORY = 2, SYMBOLIC_LINK = 5, FIFO = 7 };
	bool good = call->procedure == NFS3_SYMLINK
	    ? put32(xdr, SYMBOLIC_LINK) && trace_put_text(xdr, "../target/", call->file, "")
	    : put32(xdr, call->procedure == NFS3_MKDIR ? DIRECTORY : FIFO);

	return good && put_entry(xdr, call) && put_new_attributes(xdr);
}

static bool
create_result(XDR *xdr, const struct call *call)
{
	return put_change(xdr, call) && put_words(xdr, WORDS(2, 0, 2));
}

static bool
getattr_arguments(XDR *xdr, const struct call *call)
{
	(void)call;
	return put_words(xdr, WORDS(1, 0x0010001a));
}

static bool
getattr_result(XDR *xdr, const struct call *call)
{
	return put_attributes(xdr, call->file, 1);
}

/* seqid, access, owner, how, claim (section 16.16): UNCHECKED with attributes, or EXCLUSIVE with a verifier */
static bool
open_arguments(XDR *xdr, const struct call *call)
{
	return put_words(xdr, WORDS(0, 2, 0, 0, 0x7777)) && trace_put_text(xdr, "open", call->file, "") &&
	    put32(xdr, 1) && (call->file % 2 == 0 ? put32(xdr, 0) && put_new_attributes(xdr)
	    : put32(xdr, 2) && put64(xdr, call->id)) && put32(xdr, 0) && put_entry(xdr, call);
}

/* stateid, change, flags, attributes, delegation: every third one for reading, to nobody in particular */
static bool
open_result(XDR *xdr, const struct call *call)
{
	bool good = put_stateid(xdr, call) && put_change(xdr, call) && put_words(xdr, WORDS(4, 2, 0, 2));

	return good && (call->file % 3 == 0 ? put32(xdr, 1) && put_stateid(xdr, call) &&
	    put_words(xdr, WORDS(0, 0, 0, 0, 0)) : put32(xdr, 0));
}

static bool
range_arguments(XDR *xdr, const struct call *call)
{
	return put_stateid(xdr, call) && put64(xdr, call->offset) && put32(xdr, call->size);
}

static bool
read_result(XDR *xdr, const struct call *call)
{
	return put32(xdr, call->moved < call->size) && put32(xdr, call->moved);
}

static bool
readdir_arguments(XDR *xdr, const struct call *call)
{
	(void)call;
	return put_words(xdr, WORDS(0, 0, 0, 0, 8192, 32768, 1, 2));
}

static bool
readdir_result(XDR *xdr, const struct call *call)
{
	bool good = put_verifier(xdr, call);

	for (uint32_t i = 0; good && i < DIRECTORY_ENTRIES; i++)
		good = put32(xdr, TRUE) && put64(xdr, i + 1) && trace_put_text(xdr, "file", i, ".dbf") &&
		    put_attributes(xdr, i, 1);
	return good && put_words(xdr, WORDS(FALSE, TRUE));
}

static bool
readlink_result(XDR *xdr, const struct call *call)
{
	return trace_put_text(xdr, "../target/", call->file, "");
}

static bool
rename_arguments(XDR *xdr, const struct call *call)
{
	return put_entry(xdr, call) && trace_put_text(xdr, "file", call->file, ".old");
}

static bool
rename_result(XDR *xdr, const struct call *call)
{
	return put_change(xdr, call) && put_change(xdr, call);
}

static bool
setattr_arguments(XDR *xdr, const struct call *call)
{
	return put_stateid(xdr, call) && put_new_attributes(xdr);
}

static bool
setattr_result(XDR *xdr, const struct call *call)
{
	(void)call;
	return put_words(xdr, WORDS(2, 0, 2));
}

static bool
write_arguments(XDR *xdr, const struct call *call)
{
	return put_stateid(xdr, call) && put64(xdr, call->offset) && put32(xdr, call->stable) &&
	    put32(xdr, call->size);
}

static bool
write_result(XDR *xdr, const struct call *call)
{
	return put32(xdr, call->moved) && put32(xdr, call->stable) && put_verifier(xdr, call);
}

/* verifier, owner, flags, no protection, no name of the implementation (RFC 8881 section 18.35) */
static bool
exchange_id_arguments(XDR *xdr, const struct call *call)
{
	return put_verifier(xdr, call) && trace_put_text(xdr, "owner", call->lane->client->index, "") &&
	    put_words(xdr, WORDS(0x101, 0, 0));
}

static bool
exchange_id_result(XDR *xdr, const struct call *call)
{
	return put_words(xdr, WORDS(0, 0x7777, 1, 0x20001, 0, 0, 0)) &&
	    trace_put_text(xdr, "server", call->lane->server->index, "") &&
	    trace_put_text(xdr, "scope", call->lane->server->index, "") && put32(xdr, 0);
}

/* channel_attrs4 (section 18.36): what concerns us is ca_maxrequests */
static bool
put_channel(XDR *xdr, uint32_t requests)
{
	return put_words(xdr, WORDS(0, 1 << 20, 1 << 20, 8192, 16, requests, 0));
}

static bool
create_session_arguments(XDR *xdr, const struct call *call)
{
	(void)call;
	return put_words(xdr, WORDS(0, 0x7777, 1, 3)) && put_channel(xdr, 1024) && put_channel(xdr, 16) &&
	    put_words(xdr, WORDS(CALLBACK_PROGRAM, 1, 0));
}

static bool
create_session_result(XDR *xdr, const struct call *call)
{
	return trace_session_put_id(xdr, call->lane) && put_words(xdr, WORDS(1, 3)) &&
	    put_channel(xdr, (uint32_t)call->lane->session.granted) && put_channel(xdr, 16);
}

typedef bool (*encoder)(XDR *xdr, const struct call *call);

static const struct {
	const char *name;
	uint32_t number;
	encoder arguments, result;
} operations[OPERATIONS] = {
	[ACCESS] = { "ACCESS", 3, access_arguments, access_result },
	[COMMIT] = { "COMMIT", 5, commit_arguments, put_verifier },
	[CREATE] = { "CREATE", 6, create_arguments, create_result },
	[EXCHANGE_ID] = { "EXCHANGE_ID", 42, exchange_id_arguments, exchange_id_result },
	[CREATE_SESSION] = { "CREATE_SESSION", 43, create_session_arguments, create_session_result },
	[GETATTR] = { "GETATTR", 9, getattr_arguments, getattr_result },
	[GETFH] = { "GETFH", 10, put_nothing, trace_put_file },
	[LINK] = { "LINK", 11, put_entry, put_change },
	[LOOKUP] = { "LOOKUP", 15, put_entry, put_nothing },
	[OPEN] = { "OPEN", 18, open_arguments, open_result },
	[PUT_FILE] = { "PUTFH", 22, trace_put_file, put_nothing },
	[PUT_DIRECTORY] = { "PUTFH", 22, trace_put_directory, put_nothing },
	[READ] = { "READ", 25, range_arguments, read_result },
	[READDIR] = { "READDIR", 26, readdir_arguments, readdir_result },
	[READLINK] = { "READLINK", 27, put_nothing, readlink_result },
	[REMOVE] = { "REMOVE", 28, put_entry, put_change },
	[RENAME] = { "RENAME", 29, rename_arguments, rename_result },
	[SAVEFH] = { "SAVEFH", 32, put_nothing, put_nothing },
	[SETATTR] = { "SETATTR", 34, setattr_arguments, setattr_result },
	[WRITE] = { "WRITE", 38, write_arguments, write_result },
};

/* ---- compounds ---- */

/* Ends with END. Data stand at the end of a message here: no operation follows READ and WRITE. */
struct compound {
	uint8_t main;
	uint8_t list[7];
};

static const struct compound compounds[TRACE_PROCEDURES] = {
	[NFS3_GETATTR] = { GETATTR, { PUT_FILE, GETATTR } },
	[NFS3_SETATTR] = { SETATTR, { PUT_FILE, SETATTR, GETATTR } },
	[NFS3_LOOKUP] = { LOOKUP, { PUT_DIRECTORY, LOOKUP, GETFH, GETATTR } },
	[NFS3_ACCESS] = { ACCESS, { PUT_FILE, ACCESS, GETATTR } },
	[NFS3_READLINK] = { READLINK, { PUT_FILE, READLINK } },
	[NFS3_READ] = { READ, { PUT_FILE, READ } },
	[NFS3_WRITE] = { WRITE, { PUT_FILE, WRITE } },
	[NFS3_CREATE] = { OPEN, { PUT_DIRECTORY, OPEN, GETFH, ACCESS, GETATTR } },
	[NFS3_MKDIR] = { CREATE, { PUT_DIRECTORY, CREATE, GETFH, GETATTR } },
	[NFS3_SYMLINK] = { CREATE, { PUT_DIRECTORY, CREATE, GETFH, GETATTR } },
	[NFS3_MKNOD] = { CREATE, { PUT_DIRECTORY, CREATE, GETFH, GETATTR } },
	[NFS3_REMOVE] = { REMOVE, { PUT_DIRECTORY, REMOVE, GETATTR } },
	[NFS3_RMDIR] = { REMOVE, { PUT_DIRECTORY, REMOVE, GETATTR } },
	[NFS3_RENAME] = { RENAME, { PUT_DIRECTORY, SAVEFH, PUT_DIRECTORY, RENAME, GETATTR } },
	[NFS3_LINK] = { LINK, { PUT_FILE, SAVEFH, PUT_DIRECTORY, LINK, GETATTR } },
	[NFS3_READDIR] = { READDIR, { PUT_DIRECTORY, READDIR } },
	[NFS3_READDIRPLUS] = { READDIR, { PUT_DIRECTORY, READDIR, GETATTR } },
	[NFS3_FSSTAT] = { GETATTR, { PUT_FILE, GETATTR } },
	[NFS3_FSINFO] = { GETATTR, { PUT_FILE, GETATTR } },
	[NFS3_PATHCONF] = { GETATTR, { PUT_FILE, GETATTR } },
	[NFS3_COMMIT] = { COMMIT, { PUT_FILE, COMMIT, GETATTR } },
};

static const struct compound set_ups[] = {
	[SET_UP_CLIENT] = { EXCHANGE_ID, { EXCHANGE_ID } },
	[SET_UP_SESSION] = { CREATE_SESSION, { CREATE_SESSION } },
};

static const struct compound *
compound_of(const struct call *call)
{
	return call->set_up != SET_UP_NOTHING ? &set_ups[call->set_up] : &compounds[call->procedure];
}

const char *
trace_nfs4_name(const struct call *call)
{
	return call->set_up == SET_UP_NOTHING && call->procedure == NFS3_NULL ? "NULL"
	    : operations[compound_of(call)->main].name;
}

static bool
has_sequence(const struct call *call)
{
	return call->lane->session.granted > 0 && call->set_up == SET_UP_NOTHING;
}

/* How many operations of the list are carried out: all, or those up to the main one, which fails. */
static uint32_t
length_of(const struct compound *compound, bool all)
{
	uint32_t length = 0;

	while (compound->list[length] != END)
		if (compound->list[length++] == compound->main && !all)
			break;
	return length;
}

bool
trace_nfs4_arguments(XDR *xdr, const struct call *call)
{
	enum { SEQUENCE = 53 };
	const struct compound *compound = compound_of(call);
	uint32_t length = length_of(compound, true);
	uint32_t minor = trace_minor(call->lane->client->host.sim->config);
	char *tag = minor == 0 ? (char[]){ "io" } : (char[]){ "" };
	bool good;

	if (call->set_up == SET_UP_NOTHING && call->procedure == NFS3_NULL)
		return true;
	good = xdr_string(xdr, &tag, 16) && put32(xdr, minor) && put32(xdr, length + has_sequence(call));
	if (good && has_sequence(call))
		good = put32(xdr, SEQUENCE) && trace_session_put_id(xdr, call->lane) &&
		    put_words(xdr, WORDS(call->slot_sequence, call->slot, call->slot_used_highest, 1));
	for (uint32_t i = 0; good && i < length; i++)
		good = put32(xdr, operations[compound->list[i]].number) &&
		    operations[compound->list[i]].arguments(xdr, call);
	return good;
}

bool
trace_nfs4_result(XDR *xdr, const struct call *call)
{
	enum { SEQUENCE = 53 };
	const struct compound *compound = compound_of(call);
	uint32_t length = length_of(compound, call->status == 0);
	uint32_t highest = (uint32_t)call->lane->session.granted - 1;
	char *tag = trace_minor(call->lane->client->host.sim->config) == 0 ? (char[]){ "io" } : (char[]){ "" };
	bool good;

	if (call->set_up == SET_UP_NOTHING && call->procedure == NFS3_NULL)
		return true;
	good = put32(xdr, call->status) && xdr_string(xdr, &tag, 16) && put32(xdr, length + has_sequence(call));
	if (good && has_sequence(call))
		good = put_words(xdr, WORDS(SEQUENCE, 0)) && trace_session_put_id(xdr, call->lane) &&
		    put_words(xdr, WORDS(call->slot_sequence, call->slot, highest, highest, 0));
	for (uint32_t i = 0; good && i < length; i++) {
		uint32_t status = i + 1 == length ? call->status : 0;

		good = put32(xdr, operations[compound->list[i]].number) && put32(xdr, status);
		if (good && status == 0)
			good = operations[compound->list[i]].result(xdr, call);
		else if (good && compound->main == SETATTR)
			good = put32(xdr, 0);
	}
	return good;
}
