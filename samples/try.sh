#!/bin/sh
# Builds nfscorr and prints the report of a pair of captures that comes with
# it: a server whose NFS threads were all busy. Installs what the build needs.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/setup.sh
. "$top/tests/setup.sh"

# shellcheck disable=SC2086 # a list of words
need $build_packages
build try --without-criterion >&2

pair=$top/samples/thread-saturation
exec "$top/build/try/src/nfscorr" "$pair/server.pcap" "$pair/client.pcap"
