/* Which ports there are, and what the filter that is made of them lets through. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <glib.h>
#include <netinet/in.h>
#include <pcap/pcap.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capture/ports.h"

static void
check_description(struct ports *ports, const char *expected)
{
	g_autofree char *text = ports_describe(ports);

	cr_assert_str_eq(text, expected);
	ports_free(ports);
}

Test(ports, nfs_and_rpcbind_are_always_there)
{
	check_description(ports_new(NULL, 0), "2049, 111");
}

Test(ports, given_ones_are_added_once)
{
	static const uint16_t given[] = { 20049, 2049, 20049 };

	check_description(ports_new(given, 3), "2049, 111, 20049 (given)");
}

Test(ports, mount_table)
{
	struct ports *ports = ports_new(NULL, 0);

	ports_add_mounts(ports,
	    "sysfs /sys sysfs rw,port=99 0 0\n"
	    "srv:/a\\040b /mnt nfs rw,vers=3,port=2050,proto=tcp,mountaddr=192.0.2.1,mountport=20048,addr=192.0.2.1 0 0\n"
	    "srv:/b /mnt/b nfs4 rw,vers=4.2,clientaddr=192.0.2.9,addr=fd00::1 0 0\n"
	    "short\n"
	    "srv:/c /c nfs4 rw,port=0,port=70000,port=x 0 0\n");
	check_description(ports, "2049, 111, 2050 (mount table), 20048 (mount table)");
}

/* As Linux prints it: version, address in hexadecimal, port in hexadecimal, users, name. */
Test(ports, connections_of_the_kernel)
{
	struct ports *ports = ports_new(NULL, 0);

	ports_add_servers(ports,
	    "NV SERVER   PORT USE HOSTNAME\n"
	    "v4 c0000201  801   1 192.0.2.1\n"
	    "v3 c0000202 4e20   3 other\n"
	    "v4 fd000000000000000000000000000001 1f90   1 fd00::1\n"
	    "v4 nonsense  999   1 x\n");
	check_description(ports, "2049, 111, 20000 (kernel), 8080 (kernel)");
}

Test(ports, more_than_there_is_room_for)
{
	struct ports *ports = ports_new(NULL, 0);
	GString *text = g_string_new(NULL);
	g_autofree char *description = NULL;
	g_autofree char *filter = NULL;
	struct bpf_program program;
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, 262144);

	for (unsigned i = 0; i < 1000; i++)
		g_string_append_printf(text, "s:/ /m nfs rw,port=%u 0 0\n", 3000 + i);
	ports_add_mounts(ports, text->str);
	description = ports_describe(ports);
	cr_assert(g_str_has_suffix(description, ", and more than are captured"));
	filter = ports_filter(ports);
	cr_assert_eq(pcap_compile(pcap, &program, filter, 1, PCAP_NETMASK_UNKNOWN), 0);
	pcap_freecode(&program);
	pcap_close(pcap);
	g_string_free(text, TRUE);
	ports_free(ports);
}

/* ---- the filter ---- */

enum { FRAME_BYTES = 128, ETHERNET_ADDRESSES = 12, IP_UDP = 17, IP_TCP = 6 };

struct frame {
	uint8_t bytes[FRAME_BYTES];
	unsigned len;
};

static void
put16(struct frame *frame, unsigned value)
{
	frame->bytes[frame->len++] = (uint8_t)(value >> 8);
	frame->bytes[frame->len++] = (uint8_t)value;
}

static void
put_ethernet(struct frame *frame, unsigned tags)
{
	memset(frame, 0, sizeof *frame);
	frame->len = ETHERNET_ADDRESSES;
	for (unsigned i = 0; i < tags; i++) {
		put16(frame, i + 1 < tags ? 0x88a8 : 0x8100);
		put16(frame, 100 + i);
	}
}

