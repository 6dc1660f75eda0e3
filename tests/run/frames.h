/*
 * The packets of a trace of bare IP, changed and put below other headers, and
 * written into files of any format.
 */
#ifndef FRAMES_H
#define FRAMES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct frame {
	int64_t ts_ns;
	uint32_t wire_len;
	uint32_t link;		/* LINKTYPE_, as files number them; at first 101, IP by itself */
	GByteArray *bytes;	/* that are captured; owned */
};

/* Of a pcap file with link type 101, little-endian. Taken by the caller: struct frame. */
GArray *frames_read(const char *path);

/* Makes none, one or several frames out of one of bare IP, and adds them. */
typedef void frames_change_fn(GArray *to, const struct frame *frame);
frames_change_fn frames_same;
frames_change_fn frames_no_length;	/* IPv4 total length, IPv6 payload length of 0 */
frames_change_fn frames_jumbo;		/* IPv6: length of 0 and a jumbo payload option */
frames_change_fn frames_options;	/* IPv4 options; IPv6 hop-by-hop, routing and destination options */
frames_change_fn frames_fragments;	/* pieces of 304 bytes; those of a cut packet end where it was cut */
frames_change_fn frames_twice;		/* a second time, behind a router */

/*
 * Puts headers in front of the frame, and FCS bytes behind it. layers are words:
 * hexadecimal digits, or what stands for
 *
 *	macs		two hardware addresses
 *	type ppp afbe afle	the EtherType, PPP protocol, address family of IP inside
 *	ipip		the protocol number of IP inside
 *	ip4=N ip6=N	an IP header for the protocol N (ipip: of IP inside)
 *	udp=N		a UDP header to port N
 *	fcs		four bytes at the frame's end
 */
void frames_put_below(struct frame *frame, uint32_t link, const char *layers);

/* Writes all of them; false: the format has no room for what they are. */
typedef GByteArray *frames_file_fn(const GArray *frames);
frames_file_fn file_pcap_us, file_pcap_ns, file_pcap_us_swapped, file_pcap_ns_swapped, file_pcap_modified;
frames_file_fn file_pcap_modified_swapped, file_snoop_1, file_snoop_2;
/* An interface for each link type. */
frames_file_fn file_pcapng_us, file_pcapng_ns, file_pcapng_ps, file_pcapng_ahead;
/* A new section every seven packets, its byte order and the units of its stamps others than before. */
frames_file_fn file_pcapng_sections;
/* Blocks in between that tell nothing, or contradict themselves; old packet blocks. */
frames_file_fn file_pcapng_rubbish;

#endif
