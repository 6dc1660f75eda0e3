#include "stats/remedies.h"

static const struct remedy path_delay[] = {
	{
		.system = "Any",
		.setting = "the route between the hosts, and where they stand",
		.command = "ping -c 20 SERVER\ntracepath SERVER",
		.note = "no setting shortens a way; what hides it is work in parallel: readahead, larger rsize and wsize, "
		    "more calls in flight",
	}, {
		.system = "Linux client",
		.setting = "readahead and transfer size",
		.command = "mount -o rsize=1048576,wsize=1048576,nconnect=8 ...\n"
		    "echo 15360 > /sys/class/bdi/$(mountpoint -d MOUNT)/read_ahead_kb",
	}, {
		.system = "Solaris, illumos client",
		.setting = "nfs:nfs3_nra, nfs:nfs4_nra in /etc/system: blocks read ahead",
		.command = "ping -s SERVER\ntraceroute SERVER",
	}, {
		.system = "ONTAP",
		.setting = "a LIF whose home node and port are near the client",
		.command = "network interface show -fields home-node,curr-node,is-home\nnetwork traceroute -lif LIF ...",
	}, {
		.system = "OneFS",
		.setting = "a node of the pool in the client's subnet",
		.command = "isi network pools list\ntraceroute CLIENT",
	}, {
		.system = "Oracle dNFS",
		.setting = "local: and path: in oranfstab, so that the near interface is used",
		.command = "select svrname, path, local from v$dnfs_channels",
	},
};
const struct remedies remedies_path_delay = REMEDIES(path_delay);

static const struct remedy bandwidth[] = {
	{
		.system = "Network",
		.setting = "speed of every port on the way, bonding, QoS shapers and policers",
		.note = "an interface that negotiated a lower speed is the commonest cause",
	}, {
		.system = "Linux",
		.setting = "speed of the interface, of the bond, and qdiscs that limit it",
		.command = "ethtool DEV | grep Speed\ncat /proc/net/bonding/*\ntc -s qdisc show dev DEV",
		.note = "one connection uses one link of a bond: nconnect= spreads over several when the hash includes ports",
	}, {
		.system = "Solaris, illumos",
		.setting = "speed, aggregation, and the maxbw property of the link",
		.command = "dladm show-phys\ndladm show-aggr\ndladm show-linkprop -p maxbw",
	}, {
		.system = "ONTAP",
		.setting = "speed of the port, interface group, QoS policy group of the volume",
		.command = "network port show -fields speed-oper\nnetwork port ifgrp show\nqos policy-group show\n"
		    "qos statistics volume performance show",
	}, {
		.system = "OneFS",
		.setting = "speed and aggregation of the node's interfaces",
		.command = "isi network interfaces list\nisi statistics system --nodes=all",
	}, {
		.system = "Oracle dNFS",
		.setting = "more than one path: in oranfstab, on different links",
		.command = "select svrname, path, local from v$dnfs_channels",
	},
};
const struct remedies remedies_bandwidth = REMEDIES(bandwidth);

static const struct remedy clean_path[] = {
	{
		.system = "Network",
		.setting = "errors and discards of every port on the path; cabling and optics; duplex and MTU",
		.note = "CRC errors speak for a cable or an optic, output discards for congestion: a slower link behind a "
		    "faster one, or several senders to one port",
	}, {
		.system = "Linux",
		.setting = "drops of the card and of its rings",
		.command = "ip -s -s link show dev DEV\nethtool -S DEV\nethtool -g DEV\nnstat -az TcpRetransSegs",
		.note = "drops of the receiving ring: ethtool -G DEV rx N",
	}, {
		.system = "Solaris, illumos",
		.setting = "errors of the link, segments sent again",
		.command = "dladm show-link -s -i 5 LINK\nnetstat -s -P tcp 5",
	}, {
		.system = "ONTAP",
		.setting = "errors and discards of the port",
		.command = "network device-discovery show\nnode run -node NODE ifstat PORT",
	}, {
		.system = "OneFS",
		.setting = "errors of the interface",
		.command = "isi_for_array 'netstat -i'\nnetstat -s -p tcp",
	},
};
const struct remedies remedies_loss = REMEDIES(clean_path);
