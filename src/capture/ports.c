#include "capture/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rpc/rpc.h>
#include <rpc/pmap_prot.h>
#include <rpc/rpcb_prot.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	NFS_PORT = 2049,
	RPCBIND_PORT = 111,
	PORTS_MOST = 64,
	SERVERS_MOST = 64,
	ASK_MS = 300,		/* one server */
	ASK_ALL_MS = 1000,
	MS_PER_S = 1000,
	US_PER_MS = 1000,
	IPV4_DIGITS = 8,	/* of an address in /proc/fs/nfsfs/servers */
	IPV6_DIGITS = 32,
	OPTION_TEXT = 64,
};

/* Programs whose ports the filter lets through: NFS and what its clients need beside it. */
static const struct {
	unsigned long number;
	const char *name;
} programs[] = {
	{ 100003, "NFS" },
	{ 100005, "mount" },
	{ 100021, "NLM" },
	{ 100024, "NSM" },
	{ 100227, "NFS ACL" },
	{ 100011, "rquota" },
};

struct port {
	uint16_t number;
	char *source;		/* NULL: always there */
};

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct ports {
	struct port port[PORTS_MOST];
	unsigned count;
	bool full;			/* some found no room */
	union address server[SERVERS_MOST];
	unsigned servers;
	GString *silent;		/* who did not answer */
};

static void
add(struct ports *ports, unsigned long number, const char *source)
{
	if (number == 0 || number > UINT16_MAX)
		return;
	for (unsigned i = 0; i < ports->count; i++)
		if (ports->port[i].number == number)
			return;
	if (ports->count == PORTS_MOST) {
		ports->full = true;
		return;
	}
	ports->port[ports->count++] = (struct port){ .number = (uint16_t)number, .source = g_strdup(source) };
}

struct ports *
ports_new(const uint16_t *given, unsigned count)
{
	struct ports *ports = g_new0(struct ports, 1);

	ports->silent = g_string_new(NULL);
	add(ports, NFS_PORT, NULL);
	add(ports, RPCBIND_PORT, NULL);
	for (unsigned i = 0; i < count; i++)
		add(ports, given[i], "given");
	return ports;
}

void
ports_free(struct ports *ports)
{
	if (ports == NULL)
		return;
	for (unsigned i = 0; i < ports->count; i++)
		g_free(ports->port[i].source);
	g_string_free(ports->silent, TRUE);
	g_free(ports);
}

/* ---- the mount table and the kernel's connections ---- */

static socklen_t
address_len(const union address *address)
{
	return address->any.sa_family == AF_INET ? sizeof address->v4 : sizeof address->v6;
}

static bool
is_same_host(const union address *a, const union address *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (a->any.sa_family == AF_INET)
		return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
	return memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof a->v6.sin6_addr) == 0 &&
	    a->v6.sin6_scope_id == b->v6.sin6_scope_id;
}

static void
add_server(struct ports *ports, const union address *address)
{
	for (unsigned i = 0; i < ports->servers; i++)
		if (is_same_host(&ports->server[i], address))
			return;
	if (ports->servers < SERVERS_MOST)
		ports->server[ports->servers++] = *address;
}

/* An address in numbers, as the mount table has it: a name is not looked up. */
static void
add_server_text(struct ports *ports, const char *text)
{
	union address address = { .any.sa_family = AF_INET };
	g_auto(GStrv) scoped = g_strsplit(text, "%", 2);

	if (inet_pton(AF_INET, text, &address.v4.sin_addr) == 1) {
		add_server(ports, &address);
		return;
	}
	address = (union address){ .v6 = { .sin6_family = AF_INET6 } };
	if (scoped[0] == NULL || inet_pton(AF_INET6, scoped[0], &address.v6.sin6_addr) != 1)
		return;
	if (scoped[1] != NULL)
		address.v6.sin6_scope_id = (uint32_t)g_ascii_strtoull(scoped[1], NULL, 10);
	add_server(ports, &address);
}

/* server:/export /mount nfs4 rw,vers=4.2,port=2050,addr=192.0.2.1 0 0 */
void
ports_add_mounts(struct ports *ports, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (unsigned i = 0; lines[i] != NULL; i++) {
		g_auto(GStrv) fields = g_strsplit(lines[i], " ", -1);
		g_auto(GStrv) options = NULL;

		if (g_strv_length(fields) < 4 || (strcmp(fields[2], "nfs") != 0 && strcmp(fields[2], "nfs4") != 0))
			continue;
		options = g_strsplit(fields[3], ",", -1);
		for (unsigned j = 0; options[j] != NULL; j++) {
			if (g_str_has_prefix(options[j], "port="))
				add(ports, g_ascii_strtoull(options[j] + strlen("port="), NULL, 10), "mount table");
			else if (g_str_has_prefix(options[j], "mountport="))
				add(ports, g_ascii_strtoull(options[j] + strlen("mountport="), NULL, 10),
				    "mount table");
			else if (g_str_has_prefix(options[j], "addr="))
				add_server_text(ports, options[j] + strlen("addr="));
		}
	}
}

