#include "capture/interfaces.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <string.h>
#include <sys/socket.h>

#include "base/errors.h"

/* libpcap lists more than networks: USB, D-Bus, Bluetooth, netfilter. */
static bool
is_network(const pcap_if_t *interface)
{
	return strcmp(interface->name, "any") == 0 || if_nametoindex(interface->name) > 0;
}

static void
append_addresses(GString *text, const pcap_if_t *interface)
{
	for (const pcap_addr_t *address = interface->addresses; address != NULL; address = address->next) {
		char number[INET6_ADDRSTRLEN];
		const void *bytes;

		if (address->addr == NULL)
			continue;
		if (address->addr->sa_family == AF_INET)
			bytes = &((const struct sockaddr_in *)(const void *)address->addr)->sin_addr;
		else if (address->addr->sa_family == AF_INET6)
			bytes = &((const struct sockaddr_in6 *)(const void *)address->addr)->sin6_addr;
		else
			continue;
		if (inet_ntop(address->addr->sa_family, bytes, number, sizeof number) != NULL)
			g_string_append_printf(text, " %s", number);
	}
}

static const char *
state_of(const pcap_if_t *interface)
{
	if (strcmp(interface->name, "any") == 0)
		return "all";
	if ((interface->flags & PCAP_IF_UP) == 0)
		return "down";
	return (interface->flags & PCAP_IF_RUNNING) != 0 ? "up" : "no-link";
}

bool
interfaces_print(FILE *file, GError **error)
{
	char problem[PCAP_ERRBUF_SIZE];
	pcap_if_t *all;

	if (pcap_findalldevs(&all, problem) != 0) {
		g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED, "cannot list the interfaces: %s", problem);
		return false;
	}
	for (const pcap_if_t *interface = all; interface != NULL; interface = interface->next) {
		GString *text;

		if (!is_network(interface))
			continue;
		text = g_string_new(NULL);
		g_string_printf(text, "%-15s %-7s", interface->name, state_of(interface));
		append_addresses(text, interface);
		if (interface->description != NULL)
			g_string_append_printf(text, " (%s)", interface->description);
		else if ((interface->flags & PCAP_IF_LOOPBACK) != 0)
			g_string_append(text, " (loopback)");
		fprintf(file, "%s\n", g_strchomp(text->str));
		g_string_free(text, TRUE);
	}
	pcap_freealldevs(all);
	return true;
}

char *
interfaces_names(void)
{
	char problem[PCAP_ERRBUF_SIZE];
	pcap_if_t *all = NULL;
	GString *names = g_string_new(NULL);

	if (pcap_findalldevs(&all, problem) != 0)
		all = NULL;
	for (const pcap_if_t *interface = all; interface != NULL; interface = interface->next)
		if (is_network(interface))
			g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "", interface->name);
	if (all != NULL)
		pcap_freealldevs(all);
	return g_string_free(names, FALSE);
}
