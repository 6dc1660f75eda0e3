#!/bin/sh
# The known faults of the old Perl script are not here. What the report must say
# is computed from the truth of the traces.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

# trace NAME OPTION...: a trace in $tmp/NAME, its report in report.json there,
# its records in ops.csv, its text in text.
trace()
{
	dir=$tmp/$1
	shift
	mkdir "$dir"
	"$TRACEMAKER" --output="$dir" "$@"
	"$NFSCORR" --json="$dir/report.json" --ops="$dir/ops.csv" "$dir/server.pcap" \
	    "$dir/client.pcap" >"$dir/text" 2>"$dir/said" || echo "status $?" >>"$dir/said"
}

# columns FILE PROGRAM: awk on a CSV file; c[NAME] is the number of a column,
# between(FROM, TO) a duration: a stamp does not fit into a double.
columns()
{
	awk -F, '
	function between(from, to,  seconds) {
		seconds = substr($c[to], 1, 10) - substr($c[from], 1, 10)
		return seconds * 1000000000 + substr($c[to], 11) - substr($c[from], 11)
	}
	NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
	'"$2" "$1"
}

# same NAME: $tmp/true and $tmp/told hold the same lines, and some.
same()
{
	check "$1" sh -c 'test -s "$1" && diff "$1" "$2"' - "$tmp/true" "$tmp/told"
}

# ---- calls of ten seconds and more ----

trace slow --seed=3 --calls=60 --callers=4 --mix=READ:50,GETATTR:50 --read=4k \
    --service=READ:bimodal:5s:9s:0.5
columns "$tmp/slow/truth.csv" '
    { total = between("file_c_call_first", "file_c_reply_last") }
    total >= 10000000000 { slow++ }
    END { exit slow < 5 }' || { echo "Bail out! no slow calls in the trace"; exit 1; }
columns "$tmp/slow/truth.csv" '
    {
	p = $c["proc"]
	total = between("file_c_call_first", "file_c_reply_last")
	n[p]++
	sum[p] += total
	if (total > most[p])
		most[p] = total
    }
    END { for (p in n) printf "%s %d %.0f %.0f\n", p, n[p], sum[p], most[p] }' | sort >"$tmp/true"
jq -r '.matched.rows[] | "\(.proc) \(.count) \(.total_ns.sum) \(.total_ns.max)"' \
    "$tmp/slow/report.json" | sort >"$tmp/told"
same "calls of ten seconds and more are among the matched ones"
for side in server client; do
	columns "$tmp/slow/truth.csv" '
	    { n[$c["proc"]]++ }
	    END { for (p in n) print p, n[p] }' | sort >"$tmp/true"
	jq -r ".sides.$side[] | \"\\(.proc) \\(.count)\"" "$tmp/slow/report.json" | sort >"$tmp/told"
	same "and in the $side's table"
done

# ---- each side's table is its own ----

trace sides --seed=4 --calls=300 --read=4k --write=4k --extra-clients=2
columns "$tmp/sides/truth.csv" '
    { if ($c["seen_server"] == "full") server++; if ($c["seen_client"] == "full") client++ }
    END { exit !(client > 0 && server > client) }' || { echo "Bail out! the sides are alike"; exit 1; }
# raw SIDE: "PROCEDURE COUNT" of the text's table.
raw()
{
	awk -v title="RAW DATA: $1" '
	index($0, title) == 1 { inside = 1; next }
	inside && /^$/ { exit }
	inside && $1 == "calls" { exit }
	inside && $1 == 3 { print $2, $3 }' "$tmp/sides/text" | sort
}
for side in server client; do
	columns "$tmp/sides/truth.csv" '
	    $c["seen_'"$side"'"] == "full" { n[$c["proc"]]++ }
	    END { for (p in n) print p, n[p] }' | sort >"$tmp/true"
	jq -r ".sides.$side[] | \"\\(.proc) \\(.count)\"" "$tmp/sides/report.json" | sort >"$tmp/told"
	same "the $side's rows hold the $side's calls only"
	raw "$(echo "$side" | tr '[:lower:]' '[:upper:]')" >"$tmp/told"
	same "and so does its table in the text"
done

# ---- numbers that come again ----

# Four connections whose XIDs all run from 1 to 40 and again.
trace xids --seed=5 --calls=600 --nconnect=4 --slots=16 --callers=16 --read=1k --write=1k --xid=1 --xid-modulus=40
columns "$tmp/xids/truth.csv" '
    { if (seen[$c["xid"]]++) again++; if (port[$c["xid"], $c["client_port"]]++) same++ }
    END { exit !(again > 500 && same > 300) }' || { echo "Bail out! no XID comes again"; exit 1; }
columns "$tmp/xids/truth.csv" '
    {
	printf "%s %s %s %s %s %s %.0f %.0f\n", $c["file_c_call_first"], $c["client_port"], $c["xid"],
	    $c["proc"], $c["proc"] == "GETATTR" ? "" : $c["offset"], $c["status"],
	    between("file_c_call_first", "file_c_reply_last"),
	    between("file_s_call_last", "file_s_reply_first")
    }' | sort >"$tmp/true"
columns "$tmp/xids/ops.csv" '
    $c["match"] == "matched" {
	print $c["time_ns"], $c["client_port"], $c["xid"], $c["proc"], $c["offset"], $c["status"],
	    $c["total_ns"], $c["server_ns"]
    }' | sort >"$tmp/told"
same "each call has its own times, however often its XID comes again"

# ---- a difference of zero ----

# One link without length: a call takes as long at the client as at the server,
# or up to 6 ns longer. (So the captures look like two of one side, which is told.)
trace zero --seed=6 --calls=400 --mix=GETATTR --delay=0 --line=0 --jitter=3ns \
    --service=GETATTR:uniform:1us:90us
columns "$tmp/zero/truth.csv" '
    { n[between("file_c_call_first", "file_c_reply_last") - between("file_s_call_last", "file_s_reply_first")]++ }
    END { for (d in n) print d, n[d] }' | sort -n >"$tmp/true"
grep -q '^0 ' "$tmp/true" || { echo "Bail out! no difference is zero"; exit 1; }
jq -r '.matched.rows[].network_ns.hist[] | "\(.[0]) \(.[1])"' "$tmp/zero/report.json" | sort -n >"$tmp/told"
same "a difference of zero is in the bucket of zero"
finish