/* 8 or 32 hexadecimal digits, in the order of the wire; false when it is something else. */
static bool
read_hex_address(const char *digits, union address *address)
{
	size_t len = strlen(digits);
	uint8_t *bytes;

	*address = (union address){ .v6 = { .sin6_family = len == IPV4_DIGITS ? AF_INET : AF_INET6 } };
	bytes = len == IPV4_DIGITS ? (uint8_t *)&address->v4.sin_addr : address->v6.sin6_addr.s6_addr;
	if (len != IPV4_DIGITS && len != IPV6_DIGITS)
		return false;
	for (size_t i = 0; i < len; i++) {
		int value = g_ascii_xdigit_value(digits[i]);

		if (value < 0)
			return false;
		bytes[i / 2] = (uint8_t)(bytes[i / 2] << 4 | value);
	}
	return true;
}

/*
 * NV SERVER   PORT USE HOSTNAME
 * v4 c0000201  801   1 server
 */
void
ports_add_servers(struct ports *ports, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (unsigned i = 0; lines[i] != NULL; i++) {
		char digits[OPTION_TEXT];
		union address address;
		unsigned port;

		if (sscanf(lines[i], "v%*u %63s %x", digits, &port) != 2 || !read_hex_address(digits, &address))
			continue;
		add(ports, port, "kernel");
		add_server(ports, &address);
	}
}

/* ---- rpcbind ---- */

/* No arguments; in two steps, since xdr_void has none itself. */
#define NOTHING ((xdrproc_t)(void (*)(void))xdr_void)

static const char *
program_name(unsigned long number)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(programs); i++)
		if (programs[i].number == number)
			return programs[i].name;
	return NULL;
}

static void
add_registered(struct ports *ports, unsigned long program, unsigned long port, const char *who)
{
	const char *name = program_name(program);
	g_autofree char *source = name != NULL ? g_strdup_printf("%s of %s", name, who) : NULL;

	if (name != NULL)
		add(ports, port, source);
}

/* RFC 1833 section 3.2: port mapper version 2, IPv4 alone. */
static bool
dump_portmap(CLIENT *client, struct ports *ports, const char *who, struct timeval timeout)
{
	struct pmaplist *list = NULL;
	bool answered = clnt_call(client, PMAPPROC_DUMP, NOTHING, NULL, (xdrproc_t)xdr_pmaplist, &list,
	    timeout) == RPC_SUCCESS;

	for (const struct pmaplist *map = list; answered && map != NULL; map = map->pml_next)
		add_registered(ports, map->pml_map.pm_prog, map->pml_map.pm_port, who);
	clnt_freeres(client, (xdrproc_t)xdr_pmaplist, &list);
	return answered;
}

/* A universal address ends in the port's two bytes, as in "::.8.1" (RFC 5665 section 5.2.3.3). */
static unsigned long
universal_port(const char *address)
{
	const char *low = strrchr(address, '.');
	const char *high = low != NULL ? g_strrstr_len(address, low - address, ".") : NULL;

	if (high == NULL)
		return 0;
	return g_ascii_strtoull(high + 1, NULL, 10) << 8 | g_ascii_strtoull(low + 1, NULL, 10);
}

/* RFC 1833 section 2.1: rpcbind version 3, any transport. */
static bool
dump_rpcbind(CLIENT *client, struct ports *ports, const char *who, struct timeval timeout)
{
	rpcblist_ptr list = NULL;
	bool answered = clnt_call(client, RPCBPROC_DUMP, NOTHING, NULL, (xdrproc_t)xdr_rpcblist_ptr,
	    (char *)&list, timeout) == RPC_SUCCESS;

	for (const struct rp__list *map = list; answered && map != NULL; map = map->rpcb_next)
		if (map->rpcb_map.r_addr != NULL)
			add_registered(ports, map->rpcb_map.r_prog, universal_port(map->rpcb_map.r_addr), who);
	clnt_freeres(client, (xdrproc_t)xdr_rpcblist_ptr, (char *)&list);
	return answered;
}

