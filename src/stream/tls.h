/*
 * TLS where RPC was expected: behind the probe of RPC-with-TLS (RFC 9289
 * section 4.1), or from a connection's first byte, as tunnels do it. What it
 * carries cannot be read; that it is there can be told from its record headers
 * (RFC 8446 section 5.1):
 *
 *	type (20 to 23), version (3, 0 to 4), length (two bytes)
 *
 * As a record mark of RPC they are none: a fragment of more than 300 MB.
 */
#ifndef STREAM_TLS_H
#define STREAM_TLS_H

#include "stream/connection.h"

/* Whether what was taken for a record mark begins such a header. */
bool tls_is_mark(const uint8_t mark[4]);
/* Follows the headers from record to record; true once there are enough of them to call it TLS. */
bool tls_seen(struct tls_trail *trail, const struct slice *slice, bool asked_for, bool expected);

#endif
