#include "capture/link.h"

#include <pcap/dlt.h>
#include <stddef.h>

enum {
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_VLAN = 0x8100,	/* IEEE 802.1Q */
	ETHERTYPE_QINQ = 0x88a8,	/* IEEE 802.1ad */
	ETHERTYPE_OLD_QINQ = 0x9100,	/* what switches used before 802.1ad */
	ETHERTYPE_IPV6 = 0x86dd,
	ETHERTYPE_MPLS = 0x8847,	/* RFC 3032 section 5 */
	ETHERTYPE_MPLS_UPSTREAM = 0x8848,
	ETHERTYPE_PPPOE = 0x8864,	/* RFC 2516 section 4 */
	ETHERTYPE_LEAST = 0x0600,	/* below it the field is a length (IEEE 802.3) */
};

enum {
	PPP_IPV4 = 0x0021,	/* RFC 1332 section 2 */
	PPP_IPV6 = 0x0057,	/* RFC 5072 section 2 */
	PPP_MPLS = 0x0281,	/* RFC 3032 section 4.1 */
};

/* Bytes of a tag. No network stacks more of them; a hostile frame could be nothing else. */
enum { TAG = 4, TAGS_MAX = 8, LABELS_MAX = 16 };

/*
 * RFC 3032 section 2.1: a label stack entry, the bottom one with S set.
 *
 *      0                   1                   2                   3
 *      |                Label                  | TC  |S|      TTL      |
 *
 * What follows is known to both ends of the path only; IP shows by its version.
 */
static enum layer_result
strip_mpls(struct layer *layer)
{
	for (unsigned depth = 0; depth < LABELS_MAX; depth++) {
		enum layer_result result = layer_need(layer, 5);
		bool bottom;

		if (result != LAYER_FOUND)
			return result;
		bottom = layer->data[2] & 1;
		layer_skip(layer, 4);
		if (bottom) {
			unsigned version = layer->data[0] >> 4;

			return version == 4 || version == 6 ? LAYER_FOUND : LAYER_OTHER;
		}
	}
	return LAYER_OTHER;
}

/* The protocol field of PPP, one byte when compressed (RFC 1661 sections 2 and 6.5). */
static enum layer_result
strip_ppp_protocol(struct layer *layer)
{
	enum layer_result result = layer_need(layer, 2);
	unsigned protocol;

	if (result != LAYER_FOUND)
		return result;
	if (layer->data[0] & 1) {
		protocol = layer->data[0];
		layer_skip(layer, 1);
	} else {
		protocol = load_be16(layer->data);
		layer_skip(layer, 2);
	}
	if (protocol == PPP_MPLS)
		return strip_mpls(layer);
	return protocol == PPP_IPV4 || protocol == PPP_IPV6 ? LAYER_FOUND : LAYER_OTHER;
}

/* RFC 2516 section 4: version and type, code, session, length; then PPP. */
static enum layer_result
strip_pppoe(struct layer *layer)
{
	enum layer_result result = layer_need(layer, 6);

	if (result != LAYER_FOUND)
		return result;
	layer_skip(layer, 6);
	return strip_ppp_protocol(layer);
}

/*
 * IEEE 802.2: two service access points and a control byte. That of IP (06) has
 * the packet right behind it; that of SNAP (aa) an organisation and an EtherType
 * in between (RFC 1042), which goes to *ethertype.
 */
static enum layer_result
strip_llc(struct layer *layer, uint16_t *ethertype)
{
	enum { LLC = 3, SNAP = 8, SAP_IP = 0x06, SAP_SNAP = 0xaa, UNNUMBERED = 3 };
	enum layer_result result = layer_need(layer, LLC);

	if (result != LAYER_FOUND)
		return result;
	if (layer->data[0] != layer->data[1] || layer->data[2] != UNNUMBERED)
		return LAYER_OTHER;
	if (layer->data[0] == SAP_IP) {
		layer_skip(layer, LLC);
		*ethertype = ETHERTYPE_IPV4;
		return LAYER_FOUND;
	}
	if (layer->data[0] != SAP_SNAP)
		return LAYER_OTHER;
	result = layer_need(layer, SNAP);
	if (result != LAYER_FOUND)
		return result;
	*ethertype = load_be16(layer->data + SNAP - 2);
	layer_skip(layer, SNAP);
	return LAYER_FOUND;
}

