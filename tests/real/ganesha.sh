#!/bin/sh
# A real server (nfs-ganesha) and real clients, on two hosts that are network
# namespaces, captured on both: NFSv3 and NFSv4.0 by libnfs, NFSv4.1 by
# client41. Counts and times are held against what tshark makes of the same
# files. Needs root, and packages that only tests/run.sh --all installs.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"
# shellcheck source=tests/tshark.sh
. "$srcdir/tests/tshark.sh"

server_host=nfscorr-server-$$
client_host=nfscorr-client-$$
server=192.0.2.1
pids=

# on HOST COMMAND...; not for the background, where a signal must reach the command itself
on()
{
	host=$1
	shift
	ip netns exec "$host" "$@"
}

clean()
{
	for host in "$server_host" "$client_host"; do
		for pid in $(ip netns pids "$host" 2>/dev/null); do
			kill "$pid" 2>/dev/null || :
		done
		ip netns del "$host" 2>/dev/null || :
	done
	for pid in $pids; do
		wait "$pid" 2>/dev/null || :
	done
	rm -rf "$tmp"
}
trap clean EXIT

# heard FIFO TEXT: reads what a program says until it says that, then lets it talk on.
heard()
{
	exec 3<"$1"
	while read -r line <&3; do
		case $line in
		*"$2"*)
			cat <&3 >/dev/null &
			pids="$pids $!"
			exec 3<&-
			return
			;;
		esac
	done
	echo "never said: $2" >&2
	return 1
}

make_hosts()
{
	ip netns add "$server_host"
	ip netns add "$client_host"
	ip link add nfs0 netns "$server_host" type veth peer name nfs0 netns "$client_host"
	ip -n "$server_host" addr add "$server/24" dev nfs0
	ip -n "$client_host" addr add 192.0.2.2/24 dev nfs0
	for host in "$server_host" "$client_host"; do
		ip -n "$host" link set lo up
		ip -n "$host" link set nfs0 up
	done
}

# rpcbind and ganesha share a /run of their own: the machine may have its own rpcbind.
start_server()
{
	mkdir "$tmp/export" "$tmp/recovery"
	mkfifo "$tmp/says"
	head -c 4000000 /dev/urandom >"$tmp/export/file"
	cat >"$tmp/ganesha.conf" <<-EOF2
	NFS_CORE_PARAM { Protocols = 3, 4; Enable_NLM = false; Enable_RQUOTA = false; }
	NFSV4 { Grace_Period = 0; Graceless = true; Lease_Lifetime = 60; Minor_Versions = 0, 1, 2;
	        RecoveryBackend = fs; RecoveryRoot = "$tmp/recovery"; }
	EXPORT { Export_Id = 1; Path = "$tmp/export"; Pseudo = "/data"; Access_Type = RW; Squash = None;
	         SecType = sys; Protocols = 3, 4; Transports = TCP; FSAL { Name = VFS; } }
	LOG { Default_Log_Level = EVENT; }
	EOF2
	# shellcheck disable=SC2016 # for the shell on the other host
	ip netns exec "$server_host" sh -c 'mount -t tmpfs none /run && mkdir -p /run/ganesha && rpcbind &&
	    exec timeout 240 ganesha.nfsd -F -f "$1/ganesha.conf" -L STDOUT -p "$1/ganesha.pid"' sh "$tmp" \
	    >"$tmp/says" 2>&1 &
	pids="$pids $!"
	heard "$tmp/says" 'NFS SERVER INITIALIZED'
}

# capture HOST SIDE: into $tmp/SIDE.pcap, until client41 has sent a packet to the discard port.
capture()
{
	mkfifo "$tmp/$2.packets" "$tmp/$2.end" "$tmp/$2.says"
	tee -p "$tmp/$2.pcap" <"$tmp/$2.packets" >"$tmp/$2.end" &
	eval "$2_tee=$!"
	tcpdump -r "$tmp/$2.end" -c 1 'udp port 9' >/dev/null 2>&1 &
	eval "$2_end=$!"
	ip netns exec "$1" timeout 240 tcpdump -i nfs0 -s 0 -B 32768 --immediate-mode -U --time-stamp-precision=nano -Z root \
	    -w "$tmp/$2.packets" 'tcp port 2049 or udp port 9' 2>"$tmp/$2.says" &
	eval "$2_tcpdump=$!"
	heard "$tmp/$2.says" 'listening on'
}

