/*
 * Universal addresses (RFC 5665 section 5.2.3): an address and a port as text,
 * "192.0.2.1.8.1" or "2001:db8::1.8.1", the port's two bytes behind it.
 */
#ifndef DECODERS_UNIVERSAL_H
#define DECODERS_UNIVERSAL_H

#include <nfscorr/nfs_said.h>
#include <nfscorr/xdr.h>

enum { PROTOCOL_TCP = 6, PROTOCOL_UDP = 17 };

/* A string: the port, 0 when there is none, and the address where it is one of IPv4 and not 0. */
void universal_read_address(struct xdr_cursor *body, struct said_port *port);
/* The netid before it as well: tcp, tcp6, udp, udp6; another one leaves protocol 0. */
void universal_read(struct xdr_cursor *body, struct said_port *port);

#endif
