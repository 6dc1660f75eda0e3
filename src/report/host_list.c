#include "report/host_list.h"

#include <string.h>

#include "capture/ip.h"
#include "rpc/names.h"

static void
add_host(GPtrArray *hosts, const struct host_facts *host)
{
	for (unsigned i = 0; i < hosts->len; i++) {
		const struct host_facts *other = hosts->pdata[i];

		if (other->role == host->role && memcmp(other->address, host->address, sizeof host->address) == 0)
			return;
	}
	g_ptr_array_add(hosts, (void *)host);
}

static void
add_port(GPtrArray *ports, const struct host_port *port)
{
	for (unsigned i = 0; i < ports->len; i++) {
		const struct host_port *other = ports->pdata[i];

		if (other->port == port->port && other->protocol == port->protocol &&
		    other->program == port->program && other->version == port->version &&
		    memcmp(other->address, port->address, sizeof port->address) == 0)
			return;
	}
	g_ptr_array_add(ports, (void *)port);
}

static void
add_capture(struct host_list *list, const struct hosts *hosts, enum host_role role)
{
	for (unsigned i = 0; i < hosts_count(hosts); i++)
		if (hosts_at(hosts, i)->role == role)
			add_host(list->hosts, hosts_at(hosts, i));
}

struct host_list
host_list_new(const struct report *report)
{
	struct host_list list = { g_ptr_array_new(), g_ptr_array_new(), 0 };

	for (enum host_role role = HOST_SERVER; role < HOST_ROLES; role++)
		for (unsigned i = 0; i < report->capture_count; i++)
			if (report->captures[i].hosts != NULL)
				add_capture(&list, report->captures[i].hosts, role);
	for (unsigned i = 0; i < report->capture_count; i++) {
		const struct hosts *hosts = report->captures[i].hosts;

		for (unsigned p = 0; hosts != NULL && p < hosts_ports(hosts); p++)
			add_port(list.ports, hosts_port_at(hosts, p));
		list.left_out += hosts != NULL ? hosts_overflow(hosts) : 0;
	}
	return list;
}

void
host_list_clear(struct host_list *list)
{
	g_ptr_array_unref(list->hosts);
	g_ptr_array_unref(list->ports);
}

const char *
host_port_protocol(const struct host_port *port)
{
	return port->protocol == IP_UDP ? "udp" : "tcp";
}

void
host_port_program(const struct host_port *port, char *text, size_t size)
{
	struct nfs_op op = { .program = port->program, .version = port->version };

	op_version_label(&op, text, size);
}
