#!/bin/sh
# Live runs for real: a client and a server (nfs-ganesha) on two hosts that are
# network namespaces, nfscorr -i on the client, alone and with the server's
# packets in a pipe, as ssh would bring them. Every report is held against the
# offline run over what nfscorr saved itself (-w), which is the same but for
# names, and over what tcpdump captured at the same time. NFSv4.1 and 4.2 with
# sessions under load are replayed from the trace maker's captures. Needs root,
# and packages that only tests/run.sh --all installs.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"
# shellcheck source=tests/real/hosts.sh
. "${srcdir:-.}/tests/real/hosts.sh"

nfscorr_pid=

# live NAME ARGUMENT...: nfscorr -i nfs0 on the client, until it listens; reports into $tmp/NAME.out.
live()
{
	name=$1
	shift
	mkfifo "$tmp/$name.live"
	ip netns exec "$client_host" timeout 240 "$NFSCORR" -i nfs0 --json "$@" >"$tmp/$name.out" 2>"$tmp/$name.live" &
	nfscorr_pid=$!
	heard "$tmp/$name.live" 'listening on' "$tmp/$name.err"
}

# ended NAME: its status is 0, and its last line is a report, which goes to $tmp/NAME.json.
ended()
{
	status=0
	wait "$nfscorr_pid" || status=$?
	cat "$tmp/$1.err"
	tail -n 1 "$tmp/$1.out" | jq -e 'select(.schema == "nfscorr-report/1")' >"$tmp/$1.json" && [ "$status" -eq 0 ]
}

# stop NAME: by a signal.
stop()
{
	kill -INT "$nfscorr_pid"
	ended "$1"
}

# offline OUTPUT ARGUMENT...
offline()
{
	output=$1
	shift
	"$NFSCORR" --json="$tmp/$output.json" --no-progress "$@"
}

# What depends on where the packets came from, and on when.
strip='del(.generated_ns) | .captures |= map(del(.files, .format, .dropped_by_kernel, .dropped_by_interface)) | .clock |= map(del(.client))'

# same A B: the same report.
same()
{
	jq -S "$strip" "$tmp/$1.json" >"$tmp/$1.stripped"
	jq -S "$strip" "$tmp/$2.json" >"$tmp/$2.stripped"
	diff "$tmp/$1.stripped" "$tmp/$2.stripped"
}

# What two captures on one interface have in common to the unit: all that is no time, since the kernel
# stamps a packet that comes in for each of them. Our own filter lets rpcbind's calls through, too.
counts='[.sides.client[] | select(.version | test("^[34]")) | {version, proc, count, errors, unanswered, bytes}],
    [.captures[-1] | .rpc.unanswered, .rpc.lost_in_capture, .rpc.retransmitted_calls, .lost_segments]'

# same_counts A B
same_counts()
{
	jq "$counts" "$tmp/$1.json" >"$tmp/$1.counts"
	jq "$counts" "$tmp/$2.json" >"$tmp/$2.counts"
	[ -s "$tmp/$1.counts" ] && diff "$tmp/$1.counts" "$tmp/$2.counts"
}

# in_report NAME EXPRESSION: jq says true of the report.
in_report()
{
	jq -e "$2" "$tmp/$1.json"
}

# in_intervals NAME EXPRESSION: jq says true of the list of intervals.
in_intervals()
{
	jq -es 'map(select(.schema == "nfscorr-interval/1")) | '"$2" "$tmp/$1.out"
}

# traffic NUMBER: a file read and written by NFSv3, read by NFSv4.0, and a session of NFSv4.1.
traffic()
{
	rm -f "$tmp/read3" "$tmp/read4"
	read_file 3 "$tmp/export" && on "$client_host" timeout 60 nfs-cp "$tmp/read3" \
	    "nfs://$server$tmp/export/written$1?version=3" && read_file 4 /data && client41 "$tmp/sent" data file 200
}

make_hosts
start_server

# ---- the client alone ----

