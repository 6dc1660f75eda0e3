/*
 * What lies below IP: the headers of each link type, VLAN tags, MPLS labels,
 * LLC and PPP.
 */
#ifndef CAPTURE_LINK_H
#define CAPTURE_LINK_H

#include "capture/layer.h"

/*
 * Takes off all that lies before the IP header. LAYER_FOUND: the layer starts
 * with an IPv4 or IPv6 header. link_type is a DLT_ value of libpcap.
 */
enum layer_result link_strip(int link_type, struct layer *layer);
/* The same for an Ethernet frame, and for what follows an EtherType. */
enum layer_result link_strip_ethernet(struct layer *layer);
enum layer_result link_strip_ethertype(uint16_t ethertype, struct layer *layer);

bool link_known(int link_type);
/* Those that are known, by index; false behind the last one. */
bool link_type_at(unsigned index, int *link_type);

#endif
