#!/bin/sh
# Makes ./configure from a clone; a release tarball brings its own.
set -eu
cd "$(dirname "$0")"
for tool in autoreconf automake pkg-config; do
    command -v "$tool" >/dev/null || {
        echo "autogen.sh: $tool is missing (packages autoconf, automake, pkg-config)" >&2
        exit 1
    }
done
autoreconf --install --force --warnings=all
