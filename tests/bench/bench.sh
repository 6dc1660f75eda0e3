#!/bin/sh
# bench.sh NFSCORR TRACEMAKER [DIR]: speed and memory on generated captures,
# against tcpdump and tshark in the same run. Figures, no verdict: medians of
# several runs, each program in turn so that all see the same machine. DIR
# (default: a temporary one, removed) needs 6 GB.
set -eu
nfscorr=$1
tracemaker=$2
dir=${3:-}
runs=${RUNS:-5}
tshark_runs=${TSHARK_RUNS:-1}
if [ -z "$dir" ]; then
	dir=$(mktemp -d "${TMPDIR:-/tmp}/nfscorr-bench.XXXXXX")
	trap 'rm -rf "$dir"' EXIT
fi

# make_trace NAME OPTION...: a pair, unless it is there already.
make_trace()
{
	name=$1
	shift
	[ -s "$dir/$name/client.pcap" ] && return
	mkdir -p "$dir/$name"
	"$tracemaker" --output="$dir/$name" --short-truth --seed=1 "$@"
}

# Full payload, 32 KiB reads and writes in 1448-byte segments: 1 GB a side.
make_trace full --calls=30000 --callers=16 --slots=16 --mix=READ:80,WRITE:20 \
    --read=32k --write=32k --threads=16
# Headers only, two to three packets a call: 5 M packets in the two files.
make_trace small --calls=1000000 --nconnect=4 --callers=32 --slots=64 \
    --mix=GETATTR:80,READ:20 --read=1k --snaplen=200 --threads=64
# A tenth of it, for the memory that ten times the calls take.
make_trace tenth --calls=100000 --nconnect=4 --callers=32 --slots=64 \
    --mix=GETATTR:80,READ:20 --read=1k --snaplen=200 --threads=64

# once COMMAND...: "seconds KiB" of one run.
once()
{
	/usr/bin/time -f '%e %M' -o "$dir/time" "$@" >/dev/null 2>&1
	tail -1 "$dir/time"
}
median()
{
	sort -n "$1" | awk '{ v[NR] = $1 } END { print (NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2) }'
}
both_tcpdump()
{
	once sh -c "tcpdump -r $dir/$1/server.pcap -w /dev/null; tcpdump -r $dir/$1/client.pcap -w /dev/null"
}
pair()
{
	once "$nfscorr" --no-progress --threads="$2" "$dir/$1/server.pcap" "$dir/$1/client.pcap"
}

printf '%-22s %9s %9s %9s %9s %9s\n' trace packets nfscorr 1-thread tcpdump 'peak KiB'
for name in full small tenth; do
	cat "$dir/$name/server.pcap" "$dir/$name/client.pcap" >/dev/null
	rm -f "$dir"/time-*
	i=0
	while [ "$i" -lt "$runs" ]; do
		pair "$name" 2 >>"$dir/time-two"
		pair "$name" 1 >>"$dir/time-one"
		both_tcpdump "$name" >>"$dir/time-tcpdump"
		i=$((i + 1))
	done
	packets=$("$nfscorr" --no-progress --json "$dir/$name/server.pcap" "$dir/$name/client.pcap" |
	    jq '[.captures[].packets] | add')
	memory=$(awk '{ print $2 }' "$dir/time-one" | sort -n | tail -1)
	two=$(median "$dir/time-two")
	one=$(median "$dir/time-one")
	tcpdump=$(median "$dir/time-tcpdump")
	printf '%-22s %9s %8ss %8ss %8ss %9s\n' "$name" "$packets" "$two" "$one" "$tcpdump" "$memory"
	echo "$name $packets $two $one $tcpdump $memory" >>"$dir/figures"
done
awk '
    $1 == "full" { printf "full payload: %.2f times tcpdump (two threads), %.2f (one)\n", $3 / $5, $4 / $5 }
    $1 == "small" { printf "small packets: %.2f M packets/s on one core, %.2f M on two\n", $2 / $4 / 1e6, $2 / $3 / 1e6; ten = $6 }
    $1 == "tenth" { printf "memory: %.2f times for ten times the calls\n", ten / $6 }' "$dir/figures"
rm -f "$dir/figures"

if command -v tshark >/dev/null && [ "$tshark_runs" -gt 0 ]; then
	rm -f "$dir"/time-*
	i=0
	while [ "$i" -lt "$tshark_runs" ]; do
		pair tenth 1 >>"$dir/time-one"
		once sh -c "tshark -r $dir/tenth/server.pcap -q -z rpc,srt,100003,3; tshark -r $dir/tenth/client.pcap -q -z rpc,srt,100003,3" \
		    >>"$dir/time-tshark"
		i=$((i + 1))
	done
	echo "$(median "$dir/time-tshark") $(median "$dir/time-one")" |
	    awk '{ printf "tshark -z rpc,srt on the tenth: %.1f s, %.0f times ours on one core\n", $1, $1 / $2 }'
fi
