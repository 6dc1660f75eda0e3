/*
 * What lies below a packet's TCP or UDP, and the format of its file, change
 * nothing in the report. Traces of bare IP are made, written anew, packet by
 * packet, and reported again. The numbers of rows are those of tests/README.
 * TAP on standard output, a line a case.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compare.h"
#include "frames.h"
#include "traces.h"
#include "trace/folder.h"

enum {
	IPV4 = 1, IPV6 = 2, BOTH = IPV4 | IPV6,
	LINK_ETHERNET = 1, LINK_RAW = 101, LINK_SLL = 113, LINK_SLL2 = 276,
};

#define SLL "0000000100060200000000010000 "
#define SLL2 " 0000000000020001000602000000000100 00"

struct wrapping {
	unsigned row;
	const char *name;
	unsigned versions;
	uint32_t link;
	const char *layers;
	frames_change_fn *change;	/* of what IP carries in it; NULL: none */
	frames_file_fn *file;		/* NULL: pcap with nanoseconds */
	bool more_packets;		/* than there were */
};

static const struct wrapping wrappings[] = {
	{ 15, "pcapng, microseconds", BOTH, LINK_ETHERNET, .layers = "macs type", .file = file_pcapng_us },
	{ 15, "pcapng, nanoseconds", BOTH, LINK_ETHERNET, .layers = "macs type", .file = file_pcapng_ns },
	{ 15, "pcapng, picoseconds", BOTH, LINK_ETHERNET, .layers = "macs type", .file = file_pcapng_ps },
	{ 15, "pcapng, stamps with an offset", BOTH, LINK_ETHERNET, .layers = "macs type", .file = file_pcapng_ahead },
	{ 15, "pcapng, several sections", BOTH, LINK_ETHERNET, .layers = "macs type", .file = file_pcapng_sections },
	{ 15, "pcapng, bad blocks", BOTH, LINK_SLL, .layers = SLL "type", .file = file_pcapng_rubbish },
	{ 15, "pcapng, mixed link types", BOTH, 0, .layers = NULL, .file = file_pcapng_ns },
	{ 15, "pcapng, mixed link types and sections", BOTH, 0, .layers = NULL, .file = file_pcapng_sections },
	{ 16, "pcap, microseconds", BOTH, LINK_ETHERNET, .layers = "macs type", .file = file_pcap_us },
	{ 16, "pcap, nanoseconds", BOTH, LINK_ETHERNET, .layers = "macs type", .file = file_pcap_ns },
	{ 16, "pcap, microseconds, other byte order", BOTH, LINK_ETHERNET, .layers = "macs type", .file = file_pcap_us_swapped },
	{ 16, "pcap, nanoseconds, other byte order", BOTH, LINK_ETHERNET, .layers = "macs type", .file = file_pcap_ns_swapped },
	{ 16, "modified pcap", BOTH, LINK_ETHERNET, .layers = "macs type", .file = file_pcap_modified },
	{ 16, "modified pcap, other byte order", BOTH, LINK_SLL, .layers = SLL "type", .file = file_pcap_modified_swapped },
	{ 16, "snoop 1", BOTH, LINK_ETHERNET, .layers = "macs type", .file = file_snoop_1 },
	{ 16, "snoop 2", BOTH, LINK_ETHERNET, .layers = "macs type", .file = file_snoop_2 },
	{ 17, "Ethernet", BOTH, LINK_ETHERNET, .layers = "macs type" },
	{ 17, "Ethernet with its FCS", BOTH, LINK_ETHERNET, .layers = "macs type fcs" },
	{ 17, "LLC and SNAP", BOTH, LINK_ETHERNET, .layers = "macs 0100 aaaa03 000000 type" },
	{ 17, "LLC with the SAP of IP", IPV4, LINK_ETHERNET, .layers = "macs 0100 060603" },
	{ 17, "Linux cooked", BOTH, LINK_SLL, .layers = SLL "type" },
	{ 17, "Linux cooked, 2", BOTH, LINK_SLL2, .layers = "type" SLL2 },
	{ 17, "NULL, little-endian", BOTH, 0, .layers = "afle" },
	{ 17, "NULL, big-endian", BOTH, 0, .layers = "afbe" },
	{ 17, "LOOP", BOTH, 108, .layers = "afbe" },
	{ 17, "raw IPv4", IPV4, 228, .layers = "" },
	{ 17, "raw IPv6", IPV6, 229, .layers = "" },
	{ 17, "PPP", BOTH, 9, .layers = "ppp" },
	{ 17, "PPP, framed", BOTH, 50, .layers = "ff03 ppp" },
	{ 17, "PPPoE alone", BOTH, 51, .layers = "1100 0001 0100 ppp" },
	{ 17, "Cisco HDLC", BOTH, 104, .layers = "0f00 type" },
	{ 18, "802.1Q", BOTH, LINK_ETHERNET, .layers = "macs 8100 0064 type" },
	{ 18, "802.1Q below Linux cooked", BOTH, LINK_SLL, .layers = SLL "8100 0064 type" },
	{ 18, "802.1ad", BOTH, LINK_ETHERNET, .layers = "macs 88a8 00c8 8100 0064 type fcs" },
	{ 18, "0x9100", BOTH, LINK_ETHERNET, .layers = "macs 9100 00c8 8100 0064 type" },
	{ 18, "three tags", BOTH, LINK_ETHERNET, .layers = "macs 88a8 00c8 88a8 00c9 8100 0064 type" },
	{ 18, "SNAP in a VLAN", BOTH, LINK_ETHERNET, .layers = "macs 8100 0064 0100 aaaa03 000000 type" },
	{ 18, "MPLS", BOTH, LINK_ETHERNET, .layers = "macs 8847 00010140" },
	{ 18, "two labels", BOTH, LINK_ETHERNET, .layers = "macs 8100 0064 8847 00020040 00010140" },
	{ 18, "PPPoE", BOTH, LINK_ETHERNET, .layers = "macs 8864 1100 0001 0100 ppp" },
	{ 18, "VXLAN", BOTH, LINK_ETHERNET, .layers = "macs 0800 ip4=17 udp=4789 08000000 00001200 macs type" },
	{ 18, "VXLAN in IPv6, VLANs in and out", BOTH, LINK_ETHERNET,
	  .layers = "macs 8100 0064 86dd ip6=17 udp=4789 08000000 00001200 macs 8100 0007 type" },
	{ 18, "Geneve", BOTH, LINK_ETHERNET, .layers = "macs 0800 ip4=17 udp=6081 0000 6558 00001200 macs type" },
	{ 18, "Geneve with options, IP in it", BOTH, LINK_ETHERNET,
	  .layers = "macs 0800 ip4=17 udp=6081 0200 type 00001200 0102030400000000" },
	{ 18, "GRE", BOTH, LINK_ETHERNET, .layers = "macs 0800 ip4=47 0000 type" },
	{ 18, "GRE with key and sequence", BOTH, LINK_SLL, .layers = SLL "0800 ip4=47 3000 type 00000005 00000006" },
	{ 18, "GRE with Ethernet", BOTH, LINK_ETHERNET, .layers = "macs 86dd ip6=47 0000 6558 macs type" },
	{ 18, "IP in IPv4", BOTH, LINK_ETHERNET, .layers = "macs 0800 ip4=ipip" },
	{ 18, "IP in IPv6", BOTH, LINK_RAW, .layers = "ip6=ipip" },
	{ 19, "IP length 0", BOTH, LINK_ETHERNET, .layers = "macs type", .change = frames_no_length },
	{ 19, "IP length 0 in a VLAN", BOTH, LINK_ETHERNET, .layers = "macs 8100 0064 type", .change = frames_no_length },
	{ 19, "jumbo payload option", IPV6, LINK_ETHERNET, .layers = "macs type", .change = frames_jumbo },
	{ 20, "IP options, extension headers", BOTH, LINK_ETHERNET, .layers = "macs type", .change = frames_options },
	{ 20, "extension headers in a tunnel", BOTH, LINK_ETHERNET, .layers = "macs 0800 ip4=ipip", .change = frames_options },
	{ 20, "fragments", BOTH, LINK_ETHERNET, .layers = "macs type", .change = frames_fragments, .more_packets = true },
	{ 20, "fragments in a VLAN, with FCS", BOTH, LINK_ETHERNET, .layers = "macs 8100 0064 type fcs",
	  .change = frames_fragments, .more_packets = true },
	{ 20, "fragments in VXLAN", BOTH, LINK_ETHERNET, .layers = "macs 0800 ip4=17 udp=4789 08000000 00001200 macs type",
	  .change = frames_fragments, .more_packets = true },
	{ 22, "each packet twice", BOTH, LINK_ETHERNET, .layers = "macs type", .change = frames_twice, .more_packets = true },
	{ 22, "each packet twice, cooked", BOTH, LINK_SLL2, .layers = "type" SLL2, .change = frames_twice, .more_packets = true },
	{ 22, "each packet twice, in a tunnel", BOTH, LINK_ETHERNET, .layers = "macs 0800 ip4=47 0000 type",
	  .change = frames_twice, .more_packets = true },
};

