#!/bin/sh
# Memory does not grow with the length of a capture: ten times the calls take at
# most 1.1 times the memory. Not with sanitizers, which keep what was freed.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

# grows NAME CAPTURES OPTION...: a trace and one of ten times the calls, headers
# only. CAPTURES: arguments of the program, in the folder of the trace.
grows()
{
	name=$1 captures=$2
	shift 2
	for calls in 10000 100000; do
		"$TRACEMAKER" --output="$tmp/$calls" --short-truth --seed=1 --calls=$calls --nconnect=4 \
		    --callers=32 --slots=64 --read=1k --write=1k --snaplen=200 --threads=64 "$@"
		# One thread: how far decoding runs ahead is chance otherwise.
		# shellcheck disable=SC2086 # words
		check "$name: a report of $calls calls" \
		    env -C "$tmp/$calls" "$PEAK" "$NFSCORR" --threads=1 --no-progress $captures
		cp "$tmp/out" "$tmp/peak-$calls"
		rm -r "${tmp:?}/$calls"
	done
	check "$name: at most 1.1 times the memory" awk '
	    NR == 1 { short = $1 }
	    { print FILENAME ": " $1 " KiB" }
	    END { exit !(NR == 2 && short > 0 && $1 <= 1.1 * short) }' "$tmp/peak-10000" "$tmp/peak-100000"
}

grows "clean captures" "server.pcap client.pcap" --mix=GETATTR:80,READ:20
grows "captures that lost packets" "server.pcap client.pcap" --mix=GETATTR:60,READ:20,WRITE:20 \
    --server-drop=0.002 --client-drop=0.002
grows "a lossy network" "server.pcap client.pcap" --mix=GETATTR:60,READ:20,WRITE:20 --loss=0.005 --rto=5ms
# Pairing remembers connections that have ended, up to a cap of its own; one capture does not.
grows "connections that come and go" "--side=server server.pcap" \
    --mix=GETATTR:80,READ:20 --reconnect=5 --reconnect-same-port
finish
