/*
 * What hosts say of themselves.
 */
#include <glib.h>

#include "correlate/ids.h"
#include "report/host_list.h"
#include "report/json_value.h"

enum { NAME_BYTES = 32 };

static json_t *
address(const struct report *report, const uint8_t bytes[16])
{
	struct net_endpoint endpoint = { .port = 0 };
	char text[LABEL_SIZE];

	memcpy(endpoint.address, bytes, sizeof endpoint.address);
	label_address(report->ids, &endpoint, text);
	return value_text(text);
}

static json_t *
name(const struct report *report, const char *said)
{
	char text[LABEL_SIZE];

	if (said == NULL)
		return json_null();
	label_name(report->ids, said, text);
	return value_text(text);
}

static json_t *
session(const struct host_facts *host)
{
	json_t *object;

	if (!host->has_session)
		return json_null();
	object = json_object();
	object_put(object, "slots", json_integer(host->session.requests));
	object_put(object, "request_bytes", json_integer(host->session.request_bytes));
	object_put(object, "response_bytes", json_integer(host->session.response_bytes));
	object_put(object, "operations", json_integer(host->session.operations));
	return object;
}

static json_t *
host(const struct report *report, const struct host_facts *facts)
{
	json_t *object = json_object();

	object_put(object, "role", value_text(facts->role == HOST_SERVER ? "server" : "client"));
	object_put(object, "address", address(report, facts->address));
	object_put(object, "owner", name(report, facts->text[SAID_OWNER]));
	object_put(object, "scope", name(report, facts->text[SAID_SCOPE]));
	object_put(object, "implementation", name(report, facts->text[SAID_PRODUCT]));
	object_put(object, "domain", name(report, facts->text[SAID_DOMAIN]));
	object_put(object, "read_most_bytes", value_known(facts->read_most_bytes > 0, facts->read_most_bytes));
	object_put(object, "write_most_bytes", value_known(facts->write_most_bytes > 0, facts->write_most_bytes));
	object_put(object, "session", session(facts));
	return object;
}

json_t *
block_hosts(const struct report *report)
{
	struct host_list list = host_list_new(report);
	json_t *array = json_array();

	for (unsigned i = 0; i < list.hosts->len; i++)
		array_append(array, host(report, list.hosts->pdata[i]));
	host_list_clear(&list);
	return array;
}

json_t *
block_ports(const struct report *report)
{
	struct host_list list = host_list_new(report);
	json_t *array = json_array();

	for (unsigned i = 0; i < list.ports->len; i++) {
		const struct host_port *port = list.ports->pdata[i];
		json_t *object = json_object();
		char program[NAME_BYTES];

		host_port_program(port, program, sizeof program);
		object_put(object, "address", address(report, port->address));
		object_put(object, "port", json_integer(port->port));
		object_put(object, "protocol", value_text(host_port_protocol(port)));
		object_put(object, "program", value_text(program));
		array_append(array, object);
	}
	host_list_clear(&list);
	return array;
}
