/*
 * The commands that make captures which can be correlated: both hosts, from
 * before the load until after it, headers of every packet, nothing lost.
 */
#include <string.h>

#include "report/report.h"

const char *const capture_system_names[CAPTURE_SYSTEMS] = {
	[CAPTURE_LINUX] = "linux",
	[CAPTURE_SOLARIS] = "solaris",
	[CAPTURE_ONTAP] = "ontap",
	[CAPTURE_ONEFS] = "onefs",
};

/* {server}, {client} and {port} stand for the targets. */
static const char linux_text[] =
"Linux (tcpdump). Run as root on both hosts, the server first, then the load,\n"
"and stop the server last (Ctrl-C). DEV is the interface that carries NFS; take\n"
"the one with the address, not \"any\": below a bond or bridge \"any\" sees each\n"
"packet twice.\n"
"\n"
"  on the server:\n"
"    tcpdump -i DEV -s 512 -B 65536 -w server.pcap \\\n"
"        'host {client} and port {port}'\n"
"  on the client:\n"
"    tcpdump -i DEV -s 512 -B 65536 -w client.pcap \\\n"
"        'host {server} and port {port}'\n"
"\n"
"  -s 512      keeps the headers and leaves the data out. The last line that\n"
"              tcpdump prints must say \"0 packets dropped by kernel\"; if not,\n"
"              a larger -B (KiB) or a faster disk is needed. If the report\n"
"              counts hidden records, use -s 0 for a shorter time.\n"
"  -B 65536    64 MiB of buffer in the kernel.\n"
"  -C 1000 -W 20   with -w: a ring of 20 files of 1000 MB each, to wait for a\n"
"              problem that comes and goes.\n"
"  --time-stamp-precision=nano   where the kernel offers it.\n"
"\n"
"With tagged VLANs write 'vlan and host ...' if nothing is captured. NFS over\n"
"UDP: leave \"and port {port}\" out, or later fragments are missed: calls are\n"
"timed by their first ones then, without the time of their last bytes.\n";

static const char solaris_text[] =
"Solaris, illumos (snoop). Run as root on both hosts, the server first, then the\n"
"load, and stop the server last (Ctrl-C). DEV is the interface of dladm\n"
"show-link that carries NFS.\n"
"\n"
"  on the server:\n"
"    snoop -q -d DEV -s 512 -o server.snoop host {client} and port {port}\n"
"  on the client:\n"
"    snoop -q -d DEV -s 512 -o client.snoop host {server} and port {port}\n"
"\n"
"  -s 512      keeps the headers and leaves the data out.\n"
"  -q          does not count on the screen, which would cost packets.\n"
"  -o          writes the packets to a file. Put it on a local disk, not on NFS.\n"
"\n"
"With -D instead of -q snoop shows how many packets it dropped: it must be none.\n";

static const char ontap_text[] =
"ONTAP, on the cluster shell, for the node and port where the LIF of the volume\n"
"is at home now (network interface show). Start it before the client's capture\n"
"and stop it after.\n"
"\n"
"    network tcpdump start -node NODE -port PORT -address {client} \\\n"
"        -protocol-port {port}\n"
"    network tcpdump show\n"
"    network tcpdump stop -node NODE -port PORT\n"
"\n"
"The files are in /mroot/etc/log/packet_traces/ of the node. Two files of 1 GB\n"
"are written in turn unless -file-size (MB) and -rolling-traces say otherwise;\n"
"-buffer-size (KB) helps against dropped packets. Releases that do not have the\n"
"command have pktt on the node's shell: pktt start PORT -d DIRECTORY -i {client}\n"
"and pktt stop PORT.\n";

static const char onefs_text[] =
"OneFS, as root on the node that serves the client (whose address the client has\n"
"mounted). Start it before the client's capture and stop it after. DEV is the\n"
"interface that ifconfig shows with that address.\n"
"\n"
"    isi_netlogger -i DEV -t 10 -k 0 -s 512 -- host {client} and port {port}\n"
"\n"
"  -t 10       minutes; -k 0 keeps all files, which are in /ifs/netlog.\n"
"  -s 512      keeps the headers; the default of 320 hides more of them.\n"
"\n"
"A dynamic pool may move the address to another node: make sure that the client\n"
"still talks to this one.\n";

static const char client_text[] =
"On the client, if it runs Linux, as root:\n"
"    tcpdump -i DEV -s 512 -B 65536 -w client.pcap \\\n"
"        'host {server} and port {port}'\n";

static const char both_text[] =
"On both hosts\n"
"  - the clocks need not agree: how far they are apart is measured. A clock that\n"
"    is set while the captures run only costs the split of request and reply.\n"
"  - let the captures overlap: the calls that count are those in both files.\n"
"  - write to a disk that is not the one under test, and not to NFS.\n"
"\n";

static const char pcap_end[] =
"Then: nfscorr server.pcap client.pcap\n";

static const char snoop_end[] =
"Then: nfscorr server.snoop client.snoop\n";

static void
print_filled(const char *text, const struct capture_targets *targets, FILE *out)
{
	static const char server[] = "{server}", client[] = "{client}", port[] = "{port}";

	while (*text != '\0') {
		size_t plain = strcspn(text, "{");

		fwrite(text, 1, plain, out);
		text += plain;
		if (strncmp(text, server, strlen(server)) == 0) {
			fputs(targets->server != NULL ? targets->server : "SERVER", out);
			text += strlen(server);
		} else if (strncmp(text, client, strlen(client)) == 0) {
			fputs(targets->client != NULL ? targets->client : "CLIENT", out);
			text += strlen(client);
		} else if (strncmp(text, port, strlen(port)) == 0) {
			fprintf(out, "%u", targets->port);
			text += strlen(port);
		}
	}
}

void
how_to_capture(enum capture_system system, const struct capture_targets *targets, FILE *out)
{
	static const char *const texts[CAPTURE_SYSTEMS] = {
		[CAPTURE_LINUX] = linux_text,
		[CAPTURE_SOLARIS] = solaris_text,
		[CAPTURE_ONTAP] = ontap_text,
		[CAPTURE_ONEFS] = onefs_text,
	};

	print_filled(texts[system], targets, out);
	fputc('\n', out);
	if (system == CAPTURE_ONTAP || system == CAPTURE_ONEFS) {
		print_filled(client_text, targets, out);
		fputc('\n', out);
	}
	print_filled(both_text, targets, out);
	fputs(system == CAPTURE_SOLARIS ? snoop_end : pcap_end, out);
}
