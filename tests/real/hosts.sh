# shellcheck shell=sh disable=SC2154 # $tmp comes from lib.sh
#
# Two hosts, which are network namespaces, a real server (nfs-ganesha) on one of
# them, and captures of both. Sourced behind tests/lib.sh, never run. Needs
# root, and packages that only tests/run.sh --all installs.

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

# heard FIFO TEXT [FILE]: reads what a program says until it says that, then lets it talk on; into FILE, all of it.
heard()
{
	exec 3<"$1"
	while read -r line <&3; do
		echo "$line" >>"${3:-/dev/null}"
		case $line in
		*"$2"*)
			cat <&3 >>"${3:-/dev/null}" &
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

# What the kernel keeps is a frame of the snap length for each packet, and a pipe may be slow.
# capture HOST SIDE [FIFO]: into $tmp/SIDE.pcap, and into FIFO too, until client41 has sent a packet to the discard port.
capture()
{
	mkfifo "$tmp/$2.packets" "$tmp/$2.end" "$tmp/$2.says"
	tee -p "$tmp/$2.pcap" ${3:+"$3"} <"$tmp/$2.packets" >"$tmp/$2.end" &
	eval "$2_tee=$!"
	tcpdump -r "$tmp/$2.end" -c 1 'udp port 9' >/dev/null 2>&1 &
	eval "$2_end=$!"
	ip netns exec "$1" timeout 240 tcpdump -i nfs0 -s 66000 -B 262144 --immediate-mode -U --time-stamp-precision=nano -Z root \
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
	rm -f "$tmp"/*.packets "$tmp"/*.end "$tmp"/*.says
}

# client41 OUTPUT ARGUMENT...
client41()
{
	output=$1
	shift
	on "$client_host" timeout 60 tests/real/client41 "$server" "$@" >"$output"
}

# read_file VERSION PATH: into $tmp/readVERSION
read_file()
{
	on "$client_host" timeout 60 nfs-cp "nfs://$server$2/file?version=$1" "$tmp/read$1" &&
	    cmp "$tmp/export/file" "$tmp/read$1"
}
