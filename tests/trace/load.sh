#!/bin/sh
# What a call waits for, and who makes calls when: the truth is what was asked
# for.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

# truth PROGRAM OPTION...: makes a trace; awk's PROGRAM sees the columns of each
# call as v["NAME"] and exits with 0 if the truth is as it should be.
truth()
{
	truth_program=$1
	shift
	"$TRACEMAKER" --output="$tmp" --seed=1 --read=4k --mix=READ "$@" || return 1
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) name[i] = $i; next }
	{ for (i = 1; i <= NF; i++) v[name[i]] = $i }'" $truth_program" "$tmp/truth.csv"
}

check 'one disk serves one call after the other, and that alone is waited for' truth '
	{ work = v["service_ns"] - v["disk_wait_ns"]; if (work != 1050000 || v["thread_wait_ns"] > 0) bad = 1 }
	v["disk_wait_ns"] > 0 { waited++ }
	{ end = substr(v["s_reply_first"], 8); if (NR > 2 && end - last < 1000000) bad = 1; last = end }
	END { exit bad || !(NR == 201 && waited > 190) }' \
	--calls=200 --callers=4 --threads=4 --service=all:50us --disks=1 --storage=READ:1ms

check 'without a number of disks none is waited for' truth '
	v["disk_wait_ns"] > 0 || v["service_ns"] != 1050000 { bad = 1 }
	END { exit bad || NR != 201 }' \
	--calls=200 --callers=4 --threads=4 --service=all:50us --storage=READ:1ms

check 'the mean of a lognormal service is the one that was asked for' truth '
	{ sum += v["service_ns"]; n++; below += v["service_ns"] < 1000000 }
	# Half of all lie below the mean times exp(-0.5), 69 % below the mean.
	END { exit !(sum / n > 950000 && sum / n < 1050000 && below / n > 0.67 && below / n < 0.71) }' \
	--calls=10000 --callers=4 --threads=4 --service=all:lognormal:1ms:1 --read=512

check 'a sequential caller reads what follows' truth '
	v["file"] != 0 || v["offset"] != 4096 * (NR - 2) { bad = 1 }
	END { exit bad || NR != 101 }' \
	--calls=100 --callers=1 --sequential

check 'surges end' truth '
	{ into = substr(v["c_call_first"], 11) % 100000000 }
	into < 20000000 { surge++ }
	into > 30000000 { calm++; if (v["thread_wait_ns"] > 0) bad = 1 }
	END { exit bad || !(surge > 300 && calm > 100) }' \
	--calls=1000 --callers=1 --surge=20 --surge-every=100ms --surge-time=20ms \
	--threads=4 --service=all:1ms --start=1760000000000000000
finish
