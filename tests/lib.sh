# shellcheck shell=sh
#
# Helpers of the shell tests; TAP on standard output. Sourced, never run.
#
#   check NAME COMMAND...           the command succeeds
#   check_status N NAME COMMAND...  the command exits with N
#   check_output NAME FILE COMMAND  standard output is exactly FILE
#   check_says NAME TEXT COMMAND    standard output or error holds TEXT
#   finish                          the last line of every test
#
# Each check is one case. $tmp is a directory of the test's own, $NFSCORR the
# program, $srcdir the top of the source tree. With NFSCORR_UPDATE set,
# check_output writes FILE instead: read the difference before committing it.

: "${srcdir:=.}" "${NFSCORR:=src/nfscorr}"

checks=0
failures=0
tmp=$(mktemp -d "${TMPDIR:-/tmp}/nfscorr-test.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# result STATUS NAME: one line of TAP; what the command said explains a failure.
result()
{
	checks=$((checks + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $checks - $2"
	else
		failures=$((failures + 1))
		echo "not ok $checks - $2"
		sed 's/^/# /' "$tmp/why"
	fi
}

# run COMMAND...: sets $status; output in $tmp/out and $tmp/err.
run()
{
	status=0
	"$@" </dev/null >"$tmp/out" 2>"$tmp/err" || status=$?
	{
		echo "command: $*"
		echo "status: $status"
		tail -n 40 "$tmp/out" "$tmp/err"
	} >"$tmp/why"
}

check()
{
	check_status 0 "$@"
}

check_status()
{
	check_expected=$1 check_name=$2
	shift 2
	run "$@"
	check_ok=0
	[ "$status" -eq "$check_expected" ] || check_ok=1
	result "$check_ok" "$check_name"
}

check_output()
{
	check_name=$1 check_file=$2
	shift 2
	run "$@"
	if [ -n "${NFSCORR_UPDATE-}" ]; then
		cp "$tmp/out" "$check_file"
	fi
	check_ok=0
	diff -u "$check_file" "$tmp/out" >>"$tmp/why" 2>&1 || check_ok=1
	result "$check_ok" "$check_name"
}

check_says()
{
	check_name=$1 check_text=$2
	shift 2
	run "$@"
	check_ok=0
	cat "$tmp/out" "$tmp/err" | grep -qF -e "$check_text" || check_ok=1
	result "$check_ok" "$check_name"
}

finish()
{
	echo "1..$checks"
	[ "$failures" -eq 0 ]
}
