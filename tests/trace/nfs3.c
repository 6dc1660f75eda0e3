#include "trace/nfs3.h"

#include <stdio.h>

enum {
	HANDLE_BYTES = 28,
	DIRECTORY_ENTRIES = 12,
	DIRECTORY_ID = 0x4000,		/* file handles of directories start here */
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
put_handle(XDR *xdr, uint32_t id)
{
	char bytes[HANDLE_BYTES] = { 1, 0, 7, 1 };
	char *data = bytes;
	u_int len = sizeof bytes;

	for (unsigned i = 4; i < sizeof bytes; i++)
		bytes[i] = (char)((id * 2654435761u + i * 40503u) >> (i % 4 * 8));
	return xdr_bytes(xdr, &data, &len, 64);
}

bool
trace_put_file(XDR *xdr, const struct call *call)
{
	return put_handle(xdr, call->file);
}

bool
trace_put_directory(XDR *xdr, const struct call *call)
{
	return put_handle(xdr, DIRECTORY_ID + call->file % 8);
}

bool
trace_put_text(XDR *xdr, const char *before, uint32_t id, const char *after)
{
	char text[32];
	char *data = text;

	snprintf(text, sizeof text, "%s%05u%s", before, id, after);
	return xdr_string(xdr, &data, 255);
}

static bool
put_entry(XDR *xdr, const struct call *call)
{
	return trace_put_directory(xdr, call) && trace_put_text(xdr, "file", call->file, ".dbf");
}

static bool
put_time(XDR *xdr, uint32_t id)
{
	return put32(xdr, 1759000000 + id) && put32(xdr, id % 1000 * 1000000);
}

/* sattr3: a mode and no owner, size or times (RFC 1813 §2.6). */
static bool
put_new_attributes(XDR *xdr)
{
	return put32(xdr, TRUE) && put32(xdr, 0640) && put32(xdr, FALSE) && put32(xdr, FALSE)
		&& put32(xdr, FALSE) && put32(xdr, 0) && put32(xdr, 0);
}

static bool
put_attributes(XDR *xdr, uint32_t id)
{
	uint64_t size = UINT64_C(1) << 30;
	bool directory = id >= DIRECTORY_ID;

	return put32(xdr, directory ? 2 : 1) && put32(xdr, directory ? 0750 : 0640)
		&& put32(xdr, 1) && put32(xdr, 54321) && put32(xdr, 54322)
		&& put64(xdr, size) && put64(xdr, size) && put32(xdr, 0) && put32(xdr, 0)
		&& put64(xdr, 0x1234) && put64(xdr, id + UINT64_C(1000000))
		&& put_time(xdr, id) && put_time(xdr, id) && put_time(xdr, id);
}

static bool
put_post_attributes(XDR *xdr, uint32_t id)
{
	return put32(xdr, TRUE) && put_attributes(xdr, id);
}

static bool
put_file_attributes(XDR *xdr, const struct call *call)
{
	return put_post_attributes(xdr, call->file);
}

static bool
put_directory_attributes(XDR *xdr, const struct call *call)
{
	return put_post_attributes(xdr, DIRECTORY_ID + call->file % 8);
}

/* wcc_data */
static bool
put_change(XDR *xdr, uint32_t id)
{
	return put32(xdr, TRUE) && put64(xdr, UINT64_C(1) << 30) && put_time(xdr, id)
		&& put_time(xdr, id) && put_post_attributes(xdr, id);
}

static bool
put_file_change(XDR *xdr, const struct call *call)
{
	return put_change(xdr, call->file);
}

static bool
put_directory_change(XDR *xdr, const struct call *call)
{
	return put_change(xdr, DIRECTORY_ID + call->file % 8);
}

static bool
put_nothing(XDR *xdr, const struct call *call)
{
	(void)xdr;
	(void)call;
	return true;
}

/* ---- arguments ---- */

static bool
setattr_arguments(XDR *xdr, const struct call *call)
{
	return trace_put_file(xdr, call) && put_new_attributes(xdr) && put32(xdr, FALSE);
}

static bool
access_arguments(XDR *xdr, const struct call *call)
{
	return trace_put_file(xdr, call) && put32(xdr, 0x1f);
}

static bool
read_arguments(XDR *xdr, const struct call *call)
{
	return trace_put_file(xdr, call) && put64(xdr, call->offset) && put32(xdr, call->size);
}

static bool
write_arguments(XDR *xdr, const struct call *call)
{
	return trace_put_file(xdr, call) && put64(xdr, call->offset) && put32(xdr, call->size)
		&& put32(xdr, call->stable) && put32(xdr, call->size);
}

static bool
create_arguments(XDR *xdr, const struct call *call)
{
	/* EXCLUSIVE carries a verifier, the others attributes. */
	return put_entry(xdr, call) && (call->file % 2 == 0
		? put32(xdr, 0) && put_new_attributes(xdr)
		: put32(xdr, 2) && put64(xdr, call->id));
}

static bool
mkdir_arguments(XDR *xdr, const struct call *call)
{
	return put_entry(xdr, call) && put_new_attributes(xdr);
}

static bool
symlink_arguments(XDR *xdr, const struct call *call)
{
	return mkdir_arguments(xdr, call) && trace_put_text(xdr, "../target/", call->file, "");
}

static bool
mknod_arguments(XDR *xdr, const struct call *call)
{
	static const uint32_t fifo = 7;

	return put_entry(xdr, call) && put32(xdr, fifo) && put_new_attributes(xdr);
}

static bool
rename_arguments(XDR *xdr, const struct call *call)
{
	return put_entry(xdr, call) && trace_put_directory(xdr, call)
		&& trace_put_text(xdr, "file", call->file, ".old");
}

static bool
link_arguments(XDR *xdr, const struct call *call)
{
	return trace_put_file(xdr, call) && put_entry(xdr, call);
}

static bool
readdir_arguments(XDR *xdr, const struct call *call)
{
	return trace_put_directory(xdr, call) && put64(xdr, 0) && put64(xdr, 0) && put32(xdr, 8192);
}

static bool
readdirplus_arguments(XDR *xdr, const struct call *call)
{
	return readdir_arguments(xdr, call) && put32(xdr, 32768);
}

static bool
commit_arguments(XDR *xdr, const struct call *call)
{
	return trace_put_file(xdr, call) && put64(xdr, 0) && put32(xdr, 0);
}

/* ---- results ---- */

static bool
getattr_result(XDR *xdr, const struct call *call)
{
	return put_attributes(xdr, call->file);
}

static bool
lookup_result(XDR *xdr, const struct call *call)
{
	return trace_put_file(xdr, call) && put_file_attributes(xdr, call)
		&& put_directory_attributes(xdr, call);
}

static bool
access_result(XDR *xdr, const struct call *call)
{
	return put_file_attributes(xdr, call) && put32(xdr, 0x1f);
}

static bool
readlink_result(XDR *xdr, const struct call *call)
{
	return put_file_attributes(xdr, call) && trace_put_text(xdr, "../target/", call->file, "");
}

static bool
read_result(XDR *xdr, const struct call *call)
{
	return put_file_attributes(xdr, call) && put32(xdr, call->moved)
		&& put32(xdr, call->moved < call->size) && put32(xdr, call->moved);
}

static bool
write_result(XDR *xdr, const struct call *call)
{
	return put_file_change(xdr, call) && put32(xdr, call->moved) && put32(xdr, call->stable)
		&& put64(xdr, 0x1122334455667788);
}

static bool
create_result(XDR *xdr, const struct call *call)
{
	return put32(xdr, TRUE) && trace_put_file(xdr, call) && put_file_attributes(xdr, call)
		&& put_directory_change(xdr, call);
}

static bool
rename_result(XDR *xdr, const struct call *call)
{
	return put_directory_change(xdr, call) && put_directory_change(xdr, call);
}

static bool
link_result(XDR *xdr, const struct call *call)
{
	return put_file_attributes(xdr, call) && put_directory_change(xdr, call);
}

static bool
directory_result(XDR *xdr, const struct call *call, bool plus)
{
	bool good = put_directory_attributes(xdr, call) && put64(xdr, 0x0102030405060708);

	for (uint32_t i = 0; good && i < DIRECTORY_ENTRIES; i++)
		good = put32(xdr, TRUE) && put64(xdr, i + UINT64_C(1000000))
			&& trace_put_text(xdr, "file", i, ".dbf") && put64(xdr, i + 1)
			&& (!plus || (put_post_attributes(xdr, i) && put32(xdr, TRUE)
				&& put_handle(xdr, i)));
	return good && put32(xdr, FALSE) && put32(xdr, TRUE);
}

static bool
readdir_result(XDR *xdr, const struct call *call)
{
	return directory_result(xdr, call, false);
}

static bool
readdirplus_result(XDR *xdr, const struct call *call)
{
	return directory_result(xdr, call, true);
}

static bool
fsstat_result(XDR *xdr, const struct call *call)
{
	bool good = put_file_attributes(xdr, call);

	for (unsigned i = 0; good && i < 6; i++)
		good = put64(xdr, UINT64_C(1) << (40 - i));
	return good && put32(xdr, 0);
}

static bool
fsinfo_result(XDR *xdr, const struct call *call)
{
	bool good = put_file_attributes(xdr, call);

	for (unsigned i = 0; good && i < 7; i++)
		good = put32(xdr, i % 3 == 2 ? 4096 : 1 << 20);
	return good && put64(xdr, INT64_MAX) && put32(xdr, 0) && put32(xdr, 1) && put32(xdr, 0x1b);
}

static bool
pathconf_result(XDR *xdr, const struct call *call)
{
	return put_file_attributes(xdr, call) && put32(xdr, 32000) && put32(xdr, 255)
		&& put32(xdr, FALSE) && put32(xdr, TRUE) && put32(xdr, FALSE) && put32(xdr, TRUE);
}

static bool
commit_result(XDR *xdr, const struct call *call)
{
	return put_file_change(xdr, call) && put64(xdr, 0x1122334455667788);
}

/* ---- the procedures ---- */

typedef bool (*encoder)(XDR *xdr, const struct call *call);

struct procedure {
	const char *name;
	encoder arguments;
	encoder result;		/* after NFS3_OK */
	encoder failure;	/* after any other status */
	uint32_t errors[3];
};

static const struct procedure procedures[TRACE_PROCEDURES] = {
	[NFS3_NULL] = { "NULL", put_nothing, put_nothing, put_nothing, { 0 } },
	[NFS3_GETATTR] = { "GETATTR", trace_put_file, getattr_result, put_nothing,
		{ NFS3ERR_STALE, NFS3ERR_IO, NFS3ERR_JUKEBOX } },
	[NFS3_SETATTR] = { "SETATTR", setattr_arguments, put_file_change, put_file_change,
		{ NFS3ERR_PERM, NFS3ERR_STALE, NFS3ERR_ROFS } },
	[NFS3_LOOKUP] = { "LOOKUP", put_entry, lookup_result, put_directory_attributes,
		{ NFS3ERR_NOENT, NFS3ERR_NOENT, NFS3ERR_ACCES } },
	[NFS3_ACCESS] = { "ACCESS", access_arguments, access_result, put_file_attributes,
		{ NFS3ERR_STALE, NFS3ERR_IO, NFS3ERR_STALE } },
	[NFS3_READLINK] = { "READLINK", trace_put_file, readlink_result, put_file_attributes,
		{ NFS3ERR_INVAL, NFS3ERR_STALE, NFS3ERR_NOTSUPP } },
	[NFS3_READ] = { "READ", read_arguments, read_result, put_file_attributes,
		{ NFS3ERR_STALE, NFS3ERR_IO, NFS3ERR_JUKEBOX } },
	[NFS3_WRITE] = { "WRITE", write_arguments, write_result, put_file_change,
		{ NFS3ERR_NOSPC, NFS3ERR_DQUOT, NFS3ERR_JUKEBOX } },
	[NFS3_CREATE] = { "CREATE", create_arguments, create_result, put_directory_change,
		{ NFS3ERR_EXIST, NFS3ERR_NOSPC, NFS3ERR_ACCES } },
	[NFS3_MKDIR] = { "MKDIR", mkdir_arguments, create_result, put_directory_change,
		{ NFS3ERR_EXIST, NFS3ERR_NOSPC, NFS3ERR_ACCES } },
	[NFS3_SYMLINK] = { "SYMLINK", symlink_arguments, create_result, put_directory_change,
		{ NFS3ERR_EXIST, NFS3ERR_NOTSUPP, NFS3ERR_ACCES } },
	[NFS3_MKNOD] = { "MKNOD", mknod_arguments, create_result, put_directory_change,
		{ NFS3ERR_EXIST, NFS3ERR_NOTSUPP, NFS3ERR_ACCES } },
	[NFS3_REMOVE] = { "REMOVE", put_entry, put_directory_change, put_directory_change,
		{ NFS3ERR_NOENT, NFS3ERR_ACCES, NFS3ERR_ROFS } },
	[NFS3_RMDIR] = { "RMDIR", put_entry, put_directory_change, put_directory_change,
		{ NFS3ERR_NOTEMPTY, NFS3ERR_NOENT, NFS3ERR_NOTDIR } },
	[NFS3_RENAME] = { "RENAME", rename_arguments, rename_result, rename_result,
		{ NFS3ERR_NOENT, NFS3ERR_ACCES, NFS3ERR_EXIST } },
	[NFS3_LINK] = { "LINK", link_arguments, link_result, link_result,
		{ NFS3ERR_EXIST, NFS3ERR_NOTSUPP, NFS3ERR_ACCES } },
	[NFS3_READDIR] = { "READDIR", readdir_arguments, readdir_result, put_directory_attributes,
		{ NFS3ERR_BAD_COOKIE, NFS3ERR_NOTDIR, NFS3ERR_ACCES } },
	[NFS3_READDIRPLUS] = { "READDIRPLUS", readdirplus_arguments, readdirplus_result,
		put_directory_attributes, { NFS3ERR_BAD_COOKIE, NFS3ERR_NOTSUPP, NFS3ERR_ACCES } },
	[NFS3_FSSTAT] = { "FSSTAT", trace_put_file, fsstat_result, put_file_attributes,
		{ NFS3ERR_STALE, NFS3ERR_IO, NFS3ERR_STALE } },
	[NFS3_FSINFO] = { "FSINFO", trace_put_file, fsinfo_result, put_file_attributes,
		{ NFS3ERR_STALE, NFS3ERR_IO, NFS3ERR_STALE } },
	[NFS3_PATHCONF] = { "PATHCONF", trace_put_file, pathconf_result, put_file_attributes,
		{ NFS3ERR_STALE, NFS3ERR_IO, NFS3ERR_STALE } },
	[NFS3_COMMIT] = { "COMMIT", commit_arguments, commit_result, put_file_change,
		{ NFS3ERR_STALE, NFS3ERR_IO, NFS3ERR_JUKEBOX } },
};

const char *
trace_nfs3_name(unsigned procedure)
{
	return procedures[procedure].name;
}

bool
trace_nfs3_arguments(XDR *xdr, const struct call *call)
{
	return procedures[call->procedure].arguments(xdr, call);
}

bool
trace_nfs3_result(XDR *xdr, const struct call *call)
{
	const struct procedure *procedure = &procedures[call->procedure];

	if (call->procedure == NFS3_NULL)
		return true;
	return put32(xdr, call->status) && (call->status == 0
		? procedure->result(xdr, call) : procedure->failure(xdr, call));
}

uint32_t
trace_nfs3_error(struct trace_rng *rng, unsigned procedure)
{
	return procedures[procedure].errors[trace_rng_below(rng, 3)];
}