capture "$client_host" client
live alone -s 262144 -w "$tmp/alone.pcap"
check "a client under capture" traffic 1
client41 /dev/null
# shellcheck disable=SC2154 # capture sets them
end_capture "$client_end" "$client_tcpdump" "$client_tee"
check "one side: a signal ends it with a report" stop alone
check "one side: no packet was dropped" in_report alone '.captures[0].dropped_by_kernel == 0'
check "one side: all calls are there" in_report alone '.captures[0].rpc | .calls > 400 and .answered == .calls'
check "one side: offline over what it saved" offline alone-saved --side=client "$tmp/alone.pcap"
check "one side: the same as live" same alone alone-saved
check "one side: offline over tcpdump's file" offline alone-tcpdump --side=client -f 'port 2049' "$tmp/client.pcap"
check "one side: the same counts as live" same_counts alone alone-tcpdump

# ---- both sides, the server's through a pipe ----

mkfifo "$tmp/pipe"
live both -s 262144 -f 'port 2049' -w "$tmp/both.pcap" --interval=1 "$tmp/pipe"
capture "$server_host" server "$tmp/pipe"
capture "$client_host" client
check "a client and its server under capture" traffic 2
client41 /dev/null
# shellcheck disable=SC2154 # capture sets them
{
	end_capture "$server_end" "$server_tcpdump" "$server_tee"
	end_capture "$client_end" "$client_tcpdump" "$client_tee"
}
check "both sides: a signal ends it with a report" stop both
check "both sides: all calls are matched" in_report both \
    '.matched | .calls > 400 and .partial + .server_only + .client_only + .ambiguous == 0'
check "both sides: the hosts' one clock" in_report both '.clock[0] | .status == "aligned" and (.offset_ns | fabs) <= .error_ns'
check "both sides: offline over what it saved and the server's file" offline both-saved -f 'port 2049' \
    "$tmp/server.pcap" "$tmp/both.pcap"
check "both sides: the same as live" same both both-saved
check "both sides: offline over tcpdump's files" offline both-tcpdump -f 'port 2049' "$tmp/server.pcap" "$tmp/client.pcap"
check "both sides: the same counts as live" same_counts both both-tcpdump

# ---- sessions under load, replayed ----

# replay NAME TRACEMAKER-OPTION...: a client's packets, as they come to another one's interface.
replay()
{
	name=$1
	shift
	"$TRACEMAKER" --output="$tmp" --seed=1 --calls=20000 --callers=64 --mix=READ:60,WRITE:20,GETATTR:20 --read=16k --write=8k \
	    --threads=32 "$@" >/dev/null
	mv "$tmp/client.pcap" "$tmp/$name-made.pcap"
	live "$name" -s 262144 -w "$tmp/$name.pcap"
	on "$server_host" timeout 120 tcpreplay -q -i nfs0 --pps=40000 "$tmp/$name-made.pcap" >/dev/null
	stop "$name"
}

for minor in 1 2; do
	name=session$minor
	check "NFSv4.$minor, replayed: a report" replay "$name" --nfs=4.$minor --session-slots=32
	check "NFSv4.$minor, replayed: no packet was dropped" in_report "$name" '.captures[0].dropped_by_kernel == 0'
	check "NFSv4.$minor, replayed: offline over what it saved" offline "$name-saved" --side=client "$tmp/$name.pcap"
	check "NFSv4.$minor, replayed: the same as live" same "$name" "$name-saved"
	check "NFSv4.$minor, replayed: offline over the trace" offline "$name-made" --side=client "$tmp/$name-made.pcap"
	check "NFSv4.$minor, replayed: the trace's counts" same_counts "$name" "$name-made"
	check "NFSv4.$minor, replayed: all slots of the session" in_report "$name" \
	    '[.findings[] | select(.id == "session-slot-saturation") | .evidence.slots_granted] == [32]'
done

# ---- a dense load, with headers alone; the client's own counters ----

# counters FILE READS MILLISECONDS: a mount that had so many READs, with as many ms in each of three sums, as a kernel tells it.
counters()
{
	cat >"$1" <<-EOF2
	device $server:/export mounted on /mnt with fstype nfs statvers=1.1
		opts:	rw,vers=3,proto=tcp
		age:	1000
		per-op statistics
		        READ: $2 $2 0 0 0 $(($3 * 3)) $3 $(($3 * 4)) 0
	EOF2
}

