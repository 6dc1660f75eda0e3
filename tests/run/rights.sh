#!/bin/sh
# The rights of a program that reads a capture, as the kernel tells them: of the
# program while it waits for a FIFO, and of its keeper.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

sample=$(cd "$srcdir/samples/healthy" && pwd)
cp "$sample/server.pcap" "$sample/client.pcap" "$tmp"
# Another user is to run it, too.
cp "$NFSCORR" "$tmp/nfscorr"
chmod 755 "$tmp"
NFSCORR=$tmp/nfscorr
server=$tmp/server.pcap
client=$tmp/client.pcap
mkdir "$tmp/written"
chmod 777 "$tmp/written"
root=$([ "$(id -u)" -eq 0 ] && echo yes || echo no)
# A build with sanitizers or coverage does not give up all, and says so.
"$NFSCORR" -v "$server" "$client" >/dev/null 2>"$tmp/said"
filtered=yes changes=yes
! grep -q 'not filtered: a build with' "$tmp/said" || filtered=no
! grep -q 'still root: a build with' "$tmp/said" || changes=no

# field FILE NAME: what /proc/PID/status has behind NAME.
field()
{
	awk -v name="$2:" '$1 == name { $1 = ""; sub(/^ */, ""); print }' "$1"
}

# caught COMMAND...: while it waits for the rest of $tmp/fifo, the status of the
# program in $tmp/status, that of its keeper in $tmp/keeper, whose descriptors
# are in $tmp/descriptors. It ends by itself then; $pid and $keeper were they.
caught()
{
	rm -f "$tmp/fifo"
	mkfifo -m 666 "$tmp/fifo"
	"$@" >"$tmp/report" 2>"$tmp/err" &
	pid=$!
	exec 3>"$tmp/fifo"
	# more than a pipe holds: it has been read when this has been written
	cat "$client" >&3
	cat "/proc/$pid/status" >"$tmp/status"
	keeper=$(cat "/proc/$pid/task/$pid/children")
	keeper=${keeper%% *}
	cat "/proc/$keeper/status" >"$tmp/keeper"
	for link in "/proc/$keeper/fd"/*; do
		readlink "$link" || :
	done >"$tmp/descriptors"
	exec 3>&-
	status=0
	wait "$pid" || status=$?
	{
		echo "command: $*, status $status"
		grep -E '^(Uid|Gid|Groups|Cap|NoNew|Seccomp)' "$tmp/status" "$tmp/keeper"
		cat "$tmp/descriptors" "$tmp/err"
	} >"$tmp/why"
}

# rights NAME UID GID: those of the program, with no group beside.
rights()
{
	ok=0
	[ "$changes" = no ] || [ "$(field "$tmp/status" Uid)" = "$2 $2 $2 $2" ] || ok=1
	[ "$changes" = no ] || [ "$(field "$tmp/status" Gid)" = "$3 $3 $3 $3" ] || ok=1
	[ "$changes" = no ] || [ "$root" = no ] || [ -z "$(field "$tmp/status" Groups)" ] || ok=1
	for set in CapInh CapPrm CapEff CapAmb; do
		[ "$(field "$tmp/status" $set)" = 0000000000000000 ] || ok=1
	done
	[ "$(field "$tmp/status" NoNewPrivs)" = 1 ] || ok=1
	[ "$filtered" = no ] || [ "$(field "$tmp/status" Seccomp)" = 2 ] || ok=1
	[ "$status" -eq 0 ] || ok=1
	result "$ok" "$1"
}

# keeps NAME CAPABILITIES: the keeper's.
keeps()
{
	ok=0
	[ "$(field "$tmp/keeper" CapEff)" = "$2" ] && [ "$(field "$tmp/keeper" CapPrm)" = "$2" ] || ok=1
	[ "$(field "$tmp/keeper" NoNewPrivs)" = 1 ] || ok=1
	[ "$filtered" = no ] || [ "$(field "$tmp/keeper" Seccomp)" = 2 ] || ok=1
	# standard input, output and error are the root folder, which is not to be read; and the socket
	grep -q '^socket:' "$tmp/descriptors" && [ "$(grep -vc '^socket:' "$tmp/descriptors")" -eq 3 ] &&
	    [ "$(sort -u "$tmp/descriptors" | grep -v '^socket:')" = / ] || ok=1
	[ ! -e "/proc/$keeper" ] || ok=1
	result "$ok" "$1"
}

# Who is no more than a user.
run_user=$(id -u) run_group=$(id -g)
as_user=
if [ "$root" = yes ]; then
	run_user=1234 run_group=2345
	as_user="setpriv --reuid=1234 --regid=2345 --clear-groups"
fi
# shellcheck disable=SC2086 # words
caught $as_user "$NFSCORR" "$server" "$tmp/fifo"
rights "a user stays who he is, and can do no more than read" "$run_user" "$run_group"
keeps "his keeper has no capabilities, ends with the program and holds nothing" 0000000000000000

if [ "$root" = yes ]; then
	nobody=$(id -u nobody) nogroup=$(id -g nobody)
	caught env -u SUDO_UID -u SUDO_GID "$NFSCORR" "$server" "$tmp/fifo"
	rights "root becomes nobody" "$nobody" "$nogroup"
	# CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
	keeps "root's keeper has the capabilities for files" 000000000000000f
	caught env SUDO_UID=1234 SUDO_GID=2345 "$NFSCORR" "$server" "$tmp/fifo"
	rights "under sudo root becomes its caller" 1234 2345
	caught env SUDO_UID=1234 SUDO_GID=2345 "$NFSCORR" -Z nobody "$server" "$tmp/fifo"
	rights "or another, with -Z" "$nobody" "$nogroup"
	caught env SUDO_UID=0 SUDO_GID=0 "$NFSCORR" "$server" "$tmp/fifo"
	rights "root who called sudo becomes nobody" "$nobody" "$nogroup"
	caught env SUDO_UID=12x SUDO_GID=2345 "$NFSCORR" "$server" "$tmp/fifo"
	rights "a caller who is no number is none" "$nobody" "$nogroup"

	# what only root can read or write
	chmod 600 "$server" "$client"
	mkdir -m 700 "$tmp/roots"
	check "root reads and writes what is root's alone" env SUDO_UID=1234 SUDO_GID=2345 \
	    "$NFSCORR" --json="$tmp/roots/r.json" --ops="$tmp/roots/o.csv" "$server" "$client"
	check "outputs are those of sudo's caller" \
	    test "$(stat -c %u:%g "$tmp/roots/r.json" "$tmp/roots/o.csv" | sort -u)" = 1234:2345
	check "and nothing is left beside them" test "$(ls -A "$tmp/roots" | wc -l)" -eq 2
	check "without sudo they are root's" sh -c '
	    env -u SUDO_UID -u SUDO_GID "$1" --json="$2" "$3" "$4" && test "$(stat -c %u:%g "$2")" = 0:0' - \
	    "$NFSCORR" "$tmp/roots/r.json" "$server" "$client"
	ln -s "$tmp/roots/victim" "$tmp/written/link.json"
	echo precious >"$tmp/roots/victim"
	check "a link in the place of an output is not followed" sh -c '
	    env SUDO_UID=1234 SUDO_GID=2345 "$1" --json="$2" "$3" "$4" && grep -q precious "$5" && jq -e .schema "$2"' - \
	    "$NFSCORR" "$tmp/written/link.json" "$server" "$client" "$tmp/roots/victim"
	# Root without the capabilities for files may as little as on a file server that takes it for nobody.
	mkdir -m 700 "$tmp/home"
	cp "$server" "$client" "$tmp/home"
	chown -R 1234:2345 "$tmp/home"
	squashed="env SUDO_UID=1234 SUDO_GID=2345 setpriv --bounding-set=-dac_override,-dac_read_search"
	check_status 1 "there is a folder that root may not read" $squashed cat "$tmp/home/server.pcap"
	check "what sudo's caller alone may read and write is read and written" $squashed "$NFSCORR" --json="$tmp/home/r.json" --ops="$tmp/home/o.csv" \
	    "$tmp/home/server.pcap" "$tmp/home/client.pcap"
	check "with nothing left beside it" test "$(ls -A "$tmp/home" | tr '\n' ' ')" = "client.pcap o.csv r.json server.pcap "
	check "and whole" jq -e .schema "$tmp/home/r.json"
	run $as_user "$NFSCORR" "$server" "$client"
	ok=0
	{ [ "$status" -eq 1 ] && grep -qF "$server: Permission denied" "$tmp/err"; } || ok=1
	result "$ok" "a user does not read what is root's alone"
	chmod 644 "$server" "$client"
	check_status 2 "a user becomes nobody else" $as_user "$NFSCORR" -Z root "$server" "$client"
fi
check_status 2 "who is not there is wrong usage" "$NFSCORR" -Z 'no such user' "$server" "$client"

# ---- files by other names ----

"$NFSCORR" --json "$server" "$client" | jq .matched >"$tmp/files"
# same NAME: standard output, a JSON report, has the same matches.
same()
{
	jq .matched "$tmp/out.json" >"$tmp/matched" 2>"$tmp/why" || :
	ok=0
	cmp "$tmp/files" "$tmp/matched" >>"$tmp/why" 2>&1 || ok=1
	result "$ok" "$1"
}
"$NFSCORR" --json "$server" /dev/stdin <"$client" >"$tmp/out.json"
same "standard input by its name, a file"
cat "$client" | "$NFSCORR" --json "$server" /dev/stdin >"$tmp/out.json"
same "standard input by its name, a pipe"
"$NFSCORR" --json "$server" /proc/self/fd/7 7<"$client" >"$tmp/out.json"
same "a descriptor by its name"
(cd "$tmp" && "$NFSCORR" --json server.pcap ./client.pcap >"$tmp/out.json")
same "names relative to the folder"
"$NFSCORR" --json=/dev/fd/8 "$server" "$client" 8>"$tmp/out.json" >/dev/null
same "an output that is a descriptor"
"$NFSCORR" --json=/dev/stdout "$server" "$client" | sed -n '/^{/,/^}/p' >"$tmp/out.json"
same "an output that is standard output, a pipe"
"$NFSCORR" --json=/dev/stdout "$server" "$client" >"$tmp/both"
check "standard output is still what it was" test -h /dev/stdout
sed -n '/^{/,/^}/p' "$tmp/both" >"$tmp/out.json"
same "an output that is standard output, a file"
check "behind the text" grep -q "MATCHED DATA" "$tmp/both"
mkfifo "$tmp/out.fifo"
cat "$tmp/out.fifo" >"$tmp/out.json" &
"$NFSCORR" --json="$tmp/out.fifo" "$server" "$client" >/dev/null
wait $!
same "an output that is a FIFO"

# ---- where little is left ----

for fd in 0 1 2; do
	sh -c 'eval "exec $1>&-"; shift; exec "$@"' - "$fd" "$NFSCORR" --json="$tmp/out.json" --ops="$tmp/written/o.csv" \
	    "$server" "$client" >"$tmp/text" 2>"$tmp/text.err" </dev/null || :
	same "descriptor $fd is closed: the report is whole"
	check "and so are the records" test "$(wc -l <"$tmp/written/o.csv")" -eq 501
	rm -f "$tmp/out.json" "$tmp/written/o.csv"
done
mkdir "$tmp/moved"
rm -f "$tmp/fifo"
mkfifo "$tmp/fifo"
"$NFSCORR" --ops="$tmp/moved/o.csv" "$server" "$tmp/fifo" >/dev/null &
exec 3>"$tmp/fifo"
cat "$client" >&3
mv "$tmp/moved" "$tmp/away"
ln -s written "$tmp/moved"
exec 3>&-
wait $!
check "a folder that is another one meanwhile: the output is where it was begun" \
    test "$(ls -A "$tmp/away" "$tmp/written" | grep -c o.csv)" -eq 1 -a -s "$tmp/away/o.csv"
finish
