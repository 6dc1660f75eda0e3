#!/bin/sh
# Captures in the wrong order, several clients, one of them idle.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

"$TRACEMAKER" --output="$tmp" --seed=7 --clients=3 --calls=600 --read=4k --write=4k \
    --client-offset=-7ms,3ms,1500ms
server=$tmp/server.pcap
first=$tmp/client0.pcap
second=$tmp/client1.pcap
third=$tmp/client2.pcap

# calls CLIENT...: how many calls of the truth are on both sides.
calls()
{
	awk -F, -v clients="$*" '
	BEGIN { n = split(clients, list, " "); for (i = 1; i <= n; i++) wanted[list[i]] }
	NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
	$c["client"] in wanted && $c["seen_server"] == "full" && $c["seen_client"] == "full" { sum++ }
	END { print sum + 0 }' "$tmp/truth.csv"
}

# summary FILE: what does not depend on the order of the clients.
summary()
{
	jq -S '{ matched: (.matched | del(.rows[].request_ns, .rows[].reply_ns)),
	    attribution, server: .sides.server,
	    in_flight: .concurrency.server, connections: (.concurrency.connections | sort),
	    client: [.sides.client[] | { proc, count, errors, bytes }],
	    component: .verdict.component, first: .captures[0].side,
	    others: [.captures[1:][].side] | unique }' "$1"
}

"$NFSCORR" --json "$server" "$first" "$second" "$third" >"$tmp/right.json"
all=$(calls 0 1 2)
check "three clients: every call of the truth is matched" \
    jq -e --argjson n "$all" '$n > 500 and .matched.calls == $n' "$tmp/right.json"
check "nothing is said to be the wrong way round" \
    jq -e '[.quality.reasons[].id] | index("capture-swapped") == null' "$tmp/right.json"
summary "$tmp/right.json" >"$tmp/right"

# wrong NAME ARGUMENT...: the same report, the server's capture first, and said so.
wrong()
{
	name=$1
	shift
	run "$NFSCORR" --json "$@"
	cp "$tmp/out" "$tmp/wrong.json"
	ok=0
	[ "$status" -eq 0 ] || ok=1
	summary "$tmp/wrong.json" | diff "$tmp/right" - >>"$tmp/why" || ok=1
	result "$ok" "$name: the report is that of the right order"
	check "$name: the server's capture is the first" \
	    jq -e '.captures[0] | .side == "server" and (.files[0].name | endswith("server.pcap"))' \
	    "$tmp/wrong.json"
	check "$name: it is told" \
	    jq -e '[.quality.reasons[] | select(.id == "capture-swapped")] | length == 1' "$tmp/wrong.json"
	check_says "$name: also in the text" "given the other way round" "$NFSCORR" "$@"
}

wrong "the server's capture second" "$first" "$server" "$second" "$third"
wrong "the server's capture last" "$second" "$first" "$third" "$server"
wrong "--server names a client" \
    --server="$first" --client="$second" --client="$server" --client="$third"
wrong "so it does behind the clients" \
    --client="$second" --client="$third" --client="$server" --server="$first"

# ---- which capture a slow call is in ----

check "slowest calls: each is in the capture of the client that is named" sh -c '
	jq -r ".slowest[] | [.client_capture, .client] | @tsv" "$1" | while read -r number address; do
		[ "$address" = "10.2.0.$number" ] || exit 1
	done && jq -e "[.slowest[].client_capture] | unique | length > 1" "$1"' sh "$tmp/right.json"

# ---- clocks hours apart, and the wrong order ----

mkdir "$tmp/far"
"$TRACEMAKER" --output="$tmp/far" --seed=8 --clients=3 --calls=600 --read=4k --write=4k \
    --client-offset=0,2h,-3h
"$NFSCORR" --json "$tmp/far/server.pcap" "$tmp/far/client0.pcap" "$tmp/far/client1.pcap" \
    "$tmp/far/client2.pcap" >"$tmp/right.json"
summary "$tmp/right.json" >"$tmp/right"
check "clocks hours apart: every call of the truth is matched" \
    jq -e '.matched.calls > 500 and .matched.server_only == 0' "$tmp/right.json"
