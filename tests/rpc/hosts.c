/*
 * The tables of what hosts say of themselves: each host and port once, the last
 * word counts, names harmless to a terminal, caps that hold.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "rpc/hosts.h"

enum { NFS = 100003, NOBODY = 300000, TCP = 6, UDP = 17 };

static struct net_endpoint
host(uint8_t number)
{
	return (struct net_endpoint){ .address = { [10] = 0xff, 0xff, 192, 0, 2, number }, .port = 700 };
}

static struct nfs_said
named(const char *name)
{
	return (struct nfs_said){ .any = true,
		.text[SAID_OWNER] = { (const uint8_t *)name, (uint32_t)strlen(name) } };
}

Test(hosts, the_last_word_counts)
{
	struct hosts *hosts = hosts_new();
	struct net_endpoint one = host(1), other = host(2);
	struct nfs_said first = named("first"), second = named("second");
	struct nfs_said session = { .any = true, .has_session = true, .session = { 1, 2, 3, 4 } };

	hosts_note(hosts, &one, HOST_SERVER, &first);
	hosts_note(hosts, &other, HOST_CLIENT, &first);
	hosts_note(hosts, &one, HOST_SERVER, &second);
	hosts_note(hosts, &one, HOST_CLIENT, &first);
	one.port = 701;
	hosts_note(hosts, &one, HOST_SERVER, &session);
	cr_assert_eq(hosts_count(hosts), 3, "a host may be both");
	cr_assert_str_eq(hosts_at(hosts, 0)->text[SAID_OWNER], "second");
	cr_assert(hosts_at(hosts, 0)->has_session);
	cr_assert_eq(hosts_at(hosts, 0)->session.requests, 4);
	cr_assert_null(hosts_at(hosts, 0)->text[SAID_SCOPE]);
	hosts_free(hosts);
}

Test(hosts, names_are_harmless)
{
	struct hosts *hosts = hosts_new();
	struct net_endpoint one = host(1);
	char name[300];
	struct nfs_said said = named("a\x1b[2Jb\\\n\xff");

	hosts_note(hosts, &one, HOST_SERVER, &said);
	cr_assert_str_eq(hosts_at(hosts, 0)->text[SAID_OWNER], "a\\x1b[2Jb\\x5c\\x0a\\xff");
	memset(name, 'n', sizeof name);
	said.text[SAID_OWNER] = (struct said_bytes){ (const uint8_t *)name, sizeof name };
	hosts_note(hosts, &one, HOST_SERVER, &said);
	cr_assert_lt(strlen(hosts_at(hosts, 0)->text[SAID_OWNER]), 125);
	cr_assert_str_eq(hosts_at(hosts, 0)->text[SAID_OWNER] + strlen(hosts_at(hosts, 0)->text[SAID_OWNER]) - 3, "...");
	hosts_free(hosts);
}

Test(hosts, ports)
{
	struct hosts *hosts = hosts_new();
	struct net_endpoint one = host(1), other = host(2);
	struct nfs_said said = { .any = true, .ports = 3, .port = {
		{ .program = NFS, .version = 3, .port = 20049, .protocol = TCP },
		{ .program = NOBODY, .version = 1, .port = 5000, .protocol = TCP },
		{ .program = NFS, .version = 4, .port = 3000, .protocol = TCP, .has_address = true },
	} };

	memcpy(said.port[2].address, other.address, sizeof other.address);
	hosts_note(hosts, &one, HOST_SERVER, &said);
	hosts_note(hosts, &one, HOST_SERVER, &said);
	cr_assert_eq(hosts_ports(hosts), 3);
	cr_assert_eq(hosts_count(hosts), 0, "it said nothing of itself");
	cr_assert(hosts_has_port(hosts, one.address, 20049, TCP));
	cr_assert_not(hosts_has_port(hosts, one.address, 20049, UDP));
	cr_assert_not(hosts_has_port(hosts, other.address, 20049, TCP));
	cr_assert_not(hosts_has_port(hosts, one.address, 5000, TCP), "no decoder knows the program");
	cr_assert(hosts_has_port(hosts, other.address, 3000, TCP));
	hosts_free(hosts);
}

Test(hosts, tables_are_capped)
{
	struct hosts *hosts = hosts_new();

	for (unsigned i = 0; i < 3000; i++) {
		struct net_endpoint one = host(1);
		struct nfs_said said = named("x");

		one.address[13] = (uint8_t)(i >> 8);
		one.address[14] = (uint8_t)i;
		said.ports = 1;
		said.port[0] = (struct said_port){ .program = NFS, .version = 3, .port = (uint16_t)(i + 1), .protocol = TCP };
		hosts_note(hosts, &one, HOST_SERVER, &said);
	}
	cr_assert_eq(hosts_count(hosts), 256);
	cr_assert_eq(hosts_ports(hosts), 1024);
	cr_assert_eq(hosts_overflow(hosts), 3000 - 256 + 3000 - 1024);
	hosts_free(hosts);
}
