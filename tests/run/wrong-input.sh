#!/bin/sh
# What cannot be right: one clear line on standard error, the exit status of the
# manual page, nothing overwritten, and what was readable reported all the same.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

sample=$(cd "$srcdir/samples/healthy" && pwd)
cp "$sample/server.pcap" "$sample/client.pcap" "$tmp"
server=$tmp/server.pcap
client=$tmp/client.pcap
work=$tmp/work
mkdir "$work"

# diagnosed STATUS TEXT COMMAND...: exits with STATUS, says one line that holds
# TEXT, in the form of every diagnostic, and leaves no file in $work.
diagnosed()
{
	wanted=$1 text=$2
	shift 2
	run "$@"
	[ "$status" -eq "$wanted" ] &&
	    [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
	    grep -q '^nfscorr: [a-z]*: .' "$tmp/err" &&
	    grep -qF -e "$text" "$tmp/err" &&
	    [ -z "$(ls -A "$work")" ]
}

# refuse NAME STATUS TEXT COMMAND...: the same as a case, and no report.
refuse()
{
	name=$1
	shift
	ok=0
	{ diagnosed "$@" && [ ! -s "$tmp/out" ]; } || ok=1
	result "$ok" "$name"
}

# reports NAME STATUS TEXT WORDS COMMAND...: the same, and a report that holds WORDS.
reports()
{
	name=$1 report_status=$2 report_text=$3 words=$4
	shift 4
	ok=0
	{ diagnosed "$report_status" "$report_text" "$@" && grep -qF -e "$words" "$tmp/out"; } || ok=1
	result "$ok" "$name"
}

# ---- the command line ----

refuse "no argument" 2 "no capture" "$NFSCORR"
refuse "an unknown long option" 2 "--frobnicate" "$NFSCORR" --frobnicate "$server" "$client"
refuse "an unknown short option" 2 "-x" "$NFSCORR" -x "$server" "$client"
refuse "an unknown option behind the files" 2 "--frobnicate" \
    "$NFSCORR" "$server" "$client" --frobnicate
refuse "an option without its value" 2 "--top" "$NFSCORR" "$server" "$client" --top
refuse "a value for an option that takes none" 2 "--swap" "$NFSCORR" --swap=yes "$server" "$client"
for value in "" x 1x -1 1.5 99999999999999999999; do
	refuse "--top=$value" 2 "--top=$value" "$NFSCORR" "--top=$value" "$server" "$client"
	refuse "--clock=$value" 2 "--clock=$value" "$NFSCORR" "--clock=${value}n" "$server" "$client"
done
for value in "" 0 x -1 4x 1.5 99999999999999999999; do
	refuse "--threads=$value" 2 "--threads=$value" \
	    "$NFSCORR" "--threads=$value" "$server" "$client"
	refuse "--max-memory=$value" 2 "--max-memory=$value" \
	    "$NFSCORR" "--max-memory=$value" "$server" "$client"
done
refuse "--max-memory beyond all bounds" 2 "--max-memory" \
    "$NFSCORR" --max-memory=99999999999T "$server" "$client"
refuse "--side of nobody" 2 "--side=middle" "$NFSCORR" --side=middle "$server"
refuse "--side with two captures" 2 "--side" "$NFSCORR" --side=server "$server" "$client"
refuse "--swap with one capture" 2 "--swap" "$NFSCORR" --swap "$server"
refuse "--color of no kind" 2 "--color=pink" "$NFSCORR" --color=pink "$server" "$client"
refuse "--how-to-capture on nothing known" 2 "--how-to-capture=vms" "$NFSCORR" --how-to-capture=vms
refuse "a filter that is none" 2 "filter" "$NFSCORR" --filter='tcp porridge' "$server" "$client"
for name in ops ops.txt ops.csv.gz ops.json; do
	refuse "--ops=$name" 2 "--ops" "$NFSCORR" --ops="$work/$name" "$server" "$client"
done
refuse "named and unnamed captures" 2 "--server" "$NFSCORR" --server="$server" "$client"

check "--json in front of the files takes neither of them" \
    sh -c '"$1" --json "$2" "$3" | jq -e ".captures | length == 2" && cmp "$2" "$4"' - \
    "$NFSCORR" "$server" "$client" "$sample/server.pcap"

# ---- inputs that are no captures ----

echo "this is not a capture" >"$tmp/text.pcap"
: >"$tmp/empty.pcap"
mkdir "$tmp/folder" "$tmp/texts"
echo "no capture either" >"$tmp/texts/a.pcap"

refuse "the server's capture alone is missing, and so is the client's" 1 "$tmp/none.pcap" \
    "$NFSCORR" --side=server "$tmp/none.pcap"
reports "the server's capture is missing" 1 "$tmp/none.pcap" "RAW DATA: CLIENT" \
    "$NFSCORR" "$tmp/none.pcap" "$client"
reports "the client's capture is missing" 1 "$tmp/none.pcap" "RAW DATA: SERVER" \
    "$NFSCORR" "$server" "$tmp/none.pcap"
reports "a text file" 1 "$tmp/text.pcap" "RAW DATA: SERVER" \
    "$NFSCORR" "$server" "$tmp/text.pcap"
reports "an empty file" 1 "$tmp/empty.pcap" "RAW DATA: SERVER" \
    "$NFSCORR" "$server" "$tmp/empty.pcap"
refuse "a folder without captures" 1 "$tmp/folder" "$NFSCORR" --side=server "$tmp/folder"
refuse "a folder of texts" 1 "$tmp/texts/a.pcap" "$NFSCORR" --side=server "$tmp/texts"

# What a rotation that was interrupted leaves behind.
mkdir "$tmp/rotated"
cp "$server" "$tmp/rotated/a.pcap"
: >"$tmp/rotated/b.pcap"
reports "an empty file among rotated ones" 0 "b.pcap: empty" "RPC calls 500 = answered 500" \
    "$NFSCORR" "$tmp/rotated" "$client"
head -c 20 "$server" >"$tmp/rotated/b.pcap"
reports "one that ends in its header" 0 "b.pcap: ends inside its file header" "RPC calls 500 = answered 500" \
    "$NFSCORR" "$tmp/rotated" "$client"
echo "notes" >"$tmp/rotated/b.pcap"
reports "one that is no capture" 0 "b.pcap: a text file" "RPC calls 500 = answered 500" \
    "$NFSCORR" "$tmp/rotated" "$client"

cp "$server" "$tmp/rotated/b.pcap"
reports "rotated files of which the filter leaves nothing" 3 "no NFS call was found in $tmp/rotated/a.pcap" \
    "a.pcap: pcap" "$NFSCORR" --filter='udp port 9' --side=server "$tmp/rotated"

if [ "$(id -u)" -eq 0 ]; then
	unreadable=$tmp/loop.pcap
	ln -s loop.pcap "$unreadable"
else
	unreadable=$tmp/locked.pcap
	cp "$client" "$unreadable"
	chmod 000 "$unreadable"
fi
reports "a file that may not be read" 1 "$unreadable" "RAW DATA: SERVER" \
    "$NFSCORR" "$server" "$unreadable"

refuse "the same file twice" 2 "same file" "$NFSCORR" "$server" "$server"
ln -s server.pcap "$tmp/link.pcap"
refuse "the same file twice under two names" 2 "same file" "$NFSCORR" "$server" "$tmp/link.pcap"
ln "$server" "$tmp/hard.pcap"
refuse "the same file twice by a hard link" 2 "same file" "$NFSCORR" "$tmp/hard.pcap" "$server"

# ---- files that end early ----

# cut_at BYTES: a report of what is whole, and one line about the file.
cut_at()
{
	head -c "$1" "$sample/client.pcap" >"$tmp/cut.pcap"
	reports "a client's capture cut after $1 bytes" "$2" "$tmp/cut.pcap" "RAW DATA: SERVER" \
	    "$NFSCORR" "$server" "$tmp/cut.pcap"
}
for bytes in 1 4 23; do
	cut_at "$bytes" 1
done
# In the header of a packet, in a packet, deep inside.
for bytes in 25 39 40 41 100 1000 50001 150000 274617; do
	head -c "$bytes" "$sample/client.pcap" >"$tmp/cut.pcap"
	run "$NFSCORR" --json "$server" "$tmp/cut.pcap"
	ok=0
	{ [ "$status" -eq 0 ] || [ "$status" -eq 3 ]; } || ok=1
	jq -e '.captures[0].rpc.calls == 500 and (.captures[1].trouble | length > 0)' \
	    "$tmp/out" >>"$tmp/why" 2>&1 || ok=1
	grep -qF -e "$tmp/cut.pcap" "$tmp/err" || ok=1
	result "$ok" "a capture cut after $bytes bytes: what is whole, and a line about it"
done
head -c 150000 "$sample/client.pcap" >"$tmp/cut.pcap"
check_says "calls in front of the cut are matched" "MATCHED DATA" \
    "$NFSCORR" "$server" "$tmp/cut.pcap"

# ---- nothing in common ----

"$TRACEMAKER" --output="$tmp/other" --seed=99 --calls=40 --read=512 --write=512
run "$NFSCORR" "$server" "$tmp/other/client.pcap"
ok=0
{ [ "$status" -eq 3 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
    grep -qF "no call is in both captures" "$tmp/err" &&
    grep -qF "RAW DATA: SERVER" "$tmp/out" && grep -qF "RAW DATA: CLIENT" "$tmp/out"; } || ok=1
result "$ok" "two captures without a common call: exit 3, and both sides' tables"
run "$NFSCORR" --json "$server" "$tmp/other/client.pcap"
check "and the same in JSON" jq -e '.matched.calls == 0 and
    .captures[0].rpc.calls == 500 and .captures[1].rpc.calls == 40 and
    .verdict.component == "none"' "$tmp/out"

# ---- outputs ----

for option in --json --ops; do
	cp "$sample/client.pcap" "$tmp/in.csv"
	refuse "$option on an input" 2 "$tmp/in.csv" \
	    "$NFSCORR" "$option=$tmp/in.csv" "$server" "$tmp/in.csv"
	check "which is what it was" cmp "$tmp/in.csv" "$sample/client.pcap"
	ln -s in.csv "$tmp/to-in.csv"
	refuse "$option on an input by another name" 2 "would be overwritten" \
	    "$NFSCORR" "$option=$tmp/to-in.csv" "$server" "$tmp/in.csv"
	check "which is what it was" cmp "$tmp/in.csv" "$sample/client.pcap"
	rm "$tmp/to-in.csv"
	run "$NFSCORR" "$option=$tmp/no/such/folder/o.csv" "$server" "$client"
	ok=0
	{ [ "$status" -eq 1 ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
	    grep -q '^nfscorr: [a-z]*: cannot write ' "$tmp/err"; } || ok=1
	result "$ok" "$option into a folder that is not there: refused before there is a report"
	run "$NFSCORR" "$option=$tmp" "$server" "$client"
	ok=0
	{ [ "$status" -ne 0 ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ]; } || ok=1
	result "$ok" "$option onto a folder"
done
refuse "one file for --json and --ops" 2 "same file" \
    "$NFSCORR" --json="$work/o.csv" --ops="$work/o.csv" "$server" "$client"

ln -s /dev/full "$tmp/full.csv"
for option in --json --ops; do
	run "$NFSCORR" "$option=$tmp/full.csv" "$server" "$client"
	ok=0
	{ [ "$status" -eq 1 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
	    grep -q '^nfscorr: [a-z]*: cannot write ' "$tmp/err" &&
	    grep -q "MATCHED DATA" "$tmp/out"; } || ok=1
	result "$ok" "$option onto a full disk"
done
check "the link to the full disk is still one" test -h "$tmp/full.csv"
run sh -c '"$1" "$2" "$3" >/dev/full' - "$NFSCORR" "$server" "$client"
ok=0
{ [ "$status" -eq 1 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
    grep -q '^nfscorr: [a-z]*: cannot write standard output' "$tmp/err"; } || ok=1
result "$ok" "standard output onto a full disk"
# A reader that has gone: the write end is opened while somebody still reads.
mkfifo "$tmp/pipe"
run sh -c 'exec 3<>"$4"; exec 4>"$4"; exec 5<"$4"; exec 3>&- 5<&-; exec "$1" "$2" "$3" >&4' - \
    "$NFSCORR" "$server" "$client" "$tmp/pipe"
ok=0
{ [ "$status" -eq 1 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ]; } || ok=1
result "$ok" "a pipe that nobody reads"

echo old >"$work/kept.json"
check "an output that was there is replaced" \
    sh -c '"$1" --json="$2" "$3" "$4" && jq -e .schema "$2"' - \
    "$NFSCORR" "$work/kept.json" "$server" "$client"
check "and nothing is left beside it" test "$(ls -A "$work")" = kept.json
rm "$work/kept.json"

# ---- signals ----

# stopped SIGNAL STATUS: the client's capture is a FIFO that never ends, so that
# the program is surely running; nothing is left behind.
stopped()
{
	rm -f "$tmp/endless"
	mkfifo "$tmp/endless"
	# under nohup, say, a signal is ignored by all that is started
	env --default-signal="$1" "$NFSCORR" --json="$work/o.json" --ops="$work/o.csv" "$server" "$tmp/endless" \
	    >"$tmp/out" 2>"$tmp/err" &
	pid=$!
	# Opens when the program has opened the other end; it has read the start
	# before it waits for more.
	exec 3>"$tmp/endless"
	head -c 100000 "$sample/client.pcap" >&3
	kill -s "$1" "$pid"
	status=0
	wait "$pid" || status=$?
	exec 3>&-
	{
		echo "status: $status"
		cat "$tmp/out" "$tmp/err"
		ls -A "$work"
	} >"$tmp/why"
	ok=0
	{ [ "$status" -eq "$2" ] && [ -z "$(ls -A "$work")" ]; } || ok=1
	result "$ok" "SIG$1 while reading: status $2, no output and no temporary"
	rm -f "$work"/*
}
stopped TERM 143
stopped HUP 129

# ---- streams ----

"$NFSCORR" --json "$server" "$client" >"$tmp/files.json"
"$NFSCORR" --json "$server" - <"$client" >"$tmp/stdin.json"
mkfifo "$tmp/client.fifo"
cat "$client" >"$tmp/client.fifo" &
"$NFSCORR" --json "$server" "$tmp/client.fifo" >"$tmp/fifo.json"
for how in files stdin fifo; do
	jq '.matched, .sides, .attribution' "$tmp/$how.json" >"$tmp/$how"
done
check "standard input is a capture like any other" cmp "$tmp/files" "$tmp/stdin"
check "a FIFO is a capture like any other" cmp "$tmp/files" "$tmp/fifo"
refuse "standard input twice" 2 "same file" "$NFSCORR" - -
reports "an empty standard input" 1 "standard input" "RAW DATA: SERVER" "$NFSCORR" "$server" -
finish
