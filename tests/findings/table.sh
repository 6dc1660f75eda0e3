#!/bin/sh
# table.sh ALARMS README: runs all traces of the program ALARMS and puts the
# counts at the end of README, behind the line [counts].
set -eu
table=$(mktemp "${TMPDIR:-/tmp}/nfscorr-alarms.XXXXXX")
trap 'rm -f "$table" "$table.new"' EXIT

NFSCORR_ALARMS=full "$1" --table >"$table"
sed -n '/^# /p' "$table"
{
	sed '/^\[counts\]$/q' "$2"
	sed '/^# /d' "$table"
} >"$table.new"
cat "$table.new" >"$2"
