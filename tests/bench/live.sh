#!/bin/sh
# live.sh NFSCORR NFSLOAD: what a live run costs the client that it runs on.
# Two hosts, which are network namespaces; a load of 8 KiB READs, 20,000 a
# second; nfscorr -i on the client for as long, and in turn tcpdump -w /dev/null
# with the same ring and snap length. Figures, no verdict: medians of RUNS (3)
# runs of LOAD_S (30) seconds, of drops the most and of calls the fewest. Needs root, iproute2, tcpdump, jq and GNU time.
set -eu
nfscorr=$1
nfsload=$2
runs=${RUNS:-3}
seconds=${LOAD_S:-30}
rate=${RATE:-20000}
server=nfscorr-bench-server-$$
client=nfscorr-bench-client-$$
dir=$(mktemp -d "${TMPDIR:-/tmp}/nfscorr-bench.XXXXXX")

clean()
{
	for host in "$server" "$client"; do
		for pid in $(ip netns pids "$host" 2>/dev/null); do
			kill "$pid" 2>/dev/null || :
		done
		ip netns del "$host" 2>/dev/null || :
	done
	rm -rf "$dir"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM

ip netns add "$server"
ip netns add "$client"
ip link add nfs0 netns "$server" type veth peer name nfs0 netns "$client"
ip -n "$server" addr add 192.0.2.1/24 dev nfs0
ip -n "$client" addr add 192.0.2.2/24 dev nfs0
for host in "$server" "$client"; do
	ip -n "$host" link set lo up
	ip -n "$host" link set nfs0 up
done
mkfifo "$dir/ready"
ip netns exec "$server" "$nfsload" serve 192.0.2.1 2049 >"$dir/ready" &
read -r _ <"$dir/ready"

# captures COMMAND...: in the background, until it listens; sets $timer and $capture, its processes.
captures()
{
	ip netns exec "$client" /usr/bin/time -f '%U %S %M' -o "$dir/time" "$@" >"$dir/out" 2>"$dir/err" &
	timer=$!
	until [ "$(ip netns exec "$client" cat /proc/net/packet | wc -l)" -gt 1 ]; do
		sleep 0.1
	done
	capture=$(ps -o pid= --ppid "$timer" | head -1 | tr -d ' ')
}

# loaded: the load, then the capture's end. Sets $figures: processor time in all, of it the system's, in
# % of a core; memory after ten seconds and at most, in MiB; how long it took, in ms.
loaded()
{
	(sleep 10; awk '/VmHWM/ { print $2 }' "/proc/$capture/status" >"$dir/early") &
	waits=$!
	ip netns exec "$client" "$nfsload" call 192.0.2.1 2049 "rate=$rate" "calls=$((rate * seconds))" \
	    connections=4 outstanding=16 >"$dir/load"
	wait "$waits"
	kill -INT "$capture"
	wait "$timer" || :
	early=$(cat "$dir/early")
	figures=$(awk -v early="$early" 'NR == FNR { if ($1 == "milliseconds") ms = $2; next }
	    { printf "%.2f %.2f %.1f %.1f %.0f", 100 * ($1 + $2) * 1000 / ms, 100 * $2 * 1000 / ms, early / 1024, $3 / 1024, ms }' \
	    "$dir/load" "$dir/time")
}

ours()
{
	captures "$nfscorr" -i nfs0 --json
	loaded
	echo "$figures $(tail -1 "$dir/out" | jq -r '.captures[0] | "\(.packets) \(.dropped_by_kernel) \(.rpc.answered)"')"
}

theirs()
{
	captures tcpdump -i nfs0 -s 512 -B 32768 -Z root -w /dev/null port 2049
	loaded
	echo "$figures $(awk '/captured/ { all = $1 } /dropped by kernel/ { lost = $1 } END { print all, lost, "-" }' "$dir/err")"
}

# median FILE COLUMN
median()
{
	awk -v column="$2" '{ print $column }' "$1" | sort -n |
	    awk '{ v[NR] = $1 } END { print (NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2) }'
}

# row LINK WHO
row()
{
	printf '%-9s %-8s' "$1" "$2"
	for column in 1 2 3 4 6; do
		printf ' %8s' "$(median "$dir/$2" "$column")"
	done
	printf ' %8s %8s\n' "$(awk '{ print $7 }' "$dir/$2" | sort -n | tail -1)" \
	    "$(awk '{ print $8 }' "$dir/$2" | sort -n | head -1)"
}

echo "load average: $(cut -d' ' -f1-3 /proc/loadavg)"
echo "$rate READs of 8 KiB a second, $seconds s, $runs runs; processor time in % of one core, memory in MiB"
printf '%-9s %-8s %8s %8s %8s %8s %8s %8s %8s\n' link '' time system at10s end packets drops calls
for link in offload segments; do
	if [ "$link" = segments ]; then
		for host in "$server" "$client"; do
			ip -n "$host" link set nfs0 gso_max_segs 1
		done
	fi
	rm -f "$dir/nfscorr" "$dir/tcpdump"
	i=0
	while [ "$i" -lt "$runs" ]; do
		ours >>"$dir/nfscorr"
		theirs >>"$dir/tcpdump"
		i=$((i + 1))
	done
	row "$link" nfscorr
	row "$link" tcpdump
done