bool
ports_ask(struct ports *ports, const struct sockaddr *address, socklen_t len, const char *who, int timeout_ms)
{
	struct timeval timeout = { .tv_sec = timeout_ms / MS_PER_S, .tv_usec = timeout_ms % MS_PER_S * US_PER_MS };
	struct timeval again = { .tv_usec = ASK_MS / 2 * US_PER_MS };
	bool portmap = address->sa_family == AF_INET;
	union address to;
	struct netbuf buffer = { .maxlen = sizeof to, .len = len, .buf = &to };
	int fd = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool answered = false;
	CLIENT *client;

	if (fd < 0)
		return false;
	memcpy(&to, address, len);
	client = clnt_dg_create(fd, &buffer, PMAPPROG, portmap ? PMAPVERS : RPCBVERS, 0, 0);
	if (client != NULL) {
		clnt_control(client, CLSET_RETRY_TIMEOUT, (char *)&again);
		answered = portmap ? dump_portmap(client, ports, who, timeout) :
		    dump_rpcbind(client, ports, who, timeout);
		clnt_destroy(client);
	}
	close(fd);
	return answered;
}

/* ---- all of them ---- */

static void
add_file(struct ports *ports, const char *path, void (*add_text)(struct ports *, const char *))
{
	g_autofree char *text = NULL;

	if (g_file_get_contents(path, &text, NULL, NULL))
		add_text(ports, text);
}

static int64_t
left_ms(int64_t begin_us)
{
	return ASK_ALL_MS - (g_get_monotonic_time() - begin_us) / US_PER_MS;
}

static void
ask_all(struct ports *ports)
{
	int64_t begin_us = g_get_monotonic_time();
	union address local = { .v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	    .sin_port = htons(RPCBIND_PORT) } };

	/* a host without NFS need not have one, and that is no news */
	(void)ports_ask(ports, &local.any, sizeof local.v4, "this host", ASK_MS);
	for (unsigned i = 0; i < ports->servers; i++) {
		union address *server = &ports->server[i];
		char name[INET6_ADDRSTRLEN] = "";
		bool is_v4 = server->any.sa_family == AF_INET;

		inet_ntop(server->any.sa_family, is_v4 ? (void *)&server->v4.sin_addr : (void *)&server->v6.sin6_addr,
		    name, sizeof name);
		/* at the same place in both */
		server->v4.sin_port = htons(RPCBIND_PORT);
		if (left_ms(begin_us) <= 0 || !ports_ask(ports, &server->any, address_len(server), name,
		    (int)MIN(ASK_MS, left_ms(begin_us))))
			g_string_append_printf(ports->silent, "%s%s", ports->silent->len > 0 ? ", " : "", name);
	}
}

void
ports_find(struct ports *ports)
{
	add_file(ports, "/proc/self/mounts", ports_add_mounts);
	add_file(ports, "/proc/fs/nfsfs/servers", ports_add_servers);
	ask_all(ports);
}

/* ---- what comes out ---- */

/*
 * Only the first fragment of a datagram has ports, and "port" does not look
 * behind the extension headers of IPv6: all later IPv4 fragments pass, and IPv6
 * with hop-by-hop options (0), a routing (43), fragment (44) or destination
 * options header (60; RFC 8200 section 4).
 */
char *
ports_filter(const struct ports *ports)
{
	GString *text = g_string_new(NULL);

	for (unsigned i = 0; i < ports->count; i++)
		g_string_append_printf(text, "tcp port %u or udp port %u or ", ports->port[i].number,
		    ports->port[i].number);
	g_string_append(text, "ip[6:2] & 0x1fff != 0 or "
	    "ip6[6] = 0 or ip6[6] = 43 or ip6[6] = 44 or ip6[6] = 60");
	return g_string_free(text, FALSE);
}

/*
 * A keyword vlan moves all that is behind it in the text by a tag, whatever the
 * brackets are: each nesting looks one tag further. Where the kernel took a tag
 * off, a filter that was compiled for a live capture moves by nothing.
 */
char *
ports_behind_tags(const char *filter)
{
	return g_strdup_printf("(%s) or (vlan and ((%s) or (vlan and (%s))))", filter, filter, filter);
}

char *
ports_describe(const struct ports *ports)
{
	GString *text = g_string_new(NULL);

	for (unsigned i = 0; i < ports->count; i++) {
		g_string_append_printf(text, "%s%u", i > 0 ? ", " : "", ports->port[i].number);
		if (ports->port[i].source != NULL)
			g_string_append_printf(text, " (%s)", ports->port[i].source);
	}
	if (ports->full)
		g_string_append(text, ", and more than are captured");
	if (ports->silent->len > 0)
		g_string_append_printf(text, "; no rpcbind answered at %s", ports->silent->str);
	return g_string_free(text, FALSE);
}