wrong "clocks hours apart, the server's capture second" "$tmp/far/client0.pcap" "$tmp/far/server.pcap" \
    "$tmp/far/client1.pcap" "$tmp/far/client2.pcap"
check "the clients are in the order in which they were given" jq -e '[.captures[].files[0].name |
    sub(".*/"; "")] == ["server.pcap", "client0.pcap", "client1.pcap", "client2.pcap"]' "$tmp/wrong.json"
wrong "clocks hours apart, the server's capture last" "$tmp/far/client1.pcap" "$tmp/far/client0.pcap" \
    "$tmp/far/client2.pcap" "$tmp/far/server.pcap"
check "the clients are in that order, too" jq -e '[.captures[].files[0].name |
    sub(".*/"; "")] == ["server.pcap", "client1.pcap", "client0.pcap", "client2.pcap"]' "$tmp/wrong.json"
run "$NFSCORR" "$first" "$second"
ok=0
[ "$status" -eq 3 ] || ok=1
tr '\n' ' ' <"$tmp/out" | grep -q "are both of a client: one of the server is needed" || ok=1
result "$ok" "two clients and no server: said, exit 3"

# ---- two captures, and the option that forbids to correct them ----

"$NFSCORR" --json "$server" "$second" >"$tmp/right.json"
summary "$tmp/right.json" >"$tmp/right"
check "one client of three: its calls are matched" \
    jq -e --argjson n "$(calls 1)" '$n > 100 and .matched.calls == $n' "$tmp/right.json"
wrong "two captures the wrong way round" "$second" "$server"
wrong "--server and --client the wrong way round" --client="$server" --server="$second"

# ---- a client that made no call ----

head -c 24 "$first" >"$tmp/silent.pcap"
for order in 1 2 3; do
	case $order in
	1) set -- "$tmp/silent.pcap" "$second" "$third" ;;
	2) set -- "$second" "$tmp/silent.pcap" "$third" ;;
	3) set -- "$second" "$third" "$tmp/silent.pcap" ;;
	esac
	run "$NFSCORR" --json "$server" "$@"
	ok=0
	[ "$status" -eq 0 ] || ok=1
	jq -e --argjson n "$(calls 1 2)" '.matched.calls == $n and (.captures | length == 4)' "$tmp/out" \
	    >>"$tmp/why" 2>&1 || ok=1
	result "$ok" "a client without packets as number $order: the others' calls are matched"
	check "and it is told of it" jq -e '[.quality.reasons[] |
	    select(.text | startswith("client '"$order"' capture: no NFS call"))] | length == 1' "$tmp/out"
done

# One whose calls go to another server: packets and calls, none in common.
"$TRACEMAKER" --output="$tmp/other" --seed=99 --calls=40 --read=512 --write=512
run "$NFSCORR" --json "$server" "$second" "$tmp/other/client.pcap"
ok=0
[ "$status" -eq 0 ] || ok=1
jq -e --argjson n "$(calls 1)" '.matched.calls == $n' "$tmp/out" >>"$tmp/why" 2>&1 || ok=1
result "$ok" "a client of another server: the others' calls are matched"
# in_flight ARGUMENT...: the same, whoever was given as whom, from files and from a pipe.
in_flight()
{
	"$NFSCORR" --json "$@" 2>/dev/null | jq -S .concurrency
}

in_flight "$server" "$first" >"$tmp/in_flight"
check "calls in flight are there" jq -e '.server.max > 0 and .connections[0].max > 0' "$tmp/in_flight"
in_flight "$first" "$server" >"$tmp/exchanged"
check "calls in flight: the roles exchanged" cmp "$tmp/in_flight" "$tmp/exchanged"
in_flight - "$first" <"$server" >"$tmp/piped"
check "calls in flight: from a pipe" cmp "$tmp/in_flight" "$tmp/piped"
in_flight - "$server" <"$first" >"$tmp/exchanged"
check "calls in flight: the roles exchanged, from a pipe" cmp "$tmp/in_flight" "$tmp/exchanged"
finish
