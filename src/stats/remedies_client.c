#include "stats/remedies.h"

static const struct remedy client_slots[] = {
	{
		.system = "Linux client",
		.setting = "sunrpc.tcp_slot_table_entries and sunrpc.tcp_max_slot_table_entries, before the mount",
		.command = "sysctl -w sunrpc.tcp_max_slot_table_entries=128\n"
		    "sysctl -w sunrpc.tcp_slot_table_entries=128",
		.note = "to keep it: options sunrpc tcp_slot_table_entries=128 tcp_max_slot_table_entries=128 in "
		    "/etc/modprobe.d/sunrpc.conf; whether calls wait for a slot: mountstats --rpc MOUNT, queue time",
	}, {
		.system = "Linux client",
		.setting = "more connections, each with a table of its own (since Linux 5.3)",
		.command = "mount -o nconnect=8 ...",
	}, {
		.system = "Solaris, illumos client",
		.setting = "nfs:nfs3_max_threads (NFSv4: nfs:nfs4_max_threads) in /etc/system",
		.command = "echo 'set nfs:nfs3_max_threads=64' >> /etc/system",
		.note = "takes effect at the next boot",
	}, {
		.system = "Oracle dNFS",
		.setting = "more channels: further path: lines in oranfstab",
		.command = "select svrname, path from v$dnfs_channels",
	}, {
		.system = "ONTAP",
		.setting = "the server takes at most 128 requests of one connection: do not go beyond",
		.command = "event log show -message-name nblade.execsOverLimit",
	},
};
const struct remedies remedies_client_slots = REMEDIES(client_slots);

static const struct remedy session_slots[] = {
	{
		.system = "Linux client",
		.setting = "nfs.max_session_slots (default 64), before the mount",
		.command = "echo 'options nfs max_session_slots=180' >> /etc/modprobe.d/nfs.conf",
		.note = "the server may grant fewer than were asked for: slots_granted says what it did",
	}, {
		.system = "Linux client",
		.setting = "more connections, where the connection and not the slots is the limit",
		.command = "mount -o nconnect=8 ...",
		.note = "they share the slots of one session",
	}, {
		.system = "Linux nfsd",
		.setting = "it grants slots as its memory for replies allows, shared by all clients",
		.command = "cat /proc/fs/nfsd/clients/*/info",
	}, {
		.system = "ONTAP",
		.setting = "-v4.x-session-num-slots of the NFS server (default 180, advanced privilege)",
		.command = "vserver nfs modify -vserver VSERVER -v4.x-session-num-slots 256",
	}, {
		.system = "Ganesha",
		.setting = "slot_table_size (default 64) in the NFSv4 block of ganesha.conf",
		.command = "systemctl restart nfs-ganesha",
	},
};
const struct remedies remedies_session_slots = REMEDIES(session_slots);

static const struct remedy too_many_slots[] = {
	{
		.system = "Linux client",
		.setting = "sunrpc.tcp_max_slot_table_entries (default 65536), before the mount",
		.command = "sysctl -w sunrpc.tcp_max_slot_table_entries=128",
		.note = "to keep it: options sunrpc tcp_max_slot_table_entries=128 in /etc/modprobe.d/sunrpc.conf",
	}, {
		.system = "ONTAP",
		.setting = "at most 128 requests of one connection are worked on; what is beyond stops the connection",
		.command = "event log show -message-name nblade.execsOverLimit",
	},
};
const struct remedies remedies_too_many_slots = REMEDIES(too_many_slots);

static const struct remedy idle_wire[] = {
	{
		.system = "Oracle",
		.setting = "what the database waits for: AWR or ASH, wait classes other than user I/O",
		.command = "select wait_class, time_waited from v$system_wait_class",
	}, {
		.system = "Linux client",
		.setting = "where the time of the application goes; whether calls wait before they leave",
		.command = "nfsiostat 1\nstrace -c -f -p PID\npidstat -t -p PID 1",
		.note = "avg queue in nfsiostat is the wait in front of the wire, which no capture shows",
	}, {
		.system = "Solaris, illumos client",
		.setting = "where the time of the application goes",
		.command = "prstat -mLp PID 1\ntruss -c -p PID\niostat -xnz 1",
		.note = "wsvc_t in iostat of a mount is the wait in front of the wire",
	},
};
const struct remedies remedies_idle_wire = REMEDIES(idle_wire);

static const struct remedy serial_client[] = {
	{
		.system = "Linux client",
		.setting = "readahead of the mount: read_ahead_kb (default 128 since Linux 5.4), nfsrahead",
		.command = "echo 15360 > /sys/class/bdi/$(mountpoint -d MOUNT)/read_ahead_kb",
		.note = "to keep it: default=15360 in [nfsrahead] of /etc/nfs.conf; direct I/O has no readahead: there the "
		    "application has to ask for more at once",
	}, {
		.system = "Solaris, illumos client",
		.setting = "nfs:nfs3_nra, nfs:nfs4_nra in /etc/system: blocks read ahead (default 4)",
		.command = "echo 'set nfs:nfs3_nra=16' >> /etc/system",
		.note = "takes effect at the next boot",
	}, {
		.system = "Oracle",
		.setting = "filesystemio_options=setall, db_file_multiblock_read_count; dNFS reads in parallel",
		.command = "show parameter filesystemio_options\nselect * from v$dnfs_servers",
	}, {
		.system = "Any client",
		.setting = "rsize: fewer and larger READs",
		.command = "mount -o rsize=1048576 ...",
	},
};
const struct remedies remedies_serial_client = REMEDIES(serial_client);