/* IPv4 (RFC 791 section 3.1), 20 bytes; fragment: the word of flags and offset. */
static void
put_ipv4(struct frame *frame, unsigned protocol, unsigned fragment)
{
	put16(frame, 0x0800);
	put16(frame, 0x4500);
	put16(frame, 60);
	put16(frame, 1);
	put16(frame, fragment);
	put16(frame, 64 << 8 | protocol);
	frame->len += 2 + 4 + 4;
}

/* IPv6 (RFC 8200 section 3), 40 bytes. */
static void
put_ipv6(struct frame *frame, unsigned next)
{
	put16(frame, 0x86dd);
	put16(frame, 0x6000);
	put16(frame, 0);
	put16(frame, 40);
	put16(frame, next << 8 | 64);
	frame->len += 16 + 16;
}

static void
put_ports(struct frame *frame, unsigned from, unsigned to)
{
	put16(frame, from);
	put16(frame, to);
	frame->len += 16;
}

static bool
passes(const struct frame *frame)
{
	static const uint16_t given[] = { 20049 };
	struct ports *ports = ports_new(given, 1);
	g_autofree char *untagged = ports_filter(ports);
	g_autofree char *filter = ports_behind_tags(untagged);
	struct pcap_pkthdr header = { .caplen = frame->len, .len = frame->len };
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, 262144);
	struct bpf_program program;
	bool result;

	cr_assert_eq(pcap_compile(pcap, &program, filter, 1, PCAP_NETMASK_UNKNOWN), 0, "%s", pcap_geterr(pcap));
	result = pcap_offline_filter(&program, &header, frame->bytes) != 0;
	pcap_freecode(&program);
	pcap_close(pcap);
	ports_free(ports);
	return result;
}

static bool
passes_ipv4(unsigned protocol, unsigned fragment, unsigned from, unsigned to)
{
	struct frame frame;

	put_ethernet(&frame, 0);
	put_ipv4(&frame, protocol, fragment);
	put_ports(&frame, from, to);
	return passes(&frame);
}

static bool
passes_ipv6(unsigned next, unsigned from, unsigned to)
{
	struct frame frame;

	put_ethernet(&frame, 0);
	put_ipv6(&frame, next);
	put_ports(&frame, from, to);
	return passes(&frame);
}

Test(ports, filter_takes_both_directions_and_protocols)
{
	static const unsigned ports[] = { 111, 2049, 20049 };

	for (unsigned i = 0; i < 3; i++) {
		cr_assert(passes_ipv4(IP_TCP, 0, 700, ports[i]));
		cr_assert(passes_ipv4(IP_TCP, 0, ports[i], 700));
		cr_assert(passes_ipv4(IP_UDP, 0, 700, ports[i]));
		cr_assert(passes_ipv6(IP_TCP, ports[i], 700));
		cr_assert(passes_ipv6(IP_UDP, 700, ports[i]));
	}
	cr_assert_not(passes_ipv4(IP_TCP, 0, 700, 22));
	cr_assert_not(passes_ipv6(IP_TCP, 22, 700));
}

Test(ports, filter_takes_fragments_that_have_no_ports)
{
	/* offset 185 times 8, more to come; the last one */
	cr_assert(passes_ipv4(IP_UDP, 0x20b9, 0, 0));
	cr_assert(passes_ipv4(IP_UDP, 0x0172, 0, 0));
	/* the first one goes by its ports; do not fragment is no offset */
	cr_assert(passes_ipv4(IP_UDP, 0x2000, 700, 2049));
	cr_assert_not(passes_ipv4(IP_UDP, 0x2000, 700, 53));
	cr_assert_not(passes_ipv4(IP_TCP, 0x4000, 700, 22));
	/* of IPv6 all, and what has other headers before the ports */
	cr_assert(passes_ipv6(44, 0, 0));
	cr_assert(passes_ipv6(0, 0, 0));
	cr_assert(passes_ipv6(60, 0, 0));
	cr_assert_not(passes_ipv6(58, 0, 0));
}

