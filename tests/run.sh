#!/bin/sh
# run.sh [--all]
#
# Installs what the tests need, builds with warnings as errors and with
# sanitizers, runs every test. The last line counts single cases:
# "N passed, N failed". --all adds what needs large packages.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/setup.sh
. "$top/tests/setup.sh"

all=no
traces=200
case "$#:${1-}" in
0:) ;;
1:--all) all=yes ;;
*)
	echo "usage: run.sh [--all]" >&2
	exit 2
	;;
esac

passed=0
failed=0

# count DIRECTORY: adds the summary that the test harness left there. A skipped
# case has shown nothing, so it has not passed.
count()
{
	read -r ok not_ok <<-EOF
	$(awk '
	/^# PASS:/ { ok += $3 }
	/^# (SKIP|XFAIL|FAIL|XPASS|ERROR):/ { not_ok += $3 }
	/^# ERROR:/ { exit } # the last line of the summary; logs follow
	END { print ok + 0, not_ok + 0 }
	' "$1/test-suite.log")
	EOF
	passed=$((passed + ok))
	failed=$((failed + not_ok))
}

# check NAME MAKE-ARGUMENT...: runs the tests of build/NAME.
check()
{
	dir=$top/build/$1
	shift
	rm -f "$dir/test-suite.log"
	if ! make -C "$dir" -s -k -j "$(nproc)" check VERBOSE=1 "$@" &&
	    [ ! -f "$dir/test-suite.log" ]; then
		failed=$((failed + 1))
		return
	fi
	count "$dir"
}

# A failure that is no test's, of the packages or the build, counts as one.
finish()
{
	status=$?
	if [ "$status" -ne 0 ]; then
		failed=$((failed + 1))
	fi
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ] || exit 1
}
trap finish EXIT

# shellcheck disable=SC2086 # lists of words
need $build_packages $test_packages
if [ "$all" = yes ]; then
	# shellcheck disable=SC2086
	need $oracle_packages $server_packages
fi

build sanitized --enable-werror --enable-sanitizers --with-criterion
build plain --enable-werror --with-criterion
check sanitized
# Instrumented objects cannot show which variables are the program's own, nor
# what memory it takes; and many traces want a program that is fast.
NFSCORR_TRACES=$traces
export NFSCORR_TRACES
plain_tests='tests/check-globals tests/run/memory.sh tests/run/properties'
if [ "$all" = yes ]; then
	for test in real/device real/ends real/ganesha real/live real/save run/oracle; do
		plain_tests="$plain_tests tests/$test.sh"
	done
fi
check plain TESTS="$plain_tests"
