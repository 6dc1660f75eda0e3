#!/bin/sh
# Counts and rpc_time of whole captures, by program and version, against what
# tshark makes of them: every sample, traces of the trace maker, the captures
# made by hand. Needs packages that only tests/run.sh --all installs.
#
# Where the two differ, it was worked out by hand who is right, and `differs`
# says so.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"
# shellcheck source=tests/tshark.sh
. "$srcdir/tests/tshark.sh"

# theirs FILE: program, version, replies with a call, sum of their times
theirs()
{
	tshark_times "$1" | awk '{ count[$1 " " $2]++; sum[$1 " " $2] += $4 }
	END { for (key in count) printf "%s %d %.0f\n", key, count[key], sum[key] }' | LC_ALL=C sort
}

# report FILE: the report, into $tmp/json
report()
{
	"$NFSCORR" --quiet --side=server --json "$1" >"$tmp/json" 2>/dev/null || :
}

# ours: the same from the report, whose labels are put back into numbers
ours()
{
	jq -r '
	{ mount: 100005, nlm: 100021, nsm: 100024, nfsacl: 100227, portmap: 100000, rpcbind: 100000, rquota: 100011 } as $programs |
	def program: if . == "nfs4cb" then "1073741824 1"
	    elif test("^[0-9]") then "100003 \(.[0:1])"
	    else capture("(?<name>[a-z]+)(?<version>[0-9])") | "\($programs[.name]) \(.version)" end;
	[.sides.server[] | select(.count > 0) | { key: (.version | program), count, sum: .rpc_time_ns.sum }] |
	group_by(.key)[] | "\(.[0].key) \(map(.count) | add) \(map(.sum) | add)"' "$tmp/json" | LC_ALL=C sort
}

# The same of a capture of NFSv3 that is cut, where tshark joins no segments: it times what takes several (READ,
# WRITE, READDIRPLUS) from and to the first, and what waits behind a segment that was lost as if it did not.
# So these are counted only; untimed are their procedures, or all where segments were sent again.
theirs_cut()
{
	tshark_times "$1" | awk -v untimed="$2" '{ count[$3]++; sum[$3] += $3 ~ untimed ? 0 : $4 }
	END { for (key in count) printf "%s %d %.0f\n", key, count[key], sum[key] }' | LC_ALL=C sort
}

ours_cut()
{
	jq -r --arg untimed "$1" '
	["NULL", "GETATTR", "SETATTR", "LOOKUP", "ACCESS", "READLINK", "READ", "WRITE", "CREATE", "MKDIR", "SYMLINK", "MKNOD",
	    "REMOVE", "RMDIR", "RENAME", "LINK", "READDIR", "READDIRPLUS", "FSSTAT", "FSINFO", "PATHCONF", "COMMIT"] as $names |
	.sides.server[] | select(.count > 0) | .proc as $proc | ($names | index($proc)) as $number |
	"\($number) \(.count) \(if $number | tostring | test($untimed) then 0 else .rpc_time_ns.sum end)"' "$tmp/json" | LC_ALL=C sort
}

same_cut()
{
	report "$1"
	jq -e '.captures[0] | .truncated_packets > 0 and .lost_segments == 0' "$tmp/json" >/dev/null
	untimed='^(6|7|17)$'
	if jq -e '.captures[0].tcp.retransmitted > 0' "$tmp/json" >/dev/null; then
		untimed=.
	fi
	ours_cut "$untimed" >"$tmp/ours"
	theirs_cut "$1" "$untimed" >"$tmp/theirs"
	diff "$tmp/theirs" "$tmp/ours"
}

same()
{
	report "$1"
	ours >"$tmp/ours"
	theirs "$1" >"$tmp/theirs"
	if [ ! -s "$tmp/theirs" ]; then
		echo "tshark finds no call"
		return 1
	fi
	diff "$tmp/theirs" "$tmp/ours"
}

# differs FILE THEIRS OURS: lines that either has and the other has not, "; " between them
differs()
{
	report "$1"
	ours >"$tmp/ours"
	theirs "$1" >"$tmp/theirs"
	only_theirs=$(LC_ALL=C comm -23 "$tmp/theirs" "$tmp/ours" | paste -s -d ';' -)
	only_ours=$(LC_ALL=C comm -13 "$tmp/theirs" "$tmp/ours" | paste -s -d ';' -)
	[ "$only_theirs" = "$2" ] && [ "$only_ours" = "$3" ] ||
	    { echo "only tshark: $only_theirs; only we: $only_ours"; return 1; }
}

only_rpc
for sample in "$srcdir"/samples/*/; do
	name=$(basename "$sample")
	for side in server client; do
		check "$name, $side" same_cut "$sample$side.pcap"
	done
done
for traffic in nfs=3 nfs=4.0 nfs=4.1 nfs=4.2 udp; do
	tests/trace/tracemaker --output="$tmp/$traffic" --seed=29 "--$traffic" --timeo=1s --calls=1500 --mix=all --nconnect=2 --slots=8 \
	    --vary-sizes --errors=0.05 --coalesce=20us >/dev/null
	check "a trace with $traffic, server" same "$tmp/$traffic/server.pcap"
	check "a trace with $traffic, client" same "$tmp/$traffic/client.pcap"
done

mkdir "$tmp/made"
tests/protocols/protocols "$tmp/made"
for capture in "$tmp/made"/*.pcap; do
	name=$(basename "$capture" .pcap)
	case $name in
	# Either end counts its XIDs for itself (RFC 5531 section 9): a callback with the XID of a call that
	# is under way is another call. tshark takes both replies for the call's: of 300 us, which the callback
	# came later and its answer takes, and of 700 us.
	row_27_callbacks)
		check "$name: XIDs of both directions are told apart" differs "$capture" \
		    "100003 4 12 6000000" "100003 4 6 4200000;1073741824 1 6 600000"
		;;
	# tshark knows no port but 2049 and begins nowhere inside a segment.
	learned-port)
		check "$name: found in the middle of a stream" differs "$capture" "" "100003 3 5 5000000"
		;;
	# Any program from 0x40000000 to 0x5fffffff may be a callback's; tshark knows the first one.
	callback-connection)
		check "$name: a program of the client's choice" differs "$capture" "" "1073741824 1 3 500000"
		;;
	# Nothing is left to read.
	row_29_tls_tunnel)
		check "$name: neither finds a call" differs "$capture" "" ""
		;;
	*)
		check "$name" same "$capture"
		;;
	esac
done
finish
