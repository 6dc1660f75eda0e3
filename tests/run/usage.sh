#!/bin/sh
# The command line, before any capture is read.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

check_says "the version" "nfscorr 0.1.0" "$NFSCORR" --version
finish
