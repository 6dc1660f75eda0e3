#!/bin/sh
# How live runs end, and what they leave: signals, a time, a number of calls, a
# reader that goes away or stops, an interface that goes, the other side's
# stream that stalls, ends, breaks or never comes. Traffic is the samples'
# captures, replayed onto an interface in a network namespace. Needs root, and
# packages that only tests/run.sh --all installs.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"
samples=$(cd "${srcdir:-.}/samples" && pwd)

host=nfscorr-ends-$$
pid=

# on COMMAND...; not for the background, where a signal must reach the command itself
on()
{
	ip netns exec "$host" "$@"
}

clean()
{
	for left in $(ip netns pids "$host" 2>/dev/null); do
		kill -KILL "$left" 2>/dev/null || :
	done
	ip netns del "$host" 2>/dev/null || :
	rm -rf "$tmp"
}
trap clean EXIT

# What is sent on an interface is captured as it is sent: nothing can be lost on the way.
make_host()
{
	ip netns add "$host"
	ip -n "$host" link add nfs0 type veth peer name wire
	for link in lo nfs0 wire; do
		ip -n "$host" link set "$link" up
	done
	chmod 755 "$tmp"
}

# until_line FILE TEXT: waits until a file that is being written has the text.
until_line()
{
	# shellcheck disable=SC2016 # for the shell that is timed
	timeout 60 sh -c 'until grep -qs -- "$2" "$1"; do :; done' sh "$1" "$2"
}

# live_into FILE ARGUMENT...: in the background, until it listens; $pid is it.
live_into()
{
	: >"$tmp/live.err"
	into=$1
	shift
	ip netns exec "$host" "$NFSCORR" -i nfs0 "$@" >"$into" 2>"$tmp/live.err" &
	pid=$!
	until_line "$tmp/live.err" 'listening on nfs0'
}

live()
{
	: >"$tmp/live.out"
	live_into "$tmp/live.out" "$@"
}

# ended STATUS: the run ends by itself, with that.
ended()
{
	code=0
	wait "$pid" || code=$?
	[ "$code" -eq "$1" ] || { echo "status $code"; cat "$tmp/live.err"; return 1; }
}

# reported FILE EXPRESSION: asked for again and again, the report in the file comes to that.
reported()
{
	# shellcheck disable=SC2016 # for the shell that is timed
	timeout 60 sh -c 'until kill -USR1 "$1" && jq -e "$3" "$2"; do :; done >/dev/null 2>&1' sh "$pid" "$@" ||
	    { jq '.captures[0] | {packets, dropped_by_kernel, rpc}' "$1"; return 1; }
}

replay()
{
	on tcpreplay -q -t -i nfs0 "$samples/$1" >/dev/null 2>&1
}

# report EXPRESSION: jq says true of the last line on standard output, a report.
report()
{
	tail -n 1 "$tmp/live.out" | jq -e 'select(.schema == "nfscorr-report/1") | '"$1"
}

all='.captures[-1].rpc.calls == 500 and .captures[-1].rpc.answered == 500'

make_host

# ---- what cannot be read or written ----

# refused TEXT ARGUMENT...: no run begins, and one line says why.
refused()
{
	text=$1
	shift
	code=0
	on timeout 60 "$NFSCORR" -i nfs0 "$@" >"$tmp/live.out" 2>"$tmp/live.err" || code=$?
	[ "$code" -eq 1 ] && [ ! -s "$tmp/live.out" ] && [ "$(wc -l <"$tmp/live.err")" -eq 1 ] && grep -qF -e "$text" "$tmp/live.err"
}

check "a stream that is not there" refused "$tmp/nothing: No such file" "$tmp/nothing"
check "files of a stream that are not there" refused 'No such file' "$tmp/nothing*.pcap"
check "a stream that is no capture" refused 'live.sh' "$samples/../tests/real/live.sh"
for option in --json= --ops= --write=; do
	check "$option in a folder that is not there" refused 'cannot write' "$option$tmp/no/folder.csv"
done

# ---- pipes that nobody reads ----

# processes COUNT: waits until so many are on the host, the program's and that which opens.
processes()
{
	# shellcheck disable=SC2016 # for the shell that is timed
	timeout 60 sh -c 'until [ "$(ip netns pids "$1" | wc -l)" -eq "$2" ]; do :; done' sh "$host" "$1"
}

