#!/bin/sh
# Saved packets (-w, -C, -G, -W) against what tcpdump saves of the same packets
# with the same options: the same files with the same packets in them. And a snap
# length that is raised, since frames of many records hide them: the report over
# the file is the live run's. Needs root and tcpdump.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

host=nfscorr-save-$$
packets=6000

clean()
{
	for pid in $(ip netns pids "$host" 2>/dev/null); do
		kill "$pid" 2>/dev/null || :
	done
	ip netns del "$host" 2>/dev/null || :
	rm -rf "$tmp"
}
trap clean EXIT

# heard FIFO [FILE]: reads what a program says until it listens, then lets it talk on, into FILE.
heard()
{
	exec 3<"$1"
	while read -r line <&3; do
		case $line in
		*'listening on'*)
			cat <&3 >"${2:-/dev/null}" &
			exec 3<&-
			return
			;;
		esac
	done
	return 1
}

# both NAME FILE OPTION...: tcpdump and nfscorr save the same packets, into $tmp/NAME.theirs and $tmp/NAME.ours.
both()
{
	theirs=$tmp/$1.theirs ours=$tmp/$1.ours file=$2
	shift 2
	mkdir "$theirs" "$ours"
	chmod 777 "$theirs" "$ours"
	mkfifo "$theirs.says" "$ours.says"
	ip netns exec "$host" timeout 60 tcpdump -i lo -s 600 -B 32768 --immediate-mode -Z root -c "$packets" "$@" \
	    -w "$theirs/$file" udp 2>"$theirs.says" &
	tcpdump_pid=$!
	heard "$theirs.says"
	ip netns exec "$host" timeout 60 "$NFSCORR" -i lo -s 600 -f udp --json "$@" -w "$ours/$file" \
	    >"$tmp/report" 2>"$ours.says" &
	nfscorr_pid=$!
	heard "$ours.says"
	ip netns exec "$host" tests/real/send udp 127.0.0.1 2049 500 "$packets" 3000
	# it has them all when it ends, and so has the ring of the other
	wait "$tcpdump_pid" || :
	kill -INT "$nfscorr_pid"
	wait "$nfscorr_pid" || :
}

# list DIRECTORY: each file, its size, and its packets but for the stamps.
list()
{
	(cd "$1" && for each in *; do
		printf '%s %s %s\n' "$each" "$(stat -c %s "$each")" \
		    "$(tcpdump -r "$each" -n -t -x 2>/dev/null | cksum)"
	done)
}

# same NAME FILES: as many files, and the same.
same()
{
	list "$tmp/$1.theirs" >"$tmp/$1.their"
	list "$tmp/$1.ours" >"$tmp/$1.our"
	cat "$tmp/$1.our"
	diff "$tmp/$1.their" "$tmp/$1.our" && [ "$(wc -l <"$tmp/$1.our")" -eq "$2" ]
}

# whole NAME: all packets are in the files, in the order of their names.
whole()
{
	for each in "$tmp/$1.ours"/*; do
		tcpdump -r "$each" 2>/dev/null
	done | wc -l | grep -x "$packets"
}

# named NAME PATTERN: all files are named so, and there is more than one.
named()
{
	list "$tmp/$1.ours" | cut -d ' ' -f 1 >"$tmp/names"
	cat "$tmp/names"
	[ "$(grep -cE "$2" "$tmp/names")" -gt 1 ] && ! grep -vE "$2" "$tmp/names"
}

ip netns add "$host"
ip -n "$host" link set lo up

# 558 bytes a packet: 6000 are 3.3 millions.
both size file -C 1
check "-C: as tcpdump's" same size 4
both ring file -C 1 -W 2
check "-C -W: as tcpdump's" same ring 2
both digits file -C 1 -W 11
check "-C -W: the digits of the last number" same digits 4
both plain file
check "no rotation: as tcpdump's" same plain 1
# Two programs do not begin in the same second.
both time 'file-%Y%m%d-%H%M%S' -G 1
check "-G: named by the time" named time '^file-20[0-9]{6}-[0-9]{6}$'
check "-G: no packet is missed" whole time
both times 'file-%S.' -G 1 -C 1 -W 11
check "-G -C -W: named by the time and a number" named times '^file-[0-9]{2}\.0[0-9]$'
check "-G -C -W: no packet is missed" whole times

# On a line that is too slow, records wait for one another and leave in one frame.
check "a slow line" tc -n "$host" qdisc add dev lo root tbf rate 60mbit burst 256k latency 200ms
mkfifo "$tmp/serves" "$tmp/raised.says"
ip netns exec "$host" timeout 60 tests/real/nfsload serve 127.0.0.1 2049 >"$tmp/serves" &
read -r _ <"$tmp/serves"
ip netns exec "$host" timeout 60 "$NFSCORR" -i lo --json -w "$tmp/raised.pcap" -Z root \
    >"$tmp/raised.lines" 2>"$tmp/raised.says" &
nfscorr_pid=$!
heard "$tmp/raised.says" "$tmp/raised.err"
ip netns exec "$host" tests/real/nfsload call 127.0.0.1 2049 calls=15000 outstanding=64 size=4096 writes=20 getattrs=20 \
    >/dev/null
kill -INT "$nfscorr_pid"
wait "$nfscorr_pid" || :

# report FILE: what does not depend on where the packets came from.
report()
{
	tail -n 1 "$1" | jq -S 'del(.generated_ns) | .captures |= map(del(.files, .format, .dropped_by_kernel, .dropped_by_interface))'
}

# same_report: and it is not an empty one.
same_report()
{
	report "$tmp/raised.lines" >"$tmp/live.json"
	"$NFSCORR" --side=client --json "$tmp/raised.pcap" >"$tmp/raised.json"
	report "$tmp/raised.json" >"$tmp/offline.json"
	diff "$tmp/live.json" "$tmp/offline.json" && jq -e '.captures[0].rpc | [.calls, .hidden_records] | ., (.[0] > 1000)' "$tmp/live.json"
}

check "hidden records: the snap length is raised" grep 'it is raised to 2048 bytes' "$tmp/raised.err"
check "a raised snap length: the file gives the same report" same_report
finish
