/* Every link layer, every depth of tags, cut at every byte. */
#include <criterion/criterion.h>
#include <glib.h>
#include <pcap/dlt.h>

#include "capture/build.h"

struct below {
	const char *name;
	int link_type;
	const char *ipv4, *ipv6;	/* what lies before the IP header; NULL: not possible */
};

#define MACS "020000000001 020000000002 "
#define VLAN "8100 0064 "
#define QINQ "88a8 00c8 "
#define OLD_QINQ "9100 012c "
#define SNAP "aaaa03 000000 "
#define SLL "0000 0001 0006 020000000001 0000 "
#define SLL2_REST " 0000 00000002 0001 00 06 020000000001 0000 "

static const struct below belows[] = {
	{ "Ethernet", DLT_EN10MB, MACS "0800", MACS "86dd" },
	{ "802.1Q", DLT_EN10MB, MACS VLAN "0800", MACS VLAN "86dd" },
	{ "802.1ad", DLT_EN10MB, MACS QINQ VLAN "0800", MACS QINQ VLAN "86dd" },
	{ "0x9100", DLT_EN10MB, MACS OLD_QINQ VLAN "0800", MACS OLD_QINQ VLAN "86dd" },
	{ "three tags", DLT_EN10MB, MACS QINQ QINQ VLAN "0800", MACS QINQ QINQ VLAN "86dd" },
	{ "four tags", DLT_EN10MB, MACS VLAN VLAN VLAN VLAN "0800", MACS VLAN VLAN VLAN VLAN "86dd" },
	{ "eight tags", DLT_EN10MB, MACS VLAN VLAN VLAN VLAN VLAN VLAN VLAN VLAN "0800",
	  MACS VLAN VLAN VLAN VLAN VLAN VLAN VLAN VLAN "86dd" },
	{ "LLC and SNAP", DLT_EN10MB, MACS "0100" SNAP "0800", MACS "0100" SNAP "86dd" },
	{ "LLC with the SAP of IP", DLT_EN10MB, MACS "0037 060603", NULL },
	{ "the SAP of IP in a VLAN", DLT_EN10MB, MACS VLAN "0037 060603", NULL },
	{ "cooked with LLC", DLT_LINUX_SLL, SLL "0004 060603", SLL "0004" SNAP "86dd" },
	{ "SNAP in a VLAN", DLT_EN10MB, MACS VLAN "0100" SNAP "0800", MACS VLAN "0100" SNAP "86dd" },
	{ "MPLS", DLT_EN10MB, MACS "8847 00010140", MACS "8847 00010140" },
	{ "two labels in a VLAN", DLT_EN10MB, MACS VLAN "8847 00020040 00010140",
	  MACS VLAN "8848 00020040 00010140" },
	{ "PPPoE", DLT_EN10MB, MACS "8864 1100 0001 0100 0021", MACS "8864 1100 0001 0100 0057" },
	{ "cooked", DLT_LINUX_SLL, SLL "0800", SLL "86dd" },
	{ "cooked with a VLAN", DLT_LINUX_SLL, SLL VLAN "0800", SLL VLAN "86dd" },
	{ "cooked 2", DLT_LINUX_SLL2, "0800" SLL2_REST, "86dd" SLL2_REST },
	{ "cooked 2 with a VLAN", DLT_LINUX_SLL2, "8100" SLL2_REST "0064 0800",
	  "8100" SLL2_REST "0064 86dd" },
	{ "raw", DLT_RAW, "", "" },
	{ "raw IPv4", DLT_IPV4, "", NULL },
	{ "raw IPv6", DLT_IPV6, NULL, "" },
	{ "null, big-endian", DLT_NULL, "00000002", "0000001e" },
	{ "null, little-endian", DLT_NULL, "02000000", "0a000000" },
	{ "loop", DLT_LOOP, "00000002", "00000018" },
	{ "PPP", DLT_PPP, "0021", "0057" },
	{ "PPP, framed", DLT_PPP_SERIAL, "ff03 0021", "ff03 0057" },
	{ "PPP, compressed", DLT_PPP, "21", "57" },
	{ "PPP with MPLS", DLT_PPP, "0281 00010140", "0281 00010140" },
	{ "PPPoE without Ethernet", DLT_PPP_ETHER, "1100 0001 0100 0021", "1100 0001 0100 0057" },
	{ "Cisco HDLC", DLT_C_HDLC, "0f00 0800", "0f00 86dd" },
};

enum { PAYLOAD = 12 };

/* Returns the length of all headers. */
static uint32_t
build_above(struct build *build, const struct below *below, unsigned version)
{
	uint32_t headers_len;

	*build = (struct build){ .link_type = below->link_type };
	build_hex(build, version == 4 ? below->ipv4 : below->ipv6);
	if (version == 4)
		build_ipv4(build, 6, 40 + PAYLOAD);
	else
		build_ipv6(build, 6, 20 + PAYLOAD);
	build_tcp(build, TCP_ACK, 0);
	headers_len = build->len;
	build_zeros(build, PAYLOAD);
	return headers_len;
}

