#include "stats/remedies.h"

static const struct remedy threads[] = {
	{
		.system = "Linux nfsd",
		.setting = "threads= in [nfsd] of /etc/nfs.conf",
		.command = "nfsconf --set nfsd threads N\necho N > /proc/fs/nfsd/threads",
		.note = "N: at least twice the number found; /proc/fs/nfsd/pool_stats confirms: sockets-enqueued "
		    "(work that found no free thread) keeps pace with "
		    "packets-arrived",
	}, {
		.system = "Solaris, illumos",
		.setting = "the servers property of nfs (NFSD_SERVERS)",
		.command = "sharectl set -p servers=N nfs\nsvcadm restart svc:/network/nfs/server",
		.note = "N: at least twice the number found; 512 and more are common",
	}, {
		.system = "Ganesha",
		.setting = "Nb_Worker (older versions) or RPC_Ioq_ThrdMax (default 200) in NFS_CORE_PARAM of ganesha.conf",
		.command = "systemctl restart nfs-ganesha",
	}, {
		.system = "ONTAP",
		.setting = "no number of threads to set: the limit is 128 requests a connection, and QoS",
		.command = "event log show -message-name nblade.execsOverLimit\nqos policy-group show",
		.note = "more connections (nconnect=, more LIFs) raise the first one",
	}, {
		.system = "OneFS",
		.setting = "no number of threads to set that the vendor supports: spread the clients over more nodes",
		.command = "isi statistics client --protocols=nfs3,nfs4\nisi network pools list",
	},
};
const struct remedies remedies_threads = REMEDIES(threads);

static const struct remedy slow_service[] = {
	{
		.system = "Linux nfsd",
		.setting = "collect while it is slow: disks, file system, and threads at work",
		.command = "iostat -x 1\nvmstat 1\ncat /proc/fs/nfsd/pool_stats\n"
		    "bpftrace -e 'kprobe:nfsd_dispatch { @s[tid] = nsecs }\n"
		    "    kretprobe:nfsd_dispatch /@s[tid]/ {\n"
		    "    @us = hist((nsecs - @s[tid]) / 1000); delete(@s[tid]) }'",
		.note = "a time in nfsd_dispatch as long as that on the wire means storage; much less means that calls wait "
		    "for a thread",
	}, {
		.system = "Solaris, illumos",
		.setting = "collect while it is slow: disks, and NFS calls from start to done by XID",
		.command = "iostat -xnz 1\n"
		    "dtrace -n 'nfsv3:::op-*-start { s[args[1]->noi_xid] = timestamp }\n"
		    "    nfsv3:::op-*-done /s[args[1]->noi_xid]/ {\n"
		    "    @[probename] = quantize(timestamp - s[args[1]->noi_xid]);\n"
		    "    s[args[1]->noi_xid] = 0 }'",
	}, {
		.system = "ONTAP",
		.setting = "where the latency is: network, cluster, data, disk, QoS",
		.command = "qos statistics volume latency show\nstatistics show -object nfsv3 -counter *latency*",
	}, {
		.system = "OneFS",
		.setting = "time per operation and per disk",
		.command = "isi statistics protocol --protocols=nfs3,nfs4 --sort=TimeAvg\nisi statistics drive --sort=Busy",
	}, {
		.system = "Ganesha",
		.setting = "time per operation; the file system behind it",
		.command = "ganesha_stats fullv3\niostat -x 1",
	},
};
const struct remedies remedies_slow_service = REMEDIES(slow_service);

static const struct remedy jukebox[] = {
	{
		.system = "any server with hierarchical storage",
		.setting = "recalls from tape or a cloud tier: the queue of recalls, and what is migrated",
		.note = "files that are in use should not be migrated; recall them before the application needs them",
	}, {
		.system = "Linux nfsd",
		.setting = "delegations and leases that have to be recalled first; memory for replies",
		.command = "echo 0 > /proc/sys/fs/leases-enable",
		.note = "takes effect for delegations given from then on; only where a recall, CB_RECALL in a capture, goes "
		    "with the delays",
	}, {
		.system = "Linux client",
		.setting = "none: a call that was put off is made again after 5 s (NFSv3), or after 0.1 s and up to 15 s (NFSv4)",
	}, {
		.system = "ONTAP",
		.setting = "delegations per export, and FabricPool tiering",
		.command = "vserver nfs show -fields v4.0-read-delegation,v4.0-write-delegation",
	}, {
		.system = "Solaris, illumos",
		.setting = "delegations of the NFSv4 server",
		.command = "sharectl get -p server_delegation nfs",
	},
};
const struct remedies remedies_jukebox = REMEDIES(jukebox);
