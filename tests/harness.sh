#!/bin/sh
# The helpers of the tests must be able to fail.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

# inside CHECK...: what one check prints, in a shell of its own.
inside()
{
	# shellcheck disable=SC2016 # for the inner shell
	sh -c 'srcdir=$1; shift; . "$srcdir/tests/lib.sh"; "$@"; finish' \
	    inside "$srcdir" "$@"
}

echo text >"$tmp/text"
echo other >"$tmp/other"

check "a command that succeeds passes" inside check name true
check_status 1 "a command that fails is a failure" inside check name false
check_says "a failure is told as TAP" "not ok 1 - name" inside check name false
check "the expected status passes" inside check_status 3 name sh -c 'exit 3'
check_status 1 "another status is a failure" inside check_status 3 name true
check "equal output passes" inside check_output name "$tmp/text" echo text
check_status 1 "other output is a failure" \
    inside check_output name "$tmp/other" echo text
check_status 1 "a missing golden file is a failure" \
    inside check_output name "$tmp/none" echo text
check "text that is said passes" inside check_says name ex echo text
check_status 1 "text that is not said is a failure" \
    inside check_says name word echo text

# unit TAP STATUS: runs unit.sh on a program that prints TAP and exits so.
unit()
{
	cat >"$tmp/test-unit" <<-EOF
	#!/bin/sh
	echo '$1' >"\${1#--tap=}"
	exit $2
	EOF
	chmod +x "$tmp/test-unit"
	sh "$srcdir/tests/unit.sh" "$tmp/test-unit"
}

check "a unit test passes" unit "ok - name" 0
check_says "a unit test's cases are told" "not ok - name" unit "not ok - name" 1
check "a failed case counts once" unit "not ok - name" 1
check_status 1 "a leak after the last case is a failure" unit "ok - name" 1
finish
