/*
 * HOSTS: what servers and clients say of themselves, and where programs are.
 */
#include <glib.h>

#include "base/format.h"
#include "correlate/ids.h"
#include "report/host_list.h"
#include "report/text.h"

enum { HOST_LINES = 10, NAME_BYTES = 32 };

static void
append_name(const struct page *page, GString *line, const char *what, const char *name)
{
	char text[LABEL_SIZE];

	if (name == NULL)
		return;
	label_name(page->report->ids, name, text);
	g_string_append_printf(line, "%s%s \"%s\"", line->len > 0 ? ", " : "", what, text);
}

static void
append_sizes(GString *line, const struct host_facts *host)
{
	if (host->read_most_bytes > 0)
		g_string_append_printf(line, "%sREAD up to %" G_GUINT32_FORMAT " bytes", line->len > 0 ? ", " : "",
		    host->read_most_bytes);
	if (host->write_most_bytes > 0)
		g_string_append_printf(line, "%sWRITE up to %" G_GUINT32_FORMAT " bytes", line->len > 0 ? ", " : "",
		    host->write_most_bytes);
	if (host->has_session)
		g_string_append_printf(line, "%ssession granted: %" G_GUINT32_FORMAT " slots, calls up to %"
		    G_GUINT32_FORMAT ", replies up to %" G_GUINT32_FORMAT " bytes, %" G_GUINT32_FORMAT " operations",
		    line->len > 0 ? ", " : "", host->session.requests, host->session.request_bytes,
		    host->session.response_bytes, host->session.operations);
}

static void
host_line(const struct page *page, const struct host_facts *host)
{
	g_autoptr(GString) facts = g_string_new(NULL);
	g_autofree char *line = NULL;
	struct net_endpoint endpoint = { .port = 0 };
	char address[LABEL_SIZE];

	memcpy(endpoint.address, host->address, sizeof endpoint.address);
	label_address(page->report->ids, &endpoint, address);
	append_name(page, facts, "owner", host->text[SAID_OWNER]);
	append_name(page, facts, "scope", host->text[SAID_SCOPE]);
	append_name(page, facts, "implementation", host->text[SAID_PRODUCT]);
	append_name(page, facts, "of", host->text[SAID_DOMAIN]);
	append_sizes(facts, host);
	line = g_strdup_printf("%s: %s", address, facts->str);
	print_wrapped(page->out, host->role == HOST_SERVER ? "  server  " : "  client  ", line);
}

static void
port_lines(const struct page *page, const GPtrArray *ports)
{
	unsigned shown = page_rows(page, ports->len, HOST_LINES);

	for (unsigned i = 0; i < shown; i++) {
		const struct host_port *port = ports->pdata[i];
		struct net_endpoint endpoint = { .port = 0 };
		char address[LABEL_SIZE], program[NAME_BYTES];
		g_autofree char *line = NULL;

		memcpy(endpoint.address, port->address, sizeof endpoint.address);
		label_address(page->report->ids, &endpoint, address);
		host_port_program(port, program, sizeof program);
		line = g_strdup_printf("%s: %s at %s %u", address, program, host_port_protocol(port), port->port);
		print_wrapped(page->out, i == 0 ? "  ports   " : "          ", line);
	}
	page_left_out(page, shown, ports->len);
}

void
text_hosts(const struct page *page)
{
	struct host_list list = host_list_new(page->report);
	unsigned shown = page_rows(page, list.hosts->len, HOST_LINES);

	if (list.hosts->len + list.ports->len > 0)
		page_heading(page, "HOSTS BY THEIR OWN WORDS");
	for (unsigned i = 0; i < shown; i++)
		host_line(page, list.hosts->pdata[i]);
	page_left_out(page, shown, list.hosts->len);
	port_lines(page, list.ports);
	host_list_clear(&list);
}