/* Link types in turn. */
static const struct {
	uint32_t link;
	const char *layers;
} mixed[] = {
	{ LINK_ETHERNET, "macs type" }, { LINK_SLL2, "type" SLL2 }, { LINK_RAW, "" }, { 0, "afle" },
	{ LINK_ETHERNET, "macs 8100 0064 type" },
};

/* Stamps of microseconds, which every format can hold. */
static const struct {
	const char *name;
	unsigned version;
	const char *options;
} bases[] = {
	{ "IPv4", 4, "calls=150 read=4096 write=4096 mix=all magic=us link=raw loss=0.01 nconnect=2 delay=200us "
	  "server-offset=3ms client-drift=20k timeo=20ms reconnect=40" },
	{ "IPv6", 6, "calls=150 read=4096 write=4096 mix=all magic=us link=raw ip=6 nconnect=2 delay=200us jitter=50us "
	  "nfs=4.1 server-offset=-3s" },
	{ "UDP in IPv4", 4, "udp mtu=9000 timeo=30ms calls=150 read=4096 write=4096 mix=all magic=us link=raw loss=0.02 "
	  "nconnect=2 delay=200us reorder=0.05 server-offset=3ms" },
	{ "UDP in IPv6", 6, "udp mtu=9000 timeo=30ms calls=150 read=4096 write=4096 magic=us link=raw ip=6 loss=0.02 "
	  "delay=200us" },
	{ "IPv4, 256 bytes of each packet", 4, "calls=150 read=4096 write=4096 magic=us link=raw snaplen=256 gso=16k "
	  "gro=16k delay=200us" },
};

