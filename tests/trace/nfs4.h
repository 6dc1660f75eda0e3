/*
 * NFSv4 bodies by libtirpc's XDR routines (RFC 7530, RFC 8881). A call of the
 * simulation is known by its procedure of version 3; here it is a COMPOUND as
 * a client of version 4 makes it for the same purpose.
 */
#ifndef TRACE_NFS4_H
#define TRACE_NFS4_H

#include <rpc/types.h>
#include <rpc/xdr.h>

#include "trace/sim.h"

enum { NFS4_COMPOUND = 1 };

/* The main operation's name in capitals. */
const char *trace_nfs4_name(const struct call *call);
/*
 * Encode the arguments or the result without the data of a WRITE or a READ,
 * which the caller puts behind; its length is encoded.
 */
bool trace_nfs4_arguments(XDR *xdr, const struct call *call);
bool trace_nfs4_result(XDR *xdr, const struct call *call);

#endif
