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
# The same with 1 MiB reads and writes in the frames of segmentation offload.
make_trace offload --calls=1020 --callers=16 --slots=16 --mix=READ:80,WRITE:20 \
    --read=1M --write=1M --threads=16 --gso=64k --gro=64k
# Headers only, two to three packets a call: 5 M packets in the two files.
make_trace small --calls=1000000 --nconnect=4 --callers=32 --slots=64 \
    --mix=GETATTR:80,READ:20 --read=1k --snaplen=200 --threads=64
# A tenth of it, for the memory that ten times the calls take.
make_trace tenth --calls=100000 --nconnect=4 --callers=32 --slots=64 \
    --mix=GETATTR:80,READ:20 --read=1k --snaplen=200 --threads=64

# once COMMAND...: "seconds of wall time, of processor time, KiB" of one run.
once()
{
	/usr/bin/time -f '%e %U %S %M' -o "$dir/time" "$@" >/dev/null 2>&1
	tail -1 "$dir/time" | awk '{ print $1, $2 + $3, $4 }'
}
# median FILE COLUMN
median()
{
	awk -v column="$2" '{ print $column }' "$1" | sort -n |
	    awk '{ v[NR] = $1 } END { print (NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2) }'
}
both_tcpdump()
{
	once sh -c "tcpdump -r $dir/$1/server.pcap -w /dev/null; tcpdump -r $dir/$1/client.pcap -w /dev/null"
}
both_tshark()
{
	once sh -c "tshark -r $dir/$1/server.pcap -q -z rpc,srt,100003,3; tshark -r $dir/$1/client.pcap -q -z rpc,srt,100003,3"
}
pair()
{
	once "$nfscorr" --no-progress --threads="$2" "$dir/$1/server.pcap" "$dir/$1/client.pcap"
}

echo "load average: $(cut -d' ' -f1-3 /proc/loadavg)"
echo "both files; wall time, and processor time in all, in seconds"
printf '%-8s %9s %14s %14s %14s %9s\n' trace packets '2 threads' '1 thread' tcpdump 'peak KiB'
for name in full offload small tenth; do
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
	memory=$(awk '{ print $3 }' "$dir/time-one" | sort -n | tail -1)
	printf '%-8s %9s' "$name" "$packets"
	for who in two one tcpdump; do
		printf ' %6.2f %6.2f ' "$(median "$dir/time-$who" 1)" "$(median "$dir/time-$who" 2)"
	done
	printf '%9s\n' "$memory"
	echo "$name $packets $(median "$dir/time-two" 1) $(median "$dir/time-one" 2) $(median "$dir/time-tcpdump" 2) $memory" \
	    >>"$dir/figures"
done
awk '
    $1 == "full" { printf "full payload: %.2f times tcpdump, by processor time\n", $4 / $5 }
    $1 == "small" { printf "small packets: %.2f M packets a second of one processor\n", $2 / $4 / 1e6; ten = $6 }
    $1 == "tenth" { printf "memory: %.2f times for ten times the calls\n", ten / $6 }' "$dir/figures"
rm -f "$dir/figures"

[ "$tshark_runs" -gt 0 ] && command -v tshark >/dev/null || exit 0
for name in full offload tenth; do
	rm -f "$dir"/time-*
	i=0
	while [ "$i" -lt "$tshark_runs" ]; do
		pair "$name" 1 >>"$dir/time-one"
		pair "$name" 2 >>"$dir/time-two"
		both_tshark "$name" >>"$dir/time-tshark"
		i=$((i + 1))
	done
	echo "$name $(median "$dir/time-tshark" 1) $(median "$dir/time-tshark" 2) $(median "$dir/time-one" 2) $(median "$dir/time-two" 1)" |
	    awk '{ printf "tshark -z rpc,srt on %s: %.1f s, %.0f times ours by processor time, %.0f by wall time with two threads\n",
	        $1, $2, $3 / $4, $2 / $5 }'
done
