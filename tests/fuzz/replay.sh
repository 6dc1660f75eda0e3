#!/bin/sh
# Every input that the fuzz targets are kept for: seeds of each kind, and each
# that once broke something. TAP on standard output.
set -eu
srcdir=${srcdir:-$(dirname "$0")/../..}
count=0
failed=0
for target in stream rpc_header decoders capture pcap pcapng snoop; do
	# a target that dies says so by the lines it does not print
	set -- "$srcdir/tests/fuzz/corpus/$target"/*
	lines=$("tests/fuzz/replay_$target" "$@" | grep -c '^ok ' || :)
	count=$((count + 1))
	if [ "$lines" -eq $# ]; then
		echo "ok $count - $target: $# inputs"
	else
		failed=1
		echo "not ok $count - $target: stopped behind $lines of $# inputs"
	fi
done
echo "1..$count"
exit $failed