# end_capture END TCPDUMP TEE, their processes
end_capture()
{
	wait "$1" || :
	kill "$2"
	wait "$2" "$3" || :
}

# tshark_sums FILE VERSION: replies and their rpc.time in ns, of those whose call is there.
tshark_sums()
{
	tshark_times "$1" | awk -v version="$2" '$1 == 100003 && $2 == version { n++; ns += $4 } END { printf "%d %.0f\n", n, ns }'
}

# our_sums SIDE VERSION, of all minor versions
our_sums()
{
	jq -r --arg version "$2" '[.sides.'"$1"'[] | select(.version | startswith($version))] |
	    "\(map(.rpc_time_ns.count) | add) \(map(.rpc_time_ns.sum) | add)"' "$tmp/report.json"
}

# same_as_tshark SIDE VERSION
same_as_tshark()
{
	ours=$(our_sums "$1" "$2")
	theirs=$(tshark_sums "$tmp/$1.pcap" "$2")
	[ "$ours" = "$theirs" ] || { echo "ours: $ours; tshark's: $theirs"; return 1; }
}

# in_report EXPRESSION: jq says true of the report.
in_report()
{
	jq -e "$1" "$tmp/report.json"
}

# counted OPERATION: as many as client41 says it sent.
counted()
{
	[ "$(jq "[.sides.client[] | select(.version == \"4.1\" and .proc == \"$1\") | .count] | add" "$tmp/report.json")" = \
	    "$(awk -v name="$1" '$1 == name { print $2 }' "$tmp/sent")" ]
}

# copy VERSION PATH: reads the file and writes it back under another name.
copy()
{
	on "$client_host" timeout 60 nfs-cp "nfs://$server$2/file?version=$1" "$tmp/read$1" &&
	    cmp "$tmp/export/file" "$tmp/read$1" &&
	    on "$client_host" timeout 60 nfs-ls "nfs://$server$2?version=$1"
}

# client41 OUTPUT ARGUMENT...
client41()
{
	output=$1
	shift
	on "$client_host" timeout 60 tests/real/client41 "$server" "$@" >"$output"
}

make_hosts
start_server
capture "$server_host" server
capture "$client_host" client
check "NFSv3: a file is read" copy 3 "$tmp/export"
check "NFSv3: a file is written" on "$client_host" timeout 60 nfs-cp "$tmp/read3" \
    "nfs://$server$tmp/export/written?version=3"
check "NFSv4.0: a file is read" copy 4 /data
check "NFSv4.1: a session" client41 "$tmp/sent" data file 200
client41 /dev/null
# shellcheck disable=SC2154 # capture sets them
{
	end_capture "$server_end" "$server_tcpdump" "$server_tee"
	end_capture "$client_end" "$client_tcpdump" "$client_tee"
}

check "a report" "$NFSCORR" --json="$tmp/report.json" "$tmp/server.pcap" "$tmp/client.pcap"
check "no packet is missed" in_report '[.captures[] | .lost_segments, .rpc.orphan_replies, .rpc.malformed] | add == 0'
check "all calls are matched" in_report '.matched | .calls > 400 and .partial + .server_only + .client_only + .ambiguous == 0'
check "no part is negative" in_report '.matched.negative == 0'
check "the two captures agree on the hosts' clock" in_report \
    '.clock[0] | .status == "aligned" and (.offset_ns | fabs) <= .error_ns'
only_rpc
for side in server client; do
	for version in 3 4; do
		check "NFSv$version, $side: as tshark has it" same_as_tshark "$side" "$version"
	done
done
check "NFSv4.0: the copy's READs" in_report \
    '[.sides.client[] | select(.version == "4.0" and .proc == "READ") | .bytes] == [4000000]'
check "NFSv4.1: READs are counted" counted READ
check "NFSv4.1: GETATTRs are counted" counted GETATTR
finish
