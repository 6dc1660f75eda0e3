#!/bin/sh
# A real server (nfs-ganesha) and real clients, on two hosts that are network
# namespaces, captured on both: NFSv3 and NFSv4.0 by libnfs, NFSv4.1 by
# client41. Counts and times are held against what tshark makes of the same
# files. Needs root, and packages that only tests/run.sh --all installs.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"
# shellcheck source=tests/tshark.sh
. "$srcdir/tests/tshark.sh"

# shellcheck source=tests/real/hosts.sh
. "${srcdir:-.}/tests/real/hosts.sh"

# tshark_sums FILE VERSION: replies and their rpc.time in ns, of those whose call is there.
tshark_sums()
{
	tshark_times "$1" | awk -v version="$2" '$1 == 100003 && $2 == version { n++; ns += $4 } END { printf "%d %.0f\n", n, ns }'
}

# our_sums SIDE VERSION, of all minor versions
our_sums()
{
	jq -r --arg version "$2" '[.sides.'"$1"'[] | select(.version | startswith($version))] |
	    "\(map(.rpc_time_ns.count) | add) \(map(.rpc_time_ns.sum) | add)"' "$tmp/report.json"
}

# same_as_tshark SIDE VERSION
same_as_tshark()
{
	ours=$(our_sums "$1" "$2")
	theirs=$(tshark_sums "$tmp/$1.pcap" "$2")
	[ "$ours" = "$theirs" ] || { echo "ours: $ours; tshark's: $theirs"; return 1; }
}

# in_report EXPRESSION: jq says true of the report.
in_report()
{
	jq -e "$1" "$tmp/report.json"
}

# counted OPERATION: as many as client41 says it sent.
counted()
{
	[ "$(jq "[.sides.client[] | select(.version == \"4.1\" and .proc == \"$1\") | .count] | add" "$tmp/report.json")" = \
	    "$(awk -v name="$1" '$1 == name { print $2 }' "$tmp/sent")" ]
}

# copy VERSION PATH: reads the file and writes it back under another name.
copy()
{
	read_file "$1" "$2" && on "$client_host" timeout 60 nfs-ls "nfs://$server$2?version=$1"
}

make_hosts
start_server
capture "$server_host" server
capture "$client_host" client
check "NFSv3: a file is read" copy 3 "$tmp/export"
check "NFSv3: a file is written" on "$client_host" timeout 60 nfs-cp "$tmp/read3" \
    "nfs://$server$tmp/export/written?version=3"
check "NFSv4.0: a file is read" copy 4 /data
check "NFSv4.1: a session" client41 "$tmp/sent" data file 200
client41 /dev/null
# shellcheck disable=SC2154 # capture sets them
{
	end_capture "$server_end" "$server_tcpdump" "$server_tee"
	end_capture "$client_end" "$client_tcpdump" "$client_tee"
}

check "a report" "$NFSCORR" --json="$tmp/report.json" "$tmp/server.pcap" "$tmp/client.pcap"
check "no packet is missed" in_report '[.captures[] | .lost_segments, .rpc.orphan_replies, .rpc.malformed] | add == 0'
check "all calls are matched" in_report '.matched | .calls > 400 and .partial + .server_only + .client_only + .ambiguous == 0'
check "no part is negative" in_report '.matched.negative == 0'
check "the two captures agree on the hosts' clock" in_report \
    '.clock[0] | .status == "aligned" and (.offset_ns | fabs) <= .error_ns'
only_rpc
for side in server client; do
	for version in 3 4; do
		check "NFSv$version, $side: as tshark has it" same_as_tshark "$side" "$version"
	done
done
check "NFSv4.0: the copy's READs" in_report \
    '[.sides.client[] | select(.version == "4.0" and .proc == "READ") | .bytes] == [4000000]'
check "NFSv4.1: READs are counted" counted READ
check "NFSv4.1: GETATTRs are counted" counted GETATTR
finish