enum layer_result
link_strip_ethertype(uint16_t ethertype, struct layer *layer)
{
	for (unsigned depth = 0; depth <= TAGS_MAX; depth++) {
		enum layer_result result;

		switch (ethertype) {
		case ETHERTYPE_IPV4:
		case ETHERTYPE_IPV6:
			return LAYER_FOUND;
		case ETHERTYPE_MPLS:
		case ETHERTYPE_MPLS_UPSTREAM:
			return strip_mpls(layer);
		case ETHERTYPE_PPPOE:
			return strip_pppoe(layer);
		case ETHERTYPE_VLAN:
		case ETHERTYPE_QINQ:
		case ETHERTYPE_OLD_QINQ:
			result = layer_need(layer, TAG);
			if (result != LAYER_FOUND)
				return result;
			ethertype = load_be16(layer->data + 2);
			layer_skip(layer, TAG);
			continue;
		default:
			if (ethertype >= ETHERTYPE_LEAST)
				return LAYER_OTHER;
			result = strip_llc(layer, &ethertype);
			if (result != LAYER_FOUND)
				return result;
		}
	}
	return LAYER_OTHER;
}

/* A header of len bytes with an EtherType in it. */
static enum layer_result
strip_typed(struct layer *layer, uint32_t len, uint32_t at)
{
	enum layer_result result = layer_need(layer, len);
	uint16_t ethertype;

	if (result != LAYER_FOUND)
		return result;
	ethertype = load_be16(layer->data + at);
	layer_skip(layer, len);
	return link_strip_ethertype(ethertype, layer);
}

enum layer_result
link_strip_ethernet(struct layer *layer)
{
	return strip_typed(layer, 14, 12);
}

/* Packet type, address type, address length, address, EtherType. */
static enum layer_result
strip_cooked(struct layer *layer)
{
	return strip_typed(layer, 16, 14);
}

/* EtherType, reserved, interface, address type, packet type, address length, address. */
static enum layer_result
strip_cooked2(struct layer *layer)
{
	return strip_typed(layer, 20, 0);
}

/* Address, control, EtherType. */
static enum layer_result
strip_cisco_hdlc(struct layer *layer)
{
	return strip_typed(layer, 4, 2);
}

/* The HDLC-like framing ff 03 may have been negotiated away (RFC 1661 section 6.6). */
static enum layer_result
strip_ppp(struct layer *layer)
{
	enum layer_result result = layer_need(layer, 2);

	if (result != LAYER_FOUND)
		return result;
	if (layer->data[0] == 0xff && layer->data[1] == 0x03)
		layer_skip(layer, 2);
	return strip_ppp_protocol(layer);
}

/*
 * The address family in four bytes, in the byte order of the capturing host
 * (NULL) or of the network (LOOP). A family is small: the order shows.
 */
static enum layer_result
strip_family(struct layer *layer)
{
	enum layer_result result = layer_need(layer, 4);
	uint32_t family;

	if (result != LAYER_FOUND)
		return result;
	family = load_be32(layer->data);
	if (family > UINT16_MAX)
		family = __builtin_bswap32(family);
	layer_skip(layer, 4);
	switch (family) {
	case 2:		/* AF_INET everywhere */
	case 10:	/* AF_INET6 of Linux */
	case 24:	/* of NetBSD, OpenBSD */
	case 26:	/* of Solaris */
	case 28:	/* of FreeBSD */
	case 30:	/* of macOS */
		return LAYER_FOUND;
	default:
		return LAYER_OTHER;
	}
}

static enum layer_result
strip_nothing(struct layer *layer)
{
	return layer_need(layer, 1);
}

/* The commonest first: the search is linear. */
static const struct link {
	int type;
	enum layer_result (*strip)(struct layer *layer);
} links[] = {
	{ DLT_EN10MB, link_strip_ethernet },
	{ DLT_LINUX_SLL, strip_cooked },
	{ DLT_LINUX_SLL2, strip_cooked2 },
	{ DLT_RAW, strip_nothing },
	{ DLT_IPV4, strip_nothing },
	{ DLT_IPV6, strip_nothing },
	{ DLT_NULL, strip_family },
	{ DLT_LOOP, strip_family },
	{ DLT_PPP, strip_ppp },
	{ DLT_PPP_SERIAL, strip_ppp },
	{ DLT_PPP_ETHER, strip_pppoe },
	{ DLT_C_HDLC, strip_cisco_hdlc },
};

static const struct link *
find_link(int link_type)
{
	for (unsigned i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if (links[i].type == link_type)
			return &links[i];
	return NULL;
}

enum layer_result
link_strip(int link_type, struct layer *layer)
{
	const struct link *link = find_link(link_type);

	return link != NULL ? link->strip(layer) : LAYER_OTHER;
}

bool
link_known(int link_type)
{
	return find_link(link_type) != NULL;
}

bool
link_type_at(unsigned index, int *link_type)
{
	if (index >= sizeof(links) / sizeof(links[0]))
		return false;
	*link_type = links[index].type;
	return true;
}
