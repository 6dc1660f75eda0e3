/*
 * TCP in IP fragments: rare, since TCP avoids it, so that whole packets are
 * made of them and the stages behind see none (RFC 791 section 3.2, RFC 8200
 * section 4.5).
 */
#ifndef CAPTURE_DEFRAGMENT_H
#define CAPTURE_DEFRAGMENT_H

#include <stdbool.h>

#include "capture/packet.h"

struct defragment;

struct defragment *defragment_new(void);
void defragment_free(struct defragment *defragment);
/*
 * Takes a packet for which segment_parse() says SEGMENT_FRAGMENT. True when it
 * completes a datagram: *whole is it, as a raw IP packet with the stamp of this
 * one, the frame number of the first fragment and, of the bytes, those before
 * the first that the snap length cut; borrowed until the next call. At most 16
 * datagrams are in hand, of at most 30 s.
 */
bool defragment_push(struct defragment *defragment, const struct packet *packet, struct packet *whole);

#endif