/* IEEE 802.1Q: one tag, or a service tag before it; a third one is too much. */
Test(ports, filter_looks_behind_tags)
{
	for (unsigned tags = 0; tags <= 3; tags++) {
		struct frame frame;

		put_ethernet(&frame, tags);
		put_ipv4(&frame, IP_TCP, 0);
		put_ports(&frame, 700, 2049);
		cr_assert_eq(passes(&frame), tags <= 2, "%u tags", tags);
		put_ethernet(&frame, tags);
		put_ipv4(&frame, IP_TCP, 0);
		put_ports(&frame, 700, 22);
		cr_assert_not(passes(&frame), "%u tags", tags);
		put_ethernet(&frame, tags);
		put_ipv6(&frame, IP_UDP);
		put_ports(&frame, 20049, 700);
		cr_assert_eq(passes(&frame), tags <= 2, "%u tags", tags);
		put_ethernet(&frame, tags);
		put_ipv4(&frame, IP_UDP, 0x0172);
		put_ports(&frame, 0, 0);
		cr_assert_eq(passes(&frame), tags <= 2, "%u tags", tags);
	}
}

/* ---- rpcbind ---- */

enum { WORDS_MOST = 64, ASK_MS = 5000, SILENT_MS = 50 };

/* One that answers each question with the same body, behind an accepted reply's header (RFC 5531 section 9). */
struct rpcbind {
	int fd;
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address;
	socklen_t address_len;
	uint32_t asked[6];	/* the question's first words, but for the XID */
	uint32_t words[WORDS_MOST];
	unsigned count;
	GThread *thread;
};

static gpointer
answer(gpointer data)
{
	struct rpcbind *rpcbind = data;
	struct sockaddr_storage from;
	socklen_t from_len = sizeof from;
	uint32_t question[WORDS_MOST] = { 0 };

	if (recvfrom(rpcbind->fd, question, sizeof question, 0, (struct sockaddr *)&from, &from_len) < 0)
		return NULL;
	for (unsigned i = 0; i < G_N_ELEMENTS(rpcbind->asked); i++)
		rpcbind->asked[i] = ntohl(question[i + 1]);
	/* the XID, reply, accepted, no verifier, success */
	rpcbind->words[0] = question[0];
	rpcbind->words[1] = htonl(1);
	sendto(rpcbind->fd, rpcbind->words, rpcbind->count * sizeof(uint32_t), 0, (struct sockaddr *)&from, from_len);
	return NULL;
}

static void
start_rpcbind(struct rpcbind *rpcbind, int family)
{
	*rpcbind = (struct rpcbind){ .fd = socket(family, SOCK_DGRAM, 0), .count = 6 };
	rpcbind->address.any.sa_family = (sa_family_t)family;
	rpcbind->address_len = family == AF_INET ? sizeof rpcbind->address.v4 : sizeof rpcbind->address.v6;
	if (family == AF_INET)
		rpcbind->address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		rpcbind->address.v6.sin6_addr = in6addr_loopback;
	cr_assert_eq(bind(rpcbind->fd, &rpcbind->address.any, rpcbind->address_len), 0);
	cr_assert_eq(getsockname(rpcbind->fd, &rpcbind->address.any, &rpcbind->address_len), 0);
}

static void
put_word(struct rpcbind *rpcbind, uint32_t word)
{
	rpcbind->words[rpcbind->count++] = htonl(word);
}

static void
put_text(struct rpcbind *rpcbind, const char *text)
{
	size_t len = strlen(text);

	put_word(rpcbind, (uint32_t)len);
	memcpy(rpcbind->words + rpcbind->count, text, len);
	rpcbind->count += (unsigned)((len + 3) / 4);
}