static struct trace *
make_trace(const char *tmp, unsigned base)
{
	g_autoptr(GPtrArray) options = g_ptr_array_new_with_free_func(g_free);
	g_auto(GStrv) words = g_strsplit(bases[base].options, " ", -1);

	for (unsigned i = 0; words[i] != NULL; i++)
		g_ptr_array_add(options, g_strdup(words[i]));
	return trace_new(tmp, 7 + base, options);
}

static void
wrap_file(const struct wrapping *wrapping, const char *from, const char *to)
{
	g_autoptr(GArray) old = frames_read(from);
	GArray *frames = g_array_new(FALSE, FALSE, sizeof(struct frame));
	g_autoptr(GByteArray) file = NULL;
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < old->len; i++) {
		const struct frame *frame = &g_array_index(old, struct frame, i);
		guint first = frames->len;

		(wrapping->change != NULL ? wrapping->change : frames_same)(frames, frame);
		for (guint j = first; j < frames->len; j++) {
			struct frame *made = &g_array_index(frames, struct frame, j);

			if (wrapping->layers != NULL)
				frames_put_below(made, wrapping->link, wrapping->layers);
			else
				frames_put_below(made, mixed[i % G_N_ELEMENTS(mixed)].link,
					mixed[i % G_N_ELEMENTS(mixed)].layers);
		}
	}
	file = (wrapping->file != NULL ? wrapping->file : file_pcap_ns)(frames);
	if (!g_file_set_contents(to, (const gchar *)file->data, file->len, &error))
		g_error("%s", error->message);
	for (guint i = 0; i < frames->len; i++)
		g_byte_array_unref(g_array_index(frames, struct frame, i).bytes);
	g_array_unref(frames);
}

