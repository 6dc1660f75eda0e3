/*
 * What hosts say of themselves in all captures of a report, each once: as the
 * first capture has it that shows it, the server's first.
 */
#ifndef REPORT_HOST_LIST_H
#define REPORT_HOST_LIST_H

#include <glib.h>

#include "report/report.h"

struct host_list {
	GPtrArray *hosts;	/* const struct host_facts *, borrowed; servers first */
	GPtrArray *ports;	/* const struct host_port *, borrowed */
	uint64_t left_out;	/* that no longer fitted into a table */
};

struct host_list host_list_new(const struct report *report);
void host_list_clear(struct host_list *list);
/* "tcp", "udp". */
const char *host_port_protocol(const struct host_port *port);
/* The program as reports call it: "mount3". */
void host_port_program(const struct host_port *port, char *text, size_t size);

#endif