# with_counters NAME ARGUMENT...: live, with $tmp/mountstats in place of the kernel's.
with_counters()
{
	name=$1
	shift
	mkfifo "$tmp/$name.live"
	# shellcheck disable=SC2016 # for the shell that becomes nfscorr
	ip netns exec "$client_host" sh -c 'mount --bind "$1" /proc/$$/mountstats && shift && exec "$@"' sh "$tmp/mountstats" \
	    "$NFSCORR" --json "$@" >"$tmp/$name.out" 2>"$tmp/$name.live" &
	nfscorr_pid=$!
	heard "$tmp/$name.live" 'listening on' "$tmp/$name.err"
}

# load ADDRESS: against nfsload on the same host or the other one.
load()
{
	on "$client_host" timeout 60 tests/real/nfsload call "$1" 2050 calls=20000 rate=20000 connections=4 writes=20 getattrs=10
}

# serve HOST ADDRESS
serve()
{
	mkfifo "$tmp/serve-$2"
	ip netns exec "$1" timeout 240 tests/real/nfsload serve "$2" 2050 >"$tmp/serve-$2" &
	pids="$pids $!"
	heard "$tmp/serve-$2" ready
}

loads='[.sides.client[] | [.proc, .count]] | sort == [["GETATTR", 2000], ["READ", 14000], ["WRITE", 4000]]'

serve "$server_host" "$server"
serve "$client_host" 127.0.0.1
counters "$tmp/mountstats" 100 1000
with_counters dense -i nfs0 -f 'port 2050'
check "a dense load: 20,000 calls" load "$server"
counters "$tmp/mountstats" 1100 3000
check "a dense load: a report" stop dense
# replies that leave in one frame are hidden behind the first one's header
check "a dense load: nearly every call is there" in_report dense '.captures[0].rpc | .answered >= 19800 and .answered + .lost_in_capture <= 20000'
check "the client's own counters of the run" in_report dense '[.layers[] | .kind, .name, (.rows[] | .name, .count, .mean_ns)] ==
    ["mountstats", "192.0.2.1:/export", "READ", 1000, 8000000, "READ queue", 1000, 6000000, "READ rtt", 1000, 2000000]'

for device in lo any; do
	mkfifo "$tmp/$device.live"
	ip netns exec "$client_host" "$NFSCORR" -i "$device" -s 262144 -B 262144 -f 'port 2050' --json >"$tmp/$device.out" 2>"$tmp/$device.live" &
	nfscorr_pid=$!
	heard "$tmp/$device.live" 'listening on' "$tmp/$device.err"
	check "$device: 20,000 calls" load 127.0.0.1
	check "$device: a report" stop "$device"
	check "$device: no packet was dropped" in_report "$device" '.captures[0].dropped_by_kernel == 0'
	check "$device: every call is there, once" in_report "$device" "$loads"
done

# ---- IPv6 ----

server6=2001:db8::1
ip -n "$server_host" addr add "$server6/64" dev nfs0 nodad
ip -n "$client_host" addr add 2001:db8::2/64 dev nfs0 nodad
serve "$server_host" "$server6"
live six -s 262144 -B 262144 -f 'port 2050' -w "$tmp/six.pcap"
check "IPv6: 20,000 calls" load "$server6"
check "IPv6: a report" stop six
check "IPv6: no packet was dropped" in_report six '.captures[0].dropped_by_kernel == 0'
check "IPv6: every call is there" in_report six "$loads"
check "IPv6: whose they are" in_report six '[.. | strings | select(test("2001:db8::[12]"))] | length > 0'
check "IPv6: offline over what it saved" offline six-saved --side=client "$tmp/six.pcap"
check "IPv6: the same as live" same six six-saved

# ---- how it ends ----

live count -f 'port 2050' --count=1000
check "so many calls: a load" load "$server"
check "so many calls: it ends by itself" ended count
check "so many calls: not fewer" in_report count '[.sides.client[].count] | add >= 1000'
live duration -f 'port 2050' --duration=2
check "so long: a load" load "$server"
check "so long: it ends by itself" ended duration
live gone -s 262144 -B 262144 -f 'port 2050'
check "an interface that goes: a load" load "$server"
ip -n "$client_host" link del nfs0
check "an interface that goes: it ends by itself" ended gone
check "an interface that goes: it is told" grep -q 'nfs0' "$tmp/gone.err"
check "an interface that goes: every call is there" in_report gone "$loads"
finish