# asked COUNT: waits until the program has so often waited for something, as it does while it asks for a reader again and again.
asked()
{
	# shellcheck disable=SC2016 # for the shell that is timed
	timeout 60 sh -c 'until [ "$(awk "/^voluntary/ { print \$2 }" "/proc/$1/status")" -ge "$2" ]; do :; done' sh "$pid" "$1"
}

mkfifo "$tmp/records.csv" "$tmp/report"
for option in --ops --write; do
	for end in TERM:143 KILL:137; do
		ip netns exec "$host" "$NFSCORR" -i nfs0 "$option=$tmp/records.csv" 2>"$tmp/live.err" &
		pid=$!
		processes 2
		asked 40
		kill "-${end%:*}" "$pid"
		check "SIG${end%:*} ends a run that waits for the reader of $option" ended "${end#*:}"
		check "SIG${end%:*} $option: and the process that opens for it" processes 0
	done
done
# What is asked for before anything can be reported is kept in mind.
ip netns exec "$host" "$NFSCORR" -i nfs0 --json --interval=600 --ops="$tmp/records.csv" >"$tmp/live.out" 2>"$tmp/live.err" &
pid=$!
processes 2
kill -USR1 "$pid"
cat "$tmp/records.csv" >"$tmp/records" &
check "a report that was asked for early comes" until_line "$tmp/live.out" nfscorr-report
kill -INT "$pid"
check "and the run goes on until it is told to end" ended 3
live --json --json="$tmp/report"
kill -USR1 "$pid"
until_line "$tmp/live.out" nfscorr-report
check "a report so far does not wait for the reader of its pipe" kill -INT "$pid"
cat "$tmp/report" >"$tmp/report.json"
check "the last one does" ended 3
check "and comes" grep -q nfscorr-report "$tmp/report.json"

# ---- signals ----

# A packet that was sent has not yet come: each waits until all have.
for signal in INT TERM HUP; do
	live --json --json="$tmp/$signal.json"
	replay healthy/client.pcap
	reported "$tmp/$signal.json" "$all"
	kill "-$signal" "$pid"
	check "SIG$signal ends a run" ended 0
	check "SIG$signal: the report has all calls" report "$all"
done

live
kill -INT "$pid"
check "without an NFS call the status is 3" ended 3
check "and the report says so" grep -q 'no NFS call was found in nfs0' "$tmp/live.out"

live --json --interval=0.2 --json="$tmp/so-far.json"
replay healthy/client.pcap
check "SIGUSR1 makes a report in the file" reported "$tmp/so-far.json" "$all"
check "and as a line" sh -c "grep nfscorr-report/1 '$tmp/live.out' | jq -se 'any(.[]; $all)'"
replay healthy/client.pcap
check "the run goes on after it" reported "$tmp/so-far.json" '.captures[0].packets == 3262'
kill -INT "$pid"
check "and ends with a report" ended 0
check "its last report has what came after, too" report '.captures[0].packets == 3262'

# A file that became a pipe nobody reads keeps who writes it waiting, as a file server may.
live --json --interval=0.2 --json="$tmp/slow.json"
kill -USR1 "$pid"
until_line "$tmp/slow.json" nfscorr-report
rm "$tmp/slow.json"
mkfifo "$tmp/slow.json"
kill -USR1 "$pid"
replay healthy/client.pcap
check "a file that is not written keeps no capture waiting" until_line "$tmp/live.out" '"proc":"READ"'
kill -USR1 "$pid"
check "a report that comes meanwhile is left out" until_line "$tmp/live.err" 'slow.json is still being written'
kill -INT "$pid"
exec 4<>"$tmp/slow.json"
cat <&4 >"$tmp/slow" &
reader=$!
exec 4<&-
check "the end waits for the file" ended 0
# shellcheck disable=SC2016 # for the shell that is timed
check "what was late and the last report are there" timeout 60 sh -c \
    'until jq -es "map(.captures[0].rpc.answered) | length == 2 and .[1] == 500" "$1"; do :; done' sh "$tmp/slow"
kill "$reader"
wait "$reader" || :

