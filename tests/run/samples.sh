#!/bin/sh
# The samples: made again they are the same bytes, the report says of them what
# the truth says, and it looks as it did when it was last read by a human.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

samples=$(cd "$srcdir/samples" && pwd)
golden=$(cd "$srcdir/tests/run/golden" && pwd)

# make_again STORY: runs the command that samples/README shows, in $tmp.
make_again()
{
	sed -n "/^    tracemaker --output=$1 /,/^\$/p" "$samples/README" |
	    tr -d '\\\n' | sed 's/^ *tracemaker//' >"$tmp/arguments"
	# shellcheck disable=SC2046 # words
	(cd "$tmp" && "$TRACEMAKER" $(cat "$tmp/arguments"))
}

# true_rows FILE: of each procedure its count and, for total, server and network:
# sum, least, p50, p95, p99 (nearest rank), most. One value a line, sorted.
true_rows()
{
	awk -F, '
	# Seconds and the rest apart: a stamp does not fit into a double.
	function between(from, to,  seconds) {
		seconds = substr($c[to], 1, 10) - substr($c[from], 1, 10)
		return seconds * 1000000000 + substr($c[to], 11) - substr($c[from], 11)
	}
	NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
	$c["seen_server"] == "full" && $c["seen_client"] == "full" {
		total = between("file_c_call_first", "file_c_reply_last")
		server = between("file_s_call_last", "file_s_reply_first")
		printf "%s total %.0f\n", $c["proc"], total
		printf "%s server %.0f\n", $c["proc"], server
		printf "%s network %.0f\n", $c["proc"], total - server
	}' "$1" | LC_ALL=C sort -k 1,1 -k 2,2 -k 3,3n | awk '
	function flush(  p) {
		if (n == 0)
			return
		printf "%s count %d\n%s sum %.0f\n", key, n, key, sum
		printf "%s min %.0f\n%s max %.0f\n", key, v[1], key, v[n]
		for (p = 1; p <= 3; p++) {
			rank = int(n * q[p])
			if (rank < n * q[p])
				rank++
			printf "%s %s %.0f\n", key, name[p], v[rank]
		}
		n = sum = 0
	}
	BEGIN { q[1] = 0.5; q[2] = 0.95; q[3] = 0.99; name[1] = "p50"; name[2] = "p95"; name[3] = "p99" }
	{
		if ($1 " " $2 != key)
			flush()
		key = $1 " " $2
		v[++n] = $3
		sum += $3
	}
	END { flush() }' | LC_ALL=C sort
}

# told_rows FILE: the same out of a report.
told_rows()
{
	jq -r '.matched.rows[] | .proc as $p | to_entries[] |
	    select(.key | IN("total_ns", "server_ns", "network_ns")) |
	    (.key | rtrimstr("_ns")) as $k | .value | to_entries[] |
	    select(.key | IN("count", "sum", "min", "max", "p50", "p95", "p99")) |
	    "\($p) \($k) \(.key) \(.value)"' "$1" | LC_ALL=C sort
}

# agree TRUE TOLD: the same lines; quantiles within one part in a hundred.
agree()
{
	paste -d ' ' "$1" "$2" | awk '
	$1 != $5 || $2 != $6 || $3 != $7 { print; bad = 1; next }
	$3 ~ /^p/ {
		off = $4 - $8
		if (off < 0)
			off = -off
		if (off > 0.01 * $4) { print; bad = 1 }
		next
	}
	$4 != $8 { print; bad = 1 }
	END { exit bad || NR == 0 }'
}

# offset_agrees TRUTH REPORT: the printed clock offset plus or minus its error
# holds an offset of the truth.
offset_agrees()
{
	awk -F, -v at="$(jq '.clock[0].offset_ns' "$2")" \
	    -v error="$(jq '.clock[0].error_ns' "$2")" '
	NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
	$c["offset_ns"] >= at - error && $c["offset_ns"] <= at + error { found = 1 }
	END { exit !found }' "$1"
}

# books_close REPORT CALLS: on both sides every call is answered.
books_close()
{
	jq -e --argjson n "$2" '[.captures[].rpc | .calls == $n and .answered == $n and
	    .unanswered + .lost_in_capture + .in_flight + .evicted == 0] | all and length == 2' \
	    "$1"
}

# verdict REPORT COMPONENT SERVER-SUM TOTAL-SUM
verdict()
{
	jq -e --arg component "$2" --argjson server "$3" --argjson total "$4" '
	    .verdict.component == $component and
	    (.attribution.by_time.server - $server / $total | fabs) < 0.000001' "$1"
}

# sum_of FILE PART: over all procedures.
sum_of()
{
	awk -v part="$2" '$2 == part && $3 == "sum" { sum += $4 } END { printf "%.0f\n", sum }' "$1"
}

in_samples()
{
	(cd "$samples" && "$NFSCORR" "$@")
}

# Without the time of the day, and a value a line, so that a difference shows.
without_date()
{
	in_samples --json "$@" | sed 's/"generated_ns":[0-9]*/"generated_ns":0/' |
	    jq 'walk(if type == "object" then del(.hist) else . end)'
}

# try STORY COMPONENT CALLS
try()
{
	story=$1
	make_again "$story"
	for side in server client; do
		check "$story: the $side's capture is what the README's command makes" \
		    cmp "$tmp/$story/$side.pcap" "$samples/$story/$side.pcap"
	done
	report=$tmp/$story.json
	check "$story: a report" "$NFSCORR" --json="$report" \
	    "$samples/$story/server.pcap" "$samples/$story/client.pcap"
	true_rows "$tmp/$story/truth.csv" >"$tmp/true"
	told_rows "$report" >"$tmp/told"
	check "$story: every row is the truth" agree "$tmp/true" "$tmp/told"
	check "$story: the offset lies inside its bound" \
	    offset_agrees "$tmp/$story/truth.csv" "$report"
	check "$story: the books close" books_close "$report" "$3"
	check "$story: the verdict" verdict "$report" "$2" \
	    "$(sum_of "$tmp/true" server)" "$(sum_of "$tmp/true" total)"
	check_output "$story: the text" "$golden/$story.txt" \
	    in_samples "$story/server.pcap" "$story/client.pcap"
	check_output "$story: the JSON" "$golden/$story.json" \
	    without_date "$story/server.pcap" "$story/client.pcap"
}

try thread-saturation server 600
try slot-saturation server 600
try slow-network network 350
try healthy server 500
try case-threads server 1800
try case-slots server 1400
try case-storage server 600
finish
