#!/bin/sh
# The trace maker ends, whatever the trouble; where it would not, it says so.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

# A trace that goes on for ever must not fill the disk.
ulimit -f 100000

# An acknowledgement lost behind a FIN: the server's reply came again for ever.
check "a lost acknowledgement behind a FIN" "$TRACEMAKER" --output="$tmp/t" --calls=300 \
    --mix=all --loss=0.02 --server-drop=0.01 --split-mark=0.1 --fragment=200 \
    --payload=fakes --reconnect=60 --read=600 --write=600 --slots=8 --xid-modulus=16
for how in fin rst server-fin server-rst; do
	for seed in 1 2 3 4 5; do
		check "connections that end by $how, seed $seed" "$TRACEMAKER" --output="$tmp/t" \
		    --seed=$seed --calls=200 --loss=0.05 --reconnect=20 --reconnect-how=$how --close
	done
done
# What is left of a trace that was given up is not freed.
check_says "a line on which nothing arrives" "the trace does not end" \
    env ASAN_OPTIONS=detect_leaks=0 "$TRACEMAKER" --output="$tmp/t" --calls=1 --loss=0.999999
finish
