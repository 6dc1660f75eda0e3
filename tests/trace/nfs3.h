/*
 * NFSv3 bodies by libtirpc's XDR routines (RFC 1813).
 */
#ifndef TRACE_NFS3_H
#define TRACE_NFS3_H

#include <rpc/types.h>
#include <rpc/xdr.h>

#include "trace/sim.h"

enum nfs3_procedure {
	NFS3_NULL, NFS3_GETATTR, NFS3_SETATTR, NFS3_LOOKUP, NFS3_ACCESS, NFS3_READLINK,
	NFS3_READ, NFS3_WRITE, NFS3_CREATE, NFS3_MKDIR, NFS3_SYMLINK, NFS3_MKNOD, NFS3_REMOVE,
	NFS3_RMDIR, NFS3_RENAME, NFS3_LINK, NFS3_READDIR, NFS3_READDIRPLUS, NFS3_FSSTAT,
	NFS3_FSINFO, NFS3_PATHCONF, NFS3_COMMIT
};

enum nfs3_status {
	NFS3ERR_PERM = 1, NFS3ERR_NOENT = 2, NFS3ERR_IO = 5, NFS3ERR_ACCES = 13,
	NFS3ERR_EXIST = 17, NFS3ERR_NOTDIR = 20, NFS3ERR_INVAL = 22, NFS3ERR_NOSPC = 28,
	NFS3ERR_ROFS = 30, NFS3ERR_NOTEMPTY = 66, NFS3ERR_DQUOT = 69, NFS3ERR_STALE = 70,
	NFS3ERR_BAD_COOKIE = 10003, NFS3ERR_NOTSUPP = 10004, NFS3ERR_JUKEBOX = 10008
};

enum nfs3_stable { NFS3_UNSTABLE, NFS3_DATA_SYNC, NFS3_FILE_SYNC };

/* The procedure's name in capitals. */
const char *trace_nfs3_name(unsigned procedure);
/*
 * Encode the arguments or the result without the data of a WRITE or a READ,
 * which the caller puts behind; its length is encoded.
 */
bool trace_nfs3_arguments(XDR *xdr, const struct call *call);
bool trace_nfs3_result(XDR *xdr, const struct call *call);
/* The handle of a file or, with put_directory, of the directory it lies in; nfs_fh3 and nfs_fh4 look alike. */
bool trace_put_file(XDR *xdr, const struct call *call);
bool trace_put_directory(XDR *xdr, const struct call *call);
/* A name made of a number between two texts. */
bool trace_put_text(XDR *xdr, const char *before, uint32_t id, const char *after);
/* A status that this procedure can have. */
uint32_t trace_nfs3_error(struct trace_rng *rng, unsigned procedure);

#endif
