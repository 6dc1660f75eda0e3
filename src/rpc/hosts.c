#include "rpc/hosts.h"

#include <glib.h>

#include "rpc/names.h"

enum {
	HOSTS_MOST = 256,
	PORTS_MOST = 1024,
	TEXT_MOST = 120,	/* characters */
	ESCAPED = 4,		/* \xNN */
};

struct hosts {
	GArray *host;		/* struct host_facts */
	GArray *port;		/* struct host_port */
	uint64_t overflow;
};

static void
clear_host(void *data)
{
	struct host_facts *host = data;

	for (unsigned i = 0; i < SAID_TEXTS; i++)
		g_free(host->text[i]);
}

struct hosts *
hosts_new(void)
{
	struct hosts *hosts = g_new0(struct hosts, 1);

	hosts->host = g_array_new(FALSE, TRUE, sizeof(struct host_facts));
	g_array_set_clear_func(hosts->host, clear_host);
	hosts->port = g_array_new(FALSE, TRUE, sizeof(struct host_port));
	return hosts;
}

struct hosts *
hosts_copy(const struct hosts *hosts)
{
	struct hosts *copy = hosts_new();

	g_array_append_vals(copy->host, hosts->host->data, hosts->host->len);
	g_array_append_vals(copy->port, hosts->port->data, hosts->port->len);
	for (unsigned i = 0; i < copy->host->len; i++) {
		struct host_facts *host = &g_array_index(copy->host, struct host_facts, i);

		for (unsigned text = 0; text < SAID_TEXTS; text++)
			host->text[text] = g_strdup(host->text[text]);
	}
	copy->overflow = hosts->overflow;
	return copy;
}

void
hosts_free(struct hosts *hosts)
{
	if (hosts == NULL)
		return;
	g_array_unref(hosts->host);
	g_array_unref(hosts->port);
	g_free(hosts);
}

unsigned
hosts_count(const struct hosts *hosts)
{
	return hosts->host->len;
}

const struct host_facts *
hosts_at(const struct hosts *hosts, unsigned number)
{
	return &g_array_index(hosts->host, struct host_facts, number);
}

unsigned
hosts_ports(const struct hosts *hosts)
{
	return hosts->port->len;
}

const struct host_port *
hosts_port_at(const struct hosts *hosts, unsigned number)
{
	return &g_array_index(hosts->port, struct host_port, number);
}

uint64_t
hosts_overflow(const struct hosts *hosts)
{
	return hosts->overflow;
}

/* NULL when the table is full. */
static struct host_facts *
host_of(struct hosts *hosts, const uint8_t address[16], enum host_role role)
{
	struct host_facts *host;

	for (unsigned i = 0; i < hosts->host->len; i++) {
		host = &g_array_index(hosts->host, struct host_facts, i);
		if (host->role == role && memcmp(host->address, address, sizeof host->address) == 0)
			return host;
	}
	if (hosts->host->len == HOSTS_MOST) {
		hosts->overflow++;
		return NULL;
	}
	g_array_set_size(hosts->host, hosts->host->len + 1);
	host = &g_array_index(hosts->host, struct host_facts, hosts->host->len - 1);
	host->role = role;
	memcpy(host->address, address, sizeof host->address);
	return host;
}

/* Names are the sender's own: what is not printable, or more than a line, must not reach a terminal as it is. */
static char *
printable(const struct said_bytes *said)
{
	GString *text = g_string_new(NULL);

	for (uint32_t i = 0; i < said->len; i++) {
		if (text->len + ESCAPED > TEXT_MOST) {
			g_string_append(text, "...");
			break;
		}
		if (g_ascii_isprint((char)said->bytes[i]) && said->bytes[i] != '\\')
			g_string_append_c(text, (char)said->bytes[i]);
		else
			g_string_append_printf(text, "\\x%02x", said->bytes[i]);
	}
	return g_string_free(text, FALSE);
}

static void
note_texts(struct host_facts *host, const struct nfs_said *said)
{
	for (unsigned i = 0; i < SAID_TEXTS; i++) {
		if (said->text[i].bytes == NULL || said->text[i].len == 0)
			continue;
		g_free(host->text[i]);
		host->text[i] = printable(&said->text[i]);
	}
}

static void
note_port(struct hosts *hosts, const struct net_endpoint *host, const struct said_port *said)
{
	struct host_port port = { .port = said->port, .protocol = said->protocol, .program = said->program,
		.version = said->version };

	memcpy(port.address, said->has_address ? said->address : host->address, sizeof port.address);
	for (unsigned i = 0; i < hosts->port->len; i++) {
		const struct host_port *known = hosts_port_at(hosts, i);

		if (known->port == port.port && known->protocol == port.protocol && known->program == port.program &&
		    known->version == port.version && memcmp(known->address, port.address, sizeof port.address) == 0)
			return;
	}
	if (hosts->port->len == PORTS_MOST)
		hosts->overflow++;
	else
		g_array_append_val(hosts->port, port);
}

static bool
says_of_itself(const struct nfs_said *said)
{
	for (unsigned i = 0; i < SAID_TEXTS; i++)
		if (said->text[i].bytes != NULL && said->text[i].len > 0)
			return true;
	return said->has_session;
}

void
hosts_note(struct hosts *hosts, const struct net_endpoint *host, enum host_role role, const struct nfs_said *said)
{
	struct host_facts *facts = says_of_itself(said) ? host_of(hosts, host->address, role) : NULL;

	if (facts != NULL)
		note_texts(facts, said);
	if (facts != NULL && said->has_session) {
		facts->session = said->session;
		facts->has_session = true;
	}
	for (unsigned i = 0; i < said->ports; i++)
		note_port(hosts, host, &said->port[i]);
}

void
hosts_note_sizes(struct hosts *hosts, const struct nfs_op *op)
{
	struct host_facts *host = host_of(hosts, op->server.address, HOST_SERVER);

	if (host != NULL && op_has(op, OP_HAS_READ_MOST))
		host->read_most_bytes = op->read_most_bytes;
	if (host != NULL && op_has(op, OP_HAS_WRITE_MOST))
		host->write_most_bytes = op->write_most_bytes;
}

bool
hosts_has_port(const struct hosts *hosts, const uint8_t address[16], uint16_t port, uint8_t protocol)
{
	for (unsigned i = 0; i < hosts->port->len; i++) {
		const struct host_port *known = hosts_port_at(hosts, i);

		if (known->port == port && known->protocol == protocol && decoder_knows_program(known->program) &&
		    memcmp(known->address, address, sizeof known->address) == 0)
			return true;
	}
	return false;
}