static void
check_below(const struct below *below, unsigned version)
{
	struct build build;
	struct segment segment;
	uint32_t headers_len = build_above(&build, below, version);

	for (uint32_t cap_len = 0; cap_len <= build.len; cap_len++) {
		enum segment_result result = build_parse(&build, cap_len, &segment);

		if (cap_len < headers_len) {
			cr_assert_eq(result, SEGMENT_CUT, "%s, IPv%u, %u bytes: %d", below->name,
			    version, cap_len, result);
			continue;
		}
		cr_assert_eq(result, SEGMENT_TCP, "%s, IPv%u: %d", below->name, version, result);
		cr_assert_eq(segment.payload, build.data + headers_len);
		cr_assert_eq(segment.payload_cap_len, cap_len - headers_len);
		cr_assert_eq(segment.payload_wire_len, PAYLOAD);
		cr_assert_eq(segment.seq, 0x11223344);
	}
}

Test(link, rows_17_and_18_every_link_layer_cut_at_every_byte)
{
	for (size_t i = 0; i < G_N_ELEMENTS(belows); i++) {
		cr_assert(segment_knows_link(belows[i].link_type), "%s", belows[i].name);
		if (belows[i].ipv4 != NULL)
			check_below(&belows[i], 4);
		if (belows[i].ipv6 != NULL)
			check_below(&belows[i], 6);
	}
}

/* A frame that was never longer is not cut, it is no such frame. */
Test(link, frames_too_short_on_the_wire_are_bad)
{
	for (size_t i = 0; i < G_N_ELEMENTS(belows); i++) {
		struct build build;
		struct segment segment;
		uint32_t headers_len;

		if (belows[i].ipv4 == NULL)
			continue;
		headers_len = build_above(&build, &belows[i], 4);
		/* The datagram's own length is believed from where it was read. */
		for (build.len = 0; build.len < headers_len - 40 + 20; build.len++)
			cr_assert_eq(build_parse(&build, build.len, &segment), SEGMENT_BAD, "%s, %u",
			    belows[i].name, build.len);
	}
}

Test(link, row_18_the_depth_of_tags_is_bounded)
{
	struct build build = { .link_type = DLT_EN10MB };
	struct segment segment;

	build_hex(&build, MACS);
	for (int i = 0; i < 500; i++)
		build_hex(&build, VLAN);
	build_hex(&build, "0800");
	build_ipv4(&build, 6, 40);
	build_tcp(&build, TCP_ACK, 0);
	cr_assert_eq(build_parse(&build, build.len, &segment), SEGMENT_OTHER);
	build = (struct build){ .link_type = DLT_EN10MB };
	build_ethernet(&build, 0x8847);
	build_zeros(&build, 1000);	/* labels, none of them the last */
	cr_assert_eq(build_parse(&build, build.len, &segment), SEGMENT_OTHER);
}

static void
check_other(int link_type, const char *hex)
{
	struct build build = { .link_type = link_type };
	struct segment segment;

	build_hex(&build, hex);
	build_zeros(&build, 64);
	cr_assert_eq(build_parse(&build, build.len, &segment), SEGMENT_OTHER, "%d, %s",
	    link_type, hex);
}

Test(link, row_17_what_is_not_ip_is_other)
{
	check_other(DLT_EN10MB, MACS "0806");		/* ARP */
	check_other(DLT_EN10MB, MACS "88cc");		/* LLDP */
	check_other(DLT_EN10MB, MACS VLAN "0806");
	check_other(DLT_EN10MB, MACS "0026 424203");	/* spanning tree */
	check_other(DLT_EN10MB, MACS "0100 e0e003");
	check_other(DLT_EN10MB, MACS "0100 060601");	/* numbered: of a connection */
	check_other(DLT_EN10MB, MACS "0100 06aa03");
	check_other(DLT_EN10MB, MACS "8847 00010140 00");	/* a pseudo wire */
	check_other(DLT_EN10MB, MACS "8864 1100 0001 0100 c021");	/* LCP */
	check_other(DLT_LINUX_SLL, SLL "0806");
	check_other(DLT_LINUX_SLL2, "0806" SLL2_REST);
	check_other(DLT_NULL, "00000007");
	check_other(DLT_PPP, "ff03 c021");
	check_other(DLT_IEEE802_11, "0800");
}

Test(link, other_link_types_are_not_known)
{
	cr_assert_not(segment_knows_link(DLT_IEEE802_11));
	cr_assert_not(segment_knows_link(DLT_USB_LINUX));
	cr_assert_not(segment_knows_link(-1));
}