# ---- a time, a number ----

live --json --duration=1
replay healthy/client.pcap
check "--duration ends a run" ended 0
check "--duration: the report has all calls" report "$all"

live --json --count=100
replay healthy/client.pcap
check "--count ends a run" ended 0
check "--count: about as many calls" report '.captures[0].rpc.answered | . >= 100 and . < 200'

# ---- readers ----

mkfifo "$tmp/reader"
sed '/"proc":"READ"/q' <"$tmp/reader" >/dev/null &
live_into "$tmp/reader" --json --interval=0.2 --json="$tmp/closed.json" --ops="$tmp/closed.csv"
replay healthy/client.pcap
check "a reader that goes away ends a run" ended 0
check "a reader that goes away: the report is in its file" jq -e "$all" "$tmp/closed.json"
check "a reader that goes away: so are all calls in theirs" sh -c "[ \$(wc -l <'$tmp/closed.csv') -eq 501 ]"

# Nobody reads: the pipe is full after some intervals, and the capture goes on.
mkfifo "$tmp/stopped"
exec 4<>"$tmp/stopped"
live_into "$tmp/stopped" --json --interval=0.1 --json="$tmp/stopped.json"
for _ in 1 2 3 4 5 6 7 8 9 10; do
	replay healthy/client.pcap
done
check "a reader that stops costs no packet" reported "$tmp/stopped.json" '.captures[0].packets == 16310'
kill -INT "$pid"
cat <&4 >"$tmp/live.out" &
reader=$!
exec 4<&-
check "the report comes once it is read" ended 0
kill "$reader" 2>/dev/null || :
wait "$reader" || :

# ---- the interface ----

live --json --json="$tmp/down.json"
replay healthy/client.pcap
reported "$tmp/down.json" "$all"
ip -n "$host" link set nfs0 down
check "an interface that goes down ends a run" ended 0
check "an interface that goes down: the report has all calls" report "$all"
ip -n "$host" link set nfs0 up

live --json
ip -n "$host" link del nfs0
check "an interface that disappears ends a run" ended 3
check "and its name is said" grep -q 'nfs0: ' "$tmp/live.err"
ip -n "$host" link add nfs0 type veth peer name wire
ip -n "$host" link set nfs0 up
ip -n "$host" link set wire up

# ---- the other side's stream ----

mkfifo "$tmp/stream"
live --json --interval=0.2 "$tmp/stream"
exec 5>"$tmp/stream"
head -c 100000 "$samples/healthy/server.pcap" >&5
replay healthy/client.pcap
until_line "$tmp/live.out" '"proc":"READ"'
kill -INT "$pid"
# its clock is a year behind, and what came of it was too little to find that
check "a stream that stalls in a packet does not keep a run from its end" ended 3
check "a stream that stalls: this side has all calls" report "$all"
exec 5>&-

live --json --interval=0.2 "$tmp/stream"
replay healthy/client.pcap
until_line "$tmp/live.out" '"proc":"READ"'
kill -INT "$pid"
check "a stream that nobody writes does not either" ended 0
check "a stream that nobody writes: the report is of one side" report '(.captures | length) == 1 and '"$all"

live --json --interval=0.2 "$tmp/stream"
echo 'ssh: connect to host srv port 22: Connection refused' >"$tmp/stream"
until_line "$tmp/live.err" 'stream has ended'
replay healthy/client.pcap
until_line "$tmp/live.out" '"proc":"READ"'
kill -INT "$pid"
check "a stream that is no capture is left out" ended 0
check "and why is said" grep -q 'a text file, not a capture' "$tmp/live.err"
check "a stream that is no capture: the report is of one side" report '(.captures | length) == 1 and '"$all"

# The same calls, at once and stamped a year before: tcpreplay's pace is its own, so that not all agree.
live --json --interval=0.2 "$tmp/stream"
cat "$samples/healthy/server.pcap" >"$tmp/stream"
until_line "$tmp/live.err" 'stream has ended'
replay healthy/client.pcap
until_line "$tmp/live.out" '"proc":"READ"'
kill -INT "$pid"
wait "$pid" || :
check "a stream that is early and over is in the report" report '(.captures | length) == 2 and .captures[0].rpc.calls == 500'

finish
