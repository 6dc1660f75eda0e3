#include "stats/remedies.h"

static const struct remedy better_capture[] = {
	{
		.system = "Linux",
		.setting = "tcpdump on the interface that carries NFS, headers only, a large buffer",
		.command = "tcpdump -i DEV -s 512 -B 65536 -w FILE.pcap 'host PEER and port 2049'",
		.note = "not \"any\", which sees packets twice; its last line must say 0 packets dropped by kernel",
	}, {
		.system = "Solaris, illumos",
		.setting = "snoop, headers only, to a local disk",
		.command = "snoop -q -d DEV -s 512 -o FILE.snoop host PEER and port 2049",
	}, {
		.system = "ONTAP",
		.setting = "network tcpdump on the node and port of the LIF",
		.command = "network tcpdump start -node NODE -port PORT -address CLIENT",
	}, {
		.system = "OneFS",
		.setting = "isi_netlogger on the node that serves the client",
		.command = "isi_netlogger -i DEV -t 10 -k 0 -s 512 -- host CLIENT and port 2049",
		.note = "nfscorr --how-to-capture=SYSTEM prints the commands for both hosts in full",
	},
};
const struct remedies remedies_capture = REMEDIES(better_capture);

static const struct remedy right_order[] = {
	{
		.system = "nfscorr",
		.setting = "the server's capture first, then the clients'",
		.command = "nfscorr SERVER CLIENT",
		.note = "--side says which side a single capture is of",
	},
};
const struct remedies remedies_order = REMEDIES(right_order);

static const struct remedy steady_clock[] = {
	{
		.system = "Linux",
		.setting = "no step of the clock while captures run",
		.command = "chronyc tracking\nchronyc makestep before the captures, not during them",
		.note = "totals, server and network times are durations and stay right; request and reply are not told "
		    "apart around the step",
	},
};
const struct remedies remedies_clock = REMEDIES(steady_clock);

static const struct remedy before_encryption[] = {
	{
		.system = "Linux",
		.setting = "for the measurement, a mount without TLS where the export allows it",
		.command = "mount -o xprtsec=none SERVER:/EXPORT /mnt/test",
		.note = "the kernel encrypts below every capture point: tcpdump shows no call on either host",
	}, {
		.system = "Linux",
		.setting = "a tunnel (stunnel, amazon-efs-utils): capture the loopback in front of it",
		.command = "tcpdump -i lo -s 512 -B 65536 -w FILE.pcap tcp",
	}, {
		.system = "Linux",
		.setting = "the client's own counters",
		.command = "nfsiostat 5\ncat /proc/self/mountstats",
		.note = "queue, round trip and total of each operation, whatever the wire shows",
	},
};
const struct remedies remedies_tls = REMEDIES(before_encryption);