static struct ports *
ask(struct rpcbind *rpcbind, const char *who)
{
	struct ports *ports = ports_new(NULL, 0);

	rpcbind->thread = g_thread_new("rpcbind", answer, rpcbind);
	cr_assert(ports_ask(ports, &rpcbind->address.any, rpcbind->address_len, who, ASK_MS));
	g_thread_join(rpcbind->thread);
	close(rpcbind->fd);
	return ports;
}

/* RFC 1833 section 3: program 100000, version 2, procedure 4; a list of program, version, protocol, port. */
Test(ports, port_mapper_of_a_server)
{
	static const uint32_t known[][4] = {
		{ 100003, 3, 6, 2050 }, { 100005, 3, 17, 20048 }, { 100003, 4, 6, 2050 }, { 100000, 2, 6, 111 },
		{ 391002, 2, 6, 777 },
	};
	struct rpcbind rpcbind;
	struct ports *ports;

	start_rpcbind(&rpcbind, AF_INET);
	for (unsigned i = 0; i < G_N_ELEMENTS(known); i++) {
		put_word(&rpcbind, 1);
		for (unsigned j = 0; j < 4; j++)
			put_word(&rpcbind, known[i][j]);
	}
	put_word(&rpcbind, 0);
	ports = ask(&rpcbind, "srv");
	cr_assert_eq(rpcbind.asked[2], 100000);
	cr_assert_eq(rpcbind.asked[3], 2);
	cr_assert_eq(rpcbind.asked[4], 4);
	check_description(ports, "2049, 111, 2050 (NFS of srv), 20048 (mount of srv)");
}

/* RFC 1833 section 2: version 3, procedure 4; a list of program, version, transport, address and owner. */
Test(ports, rpcbind_of_a_server_by_ipv6)
{
	struct rpcbind rpcbind;
	struct ports *ports;

	start_rpcbind(&rpcbind, AF_INET6);
	put_word(&rpcbind, 1);
	put_word(&rpcbind, 100021);
	put_word(&rpcbind, 4);
	put_text(&rpcbind, "tcp6");
	put_text(&rpcbind, "::.156.65");
	put_text(&rpcbind, "superuser");
	put_word(&rpcbind, 1);
	put_word(&rpcbind, 100003);
	put_word(&rpcbind, 3);
	put_text(&rpcbind, "local");
	put_text(&rpcbind, "/run/nfs.sock");
	put_text(&rpcbind, "superuser");
	put_word(&rpcbind, 0);
	ports = ask(&rpcbind, "fd00::1");
	cr_assert_eq(rpcbind.asked[2], 100000);
	cr_assert_eq(rpcbind.asked[3], 3);
	cr_assert_eq(rpcbind.asked[4], 4);
	/* 156 * 256 + 65; a path has no port */
	check_description(ports, "2049, 111, 40001 (NLM of fd00::1)");
}

/* What is cut ends the list; nothing of it is believed. */
Test(ports, answer_that_is_cut)
{
	struct rpcbind rpcbind;
	struct ports *ports = ports_new(NULL, 0);

	start_rpcbind(&rpcbind, AF_INET);
	put_word(&rpcbind, 1);
	put_word(&rpcbind, 100003);
	rpcbind.thread = g_thread_new("rpcbind", answer, &rpcbind);
	cr_assert_not(ports_ask(ports, &rpcbind.address.any, rpcbind.address_len, "srv", SILENT_MS));
	g_thread_join(rpcbind.thread);
	close(rpcbind.fd);
	check_description(ports, "2049, 111");
}

Test(ports, server_that_does_not_answer)
{
	struct rpcbind rpcbind;
	struct ports *ports = ports_new(NULL, 0);

	start_rpcbind(&rpcbind, AF_INET);
	cr_assert_not(ports_ask(ports, &rpcbind.address.any, rpcbind.address_len, "srv", SILENT_MS));
	close(rpcbind.fd);
	/* nor one that is not there */
	cr_assert_not(ports_ask(ports, &rpcbind.address.any, rpcbind.address_len, "srv", SILENT_MS));
	check_description(ports, "2049, 111");
}