static const char *const frame_columns[] = {
	"client_call_frame", "client_reply_frame", "server_call_frame", "server_reply_frame", NULL
};

/* What is told of files; and of packets, where there are others. */
static const char *const file_keys[] = {
	"files", "format", "link_types", "bad_blocks", "comments", "duplicates", "frames",
	NULL
};
static const char *const packet_keys[] = {
	"files", "format", "link_types", "bad_blocks", "comments", "frames", "packets", "truncated_packets",
	"duplicate_packets", "duplicates", "fragment_packets", "tcp.segments", "udp.joined", "quality", "findings", NULL
};

static bool
changes_nothing(const struct wrapping *wrapping, struct trace *trace, GString *why)
{
	static const char *const unordered[] = { "slowest", NULL };
	const struct leeway leeway = { .keys = wrapping->more_packets ? packet_keys : file_keys,
		.columns = frame_columns, .unordered = unordered };
	g_autofree char *folder = g_strconcat(trace->folder, "-wrapped", NULL);
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
	const struct outcome *base = base_of(trace);
	struct outcome *other;
	bool same;

	g_mkdir_with_parents(folder, 0700);
	for (unsigned i = 0; trace->paths->pdata[i] != NULL; i++) {
		g_autofree char *name = g_path_get_basename(trace->paths->pdata[i]);

		g_ptr_array_add(paths, g_build_filename(folder, name, NULL));
		wrap_file(wrapping, trace->paths->pdata[i], paths->pdata[i]);
	}
	g_ptr_array_add(paths, NULL);
	other = run_program(folder, (const char *const *)paths->pdata, NULL);
	if (base->status != other->status)
		g_string_append_printf(why, "status %d against %d", base->status, other->status);
	same = base->status == other->status && same_records(base->ops, other->ops, &leeway, why)
		&& same_report(base, other, &leeway, why);
	if (same && integer_at(other->report, "matched.calls") <= 0) {
		g_string_append(why, "no call was matched");
		same = false;
	}
	outcome_free(other);
	return same;
}

int
main(void)
{
	g_autofree char *tmp = g_dir_make_tmp("nfscorr-wrappings.XXXXXX", NULL);
	FILE *out = fdopen(dup(STDOUT_FILENO), "w");
	unsigned cases = 0, failed = 0;

	/* The text report goes nowhere, the results of the test go out. */
	g_assert(tmp != NULL && out != NULL && freopen("/dev/null", "w", stdout) != NULL);
	for (unsigned base = 0; base < G_N_ELEMENTS(bases); base++) {
		struct trace *trace = make_trace(tmp, base);

		for (unsigned i = 0; i < G_N_ELEMENTS(wrappings); i++) {
			const struct wrapping *wrapping = &wrappings[i];
			g_autoptr(GString) why = g_string_new(NULL);
			bool good;

			if (!(wrapping->versions & (bases[base].version == 4 ? IPV4 : IPV6)))
				continue;
			good = changes_nothing(wrapping, trace, why);
			failed += !good;
			fprintf(out, "%sok %u - row %u: %s (%s)\n", good ? "" : "not ", ++cases, wrapping->row,
				wrapping->name, bases[base].name);
			if (!good) {
				g_auto(GStrv) lines = g_strsplit(why->str, "\n", -1);

				for (unsigned line = 0; lines[line] != NULL; line++)
					fprintf(out, "# %s\n", lines[line]);
			}
			fflush(out);
		}
		trace_free(trace);
	}
	fprintf(out, "1..%u\n", cases);
	fclose(out);
	folder_remove(tmp);
	return failed > 0;
}
